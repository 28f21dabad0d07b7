//! The report: what was counted, with what other rooms hold at the end.

use super::placed::HandleStatus;
use super::streams::{StreamReport, StreamTotals};
use super::timeline::FtlFigures;
use super::totals::Waits;
use super::{Account, Config, Figures};
use crate::metrics::counters::{Padding, Phase, Tally, Work};
use crate::metrics::histogram::Histogram;
use crate::metrics::series::Series;
use crate::parts::layer::MergeCounts;
use crate::parts::memory::Footprint;
use crate::report::{
    BufferReport, BusReport, Endurance, EnergyReport, FlashReport, GcReport, LatencyReport,
    MapReport, MergeReport, ReadAheadReport, Report, SlcReport, Tails, Throughput, Verdict,
    WaitReport, Wear, WorkloadReport, YEAR_DAYS, ZonesReport,
};
use flashyard_core::command::{Op, Purpose};
use flashyard_core::request::{RequestOp, SECTOR_BYTES};
use std::collections::BTreeMap;

/// The years over which writes a day are stated. Source: data sheet of the Micron C400, which
/// divides the total of bytes by 5 years of 365 days.
const STATED_YEARS: f64 = 5.0;

/// What the other rooms hold when the run is over.
pub(crate) struct EndState {
    pub(crate) ftl: FtlFigures,
    /// Erases of blocks and bad blocks.
    pub(crate) wear: Wear,
    /// Bytes of tables, map cache and buffer.
    pub(crate) footprint: Footprint,
    /// Lines of the map cache that were cleaned along with others since the device was made.
    pub(crate) cleaned: u64,
    /// Units of the write buffer, and how many of them are dirty.
    pub(crate) buffer_units: u64,
    pub(crate) dirty_units: u64,
    /// None of schemes with log blocks.
    pub(crate) effective_over_provisioning: Option<f64>,
    /// Where channels carry bus requests.
    pub(crate) bus: Option<BusReport>,
    /// Blocks of the SLC cache that hold data, and their valid units, where there is one.
    pub(crate) slc: Option<(u64, u64)>,
    /// Zones, where there are any.
    pub(crate) zones: Option<ZonesReport>,
    /// The energy of a device without flash.
    pub(crate) energy: Option<EnergyReport>,
}

impl Account {
    /// The report over all measured phases; none where energy does not fit 64 bits.
    pub(crate) fn report(mut self, end: &EndState) -> Option<Report> {
        let mut all = self.totals.attributed;
        all.merge(&self.totals.unattributed);
        let mut phases = Tally::default();
        self.totals.work.iter().for_each(|work| phases.merge(work));
        assert_eq!(all, phases, "work is attributed or unattributed, once");
        let series = self.take_series();
        let streams = self.streams(series.as_ref());
        let placement = self.totals.placed.as_ref().map(|placed| {
            let geometry = &self.config.geometry;
            let unit = u64::from(geometry.unit_bytes());
            placed.report(unit, unit * u64::from(geometry.units_per_block()), series.as_ref())
        });
        let unit_bytes = u64::from(self.config.geometry.page_bytes);
        let series =
            series.map(|series| series.report(&self.counts(&end.ftl), unit_bytes, self.config.slc));
        let energy_pj = match &end.energy {
            Some(energy) => energy.clone(),
            None => self.energy(&all, &end.ftl.merges)?,
        };
        let meter = self.finish_meter(&end.ftl);
        if let Some(meter) = meter.as_ref().filter(|meter| meter.whole) {
            assert_eq!(meter.energy_pj, energy_pj.total, "the samples of the power meter add up");
        }
        let classes = || RequestOp::ALL.map(RequestOp::name).into_iter();
        let latency = || classes().zip(&self.totals.latency.by_op);
        let tails = |latency: &Histogram| Tails {
            p99: latency.tail_parts(9_900),
            p999: latency.tail_parts(9_990),
        };
        Some(Report {
            workload: self.workload(),
            latency_ns: self.latencies(),
            latency_buckets: self.latency_buckets(),
            latency_parts_ns: latency().map(|(class, of)| (class, of.tail_parts(0))).collect(),
            latency_parts_tail_ns: latency().map(|(class, of)| (class, tails(of))).collect(),
            waits_ns: (self.config.geometry.dies() == 1).then(|| self.waits()),
            throughput: self.throughput(),
            flash: self.flash(&all),
            bus: end.bus,
            map: self.map_report(end.cleaned),
            memory: self.memory_report(&all, &end.ftl.merges, &end.footprint),
            buffer: self.buffer_report(end),
            gc: self.gc_report(&end.ftl.merges),
            slc: end.slc.map(|end| self.slc_report(&all, end)),
            placement,
            zones: end.zones.clone(),
            power: self.power(&energy_pj, series.as_ref(), meter),
            energy_pj,
            verdict: self.verdict(end),
            wear: self.wear(&end.wear),
            streams,
            utilisation: self.measured.report(self.totals.spans.makespan),
            phases: self.phases,
            series,
        })
    }

    fn wear(&self, end: &Wear) -> Wear {
        let blocks = u64::from(self.config.geometry.blocks()) - end.factory_bad_blocks;
        let endurance = (self.config.cycles > 0).then(|| self.endurance(blocks));
        Wear { levelling_jobs: self.totals.wear_jobs, endurance, ..end.clone() }
    }

    /// What this many blocks bear under the load of the run.
    fn endurance(&self, blocks: u64) -> Endurance {
        let Config { geometry, cycles, capacity_bytes, .. } = self.config;
        let block_bytes = u64::from(geometry.units_per_block()) * u64::from(geometry.unit_bytes());
        let flash_bytes = (blocks * block_bytes) as f64 * cycles as f64;
        let amplification = self.amplification_of_writes().filter(|factor| *factor > 0.0);
        let host_bytes = amplification.map(|factor| flash_bytes / factor);
        let rate = self.throughput().write_bytes_per_s.filter(|rate| *rate > 0.0);
        Endurance {
            cycles,
            flash_bytes,
            host_bytes,
            writes_a_day: host_bytes
                .map(|bytes| bytes / capacity_bytes as f64 / (STATED_YEARS * YEAR_DAYS)),
            life_s: host_bytes.zip(rate).map(|(bytes, rate)| bytes / rate),
        }
    }

    /// Bytes programmed over bytes that the host wrote.
    fn amplification_of_writes(&self) -> Option<f64> {
        let (programmed, written) = (self.programmed_bytes(), self.totals.written_bytes());
        (written > 0).then(|| programmed as f64 / written as f64)
    }

    fn workload(&self) -> WorkloadReport {
        let totals = &self.totals;
        let count =
            |op: RequestOp| totals.latency.by_op[op as usize].count() + totals.skipped[op as usize];
        WorkloadReport {
            requests: totals.requests,
            reads: count(RequestOp::Read),
            writes: count(RequestOp::Write),
            trims: count(RequestOp::Trim),
            flushes: count(RequestOp::Flush),
            first_ns: totals.first_arrival.unwrap_or_default().as_ns(),
            last_ns: totals.last_arrival.as_ns(),
        }
    }

    fn latencies(&self) -> BTreeMap<&'static str, LatencyReport> {
        let classes = RequestOp::ALL.iter();
        let reports = classes
            .map(|op| (op.name(), LatencyReport::of(&self.totals.latency.by_op[*op as usize])));
        let all = LatencyReport::of(&Histogram::merged(&self.totals.latency.by_op));
        reports.chain([("all", all)]).collect()
    }

    fn latency_buckets(&self) -> BTreeMap<&'static str, Vec<(u64, u64)>> {
        let by_op = &self.totals.latency.by_op;
        let classes = RequestOp::ALL.iter();
        let buckets = classes.map(|op| (op.name(), by_op[*op as usize].buckets()));
        buckets.chain([("all", Histogram::merged(by_op).buckets())]).collect()
    }

    /// What went through the SLC cache, which holds `end` blocks and units at the end.
    fn slc_report(&self, all: &Tally, end: (u64, u64)) -> SlcReport {
        let pages = |op: Op, slc: bool, purposes: &[Purpose]| -> u64 {
            purposes.iter().map(|purpose| all.of_cells(op, *purpose, slc).pages).sum()
        };
        let host = [Purpose::Host];
        SlcReport {
            cached_pages: pages(Op::Program, true, &host),
            direct_pages: pages(Op::Program, false, &host),
            read_hits: pages(Op::Read, true, &host),
            read_misses: pages(Op::Read, false, &host),
            folds: self.totals.fold_jobs,
            folded_units: self.totals.fold_valid,
            erased_blocks: pages(Op::Erase, true, &Purpose::ALL),
            blocks_at_end: end.0,
            units_at_end: end.1,
        }
    }

    fn gc_report(&self, merges: &MergeCounts) -> GcReport {
        let totals = &self.totals;
        GcReport {
            jobs: totals.gc_jobs,
            searches: totals.gc_searches + merges.searches,
            valid_pages_copied: totals.gc_valid,
            copies_superseded: totals.gc_superseded,
            cached_entries_updated: totals.gc_lines_updated,
            programs_that_waited_for_room: totals.room_waits,
            merges: MergeReport {
                switch: merges.switch,
                partial: merges.partial,
                full: merges.full,
                dead: merges.dead,
            },
        }
    }

    fn waits(&self) -> BTreeMap<&'static str, WaitReport> {
        let mean = |sum: u128, count: u64| (count > 0).then(|| sum as f64 / count as f64);
        let report = |classes: &[usize]| {
            let mut sum = Waits::default();
            for &class in classes {
                let waits = &self.totals.waits[class];
                sum.count += waits.count;
                sum.queue_ns += waits.queue_ns;
                sum.own_ns += waits.own_ns;
                sum.latency_ns += waits.latency_ns;
            }
            let flash = sum.latency_ns.saturating_sub(sum.queue_ns + sum.own_ns);
            WaitReport {
                request_queue_mean: mean(sum.queue_ns, sum.count),
                own_commands_mean: mean(sum.own_ns, sum.count),
                flash_queue_mean: mean(flash, sum.count),
            }
        };
        BTreeMap::from([("read", report(&[0])), ("write", report(&[1])), ("all", report(&[0, 1]))])
    }

    fn streams(&self, series: Option<&Series>) -> BTreeMap<String, StreamReport> {
        let makespan = self.totals.spans.makespan;
        let report = |(place, stream): (usize, &StreamTotals)| {
            let bin_bytes = series.map(|series| series.stream_bytes(place));
            (stream.name.clone(), stream.report(makespan, bin_bytes))
        };
        self.totals.streams.0.iter().enumerate().map(report).collect()
    }

    /// Bytes programmed for all purposes.
    pub(crate) fn programmed_bytes(&self) -> u128 {
        let programs: u64 = self.totals.work.iter().map(|work| work.of_op(Op::Program).pages).sum();
        u128::from(programs) * u128::from(self.config.geometry.page_bytes)
    }

    /// A request comes because others were answered.
    pub(crate) fn waits_for_answers(&mut self) {
        self.totals.closed_loops = true;
        self.totals.follows_answers = true;
    }

    /// What has been done so far, in measured phases.
    pub(crate) fn figures(&self) -> Figures {
        let erases = self.totals.work.iter().map(|work| work.of_op(Op::Erase).pages);
        let work = [&self.totals.attributed, &self.totals.unattributed];
        Figures {
            read_bytes: self.totals.read_bytes(),
            written_bytes: self.totals.written_bytes(),
            programmed_bytes: self.programmed_bytes(),
            erased_blocks: erases.sum(),
            operations_pj: work.iter().map(|work| work.energy_pj(&self.config.energy)).sum(),
        }
    }

    fn throughput(&self) -> Throughput {
        let makespan = self.totals.spans.makespan;
        let per_second =
            |amount: u64| (makespan > 0).then(|| amount as f64 * 1e9 / makespan as f64);
        let bytes = |op: RequestOp| self.totals.sectors[op as usize] * u64::from(SECTOR_BYTES);
        Throughput {
            makespan_ns: makespan,
            iops: per_second(self.totals.requests),
            read_bytes_per_s: per_second(bytes(RequestOp::Read)),
            write_bytes_per_s: per_second(bytes(RequestOp::Write)),
            bytes_per_s: per_second(self.totals.moved_bytes()),
        }
    }

    fn flash(&self, all: &Tally) -> FlashReport {
        let by_purpose = |count: &dyn Fn(Work) -> u64| -> BTreeMap<_, BTreeMap<_, _>> {
            let counts = |op: Op| {
                let named = |p: Purpose| (p.name(), count(all.get(op, p)));
                self.config.purposes().map(named).collect()
            };
            [("reads", Op::Read), ("programs", Op::Program), ("erases", Op::Erase)]
                .into_iter()
                .map(|(name, op)| (name, counts(op)))
                .collect()
        };
        let phases = Phase::ALL.iter().map(|phase| {
            let work = &self.totals.work[*phase as usize];
            let ops = Op::ALL.iter().map(|op| (op.name(), work.of_op(*op).ops)).collect();
            (phase.word(), ops)
        });
        let programs = all.of_op(Op::Program).pages;
        let host = all.get(Op::Program, Purpose::Host).pages;
        let padded = |cause: Padding| self.totals.padded[cause as usize];
        FlashReport {
            pages: by_purpose(&|work| work.pages),
            array_ops: by_purpose(&|work| work.ops),
            phases: phases.collect(),
            write_amplification: self.amplification_of_writes(),
            write_amplification_by: self.amplification(all),
            programs_per_host_page: (host > 0).then(|| programs as f64 / host as f64),
            padded_units: self.totals.padded.iter().sum(),
            padded_units_by: Padding::ALL
                .iter()
                .filter(|cause| match cause {
                    Padding::Fold => self.config.slc,
                    Padding::Journal => self.config.journals,
                    _ => true,
                })
                .map(|&cause| (cause.word(), padded(cause)))
                .collect(),
            partial_writes_read: self.totals.partial_writes_read,
            suspensions: self.totals.suspensions,
            bit_errors: self.config.bit_errors.then_some(self.totals.bit_errors),
            retried_reads: self
                .config
                .retries
                .then(|| Purpose::ALL.iter().map(|purpose| all.retries(*purpose).ops).sum()),
            retries: self.config.retries.then(|| {
                let of = |p: Purpose| (p.name(), all.retries(p).pages);
                self.config.purposes().map(of).collect()
            }),
        }
    }

    /// What write amplification is made of: bytes that hold something, by why they were programmed,
    /// and bytes left empty, over those that the host wrote.
    fn amplification(&self, all: &Tally) -> BTreeMap<&'static str, Option<f64>> {
        let geometry = &self.config.geometry;
        let written = self.totals.written_bytes();
        let share = |units: u64| {
            let bytes = u128::from(units) * u128::from(geometry.unit_bytes());
            (written > 0).then(|| bytes as f64 / written as f64)
        };
        let padded = |causes: &[Padding]| -> u64 {
            causes.iter().map(|&cause| self.totals.padded[cause as usize]).sum()
        };
        let part = |purposes: &[Purpose], causes: &[Padding]| {
            let pages = purposes.iter().map(|purpose| all.get(Op::Program, *purpose).pages);
            let units = pages.sum::<u64>() * u64::from(geometry.units_per_page);
            share(units - padded(causes))
        };
        let map = [Purpose::MapFetch, Purpose::MapWriteback, Purpose::MapGc];
        let fold = ("fold", part(&[Purpose::Fold], &[Padding::Fold]));
        let power = [Purpose::Journal, Purpose::Recovery];
        let journal = ("journal", part(&power, &[Padding::Journal]));
        let parts = BTreeMap::from([
            ("host", part(&[Purpose::Host], &[Padding::Asked, Padding::Host])),
            ("padding", share(padded(Padding::ALL))),
            ("gc", part(&[Purpose::Gc], &[Padding::Gc])),
            ("map", part(&map, &[Padding::Map])),
            ("merge", part(&[Purpose::Merge], &[Padding::Merge])),
            ("wear", part(&[Purpose::Wear], &[Padding::Wear])),
        ]);
        let parts = parts.into_iter().chain(self.config.slc.then_some(fold));
        parts.chain(self.config.journals.then_some(journal)).collect()
    }

    fn map_report(&self, cleaned: u64) -> MapReport {
        let map = &self.totals.map;
        MapReport {
            lookups: map.lookups,
            hits: map.hits,
            misses: map.misses,
            dirty_evictions: map.dirty_evictions,
            batch_cleaned: cleaned - self.totals.unmeasured_cleaned,
            stalls: map.stalls,
            hazards_ignored: map.hazards_ignored,
            data_hazards_ignored: self.totals.data_hazards_ignored,
            commands_moved: self.totals.rekeys,
            hazard_picks: self.totals.hazard_picks,
        }
    }

    fn buffer_report(&self, end: &EndState) -> BufferReport {
        let totals = &self.totals.buffer;
        let share = |part: u64, rest: u64| {
            let all = part + rest;
            (all > 0).then(|| part as f64 / all as f64)
        };
        let gets_ns = totals.get_ns + totals.flush_get_ns;
        BufferReport {
            units: end.buffer_units,
            read_hits: totals.read_hits,
            read_misses: totals.read_misses,
            write_hits: totals.write_hits,
            write_misses: totals.write_misses,
            stalls: totals.stalls,
            dirtied_units: totals.dirtied_units,
            flushed_units: totals.flushed_units,
            trimmed_units: totals.trimmed_units,
            allocated_units: totals.allocated_units,
            hit_ratio_read: share(totals.read_hits, totals.read_misses),
            hit_ratio_write: share(totals.write_hits, totals.write_misses),
            get_ns: totals.get_ns,
            put_ns: totals.put_ns,
            flush_get_ns: totals.flush_get_ns,
            hidden_read_ns: totals.hidden_ns,
            hidden_read_ratio: share(totals.hidden_ns, gets_ns - totals.hidden_ns),
            dirty_at_end: end.dirty_units,
            read_ahead: self.config.reads_ahead.then(|| self.read_ahead_report()),
        }
    }

    fn read_ahead_report(&self) -> ReadAheadReport {
        let totals = &self.totals.buffer;
        // Those of a phase before that is not measured may be read in one that is.
        let unread = totals.ahead_units.saturating_sub(totals.ahead_read);
        let work = &self.totals.unattributed;
        let energy = work.purpose_pj(&self.config.energy, Purpose::ReadAhead);
        let unread_pj = energy * u128::from(unread) / u128::from(totals.ahead_units.max(1));
        ReadAheadReport {
            units: totals.ahead_units,
            unread_units: unread,
            hits: totals.ahead_hits,
            waits: totals.ahead_waits,
            unread_pj: u64::try_from(unread_pj).unwrap_or(u64::MAX),
        }
    }

    /// Later arrivals found far more requests than earlier ones, or more were left at the end than
    /// the device could work on, and took long. Closed loops have so many outstanding, no more, and
    /// leave them at the end; what comes beside those of streams is judged alone.
    fn queue_grew(&self) -> bool {
        if !self.totals.own_times {
            return false;
        }
        let (span, drain) = (self.totals.spans.offered, self.totals.spans.drain);
        let overfull =
            !self.totals.follows_answers && self.totals.backlog.most() > self.config.queue_depth;
        self.totals.backlog.grew() || (overfull && u128::from(drain) * 10 > u128::from(span))
    }

    fn verdict(&self, end: &EndState) -> Verdict {
        let span = self.totals.spans.arrivals;
        let capacity = u128::from(span) * u128::from(self.config.geometry.dies());
        let busy = self.measured.die_ns();
        Verdict {
            initial_state: self.config.initial,
            initial_write_amplification: self.made.write_amplification,
            initial_error: self.made.error,
            over_provisioning: self.config.over_provisioning,
            effective_over_provisioning: end.effective_over_provisioning,
            gc_ran: if self.config.merges { end.ftl.merges.any() } else { self.totals.gc_jobs > 0 },
            offered_load: (capacity > 0).then(|| busy as f64 / capacity as f64),
            thirds: self.totals.drift.thirds(self.sums()),
            own_times: self.totals.own_times && !self.totals.closed_loops,
            queue_grew: self.queue_grew(),
            most_outstanding: self.totals.backlog.most(),
            partial_writes: self.totals.partial_writes,
            unmapped_reads: self.totals.unmapped_reads,
            unmapped_read_cost: self.config.unmapped_read,
            folded_requests: 0,
            spread_requests: 0,
        }
    }
}

impl Account {
    /// A handle that there is, whose open blocks can still take so many units.
    pub(crate) fn handle(&self, handle: u8, room: u64) -> HandleStatus {
        let geometry = &self.config.geometry;
        let unit = u64::from(geometry.unit_bytes());
        let block = unit * u64::from(geometry.units_per_block());
        let of_all = || {
            let all = self.figures();
            let media = u64::try_from(all.programmed_bytes).unwrap_or(u64::MAX);
            [all.written_bytes, media, all.erased_blocks * block]
        };
        let placed = self.totals.placed.as_ref();
        let [host_bytes, media_bytes, erased_bytes] =
            placed.map_or_else(of_all, |placed| placed.bytes_of(handle, unit, block));
        HandleStatus {
            available_bytes: room * unit,
            unit_bytes: block * u64::from(geometry.all_planes()),
            host_bytes,
            media_bytes,
            erased_bytes,
        }
    }
}

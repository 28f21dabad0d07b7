//! Sums over a run, and the report made from them.

use super::upkeep::Upkeep;
use super::{Device, SimError};
use crate::account::totals::Waits;
use crate::ftl::layer::MergeCounts;
use crate::initial;
use crate::metrics::counters::{Padding, Phase, Tally, Work};
use crate::metrics::histogram::Histogram;
use crate::metrics::series::Counts;
use crate::report::{
    BufferReport, FlashReport, GcReport, LatencyReport, MapReport, MergeReport, Report, Tails,
    Throughput, Verdict, WaitReport, Wear, WorkloadReport,
};
use crate::stream::StreamReport;
use flashyard_core::command::{Op, Purpose};
use flashyard_core::request::{RequestOp, SECTOR_BYTES};
use flashyard_core::units::Time;
use std::collections::BTreeMap;

impl Device {
    /// The report over all measured phases.
    pub fn finish(mut self) -> Result<Report, SimError> {
        if self.settings.keys.ftl.finish {
            self.upkeep(Upkeep::Merge)?;
            self.upkeep(Upkeep::FlushMap)?;
        }
        if self.settings.keys.gc.restore {
            self.upkeep(Upkeep::Restore)?;
        }
        let mut all = self.account.totals.attributed;
        all.merge(&self.account.totals.unattributed);
        let mut phases = Tally::default();
        self.account.totals.work.iter().for_each(|work| phases.merge(work));
        assert_eq!(all, phases, "work is attributed or unattributed, once");
        if let Some(checker) = self.account.checker.take() {
            self.ftl.map().audit();
            checker.finish(self.ftl.map());
            if self.ftl.has_cache() {
                checker.finish_map(|lpn| self.ftl.is_entry_dirty(lpn));
            }
        }
        self.report(&all).ok_or(SimError::TooMuchEnergy)
    }

    fn report(&self, all: &Tally) -> Option<Report> {
        let totals = &self.account.totals;
        let count =
            |op: RequestOp| totals.latency[op as usize].count() + totals.skipped[op as usize];
        let first = totals.first_arrival.unwrap_or_default();
        let read_write =
            |make: &dyn Fn(usize) -> Tails| BTreeMap::from([("read", make(0)), ("write", make(1))]);
        let mut latency_ns: BTreeMap<_, _> = RequestOp::ALL
            .iter()
            .map(|op| (op.name(), LatencyReport::of(&totals.latency[*op as usize])))
            .collect();
        latency_ns.insert("all", LatencyReport::of(&Histogram::merged(&totals.latency)));
        let energy_pj = self.energy(all)?;
        let merges = self.merges();
        let unit_bytes = u64::from(self.settings.geometry.page_bytes);
        let series =
            self.account.series.clone().map(|series| series.report(&self.counts(), unit_bytes));
        Some(Report {
            workload: WorkloadReport {
                requests: totals.requests,
                reads: count(RequestOp::Read),
                writes: count(RequestOp::Write),
                trims: count(RequestOp::Trim),
                flushes: count(RequestOp::Flush),
                first_ns: first.as_ns(),
                last_ns: totals.last_arrival.as_ns(),
            },
            latency_ns,
            latency_parts_ns: BTreeMap::from([
                ("read", totals.latency[0].tail_parts(0)),
                ("write", totals.latency[1].tail_parts(0)),
            ]),
            latency_parts_tail_ns: read_write(&|class| Tails {
                p99: totals.latency[class].tail_parts(9_900),
                p999: totals.latency[class].tail_parts(9_990),
            }),
            waits_ns: (self.flash.dies() == 1).then(|| self.waits()),
            throughput: self.throughput(),
            flash: self.flash(all),
            map: self.map_report(),
            memory: self.memory_report(all),
            buffer: self.buffer_report(),
            gc: GcReport {
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
            },
            power: self.power(&energy_pj, series.as_ref()),
            energy_pj,
            wear: self.wear(),
            verdict: self.verdict(),
            streams: self.streams(),
            phases: self.account.phases.clone(),
            utilisation: self.account.measured.report(totals.spans.makespan),
            series,
        })
    }

    /// What translation layers did in measured phases.
    pub(super) fn merges(&self) -> MergeCounts {
        self.ftl.merges()
    }

    fn wear(&self) -> Wear {
        let blocks = self.ftl.blocks();
        let planes = self.ftl.planes();
        let factory = u64::from(self.settings.factory_bad_blocks)
            * u64::from(self.settings.geometry.all_planes());
        Wear {
            levelling_jobs: self.account.totals.wear_jobs,
            factory_bad_blocks: factory,
            grown_bad_blocks: planes.map(|plane| u64::from(blocks.worn_out(plane))).sum(),
            ..Wear::of(blocks.usable_erase_counts())
        }
    }

    fn waits(&self) -> BTreeMap<&'static str, WaitReport> {
        let mean = |sum: u128, count: u64| (count > 0).then(|| sum as f64 / count as f64);
        let report = |classes: &[usize]| {
            let mut sum = Waits::default();
            for &class in classes {
                let waits = &self.account.totals.waits[class];
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

    fn streams(&self) -> BTreeMap<String, StreamReport> {
        let makespan = self.account.totals.spans.makespan;
        let streams = self.account.totals.streams.0.iter();
        streams.map(|stream| (stream.name.clone(), stream.report(makespan))).collect()
    }

    /// Bytes programmed for all purposes.
    pub(super) fn programmed_bytes(&self) -> u128 {
        let programs: u64 =
            self.account.totals.work.iter().map(|work| work.of_op(Op::Program).pages).sum();
        u128::from(programs) * u128::from(self.settings.geometry.page_bytes)
    }

    /// Measured time goes on to `now`, and nothing changes before.
    pub(super) fn record_until(&mut self, now: Time) {
        if let Some(mut series) = self.account.series.take() {
            series.advance(now, self.host.outstanding, self.background_uw_mib(), || self.counts());
            self.account.series = Some(series);
        }
    }

    /// What the time series counts.
    pub(super) fn counts(&self) -> Counts {
        let mut counts = Counts { accesses_pj: self.accesses_pj(), ..Counts::default() };
        for work in &self.account.totals.work {
            let gc = Purpose::ALL.into_iter().filter(|purpose| purpose.is_gc());
            counts.host_programs += work.get(Op::Program, Purpose::Host).pages;
            counts.gc_programs += gc.map(|gc| work.get(Op::Program, gc).pages).sum::<u64>();
            counts.programs += work.of_op(Op::Program).pages;
            counts.erases += work.of_op(Op::Erase).pages;
        }
        counts.free_blocks = self.ftl.all_free();
        counts
    }

    fn throughput(&self) -> Throughput {
        let makespan = self.account.totals.spans.makespan;
        let per_second =
            |amount: u64| (makespan > 0).then(|| amount as f64 * 1e9 / makespan as f64);
        let bytes =
            |op: RequestOp| self.account.totals.sectors[op as usize] * u64::from(SECTOR_BYTES);
        Throughput {
            makespan_ns: makespan,
            iops: per_second(self.account.totals.requests),
            read_bytes_per_s: per_second(bytes(RequestOp::Read)),
            write_bytes_per_s: per_second(bytes(RequestOp::Write)),
        }
    }

    fn flash(&self, all: &Tally) -> FlashReport {
        let by_purpose = |count: &dyn Fn(Work) -> u64| -> BTreeMap<_, BTreeMap<_, _>> {
            let counts = |op: Op| {
                let named = |p: &Purpose| (p.name(), count(all.get(op, *p)));
                Purpose::ALL.iter().map(named).collect()
            };
            [("reads", Op::Read), ("programs", Op::Program), ("erases", Op::Erase)]
                .into_iter()
                .map(|(name, op)| (name, counts(op)))
                .collect()
        };
        let phases = Phase::ALL.iter().map(|phase| {
            let work = &self.account.totals.work[*phase as usize];
            let ops = Op::ALL.iter().map(|op| (op.name(), work.of_op(*op).ops)).collect();
            (phase.name(), ops)
        });
        let programs = all.of_op(Op::Program).pages;
        let (programmed, written) = (self.programmed_bytes(), self.account.totals.written_bytes());
        let host = all.get(Op::Program, Purpose::Host).pages;
        let padded = |cause: Padding| self.account.totals.padded[cause as usize];
        FlashReport {
            pages: by_purpose(&|work| work.pages),
            array_ops: by_purpose(&|work| work.ops),
            phases: phases.collect(),
            write_amplification: (written > 0).then(|| programmed as f64 / written as f64),
            write_amplification_by: self.amplification(all),
            programs_per_host_page: (host > 0).then(|| programs as f64 / host as f64),
            padded_units: self.account.totals.padded.iter().sum(),
            padded_units_by: Padding::ALL.map(|cause| (cause.name(), padded(cause))).into(),
            partial_writes_read: self.account.totals.partial_writes_read,
            suspensions: self.account.totals.suspensions,
        }
    }

    /// What write amplification is made of: bytes that hold something, by why they were programmed,
    /// and bytes left empty, over those that the host wrote.
    fn amplification(&self, all: &Tally) -> BTreeMap<&'static str, Option<f64>> {
        let geometry = &self.settings.geometry;
        let written = self.account.totals.written_bytes();
        let share = |units: u64| {
            let bytes = u128::from(units) * u128::from(geometry.unit_bytes());
            (written > 0).then(|| bytes as f64 / written as f64)
        };
        let padded = |causes: &[Padding]| -> u64 {
            causes.iter().map(|&cause| self.account.totals.padded[cause as usize]).sum()
        };
        let part = |purposes: &[Purpose], causes: &[Padding]| {
            let pages = purposes.iter().map(|purpose| all.get(Op::Program, *purpose).pages);
            let units = pages.sum::<u64>() * u64::from(geometry.units_per_page);
            share(units - padded(causes))
        };
        let map = [Purpose::MapFetch, Purpose::MapWriteback, Purpose::MapGc];
        BTreeMap::from([
            ("host", part(&[Purpose::Host], &[Padding::Asked, Padding::Host])),
            ("padding", share(padded(&Padding::ALL))),
            ("gc", part(&[Purpose::Gc], &[Padding::Gc])),
            ("map", part(&map, &[Padding::Map])),
            ("merge", part(&[Purpose::Merge], &[Padding::Merge])),
            ("wear", part(&[Purpose::Wear], &[Padding::Wear])),
        ])
    }

    fn map_report(&self) -> MapReport {
        let map = &self.account.totals.map;
        MapReport {
            lookups: map.lookups,
            hits: map.hits,
            misses: map.misses,
            dirty_evictions: map.dirty_evictions,
            batch_cleaned: self.ftl.batch_cleaned() - self.account.totals.unmeasured_cleaned,
            stalls: map.stalls,
            hazards_ignored: map.hazards_ignored,
            data_hazards_ignored: self.account.totals.data_hazards_ignored,
            commands_moved: self.account.totals.rekeys,
            hazard_picks: self.account.totals.hazard_picks,
        }
    }

    fn buffer_report(&self) -> BufferReport {
        let totals = &self.account.totals.buffer;
        let lines = self.buffer.as_ref().map(|buffer| &buffer.lines);
        let share = |part: u64, rest: u64| {
            let all = part + rest;
            (all > 0).then(|| part as f64 / all as f64)
        };
        let gets_ns = totals.get_ns + totals.flush_get_ns;
        BufferReport {
            units: lines.map_or(0, |lines| lines.units().into()),
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
            dirty_at_end: lines.map_or(0, |lines| lines.dirty().into()),
        }
    }

    /// Later arrivals found far more requests than earlier ones, or more were left at the end than
    /// the device could work on, and took long.
    fn queue_grew(&self, span: u64) -> bool {
        let drain = self.account.totals.spans.drain;
        let overfull = self.account.totals.backlog.most() > self.settings.keys.queue.depth;
        self.account.totals.backlog.grew()
            || (overfull && u128::from(drain) * 10 > u128::from(span))
    }

    fn verdict(&self) -> Verdict {
        let span = self.account.totals.spans.arrivals;
        let keys = &self.settings.keys;
        let capacity = u128::from(span) * self.flash.dies() as u128;
        let busy = self.account.measured.die_ns();
        let page_map = !self.ftl.is_planned();
        Verdict {
            initial_state: keys.state.initial.word(),
            initial_write_amplification: self.ftl.made().write_amplification,
            initial_error: self.ftl.made().error,
            over_provisioning: self.settings.over_provisioning(),
            effective_over_provisioning: page_map
                .then(|| initial::effective_over_provisioning(&self.settings)),
            gc_ran: self.account.totals.gc_jobs > 0 || self.merges().any(),
            offered_load: (capacity > 0).then(|| busy as f64 / capacity as f64),
            queue_grew: self.queue_grew(span),
            most_outstanding: self.account.totals.backlog.most(),
            unmapped_reads: self.account.totals.unmapped_reads,
            unmapped_read_cost: keys.nand.unmapped_read.word(),
            folded_requests: 0,
            spread_requests: 0,
        }
    }
}

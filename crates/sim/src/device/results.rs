//! Sums over a run, and the report made from them.

use super::energy::EnergyTotals;
use super::finish::queue_wait;
use super::memory::TableTotals;
use super::state::Pending;
use super::upkeep::Upkeep;
use super::{Device, SimError};
use crate::config::MultiPlane;
use crate::ftl::layer::MergeCounts;
use crate::metrics::backlog::Backlog;
use crate::metrics::counters::{Padding, Phase, Tally, Work};
use crate::metrics::histogram::Histogram;
use crate::metrics::series::Counts;
use crate::report::{
    BufferReport, FlashReport, GcReport, LatencyReport, MapReport, MergeReport, Report, Tails,
    Throughput, Verdict, WaitReport, Wear, WorkloadReport,
};
use crate::saved::saved;
use crate::stream::{StreamList, StreamReport, StreamTotals};
use flashyard_core::command::{Op, Purpose};
use flashyard_core::request::{RequestOp, SECTOR_BYTES};
use flashyard_core::units::{PlaneId, Span, Time};
use std::collections::BTreeMap;

/// What the map cache did.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MapTotals {
    pub(super) lookups: u64,
    pub(super) hits: u64,
    pub(super) misses: u64,
    pub(super) dirty_evictions: u64,
    pub(super) stalls: u64,
    pub(super) hazards_ignored: u64,
}

/// What the write buffer did.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BufferTotals {
    pub(super) read_hits: u64,
    pub(super) read_misses: u64,
    pub(super) write_hits: u64,
    pub(super) write_misses: u64,
    pub(super) dirtied_units: u64,
    pub(super) flushed_units: u64,
    pub(super) trimmed_units: u64,
    pub(super) stalls: u64,
    /// Units that reads of flash left in it.
    pub(super) allocated_units: u64,
    /// Time of the ports: gets of requests, puts, gets of flushes; of gets beside a put.
    pub(super) get_ns: u64,
    pub(super) put_ns: u64,
    pub(super) flush_get_ns: u64,
    pub(super) hidden_ns: u64,
}

/// Sums of the waiting times that the published comparison uses.
#[derive(Clone, Copy, Debug, Default)]
struct Waits {
    count: u64,
    queue_ns: u128,
    own_ns: u128,
    latency_ns: u128,
}

/// Everything that is summed up during a run.
#[derive(Debug)]
pub(super) struct Totals {
    /// By operation.
    latency: [Histogram; 4],
    /// Requests whose latencies do not count, by operation.
    skipped: [u64; 4],
    /// So many of the first requests are such ones ...
    skip: u64,
    /// ... and in the order of arrival this is the first one that is not.
    counts_from: u64,
    waits: [Waits; 4],
    sectors: [u64; 4],
    pub(super) work: [Tally; 3],
    pub(super) attributed: Tally,
    pub(super) unattributed: Tally,
    pub(super) map: MapTotals,
    pub(super) tables: TableTotals,
    pub(super) buffer: BufferTotals,
    pub(super) energy: EnergyTotals,
    pub(super) gc_jobs: u64,
    pub(super) gc_searches: u64,
    pub(super) wear_jobs: u64,
    pub(super) gc_valid: u64,
    pub(super) gc_superseded: u64,
    pub(super) gc_lines_updated: u64,
    pub(super) room_waits: u64,
    pub(super) suspensions: u64,
    /// Units left empty, by [`Padding`].
    pub(super) padded: [u64; Padding::ALL.len()],
    pub(super) partial_writes_read: u64,
    pub(super) rekeys: u64,
    pub(super) unmapped_reads: u64,
    pub(super) data_hazards_ignored: u64,
    pub(super) hazard_picks: u64,
    backlog: Backlog,
    pub(super) requests: u64,
    first_arrival: Option<Time>,
    pub(super) last_arrival: Time,
    /// Of the current phase.
    phase_first: Option<Time>,
    /// Whether work goes on between phases, or after the last one.
    keeps_up: bool,
    last_completion: Time,
    spans: Spans,
    /// Lines of the map cache that were cleaned in phases that do not count.
    pub(super) unmeasured_cleaned: u64,
    /// By stream where a phase has several, and the place of each stream of the current phase.
    streams: StreamList,
    stream_places: Vec<usize>,
}

/// Times of phases that are over, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Spans {
    /// First to last arrival.
    arrivals: u64,
    /// First arrival to last completion.
    makespan: u64,
    /// First arrival to the end of all work.
    work: u64,
    /// Last arrival to last completion.
    drain: u64,
}

saved!(MapTotals { lookups, hits, misses, dirty_evictions, stalls, hazards_ignored });
saved!(BufferTotals {
    read_hits,
    read_misses,
    write_hits,
    write_misses,
    dirtied_units,
    flushed_units,
    trimmed_units,
    stalls,
    allocated_units,
    get_ns,
    put_ns,
    flush_get_ns,
    hidden_ns,
});
saved!(Waits { count, queue_ns, own_ns, latency_ns });
saved!(Spans { arrivals, makespan, work, drain });
saved!(Totals {
    latency, skipped, waits, sectors, work, attributed, unattributed, map, tables, buffer, gc_jobs,
    gc_searches,
    wear_jobs, gc_valid,
    gc_superseded, gc_lines_updated, room_waits, rekeys, unmapped_reads, data_hazards_ignored,
    hazard_picks, backlog, requests, first_arrival, last_arrival, last_completion, spans,
    unmeasured_cleaned, streams, energy, suspensions, padded, partial_writes_read,
} skip { skip, counts_from, phase_first, keeps_up, stream_places });

impl Default for Totals {
    fn default() -> Self {
        Self {
            latency: [true, true, false, false].map(Histogram::new),
            skipped: [0; 4],
            skip: 0,
            counts_from: 0,
            waits: [Waits::default(); 4],
            sectors: [0; 4],
            work: [Tally::default(); 3],
            attributed: Tally::default(),
            unattributed: Tally::default(),
            map: MapTotals::default(),
            tables: TableTotals::default(),
            buffer: BufferTotals::default(),
            energy: EnergyTotals::default(),
            gc_jobs: 0,
            gc_searches: 0,
            wear_jobs: 0,
            gc_valid: 0,
            gc_superseded: 0,
            gc_lines_updated: 0,
            room_waits: 0,
            suspensions: 0,
            padded: [0; Padding::ALL.len()],
            partial_writes_read: 0,
            rekeys: 0,
            unmapped_reads: 0,
            data_hazards_ignored: 0,
            hazard_picks: 0,
            backlog: Backlog::default(),
            requests: 0,
            first_arrival: None,
            last_arrival: Time::ZERO,
            phase_first: None,
            keeps_up: false,
            last_completion: Time::ZERO,
            spans: Spans::default(),
            unmeasured_cleaned: 0,
            streams: StreamList::default(),
            stream_places: Vec::new(),
        }
    }
}

impl Totals {
    /// Sums to which the latencies of the first `skip` requests do not count.
    pub(super) fn new(skip: u64) -> Self {
        Self { skip, ..Self::default() }
    }

    /// A phase of these streams begins.
    pub(super) fn begin<'a>(&mut self, streams: impl ExactSizeIterator<Item = &'a str>) {
        self.stream_places.clear();
        if streams.len() < 2 {
            return;
        }
        for name in streams {
            let known = self.streams.0.iter().position(|stream| stream.name == name);
            let place = known.unwrap_or_else(|| {
                self.streams.0.push(StreamTotals::new(name));
                self.streams.0.len() - 1
            });
            self.stream_places.push(place);
        }
    }

    /// A phase is over, and all its work is by `now`. Returns its makespan in nanoseconds.
    pub(super) fn end_phase(&mut self, now: Time) -> u64 {
        let Some(first) = self.phase_first.take() else { return 0 };
        let makespan = self.last_completion.since(first).as_ns();
        self.spans.arrivals += self.last_arrival.since(first).as_ns();
        self.spans.makespan += makespan;
        self.spans.work += now.since(first).as_ns();
        self.spans.drain += self.last_completion.since(self.last_arrival).as_ns();
        makespan
    }

    /// Upkeep begins: its time counts as that of phases does.
    pub(super) const fn begin_upkeep(&mut self) {
        self.keeps_up = true;
    }

    /// Upkeep is over and took so long.
    pub(super) const fn end_upkeep(&mut self, span: Span) {
        self.keeps_up = false;
        self.spans.work += span.as_ns();
    }

    /// Whether a request of the current phase has arrived, or upkeep is under way.
    pub(super) const fn has_begun(&self) -> bool {
        self.phase_first.is_some() || self.keeps_up
    }

    /// Time from the first arrival to the end of all work, over the phases that are over.
    pub(super) const fn work_ns(&self) -> u64 {
        self.spans.work
    }

    /// Bytes that the host has written or is writing.
    pub(super) const fn written_bytes(&self) -> u64 {
        self.sectors[RequestOp::Write as usize] * SECTOR_BYTES as u64
    }

    /// A request of a stream of the current phase has been answered.
    pub(super) fn stream_answered(&mut self, stream: usize, request: &Pending, ns: u64) {
        let counts = request.order >= self.counts_from;
        self.streams.0[self.stream_places[stream]].answered(request.request.op, ns, counts);
    }

    pub(super) fn arrival(&mut self, pending: &Pending, outstanding: u64) {
        let arrival = pending.request.arrival;
        self.first_arrival.get_or_insert(arrival);
        let first = *self.phase_first.get_or_insert(arrival);
        self.last_arrival = arrival;
        if self.requests < self.skip {
            self.counts_from = pending.order + 1;
        }
        self.requests += 1;
        self.backlog.sample(self.spans.makespan + arrival.since(first).as_ns(), outstanding);
        self.sectors[pending.request.op as usize] += u64::from(pending.request.sectors);
    }

    pub(super) fn answered(&mut self, request: &Pending, now: Time) {
        let class = request.request.op as usize;
        self.last_completion = now;
        if request.order < self.counts_from {
            self.skipped[class] += 1;
            return;
        }
        let latency = now.since(request.request.arrival).as_ns();
        self.latency[class].record(latency, &request.parts);
        let waits = &mut self.waits[class];
        waits.count += 1;
        waits.queue_ns += u128::from(queue_wait(request.first_slot, request.request.arrival, now));
        waits.own_ns += u128::from(request.own.as_ns());
        waits.latency_ns += u128::from(latency);
    }
}

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
        let mut all = self.totals.attributed;
        all.merge(&self.totals.unattributed);
        let mut phases = Tally::default();
        self.totals.work.iter().for_each(|work| phases.merge(work));
        assert_eq!(all, phases, "work is attributed or unattributed, once");
        if let Some(checker) = self.checker.take() {
            self.map.audit();
            checker.finish(&self.map);
            if let Some(cache) = &self.cache {
                checker.finish_map(|lpn| cache.is_dirty(lpn));
            }
        }
        self.report(&all).ok_or(SimError::TooMuchEnergy)
    }

    fn report(&self, all: &Tally) -> Option<Report> {
        let totals = &self.totals;
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
        let series = self.series.clone().map(|series| series.report(&self.counts(), unit_bytes));
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
            waits_ns: (self.dies.len() == 1).then(|| self.waits()),
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
            phases: self.phases.clone(),
            utilisation: self.measured.report(totals.spans.makespan),
            series,
        })
    }

    /// What translation layers did in measured phases.
    pub(super) fn merges(&self) -> MergeCounts {
        let layered = self.layered.as_ref();
        layered.map_or_else(MergeCounts::default, |layered| {
            layered.counts().since(&layered.unmeasured)
        })
    }

    fn wear(&self) -> Wear {
        let blocks = &self.map.blocks;
        let planes = (0..self.planes.len()).map(PlaneId::from_index);
        let factory = u64::from(self.settings.factory_bad_blocks) * self.planes.len() as u64;
        Wear {
            levelling_jobs: self.totals.wear_jobs,
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

    fn streams(&self) -> BTreeMap<String, StreamReport> {
        let makespan = self.totals.spans.makespan;
        let streams = self.totals.streams.0.iter();
        streams.map(|stream| (stream.name.clone(), stream.report(makespan))).collect()
    }

    /// Bytes programmed for all purposes.
    pub(super) fn programmed_bytes(&self) -> u128 {
        let programs: u64 = self.totals.work.iter().map(|work| work.of_op(Op::Program).pages).sum();
        u128::from(programs) * u128::from(self.settings.geometry.page_bytes)
    }

    /// Measured time goes on to `now`, and nothing changes before.
    pub(super) fn record_until(&mut self, now: Time) {
        if let Some(mut series) = self.series.take() {
            series.advance(now, self.outstanding, self.background_uw_mib(), || self.counts());
            self.series = Some(series);
        }
    }

    /// What the time series counts.
    pub(super) fn counts(&self) -> Counts {
        let mut counts = Counts { accesses_pj: self.accesses_pj(), ..Counts::default() };
        for work in &self.totals.work {
            let gc = Purpose::ALL.into_iter().filter(|purpose| purpose.is_gc());
            counts.host_programs += work.get(Op::Program, Purpose::Host).pages;
            counts.gc_programs += gc.map(|gc| work.get(Op::Program, gc).pages).sum::<u64>();
            counts.programs += work.of_op(Op::Program).pages;
            counts.erases += work.of_op(Op::Erase).pages;
        }
        let planes = (0..self.planes.len()).map(PlaneId::from_index);
        counts.free_blocks =
            planes.map(|plane| u64::from(self.map.blocks.free_blocks(plane))).sum();
        counts
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
            let work = &self.totals.work[*phase as usize];
            let ops = Op::ALL.iter().map(|op| (op.name(), work.of_op(*op).ops)).collect();
            (phase.name(), ops)
        });
        let programs = all.of_op(Op::Program).pages;
        let (programmed, written) = (self.programmed_bytes(), self.totals.written_bytes());
        let host = all.get(Op::Program, Purpose::Host).pages;
        let padded = |cause: Padding| self.totals.padded[cause as usize];
        FlashReport {
            pages: by_purpose(&|work| work.pages),
            array_ops: by_purpose(&|work| work.ops),
            phases: phases.collect(),
            write_amplification: (written > 0).then(|| programmed as f64 / written as f64),
            write_amplification_by: self.amplification(all),
            programs_per_host_page: (host > 0).then(|| programs as f64 / host as f64),
            padded_units: self.totals.padded.iter().sum(),
            padded_units_by: Padding::ALL.map(|cause| (cause.name(), padded(cause))).into(),
            partial_writes_read: self.totals.partial_writes_read,
            suspensions: self.totals.suspensions,
        }
    }

    /// What write amplification is made of: bytes that hold something, by why they were programmed,
    /// and bytes left empty, over those that the host wrote.
    fn amplification(&self, all: &Tally) -> BTreeMap<&'static str, Option<f64>> {
        let geometry = &self.settings.geometry;
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
        let map = &self.totals.map;
        MapReport {
            lookups: map.lookups,
            hits: map.hits,
            misses: map.misses,
            dirty_evictions: map.dirty_evictions,
            batch_cleaned: self
                .cache
                .as_ref()
                .map_or(0, |cache| cache.batch_cleaned() - self.totals.unmeasured_cleaned),
            stalls: map.stalls,
            hazards_ignored: map.hazards_ignored,
            data_hazards_ignored: self.totals.data_hazards_ignored,
            commands_moved: self.totals.rekeys,
            hazard_picks: self.totals.hazard_picks,
        }
    }

    fn buffer_report(&self) -> BufferReport {
        let totals = &self.totals.buffer;
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
        let drain = self.totals.spans.drain;
        let overfull = self.totals.backlog.most() > self.settings.keys.queue.depth;
        self.totals.backlog.grew() || (overfull && u128::from(drain) * 10 > u128::from(span))
    }

    fn verdict(&self) -> Verdict {
        let span = self.totals.spans.arrivals;
        let work = |phase: Phase| {
            let work = &self.totals.work[phase as usize];
            Op::ALL
                .iter()
                .map(|op| work.of_op(*op))
                .map(|op| op.array_ns + op.transfer_ns)
                .sum::<u64>()
        };
        let busy = u128::from(work(Phase::Foreground)) + u128::from(work(Phase::Idle));
        let keys = &self.settings.keys;
        let at_once = match keys.nand.multi_plane {
            MultiPlane::None => self.dies.len(),
            MultiPlane::SamePage | MultiPlane::Any => self.planes.len(),
        };
        let capacity = u128::from(span) * at_once as u128;
        Verdict {
            initial_state: keys.state.initial.word(),
            initial_write_amplification: self.made.write_amplification,
            initial_error: self.made.error,
            gc_ran: self.totals.gc_jobs > 0 || self.merges().any(),
            offered_load: (capacity > 0).then(|| busy as f64 / capacity as f64),
            queue_grew: self.queue_grew(span),
            most_outstanding: self.totals.backlog.most(),
            unmapped_reads: self.totals.unmapped_reads,
            unmapped_read_cost: keys.nand.unmapped_read.word(),
            folded_requests: 0,
        }
    }
}

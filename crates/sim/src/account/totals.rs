//! Sums over a run, and the report made from them.

use super::Account;
use super::energy::EnergyTotals;
use super::placed::Placed;
use super::streams::{StreamList, StreamTotals};
use super::tables::TableTotals;
use crate::metrics::answer::Answer;
use crate::metrics::backlog::Backlog;
use crate::metrics::counters::{Padding, Tally};
use crate::metrics::drift::{Drift, Sums};
use crate::metrics::histogram::Histogram;
use crate::metrics::series::OfHandle;
use crate::saved::saved;
use crate::stream::{Pacing, StreamKeys};
use flashyard_core::request::{Request, RequestOp, SECTOR_BYTES};
use flashyard_core::units::{Lpn, Span, Time};

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
    /// Units that were read ahead, those of them that were put into it and those that a read has
    /// asked for; page accesses of reads that found their unit read ahead, those of them that
    /// waited for it.
    pub(super) ahead_units: u64,
    pub(super) ahead_puts: u64,
    pub(super) ahead_read: u64,
    pub(super) ahead_hits: u64,
    pub(super) ahead_waits: u64,
    /// Time of the ports: gets of requests, puts, gets of flushes; of gets beside a put.
    pub(super) get_ns: u64,
    pub(super) put_ns: u64,
    pub(super) flush_get_ns: u64,
    pub(super) hidden_ns: u64,
}

/// Sums of the waiting times that the published comparison uses.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Waits {
    pub(super) count: u64,
    pub(super) queue_ns: u128,
    pub(super) own_ns: u128,
    pub(super) latency_ns: u128,
}

/// Latencies by operation, with their parts.
#[derive(Clone, Debug)]
pub(super) struct Latencies {
    pub(super) by_op: [Histogram; 4],
}

impl Default for Latencies {
    fn default() -> Self {
        Self { by_op: [true; 4].map(Histogram::new) }
    }
}

/// Everything that is summed up during a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Totals {
    pub(super) latency: Latencies,
    /// Requests whose latencies do not count, by operation.
    pub(super) skipped: [u64; 4],
    /// So many of the first requests are such ones ...
    pub(super) skip: u64,
    /// ... and in the order of arrival this is the first one that is not.
    pub(super) counts_from: u64,
    pub(super) waits: [Waits; 4],
    pub(super) sectors: [u64; 4],
    pub(super) work: [Tally; 3],
    pub(super) attributed: Tally,
    pub(super) unattributed: Tally,
    pub(super) map: MapTotals,
    pub(super) tables: TableTotals,
    pub(super) buffer: BufferTotals,
    pub(super) energy: EnergyTotals,
    pub(super) gc_jobs: u64,
    /// Blocks of the SLC cache that were folded, and their valid units.
    pub(super) fold_jobs: u64,
    pub(super) fold_valid: u64,
    pub(super) gc_searches: u64,
    pub(super) wear_jobs: u64,
    pub(super) gc_valid: u64,
    pub(super) gc_superseded: u64,
    pub(super) gc_lines_updated: u64,
    pub(super) room_waits: u64,
    pub(super) suspensions: u64,
    pub(super) bit_errors: u64,
    /// Units left empty, by [`Padding`].
    pub(super) padded: [u64; Padding::ALL.len()],
    pub(super) partial_writes_read: u64,
    pub(super) partial_writes: u64,
    pub(super) rekeys: u64,
    pub(super) unmapped_reads: u64,
    pub(super) data_hazards_ignored: u64,
    pub(super) hazard_picks: u64,
    pub(super) backlog: Backlog,
    pub(super) drift: Drift,
    pub(super) requests: u64,
    pub(super) first_arrival: Option<Time>,
    pub(super) last_arrival: Time,
    /// Of the current phase.
    pub(super) phase_first: Option<Time>,
    /// Whether work goes on between phases, or after the last one.
    pub(super) maintains: bool,
    pub(super) last_completion: Time,
    pub(super) spans: Spans,
    /// Lines of the map cache that were cleaned in phases that do not count.
    pub(super) unmeasured_cleaned: u64,
    /// By stream where a phase has several, the place of each stream of the current phase, and
    /// whether it has streams whose requests come at times of their own beside others.
    pub(super) streams: StreamList,
    /// By placement handle, where there are several.
    pub(super) placed: Option<Placed>,
    pub(super) stream_places: Vec<usize>,
    pub(super) is_mixed: bool,
    /// Whether requests of a phase came at times of their own, and whether some came when others
    /// had been answered.
    pub(super) own_times: bool,
    pub(super) closed_loops: bool,
    /// Whether requests of a session come because others were answered.
    pub(super) follows_answers: bool,
}

/// Times of phases that are over, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spans {
    /// First to last arrival.
    pub(super) arrivals: u64,
    /// The same of requests that come at times of their own, where others come beside them.
    pub(super) offered: u64,
    /// First arrival to last completion.
    pub(super) makespan: u64,
    /// First arrival to the end of all work.
    pub(super) work: u64,
    /// Last arrival to last completion, of the same requests.
    pub(super) drain: u64,
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
    ahead_units,
    ahead_puts,
    ahead_read,
    ahead_hits,
    ahead_waits,
    get_ns,
    put_ns,
    flush_get_ns,
    hidden_ns,
});

saved!(Latencies { by_op });

saved!(Waits { count, queue_ns, own_ns, latency_ns });

saved!(Spans { arrivals, offered, makespan, work, drain });

saved!(Totals {
    latency, skipped, waits, sectors, work, attributed, unattributed, map, tables, buffer, gc_jobs,
    fold_jobs, fold_valid,
    gc_searches,
    wear_jobs, gc_valid,
    gc_superseded, gc_lines_updated, room_waits, rekeys, unmapped_reads, data_hazards_ignored,
    hazard_picks, backlog, drift, requests, first_arrival, last_arrival, last_completion, spans,
    unmeasured_cleaned, streams, placed, energy, suspensions, bit_errors, padded,
    partial_writes_read, partial_writes, own_times, closed_loops,
} skip { skip, counts_from, phase_first, maintains, stream_places, is_mixed, follows_answers });

impl Totals {
    /// Sums to which the latencies of the first `skip` requests do not count, of a device with so
    /// many placement handles.
    pub(super) fn new(skip: u64, handles: u8) -> Self {
        Self { skip, placed: Placed::new(handles), ..Self::default() }
    }

    /// Begins anew, for a phase that does not count; returns what there was.
    pub(super) fn set_aside(&mut self) -> Self {
        let placed = self.placed.as_ref().map(Placed::emptied);
        std::mem::replace(self, Self { placed, ..Self::default() })
    }

    /// A phase of these streams begins. `apart` is whether some phase has several.
    pub(super) fn begin(&mut self, streams: &[(String, StreamKeys)], apart: bool) {
        let is_open = |(_, keys): &(String, StreamKeys)| keys.pacing == Pacing::Open;
        let (any, all) = (streams.iter().any(is_open), streams.iter().all(is_open));
        self.own_times |= any;
        self.closed_loops |= !all;
        self.is_mixed = any && !all;
        self.stream_places.clear();
        if streams.len() < 2 && !apart && self.streams.0.is_empty() {
            return;
        }
        for stream in streams {
            let name = &stream.0;
            let known = self.streams.0.iter().position(|stream| stream.name == *name);
            let place = known.unwrap_or_else(|| {
                self.streams.0.push(StreamTotals::new(name));
                self.streams.0.len() - 1
            });
            self.streams.0[place].is_open = is_open(stream);
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
        // Of what comes at times of its own, where something else comes beside it.
        let mut own = [first, self.last_arrival, self.last_completion];
        if self.is_mixed {
            own = [Time::MAX, Time::ZERO, Time::ZERO];
        }
        for stream in &mut self.streams.0 {
            if let Some([first, arrived, answered]) = stream.end_phase()
                && self.is_mixed
                && stream.is_open
            {
                own = [own[0].min(first), own[1].max(arrived), own[2].max(answered)];
            }
        }
        if own[0] <= own[1] {
            self.spans.offered += own[1].since(own[0]).as_ns();
            self.spans.drain += own[2].since(own[1]).as_ns();
        }
        makespan
    }

    /// Maintenance is over and took so long.
    pub(super) const fn end_maintenance(&mut self, span: Span) {
        self.maintains = false;
        self.spans.work += span.as_ns();
    }

    /// Whether a request of the current phase has arrived, or maintenance is under way.
    pub(super) const fn has_begun(&self) -> bool {
        self.phase_first.is_some() || self.maintains
    }

    /// Bytes that the host has written or is writing.
    pub(super) const fn written_bytes(&self) -> u64 {
        self.sectors[RequestOp::Write as usize] * SECTOR_BYTES as u64
    }

    /// Bytes that the host has read or is reading.
    pub(super) const fn read_bytes(&self) -> u64 {
        self.sectors[RequestOp::Read as usize] * SECTOR_BYTES as u64
    }

    /// Bytes that the host has read or written, or is about to.
    pub(super) const fn moved_bytes(&self) -> u64 {
        self.written_bytes() + self.read_bytes()
    }

    #[expect(clippy::inline_always, reason = "once a request; a call costs as much")]
    #[inline(always)]
    fn arrived(&mut self, request: &Request, order: u64, lane: usize, outstanding: u64) {
        let arrival = request.arrival;
        self.first_arrival.get_or_insert(arrival);
        let first = *self.phase_first.get_or_insert(arrival);
        self.last_arrival = arrival;
        if self.requests < self.skip {
            self.counts_from = order + 1;
        }
        self.requests += 1;
        self.sectors[request.op as usize] += u64::from(request.sectors);
        let ns = self.spans.makespan + arrival.since(first).as_ns();
        match self.stream_places.get(lane) {
            None => self.backlog.sample(ns, outstanding),
            Some(&place) => self.arrived_of(place, arrival, (ns, outstanding)),
        }
    }

    /// The same of a stream that is told apart, at an instant of the run.
    #[inline(never)]
    fn arrived_of(&mut self, place: usize, arrival: Time, (ns, outstanding): (u64, u64)) {
        let stream = &mut self.streams.0[place];
        stream.arrived(arrival);
        if stream.is_open || !self.is_mixed {
            self.backlog.sample(ns, outstanding);
        } else {
            self.backlog.found(outstanding);
        }
    }

    #[expect(clippy::inline_always, reason = "once a request, with large arguments")]
    #[inline(always)]
    fn answered(&mut self, answer: &Answer<'_>, now: Time) {
        let (arrival, class) = (answer.request.arrival, answer.request.op as usize);
        let latency = now.since(arrival).as_ns();
        let counts = answer.order >= self.counts_from;
        if let Some(&place) = self.stream_places.get(answer.stream) {
            self.streams.0[place].answered(answer.request.op, answer.parts, counts, now);
        }
        self.last_completion = now;
        if !counts {
            self.skipped[class] += 1;
            return;
        }
        self.latency.by_op[class].record(latency, answer.parts);
        let waits = &mut self.waits[class];
        waits.count += 1;
        waits.queue_ns += u128::from(answer.queue_wait(now));
        waits.own_ns += u128::from(answer.own.as_ns());
        waits.latency_ns += u128::from(latency);
    }
}

impl Account {
    /// A request of a stream for so many pages from `first` on has arrived and finds so many
    /// others.
    #[expect(clippy::inline_always, reason = "once a request, with large arguments")]
    #[inline(always)]
    pub(crate) fn arrived(
        &mut self,
        request: &Request,
        order: u64,
        (first, pages): (Lpn, u32),
        (lane, outstanding): (usize, u64),
    ) {
        self.totals.arrived(request, order, lane, outstanding);
        if let Some(placed) = &mut self.totals.placed
            && request.op == RequestOp::Write
        {
            let row = self.config.placement.handle_of(request.place());
            placed.written(row, request.sectors);
            self.place_in_series(row, OfHandle::HostSectors, u64::from(request.sectors));
        }
        let unit = self.config.geometry.unit_sectors();
        let whole = || {
            request.sectors.is_multiple_of(unit)
                && request.first_sector.is_multiple_of(u64::from(unit))
        };
        if request.op == RequestOp::Write && !whole() {
            self.totals.partial_writes += 1;
        }
        if let Some(checker) = self.checker() {
            checker.arrived(order, request, first, pages);
        }
    }

    /// A request is another one since it was started on a device with zones: one without pages has
    /// no effect, or is an action.
    #[cold]
    pub(crate) fn restated(&mut self, order: u64, request: &Request, (first, pages): (Lpn, u32)) {
        if let Some(checker) = self.checker() {
            checker.restated(order, request, first, pages);
        }
    }

    /// A request is answered.
    #[expect(clippy::inline_always, reason = "once a request, with large arguments")]
    #[inline(always)]
    pub(crate) fn answered(&mut self, answer: &Answer<'_>, now: Time) {
        self.totals.answered(answer, now);
        if self.totals.drift.answered() {
            let sums = self.sums();
            self.totals.drift.mark(sums);
        }
        if self.watch.is_some() {
            let Answer { order, request, pages, parts, .. } = *answer;
            self.tell_times((order, pages), request, parts, now);
            let place = self.totals.stream_places.get(answer.stream).copied();
            if let Some(checker) = self.checker() {
                checker.answered(answer.order);
            }
            if let Some(series) = self.series() {
                let Request { arrival, op, sectors, .. } = *answer.request;
                series.answered(op, sectors, now.since(arrival).as_ns());
                if let Some(place) = place {
                    series.stream_answered(place, op, sectors);
                }
            }
        }
    }

    /// What the thirds of a run are told by.
    pub(super) fn sums(&self) -> Sums {
        let waits = &self.totals.waits;
        Sums {
            programmed: self.programmed_bytes(),
            written: self.totals.written_bytes(),
            latency_ns: waits.iter().map(|of| of.latency_ns).sum(),
            answered: waits.iter().map(|of| of.count).sum(),
        }
    }

    /// Whether a request of the current phase has arrived, or maintenance is under way.
    pub(crate) const fn has_begun(&self) -> bool {
        self.totals.has_begun()
    }

    /// When the last request arrived.
    pub(crate) const fn last_arrival(&self) -> Time {
        self.totals.last_arrival
    }
}

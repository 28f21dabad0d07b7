//! Sums over a run, and the report made from them.

use super::energy::EnergyTotals;
use super::tables::TableTotals;
use crate::device::queue_wait;
use crate::host::Pending;
use crate::metrics::backlog::Backlog;
use crate::metrics::counters::{Padding, Tally};
use crate::metrics::histogram::Histogram;
use crate::saved::saved;
use crate::stream::{StreamList, StreamTotals};
use flashyard_core::request::{RequestOp, SECTOR_BYTES};
use flashyard_core::units::{Span, Time};

/// What the map cache did.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MapTotals {
    pub(crate) lookups: u64,
    pub(crate) hits: u64,
    pub(crate) misses: u64,
    pub(crate) dirty_evictions: u64,
    pub(crate) stalls: u64,
    pub(crate) hazards_ignored: u64,
}

/// What the write buffer did.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BufferTotals {
    pub(crate) read_hits: u64,
    pub(crate) read_misses: u64,
    pub(crate) write_hits: u64,
    pub(crate) write_misses: u64,
    pub(crate) dirtied_units: u64,
    pub(crate) flushed_units: u64,
    pub(crate) trimmed_units: u64,
    pub(crate) stalls: u64,
    /// Units that reads of flash left in it.
    pub(crate) allocated_units: u64,
    /// Time of the ports: gets of requests, puts, gets of flushes; of gets beside a put.
    pub(crate) get_ns: u64,
    pub(crate) put_ns: u64,
    pub(crate) flush_get_ns: u64,
    pub(crate) hidden_ns: u64,
}

/// Sums of the waiting times that the published comparison uses.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Waits {
    pub(crate) count: u64,
    pub(crate) queue_ns: u128,
    pub(crate) own_ns: u128,
    pub(crate) latency_ns: u128,
}

/// Everything that is summed up during a run.
#[derive(Debug)]
pub(crate) struct Totals {
    /// By operation.
    pub(crate) latency: [Histogram; 4],
    /// Requests whose latencies do not count, by operation.
    pub(crate) skipped: [u64; 4],
    /// So many of the first requests are such ones ...
    pub(crate) skip: u64,
    /// ... and in the order of arrival this is the first one that is not.
    pub(crate) counts_from: u64,
    pub(crate) waits: [Waits; 4],
    pub(crate) sectors: [u64; 4],
    pub(crate) work: [Tally; 3],
    pub(crate) attributed: Tally,
    pub(crate) unattributed: Tally,
    pub(crate) map: MapTotals,
    pub(crate) tables: TableTotals,
    pub(crate) buffer: BufferTotals,
    pub(crate) energy: EnergyTotals,
    pub(crate) gc_jobs: u64,
    pub(crate) gc_searches: u64,
    pub(crate) wear_jobs: u64,
    pub(crate) gc_valid: u64,
    pub(crate) gc_superseded: u64,
    pub(crate) gc_lines_updated: u64,
    pub(crate) room_waits: u64,
    pub(crate) suspensions: u64,
    /// Units left empty, by [`Padding`].
    pub(crate) padded: [u64; Padding::ALL.len()],
    pub(crate) partial_writes_read: u64,
    pub(crate) rekeys: u64,
    pub(crate) unmapped_reads: u64,
    pub(crate) data_hazards_ignored: u64,
    pub(crate) hazard_picks: u64,
    pub(crate) backlog: Backlog,
    pub(crate) requests: u64,
    pub(crate) first_arrival: Option<Time>,
    pub(crate) last_arrival: Time,
    /// Of the current phase.
    pub(crate) phase_first: Option<Time>,
    /// Whether work goes on between phases, or after the last one.
    pub(crate) keeps_up: bool,
    pub(crate) last_completion: Time,
    pub(crate) spans: Spans,
    /// Lines of the map cache that were cleaned in phases that do not count.
    pub(crate) unmeasured_cleaned: u64,
    /// By stream where a phase has several, and the place of each stream of the current phase.
    pub(crate) streams: StreamList,
    pub(crate) stream_places: Vec<usize>,
}

/// Times of phases that are over, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spans {
    /// First to last arrival.
    pub(crate) arrivals: u64,
    /// First arrival to last completion.
    pub(crate) makespan: u64,
    /// First arrival to the end of all work.
    pub(crate) work: u64,
    /// Last arrival to last completion.
    pub(crate) drain: u64,
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
    pub(crate) fn new(skip: u64) -> Self {
        Self { skip, ..Self::default() }
    }

    /// A phase of these streams begins.
    pub(crate) fn begin<'a>(&mut self, streams: impl ExactSizeIterator<Item = &'a str>) {
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
    pub(crate) fn end_phase(&mut self, now: Time) -> u64 {
        let Some(first) = self.phase_first.take() else { return 0 };
        let makespan = self.last_completion.since(first).as_ns();
        self.spans.arrivals += self.last_arrival.since(first).as_ns();
        self.spans.makespan += makespan;
        self.spans.work += now.since(first).as_ns();
        self.spans.drain += self.last_completion.since(self.last_arrival).as_ns();
        makespan
    }

    /// Upkeep begins: its time counts as that of phases does.
    pub(crate) const fn begin_upkeep(&mut self) {
        self.keeps_up = true;
    }

    /// Upkeep is over and took so long.
    pub(crate) const fn end_upkeep(&mut self, span: Span) {
        self.keeps_up = false;
        self.spans.work += span.as_ns();
    }

    /// Whether a request of the current phase has arrived, or upkeep is under way.
    pub(crate) const fn has_begun(&self) -> bool {
        self.phase_first.is_some() || self.keeps_up
    }

    /// Time from the first arrival to the end of all work, over the phases that are over.
    pub(crate) const fn work_ns(&self) -> u64 {
        self.spans.work
    }

    /// Bytes that the host has written or is writing.
    pub(crate) const fn written_bytes(&self) -> u64 {
        self.sectors[RequestOp::Write as usize] * SECTOR_BYTES as u64
    }

    /// A request of a stream of the current phase has been answered.
    pub(crate) fn stream_answered(&mut self, stream: usize, request: &Pending, ns: u64) {
        let counts = request.order >= self.counts_from;
        self.streams.0[self.stream_places[stream]].answered(request.request.op, ns, counts);
    }

    pub(crate) fn arrival(&mut self, pending: &Pending, outstanding: u64) {
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

    pub(crate) fn answered(&mut self, request: &Pending, now: Time) {
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

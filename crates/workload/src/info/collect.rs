//! The statistics, and how requests are counted for them.

use flashyard_core::request::{Request, RequestOp, SECTOR_BYTES};
use serde::Serialize;

use super::footprint::Footprint;
use super::gaps::{Counter, DISPERSION_WINDOWS_NS, Dispersion, Gaps};
use super::histogram::Percentiles;
use super::overlap::{Overlap, Recent};
use super::pages::{
    Access, AfterWrite, PAGE_LIMIT, Pages, Reuse, WORKING_SET_WINDOWS_NS, WorkingSet,
};
use super::rate::{Bins, Rate};
use super::runs::{Runs, Sequentiality};
use super::sizes::{SizeCounts, Sizes};
use super::units::{PAGE_SECTORS, mib_of_pages, percent, ratio};
use crate::error::WorkloadError;
use crate::{RequestSource, SourceStats};

/// Streams whose requests are given one by one.
pub const STREAMS_SHOWN: usize = 16;

/// Statistics of the requests of a source. `None` (null) where a figure is not defined.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Info {
    /// All requests.
    pub requests: u64,
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Trims.
    pub trims: u64,
    /// Flushes.
    pub flushes: u64,
    /// Mean size of a read in KiB (1024 B).
    pub read_kib_mean: Option<f64>,
    /// Mean size of a write in KiB (1024 B).
    pub write_kib_mean: Option<f64>,
    /// Share of writes among all requests, in percent.
    pub write_percent: Option<f64>,
    /// Sizes by operation.
    pub sizes: ByOp<Sizes>,
    /// Bytes read.
    pub read_bytes: u128,
    /// Bytes written.
    pub write_bytes: u128,
    /// Arrival of the first request, in nanoseconds.
    pub first_ns: u64,
    /// Arrival of the last request, in nanoseconds.
    pub last_ns: u64,
    /// From the first arrival to the last, in nanoseconds.
    pub duration_ns: u64,
    /// Requests divided by the duration.
    pub requests_per_s: Option<f64>,
    /// Mean time between arrivals, in nanoseconds.
    pub interarrival_ns_mean: Option<f64>,
    /// Coefficient of variation of the times between arrivals (1 for a Poisson process).
    pub interarrival_cv: Option<f64>,
    /// Percentiles of the times between arrivals, in nanoseconds.
    pub interarrival_ns: Percentiles<u64>,
    /// Autocorrelation of lag 1 of the times between arrivals (0 for a Poisson process).
    pub interarrival_autocorrelation: Option<f64>,
    /// Index of dispersion of the number of arrivals in windows (1 for a Poisson process).
    pub dispersion: [Dispersion; DISPERSION_WINDOWS_NS.len()],
    /// Requests over time.
    pub rate: Rate,
    /// Share of requests that start where the one before ended, in percent.
    pub sequential_percent: Option<f64>,
    /// Sequentiality by operation.
    pub sequentiality: ReadWrite<Sequentiality>,
    /// Distinct 4 KiB pages that reads, writes and trims touch.
    pub footprint_pages: u64,
    /// The same in MiB.
    pub footprint_mib: f64,
    /// The last sector that is touched.
    pub highest_sector: Option<u64>,
    /// Re-use of pages.
    pub reuse: Reuse,
    /// Distinct data accessed in windows of time.
    pub working_set: [WorkingSet; WORKING_SET_WINDOWS_NS.len()],
    /// Requests that overlap requests shortly before them.
    pub overlap: Overlap,
    /// Reads of pages that were written before.
    pub read_after_write: AfterWrite,
    /// Writes of pages that were written before.
    pub write_after_write: AfterWrite,
    /// Requests that were moved to fit the device.
    pub folded: u64,
    /// Rows that are earlier than the row before them in the file.
    pub steps_back: u64,
    /// The longest of these steps, in nanoseconds.
    pub max_back_ns: u64,
    /// Runs of the recording clock that were joined.
    pub clock_epochs: u64,
    /// Distinct streams.
    pub streams: u64,
    /// Requests of each stream, in order of their numbers; at most [`STREAMS_SHOWN`].
    pub stream_requests: Vec<StreamRequests>,
}

/// A figure for each operation that has a size.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ByOp<T> {
    /// Of reads.
    pub read: T,
    /// Of writes.
    pub write: T,
    /// Of trims.
    pub trim: T,
}

/// A figure for reads and one for writes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReadWrite<T> {
    /// Of reads.
    pub read: T,
    /// Of writes.
    pub write: T,
}

/// Requests of one stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct StreamRequests {
    /// Its number.
    pub stream: u64,
    /// Its requests.
    pub requests: u64,
}

impl Info {
    /// Reads `source` to its end.
    pub fn collect(source: &mut (impl RequestSource + ?Sized)) -> Result<Self, WorkloadError> {
        let mut sums = Sums::default();
        while let Some(request) = source.next_request()? {
            sums.add(&request);
        }
        Ok(sums.finish(source.stats()))
    }
}

#[derive(Debug)]
struct Sums {
    counts: [u64; RequestOp::ALL.len()],
    sectors: [u128; RequestOp::ALL.len()],
    sizes: [SizeCounts; RequestOp::ALL.len()],
    first_ns: u64,
    last_ns: u64,
    gaps: Gaps,
    windows: [Counter; DISPERSION_WINDOWS_NS.len()],
    bins: Bins,
    sequential: u64,
    previous_end: Option<u64>,
    runs: [Runs; 2],
    highest_sector: Option<u64>,
    footprint: Footprint,
    pages: Pages,
    recent: Recent,
    /// Requests by stream, up to the greatest one.
    streams: Vec<u64>,
}

impl Default for Sums {
    fn default() -> Self {
        Self {
            counts: [0; RequestOp::ALL.len()],
            sectors: [0; RequestOp::ALL.len()],
            sizes: Default::default(),
            first_ns: 0,
            last_ns: 0,
            gaps: Gaps::default(),
            windows: DISPERSION_WINDOWS_NS.map(Counter::new),
            bins: Bins::default(),
            sequential: 0,
            previous_end: None,
            runs: Default::default(),
            highest_sector: None,
            footprint: Footprint::default(),
            pages: Pages::new(PAGE_LIMIT),
            recent: Recent::default(),
            streams: Vec::new(),
        }
    }
}

impl Sums {
    fn add(&mut self, request: &Request) {
        let arrival_ns = request.arrival.as_ns();
        let number = self.total();
        if number == 0 {
            self.first_ns = arrival_ns;
        } else {
            self.gaps.add(arrival_ns - self.last_ns);
        }
        self.last_ns = arrival_ns;
        let since_ns = arrival_ns - self.first_ns;
        for window in &mut self.windows {
            window.add(since_ns);
        }
        self.bins.add(since_ns, request);
        self.counts[request.op as usize] += 1;
        let stream = usize::from(request.stream);
        if stream >= self.streams.len() {
            self.streams.resize(stream + 1, 0);
        }
        self.streams[stream] += 1;
        if request.op != RequestOp::Flush {
            self.sectors[request.op as usize] += u128::from(request.sectors);
            self.sizes[request.op as usize].add(request);
            self.add_range(request, number, since_ns);
        }
    }

    /// Adds the addresses of a request.
    fn add_range(&mut self, request: &Request, number: u64, since_ns: u64) {
        let (first, end) = (request.first_sector, request.end_sector());
        self.sequential += u64::from(self.previous_end == Some(first));
        self.previous_end = end;
        let last = end.unwrap_or(u64::MAX).saturating_sub(1).max(first);
        self.highest_sector = self.highest_sector.max(Some(last));
        let (first_page, last_page) = (first / PAGE_SECTORS, last / PAGE_SECTORS);
        let mut is_new = true;
        if request.op != RequestOp::Trim {
            let is_write = request.op == RequestOp::Write;
            self.runs[usize::from(is_write)].add(first, end);
            self.recent.add(request, last);
            let access = Access { since_ns, request: number, is_write };
            is_new = self.pages.access(first_page, last_page, access);
        }
        if is_new {
            self.footprint.add(first_page, last_page);
        }
    }

    fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    fn kib_mean(&self, op: RequestOp) -> Option<f64> {
        let kib = self.bytes(op) as f64 / 1024.0;
        ratio(kib, self.counts[op as usize] as f64)
    }

    fn bytes(&self, op: RequestOp) -> u128 {
        self.sectors[op as usize] * u128::from(SECTOR_BYTES)
    }

    fn sequentiality(&self, op: RequestOp) -> Sequentiality {
        self.runs[usize::from(op == RequestOp::Write)].finish(self.sectors[op as usize])
    }

    fn sizes(&self) -> ByOp<Sizes> {
        let of = |op: RequestOp| self.sizes[op as usize].finish();
        ByOp { read: of(RequestOp::Read), write: of(RequestOp::Write), trim: of(RequestOp::Trim) }
    }

    fn stream_requests(&self) -> impl Iterator<Item = StreamRequests> {
        let all = (0..).zip(&self.streams).filter(|(_, requests)| **requests > 0);
        all.map(|(stream, &requests)| StreamRequests { stream, requests })
    }

    fn finish(&self, stats: SourceStats) -> Info {
        use RequestOp::{Flush, Read, Trim, Write};
        let requests = self.total();
        let duration_ns = self.last_ns - self.first_ns;
        let count = |op: RequestOp| self.counts[op as usize];
        Info {
            requests,
            reads: count(Read),
            writes: count(Write),
            trims: count(Trim),
            flushes: count(Flush),
            read_kib_mean: self.kib_mean(Read),
            write_kib_mean: self.kib_mean(Write),
            write_percent: percent(count(Write), requests),
            sizes: self.sizes(),
            read_bytes: self.bytes(Read),
            write_bytes: self.bytes(Write),
            first_ns: self.first_ns,
            last_ns: self.last_ns,
            duration_ns,
            requests_per_s: ratio(requests as f64 * 1e9, duration_ns as f64),
            interarrival_ns_mean: self.gaps.mean_ns(),
            interarrival_cv: self.gaps.coefficient_of_variation(),
            interarrival_ns: self.gaps.percentiles_ns(),
            interarrival_autocorrelation: self.gaps.autocorrelation(),
            dispersion: self.windows.map(Counter::finish),
            rate: self.bins.finish(requests > 0),
            sequential_percent: percent(self.sequential, requests),
            sequentiality: ReadWrite {
                read: self.sequentiality(Read),
                write: self.sequentiality(Write),
            },
            footprint_pages: self.footprint.pages(),
            footprint_mib: mib_of_pages(self.footprint.pages()),
            highest_sector: self.highest_sector,
            reuse: self.pages.reuse(),
            working_set: self.pages.working_sets(duration_ns),
            overlap: self.recent.finish(),
            read_after_write: self.pages.read_after_write(),
            write_after_write: self.pages.write_after_write(),
            folded: stats.folded,
            steps_back: stats.steps_back,
            max_back_ns: stats.max_back_ns,
            clock_epochs: stats.clock_epochs,
            streams: self.stream_requests().count() as u64,
            stream_requests: self.stream_requests().take(STREAMS_SHOWN).collect(),
        }
    }
}

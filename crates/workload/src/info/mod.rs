//! Statistics of a stream of requests, in one pass and bounded memory.
//!
//! Floats are used for the final divisions only; the sums are integers.

mod figures;
mod footprint;
mod table;

use flashyard_core::request::{RequestOp, SECTOR_BYTES};
use serde::Serialize;

pub use self::figures::Figure;

use self::footprint::Footprint;
use crate::error::WorkloadError;
use crate::{RequestSource, SourceStats};

/// Bytes of the pages that footprints count.
pub const FOOTPRINT_PAGE_BYTES: u32 = 4_096;

/// Windows in which the index of dispersion counts requests, in nanoseconds.
pub const DISPERSION_WINDOWS_NS: [u64; 4] =
    [10_000_000, 100_000_000, 1_000_000_000, 10_000_000_000];

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
    /// Index of dispersion of the number of arrivals in windows (1 for a Poisson process).
    pub dispersion: [Dispersion; DISPERSION_WINDOWS_NS.len()],
    /// Share of requests that start where the one before ended, in percent.
    pub sequential_percent: Option<f64>,
    /// Distinct 4 KiB pages that reads, writes and trims touch.
    pub footprint_pages: u64,
    /// The same in MiB.
    pub footprint_mib: f64,
    /// The last sector that is touched.
    pub highest_sector: Option<u64>,
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
}

/// Index of dispersion of counts: variance divided by mean of the arrivals in windows of one
/// length, the first of which starts with the first request and the last of which may be cut.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Dispersion {
    /// Length of a window in nanoseconds.
    pub window_ns: u64,
    /// Variance divided by mean; `None` with fewer than two windows.
    pub index: Option<f64>,
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
    first_ns: u64,
    last_ns: u64,
    /// Cannot overflow: the gaps add up to less than 2^64, and so do their squares to 2^128.
    gap_squares: u128,
    windows: [Counter; DISPERSION_WINDOWS_NS.len()],
    sequential: u64,
    previous_end: Option<u64>,
    highest_sector: Option<u64>,
    footprint: Footprint,
    /// A bit a stream.
    streams: Vec<u64>,
}

impl Default for Sums {
    fn default() -> Self {
        Self {
            counts: [0; RequestOp::ALL.len()],
            sectors: [0; RequestOp::ALL.len()],
            first_ns: 0,
            last_ns: 0,
            gap_squares: 0,
            windows: DISPERSION_WINDOWS_NS.map(Counter::new),
            sequential: 0,
            previous_end: None,
            highest_sector: None,
            footprint: Footprint::default(),
            streams: vec![0; (usize::from(u16::MAX) + 1) / 64],
        }
    }
}

impl Sums {
    fn add(&mut self, request: &flashyard_core::request::Request) {
        let arrival_ns = request.arrival.as_ns();
        if self.total() == 0 {
            self.first_ns = arrival_ns;
            self.last_ns = arrival_ns;
        }
        let gap = u128::from(arrival_ns - self.last_ns);
        self.gap_squares += gap * gap;
        self.last_ns = arrival_ns;
        for window in &mut self.windows {
            window.add(arrival_ns - self.first_ns);
        }
        self.counts[request.op as usize] += 1;
        self.sectors[request.op as usize] += u128::from(request.sectors);
        let stream = usize::from(request.stream);
        self.streams[stream / 64] |= 1 << (stream % 64);
        if request.op != RequestOp::Flush {
            self.add_range(request);
        }
    }

    fn add_range(&mut self, request: &flashyard_core::request::Request) {
        const PAGE_SECTORS: u64 = (FOOTPRINT_PAGE_BYTES / SECTOR_BYTES) as u64;
        let (first, end) = (request.first_sector, request.end_sector());
        self.sequential += u64::from(self.previous_end == Some(first));
        self.previous_end = end;
        let last = end.unwrap_or(u64::MAX).saturating_sub(1).max(first);
        self.highest_sector = self.highest_sector.max(Some(last));
        self.footprint.add(first / PAGE_SECTORS, last / PAGE_SECTORS);
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

    fn finish(self, stats: SourceStats) -> Info {
        let requests = self.total();
        let duration_ns = self.last_ns - self.first_ns;
        let gaps = requests.saturating_sub(1) as f64;
        let gap_mean = ratio(duration_ns as f64, gaps);
        let gap_squares = ratio(self.gap_squares as f64, gaps);
        let gap_deviation = gap_mean
            .zip(gap_squares)
            .map(|(mean, squares)| libm::sqrt((squares - mean * mean).max(0.0)));
        let count = |op: RequestOp| self.counts[op as usize];
        Info {
            requests,
            reads: count(RequestOp::Read),
            writes: count(RequestOp::Write),
            trims: count(RequestOp::Trim),
            flushes: count(RequestOp::Flush),
            read_kib_mean: self.kib_mean(RequestOp::Read),
            write_kib_mean: self.kib_mean(RequestOp::Write),
            write_percent: percent(count(RequestOp::Write), requests),
            read_bytes: self.bytes(RequestOp::Read),
            write_bytes: self.bytes(RequestOp::Write),
            first_ns: self.first_ns,
            last_ns: self.last_ns,
            duration_ns,
            requests_per_s: ratio(requests as f64 * 1e9, duration_ns as f64),
            interarrival_ns_mean: gap_mean,
            interarrival_cv: gap_deviation.zip(gap_mean).and_then(|(d, mean)| ratio(d, mean)),
            dispersion: self.windows.map(Counter::finish),
            sequential_percent: percent(self.sequential, requests),
            footprint_pages: self.footprint.pages(),
            footprint_mib: self.footprint.pages() as f64 * f64::from(FOOTPRINT_PAGE_BYTES)
                / f64::from(1 << 20),
            highest_sector: self.highest_sector,
            folded: stats.folded,
            steps_back: stats.steps_back,
            max_back_ns: stats.max_back_ns,
            clock_epochs: stats.clock_epochs,
            streams: self.streams.iter().map(|bits| u64::from(bits.count_ones())).sum(),
        }
    }
}

fn ratio(numerator: f64, denominator: f64) -> Option<f64> {
    (denominator > 0.0).then(|| numerator / denominator)
}

fn percent(part: u64, whole: u64) -> Option<f64> {
    ratio(100.0 * part as f64, whole as f64)
}

/// Counts arrivals in windows.
#[derive(Clone, Copy, Debug)]
struct Counter {
    window_ns: u64,
    current: u64,
    in_current: u64,
    total: u64,
    squares: u128,
}

impl Counter {
    const fn new(window_ns: u64) -> Self {
        Self { window_ns, current: 0, in_current: 0, total: 0, squares: 0 }
    }

    fn add(&mut self, since_first_ns: u64) {
        let window = since_first_ns / self.window_ns;
        if window != self.current {
            self.close();
            self.current = window;
        }
        self.in_current += 1;
    }

    fn close(&mut self) {
        self.total += self.in_current;
        self.squares += u128::from(self.in_current) * u128::from(self.in_current);
        self.in_current = 0;
    }

    fn finish(mut self) -> Dispersion {
        self.close();
        let windows = (self.current + 1) as f64;
        let mean = self.total as f64 / windows;
        let variance = self.squares as f64 / windows - mean * mean;
        let defined = self.current > 0;
        let index = if defined { ratio(variance.max(0.0), mean) } else { None };
        Dispersion { window_ns: self.window_ns, index }
    }
}

#[cfg(test)]
mod tests;

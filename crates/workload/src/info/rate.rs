//! The rate over time, in one pass: bins that double in width when there are too many.

use flashyard_core::request::{Request, RequestOp, SECTOR_BYTES};
use serde::Serialize;

use super::units::{percent, ratio};

/// Bins of a long workload: at least this many, and at most twice as many.
pub const RATE_BINS: usize = 32;

/// Width of a bin at the start, in nanoseconds.
const FIRST_BIN_NS: u64 = 1_000;

/// Requests over time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rate {
    /// Width of a bin: 1 us, doubled until at most 64 bins are needed.
    pub bin_ns: u64,
    /// The most requests in a bin, a second.
    pub peak_per_s: Option<f64>,
    /// Share of bins without a request, in percent.
    pub quiet_percent: Option<f64>,
    /// All bins from the first request to the last; the last one may be cut.
    pub bins: Vec<Bin>,
}

/// What arrived in a bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize)]
pub struct Bin {
    /// Requests of all operations.
    pub requests: u64,
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Bytes read and written.
    pub bytes: u128,
}

impl Bin {
    fn merge(&mut self, other: &Self) {
        self.requests += other.requests;
        self.reads += other.reads;
        self.writes += other.writes;
        self.bytes += other.bytes;
    }
}

/// The bins while requests arrive.
#[derive(Debug)]
pub(super) struct Bins {
    width_ns: u64,
    counts: [Bin; 2 * RATE_BINS],
    current: usize,
    /// End of the current bin, since the first request.
    end_ns: u64,
}

impl Default for Bins {
    fn default() -> Self {
        let counts = [Bin::default(); 2 * RATE_BINS];
        Self { width_ns: FIRST_BIN_NS, counts, current: 0, end_ns: FIRST_BIN_NS }
    }
}

impl Bins {
    pub(super) fn add(&mut self, since_ns: u64, request: &Request) {
        if since_ns >= self.end_ns {
            self.advance(since_ns);
        }
        let bin = &mut self.counts[self.current];
        bin.requests += 1;
        let (read, write) = (request.op == RequestOp::Read, request.op == RequestOp::Write);
        bin.reads += u64::from(read);
        bin.writes += u64::from(write);
        if read | write {
            bin.bytes += u128::from(request.sectors) * u128::from(SECTOR_BYTES);
        }
    }

    fn advance(&mut self, since_ns: u64) {
        while since_ns / self.width_ns >= self.counts.len() as u64 {
            for at in 0..RATE_BINS {
                let second = self.counts[2 * at + 1];
                self.counts[at] = self.counts[2 * at];
                self.counts[at].merge(&second);
            }
            self.counts[RATE_BINS..].fill(Bin::default());
            self.width_ns *= 2;
        }
        self.current = usize::try_from(since_ns / self.width_ns).expect("below the bins");
        self.end_ns = (self.current as u64 + 1).saturating_mul(self.width_ns);
    }

    /// The bins, if there were requests.
    pub(super) fn finish(&self, any: bool) -> Rate {
        let bins = if any { &self.counts[..=self.current] } else { &[] };
        let peak = bins.iter().map(|bin| bin.requests).max();
        let quiet = bins.iter().filter(|bin| bin.requests == 0).count();
        Rate {
            bin_ns: self.width_ns,
            peak_per_s: peak.and_then(|peak| ratio(peak as f64 * 1e9, self.width_ns as f64)),
            quiet_percent: percent(quiet as u64, bins.len() as u64),
            bins: bins.to_vec(),
        }
    }
}

impl Rate {
    /// A digit a bin: 0 without requests, else 1 to 9 in proportion to the busiest one.
    pub fn digits(&self) -> String {
        let peak = self.bins.iter().map(|bin| bin.requests).max().unwrap_or(0).max(1);
        let digit = |bin: &Bin| (u128::from(bin.requests) * 9).div_ceil(u128::from(peak));
        self.bins.iter().map(|bin| digit(bin).to_string()).collect()
    }
}

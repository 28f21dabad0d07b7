//! Sequentiality of the requests of one operation.

use flashyard_core::request::SECTOR_BYTES;
use serde::Serialize;

use super::units::{percent, ratio};

/// Ends that a request may go on from.
pub const RECENT_ENDS: usize = 8;

/// How requests of one operation follow one another, those of others left out.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Sequentiality {
    /// Share that start where the one before ended, in percent.
    pub sequential_percent: Option<f64>,
    /// Share that start where one of the [`RECENT_ENDS`] before ended: several sequences may be
    /// mixed.
    pub sequential_of_8_percent: Option<f64>,
    /// Mean requests of a run: each but the first starts where the one before ended.
    pub run_requests_mean: Option<f64>,
    /// Mean size of a run in KiB.
    pub run_kib_mean: Option<f64>,
}

/// The last ends, and how many went on from them.
#[derive(Debug, Default)]
pub(super) struct Runs {
    ends: [Option<u64>; RECENT_ENDS],
    latest: usize,
    requests: u64,
    sequential: u64,
    of_8: u64,
}

impl Runs {
    /// Adds a request by its first sector and the first sector behind it.
    pub(super) fn add(&mut self, first: u64, end: Option<u64>) {
        self.requests += 1;
        self.sequential += u64::from(self.ends[self.latest] == Some(first));
        self.of_8 += u64::from(self.ends.contains(&Some(first)));
        self.latest = (self.latest + 1) % RECENT_ENDS;
        self.ends[self.latest] = end;
    }

    /// The figures; all requests together have this many sectors.
    pub(super) fn finish(&self, sectors: u128) -> Sequentiality {
        let runs = (self.requests - self.sequential) as f64;
        let kib = (sectors * u128::from(SECTOR_BYTES)) as f64 / 1024.0;
        Sequentiality {
            sequential_percent: percent(self.sequential, self.requests),
            sequential_of_8_percent: percent(self.of_8, self.requests),
            run_requests_mean: ratio(self.requests as f64, runs),
            run_kib_mean: ratio(kib, runs),
        }
    }
}

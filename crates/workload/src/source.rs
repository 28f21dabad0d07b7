//! What a source of requests is, and what it says of itself.

use crate::error::WorkloadError;
use flashyard_core::request::Request;

/// A stream of requests.
pub trait RequestSource {
    /// The next request; `None` at the end. Arrivals MUST NOT decrease. A source MUST NOT be read
    /// on after an error.
    fn next_request(&mut self) -> Result<Option<Request>, WorkloadError>;

    /// What has been read so far.
    fn stats(&self) -> SourceStats;

    /// What was left out of or changed in what has been read so far, a sentence each.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// How far the source is; none where it has no end, or does not know it.
    fn extent(&self) -> Option<Extent> {
        None
    }
}

/// How far a source is, in units of its own: requests, sectors or bytes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Extent {
    /// What has been made or read.
    pub done: u64,
    /// How much there is.
    pub of: u64,
}

impl Extent {
    /// So much is done, and so much left.
    pub const fn left(done: u64, left: u64) -> Self {
        Self { done, of: done.saturating_add(left) }
    }

    /// The share that is done, from 0 to 1; that of nothing is 1.
    pub fn share(self) -> f64 {
        if self.of == 0 { 1.0 } else { self.done.min(self.of) as f64 / self.of as f64 }
    }
}

/// What a source knows about the requests it has read so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SourceStats {
    /// Requests read; a source that sorts has read more than it has handed out.
    pub requests: u64,
    /// Lines that hold no request of the chosen event: headers, other events, notes.
    pub other_rows: u64,
    /// Rows that could not be read and were left out.
    pub bad_rows: u64,
    /// Requests that were filtered out; not among `requests`.
    pub filtered: u64,
    /// Requests that were read and clipped off.
    pub clipped: u64,
    /// Requests that came to them because some were split.
    pub added: u64,
    /// Requests moved to fit the device.
    pub folded: u64,
    /// Requests whose arrival is not the recorded tick but a time inside it.
    pub spread: u64,
    /// Rows that are earlier than the row before them in the file.
    pub steps_back: u64,
    /// The longest of these steps, in nanoseconds.
    pub max_back_ns: u64,
    /// Runs of the recording clock; 1 unless the epochs of a trace are joined.
    pub clock_epochs: u64,
}

impl SourceStats {
    /// What two sources, or two passes over one, have counted.
    pub(crate) fn plus(&self, other: &Self) -> Self {
        Self {
            requests: self.requests + other.requests,
            other_rows: self.other_rows + other.other_rows,
            bad_rows: self.bad_rows + other.bad_rows,
            filtered: self.filtered + other.filtered,
            clipped: self.clipped + other.clipped,
            added: self.added + other.added,
            folded: self.folded + other.folded,
            spread: self.spread + other.spread,
            steps_back: self.steps_back + other.steps_back,
            max_back_ns: self.max_back_ns.max(other.max_back_ns),
            clock_epochs: self.clock_epochs.max(other.clock_epochs),
        }
    }
}

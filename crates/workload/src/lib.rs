//! Everything that yields requests: trace files, transforms of them, and generators.
//!
//! * [`RequestSource`]: the one interface that a run reads.
//! * [`trace`]: a trace file through a streaming pipeline of transforms, and the keys of `[trace]`.
//! * [`mod@format`]: the trace formats, one file each.
//! * [`generator`]: bursty requests from a few parameters, the keys of `[generator]`, and the
//!   built-in workloads.
//! * [`pattern`]: device benchmarks (random, sequential, skewed, strided), the keys of `[pattern]`,
//!   and the built-in ones.
//! * [`mix`]: published mixes of enterprise workloads, the keys of `[mix]`, and the built-in ones.
//! * [`files`]: file systems and what a host does with files, the keys of `[files]`, and the
//!   built-in ones.
//! * [`raw`]: erases, programs and reads of physical places, the keys of `[raw]`.
//! * [`profile`]: twins of traces: a fitted table of statistics, the keys of `[profile]`.
//! * [`merge`]: several sources as one, a stream each.
//! * [`pack`]: gzip and zstd of what is written.
//! * [`info`]: statistics of any source.
//!
//! Memory is bounded whatever the length of a trace. Nothing depends on the clock, the environment
//! or the machine: the same bytes, keys and seed yield the same requests.

mod bits;
pub mod error;
pub mod files;
pub mod format;
pub mod generator;
pub mod info;
pub mod input;
mod lines;
pub mod merge;
pub mod mix;
mod names;
mod number;
pub mod pack;
pub mod pattern;
pub mod profile;
pub mod random;
pub mod raw;
pub mod trace;

use flashyard_core::request::Request;

pub use error::WorkloadError;
pub use files::{BUILT_IN_FILES, Files, FilesKeys};
pub use format::{FORMATS, FormatInfo};
pub use generator::{BUILT_IN, Generator, GeneratorKeys};
pub use info::Info;
pub use mix::{BUILT_IN_MIXES, Mix, MixKeys};
pub use pattern::{BUILT_IN_PATTERNS, Pattern, PatternKeys};
pub use profile::{Profile, ProfileKeys, Twin};
pub use raw::{BUILT_IN_RAW, Raw, RawKeys};
pub use trace::{Trace, TraceKeys, find_streams, from_reader, open_trace};

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

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
mod source;
pub mod trace;
mod words;

pub use error::WorkloadError;
pub use files::{BUILT_IN_FILES, Files, FilesKeys};
pub use format::{FORMATS, FormatInfo};
pub use generator::{BUILT_IN, Generator, GeneratorKeys};
pub use info::Info;
pub use mix::{BUILT_IN_MIXES, Mix, MixKeys};
pub use pattern::{BUILT_IN_PATTERNS, Pattern, PatternKeys};
pub use profile::{Profile, ProfileKeys, Twin};
pub use raw::{BUILT_IN_RAW, Raw, RawKeys};
pub use source::{Extent, RequestSource, SourceStats};
pub use trace::{Trace, TraceKeys, find_streams, from_reader, open_trace};

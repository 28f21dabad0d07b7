//! Traces: a file of requests through a pipeline of transforms, in bounded memory.
//!
//! The order of the stages: skip lines; parse a row; filter; join the epochs of the clock; sort by
//! time; spread inside ticks; clip; put addresses on the device; scale; round; rebase to the first
//! request. Some need to know the whole trace before its first request: `join_epochs` and
//! `duration_ms` read the file twice, and refuse input that cannot be.
//!
//! * `select`: filter and clip. `addresses`, `chunks`: where requests lie. `epochs`, `order`,
//!   `ticks`, `clock`: when they come. `changes`: what was done to times, in sentences.
//! * `pipeline`: the stages one after the other. `survey`: what the first pass finds.
//! * `streams`: the streams of a trace that is split by a column.

mod addresses;
mod changes;
mod chunks;
mod clock;
mod epochs;
mod keys;
mod order;
mod pipeline;
mod repeat;
mod rows;
mod select;
mod source;
mod streams;
mod survey;
mod ticks;

use std::io::Read;

pub use crate::format::Event;

pub use self::keys::{
    BadRows, Devices, Fold, HeaderSectors, KEY_TRACE, KeepOps, ObjectFull, TimeOrder, TraceKeys,
    TraceOptions, key_trace,
};
pub use self::pipeline::Trace;
pub use self::streams::{STREAMS_MAX, TraceStream, find_streams};

use crate::error::WorkloadError;
use crate::input::Input;

/// Opens the trace at `path` (`-` is standard input).
pub fn open_trace(
    path: &str,
    keys: &TraceKeys,
    options: &TraceOptions,
) -> Result<Trace, WorkloadError> {
    Trace::open(Input::path(path), keys, options)
}

/// Opens a trace that comes out of `reader`, which messages call `name`.
pub fn from_reader(
    name: &str,
    reader: Box<dyn Read + Send>,
    keys: &TraceKeys,
    options: &TraceOptions,
) -> Result<Trace, WorkloadError> {
    Trace::open(Input::reader(name, reader), keys, options)
}

#[cfg(test)]
mod device_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod transform_tests;

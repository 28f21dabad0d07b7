//! What a writer is, and what a format can hold.

use std::fmt;

use flashyard_core::request::{Flags, Request, RequestOp};
use flashyard_core::units::Time;

/// What a format can hold of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holds {
    /// Times are multiples of this, in nanoseconds; others are rounded down.
    pub time_unit_ns: u64,
    /// The operations; requests of others do not fit.
    pub ops: &'static [RequestOp],
    /// The modifiers; others are dropped.
    pub flags: Flags,
    /// What becomes of the numbers of streams.
    pub streams: Streams,
    /// Whether flushes have an address and a length; both are 0 where they do not.
    pub flush_ranges: bool,
    /// Whether requests have placement identifiers; they are dropped where they do not.
    pub placement: bool,
    /// Whether streams have names.
    pub names: bool,
    /// Addresses end here, in sectors; requests that reach further do not fit.
    pub end_sector: u64,
}

impl Holds {
    /// Reads and writes of numbered streams, to the nanosecond.
    pub const READS_AND_WRITES: Self = Self {
        time_unit_ns: 1,
        ops: &[RequestOp::Read, RequestOp::Write],
        flags: Flags::NONE,
        streams: Streams::Numbers,
        flush_ranges: true,
        placement: false,
        names: false,
        end_sector: u64::MAX,
    };
}

/// What becomes of the numbers of streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Streams {
    /// Rows have no stream: all are of stream 0.
    None,
    /// They are kept.
    Numbers,
    /// Readers number streams in the order in which they appear.
    Appearance,
}

/// What a writer knows of the trace as a whole when it writes what stands before the first row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outline {
    /// How many requests there are; nobody knows where there is none.
    pub requests: Option<u64>,
    /// When the first one arrives, in nanoseconds.
    pub first_ns: u64,
}

/// A writer of the rows of one format.
///
/// Contract: a request that [`Writer::holds`] has room for MUST be read back as it was, but for
/// what `holds` says is lost. `row` is called for no other.
pub trait Writer: fmt::Debug + Send {
    /// What the format can hold.
    fn holds(&self) -> Holds;

    /// Appends what stands before the first row. Its length MUST NOT depend on the outline.
    fn start(&self, _outline: &Outline, _out: &mut Vec<u8>) {}

    /// Appends the row of a request.
    fn row(&mut self, request: &Request, out: &mut Vec<u8>);

    /// Appends what stands behind the last row. `names` are those of the streams, by number; empty
    /// unless [`Holds::names`].
    fn end(&mut self, _names: &[String], _out: &mut Vec<u8>) {}
}

/// Appends text.
pub(in crate::format) fn put(out: &mut Vec<u8>, text: fmt::Arguments<'_>) {
    std::io::Write::write_fmt(out, text).expect("memory takes any bytes");
}

/// A time as decimal seconds, exactly.
pub(in crate::format) struct Seconds(pub(in crate::format) Time);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.0.as_ns();
        write!(f, "{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000)
    }
}

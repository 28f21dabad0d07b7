//! What a format is: its reader, what rows hold, what is known of it.

use std::fmt;

use flashyard_core::choice;
use flashyard_core::request::{Flags, Request, RequestOp};
use flashyard_core::units::Time;

use super::write::Writer;
use crate::error::RowError;

/// A reader of the rows of one format.
///
/// Contract: `parse` MUST refuse a row that it cannot represent exactly, but for two roundings that
/// every format shares: times are rounded down to nanoseconds, and byte ranges are widened to whole
/// sectors. It MUST NOT return a length of 0 for a read, a write or a trim. It SHOULD NOT allocate
/// for rows that are right.
pub trait Format: fmt::Debug + Send {
    /// What one line (without its end, never blank) holds.
    fn parse(&mut self, line: &[u8]) -> Result<Parsed, RowError>;

    /// Whether a line that names the columns comes first. It MUST NOT change.
    fn needs_header(&self) -> bool {
        false
    }

    /// Whether a line may hold several requests. It MUST NOT change.
    fn has_several(&self) -> bool {
        false
    }

    /// The next request of the line that was parsed last, behind the one that `parse` returned.
    /// Asked for only where [`has_several`](Self::has_several).
    fn next_of_line(&mut self) -> Option<Record> {
        None
    }

    /// How many requests of events that are not the chosen one were passed over so far.
    fn passed_over(&self) -> Vec<(Event, u64)> {
        Vec::new()
    }

    /// What is to be said of the rows that were read so far, a sentence each.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// How many of the rows that are no requests the [`notes`](Self::notes) tell of.
    fn noted_rows(&self) -> u64 {
        0
    }

    /// What the values of the column that makes streams were so far, by number of the stream. Empty
    /// where streams are the numbers that rows have.
    fn stream_names(&self) -> Vec<String> {
        Vec::new()
    }
}

/// What a line of a trace holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parsed {
    /// A request.
    Request(Record),
    /// A line that says what the columns are. Counted, never an error.
    Header,
    /// Something else that the format allows and that is no request: a note, an event of a request
    /// that is not its arrival. Counted, never an error.
    Other,
}

/// How rows are to be read.
#[derive(Clone, Copy, Debug)]
pub struct ReaderOptions<'a> {
    /// Which event is the arrival; one of the format's.
    pub event: Event,
    /// Which column makes the streams; one of the format's, or its own choice.
    pub split: Option<&'a str>,
    /// Where objects go, for formats that have keys of objects in place of addresses.
    pub objects: ObjectOptions,
}

/// How objects are put on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectOptions {
    /// Sectors of the device (512 B); unlimited where there is none.
    pub capacity_sectors: Option<u64>,
    /// Every extent of an object starts at a multiple of this many sectors, and has a multiple of
    /// them; from 1 to 2^31.
    pub align_sectors: u64,
    /// Whether the oldest objects make room on a device that is full. It is an error otherwise.
    pub evicts: bool,
}

impl Default for ObjectOptions {
    fn default() -> Self {
        Self { capacity_sectors: None, align_sectors: 8, evicts: false }
    }
}

/// A request as a trace records it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// When it happened on the trace's own clock, in nanoseconds.
    pub time_ns: u64,
    /// First sector (512 B).
    pub first_sector: u64,
    /// Length in sectors; not 0 except for a flush.
    pub sectors: u32,
    /// The number of the device, address space or volume.
    pub stream: u16,
    /// What it asks for.
    pub op: RequestOp,
    /// Its modifiers.
    pub flags: Flags,
    /// Its placement identifier, where the trace has one.
    pub placement: Option<u16>,
}

impl Record {
    /// The request, where it arrives at this time of the run.
    #[inline]
    pub(crate) const fn arriving(&self, arrival: Time) -> Request {
        let Self { first_sector, sectors, stream, op, flags, placement, .. } = *self;
        let request = Request::new(op, first_sector, sectors).at(arrival);
        request.of_stream(stream).with(flags).placed(placement)
    }
}

impl Default for ReaderOptions<'_> {
    fn default() -> Self {
        Self { event: Event::Queue, split: None, objects: ObjectOptions::default() }
    }
}

choice! {
    /// Which event of a request is its arrival.
    pub enum Event {
        /// When it was handed to the block layer or the driver.
        Queue = "queue",
        /// When the driver took it from its queue.
        Dequeue = "dequeue",
        /// When it was given to the device.
        Issue = "issue",
        /// When it was answered.
        Complete = "complete",
    }
}

/// What is known about a format.
#[derive(Clone, Copy)]
pub struct FormatInfo {
    /// The word that the key `trace.format` takes.
    pub name: &'static str,
    /// One line for lists.
    pub doc: &'static str,
    /// The columns of a row.
    pub columns: &'static str,
    /// A few rows, each ended by a newline.
    pub example: &'static str,
    /// Whether a line has the shape of a row: right number of columns, right kind of each.
    pub recognises: fn(&[u8]) -> bool,
    /// The events whose times a row has.
    pub events: &'static [Event],
    /// The columns that can make streams; the first one does where none is named. Empty where rows
    /// have no such column.
    pub splits: &'static [&'static str],
    /// The tick of the clock that all its times come from, in nanoseconds; 0 where it is not known.
    pub tick_ns: u64,
    /// A reader; the options hold an event and a column of the format.
    pub reader: fn(&ReaderOptions<'_>) -> Box<dyn Format>,
    /// A writer, where there is one.
    pub writer: Option<fn() -> Box<dyn Writer>>,
}

impl fmt::Debug for FormatInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FormatInfo").field(&self.name).finish()
    }
}

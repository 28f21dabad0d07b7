//! Trace formats: one file each, registered by one line.
//!
//! Most formats are rows of columns, and need no code: write `formats/<name>.toml` and add its name
//! to `described!` in `format/columns/mod.rs`. For any other, write `format/<name>.rs` with a type
//! that implements [`Format`] and a constant `INFO`, and add its name to `formats!` below.
//! Detection, `list formats` and the tests follow. With a type that implements [`Writer`], traces
//! can be converted to it.

use std::fmt;
use std::sync::LazyLock;

use flashyard_core::choice;
use flashyard_core::request::{Flags, Request, RequestOp, SECTOR_BYTES};
use flashyard_core::units::Time;

pub use crate::error::RowError;
use crate::error::{WorkloadError, quoted};
use crate::lines::Lines;
use crate::number::{NumberError, decimal, integer};

use self::write::Writer;

macro_rules! formats {
    (..$described:ident, $(..$beside:ident,)+ $($module:ident),+ $(,)?) => {
        mod $described;
        $(pub mod $beside;)+
        $(mod $module;)+

        /// The formats that are written by hand.
        const WRITTEN: &[FormatInfo] = &[$($module::INFO),+];

        /// Every format of text, in the order in which they are tried and listed: first those that
        /// are described by their columns, which know their rows more closely. [`binary::INFO`] is
        /// the one that is not text.
        pub static FORMATS: LazyLock<Vec<FormatInfo>> =
            LazyLock::new(|| [&$described::formats()[..], WRITTEN].concat());
    };
}

formats! {
    ..columns,
    ..binary,
    ..write,
    biotracer,
    blkparse,
    disksim,
    fio,
    spc,
    ssdsim,
}

/// A reader of the rows of one format.
///
/// Contract: `parse` MUST refuse a row that it cannot represent exactly, but for two roundings that
/// every format shares: times are rounded down to nanoseconds, and byte ranges are widened to whole
/// sectors. It MUST NOT return a length of 0 for a read, a write or a trim. It SHOULD NOT allocate
/// for rows that are right.
pub trait Format: fmt::Debug + Send {
    /// What one line (without its end, never blank) holds.
    fn parse(&mut self, line: &[u8]) -> Result<Parsed, RowError>;

    /// How many requests of events that are not the chosen one were passed over so far.
    fn passed_over(&self) -> Vec<(Event, u64)> {
        Vec::new()
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
}

impl Record {
    /// The request, where it arrives at this time of the run.
    #[inline]
    pub(crate) const fn arriving(&self, arrival: Time) -> Request {
        let Self { first_sector, sectors, stream, op, flags, .. } = *self;
        Request::new(op, first_sector, sectors).at(arrival).of_stream(stream).with(flags)
    }
}

impl Default for ReaderOptions<'_> {
    fn default() -> Self {
        Self { event: Event::Queue, split: None }
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

impl FormatInfo {
    /// Every format: those of text, and the binary one.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        FORMATS.iter().chain([&binary::INFO])
    }

    /// The format of this name.
    pub fn from_name(name: &str) -> Option<&'static Self> {
        FormatInfo::all().find(|format| format.name == name)
    }

    /// A reader.
    pub fn open(&self, options: &ReaderOptions<'_>) -> Result<Box<dyn Format>, WorkloadError> {
        check_options(self.name, self.events, self.splits, options)?;
        Ok((self.reader)(options))
    }

    /// The format that recognises most of `lines`, and at least half of them; the earlier one of
    /// two that recognise as many.
    pub fn detect(lines: &[&[u8]]) -> Option<&'static Self> {
        let recognised = |format: &Self| lines.iter().filter(|&&l| (format.recognises)(l)).count();
        let best = FORMATS.iter().rev().max_by_key(|format| recognised(format))?;
        let count = recognised(best);
        (count > 0 && 2 * count >= lines.len()).then_some(best)
    }
}

/// Whether a format has the event and the column that the options ask for.
fn check_options(
    name: &str,
    events: &[Event],
    splits: &[&str],
    options: &ReaderOptions<'_>,
) -> Result<(), WorkloadError> {
    if !events.contains(&options.event) {
        let events: Vec<&str> = events.iter().map(|event| event.word()).collect();
        return Err(WorkloadError::Key {
            key: "trace.event",
            what: format!("{name} has no time of the event, {}", options.event.word()),
            fix: format!("it has {}", events.join(", ")),
        });
    }
    if let Some(split) = options.split.filter(|split| !splits.contains(split)) {
        let fix = match splits {
            [] => "it has no column for streams: take the key out".to_owned(),
            splits => format!("it has {}", splits.join(", ")),
        };
        let what = format!("{name} has no column for streams of this name, {split}");
        return Err(WorkloadError::Key { key: "trace.split", what, fix });
    }
    Ok(())
}

/// A format of this project, or one that the user describes.
#[derive(Debug)]
pub(crate) enum Chosen {
    /// One of [`FORMATS`].
    Known(&'static FormatInfo),
    /// The user's own columns.
    Own(Box<columns::Layout>),
}

impl Chosen {
    /// Its name.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Known(info) => info.name,
            Self::Own(layout) => &layout.name,
        }
    }

    /// The events whose times a row has.
    pub(crate) fn events(&self) -> &[Event] {
        match self {
            Self::Known(info) => info.events,
            Self::Own(layout) => layout.events(),
        }
    }

    /// The tick of its clock, in nanoseconds; 0 where it is not known.
    pub(crate) fn tick_ns(&self) -> u64 {
        match self {
            Self::Known(info) => info.tick_ns,
            Self::Own(layout) => layout.tick_ns,
        }
    }

    /// A reader.
    pub(crate) fn open(
        &self,
        options: &ReaderOptions<'_>,
    ) -> Result<Box<dyn Format>, WorkloadError> {
        match self {
            Self::Known(info) => info.open(options),
            Self::Own(layout) => {
                check_options(&layout.name, layout.events(), &layout.splits(), options)?;
                Ok(layout.reader(options))
            }
        }
    }
}

/// What stands for a format that has no name.
const OWN: &str = "its columns, as in \"comma header; time:s op:R/W offset:B size:B\"";

/// Lines that detection looks at.
const SAMPLE_LINES: usize = 16;

/// The format of `lines`: the one that `name` names or describes, or by the first lines where there
/// is no name.
pub(crate) fn resolve(lines: &mut Lines, name: Option<&str>) -> Result<Chosen, WorkloadError> {
    if let Some((what, fix)) = binary(lines.peek(1)?) {
        let file = lines.name().to_owned();
        return Err(WorkloadError::File { file, what: what.to_owned(), fix: fix.to_owned() });
    }
    if let Some(name) = name {
        if let Some(own) = columns::own(name) {
            return own.map(|layout| Chosen::Own(Box::new(layout)));
        }
        let known = FormatInfo::from_name(name).map(Chosen::Known);
        return known.ok_or_else(|| WorkloadError::Key {
            key: "trace.format",
            what: format!("there is no format {}", quoted(name.as_bytes())),
            fix: format!("the formats are {}; or give {OWN}", names()),
        });
    }
    let file = lines.name().to_owned();
    let text = lines.peek(SAMPLE_LINES)?;
    let filled = text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    let sample: Vec<&[u8]> = filled.filter(|line| !line.is_empty()).take(SAMPLE_LINES).collect();
    let Some(first) = sample.first() else {
        return Err(no_requests(file));
    };
    FormatInfo::detect(&sample).map(Chosen::Known).ok_or_else(|| WorkloadError::File {
        file,
        what: format!("its format is not known, it starts with {}", quoted(first)),
        fix: format!("set trace.format to one of {}, or to {OWN}", names()),
    })
}

/// Binary traces that are known and not read: what they are, and how to make text of them.
///
/// A blktrace file starts with 0x65617400 plus the version of the record, in the byte order of the
/// machine that wrote it (`struct blk_io_trace`, `linux/blktrace_api.h`).
fn binary(text: &[u8]) -> Option<(&'static str, &'static str)> {
    let magic: [u8; 4] = *text.first_chunk()?;
    let words = [u32::from_le_bytes(magic), u32::from_be_bytes(magic)];
    // A version is a small number, not a letter: text may start with "eat".
    let known = |word: u32| word & !0xff == 0x6561_7400 && word & 0xff < 0x20;
    words.into_iter().any(known).then_some((
        "it is a binary trace of blktrace, it starts with the bytes 0x65617400",
        "make text of it: blkparse -i FILE -o TEXT",
    ))
}

/// The error of a trace without rows.
pub(crate) fn no_requests(file: String) -> WorkloadError {
    let what = "there are no requests in it".to_owned();
    WorkloadError::File { file, what, fix: "give a trace with one request a line".to_owned() }
}

fn names() -> String {
    FormatInfo::all().map(|format| format.name).collect::<Vec<_>>().join(", ")
}

/// The names of the formats that can be written.
fn writable_names() -> String {
    let writable = FormatInfo::all().filter(|format| format.writer.is_some());
    writable.map(|format| format.name).collect::<Vec<_>>().join(", ")
}

impl RowError {
    fn number(column: &str, text: &[u8], error: NumberError, columns: &str) -> Self {
        let what = format!("{column} {}, {}", error.reason(), quoted(text));
        Self { what, fix: columns.to_owned() }
    }

    fn column_count(found: usize, wanted: usize, columns: &str) -> Self {
        let fix = format!("a row is {columns}");
        Self { what: format!("{found} columns instead of {wanted}"), fix }
    }

    fn op(text: &[u8], allowed: &str) -> Self {
        let fix = format!("the operations of this format are {allowed}");
        Self { what: format!("unknown operation, {}", quoted(text)), fix }
    }
}

/// The number in a column, or the error that names it.
fn whole(column: &str, text: &[u8]) -> Result<u64, RowError> {
    integer(text).map_err(|error| RowError::number(column, text, error, WHOLE_FIX))
}

/// The stream in a column.
fn stream(column: &str, text: &[u8]) -> Result<u16, RowError> {
    u16::try_from(whole(column, text)?)
        .map_err(|_| RowError::number(column, text, NumberError::TooLarge, "streams end at 65535"))
}

/// The time in a column of whole or decimal seconds, in nanoseconds.
fn seconds(column: &str, text: &[u8]) -> Result<u64, RowError> {
    decimal(text, 9).map_err(|error| {
        let fix = "times are decimal seconds from 0 to 18446744073.709551615";
        RowError::number(column, text, error, fix)
    })
}

const WHOLE_FIX: &str = "a whole number from 0 to 18446744073709551615 belongs there";

/// The length of a column that counts sectors.
fn sector_count(column: &str, text: &[u8]) -> Result<u32, RowError> {
    match sector_count_or_none(column, text)? {
        0 => Err(empty_request(column)),
        sectors => Ok(sectors),
    }
}

/// The length of a column that counts sectors, where a request may have none.
fn sector_count_or_none(column: &str, text: &[u8]) -> Result<u32, RowError> {
    u32::try_from(whole(column, text)?)
        .map_err(|_| RowError::number(column, text, NumberError::TooLarge, LENGTH_FIX))
}

const LENGTH_FIX: &str = "a request has at most 4294967295 sectors";

fn empty_request(column: &str) -> RowError {
    let fix = "a request has at least one sector: take the row out".to_owned();
    RowError { what: format!("{column} is 0"), fix }
}

/// The first sector and the sectors of a range of bytes: widened to whole sectors. `offset` counts
/// bytes from sector `base`.
fn sectors_of_bytes(
    base: u64,
    offset: u64,
    bytes: &[u8],
    column: &str,
) -> Result<(u64, u32), RowError> {
    let too_large = || RowError::number(column, bytes, NumberError::TooLarge, LENGTH_FIX);
    let length = whole(column, bytes)?;
    if length == 0 {
        return Err(empty_request(column));
    }
    let sector = u64::from(SECTOR_BYTES);
    let end = offset.checked_add(length).ok_or_else(too_large)?.div_ceil(sector);
    let first = offset / sector;
    let sectors = u32::try_from(end - first).map_err(|_| too_large())?;
    Ok((base + first, sectors))
}

#[cfg(test)]
mod tests;

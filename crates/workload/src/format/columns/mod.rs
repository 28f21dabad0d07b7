//! Formats that are described by their columns: a descriptor is data, not code.
//!
//! A descriptor says what stands between the columns of a row, what each of them means and in which
//! unit. The shipped ones are files of the directory `formats`, a line each below; a user's own is
//! a file or one line of text (`trace.format`). All have one grammar, described in docs/TRACES.md.

mod file;
mod grammar;
mod op;
mod reader;
mod writer;

use std::borrow::Cow;
use std::sync::LazyLock;

use self::op::OpCodes;
use self::reader::Reader;
use self::writer::Rows;
use super::write::Writer;
use super::{Format, FormatInfo, ReaderOptions, SECTOR_BYTES};
use crate::error::WorkloadError;
use crate::format::Event;

macro_rules! described {
    ($($name:ident),+ $(,)?) => {
        /// The shipped descriptors: name and text.
        #[cfg(test)]
        const SHIPPED: &[(&str, &str)] = &[$((
            stringify!($name),
            include_str!(concat!("../../../formats/", stringify!($name), ".toml")),
        )),+];

        /// The formats that are described by their columns, in the order in which they are tried.
        pub(super) fn formats() -> Vec<FormatInfo> {
            vec![$({
                static LAYOUT: LazyLock<Layout> = LazyLock::new(|| shipped(
                    stringify!($name),
                    include_str!(concat!("../../../formats/", stringify!($name), ".toml")),
                ));
                static SPLITS: LazyLock<Vec<&str>> = LazyLock::new(|| LAYOUT.splits());
                FormatInfo {
                    name: &LAYOUT.name,
                    doc: &LAYOUT.title,
                    columns: &LAYOUT.described,
                    example: &LAYOUT.example,
                    recognises: |line| LAYOUT.detect && LAYOUT.recognises(line),
                    events: &LAYOUT.events,
                    splits: &SPLITS,
                    tick_ns: LAYOUT.tick_ns,
                    reader: |options| LAYOUT.reader(options),
                    writer: Some(|| Box::new(Rows::new(Cow::Borrowed(&LAYOUT)))),
                }
            }),+]
        }
    };
}

described! {
    alibaba,
    dtrs,
    fiu,
    heimdall,
    msr,
    pixel6a,
    systor17,
    tencent,
}

/// A shipped descriptor; a test reads every one of them.
fn shipped(name: &str, text: &str) -> Layout {
    file::parse(name, text).unwrap_or_else(|error| panic!("a shipped descriptor is wrong: {error}"))
}

/// The user's own descriptor, where `text` is one: a file that ends in `.toml`, or one line with a
/// colon.
pub(super) fn own(text: &str) -> Option<Result<Layout, WorkloadError>> {
    if text.len() > 5 && text.to_ascii_lowercase().ends_with(".toml") {
        return Some(file::read(text));
    }
    text.contains(':').then(|| {
        grammar::inline(text).map_err(|fault| {
            let Fault { what, fix } = fault;
            WorkloadError::Key { key: "trace.format", what, fix }
        })
    })
}

/// What is wrong with a descriptor.
#[derive(Debug, PartialEq, Eq)]
struct Fault {
    what: String,
    fix: String,
}

impl Fault {
    fn new(what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { what: what.into(), fix: fix.into() }
    }
}

/// What stands between columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Delimiter {
    /// Any number of blanks and tabs.
    Blank,
    /// One character; blanks around columns do not count.
    Byte(u8),
}

/// Which lines are headers.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Header {
    /// None.
    None,
    /// So many at the start, not counting blank ones.
    Lines(u64),
    /// Every line of this text, in upper or lower case.
    Text(Vec<u8>),
}

/// The unit of a time: `10^digits` ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TimeUnit {
    word: &'static str,
    digits: u32,
    /// Its values have a decimal point; only detection looks at it.
    pointed: bool,
}

/// What a column holds.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    /// The time of an event.
    Time(Event, TimeUnit),
    /// From the arrival to the completion.
    Response(TimeUnit),
    /// The operation.
    Op(OpCodes),
    /// The first address, in units of so many bytes.
    Offset(u64),
    /// The length, in units of so many bytes.
    Size(u64),
    /// Any text; its values are streams, numbered as they appear.
    Stream,
    /// A whole number that is the number of the stream.
    Id,
    /// Any text; streams where `trace.split` names it.
    Text,
    /// A whole number; streams where `trace.split` names it.
    Number,
    /// Not looked at.
    Ignored,
}

/// A column.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Column {
    name: String,
    kind: Kind,
    /// It may be empty, or missing at the end of a row.
    optional: bool,
}

/// A checked descriptor.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub(super) name: String,
    title: String,
    example: String,
    delimiter: Delimiter,
    header: Header,
    /// The address of the first byte, in units of the address column.
    base: u64,
    /// The tick of the clock of its times, in nanoseconds; 0 where it is not known.
    pub(super) tick_ns: u64,
    /// Whether a file's rows are compared with it; otherwise it has to be named.
    detect: bool,
    columns: Vec<Column>,
    /// Whether a row may have more columns.
    more: bool,
    /// The columns as messages show them.
    described: String,
    /// The events whose times a row has or gives.
    events: Vec<Event>,
    /// What can make streams: all columns of streams together, each of them, then other columns.
    splits: Vec<String>,
}

impl Layout {
    /// The events that can be arrivals.
    pub(super) fn events(&self) -> &[Event] {
        &self.events
    }

    /// What can make streams.
    pub(super) fn splits(&self) -> Vec<&str> {
        self.splits.iter().map(String::as_str).collect()
    }

    /// A reader; the options hold an event and a column of the format.
    pub(super) fn reader(&self, options: &ReaderOptions<'_>) -> Box<dyn Format> {
        Box::new(Reader::new(self, options))
    }

    /// A writer, where addresses and lengths are in units that sectors consist of.
    pub(super) fn into_writer(self) -> Result<Box<dyn Writer>, WorkloadError> {
        let sector = u64::from(SECTOR_BYTES);
        for column in &self.columns {
            if let Kind::Offset(unit) | Kind::Size(unit) = column.kind
                && !sector.is_multiple_of(unit)
            {
                return Err(WorkloadError::Key {
                    key: "trace.format",
                    what: format!(
                        "rows of {} cannot be written, column {} is in units of {unit} B",
                        self.name, column.name
                    ),
                    fix: "a sector has 512 B: take units of B or sector".to_owned(),
                });
            }
        }
        Ok(Box::new(Rows::new(Cow::Owned(self))))
    }

    /// The columns of these kinds.
    fn of_kinds(&self, kinds: &[Kind]) -> impl Iterator<Item = (usize, &Column)> {
        let columns = self.columns.iter().enumerate();
        columns.filter(move |(_, column)| kinds.contains(&column.kind))
    }
}

#[cfg(test)]
mod tests;

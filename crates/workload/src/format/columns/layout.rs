//! A checked descriptor: what stands in the columns of a row.

use super::op::OpCodes;
use crate::format::Event;

/// What stands between columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Delimiter {
    /// Any number of blanks and tabs.
    Blank,
    /// One character; blanks around columns do not count.
    Byte(u8),
}

/// Which lines are headers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Header {
    /// None.
    None,
    /// So many at the start, not counting blank ones.
    Lines(u64),
    /// Every line of this text, in upper or lower case.
    Text(Vec<u8>),
}

/// The unit of a time: `10^digits` ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TimeUnit {
    pub(super) word: &'static str,
    pub(super) digits: u32,
    /// Its values have a decimal point; only detection looks at it.
    pub(super) pointed: bool,
}

/// What a column holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
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
    /// A whole number that is the placement identifier.
    Placement,
    /// Any text; streams where `trace.split` names it.
    Text,
    /// A whole number; streams where `trace.split` names it.
    Number,
    /// Not looked at.
    Ignored,
}

/// A column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) kind: Kind,
    /// It may be empty, or missing at the end of a row.
    pub(super) optional: bool,
}

/// A checked descriptor.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub(in crate::format) name: String,
    pub(super) title: String,
    pub(super) example: String,
    pub(super) delimiter: Delimiter,
    pub(super) header: Header,
    /// The address of the first byte, in units of the address column.
    pub(super) base: u64,
    /// The tick of the clock of its times, in nanoseconds; 0 where it is not known.
    pub(in crate::format) tick_ns: u64,
    /// Whether a file's rows are compared with it; otherwise it has to be named.
    pub(super) detect: bool,
    pub(super) columns: Vec<Column>,
    /// Whether a row may have more columns.
    pub(super) more: bool,
    /// The columns as messages show them.
    pub(super) described: String,
    /// The events whose times a row has or gives.
    pub(super) events: Vec<Event>,
    /// What can make streams: all columns of streams together, each of them, then other columns.
    pub(super) splits: Vec<String>,
}

impl Layout {
    /// The events that can be arrivals.
    pub(in crate::format) fn events(&self) -> &[Event] {
        &self.events
    }

    /// What can make streams.
    pub(in crate::format) fn splits(&self) -> Vec<&str> {
        self.splits.iter().map(String::as_str).collect()
    }

    /// The columns of these kinds.
    pub(super) fn of_kinds(&self, kinds: &[Kind]) -> impl Iterator<Item = (usize, &Column)> {
        let columns = self.columns.iter().enumerate();
        columns.filter(move |(_, column)| kinds.contains(&column.kind))
    }
}

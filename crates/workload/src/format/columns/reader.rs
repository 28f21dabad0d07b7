//! Reading rows by a descriptor: a plan is made once, then each row costs one pass over its text
//! and one number at a time. Nothing is allocated for a row once all streams have been seen.

use flashyard_core::request::{Flags, RequestOp, SECTOR_BYTES};

use super::super::fields::{LENGTH_FIX, WHOLE_FIX, empty_request, stream, whole};
use super::super::{Format, Parsed, ReaderOptions, Record, RowError};
use super::layout::{Delimiter, Header, Kind, Layout, TimeUnit};
use super::op::OpCodes;
use crate::error::quoted;
use crate::format::Event;
use crate::names::Names;
use crate::number::{NumberError, decimal, integer};

/// A column that holds a time.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimeField {
    column: usize,
    unit: TimeUnit,
}

/// How the time of an event is found.
#[derive(Clone, Copy, Debug)]
pub(super) enum Clock {
    /// It stands there.
    At(TimeField),
    /// The end less the response time.
    Before(TimeField, TimeField),
    /// The arrival and the response time.
    After(TimeField, TimeField),
}

/// How the time of `event` is found; `None` where it cannot be.
pub(super) fn clock(layout: &Layout, event: Event) -> Option<Clock> {
    let time = |wanted: Event| {
        layout.columns.iter().enumerate().find_map(|(column, found)| match found.kind {
            Kind::Time(event, unit) if event == wanted => Some(TimeField { column, unit }),
            _ => None,
        })
    };
    if let Some(field) = time(event) {
        return Some(Clock::At(field));
    }
    let response =
        layout.columns.iter().enumerate().find_map(|(column, found)| match found.kind {
            Kind::Response(unit) => Some(TimeField { column, unit }),
            _ => None,
        })?;
    match event {
        Event::Queue => time(Event::Complete).map(|end| Clock::Before(end, response)),
        Event::Complete => time(Event::Queue).map(|start| Clock::After(start, response)),
        Event::Dequeue | Event::Issue => None,
    }
}

/// What messages call all columns of streams together.
const ALL_STREAMS: &str = "the columns of streams";

/// What makes the streams.
#[derive(Debug)]
enum Split {
    /// Nothing: all requests are of stream 0.
    None,
    /// The number in this column.
    Number(usize),
    /// The values of these columns, numbered as they appear.
    Values(Vec<usize>),
}

/// A reader of rows.
#[derive(Debug)]
pub(super) struct Reader {
    delimiter: Delimiter,
    header: Header,
    columns_min: usize,
    columns_max: usize,
    described: String,
    names: Vec<String>,
    clock: Clock,
    op: (usize, OpCodes),
    offset: (usize, u64),
    size: (usize, u64),
    base: u64,
    split: Split,
    /// The column of placement identifiers, and whether it may be empty.
    placement: Option<(usize, bool)>,
    streams: Names,
    /// Room to put the values of several columns together.
    key: Vec<u8>,
    /// Where the columns of the row begin and end.
    bounds: Vec<(usize, usize)>,
}

impl Reader {
    /// The options hold an event and a column of the format.
    pub(super) fn new(layout: &Layout, options: &ReaderOptions<'_>) -> Self {
        let find = |role: fn(&Kind) -> Option<u64>| {
            let mut columns = layout.columns.iter().enumerate();
            columns.find_map(|(at, column)| Some((at, role(&column.kind)?)))
        };
        let offset = find(|kind| if let Kind::Offset(unit) = kind { Some(*unit) } else { None });
        let size = find(|kind| if let Kind::Size(unit) = kind { Some(*unit) } else { None });
        let mut columns = layout.columns.iter().enumerate();
        let op = columns.find_map(|(at, column)| match &column.kind {
            Kind::Op(codes) => Some((at, codes.clone())),
            _ => None,
        });
        Self {
            delimiter: layout.delimiter,
            header: layout.header.clone(),
            columns_min: layout.columns_min(),
            columns_max: layout.columns_max(),
            described: layout.described.clone(),
            names: layout.columns.iter().map(|column| column.name.clone()).collect(),
            clock: clock(layout, options.event).expect("the event is one of the format"),
            op: op.expect("a layout has operations"),
            offset: offset.expect("a layout has addresses"),
            size: size.expect("a layout has lengths"),
            base: layout.base,
            split: split_of(layout, options.split),
            placement: layout
                .of_kinds(&[Kind::Placement])
                .next()
                .map(|(at, column)| (at, column.optional)),
            streams: Names::default(),
            key: Vec::new(),
            bounds: Vec::with_capacity(layout.columns.len() + 1),
        }
    }

    /// The text of a column of the row whose bounds were taken last; empty where it has none.
    fn text<'a>(&self, line: &'a [u8], column: usize) -> &'a [u8] {
        self.bounds.get(column).map_or(&[], |&(start, end)| line[start..end].trim_ascii())
    }

    fn number(&self, line: &[u8], column: usize) -> Result<u64, RowError> {
        whole(&self.names[column], self.text(line, column))
    }

    fn time(&self, line: &[u8], field: TimeField) -> Result<u64, RowError> {
        let text = self.text(line, field.column);
        decimal(text, field.unit.digits).map_err(|error| {
            let fix = if error == NumberError::Empty {
                "the chosen trace.event needs it: choose another one, or set trace.bad_rows = \
                 \"skip\""
                    .to_owned()
            } else {
                let unit = field.unit.word;
                format!("times are whole or decimal numbers of {unit}, up to 2^64 ns")
            };
            RowError::number(&self.names[field.column], text, error, &fix)
        })
    }

    fn time_ns(&self, line: &[u8]) -> Result<u64, RowError> {
        match self.clock {
            Clock::At(field) => self.time(line, field),
            Clock::Before(end, response) => {
                let (end_ns, response_ns) = (self.time(line, end)?, self.time(line, response)?);
                end_ns.checked_sub(response_ns).ok_or_else(|| {
                    let text = quoted(self.text(line, response.column));
                    let what = format!("response reaches back before time 0, {text}");
                    RowError { what, fix: "set trace.event = \"complete\"".to_owned() }
                })
            }
            Clock::After(start, response) => {
                let (start_ns, response_ns) = (self.time(line, start)?, self.time(line, response)?);
                start_ns.checked_add(response_ns).ok_or_else(|| {
                    let text = self.text(line, response.column);
                    RowError::number("response", text, NumberError::TooLarge, WHOLE_FIX)
                })
            }
        }
    }

    /// First sector and sectors of the row; ranges of bytes are widened to whole sectors. A length
    /// of 0 is none.
    fn range(&self, line: &[u8]) -> Result<(u64, u32), RowError> {
        let (column, unit) = self.offset;
        let value = self.number(line, column)?;
        let Some(value) = value.checked_sub(self.base) else {
            let what = format!("offset is below the base of {}, {value}", self.base);
            let fix = "lower the base of the descriptor".to_owned();
            return Err(RowError { what, fix });
        };
        let sector = u64::from(SECTOR_BYTES);
        let place = if unit % sector == 0 {
            value.checked_mul(unit / sector).map(|first| (first, 0))
        } else {
            value.checked_mul(unit).map(|byte| (byte / sector, byte % sector))
        };
        let Some((first, before)) = place else {
            let text = self.text(line, column);
            let fix = "addresses end at sector 18446744073709551615";
            return Err(RowError::number("offset", text, NumberError::TooLarge, fix));
        };
        let (column, unit) = self.size;
        let count = self.number(line, column)?;
        if count == 0 {
            return Ok((first, 0));
        }
        let bytes = count.checked_mul(unit).and_then(|bytes| bytes.checked_add(before));
        let sectors = bytes.and_then(|bytes| u32::try_from(bytes.div_ceil(sector)).ok());
        let sectors = sectors.ok_or_else(|| {
            let text = self.text(line, column);
            RowError::number("size", text, NumberError::TooLarge, LENGTH_FIX)
        })?;
        Ok((first, sectors))
    }

    fn stream(&mut self, line: &[u8]) -> Result<u16, RowError> {
        match &self.split {
            Split::None => Ok(0),
            Split::Number(column) => stream(&self.names[*column], self.text(line, *column)),
            Split::Values(columns) => {
                let bounds = &self.bounds;
                let text = |column: usize| match bounds.get(column) {
                    Some(&(start, end)) => line[start..end].trim_ascii(),
                    None => &[],
                };
                if let [column] = columns[..] {
                    return self.streams.number(&self.names[column], text(column));
                }
                let key = &mut self.key;
                key.clear();
                for (at, &column) in columns.iter().enumerate() {
                    if at > 0 {
                        key.push(b',');
                    }
                    key.extend_from_slice(text(column));
                }
                self.streams.number(ALL_STREAMS, key)
            }
        }
    }

    /// The placement identifier of the row; none where its column is empty and may be.
    fn placement(&self, line: &[u8]) -> Result<Option<u16>, RowError> {
        let Some((column, optional)) = self.placement else { return Ok(None) };
        let text = self.text(line, column);
        if optional && text.is_empty() {
            return Ok(None);
        }
        stream(&self.names[column], text).map(Some)
    }

    /// Whether the line is a header.
    fn is_header(&mut self, line: &[u8]) -> bool {
        match &mut self.header {
            Header::None => false,
            Header::Lines(left) => {
                let is_header = *left > 0;
                *left = left.saturating_sub(1);
                is_header
            }
            Header::Text(text) => is_header_text(text, line),
        }
    }

    fn wrong_count(&self, found: usize) -> RowError {
        let (min, max) = (self.columns_min, self.columns_max);
        let wanted = match max {
            usize::MAX => format!("at least {min}"),
            _ if min == max => min.to_string(),
            _ => format!("{min} to {max}"),
        };
        let what = format!("{found} columns instead of {wanted}");
        RowError { what, fix: format!("a row is {}", self.described) }
    }
}

impl Format for Reader {
    fn parse(&mut self, line: &[u8]) -> Result<Parsed, RowError> {
        if self.is_header(line) {
            return Ok(Parsed::Header);
        }
        split(line, self.delimiter, &mut self.bounds);
        if self.bounds.len() < self.columns_min || self.bounds.len() > self.columns_max {
            return Err(self.wrong_count(self.bounds.len()));
        }
        let time_ns = self.time_ns(line)?;
        let text = self.text(line, self.op.0);
        let Some((op, flags)) = self.op.1.decode(text) else {
            return Err(RowError::op(text, &self.op.1.allowed()));
        };
        let (first_sector, sectors) = match op {
            RequestOp::Flush if self.text(line, self.size.0).is_empty() => (0, 0),
            _ => self.range(line)?,
        };
        let (op, flags) = match op {
            RequestOp::Flush => (op, flags),
            // What the kernel shows of a flush before it has one of its own.
            _ if sectors == 0 && flags.has(Flags::PREFLUSH) => (RequestOp::Flush, Flags::NONE),
            _ if sectors == 0 => return Err(empty_request("size")),
            _ => (op, flags),
        };
        let (stream, placement) = (self.stream(line)?, self.placement(line)?);
        let record = Record { time_ns, first_sector, sectors, stream, op, flags, placement };
        Ok(Parsed::Request(record))
    }

    fn stream_names(&self) -> Vec<String> {
        self.streams.list()
    }
}

/// What makes the streams: the column of this name, or all that are marked as streams.
fn split_of(layout: &Layout, name: Option<&str>) -> Split {
    let by_name = name.and_then(|name| layout.columns.iter().position(|c| c.name == name));
    let columns: Vec<usize> = by_name.map_or_else(
        || layout.of_kinds(&[Kind::Stream, Kind::Id]).map(|(at, _)| at).collect(),
        |column| vec![column],
    );
    match columns[..] {
        [] => Split::None,
        [column] if layout.columns[column].kind == Kind::Id => Split::Number(column),
        _ => Split::Values(columns),
    }
}

/// Finds the columns of a row.
fn split(line: &[u8], delimiter: Delimiter, bounds: &mut Vec<(usize, usize)>) {
    bounds.clear();
    let mut start = 0;
    match delimiter {
        Delimiter::Byte(byte) => {
            for_each_of([byte, byte], line, |end| {
                bounds.push((start, end));
                start = end + 1;
            });
            bounds.push((start, line.len()));
        }
        Delimiter::Blank => {
            for_each_of([b' ', b'\t'], line, |end| {
                if end > start {
                    bounds.push((start, end));
                }
                start = end + 1;
            });
            if start < line.len() {
                bounds.push((start, line.len()));
            }
        }
    }
}

/// Calls `found` with the place of each byte that is one of two. Eight at a time: columns are too
/// short for a search for each of their ends.
#[inline]
fn for_each_of(bytes: [u8; 2], line: &[u8], mut found: impl FnMut(usize)) {
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    let patterns = bytes.map(|byte| u64::from_le_bytes([byte; 8]));
    let (chunks, rest) = line.as_chunks::<8>();
    for (number, chunk) in chunks.iter().enumerate() {
        let word = u64::from_le_bytes(*chunk);
        // The highest bit of each byte that is 0 after the pattern is taken off.
        let zeros = |pattern: u64| {
            let left = word ^ pattern;
            !(((left & LOW) + LOW) | left | LOW)
        };
        let mut places = zeros(patterns[0]) | zeros(patterns[1]);
        while places != 0 {
            found(number * 8 + places.trailing_zeros() as usize / 8);
            places &= places - 1;
        }
    }
    for (place, byte) in rest.iter().enumerate() {
        if bytes.contains(byte) {
            found(chunks.len() * 8 + place);
        }
    }
}

fn is_header_text(header: &[u8], line: &[u8]) -> bool {
    line.len() >= header.len() && line.trim_ascii().eq_ignore_ascii_case(header)
}

impl Layout {
    fn columns_min(&self) -> usize {
        self.columns.iter().rposition(|column| !column.optional).map_or(0, |last| last + 1)
    }

    fn columns_max(&self) -> usize {
        if self.more { usize::MAX } else { self.columns.len() }
    }

    /// Whether a line has the shape of a row, or is the header.
    pub(super) fn recognises(&self, line: &[u8]) -> bool {
        if let Header::Text(header) = &self.header
            && is_header_text(header, line)
        {
            return true;
        }
        let mut bounds = Vec::with_capacity(self.columns.len() + 1);
        split(line, self.delimiter, &mut bounds);
        (self.columns_min()..=self.columns_max()).contains(&bounds.len())
            && self.columns.iter().enumerate().all(|(at, column)| {
                let text = bounds.get(at).map_or(&[][..], |&(a, b)| line[a..b].trim_ascii());
                (column.optional && text.is_empty()) || column.kind.fits(text)
            })
    }
}

impl Kind {
    /// Whether a text is of this kind. Ranges of bytes are whole sectors here: those of block
    /// devices are, and rows with sectors instead of bytes seldom look like that.
    fn fits(&self, text: &[u8]) -> bool {
        match self {
            Self::Time(_, unit) | Self::Response(unit) => {
                decimal(text, unit.digits).is_ok() && (!unit.pointed || text.contains(&b'.'))
            }
            Self::Op(codes) => codes.decode(text).is_some(),
            Self::Offset(unit) | Self::Size(unit) => {
                let sector = u64::from(SECTOR_BYTES);
                integer(text).is_ok_and(|value| value.wrapping_mul(*unit) % sector == 0)
            }
            Self::Id | Self::Number | Self::Placement => integer(text).is_ok(),
            Self::Stream | Self::Text => !text.is_empty(),
            Self::Ignored => true,
        }
    }
}

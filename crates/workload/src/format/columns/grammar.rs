//! The grammar of descriptors: columns as `name:type`, and a whole descriptor in one line.

use flashyard_core::request::SECTOR_BYTES;

use super::fault::Fault;
use super::layout::{Column, Delimiter, Header, Kind, Layout, TimeUnit};
use super::op::OpCodes;
use super::reader;
use crate::error::quoted;
use crate::format::Event;

/// The most columns that a descriptor has.
const COLUMNS_MAX: usize = 256;

/// The greatest unit of addresses and lengths: 1 GiB.
const UNIT_BYTES_MAX: u64 = 1 << 30;

/// A descriptor while it is being read.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) name: String,
    pub(super) title: String,
    pub(super) example: String,
    pub(super) detect: bool,
    delimiter: Option<(String, Delimiter)>,
    header: Header,
    base: u64,
    tick_ns: u64,
    columns: Vec<Column>,
    more: bool,
    shown: Vec<String>,
}

/// Reads a descriptor of one line: `comma header base=0; time:s op:R/W offset:B size:B`.
pub(super) fn inline(text: &str) -> Result<Layout, Fault> {
    let Some((layout, columns)) = text.split_once(';') else {
        return Err(Fault::new(
            format!("the descriptor has no \";\", {}", quoted(text.as_bytes())),
            "put one between what separates columns and the columns, as in \
             \"comma; time:s op:R/W offset:B size:B\"",
        ));
    };
    let mut draft = Draft::new("columns");
    for word in layout.split_whitespace() {
        match word.split_once('=') {
            None if word == "header" => draft.header_lines(1)?,
            None => draft.delimiter(word)?,
            Some(("header", value)) => match value.parse() {
                Ok(lines) => draft.header_lines(lines)?,
                Err(_) => draft.header_text(value)?,
            },
            Some(("base", value)) => match value.parse() {
                Ok(base) => draft.base(base),
                Err(_) => return Err(Fault::new(format!("base is no number, {value}"), BASE_FIX)),
            },
            Some(("tick_us", value)) => match value.parse() {
                Ok(tick_us) => draft.tick_us(tick_us)?,
                Err(_) => {
                    return Err(Fault::new(format!("tick_us is no number, {value}"), TICK_FIX));
                }
            },
            Some(_) => {
                let what = format!("unknown word, {}", quoted(word.as_bytes()));
                return Err(Fault::new(
                    what,
                    "before the \";\" stand a delimiter, header, base and tick_us",
                ));
            }
        }
    }
    for column in columns.split_whitespace() {
        draft.column(column)?;
    }
    draft.finish()
}

/// How the tick of a clock is given.
pub(super) const TICK_FIX: &str = "give a whole number of us, up to an hour";

const TICK_NS_MAX: u64 = 3_600_000_000_000;

const BASE_FIX: &str = "give a whole number in units of the offset";

impl Draft {
    /// One without columns.
    pub(super) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            title: String::new(),
            example: String::new(),
            detect: true,
            delimiter: None,
            header: Header::None,
            base: 0,
            tick_ns: 0,
            columns: Vec::new(),
            more: false,
            shown: Vec::new(),
        }
    }

    /// Takes what stands between columns.
    pub(super) fn delimiter(&mut self, word: &str) -> Result<(), Fault> {
        if self.delimiter.is_some() {
            let what = format!("there is a second delimiter, {}", quoted(word.as_bytes()));
            return Err(Fault::new(what, DELIMITER_FIX));
        }
        let (shown, delimiter) = match word {
            "blank" => ("blanks", Delimiter::Blank),
            "comma" => ("commas", Delimiter::Byte(b',')),
            "tab" => ("tabs", Delimiter::Byte(b'\t')),
            "semicolon" => ("semicolons", Delimiter::Byte(b';')),
            "pipe" => ("pipes", Delimiter::Byte(b'|')),
            _ => match word.as_bytes() {
                [byte] if byte.is_ascii_punctuation() && !b".-".contains(byte) => {
                    (word, Delimiter::Byte(*byte))
                }
                _ => {
                    let what = format!("unknown delimiter, {}", quoted(word.as_bytes()));
                    return Err(Fault::new(what, DELIMITER_FIX));
                }
            },
        };
        self.delimiter = Some((shown.to_owned(), delimiter));
        Ok(())
    }

    /// Takes the number of lines of the header.
    pub(super) fn header_lines(&mut self, lines: u64) -> Result<(), Fault> {
        self.only_header()?;
        self.header = if lines == 0 { Header::None } else { Header::Lines(lines) };
        Ok(())
    }

    /// Takes the text of the header.
    pub(super) fn header_text(&mut self, text: &str) -> Result<(), Fault> {
        self.only_header()?;
        self.header = Header::Text(text.trim().as_bytes().to_vec());
        Ok(())
    }

    fn only_header(&self) -> Result<(), Fault> {
        if self.header == Header::None {
            return Ok(());
        }
        Err(Fault::new("there is a second header", "keep one of them"))
    }

    /// Takes the address of the first byte of the device, in the unit of addresses.
    pub(super) const fn base(&mut self, base: u64) {
        self.base = base;
    }

    /// Takes the tick of the clock of its times, in microseconds.
    pub(super) fn tick_us(&mut self, tick_us: u64) -> Result<(), Fault> {
        let tick_ns = tick_us.checked_mul(1_000).filter(|&tick_ns| tick_ns <= TICK_NS_MAX);
        let fault = || Fault::new(format!("the tick is too long, {tick_us} us"), TICK_FIX);
        self.tick_ns = tick_ns.ok_or_else(fault)?;
        Ok(())
    }

    /// Takes the next column.
    pub(super) fn column(&mut self, text: &str) -> Result<(), Fault> {
        let text = text.trim();
        if self.more {
            return Err(Fault::new("there is a column behind \"...\"", "\"...\" is the last one"));
        }
        if self.columns.len() == COLUMNS_MAX {
            let what = format!("there are more than {COLUMNS_MAX} columns");
            return Err(Fault::new(what, "end with \"...\": it stands for all further ones"));
        }
        self.shown.push(text.to_owned());
        if text == "..." {
            self.more = true;
            return Ok(());
        }
        let column = column(text)?;
        let twice = |known: &Column| known.name == column.name && column.name != "-";
        if self.columns.iter().any(twice) {
            let what = format!("there are two columns of one name, {}", column.name);
            return Err(Fault::new(what, "give each its own; \"-\" is one that is not looked at"));
        }
        self.columns.push(column);
        Ok(())
    }

    /// Checks the whole.
    pub(super) fn finish(self) -> Result<Layout, Fault> {
        let Some((shown, delimiter)) = self.delimiter else {
            return Err(Fault::new("there is no delimiter", DELIMITER_FIX));
        };
        let needs = ["op", "offset", "size"];
        for name in needs {
            let named = |column: &Column| column.name == name && column.kind != Kind::Ignored;
            if !self.columns.iter().any(named) {
                let fix = "name the columns in the order of a row, as in time:s op:R/W offset:B \
                           size:B";
                return Err(Fault::new(format!("there is no column {name}"), fix));
            }
        }
        let mut layout = Layout {
            name: self.name,
            title: self.title,
            example: self.example,
            delimiter,
            header: self.header,
            base: self.base,
            tick_ns: self.tick_ns,
            detect: self.detect,
            columns: self.columns,
            more: self.more,
            described: format!("{} between {shown}", self.shown.join(", ")),
            events: Vec::new(),
            splits: Vec::new(),
        };
        layout.events = Event::ALL
            .iter()
            .copied()
            .filter(|&event| reader::clock(&layout, event).is_some())
            .collect();
        if layout.events.is_empty() {
            let fix = "name one, as in time:s, or end:s with response:s";
            return Err(Fault::new("there is no column of a time", fix));
        }
        layout.splits = splits(&layout);
        Ok(layout)
    }
}

const DELIMITER_FIX: &str =
    "it is blank, comma, tab, semicolon, pipe or one punctuation mark other than . and -";

/// All columns of streams together, each of them, and the other columns that can make streams.
fn splits(layout: &Layout) -> Vec<String> {
    let names = |kinds: &[Kind]| -> Vec<String> {
        layout.of_kinds(kinds).map(|(_, column)| column.name.clone()).collect()
    };
    let streams = names(&[Kind::Stream, Kind::Id]);
    let mut splits = Vec::new();
    if streams.len() > 1 {
        splits.push(streams.join(" and "));
    }
    splits.extend(streams);
    splits.extend(names(&[Kind::Placement, Kind::Text, Kind::Number]));
    splits
}

/// Reads `name:type`, `name?:type` or `-`.
fn column(text: &str) -> Result<Column, Fault> {
    if text == "-" {
        return Ok(Column { name: text.to_owned(), kind: Kind::Ignored, optional: false });
    }
    let Some((name, word)) = text.split_once(':') else {
        return Err(Fault::new(
            format!("a column has no type, {}", quoted(text.as_bytes())),
            "write it as name:type, or \"-\" where it is not looked at",
        ));
    };
    let (name, optional) = name.strip_suffix('?').map_or((name, false), |name| (name, true));
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if name.is_empty() || !name.bytes().all(is_word) {
        let what = format!("a column has no such name, {}", quoted(name.as_bytes()));
        return Err(Fault::new(what, "names are of letters, digits and _"));
    }
    let kind = if word == "-" { Kind::Ignored } else { kind(name, word)? };
    Ok(Column { name: name.to_owned(), kind, optional })
}

fn kind(name: &str, word: &str) -> Result<Kind, Fault> {
    let event = match name {
        "time" => Some(Event::Queue),
        "dequeue" => Some(Event::Dequeue),
        "issue" => Some(Event::Issue),
        "end" => Some(Event::Complete),
        _ => None,
    };
    if let Some(event) = event {
        return Ok(Kind::Time(event, time_unit(name, word)?));
    }
    match name {
        "response" => return Ok(Kind::Response(time_unit(name, word)?)),
        "op" => return Ok(Kind::Op(OpCodes::parse(word)?)),
        "offset" => return Ok(Kind::Offset(unit_bytes(name, word)?)),
        "size" => return Ok(Kind::Size(unit_bytes(name, word)?)),
        _ => {}
    }
    match word {
        "stream" => Ok(Kind::Stream),
        "id" => Ok(Kind::Id),
        "placement" => Ok(Kind::Placement),
        "text" => Ok(Kind::Text),
        "number" => Ok(Kind::Number),
        _ => Err(Fault::new(
            format!("column {name} has no such type, {}", quoted(word.as_bytes())),
            "it is stream, id, placement, text, number or -; times, op, offset and size have their \
             own names",
        )),
    }
}

/// The units of time and how many digits of nanoseconds each has.
const TIME_UNITS: [(&str, u32); 5] = [("s", 9), ("ms", 6), ("us", 3), ("ns", 0), ("100ns", 2)];

fn time_unit(name: &str, word: &str) -> Result<TimeUnit, Fault> {
    let (unit, pointed) = word.strip_suffix('.').map_or((word, false), |unit| (unit, true));
    let found = TIME_UNITS.iter().find(|(known, _)| *known == unit);
    found.map(|&(word, digits)| TimeUnit { word, digits, pointed }).ok_or_else(|| {
        let what = format!("column {name} has no such unit of time, {}", quoted(word.as_bytes()));
        Fault::new(what, "it is s, ms, us, ns or 100ns")
    })
}

fn unit_bytes(name: &str, word: &str) -> Result<u64, Fault> {
    let digits = word.bytes().take_while(u8::is_ascii_digit).count();
    let (count, unit) = word.split_at(digits);
    let bytes = match unit {
        "B" => Some(1),
        "KiB" => Some(1 << 10),
        "MiB" => Some(1 << 20),
        "sector" if count.is_empty() => Some(u64::from(SECTOR_BYTES)),
        _ => None,
    };
    let count = if count.is_empty() { Some(1) } else { count.parse::<u64>().ok() };
    let product = bytes.zip(count).and_then(|(bytes, count)| bytes.checked_mul(count));
    product.filter(|bytes| (1..=UNIT_BYTES_MAX).contains(bytes)).ok_or_else(|| {
        let what = format!("column {name} has no such unit, {}", quoted(word.as_bytes()));
        Fault::new(what, "it is B, KiB, MiB, sector (512 B), or a block as in 4096B or 4KiB")
    })
}

//! `kv`: objects by name, as the stores of key-value caches of language models see them; CSV or
//! lines of JSON.
//!
//! Source: this project's own; there is no standard, so the columns are found by their names
//! (`kv/columns.rs` has them, docs/TRACES.md lists them). A row has a time, an operation, the key
//! of an object, its size in bytes, and perhaps a tier and a phase. The first line of a CSV is a
//! header. A line of JSON is an object whose members have the names of columns.
//!
//! The rows have no addresses: an allocator of this reader (`kv/extents.rs`, first fit) puts
//! objects on the device, and what is asked of an object becomes requests at its place.
//!
//! * A put of a new key takes room and writes. One of a known key writes in place if the size is
//!   the same; otherwise it trims and frees the old room first.
//! * A get reads the whole object. A size that is stated has to be that of the object.
//! * A delete trims the room and frees it.
//! * A put without room is an error, or the objects whose last put is the longest ago are deleted
//!   until there is room. In the latter case a get or delete of an unknown key is a miss, which
//!   asks nothing of the device; otherwise it is an error.
//!
//! An object is one request for each of its extents, however large; only what has 2^32 sectors
//! (2 TiB) or more is split. Requests of a row have its time and stream. Rows of a tier of memory
//! are passed over.

mod columns;
mod extents;
mod json;
mod objects;
mod tree;

use flashyard_core::request::Flags;

use self::columns::{Fault, Header, Op, Roles, is_on_device, json_row, recognises};
use self::objects::{Evicted, Objects, Piece, Refused};
use super::fields::{empty_request, whole};
use super::{Event, Format, FormatInfo, Parsed, ReaderOptions, Record, RowError};
use crate::error::quoted;
use crate::names::Names;
use crate::number::scientific;
use crate::words::{counted, either, was};

/// The registry entry.
pub(super) const INFO: FormatInfo = FormatInfo {
    name: "kv",
    doc: "puts, gets and deletes of objects by key, as CSV or JSON lines",
    columns: COLUMNS,
    example: "time,operation,key,bytes,tier,phase\n\
              0.000,put,a1f0,8192,ssd,prefill\n\
              0.004,put,a1f1,4608,ssd,prefill\n\
              0.005,load,77c0,65536,dram,prefill\n\
              0.009,get,a1f0,8192,ssd,decode\n\
              0.012,evict,a1f0,,ssd,decode\n\
              0.020,get,a1f1,4608,ssd,decode\n",
    recognises,
    events: &[Event::Queue],
    splits: &["phase", "tier"],
    tick_ns: 0,
    reader,
    writer: None,
};

const COLUMNS: &str = "time, operation, key, bytes, perhaps tier and phase, between commas behind \
                       a header or as members of JSON";

const TIME_FIX: &str = "times are whole or decimal numbers, with or without an exponent, of the \
                        unit that the column names, of seconds if none, up to 2^64 ns";

/// Rows that ask nothing of the device.
#[derive(Clone, Copy, Debug, Default)]
struct Passed {
    /// Of a tier of memory.
    in_memory: u64,
    /// Of an object that is not there, where it may have been evicted.
    gets: u64,
    deletes: u64,
}

#[derive(Debug)]
struct Kv {
    header: Option<Header>,
    objects: Objects,
    evicts: bool,
    by_tier: bool,
    passed: Passed,
    /// Whether the column of streams was named, so that it has to be there.
    split_is_named: bool,
    names: Names,
    /// The requests of the line that was parsed last, and how many were handed out.
    pieces: Vec<Piece>,
    given: usize,
    time_ns: u64,
    stream: u16,
}

fn reader(options: &ReaderOptions<'_>) -> Box<dyn Format> {
    Box::new(Kv {
        header: None,
        objects: Objects::new(&options.objects),
        evicts: options.objects.evicts,
        passed: Passed::default(),
        by_tier: options.split == Some("tier"),
        split_is_named: options.split.is_some(),
        names: Names::default(),
        pieces: Vec::new(),
        given: 0,
        time_ns: 0,
        stream: 0,
    })
}

/// The text of a column that every row has.
fn needed<'a>(name: &str, text: Option<&'a [u8]>) -> Result<&'a [u8], RowError> {
    text.ok_or_else(|| RowError {
        what: format!("there is no {name}"),
        fix: format!("a row is {COLUMNS}"),
    })
}

/// Why a line before any header cannot be read.
fn no_header(line: &[u8]) -> RowError {
    let why = match Header::of(line) {
        Err(Fault::Twice(name)) => {
            format!("a column before {} means the same", quoted(name))
        }
        Err(Fault::Missing(role)) => format!("no column is the {role}"),
        Ok(_) => "it was not expected".to_owned(),
    };
    let what = format!("the first line is no header, {why}, {}", quoted(line));
    let fix = "the first line names the columns, as in time,operation,key,bytes; docs/TRACES.md \
               lists the names";
    RowError { what, fix: fix.to_owned() }
}

impl Kv {
    /// Takes the columns from a header.
    fn take_header(&mut self, header: Header) -> Result<Parsed, RowError> {
        let places = header.places;
        self.check_split(if self.by_tier { places.tier } else { places.phase }.is_some())?;
        self.header = Some(header);
        Ok(Parsed::Header)
    }

    /// Refuses rows without the column of streams that was named.
    fn check_split(&self, is_there: bool) -> Result<(), RowError> {
        if is_there || !self.split_is_named {
            return Ok(());
        }
        let name = if self.by_tier { "tier" } else { "phase" };
        let what = format!("there is no column {name} to make streams of");
        Err(RowError { what, fix: "take trace.split out".to_owned() })
    }

    fn stream(&mut self, row: &Roles<&[u8]>) -> Result<u16, RowError> {
        let text = if self.by_tier { row.tier } else { row.phase };
        self.check_split(text.is_some())?;
        let column = if self.by_tier { "tier" } else { "phase" };
        text.map_or(Ok(0), |text| self.names.number(column, text))
    }

    /// Does what a row asks for.
    fn row(&mut self, row: &Roles<&[u8]>) -> Result<Parsed, RowError> {
        let op = needed("operation", row.op)?;
        let op = Op::of(op).ok_or_else(|| RowError::op(op, Op::ALLOWED))?;
        let (time, digits) = row.time.unzip();
        let (time, digits) = (needed("time", time)?, digits.unwrap_or(0));
        self.time_ns = scientific(time, digits)
            .map_err(|error| RowError::number("time", time, error, TIME_FIX))?;
        let key = needed("key", row.key)?;
        if key.is_empty() {
            let fix = "every row names its object: give the key, or leave such rows out with \
                       trace.bad_rows = \"skip\"";
            return Err(RowError { what: "key is empty or null".to_owned(), fix: fix.to_owned() });
        }
        if let Some(tier) = row.tier {
            let on_device = is_on_device(tier).ok_or_else(|| RowError {
                what: format!("the tier is not known, {}", quoted(tier)),
                fix: "tiers of the device are ssd, nvme, flash, disk, storage, local_disk, file; \
                      those of memory gpu, hbm, vram, cpu, host, dram, memory, ram: rename it, or \
                      take the column out"
                    .to_owned(),
            })?;
            if !on_device {
                self.passed.in_memory += 1;
                return Ok(Parsed::Other);
            }
        }
        let stated = row.bytes.filter(|text| !text.is_empty() && *text != b"null");
        let stated = stated.map(|text| whole("bytes", text)).transpose()?;
        let done = match (op, stated) {
            (Op::Put, None) => return Err(needed("bytes", None).unwrap_err()),
            (Op::Put, Some(0)) => return Err(empty_request("bytes")),
            (Op::Put, Some(bytes)) => self.objects.put(key, bytes, &mut self.pieces),
            (Op::Get, _) => self.objects.get(key, stated, &mut self.pieces),
            (Op::Delete, _) => self.objects.delete(key, &mut self.pieces),
        };
        match done {
            Ok(()) => {}
            Err(Refused::Unknown) if self.evicts => {
                match op {
                    Op::Get => self.passed.gets += 1,
                    Op::Put | Op::Delete => self.passed.deletes += 1,
                }
                return Ok(Parsed::Other);
            }
            Err(refused) => return Err(refusal(refused, key, stated.unwrap_or(0))),
        }
        self.stream = self.stream(row)?;
        let first = self.next_of_line();
        Ok(Parsed::Request(first.expect("objects have at least a sector")))
    }
}

/// The message of what was refused for an object of so many bytes.
fn refusal(refused: Refused, key: &[u8], bytes: u64) -> RowError {
    let key = quoted(key);
    let (what, fix) = match refused {
        Refused::Full(free) => (
            format!("the device is full, object {key} needs {bytes} bytes and {free} are free"),
            "give the device more capacity, or set trace.object_full = \"evict_oldest\"",
        ),
        Refused::TooLarge(all) => (
            format!("object {key} of {bytes} bytes is larger than the device, {all} bytes"),
            "give the device more capacity",
        ),
        Refused::Unknown => (
            format!("there is no object {key}"),
            "put it first; or leave such rows out with trace.bad_rows = \"skip\"",
        ),
        Refused::OtherSize(has) => (
            format!("object {key} has {has} bytes, not {bytes}"),
            "a get reads the whole object: give its size, or none",
        ),
    };
    RowError { what, fix: fix.to_owned() }
}

impl Format for Kv {
    fn needs_header(&self) -> bool {
        true
    }

    fn parse(&mut self, line: &[u8]) -> Result<Parsed, RowError> {
        self.pieces.clear();
        self.given = 0;
        if json::is_object(line) {
            let row = json_row(line).map_err(|what| RowError {
                what,
                fix: "a line is an object of JSON, as in {\"time\":0.5,\"op\":\"get\",\"key\":\
                      \"a\",\"bytes\":4096}"
                    .to_owned(),
            })?;
            return self.row(&row);
        }
        if let Ok(header) = Header::of(line) {
            return self.take_header(header);
        }
        let header = self.header.ok_or_else(|| no_header(line))?;
        let row = header
            .row(line)
            .map_err(|count| RowError::column_count(count, header.count, "what the header says"))?;
        self.row(&row)
    }

    fn has_several(&self) -> bool {
        true
    }

    fn next_of_line(&mut self) -> Option<Record> {
        let Piece { op, first_sector, sectors } = *self.pieces.get(self.given)?;
        self.given += 1;
        let (time_ns, stream, flags) = (self.time_ns, self.stream, Flags::NONE);
        Some(Record { time_ns, first_sector, sectors, stream, op, flags, placement: None })
    }

    fn notes(&self) -> Vec<String> {
        let Passed { in_memory, gets, deletes } = self.passed;
        let Evicted { objects, bytes } = self.objects.evicted();
        let mut notes = Vec::new();
        let mut note = |count: u64, text: String| {
            if count > 0 {
                notes.push(text);
            }
        };
        let are = either(in_memory, "is of a tier", "are of tiers");
        note(in_memory, format!("{} {are} of memory", counted(in_memory, "row")));
        let why = |count| {
            let objects = either(count, "the object was", "their objects were");
            format!("missed: {objects} never put or no longer there")
        };
        note(gets, format!("{} {}", counted(gets, "get"), why(gets)));
        note(deletes, format!("{} {}", counted(deletes, "delete"), why(deletes)));
        let (size, were) = (counted(bytes, "byte"), was(objects));
        let text = format!("{}, {size} in all, {were} evicted", counted(objects, "object"));
        note(objects, text + " to make room");
        notes
    }

    fn noted_rows(&self) -> u64 {
        let Passed { in_memory, gets, deletes } = self.passed;
        in_memory + gets + deletes
    }

    fn stream_names(&self) -> Vec<String> {
        self.names.list()
    }
}

#[cfg(test)]
mod tests;

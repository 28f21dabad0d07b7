//! `flashyard`: this project's own traces, records of 24 bytes behind a header of 64 bytes.
//!
//! docs/TRACES.md has the layout byte for byte. A request stands at a place that follows from its
//! number; nothing is rounded, and nothing lost but placement identifiers. The end is marked, so
//! that a file that was cut is noticed though nobody knew its length when its header was written.

use std::fmt;

use flashyard_core::request::{Flags, Request, RequestOp};

use super::buffer::{Buffer, Stop, cut_after};
use super::fields::LENGTH_FIX;
use super::write::{Holds, Outline, Streams, Writer};
use super::{Format, FormatInfo, Parsed, ReaderOptions, Record, RowError};
use crate::error::WorkloadError;
use crate::format::Event;
use crate::lines::Lines;
use crate::words::counted;

/// The registry entry.
pub const INFO: FormatInfo = FormatInfo {
    name: "flashyard",
    doc: "Flashyard's own binary records: all but placement identifiers, at the speed of the disk",
    columns: "24 bytes: arrival ns, first sector, sectors, stream, operation, flags",
    example: "",
    recognises: |_| false,
    events: &[Event::Queue],
    splits: &["stream"],
    tick_ns: 0,
    reader,
    writer: Some(writer),
};

/// The first bytes. A byte above 127 and both kinds of line ends show a copy that took the file for
/// text.
pub(crate) const MAGIC: [u8; 8] = *b"\x89FYT\r\n\x1a\n";

/// The version that is written, and the last one that is read.
pub(super) const VERSION: u16 = 1;

/// Bytes of the header.
pub(super) const HEADER_BYTES: usize = 64;

/// Bytes of a record.
pub(super) const RECORD_BYTES: usize = 24;

/// The operation that marks the end of the records.
pub(super) const END: u8 = 0xff;

/// What the header says where the number of records was not known when it was written.
pub(super) const UNKNOWN: u64 = u64::MAX;

/// Where the operation stands in a record.
const OP: usize = 22;

/// Bytes that are read at a time: whole records.
const BUFFER_BYTES: usize = RECORD_BYTES * 8 * 1024;

/// Bytes of the longest name of a stream.
const NAME_BYTES_MAX: usize = 65_535;

const CUT_FIX: &str = "the file was cut short: fetch or write it again";
const MADE_FIX: &str = "write it again with flashyard trace convert";

/// The number at `at`.
fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

/// The number at `at`.
fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(*bytes[at..].first_chunk().expect("the place lies inside"))
}

/// The number at `at`.
fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(*bytes[at..].first_chunk().expect("the place lies inside"))
}

/// The request in a record.
#[inline]
fn parse(bytes: &[u8; RECORD_BYTES]) -> Result<Record, RowError> {
    valid(bytes).ok_or_else(|| refusal(bytes))
}

/// The request in a record, if it holds one.
#[inline]
fn valid(bytes: &[u8; RECORD_BYTES]) -> Option<Record> {
    let sectors = u32_at(bytes, 16);
    let op = *RequestOp::ALL.get(usize::from(bytes[OP]))?;
    let flags = Flags::from_bits(bytes[OP + 1])?;
    (sectors > 0 || op == RequestOp::Flush).then(|| Record {
        time_ns: u64_at(bytes, 0),
        first_sector: u64_at(bytes, 8),
        sectors,
        stream: u16_at(bytes, 20),
        op,
        flags,
        placement: None,
    })
}

/// What is wrong with a record.
#[cold]
fn refusal(bytes: &[u8; RECORD_BYTES]) -> RowError {
    let (op, flags) = (bytes[OP], bytes[OP + 1]);
    if usize::from(op) >= RequestOp::ALL.len() {
        let fix = "the operations are 0 read, 1 write, 2 trim and 3 flush".to_owned();
        return RowError { what: format!("unknown operation, {op}"), fix };
    }
    if Flags::from_bits(flags).is_none() {
        let fix =
            "the flags are the sum of 1 fua, 2 preflush and 4 zeroes, and for zones one of 8 \
                   append, 16 reset, 32 finish, 64 open and 128 close"
                .to_owned();
        return RowError { what: format!("unknown flags, {flags}"), fix };
    }
    let fix = format!("{LENGTH_FIX}, and 0 only in a flush");
    RowError { what: "sectors is 0".to_owned(), fix }
}

/// Reads a record as if it were a line.
#[derive(Debug)]
struct OneRecord;

impl Format for OneRecord {
    fn parse(&mut self, record: &[u8]) -> Result<Parsed, RowError> {
        let Ok(bytes) = record.try_into() else {
            let what = format!("{} bytes instead of {RECORD_BYTES}", record.len());
            return Err(RowError { what, fix: MADE_FIX.to_owned() });
        };
        parse(bytes).map(Parsed::Request)
    }
}

fn reader(_: &ReaderOptions<'_>) -> Box<dyn Format> {
    Box::new(OneRecord)
}

/// The records of a byte stream through one bounded buffer, numbered from 1.
pub(crate) struct Records {
    buffer: Buffer,
    /// The number of the record that was returned last.
    number: u64,
    /// How many there are, as the header says.
    stated: Option<u64>,
    /// The time of the first record, as the header says.
    first_ns: u64,
    stream_names: Vec<String>,
    ended: bool,
}

impl Records {
    /// The records of what is left of `lines`.
    pub(crate) fn open(lines: Lines) -> Result<Self, WorkloadError> {
        let mut records = Self {
            buffer: Buffer::new(lines, BUFFER_BYTES),
            number: 0,
            stated: None,
            first_ns: 0,
            stream_names: Vec::new(),
            ended: false,
        };
        records.read_header()?;
        Ok(records)
    }

    /// What messages call the stream.
    pub(crate) fn name(&self) -> &str {
        self.buffer.name()
    }

    /// The number of the record that was returned last.
    pub(crate) const fn number(&self) -> u64 {
        self.number
    }

    /// The names of the streams, which stand at the end.
    pub(crate) fn stream_names(&self) -> &[String] {
        &self.stream_names
    }

    /// Whether the end, and with it the names, has been read.
    pub(crate) const fn has_ended(&self) -> bool {
        self.ended
    }

    /// The next record.
    #[inline]
    pub(crate) fn next_record(
        &mut self,
    ) -> Result<Option<Result<Record, RowError>>, WorkloadError> {
        let is_short = self.buffer.unused().len() < RECORD_BYTES;
        if (is_short || self.number == 0) && !self.refill()? {
            return Ok(None);
        }
        let bytes = self.buffer.unused().first_chunk().expect("a record is in the buffer");
        if bytes[OP] == END {
            self.read_end()?;
            return Ok(None);
        }
        let record = parse(bytes);
        self.advance();
        Ok(Some(record))
    }

    /// The next record where it is in the buffer, not the first, and right.
    #[inline]
    pub(crate) fn peek(&self) -> Option<Record> {
        let bytes = self.buffer.unused().first_chunk()?;
        if self.number == 0 { None } else { valid(bytes) }
    }

    /// Passes over the record that was looked at.
    #[inline]
    pub(crate) const fn advance(&mut self) {
        self.buffer.skip(RECORD_BYTES);
        self.number += 1;
    }

    /// Makes sure that a record is in the buffer, and that the first one is of the right time;
    /// `false` if there are no more.
    #[cold]
    fn refill(&mut self) -> Result<bool, WorkloadError> {
        if self.ended {
            return Ok(false);
        }
        if !self.fill(RECORD_BYTES)? {
            let after = self.number;
            return Err(self.refuse(format!("there is no end behind record {after}"), CUT_FIX));
        }
        let bytes = self.buffer.unused();
        let time_ns = u64_at(bytes, 0);
        if self.number == 0 && bytes[OP] != END && time_ns != self.first_ns {
            let what = format!(
                "the first record is of {time_ns} ns, and the header says {} ns",
                self.first_ns
            );
            return Err(self.refuse(what, MADE_FIX));
        }
        Ok(true)
    }

    /// Reads until `wanted` bytes are in the buffer; `false` where the data ends before.
    fn fill(&mut self, wanted: usize) -> Result<bool, WorkloadError> {
        self.buffer.fill(wanted).map_err(|stop| match stop {
            Stop::Cut => self.refuse(cut_after(self.number), CUT_FIX),
            Stop::Unreadable(error) => error,
        })
    }

    /// The next `count` bytes; `None` where the data ends before.
    fn take(&mut self, count: usize) -> Result<Option<&[u8]>, WorkloadError> {
        Ok(if self.fill(count)? { Some(self.buffer.take(count)) } else { None })
    }

    fn read_header(&mut self) -> Result<(), WorkloadError> {
        let header = match self.take(HEADER_BYTES)? {
            Some(header) if header.starts_with(&MAGIC) => {
                *header.first_chunk::<HEADER_BYTES>().expect("as many as were taken")
            }
            found => {
                let is_cut = found.is_none() && self.buffer.unused().starts_with(&MAGIC);
                let (what, fix) = if is_cut {
                    (format!("there are less than {HEADER_BYTES} bytes of header"), CUT_FIX)
                } else {
                    let what = "it is not of the format flashyard, whose first bytes it lacks";
                    (what.to_owned(), "take trace.format out")
                };
                return Err(self.refuse(what, fix));
            }
        };
        let version = u16_at(&header, 8);
        if version == 0 || version > VERSION {
            let what = format!("its version is {version}, and only version {VERSION} is known");
            return Err(self.refuse(what, "use a newer flashyard, or write it in another format"));
        }
        let sizes = (u16_at(&header, 10), u16_at(&header, 12));
        if (usize::from(sizes.0), usize::from(sizes.1)) != (HEADER_BYTES, RECORD_BYTES) {
            let what = format!(
                "the header says {} bytes of header and {} a record, not {HEADER_BYTES} and \
                 {RECORD_BYTES}",
                sizes.0, sizes.1
            );
            return Err(self.refuse(what, MADE_FIX));
        }
        let reserved = |byte: &&u8| **byte != 0;
        if let Some(byte) = header[14..16].iter().chain(&header[32..]).find(reserved) {
            let what = format!("a reserved byte of the header is {byte}, not 0");
            return Err(self.refuse(what, MADE_FIX));
        }
        self.stated = Some(u64_at(&header, 16)).filter(|&count| count != UNKNOWN);
        self.first_ns = u64_at(&header, 24);
        Ok(())
    }

    /// Reads the record that marks the end, and the names behind it.
    #[cold]
    fn read_end(&mut self) -> Result<(), WorkloadError> {
        let end: [u8; RECORD_BYTES] = *self
            .take(RECORD_BYTES)?
            .and_then(<[u8]>::first_chunk)
            .expect("the record is in the buffer");
        self.ended = true;
        let number = self.number;
        for (who, count) in [("end", Some(u64_at(&end, 0))), ("header", self.stated)] {
            if let Some(count) = count.filter(|&count| count != number) {
                let said = counted(count, "record");
                let what = format!("its {who} says {said}, and it has {number}");
                return Err(self.refuse(what, CUT_FIX));
            }
        }
        let names = u32_at(&end, 16);
        let wrong_end = u64_at(&end, 8) != 0 || u16_at(&end, 20) != 0 || end[OP + 1] != 0;
        if wrong_end || names > 1 << 16 {
            return Err(self.refuse("its end record is damaged".to_owned(), MADE_FIX));
        }
        for _ in 0..names {
            let name = self.read_name()?;
            self.stream_names.push(name);
        }
        if self.take(1)?.is_some() {
            return Err(self.refuse("there is something behind its end".to_owned(), MADE_FIX));
        }
        Ok(())
    }

    /// Reads the name of the next stream.
    fn read_name(&mut self) -> Result<String, WorkloadError> {
        let stream = self.stream_names.len();
        let length = self.take(2)?.map(|bytes| usize::from(u16_at(bytes, 0)));
        let name = match length {
            Some(length) => self.take(length)?.map(<[u8]>::to_vec),
            None => None,
        };
        let Some(name) = name else {
            return Err(self.refuse(format!("the name of stream {stream} is cut"), CUT_FIX));
        };
        String::from_utf8(name)
            .map_err(|_| self.refuse(format!("the name of stream {stream} is not UTF-8"), MADE_FIX))
    }

    /// An error of the file as a whole.
    fn refuse(&self, what: String, fix: &str) -> WorkloadError {
        WorkloadError::File { file: self.name().to_owned(), what, fix: fix.to_owned() }
    }
}

impl fmt::Debug for Records {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Records")
            .field("name", &self.name())
            .field("number", &self.number)
            .finish_non_exhaustive()
    }
}

/// Writes records.
#[derive(Debug)]
struct BinaryWriter {
    requests: u64,
}

fn writer() -> Box<dyn Writer> {
    Box::new(BinaryWriter { requests: 0 })
}

impl Writer for BinaryWriter {
    fn holds(&self) -> Holds {
        Holds {
            time_unit_ns: 1,
            ops: &RequestOp::ALL,
            flags: Flags::ALL,
            streams: Streams::Numbers,
            flush_ranges: true,
            placement: false,
            names: true,
            end_sector: u64::MAX,
        }
    }

    fn start(&self, outline: &Outline, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend(MAGIC);
        out.extend(VERSION.to_le_bytes());
        for bytes in [HEADER_BYTES, RECORD_BYTES, 0] {
            out.extend(u16::try_from(bytes).expect("they are small").to_le_bytes());
        }
        out.extend(outline.requests.unwrap_or(UNKNOWN).to_le_bytes());
        out.extend(outline.first_ns.to_le_bytes());
        out.resize(start + HEADER_BYTES, 0);
    }

    fn row(&mut self, request: &Request, out: &mut Vec<u8>) {
        self.requests += 1;
        let Request { arrival, first_sector, sectors, stream, op, flags, .. } = *request;
        let record =
            record(arrival.as_ns(), first_sector, sectors, stream, [op as u8, flags.bits()]);
        out.extend(record);
    }

    fn end(&mut self, names: &[String], out: &mut Vec<u8>) {
        let count = u32::try_from(names.len()).expect("there are at most 65536 streams");
        out.extend(record(self.requests, 0, count, 0, [END, 0]));
        for name in names {
            // What is longer than this is no name; it is cut where a character ends.
            let fits = |&end: &usize| end <= NAME_BYTES_MAX && name.is_char_boundary(end);
            let end = (0..=name.len().min(NAME_BYTES_MAX)).rev().find(fits).unwrap_or(0);
            out.extend(u16::try_from(end).expect("it was cut").to_le_bytes());
            out.extend(&name.as_bytes()[..end]);
        }
    }
}

/// The bytes of a record.
fn record(time: u64, sector: u64, sectors: u32, stream: u16, op: [u8; 2]) -> [u8; RECORD_BYTES] {
    let mut bytes = [0; RECORD_BYTES];
    bytes[..8].copy_from_slice(&time.to_le_bytes());
    bytes[8..16].copy_from_slice(&sector.to_le_bytes());
    bytes[16..20].copy_from_slice(&sectors.to_le_bytes());
    bytes[20..OP].copy_from_slice(&stream.to_le_bytes());
    bytes[OP..].copy_from_slice(&op);
    bytes
}

#[cfg(test)]
mod tests;

//! `biosnoop`: what biosnoop of bcc prints, a row for each request when it completes.
//!
//! Source: the repository iovisor/bcc, `tools/biosnoop.py` (versions of 2015 to 2023; `-Q` and
//! `-P` add a column each) and `libbpf-tools/biosnoop.c`; biosnoop(8). The header names the
//! columns:
//!
//! * `TIME(s)`: the completion, in decimal seconds since the first row; a row that another CPU
//!   completed earlier may be negative.
//! * `COMM`, `PID`, `DISK`: process and device. Names of processes may hold blanks.
//! * `T`: `tools` prints W for a write and R for everything else; `libbpf-tools` prints the letters
//!   of the kernel (`kernel.rs`).
//! * `SECTOR` (512 B), `BYTES`.
//! * `P`, with `-P`: sequential or random, not used.
//! * `QUE(ms)`, with `-Q`: from the queue to the issue, in decimal milliseconds; -1 where it is not
//!   known, which counts as 0.
//! * `LAT(ms)`: from the issue to the driver to the completion, in decimal milliseconds.
//!
//! The issue is TIME - LAT and the event `queue` is TIME - LAT - QUE; without QUE, the issue. Rows
//! stand in the order of completion, so arrivals step back. LAT and QUE are rounded to 0.01 ms
//! (0.001 ms in `libbpf-tools`), and so are arrivals.
//!
//! The clock of the trace shows one hour at the first completion, because what completes first was
//! issued earlier.
//!
//! Rows without bytes are flushes where the letters say so, and otherwise passed over: R does not
//! say what they are.

use flashyard_core::request::{Flags, RequestOp};

use super::fields::{empty_request, sectors_of_bytes, whole};
use super::kernel::{Rwbs, column, rwbs};
use super::{Event, Format, FormatInfo, Parsed, ReaderOptions, Record, RowError};
use crate::names::Names;
use crate::number::{NumberError, decimal, integer, split_blanks};

/// The registry entry.
pub(super) const INFO: FormatInfo = FormatInfo {
    name: "biosnoop",
    doc: "completed requests, as biosnoop of bcc prints them",
    columns: COLUMNS,
    example: "TIME(s)     COMM           PID    DISK    T SECTOR     BYTES   QUE(ms) LAT(ms)\n\
              0.000000    postgres       1950   nvme0n1 W 13092560   4096       0.02    0.74\n\
              0.000500    Web Content    2011   nvme0n1 R 9052160    131072     0.00    0.31\n\
              0.004096    kworker/2:1H   77     sda     W 2048       8192       1.10    0.52\n",
    recognises,
    events: &[Event::Queue, Event::Issue, Event::Complete],
    splits: &["disk", "pid", "process"],
    tick_ns: 0,
    reader,
    writer: None,
};

const COLUMNS: &str = "TIME(s), COMM, PID, DISK, T, SECTOR, BYTES, perhaps P and QUE(ms), LAT(ms) \
                       between blanks, behind a header";

/// What headers begin with.
const HEADER: [&[u8]; 7] = [b"TIME(s)", b"COMM", b"PID", b"DISK", b"T", b"SECTOR", b"BYTES"];
const PATTERN: &[u8] = b"P";
const QUEUED: &[u8] = b"QUE(ms)";
const LATENCY: &[u8] = b"LAT(ms)";

/// The most columns of a header.
const COLUMN_COUNT: usize = HEADER.len() + 3;

/// What the clock of a trace shows at its first completion, in nanoseconds.
const FIRST_NS: u64 = 3_600 * 1_000_000_000;

const TIME_FIX: &str = "times are decimal seconds since the first completion, latencies decimal \
                        milliseconds; both are below 584 years, and no request took an hour";

/// The columns of a trace beside those that all have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Header {
    pattern: bool,
    queued: bool,
}

impl Header {
    /// The header in a line, if it is one.
    fn of(line: &[u8]) -> Option<Self> {
        let (columns, count) = split_blanks::<COLUMN_COUNT>(line);
        let rest = columns.get(HEADER.len()..count)?;
        let header = match rest {
            [last] if *last == LATENCY => Self { pattern: false, queued: false },
            [PATTERN, last] if *last == LATENCY => Self { pattern: true, queued: false },
            [QUEUED, last] if *last == LATENCY => Self { pattern: false, queued: true },
            [PATTERN, QUEUED, last] if *last == LATENCY => Self { pattern: true, queued: true },
            _ => return None,
        };
        (columns[..HEADER.len()] == HEADER).then_some(header)
    }

    /// How many columns a row has, where the name of the process holds no blank.
    fn count(self) -> usize {
        HEADER.len() + 1 + usize::from(self.pattern) + usize::from(self.queued)
    }
}

/// Takes the last column off the end of `rest`; empty at the start.
fn last_column<'a>(rest: &mut &'a [u8]) -> &'a [u8] {
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let end = rest.iter().rposition(|byte| !blank(byte)).map_or(0, |at| at + 1);
    let text = &rest[..end];
    let start = text.iter().rposition(blank).map_or(0, |at| at + 1);
    *rest = &text[..start];
    &text[start..]
}

/// The columns of a row; the name of the process is what is left in the middle.
#[derive(Clone, Copy, Debug)]
struct Row<'a> {
    time: &'a [u8],
    process: &'a [u8],
    pid: &'a [u8],
    disk: &'a [u8],
    op: &'a [u8],
    sector: &'a [u8],
    bytes: &'a [u8],
    queued: Option<&'a [u8]>,
    latency: &'a [u8],
}

impl<'a> Row<'a> {
    fn of(line: &'a [u8], header: Header) -> Self {
        let mut rest = line;
        let time = column(&mut rest);
        let latency = last_column(&mut rest);
        let queued = header.queued.then(|| last_column(&mut rest));
        if header.pattern {
            last_column(&mut rest);
        }
        let bytes = last_column(&mut rest);
        let sector = last_column(&mut rest);
        let op = last_column(&mut rest);
        let disk = last_column(&mut rest);
        let pid = last_column(&mut rest);
        Self { time, process: rest.trim_ascii(), pid, disk, op, sector, bytes, queued, latency }
    }
}

/// Whether a line has the shape of a row of any header.
fn is_row(line: &[u8]) -> bool {
    let (_, count) = split_blanks::<1>(line);
    [(false, false), (true, false), (false, true), (true, true)].into_iter().any(|(p, q)| {
        let header = Header { pattern: p, queued: q };
        let row = Row::of(line, header);
        count >= header.count()
            && row.time.contains(&b'.')
            && row.latency.contains(&b'.')
            && [row.latency, row.queued.unwrap_or(b"0")].iter().all(|ms| decimal(ms, 6).is_ok())
            && [row.pid, row.sector, row.bytes].iter().all(|number| integer(number).is_ok())
            && rwbs(row.op).is_ok()
    })
}

fn recognises(line: &[u8]) -> bool {
    Header::of(line).is_some() || is_row(line)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Split {
    Disk,
    Pid,
    Process,
}

#[derive(Debug)]
struct Biosnoop {
    event: Event,
    split: Split,
    header: Option<Header>,
    names: Names,
}

fn reader(options: &ReaderOptions<'_>) -> Box<dyn Format> {
    let split = match options.split {
        Some("pid") => Split::Pid,
        Some("process") => Split::Process,
        _ => Split::Disk,
    };
    Box::new(Biosnoop { event: options.event, split, header: None, names: Names::default() })
}

/// A column of decimal milliseconds, in nanoseconds.
fn millis(column: &str, text: &[u8]) -> Result<u64, RowError> {
    decimal(text, 6).map_err(|error| RowError::number(column, text, error, TIME_FIX))
}

/// When a request completed, in nanoseconds on the clock of the trace.
fn completed_ns(text: &[u8]) -> Result<u64, RowError> {
    let (earlier, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    let refuse = |error| RowError::number("TIME(s)", text, error, TIME_FIX);
    let ns = decimal(digits, 9).map_err(refuse)?;
    let shown = if earlier { FIRST_NS.checked_sub(ns) } else { FIRST_NS.checked_add(ns) };
    shown.ok_or_else(|| refuse(NumberError::TooLarge))
}

impl Row<'_> {
    /// The time of an event, in nanoseconds on the clock of the trace.
    fn time_ns(&self, event: Event) -> Result<u64, RowError> {
        let completed = completed_ns(self.time)?;
        let latency = millis("LAT(ms)", self.latency)?;
        let queued = match self.queued {
            Some(text) if !text.starts_with(b"-1") => millis("QUE(ms)", text)?,
            _ => 0,
        };
        let before = match event {
            Event::Queue | Event::Dequeue => latency.checked_add(queued),
            Event::Issue => Some(latency),
            Event::Complete => Some(0),
        };
        before.and_then(|before| completed.checked_sub(before)).ok_or_else(|| {
            RowError::number("LAT(ms)", self.latency, NumberError::TooLarge, TIME_FIX)
        })
    }

    /// What it asks for, and of which sectors; `None` where nobody can say.
    fn asked(&self) -> Result<Option<(RequestOp, Flags, u64, u32)>, RowError> {
        let letters: Rwbs = rwbs(self.op)?;
        if whole("BYTES", self.bytes)? == 0 {
            let flush = (RequestOp::Flush, Flags::NONE, 0, 0);
            return Ok(letters.is_flush().then_some(flush));
        }
        let Some(op) = letters.on_sectors() else {
            return match letters.op {
                Some(flush) => Ok(Some((flush, Flags::NONE, 0, 0))),
                None => Ok(None),
            };
        };
        let base = whole("SECTOR", self.sector)?;
        let (first_sector, sectors) = sectors_of_bytes(base, 0, self.bytes, "BYTES")?;
        Ok(Some((op, letters.flags, first_sector, sectors)))
    }
}

impl Format for Biosnoop {
    fn needs_header(&self) -> bool {
        true
    }

    fn parse(&mut self, line: &[u8]) -> Result<Parsed, RowError> {
        if let Some(header) = Header::of(line) {
            self.header = Some(header);
            return Ok(Parsed::Header);
        }
        let (_, count) = split_blanks::<1>(line);
        let Some(header) = self.header else {
            let fix =
                "the columns are known from the header, TIME(s) COMM PID DISK T SECTOR BYTES \
                       LAT(ms): put it in front"
                    .to_owned();
            return Err(RowError {
                what: "there is no header before the first row".to_owned(),
                fix,
            });
        };
        if count < header.count() {
            let what = format!("{count} columns instead of {} or more", header.count());
            return Err(RowError { what, fix: format!("a row is {COLUMNS}") });
        }
        let row = Row::of(line, header);
        let time_ns = row.time_ns(self.event)?;
        let Some((op, flags, first_sector, sectors)) = row.asked()? else {
            return Ok(Parsed::Other);
        };
        if sectors == 0 && op != RequestOp::Flush {
            return Err(empty_request("BYTES"));
        }
        let stream = match self.split {
            Split::Disk => self.names.number("disk", row.disk),
            Split::Pid => self.names.number("pid", row.pid),
            Split::Process => self.names.number("process", row.process),
        }?;
        let placement = None;
        let record = Record { time_ns, first_sector, sectors, stream, op, flags, placement };
        Ok(Parsed::Request(record))
    }

    fn stream_names(&self) -> Vec<String> {
        self.names.list()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RequestSource;
    use crate::input::Input;
    use crate::trace::{TimeOrder, Trace, TraceKeys, TraceOptions};
    use RequestOp::{Flush, Read, Trim, Write};

    const PLAIN: &str = "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)";
    const BOTH: &str = "TIME(s) COMM PID DISK T SECTOR BYTES P QUE(ms) LAT(ms)";

    /// What a row under a header holds.
    fn read(header: &str, event: Event, row: &str) -> Result<Parsed, RowError> {
        let mut reader = reader(&ReaderOptions { event, ..ReaderOptions::default() });
        assert_eq!(reader.parse(header.as_bytes()), Ok(Parsed::Header));
        reader.parse(row.as_bytes())
    }

    #[track_caller]
    fn record(parsed: Result<Parsed, RowError>) -> Record {
        match parsed {
            Ok(Parsed::Request(record)) => record,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_arrival_is_the_completion_less_latency_and_time_in_the_queue() {
        // 2.5 s - 0.74 ms = 2.49926 s, less 0.26 ms = 2.499 s.
        let row = "2.500000 dd 7 sda W 80 4608 R 0.26 0.74";
        let time = |event| record(read(BOTH, event, row)).time_ns - FIRST_NS;
        assert_eq!(time(Event::Queue), 2_499_000_000);
        assert_eq!(time(Event::Issue), 2_499_260_000);
        assert_eq!(time(Event::Complete), 2_500_000_000);
        let row = "2.500000 dd 7 sda W 80 4608 0.74";
        let found = record(read(PLAIN, Event::Queue, row));
        assert_eq!(found.time_ns - FIRST_NS, 2_499_260_000);
        assert_eq!((found.op, found.first_sector, found.sectors), (Write, 80, 9));
    }

    #[test]
    fn what_completed_first_was_issued_before_time_0() {
        let first = record(read(PLAIN, Event::Queue, "0.000000 dd 7 sda R 0 512 1.50"));
        assert_eq!(FIRST_NS - first.time_ns, 1_500_000);
        let earlier = record(read(PLAIN, Event::Complete, "-0.000025 dd 7 sda R 0 512 1.50"));
        assert_eq!(FIRST_NS - earlier.time_ns, 25_000);
    }

    #[test]
    fn names_of_processes_may_hold_blanks() {
        let options = ReaderOptions { split: Some("process"), ..ReaderOptions::default() };
        let mut reader = reader(&options);
        let rows = [PLAIN, "1.0 Web Content 7 sda R 0 512 1.5", "1.0 a  b 3 8 sda R 0 512 1.5"];
        for row in rows {
            reader.parse(row.as_bytes()).unwrap();
        }
        assert_eq!(reader.stream_names(), ["Web Content", "a  b 3"]);
    }

    #[test]
    fn letters_of_libbpf_tools_become_operations() {
        for (letters, bytes, op, flags, sectors) in [
            ("R", 512, Read, Flags::NONE, 1),
            ("RA", 4_096, Read, Flags::NONE, 8),
            ("WFS", 512, Write, Flags::FUA, 1),
            ("FWS", 512, Write, Flags::PREFLUSH, 1),
            ("FWS", 0, Flush, Flags::NONE, 0),
            ("F", 0, Flush, Flags::NONE, 0),
            ("DS", 4_096, Trim, Flags::NONE, 8),
        ] {
            let row = format!("1.0 dd 7 sda {letters} 80 {bytes} 0.5");
            let found = record(read(PLAIN, Event::Queue, &row));
            assert_eq!((found.op, found.flags, found.sectors), (op, flags, sectors), "{row}");
        }
        for op in ["R 0 0", "W 0 0", "N 0 0", "N 8 36"] {
            let row = format!("1.0 dd 7 sda {op} 0.5");
            assert_eq!(read(PLAIN, Event::Queue, &row), Ok(Parsed::Other), "{row}");
        }
        let unknown = record(read(BOTH, Event::Queue, "1.0 dd 7 sda R 0 512 S -1.000 0.5"));
        assert_eq!(unknown.time_ns - FIRST_NS, 999_500_000);
    }

    #[test]
    fn rows_stand_in_the_order_of_completion() {
        let text = format!("{PLAIN}\n0.0 a 1 sda R 0 512 1.0\n0.001 a 1 sda R 8 512 5.0\n");
        let trace = |time_order| {
            let keys = TraceKeys { time_order, ..TraceKeys::default() };
            let options = TraceOptions::default();
            Trace::open(Input::memory("t", text.as_bytes()), &keys, &options).unwrap()
        };
        let mut wrong = trace(TimeOrder::Error);
        wrong.next_request().unwrap();
        let message = wrong.next_request().unwrap_err().to_string();
        assert!(message.starts_with("t:3: time steps back by 3 ms; set trace.time_order"));
        let mut sorted = trace(TimeOrder::Sort);
        let mut next = || sorted.next_request().unwrap().unwrap();
        let sectors = [next().first_sector, next().first_sector];
        assert_eq!(sectors, [8, 0]);
    }

    #[test]
    fn rows_are_told_from_those_of_other_formats() {
        for (line, expected) in [
            (PLAIN, true),
            (BOTH, true),
            ("TIME(ms) COMM PID LAT(ms)", false),
            ("TIME(s) COMM PID DISK T SECTOR BYTES QUE(ms)", false),
            ("0.5 a 1 sda R 0 512 1.5", true),
            ("0.5 a b 1 sda R 0 512 S 0.10 1.5", true),
            ("0 a 1 sda R 0 512 1.5", false),
            ("0.5 a 1 sda X 0 512 1.5", false),
        ] {
            assert_eq!(recognises(line.as_bytes()), expected, "{line}");
        }
    }

    #[test]
    fn wrong_rows_are_refused() {
        let refused = |row: &str, what: &str| {
            let error = read(PLAIN, Event::Queue, row).unwrap_err();
            assert!(error.what.starts_with(what), "{error:?}");
            assert!(!error.fix.is_empty());
        };
        refused("1.0 dd 7 sda R 80 512", "7 columns instead of 8 or more");
        refused("1.0 dd 7 sda ZR 80 512 0.5", "unknown operation, \"ZR\"");
        refused("x dd 7 sda R 80 512 0.5", "TIME(s) is not a number, \"x\"");
        refused("18446744073.7 dd 7 sda R 80 512 0.5", "TIME(s) is too large");
        refused("1.0 dd 7 sda R 80 512 -0.5", "LAT(ms) is negative, \"-0.5\"");
        refused("1.0 dd 7 sda R 80 512 3700000.0", "LAT(ms) is too large");
        refused("1.0 dd 7 sda R x 512 0.5", "SECTOR is not a number, \"x\"");
        refused("1.0 dd 7 sda R 80 2199023255553 0.5", "BYTES is too large");
        let mut without = reader(&ReaderOptions::default());
        let error = without.parse(b"1.0 dd 7 sda R 80 512 0.5").unwrap_err();
        assert_eq!(error.what, "there is no header before the first row");
    }
}

//! `fio`: the I/O logs of fio, versions 2 and 3.
//!
//! Source: the fio documentation, "Trace file format"; units where it is silent from what fio
//! writes (`iolog.c`). The first line names the version. Then each line is `filename action` (add,
//! open, close) or `filename action offset length`; in version 3 a time stands in front: whole
//! microseconds since the start of the job. Version 2 has no times: only `wait` moves the clock, by
//! its offset in microseconds from the wait before it (fio itself discards less than 100; here
//! nothing is), so all requests between two waits arrive together. fio writes no waits itself: a
//! version 2 log is best replayed in a closed loop.
//!
//! Where logs were put together in one file, the line that starts each of them says its version.
//!
//! Each file is a stream, numbered in the order in which requests name them. Offsets count bytes of
//! the file: files are not laid out one behind the other. `sync`, `datasync` and `syncfs` are
//! flushes. `sync_file_range` starts to write pages out and asks nothing of the device: it is
//! passed over.

use std::collections::BTreeSet;

use flashyard_core::request::{Flags, Request, RequestOp, SECTOR_BYTES};

use super::fields::{WHOLE_FIX, sectors_of_bytes, whole};
use super::write::{Holds, Outline, Streams, Writer, put};
use super::{Format, FormatInfo, Parsed, ReaderOptions, Record, RowError};
use crate::error::quoted;
use crate::format::Event;
use crate::names::Names;
use crate::number::{NumberError, integer, split_blanks};

/// The registry entry.
pub(super) const INFO: FormatInfo = FormatInfo {
    name: "fio",
    doc: "fio I/O logs, versions 2 and 3",
    columns: COLUMNS,
    example: "fio version 3 iolog\n\
              0 /dev/sdb add\n\
              9 /dev/sdb open\n\
              154 /dev/sdb write 61440 4096\n\
              183 /dev/sdb read 8192 4096\n\
              201 /dev/sdb sync 0 0\n\
              220 /dev/sdb trim 61440 4096\n\
              230 /dev/sdb close\n",
    recognises,
    events: &[Event::Queue],
    splits: &["file"],
    tick_ns: 0,
    reader,
    writer: Some(writer),
};

const COLUMNS: &str = "time us (version 3), file, action, offset, bytes between blanks";
const FILE_FIX: &str = "a row about a file is its name and add, open or close, in version 3 behind \
                        a time; about a request it goes on with offset and length in bytes";
const HEADER_FIX: &str =
    "the first line of the log is \"fio version 2 iolog\" or \"fio version 3 iolog\"";

/// The most columns a row has.
const COLUMN_COUNT: usize = 5;
const US_NS: u64 = 1_000;

#[derive(Debug, Default)]
struct Fio {
    /// What the first line said.
    version: Option<Version>,
    /// The sum of the waits so far, of version 2.
    waited_ns: u64,
    files: Names,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    Two,
    Three,
}

fn reader(_: &ReaderOptions<'_>) -> Box<dyn Format> {
    Box::new(Fio::default())
}

/// The version that a line names, if it is the first one of a log.
fn header(line: &[u8]) -> Option<Version> {
    match line.trim_ascii() {
        b"fio version 2 iolog" => Some(Version::Two),
        b"fio version 3 iolog" => Some(Version::Three),
        _ => None,
    }
}

fn recognises(line: &[u8]) -> bool {
    let (columns, count) = split_blanks::<COLUMN_COUNT>(line);
    let about_file = |action: &[u8]| matches!(action, b"add" | b"open" | b"close");
    let request = |columns: &[&[u8]]| {
        (matches!(action(columns[0]), Ok(Action::Request(_) | Action::Other))
            || columns[0] == b"wait")
            && integer(columns[1]).is_ok()
            && integer(columns[2]).is_ok()
    };
    match count {
        2 => about_file(columns[1]),
        3 => integer(columns[0]).is_ok() && about_file(columns[2]),
        4 => header(line).is_some() || request(&columns[1..]),
        5 => integer(columns[0]).is_ok() && request(&columns[2..]),
        _ => false,
    }
}

/// What a row about a request asks for.
#[derive(Clone, Copy, Debug)]
enum Action {
    Request(RequestOp),
    Wait,
    Other,
}

fn action(text: &[u8]) -> Result<Action, RowError> {
    Ok(match text {
        b"read" => Action::Request(RequestOp::Read),
        b"write" => Action::Request(RequestOp::Write),
        b"trim" => Action::Request(RequestOp::Trim),
        b"sync" | b"datasync" | b"syncfs" => Action::Request(RequestOp::Flush),
        b"sync_file_range" => Action::Other,
        b"wait" => Action::Wait,
        other => {
            let known = "read, write, trim, sync, datasync, syncfs, sync_file_range, and in \
                         version 2 wait";
            return Err(RowError::op(other, known));
        }
    })
}

/// A column of microseconds, in nanoseconds.
fn micros(column: &str, text: &[u8]) -> Result<u64, RowError> {
    let ns = whole(column, text)?.checked_mul(US_NS);
    ns.ok_or_else(|| RowError::number(column, text, NumberError::TooLarge, WHOLE_FIX))
}

impl Fio {
    fn request(
        &mut self,
        time_ns: u64,
        op: RequestOp,
        [file, _, offset, length]: [&[u8]; 4],
    ) -> Result<Parsed, RowError> {
        let offset_bytes = whole("offset", offset)?;
        let (first_sector, sectors) = if op == RequestOp::Flush {
            whole("length", length)?;
            (0, 0)
        } else {
            sectors_of_bytes(0, offset_bytes, length, "length")?
        };
        let stream = self.files.number("file", file)?;
        let flags = Flags::NONE;
        let placement = None;
        let record = Record { time_ns, first_sector, sectors, stream, op, flags, placement };
        Ok(Parsed::Request(record))
    }

    fn wait(&mut self, offset: &[u8], length: &[u8]) -> Result<Parsed, RowError> {
        whole("length", length)?;
        let wait_ns = micros("offset", offset)?;
        self.waited_ns = self.waited_ns.checked_add(wait_ns).ok_or_else(|| {
            let fix = "the waits of a log add up to at most 584 years";
            RowError::number("offset", offset, NumberError::TooLarge, fix)
        })?;
        Ok(Parsed::Other)
    }
}

impl Format for Fio {
    fn parse(&mut self, line: &[u8]) -> Result<Parsed, RowError> {
        let (columns, count) = split_blanks::<COLUMN_COUNT>(line);
        if let Some(version) = header(line) {
            self.version = Some(version);
            return Ok(Parsed::Other);
        }
        let version = self.version.ok_or_else(|| RowError {
            what: format!("the version is missing, {}", quoted(line)),
            fix: HEADER_FIX.to_owned(),
        })?;
        let (time_ns, row, count) = match version {
            Version::Two => {
                (self.waited_ns, [columns[0], columns[1], columns[2], columns[3]], count)
            }
            Version::Three => (
                micros("time", columns[0])?,
                [columns[1], columns[2], columns[3], columns[4]],
                count.saturating_sub(1),
            ),
        };
        match (count, row[1]) {
            (2, b"add" | b"open" | b"close") => Ok(Parsed::Other),
            (2, other) => Err(RowError::op(other, "add, open and close where no offset follows")),
            (4, text) => match (action(text)?, version) {
                (Action::Request(op), _) => self.request(time_ns, op, row),
                (Action::Other, _) => Ok(Parsed::Other),
                (Action::Wait, Version::Two) => self.wait(row[2], row[3]),
                (Action::Wait, Version::Three) => {
                    Err(RowError::op(text, "those of version 2 without wait: rows have times"))
                }
            },
            _ => {
                let what = match version {
                    Version::Two => format!("{count} columns instead of 2 or 4"),
                    Version::Three => format!("{} columns instead of 3 or 5", count + 1),
                };
                Err(RowError { what, fix: FILE_FIX.to_owned() })
            }
        }
    }

    fn stream_names(&self) -> Vec<String> {
        self.files.list()
    }
}

/// Writes version 3; each stream is a file, named in its first row.
#[derive(Debug)]
struct FioWriter {
    /// The streams whose files have been added.
    added: BTreeSet<u16>,
    last_us: u64,
}

fn writer() -> Box<dyn Writer> {
    Box::new(FioWriter { added: BTreeSet::new(), last_us: 0 })
}

impl Writer for FioWriter {
    fn holds(&self) -> Holds {
        Holds {
            time_unit_ns: US_NS,
            ops: &RequestOp::ALL,
            streams: Streams::Appearance,
            flush_ranges: false,
            end_sector: u64::MAX / u64::from(SECTOR_BYTES),
            ..Holds::READS_AND_WRITES
        }
    }

    fn start(&self, _: &Outline, out: &mut Vec<u8>) {
        out.extend_from_slice(b"fio version 3 iolog\n");
    }

    fn row(&mut self, request: &Request, out: &mut Vec<u8>) {
        let Request { arrival, stream, first_sector, sectors, op, .. } = request;
        let us = arrival.as_ns() / US_NS;
        self.last_us = us;
        if self.added.insert(*stream) {
            put(out, format_args!("{us} stream{stream} add\n{us} stream{stream} open\n"));
        }
        match op {
            RequestOp::Flush => put(out, format_args!("{us} stream{stream} sync 0 0\n")),
            op => {
                let (action, sector) = (op.name(), u64::from(SECTOR_BYTES));
                let (offset, length) = (first_sector * sector, u64::from(*sectors) * sector);
                put(out, format_args!("{us} stream{stream} {action} {offset} {length}\n"));
            }
        }
    }

    fn end(&mut self, _: &[String], out: &mut Vec<u8>) {
        for stream in &self.added {
            put(out, format_args!("{} stream{stream} close\n", self.last_us));
        }
    }
}

// Counts and bytes of a log of version 3 with awk, the time not being used:
//   awk 'NF == 5 { n[$3]++; b[$3] += $5 } END { for (a in n) print a, n[a], b[a] }' FILE
#[cfg(test)]
mod tests {
    use RequestOp::{Flush, Read, Trim, Write};

    use super::*;

    /// What the rows behind the header of a version hold.
    fn read(version: u32, rows: &[&str]) -> Vec<Result<Parsed, RowError>> {
        let mut reader = reader(&ReaderOptions::default());
        let first = format!("fio version {version} iolog");
        assert_eq!(reader.parse(first.as_bytes()), Ok(Parsed::Other));
        rows.iter().map(|row| reader.parse(row.as_bytes())).collect()
    }

    #[track_caller]
    fn record(parsed: &Result<Parsed, RowError>) -> Record {
        match parsed {
            Ok(Parsed::Request(record)) => *record,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn version_3_has_times_in_microseconds() {
        let rows = read(3, &["0 f add", "5 f open", "17 f write 61441 4096", "18 f sync 9 1"]);
        assert_eq!(rows[..2], [Ok(Parsed::Other), Ok(Parsed::Other)]);
        let write = record(&rows[2]);
        assert_eq!((write.time_ns, write.op), (17_000, RequestOp::Write));
        // Bytes 61441 to 65536 lie in the sectors 120 to 128.
        assert_eq!((write.first_sector, write.sectors), (120, 9));
        let sync = record(&rows[3]);
        assert_eq!((sync.op, sync.first_sector, sync.sectors), (RequestOp::Flush, 0, 0));
    }

    #[test]
    fn in_version_2_only_waits_move_the_clock() {
        let rows = ["f read 0 512", "f wait 7 0", "f read 0 512", "g wait 1000 0", "f read 0 512"];
        let rows = read(2, &rows);
        assert_eq!(
            [&rows[0], &rows[2], &rows[4]].map(|row| record(row).time_ns),
            [0, 7_000, 1_007_000]
        );
        assert_eq!([&rows[1], &rows[3]], [&Ok(Parsed::Other), &Ok(Parsed::Other)]);
    }

    #[test]
    fn actions_become_operations() {
        let rows = ["read", "write", "trim", "sync", "datasync", "syncfs"];
        let rows = rows.map(|action| format!("f {action} 512 1024"));
        let ops: Vec<RequestOp> =
            read(2, &rows.each_ref().map(String::as_str)).iter().map(|r| record(r).op).collect();
        assert_eq!(ops, [Read, Write, Trim, Flush, Flush, Flush]);
        assert_eq!(read(2, &["f sync_file_range 0 4096"]), [Ok(Parsed::Other)]);
    }

    #[test]
    fn files_are_numbered_in_the_order_in_which_requests_name_them() {
        let mut reader = reader(&ReaderOptions::default());
        let rows = ["fio version 2 iolog", "a add", "c read 0 1", "a read 0 1", "c read 0 1"];
        let streams: Vec<u16> = rows
            .iter()
            .filter_map(|row| match reader.parse(row.as_bytes()).unwrap() {
                Parsed::Request(record) => Some(record.stream),
                Parsed::Header | Parsed::Other => None,
            })
            .collect();
        assert_eq!(streams, [0, 1, 0]);
        assert_eq!(reader.stream_names(), ["c", "a"]);
    }

    #[test]
    fn both_versions_are_detected() {
        let two =
            [&b"fio version 2 iolog"[..], b"/a/b.c add", b"/a/b.c open", b"/a/b.c read 0 512"];
        assert_eq!(FormatInfo::detect(&two).unwrap().name, "fio");
        assert_eq!(FormatInfo::detect(&two[..1]).unwrap().name, "fio");
    }

    #[test]
    fn wrong_rows_are_refused() {
        let refused = |version: u32, row: &str, what: &str| {
            let error = read(version, &[row]).remove(0).expect_err("the row is wrong");
            assert!(error.what.starts_with(what), "{error:?}");
            assert!(!error.fix.is_empty());
        };
        refused(2, "f read 0", "3 columns instead of 2 or 4");
        refused(2, "1 f read 0 512", "5 columns instead of 2 or 4");
        refused(2, "f delete", "unknown operation, \"delete\"");
        refused(2, "f sync", "unknown operation, \"sync\"");
        refused(2, "f erase 0 512", "unknown operation, \"erase\"");
        refused(2, "f read -1 512", "offset is negative, \"-1\"");
        refused(2, "f read 0 0", "length is 0");
        refused(2, "f trim 0 2199023255553", "length is too large");
        refused(2, "f wait 18446744073709552 0", "offset is too large");
        refused(3, "5 f wait 100 0", "unknown operation, \"wait\"");
        refused(3, "f read 0 512", "time is not a number, \"f\"");
        refused(3, "5 f read 0", "4 columns instead of 3 or 5");
        refused(3, "18446744073709552 f read 0 512", "time is too large");
        refused(3, "fio version 4 iolog", "time is not a number, \"fio\"");
        let error = reader(&ReaderOptions::default()).parse(b"f read 0 512").unwrap_err();
        assert_eq!(error.what, "the version is missing, \"f read 0 512\"");
    }

    #[test]
    fn waits_add_up_to_at_most_the_range_of_times() {
        let rows = read(2, &["f wait 18446744073709551 0", "f wait 1 0"]);
        assert_eq!(rows[0], Ok(Parsed::Other));
        assert!(rows[1].as_ref().unwrap_err().what.starts_with("offset is too large"));
    }
}

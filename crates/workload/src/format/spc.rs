//! `spc`: the trace file format of the Storage Performance Council: `ASU,LBA,bytes,op,time`.
//!
//! Source: "SPC Trace File Format Specification", revision 1.0.1, 2002; the trace repository of the
//! University of Massachusetts keeps OLTP and search traces in it. The LBA counts 512 B blocks of
//! the application storage unit (ASU), and the unit becomes the stream: units are not laid out one
//! behind the other. The operation is R or W in either case. Fields behind the fifth are not read.

use flashyard_core::request::{Flags, Request, RequestOp, SECTOR_BYTES};

use super::fields::{seconds, sectors_of_bytes, stream, whole};
use super::write::{Holds, Seconds, Writer, put};
use super::{Format, FormatInfo, Parsed, ReaderOptions, Record, RowError};
use crate::format::Event;
use crate::number::{decimal, integer, split_commas};

/// The registry entry.
pub(super) const INFO: FormatInfo = FormatInfo {
    name: "spc",
    doc: "Storage Performance Council traces (UMass Financial, WebSearch)",
    columns: COLUMNS,
    example: "0,303567,3584,w,0.000000\n1,55590,3072,R,0.026214\n",
    recognises,
    events: &[Event::Queue],
    splits: &["asu"],
    tick_ns: 0,
    reader,
    writer: Some(writer),
};

const COLUMN_COUNT: usize = 5;
const COLUMNS: &str = "ASU, LBA, bytes, operation, time s between commas";

#[derive(Debug)]
struct Spc;

fn reader(_: &ReaderOptions<'_>) -> Box<dyn Format> {
    Box::new(Spc)
}

fn recognises(line: &[u8]) -> bool {
    let (columns, count) = split_commas::<COLUMN_COUNT>(line);
    count >= COLUMN_COUNT
        && columns[..3].iter().all(|column| integer(column).is_ok())
        && matches!(columns[3], b"r" | b"R" | b"w" | b"W")
        && decimal(columns[4], 9).is_ok()
}

impl Format for Spc {
    fn parse(&mut self, line: &[u8]) -> Result<Parsed, RowError> {
        let (columns, count) = split_commas::<COLUMN_COUNT>(line);
        if count < COLUMN_COUNT {
            return Err(RowError::column_count(count, COLUMN_COUNT, COLUMNS));
        }
        let base = whole("LBA", columns[1])?;
        let (first_sector, sectors) = sectors_of_bytes(base, 0, columns[2], "bytes")?;
        Ok(Parsed::Request(Record {
            time_ns: seconds("time", columns[4])?,
            stream: stream("ASU", columns[0])?,
            first_sector,
            sectors,
            op: match columns[3] {
                b"r" | b"R" => RequestOp::Read,
                b"w" | b"W" => RequestOp::Write,
                other => return Err(RowError::op(other, "R and W")),
            },
            flags: Flags::NONE,
            placement: None,
        }))
    }
}

fn writer() -> Box<dyn Writer> {
    Box::new(Spc)
}

impl Writer for Spc {
    fn holds(&self) -> Holds {
        Holds::READS_AND_WRITES
    }

    fn row(&mut self, request: &Request, out: &mut Vec<u8>) {
        let Request { arrival, stream, first_sector, sectors, op, .. } = request;
        let bytes = u64::from(*sectors) * u64::from(SECTOR_BYTES);
        let op = if *op == RequestOp::Read { 'R' } else { 'W' };
        let seconds = Seconds(*arrival);
        put(out, format_args!("{stream},{first_sector},{bytes},{op},{seconds}\n"));
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{parse, refused};
    use super::*;

    #[test]
    fn rows_are_read_exactly() {
        let record = parse(&INFO, "1,303574,3584,w,0.026214").unwrap();
        assert_eq!(record.time_ns, 26_214_000);
        assert_eq!((record.stream, record.first_sector, record.sectors), (1, 303_574, 7));
        assert_eq!(record.op, RequestOp::Write);
        assert_eq!(parse(&INFO, " 0, 1, 512, R, 1, more").unwrap().op, RequestOp::Read);
    }

    #[test]
    fn sizes_that_are_not_whole_sectors_are_rounded_up() {
        assert_eq!(parse(&INFO, "0,10,513,R,0").unwrap().sectors, 2);
        assert_eq!(parse(&INFO, "0,10,1,R,0").unwrap().sectors, 1);
    }

    #[test]
    fn wrong_rows_are_refused() {
        refused(&INFO, "0,303567,3584,w", "4 columns instead of 5");
        refused(&INFO, "0,-1,3584,w,0.0", "LBA is negative, \"-1\"");
        refused(&INFO, "0,1,0,w,0.0", "bytes is 0");
        refused(&INFO, "0,1,512,x,0.0", "unknown operation, \"x\"");
        refused(&INFO, "0,1,512,w,", "time is empty");
        refused(&INFO, "0,1,18446744073709551616,w,0", "bytes is too large");
        refused(&INFO, "0,1,9999999999999,w,0", "bytes is too large");
    }
}

//! `msr`: the enterprise server traces of Microsoft Research Cambridge, CSV.
//!
//! Source: Narayanan, Donnelly, Rowstron, "Write off-loading: practical power management for
//! enterprise storage", FAST 2008. Times are Windows file times (100 ns since 1601); they and their
//! conversion to nanoseconds are exact up to the year 2185. Each pair of host and disk becomes a
//! stream, numbered in the order of first appearance. The response time is not read.

use std::collections::BTreeMap;

use flashyard_core::request::{Flags, Request, RequestOp, SECTOR_BYTES};

use super::write::{Holds, Streams, Writer, put};
use super::{
    Format, FormatInfo, Parsed, ReaderOptions, Record, RowError, WHOLE_FIX, sectors_of_bytes, whole,
};
use crate::error::quoted;
use crate::number::{NumberError, integer, split_commas};
use crate::trace::Event;

/// The registry entry.
pub(super) const INFO: FormatInfo = FormatInfo {
    name: "msr",
    doc: "Microsoft Research Cambridge server traces (Narayanan et al., FAST 2008)",
    columns: COLUMNS,
    example: "128166385295514663,hm,0,Write,9056014336,2048,2833\n\
              128166385295514878,hm,0,Read,11855351808,512,2617\n",
    recognises,
    events: &[Event::Queue],
    splits: &["host and disk"],
    reader,
    writer: Some(writer),
};

const COLUMN_COUNT: usize = 7;
const COLUMNS: &str =
    "time (100 ns), host, disk, Read or Write, offset in bytes, bytes, response time (100 ns) \
     between commas";

/// Nanoseconds of a tick of Windows file times.
const TICK_NS: u64 = 100;

#[derive(Debug)]
struct Msr {
    /// The stream of every pair, by its text `host,disk`.
    streams: BTreeMap<Box<[u8]>, u16>,
}

fn reader(_: &ReaderOptions<'_>) -> Box<dyn Format> {
    Box::new(Msr { streams: BTreeMap::new() })
}

fn recognises(line: &[u8]) -> bool {
    let (columns, count) = split_commas::<COLUMN_COUNT>(line);
    count == COLUMN_COUNT
        && [0, 2, 4, 5, 6].iter().all(|&column| integer(columns[column]).is_ok())
        && op(columns[3]).is_ok()
}

fn op(text: &[u8]) -> Result<RequestOp, RowError> {
    if text.eq_ignore_ascii_case(b"Write") {
        Ok(RequestOp::Write)
    } else if text.eq_ignore_ascii_case(b"Read") {
        Ok(RequestOp::Read)
    } else {
        Err(RowError::op(text, "Read and Write"))
    }
}

/// The text of the second and third columns, which stand side by side.
fn pair(line: &[u8]) -> &[u8] {
    let mut commas = memchr::memchr_iter(b',', line);
    let first = commas.next().map_or(0, |at| at + 1);
    commas.nth(1).map_or(&[], |end| &line[first..end])
}

impl Msr {
    fn stream(&mut self, pair: &[u8]) -> Result<u16, RowError> {
        if let Some(&stream) = self.streams.get(pair) {
            return Ok(stream);
        }
        let stream = u16::try_from(self.streams.len()).map_err(|_| RowError {
            what: format!("more than 65536 pairs of host and disk, {}", quoted(pair)),
            fix: "split the trace by host".to_owned(),
        })?;
        self.streams.insert(pair.into(), stream);
        Ok(stream)
    }
}

impl Format for Msr {
    fn parse(&mut self, line: &[u8]) -> Result<Parsed, RowError> {
        let (columns, count) = split_commas::<COLUMN_COUNT>(line);
        if count != COLUMN_COUNT {
            return Err(RowError::column_count(count, COLUMN_COUNT, COLUMNS));
        }
        let ticks = whole("time", columns[0])?;
        whole("disk", columns[2])?;
        let offset = whole("offset", columns[4])?;
        let (first_sector, sectors) = sectors_of_bytes(0, offset, columns[5], "bytes")?;
        Ok(Parsed::Request(Record {
            time_ns: ticks.checked_mul(TICK_NS).ok_or_else(|| {
                RowError::number("time", columns[0], NumberError::TooLarge, WHOLE_FIX)
            })?,
            op: op(columns[3])?,
            stream: self.stream(pair(line))?,
            first_sector,
            sectors,
            flags: Flags::NONE,
        }))
    }
}

/// Writes every stream as a disk of one host.
#[derive(Debug)]
struct MsrWriter;

fn writer() -> Box<dyn Writer> {
    Box::new(MsrWriter)
}

impl Writer for MsrWriter {
    fn holds(&self) -> Holds {
        Holds {
            time_unit_ns: TICK_NS,
            streams: Streams::Appearance,
            end_sector: u64::MAX / u64::from(SECTOR_BYTES),
            ..Holds::READS_AND_WRITES
        }
    }

    fn row(&mut self, request: &Request, out: &mut Vec<u8>) {
        let Request { arrival, stream, first_sector, sectors, op, .. } = request;
        let ticks = arrival.as_ns() / TICK_NS;
        let op = if *op == RequestOp::Read { "Read" } else { "Write" };
        let offset = first_sector * u64::from(SECTOR_BYTES);
        let bytes = u64::from(*sectors) * u64::from(SECTOR_BYTES);
        put(out, format_args!("{ticks},host,{stream},{op},{offset},{bytes},0\n"));
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{parse, refused};
    use super::*;

    #[test]
    fn rows_are_read_exactly() {
        let record = parse(&INFO, "128166385295514663,hm,0,Write,9056014336,2048,2833").unwrap();
        assert_eq!(record.time_ns, 12_816_638_529_551_466_300);
        assert_eq!((record.first_sector, record.sectors), (17_687_528, 4));
        assert_eq!(record.op, RequestOp::Write);
        assert_eq!(parse(&INFO, "1,hm,0,read,0,512,1").unwrap().op, RequestOp::Read);
    }

    #[test]
    fn byte_ranges_are_widened_to_whole_sectors() {
        let range = |offset: u64, bytes: u64| {
            let record = parse(&INFO, &format!("1,h,0,Read,{offset},{bytes},1")).unwrap();
            (record.first_sector, record.sectors)
        };
        assert_eq!(range(511, 1), (0, 1));
        assert_eq!(range(511, 2), (0, 2));
        assert_eq!(range(1024, 513), (2, 2));
    }

    #[test]
    fn pairs_of_host_and_disk_are_numbered_in_order_of_appearance() {
        let mut reader = reader(&ReaderOptions::default());
        let mut stream = |host: &str| {
            match reader.parse(format!("1,{host},Read,0,512,1").as_bytes()) {
                Ok(Parsed::Request(record)) => record.stream,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(["web,1", "hm,0", "web,0", "hm,0", "web,1"].map(&mut stream), [0, 1, 2, 1, 0]);
    }

    #[test]
    fn wrong_rows_are_refused() {
        refused(&INFO, "128166385295514663,hm,0,Wri", "4 columns instead of 7");
        refused(&INFO, "1,hm,0,Trim,0,512,1", "unknown operation, \"Trim\"");
        refused(&INFO, "1,hm,0,Read,-512,512,1", "offset is negative, \"-512\"");
        refused(&INFO, "1,hm,x,Read,0,512,1", "disk is not a number, \"x\"");
        refused(&INFO, "1,hm,0,Read,0,0,1", "bytes is 0");
        refused(&INFO, "1,hm,0,Read,18446744073709551615,512,1", "bytes is too large");
        refused(&INFO, "184467440737095517,hm,0,Read,0,512,1", "time is too large");
    }
}

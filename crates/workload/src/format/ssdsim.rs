//! `ssdsim`: the ASCII traces of `SSDsim` and `MQSim`: `time device first_sector sectors op`.
//!
//! Source: the traces bundled with `SSDsim` (Hu et al., ICS 2011) and `MQSim` (Tavakkol et al.,
//! FAST 2018). Times are whole nanoseconds; for files of this shape in another unit set
//! `trace.time_scale` (1000 for microseconds). The device becomes the stream.

use flashyard_core::request::{Flags, Request, RequestOp};

use super::fields::{WHOLE_FIX, sector_count, stream, whole};
use super::write::{Holds, Writer, put};
use super::{Format, FormatInfo, Parsed, ReaderOptions, Record, RowError};
use crate::format::Event;
use crate::number::{integer, split_blanks};

/// The registry entry.
pub(super) const INFO: FormatInfo = FormatInfo {
    name: "ssdsim",
    doc: "SSDsim and MQSim ASCII traces",
    columns: COLUMNS,
    example: "0 0 303567 7 0\n26214000 0 303574 7 0\n26214000 1 55590 6 1\n",
    recognises,
    events: &[Event::Queue],
    splits: &["device"],
    tick_ns: 0,
    reader,
    writer: Some(writer),
};

const COLUMN_COUNT: usize = 5;
const COLUMNS: &str = "time ns, device, first sector, sectors, operation between blanks";

const DECIMAL_FIX: &str = "times are whole nanoseconds; for decimal milliseconds set \
                           trace.format = \"disksim\"";

#[derive(Debug)]
struct Ssdsim;

fn reader(_: &ReaderOptions<'_>) -> Box<dyn Format> {
    Box::new(Ssdsim)
}

fn recognises(line: &[u8]) -> bool {
    let (columns, count) = split_blanks::<COLUMN_COUNT>(line);
    count == COLUMN_COUNT
        && columns[..4].iter().all(|column| integer(column).is_ok())
        && matches!(columns[4], b"0" | b"1")
}

/// The time; the message of a decimal one names the format that has them.
fn time_ns(text: &[u8]) -> Result<u64, RowError> {
    let fix = if text.contains(&b'.') { DECIMAL_FIX } else { WHOLE_FIX };
    whole("time", text).map_err(|error| RowError { fix: fix.to_owned(), ..error })
}

impl Format for Ssdsim {
    fn parse(&mut self, line: &[u8]) -> Result<Parsed, RowError> {
        let (columns, count) = split_blanks::<COLUMN_COUNT>(line);
        if count != COLUMN_COUNT {
            return Err(RowError::column_count(count, COLUMN_COUNT, COLUMNS));
        }
        Ok(Parsed::Request(Record {
            time_ns: time_ns(columns[0])?,
            stream: stream("device", columns[1])?,
            first_sector: whole("first sector", columns[2])?,
            sectors: sector_count("sectors", columns[3])?,
            op: match columns[4] {
                b"0" => RequestOp::Write,
                b"1" => RequestOp::Read,
                other => return Err(RowError::op(other, "0 (write) and 1 (read)")),
            },
            flags: Flags::NONE,
            placement: None,
        }))
    }
}

fn writer() -> Box<dyn Writer> {
    Box::new(Ssdsim)
}

impl Writer for Ssdsim {
    fn holds(&self) -> Holds {
        Holds::READS_AND_WRITES
    }

    fn row(&mut self, request: &Request, out: &mut Vec<u8>) {
        let Request { arrival, stream, first_sector, sectors, op, .. } = request;
        let op = u8::from(*op == RequestOp::Read);
        put(out, format_args!("{} {stream} {first_sector} {sectors} {op}\n", arrival.as_ns()));
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{parse, refused};
    use super::*;

    #[test]
    fn rows_are_read_exactly() {
        let record = parse(&INFO, "938513000 4 264719034 16 0").unwrap();
        assert_eq!(record.time_ns, 938_513_000);
        assert_eq!((record.stream, record.first_sector, record.sectors), (4, 264_719_034, 16));
        assert_eq!(record.op, RequestOp::Write);
        assert_eq!(parse(&INFO, "1 0 0 1 1").unwrap().op, RequestOp::Read);
    }

    #[test]
    fn wrong_rows_are_refused() {
        refused(&INFO, "938513000 4 264719034", "3 columns instead of 5");
        refused(&INFO, "1 2 3 4 0 6", "6 columns instead of 5");
        refused(&INFO, "1 0 -3 4 0", "first sector is negative, \"-3\"");
        refused(&INFO, "1 0 3 0 0", "sectors is 0");
        refused(&INFO, "1 0 3 4 2", "unknown operation, \"2\"");
        refused(&INFO, "1 65536 3 4 0", "device is too large, \"65536\"");
        refused(&INFO, "99999999999999999999 0 3 4 0", "time is too large");
        refused(&INFO, "1.5 0 3 4 0", "time is not a number, \"1.5\"");
    }
}

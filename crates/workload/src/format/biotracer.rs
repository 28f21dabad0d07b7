//! `biotracer`: the block-level traces of smartphone applications on a Nexus 5.
//!
//! Source: Zhou, Pan, Wang, Xie, "I/O characteristics of smartphone applications and their
//! implications for eMMC design", IISWC 2015; the files of the repository
//! CASL-SDSU/SmartphoneIOTraces. Rows stand in dispatch order, so by the generate time they step
//! back now and then: set `trace.time_order`. Bit 2 of the flags (arrived at an empty queue) is
//! not used. The events: `queue` is the generate time, `dequeue` the dequeue time, `issue` the
//! submit time, `complete` the finish time. A size of `8 n + 1` sectors carries the header sector
//! of a packed write; the size is taken as recorded. The size in bytes repeats the size in sectors
//! and is not read.
//! One row of the published files (in `log250_RadioWebBrowse`) is a read of no sectors: it is taken
//! as one sector, so that a device reads the page that it points at. Other formats refuse such
//! rows.

use flashyard_core::request::{Flags, Request, RequestOp, SECTOR_BYTES};

use super::fields::{empty_request, seconds, sector_count_or_none, whole};
use super::write::{Holds, Seconds, Streams, Writer, put};
use super::{Format, FormatInfo, Parsed, ReaderOptions, Record, RowError};
use crate::format::Event;
use crate::number::{decimal, integer, split_blanks};

/// The registry entry.
pub(super) const INFO: FormatInfo = FormatInfo {
    name: "biotracer",
    doc: "Nexus 5 smartphone traces (Zhou et al., IISWC 2015)",
    columns: COLUMNS,
    example: "8681184\t\t88\t\t45056\t\t0\t\t1398403999.646690157\t\t1398403999.652921876\
              \t\t1398403999.653009063\t\t1398403999.653717136\n",
    recognises,
    events: Event::ALL,
    splits: &[],
    tick_ns: 0,
    reader,
    writer: Some(writer),
};

const COLUMN_COUNT: usize = 8;
const COLUMNS: &str =
    "first sector, sectors, bytes, flags, generate s, dequeue s, submit s, finish s between tabs";

#[derive(Debug)]
struct Biotracer {
    event: Event,
}

fn reader(options: &ReaderOptions<'_>) -> Box<dyn Format> {
    Box::new(Biotracer { event: options.event })
}

fn recognises(line: &[u8]) -> bool {
    let (columns, count) = split_blanks::<COLUMN_COUNT>(line);
    count == COLUMN_COUNT
        && columns[..4].iter().all(|column| integer(column).is_ok())
        && columns[4..].iter().all(|column| decimal(column, 9).is_ok())
}

impl Format for Biotracer {
    fn parse(&mut self, line: &[u8]) -> Result<Parsed, RowError> {
        let (columns, count) = split_blanks::<COLUMN_COUNT>(line);
        if count != COLUMN_COUNT {
            return Err(RowError::column_count(count, COLUMN_COUNT, COLUMNS));
        }
        let (time, name) = match self.event {
            Event::Queue => (columns[4], "generate time"),
            Event::Dequeue => (columns[5], "dequeue time"),
            Event::Issue => (columns[6], "submit time"),
            Event::Complete => (columns[7], "finish time"),
        };
        let write = whole("flags", columns[3])? & 1 == 1;
        let sectors = match sector_count_or_none("sectors", columns[1])? {
            0 if write => return Err(empty_request("sectors")),
            sectors => sectors.max(1),
        };
        Ok(Parsed::Request(Record {
            time_ns: seconds(name, time)?,
            first_sector: whole("first sector", columns[0])?,
            sectors,
            stream: 0,
            op: if write { RequestOp::Write } else { RequestOp::Read },
            flags: Flags::NONE,
            placement: None,
        }))
    }
}

/// Writes the arrival as the time of every event.
#[derive(Debug)]
struct BiotracerWriter;

fn writer() -> Box<dyn Writer> {
    Box::new(BiotracerWriter)
}

impl Writer for BiotracerWriter {
    fn holds(&self) -> Holds {
        Holds { streams: Streams::None, ..Holds::READS_AND_WRITES }
    }

    fn row(&mut self, request: &Request, out: &mut Vec<u8>) {
        let Request { arrival, first_sector, sectors, op, .. } = request;
        let bytes = u64::from(*sectors) * u64::from(SECTOR_BYTES);
        let write = u8::from(*op == RequestOp::Write);
        let time = Seconds(*arrival);
        put(out, format_args!("{first_sector}\t\t{sectors}\t\t{bytes}\t\t{write}"));
        put(out, format_args!("\t\t{time}\t\t{time}\t\t{time}\t\t{time}\n"));
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{parse, refused};
    use super::*;

    const ROW: &str = "8681184\t\t88\t\t45056\t\t5\t\t1398403999.646690157\t\t1.5\t2.5\t3.5";

    #[test]
    fn rows_are_read_exactly() {
        let record = parse(&INFO, ROW).unwrap();
        assert_eq!(record.time_ns, 1_398_403_999_646_690_157);
        assert_eq!((record.first_sector, record.sectors), (8_681_184, 88));
        assert_eq!(record.op, RequestOp::Write);
        assert_eq!(parse(&INFO, &ROW.replace("\t5\t", "\t4\t")).unwrap().op, RequestOp::Read);
    }

    #[test]
    fn the_event_is_selectable() {
        let time = |event| match reader(&ReaderOptions { event, ..ReaderOptions::default() })
            .parse(ROW.as_bytes())
        {
            Ok(Parsed::Request(record)) => record.time_ns,
            other => panic!("{other:?}"),
        };
        assert_eq!(time(Event::Dequeue), 1_500_000_000);
        assert_eq!(time(Event::Issue), 2_500_000_000);
        assert_eq!(time(Event::Complete), 3_500_000_000);
    }

    #[test]
    fn a_read_of_no_sectors_is_one_of_one_sector() {
        assert_eq!(parse(&INFO, "8\t0\t0\t0\t1\t1\t1\t1").unwrap().sectors, 1);
        refused(&INFO, "8\t0\t0\t1\t1\t1\t1\t1", "sectors is 0");
    }

    #[test]
    fn wrong_rows_are_refused() {
        refused(&INFO, "8\t8\t4096\t1\t1.5", "5 columns instead of 8");
        refused(&INFO, &format!("{ROW}\t9"), "9 columns instead of 8");
        refused(&INFO, "-8\t8\t4096\t1\t1\t1\t1\t1", "first sector is negative, \"-8\"");
        refused(&INFO, "8\t8\t4096\tw\t1\t1\t1\t1", "flags is not a number, \"w\"");
        refused(&INFO, "8\t4294967296\t0\t1\t1\t1\t1\t1", "sectors is too large");
        refused(&INFO, "8\t8\t4096\t1\t-1.5\t1\t1\t1", "generate time is negative, \"-1.5\"");
        refused(&INFO, "8\t8\t4096\t1\t1.\t1\t1\t1", "generate time is not a number, \"1.\"");
    }
}

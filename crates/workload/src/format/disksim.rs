//! `disksim`: the ASCII traces of `DiskSim`: `time device first_block blocks flags`.
//!
//! Source: Bucy, Schindler, Schlosser, Ganger, "The `DiskSim` simulation environment version 4.0
//! reference manual", Carnegie Mellon University, CMU-PDL-08-101, 2008; traces in this form came
//! with the SSD extension (Agrawal et al., USENIX ATC 2008). Times are decimal milliseconds, blocks
//! have 512 B, the flags are hexadecimal and only bit 0 (1 read, 0 write) is used. The device
//! becomes the stream.
//!
//! `ssdsim` has the same columns with whole nanoseconds: the decimal point of the time tells them
//! apart. Rows whose address and length are both whole multiples of 512 look like bytes, which
//! other tools write in the same columns: they do not make a file a `disksim` one.

use flashyard_core::request::{Flags, Request, RequestOp, SECTOR_BYTES};

use super::fields::{sector_count, stream, whole};
use super::write::{Holds, Writer, put};
use super::{Format, FormatInfo, Parsed, ReaderOptions, Record, RowError};
use crate::error::quoted;
use crate::format::Event;
use crate::number::{decimal, integer, split_blanks};

/// The registry entry.
pub(super) const INFO: FormatInfo = FormatInfo {
    name: "disksim",
    doc: "DiskSim ASCII traces",
    columns: COLUMNS,
    example: "7961.833 0 20228336 8 0\n8346.206 0 6397360 496 0\n8350.818 0 6438824 8 1\n",
    recognises,
    events: &[Event::Queue],
    splits: &["device"],
    tick_ns: 0,
    reader,
    writer: Some(writer),
};

const COLUMN_COUNT: usize = 5;
const COLUMNS: &str = "time ms, device, first sector, sectors, flags between blanks";

/// Digits between a millisecond and a nanosecond.
const MS_DIGITS: u32 = 6;

#[derive(Debug)]
struct Disksim;

fn reader(_: &ReaderOptions<'_>) -> Box<dyn Format> {
    Box::new(Disksim)
}

fn recognises(line: &[u8]) -> bool {
    let (columns, count) = split_blanks::<COLUMN_COUNT>(line);
    let number = |column: usize| integer(columns[column]);
    let bytes = |number: u64| number.is_multiple_of(u64::from(SECTOR_BYTES));
    count == COLUMN_COUNT
        && columns[0].contains(&b'.')
        && decimal(columns[0], MS_DIGITS).is_ok()
        && number(1).is_ok()
        && matches!((number(2), number(3)), (Ok(first), Ok(length))
            if !(bytes(first) && bytes(length)))
        && is_read(columns[4]).is_ok()
}

/// Bit 0 of the flags, which are hexadecimal.
fn is_read(flags: &[u8]) -> Result<bool, RowError> {
    let digits = flags.strip_prefix(b"0x").unwrap_or(flags);
    let value = digits.last().and_then(|&last| char::from(last).to_digit(16));
    match value {
        Some(value) if digits.len() <= 8 && digits.iter().all(u8::is_ascii_hexdigit) => {
            Ok(value & 1 == 1)
        }
        _ => Err(RowError {
            what: format!("flags is not a number, {}", quoted(flags)),
            fix: "they are hexadecimal, at most 8 digits; bit 0 is 1 for a read".to_owned(),
        }),
    }
}

impl Format for Disksim {
    fn parse(&mut self, line: &[u8]) -> Result<Parsed, RowError> {
        let (columns, count) = split_blanks::<COLUMN_COUNT>(line);
        if count != COLUMN_COUNT {
            return Err(RowError::column_count(count, COLUMN_COUNT, COLUMNS));
        }
        let time_ns = decimal(columns[0], MS_DIGITS).map_err(|error| {
            let fix = "times are decimal milliseconds from 0 to 18446744073709.551615";
            RowError::number("time", columns[0], error, fix)
        })?;
        Ok(Parsed::Request(Record {
            time_ns,
            stream: stream("device", columns[1])?,
            first_sector: whole("first sector", columns[2])?,
            sectors: sector_count("sectors", columns[3])?,
            op: if is_read(columns[4])? { RequestOp::Read } else { RequestOp::Write },
            flags: Flags::NONE,
            placement: None,
        }))
    }
}

fn writer() -> Box<dyn Writer> {
    Box::new(Disksim)
}

impl Writer for Disksim {
    fn holds(&self) -> Holds {
        Holds::READS_AND_WRITES
    }

    fn row(&mut self, request: &Request, out: &mut Vec<u8>) {
        let Request { arrival, stream, first_sector, sectors, op, .. } = request;
        let (ms, ns) = (arrival.as_ns() / 1_000_000, arrival.as_ns() % 1_000_000);
        let flags = u8::from(*op == RequestOp::Read);
        put(out, format_args!("{ms}.{ns:06} {stream} {first_sector} {sectors} {flags}\n"));
    }
}

// The SSD extension's Postmark trace, read with this format and with
//   awk '{ n[$5 % 2]++; b[$5 % 2] += $4 * 512 } END { print n[1], b[1], n[0], b[0] }' FILE
// gives the same numbers of reads and writes and of bytes of each.
#[cfg(test)]
mod tests {
    use super::super::tests::{parse, refused};
    use super::*;

    #[test]
    fn rows_are_read_exactly() {
        let record = parse(&INFO, "7961.8330019 3 20228336 8 0").unwrap();
        assert_eq!(record.time_ns, 7_961_833_001);
        assert_eq!((record.stream, record.first_sector, record.sectors), (3, 20_228_336, 8));
        assert_eq!((record.op, record.flags), (RequestOp::Write, Flags::NONE));
        assert_eq!(parse(&INFO, "12 0 0 1 1").unwrap().time_ns, 12_000_000);
    }

    #[test]
    fn flags_are_hexadecimal_and_bit_0_is_the_operation() {
        for flags in 0..=0x3f_u32 {
            let wanted = if flags & 1 == 1 { RequestOp::Read } else { RequestOp::Write };
            for text in [format!("{flags:x}"), format!("{flags:X}"), format!("{flags:#x}")] {
                assert_eq!(
                    parse(&INFO, &format!("0.5 0 8 8 {text}")).unwrap().op,
                    wanted,
                    "{text}"
                );
            }
        }
    }

    #[test]
    fn the_decimal_point_tells_it_from_ssdsim() {
        let detect = |rows: &[&[u8]]| FormatInfo::detect(rows).map(|format| format.name);
        assert_eq!(detect(&[b"1.5 0 3 4 1"]), Some("disksim"));
        assert_eq!(detect(&[b"1 0 3 4 1"]), Some("ssdsim"));
        assert_eq!(detect(&[b"0.0 0 3 4 0", b"1 0 3 4 1", b"1.5 0 3 4 1"]), Some("disksim"));
        assert_eq!(detect(&[b"0.5 0 8192 4096 1"]), Some("heimdall"), "these may be bytes");
        assert_eq!(detect(&[b"0.5 0 8192 4095 1"]), Some("disksim"));
    }

    #[test]
    fn wrong_rows_are_refused() {
        refused(&INFO, "7961.833 0 20228336", "3 columns instead of 5");
        refused(&INFO, "1.5 2 3 4 0 6", "6 columns instead of 5");
        refused(&INFO, "1. 0 3 4 0", "time is not a number, \"1.\"");
        refused(&INFO, "-1.5 0 3 4 0", "time is negative, \"-1.5\"");
        refused(&INFO, "18446744073709.6 0 3 4 0", "time is too large");
        refused(&INFO, "1.5 0 -3 4 0", "first sector is negative, \"-3\"");
        refused(&INFO, "1.5 0 3 0 0", "sectors is 0");
        refused(&INFO, "1.5 65536 3 4 0", "device is too large, \"65536\"");
        refused(&INFO, "1.5 0 3 4 R", "flags is not a number, \"R\"");
        refused(&INFO, "1.5 0 3 4 0x", "flags is not a number, \"0x\"");
        refused(&INFO, "1.5 0 3 4 000000001", "flags is not a number");
    }
}

//! Writing rows by a descriptor.
//!
//! A column of a time is written in whole units, or to the nanosecond where its values have a
//! point; response times are 0. The first column of streams holds the number of the stream, one of
//! placements the identifier or, without one, the stream that stands for it; further columns of
//! streams and numbers hold 0, texts and what is not looked at a dash.

use std::borrow::Cow;

use flashyard_core::request::{Flags, Request, RequestOp, SECTOR_BYTES};

use super::super::write::{Holds, Streams, Writer, put};
use super::layout::{Delimiter, Header, Kind, Layout, TimeUnit};
use super::op::OpCodes;

/// A writer of rows.
#[derive(Debug)]
pub(super) struct Rows {
    layout: Cow<'static, Layout>,
    /// The column that holds the number of the stream.
    stream: Option<usize>,
}

impl Rows {
    pub(super) fn new(layout: Cow<'static, Layout>) -> Self {
        let stream = layout.of_kinds(&[Kind::Stream, Kind::Id]).next().map(|(column, _)| column);
        Self { layout, stream }
    }

    fn codes(&self) -> &OpCodes {
        let columns = self.layout.columns.iter();
        let mut codes = columns.filter_map(|column| match &column.kind {
            Kind::Op(codes) => Some(codes),
            _ => None,
        });
        codes.next().expect("a layout has operations")
    }

    /// The units of addresses in a sector.
    fn units_per_sector(&self) -> u64 {
        let columns = self.layout.columns.iter();
        let mut units = columns.filter_map(|column| match column.kind {
            Kind::Offset(unit) => Some(per_sector(unit)),
            _ => None,
        });
        units.next().expect("a layout has addresses")
    }
}

impl Writer for Rows {
    fn holds(&self) -> Holds {
        let units = self.layout.columns.iter().filter_map(|column| match column.kind {
            Kind::Time(_, unit) => Some(unit.written_ns()),
            _ => None,
        });
        let streams = match self.layout.of_kinds(&[Kind::Stream, Kind::Id]).count() {
            0 => Streams::None,
            1 if self.layout.of_kinds(&[Kind::Id]).count() == 1 => Streams::Numbers,
            _ => Streams::Appearance,
        };
        Holds {
            time_unit_ns: units.max().expect("a layout has a time"),
            ops: self.codes().written(),
            flags: Flags::NONE,
            streams,
            flush_ranges: true,
            placement: self.layout.of_kinds(&[Kind::Placement]).next().is_some(),
            names: false,
            end_sector: (u64::MAX - self.layout.base) / self.units_per_sector(),
        }
    }

    fn start(&self, _: &super::super::write::Outline, out: &mut Vec<u8>) {
        match &self.layout.header {
            Header::None => {}
            Header::Text(text) => {
                out.extend_from_slice(text);
                out.push(b'\n');
            }
            Header::Lines(lines) => {
                for _ in 0..*lines {
                    put(out, format_args!("{}\n", self.layout.described));
                }
            }
        }
    }

    fn row(&mut self, request: &Request, out: &mut Vec<u8>) {
        let between = match self.layout.delimiter {
            Delimiter::Blank => b' ',
            Delimiter::Byte(byte) => byte,
        };
        for (number, column) in self.layout.columns.iter().enumerate() {
            if number > 0 {
                out.push(between);
            }
            match &column.kind {
                Kind::Time(_, unit) => unit.write(request.arrival.as_ns(), out),
                Kind::Op(codes) => codes.write(request.op, out),
                Kind::Offset(unit) => {
                    let value = request.first_sector * per_sector(*unit) + self.layout.base;
                    put(out, format_args!("{value}"));
                }
                Kind::Size(unit) => {
                    let value = u64::from(request.sectors) * per_sector(*unit);
                    put(out, format_args!("{value}"));
                }
                Kind::Stream | Kind::Id if self.stream == Some(number) => {
                    put(out, format_args!("{}", request.stream));
                }
                Kind::Placement => put(out, format_args!("{}", request.place())),
                Kind::Response(_) | Kind::Stream | Kind::Id | Kind::Number => out.push(b'0'),
                Kind::Text | Kind::Ignored => out.push(b'-'),
            }
        }
        out.push(b'\n');
    }
}

/// The units of so many bytes in a sector, of which they are a part.
fn per_sector(unit_bytes: u64) -> u64 {
    let sector = u64::from(SECTOR_BYTES);
    assert!(sector.is_multiple_of(unit_bytes), "rows in larger units are not written");
    sector / unit_bytes
}

impl TimeUnit {
    /// What times are rounded to when they are written, in nanoseconds.
    fn written_ns(self) -> u64 {
        if self.pointed { 1 } else { 10_u64.pow(self.digits) }
    }

    fn write(self, ns: u64, out: &mut Vec<u8>) {
        let unit_ns = 10_u64.pow(self.digits);
        put(out, format_args!("{}", ns / unit_ns));
        if self.pointed {
            let digits = self.digits as usize;
            put(out, format_args!(".{:0digits$}", ns % unit_ns));
        }
    }
}

/// All sets of operations: bit n of the place stands for number n of [`RequestOp::ALL`].
const SETS: [&[RequestOp]; 16] = {
    use RequestOp::{Flush as F, Read as R, Trim as T, Write as W};
    [
        &[],
        &[R],
        &[W],
        &[R, W],
        &[T],
        &[R, T],
        &[W, T],
        &[R, W, T],
        &[F],
        &[R, F],
        &[W, F],
        &[R, W, F],
        &[T, F],
        &[R, T, F],
        &[W, T, F],
        &[R, W, T, F],
    ]
};

impl OpCodes {
    /// The operations that can be written.
    fn written(&self) -> &'static [RequestOp] {
        let has = |op: RequestOp| match self {
            Self::Kernel => true,
            Self::Bit { .. } => matches!(op, RequestOp::Read | RequestOp::Write),
            Self::Words(words) => words.iter().any(|(_, known)| *known == op),
        };
        let bits = RequestOp::ALL.iter().rev().fold(0, |bits, &op| 2 * bits + usize::from(has(op)));
        SETS[bits]
    }

    fn write(&self, op: RequestOp, out: &mut Vec<u8>) {
        match self {
            Self::Words(words) => {
                let word = words.iter().find(|(_, known)| *known == op);
                out.extend_from_slice(&word.expect("the operation has a word").0);
            }
            Self::Bit { bit, set } => {
                let value = if op == *set { 1_u64 << bit } else { 0 };
                put(out, format_args!("{value}"));
            }
            Self::Kernel => out.push(match op {
                RequestOp::Read => b'R',
                RequestOp::Write => b'W',
                RequestOp::Trim => b'D',
                RequestOp::Flush => b'F',
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_that_has_a_word_can_be_written() {
        for mask in 1..16_usize {
            let has = |number: usize| mask >> number & 1 == 1;
            let words: Vec<&str> = ["r", "w", "t", "f"]
                .iter()
                .enumerate()
                .map(|(n, w)| if has(n) { w } else { "" })
                .collect();
            let codes = OpCodes::parse(&words.join("/")).unwrap();
            let numbers = RequestOp::ALL.iter().enumerate();
            let wanted: Vec<RequestOp> =
                numbers.filter(|(number, _)| has(*number)).map(|(_, op)| *op).collect();
            assert_eq!(codes.written(), wanted);
        }
        assert_eq!(OpCodes::Kernel.written(), RequestOp::ALL);
        assert_eq!(OpCodes::parse("bit0=read").unwrap().written(), &RequestOp::ALL[..2]);
    }
}

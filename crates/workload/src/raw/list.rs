//! Operations that a file lists, a row each: `arrival_us,op,die,block,page`.
//!
//! The operation is `read`, `program` or `erase`, or its first letter. Dies are numbered as on the
//! device, channel first: die d is on channel d modulo the channels. Blocks are counted inside the
//! die and pages inside the block; an erase has no page, or page 0. Times are microseconds with up
//! to three decimals and do not decrease. A first row that begins with `arrival_us` and rows that
//! begin with `#` are passed over. Files may be compressed, as traces.

use super::place::{Place, request};
use crate::error::{WorkloadError, quoted};
use crate::input::{BytesRead, Input};
use crate::lines::Lines;
use crate::number::{decimal, integer, split_commas};
use crate::{Extent, SourceStats};
use flashyard_core::geometry::Geometry;
use flashyard_core::request::{Request, RequestOp};
use flashyard_core::units::Time;
use std::fmt;

const COLUMNS: &str = "arrival_us,op,die,block,page";

/// A file of operations.
pub struct List {
    geometry: Geometry,
    lines: Lines,
    bytes: BytesRead,
    last_ns: u64,
    stats: SourceStats,
}

impl fmt::Debug for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("List").field("stats", &self.stats).finish_non_exhaustive()
    }
}

impl List {
    /// The operations that an input lists, for a device of this shape.
    pub fn new(mut input: Input, geometry: &Geometry) -> Result<Self, WorkloadError> {
        let source = input.open()?;
        let mut lines = Lines::new(input.name(), source);
        lines.skip_mark()?;
        let stats = SourceStats { clock_epochs: 1, ..SourceStats::default() };
        let bytes = input.bytes_read();
        Ok(Self { geometry: *geometry, lines, bytes, last_ns: 0, stats })
    }

    pub(super) fn extent(&self) -> Option<Extent> {
        self.bytes.extent()
    }

    pub(super) const fn stats(&self) -> SourceStats {
        self.stats
    }

    pub(super) fn next_operation(&mut self) -> Result<Option<Request>, WorkloadError> {
        loop {
            let Some(line) = self.lines.next_filled()? else { return Ok(None) };
            let line = line.trim_ascii();
            if line.starts_with(b"#") || (self.stats.requests == 0 && line.starts_with(b"arrival"))
            {
                self.stats.other_rows += 1;
                continue;
            }
            let found = parse(line, &self.geometry, self.last_ns);
            return match found {
                Ok(request) => {
                    self.stats.requests += 1;
                    self.last_ns = request.arrival.as_ns();
                    Ok(Some(request))
                }
                Err(what) => Err(WorkloadError::Row {
                    file: self.lines.name().to_owned(),
                    line: self.lines.line(),
                    what,
                    fix: format!("rows are {COLUMNS}"),
                }),
            };
        }
    }
}

fn parse(line: &[u8], geometry: &Geometry, last_ns: u64) -> Result<Request, String> {
    let (columns, count) = split_commas::<5>(line);
    let op = match columns[1].trim_ascii() {
        b"read" | b"r" => RequestOp::Read,
        b"program" | b"p" => RequestOp::Write,
        b"erase" | b"e" => RequestOp::Trim,
        other => return Err(format!("unknown operation, {}", quoted(other))),
    };
    let erases = op == RequestOp::Trim;
    if count != 5 && !(erases && count == 4) {
        return Err(format!("{count} columns instead of 5"));
    }
    let time = columns[0].trim_ascii();
    let ns = decimal(time, 3)
        .map_err(|error| format!("arrival {}, {}", error.reason(), quoted(time)))?;
    if ns < last_ns {
        return Err(format!("arrival is earlier than the one before, {}", quoted(time)));
    }
    let number = |name: &str, text: &[u8], bound: u32| {
        let text = text.trim_ascii();
        let value = integer(text)
            .map_err(|error| format!("{name} {}, {}", error.reason(), quoted(text)))?;
        let value = u32::try_from(value).ok().filter(|value| *value < bound);
        value.ok_or_else(|| format!("{name} is not below {bound}, {}", quoted(text)))
    };
    let die = number("die", columns[2], geometry.dies())?;
    let block = number("block", columns[3], geometry.planes * geometry.blocks_per_plane)?;
    let page = if erases && (count == 4 || columns[4].trim_ascii().is_empty()) {
        0
    } else {
        number("page", columns[4], if erases { 1 } else { geometry.pages_per_block })?
    };
    Ok(request(geometry, op, Place { die, block, page }, Time::from_ns(ns)))
}

//! `blktrace`: the binary records of blktrace, version 7, in either byte order.
//!
//! Source: `struct blk_io_trace` and `enum blktrace_act` of `include/uapi/linux/blktrace_api.h`,
//! `kernel/trace/blktrace.c`, and `blkparse_fmt.c` of blktrace for the letters. A record has 48
//! bytes in the byte order of the machine that was traced:
//!
//! | offset | bytes | contents |
//! |---|---|---|
//! | 0 | 4 | 0x65617400 + the version |
//! | 4 | 4 | sequence number, of a CPU |
//! | 8 | 8 | time, ns |
//! | 16 | 8 | first sector (512 B) |
//! | 24 | 4 | bytes |
//! | 28 | 4 | action: what happened in the lower half, the category in the upper half |
//! | 32 | 4 | process number |
//! | 36 | 4 | device: minor in the lower 20 bits, major above |
//! | 40 | 4 | CPU |
//! | 44 | 2 | error |
//! | 46 | 2 | bytes that follow the record, which are passed over |
//!
//! What is a request, and what its letters are, is as in the text that blkparse makes of the same
//! file (`blkparse.rs`): the actions queue, issue and complete are the events, and records of
//! commands passed through, messages and all other actions are passed over. The category has no bit
//! for write zeroes, which are writes here as they are in that text. Lengths are rounded up to
//! whole sectors.
//!
//! blktrace writes a file for each CPU. Each holds the requests of its CPU only, so a file whose
//! siblings lie beside it is refused: `blkparse -d` merges them.
//!
//! Version 8 (`struct blk_io_trace2` of newer kernels) has other records and is refused.

mod frames;
mod record;
mod siblings;

use std::io::Write as _;

use flashyard_core::request::{Flags, RequestOp, SECTOR_BYTES};

pub(crate) use self::frames::Frames;
use self::record::{DAMAGE_FIX, MAGIC, Order, RECORD_BYTES, VERSION, VERSIONS};
pub(crate) use self::siblings::check_siblings;
use super::kernel::{Asked, EVENTS, Origin, Reader, Requests, Rows, Rwbs, Step};
use super::{Event, Format, FormatInfo, Parsed, ReaderOptions, RowError};
use crate::error::WorkloadError;
use crate::lines::Lines;

/// The registry entry.
pub const INFO: FormatInfo = FormatInfo {
    name: "blktrace",
    doc: "binary records of blktrace, of one CPU or merged by blkparse -d",
    columns: "48 bytes: magic, sequence, time ns, sector, bytes, action, process number, device, \
              CPU, error, bytes that follow",
    // A note that process 9 is `dd`; its write of 8 sectors from 2048 on, queued at 256 ns and
    // issued at 512 ns; a read of 8 sectors from 64 on, queued at 1024 ns. Device 259,0, CPU 0.
    example: "\x07tae\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x04\x09\0\0\0\0\0\0\0\
              \0\0\0\0\0\0\x10\0dd\0\0\0\0\0\0\0\0\0\0\0\0\0\0\
              \x07tae\x02\0\0\0\0\x01\0\0\0\0\0\0\0\x08\0\0\0\0\0\0\0\x10\0\0\x01\0\x1a\x01\
              \x09\0\0\0\0\x000\x10\0\0\0\0\0\0\0\0\
              \x07tae\x03\0\0\0\0\x02\0\0\0\0\0\0\0\x08\0\0\0\0\0\0\0\x10\0\0\x07\0\x4a\x01\
              \x09\0\0\0\0\x000\x10\0\0\0\0\0\0\0\0\
              \x07tae\x04\0\0\0\0\x04\0\0\0\0\0\0\x40\0\0\0\0\0\0\0\0\x10\0\0\x01\0\x11\x01\
              \x09\0\0\0\0\x000\x10\0\0\0\0\0\0\0\0",
    recognises: |_| false,
    events: &EVENTS,
    splits: &["device", "cpu", "pid"],
    tick_ns: 0,
    reader,
    writer: None,
};

/// The highest action that is known, `__BLK_TA_ZONE_UNPLUG`.
const LAST_ACTION: u32 = 19;

/// What the lower half of an action says; `None` where there is no such action.
const fn step(what: u32) -> Option<Step> {
    Some(match what {
        1 => Step::Of(Event::Queue),
        6 => Step::GivenBack,
        7 => Step::Of(Event::Issue),
        8 => Step::Of(Event::Complete),
        2..=5 | 9..=LAST_ACTION => Step::Other,
        _ => return None,
    })
}

/// The bit of the lower half that says that a control group follows the record.
const CGROUP: u32 = 1 << 8;

/// Bits of the category.
mod category {
    pub(super) const WRITE: u32 = 1 << 1;
    pub(super) const FLUSH: u32 = 1 << 2;
    pub(super) const PASSED_THROUGH: u32 = 1 << 9;
    pub(super) const NOTIFY: u32 = 1 << 10;
    pub(super) const DISCARD: u32 = 1 << 13;
    pub(super) const FUA: u32 = 1 << 15;
}

/// Whether the unread bytes start with a record of any version. Waits for no more than it takes to
/// know.
pub(crate) fn is_next(lines: &mut Lines) -> Result<bool, WorkloadError> {
    for version in VERSIONS {
        let magic = MAGIC | u32::from(version);
        if lines.starts_with(&magic.to_le_bytes())? || lines.starts_with(&magic.to_be_bytes())? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What the category says that the letters of blkparse would say.
fn letters(category: u32, bytes: u32) -> Rwbs {
    let has = |bit: u32| category & bit != 0;
    let (op, preflush) = match () {
        () if has(category::DISCARD) => (Some(RequestOp::Trim), has(category::FLUSH)),
        () if has(category::WRITE) => (Some(RequestOp::Write), has(category::FLUSH)),
        () if bytes > 0 => (Some(RequestOp::Read), has(category::FLUSH)),
        () if has(category::FLUSH) => (Some(RequestOp::Flush), false),
        () => (None, false),
    };
    let mut flags = if preflush { Flags::PREFLUSH } else { Flags::NONE };
    if has(category::FUA) && op == Some(RequestOp::Write) {
        flags = flags.with(Flags::FUA);
    }
    Rwbs { op, flags }
}

/// What a record of a request asks for; `None` where it is no request.
fn asked(order: Order, record: &[u8], category: u32) -> Option<Asked> {
    let bytes = order.u32_at(record, 24);
    let letters = letters(category, bytes);
    let sectors = bytes.div_ceil(SECTOR_BYTES);
    match letters.on_sectors() {
        Some(op) if sectors > 0 => {
            let (flags, first_sector) = (letters.flags, order.u64_at(record, 16));
            Some(Asked { op, flags, first_sector, sectors })
        }
        _ => letters.is_flush().then_some(Asked::FLUSH),
    }
}

/// The device of a record.
fn device(order: Order, record: &[u8]) -> u64 {
    u64::from(order.u32_at(record, 36))
}

#[derive(Debug, Default)]
struct Blktrace {
    /// Room for device, CPU and process number as text.
    text: [Vec<u8>; 3],
}

fn reader(options: &ReaderOptions<'_>) -> Box<dyn Format> {
    Box::new(Reader::new(Blktrace::default(), options))
}

/// Writes a number over a text.
fn put(text: &mut Vec<u8>, number: std::fmt::Arguments<'_>) {
    text.clear();
    text.write_fmt(number).expect("memory takes any bytes");
}

impl Blktrace {
    /// Who made the request of a record.
    fn origin(&mut self, order: Order, record: &[u8]) -> Origin<'_> {
        let device = device(order, record);
        let [device_text, cpu, pid] = &mut self.text;
        put(device_text, format_args!("{},{}", device >> 20, device & 0xf_ffff));
        put(cpu, format_args!("{}", order.u32_at(record, 40)));
        put(pid, format_args!("{}", order.u32_at(record, 32)));
        Origin { device: device_text, cpu, pid, process: b"" }
    }
}

impl Rows for Blktrace {
    fn read(&mut self, record: &[u8], requests: &mut Requests) -> Result<Parsed, RowError> {
        let found = Order::of(record).filter(|_| record.len() >= RECORD_BYTES);
        let Some((order, VERSION)) = found else {
            let what = format!("{} bytes are no record of version {VERSION}", record.len());
            return Err(RowError { what, fix: DAMAGE_FIX.to_owned() });
        };
        let action = order.u32_at(record, 28);
        let (category, what) = (action >> 16, action & 0xffff & !CGROUP);
        if category & (category::NOTIFY | category::PASSED_THROUGH) != 0 {
            return Ok(Parsed::Other);
        }
        let step = step(what).ok_or_else(|| RowError {
            what: format!("unknown action, {what}"),
            fix: format!("the actions of version {VERSION} are 1 to {LAST_ACTION}"),
        })?;
        let asked = || Some((device(order, record), asked(order, record, category)?));
        requests.look(step, asked);
        if !requests.is_chosen(step) {
            return Ok(Parsed::Other);
        }
        let Some(asked) = asked() else { return Ok(Parsed::Other) };
        requests.request(order.u64_at(record, 8), asked, self.origin(order, record))
    }
}

#[cfg(test)]
mod tests;

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
use super::kernel::{Asked, GivenBack, Origin, Rwbs, Streams};
use super::{Event, Format, FormatInfo, Parsed, ReaderOptions, Record, RowError};
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
    events: &[Event::Queue, Event::Issue, Event::Complete],
    splits: &["device", "cpu", "pid"],
    tick_ns: 0,
    reader,
    writer: None,
};

/// The events, and their actions in the lower half of the action.
const ACTIONS: [(Event, u32); 3] = [(Event::Queue, 1), (Event::Issue, 7), (Event::Complete, 8)];

/// The action of a request that the driver gave back.
const REQUEUE: u32 = 6;

/// The highest action that is known, `__BLK_TA_ZONE_UNPLUG`.
const LAST_ACTION: u32 = 19;

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

#[derive(Debug)]
struct Blktrace {
    /// The place of the chosen event in [`ACTIONS`].
    chosen: usize,
    streams: Streams,
    /// Records of each of [`ACTIONS`].
    seen: [u64; ACTIONS.len()],
    given_back: GivenBack,
    /// Room for device, CPU and process number as text.
    text: [Vec<u8>; 3],
}

fn reader(options: &ReaderOptions<'_>) -> Box<dyn Format> {
    let chosen = ACTIONS.iter().position(|(event, _)| *event == options.event);
    Box::new(Blktrace {
        chosen: chosen.expect("the event is one of the format's"),
        streams: Streams::new(options.event, options.split),
        seen: [0; ACTIONS.len()],
        given_back: GivenBack::default(),
        text: Default::default(),
    })
}

/// Writes a number over a text.
fn put(text: &mut Vec<u8>, number: std::fmt::Arguments<'_>) {
    text.clear();
    text.write_fmt(number).expect("memory takes any bytes");
}

impl Blktrace {
    fn stream(&mut self, order: Order, record: &[u8]) -> Result<u16, RowError> {
        let device = device(order, record);
        let [device_text, cpu, pid] = &mut self.text;
        put(device_text, format_args!("{},{}", device >> 20, device & 0xf_ffff));
        put(cpu, format_args!("{}", order.u32_at(record, 40)));
        put(pid, format_args!("{}", order.u32_at(record, 32)));
        self.streams.number(Origin { device: device_text, cpu, pid, process: b"" })
    }

    /// The request of a record of the chosen event.
    fn request(&mut self, order: Order, record: &[u8], category: u32) -> Result<Parsed, RowError> {
        let Some(asked) = asked(order, record, category) else { return Ok(Parsed::Other) };
        if self.given_back.is_again(device(order, record), asked) {
            return Ok(Parsed::Other);
        }
        let Asked { op, flags, first_sector, sectors } = asked;
        let stream = self.stream(order, record)?;
        let time_ns = order.u64_at(record, 8);
        Ok(Parsed::Request(Record { time_ns, first_sector, sectors, stream, op, flags }))
    }

    /// Notes what happens to requests that were issued, besides.
    fn look(&mut self, order: Order, record: &[u8], (category, what): (u32, u32)) {
        let is_completion = what == ACTIONS[2].1 && !self.given_back.is_empty();
        if ACTIONS[self.chosen].0 != Event::Issue || !(what == REQUEUE || is_completion) {
            return;
        }
        let Some(asked) = asked(order, record, category) else { return };
        if is_completion {
            self.given_back.complete(device(order, record), asked);
        } else {
            self.given_back.give_back(device(order, record), asked);
        }
    }
}

impl Format for Blktrace {
    fn parse(&mut self, record: &[u8]) -> Result<Parsed, RowError> {
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
        self.look(order, record, (category, what));
        match ACTIONS.iter().position(|(_, known)| *known == what) {
            Some(at) if at == self.chosen => self.request(order, record, category),
            Some(at) => {
                self.seen[at] += 1;
                Ok(Parsed::Other)
            }
            None if (1..=LAST_ACTION).contains(&what) => Ok(Parsed::Other),
            None => Err(RowError {
                what: format!("unknown action, {what}"),
                fix: format!("the actions of version {VERSION} are 1 to {LAST_ACTION}"),
            }),
        }
    }

    fn passed_over(&self) -> Vec<(Event, u64)> {
        ACTIONS.iter().zip(self.seen).map(|((event, _), seen)| (*event, seen)).collect()
    }

    fn notes(&self) -> Vec<String> {
        self.given_back.note().into_iter().collect()
    }

    fn noted_rows(&self) -> u64 {
        self.given_back.again()
    }

    fn stream_names(&self) -> Vec<String> {
        self.streams.list()
    }
}

#[cfg(test)]
mod tests;

//! Plain data that crosses the border, in the layout of C.

use core::ffi::c_char;
use flashyard_core::bus::policy::framework::DataOrder;
use flashyard_core::bus::request::{BusKind, BusRequest, Operation};
use flashyard_core::bus::scheduler::Response;
use flashyard_core::command::Op;
use flashyard_core::units::{Span, Time};

/// Lent memory begins at a multiple of this many bytes.
pub const FY_ALIGN: usize = 16;

/// What the array of a chip does.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FyOp {
    /// Senses a page.
    Read = 0,
    /// Programs a page.
    Program = 1,
    /// Erases a block.
    Erase = 2,
}

/// What a bus request does.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FyKind {
    /// EA: starts an erase. The chip is busy then.
    EraseActivate = 0,
    /// PP: names the page of a program, before its data.
    ProgramProlog = 1,
    /// ID: moves a chunk of data to the chip.
    DataIn = 2,
    /// PA: starts the program of the data that were moved. The chip is busy then.
    ProgramActivate = 3,
    /// RA: starts the read of a page. The chip is busy then.
    ReadActivate = 4,
    /// OD: moves a chunk of data from the chip.
    DataOut = 5,
    /// ST: asks whether the chip is done.
    Status = 6,
}

/// Which chip moves data next, where several could.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FyDataOrder {
    /// The lowest number.
    LowestChip = 0,
    /// The next one after the chip that moved data last.
    RoundRobin = 1,
    /// The one whose operation is the oldest.
    Oldest = 2,
}

/// What an iteration did.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FyOutcome {
    /// The platform answered something that cannot be: an operation or a response of no such chip,
    /// of no such sort or without data, or one of its functions is missing. That answer was left
    /// out; all others count.
    WrongAnswer = -1,
    /// Nothing: the firmware may sleep until something arrives, a response comes or the next
    /// question is due.
    Idle = 0,
    /// Something.
    Worked = 1,
}

/// An operation of a chip. Operations of one chip are done in the order in which they are handed
/// over.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FyOperation {
    /// When it was handed over, in nanoseconds: the oldest one is that of the least instant.
    pub since_ns: u64,
    /// The time in the array that is expected, in nanoseconds; at most 2^62.
    pub array_ns: u64,
    /// The number by which the firmware knows it; requests carry it.
    pub id: u32,
    /// The chip, counted through all channels.
    pub chip: u32,
    /// Its block.
    pub block: u32,
    /// The page of the block.
    pub page: u32,
    /// Pages that it works on at once, of several planes or of one word line; at least 1.
    pub pages: u32,
    /// Bytes that move of each page; 0 where none do, as of a copy inside the chip.
    pub page_bytes: u32,
    /// Bytes that a data request moves at most; at least 1.
    pub chunk_bytes: u32,
    /// The stream that asks for it.
    pub stream: u16,
    /// What it does: a value of `FyOp`.
    pub op: u8,
    /// Whether a read asks for its status before its data. A read that moves no data always does.
    pub polls: bool,
}

/// A bus request. It names all that the controller needs to serve it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FyRequest {
    /// The operation that it is part of.
    pub operation: u32,
    /// The channel.
    pub channel: u32,
    /// The chip, counted through all channels.
    pub chip: u32,
    /// The block of the chip.
    pub block: u32,
    /// The page of the block.
    pub page: u32,
    /// Which page of an operation that works on several at once, from 0.
    pub plane: u32,
    /// The first byte of the page that a data request moves.
    pub offset: u32,
    /// Bytes that a data request moves; 0 for the others.
    pub bytes: u32,
    /// The stream that asked for the operation.
    pub stream: u16,
    /// What it does: a value of `FyKind`.
    pub kind: u8,
}

/// What the controller answers. It answers data requests (`DataIn`, `DataOut`) and status requests
/// (`Status`) once each, and no others.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FyResponse {
    /// The chip, counted through all channels.
    pub chip: u32,
    /// What was asked: a value of `FyKind`.
    pub kind: u8,
    /// Of a status request: whether the chip is ready.
    pub ready: bool,
}

/// The short name of a kind of request (`EA`, `PP`, `ID`, `PA`, `RA`, `OD`, `ST`), ended by a zero
/// byte; of any other number `?`.
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "the name is one of C")]
pub extern "C" fn fy_kind_name(kind: u8) -> *const c_char {
    const NAMES: [&core::ffi::CStr; BusKind::ALL.len()] =
        [c"EA", c"PP", c"ID", c"PA", c"RA", c"OD", c"ST"];
    NAMES.get(usize::from(kind)).unwrap_or(&c"?").as_ptr()
}

impl FyOperation {
    /// The operation, if it is one of a device with so many chips.
    pub(crate) fn operation(&self, chips: usize) -> Option<Operation> {
        let op = *Op::ALL.get(usize::from(self.op))?;
        let chunks = self.page_bytes.checked_div(self.chunk_bytes)?.checked_add(1)?;
        let is_small = chunks.checked_mul(self.pages.checked_add(2)?).is_some();
        let is_one = (self.chip as usize) < chips && self.pages > 0 && is_small;
        let operation = Operation {
            id: self.id,
            op,
            stream: self.stream,
            since: Time::from_ns(self.since_ns),
            chip: self.chip,
            block: self.block,
            page: self.page,
            pages: self.pages,
            page_bytes: self.page_bytes,
            chunk_bytes: self.chunk_bytes,
            array: Span::from_ns(self.array_ns),
            polls: self.polls,
        };
        (is_one && self.array_ns <= 1 << 62).then_some(operation)
    }
}

impl From<&Operation> for FyOperation {
    fn from(operation: &Operation) -> Self {
        Self {
            since_ns: operation.since.as_ns(),
            array_ns: operation.array.as_ns(),
            id: operation.id,
            chip: operation.chip,
            block: operation.block,
            page: operation.page,
            pages: operation.pages,
            page_bytes: operation.page_bytes,
            chunk_bytes: operation.chunk_bytes,
            op: operation.op as u8,
            stream: operation.stream,
            polls: operation.polls,
        }
    }
}

impl From<&BusRequest> for FyRequest {
    fn from(request: &BusRequest) -> Self {
        Self {
            operation: request.operation,
            channel: request.channel,
            chip: request.chip,
            block: request.block,
            page: request.page,
            plane: request.plane,
            offset: request.offset,
            bytes: request.bytes,
            kind: request.kind as u8,
            stream: request.stream,
        }
    }
}

impl FyResponse {
    /// The response, if it answers a request of a device with so many chips.
    pub(crate) fn response(self, chips: usize) -> Option<Response> {
        let kind = *BusKind::ALL.get(usize::from(self.kind))?;
        let is_one = matches!(kind, BusKind::DataIn | BusKind::DataOut | BusKind::Status)
            && (self.chip as usize) < chips;
        is_one.then_some(Response { chip: self.chip, kind, ready: self.ready })
    }
}

/// The order of a number, if there is one.
pub(crate) const fn data_order(number: u8) -> Option<DataOrder> {
    Some(match number {
        0 => DataOrder::LowestChip,
        1 => DataOrder::RoundRobin,
        2 => DataOrder::Oldest,
        _ => return None,
    })
}

// The numbers of the border are those of the core.
const _: () = {
    assert!(FyOp::Read as u8 == Op::Read as u8 && FyOp::Program as u8 == Op::Program as u8);
    assert!(FyOp::Erase as u8 == Op::Erase as u8);
    assert!(FyKind::EraseActivate as usize == BusKind::EraseActivate.index());
    assert!(FyKind::ProgramProlog as usize == BusKind::ProgramProlog.index());
    assert!(FyKind::DataIn as usize == BusKind::DataIn.index());
    assert!(FyKind::ProgramActivate as usize == BusKind::ProgramActivate.index());
    assert!(FyKind::ReadActivate as usize == BusKind::ReadActivate.index());
    assert!(FyKind::DataOut as usize == BusKind::DataOut.index());
    assert!(FyKind::Status as usize == BusKind::Status.index());
};

//! Bus requests and the grammar of operations.

use crate::command::Op;
use crate::units::{Span, Time};

/// What a bus request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BusKind {
    /// Starts an erase (EA).
    EraseActivate,
    /// Names the page of a program, before its data (PP).
    ProgramProlog,
    /// Moves a chunk of data to the chip (ID).
    DataIn,
    /// Starts the program of the data that were moved (PA).
    ProgramActivate,
    /// Starts the read of a page (RA).
    ReadActivate,
    /// Moves a chunk of data from the chip (OD).
    DataOut,
    /// Asks whether the chip is done, and with what result (ST).
    Status,
}

/// Classes of bus requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BusClass {
    /// Starts or prepares work of a chip; short.
    Activation,
    /// Asks for the state of a chip; short.
    Status,
    /// Moves data; long.
    Data,
}

impl BusClass {
    /// Requests of a smaller rank go before those of a larger one: 0 for short ones, 1 for data.
    pub const fn rank(self) -> u8 {
        match self {
            Self::Activation | Self::Status => 0,
            Self::Data => 1,
        }
    }
}

impl BusKind {
    /// Every kind, in the order of their numbers.
    pub const ALL: [Self; 7] = [
        Self::EraseActivate,
        Self::ProgramProlog,
        Self::DataIn,
        Self::ProgramActivate,
        Self::ReadActivate,
        Self::DataOut,
        Self::Status,
    ];

    /// The short name, which programs and logs use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::EraseActivate => "EA",
            Self::ProgramProlog => "PP",
            Self::DataIn => "ID",
            Self::ProgramActivate => "PA",
            Self::ReadActivate => "RA",
            Self::DataOut => "OD",
            Self::Status => "ST",
        }
    }

    /// The class.
    pub const fn class(self) -> BusClass {
        match self {
            Self::EraseActivate
            | Self::ProgramProlog
            | Self::ProgramActivate
            | Self::ReadActivate => BusClass::Activation,
            Self::DataIn | Self::DataOut => BusClass::Data,
            Self::Status => BusClass::Status,
        }
    }

    /// The number, which is its place in [`Self::ALL`].
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Whether the chip is busy after it, or after the last one of an operation of several pages. A
    /// program prolog leaves the chip ready for data.
    pub const fn makes_busy(self) -> bool {
        matches!(self, Self::EraseActivate | Self::ProgramActivate | Self::ReadActivate)
    }
}

/// One bus request. It names all that the controller needs to serve it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BusRequest {
    /// The operation that it is part of, by the number that its caller gave it.
    pub operation: u32,
    /// The stream that asked for the operation.
    pub stream: u16,
    /// What it does.
    pub kind: BusKind,
    /// The channel.
    pub channel: u32,
    /// The chip. A die that works on its own counts as a chip.
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
}

/// An operation of a chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// The number by which the caller knows it; requests and answers carry it.
    pub id: u32,
    /// What the chip does.
    pub op: Op,
    /// The stream that asks for it.
    pub stream: u16,
    /// When it was handed over: the oldest one is that of the least instant.
    pub since: Time,
    /// The chip.
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
    /// The time in the array that the scheduler expects.
    pub array: Span,
    /// Whether a read asks for its status before its data. A read that moves no data always does.
    pub polls: bool,
}

impl Operation {
    /// Data requests of each page.
    pub const fn chunks(&self) -> u32 {
        if matches!(self.op, Op::Erase) { 0 } else { self.page_bytes.div_ceil(self.chunk_bytes) }
    }

    /// Requests of all kinds, each status request counted once.
    pub const fn requests(&self) -> u32 {
        let data = self.pages * self.chunks();
        match self.op {
            Op::Erase => self.pages + 1,
            Op::Program => self.pages + data + 2,
            Op::Read => self.pages + data + (self.polls || data == 0) as u32,
        }
    }
}

/// An operation that a chip serves, and how far its requests have been sent.
///
/// An erase is EA ST, a program PP ID... PA ST, a read RA OD..., or RA ST OD... where a read asks
/// for the end of its array time as well. Of several pages each has its own EA, RA or PP ID..., and
/// the data of a read leave page by page. The array works after PA and the last EA or RA; what
/// follows waits for its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    operation: Operation,
    chunks: u32,
    step: Step,
    /// Activated pages; chunks that have been moved, of all pages.
    page: u32,
    moved: u32,
}

/// What the next request of an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Activate,
    DataIn,
    Start,
    Status,
    DataOut,
    Over,
}

impl Served {
    /// An operation none of whose requests has been sent.
    pub const fn new(operation: Operation) -> Self {
        let chunks = operation.chunks();
        Self { operation, chunks, step: Step::Activate, page: 0, moved: 0 }
    }

    /// Whether it asks for the status when its array is done.
    pub const fn asks_status(&self) -> bool {
        !matches!(self.operation.op, Op::Read) || self.operation.polls || self.chunks == 0
    }

    /// The operation.
    pub const fn operation(&self) -> &Operation {
        &self.operation
    }

    /// The kind of the request to send next; none where all have been sent.
    pub const fn next(&self) -> Option<BusKind> {
        Some(match (self.step, self.operation.op) {
            (Step::Activate, Op::Erase) => BusKind::EraseActivate,
            (Step::Activate, Op::Program) => BusKind::ProgramProlog,
            (Step::Activate, Op::Read) => BusKind::ReadActivate,
            (Step::DataIn, _) => BusKind::DataIn,
            (Step::Start, _) => BusKind::ProgramActivate,
            (Step::Status, _) => BusKind::Status,
            (Step::DataOut, _) => BusKind::DataOut,
            (Step::Over, _) => return None,
        })
    }

    /// Whether the next request starts the array: PA, or EA or RA of the last page.
    pub const fn starts_array(&self) -> bool {
        match self.step {
            Step::Start => true,
            Step::Activate => {
                !matches!(self.operation.op, Op::Program) && self.page + 1 == self.operation.pages
            }
            _ => false,
        }
    }

    /// Whether the array has been started: what is sent from now on completes the operation.
    pub const fn is_started(&self) -> bool {
        matches!(self.step, Step::Status | Step::DataOut | Step::Over)
    }

    /// A request of this kind for what is to be sent next, on a channel.
    pub const fn request(&self, kind: BusKind, channel: u32) -> BusRequest {
        let Operation { id, stream, chip, block, page, page_bytes, chunk_bytes, .. } =
            self.operation;
        let (plane, offset, bytes) = match kind {
            BusKind::DataIn | BusKind::DataOut => {
                // Most operations have one page, and no division.
                let one = self.operation.pages == 1;
                let plane = if one { 0 } else { self.moved / self.chunks };
                let offset = (self.moved - plane * self.chunks) * chunk_bytes;
                let left = page_bytes - offset;
                let bytes = if left < chunk_bytes { left } else { chunk_bytes };
                (plane, offset, bytes)
            }
            BusKind::Status | BusKind::ProgramActivate => (0, 0, 0),
            _ => (self.page, 0, 0),
        };
        BusRequest { operation: id, stream, kind, channel, chip, block, page, plane, offset, bytes }
    }

    /// The next request has been sent, or need not be. Returns whether it was the last one.
    pub const fn sent(&mut self) -> bool {
        let pages = self.operation.pages;
        self.step = match self.step {
            Step::Activate => {
                self.page += 1;
                match self.operation.op {
                    Op::Program if self.chunks > 0 => Step::DataIn,
                    _ if self.page < pages => Step::Activate,
                    Op::Program => Step::Start,
                    _ if self.asks_status() => Step::Status,
                    _ => Step::DataOut,
                }
            }
            Step::DataIn => {
                self.moved += 1;
                if self.moved < self.page * self.chunks {
                    Step::DataIn
                } else if self.page < pages {
                    Step::Activate
                } else {
                    Step::Start
                }
            }
            Step::Start => Step::Status,
            Step::Status if matches!(self.operation.op, Op::Read) && self.chunks > 0 => {
                Step::DataOut
            }
            Step::DataOut => {
                self.moved += 1;
                if self.moved < pages * self.chunks { Step::DataOut } else { Step::Over }
            }
            Step::Status | Step::Over => Step::Over,
        };
        matches!(self.step, Step::Over)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::format;
    use std::string::String;
    use std::vec::Vec;

    /// The requests of an operation: kind, page and, of data, offset and bytes.
    fn requests(op: Op, pages: u32, page_bytes: u32, polls: bool) -> String {
        let (chip, block, page, stream) = (3, 5, 7, 1);
        let array = Span::from_us(50);
        let chunk_bytes = 4_096;
        let operation = Operation {
            id: 9,
            op,
            stream,
            since: Time::ZERO,
            chip,
            block,
            page,
            pages,
            page_bytes,
            chunk_bytes,
            array,
            polls,
        };
        let mut served = Served::new(operation);
        let (mut words, mut starts) = (Vec::new(), 0);
        while let Some(kind) = served.next() {
            let request = served.request(kind, 2);
            assert_eq!((request.operation, request.channel, request.chip), (9, 2, 3));
            starts += u32::from(served.starts_array());
            assert_eq!(served.starts_array(), !served.is_started() && starts == 1);
            words.push(match request.bytes {
                0 => format!("{}{}", kind.name(), request.plane),
                bytes => format!("{}{}@{}+{bytes}", kind.name(), request.plane, request.offset),
            });
            let last = served.sent();
            assert_eq!(last, served.next().is_none());
        }
        assert_eq!(starts, 1, "the array is started once");
        assert_eq!(words.len(), operation.requests() as usize);
        assert!(served.sent(), "there is nothing left to send");
        words.join(" ")
    }

    #[test]
    fn operations_follow_the_grammar() {
        assert_eq!(requests(Op::Erase, 1, 4_096, true), "EA0 ST0");
        assert_eq!(requests(Op::Program, 1, 8_192, true), "PP0 ID0@0+4096 ID0@4096+4096 PA0 ST0");
        assert_eq!(requests(Op::Read, 1, 5_000, false), "RA0 OD0@0+4096 OD0@4096+904");
        assert_eq!(requests(Op::Read, 1, 512, true), "RA0 ST0 OD0@0+512");
    }

    /// Each page of an operation on several has its own activation, and there is one status.
    #[test]
    fn operations_on_several_pages_follow_the_grammar() {
        assert_eq!(requests(Op::Erase, 2, 0, true), "EA0 EA1 ST0");
        assert_eq!(
            requests(Op::Program, 2, 5_000, true),
            "PP0 ID0@0+4096 ID0@4096+904 PP1 ID1@0+4096 ID1@4096+904 PA0 ST0"
        );
        assert_eq!(requests(Op::Read, 2, 4_096, true), "RA0 RA1 ST0 OD0@0+4096 OD1@0+4096");
    }

    /// A copy inside a chip moves no data; the end of its read is known by its status alone.
    #[test]
    fn copies_inside_a_chip_move_no_data() {
        assert_eq!(requests(Op::Read, 2, 0, false), "RA0 RA1 ST0");
        assert_eq!(requests(Op::Program, 2, 0, false), "PP0 PP1 PA0 ST0");
    }

    #[test]
    fn activations_but_the_prolog_make_a_chip_busy() {
        let busy: Vec<_> = BusKind::ALL.into_iter().filter(|kind| kind.makes_busy()).collect();
        assert!(busy.iter().all(|kind| kind.class() == BusClass::Activation));
        assert_eq!(busy.iter().map(|kind| kind.name()).collect::<Vec<_>>(), ["EA", "PA", "RA"]);
    }

    #[test]
    fn short_requests_go_before_data() {
        for (index, kind) in BusKind::ALL.into_iter().enumerate() {
            assert_eq!(kind.index(), index);
            let moves_data = matches!(kind, BusKind::DataIn | BusKind::DataOut);
            assert_eq!(kind.class().rank(), u8::from(moves_data), "{}", kind.name());
        }
    }
}

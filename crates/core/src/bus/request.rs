//! Bus requests and the grammar of operations.

use crate::command::Op;

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

    /// Whether the chip is busy after it. A program prolog leaves the chip ready for data.
    pub const fn makes_busy(self) -> bool {
        matches!(self, Self::EraseActivate | Self::ProgramActivate | Self::ReadActivate)
    }
}

/// One bus request. It names all that the controller needs to serve it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BusRequest {
    /// The operation that it is part of.
    pub operation: u32,
    /// The stream that asked for the operation.
    pub stream: u8,
    /// What it does.
    pub kind: BusKind,
    /// The channel.
    pub channel: u32,
    /// The chip on the channel.
    pub chip: u32,
    /// The block of the chip.
    pub block: u32,
    /// The page of the block.
    pub page: u32,
    /// The first byte of the page that a data request moves.
    pub offset: u32,
    /// Bytes that a data request moves; 0 for the others.
    pub bytes: u32,
}

/// How far the requests of an operation have been sent.
///
/// An erase is EA ST, a program PP ID... PA ST, a read RA OD... The array works after EA, PA and
/// RA; what follows waits for its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    op: Op,
    /// Chunks of its data, and those that have been sent.
    chunks: u32,
    moved: u32,
    /// Requests other than data that have been sent.
    others: u8,
}

impl Progress {
    /// An operation none of whose requests has been sent; its data are moved in so many chunks.
    pub const fn new(op: Op, chunks: u32) -> Self {
        Self { op, chunks: if matches!(op, Op::Erase) { 0 } else { chunks }, moved: 0, others: 0 }
    }

    /// The operation.
    pub const fn op(&self) -> Op {
        self.op
    }

    /// Chunks that have been moved.
    pub const fn moved(&self) -> u32 {
        self.moved
    }

    /// The request to send next; none where all have been sent.
    pub const fn next(&self) -> Option<BusKind> {
        let rest = self.moved < self.chunks;
        match (self.op, self.others) {
            (Op::Erase, 0) => Some(BusKind::EraseActivate),
            (Op::Program, 0) => Some(BusKind::ProgramProlog),
            (Op::Program, 1) if rest => Some(BusKind::DataIn),
            (Op::Program, 1) => Some(BusKind::ProgramActivate),
            (Op::Erase, 1) | (Op::Program, 2) => Some(BusKind::Status),
            (Op::Read, 0) => Some(BusKind::ReadActivate),
            (Op::Read, 1) if rest => Some(BusKind::DataOut),
            _ => None,
        }
    }

    /// The next request has been sent.
    pub const fn sent(&mut self) {
        match self.next() {
            Some(BusKind::DataIn | BusKind::DataOut) => self.moved += 1,
            Some(_) => self.others += 1,
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::String;
    use std::vec::Vec;

    #[test]
    fn operations_follow_the_grammar() {
        let requests = |op, chunks| {
            let mut progress = Progress::new(op, chunks);
            let mut names = Vec::new();
            while let Some(kind) = progress.next() {
                names.push(kind.name());
                progress.sent();
            }
            let sent = progress;
            progress.sent();
            assert_eq!(progress, sent, "there is nothing left to send");
            names.join(" ") as String
        };
        assert_eq!(requests(Op::Erase, 4), "EA ST");
        assert_eq!(requests(Op::Program, 2), "PP ID ID PA ST");
        assert_eq!(requests(Op::Read, 4), "RA OD OD OD OD");
        assert_eq!(requests(Op::Read, 0), "RA");
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

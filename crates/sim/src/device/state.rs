//! What the device remembers of every request and command set under way.

use super::explain::Track;
use crate::metrics::parts::Parts;
use flashyard_core::command::{Op, Purpose};
use flashyard_core::graph::{NIL, STAGES};
use flashyard_core::policy::RequestView;
use flashyard_core::request::{Request, RequestOp};
use flashyard_core::units::{DieId, Lpn, MapPage, PlaneId, Ppn, Span, Time};

/// A command of a set, by what it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Read the map page of a dirty line that is evicted (MRe).
    EvictRead,
    /// Program that map page (MP).
    Writeback,
    /// Read the map page of the line to fill (MRf).
    Fetch,
    /// Read the old contents of a unit that is written in part (`DRo`).
    OldRead,
    /// Read data (DR).
    Read,
    /// Program data (DP).
    Program,
    /// Read a valid page out of a victim.
    CopyRead,
    /// Program it elsewhere on the die.
    CopyProgram,
    /// Erase the victim.
    Erase,
    /// Read a page that a merge copies.
    MergeRead,
    /// Program it elsewhere on the plane.
    MergeProgram,
    /// Erase a block that a merge has emptied.
    MergeErase,
    /// Read a map page whose data has moved.
    RewriteRead,
    /// Program it.
    RewriteProgram,
    /// Put a unit into the write buffer, or get it from there.
    Buffer,
    /// Carry the data of a page access over the link to the host.
    Link,
    /// Of a flush, or of an access that needs no command: nothing to do once nothing is left to
    /// wait for.
    Barrier,
}

/// How many kinds of commands there are.
pub(super) const STAGE_KINDS: usize = Stage::Barrier as usize + 1;

impl Stage {
    /// What the array does; nothing for the buffer, the link and a barrier.
    pub(super) const fn op(self) -> Op {
        match self {
            Self::EvictRead
            | Self::Fetch
            | Self::OldRead
            | Self::Read
            | Self::CopyRead
            | Self::MergeRead
            | Self::RewriteRead => Op::Read,
            Self::Writeback
            | Self::Program
            | Self::CopyProgram
            | Self::MergeProgram
            | Self::RewriteProgram => Op::Program,
            Self::Erase | Self::MergeErase => Op::Erase,
            Self::Buffer | Self::Link | Self::Barrier => unreachable!(),
        }
    }

    /// What it is done for; `map` is whether a copy is one of a map page, `wear` whether its job
    /// levels wear.
    pub(super) const fn purpose(self, map: bool, wear: bool) -> Purpose {
        match self {
            Self::CopyRead | Self::CopyProgram | Self::Erase if wear => Purpose::Wear,
            Self::EvictRead | Self::Writeback => Purpose::MapWriteback,
            Self::Fetch => Purpose::MapFetch,
            Self::OldRead
            | Self::Read
            | Self::Program
            | Self::Buffer
            | Self::Link
            | Self::Barrier => Purpose::Host,
            Self::CopyRead | Self::CopyProgram if map => Purpose::MapGc,
            Self::CopyRead | Self::CopyProgram | Self::Erase => Purpose::Gc,
            Self::MergeRead | Self::MergeProgram | Self::MergeErase => Purpose::Merge,
            Self::RewriteRead | Self::RewriteProgram => Purpose::MapGc,
        }
    }

    /// The short name in logs.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::EvictRead => "MRe",
            Self::Writeback => "MP",
            Self::Fetch => "MRf",
            Self::OldRead => "DRo",
            Self::Read => "DR",
            Self::Program => "DP",
            Self::CopyRead => "GR",
            Self::CopyProgram => "GP",
            Self::Erase => "GE",
            Self::MergeRead => "LR",
            Self::MergeProgram => "LP",
            Self::MergeErase => "LE",
            Self::RewriteRead => "UR",
            Self::RewriteProgram => "UP",
            Self::Buffer => "B",
            Self::Link => "L",
            Self::Barrier => "F",
        }
    }

    /// Whether it copies a unit for garbage collection or a merge.
    pub(super) const fn is_copy(self) -> bool {
        matches!(self, Self::CopyRead | Self::CopyProgram | Self::MergeRead | Self::MergeProgram)
    }

    /// Whether it moves the data of the host request itself.
    pub(super) const fn is_data(self) -> bool {
        matches!(self, Self::OldRead | Self::Read | Self::Program)
    }
}

/// Where a set's current command is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Translated, without a slot.
    Slotless,
    /// Waiting for another set.
    Waiting,
    /// Of a job: its victim is being searched for.
    Firmware,
    /// Waiting for a line of the write buffer.
    Lineless,
    /// In the write buffer, or waiting for its port.
    Buffered,
    /// On the link to the host, or waiting for it.
    Linking,
    /// In the queue of its die.
    Queued,
    /// On the die.
    Running,
    /// On the die, suspended for reads.
    Suspended,
}

/// Where on a die an operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In the array, on the way to it, or done and waiting for the register.
    Array,
    /// In the page register, from where its data leaves.
    Output,
    /// Suspended.
    Suspended,
}

/// One array operation and its time on the channel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operation {
    /// The first of the sets that it serves, [`NIL`] for no operation; the others are its riders.
    pub(super) leader: u32,
    pub(super) op: Op,
    /// Whether it is garbage collection's.
    pub(super) gc: bool,
    /// When the die took it, when the channel began to carry its command, when the array is done,
    /// when the channel begins to carry its data out.
    pub(super) began: Time,
    pub(super) lead_from: Time,
    pub(super) array_end: Time,
    pub(super) out_from: Time,
    /// Time of its command and its data in on the channel.
    pub(super) lead_ns: u64,
    /// Time in the array, without interruptions.
    pub(super) array: Span,
    /// Time of its data out on the channel.
    pub(super) out_ns: u64,
    /// Whether the array is done and the page register is not free.
    pub(super) held: bool,
    pub(super) suspensions: u64,
    /// Of a suspended one: what is left in the array.
    pub(super) left: Span,
}

impl Operation {
    /// No operation.
    pub(super) const NONE: Self = Self {
        leader: NIL,
        op: Op::Read,
        gc: false,
        began: Time::ZERO,
        lead_from: Time::MAX,
        array_end: Time::MAX,
        out_from: Time::MAX,
        lead_ns: 0,
        array: Span::ZERO,
        out_ns: 0,
        held: false,
        suspensions: 0,
        left: Span::ZERO,
    };

    /// Whether there is one.
    pub(super) const fn is_some(&self) -> bool {
        self.leader != NIL
    }
}

/// Sets that may have lost their last wait, until they are woken.
#[derive(Debug, Default)]
pub(super) struct Ready {
    /// The next one to wake comes last.
    pub(super) sets: Vec<u32>,
    /// Whether an access has ended since it was drained; otherwise whoever added sets wakes them.
    pub(super) due: bool,
}

/// A command set under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Set {
    /// The request that it belongs to, [`NIL`] for the device's own work.
    pub(super) request: u32,
    /// The request that its work is charged to, [`NIL`] for none.
    pub(super) charge: u32,
    /// The page access, counted inside the request.
    pub(super) page: u32,
    /// Its commands and the planes they run on.
    pub(super) stages: [(Stage, PlaneId); STAGES],
    pub(super) mode: Mode,
    /// Whether it holds a slot, and the die that the slot counts for.
    pub(super) slotted: bool,
    pub(super) slot_die: DieId,
    /// The logical page of a page access or a data copy.
    pub(super) lpn: Lpn,
    /// The map page that it writes, or whose line it fetches.
    pub(super) map_page: MapPage,
    /// The cache line that it fetches.
    pub(super) line: u32,
    /// The page being programmed or read; the source of a copy, or the page that a translation
    /// layer has given to a write.
    pub(super) ppn: Option<Ppn>,
    pub(super) source: Option<Ppn>,
    /// Whether it changes the contents of `lpn`: a write or a trim; whether it is a trim.
    pub(super) changes: bool,
    pub(super) trims: bool,
    /// Whether a later change of `lpn` has been committed already.
    pub(super) superseded: bool,
    /// The frontier of host data that it writes to.
    pub(super) stream: u8,
    /// The line of the write buffer whose contents it programs.
    pub(super) buffered: u32,
    /// Whether it is the first of the flushes that began together with it.
    pub(super) leads_flush: bool,
    /// Whether a request asked for its program, so that it did not wait for others to fill it.
    pub(super) asked: bool,
    /// Whether it copies a map page, and whether its job levels wear.
    pub(super) copies_map: bool,
    pub(super) levels: bool,
    /// Whether it is in the index by LPN, and its neighbours in the bucket.
    pub(super) listed: bool,
    pub(super) prev_of_lpn: u32,
    pub(super) next_of_lpn: u32,
    /// Its neighbours among the live changes.
    pub(super) earlier_change: u32,
    pub(super) later_change: u32,
    /// Where its current command waits or came from.
    pub(super) queue: u8,
    pub(super) in_gc_queue: bool,
    pub(super) key: u64,
    pub(super) enqueued: Time,
    pub(super) rekeys: u32,
    /// Its neighbours among the queued commands of the same kind on its plane, where operations
    /// gather several.
    pub(super) prev_queued: u32,
    pub(super) next_queued: u32,
    /// The next set that the operation of its current command serves.
    pub(super) rider: u32,
    /// Of the first set of a page in an operation: how many of the page's units are moved.
    pub(super) page_units: u32,
    /// When its current command started, and the time on the channel not yet charged.
    pub(super) started: Time,
    pub(super) channel_ns: u64,
    /// The place on the die where the command is.
    pub(super) place: Place,
    /// Time of its own commands.
    pub(super) own: Span,
    pub(super) track: Track,
}

impl Set {
    /// A set of no request.
    pub(super) const VACANT: Self = Self {
        request: NIL,
        charge: NIL,
        page: 0,
        stages: [(Stage::Barrier, PlaneId::new(0)); STAGES],
        mode: Mode::Slotless,
        slotted: false,
        slot_die: DieId::new(0),
        lpn: Lpn::new(0),
        map_page: MapPage::new(0),
        line: NIL,
        ppn: None,
        source: None,
        changes: false,
        trims: false,
        superseded: false,
        stream: 0,
        buffered: NIL,
        leads_flush: false,
        asked: false,
        copies_map: false,
        levels: false,
        listed: false,
        prev_of_lpn: NIL,
        next_of_lpn: NIL,
        earlier_change: NIL,
        later_change: NIL,
        queue: 0,
        in_gc_queue: false,
        key: 0,
        enqueued: Time::ZERO,
        rekeys: 0,
        prev_queued: NIL,
        next_queued: NIL,
        rider: NIL,
        page_units: 0,
        started: Time::ZERO,
        channel_ns: 0,
        place: Place::Array,
        own: Span::ZERO,
        track: Track::NEW,
    };
}

/// A request that has arrived and whose work is not over.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    pub(super) request: Request,
    /// Order of arrival.
    pub(super) order: u64,
    pub(super) first: Lpn,
    /// Page accesses, how many have been translated, which one is next in order, and which one
    /// is being translated.
    pub(super) pages: u32,
    pub(super) translated: u32,
    pub(super) next_page: u32,
    pub(super) page: u32,
    /// Sets that are not complete; translated ones only.
    pub(super) unfinished: u32,
    /// Sets of the device's own work that are charged to it.
    pub(super) charges: u32,
    pub(super) answered: Option<Time>,
    pub(super) fot: Span,
    /// When the first set got a slot.
    pub(super) first_slot: Option<Time>,
    /// When it began to wait at the head of the queue for the map cache, and how long it did.
    pub(super) stalled_since: Option<Time>,
    pub(super) stalled_ns: u64,
    /// The same for a flush: of earlier writes, or of a line of the buffer.
    pub(super) flush_since: Option<Time>,
    pub(super) flush_ns: u64,
    pub(super) own: Span,
    pub(super) parts: Parts,
    /// The next free entry.
    pub(super) link: u32,
}

impl Pending {
    pub(super) fn view(&self) -> RequestView {
        RequestView {
            is_read: self.is_read(),
            pages: self.pages,
            arrival: self.request.arrival,
            fot: self.fot,
            order: self.order,
        }
    }

    pub(super) fn is_read(&self) -> bool {
        self.request.op == RequestOp::Read
    }

    /// Whether it changes contents.
    pub(super) const fn changes(&self) -> bool {
        matches!(self.request.op, RequestOp::Write | RequestOp::Trim)
    }

    /// Whether the two touch a page that at least one of them changes.
    pub(super) const fn conflicts(&self, other: &Self) -> bool {
        let overlap = self.first.get() < other.first.get() + other.pages
            && other.first.get() < self.first.get() + self.pages;
        overlap && (self.changes() || other.changes())
    }

    /// Whether it touches a page.
    pub(super) const fn touches(&self, lpn: Lpn) -> bool {
        self.first.get() <= lpn.get() && lpn.get() < self.first.get() + self.pages
    }
}

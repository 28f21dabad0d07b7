//! What is known of a command set under way.

use super::Place;
use super::changes::Links;
use super::stage::Stage;
use crate::handle::{LineId, RequestId, SetId};
use flashyard_core::graph::STAGES;
use flashyard_core::units::{DieId, Lpn, MapPage, PlaneId, Ppn, Time};

/// Where a set's current command is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Translated, without a slot.
    Slotless,
    /// Waiting for another set.
    Waiting,
    /// Of a job: its victim is being searched for.
    Firmware,
    /// A gate that stands for the copies of a job.
    Collecting,
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

/// A page access of a request.
pub(crate) struct Access {
    pub(crate) request: RequestId,
    /// The place of the request in the order of arrival.
    pub(crate) order: u64,
    pub(crate) page: u32,
    pub(crate) lpn: Lpn,
    /// Whether it changes the unit, by a write or a trim; whether that is a trim.
    pub(crate) changes: bool,
    pub(crate) trims: bool,
    /// The frontier of host data that it writes to.
    pub(crate) stream: u8,
    /// The map page that it writes back, and the cache line that it fetches.
    pub(crate) map_page: MapPage,
    pub(crate) line: u32,
}

/// A command set under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Set {
    /// The request that it belongs to; none for the device's own work.
    pub(crate) request: Option<RequestId>,
    /// The place of that in the order of arrival.
    pub(crate) order: u64,
    /// The request that its work is charged to.
    pub(crate) charge: Option<RequestId>,
    /// The page access, counted inside the request.
    pub(crate) page: u32,
    /// Its commands and the planes they run on.
    pub(crate) stages: [(Stage, PlaneId); STAGES],
    /// Its current command; the last one where all are over.
    pub(crate) current: Stage,
    pub(crate) plane: PlaneId,
    pub(crate) mode: Mode,
    /// Whether it holds a slot, and the die that the slot counts for.
    pub(crate) slotted: bool,
    pub(crate) slot_die: DieId,
    /// The logical page of a page access or a data copy.
    pub(crate) lpn: Lpn,
    /// The map page that it writes, or whose line it fetches.
    pub(crate) map_page: MapPage,
    /// The cache line that it fetches.
    pub(crate) line: u32,
    /// The page being programmed or read; the source of a copy, or the page that a translation
    /// layer has given to a write.
    pub(crate) ppn: Option<Ppn>,
    pub(crate) source: Option<Ppn>,
    /// Whether it changes the contents of `lpn`: a write or a trim; whether it is a trim.
    pub(crate) changes: bool,
    pub(crate) trims: bool,
    /// Whether a later change of `lpn` has been committed already.
    pub(crate) superseded: bool,
    /// The frontier of host data that it writes to.
    pub(crate) stream: u8,
    /// The line of the write buffer whose contents it programs.
    pub(crate) buffered: Option<LineId>,
    /// Whether it is the first of the flushes that began together with it.
    pub(crate) leads_flush: bool,
    /// Whether a request asked for its program, so that it did not wait for others to fill it.
    pub(crate) asked: bool,
    /// Whether it copies a map page, and whether its job levels wear.
    pub(crate) copies_map: bool,
    pub(crate) levels: bool,
    /// Its places in the index by LPN and in the order of changes.
    pub(crate) links: Links,
    /// Where its current command waits or came from.
    pub(crate) queue: u8,
    pub(crate) in_gc_queue: bool,
    pub(crate) key: u64,
    pub(crate) enqueued: Time,
    pub(crate) rekeys: u32,
    /// The next set that the operation of its current command serves.
    pub(crate) rider: Option<SetId>,
    /// Of the first set of a page in an operation: how many of the page's codewords are moved.
    pub(crate) page_codewords: u32,
    /// When its current command started.
    pub(crate) started: Time,
    /// The place on the die where the command is.
    pub(crate) place: Place,
}

impl Set {
    /// The request of a page access or a barrier.
    #[inline]
    pub(crate) fn owner(&self) -> RequestId {
        self.request.expect("the set belongs to a request")
    }

    /// A set of no request.
    pub(crate) const VACANT: Self = Self {
        request: None,
        order: 0,
        charge: None,
        page: 0,
        stages: [(Stage::Barrier, PlaneId::new(0)); STAGES],
        current: Stage::Barrier,
        plane: PlaneId::new(0),
        mode: Mode::Slotless,
        slotted: false,
        slot_die: DieId::new(0),
        lpn: Lpn::new(0),
        map_page: MapPage::new(0),
        line: 0,
        ppn: None,
        source: None,
        changes: false,
        trims: false,
        superseded: false,
        stream: 0,
        buffered: None,
        leads_flush: false,
        asked: false,
        copies_map: false,
        levels: false,
        links: Links::NONE,
        queue: 0,
        in_gc_queue: false,
        key: 0,
        enqueued: Time::ZERO,
        rekeys: 0,
        rider: None,
        page_codewords: 0,
        started: Time::ZERO,
        place: Place::Array,
    };
}

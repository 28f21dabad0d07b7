//! What is known of a command set under way.

use super::Place;
use super::changes::Links;
use super::stage::Stage;
use super::work::{MapWork, Origin, OwnWork, Work};
use crate::handle::{LineId, RequestId, SetId};
use flashyard_core::command::Purpose;
use flashyard_core::graph::STAGES;
use flashyard_core::policy::Placement;
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

/// A command set under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Set {
    /// The request that it belongs to; none for the device's own work.
    pub(super) origin: Option<Origin>,
    /// What it is for.
    pub(super) work: Work,
    /// The request that its work is charged to.
    pub(super) charge: Option<RequestId>,
    /// Its commands and the planes they run on.
    pub(super) stages: [(Stage, PlaneId); STAGES],
    /// Its current command; the last one where all are over.
    pub(super) current: Stage,
    pub(super) plane: PlaneId,
    pub(super) mode: Mode,
    /// The die that its slot counts for, if it holds one.
    pub(super) slot: Option<DieId>,
    /// The unit of a page access or a flush.
    pub(super) lpn: Lpn,
    /// The page being programmed, read or erased.
    pub(super) ppn: Option<Ppn>,
    /// Its places in the index by LPN and in the order of changes.
    pub(super) links: Links,
    /// Where its current command waits or came from.
    pub(super) queue: u8,
    pub(super) in_gc_queue: bool,
    pub(super) key: u64,
    pub(super) enqueued: Time,
    pub(super) rekeys: u32,
    /// The next set that the operation of its current command serves.
    pub(super) rider: Option<SetId>,
    /// Of the first set of a page in an operation: how many of the page's codewords are moved.
    pub(super) page_codewords: u32,
    /// When its current command started.
    pub(super) started: Time,
    /// The place on the die where the command is.
    pub(super) place: Place,
}

// One is written for each page access.
const _: () = assert!(size_of::<Set>() <= 192);

impl Set {
    /// A set of no request, that does nothing.
    pub(super) const VACANT: Self = Self {
        origin: None,
        work: Work::Own(OwnWork::Gate),
        charge: None,
        stages: [(Stage::Barrier, PlaneId::new(0)); STAGES],
        current: Stage::Barrier,
        plane: PlaneId::new(0),
        mode: Mode::Slotless,
        slot: None,
        lpn: Lpn::new(0),
        ppn: None,
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

/// What it is for.
impl Set {
    /// The request that it belongs to; none for the device's own work.
    #[inline]
    pub(crate) fn request(&self) -> Option<RequestId> {
        self.origin.map(|origin| origin.request)
    }

    /// The request of a page access or a barrier.
    #[inline]
    pub(crate) fn owner(&self) -> RequestId {
        self.request().expect("the set belongs to a request")
    }

    /// The page access or the barrier of a request that it is, if it is one.
    #[inline]
    pub(crate) const fn origin(&self) -> Option<Origin> {
        self.origin
    }

    /// The page access, counted inside the request.
    #[inline]
    pub(crate) fn page(&self) -> u32 {
        self.origin.map_or(0, |origin| origin.page)
    }

    /// The request that its work is charged to.
    #[inline]
    pub(crate) const fn charge(&self) -> Option<RequestId> {
        self.charge
    }

    /// The unit of a page access or a flush.
    #[inline]
    pub(crate) const fn lpn(&self) -> Lpn {
        self.lpn
    }

    /// Whether it changes its unit: a write, a trim or a flush.
    #[inline]
    pub(crate) const fn changes(&self) -> bool {
        matches!(self.work, Work::Trim { .. } | Work::Write { .. } | Work::Flush { .. })
    }

    /// Whether it is a write of a request, which a device with a write buffer puts there.
    #[inline]
    pub(crate) const fn writes(&self) -> bool {
        matches!(self.work, Work::Write { .. })
    }

    /// Whether it trims its unit.
    #[inline]
    pub(crate) const fn trims(&self) -> bool {
        matches!(self.work, Work::Trim { .. })
    }

    /// Whether it is the translation layer's own.
    #[inline]
    pub(crate) const fn is_own(&self) -> bool {
        matches!(self.work, Work::Own(_))
    }

    /// Whether it does the steps of a task of a layer.
    #[inline]
    pub(crate) const fn is_task(&self) -> bool {
        matches!(self.work, Work::Own(OwnWork::Steps { .. }))
    }

    /// Whether a later change of its unit has been committed already.
    #[inline]
    pub(crate) const fn is_superseded(&self) -> bool {
        match self.work {
            Work::Trim { superseded, .. }
            | Work::Write { superseded, .. }
            | Work::Flush { superseded, .. } => superseded,
            Work::Barrier | Work::Read { .. } | Work::Own(_) => false,
        }
    }

    /// The frontier of host data that its program goes to.
    #[inline]
    pub(crate) const fn stream(&self) -> u8 {
        match self.work {
            Work::Write { stream, .. } | Work::Flush { stream, .. } => stream,
            _ => panic!("only a program of host data has a frontier"),
        }
    }

    /// Whether it works for the host in no request: it writes a line of the write buffer, or a page
    /// of the journal, for which trims and flushes wait, or it reads a unit ahead.
    #[inline]
    pub(crate) const fn is_for_host(&self) -> bool {
        self.work.carried().is_some()
            || matches!(self.work, Work::Own(OwnWork::Journal | OwnWork::Ahead))
    }

    /// The page that a translation layer has given to its program.
    pub(crate) const fn target(&self) -> Option<Ppn> {
        match self.work {
            Work::Write { target, .. } | Work::Flush { target, .. } => target,
            _ => None,
        }
    }

    /// The finished zone that it fills.
    pub(crate) const fn padded_zone(&self) -> u32 {
        match self.work {
            Work::Own(OwnWork::Pad { zone }) => zone,
            _ => panic!("only padding fills a zone with nothing"),
        }
    }

    /// The line of the write buffer whose contents it programs.
    #[inline]
    pub(crate) fn line(&self) -> Option<LineId> {
        self.work.carried().map(|carried| carried.line)
    }

    /// Whether it is the first of the flushes that began together with it.
    pub(crate) fn leads_flush(&self) -> bool {
        self.work.carried().is_some_and(|carried| carried.leads)
    }

    /// Whether a request asked for its flush, so that it did not wait for others to fill its page.
    pub(crate) fn is_asked(&self) -> bool {
        self.work.carried().is_some_and(|carried| carried.asked)
    }

    /// The map page that it writes.
    pub(crate) const fn map_page(&self) -> MapPage {
        match self.work {
            Work::Own(OwnWork::WriteMap(page) | OwnWork::CopyMap { page, .. }) => page,
            _ => self.map_work().page,
        }
    }

    /// The line of the map cache that it fetches.
    pub(crate) const fn map_line(&self) -> u32 {
        self.map_work().line
    }

    const fn map_work(&self) -> MapWork {
        match self.work {
            Work::Read { map }
            | Work::Trim { map, .. }
            | Work::Write { map, .. }
            | Work::Flush { map, .. } => map,
            Work::Barrier | Work::Own(_) => panic!("only an access has work of the map"),
        }
    }

    /// The page that it copies.
    #[inline]
    pub(crate) const fn source(&self) -> Option<Ppn> {
        match self.work {
            Work::Own(OwnWork::Copy { source, .. } | OwnWork::CopyMap { source, .. }) => {
                Some(source)
            }
            Work::Own(OwnWork::Steps { source, .. }) => source,
            _ => None,
        }
    }

    /// The unit that it copies for a job; none where that is a map page.
    #[inline]
    pub(crate) const fn copied_unit(&self) -> Option<Lpn> {
        match self.work {
            Work::Own(OwnWork::Copy { lpn, .. }) => Some(lpn),
            _ => None,
        }
    }

    /// What its current command is done for.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a step of each command; a call costs as much")]
    pub(crate) const fn purpose(&self) -> Purpose {
        self.purpose_as(self.current)
    }

    /// The same, where that command is known to be of this kind.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a step of each command; a call costs as much")]
    pub(crate) const fn purpose_as(&self, stage: Stage) -> Purpose {
        if matches!(stage, Stage::Read) {
            // Of a page access, which no work of the device's own is.
            return Purpose::Host;
        }
        let levels = match self.work {
            Work::Own(
                OwnWork::Copy { purpose, .. }
                | OwnWork::CopyMap { purpose, .. }
                | OwnWork::Erase { purpose },
            ) => return purpose,
            Work::Own(OwnWork::Steps { levels, .. }) => levels,
            _ => false,
        };
        stage.purpose(levels)
    }
}

/// Where its current command is.
impl Set {
    /// Where its current command is.
    #[inline]
    pub(crate) const fn mode(&self) -> Mode {
        self.mode
    }

    /// Whether its current command waits for its die, or is on it.
    #[inline]
    pub(crate) const fn is_at_die(&self) -> bool {
        matches!(self.mode, Mode::Queued | Mode::Running | Mode::Suspended)
    }

    /// Whether it holds a slot.
    #[inline]
    pub(crate) const fn has_slot(&self) -> bool {
        self.slot.is_some()
    }

    /// The die that its slot counts for, if it holds one.
    #[inline]
    pub(crate) const fn slot(&self) -> Option<DieId> {
        self.slot
    }

    /// The page being programmed, read or erased.
    #[inline]
    pub(crate) const fn ppn(&self) -> Option<Ppn> {
        self.ppn
    }

    /// Whether its current command waits in a queue of garbage collection, or came from one.
    #[inline]
    pub(crate) const fn in_gc_queue(&self) -> bool {
        self.in_gc_queue
    }

    /// The queue of its die where its current command waits or came from.
    #[inline]
    pub(crate) const fn queue(&self) -> u8 {
        self.queue
    }

    /// Whether its current command has this place in the queues of its die.
    pub(crate) fn is_at(&self, placement: &Placement, in_gc_queue: bool) -> bool {
        let place = (self.queue, self.key, self.in_gc_queue);
        place == (placement.queue, placement.key, in_gc_queue)
    }

    /// The key of its current command in that queue.
    #[inline]
    pub(crate) const fn key(&self) -> u64 {
        self.key
    }

    /// When its current command began to wait for its die.
    #[inline]
    pub(crate) const fn enqueued(&self) -> Time {
        self.enqueued
    }

    /// How often its current command has moved to another place in queues.
    #[inline]
    pub(crate) const fn rekeys(&self) -> u32 {
        self.rekeys
    }

    /// When its current command started.
    #[inline]
    pub(crate) const fn started(&self) -> Time {
        self.started
    }

    /// The place on the die where its current command is.
    #[inline]
    pub(crate) const fn place(&self) -> Place {
        self.place
    }

    /// The next set that the operation of its current command serves.
    #[inline]
    pub(crate) const fn rider(&self) -> Option<SetId> {
        self.rider
    }

    /// Of the first set of a page in an operation: how many of the page's codewords are moved.
    #[inline]
    pub(crate) const fn page_codewords(&self) -> u32 {
        self.page_codewords
    }
}

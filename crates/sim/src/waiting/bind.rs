//! The page of a read that is about to start, and programs that find no room.

use super::Waiting;
use crate::handle::SetId;
use crate::sets::{Mode, Stage};
use flashyard_core::policy::Happened;
use flashyard_core::units::{DieId, PlaneId, Ppn};

/// What a command that is about to start gets.
pub(crate) enum Bound {
    /// The page that it works on; none for a read of a never-written page.
    Page(Option<Ppn>),
    /// No page: the plane has no room for a program.
    NoRoom,
    /// No page: the run has failed.
    Refused,
    /// The data has moved to this plane of another die.
    Elsewhere(PlaneId),
}

impl Waiting<'_> {
    /// Binds the page of a read of this kind that is about to start on a die.
    #[inline(always)]
    pub(crate) fn bind_read(&mut self, stage: Stage, set: SetId, die: DieId) -> Bound {
        let target = match self.target_of(stage, set) {
            Some(target) => Some(target),
            // A read without translation names its page.
            None => self.ftl.unit_named(self.sets[set].lpn()),
        };
        match self.ftl.plane_now(target) {
            Some(plane) if self.settings.geometry.die_of_plane(plane) != die => {
                Bound::Elsewhere(plane)
            }
            Some(plane) if !self.ftl.is_dynamic() => {
                self.shift(set, plane);
                Bound::Page(target)
            }
            _ => Bound::Page(target),
        }
    }

    /// The unit that a read would find now.
    pub(super) fn read_target(&self, set: SetId) -> Option<Ppn> {
        self.target_of(self.sets.stage(set), set)
    }

    /// The same of a read of this kind.
    #[inline(always)]
    fn target_of(&self, stage: Stage, set: SetId) -> Option<Ppn> {
        let state = &self.sets[set];
        match stage {
            Stage::Read | Stage::OldRead | Stage::AheadRead => self.ftl.locate(state.lpn()),
            Stage::EvictRead | Stage::RewriteRead => self.ftl.locate_map(state.map_page()),
            Stage::Fetch => self.ftl.locate_entry(state.lpn()),
            Stage::CopyRead | Stage::MergeRead | Stage::FoldRead => state.source(),
            _ => None,
        }
    }

    /// A program that finds no room leaves the queue.
    pub(crate) fn withdraw(&mut self, set: SetId) {
        self.take_from_queue(set);
        let (place, op) = ((self.sets.die(set), set), self.sets.stage(set).op());
        self.queues.tell(Happened::Withdrawn, place, op, self.now);
    }

    /// It waits for an erase of its plane, to which it hands its rank on.
    pub(crate) fn await_room(&mut self, set: SetId) {
        self.account.room_awaited();
        self.ledger().enter(set, Mode::Waiting);
        self.hand_on_ranks(&[set], None);
    }
}

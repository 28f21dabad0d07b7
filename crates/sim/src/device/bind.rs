//! The page of a command that is about to start, and what becomes of one that finds no room.

#![expect(
    clippy::inline_always,
    reason = "a step of each command; a call costs as much as it does"
)]

use super::{Device, SimError};
use crate::ftl::{Binding, NandRule, Room};
use crate::handle::SetId;
use crate::sets::{Mode, Stage};
use flashyard_core::command::Op;
use flashyard_core::policy::Happened;
use flashyard_core::units::{DieId, PlaneId, Ppn};

/// What a command that is about to start gets.
pub(super) enum Bound {
    /// The page that it works on; none for a read of a never-written page.
    Page(Option<Ppn>),
    /// No page: the plane has no room for a program.
    NoRoom,
    /// No page: the run has failed.
    Refused,
    /// The data has moved to this plane of another die.
    Elsewhere(PlaneId),
}

impl Device {
    /// Binds the page of a command that is about to start on a die.
    #[inline(always)]
    pub(super) fn bind(&mut self, set: SetId, die: DieId) -> Bound {
        match self.sets.stage(set).op() {
            Op::Read => {
                let target = self.read_target(set).or_else(|| self.named_unit(set));
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
            Op::Erase => Bound::Page(self.sets[set].ppn()),
            Op::Program => self.bind_program(set),
        }
    }

    fn bind_program(&mut self, set: SetId) -> Bound {
        match self.ftl.bind_program(set, &self.sets) {
            Binding::Page(ppn) => Bound::Page(Some(ppn)),
            Binding::NewBlock(ppn) => {
                let plane = self.sets.plane(set);
                let charge = self.host.charge_of(self.sets[set].charge());
                self.let_ftl(|ftl, lent| ftl.block_taken(plane, charge, false, lent));
                Bound::Page(Some(ppn))
            }
            Binding::Full => Bound::NoRoom,
            Binding::Broken(rule) => {
                self.fail_program(set, rule);
                Bound::Refused
            }
        }
    }

    /// A program breaks a rule of NAND.
    #[cold]
    fn fail_program(&mut self, set: SetId, rule: NandRule) {
        let state = &self.sets[set];
        let (ppn, geometry) = (Ppn::new(state.lpn().get()), &self.settings.geometry);
        self.failed.get_or_insert(SimError::BrokenRule {
            order: self.sets.order_of(set).expect("the host's"),
            die: geometry.die_of(ppn).get(),
            block: geometry.block_of(ppn).get() % (geometry.planes * geometry.blocks_per_plane),
            page: geometry.page_in_block(ppn),
            rule,
        });
    }

    /// The page that a read without translation names.
    fn named_unit(&self, set: SetId) -> Option<Ppn> {
        self.ftl.unit_named(self.sets[set].lpn())
    }

    /// The unit that a read would find now.
    #[inline(always)]
    pub(super) fn read_target(&self, set: SetId) -> Option<Ppn> {
        let state = &self.sets[set];
        match self.sets.stage(set) {
            Stage::Read | Stage::OldRead | Stage::AheadRead => self.ftl.locate(state.lpn()),
            Stage::EvictRead | Stage::RewriteRead => self.ftl.locate_map(state.map_page()),
            Stage::Fetch => self.ftl.locate_entry(state.lpn()),
            Stage::CopyRead | Stage::MergeRead | Stage::FoldRead => state.source(),
            _ => None,
        }
    }

    /// A program finds no room on its plane: it waits for an erase, or goes to another plane.
    pub(super) fn wait_for_room(&mut self, set: SetId) {
        let plane = self.sets.plane(set);
        let charge = self.host.charge_of(self.sets[set].charge());
        let (room, from) = self.ask_ftl(|ftl, lent| ftl.seek_room(set, charge, lent));
        match room {
            Room::NoReserve => self.failed = Some(SimError::NoReserve { plane: plane.get() }),
            Room::Elsewhere(other) => self.follow(set, other),
            Room::None | Room::Awaited => {
                self.take_from_queue(set);
                let (place, op) = ((self.sets.die(set), set), self.sets.stage(set).op());
                self.queues.tell(Happened::Withdrawn, place, op, self.now);
                self.carry_out(from);
                if room == Room::None {
                    self.failed = Some(self.no_room(plane));
                    return;
                }
                self.account.room_awaited();
                self.ledger().enter(set, Mode::Waiting);
                self.hand_on_ranks(&[set], None);
            }
        }
    }
}

//! The page of a command that is about to start, others that the same operation serves, and what
//! becomes of a program that finds no room.

#![expect(
    clippy::inline_always,
    reason = "a step of each command; a call costs as much as it does"
)]

use super::{Device, SimError};
use crate::ftl::{Binding, NandRule, Room};
use crate::handle::SetId;
use crate::sets::Stage;
use crate::waiting::bind::Bound;
use flashyard_core::command::Op;
use flashyard_core::units::{DieId, PlaneId, Ppn};

impl Device {
    /// Binds the page of a command of this kind that is about to start on a die.
    #[inline(always)]
    pub(super) fn bind(&mut self, stage: Stage, set: SetId, die: DieId) -> Bound {
        match stage.op() {
            Op::Read => self.waiting().bind_read(stage, set, die),
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
        let (ppn, geometry) = (Ppn::new(self.sets[set].lpn().get()), &self.settings.geometry);
        let order = self.sets.order_of(set).expect("the host's");
        self.failed.get_or_insert(SimError::broken_rule(order, ppn, geometry, rule));
    }

    /// Lets waiting commands ride along with `leader`, whose unit is `ppn`.
    pub(super) fn gather(&mut self, leader: SetId, die: DieId, ppn: Option<Ppn>) {
        let stage = self.sets.stage(leader);
        if stage.op() == Op::Read && self.queues.is_empty(die) {
            return;
        }
        let mut last = leader;
        if !self.waiting().gather(leader, die, ppn, &mut last) {
            return;
        }
        let (own, geometry) = (self.sets.plane(leader), &self.settings.geometry);
        let first = geometry.first_plane(die).get();
        for plane in (first..first + geometry.planes).map(PlaneId::new).filter(|p| *p != own) {
            let Some(set) = self.waiting().beside(stage, (die, plane), ppn) else { continue };
            let Bound::Page(page) = self.bind(stage, set, die) else { continue };
            self.waiting().join(set, (die, plane), page, &mut last);
        }
    }

    /// A program finds no room on its plane: it waits for an erase, or goes to another plane.
    #[cold]
    pub(super) fn wait_for_room(&mut self, set: SetId) {
        let plane = self.sets.plane(set);
        let charge = self.host.charge_of(self.sets[set].charge());
        let (room, from) = self.ask_ftl(|ftl, lent| ftl.seek_room(set, charge, lent));
        match room {
            Room::NoReserve => self.failed = Some(SimError::NoReserve { plane: plane.get() }),
            Room::Elsewhere(other) => self.waiting().follow(set, other),
            Room::None | Room::Awaited => {
                self.waiting().withdraw(set);
                self.carry_out(from);
                if room == Room::Awaited {
                    return self.waiting().await_room(set);
                }
                let geometry = &self.settings.geometry;
                self.failed = Some(SimError::no_room(plane, geometry, &self.ftl));
            }
        }
    }
}

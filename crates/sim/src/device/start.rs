//! A die takes a command: the operation is put together.

use super::Device;
use crate::handle::SetId;
use crate::sets::{Collects, Mode, Stage};
use flashyard_core::command::Op;
use flashyard_core::units::{DieId, Ppn};

impl Device {
    /// The die takes a command, and with it whatever else one operation can serve.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "compiled for two kinds of commands")]
    pub(super) fn start(&mut self, stage: Stage, set: SetId, die: DieId, ppn: Option<Ppn>) {
        let op = stage.op();
        let slc = self.flash.has_slc() && self.ftl.is_slc(ppn);
        let collects = Collects::of(stage.purpose(false));
        self.flash.take(die, set, (op, collects, slc), self.now);
        if self.short_road {
            self.sets.track_mut(set).taken(self.flash.busy(die, self.now), self.now);
        } else {
            if self.flash.limits_power() {
                self.waiting().take_power(die, op);
            }
            self.ledger().enter(set, Mode::Running);
        }
        let codewords = self.waiting().board_as(stage, set, ppn, true);
        if !self.short_road && self.account.is_watched() {
            self.teller().operation_began(set, die, op);
        }
        if self.queues.gathers() {
            self.gather(set, die, ppn);
        }
        self.waiting().plan_operation(set, die, stage, (ppn, codewords));
        self.phases_began();
        if !self.short_road && self.account.is_watched() {
            self.waiting().check_pages(set);
        }
        if op == Op::Program && self.ftl.is_paced() {
            self.owe_copies(set);
        }
    }

    /// With pacing, an operation that programs has begun on a die: what it writes owes copies.
    fn owe_copies(&mut self, leader: SetId) {
        self.for_riders(Some(leader), |device, set| {
            let (charge, state) = (device.sets[set].charge(), &device.sets[set]);
            if state.page_codewords() > 0 && !device.sets.stage(set).is_copy() {
                let (plane, charge) = (device.sets.plane(set), device.host.charge_of(charge));
                device.let_ftl(|ftl, lent| ftl.block_taken(plane, charge, true, lent));
            }
        });
    }
}

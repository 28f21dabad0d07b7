//! What dies do when their array or their page register is due.

use super::Device;
use crate::flash::ArrayEnd;
use crate::sets::Place;
use flashyard_core::units::DieId;

impl Device {
    /// A die may be due: its array, its page register, or both.
    #[inline]
    pub(super) fn die_event(&mut self, die: DieId) {
        let [array, output] = self.flash.take_due(die, self.now);
        if array {
            self.array_done(die);
        }
        if output {
            let (operation, follows) = self.flash.output_done(die, self.now);
            self.operation_over(&operation, die);
            if follows {
                self.flash.release(die);
                self.released(die);
            }
        }
    }

    /// The array of a die is done with its operation, or on its way from a suspended one.
    #[inline]
    fn array_done(&mut self, die: DieId) {
        if self.flash.has_requests() || self.account.is_watched() {
            return self.told_array_done(die);
        }
        let end = self.flash.array_done(die, self.now);
        self.array_ended(die, &end);
    }

    /// The same where somebody is told, or the controller has to get to know that.
    #[cold]
    fn told_array_done(&mut self, die: DieId) {
        let (finished, end) = if self.flash.has_requests() {
            let done = self.flash.requests_array_done(die, self.now);
            self.phases_began();
            done
        } else {
            let end = self.flash.array_done(die, self.now);
            (!matches!(end, ArrayEnd::Paused), end)
        };
        if finished {
            self.account.array_over(self.now, die);
        }
        self.array_ended(die, &end);
    }

    /// What becomes of the operation in the array of a die.
    #[inline]
    fn array_ended(&mut self, die: DieId, end: &ArrayEnd) {
        match end {
            ArrayEnd::Paused => self.queues.stir(die),
            ArrayEnd::Over(operation) => self.operation_over(operation, die),
            ArrayEnd::Released => self.released(die),
            ArrayEnd::Unknown | ArrayEnd::Held => {}
        }
    }

    /// What the array has sensed is in the page register and goes on to the channel. With cache
    /// read the command that senses on goes first, and the data follow while the array works.
    #[expect(clippy::inline_always, reason = "a step of each read; a call costs as much")]
    #[inline(always)]
    fn released(&mut self, die: DieId) {
        self.account.released(die);
        let leader = self.flash.operation(die, Place::Output).leader();
        self.sets.stand(leader, Place::Output);
        if self.flash.reads_ahead() && !self.waiting().is_unwanted(die) {
            self.dispatch(die);
            self.waiting().stir(die);
        }
        self.flash.send_out(die, self.now);
        self.phases_began();
    }
}

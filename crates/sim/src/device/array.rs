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
            let operation = self.flash.output_done(die, self.now);
            self.operation_over(&operation, die);
            if self.flash.register_free(die, self.now) {
                self.released(die);
            }
        }
    }

    /// The array of a die is done with its operation, or on its way from a suspended one.
    #[inline]
    fn array_done(&mut self, die: DieId) {
        if self.flash.has_requests() {
            return self.requests_array_done(die);
        }
        let end = self.flash.array_done(die, self.now);
        if !matches!(end, ArrayEnd::Paused) {
            self.account.array_over(self.now, die);
        }
        self.array_ended(die, &end);
    }

    /// The array of a die is done with its operation, or the controller gets to know that.
    #[cold]
    fn requests_array_done(&mut self, die: DieId) {
        let (finished, end) = self.flash.requests_array_done(die, self.now);
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

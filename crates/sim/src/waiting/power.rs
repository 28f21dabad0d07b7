//! The power that dies need to begin a command, where it is limited.

use super::Waiting;
use crate::flash::Power;
use flashyard_core::command::Op;
use flashyard_core::units::DieId;

impl Waiting<'_> {
    /// Whether a die has, or may take, the power of its next command; if not it stands in line.
    #[inline(never)]
    pub(crate) fn has_power(&mut self, die: DieId, op: Op) -> bool {
        match self.flash.power_for(die, op, self.now) {
            Power::Granted => true,
            Power::JoinsLine => {
                self.account.power_awaited();
                false
            }
            Power::InLine => false,
        }
    }

    /// A die takes the power of the command that it has taken.
    pub(crate) fn take_power(&mut self, die: DieId, op: Op) {
        let waited = self.flash.take_power(die, op, self.now);
        self.ledger().power_granted(die, waited);
    }

    /// A die leaves the line: it has begun an operation, or has none to begin now.
    pub(crate) fn leave_line(&mut self, die: DieId) {
        let waited = self.flash.leave_line(die, self.now);
        self.ledger().power_granted(die, waited);
    }
}

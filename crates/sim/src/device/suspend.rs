//! Suspension: a program or an erase makes way for a read. Phases that have got their channel are
//! followed here, since reads that wait behind them ask for that.

use super::Device;
use flashyard_core::units::DieId;

impl Device {
    /// A program or an erase makes way for a read that would be served next, if it may.
    pub(super) fn suspend_for_read(&mut self, die: DieId) {
        if self.flash.is_suspendable(die, self.now) {
            let lines_wait = self.buffer.as_ref().map(|buffer| buffer.has_waiting());
            self.waiting().suspend_for_read(die, lines_wait);
        }
    }

    /// Phases have got the channel: the checker sees them, and reads that wait behind programs and
    /// erases ask for their suspension.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a step of each command; a call costs as much")]
    pub(super) fn phases_began(&mut self) {
        if self.flash.has_news() {
            self.follow_phases();
        }
    }

    fn follow_phases(&mut self) {
        self.waiting().follow_channels();
        while let Some(die) = self.flash.next_granted() {
            self.suspend_for_read(die);
        }
    }
}

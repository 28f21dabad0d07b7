//! Suspension: a program or an erase makes way for a read, and goes on. Phases that have got their
//! channel are followed here, since reads that wait behind them ask for that.

use super::Device;
use crate::flash::Suspension;
use crate::host::Timer;
use flashyard_core::units::DieId;

impl Device {
    /// A program or an erase makes way for a read that would be served next, if it may.
    pub(super) fn suspend_for_read(&mut self, die: DieId) {
        if !self.flash.is_suspendable(die, self.now) {
            return;
        }
        let next = self.waiting().next_command(die);
        if !next.is_some_and(|set| self.waiting().is_read_of_request(set)) {
            return;
        }
        if self.ftl.holds_reads() && self.writes_wait(die) {
            return;
        }
        match self.flash.suspend(die, self.now) {
            Suspension::No => {}
            Suspension::Later(at) => self.host.set_timer(at, Timer::Suspendable(die)),
            Suspension::Begun(operation, ready) => {
                self.teller().suspended(die, &operation, ready);
            }
        }
    }

    /// Whether writes wait for lines of the buffer or, without one, programs of the die for copies.
    fn writes_wait(&mut self, die: DieId) -> bool {
        match &self.buffer {
            Some(buffer) => buffer.has_waiting(),
            None => self.waiting().programs_wait(die),
        }
    }

    /// The suspended operation of a die goes on.
    pub(super) fn resume(&mut self, die: DieId) {
        let (leader, works) = self.flash.resume(die, self.now);
        self.teller().resumed(die, leader, works);
    }

    /// The operation of a die may be suspended from now on.
    pub(super) fn suspendable(&mut self, die: DieId) {
        self.flash.looked_at(die);
        self.queues.stir(die);
    }

    /// Phases have got the channel: the checker sees them, and reads that wait behind programs and
    /// erases ask for their suspension.
    #[inline]
    pub(super) fn phases_began(&mut self) {
        if self.flash.has_news() {
            self.follow_phases();
        }
    }

    fn follow_phases(&mut self) {
        while let Some(transfer) = self.flash.next_transfer() {
            self.teller().transferred(&transfer);
        }
        if self.flash.has_requests() {
            while let Some(carried) = self.flash.next_carried() {
                self.teller().request_carried(&carried);
            }
            self.account.record_bus(self.now);
        }
        while let Some(die) = self.flash.next_granted() {
            self.suspend_for_read(die);
        }
    }
}

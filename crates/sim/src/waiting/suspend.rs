//! Suspension: a program or an erase makes way for a read, and goes on.

use super::Waiting;
use crate::flash::Suspension;
use crate::host::Timer;
use flashyard_core::units::{DieId, PlaneId};

impl Waiting<'_> {
    /// A program or an erase that can be suspended makes way for a read of a request, if its die
    /// would take one next. Where reads are held while writes wait, these are writes that wait for
    /// lines of the buffer (`lines_wait`) or, without a buffer, programs of the die that wait for
    /// copies.
    pub(crate) fn suspend_for_read(&mut self, die: DieId, lines_wait: Option<bool>) {
        if !self.next_command(die).is_some_and(|set| self.is_read_of_request(set)) {
            return;
        }
        if self.ftl.holds_reads() && lines_wait.unwrap_or_else(|| self.programs_wait(die)) {
            return;
        }
        match self.flash.suspend(die, self.now) {
            Suspension::No => {}
            Suspension::Later(at) => self.host.set_timer(at, Timer::Suspendable(die)),
            Suspension::Begun(operation, ready) => self.ledger().suspended(die, &operation, ready),
        }
    }

    /// Whether programs of a die wait for copies.
    fn programs_wait(&self, die: DieId) -> bool {
        let geometry = &self.settings.geometry;
        let first = geometry.first_plane(die).get();
        let mut planes = (first..first + geometry.planes).map(PlaneId::new);
        planes.any(|plane| self.ftl.is_held(plane, self.sets))
    }

    /// The suspended operation of a die goes on.
    pub(crate) fn resume(&mut self, die: DieId) {
        let (leader, works) = self.flash.resume(die, self.now);
        self.ledger().resumed(die, leader, works);
    }

    /// The operation of a die may be suspended from now on.
    pub(crate) fn suspendable(&mut self, die: DieId) {
        self.flash.looked_at(die);
        self.queues.stir(die);
    }

    /// What channels have begun to carry is shown to those who watch.
    pub(crate) fn follow_channels(&mut self) {
        while let Some(transfer) = self.flash.next_transfer() {
            self.ledger().transferred(&transfer);
        }
        if self.flash.has_requests() {
            while let Some(carried) = self.flash.next_carried() {
                self.ledger().request_carried(&carried);
            }
            self.account.record_bus(self.now);
        }
    }
}

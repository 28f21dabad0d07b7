//! Suspension: a program or an erase makes way for a read, and goes on. Phases that have got their
//! channel are followed here, since reads that wait behind them ask for that.

use super::Device;
use crate::flash::Suspension;
use crate::host::Timer;
use crate::sets::{Mode, Operation, Place};
use flashyard_core::command::Op;
use flashyard_core::units::{DieId, PlaneId, Time};

impl Device {
    /// A program or an erase makes way for a read that would be served next, if it may.
    pub(super) fn suspend_for_read(&mut self, die: DieId) {
        if !self.flash.is_suspendable(die, self.now) {
            return;
        }
        let next = self.waiting().next_command(die).filter(|&set| !self.sets[set].in_gc_queue());
        if next.is_none_or(|set| self.sets.stage(set).op() != Op::Read) {
            return;
        }
        if self.ftl.holds_reads() && self.writes_wait(die) {
            return;
        }
        match self.flash.suspend(die, self.now) {
            Suspension::No => {}
            Suspension::Later(at) => self.host.set_timer(at, Timer::Suspendable(die)),
            Suspension::Begun(operation, ready) => self.suspended(die, &operation, ready),
        }
    }

    /// Whether writes wait for lines of the buffer or, without one, programs of the die for copies.
    fn writes_wait(&self, die: DieId) -> bool {
        if let Some(buffer) = &self.buffer {
            return buffer.first_waiting().is_some();
        }
        let geometry = &self.settings.geometry;
        let first = geometry.first_plane(die).get();
        let mut planes = (first..first + geometry.planes).map(PlaneId::new);
        planes.any(|plane| self.ftl.is_held(plane, &self.sets))
    }

    /// The operation of a die has been suspended; the array is free at `ready`.
    fn suspended(&mut self, die: DieId, operation: &Operation, ready: Time) {
        self.account.operation_suspended();
        if self.account.records_power() {
            let planes = self.sets.pages_of(operation.leader());
            self.account.record_suspended(self.now, die, operation, planes);
        }
        self.account.suspended(self.now, die, false);
        self.for_riders(operation.leader(), |device, set| {
            device.ledger().close_with(set, operation);
            device.ledger().enter(set, Mode::Suspended);
            device.sets.stand(set, Place::Suspended);
        });
        self.teller().tell_suspension(die, operation.leader(), ready, false);
    }

    /// The suspended operation of a die goes on.
    pub(super) fn resume(&mut self, die: DieId) {
        let (leader, works) = self.flash.resume(die, self.now);
        self.account.suspended(self.now, die, true);
        self.for_riders(leader, |device, set| {
            device.ledger().enter(set, Mode::Running);
            device.sets.stand(set, Place::Array);
        });
        self.teller().tell_suspension(die, leader, works, true);
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
            let (span, out) = ((transfer.from, transfer.until), transfer.place == Place::Output);
            self.account.transferred(transfer.channel, transfer.die, span, out);
            if self.account.is_followed() {
                self.teller().tell_channel(&transfer);
            }
        }
        if self.flash.has_requests() {
            self.follow_requests();
        }
        while let Some(die) = self.flash.next_granted() {
            self.suspend_for_read(die);
        }
    }

    /// Shows requests that have got a bus to those who watch.
    #[cold]
    fn follow_requests(&mut self) {
        let recorded = self.account.records_power();
        while let Some(carried) = self.flash.next_carried() {
            if recorded && carried.until > carried.from {
                self.work.transfers.push((carried.from, carried.until));
            }
            if self.account.is_observed() {
                self.teller().tell_request(&carried);
            }
        }
        let (now, account) = (self.now, &mut self.account);
        self.work.transfers.retain(|&(from, until)| {
            if until <= now {
                account.record_transfer(from, until);
            }
            until > now
        });
    }
}

//! What the account is told of passing time: idle, sleep, and what else is recorded.

use super::{Ledger, Teller};
use crate::account::{FtlFigures, Passed};
use crate::ftl::Ftl;
use crate::sleep::Load;
use flashyard_core::units::Time;

/// What the time series shows of the FTL.
pub(crate) fn ftl_figures(ftl: &Ftl) -> FtlFigures {
    FtlFigures { free_blocks: ftl.all_free(), merges: ftl.merges() }
}

impl Teller<'_> {
    /// Measured time goes on to an instant, and nothing changes before, on a device that is idle or
    /// recorded, or that may sleep or takes power for its own work (`states`).
    pub(crate) fn time_passes(&mut self, to: Time, states: bool) {
        let passed = self.passed();
        if states {
            return self.states_pass(to, passed);
        }
        let (Ledger { now, flash, account, .. }, ftl) = (&mut self.ledger, self.ftl);
        let from = *now;
        let pending = || flash.oldest_operation().min(to);
        account.time_passes(to, passed, || ftl_figures(ftl), pending);
        if passed.outstanding == 0 {
            self.rests(from, to, passed);
        }
    }

    /// What the device has to do.
    #[inline]
    fn passed(&self) -> Passed {
        let outstanding = self.host.outstanding();
        let active = outstanding > 0 || self.ledger.sets.live() > 0;
        Passed { outstanding, phase: self.host.phase(), active }
    }

    /// No request was outstanding between two instants.
    #[inline]
    fn rests(&mut self, from: Time, to: Time, passed: Passed) {
        let busy = (passed.phase, passed.active);
        self.ledger.account.rested(from, to, busy, || self.ftl.merges());
    }

    /// The same on a device that may sleep or takes power for its own work.
    #[cold]
    fn states_pass(&mut self, to: Time, passed: Passed) {
        let (mut from, flash, ftl) = (self.ledger.now, self.ledger.flash, self.ftl);
        self.ledger.account.reclaimed(from, to, passed.phase);
        let load = match passed.active {
            true => Load::Busy,
            false if self.is_work_due() => Load::Held,
            false => Load::Idle,
        };
        while let Some(stretch) = self.host.passes(from, to, load) {
            let pending = || flash.oldest_operation().min(stretch.until);
            self.ledger.account.dozed(&stretch, passed, || ftl_figures(ftl), pending);
            if passed.outstanding == 0 && stretch.until > from {
                self.rests(from, stretch.until, passed);
            }
            from = from.max(stretch.until);
        }
    }

    /// Whether a timer or idle work is pending.
    fn is_work_due(&self) -> bool {
        self.host.next_timer().min(self.ftl.idle_due()) < Time::MAX
    }

    /// Assigns the accesses to memory since the last look to the current phase.
    pub(crate) fn see_accesses(&mut self) {
        let (now, phase) = (self.ledger.now, self.host.phase());
        self.ledger.account.see_accesses(now, phase, || self.ftl.merges());
    }
}

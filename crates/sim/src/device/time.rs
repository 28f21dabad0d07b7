//! What the account is told of passing time: idle, sleep, and what else is recorded.

use super::Device;
use crate::account::{FtlFigures, Passed};
use crate::flash::Flash;
use crate::ftl::Ftl;
use crate::sleep::Load;
use flashyard_core::units::Time;

/// The earliest instant at which something began that the power meter has not been told of; `now`
/// where all is told.
fn pending_since(flash: &Flash, transfers: &[(Time, Time)], now: Time) -> Time {
    transfers.iter().map(|&(from, _)| from).fold(flash.oldest_operation().min(now), Time::min)
}

/// What the time series shows of the FTL.
pub(super) fn ftl_figures(ftl: &Ftl) -> FtlFigures {
    FtlFigures { free_blocks: ftl.all_free(), merges: ftl.merges() }
}

impl Device {
    /// Measured time goes on to `now`, and nothing changes before.
    #[inline]
    pub(super) fn time_passes(&mut self, now: Time) {
        if self.follows_states || self.host.outstanding() == 0 || self.account.records_power() {
            self.account_for_time(now);
        }
    }

    /// The same where somebody wants to know it: a device that is idle, sleeps, or is recorded.
    fn account_for_time(&mut self, now: Time) {
        let passed = self.passed();
        if self.follows_states {
            return self.states_pass(now, passed);
        }
        let (ftl, flash, transfers) = (&self.ftl, &self.flash, &self.work.transfers);
        self.account.time_passes(
            now,
            passed,
            || ftl_figures(ftl),
            || pending_since(flash, transfers, now),
        );
        if passed.outstanding == 0 {
            self.rests(self.now, now, passed);
        }
    }

    /// When a drained device rests: what reads have left in the buffer may still be put.
    pub(super) fn rests_at(&self) -> Time {
        self.buffer.as_ref().map_or(self.now, |buffer| buffer.ports().rest().max(self.now))
    }

    /// What the device has to do.
    #[inline]
    fn passed(&self) -> Passed {
        let outstanding = self.host.outstanding();
        let active = outstanding > 0 || self.sets.live() > 0;
        Passed { outstanding, phase: self.host.phase(), active }
    }

    /// No request was outstanding between two instants.
    #[inline]
    fn rests(&mut self, from: Time, to: Time, passed: Passed) {
        self.account.rested(from, to, (passed.phase, passed.active), || self.ftl.merges());
    }

    /// The same on a device that may sleep or takes power for its own work.
    #[cold]
    fn states_pass(&mut self, now: Time, passed: Passed) {
        self.account.reclaimed(self.now, now, passed.phase);
        let load = match passed.active {
            true => Load::Busy,
            false if self.is_work_due() => Load::Held,
            false => Load::Idle,
        };
        let mut from = self.now;
        while let Some(stretch) = self.host.passes(from, now, load) {
            let (ftl, flash, transfers) = (&self.ftl, &self.flash, &self.work.transfers);
            self.account.dozed(
                &stretch,
                passed,
                || ftl_figures(ftl),
                || pending_since(flash, transfers, stretch.until),
            );
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
    pub(super) fn see_accesses(&mut self) {
        let phase = self.host.phase();
        self.account.see_accesses(self.now, phase, || self.ftl.merges());
    }
}

//! What the account is told of other rooms: over time, between phases, at the end of a run.

use super::upkeep::Upkeep;
use super::{Device, SimError};
use crate::account::{EndState, FtlFigures, Passed, Usage};
use crate::flash::Flash;
use crate::ftl::Ftl;
use crate::initial;
use crate::parts::memory::Footprint;
use crate::report::{BusReport, Report, Wear};
use crate::sleep::{Load, Stretch};
use flashyard_core::units::Time;

impl Device {
    /// The report over all measured phases.
    pub fn finish(mut self) -> Result<Report, SimError> {
        if self.settings.keys.ftl.finish {
            self.upkeep(Upkeep::Merge)?;
            self.upkeep(Upkeep::FlushMap)?;
        }
        if self.settings.keys.gc.restore {
            self.upkeep(Upkeep::Restore)?;
        }
        if let Some(checker) = self.account.take_checker() {
            let map = self.ftl.map();
            map.audit();
            checker.finish(|lpn| map.lookup(lpn), |units| map.are_unmapped(units));
            if let Some(is_dirty) = self.ftl.dirty_entries() {
                checker.finish_map(is_dirty);
            }
        }
        let end = self.end_state();
        self.account.report(&end).ok_or(SimError::TooMuchEnergy)
    }

    fn end_state(&self) -> EndState {
        let (settings, ftl) = (&self.settings, &self.ftl);
        let lines = self.buffer.as_ref().map(|buffer| buffer.lines());
        EndState {
            ftl: ftl_figures(&self.ftl),
            wear: self.wear(),
            footprint: Footprint::of(settings),
            cleaned: self.ftl.batch_cleaned(),
            buffer_units: lines.map_or(0, |lines| lines.units().into()),
            dirty_units: lines.map_or(0, |lines| lines.dirty().into()),
            initial: settings.keys.state.initial.word(),
            effective_over_provisioning: ftl
                .is_page_map()
                .then(|| initial::effective_over_provisioning(settings)),
            bus: self
                .flash
                .status_requests()
                .map(|[status_requests, busy_answers]| BusReport { status_requests, busy_answers }),
            energy: None,
        }
    }

    fn wear(&self) -> Wear {
        let blocks = self.ftl.blocks();
        let planes = self.ftl.planes();
        let factory = u64::from(self.settings.factory_bad_blocks)
            * u64::from(self.settings.geometry.all_planes());
        Wear {
            factory_bad_blocks: factory,
            grown_bad_blocks: planes.map(|plane| u64::from(blocks.worn_out(plane))).sum(),
            ..Wear::of(blocks.usable_erase_counts())
        }
    }

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

    /// What the device has to do.
    #[inline]
    fn passed(&self) -> Passed {
        let outstanding = self.host.outstanding();
        let active = outstanding > 0 || self.sets.live() > 0;
        Passed { outstanding, phase: self.phase(), active }
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
        loop {
            let awake = Stretch::awake(from, now);
            let stretch = if self.host.may_sleep() {
                self.host.doze(now, load)
            } else {
                (from < now).then_some(awake)
            };
            let Some(stretch) = stretch else { break };
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
        self.host.timers.next().min(self.ftl.idle_due()) < Time::MAX
    }

    /// Work that no request asks for begins: a device that sleeps wakes first.
    pub(super) fn be_awake(&mut self) {
        let awake = self.host.wake(self.now);
        if awake > self.now {
            self.begin_instant(awake);
        } else if self.follows_states {
            self.time_passes(self.now);
        }
    }

    /// Assigns the accesses to memory since the last look to the current phase.
    pub(super) fn see_accesses(&mut self) {
        let phase = self.phase();
        self.account.see_accesses(self.now, phase, || self.ftl.merges());
    }

    /// The work that dies and channels have done until now.
    pub(super) fn usage(&self) -> Usage {
        Usage {
            dies: self.flash.worked(self.now).collect(),
            channels: self.flash.carried(self.now).collect(),
        }
    }
}

/// The earliest instant at which something began that the power meter has not been told of; `now`
/// where all is told.
fn pending_since(flash: &Flash, transfers: &[(Time, Time)], now: Time) -> Time {
    transfers.iter().map(|&(from, _)| from).fold(flash.oldest_operation().min(now), Time::min)
}

/// What the time series shows of the FTL.
pub(super) fn ftl_figures(ftl: &Ftl) -> FtlFigures {
    FtlFigures { free_blocks: ftl.all_free(), merges: ftl.merges() }
}

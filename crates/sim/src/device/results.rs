//! What the account is told of other rooms: over time, between phases, at the end of a run.

use super::upkeep::Upkeep;
use super::{Device, SimError};
use crate::account::{EndState, FtlFigures, Usage};
use crate::ftl::Ftl;
use crate::ftl::memory::Footprint;
use crate::initial;
use crate::report::{BusReport, Report, Wear};
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
            if self.ftl.has_cache() {
                checker.finish_map(|lpn| self.ftl.is_entry_dirty(lpn));
            }
        }
        let end = self.end_state();
        self.account.report(&end).ok_or(SimError::TooMuchEnergy)
    }

    fn end_state(&self) -> EndState {
        let (settings, ftl) = (&self.settings, &self.ftl);
        let page_map = !ftl.is_planned() && !ftl.is_raw();
        let lines = self.buffer.as_ref().map(|buffer| buffer.lines());
        EndState {
            ftl: ftl_figures(&self.ftl),
            wear: self.wear(),
            footprint: Footprint::of(settings),
            cleaned: self.ftl.batch_cleaned(),
            buffer_units: lines.map_or(0, |lines| lines.units().into()),
            dirty_units: lines.map_or(0, |lines| lines.dirty().into()),
            initial: settings.keys.state.initial.word(),
            effective_over_provisioning: page_map
                .then(|| initial::effective_over_provisioning(settings)),
            bus: self
                .flash
                .status_requests()
                .map(|[status_requests, busy_answers]| BusReport { status_requests, busy_answers }),
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
        let (outstanding, busy) = (self.host.outstanding(), self.sets.live() > 0);
        let active = outstanding > 0 || busy;
        self.account.time_passes(now, outstanding, active, || ftl_figures(&self.ftl));
        if outstanding == 0 {
            let phase = self.phase();
            self.account.rested(self.now, now, (phase, busy), || self.ftl.merges());
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

/// What the time series shows of the FTL.
pub(super) fn ftl_figures(ftl: &Ftl) -> FtlFigures {
    FtlFigures { free_blocks: ftl.all_free(), merges: ftl.merges() }
}

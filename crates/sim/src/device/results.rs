//! What the account is told of other rooms: over time, between phases, at the end of a run.

use super::upkeep::Upkeep;
use super::{Device, SimError};
use crate::account::{EndState, FtlFigures, Usage};
use crate::ftl::Ftl;
use crate::ftl::layer::MergeCounts;
use crate::ftl::map_cache::MapCache;
use crate::ftl::memory::Footprint;
use crate::initial;
use crate::report::{Report, Wear};
use flashyard_core::units::{PlaneId, Time};

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
            self.ftl.map.audit();
            checker.finish(&self.ftl.map);
            if let Some(cache) = &self.ftl.cache {
                checker.finish_map(|lpn| cache.is_dirty(lpn));
            }
        }
        let end = self.end_state();
        self.account.report(&end).ok_or(SimError::TooMuchEnergy)
    }

    fn end_state(&self) -> EndState {
        let (settings, page_map) = (&self.settings, self.ftl.layered.is_none());
        let lines = self.buffer.as_ref().map(|buffer| &buffer.lines);
        EndState {
            ftl: ftl_figures(&self.ftl),
            wear: self.wear(),
            footprint: Footprint::of(settings),
            cleaned: self.cleaned_lines(),
            buffer_units: lines.map_or(0, |lines| lines.units().into()),
            dirty_units: lines.map_or(0, |lines| lines.dirty().into()),
            initial: settings.keys.state.initial.word(),
            made: self.ftl.made,
            effective_over_provisioning: page_map
                .then(|| initial::effective_over_provisioning(settings)),
        }
    }

    fn wear(&self) -> Wear {
        let blocks = &self.ftl.map.blocks;
        let planes = (0..self.ftl.planes.len()).map(PlaneId::from_index);
        let factory = u64::from(self.settings.factory_bad_blocks) * self.ftl.planes.len() as u64;
        Wear {
            factory_bad_blocks: factory,
            grown_bad_blocks: planes.map(|plane| u64::from(blocks.worn_out(plane))).sum(),
            ..Wear::of(blocks.usable_erase_counts())
        }
    }

    /// Lines of the map cache that were cleaned along with others.
    pub(super) fn cleaned_lines(&self) -> u64 {
        self.ftl.cache.as_ref().map_or(0, MapCache::batch_cleaned)
    }

    /// Measured time goes on to `now`, and nothing changes before.
    #[inline]
    pub(super) fn time_passes(&mut self, now: Time) {
        let (outstanding, busy) = (self.host.outstanding, self.sets.graph.live() > 0);
        let active = outstanding > 0 || busy;
        self.account.time_passes(now, outstanding, active, || ftl_figures(&self.ftl));
        if outstanding == 0 {
            let phase = self.phase();
            self.account.rested(self.now, now, (phase, busy), || merges(&self.ftl));
        }
    }

    /// Assigns the accesses to memory since the last look to the current phase.
    pub(super) fn see_accesses(&mut self) {
        let phase = self.phase();
        self.account.see_accesses(self.now, phase, || merges(&self.ftl));
    }

    /// The work that dies and channels have done until now.
    pub(super) fn usage(&self) -> Usage {
        Usage {
            dies: self.flash.worked(self.now).collect(),
            channels: self.flash.carried(self.now).collect(),
        }
    }
}

/// What translation layers did in measured phases.
fn merges(ftl: &Ftl) -> MergeCounts {
    let layered = ftl.layered.as_ref();
    layered.map_or_else(MergeCounts::default, |layered| layered.counts().since(&layered.unmeasured))
}

/// What the time series shows of the FTL.
pub(super) fn ftl_figures(ftl: &Ftl) -> FtlFigures {
    let planes = (0..ftl.planes.len()).map(PlaneId::from_index);
    let free_blocks = planes.map(|plane| u64::from(ftl.map.blocks.free_blocks(plane))).sum();
    FtlFigures { free_blocks, merges: merges(ftl) }
}

//! The report over all measured phases.

use super::upkeep::Upkeep;
use super::{Device, SimError};
use crate::account::EndState;
use crate::initial;
use crate::ledger::ftl_figures;
use crate::parts::memory::Footprint;
use crate::report::{BusReport, Report, Wear};

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
        self.teller().end_check();
        let end = self.end_state();
        self.account.report(&end).ok_or(SimError::TooMuchEnergy)
    }

    fn end_state(&self) -> EndState {
        let (settings, ftl) = (&self.settings, &self.ftl);
        let lines = self.buffer.as_ref().map(|buffer| buffer.lines());
        EndState {
            ftl: ftl_figures(&self.ftl),
            wear: Wear::of_device(ftl.blocks(), settings),
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
            slc: settings.slc.map(|_| ftl.blocks().cached_data()),
            energy: None,
            zones: ftl
                .seen_zones()
                .map(|zones| zones.zones_report(settings.geometry.unit_bytes().into())),
        }
    }
}

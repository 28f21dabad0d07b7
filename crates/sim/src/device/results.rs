//! The report over all measured phases.

use super::upkeep::Upkeep;
use super::{Device, SimError};
use crate::report::Report;

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
        let end = self.teller().end_state();
        self.account.report(&end).ok_or(SimError::TooMuchEnergy)
    }
}

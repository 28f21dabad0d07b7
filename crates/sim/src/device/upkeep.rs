//! Upkeep: work between phases or after the run, on every plane, to its end.

use super::{Device, SimError};
use flashyard_core::units::{PlaneId, Time};

/// Work that nobody has asked for yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Upkeep {
    /// Merge every log block.
    Merge,
    /// Collect one victim a plane, whatever is free.
    Collect,
    /// Write all dirty map entries back.
    FlushMap,
    /// Collect until as many blocks are free as at the start.
    Restore,
}

impl Device {
    /// Does a kind of upkeep to its end. No request may be outstanding. What it does counts as work
    /// after the last request, charged to nobody.
    pub fn upkeep(&mut self, work: Upkeep) -> Result<(), SimError> {
        assert_eq!(self.outstanding, 0, "upkeep comes between phases");
        self.exhausted = true;
        let began = self.now;
        match work {
            Upkeep::Merge => self.merge_all()?,
            Upkeep::Collect | Upkeep::FlushMap | Upkeep::Restore => {}
        }
        self.totals.worked(self.now.since(began).as_ns());
        Ok(())
    }

    /// Merges every log block, piece by piece on all planes.
    fn merge_all(&mut self) -> Result<(), SimError> {
        if self.layered.is_none() {
            return Ok(());
        }
        loop {
            let planes = (0..self.planes.len()).map(PlaneId::from_index);
            let begun = planes.filter(|plane| self.merge_idle(*plane)).count();
            if begun == 0 {
                return Ok(());
            }
            self.work_off()?;
        }
    }

    /// Goes on until nothing is left to do. Nothing arrives meanwhile.
    pub(super) fn work_off(&mut self) -> Result<(), SimError> {
        loop {
            self.admit();
            self.dispatch_stirred();
            self.channels_choose();
            if let Some(error) = self.failed.take() {
                return Err(error);
            }
            let now = self.events.first().0.min(self.host.timers.next());
            if now == Time::MAX {
                return Ok(());
            }
            self.record_until(now);
            self.now = now;
            self.dies_go_on();
            self.timers_go_off();
        }
    }
}

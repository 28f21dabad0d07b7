//! Power cuts: what a loss of power would lose, at each of many instants of one run.
//!
//! The run is not cut. A watcher follows which version of each logical unit the host has an answer
//! for, and which version flash holds (docs/POWER.md). Their difference at an instant is what a cut
//! there would lose, if the device then finds the newest version of each unit whose program is
//! over.

mod found;
mod grid;
pub mod rows;
#[cfg(test)]
mod tests;
mod watcher;

use crate::error::wrong;
use anyhow::Result;
use flashyard_sim::config::Settings;
use flashyard_sim::observe::{Observer, Shared};
pub(crate) use found::nearest_rank;
pub use found::{Broken, Cut, Cuts, Losses, Promise, Rule, Spread};
use std::fmt;
use watcher::{Watch, Watcher};

/// Watches a run for its cuts.
pub struct Oracle(Shared<Watch>);

impl fmt::Debug for Oracle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Oracle").finish_non_exhaustive()
    }
}

impl Oracle {
    /// For so many cuts of a run on a device, at random instants of this seed: its end, and the
    /// observer that the device gets. Refused where a device has no units whose versions could be
    /// told apart.
    pub fn new(settings: &Settings, cuts: u32, seed: u64) -> Result<(Self, Box<dyn Observer>)> {
        if settings.keys.is_disk() {
            return Err(wrong("cuts: a disk writes in place and tells of no unit; leave them out"));
        }
        if settings.keys.is_raw() {
            let what = "without translation the host knows what is on flash";
            return Err(wrong(&format!("cuts: {what}; set ftl.scheme, or leave them out")));
        }
        if settings.keys.is_zoned() {
            let what = "what zones lose is not followed yet";
            return Err(wrong(&format!("cuts: {what}; set ftl.scheme, or leave them out")));
        }
        let watch = Shared::new(Watch::new(settings, cuts as usize, seed));
        Ok((Self(watch.clone()), Box::new(Watcher(watch))))
    }

    /// Bytes of memory that it takes for a device: what it knows of each unit.
    pub fn bytes(settings: &Settings) -> u64 {
        let geometry = &settings.geometry;
        let physical = u64::from(geometry.blocks()) * u64::from(geometry.units_per_block());
        12 * (physical + u64::from(settings.exported_units))
    }

    /// What the cuts of the run would lose, which is over.
    pub fn finish(&self) -> Cuts {
        self.0.get().finish()
    }
}

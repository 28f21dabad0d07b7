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
use flashyard_sim::config::{Fault, Plp, PowerKeys, Settings};
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
    /// told apart, and where its recovery is worse than the one that the oracle assumes.
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
        if let Some(what) = unfollowed(&settings.keys.power) {
            let remedy = "cut the device itself (Session.cut, flashyard::Session::cut, fy_cut)";
            return Err(wrong(&format!("cuts: {what}; {remedy}, or leave the key or --cuts out")));
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

/// What a section `[power]` says that leaves less than the oracle takes to be found: the key, and
/// what it does.
fn unfollowed(power: &PowerKeys) -> Option<String> {
    let PowerKeys { plp, capacitor_uj, journal_entries, oob_scan, fault, paired_pages, .. } =
        *power;
    let saves = plp == Plp::Capacitor && capacitor_uj == 0;
    match () {
        () if !power.is_on() => None,
        () if !matches!(fault, Fault::None | Fault::FlushIgnored) => Some(format!(
            "power.fault = \"{}\" is planted into recovery, which --cuts takes for a sound one",
            fault.word()
        )),
        () if plp == Plp::Capacitor && capacitor_uj > 0 => Some(format!(
            "power.capacitor_uj = {capacitor_uj} may be too little, and --cuts takes the capacitor \
             for one that is large enough"
        )),
        () if saves => None,
        () if paired_pages => Some(
            "power.paired_pages has programs that are interrupted destroy older pages, which \
             --cuts does not follow"
                .to_string(),
        ),
        () if !oob_scan => Some(
            "power.oob_scan = false finds no more than the journal and checkpoints say, and --cuts \
             takes every page to be found"
                .to_string(),
        ),
        () if journal_entries == 0 => Some(
            "power.journal_entries = 0 leaves trims to checkpoints, or to nothing, and --cuts takes \
             a flush to save them"
                .to_string(),
        ),
        () => None,
    }
}

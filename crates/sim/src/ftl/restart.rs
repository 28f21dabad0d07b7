//! The power is back after a loss of it: the map is what recovery has found, and nothing is under
//! way.

use super::base::Base;
use super::page::PageFtl;
use super::page_map::Owner;
use crate::config::{MapStore, Settings};
use flashyard_core::units::{Lpn, Ppn};

/// What recovery has found.
pub(crate) struct Recovered<'a> {
    /// Where each logical unit is: the physical one plus one, 0 for nowhere.
    pub(crate) place: &'a [u32],
    /// Units whose program was under way: those that are not there now stay unused.
    pub(crate) bound: &'a [Ppn],
    /// The number of the newest trim of each unit that outlives the loss, plus one.
    pub(crate) trims: Vec<u64>,
    /// Flash pages with what a capacitor has saved of the map or of the journal.
    pub(crate) saved_pages: u64,
    /// Of each physical unit the logical unit plus one, 0 where it cannot be read, and the number
    /// of the change that made its contents, plus one.
    pub(crate) owner: &'a [u32],
    pub(crate) version: &'a [u64],
}

impl Base {
    /// The logical units are at these places from now on: the physical one plus one, 0 for nowhere.
    pub(super) fn adopt(&mut self, places: &[u32]) {
        for (lpn, &place) in (0u32..).map(Lpn::new).zip(places) {
            let place = place.checked_sub(1).map(Ppn::new);
            if self.map.lookup(lpn) == place {
                continue;
            }
            self.map.trim(lpn);
            if let Some(ppn) = place {
                self.map.commit(Owner::Data(lpn), ppn);
            }
        }
    }
}

/// The page map that begins again in place of this one. Victims that were being collected, and
/// blocks that were being folded, are the next ones.
pub(super) fn restart_page(
    old: &PageFtl,
    base: &mut Base,
    settings: &Settings,
    found: &Recovered<'_>,
) -> PageFtl {
    let mut page = PageFtl::new(settings);
    page.next_stripe = old.next_stripe;
    let blocks = &mut base.map.blocks;
    let victims = old.planes.iter().filter_map(|plane| plane.job).map(|job| job.victim);
    // With superblocks all jobs are of one.
    let count = if blocks.are_united() { 1 } else { old.planes.len() };
    victims.take(count).for_each(|block| blocks.give_up(block));
    blocks.forget_promises();
    for &ppn in found.bound {
        base.map.blocks.programmed(ppn);
    }
    page
}

/// What of the map cache flash lacks: recovery finds it and has it in the cache again.
pub(super) fn dirty_lines(base: &Base, settings: &Settings) -> Vec<(u64, bool)> {
    let Some(is_dirty) = base.dirty_entries() else { return Vec::new() };
    let keys = &settings.keys.map;
    let run = if keys.store == MapStore::Cmt { 1 } else { keys.entries_per_line };
    let dirty = (0..settings.exported_units).filter(|lpn| is_dirty(Lpn::new(*lpn)));
    let mut lines: Vec<u64> = dirty.map(|lpn| u64::from(lpn) / run * run).collect();
    lines.dedup();
    lines.truncate(settings.map_lines as usize);
    lines.into_iter().map(|lpn| (lpn, true)).collect()
}

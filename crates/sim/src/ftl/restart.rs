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
}

/// The base and the page map that begin again in place of these. Victims that were being collected
/// are the next ones.
pub(super) fn restart(
    before: &mut Base,
    old: &PageFtl,
    settings: &Settings,
    found: Recovered<'_>,
) -> (Base, PageFtl) {
    let dirty = dirty_lines(before, settings);
    let mut base = Base::new(settings, None);
    std::mem::swap(&mut base.map, &mut before.map);
    std::mem::swap(&mut base.journal, &mut before.journal);
    base.free_at_start.clone_from(&before.free_at_start);
    let mut page = PageFtl::new(settings);
    page.next_stripe = old.next_stripe;
    for plane in base.planes() {
        if let Some(job) = old.planes[plane.index()].job {
            base.map.blocks.set_aside(job.victim);
        }
    }
    for &ppn in found.bound {
        base.map.blocks.programmed(ppn);
    }
    for (lpn, &place) in (0u32..).map(Lpn::new).zip(found.place) {
        let place = place.checked_sub(1).map(Ppn::new);
        if base.map.lookup(lpn) == place {
            continue;
        }
        base.map.trim(lpn);
        if let Some(ppn) = place {
            base.map.commit(Owner::Data(lpn), ppn);
        }
    }
    if let Some(journal) = &mut base.journal {
        journal.restart(found.trims);
    }
    if !dirty.is_empty() {
        base.preload_map(&dirty).expect("they were in the cache");
    }
    (base, page)
}

/// What of the map cache flash lacks: recovery finds it and has it in the cache again.
fn dirty_lines(base: &Base, settings: &Settings) -> Vec<(u64, bool)> {
    let Some(is_dirty) = base.dirty_entries() else { return Vec::new() };
    let keys = &settings.keys.map;
    let run = if keys.store == MapStore::Cmt { 1 } else { keys.entries_per_line };
    let dirty = (0..settings.exported_units).filter(|lpn| is_dirty(Lpn::new(*lpn)));
    let mut lines: Vec<u64> = dirty.map(|lpn| u64::from(lpn) / run * run).collect();
    lines.dedup();
    lines.truncate(settings.map_lines as usize);
    lines.into_iter().map(|lpn| (lpn, true)).collect()
}

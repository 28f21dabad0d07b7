//! Map entries of data that garbage collection has moved: updated in the cache, taken along by a
//! write of their map page that has not begun, or written by a rewrite of the page.

use super::PageFtl;
use crate::config::MovedEntries;
use crate::ftl::base::Base;
use crate::ftl::lent::{Charge, Deed, Lent};
use crate::ftl::line_cache::Lookup;
use crate::handle::SetId;
use crate::observe::OwnCause;
use crate::sets::{Mode, OwnWork, Sets, Stage, Wait};
use flashyard_core::graph::EdgeKind;
use flashyard_core::units::{Lpn, MapPage, PlaneId};

/// A moved unit whose map page is to be rewritten: the page, its place among the moved ones of the
/// job, the unit.
pub(crate) type Moved = (MapPage, u32, Lpn);

/// Bytes of a moved unit.
pub(crate) const MOVED_BYTES: u64 = size_of::<Moved>() as u64;

/// Where among the commands of a set that writes a map page the program is.
pub(crate) fn map_write(sets: &Sets, set: SetId) -> u8 {
    let writes = |stage| matches!(stage, Stage::Writeback | Stage::RewriteProgram);
    let found = (0u8..).zip(sets.commands(set)).find(|(_, stage)| writes(stage.0));
    found.expect("the set writes a map page").0
}

/// Whether the map program of a set has begun.
fn has_begun(sets: &Sets, set: SetId) -> bool {
    let (stage, write) = (sets.commands_over(set), map_write(sets, set));
    let runs = matches!(sets[set].mode(), Mode::Running | Mode::Suspended);
    stage > write || (stage == write && runs)
}

/// Whether a set that writes a map page rewrites it for garbage collection.
fn is_rewrite(sets: &Sets, writer: SetId) -> bool {
    sets.commands(writer)[usize::from(map_write(sets, writer))].0 == Stage::RewriteProgram
}

/// Whether a set rewrites a map page and has not begun to.
fn takes_rewrites(sets: &Sets, writer: SetId) -> bool {
    is_rewrite(sets, writer)
        && sets.commands_over(writer) == 0
        && sets[writer].mode() != Mode::Running
}

/// A set that writes a map page begins behind an earlier write of it.
fn wait_for_writer(set: SetId, writer: Option<SetId>, lent: &mut Lent<'_>) {
    if let Some(writer) = writer {
        let stage = map_write(lent.sets, writer);
        lent.wait(set, writer, stage, EdgeKind::MapWriteback);
    }
}

impl PageFtl {
    /// The map entry of a moved unit changes: at once, which the answer says, or on flash after the
    /// copies.
    pub(super) fn entry_moved(
        &mut self,
        base: &mut Base,
        plane: PlaneId,
        lpn: Lpn,
        sets: &Sets,
    ) -> bool {
        let taken = self.takes_along(base, plane, lpn, sets);
        if !taken {
            let page = base.cached().map_page(lpn);
            let moved = &mut self.plane_mut(plane).moved;
            let place = u32::try_from(moved.len()).expect("fewer than units of a block");
            moved.push((page, place, lpn));
        }
        taken
    }

    /// Whether the entry of a moved unit needs no rewrite of its map page: it is changed in the
    /// cache, or is part of a write of its map page whose program has not begun.
    fn takes_along(&mut self, base: &mut Base, plane: PlaneId, lpn: Lpn, sets: &Sets) -> bool {
        let keys = base.map_keys;
        let rule = base.study.moved;
        if rule == MovedEntries::Dirty {
            return keys.lazy_copying && base.cached().update(lpn);
        }
        let only_cached = rule == MovedEntries::JoinCached;
        let cache = base.cached();
        let found = cache.cached(lpn);
        let page = cache.map_page(lpn);
        let evicts = cache.writer_of_line(lpn);
        let pending = cache.writer_of_page(page).filter(|&writer| !has_begun(sets, writer));
        let waits = |set| self.waits_for_collection(base, set, plane, sets);
        let cached = match found {
            Some(Lookup::Hit { fetch, .. }) => !(only_cached && fetch.is_some_and(waits)),
            _ => false,
        };
        if only_cached && !keys.lazy_copying {
            return false;
        }
        if let Some(writer) = pending {
            let joins = if cached {
                keys.batch_update && !(only_cached && is_rewrite(sets, writer))
            } else {
                !(only_cached && waits(writer)) || evicts == pending
            };
            if joins {
                base.cached().join(lpn, writer);
                return true;
            }
        }
        cached && keys.lazy_copying && base.cached().update(lpn)
    }

    /// Whether a set waits for the room that the job of a plane makes, which rewrites map pages
    /// before it erases its victim.
    fn waits_for_collection(&self, base: &Base, set: SetId, plane: PlaneId, sets: &Sets) -> bool {
        let job = self.planes[plane.index()].job.as_ref();
        let is_eraser = |wait: Wait| job.is_some_and(|job| Some(wait.source) == job.eraser);
        sets[set].mode() == Mode::Waiting
            && base.study.erase_after_map
            && sets.first_wait(set).is_some_and(is_eraser)
    }

    /// Reads and programs each map page with entries of data that the job of a plane has moved
    /// once.
    pub(super) fn rewrite_moved_maps(&mut self, plane: PlaneId, lent: &mut Lent<'_>) {
        let (moved, updated) = self.take_moved(lent.base, plane, lent.sets);
        lent.note(Deed::EntriesCached(updated));
        for entries in moved.chunk_by(|a, b| a.0 == b.0) {
            self.rewrite_map(plane, entries, lent);
        }
        // The next job takes the list again.
        let list = &mut self.plane_mut(plane).moved;
        *list = moved;
        list.clear();
    }

    /// Takes the units that a plane's job has moved and that need a rewrite of their map pages, in
    /// the order of rewriting, and how many need none because their entries are updated by now.
    fn take_moved(&mut self, base: &mut Base, plane: PlaneId, sets: &Sets) -> (Vec<Moved>, u64) {
        let mut moved = std::mem::take(&mut self.plane_mut(plane).moved);
        let count = moved.len();
        // A line that was fetched since the copy holds the old entry: it is updated there.
        moved.retain(|&(_, _, lpn)| !self.takes_along(base, plane, lpn, sets));
        let updated = count - moved.len();
        moved.sort_unstable();
        if base.study.rewrites_by_move {
            for page in moved.chunk_by_mut(|a, b| a.0 == b.0) {
                let first = page[0].1;
                for entry in page {
                    entry.1 = first;
                }
            }
            moved.sort_unstable_by_key(|&(page, first, lpn)| (first, page, lpn));
        }
        (moved, updated as u64)
    }

    /// The entries of moved units of one map page get to flash. A rewrite of the page that has not
    /// begun takes them along, and so does a write of it that may wait for this job.
    fn rewrite_map(&mut self, plane: PlaneId, entries: &[Moved], lent: &mut Lent<'_>) {
        let page = entries[0].0;
        let writer = lent.base.cached().writer_of_page(page);
        let before =
            writer.filter(|&writer| self.comes_behind(lent.base, writer, plane, lent.sets));
        if let Some(writer) = writer
            && before.is_none()
            && (takes_rewrites(lent.sets, writer)
                || lent.base.may_wait_for_erase(writer, lent.sets))
        {
            for &(_, _, lpn) in entries {
                lent.base.cached().join(lpn, writer);
            }
            if is_rewrite(lent.sets, writer) {
                self.erase_behind(plane, writer, lent);
            }
            return;
        }
        let reads = lent.base.is_map_readable(page, writer);
        let set = lent.map_set(page, self.job(plane).charge, (Stage::RewriteRead, reads));
        lent.base.enter_rewrite(set, before, entries);
        wait_for_writer(set, writer.filter(|_| before.is_none()), lent);
        self.erase_behind(plane, set, lent);
        lent.go_on(set);
    }

    /// With `gc.erase_after_map` the victim of a job is erased behind a rewrite.
    fn erase_behind(&self, plane: PlaneId, rewrite: SetId, lent: &mut Lent<'_>) {
        if lent.base.study.erase_after_map {
            let stage = map_write(lent.sets, rewrite);
            lent.wait(self.job(plane).eraser(), rewrite, stage, EdgeKind::Gc);
        }
    }

    /// Whether a pending write of a map page comes behind a rewrite for the job of a plane, because
    /// it waits for the erase that waits for the rewrite.
    fn comes_behind(&self, base: &Base, writer: SetId, plane: PlaneId, sets: &Sets) -> bool {
        base.study.moved == MovedEntries::JoinCached
            && !has_begun(sets, writer)
            && self.waits_for_collection(base, writer, plane, sets)
    }
}

impl Base {
    /// A set rewrites the map page of these entries, `before` another one.
    fn enter_rewrite(&mut self, set: SetId, before: Option<SetId>, entries: &[Moved]) {
        let cache = self.cached();
        match before {
            Some(later) => cache.rewrite_before(entries[0].0, set, later),
            None => cache.rewrite(entries[0].0, set),
        }
        for &(_, _, lpn) in entries {
            cache.rewrite_entry(lpn, set);
            // What comes behind the rewrite has read the page already.
            if let Some(later) = before {
                cache.rewrite_entry(lpn, later);
            }
        }
    }

    /// Whether a job must not wait for a write of a map page, which may come to wait for its erase.
    fn may_wait_for_erase(&self, writer: SetId, sets: &Sets) -> bool {
        self.study.erase_after_map && !is_rewrite(sets, writer) && !has_begun(sets, writer)
    }
}

impl Lent<'_> {
    /// Makes a set that writes a map page, whose first command reads it if it `reads`.
    fn map_set(&mut self, page: MapPage, charge: Charge, (read, reads): (Stage, bool)) -> SetId {
        let plane = self.base.plane_of_map(page);
        let write = if read == Stage::EvictRead { Stage::Writeback } else { Stage::RewriteProgram };
        let stages = [(read, plane), (write, plane)];
        let stages = &stages[usize::from(!reads)..];
        self.own_set(charge, OwnCause::Map, OwnWork::WriteMap(page), stages)
    }

    /// Writes the first map page from `from` on back of which something is dirty, which stays.
    /// Returns the page behind it, if there was one.
    pub(crate) fn flush_map(&mut self, from: MapPage) -> Option<MapPage> {
        let page = self.base.cache.as_ref()?.next_dirty(from)?;
        let writer = self.base.cached().writer_of_page(page);
        let reads = self.base.is_map_readable(page, writer);
        let set = self.map_set(page, None, (Stage::EvictRead, reads));
        self.base.cached().flush(page, set);
        wait_for_writer(set, writer, self);
        self.go_on(set);
        Some(MapPage::new(page.get() + 1))
    }
}

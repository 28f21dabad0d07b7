//! Map entries of data that garbage collection has moved: updated in the cache, taken along by a
//! write of their map page that has not begun, or written by a rewrite of the page.

use super::Device;
use super::state::{Mode, Set, Stage};
use crate::config::{MovedEntries, RewriteOrder, UnmappedRead};
use crate::ftl::line_cache::NONE;
use flashyard_core::graph::{EdgeKind, Wait};
use flashyard_core::units::{Lpn, MapPage, PlaneId};

/// A moved unit whose map page is to be rewritten: the page, its place among the moved ones of the
/// job, the unit.
pub(super) type Moved = (MapPage, u32, Lpn);

impl Device {
    /// The map entry of a moved page changes: at once, or on flash after the copies.
    pub(super) fn moved(&mut self, plane: PlaneId, lpn: Lpn) {
        let Some(cache) = &self.cache else { return };
        let page = cache.map_page(lpn);
        if let Some(checker) = &mut self.checker {
            checker.entry_changed(lpn);
        }
        if self.takes_along(plane, lpn) {
            self.totals.gc_lines_updated += 1;
        } else {
            let moved = &mut self.planes[plane.index()].moved;
            let place = u32::try_from(moved.len()).expect("fewer than units of a block");
            moved.push((page, place, lpn));
        }
    }

    /// Whether the entry of a moved unit needs no rewrite of its map page: it is changed in the
    /// cache, or is part of a write of its map page whose program has not begun.
    fn takes_along(&mut self, plane: PlaneId, lpn: Lpn) -> bool {
        let keys = self.settings.keys.map;
        let cache = self.cache.as_mut().expect("only a cached map is updated");
        if keys.moved_entries == MovedEntries::Dirty {
            return keys.lazy_copying && cache.update(lpn);
        }
        let fetch = cache.fetch_of(lpn);
        let page = cache.map_page(lpn);
        let evicts = cache.writer_of_line(lpn);
        let pending = cache.writer_of_page(page).filter(|&writer| !self.has_begun(writer));
        let only_cached = keys.moved_entries == MovedEntries::JoinCached;
        let fetch_is_late = only_cached
            && fetch.is_some_and(|set| set != NONE && self.waits_for_collection(set, plane));
        let cached = fetch.is_some() && !fetch_is_late;
        if only_cached && !keys.lazy_copying {
            return false;
        }
        if let Some(writer) = pending {
            let rewrites = self.map_write_stage(writer) == Stage::RewriteProgram;
            let joins = if cached {
                keys.batch_update && !(only_cached && rewrites)
            } else {
                !(only_cached && self.waits_for_collection(writer, plane)) || evicts == pending
            };
            if joins {
                self.join(lpn, writer);
                return true;
            }
        }
        let cache = self.cache.as_mut().expect("only a cached map is updated");
        cached && keys.lazy_copying && cache.update(lpn)
    }

    fn join(&mut self, lpn: Lpn, writer: u32) {
        let cache = self.cache.as_mut().expect("only a cached map is written");
        cache.join(lpn, writer);
    }

    /// Where among the commands of a set that writes a map page the program is.
    pub(super) fn map_write(&self, set: u32) -> u8 {
        let first = self.sets[set as usize].stages[0].0;
        u8::from(!matches!(first, Stage::Writeback | Stage::RewriteProgram))
    }

    /// The program of a set that writes a map page.
    fn map_write_stage(&self, set: u32) -> Stage {
        self.sets[set as usize].stages[usize::from(self.map_write(set))].0
    }

    /// Whether the map program of a set has begun.
    fn has_begun(&self, set: u32) -> bool {
        let (stage, write) = (self.graph.node(set).stage, self.map_write(set));
        let runs = matches!(self.sets[set as usize].mode, Mode::Running | Mode::Suspended);
        stage > write || (stage == write && runs)
    }

    /// Whether a set waits for the room that the job of a plane makes, which rewrites map pages
    /// before it erases its victim.
    fn waits_for_collection(&self, set: u32, plane: PlaneId) -> bool {
        let job = self.planes[plane.index()].job.as_ref();
        self.sets[set as usize].mode == Mode::Waiting
            && self.erases_after_map()
            && self
                .graph
                .first_wait(set)
                .is_some_and(|wait| job.is_some_and(|job| wait.source == job.eraser))
    }

    /// Shows the checker the command of a set that writes a map page.
    pub(super) fn show_map_write(&mut self, set: u32) {
        let page = self.sets[set as usize].map_page;
        let (Some(cache), Some(checker)) = (&self.cache, &mut self.checker) else { return };
        let stages = &self.sets[set as usize].stages;
        match stages[self.graph.node(set).stage as usize].0 {
            Stage::EvictRead | Stage::RewriteRead => checker.map_page_read(set, page),
            Stage::Writeback | Stage::RewriteProgram => {
                let mut entries = Vec::new();
                cache.covered(page, set, |lpn| entries.push(lpn));
                checker.map_page_begun(set, page, &entries);
            }
            _ => {}
        }
    }

    /// Whether a victim is erased only after the map pages of what was moved are rewritten.
    const fn erases_after_map(&self) -> bool {
        false
    }

    /// Whether a map page can be read: it has been written, or is going to be, or never-written ones
    /// are read all the same.
    pub(super) fn is_map_readable(&self, page: MapPage, writer: Option<u32>) -> bool {
        self.settings.keys.map.unwritten_read == UnmappedRead::Array
            || writer.is_some()
            || self.map.lookup_map(page).is_some()
    }

    /// Reads and programs each map page with entries of moved data once.
    pub(super) fn rewrite_moved_maps(&mut self, plane: PlaneId, charge: u32) {
        let mut moved = std::mem::take(&mut self.planes[plane.index()].moved);
        // A line that was fetched since the copy holds the old entry: it is updated there.
        moved.retain(|&(_, _, lpn)| {
            let taken = self.takes_along(plane, lpn);
            self.totals.gc_lines_updated += u64::from(taken);
            !taken
        });
        moved.sort_unstable();
        if self.settings.keys.map.rewrite_order == RewriteOrder::Moved {
            for page in moved.chunk_by_mut(|a, b| a.0 == b.0) {
                let first = page[0].1;
                page.iter_mut().for_each(|entry| entry.1 = first);
            }
            moved.sort_unstable_by_key(|&(page, first, lpn)| (first, page, lpn));
        }
        for entries in moved.chunk_by(|a, b| a.0 == b.0) {
            self.rewrite_map(plane, entries[0].0, charge, entries);
        }
        moved.clear();
        self.planes[plane.index()].moved = moved;
    }

    /// A rewrite of the page that has not begun takes the entries along, and so may any write of it
    /// whose program has not begun; else there is a new rewrite.
    fn rewrite_map(&mut self, plane: PlaneId, page: MapPage, charge: u32, entries: &[Moved]) {
        let cache = self.cache.as_ref().expect("only a cached map is rewritten");
        let mut writer = cache.writer_of_page(page);
        if let Some(writer) = writer
            && self.takes_rewrites(writer)
        {
            return entries.iter().for_each(|entry| self.join(entry.2, writer));
        }
        let map_plane = self.plane_of_map(page);
        let state = Set { map_page: page, ..Set::VACANT };
        let stages = [(Stage::RewriteRead, map_plane), (Stage::RewriteProgram, map_plane)];
        let first = usize::from(!self.is_map_readable(page, writer));
        let set = self.own_set(charge, state, &stages[first..]);
        let before = writer.filter(|&writer| {
            self.settings.keys.map.moved_entries == MovedEntries::JoinCached
                && !self.has_begun(writer)
                && self.waits_for_collection(writer, plane)
        });
        let cache = self.cache.as_mut().expect("only a cached map is rewritten");
        if let Some(later) = before {
            // The pending write comes after it, and has these entries as well.
            cache.rewrite_before(page, set, later);
            writer = None;
        } else {
            cache.rewrite(page, set);
        }
        for &(_, _, lpn) in entries {
            cache.rewrite_entry(lpn, set);
            if let Some(later) = before {
                cache.rewrite_entry(lpn, later);
            }
        }
        if let Some(writer) = writer {
            let stage = self.map_write(writer);
            let wait = Wait { source: writer, stage, kind: EdgeKind::MapWriteback };
            self.connect(wait, set, 0);
        }
        self.activate(set);
    }

    /// Whether a write of a map page takes along what else is to be rewritten of it.
    fn takes_rewrites(&self, writer: u32) -> bool {
        let state = &self.sets[writer as usize];
        let rewrites = matches!(state.stages[0].0, Stage::RewriteRead | Stage::RewriteProgram);
        rewrites && self.graph.node(writer).stage == 0 && state.mode != Mode::Running
    }
}

//! Map entries of data that garbage collection has moved: updated in the cache, taken along by a
//! write of their map page that has not begun, or written by a rewrite of the page.

use super::{Device, SimError};
use crate::config::{MovedEntries, RewriteOrder, UnmappedRead};
use crate::ftl::Moved;
use crate::ftl::job::Job;
use crate::ftl::line_cache::NONE;
use crate::sets::{Mode, Set, Stage};
use flashyard_core::graph::{EdgeKind, NIL, Wait};
use flashyard_core::units::{Lpn, MapPage, PlaneId};

impl Device {
    /// The map entry of a moved page changes: at once, or on flash after the copies.
    pub(super) fn moved(&mut self, plane: PlaneId, lpn: Lpn) {
        let Some(cache) = &self.ftl.cache else { return };
        let page = cache.map_page(lpn);
        self.account.entry_changed(lpn);
        if self.takes_along(plane, lpn) {
            self.account.cached_entry_updated();
        } else {
            let moved = &mut self.ftl.planes[plane.index()].moved;
            let place = u32::try_from(moved.len()).expect("fewer than units of a block");
            moved.push((page, place, lpn));
        }
    }

    /// Whether the entry of a moved unit needs no rewrite of its map page: it is changed in the
    /// cache, or is part of a write of its map page whose program has not begun.
    fn takes_along(&mut self, plane: PlaneId, lpn: Lpn) -> bool {
        let keys = self.settings.keys.map;
        let cache = self.ftl.cache.as_mut().expect("only a cached map is updated");
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
            let rewrites = self.is_rewrite(writer);
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
        let cache = self.ftl.cache.as_mut().expect("only a cached map is updated");
        cached && keys.lazy_copying && cache.update(lpn)
    }

    fn join(&mut self, lpn: Lpn, writer: u32) {
        let cache = self.ftl.cache.as_mut().expect("only a cached map is written");
        cache.join(lpn, writer);
    }

    /// Where among the commands of a set that writes a map page the program is.
    pub(super) fn map_write(&self, set: u32) -> u8 {
        let writes = |stage| matches!(stage, Stage::Writeback | Stage::RewriteProgram);
        let stages = (0u8..).zip(&self.sets[set].stages);
        let found = stages.filter(|(_, stage)| writes(stage.0)).map(|(place, _)| place).next();
        found.expect("the set writes a map page")
    }

    /// The program of a set that writes a map page.
    fn map_write_stage(&self, set: u32) -> Stage {
        self.sets[set].stages[usize::from(self.map_write(set))].0
    }

    /// Whether the map program of a set has begun.
    fn has_begun(&self, set: u32) -> bool {
        let (stage, write) = (self.sets.graph.node(set).stage, self.map_write(set));
        let runs = matches!(self.sets[set].mode, Mode::Running | Mode::Suspended);
        stage > write || (stage == write && runs)
    }

    /// Whether a set waits for the room that the job of a plane makes, which rewrites map pages
    /// before it erases its victim.
    fn waits_for_collection(&self, set: u32, plane: PlaneId) -> bool {
        let job = self.ftl.planes[plane.index()].job.as_ref();
        self.sets[set].mode == Mode::Waiting
            && self.settings.keys.gc.erase_after_map
            && self
                .sets
                .graph
                .first_wait(set)
                .is_some_and(|wait| job.is_some_and(|job| wait.source == job.eraser))
    }

    /// Shows the checker the command of a set that writes a map page.
    pub(super) fn show_map_write(&mut self, set: u32) {
        let page = self.sets[set].map_page;
        let Some(cache) = &self.ftl.cache else { return };
        let stages = &self.sets[set].stages;
        match stages[self.sets.graph.node(set).stage as usize].0 {
            Stage::EvictRead | Stage::RewriteRead => {
                self.account.map_page_read(set, page);
            }
            Stage::Writeback | Stage::RewriteProgram => {
                let mut entries = Vec::new();
                cache.covered(page, set, |lpn| entries.push(lpn));
                self.account.map_page_begun(set, page, &entries);
            }
            _ => {}
        }
    }

    /// Writes every map page back of which something is dirty, in ascending order, as many at a
    /// time as there are planes; what that makes dirty behind it stays so.
    pub(super) fn flush_map(&mut self) -> Result<(), SimError> {
        let mut from = MapPage::new(0);
        while let Some(page) = self.ftl.cache.as_ref().and_then(|cache| cache.next_dirty(from)) {
            self.write_back(page);
            from = MapPage::new(page.get() + 1);
            if self.sets.graph.live() >= self.settings.geometry.all_planes() {
                self.drain()?;
            }
        }
        self.drain()
    }

    fn write_back(&mut self, page: MapPage) {
        let plane = self.plane_of_map(page);
        let state = Set { map_page: page, ..Set::VACANT };
        let stages = [(Stage::EvictRead, plane), (Stage::Writeback, plane)];
        let writer = self.ftl.cache.as_ref().and_then(|cache| cache.writer_of_page(page));
        let first = usize::from(!self.is_map_readable(page, writer));
        let set = self.own_set(NIL, state, &stages[first..]);
        self.ftl.cache.as_mut().expect("only a cached map is dirty").flush(page, set);
        self.wait_for_writer(set, writer);
        self.activate(set);
    }

    /// Whether a map page can be read: it has been written, or is going to be, or never-written
    /// ones are read all the same.
    pub(super) fn is_map_readable(&self, page: MapPage, writer: Option<u32>) -> bool {
        self.settings.keys.map.unwritten_read == UnmappedRead::Array
            || writer.is_some()
            || self.ftl.map.lookup_map(page).is_some()
    }

    /// Reads and programs each map page with entries of moved data once.
    pub(super) fn rewrite_moved_maps(&mut self, plane: PlaneId, job: &Job) {
        let mut moved = std::mem::take(&mut self.ftl.planes[plane.index()].moved);
        // A line that was fetched since the copy holds the old entry: it is updated there.
        moved.retain(|&(_, _, lpn)| {
            let taken = self.takes_along(plane, lpn);
            if taken {
                self.account.cached_entry_updated();
            }
            !taken
        });
        moved.sort_unstable();
        if self.settings.keys.map.rewrite_order == RewriteOrder::Moved {
            for page in moved.chunk_by_mut(|a, b| a.0 == b.0) {
                let first = page[0].1;
                for entry in page {
                    entry.1 = first;
                }
            }
            moved.sort_unstable_by_key(|&(page, first, lpn)| (first, page, lpn));
        }
        for entries in moved.chunk_by(|a, b| a.0 == b.0) {
            self.rewrite_map(plane, job, entries);
        }
        moved.clear();
        self.ftl.planes[plane.index()].moved = moved;
    }

    /// A rewrite of the page that has not begun takes the entries along, and so does a write of it
    /// that may wait for this job; else there is a new rewrite.
    fn rewrite_map(&mut self, plane: PlaneId, job: &Job, entries: &[Moved]) {
        let page = entries[0].0;
        let cache = self.ftl.cache.as_ref().expect("only a cached map is rewritten");
        let writer = cache.writer_of_page(page);
        let before = writer.filter(|&writer| self.comes_behind(writer, plane));
        if let Some(writer) = writer
            && before.is_none()
            && (self.takes_rewrites(writer) || self.may_wait_for(writer))
        {
            for entry in entries {
                self.join(entry.2, writer);
            }
            if self.is_rewrite(writer) {
                self.erase_behind(writer, job);
            }
            return;
        }
        let map_plane = self.plane_of_map(page);
        let state = Set { map_page: page, ..Set::VACANT };
        let stages = [(Stage::RewriteRead, map_plane), (Stage::RewriteProgram, map_plane)];
        let first = usize::from(!self.is_map_readable(page, writer));
        let set = self.own_set(job.charge, state, &stages[first..]);
        let cache = self.ftl.cache.as_mut().expect("only a cached map is rewritten");
        match before {
            Some(later) => cache.rewrite_before(page, set, later),
            None => cache.rewrite(page, set),
        }
        for &(_, _, lpn) in entries {
            cache.rewrite_entry(lpn, set);
            // What comes behind the rewrite has read the page already.
            if let Some(later) = before {
                cache.rewrite_entry(lpn, later);
            }
        }
        self.wait_for_writer(set, writer.filter(|_| before.is_none()));
        self.erase_behind(set, job);
        self.activate(set);
    }

    /// A set that writes a map page begins behind an earlier write of it.
    fn wait_for_writer(&mut self, set: u32, writer: Option<u32>) {
        let Some(writer) = writer else { return };
        let stage = self.map_write(writer);
        self.sets.connect(Wait { source: writer, stage, kind: EdgeKind::MapWriteback }, set, 0);
    }

    /// Whether a pending write of a map page comes behind a rewrite for the job of a plane, because
    /// it waits for the erase that waits for the rewrite.
    fn comes_behind(&self, writer: u32, plane: PlaneId) -> bool {
        self.settings.keys.map.moved_entries == MovedEntries::JoinCached
            && !self.has_begun(writer)
            && self.waits_for_collection(writer, plane)
    }

    /// Whether a job must not wait for a write of a map page, which may come to wait for its erase.
    fn may_wait_for(&self, writer: u32) -> bool {
        self.settings.keys.gc.erase_after_map && !self.is_rewrite(writer) && !self.has_begun(writer)
    }

    fn is_rewrite(&self, writer: u32) -> bool {
        self.map_write_stage(writer) == Stage::RewriteProgram
    }

    /// Whether a rewrite of a map page takes along what else is to be rewritten of it.
    fn takes_rewrites(&self, writer: u32) -> bool {
        self.is_rewrite(writer)
            && self.sets.graph.node(writer).stage == 0
            && self.sets[writer].mode != Mode::Running
    }

    /// With `gc.erase_after_map` the victim of a job is erased behind a rewrite.
    fn erase_behind(&mut self, rewrite: u32, job: &Job) {
        if self.settings.keys.gc.erase_after_map {
            let stage = self.map_write(rewrite);
            let wait = Wait { source: rewrite, stage, kind: EdgeKind::Gc };
            self.sets.connect(wait, job.eraser, 0);
        }
    }
}

//! Map entries of data that garbage collection has moved: the sets that rewrite map pages.

use super::{Device, SimError};
use crate::ftl::{Job, Moved, Rewrite, map_write};
use crate::handle::{RequestId, SetId};
use crate::sets::{Set, Stage, Wait};
use flashyard_core::graph::EdgeKind;
use flashyard_core::units::{Lpn, MapPage, PlaneId};

impl Device {
    /// The map entry of a moved page changes: at once, or on flash after the copies.
    pub(super) fn moved(&mut self, plane: PlaneId, lpn: Lpn) {
        if !self.ftl.has_cache() {
            return;
        }
        self.account.entry_changed(lpn);
        if self.ftl.entry_moved(plane, lpn, &self.sets) {
            self.account.cached_entry_updated();
        }
    }

    /// Shows the checker the command of a set that writes a map page.
    pub(super) fn show_map_write(&mut self, set: SetId) {
        let page = self.sets[set].map_page;
        if !self.ftl.has_cache() {
            return;
        }
        match self.sets.stage(set) {
            Stage::EvictRead | Stage::RewriteRead => self.account.map_page_read(set, page),
            Stage::Writeback | Stage::RewriteProgram => {
                let mut entries = Vec::new();
                self.ftl.covered_entries(page, set, |lpn| entries.push(lpn));
                self.account.map_page_begun(set, page, &entries);
            }
            _ => {}
        }
    }

    /// Writes every map page back of which something is dirty, in ascending order, as many at a
    /// time as there are planes; what that makes dirty behind it stays so.
    pub(super) fn flush_map(&mut self) -> Result<(), SimError> {
        let mut from = MapPage::new(0);
        while let Some(dirty) = self.ftl.next_dirty_map(from) {
            let plane = self.ftl.plane_of_map(dirty.page);
            let stages = [(Stage::EvictRead, plane), (Stage::Writeback, plane)];
            let set = self.map_set(None, dirty.page, &stages, dirty.reads);
            self.ftl.map_flushed(dirty.page, set);
            self.wait_for_writer(set, dirty.writer);
            self.activate(set);
            from = MapPage::new(dirty.page.get() + 1);
            if self.sets.live() >= self.settings.geometry.all_planes() {
                self.drain()?;
            }
        }
        self.drain()
    }

    /// Makes a set that writes a map page, whose first command reads it unless not `reads`.
    fn map_set(
        &mut self,
        charge: Option<RequestId>,
        page: MapPage,
        stages: &[(Stage, PlaneId)],
        reads: bool,
    ) -> SetId {
        let state = Set { map_page: page, ..Set::VACANT };
        self.own_set(charge, &state, &stages[usize::from(!reads)..])
    }

    /// Reads and programs each map page with entries of moved data once.
    pub(super) fn rewrite_moved_maps(&mut self, plane: PlaneId, job: &Job) {
        let (moved, updated) = self.ftl.take_moved(plane, &self.sets);
        self.account.cached_entries_updated(updated);
        for entries in moved.chunk_by(|a, b| a.0 == b.0) {
            self.rewrite_map(plane, job, entries);
        }
        self.ftl.return_moved(plane, moved);
    }

    /// The entries of moved units of one map page get to flash.
    fn rewrite_map(&mut self, plane: PlaneId, job: &Job, entries: &[Moved]) {
        match self.ftl.plan_rewrite(plane, entries, &self.sets) {
            Rewrite::Joins { writer, is_rewrite } => {
                if is_rewrite {
                    self.erase_behind(writer, job);
                }
            }
            Rewrite::New { page, reads, before, after } => {
                let plane = self.ftl.plane_of_map(page);
                let stages = [(Stage::RewriteRead, plane), (Stage::RewriteProgram, plane)];
                let set = self.map_set(job.charge, page, &stages, reads);
                self.ftl.rewrite_planned(set, before, entries);
                self.wait_for_writer(set, after);
                self.erase_behind(set, job);
                self.activate(set);
            }
        }
    }

    /// A set that writes a map page begins behind an earlier write of it.
    fn wait_for_writer(&mut self, set: SetId, writer: Option<SetId>) {
        let Some(writer) = writer else { return };
        let stage = map_write(&self.sets, writer);
        self.sets.connect(Wait { source: writer, stage, kind: EdgeKind::MapWriteback }, set, 0);
    }

    /// With `gc.erase_after_map` the victim of a job is erased behind a rewrite.
    fn erase_behind(&mut self, rewrite: SetId, job: &Job) {
        if self.ftl.erases_after_map() {
            let stage = map_write(&self.sets, rewrite);
            let wait = Wait { source: rewrite, stage, kind: EdgeKind::Gc };
            self.sets.connect(wait, job.eraser(), 0);
        }
    }
}

//! Upkeep: work between phases or after the run, on every plane, to its end.

use super::{Device, SimError};
use flashyard_core::graph::NIL;
use flashyard_core::units::{PlaneId, Time};

/// Work that nobody has asked for yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Upkeep {
    /// Merge every log block.
    Merge,
    /// Collect one victim a plane, whatever is free.
    Collect,
    /// Write back every map page with dirty entries, once; what garbage collection makes dirty
    /// meanwhile stays so.
    FlushMap,
    /// Collect until every plane has as many free blocks as when the first phase began, or collects
    /// nothing more.
    Restore,
}

impl Device {
    /// Does a kind of upkeep to its end. No request may be outstanding. What it does counts as work
    /// after the last request, charged to nobody.
    pub fn upkeep(&mut self, work: Upkeep) -> Result<(), SimError> {
        assert_eq!(self.host.outstanding, 0, "upkeep comes between phases");
        self.host.exhausted = true;
        let start = self.now;
        self.account.begin_maintenance(start);
        match work {
            Upkeep::Merge => self.merge_all()?,
            Upkeep::FlushMap => self.flush_map()?,
            Upkeep::Collect => _ = self.collect_once(|_, _| true)?,
            Upkeep::Restore => self.restore_free()?,
        }
        self.see_accesses();
        self.account.end_maintenance(start, self.now);
        Ok(())
    }

    /// Merges every log block, piece by piece on all planes.
    fn merge_all(&mut self) -> Result<(), SimError> {
        if self.ftl.layered.is_none() {
            return Ok(());
        }
        loop {
            let planes = (0..self.ftl.planes.len()).map(PlaneId::from_index);
            let begun = planes.filter(|plane| self.merge_idle(*plane)).count();
            if begun == 0 {
                return Ok(());
            }
            self.drain()?;
        }
    }

    /// Starts a job on every plane that is asked for, and does the work to its end. Returns whether
    /// there was any.
    fn collect_once(&mut self, wanted: impl Fn(&Self, PlaneId) -> bool) -> Result<bool, SimError> {
        let jobs = self.account.gc_jobs();
        for plane in (0..self.ftl.planes.len()).map(PlaneId::from_index) {
            if wanted(self, plane) {
                self.start_job(plane, NIL);
                if self.ftl.planes[plane.index()].job.is_some() {
                    self.press_job(plane);
                }
            }
        }
        self.drain()?;
        Ok(self.account.gc_jobs() > jobs)
    }

    /// Map pages that copies rewrite may take more than erases free. So it ends where as many
    /// rounds as a block has programs win no block, and planes keep half of the reserve.
    fn restore_free(&mut self) -> Result<(), SimError> {
        let start = std::mem::take(&mut self.ftl.free_at_start);
        let keeps = self.settings.keys.gc.reserve_blocks / 2;
        let short = |device: &Self, plane: PlaneId| {
            let before = start[plane.index()];
            let free = device.ftl.map.blocks.free_blocks(plane);
            before < u32::MAX && free < before && u64::from(free) > keeps
        };
        let geometry = self.settings.geometry;
        let patience = geometry.units_per_block() / geometry.program_units();
        let (mut most, mut fruitless) = (self.all_free(), 0);
        while fruitless <= patience && self.collect_once(short)? {
            fruitless = if self.all_free() > most { 0 } else { fruitless + 1 };
            most = most.max(self.all_free());
        }
        self.ftl.free_at_start = start;
        Ok(())
    }

    /// Free blocks of all planes.
    fn all_free(&self) -> u64 {
        let planes = (0..self.ftl.planes.len()).map(PlaneId::from_index);
        planes.map(|plane| u64::from(self.ftl.map.blocks.free_blocks(plane))).sum()
    }

    /// Does the device's own work to its end. Nothing arrives meanwhile.
    pub(super) fn drain(&mut self) -> Result<(), SimError> {
        let ahead = self.may_run_ahead();
        loop {
            self.admit();
            self.dispatch_stirred();
            self.flash.channels_choose(self.now);
            self.phases_began();
            if let Some(error) = self.failed.take() {
                return Err(error);
            }
            let timers = self.host.timers.next();
            if ahead {
                self.run_ahead(timers);
            }
            let now = self.flash.next_due().min(timers);
            if now == Time::MAX {
                assert_eq!(self.sets.graph.live(), 0, "own work waits for what never comes");
                return Ok(());
            }
            self.advance(now);
        }
    }

    /// Remembers how many blocks are free when the first phase begins.
    pub(super) fn note_free(&mut self) {
        for (plane, free) in self.ftl.free_at_start.iter_mut().enumerate() {
            if *free == u32::MAX {
                *free = self.ftl.map.blocks.free_blocks(PlaneId::from_index(plane));
            }
        }
    }
}

//! Upkeep: work between phases or after the run, on every plane, to its end.

use super::{Device, SimError};
use crate::ftl::Scheme;
use flashyard_core::units::{MapPage, Time};

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
    /// Work that no request asks for begins: a device that sleeps wakes first.
    fn be_awake(&mut self) {
        let awake = self.host.wake(self.now);
        if awake > self.now {
            self.begin_instant(awake);
        } else if self.follows_states {
            self.time_passes(self.now);
        }
    }

    /// Does the device's own work to its end. Nothing arrives meanwhile.
    fn drain(&mut self) -> Result<(), SimError> {
        self.copies_in_bulk = self.buffer.is_none() && self.waiting().may_copy_in_bulk();
        self.end_instant()?;
        while let Some(now) = self.next_instant(Time::MAX, Time::MAX) {
            self.begin_instant(now);
            self.end_instant()?;
        }
        assert_eq!(self.sets.live(), 0, "own work waits for what never comes");
        Ok(())
    }

    /// Does a kind of upkeep to its end. No request may be outstanding. What it does counts as work
    /// after the last request, charged to nobody.
    pub fn upkeep(&mut self, work: Upkeep) -> Result<(), SimError> {
        assert_eq!(self.host.outstanding(), 0, "upkeep comes between phases");
        self.host.set_exhausted(true);
        let start = self.now;
        self.account.begin_maintenance(start);
        self.be_awake();
        match work {
            Upkeep::Merge => self.merge_all()?,
            Upkeep::FlushMap => self.flush_map()?,
            Upkeep::Collect | Upkeep::Restore if self.ftl.is_raw() => {}
            Upkeep::Collect => _ = self.collect_once(false)?,
            Upkeep::Restore => self.restore_free()?,
        }
        self.teller().see_accesses();
        self.account.end_maintenance(start, self.now);
        Ok(())
    }

    /// Merges every log block, piece by piece on all planes.
    fn merge_all(&mut self) -> Result<(), SimError> {
        while self.let_ftl(Scheme::merge_all) {
            self.drain()?;
        }
        Ok(())
    }

    /// Starts a job on every plane or, to restore them, on those with fewer free blocks than at
    /// first, and does the work to its end. Returns whether there was any.
    fn collect_once(&mut self, restores: bool) -> Result<bool, SimError> {
        let jobs = self.account.own_jobs();
        self.let_ftl(|ftl, lent| ftl.collect_all(restores, lent));
        self.drain()?;
        Ok(self.account.own_jobs() > jobs)
    }

    /// Map pages that copies rewrite may take more than erases free. So it ends where as many
    /// rounds as a block has programs win no block, and planes keep half of the reserve.
    fn restore_free(&mut self) -> Result<(), SimError> {
        let geometry = self.settings.geometry;
        let patience = geometry.units_per_block() / geometry.program_units();
        let (mut most, mut fruitless) = (self.ftl.all_free(), 0);
        while fruitless <= patience && self.collect_once(true)? {
            let free = self.ftl.all_free();
            fruitless = if free > most { 0 } else { fruitless + 1 };
            most = most.max(free);
        }
        Ok(())
    }

    /// Writes every map page back of which something is dirty, in ascending order, as many at a
    /// time as there are planes; what that makes dirty behind it stays so.
    fn flush_map(&mut self) -> Result<(), SimError> {
        let mut from = MapPage::new(0);
        while let Some(next) = self.let_ftl(|_, lent| lent.flush_map(from)) {
            from = next;
            if self.sets.live() >= self.settings.geometry.all_planes() {
                self.drain()?;
            }
        }
        self.drain()
    }

    /// Ends the jobs that pacing has left to rest, at the end of a phase.
    pub(super) fn end_resting_jobs(&mut self) -> Result<(), SimError> {
        self.be_awake();
        if self.let_ftl(Scheme::end_resting_jobs) { self.drain() } else { Ok(()) }
    }
}

//! Folding: blocks of the SLC cache are emptied into blocks with all bits a cell, and erased.
//!
//! A fold is a job on a plane like one of garbage collection, and a plane has one job at a time.
//! The blocks of the cache are folded in the order in which they were filled, those that were free
//! blocks of the plane before those that are set aside: all of them in idle times; while the device
//! has requests, the ones that a write waits for, and those that give a plane which is short of
//! free blocks one for fewer copies than garbage collection would. Copies may take a free block of
//! the plane. Where the erase gives none back, because the block was set aside, another one must be
//! left for garbage collection.

use super::PageFtl;
use super::job::Job;
use crate::ftl::base::Base;
use crate::ftl::cells::FREE_TO_FOLD;
use crate::ftl::lent::{BegunJob, Charge, Deed, Lent};
use crate::ftl::placement::Placement;
use crate::observe::Trigger;
use flashyard_core::units::PlaneId;

impl PageFtl {
    /// Starts to fold the next block of a plane without a job, for the reason `trigger`; one that
    /// gives the plane a free block if it must be one that `frees`.
    fn start_fold(
        &mut self,
        plane: PlaneId,
        charge: Charge,
        (trigger, frees): (Trigger, bool),
        lent: &mut Lent<'_>,
    ) {
        let Some(victim) = lent.base.next_fold(plane, frees) else { return };
        lent.base.map.blocks.claim_fold(victim);
        let valid = lent.base.map.blocks.valid_units(victim);
        let job = Job { folds: true, ..Job::new(victim, charge, false) };
        self.plane_mut(plane).job = Some(job);
        let free_blocks = lent.base.free_blocks(plane);
        let begun = BegunJob { plane, victim, valid, free_blocks, searches: 0, trigger, charge };
        lent.note(Deed::Began(begun));
        self.new_eraser(plane, charge, lent);
        self.search_over(plane, lent);
    }

    /// Folds a block in place of collecting one on a plane that is short of free blocks, where that
    /// takes no more copies. Returns whether it does.
    pub(super) fn folds_instead(
        &mut self,
        plane: PlaneId,
        charge: Charge,
        lent: &mut Lent<'_>,
    ) -> bool {
        let Some(block) = lent.base.next_fold(plane, true) else { return false };
        let blocks = &mut lent.base.map.blocks;
        let valid = blocks.valid_units(block);
        let folds = blocks.fewest_valid(plane).is_none_or(|fewest| valid <= fewest);
        if folds {
            self.start_fold(plane, charge, (Trigger::FoldForSpace, true), lent);
        }
        folds
    }

    /// Free blocks that a fold leaves to nobody else: the one that its copies may still open, and
    /// the one of garbage collection, where its erase gives none back. Otherwise none.
    pub(super) fn held_for_fold(&self, base: &Base, plane: PlaneId) -> u64 {
        let takes = |job: &Job| job.folds && !job.opened && !base.map.blocks.fold_frees(job.victim);
        let takes = self.planes[plane.index()].job.as_ref().is_some_and(takes);
        if takes { FREE_TO_FOLD[0] } else { 0 }
    }

    /// Folds a block because the device is idle, or makes room for that.
    pub(super) fn fold_idle(&mut self, plane: PlaneId, lent: &mut Lent<'_>) {
        self.fold_or_collect(plane, None, (Trigger::FoldIdle, Trigger::Idle), lent);
    }

    /// A write waits for room in the cache of a plane: a block is folded, unless a job is under way
    /// whose end the write waits for first.
    pub(super) fn make_cache_room(&mut self, plane: PlaneId, charge: Charge, lent: &mut Lent<'_>) {
        if !self.is_busy(plane) {
            self.fold_or_collect(plane, charge, (Trigger::FoldForWrite, Trigger::Needed), lent);
        }
    }

    /// Folds a block or, where there are too few free ones for that, collects one.
    fn fold_or_collect(
        &mut self,
        plane: PlaneId,
        charge: Charge,
        (fold, collect): (Trigger, Trigger),
        lent: &mut Lent<'_>,
    ) {
        if lent.base.next_fold(plane, false).is_some() {
            self.start_fold(plane, charge, (fold, false), lent);
        } else if lent.base.map.blocks.has_folds(plane) {
            self.start_job(plane, charge, collect, lent);
        }
    }
}

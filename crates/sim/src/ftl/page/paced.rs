//! Pacing: when jobs go on, which programs wait, and what a die takes next.

use super::PageFtl;
use super::job::Job;
use crate::ftl::base::Base;
use crate::ftl::lent::{Deed, Lent, Todo};
use crate::handle::SetId;
use crate::observe::OwnCause;
use crate::sets::{Mode, OwnWork, Stage};
use flashyard_core::graph::EdgeKind;
use flashyard_core::units::PlaneId;

impl PageFtl {
    /// Spare units of a plane, with the part of its victim that has been dealt with. Superblocks
    /// have a plane's share of the spare units of all.
    fn spare(&self, base: &Base, plane: PlaneId) -> u64 {
        let job = &self.planes[plane.index()].job;
        let walks = job.as_ref().filter(|job| !job.folds);
        let walked = walks.map_or(0, |job| u64::from(job.next_unit));
        let sharing = if self.united.is_some() { self.planes.len() as u64 } else { 1 };
        base.map.blocks.spare_units(plane) / sharing + walked
    }

    /// Whether a plane of a device with pacing has so little spare space that it collects: less
    /// than its target and the soft zone.
    pub(super) fn is_behind(&self, base: &Base, plane: PlaneId) -> Option<bool> {
        let pacing = self.pacing.as_deref()?;
        Some(self.spare(base, plane) < pacing.begins)
    }

    /// The program of a plane begins: its units owe copies to the job of the plane.
    pub(super) fn owe(&mut self, base: &Base, plane: PlaneId) {
        let spare = self.spare(base, plane);
        if let (Some(job), Some(pacing)) = (&self.planes[plane.index()].job, &mut self.pacing)
            && !job.folds
        {
            pacing.owe(plane, job.ratio, spare);
        }
    }

    /// Whether the job of a plane goes on with its next copies. Without pacing it always does.
    /// With pacing its copies come a program unit at a time, while somebody waits for its erase,
    /// the plane is behind, or collects in the background; a job that is not over when all requests
    /// have `ended` rests.
    pub(super) fn wants_copies(&self, plane: PlaneId, lent: &Lent<'_>) -> bool {
        let Some(behind) = self.is_behind(lent.base, plane) else { return true };
        let job = self.job(plane);
        if job.folds {
            return true;
        }
        let free = lent.base.free_blocks(plane);
        let wants =
            job.presses || (!lent.ended && (behind || lent.base.idle.works(free, lent.now)));
        wants && job.copies == 0
    }

    /// Somebody waits for the erase of a plane's job, which rests no more; of a superblock the jobs
    /// of all planes rest no more.
    pub(super) fn press(&mut self, plane: PlaneId, lent: &mut Lent<'_>) {
        if self.united.is_some() {
            self.press_united(plane, lent);
        } else {
            self.press_job(plane, lent);
        }
    }

    /// Somebody waits for the erase of a plane's job, which rests no more. Returns the set of the
    /// erase. A job with pacing makes it when its copies are over, or here: then the erase waits
    /// for a gate that stands for the copies.
    pub(super) fn press_job(&mut self, plane: PlaneId, lent: &mut Lent<'_>) -> SetId {
        let job = self.job_mut(plane);
        job.presses = true;
        if let Some(eraser) = job.eraser {
            return eraser;
        }
        let rests = job.rests();
        let eraser = self.new_eraser(plane, self.last_allocator(plane), lent);
        let stages = [(Stage::Barrier, plane)];
        let gate = lent.own_set(None, OwnCause::Job, OwnWork::Gate, &stages);
        lent.wait(eraser, gate, 0, EdgeKind::Gc);
        lent.todo.push(Todo::Rest(gate, Mode::Collecting));
        lent.todo.push(Todo::Rest(eraser, Mode::Waiting));
        self.job_mut(plane).gate = Some(gate);
        if rests {
            self.copy_more(plane, lent);
        }
        eraser
    }

    /// All copies of a job with pacing are over: its map pages, then its erase.
    pub(super) fn erase_paced(&mut self, plane: PlaneId, lent: &mut Lent<'_>) {
        let charge = self.last_allocator(plane);
        let job = self.job_mut(plane);
        job.charge = charge;
        let (gate, eraser) = (job.gate.take(), job.eraser);
        let eraser = eraser.unwrap_or_else(|| self.new_eraser(plane, charge, lent));
        self.rewrite_moved_maps(plane, lent);
        match gate {
            Some(gate) => lent.todo.push(Todo::Open(gate)),
            None => lent.go_on(eraser),
        }
    }
}

impl Lent<'_> {
    /// The job of a plane is given up as it is.
    pub(super) fn note_given_up(&mut self, plane: PlaneId, job: &Job) {
        assert!(job.rests(), "garbage collection is under way");
        self.base.idle.background_over(plane);
        let valid = self.base.map.count_valid(job.victim);
        self.note(Deed::GivenUp(valid, job.levels));
    }
}

//! Pacing: when jobs go on, which programs wait, and what a die takes next.

use super::PageFtl;
use crate::ftl::base::Base;
use crate::ftl::lent::{Lent, Todo};
use crate::handle::SetId;
use crate::observe::OwnCause;
use crate::sets::{Mode, Set, Sets, Stage};
use flashyard_core::graph::EdgeKind;
use flashyard_core::units::{DieId, PlaneId};

impl PageFtl {
    /// Spare units of a plane, with the part of its victim that has been dealt with.
    fn spare(&self, base: &Base, plane: PlaneId) -> u64 {
        let job = &self.planes[plane.index()].job;
        let walked = job.as_ref().map_or(0, |job| u64::from(job.next_unit));
        base.map.blocks.spare_units(plane) + walked
    }

    /// Whether a plane of a device with pacing has less spare space than its target.
    pub(super) fn is_behind(&self, base: &Base, plane: PlaneId) -> Option<bool> {
        let pacing = self.pacing.as_deref()?;
        Some(self.spare(base, plane) < pacing.target)
    }

    /// The program of a plane begins: its units owe copies to the job of the plane.
    pub(super) fn owe(&mut self, base: &Base, plane: PlaneId) {
        let spare = self.spare(base, plane);
        if let (Some(job), Some(pacing)) = (&self.planes[plane.index()].job, &mut self.pacing) {
            pacing.owe(plane, job.ratio, spare);
        }
    }

    /// Whether the job of a plane goes on with its next copies. Without pacing it always does.
    /// With pacing its copies come a program unit at a time, while somebody waits for its erase,
    /// the plane is behind, or collects in the background; a job that is not over when all requests
    /// have `ended` rests.
    pub(super) fn wants_copies(&self, base: &Base, plane: PlaneId, lent: &Lent<'_>) -> bool {
        let Some(behind) = self.is_behind(base, plane) else { return true };
        let job = self.job(plane);
        let free = base.free_blocks(plane);
        let wants = job.presses || (!lent.ended && (behind || base.idle.works(free, lent.now)));
        wants && job.copies == 0
    }

    /// Whether programs of a plane wait: it owes copies, and its die has those or the erase behind
    /// them to do. A job that a program waits for holds nothing up, since it may come to wait for
    /// what it holds.
    pub(crate) fn is_held(&self, plane: PlaneId, sets: &Sets) -> bool {
        let Some(pacing) = self.pacing.as_deref() else { return false };
        let Some(job) = &self.planes[plane.index()].job else { return false };
        let erases = || {
            let mode = job.eraser.map(|eraser| sets[eraser].mode);
            matches!(mode, Some(Mode::Queued | Mode::Running | Mode::Suspended))
        };
        pacing.owes(plane) && !job.presses && (job.copies > 0 || (job.erases && erases()))
    }

    /// Whether a command is a program of host data of a plane whose programs wait.
    pub(crate) fn is_held_back(&self, set: SetId, sets: &Sets) -> bool {
        sets.stage(set) == Stage::Program && self.is_held(sets.plane(set), sets)
    }

    /// Whether reads wait for operations of a die while writes wait.
    pub(crate) fn holds_reads(&self) -> bool {
        self.pacing.as_deref().is_some_and(|pacing| !pacing.suspends)
    }

    /// The command that a die of a device with pacing takes next, of the first one of requests and
    /// the first one of garbage collection.
    pub(crate) fn paced_command(
        &self,
        die: DieId,
        (host, gc): (Option<SetId>, Option<SetId>),
        sets: &Sets,
    ) -> Option<SetId> {
        let (Some(command), Some(pacing)) = (host, self.pacing.as_deref()) else { return gc };
        if self.is_held_back(command, sets) {
            return gc;
        }
        let due = |gc: &SetId| pacing.is_due(die) && pacing.owes(sets.plane(*gc));
        gc.filter(due).or(host)
    }

    /// A die takes a command: one of garbage collection, or one that garbage collection did not
    /// wait for, ends its turn.
    pub(crate) fn note_turn(&mut self, die: DieId, ends: bool) {
        if let Some(pacing) = &mut self.pacing {
            pacing.note_turn(die, ends);
        }
    }

    /// Somebody waits for the erase of a plane's job, which rests no more. Returns the set of the
    /// erase. A job with pacing makes it when its copies are over, or here: then the erase waits
    /// for a gate that stands for the copies.
    pub(super) fn press_job(
        &mut self,
        base: &mut Base,
        plane: PlaneId,
        lent: &mut Lent<'_>,
    ) -> SetId {
        let job = self.job_mut(plane);
        job.presses = true;
        if let Some(eraser) = job.eraser {
            return eraser;
        }
        let rests = job.rests();
        let eraser = self.new_eraser(base, plane, self.last_allocator(plane), lent);
        let stages = [(Stage::Barrier, plane)];
        let gate = lent.own_set(None, OwnCause::Job, &Set::VACANT, &stages);
        lent.wait(eraser, gate, 0, EdgeKind::Gc);
        lent.todo.push(Todo::Rest(gate, Mode::Collecting));
        lent.todo.push(Todo::Rest(eraser, Mode::Waiting));
        self.job_mut(plane).gate = Some(gate);
        if rests {
            self.copy_more(base, plane, lent);
        }
        eraser
    }

    /// All copies of a job with pacing are over: its map pages, then its erase.
    pub(super) fn erase_paced(&mut self, base: &mut Base, plane: PlaneId, lent: &mut Lent<'_>) {
        let charge = self.last_allocator(plane);
        let job = self.job_mut(plane);
        job.charge = charge;
        let (gate, eraser) = (job.gate.take(), job.eraser);
        let eraser = eraser.unwrap_or_else(|| self.new_eraser(base, plane, charge, lent));
        self.rewrite_moved_maps(base, plane, lent);
        match gate {
            Some(gate) => lent.todo.push(Todo::Open(gate)),
            None => lent.go_on(eraser),
        }
    }

    /// At the end of a phase a job of a plane with pacing rests: it is given up, with its victim in
    /// the state that it is in, which the next job of the plane goes on with. With a map on flash,
    /// whose entries it has moved, it is brought to its end instead. Returns whether that is so.
    pub(crate) fn end_resting_job(
        &mut self,
        base: &mut Base,
        plane: PlaneId,
        lent: &mut Lent<'_>,
    ) -> bool {
        let Some(job) = self.planes[plane.index()].job else { return false };
        assert!(job.rests(), "garbage collection is under way");
        if base.has_cache() {
            self.job_mut(plane).presses = true;
            self.copy_more(base, plane, lent);
            return true;
        }
        self.plane_mut(plane).job = None;
        base.map.blocks.set_aside(job.victim);
        base.idle.background_over(plane);
        lent.todo.push(Todo::GivenUp(base.map.blocks.valid_units(job.victim), job.levels));
        false
    }
}

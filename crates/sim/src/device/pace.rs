//! Pacing: garbage collection that copies a little for each program, not a whole victim at once.
//! The rules are those of `ftl::page::pacing`; here are the sets that they lead to.

use super::Device;
use crate::sets::{Mode, Set, Stage};
use flashyard_core::graph::{EdgeKind, NIL, Wait};
use flashyard_core::units::PlaneId;

impl Device {
    /// An operation that programs has begun on a die: what it writes owes copies.
    pub(super) fn owe_copies(&mut self, leader: u32) {
        let mut at = leader;
        while at != NIL {
            let state = &self.sets[at];
            let (next, charge) = (state.rider, state.charge);
            if state.page_units > 0 && self.sets.stage(at) != Stage::CopyProgram {
                let plane = self.sets.plane(at);
                self.note_allocator(plane, charge);
                // A victim that was given up makes the plane less short than it looks.
                self.collect(plane, charge);
                self.ftl.owe(plane);
            }
            at = next;
        }
    }

    /// The set of the erase that the job of a plane works towards. A job with pacing makes it when
    /// its copies are over, or here, where a program needs the room: then it rests no more, and the
    /// erase waits for a gate that stands for the copies.
    pub(super) fn press_job(&mut self, plane: PlaneId) -> u32 {
        let job = self.ftl.press(plane);
        if job.eraser != NIL {
            return job.eraser;
        }
        let eraser = self.new_eraser(plane, &job);
        let gate = self.own_set(NIL, &Set::VACANT, &[(Stage::Barrier, plane)]);
        self.sets.connect(Wait { source: gate, stage: 0, kind: EdgeKind::Gc }, eraser, 0);
        self.enter(gate, Mode::Collecting);
        self.enter(eraser, Mode::Waiting);
        self.ftl.gate_made(plane, eraser, gate);
        if job.rests() {
            self.copy_more(plane);
        }
        eraser
    }

    /// All copies of a job with pacing are over: its map pages, then its erase.
    pub(super) fn erase_paced(&mut self, plane: PlaneId) {
        let (mut job, gate) = self.ftl.open_gate(plane, self.last_allocator(plane));
        if job.eraser == NIL {
            job.eraser = self.new_eraser(plane, &job);
            self.ftl.eraser_made(plane, job.eraser);
        }
        self.rewrite_moved_maps(plane, &job);
        if gate == NIL {
            self.activate(job.eraser);
        } else {
            self.activate(gate);
            self.wake_passed();
        }
    }

    /// The end of a phase: jobs that rest are given up, with their victims in the state that they
    /// are in, which the next jobs of their planes go on with. With a map on flash, whose entries
    /// they have moved, they are brought to their ends instead. Returns whether that is so.
    pub(super) fn end_resting_jobs(&mut self) -> bool {
        let mut goes_on = false;
        for plane in self.ftl.planes() {
            if !self.ftl.has_resting_job(plane) {
                continue;
            }
            if self.ftl.has_cache() {
                goes_on = true;
                self.ftl.press(plane);
                self.copy_more(plane);
            } else {
                let given_up = self.ftl.give_up(plane);
                self.account.gc_given_up(given_up.valid, given_up.levels);
            }
        }
        goes_on
    }
}

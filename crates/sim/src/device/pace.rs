//! Pacing: garbage collection that copies a little for each program, not a whole victim at once.
//! The rules are those of `ftl::page::pacing`; here are the sets that they lead to.

use super::Device;
use crate::handle::SetId;
use crate::sets::{Mode, Set, Stage, Wait};
use flashyard_core::graph::EdgeKind;
use flashyard_core::units::PlaneId;

impl Device {
    /// An operation that programs has begun on a die: what it writes owes copies.
    pub(super) fn owe_copies(&mut self, leader: SetId) {
        self.for_riders(Some(leader), |device, set| {
            let Set { charge, page_codewords, .. } = device.sets[set];
            if page_codewords > 0 && device.sets.stage(set) != Stage::CopyProgram {
                let plane = device.sets.plane(set);
                device.note_allocator(plane, charge);
                // A victim that was given up makes the plane less short than it looks.
                device.collect(plane, charge);
                device.ftl.owe(plane);
            }
        });
    }

    /// The set of the erase that the job of a plane works towards. A job with pacing makes it when
    /// its copies are over, or here, where a program needs the room: then it rests no more, and the
    /// erase waits for a gate that stands for the copies.
    pub(super) fn press_job(&mut self, plane: PlaneId) -> SetId {
        let job = self.ftl.press(plane);
        if let Some(eraser) = job.eraser {
            return eraser;
        }
        let eraser = self.new_eraser(plane, &job);
        let gate = self.own_set(None, &Set::VACANT, &[(Stage::Barrier, plane)]);
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
        let eraser = job.eraser.unwrap_or_else(|| {
            let eraser = self.new_eraser(plane, &job);
            self.ftl.eraser_made(plane, eraser);
            eraser
        });
        job.eraser = Some(eraser);
        self.rewrite_moved_maps(plane, &job);
        if let Some(gate) = gate {
            self.activate(gate);
            self.wake_passed();
        } else {
            self.activate(eraser);
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
                self.ftl.background_over(plane);
                self.account.gc_given_up(given_up.valid, given_up.levels);
            }
        }
        goes_on
    }
}

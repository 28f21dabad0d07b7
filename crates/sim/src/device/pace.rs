//! Pacing: garbage collection that copies a little for each program, not a whole victim at once.
//!
//! The spare space of a plane is its free blocks, what is left of its open blocks, and that part of
//! the victim under collection which has been dealt with, since its erase will free that: a number
//! of units that every program lowers by one, and the walk over a victim raises. While it is below
//! its target, each unit that a program writes owes copies. A die whose next command of a request
//! is a program of a plane that owes a whole program unit of copies serves garbage collection
//! first; reads are not held up.
//!
//! A victim with v valid units in the L that are left of it takes v copies and yields L - v. Each
//! unit then owes v / (L - v) copies, which keeps the spare space where it is. With
//! `gc.pacing = "spare"` that ratio grows as the spare space falls below its target, and is doubled
//! where free blocks would fall to `gc.reserve_blocks`. So the spare space comes to its target
//! under any load that garbage collection can keep up with, and stays there.

use super::Device;
use crate::ftl::job::Job;
use crate::ftl::pacing::ONE;
use crate::metrics::counters::Phase;
use crate::sets::{Mode, Set, Stage};
use flashyard_core::graph::{EdgeKind, NIL, Wait};
use flashyard_core::units::{DieId, PlaneId};

impl Device {
    /// Spare units of a plane, with the part of its victim that has been dealt with.
    fn spare(&self, plane: PlaneId) -> u64 {
        let walked = self.ftl.planes[plane.index()].job.map_or(0, |job| u64::from(job.next_unit));
        self.ftl.map.blocks.spare_units(plane) + walked
    }

    /// Whether a plane of a device with pacing has less spare space than its target.
    pub(super) fn is_behind(&self, plane: PlaneId) -> Option<bool> {
        let pacing = self.ftl.pacing.as_ref()?;
        Some(self.spare(plane) < pacing.target)
    }

    /// An operation that programs has begun on a die: what it writes owes copies.
    pub(super) fn owe_copies(&mut self, leader: u32) {
        let mut at = leader;
        while at != NIL {
            let state = &self.sets[at];
            let (next, charge) = (state.rider, state.charge);
            if state.page_units > 0 && self.sets.stage(at) != Stage::CopyProgram {
                self.owe(self.sets.plane(at), charge);
            }
            at = next;
        }
    }

    /// A program of this plane begins, for a request or for none.
    fn owe(&mut self, plane: PlaneId, charge: u32) {
        if charge != NIL {
            let order = self.host.pending[charge as usize].order;
            self.ftl.planes[plane.index()].drawer = (charge, order);
        }
        // A victim that was given up makes the plane less short than it looks.
        self.collect(plane, charge);
        let spare = self.spare(plane);
        let Some(job) = self.ftl.planes[plane.index()].job else { return };
        let Some(pacing) = &mut self.ftl.pacing else { return };
        let owed = &mut pacing.owed[plane.index()];
        if spare >= pacing.target {
            *owed = 0;
            return;
        }
        let owed = *owed;
        let more = pacing.rate(job.ratio, spare).saturating_mul(pacing.batch);
        pacing.owed[plane.index()] = owed.saturating_add(more);
    }

    /// A copy has been programmed.
    pub(super) fn copy_paid(&mut self, plane: PlaneId) {
        if let Some(pacing) = &mut self.ftl.pacing {
            let owed = &mut pacing.owed[plane.index()];
            *owed = owed.saturating_sub(ONE);
        }
    }

    /// Whether the job of a plane goes on with its next copies: always where nothing is paced or
    /// somebody waits for its erase, else while the plane is behind, or collects in the background.
    /// A job that is not over at the end of a phase rests.
    pub(super) fn wants_copies(&self, plane: PlaneId) -> bool {
        let job = self.ftl.planes[plane.index()].job;
        let Some(behind) = self.is_behind(plane) else { return true };
        let presses = job.is_some_and(|job| job.presses);
        let free = u64::from(self.ftl.map.blocks.free_blocks(plane));
        presses || (self.phase() != Phase::Post && (behind || self.is_idle_short(free)))
    }

    /// Whether programs of a plane wait: it owes copies, and its die has those or the erase behind
    /// them to do. A job that a program waits for holds nothing up, since it may come to wait for
    /// what it holds.
    fn is_held(&self, plane: PlaneId) -> bool {
        let Some(pacing) = &self.ftl.pacing else { return false };
        let Some(job) = &self.ftl.planes[plane.index()].job else { return false };
        let erases = || {
            let mode = self.sets[job.eraser].mode;
            matches!(mode, Mode::Queued | Mode::Running | Mode::Suspended)
        };
        pacing.owes(plane) && !job.presses && (job.copies > 0 || (job.erases && erases()))
    }

    /// The command that a die of a device with pacing takes next, of the first one of requests and
    /// the first one of garbage collection.
    pub(super) fn paced_command(
        &self,
        die: DieId,
        host: Option<u32>,
        gc: Option<u32>,
    ) -> Option<u32> {
        let (Some(command), Some(pacing)) = (host, &self.ftl.pacing) else { return gc };
        if self.is_held_back(command) {
            return gc;
        }
        let passes = pacing.most_passed == 0 || pacing.passed[die.index()] < pacing.most_passed;
        let due = |gc: &u32| !passes && pacing.owes(self.sets.plane(*gc));
        gc.filter(due).or(host)
    }

    /// Whether a command is a program of host data of a plane whose programs wait.
    pub(super) fn is_held_back(&self, set: u32) -> bool {
        self.sets.stage(set) == Stage::Program && self.is_held(self.sets.plane(set))
    }

    /// A die takes a command: one that garbage collection did not wait for ends its turn.
    pub(super) fn note_turn(&mut self, die: DieId, set: u32) {
        if let Some(pacing) = &mut self.ftl.pacing {
            let waits = !self.queues.of_dies[die.index()].gc.is_empty();
            let of_gc = self.sets[set].in_gc_queue;
            let passed = &mut pacing.passed[die.index()];
            *passed = if of_gc || !waits { 0 } else { *passed + 1 };
        }
    }

    /// The set of the erase that the job of a plane works towards. A job with pacing makes it when
    /// its copies are over, or here, where a program needs the room: then it rests no more, and the
    /// erase waits for a gate that stands for the copies.
    pub(super) fn press_job(&mut self, plane: PlaneId) -> u32 {
        let job = self.ftl.planes[plane.index()].job.expect("a job is under way");
        if job.eraser != NIL {
            let pressed = Job { presses: true, ..job };
            self.ftl.planes[plane.index()].job = Some(pressed);
            return job.eraser;
        }
        let eraser = self.new_eraser(plane, &job);
        let gate = self.own_set(NIL, Set::VACANT, &[(Stage::Barrier, plane)]);
        self.sets.connect(Wait { source: gate, stage: 0, kind: EdgeKind::Gc }, eraser, 0);
        self.enter(gate, Mode::Collecting);
        self.enter(eraser, Mode::Waiting);
        let pressed = Job { eraser, gate, presses: true, ..job };
        self.ftl.planes[plane.index()].job = Some(pressed);
        if job.rests() {
            self.copy_more(plane);
        }
        eraser
    }

    /// All copies of a job with pacing are over: its map pages, then its erase.
    pub(super) fn erase_paced(&mut self, plane: PlaneId) {
        let mut job = self.ftl.planes[plane.index()].job.expect("copies belong to a job");
        job.charge = self.drawer_of(plane);
        if job.eraser == NIL {
            job.eraser = self.new_eraser(plane, &job);
        }
        let gate = std::mem::replace(&mut job.gate, NIL);
        job.next_unit = self.settings.geometry.units_per_block();
        job.erases = true;
        self.ftl.planes[plane.index()].job = Some(job);
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
        for plane in (0..self.ftl.planes.len()).map(PlaneId::from_index) {
            let Some(job) = self.ftl.planes[plane.index()].job else { continue };
            assert!(job.rests(), "garbage collection is under way");
            if self.ftl.cache.is_some() {
                goes_on = true;
                self.ftl.planes[plane.index()].job = Some(Job { presses: true, ..job });
                self.copy_more(plane);
            } else {
                self.give_up(plane, &job);
            }
        }
        goes_on
    }

    fn give_up(&mut self, plane: PlaneId, job: &Job) {
        self.ftl.planes[plane.index()].job = None;
        self.ftl.map.blocks.set_aside(job.victim);
        self.account.gc_given_up(self.ftl.map.blocks.valid_units(job.victim), job.levels);
    }

    /// The request whose program took space from a plane last, while it is not over.
    pub(super) fn drawer_of(&self, plane: PlaneId) -> u32 {
        let (handle, order) = self.ftl.planes[plane.index()].drawer;
        let live = handle != NIL && self.host.pending[handle as usize].order == order;
        if live { handle } else { NIL }
    }
}

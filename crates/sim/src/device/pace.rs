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
use super::collect::Job;
use super::state::{Mode, Set, Stage};
use crate::config::{GcPacing, Settings};
use crate::metrics::counters::Phase;
use flashyard_core::graph::{EdgeKind, NIL, Wait};
use flashyard_core::units::{DieId, PlaneId};

/// Owed copies are counted in parts of a unit: so many make one.
const ONE: u64 = 1 << 16;

/// By how many times its least the ratio grows at most.
const MOST: u64 = 4;

/// What programs owe, by plane, and what has gone before garbage collection, by die.
#[derive(Debug)]
pub(super) struct Pacing {
    rule: GcPacing,
    /// Copies for each unit, under `tokens`.
    tokens: u64,
    /// Commands of requests that go before a command of garbage collection at most; 0: any number.
    most_passed: u64,
    /// The spare space that planes are kept at, and how far below it the ratio is doubled; units.
    target: u64,
    slope: u64,
    /// Units of a program.
    batch: u64,
    owed: Vec<u64>,
    passed: Vec<u64>,
}

impl Pacing {
    /// The pacing of a device; none where garbage collection is not paced, or has no part in it.
    pub(super) fn new(settings: &Settings, planned: bool) -> Option<Box<Self>> {
        let (gc, geometry) = (&settings.keys.gc, &settings.geometry);
        if gc.pacing == GcPacing::None || planned {
            return None;
        }
        let block = u64::from(geometry.units_per_block());
        Some(Box::new(Self {
            rule: gc.pacing,
            tokens: gc.copies_per_program,
            most_passed: gc.reads_before_copy,
            target: settings.spare_target(),
            slope: block * gc.soft_free_blocks.saturating_sub(gc.reserve_blocks).max(1),
            batch: u64::from(geometry.program_units()),
            owed: vec![0; geometry.all_planes() as usize],
            passed: vec![0; geometry.dies() as usize],
        }))
    }

    /// The same at the start of a phase: what is owed from before it is forgotten.
    pub(super) fn begin_phase(&mut self) {
        self.owed.fill(0);
        self.passed.fill(0);
    }

    /// Copies that a unit owes, in parts, where the victim needs `ratio` of them and the plane has
    /// this much spare space.
    fn rate(&self, ratio: u64, spare: u64) -> u64 {
        if self.rule == GcPacing::Tokens {
            return self.tokens * ONE;
        }
        let short = u128::from(self.target.saturating_sub(spare));
        let more = (short * u128::from(ONE) / u128::from(self.slope)).min(u128::from(MOST * ONE));
        let rate = u128::from(ratio) * (u128::from(ONE) + more) / u128::from(ONE);
        u64::try_from(rate).unwrap_or(u64::MAX)
    }

    /// Whether a plane owes a program unit of copies.
    fn owes(&self, plane: PlaneId) -> bool {
        self.owed[plane.index()] >= self.batch * ONE
    }
}

/// Copies that each unit written has to bring, in parts, where `left` units of a victim hold
/// `valid` ones. A victim without anything to gain, which wear levelling takes, is copied unit by
/// unit.
pub(super) fn ratio(valid: u32, left: u32) -> u64 {
    let gain = left.saturating_sub(valid);
    if gain == 0 { ONE } else { u64::from(valid) * ONE / u64::from(gain) }
}

impl Device {
    /// Spare units of a plane, with the part of its victim that has been dealt with.
    fn spare(&self, plane: PlaneId) -> u64 {
        let walked = self.planes[plane.index()].job.map_or(0, |job| u64::from(job.next_unit));
        self.map.blocks.spare_units(plane) + walked
    }

    /// Whether a plane of a device with pacing has less spare space than its target.
    pub(super) fn is_behind(&self, plane: PlaneId) -> Option<bool> {
        let pacing = self.pacing.as_ref()?;
        Some(self.spare(plane) < pacing.target)
    }

    /// An operation that programs has begun on a die: what it writes owes copies.
    pub(super) fn owe_copies(&mut self, leader: u32) {
        let mut at = leader;
        while at != NIL {
            let state = &self.sets[at as usize];
            let (next, charge) = (state.rider, state.charge);
            if state.page_units > 0 && self.stage(at) != Stage::CopyProgram {
                self.owe(self.current_plane(at), charge);
            }
            at = next;
        }
    }

    /// A program of this plane begins, for a request or for none.
    fn owe(&mut self, plane: PlaneId, charge: u32) {
        if charge != NIL {
            let order = self.pending[charge as usize].order;
            self.planes[plane.index()].drawer = (charge, order);
        }
        // A victim that was given up makes the plane less short than it looks.
        self.collect(plane, charge);
        let spare = self.spare(plane);
        let Some(job) = self.planes[plane.index()].job else { return };
        let Some(pacing) = &mut self.pacing else { return };
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
        if let Some(pacing) = &mut self.pacing {
            let owed = &mut pacing.owed[plane.index()];
            *owed = owed.saturating_sub(ONE);
        }
    }

    /// Whether the job of a plane goes on with its next copies: always where nothing is paced or
    /// somebody waits for its erase, else while the plane is behind, or collects in the background.
    /// A job that is not over at the end of a phase rests.
    pub(super) fn wants_copies(&self, plane: PlaneId) -> bool {
        let job = self.planes[plane.index()].job;
        let Some(behind) = self.is_behind(plane) else { return true };
        let presses = job.is_some_and(|job| job.presses);
        let free = u64::from(self.map.blocks.free_blocks(plane));
        presses || (self.phase() != Phase::Post && (behind || self.is_idle_short(free)))
    }

    /// Whether programs of a plane wait: it owes copies, and its die has those or the erase behind
    /// them to do. A job that a program waits for holds nothing up, since it may come to wait for
    /// what it holds.
    fn is_held(&self, plane: PlaneId) -> bool {
        let Some(pacing) = &self.pacing else { return false };
        let Some(job) = &self.planes[plane.index()].job else { return false };
        let erases = || {
            let mode = self.sets[job.eraser as usize].mode;
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
        let (Some(command), Some(pacing)) = (host, &self.pacing) else { return gc };
        if self.is_held_back(command) {
            return gc;
        }
        let passes = pacing.most_passed == 0 || pacing.passed[die.index()] < pacing.most_passed;
        let due = |gc: &u32| !passes && pacing.owes(self.current_plane(*gc));
        gc.filter(due).or(host)
    }

    /// Whether a command is a program of host data of a plane whose programs wait.
    pub(super) fn is_held_back(&self, set: u32) -> bool {
        self.stage(set) == Stage::Program && self.is_held(self.current_plane(set))
    }

    /// A die takes a command: one that garbage collection did not wait for ends its turn.
    pub(super) fn note_turn(&mut self, die: DieId, set: u32) {
        let waits = !self.dies[die.index()].gc.is_empty();
        let of_gc = self.sets[set as usize].in_gc_queue;
        if let Some(pacing) = &mut self.pacing {
            let passed = &mut pacing.passed[die.index()];
            *passed = if of_gc || !waits { 0 } else { *passed + 1 };
        }
    }

    /// The set of the erase that the job of a plane works towards. A job with pacing makes it when
    /// its copies are over, or here, where a program needs the room: then it rests no more, and the
    /// erase waits for a gate that stands for the copies.
    pub(super) fn press_job(&mut self, plane: PlaneId) -> u32 {
        let job = self.planes[plane.index()].job.expect("a job is under way");
        if job.eraser != NIL {
            let pressed = Job { presses: true, ..job };
            self.planes[plane.index()].job = Some(pressed);
            return job.eraser;
        }
        let eraser = self.new_eraser(plane, &job);
        let gate = self.own_set(NIL, Set::VACANT, &[(Stage::Barrier, plane)]);
        self.connect(Wait { source: gate, stage: 0, kind: EdgeKind::Gc }, eraser, 0);
        self.enter(gate, Mode::Collecting);
        self.enter(eraser, Mode::Waiting);
        let pressed = Job { eraser, gate, presses: true, ..job };
        self.planes[plane.index()].job = Some(pressed);
        if job.rests() {
            self.copy_more(plane);
        }
        eraser
    }

    /// All copies of a job with pacing are over: its map pages, then its erase.
    pub(super) fn erase_paced(&mut self, plane: PlaneId) {
        let mut job = self.planes[plane.index()].job.expect("copies belong to a job");
        job.charge = self.drawer_of(plane);
        if job.eraser == NIL {
            job.eraser = self.new_eraser(plane, &job);
        }
        let gate = std::mem::replace(&mut job.gate, NIL);
        job.next_unit = self.settings.geometry.units_per_block();
        job.erases = true;
        self.planes[plane.index()].job = Some(job);
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
        for plane in (0..self.planes.len()).map(PlaneId::from_index) {
            let Some(job) = self.planes[plane.index()].job else { continue };
            assert!(job.rests(), "garbage collection is under way");
            if self.cache.is_some() {
                goes_on = true;
                self.planes[plane.index()].job = Some(Job { presses: true, ..job });
                self.copy_more(plane);
            } else {
                self.give_up(plane, &job);
            }
        }
        goes_on
    }

    fn give_up(&mut self, plane: PlaneId, job: &Job) {
        self.planes[plane.index()].job = None;
        self.map.blocks.set_aside(job.victim);
        self.totals.gc_jobs -= 1;
        self.totals.wear_jobs -= u64::from(job.levels);
        self.totals.gc_valid -= u64::from(self.map.blocks.valid_units(job.victim));
    }

    /// The request whose program took space from a plane last, while it is not over.
    pub(super) fn drawer_of(&self, plane: PlaneId) -> u32 {
        let (handle, order) = self.planes[plane.index()].drawer;
        let live = handle != NIL && self.pending[handle as usize].order == order;
        if live { handle } else { NIL }
    }
}

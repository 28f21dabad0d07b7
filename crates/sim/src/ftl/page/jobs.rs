//! Garbage collection, on demand or in idle times, one victim a plane at a time.
//!
//! A job copies the valid units of its victim, a program unit at a time (read, program on the same
//! plane), then erases it. Map entries of moved data are updated in the cache where their line is
//! there; for the others each map page is read and programmed once after the copies. Unless
//! `gc.erase_after_map` says so the erase does not wait for those, so every plane can always finish
//! a job with one free block. Where collection is paced, a job copies a program unit at a time and
//! rests while its plane has the spare space that it is kept at.

use super::job::{Job, JobStep};
use super::{PageFtl, pacing};
use crate::config::GcStart;
use crate::ftl::base::Base;
use crate::ftl::lent::{BegunJob, Charge, Copied, Erased, Eraser, Lent, Room, Todo};
use crate::ftl::page_map::Owner;
use crate::ftl::placement::Placement;
use crate::handle::SetId;
use crate::observe::{OwnCause, Trigger};
use crate::parts::blocks::Freed;
use crate::sets::{Mode, Set, Stage, Wait};
use flashyard_core::graph::EdgeKind;
use flashyard_core::units::{BlockId, PlaneId, Ppn};

/// Jobs, as a multiple of the blocks of a plane, that may pass before a waiting program must have
/// found room.
const ROUNDS_WITHOUT_ROOM: u64 = 8;

/// Jobs that may pass in the same way before wear is no longer levelled: what that copies, and the
/// map pages behind it, take the room that the program waits for.
const ROUNDS_LEVELLING: u32 = 8;

/// When jobs start, and which.
impl PageFtl {
    /// A plane has taken a block, or its job is over: it starts a job if it is short of free
    /// blocks, and a job that rests goes on. `charge` is the request whose program took space.
    pub(crate) fn collect(
        &mut self,
        base: &mut Base,
        plane: PlaneId,
        charge: Charge,
        lent: &mut Lent<'_>,
    ) {
        base.idle.note(plane);
        match self.planes[plane.index()].job {
            None => {
                if let Some(trigger) = self.trigger(base, plane, lent) {
                    self.start_job(base, plane, charge, trigger, lent);
                }
            }
            Some(job) if job.rests() && base.is_paced() => self.copy_more(base, plane, lent),
            _ => {}
        }
    }

    /// The program of a request, or of none, has taken a block.
    pub(crate) fn block_taken(
        &mut self,
        base: &mut Base,
        plane: PlaneId,
        charge: Charge,
        lent: &mut Lent<'_>,
    ) {
        self.note_allocator(plane, charge);
        self.collect(base, plane, charge, lent);
    }

    /// With pacing, a program of a request begins, which owes copies to the job of its plane.
    pub(crate) fn program_begins(
        &mut self,
        base: &mut Base,
        plane: PlaneId,
        charge: Charge,
        lent: &mut Lent<'_>,
    ) {
        // A victim that was given up makes the plane less short than it looks.
        self.block_taken(base, plane, charge, lent);
        self.owe(base, plane);
    }

    /// A program has found no room on its plane: it waits for the erase that garbage collection of
    /// the plane works towards, or goes to another plane where this one has more valid data than it
    /// can collect.
    pub(crate) fn seek_room(
        &mut self,
        base: &mut Base,
        set: SetId,
        charge: Charge,
        lent: &mut Lent<'_>,
    ) -> Room {
        let (plane, stage) = (lent.sets.plane(set), lent.sets.stage(set));
        if base.blocks_collection(stage) {
            return Room::NoReserve;
        }
        if let Some(other) = self.other_plane(base, set, lent.sets) {
            return Room::Elsewhere(other);
        }
        let early = base.gc.start == GcStart::Early && !base.is_paced();
        if early || self.is_busy(plane) {
            self.collect(base, plane, charge, lent);
        } else {
            self.start_job(base, plane, charge, Trigger::Needed, lent);
        }
        if !self.is_busy(plane) {
            return Room::None;
        }
        let eraser = self.press_job(base, plane, lent);
        self.plane_mut(plane).programs_wait = true;
        let wait = Wait { source: eraser, stage: 0, kind: EdgeKind::Room };
        lent.todo.push(Todo::Wait(set, lent.sets.commands_over(set), wait));
        Room::Awaited
    }

    /// Collects one victim of a plane to the end, if one gains; where asked for, only on a plane
    /// that has fewer free blocks than when the first phase began.
    pub(crate) fn collect_to_end(
        &mut self,
        base: &mut Base,
        plane: PlaneId,
        restores: bool,
        lent: &mut Lent<'_>,
    ) {
        if restores && !base.wants_restoring(plane) {
            return;
        }
        self.start_job(base, plane, None, Trigger::Upkeep, lent);
        if self.is_busy(plane) {
            self.press_job(base, plane, lent);
        }
    }

    /// Why a plane collects garbage without being asked to, if it does.
    fn trigger(&self, base: &Base, plane: PlaneId, lent: &Lent<'_>) -> Option<Trigger> {
        let free = base.free_blocks(plane);
        let (short, trigger) = if let Some(behind) = self.is_behind(base, plane) {
            // Behind the last request a job starts only where a program needs its room.
            (behind && !lent.ended, Trigger::Pace)
        } else {
            let few = free <= base.gc.soft_free_blocks;
            (base.gc.start == GcStart::Early && few, Trigger::FewBlocks)
        };
        if short {
            return Some(trigger);
        }
        base.idle.works(free, lent.now).then_some(Trigger::Idle)
    }

    /// Starts a job on a plane without one, for the reason `trigger` unless it levels wear; none
    /// where no block gains, or where so many blocks are worn out that copies would find no room.
    pub(super) fn start_job(
        &mut self,
        base: &mut Base,
        plane: PlaneId,
        charge: Charge,
        trigger: Trigger,
        lent: &mut Lent<'_>,
    ) {
        let Some((victim, levels, searches)) = self.next_victim(base, plane) else { return };
        let valid = base.map.blocks.valid_units(victim);
        let mut job = Job::new(victim, charge, levels);
        if base.is_paced() {
            let units = base.geometry.units_per_block();
            job.next_unit = base.map.next_valid(victim, 0).map_or(units, |(unit, ..)| unit);
            job.ratio = pacing::ratio(valid, units - job.next_unit);
        }
        let state = self.plane_mut(plane);
        state.last_levelled = levels;
        state.job = Some(job);
        let trigger = if levels { Trigger::Wear } else { trigger };
        let free_blocks = base.free_blocks(plane);
        let begun = BegunJob { plane, victim, valid, free_blocks, searches, trigger, charge };
        lent.todo.push(Todo::Began(begun));
        let eraser = (!base.is_paced()).then(|| self.new_eraser(base, plane, charge, lent));
        let search = base.search_time(searches);
        if search.is_zero() {
            return self.search_over(base, plane, lent);
        }
        if let Some(eraser) = eraser {
            lent.todo.push(Todo::Rest(eraser, Mode::Firmware));
        }
        lent.todo.push(Todo::Search(plane, search));
    }

    /// The victim of a plane's job has been found: its commands begin.
    pub(crate) fn search_over(&mut self, base: &mut Base, plane: PlaneId, lent: &mut Lent<'_>) {
        self.job_mut(plane).found = true;
        self.copy_more(base, plane, lent);
        if !base.is_paced() {
            lent.go_on(self.job(plane).eraser());
        }
    }

    /// Makes the set that erases the victim of a plane's job.
    pub(super) fn new_eraser(
        &mut self,
        base: &Base,
        plane: PlaneId,
        charge: Charge,
        lent: &mut Lent<'_>,
    ) -> SetId {
        let job = self.job_mut(plane);
        let (victim, levels) = (job.victim, job.levels);
        let ppn = Some(base.geometry.unit_of(victim, 0));
        let state = Set { ppn, levels, ..Set::VACANT };
        let eraser = lent.own_set(charge, OwnCause::Job, &state, &[(Stage::Erase, plane)]);
        self.job_mut(plane).eraser = Some(eraser);
        eraser
    }

    /// Takes the next victim of a plane out of its full blocks: the one that an earlier job has
    /// given up, else by the rule. Returns it, whether its job levels wear, and at how many blocks
    /// the rule looked. Every other job may level wear, so that the ones between bring free blocks.
    fn next_victim(&mut self, base: &mut Base, plane: PlaneId) -> Option<(BlockId, bool, u64)> {
        let blocks = &mut base.map.blocks;
        if let Some(victim) = blocks.take_begun(plane) {
            return Some((victim, false, 0));
        }
        let few = u64::from(blocks.free_blocks(plane)) <= base.gc.reserve_blocks / 2;
        let (victim, searches) = blocks.search(plane, !(base.study.emergency && few))?;
        let state = &self.planes[plane.index()];
        let levels = !state.last_levelled && state.rounds_without_room < ROUNDS_LEVELLING;
        let least_worn = if levels { blocks.laggard(plane) } else { None };
        let (victim, levels) = least_worn.map_or((victim, false), |block| (block, true));
        let fits = blocks.free_blocks(plane) > 0 || blocks.valid_units(victim) == 0;
        if fits {
            blocks.claim(victim);
        }
        fits.then_some((victim, levels, searches))
    }
}

/// In idle times.
impl PageFtl {
    /// Begins to reclaim a block of a plane. Returns whether there is anything to do.
    pub(super) fn reclaim_block(
        &mut self,
        base: &mut Base,
        plane: PlaneId,
        lent: &mut Lent<'_>,
    ) -> bool {
        if !base.idle.is_short(base.free_blocks(plane)) {
            return false;
        }
        if !self.is_busy(plane) {
            self.start_job(base, plane, None, Trigger::Idle, lent);
        }
        let works = self.is_busy(plane);
        if works {
            self.press_job(base, plane, lent);
        }
        works
    }
}

/// The steps of a job.
impl PageFtl {
    /// The job of a plane.
    #[inline]
    pub(super) fn job(&self, plane: PlaneId) -> &Job {
        self.planes[plane.index()].job.as_ref().expect("a job is under way")
    }

    /// Copies the next valid units of the victim, as many at a time as fill a program unit; after
    /// the last one its map pages are rewritten. With pacing one program unit follows the other, as
    /// long as the plane wants copies.
    pub(super) fn copy_more(&mut self, base: &mut Base, plane: PlaneId, lent: &mut Lent<'_>) {
        if !self.wants_copies(base, plane, lent) {
            return;
        }
        loop {
            match self.next_step(base, plane) {
                JobStep::Copy { job, source, owner } => {
                    self.new_copy(plane, &job, (source, owner), lent);
                }
                JobStep::Erase if base.is_paced() => return self.erase_paced(base, plane, lent),
                JobStep::Erase => return self.rewrite_moved_maps(base, plane, lent),
                JobStep::Nothing => return,
            }
        }
    }

    /// Makes the set that copies a unit.
    fn new_copy(
        &self,
        plane: PlaneId,
        job: &Job,
        (source, owner): (Ppn, Owner),
        lent: &mut Lent<'_>,
    ) {
        let stages = [(Stage::CopyRead, plane), (Stage::CopyProgram, plane)];
        let paced = self.is_paced();
        let charge = if paced { self.last_allocator(plane) } else { job.charge };
        let mut state = Set { source: Some(source), levels: job.levels, ..Set::VACANT };
        match owner {
            Owner::Data(lpn) => state.lpn = lpn,
            Owner::Map(page) => (state.map_page, state.copies_map) = (page, true),
        }
        let copy = lent.own_set(charge, OwnCause::Job, &state, &stages);
        if !paced {
            lent.wait(job.eraser(), copy, 1, EdgeKind::Gc);
        }
        lent.go_on(copy);
    }

    /// The next step of a plane's job: at most as many copies at a time as fill a program unit.
    #[inline]
    fn next_step(&mut self, base: &mut Base, plane: PlaneId) -> JobStep {
        let paced = base.is_paced();
        let most = base.geometry.program_units();
        let job = self.plane_mut(plane).job.as_mut().expect("a copy belongs to a job");
        if job.copies == most {
            return JobStep::Nothing;
        }
        let Some((unit, source, owner)) = base.map.next_valid(job.victim, job.next_unit) else {
            if job.copies > 0 {
                return JobStep::Nothing;
            }
            if paced {
                job.next_unit = base.geometry.units_per_block();
                job.erases = true;
            }
            return JobStep::Erase;
        };
        job.next_unit = unit + 1;
        job.copies += 1;
        if let Owner::Data(lpn) = owner {
            base.map.prefetch(u64::from(lpn.get()));
        }
        JobStep::Copy { job: *job, source, owner }
    }

    /// A copy of a job has been programmed by a set: it counts if its source is still the newest.
    pub(super) fn job_copied(&mut self, base: &mut Base, set: SetId, lent: &mut Lent<'_>) {
        let (plane, state) = (lent.sets.plane(set), &lent.sets[set]);
        let (from, to) = (state.source.expect("a copy has a source"), state.ppn.expect("a page"));
        let lpn = (!state.copies_map).then_some(state.lpn);
        let owner = lpn.map_or(Owner::Map(state.map_page), Owner::Data);
        let current = base.map.is_valid(from);
        debug_assert!(!current || base.map.owner(from) == Some(owner), "a page changed hands");
        if current {
            base.map.commit(owner, to);
        }
        self.job_mut(plane).copies -= 1;
        if let Some(pacing) = &mut self.pacing {
            pacing.paid(plane);
        }
        lent.todo.push(Todo::Copied(set, Copied { lpn, from, to, current, of_job: true }));
        if let Some(lpn) = lpn.filter(|_| current && base.has_cache()) {
            let cached = self.entry_moved(base, plane, lpn, lent.sets);
            lent.todo.push(Todo::EntryMoved(lpn, cached));
        }
        self.copy_more(base, plane, lent);
    }

    /// The victim of a plane's job has been erased by this set; the next job starts if blocks are
    /// still short.
    pub(super) fn job_erased(&mut self, base: &mut Base, set: SetId, lent: &mut Lent<'_>) {
        let plane = lent.sets.plane(set);
        let state = self.plane_mut(plane);
        let job = state.job.take().expect("an erase belongs to a job");
        assert_eq!(job.eraser, Some(set), "another job erases this block");
        let waits = std::mem::take(&mut state.programs_wait);
        state.rounds_without_room += u32::from(waits);
        let rounds = u64::from(state.rounds_without_room);
        let patience = ROUNDS_WITHOUT_ROOM * u64::from(base.geometry.blocks_per_plane);
        let worn_out = base.map.blocks.erased(job.victim) == Freed::WornOut;
        let no_room = (worn_out && !self.can_hold(base, plane)) || (waits && rounds > patience);
        let erased = Erased { block: job.victim, worn_out, no_room, by: Eraser::Job };
        lent.todo.push(Todo::Erased(set, erased));
        let in_background = base.idle.background_over(plane);
        if !no_room && !lent.ended {
            self.collect(base, plane, self.last_allocator(plane), lent);
            if in_background && self.is_busy(plane) {
                base.idle.background_began(plane);
            }
        }
    }

    /// Whether the blocks of a plane that are not worn out have room for its valid units and for
    /// garbage collection.
    fn can_hold(&self, base: &Base, plane: PlaneId) -> bool {
        let dense = base.geometry.units_per_block() - base.geometry.program_units() + 1;
        let lost = base.map.blocks.worn_out(plane).saturating_mul(dense);
        let most = base.plane_valid_units.saturating_sub(lost);
        base.map.blocks.valid_of_plane(plane) <= most
    }

    /// The request whose program took space from a plane last.
    pub(super) fn last_allocator(&self, plane: PlaneId) -> Charge {
        self.planes[plane.index()].last_allocator
    }

    /// A request, or none, has taken space from a plane.
    fn note_allocator(&mut self, plane: PlaneId, charge: Charge) {
        if charge.is_some() {
            self.plane_mut(plane).last_allocator = charge;
        }
    }
}

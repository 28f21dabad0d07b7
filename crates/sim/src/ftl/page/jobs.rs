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
use crate::ftl::lent::{BegunJob, Charge, Deed, Lent, Todo};
use crate::ftl::page_map::Owner;
use crate::ftl::placement::Placement;
use crate::handle::SetId;
use crate::observe::{OwnCause, Trigger};
use crate::sets::{Mode, OwnWork};
use flashyard_core::command::Purpose;
use flashyard_core::graph::EdgeKind;
use flashyard_core::units::{BlockId, PlaneId, Ppn};

/// Jobs, as a multiple of the blocks of a plane, that may pass before a waiting program must have
/// found room.
pub(super) const ROUNDS_WITHOUT_ROOM: u64 = 8;

/// Jobs that may pass in the same way, or while programs are held behind copies that they owe,
/// before wear is no longer levelled: what that copies, and the map pages behind it, take the room
/// that the program waits for, and can take all that the jobs between bring.
pub(super) const ROUNDS_LEVELLING: u32 = 8;

/// When jobs start, and which.
impl PageFtl {
    /// A plane has taken a block, or its job is over: it starts a job if it is short of free
    /// blocks, and a job that rests goes on. `charge` is the request whose program took space.
    pub(crate) fn collect(&mut self, plane: PlaneId, charge: Charge, lent: &mut Lent<'_>) {
        lent.base.idle.note(plane);
        match self.planes[plane.index()].job {
            None if self.unites_now() => {}
            None => {
                if let Some(trigger) = self.trigger(plane, lent) {
                    self.start_job(plane, charge, trigger, lent);
                } else if lent.base.folds_idle(lent.now) && !lent.ended {
                    self.fold_idle(plane, lent);
                }
            }
            Some(job) if job.rests() && lent.base.is_paced() => self.copy_more(plane, lent),
            _ => {}
        }
    }

    /// Why a plane collects garbage without being asked to, if it does.
    fn trigger(&self, plane: PlaneId, lent: &Lent<'_>) -> Option<Trigger> {
        let free = lent.base.free_blocks(plane);
        let (short, trigger) = if let Some(behind) = self.is_behind(lent.base, plane) {
            // Behind the last request a job starts only where a program needs its room.
            (behind && !lent.ended, Trigger::Pace)
        } else {
            let few = free <= lent.base.gc.soft_free_blocks;
            (lent.base.gc.start == GcStart::Early && few, Trigger::FewBlocks)
        };
        if short {
            return Some(trigger);
        }
        lent.base.idle.works(free, lent.now).then_some(Trigger::Idle)
    }

    /// Starts a job on a plane without one, for the reason `trigger` unless it levels wear; none
    /// where no block gains, or where so many blocks are worn out that copies would find no room.
    pub(super) fn start_job(
        &mut self,
        plane: PlaneId,
        charge: Charge,
        trigger: Trigger,
        lent: &mut Lent<'_>,
    ) {
        if self.united.is_some() {
            return self.start_united(charge, trigger, lent);
        }
        if lent.base.slc.is_some() && self.folds_instead(plane, charge, lent) {
            return;
        }
        let Some((victim, levels, searches)) = self.next_victim(lent.base, plane) else { return };
        let valid = lent.base.map.blocks.valid_units(victim);
        let mut job = Job::new(victim, charge, levels);
        if lent.base.is_paced() {
            let units = lent.base.geometry.units_per_block();
            job.next_unit = lent.base.map.next_valid(victim, 0).map_or(units, |(unit, ..)| unit);
            let gain = (units - job.next_unit).saturating_sub(valid);
            job.ratio = pacing::ratio(valid.into(), gain.into());
        }
        let state = self.plane_mut(plane);
        state.last_levelled = levels;
        state.job = Some(job);
        let trigger = if levels { Trigger::Wear } else { trigger };
        let free_blocks = lent.base.free_blocks(plane);
        let begun = BegunJob { plane, victim, valid, free_blocks, searches, trigger, charge };
        lent.note(Deed::Began(begun));
        let eraser = (!lent.base.is_paced()).then(|| self.new_eraser(plane, charge, lent));
        let search = lent.base.search_time(searches);
        if search.is_zero() {
            return self.search_over(plane, lent);
        }
        if let Some(eraser) = eraser {
            lent.todo.push(Todo::Rest(eraser, Mode::Firmware));
        }
        lent.todo.push(Todo::Search(plane, search));
    }

    /// Makes the set that erases the victim of a plane's job.
    pub(super) fn new_eraser(
        &mut self,
        plane: PlaneId,
        charge: Charge,
        lent: &mut Lent<'_>,
    ) -> SetId {
        let job = self.job_mut(plane);
        let (victim, [.., erase]) = (job.victim, job.stages());
        let (work, stages) = (OwnWork::Erase { purpose: job.purpose() }, [(erase, plane)]);
        let eraser = lent.own_set(charge, OwnCause::Job, work, &stages);
        lent.sets.bind(eraser, lent.base.geometry.unit_of(victim, 0));
        self.job_mut(plane).eraser = Some(eraser);
        eraser
    }

    /// Takes the next victim of a plane out of its full blocks: the one that an earlier job has
    /// given up, else by the rule. Returns it, whether its job levels wear, and at how many blocks
    /// the rule looked. Every other job may level wear, so that the ones between bring free blocks.
    pub(super) fn next_victim(
        &mut self,
        base: &mut Base,
        plane: PlaneId,
    ) -> Option<(BlockId, bool, u64)> {
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
    pub(super) fn copy_more(&mut self, plane: PlaneId, lent: &mut Lent<'_>) {
        if !self.wants_copies(plane, lent) {
            return;
        }
        if self.united.is_some() {
            return self.copy_united(plane, lent);
        }
        if self.is_scarce(plane, lent.base) {
            return self.copy_packed(plane, lent);
        }
        loop {
            match self.next_step(lent.base, plane) {
                JobStep::Copy { job, source, owner } => {
                    let copy = self.new_copy([plane; 2], &job, (source, owner), lent);
                    lent.go_on(copy);
                }
                JobStep::Erase => return self.copies_over(plane, lent),
                JobStep::Nothing => return,
            }
        }
    }

    /// The last copy of a plane's job is over: its map pages, and with pacing its erase.
    pub(super) fn copies_over(&mut self, plane: PlaneId, lent: &mut Lent<'_>) {
        if lent.base.is_paced() && !self.job(plane).folds {
            self.erase_paced(plane, lent);
        } else {
            self.rewrite_moved_maps(plane, lent);
        }
    }

    /// Makes the set that copies a unit from one plane to another, or to the same.
    pub(super) fn new_copy(
        &self,
        [plane, to]: [PlaneId; 2],
        job: &Job,
        (source, owner): (Ppn, Owner),
        lent: &mut Lent<'_>,
    ) -> SetId {
        let [read, program, _] = job.stages();
        let stages = [(read, plane), (program, to)];
        let paced = lent.base.is_paced() && !job.folds;
        let charge = if paced { self.last_allocator(plane) } else { job.charge };
        let work = match owner {
            Owner::Data(lpn) => OwnWork::Copy { lpn, source, purpose: job.purpose() },
            Owner::Map(page) => {
                let purpose = if job.levels { Purpose::Wear } else { Purpose::MapGc };
                OwnWork::CopyMap { page, source, purpose }
            }
        };
        let copy = lent.own_set(charge, OwnCause::Job, work, &stages);
        if !paced {
            lent.wait(job.eraser(), copy, 1, EdgeKind::Gc);
        }
        copy
    }

    /// The next step of a plane's job: at most as many copies at a time as fill a program unit.
    #[inline]
    pub(super) fn next_step(&mut self, base: &mut Base, plane: PlaneId) -> JobStep {
        let most = base.geometry.program_units();
        let job = self.plane_mut(plane).job.as_mut().expect("a copy belongs to a job");
        let paced = base.is_paced() && !job.folds;
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

    /// The request whose program took space from a plane last.
    pub(super) fn last_allocator(&self, plane: PlaneId) -> Charge {
        self.planes[plane.index()].last_allocator
    }
}

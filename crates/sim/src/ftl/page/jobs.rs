//! Garbage collection, on demand or in idle times, one victim a plane at a time.
//!
//! A job copies the valid units of its victim, a program unit at a time (read, program on the same
//! plane), then erases it. Map entries of moved data are updated in the cache where their line is
//! there; for the others each map page is read and programmed once after the copies. Unless
//! `gc.erase_after_map` says so the erase does not wait for those, so every plane can always finish
//! a job with one free block. Where collection is paced, a job copies a program unit at a time and
//! rests while its plane has the spare space that it is kept at.

use super::job::{BegunJob, Collecting, Job, JobStep};
use super::pacing;
use crate::config::GcStart;
use crate::ftl::page_map::Owner;
use crate::ftl::{Copied, Erased, Ftl, Scheme};
use crate::handle::{RequestId, SetId};
use crate::observe::Trigger;
use crate::parts::blocks::Freed;
use crate::sets::Sets;
use flashyard_core::units::{BlockId, PlaneId, Time};

/// Jobs, as a multiple of the blocks of a plane, that may pass before a waiting program must have
/// found room.
const ROUNDS_WITHOUT_ROOM: u64 = 8;

/// Jobs that may pass in the same way before wear is no longer levelled: what that copies, and the
/// map pages behind it, take the room that the program waits for.
const ROUNDS_LEVELLING: u32 = 8;

/// Whether jobs start, and which.
impl Ftl {
    /// What a plane does that has taken a block, or whose job is over. `ended` is whether the last
    /// request has been answered.
    pub(crate) fn collecting(&mut self, plane: PlaneId, now: Time, ended: bool) -> Collecting {
        self.idle.note(plane);
        let Scheme::Page(page) = &self.scheme else { return Collecting::Nothing };
        match page.planes[plane.index()].job {
            None => self.trigger(plane, now, ended).map_or(Collecting::Nothing, Collecting::Start),
            Some(job) if job.rests() && self.is_paced() => Collecting::GoOn,
            _ => Collecting::Nothing,
        }
    }

    /// The same for a plane whose program has found no room.
    pub(crate) fn collecting_for_room(
        &mut self,
        plane: PlaneId,
        now: Time,
        ended: bool,
    ) -> Collecting {
        let early = self.gc.start == GcStart::Early && !self.is_paced();
        if early || self.page().planes[plane.index()].job.is_some() {
            self.collecting(plane, now, ended)
        } else {
            Collecting::Start(Trigger::Needed)
        }
    }

    /// Why a plane collects garbage without being asked to, if it does.
    fn trigger(&self, plane: PlaneId, now: Time, ended: bool) -> Option<Trigger> {
        let free = self.free_blocks(plane);
        let (short, trigger) = if let Some(behind) = self.is_behind(plane) {
            // Behind the last request a job starts only where a program needs its room.
            (behind && !ended, Trigger::Pace)
        } else {
            let few = free <= self.gc.soft_free_blocks;
            (self.gc.start == GcStart::Early && few, Trigger::FewBlocks)
        };
        if short {
            return Some(trigger);
        }
        self.is_idle_short(free, now).then_some(Trigger::Idle)
    }

    /// Starts a job on a plane without one, for the reason `trigger` unless it levels wear; none
    /// where no block gains, or where so many blocks are worn out that copies would find no room.
    pub(crate) fn begin_job(
        &mut self,
        plane: PlaneId,
        charge: Option<RequestId>,
        trigger: Trigger,
    ) -> Option<BegunJob> {
        let (victim, levels, searches) = self.next_victim(plane)?;
        let valid = self.map.blocks.valid_units(victim);
        let mut job = Job {
            victim,
            next_unit: 0,
            copies: 0,
            eraser: None,
            charge,
            levels,
            ratio: 0,
            gate: None,
            presses: false,
            found: false,
            erases: false,
        };
        if self.is_paced() {
            let units = self.geometry.units_per_block();
            job.next_unit = self.map.next_valid(victim, 0).map_or(units, |(unit, ..)| unit);
            job.ratio = pacing::ratio(valid, units - job.next_unit);
        }
        let state = self.page_mut().plane_mut(plane);
        state.last_levelled = levels;
        state.job = Some(job);
        let trigger = if levels { Trigger::Wear } else { trigger };
        Some(BegunJob { job, trigger, valid, searches })
    }

    /// Takes the next victim of a plane out of its full blocks: the one that an earlier job has
    /// given up, else by the rule. Returns it, whether its job levels wear, and at how many blocks
    /// the rule looked. Every other job may level wear, so that the ones between bring free blocks.
    fn next_victim(&mut self, plane: PlaneId) -> Option<(BlockId, bool, u64)> {
        let Scheme::Page(page) = &self.scheme else { unreachable!("layers have no jobs") };
        let blocks = &mut self.map.blocks;
        if let Some(victim) = blocks.take_begun(plane) {
            return Some((victim, false, 0));
        }
        let few = u64::from(blocks.free_blocks(plane)) <= self.gc.reserve_blocks / 2;
        let (victim, searches) = blocks.search(plane, !(self.study.emergency && few))?;
        let state = &page.planes[plane.index()];
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
impl Ftl {
    /// The job of a plane.
    #[inline]
    pub(crate) fn job(&self, plane: PlaneId) -> &Job {
        self.page().planes[plane.index()].job.as_ref().expect("a job is under way")
    }

    #[inline]
    pub(super) fn job_mut(&mut self, plane: PlaneId) -> &mut Job {
        self.page_mut().plane_mut(plane).job.as_mut().expect("a job is under way")
    }

    /// The set that erases the victim of a plane's job has been made.
    pub(crate) fn eraser_made(&mut self, plane: PlaneId, eraser: SetId) {
        self.job_mut(plane).eraser = Some(eraser);
    }

    /// The victim of a plane's job has been found.
    pub(crate) fn victim_found(&mut self, plane: PlaneId) {
        self.job_mut(plane).found = true;
    }

    /// The next step of a plane's job: at most as many copies at a time as fill a program unit.
    #[inline]
    pub(crate) fn next_step(&mut self, plane: PlaneId) -> JobStep {
        let paced = self.is_paced();
        let most = self.geometry.program_units();
        let Scheme::Page(page) = &mut self.scheme else { unreachable!("layers have no jobs") };
        let job = page.plane_mut(plane).job.as_mut().expect("a copy belongs to a job");
        if job.copies == most {
            return JobStep::Nothing;
        }
        let Some((unit, source, owner)) = self.map.next_valid(job.victim, job.next_unit) else {
            if job.copies > 0 {
                return JobStep::Nothing;
            }
            if paced {
                job.next_unit = self.geometry.units_per_block();
                job.erases = true;
            }
            return JobStep::Erase(*job);
        };
        job.next_unit = unit + 1;
        job.copies += 1;
        if let Owner::Data(lpn) = owner {
            self.map.prefetch(u64::from(lpn.get()));
        }
        JobStep::Copy { job: *job, source, owner }
    }

    /// A copy of a job has been programmed by a set.
    pub(in crate::ftl) fn job_copied(&mut self, set: SetId, sets: &Sets) -> Copied {
        let (plane, state) = (sets.plane(set), &sets[set]);
        let (from, to) = (state.source.expect("a copy has a source"), state.ppn.expect("a page"));
        let lpn = (!state.copies_map).then_some(state.lpn);
        let owner = lpn.map_or(Owner::Map(state.map_page), Owner::Data);
        let current = self.map.is_valid(from);
        debug_assert!(!current || self.map.owner(from) == Some(owner), "a page changed hands");
        if current {
            self.map.commit(owner, to);
        }
        self.job_mut(plane).copies -= 1;
        if let Some(pacing) = &mut self.page_mut().pacing {
            pacing.paid(plane);
        }
        Copied { lpn, from, to, current, of_job: true }
    }

    /// The victim of a plane's job has been erased by this set.
    pub(in crate::ftl) fn job_erased(&mut self, plane: PlaneId, eraser: SetId) -> Erased {
        let state = self.page_mut().plane_mut(plane);
        let job = state.job.take().expect("an erase belongs to a job");
        assert_eq!(job.eraser, Some(eraser), "another job erases this block");
        let waits = std::mem::take(&mut state.programs_wait);
        state.rounds_without_room += u32::from(waits);
        let rounds = u64::from(state.rounds_without_room);
        let patience = ROUNDS_WITHOUT_ROOM * u64::from(self.geometry.blocks_per_plane);
        let worn_out = self.map.blocks.erased(job.victim) == Freed::WornOut;
        let no_room = (worn_out && !self.can_hold(plane)) || (waits && rounds > patience);
        Erased { block: job.victim, worn_out, no_room, of_job: true }
    }

    /// Whether the blocks of a plane that are not worn out have room for its valid units and for
    /// garbage collection.
    fn can_hold(&self, plane: PlaneId) -> bool {
        let dense = self.geometry.units_per_block() - self.geometry.program_units() + 1;
        let lost = self.map.blocks.worn_out(plane).saturating_mul(dense);
        let most = self.plane_valid_units.saturating_sub(lost);
        self.map.blocks.valid_of_plane(plane) <= most
    }

    /// A program waits for the erase of a plane's job.
    pub(crate) fn program_waits(&mut self, plane: PlaneId) {
        self.page_mut().plane_mut(plane).programs_wait = true;
    }

    /// The request whose program last took space from a plane, and its order.
    pub(crate) fn last_allocator(&self, plane: PlaneId) -> Option<(RequestId, u64)> {
        self.page().planes[plane.index()].last_allocator
    }

    /// The program of a request has taken space from a plane.
    pub(crate) fn allocated(&mut self, plane: PlaneId, request: RequestId, order: u64) {
        self.page_mut().plane_mut(plane).last_allocator = Some((request, order));
    }
}

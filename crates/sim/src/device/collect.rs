//! Garbage collection, on demand or in idle times, one victim a plane at a time.
//!
//! A job copies the valid units of its victim, a program unit at a time (read, program on the same
//! plane), then erases it. Map entries of moved data are updated in the cache where their line is
//! there; for the others each map page is read and programmed once after the copies. Unless
//! `gc.erase_after_map` says so the erase does not wait for those, so every plane can always finish
//! a job with one free block. Where collection is paced (`pace`), a job copies a program unit at a
//! time and rests while its plane has the spare space that it is kept at.

use super::{Device, SimError};
use crate::config::GcStart;
use crate::ftl::blocks::Freed;
use crate::ftl::job::Job;
use crate::ftl::pacing;
use crate::ftl::page_map::Owner;
use crate::host::timers::Timer;
use crate::metrics::counters::Phase;
use crate::sets::{Mode, Set, Stage};
use flashyard_core::graph::{EdgeKind, NIL, Wait};
use flashyard_core::units::{BlockId, PlaneId, Span, Time};

/// Jobs, as a multiple of the blocks of a plane, that may pass before a waiting program must have
/// found room.
const FRUITLESS_ROUNDS: u64 = 8;

/// Jobs that may pass in the same way before wear is no longer levelled: what that copies, and the
/// map pages behind it, take the room that the program waits for.
const FRUITLESS_LEVELLING: u32 = 8;

impl Device {
    /// Starts a job on a plane that is short of free blocks, unless one is under way. `charge` is
    /// the request whose program asked for space.
    pub(super) fn collect(&mut self, plane: PlaneId, charge: u32) {
        let job = self.ftl.planes[plane.index()].job;
        if !self.ftl.idle.wanting.is_empty() {
            self.ftl.idle.wanting[plane.index() / 64] |= 1 << (plane.index() % 64);
        }
        match job {
            None if self.is_short(plane) => self.start_job(plane, charge),
            Some(job) if self.ftl.pacing.is_some() && job.rests() => self.copy_more(plane),
            _ => {}
        }
    }

    /// Starts a job on a plane without one, where a block gains.
    pub(super) fn start_job(&mut self, plane: PlaneId, charge: u32) {
        let Some((victim, levels, searches)) = self.next_victim(plane) else { return };
        self.ftl.planes[plane.index()].levelled = levels;
        let valid = self.ftl.map.blocks.valid_units(victim);
        self.account.gc_started(valid, searches, levels);
        let mut job = Job {
            victim,
            next_unit: 0,
            copies: 0,
            eraser: NIL,
            charge,
            levels,
            ratio: 0,
            gate: NIL,
            presses: false,
            found: false,
            erases: false,
        };
        if self.ftl.pacing.is_some() {
            let units = self.settings.geometry.units_per_block();
            job.next_unit = self.ftl.map.next_valid(victim, 0).map_or(units, |(unit, ..)| unit);
            job.ratio = pacing::ratio(valid, units - job.next_unit);
        } else {
            job.eraser = self.new_eraser(plane, &job);
        }
        self.ftl.planes[plane.index()].job = Some(job);
        let search = Span::from_ns(searches.saturating_mul(self.settings.keys.gc.search_us));
        if search == Span::ZERO {
            self.search_over(plane);
        } else {
            if job.eraser != NIL {
                self.enter(job.eraser, Mode::Firmware);
            }
            self.host.timers.set(self.now.saturating_add(search), Timer::Search(plane));
        }
    }

    /// Makes the set that erases the victim of a job.
    pub(super) fn new_eraser(&mut self, plane: PlaneId, job: &Job) -> u32 {
        let charge = if self.ftl.pacing.is_some() { self.drawer_of(plane) } else { job.charge };
        let ppn = Some(self.settings.geometry.unit_of(job.victim, 0));
        let state = Set { ppn, levels: job.levels, ..Set::VACANT };
        self.own_set(charge, state, &[(Stage::Erase, plane)])
    }

    /// The victim of a job has been found: its commands begin.
    pub(super) fn search_over(&mut self, plane: PlaneId) {
        self.ftl.planes[plane.index()].job.as_mut().expect("a search belongs to a job").found =
            true;
        self.copy_more(plane);
        let job = self.ftl.planes[plane.index()].job.expect("a search belongs to a job");
        if self.ftl.pacing.is_none() {
            self.activate(job.eraser);
        }
    }

    /// Whether a plane collects garbage without being asked to.
    fn is_short(&self, plane: PlaneId) -> bool {
        let gc = &self.settings.keys.gc;
        let free = u64::from(self.ftl.map.blocks.free_blocks(plane));
        let short = match self.is_behind(plane) {
            // Behind the last request a job starts only where a program needs its room.
            Some(behind) => behind && self.phase() != Phase::Post,
            None => gc.start == GcStart::Early && free <= gc.soft_free_blocks,
        };
        short || self.is_idle_short(free)
    }

    /// Whether a plane with so many free blocks collects garbage because no request has been
    /// outstanding for long enough.
    pub(super) fn is_idle_short(&self, free: u64) -> bool {
        let idle = self.ftl.idle.since < Time::MAX && self.idle_ends() <= self.now;
        idle && free <= self.settings.keys.gc.background_free_blocks
    }

    /// When no request will have been outstanding for long enough.
    fn idle_ends(&self) -> Time {
        self.ftl.idle.since.saturating_add(Span::from_ns(self.settings.keys.gc.idle_us))
    }

    /// At the end of an instant: garbage collection in idle times.
    pub(super) fn collect_idle(&mut self) {
        if self.ftl.idle.wanting.is_empty() {
            return;
        }
        self.ftl.idle.due = Time::MAX;
        if self.phase() != Phase::Idle {
            if self.ftl.layered.is_some() && self.ftl.idle.since < Time::MAX {
                // The next gap is another one.
                self.ftl.idle.wanting.fill(u64::MAX);
            }
            self.ftl.idle.since = Time::MAX;
            return;
        }
        self.ftl.idle.since = self.ftl.idle.since.min(self.now);
        if self.ftl.idle.wanting.iter().all(|planes| *planes == 0) {
            return;
        }
        if self.now < self.idle_ends() {
            self.ftl.idle.due = self.idle_ends();
            return;
        }
        for word in 0..self.ftl.idle.wanting.len() {
            let planes = self.ftl.idle.wanting[word];
            for bit in (0..64).filter(|bit| planes & (1 << bit) != 0) {
                let plane = word * 64 + bit;
                if plane < self.ftl.planes.len() {
                    self.work_idle(PlaneId::from_index(plane));
                }
            }
            // Whoever has a job or takes a block will ask again; layers do a piece of work a gap.
            self.ftl.idle.wanting[word] = 0;
        }
    }

    /// A piece of work of a plane while no request is outstanding.
    fn work_idle(&mut self, plane: PlaneId) {
        if self.ftl.layered.is_some() {
            self.merge_idle(plane);
        } else {
            self.collect(plane, NIL);
        }
    }

    /// Takes what the next job of a plane cleans out of its full blocks, tells whether it levels
    /// wear, and at how many blocks it looked to find that: the victim that an earlier job has
    /// given up, else by the rule. Every other job may level wear, so that the ones between bring
    /// free blocks. None where no block gains, or where so many blocks are worn out that copies
    /// would find no room.
    fn next_victim(&mut self, plane: PlaneId) -> Option<(BlockId, bool, u64)> {
        let gc = &self.settings.keys.gc;
        let blocks = &mut self.ftl.map.blocks;
        if let Some(victim) = blocks.take_begun(plane) {
            return Some((victim, false, 0));
        }
        let few = u64::from(blocks.free_blocks(plane)) <= gc.reserve_blocks / 2;
        let (victim, searches) = blocks.search(plane, !(gc.emergency && few))?;
        let state = &self.ftl.planes[plane.index()];
        let levels = !state.levelled && state.fruitless < FRUITLESS_LEVELLING;
        let laggard = if levels { blocks.laggard(plane) } else { None };
        let (victim, levels) = laggard.map_or((victim, false), |laggard| (laggard, true));
        let fits = blocks.free_blocks(plane) > 0 || blocks.valid_units(victim) == 0;
        if fits {
            blocks.claim(victim);
        }
        fits.then_some((victim, levels, searches))
    }

    /// Why writes of a plane find no room.
    pub(super) fn no_room(&self, plane: PlaneId) -> SimError {
        let geometry = &self.settings.geometry;
        if self.ftl.map.blocks.worn_out(plane) > 0 {
            return SimError::WornOut {
                plane: plane.get(),
                worn: self.ftl.map.blocks.worn_out_blocks(plane).collect(),
                blocks: geometry.blocks_per_plane,
            };
        }
        SimError::NoRoom { die: geometry.die_of_plane(plane).get() }
    }

    /// Makes a set of the device's own work.
    pub(super) fn own_set(&mut self, charge: u32, state: Set, stages: &[(Stage, PlaneId)]) -> u32 {
        if charge != NIL {
            self.host.pending[charge as usize].charges += 1;
        }
        let set = self.new_set(&state, stages);
        let state = &mut self.sets[set];
        state.charge = charge;
        state.track.since = self.now;
        set
    }

    /// Copies the next valid units of the victim, as many at a time as fill a program unit; after
    /// the last one its map pages are rewritten. With pacing one program unit follows the other, as
    /// long as the plane wants copies.
    pub(super) fn copy_more(&mut self, plane: PlaneId) {
        let most = self.settings.geometry.program_units();
        let paced = self.ftl.pacing.is_some();
        if paced {
            let job = self.ftl.planes[plane.index()].job.expect("a copy belongs to a job");
            if job.copies > 0 || !self.wants_copies(plane) {
                return;
            }
        }
        loop {
            let job = self.ftl.planes[plane.index()].job.expect("a copy belongs to a job");
            if job.copies == most {
                return;
            }
            let Some((unit, source, owner)) = self.ftl.map.next_valid(job.victim, job.next_unit)
            else {
                match job.copies {
                    0 if paced => self.erase_paced(plane),
                    0 => self.rewrite_moved_maps(plane, &job),
                    _ => {}
                }
                return;
            };
            let (next_unit, copies) = (unit + 1, job.copies + 1);
            self.ftl.planes[plane.index()].job = Some(Job { next_unit, copies, ..job });
            let mut state = Set { source: Some(source), levels: job.levels, ..Set::VACANT };
            match owner {
                Owner::Data(lpn) => {
                    self.ftl.map.prefetch(u64::from(lpn.get()));
                    state.lpn = lpn;
                }
                Owner::Map(page) => (state.map_page, state.copies_map) = (page, true),
            }
            let stages = [(Stage::CopyRead, plane), (Stage::CopyProgram, plane)];
            let charge = if paced { self.drawer_of(plane) } else { job.charge };
            let copy = self.own_set(charge, state, &stages);
            if !paced {
                self.sets.connect(
                    Wait { source: copy, stage: 1, kind: EdgeKind::Gc },
                    job.eraser,
                    0,
                );
            }
            self.activate(copy);
        }
    }

    /// A copy has been programmed: it counts if its source is still the newest.
    pub(super) fn copy_over(&mut self, set: u32) {
        let plane = self.sets.plane(set);
        let state = &self.sets[set];
        let (from, to) = (state.source.expect("a copy has a source"), state.ppn.expect("a page"));
        let (lpn, copies_map) = (state.lpn, state.copies_map);
        let owner = if copies_map { Owner::Map(state.map_page) } else { Owner::Data(lpn) };
        let current = self.ftl.map.is_valid(from);
        debug_assert!(!current || self.ftl.map.owner(from) == Some(owner), "a page changed hands");
        self.account.copied(from, to, (!copies_map).then_some(lpn));
        if current {
            self.ftl.map.commit(owner, to);
            if !copies_map {
                self.account.copy_committed();
                self.moved(plane, lpn);
            }
        } else {
            self.account.copy_superseded();
        }
        self.ftl.planes[plane.index()].job.as_mut().expect("a copy belongs to a job").copies -= 1;
        self.copy_paid(plane);
        self.copy_more(plane);
    }

    /// Whether the blocks of a plane that are not worn out have room for its valid units and for
    /// garbage collection.
    fn can_hold(&self, plane: PlaneId) -> bool {
        let geometry = &self.settings.geometry;
        let dense = geometry.units_per_block() - geometry.program_units() + 1;
        let lost = self.ftl.map.blocks.worn_out(plane).saturating_mul(dense);
        let most = self.settings.plane_valid_units.saturating_sub(lost);
        self.ftl.map.blocks.valid_of_plane(plane) <= most
    }

    /// The victim has been erased: programs that wait for room are woken by its set; the next job
    /// starts if blocks are still short.
    pub(super) fn erase_over(&mut self, set: u32) {
        let plane = self.sets.plane(set);
        let job = self.ftl.planes[plane.index()].job.take().expect("an erase belongs to a job");
        assert_eq!(job.eraser, set, "another job erases this block");
        let freed = self.ftl.map.blocks.erased(job.victim);
        self.account.erased(job.victim);
        if freed == Freed::WornOut {
            self.account.worn_out(job.victim);
        }
        if freed == Freed::WornOut && !self.can_hold(plane) {
            self.failed = Some(self.no_room(plane));
            return;
        }
        let unit = &mut self.ftl.planes[plane.index()];
        if std::mem::take(&mut unit.programs_wait) {
            unit.fruitless += 1;
            let blocks = self.settings.keys.geometry.blocks_per_plane;
            if u64::from(unit.fruitless) > FRUITLESS_ROUNDS * blocks {
                self.failed = Some(self.no_room(plane));
                return;
            }
        }
        if self.phase() != Phase::Post {
            self.collect(plane, self.drawer_of(plane));
        }
    }
}

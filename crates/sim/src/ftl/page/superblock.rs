//! Superblocks: garbage collection of a block of each plane together, and the planes that writes
//! and copies go to.
//!
//! The victim is a superblock. Each plane has a job for its block of it, as it has one for a block
//! where planes collect by themselves; all begin together, and the next superblock is collected
//! only when the last of them is over. A program unit of copies is promised a place on a plane
//! before it is read: on its own plane as long as that has room in the open superblock, so copies
//! leave it only where planes had more valid units than others. Where a program unit takes several
//! copies, all are read before it is programmed, so that it is never programmed in pieces.

use super::PageFtl;
use super::job::{Away, Job, JobStep, United};
use super::pacing::{self, Pacing};
use crate::config::GcStart;
use crate::ftl::base::Base;
use crate::ftl::lent::{BegunJob, Charge, Deed, Lent, Room, Todo, Wrote};
use crate::ftl::placement::Placement;
use crate::handle::SetId;
use crate::observe::{OwnCause, Trigger};
use crate::sets::{Mode, OwnWork, Sets, Stage, Wait};
use flashyard_core::graph::EdgeKind;
use flashyard_core::units::{PlaneId, Ppn};

/// The plane whose figures are those of all of them.
const FIRST: PlaneId = PlaneId::new(0);

impl PageFtl {
    /// Whether all planes collect a superblock together, and some have not ended.
    pub(super) fn unites_now(&self) -> bool {
        self.united.as_ref().is_some_and(|united| united.under_way > 0)
    }

    fn united_mut(&mut self) -> &mut United {
        self.united.as_mut().expect("superblocks are kept")
    }

    /// Starts to collect a superblock, unless one is being collected; see [`Self::start_job`].
    pub(super) fn start_united(&mut self, charge: Charge, trigger: Trigger, lent: &mut Lent<'_>) {
        if self.unites_now() {
            return;
        }
        let Some((victim, levels, searches)) = self.next_victim(lent.base, FIRST) else { return };
        self.plane_mut(FIRST).last_levelled = levels;
        let trigger = if levels { Trigger::Wear } else { trigger };
        let is_paced = lent.base.is_paced();
        for plane in lent.base.planes() {
            let victim = lent.base.map.blocks.block_of(plane, victim);
            if lent.base.map.blocks.is_erased_of(victim) {
                continue;
            }
            self.plane_mut(plane).job = Some(Job::new(victim, charge, levels));
            self.united_mut().under_way += 1;
            let valid = lent.base.map.count_valid(victim);
            let free_blocks = lent.base.free_blocks(plane);
            // It has been searched for once.
            let searches = if plane == FIRST { searches } else { 0 };
            let begun = BegunJob { plane, victim, valid, free_blocks, searches, trigger, charge };
            lent.note(Deed::Began(begun));
            if !is_paced {
                self.new_eraser(plane, charge, lent);
            }
        }
        if is_paced {
            self.pace_united(lent.base);
        }
        let search = lent.base.search_time(searches);
        for plane in lent.base.planes() {
            if !self.is_busy(plane) {
                continue;
            }
            if search.is_zero() {
                self.search_over(plane, lent);
                continue;
            }
            if let Some(eraser) = self.job(plane).eraser {
                lent.todo.push(Todo::Rest(eraser, Mode::Firmware));
            }
            lent.todo.push(Todo::Search(plane, search));
        }
    }

    /// The jobs of a superblock have been dealt with up to their first valid units. What it gains
    /// is written to all planes alike, so each unit that a plane programs owes the copies out of
    /// its block for one plane's share of the gain.
    fn pace_united(&mut self, base: &Base) {
        let units = base.geometry.units_per_block();
        let (planes, mut gain) = (self.planes.len() as u64, 0);
        let valid_of = |job: &Job| base.map.count_valid(job.victim);
        for job in self.planes.iter_mut().filter_map(|state| state.job.as_mut()) {
            job.next_unit = base.map.next_valid(job.victim, 0).map_or(units, |(unit, ..)| unit);
            gain += u64::from((units - job.next_unit).saturating_sub(valid_of(job)));
        }
        for job in self.planes.iter_mut().filter_map(|state| state.job.as_mut()) {
            job.ratio = pacing::ratio(planes * u64::from(valid_of(job)), gain);
        }
    }

    /// Copies the next program unit of valid units of a plane's block, when the last one is over;
    /// behind all of them its erase begins.
    pub(super) fn copy_united(&mut self, plane: PlaneId, lent: &mut Lent<'_>) {
        if self.job(plane).copies > 0 {
            return;
        }
        let mut batch = std::mem::take(&mut self.united_mut().batch);
        let mut to = plane;
        while let JobStep::Copy { job, source, owner } = self.next_step(lent.base, plane) {
            if batch.is_empty() {
                let frontier = lent.base.map.blocks.copy_frontier(job.victim);
                to = lent.base.map.blocks.promise(plane, frontier);
            }
            batch.push(self.new_copy([plane, to], &job, (source, owner), lent));
        }
        if lent.base.is_paced() {
            self.send_away(&batch, plane, to, lent.base);
        }
        if batch.is_empty() {
            self.copies_over(plane, lent);
        } else if batch.len() > 1 {
            let stages = [(Stage::Barrier, plane)];
            let gate = lent.own_set(None, OwnCause::Job, OwnWork::Gate, &stages);
            for &copy in &batch {
                lent.wait(gate, copy, 0, EdgeKind::Gc);
                let read = Wait { source: gate, stage: 0, kind: EdgeKind::Gc };
                lent.sets.connect(read, copy, 1);
            }
            lent.go_on(gate);
        }
        for &copy in &batch {
            lent.go_on(copy);
        }
        batch.clear();
        self.united_mut().batch = batch;
    }

    /// The job of a plane is over. Returns whether that was the last one of its superblock.
    pub(super) fn united_over(&mut self) -> bool {
        let Some(united) = &mut self.united else { return true };
        united.under_way -= 1;
        united.under_way == 0
    }

    /// Nobody asks for anything any more: the superblock that is collected is the next victim, with
    /// the blocks of it that are not erased.
    pub(super) fn give_up_united(&mut self, lent: &mut Lent<'_>) {
        let mut victim = None;
        for plane in lent.base.planes() {
            if let Some(job) = self.plane_mut(plane).job.take() {
                victim = Some(job.victim);
                lent.note_given_up(plane, &job);
            }
        }
        if let Some(block) = victim {
            lent.base.map.blocks.give_up(block);
        }
        self.united_mut().under_way = 0;
    }

    /// With pacing, these copies from one plane to another begin, or none. Those that leave their
    /// die are noted.
    fn send_away(&mut self, copies: &[SetId], from: PlaneId, to: PlaneId, base: &Base) {
        let away = base.geometry.die_of_plane(from) != base.geometry.die_of_plane(to);
        self.job_mut(from).away = away;
        if away {
            let sent = copies.iter().map(|&copy| Away { copy, from, to });
            self.united_mut().away.extend(sent);
        }
    }

    /// The plane of the job of a copy out of this unit, which is over. It may have left its die.
    pub(super) fn source_plane(&mut self, copy: SetId, from: Ppn, lent: &Lent<'_>) -> PlaneId {
        let plane = lent.base.geometry.plane_of(from);
        if self.job(plane).away {
            let away = &mut self.united_mut().away;
            if let Some(at) = away.iter().position(|sent| sent.copy == copy) {
                away.swap_remove(at);
            }
        }
        plane
    }

    /// Whether a die has a command of a copy that leaves its die, or comes from another one, for a
    /// plane that owes it: programs of the plane with that command wait.
    pub(super) fn holds_for_away(&self, plane: PlaneId, pacing: &Pacing, sets: &Sets) -> bool {
        let away = self.united.iter().flat_map(|united| &united.away);
        away.into_iter().any(|&Away { copy, from, to }| {
            let at = if sets.commands_over(copy) == 0 { from } else { to };
            at == plane && pacing.owes(from) && !self.job(from).presses && sets[copy].is_at_die()
        })
    }

    /// Somebody waits for the superblock that is collected: no job of it rests any more. Returns
    /// the erase of a plane's job, or of the first plane that has one.
    pub(super) fn press_united(&mut self, plane: PlaneId, lent: &mut Lent<'_>) -> Option<SetId> {
        let (mut first, mut own) = (None, None);
        for of in lent.base.planes() {
            if self.is_busy(of) {
                let eraser = self.press_job(of, lent);
                first = first.or(Some(eraser));
                own = own.or((of == plane).then_some(eraser));
            }
        }
        own.or(first)
    }

    /// A program has found no room on its plane: it goes to another plane that has some in the open
    /// superblock, or waits for an erase of the superblock that is collected.
    pub(super) fn seek_united(&mut self, set: SetId, charge: Charge, lent: &mut Lent<'_>) -> Room {
        let plane = lent.sets.plane(set);
        let frontier = lent.base.frontier(set, lent.sets);
        if let Some(other) = lent.base.map.blocks.elsewhere(plane, frontier) {
            if lent.sets.stage(set) == Stage::Program {
                self.plane_mut(plane).writes -= 1;
                self.plane_mut(other).writes += 1;
            }
            return Room::Elsewhere(other);
        }
        if lent.base.gc.start == GcStart::Early && !lent.base.is_paced() {
            self.collect(plane, charge, lent);
        } else {
            self.start_united(charge, Trigger::Needed, lent);
        }
        let Some(eraser) = self.press_united(plane, lent) else { return Room::None };
        self.plane_mut(FIRST).programs_wait = true;
        let wait = Wait { source: eraser, stage: 0, kind: EdgeKind::Room };
        lent.todo.push(Todo::Wait(set, lent.sets.commands_over(set), wait));
        Room::Awaited
    }

    /// The plane that a write is sent to: planes take turns, a program unit each, for each handle.
    pub(super) fn next_in_turn(wrote: Wrote, base: &mut Base) -> PlaneId {
        let units = match wrote {
            Wrote::Identified(_) => 1,
            // They come a program unit at a time.
            Wrote::Flushed(_) => base.geometry.program_units(),
        };
        let turn = base.map.blocks.next_turn(wrote.frontier(base), units);
        base.stripes[turn as usize]
    }
}

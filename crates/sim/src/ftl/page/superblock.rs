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
use super::job::{Job, JobStep, United};
use crate::config::GcStart;
use crate::ftl::base::Base;
use crate::ftl::lent::{BegunJob, Charge, Deed, Lent, Room, Todo, Wrote};
use crate::ftl::placement::Placement;
use crate::handle::SetId;
use crate::observe::{OwnCause, Trigger};
use crate::parts::blocks::Frontier;
use crate::sets::{Mode, OwnWork, Stage, Wait};
use flashyard_core::graph::EdgeKind;
use flashyard_core::units::PlaneId;

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
        for plane in lent.base.planes() {
            let victim = lent.base.geometry.block(plane, victim.get());
            self.plane_mut(plane).job = Some(Job::new(victim, charge, levels));
            self.united_mut().under_way += 1;
            let valid = lent.base.map.count_valid(victim);
            let free_blocks = lent.base.free_blocks(plane);
            // It has been searched for once.
            let searches = if plane == FIRST { searches } else { 0 };
            let begun = BegunJob { plane, victim, valid, free_blocks, searches, trigger, charge };
            lent.note(Deed::Began(begun));
            self.new_eraser(plane, charge, lent);
        }
        let search = lent.base.search_time(searches);
        for plane in lent.base.planes() {
            if search.is_zero() {
                self.search_over(plane, lent);
            } else {
                let eraser = self.job(plane).eraser();
                lent.todo.push(Todo::Rest(eraser, Mode::Firmware));
                lent.todo.push(Todo::Search(plane, search));
            }
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
        if batch.is_empty() {
            self.rewrite_moved_maps(plane, lent);
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

    /// A program has found no room on its plane: it goes to another plane that has some in the open
    /// superblock, or waits for an erase of the superblock that is collected.
    pub(super) fn seek_united(&mut self, set: SetId, charge: Charge, lent: &mut Lent<'_>) -> Room {
        let plane = lent.sets.plane(set);
        let frontier = lent.base.frontier(set, lent.sets);
        if let Some(other) = lent.base.map.blocks.elsewhere(plane, frontier) {
            self.plane_mut(plane).writes -= 1;
            self.plane_mut(other).writes += 1;
            return Room::Elsewhere(other);
        }
        if lent.base.gc.start == GcStart::Early {
            self.collect(plane, charge, lent);
        } else {
            self.start_united(charge, Trigger::Needed, lent);
        }
        let own = self.is_busy(plane).then_some(plane);
        let Some(awaited) = own.or_else(|| lent.base.planes().find(|plane| self.is_busy(*plane)))
        else {
            return Room::None;
        };
        self.plane_mut(FIRST).programs_wait = true;
        let eraser = self.job(awaited).eraser();
        let wait = Wait { source: eraser, stage: 0, kind: EdgeKind::Room };
        lent.todo.push(Todo::Wait(set, lent.sets.commands_over(set), wait));
        Room::Awaited
    }

    /// The plane that a write is sent to: planes take turns, a program unit each, for each handle.
    pub(super) fn next_in_turn(wrote: Wrote, base: &mut Base) -> PlaneId {
        let (handle, units) = match wrote {
            Wrote::Identified(place) => (base.placement.handle_of(place), 1),
            // They come a program unit at a time.
            Wrote::Flushed(handle) => (handle, base.geometry.program_units()),
        };
        let turn = base.map.blocks.next_turn(Frontier::HostData(handle), units);
        base.stripes[turn as usize]
    }
}

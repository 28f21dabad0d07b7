//! What a page map does in the life of a set: it gives programs their pages last, and collects
//! garbage.

use super::PageFtl;
use super::jobs::{ROUNDS_LEVELLING, ROUNDS_WITHOUT_ROOM};
use crate::config::GcStart;
use crate::ftl::base::Base;
use crate::ftl::lent::{Binding, Charge, Copied, Deed, Erased, Eraser, Lent, Room, Todo, Wrote};
use crate::ftl::page_map::Owner;
use crate::ftl::placement::Placement;
use crate::handle::SetId;
use crate::observe::Trigger;
use crate::parts::blocks::{Freed, Frontier};
use crate::saved::{Reader, RestoreError, Saved, Writer};
use crate::sets::{Sets, Stage, Wait};
use flashyard_core::graph::EdgeKind;
use flashyard_core::units::{DieId, Lpn, PlaneId, Ppn};

impl Placement for PageFtl {
    fn block_taken(&mut self, plane: PlaneId, charge: Charge, owes: bool, lent: &mut Lent<'_>) {
        if charge.is_some() {
            self.plane_mut(plane).last_allocator = charge;
        }
        // A victim that was given up makes a plane less short than it looks.
        self.collect(plane, charge, lent);
        if owes {
            self.owe(lent.base, plane);
        }
    }

    fn seek_room(&mut self, set: SetId, charge: Charge, lent: &mut Lent<'_>) -> Room {
        let (plane, stage) = (lent.sets.plane(set), lent.sets.stage(set));
        if lent.base.blocks_collection(stage) {
            return Room::NoReserve;
        }
        if self.united.is_some() {
            return self.seek_united(set, charge, lent);
        }
        if let Some(other) = self.other_plane(lent.base, set, lent.sets) {
            return Room::Elsewhere(other);
        }
        let early = lent.base.gc.start == GcStart::Early && !lent.base.is_paced();
        if lent.base.waits_for_cache(set, lent.sets) {
            self.make_cache_room(plane, charge, lent);
        } else if early || self.is_busy(plane) {
            self.collect(plane, charge, lent);
        } else {
            self.start_job(plane, charge, Trigger::Needed, lent);
        }
        if !self.is_busy(plane) {
            return self.overdraw(plane, lent.base);
        }
        let eraser = self.press_job(plane, lent);
        self.plane_mut(plane).programs_wait = true;
        let wait = Wait { source: eraser, stage: 0, kind: EdgeKind::Room };
        lent.todo.push(Todo::Wait(set, lent.sets.commands_over(set), wait));
        Room::Awaited
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a step of each command; a call costs as much")]
    fn copied(&mut self, set: SetId, lent: &mut Lent<'_>) {
        let (plane, state) = (lent.sets.plane(set), &lent.sets[set]);
        let (from, to) =
            (state.source().expect("a copy has a source"), state.ppn().expect("a page"));
        let lpn = state.copied_unit();
        let owner = lpn.map_or_else(|| Owner::Map(state.map_page()), Owner::Data);
        let current = lent.base.map.is_valid(from);
        debug_assert!(!current || lent.base.map.owner(from) == Some(owner), "a page changed hands");
        let noted = current && lpn.is_some_and(|lpn| lent.base.note_copy(lpn, from));
        if current {
            lent.base.map.commit(owner, to);
        }
        // Copies of a superblock may go to another plane than that of their job.
        let plane = if self.united.is_some() { self.source_plane(set, from, lent) } else { plane };
        let job = self.job_mut(plane);
        job.copies -= 1;
        let folds = job.folds;
        if let Some(pacing) = self.pacing.as_mut().filter(|_| !folds) {
            pacing.paid(plane);
        }
        let row = lent.base.rows_of_copy(from, to);
        lent.note(Deed::Copied(set, Copied { lpn, from, to, current, of_job: true, row }));
        if let Some(lpn) = lpn.filter(|_| current && lent.base.has_cache()) {
            let cached = self.entry_moved(lent.base, plane, lpn, lent.sets);
            lent.note(Deed::EntryMoved(lpn, cached));
        }
        self.copy_more(plane, lent);
        if noted {
            lent.write_journal(None);
        }
    }

    fn erased(&mut self, set: SetId, lent: &mut Lent<'_>) {
        let plane = lent.sets.plane(set);
        let state = self.plane_mut(plane);
        let job = state.job.take().expect("an erase belongs to a job");
        assert_eq!(job.eraser, Some(set), "another job erases this block");
        let last = self.united_over();
        let of_all = if self.united.is_some() { PlaneId::new(0) } else { plane };
        let owes = self.pacing.as_deref().is_some_and(|pacing| pacing.owes(plane));
        let state = self.plane_mut(of_all);
        let waits = last && std::mem::take(&mut state.programs_wait);
        let held = last && owes && state.rounds_without_room < ROUNDS_LEVELLING;
        state.rounds_without_room += u32::from(waits || held);
        let rounds = u64::from(state.rounds_without_room);
        let patience = ROUNDS_WITHOUT_ROOM * u64::from(lent.base.geometry.blocks_per_plane);
        let row = lent.base.map.blocks.placed_in(job.victim);
        let worn_out = lent.base.map.blocks.erased(job.victim) == Freed::WornOut;
        // A superblock that has lost a block is retired with its last one.
        let retires = self.united.is_some() && lent.base.map.blocks.worn_out(plane) > 0;
        let fewer = worn_out || (last && retires);
        let no_room = (fewer && !lent.base.can_hold(plane)) || (waits && rounds > patience);
        let erased = Erased { block: job.victim, worn_out, by: Eraser::Job, row };
        lent.note(Deed::Erased(set, erased));
        if no_room {
            lent.todo.push(Todo::NoRoom(plane));
        }
        lent.note_erase(job.victim);
        let in_background = lent.base.idle.background_over(plane);
        if !no_room && !lent.ended && last {
            self.collect(plane, self.last_allocator(plane), lent);
            if in_background && self.is_busy(plane) {
                lent.base.idle.background_began(plane);
            }
        }
    }

    fn search_over(&mut self, plane: PlaneId, lent: &mut Lent<'_>) {
        let job = self.job_mut(plane);
        job.found = true;
        let paced = lent.base.is_paced() && !job.folds;
        self.copy_more(plane, lent);
        if !paced {
            lent.go_on(self.job(plane).eraser());
        }
    }

    fn begin_idle_work(&mut self, plane: PlaneId, lent: &mut Lent<'_>) {
        self.collect(plane, None, lent);
    }

    fn begin_idle_fold(&mut self, plane: PlaneId, lent: &mut Lent<'_>) {
        if !self.is_busy(plane) {
            self.fold_idle(plane, lent);
        }
    }

    fn reclaim(&mut self, plane: PlaneId, lent: &mut Lent<'_>) -> bool {
        if !lent.base.idle.is_short(lent.base.free_blocks(plane)) {
            return false;
        }
        if !self.is_busy(plane) {
            self.start_job(plane, None, Trigger::Idle, lent);
        }
        // A plane whose block of a superblock is erased already waits for the others.
        let works = self.is_busy(plane) || self.unites_now();
        if works {
            self.press(plane, lent);
        }
        works
    }

    fn collect_all(&mut self, restores: bool, lent: &mut Lent<'_>) {
        for plane in lent.base.planes() {
            if !restores || lent.base.wants_restoring(plane) {
                self.start_job(plane, None, Trigger::Upkeep, lent);
                if self.is_busy(plane) {
                    self.press(plane, lent);
                }
            }
        }
    }

    fn end_resting_jobs(&mut self, lent: &mut Lent<'_>) -> bool {
        if self.unites_now() {
            self.give_up_united(lent);
            return false;
        }
        let mut goes_on = false;
        for plane in lent.base.planes() {
            let Some(job) = self.planes[plane.index()].job else { continue };
            assert!(job.rests(), "garbage collection is under way");
            if lent.base.has_cache() {
                self.job_mut(plane).presses = true;
                self.copy_more(plane, lent);
                goes_on = true;
                continue;
            }
            self.plane_mut(plane).job = None;
            lent.base.map.blocks.set_aside(job.victim);
            lent.note_given_up(plane, &job);
        }
        goes_on
    }

    #[inline]
    fn write_begins(
        &mut self,
        plane: Option<PlaneId>,
        lpn: Lpn,
        wrote: Wrote,
        base: &mut Base,
    ) -> PlaneId {
        if !base.dynamic {
            return plane.unwrap_or_else(|| base.plane_of_lpn(lpn));
        }
        let plane = plane.unwrap_or_else(|| match self.united {
            Some(_) => Self::next_in_turn(wrote, base),
            None => self.least_busy_plane(base, wrote.frontier(base)),
        });
        self.plane_mut(plane).writes += 1;
        plane
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a step of each command; a call costs as much")]
    fn bind_program(&mut self, set: SetId, sets: &Sets, base: &mut Base) -> Binding {
        let (plane, stage) = (sets.plane(set), sets.stage(set));
        let frontier = base.frontier(set, sets);
        if frontier != Frontier::Slc
            && base.free_blocks(plane) <= self.held(base, plane, stage, frontier)
            && !self.may_fill_open_block(base, plane, stage, frontier)
            && !std::mem::take(&mut self.plane_mut(plane).overdraws)
        {
            return Binding::Full;
        }
        let Some((ppn, opened)) = base.map.blocks.take_unit(plane, frontier) else {
            return Binding::Full;
        };
        if sets[set].request().is_some() || sets[set].line().is_some() {
            let of_all = if self.united.is_some() { PlaneId::new(0) } else { plane };
            self.plane_mut(of_all).rounds_without_room = 0;
        }
        if opened {
            self.plane_mut(plane).overdraws = false;
            if stage == Stage::FoldProgram {
                self.job_mut(plane).opened = true;
            }
            Binding::NewBlock(ppn)
        } else {
            Binding::Page(ppn)
        }
    }

    #[inline]
    fn programmed(&mut self, ppn: Ppn, base: &mut Base) {
        base.map.blocks.programmed(ppn);
        if base.slc.is_some() {
            base.note_fold(ppn);
        }
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a step of each command; a call costs as much")]
    fn write_over(&mut self, set: SetId, sets: &mut Sets, base: &mut Base) -> (u64, bool) {
        if base.dynamic {
            self.plane_mut(sets.plane(set)).writes -= 1;
        }
        base.commit_write(set, sets)
    }

    fn note_turn(&mut self, die: DieId, ends: bool) {
        if let Some(pacing) = &mut self.pacing {
            pacing.note_turn(die, ends);
        }
    }

    fn begin_phase(&mut self, base: &mut Base) {
        base.begin_phase();
        self.planes.iter_mut().for_each(|plane| plane.overdraws = false);
        if let Some(pacing) = &mut self.pacing {
            pacing.begin_phase();
        }
    }

    fn load_planes(&mut self, from: &mut Reader<'_>, _: &mut Base) -> Result<(), RestoreError> {
        self.planes.load(from)?;
        let mut stripe = 0u64;
        stripe.load(from)?;
        self.next_stripe = u32::try_from(stripe).map_err(|_| RestoreError::Corrupt)?;
        Ok(())
    }

    fn is_busy(&self, plane: PlaneId) -> bool {
        self.planes[plane.index()].job.is_some()
    }

    fn is_at_work(&self, plane: PlaneId) -> bool {
        let job = self.planes[plane.index()].job;
        job.is_some_and(|job| !(self.pacing.is_some() && job.rests()))
    }

    fn is_held(&self, plane: PlaneId, sets: &Sets) -> bool {
        let Some(pacing) = self.pacing.as_deref() else { return false };
        if self.holds_for_away(plane, pacing, sets) {
            return true;
        }
        let Some(job) = &self.planes[plane.index()].job else { return false };
        let erases = || job.eraser.is_some_and(|eraser| sets[eraser].is_at_die());
        pacing.owes(plane)
            && !job.presses
            && !job.folds
            && ((job.copies > 0 && !job.away) || (job.erases && erases()))
    }

    fn holds_reads(&self) -> bool {
        self.pacing.as_deref().is_some_and(|pacing| !pacing.suspends)
    }

    fn is_due(&self, die: DieId, plane: PlaneId) -> bool {
        self.pacing.as_deref().is_some_and(|pacing| pacing.is_due(die) && pacing.owes(plane))
    }

    fn save_planes(&self, to: &mut Writer<'_>) {
        self.planes.save(to);
        u64::from(self.next_stripe).save(to);
    }
}

//! Gathering: one array operation serves every waiting command that fits into it.
//!
//! A read serves all wanted units of its page; a program fills its program unit (a page, or the
//! pages of a word line in one shot) from the waiting programs of the same frontier and leaves the
//! rest empty; an operation over several planes takes one page or block of each. The command that
//! the policy picks leads; the others of its kind on its die ride along, oldest first.

use super::Waiting;
use super::bind::Bound;
use crate::config::MultiPlane;
use crate::handle::SetId;
use crate::metrics::counters::Padding;
use crate::sets::{Mode, Stage};
use flashyard_core::command::Op;
use flashyard_core::units::{DieId, Lpn, PlaneId, Ppn};

/// Waiting reads that are looked at for each joined plane. Assumed: more would take longer to find
/// than a die has registers to hold.
const LOOKS: u32 = 8;

impl Waiting<'_> {
    /// Lets commands ride along with `leader` that need no page of their own: whatever else its
    /// page serves, and reads of joined planes. Returns whether commands of other planes may.
    #[inline(always)]
    pub(crate) fn gather(
        &mut self,
        leader: SetId,
        die: DieId,
        ppn: Option<Ppn>,
        last: &mut SetId,
    ) -> bool {
        let (own, stage) = (self.sets.plane(leader), self.sets.stage(leader));
        self.fill_page(leader, own, ppn, last);
        if self.settings.keys.nand.multi_plane == MultiPlane::None {
            return false;
        }
        if self.settings.geometry.joined > 1 && stage.op() == Op::Read {
            self.lend().gather_joined(leader, (die, own), ppn, last);
            return false;
        }
        true
    }

    /// The oldest command of this kind that waits for a plane, if an operation on `ppn` can serve
    /// it too.
    #[inline(always)]
    pub(crate) fn beside(
        &mut self,
        stage: Stage,
        (die, plane): (DieId, PlaneId),
        ppn: Option<Ppn>,
    ) -> Option<SetId> {
        let set = self.queues.oldest(plane, stage)?;
        self.lend().fits_beside(set, (die, plane), ppn).then_some(set)
    }

    /// A command of another plane rides along with the page that it is bound to, and whatever else
    /// that page serves.
    pub(crate) fn join(
        &mut self,
        set: SetId,
        (die, plane): (DieId, PlaneId),
        page: Option<Ppn>,
        last: &mut SetId,
    ) {
        self.flash.take_power_for_plane(die, self.sets.stage(set).op());
        self.take_from_queue(set);
        self.ride(set, page, true, last);
        self.fill_page(set, plane, page, last);
    }

    /// Lets reads of other joined planes ride along: of each the first that fits of the oldest.
    fn gather_joined(
        &mut self,
        leader: SetId,
        (die, own): (DieId, PlaneId),
        ppn: Option<Ppn>,
        last: &mut SetId,
    ) {
        let stage = self.sets.stage(leader);
        let any = self.settings.keys.nand.multi_plane == MultiPlane::Any;
        let Some((first, page)) = self.joined_page(leader, ppn) else { return };
        // Mostly no read waits for another never-written page of the row, which its few units tell
        // sooner than a walk. Zones have stripes of their own.
        let is_striped = ppn.is_none() && !any && self.settings.zones.is_none();
        if is_striped && !self.waits_beside(self.sets[leader].lpn(), die, (first, page)) {
            return;
        }
        let mut taken = 1_u64 << first;
        let mut next = self.queues.oldest(own, stage);
        for _ in 0..LOOKS * self.settings.geometry.joined {
            let Some(set) = next else { return };
            next = self.queues.newer(set);
            let target = self.read_target(set);
            if target.is_some_and(|ppn| self.settings.geometry.plane_of(ppn) != own) {
                continue;
            }
            let place = self.joined_page(set, target);
            let is_beside = |at| any || (at == page && target.is_some() == ppn.is_some());
            let Some((plane, _)) = place.filter(|(_, at)| is_beside(*at)) else { continue };
            let has_power =
                !self.flash.limits_power() || self.flash.has_power_for_plane(die, Op::Read);
            if taken >> plane & 1 == 1 || self.ftl.is_held_back(set, self.sets) || !has_power {
                continue;
            }
            if self.flash.has_slc() && !self.has_cells_of(set, ppn) {
                continue;
            }
            let Bound::Page(page) = self.bind_read(stage, set, die) else { continue };
            taken |= 1 << plane;
            self.join(set, (die, own), page, last);
            // Others of its page have left the queue.
            next = self.queues.oldest(own, stage);
        }
    }

    /// Whether a host read waits for the page on another of the joined planes, beside that of a
    /// unit that was never written.
    fn waits_beside(&self, lpn: Lpn, die: DieId, (own, page): (u32, u32)) -> bool {
        let geometry = &self.settings.geometry;
        let pages = page * geometry.joined..(page + 1) * geometry.joined;
        pages
            .filter(|at| at % geometry.joined != own)
            .any(|at| self.sets.has_queued_read(geometry.lpn_of_page(lpn, at), die))
    }

    /// Which of the joined planes a read of a page works on, and the page there. Reads of map pages
    /// that were never written have none.
    fn joined_page(&self, set: SetId, ppn: Option<Ppn>) -> Option<(u32, u32)> {
        let geometry = &self.settings.geometry;
        match ppn {
            Some(ppn) => Some(geometry.joined_page(ppn)),
            None if self.sets.stage(set) == Stage::Read => {
                Some(self.ftl.joined_page_of_lpn(self.sets[set].lpn()))
            }
            None => None,
        }
    }

    /// Whether an operation on `ppn` can serve a command of another plane too, and has the power.
    fn fits_beside(&self, set: SetId, (die, plane): (DieId, PlaneId), ppn: Option<Ppn>) -> bool {
        let op = self.sets.stage(set).op();
        !self.ftl.is_held_back(set, self.sets)
            && self.fits(set, plane, ppn)
            && (!self.flash.limits_power() || self.flash.has_power_for_plane(die, op))
    }

    /// Whether the page that `set` would work on may be taken together with that of `ppn`.
    fn fits(&self, set: SetId, plane: PlaneId, ppn: Option<Ppn>) -> bool {
        let geometry = &self.settings.geometry;
        let stage = self.sets.stage(set);
        if self.flash.has_slc() && !self.has_cells_of(set, ppn) {
            return false;
        }
        if stage.op() == Op::Erase {
            return true;
        }
        let any = self.settings.keys.nand.multi_plane == MultiPlane::Any;
        let page = match stage.op() {
            // So it is with layers: they are refused where planes need the same page.
            Op::Program if any => return true,
            Op::Program => self.ftl.next_page(set, self.sets),
            _ => match self.read_target(set) {
                Some(ppn) if geometry.plane_of(ppn) == plane => Some(geometry.page_in_block(ppn)),
                Some(_) => return false,
                // As if it were in the first page of its plane.
                None => None,
            },
        };
        any || page.unwrap_or(0) == ppn.map_or(0, |ppn| geometry.page_in_block(ppn))
    }

    /// Whether a set would work on a block that is used like that of `ppn`: with one bit a cell or
    /// with all.
    fn has_cells_of(&self, set: SetId, ppn: Option<Ppn>) -> bool {
        let slc = match self.sets.stage(set).op() {
            Op::Program => self.ftl.binds_slc(set, self.sets),
            Op::Read => self.ftl.is_slc(self.read_target(set)),
            Op::Erase => self.ftl.is_slc(self.sets[set].ppn()),
        };
        slc == self.ftl.is_slc(ppn)
    }

    /// The page of `head` serves whatever else it can.
    #[inline(always)]
    fn fill_page(&mut self, head: SetId, plane: PlaneId, ppn: Option<Ppn>, last: &mut SetId) {
        match self.sets.stage(head) {
            Stage::Read => self.read_neighbours(head, ppn, last),
            Stage::CopyRead | Stage::FoldRead | Stage::AheadRead => {
                self.lend().copy_neighbours(head, plane, ppn, last);
            }
            stage if stage.op() == Op::Program && self.ftl.is_planned() => {
                self.lend().fill_planned(head, plane, ppn, last);
            }
            stage if stage.op() == Op::Program => {
                self.lend().fill_program(head, plane, stage, last);
            }
            _ => {}
        }
    }

    /// Waiting host reads of other units of the page. Units that were never written are read where
    /// striping puts them: those of a run that fills a page are read together.
    #[inline(always)]
    fn read_neighbours(&mut self, head: SetId, ppn: Option<Ppn>, last: &mut SetId) {
        let (units, die) = (self.settings.geometry.units_per_page, self.sets.die(head));
        let place = ppn.map_or(self.sets[head].lpn().get(), Ppn::get);
        let first = place / units * units;
        if ppn.is_none() && !self.sets.has_queued_read(Lpn::new(first), die) {
            return;
        }
        for other in first..first + units {
            if other == place {
                continue;
            }
            let unit = ppn.map(|_| Ppn::new(other));
            let lpn = match unit {
                Some(unit) => self.ftl.map().data_of(unit),
                None => Some(Lpn::new(other)),
            };
            let Some(lpn) = lpn else { continue };
            let Some(set) = self.sets.queued_read(lpn, die) else { continue };
            if unit.is_some() || self.ftl.locate(self.sets[set].lpn()).is_none() {
                self.lend().share_page(head, set, unit, last);
            }
        }
    }

    /// Waiting copies of other units of the page, or others that are to be read ahead.
    fn copy_neighbours(&mut self, head: SetId, plane: PlaneId, ppn: Option<Ppn>, last: &mut SetId) {
        let Some(ppn) = ppn else { return };
        let page = ppn.get() / self.settings.geometry.units_per_page;
        let mut at = self.queues.oldest(plane, self.sets.stage(head));
        while let Some(set) = at {
            at = self.queues.newer(set);
            let Some(source) = self.read_target(set) else { continue };
            if source.get() / self.settings.geometry.units_per_page == page {
                self.share_page(head, set, Some(source), last);
            }
        }
    }

    /// A read of another unit of the page of `head` rides along.
    fn share_page(&mut self, head: SetId, set: SetId, unit: Option<Ppn>, last: &mut SetId) {
        self.take_from_queue(set);
        self.ride(set, unit, false, last);
        let more = self.codewords(set);
        self.sets.add_codewords(head, more);
    }

    /// Waiting programs of the same frontier, up to a program unit; the rest stays empty.
    fn fill_program(&mut self, head: SetId, plane: PlaneId, stage: Stage, last: &mut SetId) {
        let most = self.ftl.program_units(self.sets[head].ppn());
        let frontier = self.ftl.frontier_of_bound(head, self.sets);
        let mut taken = 1;
        let mut at = self.queues.oldest(plane, stage);
        while let Some(set) = at.filter(|_| taken < most) {
            at = self.queues.newer(set);
            if self.ftl.fills((set, frontier), head, self.sets) {
                let ppn = self.ftl.take_beside(plane, frontier);
                self.take_from_queue(set);
                self.ride(set, Some(ppn), false, last);
                taken += 1;
            }
        }
        let state = &self.sets[head];
        let cause = Padding::of(state.purpose(), state.is_asked());
        self.account.padded(cause, most - taken);
        self.ftl.pad(plane, frontier, taken);
    }

    /// What a translation layer has planned for the program of `head`, all of which waits by now;
    /// the rest stays empty.
    fn fill_planned(&mut self, head: SetId, plane: PlaneId, ppn: Option<Ppn>, last: &mut SetId) {
        let most = self.settings.geometry.program_units();
        let program = ppn.expect("a layer gives every program its page").get() / most;
        let mut taken = self.ftl.task_copies(head, self.sets).fold(0, |count, _| count + 1).max(1);
        let writes = self.sets.stage(head) == Stage::Program;
        let mut at = if writes { self.queues.oldest(plane, Stage::Program) } else { None };
        while let Some(set) = at.filter(|_| taken < most) {
            at = self.queues.newer(set);
            let target = self.sets[set].target();
            if target.is_some_and(|target| target.get() / most == program) {
                self.take_from_queue(set);
                self.ride(set, target, false, last);
                taken += 1;
            }
        }
        let cause = Padding::of(self.sets[head].purpose(), self.sets[head].is_asked());
        self.account.padded(cause, most - taken);
    }

    /// A command rides along: the first of its page, or one more unit of it.
    fn ride(&mut self, set: SetId, ppn: Option<Ppn>, heads_page: bool, last: &mut SetId) {
        self.leaves_for_die(set, false);
        self.ledger().enter(set, Mode::Running);
        self.board_as(self.sets.stage(set), set, ppn, heads_page);
        self.sets.ride(*last, set);
        *last = set;
    }

    /// A command of this kind is on the die; its account has been told. Returns how many codewords
    /// of its page it moves, if it is the first of the page.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "compiled for a kind that is known")]
    pub(crate) fn board_as(
        &mut self,
        stage: Stage,
        set: SetId,
        ppn: Option<Ppn>,
        heads_page: bool,
    ) -> u32 {
        let page_codewords = if heads_page { self.codewords_of(stage, set) } else { 0 };
        self.sets.board(set, ppn, page_codewords, self.now);
        if stage == Stage::Read && self.sets.overtakes_change(set) {
            self.account.data_hazard_ignored();
        }
        page_codewords
    }
}

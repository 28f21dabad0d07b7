//! The flash translation layer: where pages are, which blocks are free, which one is cleaned next,
//! what of the map is cached.
//!
//! The map of the device and its blocks (`base`) belong to every scheme (`placement`): the page map
//! (`page`) gives a program its page when the program starts, and collects garbage; layers that
//! plan (`planned`) choose pages when a write is translated. Without translation (`raw`) the host
//! names physical pages. The room makes the sets of its own work (`lent`) and says why; what needs
//! other rooms is listed, and flows in `device` do it.

mod base;
pub mod cmt;
mod idle;
mod lent;
pub mod line_cache;
mod lookup;
pub mod map_cache;
pub(crate) mod page;
pub mod page_map;
mod placement;
mod plan;
pub(crate) mod planned;
pub mod raw;
mod saving;
mod study;

use crate::config::Settings;
use crate::handle::SetId;
use crate::parts::layer::MergeCounts;
use crate::sets::{Sets, Stage};
use base::Base;
use flashyard_core::command::Op;
use flashyard_core::units::{DieId, Lpn, PlaneId, Ppn, Span, Time};
use lent::CopiesDone;
pub use lent::NandRule;
pub(crate) use lent::{
    BegunJob, Binding, Charge, Copied, CopyRun, Erased, Eraser, Lent, Room, Todo,
};
pub(crate) use page::PLANE_BYTES;
use page::PageFtl;
pub(crate) use page::moved::{MOVED_BYTES, map_write};
use page_map::PageMap;
use placement::Placement;
pub(crate) use plan::Plan;
use planned::Planned;
use planned::queue::merges;
use raw::Raw;
use std::ops::{Deref, DerefMut};

/// Who chooses the pages of writes.
#[derive(Clone, Debug)]
enum Scheme {
    /// The page map, when a program starts.
    Page(PageFtl),
    /// Layers that plan, when a write is translated.
    Planned(Box<Planned>),
    /// The host: nothing is translated.
    Raw(Box<Raw>),
}

/// Calls a method of whichever scheme it is.
macro_rules! either {
    ($scheme:expr, $own:ident => $call:expr) => {
        match $scheme {
            Scheme::Page($own) => $call,
            Scheme::Planned($own) => $call,
            Scheme::Raw($own) => $call,
        }
    };
}
use either;

/// The translation layer of a device: its map, its blocks, garbage collection.
#[derive(Clone, Debug)]
pub(crate) struct Ftl {
    base: Base,
    scheme: Scheme,
}

/// What is asked of the map and the blocks needs no scheme.
impl Deref for Ftl {
    type Target = Base;

    #[inline]
    fn deref(&self) -> &Base {
        &self.base
    }
}

impl DerefMut for Ftl {
    #[inline]
    fn deref_mut(&mut self) -> &mut Base {
        &mut self.base
    }
}

impl Ftl {
    /// That of a device which nothing was ever written to.
    pub(crate) fn new(settings: &Settings, planned: Option<Box<Planned>>) -> Self {
        let spans = planned.as_ref().map(|planned| planned.spans());
        let raw = Raw::new(settings).map(|raw| Scheme::Raw(Box::new(raw)));
        let scheme = raw.or(planned.map(Scheme::Planned));
        let scheme = scheme.unwrap_or_else(|| Scheme::Page(PageFtl::new(settings)));
        Self { base: Base::new(settings, spans), scheme }
    }
    /// The map, and the layers that choose pages, where there are any: to be put into an initial
    /// state.
    pub(crate) fn map_and_layers(&mut self) -> (&mut PageMap, Option<&mut Planned>) {
        (&mut self.base.map, self.scheme.planned_mut())
    }

    /// Whether translation layers choose the pages of writes.
    #[inline]
    pub(crate) fn is_planned(&self) -> bool {
        self.planned().is_some()
    }

    /// The layers that choose pages, where there are any.
    #[inline]
    pub(crate) fn planned(&self) -> Option<&Planned> {
        match &self.scheme {
            Scheme::Planned(planned) => Some(planned),
            _ => None,
        }
    }

    /// The layers that choose the pages of writes.
    fn layers(&mut self) -> (&mut Planned, &mut Base) {
        (self.scheme.planned_mut().expect("only layers plan"), &mut self.base)
    }

    /// The garbage collection of a page map, and what it works with.
    #[inline]
    fn page(&mut self) -> (&mut PageFtl, &mut Base) {
        match &mut self.scheme {
            Scheme::Page(page) => (page, &mut self.base),
            _ => unreachable!("only a page map has jobs"),
        }
    }

    /// How a page map collects garbage where that is spread over programs.
    fn paced(&self) -> Option<&PageFtl> {
        match &self.scheme {
            Scheme::Page(page) if page.is_paced() => Some(page),
            _ => None,
        }
    }
}

impl Scheme {
    fn planned_mut(&mut self) -> Option<&mut Planned> {
        match self {
            Self::Planned(planned) => Some(planned),
            _ => None,
        }
    }
}

/// In the life of a set.
impl Ftl {
    /// A program of host data is made, for this plane or, where none is given, for the one that it
    /// goes to. Returns it.
    #[inline]
    pub(crate) fn write_begins(&mut self, plane: Option<PlaneId>, lpn: Lpn) -> PlaneId {
        if !self.is_dynamic() {
            return plane.unwrap_or_else(|| self.plane_of_lpn(lpn));
        }
        either!(&mut self.scheme, own => own.write_begins(&self.base, plane, lpn))
    }

    /// A write is translated: its program is added to a plan. Returns whether a layer plans it now,
    /// which has to be told more of it ([`Self::plan_write`]) and adds it then.
    #[inline]
    pub(crate) fn write_translated(&mut self, plan: &mut Plan, lpn: Lpn) -> bool {
        let plane = self.write_begins(None, lpn);
        let plans_now = self.planned().is_some_and(|planned| !planned.plans_flushes());
        if !plans_now {
            self.push_program(plan, plane);
        }
        plans_now
    }

    /// The page of a program that is about to start.
    #[inline]
    pub(crate) fn bind_program(&mut self, set: SetId, sets: &Sets) -> Binding {
        either!(&mut self.scheme, own => own.bind(&mut self.base, set, sets))
    }

    /// The page inside its block that a program would get; `None` where it would open a block.
    pub(crate) fn next_page(&self, set: SetId, sets: &Sets) -> Option<u32> {
        if let Some(ppn) = self.unit_named(sets[set].lpn) {
            return Some(self.base.geometry.page_in_block(ppn));
        }
        self.blocks().next_page(sets.plane(set), self.frontier(set, sets))
    }

    /// The program of a page is over, whatever becomes of its contents.
    #[inline]
    pub(crate) fn programmed(&mut self, ppn: Ppn) {
        either!(&mut self.scheme, own => own.programmed(&mut self.base, ppn));
    }

    /// The program of a write by the host is over: its data counts unless a later change of the
    /// unit has been committed. Returns the number of the change, and whether it counts.
    #[inline]
    pub(crate) fn write_over(&mut self, set: SetId, sets: &mut Sets) -> (u64, bool) {
        either!(&mut self.scheme, own => own.write_over(&mut self.base, set, sets))
    }

    /// A copy has been programmed by a set.
    pub(crate) fn copied(&mut self, set: SetId, lent: &mut Lent<'_>) {
        either!(&mut self.scheme, own => own.copied(&mut self.base, set, lent));
    }

    /// A set has erased its block.
    pub(crate) fn erased(&mut self, set: SetId, lent: &mut Lent<'_>) {
        either!(&mut self.scheme, own => own.erased(&mut self.base, set, lent));
    }

    /// A trim of a unit has been translated.
    pub(crate) fn trim_translated(&mut self, lpn: Lpn) {
        self.base.map.uncover(lpn);
        either!(&mut self.scheme, own => own.trim_translated(lpn));
    }

    /// A trim is over, and no later change of its unit has been committed: the unit is forgotten.
    pub(crate) fn trim_over(&mut self, set: SetId, sets: &mut Sets) {
        self.base.map.trim(sets[set].lpn);
        either!(&mut self.scheme, own => own.trim_over(set, sets));
        sets.supersede_earlier(set);
    }

    /// A bit a page: whether it is not erased, where pages of a block are not filled in ascending
    /// order.
    pub(crate) fn marked_pages(&self) -> Option<&[u64]> {
        either!(&self.scheme, own => own.marked_pages(&self.base))
    }

    /// Whether a job or a merge of a plane is under way.
    pub(crate) fn is_busy(&self, plane: PlaneId) -> bool {
        either!(&self.scheme, own => own.is_busy(plane))
    }

    /// Whether garbage collection goes first: a plane is that short of free blocks, or a job that
    /// may not be interrupted has begun; never with pacing.
    #[inline]
    pub(crate) fn is_urgent(&self, plane: PlaneId) -> bool {
        let gc = &self.base.gc;
        !self.is_paced()
            && (self.free_blocks(plane) <= gc.hard_free_blocks
                || (!gc.preemptible && self.is_busy(plane)))
    }
}

/// With layers that plan.
impl Ftl {
    /// See [`Planned::plan_write`].
    pub(crate) fn plan_write(
        &mut self,
        plan: &mut Plan,
        lpn: Lpn,
        run: (u32, u32),
        charge: Charge,
        lent: &mut Lent<'_>,
    ) {
        let (planned, base) = self.layers();
        planned.plan_write(base, (plan, lpn), run, charge, lent);
    }

    /// See [`Planned::plan_change`].
    pub(crate) fn plan_change(
        &mut self,
        set: SetId,
        run: (u32, u32),
        charge: Charge,
        lent: &mut Lent<'_>,
    ) {
        let (planned, base) = self.layers();
        planned.plan_change(base, set, run, charge, lent);
    }

    /// See [`Planned::write_made`].
    pub(crate) fn write_made(
        &mut self,
        set: SetId,
        plan: &Plan,
        charge: Charge,
        lent: &mut Lent<'_>,
    ) {
        let (planned, base) = self.layers();
        planned.write_made(base, set, plan, charge, lent);
    }

    /// A page that has just been planned is forgotten: it had been trimmed before.
    pub(crate) fn trim_planned(&mut self, lpn: Lpn) {
        self.layers().0.trim(lpn);
    }

    /// See [`Planned::goes_on`].
    pub(crate) fn task_goes_on(&mut self, set: SetId, lent: &mut Lent<'_>) -> bool {
        let (planned, base) = self.layers();
        planned.goes_on(base, set, lent)
    }

    /// See [`Planned::gate_opens`].
    pub(crate) fn gate_opens(&mut self, gate: SetId, lent: &mut Lent<'_>) {
        let (planned, base) = self.layers();
        planned.gate_opens(base, gate, lent);
    }

    /// See [`Planned::copy_in_bulk`].
    pub(crate) fn copy_in_bulk(
        &mut self,
        set: SetId,
        now: CopyRun,
        limit: Time,
        sets: &mut Sets,
        array_time: impl Fn(Op, Ppn) -> Span,
    ) -> CopiesDone {
        let (planned, base) = self.layers();
        planned.copy_in_bulk(base, (set, now, limit), sets, array_time)
    }

    /// Plans a piece of work of a plane that nobody waits for. Returns whether there was any: not
    /// where the plane is busy or has nothing left to do, nor with a page map.
    pub(crate) fn merge_idle(&mut self, plane: PlaneId, lent: &mut Lent<'_>) -> bool {
        let planned = self.scheme.planned_mut();
        planned.is_some_and(|planned| planned.merge_idle(&mut self.base, plane, lent))
    }

    /// Whether a set is a merge task.
    #[inline]
    pub(crate) fn is_task(&self, set: SetId, sets: &Sets) -> bool {
        self.is_planned() && merges(set, sets)
    }

    /// Adds the program of a change to a plan, which layers are told of later where they plan.
    #[inline]
    pub(crate) fn push_program(&self, plan: &mut Plan, plane: PlaneId) {
        plan.push(Stage::Program, plane);
        if self.planned().is_some_and(Planned::merges_first) {
            plan.push(Stage::Barrier, plane);
        }
    }

    /// Pages of a block of a layer.
    pub(crate) fn layer_block_pages(&self) -> u32 {
        self.planned().expect("only layers plan").block_pages()
    }

    /// Whether one layer works over several planes.
    pub(crate) fn spans_planes(&self) -> bool {
        self.planned().is_some_and(Planned::spans)
    }

    /// What layers did in measured phases.
    pub(crate) fn merges(&self) -> MergeCounts {
        self.planned().map_or_else(MergeCounts::default, Planned::measured)
    }

    /// What layers did since the start.
    pub(crate) fn all_merges(&self) -> MergeCounts {
        self.planned().map_or_else(MergeCounts::default, Planned::counts)
    }

    /// What layers did since `before` is not measured.
    pub(crate) fn leave_out(&mut self, before: &MergeCounts) {
        if let Some(planned) = self.scheme.planned_mut() {
            planned.leave_out(before);
        }
    }

    /// What has been planned so far is not told.
    pub(crate) fn leave_untold(&mut self) {
        if let Some(planned) = self.scheme.planned_mut() {
            planned.leave_untold();
        }
    }
}

/// With a page map.
impl Ftl {
    /// The program of a request, or of none, has taken a block.
    pub(crate) fn block_taken(&mut self, plane: PlaneId, charge: Charge, lent: &mut Lent<'_>) {
        let (page, base) = self.page();
        page.block_taken(base, plane, charge, lent);
    }

    /// See [`PageFtl::program_begins`].
    pub(crate) fn program_begins(&mut self, plane: PlaneId, charge: Charge, lent: &mut Lent<'_>) {
        let (page, base) = self.page();
        page.program_begins(base, plane, charge, lent);
    }

    /// See [`PageFtl::seek_room`].
    pub(crate) fn seek_room(&mut self, set: SetId, charge: Charge, lent: &mut Lent<'_>) -> Room {
        let (page, base) = self.page();
        page.seek_room(base, set, charge, lent)
    }

    /// See [`PageFtl::collect_to_end`].
    pub(crate) fn collect_to_end(&mut self, plane: PlaneId, restores: bool, lent: &mut Lent<'_>) {
        let (page, base) = self.page();
        page.collect_to_end(base, plane, restores, lent);
    }

    /// See [`PageFtl::search_over`].
    pub(crate) fn search_over(&mut self, plane: PlaneId, lent: &mut Lent<'_>) {
        let (page, base) = self.page();
        page.search_over(base, plane, lent);
    }

    /// See [`PageFtl::end_resting_job`].
    pub(crate) fn end_resting_job(&mut self, plane: PlaneId, lent: &mut Lent<'_>) -> bool {
        let (page, base) = self.page();
        page.end_resting_job(base, plane, lent)
    }

    /// See [`PageFtl::is_held`].
    pub(crate) fn is_held(&self, plane: PlaneId, sets: &Sets) -> bool {
        self.paced().is_some_and(|page| page.is_held(plane, sets))
    }

    /// Whether a command is a program of host data of a plane whose programs wait.
    pub(crate) fn is_held_back(&self, set: SetId, sets: &Sets) -> bool {
        self.paced().is_some_and(|page| page.is_held_back(set, sets))
    }

    /// Whether reads wait for operations of a die while writes wait.
    pub(crate) fn holds_reads(&self) -> bool {
        self.paced().is_some_and(PageFtl::holds_reads)
    }

    /// See [`PageFtl::paced_command`].
    pub(crate) fn paced_command(
        &self,
        die: DieId,
        commands: (Option<SetId>, Option<SetId>),
        sets: &Sets,
    ) -> Option<SetId> {
        self.paced().expect("it is paced").paced_command(die, commands, sets)
    }

    /// A die takes a command: one of garbage collection, or one that garbage collection did not
    /// wait for, ends its turn.
    #[inline]
    pub(crate) fn note_turn(&mut self, die: DieId, ends: bool) {
        self.page().0.note_turn(die, ends);
    }
}

/// Between phases, and in idle times.
impl Ftl {
    /// A phase begins: earlier idle times and owed copies are forgotten, and the free blocks of the
    /// first phase remembered.
    pub(crate) fn begin_phase(&mut self) {
        self.base.begin_phase();
        either!(&mut self.scheme, own => own.begin_phase());
    }

    /// At the end of an instant at which planes may work because the device is idle: one that may
    /// want it, or whose turn it is, begins a merge where layers plan, else garbage collection.
    /// Returns whether there was one, so that another one may follow.
    pub(crate) fn work_idle(&mut self, lent: &mut Lent<'_>) -> bool {
        if self.base.idle.has_periods() {
            return self.work_in_period(lent);
        }
        let Some(plane) = self.base.idle.wanting_plane() else { return false };
        let was_busy = self.is_busy(plane);
        either!(&mut self.scheme, own => own.work_idle(&mut self.base, plane, lent));
        if !was_busy && self.is_busy(plane) {
            self.base.idle.background_began(plane);
        }
        true
    }

    /// The same where each period reclaims a number of blocks: planes that have nothing under way
    /// reclaim one each, by turns, as far as the period has any left.
    fn work_in_period(&mut self, lent: &mut Lent<'_>) -> bool {
        let is_at_work = |plane| either!(&self.scheme, own => own.is_at_work(plane));
        let Some(plane) = self.base.idle.turn(is_at_work) else { return false };
        let works = either!(&mut self.scheme, own => own.reclaim(&mut self.base, plane, lent));
        self.base.idle.reclaims(plane, works);
        true
    }
}

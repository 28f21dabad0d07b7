//! The flash translation layer: where pages are, which blocks are free, which one is cleaned next,
//! what of the map is cached.
//!
//! The map of the device and its blocks (`base`) belong to every scheme (`placement`): the page map
//! (`page`) gives a program its page when the program starts, and collects garbage; layers that
//! plan (`planned`) choose pages when a write is translated. Without translation (`raw`) the host
//! names physical pages. The room makes the sets of its own work (`lent`) and says why; what needs
//! other rooms is listed, and flows in `device` do it.

mod base;
mod cells;
pub mod cmt;
mod idle;
mod journal;
mod journaling;
mod lent;
pub mod line_cache;
mod lookup;
pub mod map_cache;
pub(crate) mod map_log;
pub(crate) mod page;
pub mod page_map;
mod placement;
mod plan;
pub(crate) mod planned;
pub mod raw;
mod restart;
mod ring;
mod saving;
mod slc;
mod stale;
mod study;
mod zns;

use crate::config::Settings;
use crate::handle::SetId;
use crate::parts::blocks::Frontier;
use crate::parts::layer::MergeCounts;
use crate::saved::{Reader, RestoreError, Writer};
use crate::sets::{Sets, Stage};
use base::Base;
use flashyard_core::command::Op;
use flashyard_core::units::{BlockId, DieId, Lpn, PlaneId, Ppn, Span, Time};
pub(crate) use journal::{Change, Known};
use lent::CopiesDone;
pub use lent::NandRule;
pub(crate) use lent::{
    BegunJob, Binding, Charge, Copied, CopyRun, Deed, Erased, Eraser, Lent, Room, Run, Todo, Wrote,
};
pub(crate) use page::PLANE_BYTES;
use page::PageFtl;
pub(crate) use page::moved::{MOVED_BYTES, map_write};
use page_map::PageMap;
use placement::Placement;
pub(crate) use plan::Plan;
use planned::Planned;
use raw::Raw;
pub(crate) use restart::Recovered;
use std::ops::{Deref, DerefMut, Range};
pub(crate) use zns::{ZoneBlocks, Zoned};

/// Who chooses the pages of writes.
#[derive(Clone, Debug)]
pub(crate) enum Scheme {
    /// The page map, when a program starts.
    Page(PageFtl),
    /// Layers that plan, when a write is translated.
    Planned(Box<Planned>),
    /// The host: nothing is translated.
    Raw(Box<Raw>),
    /// Zones, at their write pointers.
    Zoned(Box<Zoned>),
}

/// Calls a method of whichever scheme it is.
macro_rules! either {
    ($scheme:expr, $own:ident => $call:expr) => {
        match $scheme {
            Scheme::Page($own) => $call,
            Scheme::Planned($own) => $call,
            Scheme::Raw($own) => $call,
            Scheme::Zoned($own) => $call,
        }
    };
}

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
        let zoned = || Zoned::new(settings).map(|zoned| Scheme::Zoned(Box::new(zoned)));
        let scheme = raw.or(planned.map(Scheme::Planned)).or_else(zoned);
        let scheme = scheme.unwrap_or_else(|| Scheme::Page(PageFtl::new(settings)));
        Self { base: Base::new(settings, spans), scheme }
    }

    /// Changes of the map that do not outlive a loss of power, in their order.
    pub(crate) fn unsaved(&self) -> impl DoubleEndedIterator<Item = &Change> {
        self.base.journal.iter().flat_map(|journal| journal.unsaved())
    }

    /// The number of the newest trim of each unit that outlives a loss of power, plus one: all of
    /// them where the journal is `saved`, else also those whose old contents were in a block that
    /// is `gone`.
    pub(crate) fn trims_after(&self, saved: bool, gone: &[BlockId]) -> Vec<u64> {
        let is_gone = |ppn: Ppn| gone.contains(&self.base.geometry.block_of(ppn));
        let journal = self.base.journal.as_ref();
        journal.map_or_else(Vec::new, |journal| journal.trims_after(saved, is_gone))
    }

    /// Journal and checkpoint that recovery reads.
    pub(crate) fn known(&self) -> Known {
        self.base.journal.as_ref().expect("the device can be cut").known()
    }

    /// Pages that recovery looks at of a block that was written: as many as have been programmed,
    /// or have begun to be; where layers may leave pages out, all.
    pub(crate) fn pages_to_scan(&self, block: BlockId) -> u32 {
        let geometry = &self.base.geometry;
        let units = match &self.scheme {
            Scheme::Page(page) if !page.collects(block, geometry.plane_of_block(block)) => {
                self.blocks().written_units(block)
            }
            Scheme::Page(_) => self.blocks().units_of(block),
            _ => geometry.units_per_block(),
        };
        units.div_ceil(geometry.units_per_page)
    }

    /// Program units that a capacitor has to write so that the map outlives a loss of power.
    pub(crate) fn tail_pages(&self) -> u64 {
        self.base.journal.as_ref().map_or(0, |journal| journal.tail_pages())
    }

    /// Flash pages that recovery reads of that, if a capacitor writes it now; or, `again`, of what
    /// it wrote when the power failed last.
    pub(crate) fn pages_of_tail(&self, again: bool) -> u64 {
        let pages = |journal: &journal::Journal| {
            if again { journal.pages_saved() } else { journal.pages_of_tail() }
        };
        self.base.journal.as_deref().map_or(0, pages)
    }

    /// Whether flushes may have to wait for the journal.
    #[inline]
    pub(crate) const fn is_journaled(&self) -> bool {
        self.base.journal.is_some()
    }

    /// The map, and the layers that choose pages, where there are any: to be put into an initial
    /// state.
    pub(crate) fn map_and_layers(&mut self) -> (&mut PageMap, Option<&mut Planned>) {
        let planned = match &mut self.scheme {
            Scheme::Planned(planned) => Some(&mut **planned),
            _ => None,
        };
        (&mut self.base.map, planned)
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

    /// The zones, where there are any.
    pub(crate) fn zones(&mut self) -> Option<&mut Zoned> {
        match &mut self.scheme {
            Scheme::Zoned(zoned) => Some(zoned),
            _ => None,
        }
    }

    /// The zones, to be looked at.
    pub(crate) fn seen_zones(&self) -> Option<&Zoned> {
        match &self.scheme {
            Scheme::Zoned(zoned) => Some(zoned),
            _ => None,
        }
    }

    /// Units of a zone that is reset are forgotten.
    pub(crate) fn forget_units(&mut self, units: &Range<Lpn>) {
        for lpn in (units.start.get()..units.end.get()).map(Lpn::new) {
            self.base.map.uncover(lpn);
            self.base.map.trim(lpn);
        }
    }

    /// The first zones of a fresh device are written: this share of all units.
    pub(crate) fn fill_zones(&mut self, share: impl FnOnce(u32) -> u32) {
        let Scheme::Zoned(zoned) = &mut self.scheme else { panic!("there are no zones") };
        zoned.fill(share(zoned.all_units()), &mut self.base);
    }

    /// The scheme, and what is lent to it.
    #[inline]
    pub(crate) fn parts(&mut self) -> (&mut Scheme, &mut Base) {
        (&mut self.scheme, &mut self.base)
    }

    /// Whether a set is a merge task.
    #[inline]
    pub(crate) fn is_task(&self, set: SetId, sets: &Sets) -> bool {
        self.is_planned() && sets[set].is_task()
    }

    /// Units of its page that a read for copies needs: those that a merge task copies into one
    /// program.
    pub(crate) fn units_read(&self, set: SetId, sets: &Sets) -> u32 {
        match &self.scheme {
            Scheme::Planned(planned) if sets[set].is_task() => planned.units_read(set, sets),
            _ => 1,
        }
    }

    /// What a merge task that programs copies at once: from where and to where.
    pub(crate) fn task_copies(&self, set: SetId, sets: &Sets) -> impl Iterator<Item = (Ppn, Ppn)> {
        let planned = self.planned().filter(|_| sets[set].is_task());
        let copies = planned.map(|planned| planned.current_steps(sets.plane(set)));
        copies.into_iter().flatten().map(|copy| (copy.from(), copy.to()))
    }

    /// A write is translated: its program is added to a plan. Returns whether a layer plans it now,
    /// which has to be told more of it ([`Placement::plan_write`]) and adds it then.
    #[inline]
    pub(crate) fn write_translated(&mut self, plan: &mut Plan, lpn: Lpn, wrote: Wrote) -> bool {
        let plane = self.write_begins(None, lpn, wrote);
        let plans_now = self.planned().is_some_and(|planned| !planned.plans_flushes());
        if !plans_now {
            self.push_program(plan, plane);
        }
        plans_now
    }

    /// Pages of a block of a layer.
    pub(crate) fn layer_block_pages(&self) -> u32 {
        self.planned().expect("only layers plan").block_pages()
    }

    /// A die takes a command, which `ends` the turn of garbage collection where it is one of that,
    /// or one that it did not wait for.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a step of each command; a call costs as much")]
    pub(crate) fn note_turn(&mut self, die: DieId, ends: impl FnOnce() -> bool) {
        if self.is_paced() {
            either!(&mut self.scheme, own => own.note_turn(die, ends()));
        }
    }

    /// The command that a die takes next, of the first one of requests and the first one of garbage
    /// collection. Where nothing is paced, `gc_first` says of the former whether the latter goes
    /// before it, which may be urgent.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a step of each command; a call costs as much")]
    pub(crate) fn next_command(
        &self,
        die: DieId,
        (host, gc): (Option<SetId>, Option<SetId>),
        sets: &Sets,
        gc_first: impl FnOnce(SetId, bool) -> bool,
    ) -> Option<SetId> {
        if self.is_paced() {
            return self.paced_command(die, (host, gc), sets);
        }
        let Some(collects) = gc else { return host };
        let Some(command) = host else { return gc };
        if gc_first(command, self.is_urgent(sets.plane(collects))) { gc } else { host }
    }

    #[inline(never)]
    fn paced_command(
        &self,
        die: DieId,
        (host, gc): (Option<SetId>, Option<SetId>),
        sets: &Sets,
    ) -> Option<SetId> {
        let command = host.filter(|command| !self.is_held_back(*command, sets));
        let is_due = |gc: &SetId| self.is_due(die, sets.plane(*gc));
        if command.is_some() { gc.filter(is_due).or(command) } else { gc }
    }

    /// Whether a command is a program of host data of a plane whose programs wait.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a step of each command; a call costs as much")]
    pub(crate) fn is_held_back(&self, set: SetId, sets: &Sets) -> bool {
        self.is_paced() && sets.stage(set) == Stage::Program && self.is_held(sets.plane(set), sets)
    }

    /// Whether a page map chooses the pages of writes.
    pub(crate) fn is_page_map(&self) -> bool {
        matches!(self.scheme, Scheme::Page(_))
    }

    /// Units that the open blocks of a placement handle can still take; none where there is no such
    /// handle, or where its data go to blocks that are not its own.
    pub(crate) fn handle_room(&self, handle: u8) -> Option<u64> {
        let blocks = self.base.blocks();
        let own = self.is_page_map() && self.base.slc.is_none() && handle < blocks.handles();
        own.then(|| blocks.open_room(Frontier::HostData(handle)))
    }

    /// A phase ends, when nothing of the layer's own work may be left over.
    pub(crate) fn end_phase(&mut self, measured: bool) {
        assert!(!self.planes().any(|plane| self.is_busy(plane)), "a block is left half collected");
        assert_eq!(self.base.idle.under_way, 0, "background work is left over");
        if !measured {
            self.leave_out();
        }
    }

    /// The power fails, in a phase that counts or not, and is back: the map is what recovery has
    /// found.
    pub(crate) fn restart(&mut self, settings: &Settings, measured: bool, found: Recovered<'_>) {
        if !measured {
            self.leave_out();
        }
        let dirty = restart::dirty_lines(&self.base, settings);
        let mut base = Base::new(settings, self.planned().map(Planned::spans));
        std::mem::swap(&mut base.map, &mut self.base.map);
        std::mem::swap(&mut base.journal, &mut self.base.journal);
        std::mem::swap(&mut base.ring, &mut self.base.ring);
        base.free_at_start.clone_from(&self.base.free_at_start);
        match &mut self.scheme {
            Scheme::Page(page) => *page = restart::restart_page(page, &mut base, settings, &found),
            Scheme::Planned(layers) => layers.recover(&found, &mut base.map),
            Scheme::Raw(_) | Scheme::Zoned(_) => unreachable!("what cannot be cut"),
        }
        base.adopt(found.place);
        if let Some(journal) = &mut base.journal {
            journal.restart(found.trims, found.saved_pages);
        }
        if let Some(ring) = &mut base.ring {
            ring.restart();
        }
        if !dirty.is_empty() {
            base.preload_map(&dirty).expect("they were in the cache");
        }
        self.base = base;
    }

    /// What has been done since the phase began is not measured.
    fn leave_out(&mut self) {
        either!(&mut self.scheme, own => own.leave_out());
    }

    /// Adds the program of a change to a plan, which layers are told of later where they plan.
    #[inline]
    pub(crate) fn push_program(&self, plan: &mut Plan, plane: PlaneId) {
        plan.push(Stage::Program, plane);
        if self.planned().is_some_and(Planned::merges_first) {
            plan.push(Stage::Barrier, plane);
        }
    }

    /// The page inside its block that a program would get; `None` where it would open a block.
    pub(crate) fn next_page(&self, set: SetId, sets: &Sets) -> Option<u32> {
        if let Some(ppn) = self.unit_named(sets[set].lpn()) {
            return Some(self.base.geometry.page_in_block(ppn));
        }
        let (plane, frontier) = (sets.plane(set), self.frontier(set, sets));
        match (frontier, &self.base.zones) {
            (Frontier::Zone(zone), Some(zones)) => zones.next_page(zone, plane),
            _ => self.blocks().next_page(plane, frontier),
        }
    }

    /// A bit a page: whether it is not erased, where pages of a block are not filled in ascending
    /// order.
    pub(crate) fn marked_pages(&self) -> Option<&[u64]> {
        let valid = self.is_raw().then(|| self.map().valid_pages());
        self.planned().map(Planned::written_pages).or(valid)
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

/// Makes the doors of the room that whichever scheme there is stands behind: of the first ones
/// [`Placement`] is lent everything, of the second ones the base, and the last ones only ask.
macro_rules! doors {
    (
        $(fn $work:ident($($given:ident: $of:ty),*) $(-> $answer:ty)?;)*
        base $(fn $change:ident($($taken:ident: $kind:ty),*) $(-> $outcome:ty)?;)*
        asks $(fn $ask:ident($($about:ident: $like:ty),*) $(-> $told:ty)?;)*
    ) => {
        impl Scheme {
            $(#[inline]
            pub(crate) fn $work(&mut self $(, $given: $of)*, lent: &mut Lent<'_>) $(-> $answer)? {
                either!(self, own => own.$work($($given,)* lent))
            })*
        }

        impl Ftl {
            $(#[inline]
            pub(crate) fn $change(&mut self $(, $taken: $kind)*) $(-> $outcome)? {
                either!(&mut self.scheme, own => own.$change($($taken,)* &mut self.base))
            })*

            $(pub(crate) fn $ask(&self $(, $about: $like)*) $(-> $told)? {
                either!(&self.scheme, own => own.$ask($($about),*))
            })*
        }
    };
}

doors! {
    fn plan_write(plan: &mut Plan, lpn: Lpn, run: Run, charge: Charge);
    fn write_made(set: SetId, plan: &Plan, charge: Charge);
    fn plan_change(set: SetId, run: Run, charge: Charge);
    fn block_taken(plane: PlaneId, charge: Charge, owes: bool);
    fn seek_room(set: SetId, charge: Charge) -> Room;
    fn copied(set: SetId);
    fn erased(set: SetId);
    fn goes_on(set: SetId) -> bool;
    fn gate_opens(gate: SetId);
    fn search_over(plane: PlaneId);
    fn collect_all(restores: bool);
    fn merge_all() -> bool;
    fn end_resting_jobs() -> bool;
    base
    fn write_begins(plane: Option<PlaneId>, lpn: Lpn, wrote: Wrote) -> PlaneId;
    fn bind_program(set: SetId, sets: &Sets) -> Binding;
    fn programmed(ppn: Ppn);
    fn write_over(set: SetId, sets: &mut Sets) -> (u64, bool);
    fn trim_translated(plan: &mut Plan, lpn: Lpn);
    fn trim_over(set: SetId, sets: &mut Sets);
    fn trim_planned(lpn: Lpn);
    fn copy_in_bulk(
        run: (SetId, CopyRun, Time), sets: &mut Sets, array_time: impl Fn(Op, Ppn) -> Span
    ) -> Option<CopiesDone>;
    fn begin_phase();
    fn leave_untold();
    fn load_planes(from: &mut Reader<'_>) -> Result<(), RestoreError>;
    asks
    fn is_busy(plane: PlaneId) -> bool;
    fn is_held(plane: PlaneId, sets: &Sets) -> bool;
    fn holds_reads() -> bool;
    fn is_due(die: DieId, plane: PlaneId) -> bool;
    fn merges() -> MergeCounts;
    fn save_planes(to: &mut Writer<'_>);
}

/// On a device with zones.
impl Scheme {
    /// The action of a request begins, which waits with `set`.
    pub(crate) fn act(&mut self, set: SetId, charge: Charge, lent: &mut Lent<'_>) {
        let Self::Zoned(zoned) = self else { unreachable!("there are no zones") };
        zoned.begin(set, charge, lent);
    }
}

/// In idle times.
impl Scheme {
    /// At the end of an instant at which planes may work because the device is idle: one that may
    /// want it, or whose turn it is, begins a merge where layers plan, else garbage collection.
    /// Returns whether there was one, so that another one may follow.
    pub(crate) fn work_idle(&mut self, lent: &mut Lent<'_>) -> bool {
        let is_busy = |own: &Self, plane| either!(own, own => own.is_busy(plane));
        let is_at_work = |plane| either!(&*self, own => own.is_at_work(plane));
        if let Some(slc) = &mut lent.base.slc {
            if let Some(plane) = slc.wanting_plane() {
                either!(self, own => own.begin_idle_fold(plane, lent));
                return true;
            }
            if !slc.collects() {
                return false;
            }
        }
        if lent.base.idle.period.is_some() {
            // Planes that have nothing under way reclaim a block each, by turns, as far as the
            // period has any left.
            let Some(plane) = lent.base.idle.turn(is_at_work) else { return false };
            let works = either!(self, own => own.reclaim(plane, lent));
            lent.base.idle.reclaims(plane, works);
            return true;
        }
        let Some(plane) = lent.base.idle.wanting_plane() else { return false };
        let was_busy = is_busy(self, plane);
        either!(self, own => own.begin_idle_work(plane, lent));
        if !was_busy && is_busy(self, plane) {
            lent.base.idle.background_began(plane);
        }
        true
    }
}

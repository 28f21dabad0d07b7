//! The flash translation layer: where pages are, which blocks are free, which one is cleaned next,
//! what of the map is cached.
//!
//! The map of the device and its blocks belong to both kinds: the page map (`page`) gives a
//! program its page when the program starts, and collects garbage; layers that plan (`planned`)
//! choose pages when a write is translated. Without translation (`raw`) the host names physical
//! pages. The room makes the sets of its own work (`lent`) and says why; what needs other rooms is
//! listed, and flows in `device` do it.

pub mod cmt;
mod lent;
pub mod line_cache;
mod lookup;
pub mod map_cache;
pub(crate) mod page;
pub mod page_map;
mod plan;
pub(crate) mod planned;
pub mod raw;
mod saving;
mod study;

use crate::config::{Allocation, GcKeys, MapKeys, Settings};
use crate::handle::SetId;
use crate::parts::blocks::Blocks;
use crate::parts::layer::MergeCounts;
use crate::sets::Sets;
use flashyard_core::geometry::Geometry;
use flashyard_core::units::{Lpn, MapPage, PlaneId, Ppn};
pub(crate) use lent::{BegunJob, Binding, Charge, Copied, CopyRun, Erased, Lent, Room, Todo};
use map_cache::MapCache;
pub(crate) use page::PLANE_BYTES;
use page::PageFtl;
pub(crate) use page::moved::{MOVED_BYTES, map_write};
use page_map::{Owner, PageMap};
pub(crate) use plan::Plan;
use planned::Planned;
use raw::Raw;
use study::Study;

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

/// The translation layer of a device: its map, its blocks, garbage collection.
#[derive(Clone, Debug)]
pub(crate) struct Ftl {
    geometry: Geometry,
    gc: GcKeys,
    map_keys: MapKeys,
    study: Study,
    /// Whether a write may go to any plane; whether its data may be on another one than striping
    /// says, and change planes.
    dynamic: bool,
    moves: bool,
    /// Whether garbage collection is spread over programs.
    paced: bool,
    /// How many valid units a plane may hold.
    plane_valid_units: u32,
    map: PageMap,
    cache: Option<MapCache>,
    scheme: Scheme,
    /// Free blocks of each plane when the first phase began; [`u32::MAX`] before.
    free_at_start: Vec<u32>,
    /// The plane of each stripe of a round of striping, and the units of a stripe: those of a plane
    /// where nothing is translated.
    stripes: Vec<PlaneId>,
    stripe_units: u32,
    /// Garbage collection in idle times.
    idle: page::idle::Idle,
}

impl Ftl {
    /// That of a device which nothing was ever written to.
    pub(crate) fn new(settings: &Settings, planned: Option<Box<Planned>>) -> Self {
        let geometry = settings.geometry;
        let planes = geometry.all_planes();
        let raw = Raw::new(settings).map(|raw| Scheme::Raw(Box::new(raw)));
        let is_raw = raw.is_some();
        let scheme = raw.or(planned.map(Scheme::Planned));
        let scheme = scheme.unwrap_or_else(|| Scheme::Page(PageFtl::new(settings)));
        let of_plane = geometry.blocks_per_plane * geometry.units_per_block();
        let dynamic = settings.keys.ftl.allocation == Allocation::Dynamic;
        let spans = matches!(&scheme, Scheme::Planned(planned) if planned.spans());
        Self {
            geometry,
            gc: settings.keys.gc,
            map_keys: settings.keys.map,
            study: Study::new(settings),
            paced: matches!(&scheme, Scheme::Page(page) if page.is_paced()),
            dynamic,
            moves: dynamic || spans,
            plane_valid_units: settings.plane_valid_units,
            map: PageMap::new(settings),
            cache: MapCache::new(settings),
            scheme,
            free_at_start: vec![u32::MAX; planes as usize],
            stripes: (0..planes)
                .map(|at| if is_raw { PlaneId::new(at) } else { geometry.plane_of_stripe(at) })
                .collect(),
            stripe_units: if is_raw { of_plane } else { geometry.units_per_page },
            idle: page::idle::Idle::new(settings, if spans { 1 } else { planes }),
        }
    }

    /// The map, and the layers that choose pages, where there are any: to be put into an initial
    /// state.
    pub(crate) fn map_and_layers(&mut self) -> (&mut PageMap, Option<&mut Planned>) {
        match &mut self.scheme {
            Scheme::Page(_) | Scheme::Raw(_) => (&mut self.map, None),
            Scheme::Planned(planned) => (&mut self.map, Some(planned)),
        }
    }

    /// Whether translation layers choose the pages of writes.
    pub(crate) const fn is_planned(&self) -> bool {
        matches!(self.scheme, Scheme::Planned(_))
    }

    /// The layers that choose pages, where there are any.
    pub(crate) fn planned(&self) -> Option<&Planned> {
        match &self.scheme {
            Scheme::Page(_) | Scheme::Raw(_) => None,
            Scheme::Planned(planned) => Some(planned),
        }
    }

    /// The layers that choose the pages of writes, and the map.
    fn layers(&mut self) -> (&mut Planned, &mut PageMap) {
        match &mut self.scheme {
            Scheme::Planned(planned) => (planned, &mut self.map),
            Scheme::Page(_) | Scheme::Raw(_) => unreachable!("only layers plan"),
        }
    }

    /// The garbage collection of a page map.
    #[inline]
    fn page(&self) -> &PageFtl {
        match &self.scheme {
            Scheme::Page(page) => page,
            _ => unreachable!("only a page map has jobs"),
        }
    }

    #[inline]
    fn page_mut(&mut self) -> &mut PageFtl {
        match &mut self.scheme {
            Scheme::Page(page) => page,
            _ => unreachable!("only a page map has jobs"),
        }
    }

    /// All planes, in ascending order.
    pub(crate) fn planes(&self) -> impl Iterator<Item = PlaneId> + Clone + use<> {
        (0..self.geometry.all_planes()).map(PlaneId::new)
    }
}

/// The map.
impl Ftl {
    /// The map, to be looked at.
    pub(crate) const fn map(&self) -> &PageMap {
        &self.map
    }

    /// The blocks, to be looked at.
    #[inline]
    pub(crate) const fn blocks(&self) -> &Blocks {
        &self.map.blocks
    }

    /// Where a logical unit is, by the committed map.
    #[inline]
    pub(crate) fn locate(&self, lpn: Lpn) -> Option<Ppn> {
        self.map.lookup(lpn)
    }

    /// A write covers these sectors of a unit: whether others of it have been written before.
    pub(crate) fn cover(&mut self, lpn: Lpn, covered: std::ops::Range<u64>) -> bool {
        self.map.cover(lpn, covered)
    }

    /// Whether a sector of a unit counts as written; each does where that is not kept.
    pub(crate) fn is_covered(&self, lpn: Lpn, sector: u64) -> bool {
        self.map.is_covered(lpn, sector)
    }

    /// The initial state is made: every unit that it has written was written whole.
    pub(crate) fn cover_written(&mut self, units: u32, unit_sectors: u32) {
        for lpn in (0..units).map(Lpn::new) {
            if self.locate(lpn).is_some() {
                self.cover(lpn, 0..u64::from(unit_sectors));
            }
        }
    }

    /// The data of a write is on flash, and no later change of the unit was committed before.
    #[inline]
    pub(crate) fn commit(&mut self, lpn: Lpn, ppn: Ppn) {
        self.map.commit(Owner::Data(lpn), ppn);
    }

    /// A logical unit is forgotten.
    pub(crate) fn trim(&mut self, lpn: Lpn) {
        self.map.trim(lpn);
    }

    /// The plane that static striping gives to a logical unit.
    #[inline]
    pub(crate) fn plane_of_lpn(&self, lpn: Lpn) -> PlaneId {
        let stripe = lpn.get() / self.stripe_units;
        self.stripes[stripe as usize % self.stripes.len()]
    }

    /// The plane of a map page: the one that striping gives to its number.
    pub(crate) const fn plane_of_map(&self, page: MapPage) -> PlaneId {
        self.geometry.plane_of_stripe(page.get())
    }

    /// The plane where a unit at `place` is read; for a unit that is nowhere, the one that striping
    /// gives to it.
    #[inline]
    pub(crate) fn plane_of_data(&self, lpn: Lpn, place: Option<Ppn>) -> PlaneId {
        match place {
            Some(ppn) if self.moves => self.geometry.plane_of(ppn),
            _ => self.plane_of_lpn(lpn),
        }
    }

    /// Whether data may be on another plane than striping says, and change planes.
    #[inline]
    pub(crate) const fn data_moves(&self) -> bool {
        self.moves
    }

    /// Whether a write may go to any plane.
    pub(crate) const fn is_dynamic(&self) -> bool {
        self.dynamic
    }

    /// Free blocks of a plane.
    #[inline]
    pub(crate) fn free_blocks(&self, plane: PlaneId) -> u64 {
        u64::from(self.map.blocks.free_blocks(plane))
    }

    /// Free blocks of all planes.
    pub(crate) fn all_free(&self) -> u64 {
        self.planes().map(|plane| self.free_blocks(plane)).sum()
    }
}

/// What both schemes answer.
impl Ftl {
    /// Whether a job or a merge of a plane is under way.
    pub(crate) fn is_busy(&self, plane: PlaneId) -> bool {
        match &self.scheme {
            Scheme::Page(page) => page.planes[plane.index()].job.is_some(),
            Scheme::Planned(planned) => planned.is_busy(plane),
            Scheme::Raw(_) => false,
        }
    }

    /// Whether garbage collection goes first: a plane is that short of free blocks, or a job that
    /// may not be interrupted has begun; never with pacing.
    #[inline]
    pub(crate) fn is_urgent(&self, plane: PlaneId) -> bool {
        !self.is_paced()
            && (self.free_blocks(plane) <= self.gc.hard_free_blocks
                || (!self.gc.preemptible && self.is_busy(plane)))
    }

    /// The page of a program that is about to start.
    #[inline]
    pub(crate) fn bind_program(&mut self, set: SetId, sets: &Sets) -> Binding {
        if matches!(self.scheme, Scheme::Page(_)) {
            return self.bind_unit(set, sets);
        }
        self.bind_chosen(set, sets)
    }

    /// The same where the page has been chosen already.
    #[inline(never)]
    fn bind_chosen(&self, set: SetId, sets: &Sets) -> Binding {
        match &self.scheme {
            Scheme::Page(_) => unreachable!("its pages are chosen last"),
            Scheme::Planned(planned) => Binding::Page(planned.page_of(set, sets)),
            Scheme::Raw(raw) => raw.bind(Ppn::new(sets[set].lpn.get()), &self.map),
        }
    }

    /// The page inside its block that a program would get; `None` where it would open a block.
    pub(crate) fn next_page(&self, set: SetId, sets: &Sets) -> Option<u32> {
        if let Some(ppn) = self.unit_named(sets[set].lpn) {
            return Some(self.geometry.page_in_block(ppn));
        }
        self.map.blocks.next_page(sets.plane(set), self.frontier(set, sets))
    }

    /// The program of a page is over, whatever becomes of its contents.
    #[inline]
    pub(crate) fn programmed(&mut self, ppn: Ppn) {
        if matches!(self.scheme, Scheme::Page(_)) {
            return self.map.blocks.programmed(ppn);
        }
        self.chosen_programmed(ppn);
    }

    /// The same where the page had been chosen before its program.
    #[inline(never)]
    fn chosen_programmed(&mut self, ppn: Ppn) {
        match &mut self.scheme {
            Scheme::Page(_) => unreachable!("its pages are chosen last"),
            Scheme::Planned(planned) => planned.note_page(ppn, &mut self.map),
            Scheme::Raw(raw) => raw.programmed(ppn, &mut self.map),
        }
    }

    /// The program of a write by the host is over.
    #[inline]
    pub(crate) fn write_over(&mut self, set: SetId, plane: PlaneId, ppn: Ppn) {
        match &mut self.scheme {
            Scheme::Page(page) if self.dynamic => page.planes[plane.index()].writes -= 1,
            Scheme::Page(_) | Scheme::Raw(_) => {}
            Scheme::Planned(planned) => planned.write_over(set, self.geometry.block_of(ppn)),
        }
    }

    /// A copy has been programmed by a set.
    pub(crate) fn copied(&mut self, set: SetId, lent: &mut Lent<'_>) {
        match self.scheme {
            Scheme::Page(_) => self.job_copied(set, lent),
            Scheme::Planned(_) => {
                let copy = self.task_copied(lent.sets.plane(set));
                lent.todo.push(Todo::Copied(set, copy));
            }
            Scheme::Raw(_) => unreachable!("nothing is copied"),
        }
    }

    /// A set has erased its block.
    pub(crate) fn erased(&mut self, set: SetId, lent: &mut Lent<'_>) {
        match self.scheme {
            Scheme::Page(_) => self.job_erased(set, lent),
            Scheme::Planned(_) => {
                let erased = self.task_erased(lent.sets.plane(set));
                lent.todo.push(Todo::Erased(set, erased));
            }
            Scheme::Raw(_) => unreachable!("the host erases"),
        }
    }

    /// A trim of a unit has been translated. Behind a write buffer, earlier writes of the unit may
    /// not have been planned yet: a layer then learns of the trim when it is committed.
    pub(crate) fn trim_translated(&mut self, lpn: Lpn) {
        self.map.uncover(lpn);
        if !self.plans_flushes()
            && let Scheme::Planned(planned) = &mut self.scheme
        {
            planned.trim(self.geometry.plane_of_lpn(lpn), lpn);
        }
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
        if let Scheme::Planned(planned) = &mut self.scheme {
            planned.leave_out(before);
        }
    }

    /// A phase begins: earlier idle times and owed copies are forgotten, and the free blocks of the
    /// first phase remembered.
    pub(crate) fn begin_phase(&mut self) {
        self.idle.begin_phase();
        if let Scheme::Page(page) = &mut self.scheme {
            page.begin_phase();
        }
        let blocks = &self.map.blocks;
        for (plane, free) in (0..).map(PlaneId::new).zip(&mut self.free_at_start) {
            if *free == u32::MAX {
                *free = blocks.free_blocks(plane);
            }
        }
    }

    /// Whether a plane has fewer free blocks than when the first phase began, and enough for a job.
    fn wants_restoring(&self, plane: PlaneId) -> bool {
        let before = self.free_at_start[plane.index()];
        let free = self.map.blocks.free_blocks(plane);
        before < u32::MAX && free < before && u64::from(free) > self.gc.reserve_blocks / 2
    }
}

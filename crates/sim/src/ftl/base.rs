//! What every scheme works with: the map of the device and its blocks, the cache of the map, work
//! in idle times, and what the settings say of them.

use super::idle::Idle;
use super::journal::Journal;
use super::map_cache::MapCache;
use super::page_map::{Owner, PageMap};
use super::ring::Ring;
use super::slc::Slc;
use super::study::Study;
use super::zns::ZoneBlocks;
use crate::config::{Allocation, GcKeys, GcPacing, MapKeys, PlacementKeys, Settings};
use crate::handle::SetId;
use crate::parts::blocks::{Blocks, Frontier};
use crate::parts::log::none::RawOrder;
use crate::sets::{Sets, Stage};
use flashyard_core::geometry::Geometry;
use flashyard_core::units::{BlockId, Lpn, MapPage, PlaneId, Ppn, Span, Time};

/// What is lent to a scheme.
#[derive(Clone, Debug)]
pub(crate) struct Base {
    pub(super) geometry: Geometry,
    pub(super) gc: GcKeys,
    pub(super) map_keys: MapKeys,
    pub(super) placement: PlacementKeys,
    pub(super) study: Study,
    /// Whether a write may go to any plane; whether its data may be on another one than striping
    /// says, and change planes.
    pub(super) dynamic: bool,
    moves: bool,
    /// Whether garbage collection is spread over programs.
    paced: bool,
    /// Whether the host names physical units; whether it may read them whatever their state.
    raw: bool,
    senses_any: bool,
    /// How many valid units a plane may hold.
    pub(super) plane_valid_units: u32,
    pub(super) map: PageMap,
    pub(super) cache: Option<MapCache>,
    /// Free blocks of each plane when the first phase began; [`u32::MAX`] before.
    pub(super) free_at_start: Vec<u32>,
    /// The plane of each stripe of a round of striping, and the units of a stripe: those of a plane
    /// where nothing is translated. With zones each zone is striped by itself: 0.
    pub(super) stripes: Vec<PlaneId>,
    stripe_units: u32,
    /// Garbage collection in idle times.
    pub(super) idle: Idle,
    /// The SLC cache, if there is one.
    pub(super) slc: Option<Box<Slc>>,
    /// The journal of the map, if the device can be cut, or its log.
    pub(super) journal: Option<Box<Journal>>,
    /// The blocks that it fills, where layers have the others.
    pub(super) ring: Option<Box<Ring>>,
    /// The blocks of zones, if there are zones.
    pub(super) zones: Option<Box<ZoneBlocks>>,
    /// Whether there is an SLC cache or zones: what writes go to is more than a stream.
    splits_writes: bool,
}

impl Base {
    /// That of a device which nothing was ever written to. Where layers plan, `spans` is whether
    /// one works over all planes.
    pub(super) fn new(settings: &Settings, spans: Option<bool>) -> Self {
        let (geometry, keys) = (settings.geometry, &settings.keys);
        let planes = geometry.all_planes();
        let (raw, dynamic) = (keys.is_raw(), keys.ftl.allocation == Allocation::Dynamic);
        let (plans, spans) = (spans.is_some(), spans == Some(true));
        let of_plane = geometry.blocks_per_plane * geometry.units_per_block();
        let plane = |at| if raw { PlaneId::new(at) } else { geometry.plane_of_stripe(at) };
        Self {
            geometry,
            gc: keys.gc,
            map_keys: keys.map,
            placement: keys.placement,
            study: Study::new(settings),
            dynamic,
            moves: dynamic || spans,
            paced: !plans && !raw && keys.gc.pacing != GcPacing::None,
            raw,
            senses_any: raw && keys.schemes.none.order == RawOrder::Ignored,
            plane_valid_units: settings.plane_valid_units,
            map: PageMap::new(settings),
            cache: MapCache::new(settings),
            free_at_start: vec![u32::MAX; planes as usize],
            stripes: (0..planes).map(plane).collect(),
            stripe_units: match settings.zones {
                Some(_) => 0,
                None if raw => of_plane,
                None => geometry.stripe_units(),
            },
            idle: Idle::new(settings, if spans { 1 } else { planes }, plans),
            slc: Slc::new(settings),
            journal: Journal::new(settings),
            ring: Ring::new(settings),
            zones: ZoneBlocks::new(settings),
            splits_writes: settings.slc.is_some() || settings.zones.is_some(),
        }
    }

    /// All planes, in ascending order.
    pub(crate) fn planes(&self) -> impl Iterator<Item = PlaneId> + Clone + use<> {
        (0..self.geometry.all_planes()).map(PlaneId::new)
    }
}

/// The map.
impl Base {
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

    /// The data of a write is on flash: it counts unless a later change has been committed. Returns
    /// the number of the change, and whether it counts. A journal is told, and may have to be
    /// written now.
    #[inline]
    pub(super) fn commit_write(&mut self, set: SetId, sets: &mut Sets) -> (u64, bool) {
        let (state, number) = (&sets[set], sets.number(set));
        if state.is_superseded() {
            return (number, false);
        }
        if self.journal.is_some() {
            self.note_change(state.lpn(), number, false);
        }
        self.map.commit(Owner::Data(state.lpn()), state.ppn().expect("a program has a page"));
        sets.supersede_earlier(set);
        (number, true)
    }

    /// A trim is over, and no later change of its unit has been committed: the unit is forgotten.
    pub(super) fn forget(&mut self, set: SetId, sets: &mut Sets) {
        if self.journal.is_some() {
            self.note_change(sets[set].lpn(), sets.number(set), true);
        }
        self.map.trim(sets[set].lpn());
        sets.supersede_earlier(set);
    }

    /// The plane that static striping gives to a logical unit.
    #[inline]
    pub(crate) fn plane_of_lpn(&self, lpn: Lpn) -> PlaneId {
        let Some(stripe) = lpn.get().checked_div(self.stripe_units) else {
            return self.plane_in_zone(lpn);
        };
        self.stripes[stripe as usize % self.stripes.len()]
    }

    #[cold]
    fn plane_in_zone(&self, lpn: Lpn) -> PlaneId {
        self.zones.as_ref().expect("nothing else has no stripes").plane_of(lpn)
    }

    /// On which of the joined planes a unit lies that was never written, and the page of it there.
    pub(crate) fn joined_page_of_lpn(&self, lpn: Lpn) -> (u32, u32) {
        match &self.zones {
            None => self.geometry.joined_page_of_lpn(lpn),
            Some(zones) => zones.joined_page_of(lpn),
        }
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

    /// The plane that a unit which is read turns out to be on, where data may be on another plane
    /// than striping says, and change planes.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a step of each command; a call costs as much")]
    pub(crate) fn plane_now(&self, place: Option<Ppn>) -> Option<PlaneId> {
        if self.moves { place.map(|ppn| self.geometry.plane_of(ppn)) } else { None }
    }

    /// The plane of a unit; none where it may be anywhere and is nowhere.
    pub(crate) fn known_plane(&self, lpn: Lpn) -> Option<PlaneId> {
        let place = self.locate(lpn);
        (place.is_some() || !self.dynamic).then(|| self.plane_of_data(lpn, place))
    }

    /// The plane that striping gives to a unit, where its data stays there.
    pub(crate) fn striped_plane(&self, lpn: Lpn) -> Option<PlaneId> {
        (!self.moves).then(|| self.plane_of_lpn(lpn))
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

/// Blocks.
impl Base {
    /// The frontier that a program's command writes to.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a step of each command; a call costs as much")]
    pub(crate) fn frontier(&self, set: SetId, sets: &Sets) -> Frontier {
        let state = &sets[set];
        match sets.stage(set) {
            Stage::Program if self.splits_writes => self.frontier_split(set, sets),
            Stage::Program => Frontier::HostData(state.stream()),
            Stage::CopyProgram | Stage::FoldProgram => {
                let source = state.source().expect("a copy has a source");
                self.map.blocks.copy_frontier(self.geometry.block_of(source))
            }
            Stage::JournalProgram => Frontier::Journal,
            Stage::PadProgram => Frontier::Zone(state.padded_zone()),
            _ => Frontier::HostMap,
        }
    }

    /// The same of a write where there is an SLC cache, or where there are zones.
    fn frontier_split(&self, set: SetId, sets: &Sets) -> Frontier {
        match &self.zones {
            Some(zones) => Frontier::Zone(zones.zone_of(sets[set].lpn()).0),
            None => self.frontier_of_write(set, sets),
        }
    }

    /// Takes the next unit of a frontier. Returns it, and whether a block was opened for it; none
    /// where no block is free.
    #[inline]
    pub(super) fn take_unit(&mut self, plane: PlaneId, frontier: Frontier) -> Option<(Ppn, bool)> {
        match (frontier, &mut self.zones) {
            (Frontier::Zone(zone), Some(zones)) => {
                zones.take_unit(zone, plane, &mut self.map.blocks)
            }
            _ => self.map.blocks.take_unit(plane, frontier),
        }
    }

    /// Takes one more unit of the program unit that a frontier is in.
    pub(crate) fn take_beside(&mut self, plane: PlaneId, frontier: Frontier) -> Ppn {
        let (ppn, _) = self.take_unit(plane, frontier).expect("its program unit has room");
        ppn
    }

    /// Whether a program that waits fills the program unit of another one on its plane: both go to
    /// this frontier and, with superblocks, copies are of one job.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a step of each command; a call costs as much")]
    pub(crate) fn fills(
        &self,
        (set, frontier): (SetId, Frontier),
        head: SetId,
        sets: &Sets,
    ) -> bool {
        self.frontier(set, sets) == frontier
            && (!self.map.blocks.are_united() || self.is_of_job(set, head, sets))
    }

    fn is_of_job(&self, set: SetId, head: SetId, sets: &Sets) -> bool {
        let job = |set: SetId| sets[set].source().map(|source| self.geometry.plane_of(source));
        job(set) == job(head)
    }

    /// Units of a block that have been programmed, or are about to be.
    pub(crate) fn written_units(&self, block: BlockId) -> u32 {
        match &self.zones {
            Some(zones) => zones.written_units(block),
            None => self.map.blocks.written_units(block),
        }
    }

    /// What tells lines apart that are programmed on one plane: the frontier of host data or, with
    /// zones, the zone.
    #[inline]
    pub(crate) fn row_of(&self, lpn: Lpn, stream: u8) -> u32 {
        self.zones.as_ref().map_or(u32::from(stream), |zones| zones.group_of(lpn))
    }

    /// Leaves the rest of the program unit that a frontier is in empty, behind `taken` units.
    pub(crate) fn pad(&mut self, plane: PlaneId, frontier: Frontier, taken: u32) {
        if let (Frontier::Zone(zone), Some(zones)) = (frontier, &mut self.zones) {
            return zones.leave(zone, plane, self.geometry.program_units() - taken);
        }
        self.map.blocks.pad(plane, frontier, taken);
    }

    /// Whether a plane has fewer free blocks than when the first phase began, and enough for a job.
    pub(super) fn wants_restoring(&self, plane: PlaneId) -> bool {
        let before = self.free_at_start[plane.index()];
        let free = self.map.blocks.free_blocks(plane);
        before < u32::MAX && free < before && u64::from(free) > self.gc.reserve_blocks / 2
    }

    /// A phase begins: earlier idle times are forgotten, and the free blocks of the first phase
    /// remembered.
    pub(super) fn begin_phase(&mut self) {
        self.idle.begin_phase();
        if let Some(slc) = &mut self.slc {
            slc.begin_phase();
        }
        if let Some(journal) = &mut self.journal {
            journal.begin_phase();
        }
        let blocks = &self.map.blocks;
        for (plane, free) in (0..).map(PlaneId::new).zip(&mut self.free_at_start) {
            if *free == u32::MAX {
                *free = blocks.free_blocks(plane);
            }
        }
    }

    /// When work in an idle time is due.
    #[inline]
    pub(crate) fn idle_due(&self) -> Time {
        match &self.slc {
            Some(slc) => self.idle.due.min(slc.due()),
            None => self.idle.due,
        }
    }

    /// At the end of an instant, `idle` while no request is outstanding but more will come: whether
    /// planes may work now.
    #[inline]
    pub(crate) fn may_work_idle(&mut self, idle: impl Fn() -> bool, now: Time) -> bool {
        let collects = self.idle.is_followed() && self.idle.may_work(idle(), now);
        match &mut self.slc {
            Some(slc) => slc.may_work(idle(), now, collects),
            None => collects,
        }
    }

    /// How long it takes to look at so many candidates for victims.
    pub(super) const fn search_time(&self, searches: u64) -> Span {
        Span::from_ns(searches.saturating_mul(self.gc.search_us.as_ns()))
    }

    /// Whether garbage collection is spread over programs.
    #[inline]
    pub(crate) const fn is_paced(&self) -> bool {
        self.paced
    }

    /// Whether host addresses are physical.
    #[inline]
    pub(crate) const fn is_raw(&self) -> bool {
        self.raw
    }

    /// The physical unit that a host address is, whether or not it holds anything; none where
    /// addresses are translated.
    pub(crate) fn unit_named(&self, lpn: Lpn) -> Option<Ppn> {
        self.raw.then(|| Ppn::new(lpn.get()))
    }

    /// Whether a read of a unit at this place would sense nothing.
    #[inline]
    pub(crate) fn is_unmapped(&self, place: Option<Ppn>) -> bool {
        place.is_none() && !self.senses_any
    }

    /// The unit that access `page` of a trim forgets, which would be `lpn` if each were of one
    /// unit: of a block that it erases, the first one.
    pub(crate) const fn trimmed_unit(&self, lpn: Lpn, page: u32) -> Lpn {
        let more = if self.raw { page * (self.geometry.units_per_block() - 1) } else { 0 };
        Lpn::new(lpn.get() + more)
    }
}

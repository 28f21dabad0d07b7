//! The initial states of a device: pools as the settings have them, put into its map.

use super::place::{Cursor, Orders, Slots, walk};
use super::plan::{Plan, Recipe};
use super::planned::aging_writes;
use super::progress::{Building, Meter};
use super::random::Random;
use super::{Cleaning, Pool, Refusal, age, miniature, planned};
pub use crate::account::Made;
use crate::config::{GcPacing, InitialState, MapStore, PartialWrite, Settings};
use crate::ftl::Ftl;
use crate::ftl::page_map::{ByPlane, Owner, PageMap};
use crate::parts::blocks::Frontier;
use crate::parts::victim::{Rule, VictimRule};
use flashyard_core::quantity::Ppm;
use flashyard_core::units::{Lpn, MapPage, PlaneId, Ppn};
use std::borrow::Cow;

/// Whether the initial state can be made; the reason if not.
pub fn check(settings: &Settings) -> Result<(), Refusal> {
    if settings.keys.state.initial != InitialState::Steady {
        return Ok(());
    }
    if settings.keys.map.store != MapStore::Resident {
        return Err(Refusal(
            "state.initial: with a map on flash the steady state of map pages depends on the cache \
             and is not known; set map.store = \"resident\" or state.initial = \"aged\""
                .to_string(),
        ));
    }
    let pooled = pooled(settings);
    let pools = Pools::steady_of(settings, &pooled);
    let (pool, writes) = (pools.pool(0), pools.writes());
    let refuse = |why: String| {
        let remedy = "raise ftl.over_provisioning_percent or lower gc.soft_free_blocks";
        Err(Refusal(format!("state.initial: no steady state: {why}; {remedy}")))
    };
    if pool.logical_units() == 0 {
        return refuse("nothing is written, see state.fill_percent".to_string());
    }
    if pool.block_units < 2 {
        let why = "state.initial: blocks of one unit are valid or empty as a whole, and have no \
                   steady state; set state.initial = \"aged\"";
        return Err(Refusal(why.to_string()));
    }
    for pool in [Some(pool), pools.pressed(pool)].into_iter().flatten() {
        if !pool.has_room() {
            let of_united = ("superblocks", "");
            let of_planes = ("blocks", " of a plane");
            let (blocks, of) = if settings.unites_blocks() { of_united } else { of_planes };
            return refuse(format!(
                "{} units do not fit the {} {blocks} of {} units{of} that are neither free nor open",
                pool.logical_units(),
                pool.full_blocks(),
                pool.block_units,
            ));
        }
        let dense = pool.dense();
        if Recipe::needs_miniature(&dense, pools.cleaning, writes) {
            let fits = miniature::check(&dense);
            fits.or_else(|Refusal(why)| refuse(why))?;
        }
    }
    Ok(())
}

/// Bytes that making the initial state takes beside the device itself.
pub(crate) fn scratch_bytes(settings: &Settings) -> u64 {
    let planes = u64::from(settings.geometry.all_planes());
    let units = u64::from(settings.exported_units);
    let by_plane =
        if planes > 1 && !settings.unites_blocks() { 4 * units.div_ceil(planes) } else { 0 };
    match settings.keys.state.initial {
        InitialState::Fresh | InitialState::Full | InitialState::Random => 0,
        InitialState::Aged if settings.unites_blocks() => 0,
        InitialState::Aged => by_plane + age::scratch_bytes(settings),
        // A block of a plan, and of its slots; the orders of units of a block, and its levels.
        InitialState::Steady => {
            let geometry = pooled(settings).geometry;
            u64::from(geometry.blocks()) * 32 + u64::from(geometry.units_per_block()) * (64 + 24)
        }
    }
}

/// Puts a fresh translation layer into the initial state of its settings; `tell` hears now and then
/// how far that is.
pub(crate) fn make_telling(
    settings: &Settings,
    ftl: &mut Ftl,
    tell: &mut dyn FnMut(Building),
) -> Made {
    let mut made = Made::default();
    if settings.zones.is_some() {
        if settings.keys.state.initial == InitialState::Full {
            ftl.fill_zones(|units| share(units, settings.keys.state.fill_percent));
        }
    } else {
        match ftl.map_and_layers() {
            (map, None) => made = make_map(settings, map, tell),
            (map, Some(layers)) => planned::make(settings, layers, map, tell),
        }
    }
    if settings.keys.ftl.partial_write == PartialWrite::Bitmap {
        ftl.cover_written(settings.exported_units, settings.geometry.unit_sectors());
    }
    made
}

/// The settings as the pools of `steady` see them: superblocks are the blocks of one plane.
fn pooled(settings: &Settings) -> Cow<'_, Settings> {
    if !settings.unites_blocks() {
        return Cow::Borrowed(settings);
    }
    Cow::Owned(Settings { geometry: settings.geometry.united(), ..settings.clone() })
}

/// Puts a fresh map into the initial state of its settings.
pub fn make(settings: &Settings, map: &mut PageMap) -> Made {
    make_map(settings, map, &mut |_| ())
}

fn make_map(settings: &Settings, map: &mut PageMap, tell: &mut dyn FnMut(Building)) -> Made {
    let pools = Pools::new(settings);
    let mut made = Made::default();
    let state = settings.keys.state.initial;
    let aging = if state == InitialState::Aged { aging_writes(settings, pools.filled) } else { 0 };
    let meter = &mut Meter::new(u64::from(pools.filled) + aging, tell);
    match state {
        InitialState::Fresh => return made,
        InitialState::Steady => {
            let pooled = pooled(settings);
            let pools = Pools::steady_of(settings, &pooled);
            made = pools.construct(map, meter);
            pools.put_map_pages(map);
        }
        _ if map.blocks.are_united() => {
            pools.make_united(map, meter);
            return made;
        }
        InitialState::Full | InitialState::Aged => {
            pools.fill(map, meter);
            pools.put_map_pages(map);
            if state == InitialState::Aged {
                let mut map = ByPlane::new(map, pools.filled);
                pools.age(&mut map, meter);
                map.finish();
            }
        }
        InitialState::Random => {
            walk(0..pools.filled, pools.window(), pools.seed, |lpn| {
                pools.put(map, Lpn::new(lpn));
                meter.count(1);
            });
            pools.put_map_pages(map);
        }
    }
    map.blocks.end_programs();
    made
}

/// The pools of a device, and how they are written.
pub(super) struct Pools<'a> {
    pub(super) settings: &'a Settings,
    cleaning: Cleaning,
    /// Units that are written, and how many of them are in the first class.
    pub(super) filled: u32,
    hot: u32,
    pub(super) seed: u64,
    /// See [`Pool::partial_programs`].
    partial_programs: u32,
    /// The plane of each stripe of a round of static striping, and the stripe of each plane.
    planes: Vec<u32>,
    stripes: Vec<u32>,
}

impl<'a> Pools<'a> {
    pub(super) fn new(settings: &'a Settings) -> Self {
        let state = &settings.keys.state;
        let filled = share(settings.exported_units, state.fill_percent);
        let uniform = state.hot_units_percent == state.hot_writes_percent;
        let hot = if uniform { 0 } else { share(filled, state.hot_units_percent) };
        let geometry = &settings.geometry;
        let planes: Vec<u32> = (0..geometry.all_planes())
            .map(|stripe| geometry.plane_of_stripe(stripe).get())
            .collect();
        let mut stripes = vec![0; planes.len()];
        for (stripe, plane) in (0..).zip(&planes) {
            stripes[*plane as usize] = stripe;
        }
        let cleaning = Rule::of(&settings.keys).cleaning(geometry.blocks_per_plane);
        Self {
            settings,
            cleaning,
            filled,
            hot,
            seed: state.seed,
            partial_programs: 1,
            planes,
            stripes,
        }
    }

    /// The pools of the steady state of a device, from its settings and from those as pools see
    /// them: of a superblock each plane ends the copies of a victim by itself.
    fn steady_of(settings: &Settings, pooled: &'a Settings) -> Self {
        let planes = settings.geometry.all_planes() / pooled.geometry.all_planes();
        Self { partial_programs: planes, ..Self::new(pooled) }
    }

    pub(super) const fn count(&self) -> u32 {
        self.settings.geometry.all_planes()
    }

    #[inline]
    pub(super) fn of_lpn(&self, lpn: u32) -> u32 {
        let stripe = lpn / self.settings.geometry.stripe_units();
        self.planes[(stripe % self.settings.geometry.all_planes()) as usize]
    }

    /// The plane that is this one in the order of striping.
    pub(super) fn plane_of_turn(&self, turn: u32) -> u32 {
        self.planes[turn as usize]
    }

    /// Logical neighbours that lie in different pools, or together on a page.
    pub(super) const fn window(&self) -> u32 {
        self.settings.geometry.all_planes() * self.settings.geometry.stripe_units()
    }

    /// How many of the first `count` logical units a pool holds.
    fn units_of(&self, pool: u32, count: u32) -> u32 {
        let units = self.settings.geometry.stripe_units();
        let round = self.window();
        let first = self.stripes[pool as usize] * units;
        count / round * units + (count % round).saturating_sub(first).min(units)
    }

    /// Shares of host writes that go to the first and to the second class.
    pub(super) fn writes(&self) -> [f64; 2] {
        let hot = self.settings.keys.state.hot_writes_percent.ppm() as f64 / 1e6;
        if self.hot == 0 {
            [0.0, 1.0]
        } else if self.hot == self.filled {
            [1.0, 0.0]
        } else {
            [hot, 1.0 - hot]
        }
    }

    /// The unit of a random write, of which the share `hot` goes to the first class.
    pub(super) fn draw(&self, random: &mut Random, hot: f64) -> u32 {
        if self.hot > 0 && random.unit() < hot {
            random.below(self.hot)
        } else {
            self.hot + random.below(self.filled - self.hot)
        }
    }

    /// A pool as it is between collections.
    fn pool(&self, pool: u32) -> Pool {
        let hot = self.units_of(pool, self.hot);
        Pool {
            units: [hot, self.units_of(pool, self.filled) - hot],
            partial_programs: self.partial_programs,
            ..Pool::of_plane(self.settings)
        }
    }

    /// With `gc.pacing = "tokens"`, a pool that copies fewer units for each program than its
    /// victims need: it is collected where programs find no other room than the reserve.
    fn pressed(&self, pool: Pool) -> Option<Pool> {
        let gc = &self.settings.keys.gc;
        let soft = u32::try_from(gc.reserve_blocks).expect("the key's range fits 32 bits");
        (gc.pacing == GcPacing::Tokens).then_some(Pool { soft, target: None, ..pool })
    }

    /// The pool of plane 0 and its steady state; and a reason where there is none.
    fn steady(&self) -> Result<(Pool, Recipe), Refusal> {
        let pool = self.pool(0);
        let recipe = |pool| Recipe::new(pool, self.cleaning, self.writes(), self.seed);
        let kept = recipe(&pool)?;
        let copies = self.settings.keys.gc.copies_per_program as f64;
        match self.pressed(pool) {
            Some(pressed) if kept.write_amplification > 1.0 + copies => {
                Ok((pressed, recipe(&pressed)?))
            }
            _ => Ok((pool, kept)),
        }
    }

    pub(super) fn put(&self, map: &mut PageMap, lpn: Lpn) {
        let plane = PlaneId::new(self.of_lpn(lpn.get()));
        map.lay_next(plane, Frontier::HostData(0), Owner::Data(lpn));
        map.lay_sectors(lpn);
    }

    /// Every map page has been written.
    pub(super) fn put_map_pages(&self, map: &mut PageMap) {
        for page in (0..self.settings.map_pages).map(MapPage::new) {
            let plane = self.settings.geometry.plane_of_stripe(page.get());
            map.lay_next(plane, Frontier::HostMap, Owner::Map(page));
        }
    }

    /// Puts every pool into steady state.
    fn construct(&self, map: &mut PageMap, meter: &mut Meter<'_>) -> Made {
        let checked = "the settings were checked for it";
        let (first, recipe) = self.steady().expect(checked);
        let slots: Vec<Slots> = (0..self.count())
            .map(|pool| {
                let mut random = Random::new(self.seed, 16 + u64::from(pool));
                let own = Pool { soft: first.soft, target: first.target, ..self.pool(pool) };
                let plan = recipe.plan(&own, &mut random).expect(checked);
                let (slots, numbers) = Slots::new(&plan, &mut random);
                self.lay_blocks(map, pool, &plan, &numbers);
                slots
            })
            .collect();
        let orders = Orders::new(self.pool(0).block_units, self.seed);
        self.lay_units(map, 0, &slots, &orders, meter);
        self.lay_units(map, 1, &slots, &orders, meter);
        Made { write_amplification: Some(recipe.write_amplification), error: recipe.error }
    }

    fn lay_blocks(&self, map: &mut PageMap, pool: u32, plan: &Plan, numbers: &[u32]) {
        let plane = PlaneId::new(pool);
        let good = self.good_blocks(map, pool);
        let block = |number: u32| {
            let number = if good.is_empty() { number } else { good[number as usize] };
            self.settings.geometry.block(plane, number)
        };
        for (number, full) in numbers.iter().zip(&plan.full) {
            let valid = full.valid[0] + full.valid[1];
            map.blocks.lay_full(block(*number), frontier(full.generation), valid);
        }
        let mut used = u32::try_from(plan.full.len()).expect("blocks have 32 bits");
        for open in &plan.open {
            let valid = open.valid[0] + open.valid[1];
            map.blocks.lay_open(block(used), frontier(open.generation), valid);
            used += 1;
        }
        if let Some(begun) = &plan.begun {
            let valid = begun.valid[0] + begun.valid[1];
            map.blocks.lay_begun(block(used), frontier(begun.generation), valid);
            used += 1;
        }
        map.blocks.lay_used(plane, used, block(used - 1));
    }

    /// The good blocks of a pool, which plans number from 0; none where all are good.
    fn good_blocks(&self, map: &PageMap, pool: u32) -> Vec<u32> {
        match self.settings.factory_bad_blocks {
            0 => Vec::new(),
            _ => map.blocks.good_blocks(PlaneId::new(pool)),
        }
    }

    /// Gives the units of a class their places, all pools at a time.
    fn lay_units(
        &self,
        map: &mut PageMap,
        class: usize,
        slots: &[Slots],
        orders: &Orders,
        meter: &mut Meter<'_>,
    ) {
        let range = if class == 0 { 0..self.hot } else { self.hot..self.filled };
        let mut cursors = vec![Cursor::default(); slots.len()];
        let units =
            self.settings.geometry.blocks_per_plane * self.settings.geometry.units_per_block();
        let block_units = self.settings.geometry.units_per_block();
        let good: Vec<_> = (0..self.count()).map(|pool| self.good_blocks(map, pool)).collect();
        walk(range, self.window(), self.seed, |lpn| {
            let pool = self.of_lpn(lpn);
            let place = cursors[pool as usize].next(class, &slots[pool as usize], orders);
            let mut place = place.expect("plans hold every unit");
            let good = &good[pool as usize];
            if !good.is_empty() {
                let block = good[(place / block_units) as usize];
                place = block * block_units + place % block_units;
            }
            let ppn = map.blocks.in_array(Ppn::new(pool * units + place));
            map.lay(Lpn::new(lpn), ppn);
            meter.count(1);
        });
    }
}

/// What fills the blocks of a generation.
fn frontier(generation: u32) -> Frontier {
    let copies = |more: u32| Frontier::CopiedData(more.to_le_bytes()[0]);
    generation.checked_sub(1).map_or(Frontier::HostData(0), copies)
}

/// A share of a number, at most all of it.
pub(crate) fn share(count: u32, share: Ppm) -> u32 {
    u32::try_from(share.of(u64::from(count))).unwrap_or(count).min(count)
}

//! The flash translation layer: where pages are, which blocks are free, which one is cleaned next,
//! what of the map is cached.

pub mod blocks;
pub mod cmt;
pub(crate) mod job;
pub mod layer;
pub mod line_cache;
pub mod log;
pub mod map_cache;
pub mod memory;
pub(crate) mod pacing;
pub mod page_map;
pub(crate) mod planned;
pub mod victim;

use crate::config::Settings;
use crate::initial::device::Made;
use crate::saved::saved;
use flashyard_core::graph::NIL;
use flashyard_core::units::{Lpn, MapPage, PlaneId};
use job::{Idle, Job};
use map_cache::MapCache;
use pacing::Pacing;
use page_map::PageMap;
use planned::Layered;

/// A moved unit whose map page is to be rewritten: the page, its place among the moved ones of the
/// job, the unit.
pub(crate) type Moved = (MapPage, u32, Lpn);

/// A plane: its garbage collection and what waits for it.
#[derive(Debug)]
pub(crate) struct Plane {
    pub(crate) job: Option<Job>,
    /// Moved data whose map entries are not cached.
    pub(crate) moved: Vec<Moved>,
    /// The request whose program last took a free block, and its order.
    pub(crate) drawer: (u32, u64),
    /// Whether programs wait for the erase of the job, and how many erases gave a host write no
    /// room.
    pub(crate) programs_wait: bool,
    pub(crate) fruitless: u32,
    /// Whether the last job levelled wear.
    pub(crate) levelled: bool,
    /// Unfinished host programs, where allocation is dynamic.
    pub(crate) writes: u32,
}

saved!(Plane { fruitless, levelled } skip { job, moved, drawer, programs_wait, writes });

impl Plane {
    fn new(units_per_block: u32) -> Self {
        Self {
            job: None,
            moved: Vec::with_capacity(units_per_block as usize),
            drawer: (NIL, 0),
            programs_wait: false,
            fruitless: 0,
            levelled: false,
            writes: 0,
        }
    }
}

/// The translation layer of a device: its map, its blocks, garbage collection.
#[derive(Debug)]
pub(crate) struct Ftl {
    pub(crate) map: PageMap,
    pub(crate) cache: Option<MapCache>,
    /// Where pages are chosen by translation layers.
    pub(crate) layered: Option<Box<Layered>>,
    pub(crate) planes: Vec<Plane>,
    /// Garbage collection in idle times.
    pub(crate) idle: Idle,
    /// How garbage collection is spread over programs, where it is.
    pub(crate) pacing: Option<Box<Pacing>>,
    /// Free blocks of each plane when the first phase began; [`u32::MAX`] before.
    pub(crate) free_at_start: Vec<u32>,
    /// Where dynamic allocation goes on.
    pub(crate) next_stripe: u32,
    /// The plane of each stripe of a round of striping.
    pub(crate) stripes: Vec<PlaneId>,
    pub(crate) made: Made,
}

impl Ftl {
    /// That of a device which nothing was ever written to.
    pub(crate) fn new(settings: &Settings, layered: Option<Box<Layered>>) -> Self {
        let geometry = &settings.geometry;
        let planes = geometry.all_planes();
        Self {
            map: PageMap::new(settings),
            cache: MapCache::new(settings),
            planes: (0..planes).map(|_| Plane::new(geometry.units_per_block())).collect(),
            idle: Idle::new(settings),
            pacing: Pacing::new(settings, layered.is_some()),
            layered,
            free_at_start: vec![u32::MAX; planes as usize],
            next_stripe: 0,
            stripes: (0..planes).map(|at| geometry.plane_of_stripe(at)).collect(),
            made: Made::default(),
        }
    }
}

//! The half of a page map: garbage collection of its planes, and the planes that writes go to.

mod fold;
mod job;
mod jobs;
pub(super) mod moved;
mod paced;
mod pacing;
mod packed;
mod placement;
mod room;
mod superblock;

use crate::config::Settings;
use crate::ftl::lent::Charge;
use crate::handle::SetId;
use crate::saved::saved;
use flashyard_core::units::{BlockId, PlaneId};
use job::{Job, United};
use moved::Moved;
use pacing::Pacing;

/// The garbage collection of a plane, and what waits for it.
#[derive(Clone, Debug)]
pub(super) struct Plane {
    pub(super) job: Option<Job>,
    /// Moved data whose map entries are not cached.
    moved: Vec<Moved>,
    /// The request whose program last took a free block, and its order.
    last_allocator: Charge,
    /// Whether programs wait for the erase of the job.
    programs_wait: bool,
    /// How many erases in a row gave a host write no room, or left it behind owed copies.
    rounds_without_room: u32,
    /// Whether the last job levelled wear.
    last_levelled: bool,
    /// Unfinished host programs, where allocation is dynamic.
    pub(super) writes: u32,
    /// Whether the next program may open a block of the reserve.
    overdraws: bool,
}

/// Bytes of a plane.
pub(crate) const PLANE_BYTES: u64 = size_of::<Plane>() as u64;

saved!(Plane { rounds_without_room, last_levelled }
    skip { job, moved, last_allocator, programs_wait, writes, overdraws });

/// Garbage collection and allocation of a device with a page map.
#[derive(Clone, Debug)]
pub(crate) struct PageFtl {
    pub(super) planes: Vec<Plane>,
    /// How garbage collection is spread over programs, where it is.
    pacing: Option<Box<Pacing>>,
    /// Where dynamic allocation goes on.
    pub(super) next_stripe: u32,
    /// Where superblocks are collected.
    united: Option<Box<United>>,
    /// Copies that begin together; empty between uses.
    packed: Vec<SetId>,
}

impl PageFtl {
    pub(super) fn new(settings: &Settings) -> Self {
        let units = settings.geometry.units_per_block() as usize;
        let plane = || Plane {
            job: None,
            moved: Vec::with_capacity(units),
            last_allocator: None,
            programs_wait: false,
            rounds_without_room: 0,
            last_levelled: false,
            writes: 0,
            overdraws: false,
        };
        Self {
            planes: (0..settings.geometry.all_planes()).map(|_| plane()).collect(),
            pacing: Pacing::new(settings),
            next_stripe: 0,
            united: settings.unites_blocks().then(Box::default),
            packed: Vec::new(),
        }
    }

    /// Whether a block of a plane is the victim of a job.
    pub(super) fn collects(&self, block: BlockId, plane: PlaneId) -> bool {
        self.planes[plane.index()].job.is_some_and(|job| job.victim == block)
    }

    #[inline]
    fn job_mut(&mut self, plane: PlaneId) -> &mut Job {
        self.plane_mut(plane).job.as_mut().expect("a job is under way")
    }

    #[inline]
    fn plane_mut(&mut self, plane: PlaneId) -> &mut Plane {
        &mut self.planes[plane.index()]
    }
}

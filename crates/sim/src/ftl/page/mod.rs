//! The half of a page map: garbage collection of its planes, and the planes that writes go to.

mod job;
mod jobs;
pub(super) mod moved;
mod paced;
mod pacing;
mod place;
mod room;

use crate::config::Settings;
use crate::ftl::base::Base;
use crate::ftl::lent::{Binding, Charge, Lent};
use crate::ftl::placement::Placement;
use crate::handle::SetId;
use crate::saved::{Reader, RestoreError, Saved, Writer, saved};
use crate::sets::Sets;
use flashyard_core::units::{Lpn, PlaneId, Ppn};
use job::Job;
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
    /// How many erases in a row gave a host write no room.
    rounds_without_room: u32,
    /// Whether the last job levelled wear.
    last_levelled: bool,
    /// Unfinished host programs, where allocation is dynamic.
    pub(super) writes: u32,
}

/// Bytes of a plane.
pub(crate) const PLANE_BYTES: u64 = size_of::<Plane>() as u64;

saved!(Plane { rounds_without_room, last_levelled }
    skip { job, moved, last_allocator, programs_wait, writes });

/// Garbage collection and allocation of a device with a page map.
#[derive(Clone, Debug)]
pub(super) struct PageFtl {
    pub(super) planes: Vec<Plane>,
    /// How garbage collection is spread over programs, where it is.
    pacing: Option<Box<Pacing>>,
    /// Where dynamic allocation goes on.
    pub(super) next_stripe: u32,
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
        };
        Self {
            planes: (0..settings.geometry.all_planes()).map(|_| plane()).collect(),
            pacing: Pacing::new(settings),
            next_stripe: 0,
        }
    }

    pub(super) const fn is_paced(&self) -> bool {
        self.pacing.is_some()
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

impl Placement for PageFtl {
    fn write_begins(&mut self, base: &Base, plane: Option<PlaneId>, _: Lpn) -> PlaneId {
        self.take_plane(base, plane)
    }

    #[inline]
    fn bind(&mut self, base: &mut Base, set: SetId, sets: &Sets) -> Binding {
        self.bind_unit(base, set, sets)
    }

    #[inline]
    fn programmed(&mut self, base: &mut Base, ppn: Ppn) {
        base.map.blocks.programmed(ppn);
    }

    #[inline]
    fn write_over(&mut self, base: &mut Base, set: SetId, sets: &mut Sets) -> (u64, bool) {
        if base.dynamic {
            self.plane_mut(sets.plane(set)).writes -= 1;
        }
        base.commit_write(set, sets)
    }

    fn copied(&mut self, base: &mut Base, set: SetId, lent: &mut Lent<'_>) {
        self.job_copied(base, set, lent);
    }

    fn erased(&mut self, base: &mut Base, set: SetId, lent: &mut Lent<'_>) {
        self.job_erased(base, set, lent);
    }

    fn is_busy(&self, plane: PlaneId) -> bool {
        self.planes[plane.index()].job.is_some()
    }

    fn is_at_work(&self, plane: PlaneId) -> bool {
        let job = self.planes[plane.index()].job;
        job.is_some_and(|job| !(self.is_paced() && job.rests()))
    }

    fn work_idle(&mut self, base: &mut Base, plane: PlaneId, lent: &mut Lent<'_>) {
        self.collect(base, plane, None, lent);
    }

    fn reclaim(&mut self, base: &mut Base, plane: PlaneId, lent: &mut Lent<'_>) -> bool {
        self.reclaim_block(base, plane, lent)
    }

    fn begin_phase(&mut self) {
        if let Some(pacing) = &mut self.pacing {
            pacing.begin_phase();
        }
    }

    fn save(&self, to: &mut Writer<'_>) {
        self.planes.save(to);
        u64::from(self.next_stripe).save(to);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), RestoreError> {
        self.planes.load(from)?;
        let mut stripe = 0u64;
        stripe.load(from)?;
        self.next_stripe = u32::try_from(stripe).map_err(|_| RestoreError::Corrupt)?;
        Ok(())
    }
}

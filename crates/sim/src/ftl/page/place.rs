//! The planes that writes go to.

use crate::ftl::{Ftl, Scheme};
use crate::handle::SetId;
use crate::sets::{Sets, Stage};
use flashyard_core::units::{Lpn, PlaneId};

impl Ftl {
    /// The plane that the data of a write goes to. [`Self::write_begins`] must follow.
    #[inline]
    pub(crate) fn plane_for_write(&mut self, lpn: Lpn) -> PlaneId {
        if self.dynamic { self.least_busy_plane() } else { self.plane_of_lpn(lpn) }
    }

    /// A program of host data for this plane has been made.
    #[inline]
    pub(crate) fn write_begins(&mut self, plane: PlaneId) {
        if self.dynamic {
            self.page_mut().plane_mut(plane).writes += 1;
        }
    }

    /// The plane with the fewest unfinished host programs, in the order of striping from the one
    /// after the last choice on; planes that hold all the data they can, then those without room
    /// for host data come last.
    fn least_busy_plane(&mut self) -> PlaneId {
        let Scheme::Page(page) = &mut self.scheme else { unreachable!("layers stripe") };
        let count = self.geometry.all_planes();
        let (blocks, most) = (&self.map.blocks, self.plane_valid_units);
        let reserve = self.gc.reserve_blocks;
        let load = |plane: PlaneId| {
            let writes = page.planes[plane.index()].writes;
            let valid = blocks.valid_of_plane(plane) + writes;
            let short = u64::from(blocks.free_blocks(plane)) <= reserve;
            (valid.saturating_sub(most), short, writes)
        };
        let first = page.next_stripe;
        let mut best = self.stripes[(first % count) as usize];
        let mut best_at = first;
        let mut least = load(best);
        for at in first + 1..first + count {
            if least == (0, false, 0) {
                break;
            }
            let plane = self.stripes[(at % count) as usize];
            let own = load(plane);
            if own < least {
                (best, best_at, least) = (plane, at, own);
            }
        }
        page.next_stripe = (best_at + 1) % count;
        best
    }

    /// Another plane for a program of host data, where its own holds more valid data than it can
    /// collect and allocation is dynamic.
    pub(super) fn other_plane(&mut self, set: SetId, sets: &Sets) -> Option<PlaneId> {
        let plane = sets.plane(set);
        if !self.dynamic || !self.is_full(plane) || sets.stage(set) != Stage::Program {
            return None;
        }
        // One that is full sends the write on, which then goes round in circles.
        let mut other = self.least_busy_plane();
        if self.is_full(other) {
            other = self.emptiest_plane();
        }
        if other == plane || self.is_full(other) {
            return None;
        }
        self.page_mut().plane_mut(plane).writes -= 1;
        self.page_mut().plane_mut(other).writes += 1;
        Some(other)
    }

    /// Whether a plane holds as many valid units as it can collect.
    fn is_full(&self, plane: PlaneId) -> bool {
        self.map.blocks.valid_of_plane(plane) >= self.plane_valid_units
    }

    /// The plane with the fewest valid units.
    fn emptiest_plane(&self) -> PlaneId {
        let emptiest = self.planes().min_by_key(|plane| self.map.blocks.valid_of_plane(*plane));
        emptiest.expect("a device has planes")
    }
}

//! The planes that writes go to.

use super::PageFtl;
use crate::ftl::base::Base;
use crate::handle::SetId;
use crate::sets::{Sets, Stage};
use flashyard_core::units::PlaneId;

impl PageFtl {
    /// The plane with the fewest unfinished host programs, in the order of striping from the one
    /// after the last choice on; planes that hold all the data they can, then those without room
    /// for host data come last.
    pub(super) fn least_busy_plane(&mut self, base: &Base) -> PlaneId {
        let count = base.geometry.all_planes();
        let (blocks, most) = (&base.map.blocks, base.plane_valid_units);
        let reserve = base.gc.reserve_blocks;
        let load = |plane: PlaneId| {
            let writes = self.planes[plane.index()].writes;
            let valid = blocks.valid_of_plane(plane) + writes;
            let short = u64::from(blocks.free_blocks(plane)) <= reserve;
            (valid.saturating_sub(most), short, writes)
        };
        let first = self.next_stripe;
        let mut best = base.stripes[(first % count) as usize];
        let mut best_at = first;
        let mut least = load(best);
        for at in first + 1..first + count {
            if least == (0, false, 0) {
                break;
            }
            let plane = base.stripes[(at % count) as usize];
            let own = load(plane);
            if own < least {
                (best, best_at, least) = (plane, at, own);
            }
        }
        self.next_stripe = (best_at + 1) % count;
        best
    }

    /// Another plane for a program of host data, where its own holds more valid data than it can
    /// collect and allocation is dynamic.
    pub(super) fn other_plane(&mut self, base: &Base, set: SetId, sets: &Sets) -> Option<PlaneId> {
        let plane = sets.plane(set);
        if !base.dynamic || !base.is_full(plane) || sets.stage(set) != Stage::Program {
            return None;
        }
        // One that is full sends the write on, which then goes round in circles.
        let mut other = self.least_busy_plane(base);
        if base.is_full(other) {
            other = base.emptiest_plane();
        }
        if other == plane || base.is_full(other) {
            return None;
        }
        self.plane_mut(plane).writes -= 1;
        self.plane_mut(other).writes += 1;
        Some(other)
    }
}

impl Base {
    /// Whether a plane holds as many valid units as it can collect.
    pub(super) fn is_full(&self, plane: PlaneId) -> bool {
        self.map.blocks.valid_of_plane(plane) >= self.plane_valid_units
    }

    /// The plane with the fewest valid units.
    fn emptiest_plane(&self) -> PlaneId {
        let emptiest = self.planes().min_by_key(|plane| self.map.blocks.valid_of_plane(*plane));
        emptiest.expect("a device has planes")
    }
}

//! Places of raw operations, and how they are drawn.

use crate::random::SplitMix64;
use flashyard_core::geometry::Geometry;
use flashyard_core::request::{Request, RequestOp};
use flashyard_core::units::{BlockId, DieId, Time};

/// A place: a die, a block counted inside the die, and a page of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) die: u32,
    pub(super) block: u32,
    pub(super) page: u32,
}

/// The request for an operation of a place, which is on the device.
pub(super) fn request(geometry: &Geometry, op: RequestOp, place: Place, arrival: Time) -> Request {
    let plane = geometry.first_plane(DieId::new(place.die));
    let block = BlockId::new(geometry.first_block(plane).get() + place.block);
    let unit = geometry.unit_of(block, place.page * geometry.units_per_page);
    let pages = if op == RequestOp::Trim { geometry.pages_per_block } else { 1 };
    Request::new(
        op,
        u64::from(unit.get()) * u64::from(geometry.unit_sectors()),
        pages * geometry.units_per_page * geometry.unit_sectors(),
    )
    .at(arrival)
}

/// Draws of blocks and pages.
#[derive(Clone, Debug)]
pub(super) struct Draws {
    pub(super) blocks: SplitMix64,
    pub(super) pages: SplitMix64,
}

/// A number below `bound`.
pub(super) fn below(random: &mut SplitMix64, bound: u32) -> u32 {
    u32::try_from(random.below(u64::from(bound))).expect("below 32 bits")
}

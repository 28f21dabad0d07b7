//! What an SLC cache does not go with.

use crate::config::{DeviceKeys, GcPacing, GcStart, MapReserve, ProgramOrder, Settings, SlcFull};
use crate::parts::blocks::{Frontiers, SlcCache};
use flashyard_core::geometry::Geometry;
use flashyard_core::units::Span;

/// The SLC cache of a device, if it has one.
pub(super) fn cache(
    keys: &DeviceKeys,
    geometry: &Geometry,
    frontiers: Frontiers,
) -> Option<SlcCache> {
    let (slc, gc) = (&keys.slc, &keys.gc);
    let bits = u32::try_from(keys.nand.bits_per_cell).expect("the key's range fits 32 bits");
    if !slc.is_on() || bits < 2 {
        return None;
    }
    let blocks = u64::from(geometry.blocks_per_plane);
    let small = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
    let block = u64::from(geometry.units_per_block());
    // A block more than what makes garbage collection start.
    let early = if gc.start == GcStart::Early { gc.soft_free_blocks } else { 0 };
    let paced = match gc.pacing {
        GcPacing::None => 0,
        _ => Settings::spare_target_of(keys, geometry, frontiers).div_ceil(block),
    };
    let kept = early.max(gc.reserve_blocks).max(paced) + 1;
    Some(SlcCache {
        static_blocks: small(slc.static_blocks(blocks)),
        dynamic_ppm: slc.dynamic_percent.ppm(),
        dynamic_most: small(slc.dynamic_most_percent.of(blocks)),
        kept: small(kept),
        block_units: geometry.units_per_block() / bits,
        program_units: geometry.joined * geometry.units_per_page,
        endurance: small(slc.endurance_cycles),
        waits: slc.when_full == SlcFull::Fold,
    })
}

/// The energies of operations with one bit a cell: where others have one, those in the ratio of the
/// times.
pub(super) fn energies(keys: &mut DeviceKeys) {
    let (nand, slc) = (&keys.nand, &keys.slc);
    if !slc.is_on() {
        return;
    }
    let pages = if nand.one_shot { nand.bits_per_cell } else { 1 };
    let erase = slc.erase_us.or(nand.erase_us);
    let of = |pj: u64, own: Span, usual: Span| {
        let all = u128::from(pj) * u128::from(own.as_ns());
        u64::try_from(all.checked_div(usual.as_ns().into()).unwrap_or(0)).unwrap_or(u64::MAX)
    };
    let energy = &mut keys.energy;
    let named = [
        of(energy.read_pj, slc.read_us, nand.read_us),
        of(energy.program_pj.saturating_mul(pages), slc.program_us, nand.program_us),
        of(energy.erase_pj, erase, nand.erase_us),
    ];
    let own = [&mut energy.slc_read_pj, &mut energy.slc_program_pj, &mut energy.slc_erase_pj];
    for (own, named) in own.into_iter().zip(named).filter(|(own, _)| **own == 0) {
        *own = named;
    }
}

/// Keys that an SLC cache contradicts.
pub(super) fn check(keys: &DeviceKeys, fail: &mut impl FnMut(String)) {
    let slc = &keys.slc;
    if !slc.is_on() {
        return;
    }
    let key = if slc.static_percent.is_zero() { "dynamic_percent" } else { "static_percent" };
    let mut refuse = |wrong: bool, why: &str, fix: &str| {
        if wrong {
            fail(format!(
                "slc.{key}: {why}; {fix}, or slc.static_percent = 0 and slc.dynamic_percent = 0"
            ));
        }
    };
    refuse(!keys.is_page_map(), "only a page map has an SLC cache", "set ftl.scheme = \"page\"");
    refuse(
        keys.nand.bits_per_cell < 2,
        "blocks have one bit a cell anyway",
        "set nand.bits_per_cell = 2 or more",
    );
    refuse(
        keys.nand.program_order != ProgramOrder::Sequential,
        "blocks with one bit a cell are programmed one page after the other",
        "set nand.program_order = \"sequential\"",
    );
    refuse(
        keys.gc.start == GcStart::Needed,
        "garbage collection that waits for a write leaves no blocks to fold into",
        "set gc.start = \"early\"",
    );
    refuse(
        keys.gc.erase_after_map || keys.gc.map_reserve == MapReserve::AsData,
        "it would fold into a reserve that map pages may use up",
        "set gc.erase_after_map = false and gc.map_reserve = \"half\"",
    );
}

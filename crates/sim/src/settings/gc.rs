//! Thresholds of garbage collection, and what contradicts itself in its keys.

use super::{slc, unusable};
use crate::config::{
    DeviceKeys, GcKeys, GcPacing, GcStart, GcTiming, InitialState, MapReserve, MapStore,
};
use crate::parts::victim::{Rule, VictimRule};

/// The keys with every threshold of garbage collection in blocks, on planes with this many spare
/// ones, and energies of an SLC cache; and what contradicts itself in them.
pub(super) fn resolve(keys: &DeviceKeys, spare: u64, fail: &mut impl FnMut(String)) -> DeviceKeys {
    let mut keys = keys.clone();
    keys.gc = keys.gc.resolved(spare, &keys);
    slc::energies(&mut keys);
    if keys.is_page_map() {
        check_gc(&keys, keys.geometry.blocks_per_plane.saturating_sub(unusable(&keys)), fail);
    }
    keys
}

fn check_gc(keys: &DeviceKeys, blocks: u64, fail: &mut impl FnMut(String)) {
    let gc = &keys.gc;
    if keys.state.initial == InitialState::Steady
        && let Some(why) = Rule::of(keys).no_steady_state()
    {
        fail(format!("state.initial: {why}; set state.initial = \"aged\""));
    }
    let early = gc.start == GcStart::Early;
    if gc.reserve_blocks < 2
        && keys.map.store != MapStore::Resident
        && (early || gc.map_reserve == MapReserve::Half)
    {
        fail(
            "gc.reserve_blocks: 1 leaves map pages every free block and garbage collection none; \
             set it to 4"
                .to_string(),
        );
    }
    // Where `gc.soft_free_blocks` is not set, it is the greatest of these.
    let thresholds = [
        ("gc.hard_free_blocks", gc.hard_free_blocks),
        ("gc.reserve_blocks", gc.reserve_blocks),
        ("gc.soft_free_blocks", gc.soft_free_blocks),
    ];
    if early && let Some((key, value)) = thresholds.iter().find(|(_, value)| *value >= blocks) {
        fail(format!(
            "{key}: {value} is not below the {blocks} good blocks of a plane; garbage collection would never stop"
        ));
    }
    if early && gc.hard_free_blocks > gc.soft_free_blocks {
        fail(format!(
            "gc.hard_free_blocks: {} is above gc.soft_free_blocks = {}; garbage collection would be urgent before it starts",
            gc.hard_free_blocks, gc.soft_free_blocks
        ));
    }
    if early && gc.reserve_blocks > gc.soft_free_blocks {
        fail(format!(
            "gc.reserve_blocks: {} is above gc.soft_free_blocks = {}; writes would wait for garbage collection that has not started",
            gc.reserve_blocks, gc.soft_free_blocks
        ));
    }
    if gc.timing == GcTiming::Background && gc.background_free_blocks >= blocks {
        fail(format!(
            "gc.background_free_blocks: {} is not below the {blocks} good blocks of a plane; garbage collection would never stop",
            gc.background_free_blocks
        ));
    }
    check_pacing(gc, blocks, fail);
}

/// Pacing spreads what is collected over the programs, which these keys rule out.
fn check_pacing(gc: &GcKeys, blocks: u64, fail: &mut impl FnMut(String)) {
    if gc.pacing == GcPacing::None {
        return;
    }
    if gc.soft_free_blocks < blocks && gc.soft_free_blocks + gc.soft_zone_blocks >= blocks {
        fail(format!(
            "gc.soft_zone_blocks: {} and gc.soft_free_blocks = {} are not below the {blocks} good blocks of a plane; garbage collection would never stop",
            gc.soft_zone_blocks, gc.soft_free_blocks
        ));
    }
    if gc.start == GcStart::Needed {
        fail(format!(
            "gc.pacing: {:?} copies before blocks are needed; set gc.start = \"early\" or \
             gc.pacing = \"none\"",
            gc.pacing.word()
        ));
    }
    if !gc.preemptible {
        fail(format!(
            "gc.pacing: {:?} lets reads go between the copies of a victim; set \
             gc.preemptible = true or gc.pacing = \"none\"",
            gc.pacing.word()
        ));
    }
}

//! What a device without translation does not go with (`ftl.scheme = "none"`).

use crate::config::{
    Allocation, DataOrder, DeviceKeys, GcPacing, GcTiming, InitialState, MapStore, PartialWrite,
    SlotsScope,
};
use crate::parts::policy::HostRule;
use flashyard_core::geometry::Geometry;

/// Keys that have nothing to act on.
pub(super) fn check(keys: &DeviceKeys, geometry: &Geometry, fail: &mut impl FnMut(String)) {
    let mut refuse = |wrong: bool, key: &str, why: &str, fix: &str| {
        if wrong {
            fail(format!("{key}: ftl.scheme = \"none\" {why}; {fix}"));
        }
    };
    let units = geometry.program_units() > 1;
    let fix = "set ftl.mapping_unit_bytes = 0 and nand.one_shot = false";
    refuse(units, "ftl.mapping_unit_bytes", "names pages, one a program", fix);
    let mapped = keys.map.store != MapStore::Resident;
    refuse(mapped, "map.store", "has no map", "set map.store = \"resident\"");
    let dynamic = keys.ftl.allocation == Allocation::Dynamic;
    let fix = "set ftl.allocation = \"static\"";
    refuse(dynamic, "ftl.allocation", "leaves the choice of pages to the host", fix);
    let partial = keys.ftl.partial_write != PartialWrite::Ignore;
    let fix = "set ftl.partial_write = \"ignore\"";
    refuse(partial, "ftl.partial_write", "reads no old page before a program", fix);
    refuse(keys.ftl.merge_first, "ftl.merge_first", "merges nothing", "set it to false");
    let fresh = keys.state.initial == InitialState::Fresh;
    let fix = "set state.initial = \"fresh\" and write in an earlier phase";
    refuse(!fresh, "state.initial", "starts with every block erased", fix);
    refuse(keys.buffer.bytes > 0, "buffer.bytes", "has no write buffer", "set buffer.bytes = 0");
    check_care(keys, &mut refuse);
    let ordered = keys.queue.data_order == DataOrder::Lpn;
    let fix =
        "set queue.data_order = \"none\" and policy.command = \"fifo\" for the order of requests";
    refuse(ordered, "queue.data_order", "orders the commands of a die by the policy alone", fix);
    let scope = keys.queue.slots_scope == SlotsScope::Die;
    let fix = "set queue.slots_scope = \"device\"; queue.die_depth limits what waits for a die";
    refuse(scope, "queue.slots_scope", "does not stripe requests over dies", fix);
    let fix = "set host.policy = \"fifo\"; policy.command chooses among the commands of a die";
    refuse(!HostRule::of(keys).in_order(), "host.policy", "starts requests in order", fix);
}

/// Garbage collection and the care for blocks, which are the host's or left out.
pub(super) fn check_care(keys: &DeviceKeys, refuse: &mut impl FnMut(bool, &str, &str, &str)) {
    let collects = "collects no garbage";
    let background = keys.gc.timing == GcTiming::Background;
    refuse(background, "gc.timing", collects, "set gc.timing = \"on_demand\"");
    let paced = keys.gc.pacing != GcPacing::None;
    refuse(paced, "gc.pacing", collects, "set gc.pacing = \"none\"");
    refuse(keys.gc.copyback, "gc.copyback", "copies nothing", "set gc.copyback = false");
    refuse(keys.gc.restore, "gc.restore", collects, "set gc.restore = false");
    let levels = keys.wear.dynamic || keys.wear.static_gap > 0;
    let fix = "set wear.static_gap = 0 and wear.dynamic = false";
    refuse(levels, "wear.static_gap", "levels no wear", fix);
    let bad = !keys.nand.factory_bad_percent.is_zero() || keys.nand.endurance_cycles > 0;
    let fix = "set nand.endurance_cycles = 0 and nand.factory_bad_percent = 0";
    refuse(bad, "nand.endurance_cycles", "knows no bad blocks", fix);
}

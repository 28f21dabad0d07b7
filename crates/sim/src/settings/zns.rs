//! The zones of a device, and what they do not go with (`ftl.scheme = "zns"`).

use super::raw;
use crate::config::{
    Acknowledge, Allocation, DeviceKeys, Eviction, InitialBuffer, InitialState, MapStore,
    ReadAllocate, Settings, SlotsScope, Transfer,
};
use crate::parts::log::zns::ZoneShape;
use crate::parts::policy::HostRule;
use flashyard_core::geometry::Geometry;
use flashyard_core::quantity::Ppm;

/// The zones that the keys describe, on planes with this many good blocks.
pub(super) fn shape(
    keys: &DeviceKeys,
    geometry: &Geometry,
    good: u64,
    fail: &mut impl FnMut(String),
) -> Option<ZoneShape> {
    let zns = &keys.schemes.zns;
    let all = u64::from(geometry.dies());
    let dies = if zns.dies == 0 { all } else { zns.dies };
    if !all.is_multiple_of(dies) {
        fail(format!("ftl.zns.dies: {dies} does not divide the {all} dies of the device"));
        return None;
    }
    let (width, sets) = (dies * u64::from(geometry.planes), all / dies);
    let unit = u64::from(geometry.unit_bytes());
    let whole = width * zns.blocks * u64::from(geometry.units_per_block());
    let program = u64::from(geometry.program_units());
    let capacity = if zns.capacity_bytes == 0 { whole } else { zns.capacity_bytes / unit };
    if capacity == 0
        || capacity > whole
        || !capacity.is_multiple_of(program)
        || !zns.capacity_bytes.is_multiple_of(unit)
    {
        fail(format!(
            "ftl.zns.capacity_bytes: {} is not a multiple of the {} bytes of a program that fits \
             the {} bytes of the blocks of a zone; set it to 0 for all of them",
            zns.capacity_bytes,
            program * unit,
            whole * unit
        ));
        return None;
    }
    let size = if zns.size_bytes == 0 { capacity } else { zns.size_bytes / unit };
    if size < capacity || !zns.size_bytes.is_multiple_of(unit) {
        fail(format!(
            "ftl.zns.size_bytes: {} is not a multiple of {unit} bytes of at least the capacity of \
             a zone ({} bytes)",
            zns.size_bytes,
            capacity * unit
        ));
        return None;
    }
    let spare = Ppm::ALL.ppm() + keys.ftl.over_provisioning_percent.ppm();
    let count = good * 1_000_000 / spare / zns.blocks * sets;
    let Some(units) = count.checked_mul(size).filter(|units| *units < u64::from(u32::MAX)) else {
        fail(format!(
            "ftl.zns.size_bytes: {count} zones of this size have more addresses than 32 bits count"
        ));
        return None;
    };
    if units == 0 {
        fail(format!(
            "ftl.zns.blocks: {good} good blocks of a plane have no room for a zone of {} of them \
             and for ftl.over_provisioning_percent; raise geometry.blocks_per_plane",
            zns.blocks
        ));
        return None;
    }
    let small = |value: u64| u32::try_from(value).expect("below the units of the device");
    Some(ZoneShape {
        count: small(count),
        size: small(size),
        capacity: small(capacity),
        sets: small(sets),
        width: small(width),
        blocks: small(zns.blocks),
    })
}

/// Keys that zones contradict.
pub(super) fn check(settings: &Settings, fail: &mut impl FnMut(String)) {
    let Some(shape) = settings.zones else { return };
    let (keys, geometry) = (&settings.keys, &settings.geometry);
    let mut refuse = |wrong: bool, key: &str, why: &str, fix: &str| {
        if wrong {
            fail(format!("{key}: ftl.scheme = \"zns\" {why}; {fix}"));
        }
    };
    let mapped = keys.map.store != MapStore::Resident;
    refuse(mapped, "map.store", "has its map in memory", "set map.store = \"resident\"");
    let dynamic = keys.ftl.allocation == Allocation::Dynamic;
    let fix = "set ftl.allocation = \"static\"";
    refuse(dynamic, "ftl.allocation", "gives each unit of a zone its plane", fix);
    refuse(keys.ftl.merge_first, "ftl.merge_first", "merges nothing", "set it to false");
    let known = matches!(keys.state.initial, InitialState::Fresh | InitialState::Full);
    let fix = "set state.initial = \"fresh\" or \"full\"";
    refuse(!known, "state.initial", "starts with zones that are empty or written in order", fix);
    raw::check_care(keys, &mut refuse);
    let scope = keys.queue.slots_scope == SlotsScope::Die || keys.queue.die_depth > 0;
    let fix = "set queue.slots_scope = \"device\" and queue.die_depth = 0";
    refuse(scope, "queue.slots_scope", "limits no die", fix);
    let fix = "set host.policy = \"fifo\"";
    refuse(!HostRule::of(keys).in_order(), "host.policy", "starts requests in order", fix);
    let fix = "set placement.handles = 1";
    refuse(keys.placement.handles > 1, "placement.handles", "places by zone", fix);
    let by_pages = keys.interface.transfer != Transfer::Request;
    let fix = "set interface.transfer = \"request\"";
    refuse(by_pages, "interface.transfer", "knows the pages of an append when it starts", fix);
    let (open, active) = keys.schemes.zns.limits(&shape);
    if open > active {
        let fix = "raise it, or lower ftl.zns.max_open";
        refuse(true, "ftl.zns.max_active", "counts open zones as active", fix);
    }
    if geometry.program_units() > 1 {
        check_buffer(settings, &shape, &mut refuse);
    }
}

/// A program holds several units, and every program of a zone is full: the buffer gathers them.
fn check_buffer(
    settings: &Settings,
    shape: &ZoneShape,
    refuse: &mut impl FnMut(bool, &str, &str, &str),
) {
    let buffer = &settings.keys.buffer;
    let gathers = "fills programs of several units one zone at a time";
    let partial = u64::from(settings.geometry.program_units() - 1);
    // Beside active zones, one that is being finished and one whose last write is being put.
    let zones = u64::from(settings.keys.schemes.zns.limits(shape).1) + 2;
    let needed = zones * partial + 1;
    let bytes = needed * u64::from(settings.geometry.unit_bytes());
    let fix = format!("set at least {bytes}, or lower ftl.zns.max_active");
    refuse(u64::from(settings.buffer_units) < needed, "buffer.bytes", gathers, &fix);
    let kept = "keeps what it has not programmed when the power fails";
    refuse(buffer.volatile, "buffer.volatile", kept, "set buffer.volatile = false");
    let acknowledged = buffer.acknowledge == Acknowledge::Program;
    let fix = "set buffer.acknowledge = \"buffer\"";
    refuse(acknowledged, "buffer.acknowledge", gathers, fix);
    let eviction = buffer.eviction != Eviction::Watermark;
    refuse(eviction, "buffer.eviction", gathers, "set buffer.eviction = \"watermark\"");
    let idle = buffer.flush_when_idle;
    refuse(idle, "buffer.flush_when_idle", gathers, "set buffer.flush_when_idle = false");
    let allocates = buffer.read_allocate != ReadAllocate::Never;
    refuse(allocates, "buffer.read_allocate", gathers, "set buffer.read_allocate = \"never\"");
    let initial = buffer.initial == InitialBuffer::Dirty;
    refuse(
        initial,
        "buffer.initial",
        "starts with an empty buffer",
        "set buffer.initial = \"empty\"",
    );
}

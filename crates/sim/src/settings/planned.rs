//! What devices need whose pages are chosen by translation layers (`ftl.scheme`).

use crate::config::{
    Allocation, DeviceKeys, InitialState, LogSpan, MapStore, MultiPlane, ProgramOrder, SlotsScope,
};
use crate::parts::layer::Shape;
use crate::parts::log::spare;
use flashyard_core::geometry::Geometry;

/// Whether the chosen scheme can manage the planes of a device.
pub(super) fn check_scheme(
    keys: &DeviceKeys,
    geometry: &Geometry,
    exported: u64,
    fail: &mut impl FnMut(String),
) {
    let name = keys.scheme_name();
    check_parts(keys, &format!("ftl.scheme = \"{name}\""), fail);
    if keys.spans_planes() {
        check_span(keys, fail);
    }
    let Some(scheme) = keys.planner() else { return };
    check_programs(keys, geometry, scheme.packs_pages(), fail);
    if keys.nand.program_order == ProgramOrder::Sequential && scheme.skips_pages() {
        fail(format!(
            "nand.program_order: ftl.scheme = \"{name}\" leaves pages of a block out, which \
             \"sequential\" forbids; set nand.program_order = \"any\" or \"ascending\""
        ));
    }
    let exported = u32::try_from(exported).unwrap_or(u32::MAX);
    if exported < geometry.all_planes() {
        return fail(format!("geometry: {exported} exported pages leave planes without any"));
    }
    // The first stripe has the most logical pages.
    let (order, span) = (keys.nand.program_order, keys.ftl.log_span);
    let shape =
        Shape::of_layer(geometry, order, exported, (span, 0)).without(keys.layer_journal_blocks());
    if keys.power.is_on() {
        check_recovery(keys, scheme.spare_to_recover(), spare(&shape), fail);
    }
    match scheme.check(&shape) {
        Ok(()) => {}
        Err(why) if span == LogSpan::Plane => fail(why),
        Err(why) => fail(format!(
            "{why} (with ftl.log_span = \"superblock\" blocks are superblocks, of {} pages)",
            shape.pages_per_block
        )),
    }
}

/// Programs that hold several mapping units need a layer that knows them, and a write buffer that
/// fills them.
fn check_programs(
    keys: &DeviceKeys,
    geometry: &Geometry,
    packs: bool,
    fail: &mut impl FnMut(String),
) {
    let (name, units) = (keys.scheme_name(), geometry.program_units());
    if units == 1 || (packs && keys.buffer.bytes > 0) {
        return;
    }
    let (why, or) = if packs {
        ("only a write buffer fills", "buffer.bytes, or ")
    } else {
        ("its layer does not fill", "")
    };
    let (unit, shot) = ("ftl.mapping_unit_bytes = 0", "nand.one_shot = false");
    let (key, remedy) = match (geometry.units_per_page > 1, geometry.program_pages > 1) {
        (true, true) => ("ftl.mapping_unit_bytes", format!("{unit} and {shot}")),
        (true, false) => ("ftl.mapping_unit_bytes", unit.to_string()),
        _ => ("nand.one_shot", shot.to_string()),
    };
    fail(format!(
        "{key}: ftl.scheme = \"{name}\": {why} programs that hold {units} mapping units; set \
         {or}{remedy}"
    ));
}

/// A layer that can be cut needs spare blocks in which what was half done is done again; there are
/// `spare` ones.
fn check_recovery(
    keys: &DeviceKeys,
    needed: Option<u32>,
    spare: u32,
    fail: &mut impl FnMut(String),
) {
    let name = keys.scheme_name();
    match needed {
        None => fail(format!(
            "power: ftl.scheme = \"{name}\" does not say that it recovers \
             (Scheme::spare_to_recover); leave the section out"
        )),
        Some(needed) if spare < needed => fail(format!(
            "power: ftl.scheme = \"{name}\" needs {needed} spare blocks on each plane to recover, \
             beside {} of the journal, and has {spare}; raise ftl.over_provisioning_percent",
            keys.layer_journal_blocks()
        )),
        Some(_) => {}
    }
}

/// Parts that do not go with a layer that works over all planes.
fn check_span(keys: &DeviceKeys, fail: &mut impl FnMut(String)) {
    let mut refuse = |wrong: bool, key: &str, why: &str, fix: &str| {
        if wrong {
            fail(format!("{key}: with ftl.log_span = \"superblock\" {why}; {fix}"));
        }
    };
    refuse(
        keys.ftl.merge_first,
        "ftl.merge_first",
        "a merge is work of all planes at once, and a write waits only for the erase of the block \
         that it goes to",
        "set ftl.merge_first = false",
    );
    refuse(
        keys.gc.copyback,
        "gc.copyback",
        "pages are copied from plane to plane, over the channel",
        "set gc.copyback = false",
    );
    refuse(
        keys.queue.slots_scope == SlotsScope::Die,
        "queue.slots_scope",
        "the die of a write is not known before it has a slot",
        "set queue.slots_scope = \"device\"",
    );
    refuse(
        keys.queue.die_depth > 0,
        "queue.die_depth",
        "the die of a write is not known when its request is fetched",
        "set queue.die_depth = 0",
    );
}

/// Parts that planned pages do not go with; `what` plans them.
fn check_parts(keys: &DeviceKeys, what: &str, fail: &mut impl FnMut(String)) {
    let mut refuse = |wrong: bool, key: &str, why: &str, fix: &str| {
        if wrong {
            fail(format!("{key}: {what} {why}; {fix}"));
        }
    };
    refuse(
        keys.map.store != MapStore::Resident,
        "map.store",
        "keeps its own map in memory",
        "set map.store = \"resident\"",
    );
    refuse(
        keys.ftl.allocation == Allocation::Dynamic,
        "ftl.allocation",
        "manages the pages of a plane, so striping must say which they are",
        "set ftl.allocation = \"static\"",
    );
    refuse(
        keys.nand.multi_plane == MultiPlane::SamePage,
        "nand.multi_plane",
        "chooses pages plane by plane, not the same one on each",
        "set nand.multi_plane = \"none\" or \"any\"",
    );
    refuse(
        keys.gc.restore,
        "gc.restore",
        "manages free blocks itself; with ftl.finish it does its work for idle times after the run",
        "set gc.restore = false",
    );
    refuse(
        keys.placement.handles > 1,
        "placement.handles",
        "knows no handles",
        "set placement.handles = 1",
    );
    let (knows, levels) =
        ("knows no bad blocks", "chooses the blocks it writes, and no wear is levelled behind it");
    refuse(
        keys.nand.endurance_cycles > 0,
        "nand.endurance_cycles",
        knows,
        "set nand.endurance_cycles = 0",
    );
    refuse(
        !keys.nand.factory_bad_percent.is_zero(),
        "nand.factory_bad_percent",
        knows,
        "set nand.factory_bad_percent = 0",
    );
    refuse(keys.wear.static_gap > 0, "wear.static_gap", levels, "set wear.static_gap = 0");
    refuse(keys.wear.dynamic, "wear.dynamic", levels, "set wear.dynamic = false");
    refuse(
        keys.state.initial == InitialState::Steady,
        "state.initial",
        "has no steady state that is known",
        "set state.initial = \"aged\"",
    );
}

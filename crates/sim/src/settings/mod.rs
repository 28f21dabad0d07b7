//! Whether a device with some keys can exist: the checks of all keys together, from which
//! [`Settings`] result.

mod bus;
mod disk;
mod gc;
mod layer;
mod planned;
mod power;
mod raw;
mod requests;
mod shape;
mod slc;
mod superblock;
mod times;
pub(crate) mod zns;

use crate::config::{
    Allocation, BufferKeys, ConfigError, DeviceKeys, Eviction, GcStart, HostChoice, MapKeys,
    MapReserve, MapStore, MultiPlane, Precision, Problem, Settings, SlotsScope, WriteFrontier,
    operation_mw, units_of_plane,
};
use crate::initial;
use crate::parts::blocks::Frontiers;
use crate::parts::log::zns::ZoneShape;
use crate::parts::memory::TableCost;
use crate::parts::policy::HostRule;
use flashyard_core::command::Op;
use flashyard_core::geometry::Geometry;
use flashyard_core::quantity::Ppm;
use flashyard_core::request::SECTOR_BYTES;
use flashyard_core::units::Span;

impl Settings {
    /// Checks the keys as a whole.
    pub fn new(mut keys: DeviceKeys) -> Result<Self, ConfigError> {
        let mut problems = Vec::new();
        disk::check_kind(&keys, &mut |what| problems.push(Problem { place: String::new(), what }));
        keys.channel = keys.channel.resolved();
        keys.energy = keys.energy.resolved();
        let no_family = keys.no_family(HostRule::of(&keys).by_pages());
        if let Some(what) = no_family {
            problems.push(Problem { place: String::new(), what });
        } else {
            keys = keys.with_family();
        }
        let settings = if keys.is_disk() {
            let mut fail = |what: String| problems.push(Problem { place: String::new(), what });
            Some(disk::derive(&keys, &mut fail))
        } else {
            Self::derive(&keys, &mut problems)
        };
        match settings {
            Some(settings) if problems.is_empty() && settings.keys.is_disk() => Ok(settings),
            Some(settings) if problems.is_empty() => {
                Ok(Self { tables: TableCost::of(&settings), ..settings })
            }
            _ => Err(ConfigError(problems)),
        }
    }

    fn derive(keys: &DeviceKeys, problems: &mut Vec<Problem>) -> Option<Self> {
        let mut fail = |what: String| problems.push(Problem { place: String::new(), what });
        let g = keys.geometry;
        let units_per_page = check_units(keys, &mut fail);
        let plans = keys.plans();
        let lines = check_map(keys, &mut fail);
        let planes = u128::from(g.channels)
            * u128::from(g.ways)
            * u128::from(g.dies_per_way)
            * u128::from(g.planes);
        let Some(units_per_page) = units_per_page else {
            // Shares of a spare space that nobody knows contradict nothing.
            gc::resolve(keys, u64::from(u32::MAX), &mut fail);
            return None;
        };
        let pages = planes * u128::from(g.blocks_per_plane) * u128::from(g.pages_per_block);
        let units = pages * u128::from(units_per_page);
        if units >= u128::from(u32::MAX) {
            fail(format!(
                "geometry: {units} mapping units are more than 32 bits count ({}); make page_bytes or \
                 ftl.mapping_unit_bytes larger or the device smaller",
                u32::MAX - 1
            ));
            return None;
        }
        let small = |value: u64| u32::try_from(value).expect("the key's range fits 32 bits");
        let geometry = geometry(keys, units_per_page);
        check_combinations(keys, &geometry, &mut fail);
        check_power(keys, &mut fail);
        let (zones, exported) = exported(keys, &geometry, units, &mut fail)?;
        let resident = keys.map.store == MapStore::Resident;
        let map_pages = match lines {
            Some((entries, _)) if !resident => exported.div_ceil(entries),
            _ => 0,
        };
        let spare = spare_blocks(keys, &geometry, exported, map_pages);
        let keys = gc::resolve(keys, spare, &mut fail);
        let (entries, map_lines) = lines?;
        // More lines than the whole map has are never used.
        let line_entries = line_shape(&keys.map).0;
        let runs = exported.div_ceil(line_entries).max(1);
        let frontiers = frontiers(&keys);
        let most = check_room(&keys, &geometry, frontiers, exported, map_pages, &mut fail);
        let settings = Self {
            geometry,
            exported_units: small(exported),
            map_lines: if resident { 0 } else { map_lines.min(small(runs)) },
            entries_per_map_page: small(entries),
            map_pages: small(map_pages),
            frontiers,
            factory_bad_blocks: small(factory_bad(&keys)),
            slc: slc::cache(&keys, &geometry, frontiers),
            plane_valid_units: u32::try_from(most).unwrap_or(u32::MAX),
            // More lines than the host has units are never used.
            buffer_units: small((keys.buffer.bytes / unit_bytes(&keys)).min(exported)),
            zones,
            tables: None,
            keys,
        };
        zns::check(&settings, &mut fail);
        if !plans && let Err(why) = initial::device::check(&settings) {
            problems.push(Problem { place: String::new(), what: why.to_string() });
        }
        Some(settings)
    }
}

/// The zones, where there are any, and the units that the host sees.
fn exported(
    keys: &DeviceKeys,
    geometry: &Geometry,
    units: u128,
    fail: &mut impl FnMut(String),
) -> Option<(Option<ZoneShape>, u64)> {
    if !keys.is_zoned() {
        return Some((None, exported_units(keys, units)));
    }
    let good = keys.geometry.blocks_per_plane.saturating_sub(unusable(keys));
    let zones = zns::shape(keys, geometry, good, fail)?;
    Some((Some(zones), u64::from(zones.count) * u64::from(zones.size)))
}

/// The units that the host sees. A device without translation exports all of its units.
fn exported_units(keys: &DeviceKeys, units: u128) -> u64 {
    let spare = if keys.is_raw() { Ppm::ZERO } else { keys.ftl.over_provisioning_percent };
    u64::try_from(units * 1_000_000 / (1_000_000 + u128::from(spare.ppm()))).expect("fits")
}

/// The shape of the flash array, whose units have been counted.
fn geometry(keys: &DeviceKeys, units_per_page: u32) -> Geometry {
    let g = &keys.geometry;
    let small = |value: u64| u32::try_from(value).expect("the key's range fits 32 bits");
    let joined = keys.joined_planes();
    Geometry {
        channels: small(g.channels),
        ways: small(g.ways),
        dies_per_way: small(g.dies_per_way),
        planes: small(g.planes / joined),
        blocks_per_plane: small(g.blocks_per_plane),
        pages_per_block: small(g.pages_per_block * joined),
        page_bytes: small(g.page_bytes),
        units_per_page,
        program_pages: small(joined * if keys.nand.one_shot { keys.nand.bits_per_cell } else { 1 }),
        joined: small(joined),
        stripe_pages: small(keys.ftl.stripe_pages),
        order: keys.ftl.stripe_order,
    }
}

/// What a log of the map, in programs of so many bytes, does not go with.
fn check_map_log(keys: &DeviceKeys, program_bytes: u64, fail: &mut impl FnMut(String)) {
    let map = &keys.map;
    let mut refuse = |wrong: bool, why: String| {
        if map.log_bytes > 0 && wrong {
            fail(format!("map.log_bytes: {why}"));
        }
    };
    let resident = keys.is_page_map() && map.store == MapStore::Resident;
    refuse(
        !resident,
        "only a page map in memory is logged; set ftl.scheme = \"page\" and map.store = \"resident\", \
         or map.log_bytes = 0"
            .to_string(),
    );
    refuse(
        keys.power.is_on(),
        "recovery reads journals and spare areas, not this log; set power.journal_entries in place of \
         it, or leave the section power out"
            .to_string(),
    );
    refuse(
        map.log_bytes > program_bytes,
        format!("a piece must fit the {program_bytes} bytes of a program"),
    );
}

/// What a frontier over the planes of a die needs.
fn check_frontier(keys: &DeviceKeys, fail: &mut impl FnMut(String)) {
    if keys.joined_planes() == 1 {
        return;
    }
    let needs = [
        (keys.plans() || keys.is_raw(), "a page map or zones; set ftl.scheme = \"page\""),
        (
            keys.nand.multi_plane == MultiPlane::None,
            "operations over several planes; set nand.multi_plane = \"same_page\"",
        ),
        (
            keys.bus.precision == Precision::Requests,
            "operations that take the channel as a whole; set bus.precision = \"phases\"",
        ),
    ];
    for (_, what) in needs.iter().filter(|(lacks, _)| *lacks) {
        fail(format!("ftl.frontier: \"die\" needs {what}, or ftl.frontier = \"plane\""));
    }
}

/// Identifiers go to handles that there are.
fn check_placement_map(keys: &DeviceKeys, fail: &mut impl FnMut(String)) {
    let handles = keys.placement.handles;
    let map = keys.placement.map;
    let beyond = map.numbers().iter().position(|handle| u64::from(*handle) >= handles);
    if let Some(place) = beyond {
        let handle = map.numbers()[place];
        fail(format!(
            "placement.map: identifier {place} goes to handle {handle}, but there are \
             placement.handles = {handles}, counted from 0"
        ));
    }
}

/// What handles need whose data stay apart for good.
fn check_placement(keys: &DeviceKeys, fail: &mut impl FnMut(String)) {
    if !keys.placement.isolates() {
        return;
    }
    if keys.ftl.generations != 1 {
        fail(
            "placement.isolation: copies stay with their handle, however often they were copied; \
             set ftl.generations = 1, or placement.isolation = \"initial\""
                .to_string(),
        );
    }
    if keys.slc.is_on() {
        fail(
            "placement.isolation: the SLC cache takes data of all handles; set \
             placement.isolation = \"initial\", or slc.static_percent = 0 and \
             slc.dynamic_percent = 0"
                .to_string(),
        );
    }
}

/// Lines of the write buffer that programs free become usable in one way.
fn check_release(keys: &DeviceKeys, by_pages: bool, fail: &mut impl FnMut(String)) {
    let buffer = &keys.buffer;
    let releases =
        [("release_us", buffer.release_us.as_ns()), ("release_bytes", buffer.release_bytes)];
    for (name, _) in releases.into_iter().filter(|(_, value)| by_pages && *value > 0) {
        fail(format!(
            "buffer.{name}: this host.policy flushes the buffer and counts its free lines; set \
             buffer.{name} = 0"
        ));
    }
    if releases.iter().all(|(_, value)| *value > 0) {
        fail(
            "buffer.release_bytes: lines become usable one after another with \
             buffer.release_us, or together; set one of them to 0"
                .to_string(),
        );
    }
    if buffer.bytes > 0 && buffer.release_bytes > buffer.bytes {
        fail(format!(
            "buffer.release_bytes: {} bytes are never free together in a buffer of {}; set \
             buffer.release_bytes = 0 or raise buffer.bytes",
            buffer.release_bytes, buffer.bytes
        ));
    }
}

/// Parts that do not go together.
fn check_combinations(keys: &DeviceKeys, geometry: &Geometry, fail: &mut impl FnMut(String)) {
    check_frontier(keys, fail);
    if keys.ftl.stripe_pages > 1 && !keys.is_page_map() {
        fail(
            "ftl.stripe_pages: only a page map stripes by several pages; set ftl.scheme = \"page\" or \
             ftl.stripe_pages = 1"
                .to_string(),
        );
    }
    check_map_log(keys, unit_bytes(keys) * u64::from(geometry.program_units()), fail);
    bus::check(keys, fail);
    if keys.gc.copyback && geometry.program_units() > 1 {
        let joins = keys.ftl.frontier == WriteFrontier::Die;
        let plane = if joins { ", and ftl.frontier = \"plane\"" } else { "" };
        fail(format!(
            "gc.copyback: whole pages are copied on a die, but a program gathers {} mapping units; \
             set ftl.mapping_unit_bytes = 0 and nand.one_shot = false{plane}",
            geometry.program_units()
        ));
    }
    if keys.is_raw() {
        raw::check(keys, geometry, fail);
    }
    check_die_depth(keys, fail);
    times::check(keys, geometry, fail);
    slc::check(keys, fail);
    check_placement_map(keys, fail);
    check_placement(keys, fail);
    superblock::check(keys, geometry.all_planes(), fail);
    power::check(keys, (geometry.program_units(), unit_bytes(keys)), fail);
    let HostChoice { dispatch_width, dispatch_ns, .. } = keys.host;
    let by_pages = HostRule::of(keys).by_pages();
    let buffer = &keys.buffer;
    if by_pages && matches!(buffer.eviction, Eviction::Ahead | Eviction::AtOnce) {
        fail(format!(
            "buffer.eviction: {:?} is for a buffer that flushes by itself, but this host.policy \
             flushes it; set buffer.eviction = \"full\"",
            buffer.eviction.word()
        ));
    }
    if by_pages && buffer.flush_when_idle {
        fail(
            "buffer.flush_when_idle: this host.policy flushes the buffer, idle or not; set \
             buffer.flush_when_idle = false and buffer.idle_ms = 0"
                .to_string(),
        );
    }
    check_release(keys, by_pages, fail);
    if (dispatch_width > 0 || dispatch_ns > 0) && by_pages {
        fail(
            "host.dispatch_width: this host.policy starts pages, not requests; set \
             host.dispatch_width = 0 and host.dispatch_ns = 0"
                .to_string(),
        );
    }
    let dynamic = keys.ftl.allocation == Allocation::Dynamic;
    if dynamic && keys.queue.slots_scope == SlotsScope::Die {
        fail(
            "queue.slots_scope: slots are counted over dies, but with ftl.allocation = \"dynamic\" \
             the die of a write is not known before it has a slot"
                .to_string(),
        );
    }
    check_buffer(keys, fail);
}

/// A limit of what waits for a die needs the die of every page access beforehand.
fn check_die_depth(keys: &DeviceKeys, fail: &mut impl FnMut(String)) {
    if keys.queue.die_depth == 0 {
        return;
    }
    if keys.ftl.allocation == Allocation::Dynamic {
        fail(
            "queue.die_depth: with ftl.allocation = \"dynamic\" the die of a write is not known when \
             its request is fetched; set ftl.allocation = \"static\" or queue.die_depth = 0"
                .to_string(),
        );
    }
    if keys.buffer.bytes > 0 {
        fail(
            "queue.die_depth: what a write buffer keeps waits for no die; set buffer.bytes = 0 or \
             queue.die_depth = 0"
                .to_string(),
        );
    }
}

/// A write buffer holds a unit at least.
fn check_buffer(keys: &DeviceKeys, fail: &mut impl FnMut(String)) {
    let BufferKeys { bytes, high_percent, low_percent, idle_ms, flush_when_idle, .. } = keys.buffer;
    if idle_ms > Span::ZERO && !flush_when_idle {
        fail(
            "buffer.idle_ms: nothing is flushed because the device is idle; set \
             buffer.flush_when_idle = true, or buffer.idle_ms = 0"
                .to_string(),
        );
    }
    if low_percent > high_percent {
        fail(
            "buffer.low_percent: it is above buffer.high_percent; flushing would end before it begins"
                .to_string(),
        );
    }
    check_reading_ahead(keys, fail);
    if bytes == 0 {
        return;
    }
    let unit = unit_bytes(keys);
    if bytes < unit {
        fail(format!("buffer.bytes: {bytes} is smaller than a mapping unit of {unit} bytes"));
    }
}

/// What is read ahead has lines, and its place is known without a look at flash.
fn check_reading_ahead(keys: &DeviceKeys, fail: &mut impl FnMut(String)) {
    let BufferKeys { bytes, read_ahead_kib: window, .. } = keys.buffer;
    if window == 0 {
        return;
    }
    if window << 10 > bytes {
        fail(format!(
            "buffer.read_ahead_kib: what is read ahead takes lines of the write buffer; set \
             buffer.bytes of at least {}, or buffer.read_ahead_kib = 0",
            window << 10
        ));
    }
    if keys.map.store != MapStore::Resident {
        fail(
            "buffer.read_ahead_kib: units are read ahead whose map entries are known; set \
             map.store = \"resident\", or buffer.read_ahead_kib = 0"
                .to_string(),
        );
    }
}

/// Which open blocks the planes have.
fn frontiers(keys: &DeviceKeys) -> Frontiers {
    let small = |count: u64| u8::try_from(count).expect("the key's range fits 8 bits");
    let isolated = keys.placement.isolates();
    let copied = if isolated { keys.placement.handles } else { keys.ftl.generations };
    Frontiers {
        streams: small(keys.placement.handles),
        generations: small(copied),
        isolated,
        maps: keys.map.store != MapStore::Resident,
        copied_maps: keys.ftl.map_generations > 0,
        slc: keys.slc.is_on(),
        journal: keys.power.is_written() || keys.map.log_bytes > 0,
    }
}

/// Mapping units of a page.
fn check_units(keys: &DeviceKeys, fail: &mut impl FnMut(String)) -> Option<u32> {
    let page = keys.geometry.page_bytes;
    let unit = unit_bytes(keys);
    if !unit.is_multiple_of(u64::from(SECTOR_BYTES)) {
        let key = if unit == page { "geometry.page_bytes" } else { "ftl.mapping_unit_bytes" };
        fail(format!("{key}: {unit} is not a multiple of the sector of {SECTOR_BYTES} bytes"));
    }
    if !page.is_multiple_of(unit) {
        fail(format!("ftl.mapping_unit_bytes: {unit} does not divide the page of {page} bytes"));
        return None;
    }
    let (bits, pages) = (keys.nand.bits_per_cell, keys.geometry.pages_per_block);
    if !pages.is_multiple_of(bits) {
        fail(format!(
            "geometry.pages_per_block: {pages} pages are not whole word lines of nand.bits_per_cell = {bits}"
        ));
        return None;
    }
    u32::try_from(page / unit).ok()
}

/// Bytes of a mapping unit.
const fn unit_bytes(keys: &DeviceKeys) -> u64 {
    match keys.ftl.mapping_unit_bytes {
        0 => keys.geometry.page_bytes,
        bytes => bytes,
    }
}

/// Entries and bytes of what the map cache holds as one.
const fn line_shape(map: &MapKeys) -> (u64, u64) {
    match map.store {
        MapStore::Cmt => (1, map.cached_entry_bytes),
        MapStore::LineCache | MapStore::Resident => {
            (map.entries_per_line, map.entry_bytes * map.entries_per_line)
        }
    }
}

/// Entries of a map page and lines of the cache.
fn check_map(keys: &DeviceKeys, fail: &mut impl FnMut(String)) -> Option<(u64, u32)> {
    let map = keys.map;
    let entries = match map.entries_per_page {
        0 => unit_bytes(keys) / map.entry_bytes,
        entries => entries,
    };
    let (line_entries, line_bytes) = line_shape(&map);
    if entries == 0 || entries % line_entries != 0 {
        fail(format!(
            "map.entries_per_line: {line_entries} does not divide the {entries} entries of a map page"
        ));
        return None;
    }
    let lines = map.cache_bytes / line_bytes;
    if lines == 0 {
        let what = match map.store {
            MapStore::Cmt => format!("an entry (map.cached_entry_bytes = {line_bytes})"),
            _ => format!(
                "a line ({} entries of {} bytes = {line_bytes})",
                map.entries_per_line, map.entry_bytes
            ),
        };
        fail(format!("map.cache_bytes: {} is smaller than {what}", map.cache_bytes));
        return None;
    }
    match u32::try_from(lines) {
        Ok(lines) if lines < u32::MAX => Some((entries, lines)),
        _ => {
            fail(format!("map.cache_bytes: {lines} lines are more than 32 bits count"));
            None
        }
    }
}

/// Good blocks of a plane beyond those that its valid units fill when the host has written
/// everything.
fn spare_blocks(keys: &DeviceKeys, geometry: &Geometry, exported: u64, map_pages: u64) -> u64 {
    let (data, maps) = units_of_plane(geometry, exported, map_pages);
    let good = keys.geometry.blocks_per_plane.saturating_sub(unusable(keys));
    good.saturating_sub((data + maps).div_ceil(u64::from(geometry.units_per_block())))
}

/// The valid units that a plane may hold, any number where no page map collects garbage.
fn check_room(
    keys: &DeviceKeys,
    geometry: &Geometry,
    frontiers: Frontiers,
    exported: u64,
    map_pages: u64,
    fail: &mut impl FnMut(String),
) -> u64 {
    if keys.plans() {
        planned::check_scheme(keys, geometry, exported, fail);
    }
    if !keys.is_page_map() {
        return u64::MAX;
    }
    check_spare(keys, geometry, frontiers, exported, map_pages, fail)
}

/// A plane must keep room for its open blocks and its reserve when everything else is valid.
/// Returns the valid units that leave it that room.
fn check_spare(
    keys: &DeviceKeys,
    geometry: &Geometry,
    frontiers: Frontiers,
    exported: u64,
    map_pages: u64,
    fail: &mut impl FnMut(String),
) -> u64 {
    let planes = u64::from(geometry.all_planes());
    let block = u64::from(geometry.units_per_block());
    let (data, maps) = units_of_plane(geometry, exported, map_pages);
    // A block is worth collecting only while it lacks a whole program unit.
    let dense = block - u64::from(geometry.program_units()) + 1;
    let mut valid_blocks = (data + maps) / dense;
    // The space of a rewritten map page is free only after the erase of its old block. So there
    // must be room for one more copy of all map pages, each in a program of its own, unless the
    // reserve is used for that.
    let rewrite = match keys.gc.map_reserve {
        MapReserve::Half => (maps * u64::from(geometry.program_units())).div_ceil(block),
        MapReserve::AsData => 0,
    };
    // Where a job starts only when a program needs a block, that program's own one is full. Map
    // pages that get by with half of the reserve may be held up by copies in theirs.
    let held_up = keys.gc.map_reserve == MapReserve::Half && frontiers.maps;
    let filled = u64::from(keys.gc.start == GcStart::Needed && !held_up);
    let shared = u64::from(held_up && !frontiers.copied_maps);
    // That with one bit a cell takes a block where it may be one of the others.
    let aside = u64::from(frontiers.slc && keys.slc.dynamic_percent.is_zero());
    // Nothing of the reserve need be left where a program opens a block of it when no block gains,
    // but the one that is copied into; and what is open for copies holds some of the valid units.
    let overdraws = filled == 1;
    let reserve = if overdraws { keys.gc.reserve_blocks.min(1) } else { keys.gc.reserve_blocks };
    let holds = !frontiers.maps && frontiers.count() == 2 && keys.ftl.generations == 1;
    let held = u64::from(overdraws && holds && geometry.program_units() == 1);
    if held == 1 {
        valid_blocks = (data + maps).div_ceil(block);
    }
    let open = u64::from(frontiers.count()) + shared - filled - aside - held;
    let spare = rewrite + open + reserve + 1;
    // With dynamic allocation, a plane that is already full may still get the writes under way: one
    // block more.
    let uneven = u64::from(keys.ftl.allocation == Allocation::Dynamic && planes > 1);
    let needed = valid_blocks + spare + uneven;
    let good = keys.geometry.blocks_per_plane.saturating_sub(unusable(keys));
    if exported == 0 || good < needed {
        let (bad, slc) = (factory_bad(keys), set_aside(keys));
        let of_bad = if bad > 0 { format!(", {bad} of them bad,") } else { String::new() };
        let of_slc = match slc {
            0 => String::new(),
            _ => format!(" without the {slc} that slc.static_percent sets aside"),
        };
        let lower = match (slc, bad) {
            (0, 0) => "",
            (0, _) => "lower nand.factory_bad_percent, or ",
            _ => "lower slc.static_percent, or ",
        };
        fail(format!(
            "geometry.blocks_per_plane: {} blocks{of_bad}{of_slc} leave no room to write: {valid_blocks} of valid units, {rewrite} of rewritten map pages, \
             {open} open, {} of gc.reserve_blocks and {} to copy into need {needed}; \
             {lower}raise ftl.over_provisioning_percent or blocks_per_plane",
            keys.geometry.blocks_per_plane,
            reserve,
            1 + uneven
        ));
    }
    // Where one block is free and none gains, at least so many units are valid. With `held` the
    // block that is open for copies takes another one from those that are full.
    let most = (good + 1 - held).saturating_sub(spare).saturating_mul(dense);
    most.saturating_sub(1 - held)
}

/// Blocks of each plane that are bad from the start.
fn factory_bad(keys: &DeviceKeys) -> u64 {
    keys.nand.factory_bad_percent.of_up(keys.geometry.blocks_per_plane)
}

/// The same and those that are set aside for one bit a cell.
fn unusable(keys: &DeviceKeys) -> u64 {
    factory_bad(keys) + set_aside(keys)
}

/// Blocks of each plane that are set aside for one bit a cell.
fn set_aside(keys: &DeviceKeys) -> u64 {
    keys.slc.static_blocks(keys.geometry.blocks_per_plane)
}

/// The deeper level of sleep comes later.
fn check_sleep(keys: &DeviceKeys, fail: &mut impl FnMut(String)) {
    let (sleep, deep) = (&keys.sleep, &keys.deep_sleep);
    if sleep.is_on() && deep.is_on() && deep.after_us <= sleep.after_us {
        fail(format!(
            "deep_sleep.after_us: {:?} are not more than the {:?} of sleep.after_us, and the device \
             would never be at the lighter level; raise it, or set sleep.after_us = 0",
            deep.after_us, sleep.after_us
        ));
    }
}

/// What sleep and the power budget allow.
fn check_power(keys: &DeviceKeys, fail: &mut impl FnMut(String)) {
    check_sleep(keys, fail);
    check_budget(keys, fail);
}

/// A power budget must let every operation through.
fn check_budget(keys: &DeviceKeys, fail: &mut impl FnMut(String)) {
    let budget = keys.energy.budget_mw;
    for op in Op::ALL {
        let (name, power) = (op.name(), operation_mw(keys, op));
        if budget > 0 && power > budget {
            fail(format!(
                "energy.budget_mw: {budget} is less than the {power} mW that one {name} takes, which \
                 would never start; raise it, or lower the power"
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_device_exports_32_gib() {
        let settings = Settings::new(DeviceKeys::default()).unwrap();
        assert!(settings.capacity_sectors() >= 32 << 21, "{}", settings.capacity_sectors());
        assert_eq!(settings.map_lines, 32);
        assert_eq!(settings.entries_per_map_page, 1024);
    }

    #[test]
    fn combinations_that_make_no_sense_are_reported_together() {
        let mut keys = DeviceKeys::default();
        keys.geometry.page_bytes = 1_000;
        keys.gc.soft_free_blocks = 16;
        keys.gc.reserve_blocks = 17;
        keys.map.entries_per_page = 12;
        let error = Settings::new(keys).unwrap_err().to_string();
        assert_eq!(error.lines().count(), 3, "{error}");
        assert!(error.contains("not a multiple of the sector"));
        assert!(error.contains("gc.reserve_blocks: 17 is above gc.soft_free_blocks = 16"));
        assert!(error.contains("does not divide the 12 entries"));
        let mut keys = DeviceKeys::default();
        keys.map.cache_bytes = 31;
        let error = Settings::new(keys).unwrap_err().to_string();
        assert!(error.contains("smaller than a line (8 entries of 4 bytes = 32)"), "{error}");
        let mut keys = DeviceKeys::default();
        keys.geometry.channels = 1_024;
        keys.geometry.ways = 1_024;
        let error = Settings::new(keys).unwrap_err().to_string();
        assert!(error.contains("more than 32 bits count"), "{error}");
        let mut keys = DeviceKeys::default();
        keys.geometry.blocks_per_plane = 40;
        let error = Settings::new(keys).unwrap_err().to_string();
        assert!(error.contains("leave no room to write"), "{error}");
    }
}

//! Whether a disk with some keys can exist, and which keys belong to which kind of device.

use crate::config::{DeviceKeys, Sections, Settings, Transfer};
use crate::parts::blocks::Frontiers;
use crate::parts::memory::TableCost;
use flashyard_core::geometry::Geometry;

/// Sectors of a unit of 4 KiB, of which the capacity is a multiple.
const UNIT_SECTORS: u64 = 8;

/// Keys of the other kind of device that are not at their defaults.
pub(super) fn check_kind(keys: &DeviceKeys, fail: &mut impl FnMut(String)) {
    let known = keys.defaults();
    for (section, listed, _) in keys.sections() {
        if keys.has_section(&section) {
            continue;
        }
        for key in listed {
            if keys.get(&section, key.name) == known.get(&section, key.name) {
                continue;
            }
            let (own, other, kind) = if keys.is_disk() {
                ("a disk", "a flash device", "flash")
            } else {
                ("a flash device", "a disk", "disk")
            };
            fail(format!(
                "{section}.{}: this device is {own}, and the key belongs to {other}; take it out, or \
                 set device.kind = \"{kind}\"",
                key.name
            ));
        }
    }
}

/// The settings of a disk. What describes flash stands for one die of as many units as the disk
/// has.
pub(super) fn derive(keys: &DeviceKeys, fail: &mut impl FnMut(String)) -> Settings {
    let disk = &keys.disk;
    if !disk.sectors.is_multiple_of(UNIT_SECTORS) {
        fail(format!(
            "disk.sectors: {} is not a multiple of {UNIT_SECTORS}, and so no whole units of 4 KiB",
            disk.sectors
        ));
    }
    if disk.inner_mb_per_s > disk.outer_mb_per_s {
        fail("disk.inner_mb_per_s: it is above disk.outer_mb_per_s".to_string());
    }
    if keys.interface.transfer != Transfer::Request {
        fail(
            "interface.transfer: a disk has no page accesses; set interface.transfer = \"request\""
                .to_string(),
        );
    }
    super::check_sleep(keys, fail);
    let (root, linear) = disk.seek_curve();
    if root < 0 || linear < 0 {
        fail(
            "disk.average_seek_ms: no seek curve has these three times; 15 times the average must \
             be at least 10 times disk.track_to_track_ms + 5 times disk.full_stroke_ms and at most \
             7 times the former + 8 times the latter"
                .to_string(),
        );
    }
    let units = u32::try_from(disk.sectors / UNIT_SECTORS).expect("the range of the key");
    let geometry = Geometry {
        channels: 1,
        ways: 1,
        dies_per_way: 1,
        planes: 1,
        blocks_per_plane: units,
        pages_per_block: 1,
        page_bytes: 4_096,
        units_per_page: 1,
        program_pages: 1,
        joined: 1,
        stripe_pages: 1,
        order: keys.ftl.stripe_order,
    };
    Settings {
        keys: keys.clone(),
        geometry,
        exported_units: units,
        map_lines: 0,
        entries_per_map_page: 1,
        map_pages: 0,
        frontiers: Frontiers {
            streams: 1,
            generations: 0,
            isolated: false,
            maps: false,
            copied_maps: false,
            slc: false,
            journal: false,
        },
        slc: None,
        factory_bad_blocks: 0,
        plane_valid_units: 0,
        zones: None,
        buffer_units: 0,
        tables: Some(TableCost::NONE),
    }
}

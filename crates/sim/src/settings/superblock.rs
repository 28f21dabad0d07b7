//! What superblocks (`placement.unit = "superblock"`) do not go with.

use crate::config::{Allocation, DeviceKeys, MapStore, ReclaimUnit};

/// Superblocks of a device with so many planes. One plane has blocks alone.
pub(super) fn check(keys: &DeviceKeys, planes: u32, fail: &mut impl FnMut(String)) {
    if keys.placement.unit != ReclaimUnit::Superblock {
        return;
    }
    let of_page_map = !keys.is_page_map() || keys.is_raw();
    let mut refuse = |is: bool, why: &str, fix: &str| {
        if is {
            fail(format!(
                "placement.unit: superblocks {why}; set {fix}, or placement.unit = \"block\""
            ));
        }
    };
    refuse(of_page_map, "are opened and collected by a page map", "ftl.scheme = \"page\"");
    if of_page_map || !keys.unites_blocks(planes) {
        return;
    }
    refuse(
        keys.ftl.allocation != Allocation::Dynamic,
        "are filled in the order of their planes, whatever is written",
        "ftl.allocation = \"dynamic\"",
    );
    refuse(
        keys.map.store != MapStore::Resident,
        "have no pages of the map, whose planes are those of their numbers",
        "map.store = \"resident\"",
    );
    refuse(
        keys.ftl.generations == 0 && !keys.placement.isolates(),
        "of copies are promised before copies begin, and the host's are not",
        "ftl.generations = 1",
    );
    refuse(
        keys.gc.copyback,
        "are filled by copies from other planes too, which a copyback cannot reach",
        "gc.copyback = false",
    );
    refuse(
        keys.slc.is_on(),
        "have all bits a cell, and the SLC cache is filled plane by plane",
        "slc.static_percent = 0 and slc.dynamic_percent = 0",
    );
}

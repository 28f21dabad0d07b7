//! Sizes of tables and accesses to them, worked out by hand.

use crate::common::{one_full_die, record, request, settings};
use flashyard_core::request::RequestOp::{Read, Trim, Write};
use flashyard_sim::report::MemoryReport;

#[test]
fn sizes_follow_from_the_device() {
    let base = ["geometry.blocks_per_plane=64", "geometry.pages_per_block=8"];
    let memory = |keys: &[&str]| {
        let settings = settings(&[&base, keys].concat());
        let (report, _) = record(&settings, &[], &[request(0, Write, 0, 1)]);
        let MemoryReport { table_bytes, cache_bytes, buffer_bytes, .. } = report.memory;
        (table_bytes, cache_bytes, buffer_bytes)
    };
    // 512 pages / 2 = 256 for the host; 512 are told apart by 9 bits.
    let half = ["ftl.over_provisioning_percent=100", "map.store=resident"];
    assert_eq!(memory(&half), (256 * 2, 0, 0));
    let aligned = [&half[..], &["memory.entry_align_bytes=4"]].concat();
    assert_eq!(memory(&aligned), (256 * 4, 0, 0));
    let buffered = [&half[..], &["buffer.bytes=65535"]].concat();
    assert_eq!(memory(&buffered), (256 * 2, 0, 15 * 4_096), "units that fit");
    // 256 / 64 map pages of 4 bytes in the directory; a cache of two lines of 8 entries of 4.
    let demand =
        ["ftl.over_provisioning_percent=100", "map.entries_per_page=64", "map.cache_bytes=95"];
    assert_eq!(memory(&demand), (4 * 4, 64, 0));
    let block_table = [&demand[..], &["memory.demand_table=block_table"]].concat();
    assert_eq!(memory(&block_table), (32, 64, 0), "32 blocks, 64 are told apart");
    let both = [&demand[..], &["memory.demand_table=both"]].concat();
    assert_eq!(memory(&both), (16 + 32, 64, 0));
}

#[test]
fn a_page_table_is_looked_up_once_a_page_and_changed_once_a_write() {
    let requests = [
        request(0, Write, 0, 3),
        request(10_000, Write, 1, 1),
        request(20_000, Read, 0, 4),
        request(30_000, Trim, 2, 1),
    ];
    let (report, _) = record(&settings(&["map.store=resident"]), &[], &requests);
    // 3 + 1 + 4 + 1 pages are looked up, of which the read's four change nothing.
    assert_eq!(report.memory.table_accesses, 9 + 5);
}

#[test]
fn copies_change_an_entry_each() {
    let requests: Vec<_> = (0..40).map(|i| request(i * 1_000, Write, i * 7 % 27, 1)).collect();
    let (report, _) = record(&one_full_die(12, 4, 60, &[]), &[], &requests);
    let copied = report.gc.valid_pages_copied - report.gc.copies_superseded;
    assert!(copied > 0, "{:?}", report.gc);
    assert_eq!(report.memory.table_accesses, 40 + 40 + copied);
}

#[test]
fn a_map_on_flash_is_reached_through_the_directory() {
    // One line of 8 entries: the second write evicts what the first has changed.
    let settings = settings(&["map.cache_bytes=32", "queue.depth=1"]);
    let (report, _) =
        record(&settings, &[], &[request(0, Write, 0, 1), request(100_000, Write, 8, 1)]);
    // Two lookups in the cache, two entries changed; the directory is read for MRf, MRe and MRf,
    // and changed by MP.
    assert_eq!(report.memory.table_accesses, 2 + 2 + 3 + 1);
}

#[test]
fn what_the_write_buffer_serves_needs_no_table() {
    let settings =
        settings(&["map.store=resident", "buffer.bytes=65536", "buffer.flush_when_idle=false"]);
    let requests =
        [request(0, Write, 0, 2), request(100_000, Read, 0, 2), request(200_000, Read, 8, 1)];
    let (report, _) = record(&settings, &[], &requests);
    assert_eq!(report.buffer.dirty_at_end, 2, "nothing was flushed");
    assert_eq!(report.memory.table_accesses, 1, "the read that missed");
}

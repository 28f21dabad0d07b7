//! In which order translation layers plan what a write buffer flushes, and what merges behind it
//! are charged to. Random devices are in `random_hosts`.

use crate::common::phases::{Bench, named, pacing};
use crate::common::{Recorded, flush, record, settings, write};
use flashyard_core::command::{Op, Purpose};
use flashyard_core::request::Request;
use flashyard_sim::config::Settings;
use flashyard_sim::device::Upkeep;
use flashyard_sim::report::Report;
use flashyard_sim::stream::Pacing;

/// Pages of a block.
const BLOCK: u64 = 8;

/// A full device of one die, whose buffer holds four blocks unless it is said otherwise.
fn log_device(keys: &[&str]) -> Settings {
    let base = [
        "geometry.blocks_per_plane=64",
        "geometry.pages_per_block=8",
        "ftl.over_provisioning_percent=30",
        "nand.program_order=any",
        "map.store=resident",
        "state.initial=full",
        "buffer.bytes=131072",
        "buffer.eviction=full",
    ];
    settings(&[&base, keys].concat())
}

/// The pages of a block, written one by one in descending order, and a flush.
fn descending() -> Vec<Request> {
    let pages = (BLOCK..2 * BLOCK).rev().enumerate();
    let writes = pages.map(|(at, lpn)| write(at as u64, lpn));
    writes.chain([flush(100)]).collect()
}

/// What requests and the merge of every log block after them do.
fn merged(settings: &Settings, requests: &[Request]) -> Report {
    let mut bench = Bench::new(settings);
    bench.run(vec![named("s", pacing(Pacing::Open, 1), requests)]);
    bench.device.upkeep(Upkeep::Merge).unwrap();
    bench.finish()
}

/// Where the host's data goes, in the order in which it is programmed.
fn places(run: &Recorded) -> Vec<(u64, u64)> {
    let programs = run.commands.iter().filter(|done| done.op == Op::Program);
    let host = programs.filter(|done| done.purpose == Purpose::Host);
    let number = |of: Option<u32>| u64::from(of.expect("a program has both"));
    host.map(|done| (number(done.lpn), number(done.ppn))).collect()
}

/// What a flush request flushes is planned in ascending order, whatever the order of the writes. So
/// a whole block becomes a sequential log block, which takes the place of the data block as it is.
/// Without a buffer the same writes go to shared log blocks, and pages are copied.
#[test]
fn units_that_are_flushed_together_are_planned_in_ascending_order() {
    for (keys, switch) in [
        (["ftl.scheme=fast", "buffer.volatile=true"], 1),
        // Each write is small, but the run that they make in the buffer is not.
        (["ftl.scheme=last", "ftl.last.threshold_bytes=32768"], 1),
        (["ftl.scheme=fast", "buffer.bytes=0"], 0),
        (["ftl.scheme=last", "buffer.bytes=0"], 0),
    ] {
        let settings = log_device(&keys);
        let (_, run) = record(&settings, &[], &descending());
        let mut places = places(&run);
        places.sort_unstable();
        let first = places[0].1;
        let ascends = places.iter().zip(0..).all(|((lpn, ppn), at)| {
            (*lpn, *ppn) == (BLOCK + at, first + at) && first.is_multiple_of(BLOCK)
        });
        assert_eq!(ascends, switch > 0, "{keys:?}: {places:?}");
        let merges = merged(&settings, &descending()).gc.merges;
        let copied = merges.full + merges.partial > 0;
        assert_eq!((merges.switch, copied), (switch, switch == 0), "{keys:?}: {merges:?}");
    }
}

/// A layer that may join pages of one request joins those that are flushed together: one rewrite
/// of the block in place of one for each page.
#[test]
fn block_mapping_rewrites_a_block_once_for_what_is_flushed_together() {
    for (coalesce, copies, erases) in [("true", 0, 1), ("false", BLOCK * (BLOCK - 1), BLOCK)] {
        let key = format!("ftl.block.coalesce={coalesce}");
        let settings = log_device(&["ftl.scheme=block", &key]);
        let (report, _) = record(&settings, &[], &descending());
        let pages = &report.flash.pages;
        let found = (pages["programs"]["merge"], pages["erases"]["merge"]);
        assert_eq!(found, (copies, erases), "{coalesce}");
    }
}

/// Merges behind a flush are charged to whom the flush is charged: to a write that waits for its
/// own program, or to nobody where the write was answered before.
#[test]
fn merges_are_charged_as_the_flush_is() {
    for (acknowledge, attributed) in [("program", true), ("buffer", false)] {
        let key = format!("buffer.acknowledge={acknowledge}");
        let settings = log_device(&["ftl.scheme=block", "energy.part=park2011", &key]);
        let requests = [write(0, 3), flush(1_000_000)];
        let (report, run) = record(&settings, &[], &requests);
        let merge = run.commands.iter().filter(|done| done.purpose == Purpose::Merge).count();
        assert_eq!(merge as u64, 2 * (BLOCK - 1) + 1, "the block is rewritten");
        let energy = &report.energy_pj;
        let charged: u64 = run.requests.iter().map(|done| done.energy_pj).sum();
        assert_eq!(charged, energy.attributed);
        assert_eq!(energy.attributed > 0, attributed, "{acknowledge}");
        assert_eq!(energy.unattributed > 0, !attributed, "{acknowledge}: merges");
        assert_eq!(energy.flushed > 0, !attributed, "{acknowledge}: programs of the write");
    }
}

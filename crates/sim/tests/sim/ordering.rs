//! Requests that must not overtake each other do not, and work that one caused is charged to it.

use crate::common::{Random, record, request, settings};
use flashyard_core::request::{Flags, RequestOp};

const READ: RequestOp = RequestOp::Read;
const WRITE: RequestOp = RequestOp::Write;

/// C may not overtake B, and B not A: a host policy that picks C gets A. The checker panics where a
/// later change of a page is translated before an earlier access.
#[test]
fn a_host_policy_cannot_reorder_a_chain_of_overlaps() {
    let settings = settings(&[
        "host.policy=idle",
        "geometry.channels=4",
        "geometry.blocks_per_plane=64",
        "ftl.over_provisioning_percent=50",
        "map.store=resident",
        "queue.depth=5",
    ]);
    let busy = [8, 12, 9, 13].map(|lpn| request(0, WRITE, lpn, 1));
    let chain = [0, 1, 2].map(|lpn| request(1, WRITE, lpn, 2));
    let requests = [&busy[..], &[request(0, READ, 2, 1)], &chain[..]].concat();
    let (report, _) = record(&settings, &[], &requests);
    assert!(report.map.hazard_picks > 0, "the policy picked a request that had to wait");
}

/// A read of a never-written page that costs nothing still needs its map entry: the line arrives at
/// 60 us, whoever asked for it first.
#[test]
fn an_access_without_commands_waits_for_the_line_it_hits() {
    let settings = settings(&["nand.unmapped_read=zero"]);
    for op in [READ, RequestOp::Trim] {
        let requests = [request(0, READ, 0, 1), request(10, op, 1, 1)];
        let (_, run) = record(&settings, &[], &requests);
        let ends: Vec<u64> = run.requests.iter().map(|done| done.completion.as_ns()).collect();
        assert_eq!(ends, [60_000, 60_000], "{op:?}");
    }
}

/// A flush and a later write wait for a trim that itself waits for its line.
#[test]
fn barriers_wake_whoever_waits_for_them() {
    let settings = settings(&["queue.data_order=lpn"]);
    let requests = [
        request(0, READ, 0, 1),
        request(1, RequestOp::Trim, 1, 1),
        request(2, RequestOp::Flush, 0, 0),
        request(3, WRITE, 1, 1),
    ];
    let (_, run) = record(&settings, &[], &requests);
    let ends: Vec<u64> = run.requests.iter().map(|done| done.completion.as_ns() / 1_000).collect();
    // The line is there at 60; the read of page 0 runs first, then the program.
    assert_eq!(ends, [120, 60, 60, 820]);
}

/// Misses wait for lines of a small map cache, in rows longer than waits are followed one by one. A
/// read of a never-written unit is over as soon as its line is there, where the link takes no time:
/// what others waited for is charged before it is forgotten.
#[test]
fn a_read_over_an_endless_link_is_charged_to_whoever_waits_for_it() {
    let keys = ["nand.unmapped_read=zero", "policy.command=size", "energy.link_pj_per_byte=7"];
    let settings = |transfer| settings(&[&keys[..], &[transfer]].concat());
    let [whole, pages] = ["interface.transfer=request", "interface.transfer=page"].map(settings);
    for seed in 0..20 {
        let mut random = Random(seed);
        let any = |random: &mut Random, number: u64| {
            let op = if random.below(2) == 0 { READ } else { WRITE };
            let units = random.pick(&[1, 1, 1, 4, 16, 32]);
            request(number * random.below(100), op, random.below(14_000), units)
        };
        let mut requests: Vec<_> = (0..150).map(|number| any(&mut random, number)).collect();
        requests.sort_by_key(|request| request.arrival);
        let ends = |settings| {
            let done = record(settings, &[], &requests).1.requests;
            done.iter().map(|done| done.completion).collect::<Vec<_>>()
        };
        assert!(ends(&pages) == ends(&whole), "seed {seed}");
    }
}

#[test]
fn a_request_without_pages_honours_preflush() {
    let settings = settings(&["map.store=resident"]);
    let mut trim = request(1, RequestOp::Trim, 4, 1);
    (trim.sectors, trim.flags) = (4, Flags::PREFLUSH);
    let (_, run) = record(&settings, &[], &[request(0, WRITE, 0, 1), trim]);
    assert_eq!(run.requests[1].completion.as_ns(), 700_000);
}

/// Garbage collection that rewritten map pages cause on other dies belongs to the request whose
/// write started it all: with one request at a time nothing is left over.
#[test]
fn nested_collection_is_charged_to_the_request_that_caused_it() {
    let settings = settings(&[
        "geometry.channels=2",
        "geometry.ways=2",
        "geometry.blocks_per_plane=64",
        "geometry.pages_per_block=8",
        "ftl.over_provisioning_percent=60",
        "map.entries_per_page=16",
        "gc.soft_free_blocks=4",
        "gc.hard_free_blocks=3",
        "gc.reserve_blocks=2",
        "state.initial=full",
    ]);
    let units = u64::from(settings.exported_units);
    let requests: Vec<_> = (0..4 * units)
        .map(|number| request(number * 100_000, WRITE, number * 7_919 % units, 1))
        .collect();
    let (report, _) = record(&settings, &[], &requests);
    assert!(report.flash.array_ops["programs"]["map_gc"] > 100);
    assert_eq!(report.energy_pj.unattributed, 0);
}

/// One request of 100,000 pages, in the memory and time of its sets: the index of live sets grows
/// with them.
#[test]
fn a_long_trim_is_one_request() {
    let settings = settings(&["map.store=resident"]);
    let (report, _) = record(&settings, &[], &[request(0, RequestOp::Trim, 0, 100_000)]);
    assert_eq!(report.latency_ns["trim"].max, Some(0));
}

//! Work in idle times with a period: how far a burst of writes gets before it has to merge, how
//! long it takes until the log is clean again, what a request that comes meanwhile waits for, and
//! how many blocks a page map collects.

use crate::common::{Random, read, record, request, settings};
use flashyard_core::command::{Op, Purpose};
use flashyard_core::request::{Request, RequestOp};
use flashyard_sim::config::Settings;
use flashyard_sim::observe::RequestDone;

/// Log blocks, pages of a block, pages of a write of a burst, the period of background work.
const LOG: u64 = 60;
const BLOCK: u64 = 16;
const WRITE: u64 = 24;
const PERIOD_US: u64 = 60_000;
/// What an array operation takes at most: an erase.
const LONGEST_US: u64 = 2_000;
/// What a write of a burst takes alone.
const ALONE_US: u64 = WRITE * 300;

/// A full device of one die with shared log blocks.
fn log_device(keys: &[&str]) -> Settings {
    let base = [
        "geometry.blocks_per_plane=584",
        "geometry.pages_per_block=16",
        "ftl.over_provisioning_percent=14.0625",
        "ftl.scheme=fast",
        "ftl.fast.log_blocks=60",
        "ftl.fast.sequential_log=false",
        "nand.program_order=any",
        "nand.read_us=50",
        "nand.program_us=300",
        "nand.erase_us=2000",
        "map.store=resident",
        "state.initial=full",
        "gc.hard_free_blocks=1",
        "gc.timing=background",
        "gc.idle_us=10000",
        "gc.background_period_us=60000",
    ];
    let settings = settings(&[&base, keys].concat());
    assert_eq!(settings.exported_units, 512 * 16);
    settings
}

/// A burst of writes at random places from a time on, each when the one before it is over if that
/// has not merged.
fn burst(random: &mut Random, from_us: u64, writes: u64) -> Vec<Request> {
    let places = 512 * BLOCK - WRITE;
    let write = |at: u64| {
        let us = from_us + at * (ALONE_US + 10);
        request(us, RequestOp::Write, random.below(places), u32::try_from(WRITE).unwrap())
    };
    (0..writes).map(write).collect()
}

/// How many pages a burst writes before the first write that takes longer than alone.
fn knee(done: &[RequestDone]) -> u64 {
    let slow = |done: &RequestDone| latency_us(done) > ALONE_US;
    done.iter().position(slow).expect("the burst is longer than the log") as u64 * WRITE
}

fn latency_us(done: &RequestDone) -> u64 {
    done.completion.since(done.request.arrival).as_ns() / 1_000
}

/// Runs requests under the checker: how each was answered.
fn answers(settings: &Settings, requests: &[Request]) -> Vec<RequestDone> {
    record(settings, &[], requests).1.requests
}

/// A burst fills the log after as many pages as the log has. A second burst writes as many pages if
/// the whole log was merged meanwhile, and half as many after half the time. The knee may be off by
/// the blocks that merges need beside the log, and by the write in which it lies.
#[test]
fn the_knee_of_a_burst_is_the_log_that_is_clean() {
    let settings = log_device(&[]);
    let mut random = Random(3);
    let writes = LOG * BLOCK / WRITE * 5 / 4;
    let first = burst(&mut random, 0, writes);
    let end = answers(&settings, &first).last().unwrap().completion.as_ns() / 1_000;
    let full = LOG * BLOCK;
    for (periods, expected) in [(LOG + 2, full), (LOG / 2, full / 2), (LOG / 4, full / 4)] {
        let again = burst(&mut random, end + 10_000 + periods * PERIOD_US, writes);
        let done = answers(&settings, &[first.clone(), again].concat());
        let (before, after) = done.split_at(first.len());
        let slack = 3 * BLOCK + WRITE;
        assert!(knee(before).abs_diff(full) <= slack, "{} of {full}", knee(before));
        assert!(knee(after).abs_diff(expected) <= slack, "{} of {expected}", knee(after));
    }
}

/// All log blocks are clean after as many periods as there are blocks to reclaim in each.
#[test]
fn a_log_is_refilled_at_the_rate_that_is_asked_for() {
    for blocks in [1, 3] {
        let period = PERIOD_US * blocks;
        let settings = log_device(&[
            &format!("gc.background_period_us={period}"),
            &format!("gc.background_blocks={blocks}"),
        ]);
        // 40 log blocks are written, and none is merged before the device is idle.
        let mut requests = burst(&mut Random(5), 0, 40 * BLOCK / WRITE + 1);
        let used = (requests.len() as u64 * WRITE).div_ceil(BLOCK);
        requests.push(read(100_000_000, 0));
        let (report, run) = record(&settings, &[], &requests);
        let merged = run.commands.iter().filter(|done| done.purpose == Purpose::Merge);
        let (mut first, mut last) = (u64::MAX, 0);
        for done in merged {
            first = first.min(done.start.as_ns() / 1_000);
            last = last.max(done.end.as_ns() / 1_000);
        }
        assert_eq!(report.gc.searches, used, "each log block is a victim once");
        let (span, expected) = (last - first, used.div_ceil(blocks) * period);
        assert!(expected - period <= span && span <= expected, "{span} us of {expected}");
    }
}

/// A read that comes while log blocks are merged waits for one operation at most.
#[test]
fn a_request_waits_for_one_operation_of_background_work() {
    // Blocks are merged all the time.
    let settings = log_device(&["gc.background_period_us=1000"]);
    let mut requests = burst(&mut Random(5), 0, 40 * BLOCK / WRITE);
    let begin = requests.len();
    let mut random = Random(9);
    let mut now = requests.last().unwrap().arrival.as_ns() / 1_000 + 20_000;
    for _ in 0..60 {
        now += 11_000 + random.below(9_000);
        requests.push(read(now, random.below(8_000)));
    }
    let (_, run) = record(&settings, &[], &requests);
    let until = run.requests.last().unwrap().completion;
    let merges = run.commands.iter().filter(|done| done.purpose == Purpose::Merge);
    let meanwhile = merges.filter(|done| done.end < until);
    assert!(meanwhile.filter(|done| done.op == Op::Erase).count() > 20, "blocks are merged");
    let reads: Vec<_> = run.requests.iter().filter(|done| done.order >= begin as u64).collect();
    let waits = reads.iter().filter(|done| latency_us(done) > 50).count();
    assert!(waits > 20, "{waits} reads waited");
    for done in reads {
        assert!(latency_us(done) <= 50 + LONGEST_US, "{} us", latency_us(done));
    }
}

/// Jobs of a page map in a pause of so many periods, on planes that are short of free blocks.
fn jobs_in(periods: u64, keys: &[&str]) -> u64 {
    let base = [
        "geometry.planes=2",
        "geometry.blocks_per_plane=128",
        "geometry.pages_per_block=16",
        "ftl.over_provisioning_percent=50",
        "map.store=resident",
        "state.initial=aged",
        "gc.timing=background",
        "gc.idle_us=1000",
        "gc.background_period_us=60000",
        "gc.background_free_blocks=30",
        // Nothing else begins a job.
        "state.rested=true",
        "gc.soft_free_blocks=3",
        "gc.hard_free_blocks=2",
        "gc.reserve_blocks=1",
    ];
    let settings = settings(&[&base, keys].concat());
    let end = 2_000 + periods * PERIOD_US;
    // The pause ends in the middle of a period.
    let (report, _) = record(&settings, &[], &[read(0, 0), read(end - PERIOD_US / 2, 0)]);
    report.gc.jobs
}

/// A page map collects as many blocks in each period as it is told, on all planes together, also
/// with pacing; and none once enough are free.
#[test]
fn a_page_map_collects_so_many_blocks_a_period() {
    for pacing in ["none", "spare"] {
        let pacing = format!("gc.pacing={pacing}");
        for blocks in [1, 2] {
            let blocks_key = format!("gc.background_blocks={blocks}");
            for periods in [1, 5, 9] {
                let jobs = jobs_in(periods, &[&pacing, &blocks_key]);
                assert_eq!(jobs, blocks * periods, "{pacing} {blocks} {periods}");
            }
        }
        let target = "gc.background_free_blocks=8";
        let (few, many) = (jobs_in(200, &[&pacing, target]), jobs_in(400, &[&pacing, target]));
        assert_eq!(few, many, "{pacing}: it ends");
    }
}

//! The host interface: queue depths, arbitration and the link.

use crate::common::phases::{Bench, latency, named, pacing, sixteen_dies as device, stream};
use crate::common::{Random, record, request, seeds, settings};
use flashyard_core::host::HostPolicyName;
use flashyard_core::policy::PolicyName;
use flashyard_core::request::{Flags, Request, RequestOp};
use flashyard_core::units::Time;
use flashyard_sim::device::PhaseKeys;
use flashyard_sim::metrics::parts::Part;
use flashyard_sim::observe::RequestDone;
use flashyard_sim::stream::{Pacing, StreamKeys};
use std::collections::BTreeMap;

const READ: RequestOp = RequestOp::Read;
const WRITE: RequestOp = RequestOp::Write;

fn us(time: Time) -> u64 {
    time.as_ns() / 1_000
}

fn part(done: &RequestDone, part: Part) -> u64 {
    done.parts.get(part) / 1_000
}

/// 4096 B x 10 ns = 40.96 us a page.
const LINK: &str = "interface.link_ps_per_byte=10000";

/// A read: 3 us there, 100 us in the array, 40.96 us of data and 3 us back. A write: 40.96 us of
/// data and 3 us there, 1000 us in the array, 3 us back. A flush has no data.
#[test]
fn requests_cross_the_link_there_and_back() {
    let settings = device(&[LINK, "interface.link_latency_ns=3000"]);
    let requests = [
        request(0, READ, 0, 1),
        request(2_000, WRITE, 1, 1),
        request(4_000, RequestOp::Flush, 0, 0).over(0, 0),
    ];
    let done = record(&settings, &[], &requests).1.requests;
    let found: Vec<_> =
        done.iter().map(|done| (latency(done), done.parts.get(Part::Link))).collect();
    assert_eq!(found[0], (3_000 + 100_000 + 40_960 + 3_000, 46_960));
    assert_eq!(found[1], (40_960 + 3_000 + 1_000_000 + 3_000, 46_960));
    assert_eq!(found[2], (6_000, 6_000));
    let array = [100, 1_000, 0];
    let others = done.iter().map(|done| part(done, Part::Array));
    assert_eq!(others.collect::<Vec<_>>(), array);
}

/// Two reads on two dies end at once; the second's data wait for the first's.
#[test]
fn waiting_for_the_link_is_link_time() {
    let requests = [request(0, READ, 0, 1), request(0, READ, 1, 1)];
    let done = record(&device(&[LINK]), &[], &requests).1.requests;
    let found: Vec<_> =
        done.iter().map(|done| (latency(done), done.parts.get(Part::Link))).collect();
    assert_eq!(found, [(140_960, 40_960), (181_920, 81_920)]);
}

/// A read that ends while a write's data cross: on a full-duplex link they pass each other, on a
/// half-duplex one the read's data wait.
#[test]
fn a_half_duplex_link_carries_one_direction_at_a_time() {
    let requests = [request(0, READ, 0, 1), request(80, WRITE, 1, 1)];
    let run = |duplex: &str| -> Vec<u64> {
        let duplex = format!("interface.duplex={duplex}");
        let done = record(&device(&[LINK, &duplex]), &[], &requests).1.requests;
        done.iter().map(latency).collect()
    };
    assert_eq!(run("full"), [100_000 + 40_960, 40_960 + 1_000_000]);
    // The write's data cross from 80 to 120.96 us.
    assert_eq!(run("half"), [120_960 + 40_960, 40_960 + 1_000_000]);
}

/// Sixteen dies read a page in 100 us: 16 x 40.96 us of data, far more than the link carries.
#[test]
fn the_link_bounds_the_bandwidth_and_is_full() {
    let reads: Vec<_> = (0..400).map(|lpn| request(0, READ, lpn, 1)).collect();
    let writes: Vec<_> = (0..400).map(|lpn| request(0, WRITE, 400 + lpn, 1)).collect();
    let keys = pacing(Pacing::Closed, 64);
    let page_ns = 40_960;
    let run = |duplex: &str, streams: &[&[Request]]| {
        let program = "nand.program_us=100";
        let keyed = format!("interface.duplex={duplex}");
        let mut bench = Bench::new(&device(&[LINK, program, &keyed]));
        let done = bench.run(streams.iter().map(|list| stream(keys, list)).collect());
        check_link(&done, duplex == "half", page_ns);
        bench.finish().throughput.makespan_ns
    };
    // Reads: the link is idle until the first page is read, and never again.
    assert_eq!(run("full", &[&reads]), 100_000 + 400 * page_ns);
    // Writes: it is full until the last page has crossed, which is then programmed.
    assert_eq!(run("full", &[&writes]), 400 * page_ns + 100_000);
    // Both: each direction is bounded by itself, or both by what they share.
    let full = run("full", &[&reads, &writes]);
    assert!((400 * page_ns..425 * page_ns).contains(&full), "{full}");
    let half = run("half", &[&reads, &writes]);
    assert!((800 * page_ns..=800 * page_ns + 200_000).contains(&half), "{half}");
}

/// No two requests have their data on the link at once: reads in the last `page_ns` before their
/// answer. (Writes are on it before they are in the device, which nobody outside sees.)
#[track_caller]
fn check_link(done: &[RequestDone], half: bool, page_ns: u64) {
    let mut ends: Vec<u64> = done
        .iter()
        .filter(|done| done.request.op == READ)
        .map(|done| done.completion.as_ns())
        .collect();
    ends.sort_unstable();
    assert!(ends.windows(2).all(|pair| pair[1] - pair[0] >= page_ns), "two pages at once");
    if half {
        // Any window of time carries no more than fits: by the k-th completion k pages have.
        let mut all: Vec<u64> = done.iter().map(|done| done.completion.as_ns()).collect();
        all.sort_unstable();
        assert!((1..).zip(&all).all(|(count, end)| *end >= count * page_ns));
    }
}

/// With a depth of two the third request waits in the host until one of the first two is answered,
/// and that wait is host queue time. Sixteen dies would take all at once.
#[test]
fn queue_and_fetch_depths_hold_requests_in_the_host() {
    let requests: Vec<_> = (0..6).map(|lpn| request(0, READ, lpn, 1)).collect();
    for key in ["queue_depth", "fetch_depth"] {
        let settings = device(&[&format!("interface.{key}=2")]);
        let done = record(&settings, &[], &requests).1.requests;
        let ends: Vec<_> = done.iter().map(|done| us(done.completion)).collect();
        assert_eq!(ends, [100, 100, 200, 200, 300, 300], "{key}");
        let waits: Vec<_> = done.iter().map(|done| part(done, Part::HostQueue)).collect();
        assert_eq!(waits, [0, 0, 100, 100, 200, 200], "{key}");
    }
}

/// The queue depth is one of each stream, the fetch depth one of all together.
#[test]
fn the_queue_depth_is_of_each_stream_and_the_fetch_depth_of_all() {
    let a: Vec<_> = (0..4).map(|lpn| request(0, READ, lpn, 1)).collect();
    let b: Vec<_> = (4..8).map(|lpn| request(0, READ, lpn, 1)).collect();
    let ends = |key: &str| -> Vec<u64> {
        let mut bench = Bench::new(&device(&[key]));
        let keys = StreamKeys::default();
        let done = bench.run(vec![stream(keys, &a), stream(keys, &b)]);
        let mut ends: Vec<_> = done.iter().map(|done| us(done.completion)).collect();
        ends.sort_unstable();
        ends
    };
    assert_eq!(ends("interface.queue_depth=2"), [100, 100, 100, 100, 200, 200, 200, 200]);
    assert_eq!(ends("interface.fetch_depth=2"), [100, 100, 200, 200, 300, 300, 400, 400]);
}

/// `fast` keeps the submission queue full: the next request is issued when one is answered.
#[test]
fn a_fast_stream_fills_the_submission_queue() {
    let requests: Vec<_> = (0..9).map(|lpn| request(1_000, READ, lpn, 1)).collect();
    let mut bench = Bench::new(&device(&["interface.queue_depth=3"]));
    let done = bench.run(vec![stream(pacing(Pacing::Fast, 1), &requests)]);
    let issued: Vec<_> = done.iter().map(|done| us(done.request.arrival)).collect();
    assert_eq!(issued, [0, 0, 0, 100, 100, 100, 200, 200, 200]);
    let mut bench = Bench::new(&device(&[]));
    let done = bench.run(vec![stream(pacing(Pacing::Fast, 1), &requests)]);
    assert!(done.iter().all(|done| done.request.arrival == Time::ZERO), "without a limit");
}

/// One request at a time is fetched: the order of fetching is the order of answers.
fn fetched(arbitration: &str, weights: &[u64], counts: &[usize]) -> Vec<u16> {
    let lists: Vec<Vec<Request>> =
        counts.iter().map(|&count| vec![request(0, READ, 0, 1); count]).collect();
    let arbitration = format!("interface.arbitration={arbitration}");
    let mut bench = Bench::new(&device(&["interface.fetch_depth=1", &arbitration]));
    let streams = lists
        .iter()
        .zip(weights)
        .map(|(list, &weight)| stream(StreamKeys { weight, ..StreamKeys::default() }, list));
    let mut done = bench.run(streams.collect());
    done.sort_by_key(|done| done.completion);
    done.iter().map(|done| done.request.stream).collect()
}

#[test]
fn arbitration_serves_streams_by_turns_or_by_weight() {
    let turns = fetched("round_robin", &[1, 5, 1], &[2, 4, 3]);
    assert_eq!(turns, [0, 1, 2, 0, 1, 2, 1, 2, 1]);
    let weighted = fetched("weighted", &[1, 3, 2], &[4, 6, 2]);
    assert_eq!(weighted, [0, 1, 1, 1, 2, 2, 0, 1, 1, 1, 0, 0]);
}

/// While all streams have requests waiting, each is served in proportion to its weight.
#[test]
fn weighted_shares_are_the_weights() {
    let list: Vec<_> = (0..2_000).map(|at| request(0, READ, at * 7 % 4_096, 1)).collect();
    let weights = [1, 2, 5, 8];
    let mut bench =
        Bench::new(&device(&["interface.fetch_depth=24", "interface.arbitration=weighted"]));
    let streams = weights.iter().map(|&weight| {
        named(&weight.to_string(), StreamKeys { weight, ..pacing(Pacing::Closed, 64) }, &list)
    });
    // 1600 requests: 100 rounds of 16. Each stream keeps 64 outstanding, more than are fetched.
    let limit = PhaseKeys { requests: 1_600 + 4 * 64 - 24, ..PhaseKeys::default() };
    let (_, mut done) = bench.phase(&limit, streams.collect());
    done.sort_by_key(|done| (done.completion, done.order));
    let mut counts = BTreeMap::new();
    for done in &done[..1_600 - 24] {
        *counts.entry(done.request.stream).or_insert(0u64) += 1;
    }
    for (&stream, &count) in &counts {
        let share = weights[usize::from(stream)] * 100;
        assert!(count.abs_diff(share) <= 24, "stream {stream}: {count}, not {share}");
    }
}

/// Depths above what ever waits, and a link that takes no time, move nothing.
#[test]
fn generous_limits_change_no_result() {
    let mut random = Random(11);
    let ops = [READ, READ, WRITE, RequestOp::Trim, RequestOp::Flush];
    let requests: Vec<_> = (0..500)
        .map(|at| {
            let op = random.pick(&ops);
            request(at * 90, op, random.below(60), 2).with(Flags::NONE)
        })
        .collect();
    let run = |keys: &[&str]| format!("{:?}", record(&device(keys), &[], &requests));
    let plain = run(&[]);
    assert_eq!(run(&["interface.queue_depth=500", "interface.fetch_depth=500"]), plain);
    assert_ne!(run(&["interface.queue_depth=1"]), plain);
}

/// Every combination under the checker: parts add up, data stay sound.
#[test]
fn random_interfaces_keep_every_rule() {
    for seed in seeds(0..60) {
        let mut random = Random(seed);
        let mut keys = vec![
            format!("interface.queue_depth={}", random.pick(&[0, 1, 4, 32])),
            format!("interface.fetch_depth={}", random.pick(&[0, 1, 7])),
            format!("interface.arbitration={}", random.pick(&["round_robin", "weighted"])),
            format!("interface.link_ps_per_byte={}", random.pick(&[0, 1_667, 250_000])),
            format!("interface.link_latency_ns={}", random.pick(&[0, 1_500])),
            format!("interface.duplex={}", random.pick(&["full", "half"])),
            format!("policy.command={}", random.pick(PolicyName::WORDS)),
            format!("host.policy={}", random.pick(HostPolicyName::WORDS)),
        ];
        keys.extend(
            [
                "state.initial=full",
                "geometry.channels=2",
                "geometry.blocks_per_plane=64",
                "geometry.pages_per_block=8",
                "ftl.over_provisioning_percent=100",
                "map.cache_bytes=256",
                "map.entries_per_page=64",
            ]
            .map(String::from),
        );
        let settings = settings(&keys);
        let mut bench = Bench::new(&settings);
        let mut list = || -> Vec<Request> {
            let mut now = 0;
            (0..200)
                .map(|_| {
                    now += random.below(400);
                    let op = random.pick(&RequestOp::ALL);
                    let op = if random.below(3) > 0 { WRITE } else { op };
                    let flags = random.pick(&[Flags::NONE, Flags::NONE, Flags::PREFLUSH]);
                    request(now, op, random.below(90), 2).with(flags)
                })
                .collect()
        };
        let lists = [list(), list(), list()];
        let kinds = [random.pick(Pacing::ALL), random.pick(Pacing::ALL), Pacing::Open];
        let streams = kinds.iter().zip(&lists).map(|(&kind, list)| {
            stream(StreamKeys { weight: 1 + random.below(4), ..pacing(kind, 8) }, list)
        });
        let done = bench.run(streams.collect());
        assert_eq!(done.len(), 600, "seed {seed}");
        assert!(done.iter().all(|done| done.parts.total() == latency(done)), "seed {seed}");
        bench.finish();
    }
}

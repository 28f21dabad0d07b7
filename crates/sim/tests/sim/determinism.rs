//! The same settings and requests give the same bytes: run after run, and on threads side by side.

use crate::common::{Random, record, request, settings};
use flashyard_core::policy::PolicyName;
use flashyard_core::request::{Flags, Request, RequestOp};
use flashyard_sim::config::Settings;
use std::thread;

/// A full two-by-two device with garbage collection, map evictions, transfers and stalls.
fn device(policy: &str) -> Settings {
    settings(&[
        &format!("policy.command={policy}"),
        "host.policy=idle",
        "state.initial=full",
        "geometry.channels=2",
        "geometry.ways=2",
        "geometry.blocks_per_plane=48",
        "geometry.pages_per_block=8",
        "ftl.over_provisioning_percent=150",
        "channel.ps_per_byte=2500",
        "map.entries_per_page=64",
        "map.cache_bytes=256",
        "queue.depth=32",
    ])
}

fn requests(seed: u64, settings: &Settings) -> Vec<Request> {
    let mut random = Random(seed);
    let units = u64::from(settings.exported_units);
    let mut now_us = 0;
    (0..2_500)
        .map(|_| {
            now_us += random.pick(&[0, 0, 0, 40, 4_000]);
            let op = match random.below(16) {
                0 => RequestOp::Trim,
                1 => RequestOp::Flush,
                2..9 => RequestOp::Write,
                _ => RequestOp::Read,
            };
            let pages = 1 + random.below(6);
            let lpn = random.below(units - pages);
            let mut request = request(now_us, op, lpn, u32::try_from(pages).expect("few"));
            if op == RequestOp::Write && random.below(30) == 0 {
                request.flags = Flags::PREFLUSH;
            }
            request
        })
        .collect()
}

/// Everything that a run of this policy and seed tells: the report, every queue entry, every
/// command and every request.
fn transcript(policy: &str, seed: u64) -> String {
    let settings = device(policy);
    let (report, recorded) = record(&settings, &[], &requests(seed, &settings));
    assert!(report.gc.jobs > 50 && report.map.dirty_evictions > 50, "{policy}: {report:?}");
    format!("{report:?}\n{recorded:?}")
}

/// The first difference, with what surrounds it; the texts are megabytes long.
#[track_caller]
fn check_equal(what: &str, left: &str, right: &str) {
    if left == right {
        return;
    }
    let same = left.bytes().zip(right.bytes()).take_while(|(a, b)| a == b).count();
    let around = |text: &str| text.chars().skip(same.saturating_sub(100)).take(200).collect();
    let (left, right): (String, String) = (around(left), around(right));
    panic!("{what} differ at byte {same}:\n{left}\n{right}");
}

/// Hash order, uninitialised state or a clock would show between two runs of one process.
#[test]
fn two_runs_tell_the_same() {
    for policy in PolicyName::WORDS {
        check_equal(policy, &transcript(policy, 1), &transcript(policy, 1));
    }
}

/// State shared between devices would show when two of them run at once, doing different things.
#[test]
fn threads_side_by_side_tell_the_same_as_one_alone() {
    let alone = [transcript("drs", 1), transcript("fifo", 2)];
    for _ in 0..3 {
        let together = thread::scope(|scope| {
            let drs = scope.spawn(|| transcript("drs", 1));
            let fifo = scope.spawn(|| transcript("fifo", 2));
            [drs.join().expect("no panic"), fifo.join().expect("no panic")]
        });
        check_equal("drs", &alone[0], &together[0]);
        check_equal("fifo", &alone[1], &together[1]);
    }
}

/// The comparisons above can fail: other requests, or another policy, tell something else.
#[test]
fn other_inputs_tell_something_else() {
    let first = transcript("drs", 1);
    assert!(first.len() > 1_000_000, "a transcript of {} bytes", first.len());
    assert!(first != transcript("drs", 2), "the seed");
    assert!(first != transcript("fot", 1), "the policy");
}

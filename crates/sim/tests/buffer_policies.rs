//! Who flushes the buffer, and what holds that back: programs that free no line, a hot unit, host
//! policies that flush it themselves.

mod common;

use common::{Random, record, request, settings, try_settings};
use flashyard_core::request::{Flags, Request, RequestOp};
use flashyard_sim::config::Settings;

/// A resident map, programs of 700 us and reads of 60 us; accesses of the buffer take no time.
fn buffered(keys: &[&str]) -> Settings {
    let base = [
        "map.store=resident",
        "policy.command=fifo",
        "geometry.blocks_per_plane=64",
        "geometry.pages_per_block=32",
        "ftl.over_provisioning_percent=100",
        "buffer.access_ns=0",
        "buffer.ps_per_byte=0",
    ];
    settings(&[&base, keys].concat())
}

fn write(us: u64, lpn: u64) -> Request {
    request(us, RequestOp::Write, lpn, 1)
}

fn durable(us: u64, lpn: u64) -> Request {
    Request { flags: Flags::FUA, ..write(us, lpn) }
}

/// Many programs of one unit are under way at once, with one to three lines.
#[test]
fn a_hot_unit_with_fua_ends_however_many_programs_it_has() {
    for lines in 1..=3 {
        for depth in [2, 21, 64] {
            let keys = [format!("buffer.bytes={}", lines * 4_096), format!("queue.depth={depth}")];
            let keys = [&keys[0], &keys[1], "buffer.eviction=ahead"];
            let settings = buffered(&[&keys[..], &["geometry.ways=2"]].concat());
            let mut random = Random(lines + depth);
            let hot = |at: u64| {
                let cold = write(at, 10 + random.below(5));
                if random.below(4) == 0 { cold } else { durable(at, 0) }
            };
            let requests: Vec<_> = (0..120).map(hot).collect();
            let (report, run) = record(&settings, &[], &requests);
            assert_eq!(run.requests.len(), 120);
            let buffer = &report.buffer;
            let gone = buffer.flushed_units + buffer.trimmed_units + buffer.dirty_at_end;
            assert_eq!(buffer.dirtied_units, gone);
            let programs: Vec<_> = (0..64).map(|at| durable(at, 0)).collect();
            assert_eq!(record(&settings, &[], &programs).1.requests.len(), 64);
        }
    }
}

/// Unit 2 needs a line at 50 us. That of unit 0 has 20 programs before it, 14 ms; unit 1 is dirty,
/// and its die is idle.
#[test]
fn programs_that_free_no_line_hold_no_flush_back() {
    for policy in ["fifo", "is"] {
        let policy = format!("host.policy={policy}");
        let keys = ["buffer.bytes=8192", "buffer.eviction=full", "geometry.ways=4", &policy];
        let mut requests = vec![write(0, 1)];
        if policy.ends_with("fifo") {
            requests.extend((1..=20).map(|at| durable(at, 0)));
        }
        requests.extend([write(30, 1), write(50, 2)]);
        let (_, run) = record(&buffered(&keys), &[], &requests);
        let last = run.requests.iter().find(|done| done.request.first_sector == 16).unwrap();
        let waits = last.completion.since(last.request.arrival).as_ns();
        let expected = if policy.ends_with("fifo") { 700_000 } else { 0 };
        assert_eq!(waits, expected, "{policy}");
    }
}

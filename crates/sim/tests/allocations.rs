//! The event loop allocates nothing once the deepest queue has been seen: memory is in slabs that
//! double while they fill, and nothing is made for one event.

#[path = "sim/common/mod.rs"]
mod common;

use common::{Random, request, settings, starts_pages};
use flashyard_core::host::HostPolicyName;
use flashyard_core::policy::PolicyName;
use flashyard_core::request::{Request, RequestOp};
use flashyard_core::units::Span;
use flashyard_sim::config::{Eviction, Settings, apply_setting};
use flashyard_sim::device::{Device, PhaseKeys};
use flashyard_sim::stream::{Pacing, Stream, StreamKeys};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use std::alloc::System;
use std::convert::Infallible;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Calls of the allocator so far that returned memory, of the whole process: this file has a single
/// test, so nothing runs beside it.
fn allocations() -> usize {
    let stats = ALLOCATOR.stats();
    stats.allocations + stats.reallocations
}

/// Full, with garbage collection, map evictions, transfers and stalls, on four dies.
fn device(policy: &str) -> Settings {
    settings(&[
        &format!("policy.command={policy}"),
        "state.initial=full",
        "geometry.channels=2",
        "geometry.ways=2",
        "geometry.blocks_per_plane=64",
        "geometry.pages_per_block=16",
        "ftl.over_provisioning_percent=80",
        "channel.ps_per_byte=2500",
        "map.entries_per_page=64",
        "map.cache_bytes=512",
        "queue.depth=64",
        "gc.soft_free_blocks=16",
        "gc.hard_free_blocks=8",
        "gc.reserve_blocks=4",
    ])
}

/// The same behind a link, with limited depths and a time series that doubles its bins.
fn linked() -> Settings {
    let mut settings = device("drs");
    let interface = &mut settings.keys.interface;
    (interface.queue_depth, interface.fetch_depth) = (32, 48);
    (interface.link_ps_per_byte, interface.link_latency_ns) = (500, 2_000);
    settings.keys.metrics.bin_ms = Span::from_us(100);
    settings
}

/// A write buffer of a fraction of the device, before a resident map.
fn behind_a_buffer() -> Settings {
    let keys = [
        "map.store=resident",
        "buffer.bytes=262144",
        "buffer.low_percent=30",
        "state.initial=full",
        "geometry.channels=2",
        "geometry.planes=2",
        "geometry.blocks_per_plane=64",
        "geometry.pages_per_block=16",
        "ftl.over_provisioning_percent=80",
        "geometry.page_bytes=8192",
        "ftl.mapping_unit_bytes=4096",
        "ftl.partial_write=read_modify_write",
        "channel.ps_per_byte=2500",
        "queue.depth=64",
        "gc.soft_free_blocks=16",
        "gc.hard_free_blocks=8",
        "gc.reserve_blocks=4",
    ];
    settings(&keys)
}

/// The same with two ports, banks and all that a host policy may do with them, behind a link that
/// carries pages.
fn under(policy: &str, eviction: &str) -> Settings {
    let mut settings = behind_a_buffer();
    let keys = &mut settings.keys;
    let mut problems = Vec::new();
    for setting in [
        &format!("host.policy={policy}"),
        "host.ros.pairing=true",
        "host.ris.overlap_flushes=true",
        "interface.fetch_depth=48",
        "interface.link_ps_per_byte=500",
        "interface.transfer=page",
        "buffer.ports=read_and_write",
        "buffer.banks=4",
        "buffer.read_ns=15000",
        "buffer.write_ns=100000",
        &format!("buffer.eviction={eviction}"),
        "buffer.flush_reads=true",
        "buffer.after_flush=free",
        "buffer.read_allocate=displace",
        "buffer.replacement=clock",
    ] {
        apply_setting("--set", setting, keys, &mut problems);
    }
    assert_eq!(problems, []);
    Settings::new(keys.clone()).unwrap()
}

/// A burst deeper than any later one, then small bursts that the device keeps up with. Each half
/// has every operation and every request length.
fn requests(settings: &Settings, count: usize) -> Vec<Request> {
    let mut random = Random(3);
    let units = u64::from(settings.exported_units);
    let mut now_us = 0;
    (0..count)
        .map(|number| {
            if number >= 600 && number % 20 == 0 {
                now_us += 100_000;
            }
            let op = match random.below(20) {
                0 => RequestOp::Trim,
                1 => RequestOp::Flush,
                2..11 => RequestOp::Write,
                _ => RequestOp::Read,
            };
            let pages = 1 + random.below(if number % 10 == 0 { 16 } else { 2 });
            let lpn = random.below(units - pages);
            request(now_us, op, lpn, u32::try_from(pages).expect("a short request"))
        })
        .collect()
}

/// The number of the first request of the second half that allocated, and how many times all did.
fn second_half(settings: &Settings, requests: &[Request]) -> (Option<usize>, usize) {
    let mut counts = Vec::with_capacity(requests.len() + 1);
    let mut source = requests.iter().copied();
    let report = Device::new(settings).run(|| {
        counts.push(allocations());
        Ok::<_, Infallible>(source.next())
    });
    let report = report.expect("the workload fits the device");
    assert!(report.gc.jobs > 1_000, "{:?}", report.gc);
    if settings.buffer_units > 0 {
        let waits = settings.keys.buffer.eviction == Eviction::Watermark;
        assert!(report.buffer.stalls > 100 || !waits, "{:?}", report.buffer);
        assert!(report.buffer.flushed_units > 5_000, "{:?}", report.buffer);
    } else {
        assert!(report.map.stalls > 0 && report.map.dirty_evictions > 0, "{:?}", report.map);
    }
    let half = &counts[requests.len() / 4 * 3..];
    assert!(half[0] > counts[0], "the beginning allocates slabs");
    let first = half.windows(2).position(|pair| pair[1] > pair[0]);
    (first.map(|at| requests.len() / 4 * 3 + at), half[half.len() - 1] - half[0])
}

/// The same in two closed loops behind a link, with a time series: how many times the phase
/// allocated after the first half of one of them.
fn second_half_closed(settings: &Settings, requests: &[Request]) -> usize {
    let (count_all, half_of_a) = (requests.len() as u64, requests.len() / 4);
    let mut at_half = 0;
    let mut device = Device::new(settings);
    let streams = [Pacing::Closed, Pacing::Think].map(|pacing| {
        let keys = StreamKeys { pacing, depth: 40, ..StreamKeys::default() };
        let mut source = requests.iter().copied();
        (keys, move || source.next())
    });
    let mut count = 0;
    let [(first, mut a), (second, mut b)] = streams;
    let counted = || {
        count += 1;
        if count == half_of_a {
            at_half = allocations();
        }
        Ok::<_, Infallible>(a())
    };
    let streams = vec![
        Stream { name: "a".to_string(), keys: first, source: Box::new(counted) },
        Stream { name: "b".to_string(), keys: second, source: Box::new(move || Ok(b())) },
    ];
    let limit = PhaseKeys { requests: count_all, ..PhaseKeys::default() };
    device.run_phase(&limit, streams).expect("the workload fits the device");
    let after = allocations();
    assert!(at_half > 0 && device.finish().expect("little energy").gc.jobs > 1_000);
    // The report of the phase names it, twice, and grows a list; two snapshots of utilisation.
    after - at_half
}

/// Raw operations as fast as four full queues take them: how many times the second half allocated.
fn second_half_raw() -> usize {
    let settings = settings(&[
        "ftl.scheme=none",
        "map.store=resident",
        "policy.command=fifo",
        "geometry.channels=2",
        "geometry.ways=2",
        "geometry.blocks_per_plane=64",
        "queue.die_depth=4",
        "nand.program_max_us=2000",
    ]);
    let keys = StreamKeys { pacing: Pacing::Spaced, ..StreamKeys::default() };
    let (units, block) = (u64::from(settings.exported_units), 128);
    let mut random = Random(9);
    let (mut count, mut at_half) = (0, 0);
    let source = Box::new(|| {
        count += 1;
        if count == 10_000 {
            at_half = allocations();
        }
        let lpn = random.below(units);
        let request = match random.below(50) {
            0 => request(0, RequestOp::Trim, lpn / block * block, 128),
            1..30 => request(0, RequestOp::Write, lpn, 1),
            _ => request(0, RequestOp::Read, lpn, 1),
        };
        Ok::<_, Infallible>((count <= 20_000).then_some(request))
    });
    let mut device = Device::new(&settings);
    let streams = vec![Stream { name: "raw".to_string(), keys, source }];
    device.run_phase(&PhaseKeys::default(), streams).expect("the operations fit the device");
    let after = allocations();
    assert!(at_half > 0 && device.finish().expect("little energy").workload.requests == 20_000);
    after - at_half
}

/// An allocation an event would be the slowest thing in the loop and would grow with the run.
#[test]
fn the_event_loop_does_not_allocate_in_steady_state() {
    let before = allocations();
    drop(std::hint::black_box(Box::new(before)));
    assert!(allocations() > before, "the counter counts");
    for policy in PolicyName::WORDS {
        let settings = device(policy);
        let requests = requests(&settings, 20_000);
        let (first, count) = second_half(&settings, &requests);
        // A queue that gets deeper than ever doubles its memory: two lists each time.
        assert!(count <= 4, "{policy} allocated {count} times, first at request {first:?}");
    }
    let settings = behind_a_buffer();
    let (first, count) = second_half(&settings, &requests(&settings, 20_000));
    assert_eq!(count, 0, "a buffer allocated first while request {first:?} was new");
    let mut evictions = ["ahead", "at_once", "full"].iter().cycle();
    for policy in HostPolicyName::WORDS {
        // Policies by pages flush by themselves.
        let eviction =
            if starts_pages(policy) { "full" } else { evictions.next().expect("it goes round") };
        let settings = under(policy, eviction);
        let (first, count) = second_half(&settings, &requests(&settings, 20_000));
        assert_eq!(count, 0, "{policy} allocated first while request {first:?} was new");
    }
    let settings = linked();
    let requests = requests(&settings, 12_000);
    let count = second_half_closed(&settings, &requests);
    assert!(count <= 8, "{count} allocations in closed loops, more than the end of a phase takes");
    let count = second_half_raw();
    assert!(
        count <= 8,
        "{count} allocations of raw operations, more than the end of a phase takes"
    );
}

//! Paced garbage collection: the spare space of a plane stays where it is kept, reads wait for one
//! operation at most, and the three ways in which drives share their dies show.

use crate::common::phases::{Bench, latency, named, pacing, stream};
use crate::common::{Random, Recorded, read, record, settings, try_settings, write};
use flashyard_core::command::Op;
use flashyard_core::request::{Request, RequestOp};
use flashyard_core::units::{PlaneId, Ppn, Time};
use flashyard_sim::config::{GcPacing, Settings};
use flashyard_sim::device::PhaseKeys;
use flashyard_sim::ftl::page_map::PageMap;
use flashyard_sim::initial::device::make;
use flashyard_sim::stream::Pacing;

/// Two dies of 64 blocks of 32 pages, half of a page spare for each one exported, in steady state.
const PACED: &[&str] = &[
    "geometry.channels=2",
    "geometry.blocks_per_plane=64",
    "geometry.pages_per_block=32",
    "ftl.over_provisioning_percent=25",
    "map.store=resident",
    "policy.command=rcf",
    "state.initial=steady",
    "gc.pacing=spare",
    "gc.soft_free_blocks=5",
    "gc.reserve_blocks=1",
];

fn paced(keys: &[&str]) -> Settings {
    settings(&[PACED, keys].concat())
}

/// So many random writes of single pages.
fn writes(settings: &Settings, count: usize) -> Vec<Request> {
    let mut random = Random(5);
    let units = u64::from(settings.exported_units);
    (0..count).map(|_| write(0, random.below(units))).collect()
}

/// The spare units of each plane after every program of a request, from the command log alone: free
/// units at the start, less one for each program, plus those of each erased block, plus the part of
/// the victim under way that has been read.
fn spare_over_time(settings: &Settings, run: &Recorded) -> Vec<Vec<u64>> {
    let geometry = settings.geometry;
    let block = u64::from(geometry.units_per_block());
    let mut map = PageMap::new(settings);
    make(settings, &mut map);
    let planes = (0..geometry.all_planes()).map(PlaneId::new);
    let mut spare: Vec<u64> = planes.map(|plane| map.blocks.spare_units(plane)).collect();
    let mut walked = vec![0; spare.len()];
    let mut found = vec![Vec::new(); spare.len()];
    let mut commands: Vec<_> = run.commands.iter().collect();
    commands.sort_by_key(|done| done.end);
    for done in commands {
        let Some(ppn) = done.ppn.map(Ppn::new) else { continue };
        let plane = geometry.plane_of(ppn).index();
        match (done.command.stage, done.op) {
            ("GR", _) => walked[plane] = u64::from(geometry.unit_in_block(ppn)) + 1,
            (_, Op::Program) => spare[plane] -= 1,
            (_, Op::Erase) => (walked[plane], spare[plane]) = (0, spare[plane] + block),
            _ => {}
        }
        if done.command.stage == "DP" {
            found[plane].push(spare[plane] + walked[plane]);
        }
    }
    found
}

/// The spare space of each plane after every program of a request: mean, least and most, under
/// random writes that come `gap_us` apart.
fn spare_range(settings: &Settings, gap_us: u64) -> Vec<(f64, u64, u64)> {
    let mut requests = writes(settings, 6_000);
    for (number, request) in (0..).zip(&mut requests) {
        request.arrival = Time::from_us(number * gap_us);
    }
    let (report, run) = record(settings, &[], &requests);
    let factor = report.flash.write_amplification.expect("pages were written");
    let said = report.verdict.initial_write_amplification.expect("the state is steady");
    let gc = &settings.keys.gc;
    // Blocks of a soft zone hold no data: where a load keeps them free, victims have more.
    if gc.pacing == GcPacing::Spare && gc.soft_zone_blocks == 0 {
        assert!((factor / said - 1.0).abs() < 0.03, "{factor}, not {said}");
    }
    let range = |spare: &Vec<u64>| {
        let mean = spare.iter().sum::<u64>() as f64 / spare.len() as f64;
        (mean, *spare.iter().min().expect("writes"), *spare.iter().max().expect("writes"))
    };
    spare_over_time(settings, &run).iter().map(range).collect()
}

/// Under a load without pauses and under one with many the spare space of a plane is where it is
/// kept, from the first write on: within a block, which an erase under way accounts for, and a
/// quarter of one on average. Without pacing it moves by blocks between the two loads.
#[test]
fn spare_space_stays_where_it_is_kept_under_any_load() {
    let block = 32;
    for keys in [&["gc.copies_per_program=9"][..], &["gc.pacing=tokens", "gc.copies_per_program=9"]]
    {
        let settings = paced(keys);
        let target = settings.spare_target();
        for gap_us in [0, 20_000] {
            for (mean, least, most) in spare_range(&settings, gap_us) {
                assert!(most <= target + 4, "{keys:?} {gap_us}: {most}, not {target}");
                assert!(least + block >= target, "{keys:?} {gap_us}: {least}, not {target}");
                let off = (mean - target as f64).abs();
                assert!(off < block as f64 / 4.0, "{keys:?} {gap_us}: {mean}, not {target}");
            }
        }
    }
    let unpaced = paced(&["gc.pacing=none"]);
    let [pressed, rested] = [0, 20_000].map(|gap_us| spare_range(&unpaced, gap_us)[0].0);
    assert!(rested > pressed + 2.0 * block as f64, "{pressed} and {rested}");
}

/// A soft zone keeps the spare space of a load with pauses as many blocks higher. Without pauses
/// programs bring as much as they take only where they owe all copies, which is at the target.
#[test]
fn a_soft_zone_holds_as_many_blocks_more_where_a_load_has_pauses() {
    let block = 32.0;
    let mean = |zone: &str, gap_us| {
        let settings = paced(&[&format!("gc.soft_zone_blocks={zone}")]);
        let planes = spare_range(&settings, gap_us);
        let all = planes.iter().map(|(mean, ..)| mean).sum::<f64>() / planes.len() as f64;
        all - settings.spare_target() as f64
    };
    for (zone, blocks) in [("0", 0.0), ("2", 2.0)] {
        let rested = mean(zone, 20_000);
        assert!((rested - blocks * block).abs() < block / 4.0, "{zone}: {rested}");
        let pressed = mean(zone, 0);
        assert!(pressed.abs() < block / 2.0, "{zone}: {pressed}");
    }
}

/// Dynamic allocation keeps all dies at work where the planes have no more than the blocks of the
/// reserve free, but room in their open ones.
#[test]
fn dynamic_allocation_spreads_writes_over_planes_that_have_room() {
    let per_second = |allocation: &str| {
        let allocation = format!("ftl.allocation={allocation}");
        let keys = ["geometry.channels=8", "gc.soft_free_blocks=2", &allocation];
        let settings = paced(&keys);
        let (mut bench, load) = (Bench::new(&settings), writes(&settings, 12_000));
        let phase =
            bench.phase(&PhaseKeys::default(), vec![stream(pacing(Pacing::Closed, 32), &load)]);
        phase.0.requests as f64 / (phase.0.makespan_ns as f64 / 1e9)
    };
    let [by_address, by_load] = ["static", "dynamic"].map(per_second);
    assert!(by_load > 0.95 * by_address, "{by_load} a second, {by_address} by address");
}

/// Copies that are fewer than victims need keep the spare space at the reserve: the state starts
/// there.
#[test]
fn too_few_copies_leave_the_reserve_and_the_state_starts_there() {
    let settings = paced(&["gc.pacing=tokens", "gc.copies_per_program=1"]);
    let mut bench = Bench::new(&settings);
    let load = writes(&settings, 12_000);
    let halves = [&load[..6_000], &load[6_000..]].map(|half| {
        let stream = stream(pacing(Pacing::Closed, 8), half);
        bench.phase(&PhaseKeys::default(), vec![stream]).0.write_amplification.expect("writes")
    });
    let said = bench.finish().verdict.initial_write_amplification.expect("the state is steady");
    assert!((halves[0] / halves[1] - 1.0).abs() < 0.03, "{halves:?}");
    assert!((halves[0] / said - 1.0).abs() < 0.05, "{halves:?}, not {said}");
}

/// Latencies of reads and of writes in microseconds, in ascending order: writes in a closed loop, a
/// read every four milliseconds.
fn under_load(keys: &[&str]) -> [Vec<u64>; 2] {
    beside_reads(keys, 8_000, 0)
}

/// The same with so many writes, in an open loop where they come `gap_us` apart.
fn beside_reads(keys: &[&str], count: usize, gap_us: u64) -> [Vec<u64>; 2] {
    let settings = paced(keys);
    let mut bench = Bench::new(&settings);
    let mut load = writes(&settings, count);
    for (number, request) in (0..).zip(&mut load) {
        request.arrival = Time::from_us(number * gap_us);
    }
    let rule = if gap_us > 0 { Pacing::Open } else { Pacing::Closed };
    let mut random = Random(9);
    let units = u64::from(settings.exported_units);
    let reads: Vec<Request> =
        (0..1_500).map(|number| read(number * 4_000, random.below(units))).collect();
    let done = bench.run(vec![
        named("writes", pacing(rule, 32), &load),
        named("reads", pacing(Pacing::Open, 1), &reads),
    ]);
    [RequestOp::Read, RequestOp::Write].map(|op| {
        let of_op = done.iter().filter(|done| done.request.op == op);
        let mut all: Vec<u64> = of_op.map(|done| latency(done) / 1_000).collect();
        all.sort_unstable();
        all
    })
}

fn mean(latencies: &[u64]) -> f64 {
    latencies.iter().sum::<u64>() as f64 / latencies.len() as f64
}

/// A read goes before all copies: it waits for the one operation that its die is doing, an erase at
/// worst, and for the read before it. Without pacing it waits for a whole victim.
#[test]
fn a_read_waits_for_one_operation_of_garbage_collection() {
    let (read, erase, program) = (60, 5_000, 700);
    for rule in ["gc.pacing=spare", "gc.pacing=tokens"] {
        let [reads, writes] = under_load(&[rule]);
        let longest = *reads.last().expect("reads");
        assert!(longest <= erase + 2 * read, "{rule}: {longest} us");
        let p99 = writes[writes.len() * 99 / 100] as f64;
        assert!(p99 < 3.0 * mean(&writes), "{rule}: writes {p99}, mean {}", mean(&writes));
    }
    let [reads, _] = under_load(&["gc.pacing=none"]);
    let victim = 16 * (read + program);
    let p90 = reads[reads.len() * 9 / 10];
    assert!(p90 > victim, "{p90} us, a victim takes {victim}");
}

/// The three families of drives under saturated writes (Haas et al., PVLDB 18(11), 2025: means of
/// reads over those of writes 0.03, 0.29 and 0.89): reads are protected; wait for operations; wait
/// as writes do.
#[test]
fn families_of_firmware_keep_the_order_of_the_drives() {
    let of = |family: &str| under_load(&[&format!("firmware.family={family}")]);
    let protected = of("reads_protected");
    let between = of("in_between");
    // Fewer than the 32 writes that are outstanding.
    let stalled = under_load(&["firmware.family=both_wait", "host.dispatch_width=8"]);
    let means = [&protected, &between, &stalled].map(|[reads, _]| mean(reads));
    // 20 us to suspend what runs, and the read; one of two operations of 700 and 5,000 us.
    let longest = *protected[0].last().expect("reads");
    assert!(longest <= 20 + 20 + 60, "{longest} us");
    assert!((300.0..1_500.0).contains(&means[1]), "{means:?}");
    let share = means[2] / mean(&stalled[1]);
    assert!((0.5..1.0).contains(&share), "{share}: {means:?}");
    for [_, writes] in [protected, between, stalled] {
        let p99 = writes[writes.len() * 99 / 100] as f64;
        assert!(p99 < 3.0 * mean(&writes), "writes {p99}, mean {}", mean(&writes));
    }
}

/// With a write buffer the families differ only while writes wait for its lines.
#[test]
fn reads_wait_in_between_only_while_writes_wait_for_the_buffer() {
    let of = |family: &str, count, gap_us| {
        beside_reads(&["buffer.bytes=262144", &format!("firmware.family={family}")], count, gap_us)
    };
    let [calm, same] = ["reads_protected", "in_between"].map(|family| of(family, 600, 10_000));
    assert_eq!(calm, same);
    let [[protected, _], [between, _]] =
        ["reads_protected", "in_between"].map(|family| of(family, 8_000, 0));
    let means = [&protected, &between].map(|reads| mean(reads));
    assert!(means[1] > 3.0 * means[0], "{means:?}");
}

#[test]
fn pacing_needs_collection_that_starts_early_and_lets_reads_go_between() {
    for (keys, why) in [
        (["gc.start=needed", "gc.pacing=spare"], "copies before blocks are needed"),
        (["gc.preemptible=false", "gc.pacing=tokens"], "lets reads go between"),
    ] {
        let error = try_settings(&keys).unwrap_err();
        assert!(error.contains("gc.pacing: ") && error.contains(why), "{error}");
    }
}

/// The default thresholds are shares of the spare blocks, at most those of earlier versions; what
/// is set in blocks stays, and the others keep below it.
#[test]
fn thresholds_are_shares_of_the_spare_space() {
    let thresholds = |spare: u32, keys: &[&str]| {
        let blocks = format!("geometry.blocks_per_plane={}", 1_000 + spare);
        let share = format!("ftl.over_provisioning_percent={}", f64::from(spare) / 10.0);
        let base = [&*blocks, &*share, "geometry.pages_per_block=16", "map.store=resident"];
        let gc = settings(&[&base, keys].concat()).keys.gc;
        [gc.soft_free_blocks, gc.hard_free_blocks, gc.reserve_blocks, gc.background_free_blocks]
    };
    assert_eq!(thresholds(128, &[]), [16, 8, 4, 32]);
    assert_eq!(thresholds(500, &[]), [16, 8, 4, 32]);
    assert_eq!(thresholds(40, &[]), [5, 3, 2, 10]);
    assert_eq!(thresholds(8, &[]), [1, 1, 1, 2]);
    assert_eq!(thresholds(12, &[]), [2, 1, 1, 3]);
    assert_eq!(thresholds(12, &["map.store=cmt"]), [2, 1, 2, 3]);
    assert_eq!(thresholds(40, &["gc.soft_free_blocks=2"]), [2, 2, 2, 10]);
    assert_eq!(thresholds(40, &["gc.hard_free_blocks=7"]), [7, 7, 2, 10]);
    assert_eq!(thresholds(40, &["gc.soft_percent=50", "gc.reserve_percent=10"]), [16, 3, 4, 10]);
}

//! Wear levelling and bad blocks.

use crate::common::phases::{Bench, stream};
use crate::common::{Random, record, request, restored, saved, settings, try_record, try_settings};
use flashyard_core::command::{Op, Purpose};
use flashyard_core::request::{Request, RequestOp};
use flashyard_sim::config::Settings;
use flashyard_sim::device::{PhaseKeys, SimError};
use flashyard_sim::observe::CommandDone;
use flashyard_sim::report::Report;
use flashyard_sim::stream::StreamKeys;
use std::collections::BTreeMap;

/// One die of 64 blocks, full, with a lot of spare space.
fn device(keys: &[&str]) -> Settings {
    let small = [
        "geometry.blocks_per_plane=64",
        "geometry.pages_per_block=8",
        "ftl.over_provisioning_percent=60",
        "map.store=resident",
        "state.initial=full",
        "gc.soft_free_blocks=4",
        "gc.hard_free_blocks=3",
        "gc.reserve_blocks=2",
    ];
    settings(&[&small[..], keys].concat())
}

/// Writes to the first tenth of the device only: the rest is cold.
fn hot_writes(settings: &Settings, count: u64) -> Vec<Request> {
    let mut random = Random(8);
    let hot = u64::from(settings.exported_units) / 10;
    (0..count).map(|at| request(at, RequestOp::Write, random.below(hot), 1)).collect()
}

fn spread(report: &Report) -> u32 {
    report.wear.erases_max - report.wear.erases_min
}

/// Cold blocks are never erased unless wear is levelled. Then the gap stays near the limit: while
/// every other job takes the least erased full block, each of the other jobs adds an erase to one
/// block, so that the most erased one gains about one for every turn of the 64 blocks.
#[test]
fn static_levelling_bounds_the_gap_between_blocks() {
    let run = |keys: &[&str]| {
        let settings = device(keys);
        record(&settings, &[], &hot_writes(&settings, 30_000))
    };
    let (report, _) = run(&[]);
    assert_eq!(report.wear.erases_min, 0, "{:?}", report.wear);
    assert!(spread(&report) > 100, "{:?}", report.wear);
    assert_eq!(report.wear.levelling_jobs, 0);
    for gap in [4, 16] {
        for dynamic in [false, true] {
            let gap_key = format!("wear.static_gap={gap}");
            let (report, run) = run(&[&gap_key, &format!("wear.dynamic={dynamic}")]);
            assert!(spread(&report) <= gap + 3, "gap {gap}, dynamic {dynamic}: {:?}", report.wear);
            assert!(report.wear.erases_min > 20, "{:?}", report.wear);
            let erases = run.commands.iter().filter(|c| c.op == Op::Erase);
            let levelling = erases.filter(|c| c.purpose == Purpose::Wear).count() as u64;
            assert_eq!(report.wear.levelling_jobs, levelling);
            assert!(levelling > 0 && 2 * levelling <= report.gc.jobs, "at most every other job");
        }
    }
}

/// Under uniform writes no block is cold; taking the least erased free block narrows the gap that
/// chance leaves.
#[test]
fn dynamic_levelling_narrows_the_gap() {
    let gap = |keys: &[&str]| {
        let settings = device(keys);
        let mut random = Random(8);
        let units = u64::from(settings.exported_units);
        let writes = (0..30_000).map(|at| request(at, RequestOp::Write, random.below(units), 1));
        let (report, _) = record(&settings, &[], &writes.collect::<Vec<_>>());
        spread(&report)
    };
    let (off, on) = (gap(&["gc.policy=random"]), gap(&["gc.policy=random", "wear.dynamic=true"]));
    assert!(on < off, "{on} {off}");
}

/// Programs and erases of each block, in the order of their starts.
fn by_block(settings: &Settings, commands: &[CommandDone]) -> BTreeMap<u32, Vec<Op>> {
    let mut sorted: Vec<_> = commands.iter().filter(|command| command.op != Op::Read).collect();
    sorted.sort_by_key(|command| command.start);
    let mut blocks: BTreeMap<u32, Vec<Op>> = BTreeMap::new();
    for command in sorted {
        let block = command.ppn.unwrap() / settings.geometry.units_per_block();
        blocks.entry(block).or_default().push(command.op);
    }
    blocks
}

/// A block bears its erases, 50 +- 10 %, and is not touched after the last of them. The checker
/// watches too.
#[test]
fn worn_out_blocks_are_never_programmed_again() {
    let settings = device(&["nand.endurance_cycles=50"]);
    let (report, run) = record(&settings, &[], &hot_writes(&settings, 10_300));
    assert!(report.wear.grown_bad_blocks > 0, "{:?}", report.wear);
    assert!(report.wear.erases_max <= 55);
    let mut worn = 0;
    let mut limits = Vec::new();
    for ops in by_block(&settings, &run.commands).into_values() {
        let erases = ops.iter().filter(|op| **op == Op::Erase).count();
        assert!(erases <= 55, "{erases}");
        // Erased and at its limit: the last thing that happened to it. Others may be free just now.
        if erases >= 45 && ops.last() == Some(&Op::Erase) {
            limits.push(erases);
        }
        worn += u64::from(erases >= 45);
    }
    assert!(worn >= report.wear.grown_bad_blocks, "{worn}");
    limits.sort_unstable();
    limits.dedup();
    assert!(limits.len() > 2, "limits differ from block to block: {limits:?}");
}

/// The keys of a device with superblocks.
const SUPERBLOCKS: [&str; 4] = [
    "placement.unit=superblock",
    "ftl.allocation=dynamic",
    "geometry.channels=4",
    "geometry.ways=1",
];

/// Superblocks lose blocks at different times, and others take their place: all blocks but those
/// of the plane with the most worn-out ones are used until the device can hold its data no longer.
#[test]
fn superblocks_last_as_long_as_their_weakest_plane() {
    let keys = [&SUPERBLOCKS[..], &["nand.endurance_cycles=30", "wear.dynamic=true"]].concat();
    let settings = device(&keys);
    let mut random = Random(8);
    let units = u64::from(settings.exported_units);
    let writes = (0..).map(|at| request(200 * at, RequestOp::Write, random.below(units), 1));
    let writes: Vec<Request> = writes.take(400_000).collect();
    let error = try_record(&settings, &[], &writes).unwrap_err();
    let SimError::WornOut { plane, worn, blocks } = error else { panic!("{error}") };
    assert_eq!((blocks, plane < 4), (64, true));
    assert!(worn.len() > 5, "{worn:?}");
}

/// In the end the plane that is worn out is named, with its blocks.
#[test]
fn a_worn_out_plane_ends_the_run() {
    let settings = device(&["nand.endurance_cycles=20", "geometry.channels=2"]);
    // Even pages are on the first plane.
    let mut writes = hot_writes(&settings, 40_000);
    for write in &mut writes {
        write.first_sector = write.first_sector / 16 * 16;
    }
    let error = try_record(&settings, &[], &writes).unwrap_err();
    let text = error.to_string();
    let SimError::WornOut { plane, worn, blocks } = error else { panic!("{error}") };
    assert_eq!((plane, blocks), (0, 64));
    assert!(worn.len() > 5 && worn.iter().all(|block| *block < 64), "{worn:?}");
    assert!(text.starts_with(&format!("plane 0: {} of its 64 blocks are worn out", worn.len())));
    assert!(text.contains(&format!(": {}, {}, ", worn[0], worn[1])), "{text}");
}

/// As many bad blocks on each plane as the key says, rounded up, at different places; none is
/// touched, in any initial state, and the space they leave counts.
#[test]
fn factory_bad_blocks_are_never_used() {
    let units: [&[&str]; 2] = [&[], &SUPERBLOCKS];
    let states = ["fresh", "full", "random", "aged", "steady"];
    for (state, unit) in states.into_iter().flat_map(|state| units.map(|unit| (state, unit))) {
        let state = format!("state.initial={state}");
        let shape = ["nand.factory_bad_percent=5", &state];
        let settings =
            device(&[unit, &shape, &["geometry.channels=3", "geometry.ways=2"]].concat());
        assert_eq!(settings.factory_bad_blocks, 4);
        let mut random = Random(3);
        let units = u64::from(settings.exported_units);
        let writes = (0..6 * units).map(|at| request(at, RequestOp::Write, random.below(units), 1));
        let (report, run) = record(&settings, &[], &writes.collect::<Vec<_>>());
        assert_eq!((report.wear.factory_bad_blocks, report.wear.grown_bad_blocks), (24, 0));
        assert!(report.wear.erases_min > 0, "good blocks alone count: {:?}", report.wear);
        let used = by_block(&settings, &run.commands);
        let mut places = Vec::new();
        for plane in 0..6 {
            let blocks = plane * 64..(plane + 1) * 64;
            let bad: Vec<_> = blocks.filter(|block| !used.contains_key(block)).collect();
            assert_eq!(bad.len(), 4, "plane {plane} leaves {bad:?} alone");
            places.push(bad.iter().map(|block| block % 64).collect::<Vec<_>>());
        }
        places.sort();
        places.dedup();
        assert!(places.len() > 4, "{places:?}");
    }
}

/// The least spare space that is accepted with bad blocks is that without them on a device that has
/// as many fewer blocks, but for what is exported.
#[test]
fn capacity_is_checked_without_bad_blocks() {
    let keys = |bad: u32, spare: u32| {
        [
            "geometry.blocks_per_plane=100".to_string(),
            "geometry.pages_per_block=8".to_string(),
            "map.store=resident".to_string(),
            "gc.soft_free_blocks=2".to_string(),
            "gc.hard_free_blocks=2".to_string(),
            "gc.reserve_blocks=2".to_string(),
            format!("nand.factory_bad_percent={bad}"),
            format!("ftl.over_provisioning_percent={spare}"),
        ]
    };
    let least = |bad| (1..200).find(|spare| try_settings(&keys(bad, *spare)).is_ok()).unwrap();
    // 2 open, 2 in reserve, 1 to copy into: less than 96 of 100 blocks of valid units, less than 86
    // with 10 bad ones: spare space above 100/96 - 1 = 4.2 % and 100/86 - 1 = 16.3 %.
    assert_eq!((least(0), least(10)), (5, 17));
    let error = try_settings(&keys(10, 16)).unwrap_err();
    assert!(error.contains("100 blocks, 10 of them bad, leave no room to write"), "{error}");
}

/// Worn-out blocks stay so in a restored device.
#[test]
fn bad_blocks_are_saved() {
    let united = [&SUPERBLOCKS[..], &["nand.endurance_cycles=50"]].concat();
    for (keys, count) in [(&["nand.endurance_cycles=50"][..], 10_300), (&united, 41_000)] {
        let settings = device(keys);
        let requests = hot_writes(&settings, count);
        let mut bench = Bench::new(&settings);
        bench.phase(&PhaseKeys::default(), vec![stream(StreamKeys::default(), &requests)]);
        let bytes = saved(&bench.device);
        let before = bench.finish().wear;
        assert!(before.grown_bad_blocks > 0, "{keys:?}: {before:?}");
        let mut again = Bench::of(restored(&settings, &bytes).unwrap());
        let more = hot_writes(&settings, 100);
        again.phase(&PhaseKeys::default(), vec![stream(StreamKeys::default(), &more)]);
        let after = again.finish().wear;
        assert!(after.grown_bad_blocks >= before.grown_bad_blocks);
    }
}

//! An SLC cache against closed forms: how many bytes go in before the rate falls, the rates before
//! and behind that, what an idle time gives back, write amplification and energy.

use crate::common::{
    Random, read, record, request, restored, saved, seeds, settings, try_record, try_settings,
    unchecked, write,
};
use crate::generators::devices::{Family, case};
use flashyard_core::command::{Op, Purpose};
use flashyard_core::request::{Request, RequestOp};
use flashyard_sim::config::Settings;
use flashyard_sim::device::{Device, PhaseKeys, SimError};
use flashyard_sim::observe::{CommandDone, RequestDone};
use flashyard_sim::parts::blocks::SlcCache;
use flashyard_sim::report::Report;
use flashyard_sim::stream::{Stream, StreamKeys};
use std::convert::Infallible;

/// Times of the array and of a page on the channel, in nanoseconds.
const READ: u64 = 60_000;
const PROGRAM: u64 = 900_000;
const ERASE: u64 = 3_000_000;
const SLC_READ: u64 = 20_000;
const SLC_PROGRAM: u64 = 200_000;
const SLC_ERASE: u64 = 2_000_000;
const TRANSFER: u64 = 10_240;
/// Pages of a block, with three bits a cell and with one.
const BLOCK: u64 = 24;
const SLC_BLOCK: u64 = 8;
const BLOCKS: u64 = 100;
const KEPT: u64 = 3;

/// One die of three bits a cell, whose cache is folded only when it is asked to.
fn device(keys: &[&str]) -> Settings {
    let base = [
        "map.store=resident",
        "policy.command=fifo",
        "geometry.blocks_per_plane=100",
        "geometry.pages_per_block=24",
        "ftl.over_provisioning_percent=25",
        "nand.bits_per_cell=3",
        "nand.read_us=60",
        "nand.program_us=900",
        "nand.erase_us=3000",
        "slc.read_us=20",
        "slc.program_us=200",
        "slc.erase_us=2000",
        "channel.ps_per_byte=2500",
        "gc.soft_free_blocks=2",
        "gc.hard_free_blocks=2",
        "gc.reserve_blocks=2",
        "slc.fold_idle_us=1000000",
    ];
    settings(&[&base, keys].concat())
}

/// Sequential writes of a page, each asked for when the one before it is over at the latest.
fn writes(from: u64, count: u64) -> Vec<Request> {
    (from..from + count).map(|lpn| request(0, RequestOp::Write, lpn, 1)).collect()
}

/// The place of the last of so many requests.
fn place(count: u64) -> usize {
    usize::try_from(count - 1).expect("few requests")
}

/// When each request was answered, in nanoseconds.
fn ends(done: &[RequestDone]) -> Vec<u64> {
    done.iter().map(|done| done.completion.as_ns()).collect()
}

/// How many writes come before the first one that takes longer than one in the cache.
fn before_the_cliff(done: &[RequestDone]) -> u64 {
    let ends = ends(done);
    let slow = ends.windows(2).position(|pair| pair[1] - pair[0] > SLC_PROGRAM + TRANSFER);
    slow.map_or(done.len() as u64, |place| place as u64 + 1)
}

fn pages(report: &Report, op: &str, purpose: &str) -> u64 {
    report.flash.pages[op][purpose]
}

/// A static cache takes as many pages as its blocks have with one bit a cell, at the rate of such
/// programs; behind the cliff writes go at that of programs with all bits a cell.
#[test]
fn a_static_cache_takes_what_its_blocks_hold() {
    for (percent, blocks) in [(4, 4), (10, 10), (7, 7)] {
        let settings = device(&[&format!("slc.static_percent={percent}")]);
        let (report, run) = record(&settings, &[], &writes(0, 200));
        let held = blocks * SLC_BLOCK;
        assert_eq!(before_the_cliff(&run.requests), held, "{percent} %");
        let ends = ends(&run.requests);
        assert_eq!(ends[place(held)], held * (SLC_PROGRAM + TRANSFER), "time to the cliff");
        let behind = ends[199] - ends[place(held)];
        assert_eq!(behind, (200 - held) * (PROGRAM + TRANSFER), "the direct rate");
        let slc = report.slc.expect("a cache");
        assert_eq!((slc.cached_pages, slc.direct_pages, slc.folds), (held, 200 - held, 0));
        assert_eq!((slc.blocks_at_end, slc.units_at_end), (blocks, held));
        assert_eq!(report.flash.write_amplification, Some(1.0));
    }
}

/// A dynamic cache takes its share of the free blocks, but for those that garbage collection keeps:
/// it shrinks as the device fills up.
#[test]
fn a_dynamic_cache_shrinks_as_the_device_fills_up() {
    for (fill, share, most) in
        [(0, 100, 100), (50, 100, 100), (90, 100, 100), (50, 40, 100), (0, 100, 20), (100, 100, 5)]
    {
        let settings = device(&[
            "state.initial=full",
            &format!("state.fill_percent={}", fill.max(1)),
            &format!("slc.dynamic_percent={share}"),
            &format!("slc.dynamic_most_percent={most}"),
        ]);
        let written = u64::from(settings.exported_units) * fill.max(1) / 100;
        let free = BLOCKS - written.div_ceil(BLOCK);
        let blocks = (free * share / 100).min(most).min(free - KEPT);
        let held = blocks * SLC_BLOCK;
        // What the host writes again is invalid where it was, and takes no block until it is cold.
        let (report, run) = record(&settings, &[], &writes(0, held + 20));
        assert_eq!(before_the_cliff(&run.requests), held, "{fill} % full, {share} %, {most} %");
        assert_eq!(report.slc.expect("a cache").cached_pages, held);
        let cache = settings.slc.expect("a cache");
        assert_eq!(u64::from(cache.most_dynamic(u32::try_from(free).unwrap())), blocks);
    }
}

/// Writes that wait for room in the cache go at the rate of folding: for each block of the cache
/// its programs, a read and a program of each of its pages, and an erase.
#[test]
fn writes_that_wait_go_at_the_rate_of_folding() {
    let settings = device(&["slc.static_percent=4", "slc.when_full=fold"]);
    let held = 4 * SLC_BLOCK;
    let rounds = 20;
    let (report, run) = record(&settings, &[], &writes(0, held + rounds * SLC_BLOCK));
    let ends = ends(&run.requests);
    let program = SLC_PROGRAM + TRANSFER;
    assert_eq!(ends[place(held)], held * program, "time to the cliff");
    let copy = SLC_READ + TRANSFER + PROGRAM + TRANSFER;
    let round = SLC_BLOCK * (program + copy) + SLC_ERASE;
    let last = ends.last().unwrap();
    assert_eq!(last - ends[place(held)], rounds * round, "the rate of folding");
    let slc = report.slc.expect("a cache");
    assert_eq!((slc.direct_pages, slc.folds, slc.folded_units), (0, rounds, rounds * SLC_BLOCK));
    assert_eq!(pages(&report, "programs", "fold"), rounds * SLC_BLOCK);
    assert_eq!(pages(&report, "reads", "fold"), rounds * SLC_BLOCK);
    assert_eq!(pages(&report, "erases", "fold"), rounds);
    let waited: u64 = run.requests.iter().map(|done| done.parts.total()).sum();
    let folded = run.requests.iter().map(|done| done.parts.get(FOLD)).sum::<u64>();
    assert!(folded > 0 && folded < waited, "{folded} of {waited} ns");
    assert_eq!(report.gc.jobs, 0, "folding is no garbage collection");
}

const FOLD: flashyard_sim::metrics::parts::Part = flashyard_sim::metrics::parts::Part::DieFold;

/// In a long enough idle time the cache is folded, and then takes as much as at first; in a shorter
/// one it is not.
#[test]
fn an_idle_time_gives_the_cache_back() {
    let held = 4 * SLC_BLOCK;
    let first = writes(0, held + 8);
    let busy = held * (SLC_PROGRAM + TRANSFER) + 8 * (PROGRAM + TRANSFER);
    let fold = SLC_BLOCK * (SLC_READ + 2 * TRANSFER + PROGRAM) + SLC_ERASE;
    // The cache is folded a second after the last answer. What has begun when the writes come goes
    // on behind them.
    let second = 1_000_000_000;
    let cases = [(second + 5 * fold, 4, 4), (second + fold * 3 / 2, 2, 1), (second - 1_000, 0, 0)];
    for (pause, begun, back) in cases {
        let settings = device(&["slc.static_percent=4"]);
        let again = (0..held + 8)
            .map(|at| request((busy + pause).div_ceil(1_000), RequestOp::Write, 1_000 + at, 1));
        let requests: Vec<_> = first.iter().copied().chain(again).collect();
        let (report, run) = record(&settings, &[], &requests);
        let slc = report.slc.expect("a cache");
        assert_eq!((slc.folds, slc.cached_pages), (begun, held + back * SLC_BLOCK), "{pause} ns");
        if begun == back && back > 0 {
            let (_, after) = run.requests.split_at(first.len());
            assert_eq!(before_the_cliff(after), back * SLC_BLOCK, "{pause} ns");
        }
    }
}

/// A sequential fill that is folded programs each byte twice. Where a share of it is written again
/// before it is folded, that share is programmed once for each write, and never folded.
#[test]
fn a_fill_that_is_folded_is_written_twice() {
    for rewritten in [0, 8, 16, 24] {
        let settings = device(&["slc.static_percent=10", "slc.fold_idle_us=1000"]);
        let held = 10 * SLC_BLOCK - rewritten;
        let mut requests = writes(0, held);
        requests.extend(writes(0, rewritten));
        requests.push(read(10_000_000, 0));
        let (report, _) = record(&settings, &[], &requests);
        let written = held + rewritten;
        assert_eq!(written, 10 * SLC_BLOCK, "the cache is full");
        assert_eq!(pages(&report, "programs", "fold"), held, "what is valid");
        let expected = (written + held) as f64 / written as f64;
        assert_eq!(report.flash.write_amplification, Some(expected));
        let parts = &report.flash.write_amplification_by;
        assert_eq!(parts["host"], Some(1.0));
        assert_eq!(parts["fold"], Some(held as f64 / written as f64));
        assert_eq!(report.slc.expect("a cache").units_at_end, 0, "it is empty");
    }
}

/// Energy is what was counted times the energies of the two kinds of blocks: power x time or, with
/// energies of operations, pages x energy.
#[test]
fn energy_is_counts_times_energies() {
    let energies = [
        "energy.read_pj=1000",
        "energy.program_pj=2000",
        "energy.erase_pj=3000",
        "energy.slc_read_pj=10",
        "energy.slc_program_pj=20",
        "energy.slc_erase_pj=30",
    ];
    let cache = ["slc.static_percent=4", "slc.fold_idle_us=1000"];
    let mut requests = writes(0, 50);
    requests.extend((0..50).map(|lpn| read(23_500, lpn)));
    requests.extend((0..50).map(|lpn| read(10_000_000, lpn)));
    for own in [&energies[..], &[]] {
        let settings = device(&[&cache, own].concat());
        let (report, _) = record(&settings, &[], &requests);
        let slc = report.slc.expect("a cache");
        assert_eq!((slc.cached_pages, slc.direct_pages, slc.folds), (32, 18, 4));
        // 32 of the first reads find their page in the cache, none of the second.
        assert_eq!((slc.read_hits, slc.read_misses), (32, 18 + 50));
        let work = [
            ("array_read", 32 + 32, 68, [10, 1_000], [SLC_READ, READ], 36),
            ("array_program", 32, 18 + 32, [20, 2_000], [SLC_PROGRAM, PROGRAM], 94),
            ("array_erase", 4, 0, [30, 3_000], [SLC_ERASE, ERASE], 352),
        ];
        for (name, cached, others, pj, ns, mw) in work {
            let of = |place: usize| {
                if own.is_empty() { ns[place] * mw } else { pj[place] }
            };
            let expected = cached * of(0) + others * of(1);
            assert_eq!(report.energy_pj.by_resource[name], expected, "{name} {own:?}");
        }
        assert!(report.energy_pj.by_purpose["fold"] > 0);
    }
}

/// Energies that are not given follow from others in the ratio of the times; one that programs
/// three pages at once takes the energy of three.
#[test]
fn energies_of_one_bit_a_cell_follow_from_the_others() {
    let named = ["energy.program_pj=9000", "energy.read_pj=600", "slc.static_percent=4"];
    let energy = device(&named).keys.energy;
    assert_eq!([energy.slc_program_pj, energy.slc_read_pj], [2_000, 200]);
    let energy = device(&[&named[..], &["nand.one_shot=true"]].concat()).keys.energy;
    assert_eq!(energy.slc_program_pj, 6_000);
}

/// A program with one bit a cell writes a page, also where others write the three of a word line.
#[test]
fn one_shot_programs_are_of_pages_in_the_cache() {
    let settings = device(&["slc.static_percent=4", "nand.one_shot=true"]);
    let (report, run) = record(&settings, &[], &writes(0, 60));
    let held = 4 * SLC_BLOCK;
    let ends = ends(&run.requests);
    assert_eq!(ends[place(held)], held * (SLC_PROGRAM + TRANSFER));
    // 28 others, three at a time, of which the last program has one.
    let programs = (60 - held).div_ceil(3);
    assert_eq!(ends[59] - ends[place(held)], programs * (PROGRAM + 3 * TRANSFER));
    let slc = report.slc.expect("a cache");
    assert_eq!((slc.cached_pages, slc.direct_pages), (held, 3 * programs));
    assert_eq!(report.flash.padded_units, 3 * programs - (60 - held));
}

/// A block of the cache that is worn out is a bad block of the report.
#[test]
fn worn_out_blocks_of_the_cache_are_counted() {
    let keys = ["slc.static_percent=4", "slc.when_full=fold", "slc.endurance_cycles=1"];
    let report = unchecked(&device(&keys), &writes(0, 300));
    let folds = report.flash.pages["erases"]["fold"];
    assert!(folds > 0);
    assert_eq!(report.wear.grown_bad_blocks, folds);
}

/// Without a cache nothing is as with one that is never written to: the keys of a cache that is off
/// change nothing.
#[test]
fn a_cache_that_is_off_changes_nothing() {
    let plain = device(&[]);
    let set = device(&["slc.when_full=fold", "slc.dynamic_most_percent=3"]);
    let (report, run) = record(&plain, &[], &writes(0, 300));
    let (other, same) = record(&set, &[], &writes(0, 300));
    assert_eq!(run, same);
    assert_eq!(format!("{report:?}"), format!("{other:?}"));
    assert_eq!(report.slc, None);
    assert!(!report.flash.pages["programs"].contains_key("fold"));
}

/// While a fold may still open a block, and its erase gives none back, neither the journal and
/// checkpoints nor host data take the block that is left to garbage collection.
#[test]
fn folds_leave_garbage_collection_a_block() {
    let small = [
        "geometry.blocks_per_plane=48",
        "geometry.pages_per_block=4",
        "nand.bits_per_cell=2",
        "ftl.over_provisioning_percent=33.3",
    ];
    // Keys, and the time between bursts of 40 writes; 0: all come at once.
    let cases: [(&[&str], u64); 3] = [
        (&["slc.when_full=fold", "power.journal_entries=16"], 0),
        (&["slc.when_full=fold", "power.checkpoint_mib=1"], 0),
        (&["slc.when_full=direct", "slc.fold_idle_us=50"], 45_000),
    ];
    let base = [
        "gc.soft_free_blocks=1",
        "gc.hard_free_blocks=1",
        "gc.reserve_blocks=1",
        "slc.static_percent=10",
    ];
    let (mut failed, mut folds) = (Vec::new(), 0);
    for (keys, gap) in cases {
        let shape = if gap == 0 { &small[..] } else { &[] };
        let settings = device(&[shape, &base, keys].concat());
        let units = u64::from(settings.exported_units);
        for seed in 1..5 {
            let mut random = Random(seed);
            let writes: Vec<_> =
                (0..6_000).map(|at| write(at / 40 * gap, random.below(units))).collect();
            match try_record(&settings, &[], &writes) {
                Ok((report, _)) => folds += report.slc.expect("a cache").folds,
                Err(error) => failed.push(format!("{keys:?}, seed {seed}: {error}")),
            }
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
    assert!(folds > 1_000, "{folds}");
}

/// What a cache does not go with is refused, with a remedy.
#[test]
fn contradictions_are_refused() {
    let cases: [(&[&str], &str); 6] = [
        (&["nand.bits_per_cell=1"], "one bit a cell anyway"),
        (&["nand.bits_per_cell=2", "ftl.scheme=none", "map.store=resident"], "only a page map"),
        (&["nand.bits_per_cell=2", "nand.program_order=any"], "one page after the other"),
        (&["nand.bits_per_cell=2", "gc.start=needed"], "leaves no blocks to fold into"),
        (&["nand.bits_per_cell=2", "gc.erase_after_map=true"], "fold into a reserve"),
        (&["nand.bits_per_cell=2", "slc.static_percent=50"], "leave no room to write"),
    ];
    for (keys, why) in cases {
        let keys = [&["slc.static_percent=4"], keys].concat();
        let error = try_settings(&keys).expect_err("a contradiction");
        assert!(error.contains(why), "{keys:?}: {error}");
    }
}

/// Every initial state has an empty cache of the size that its free blocks give.
#[test]
fn initial_states_have_an_empty_cache() {
    for state in ["fresh", "full", "random", "steady", "aged"] {
        for cache in ["slc.static_percent=6", "slc.dynamic_percent=100"] {
            let rested = ["state.rested=true", &format!("state.initial={state}"), cache];
            let settings = device(&[&rested[..], &["gc.soft_free_blocks=9"]].concat());
            let device = Device::new(&settings);
            let (report, run) = record(&settings, &[], &writes(0, 4));
            drop(device);
            let slc = report.slc.expect("a cache");
            let SlcCache { static_blocks, .. } = settings.slc.expect("a cache");
            assert_eq!(slc.cached_pages + slc.direct_pages, 4);
            if static_blocks > 0 || state == "fresh" {
                assert_eq!(before_the_cliff(&run.requests), 4, "{state} {cache}");
            }
            assert_eq!(u64::from(static_blocks), if cache.contains("static") { 6 } else { 0 });
        }
    }
}

/// A device that is saved with data in its cache and restored goes on as if it had not been.
#[test]
fn a_saved_cache_goes_on() {
    for keys in [
        ["slc.static_percent=4", "slc.when_full=fold"],
        ["slc.dynamic_percent=60", "slc.when_full=direct"],
    ] {
        let settings = device(&[&keys[..], &["slc.fold_idle_us=2000"]].concat());
        let run = |device: &mut Device, requests: &[Request]| {
            let mut requests = requests.iter().copied();
            let stream = crate::common::phases::stream(StreamKeys::default(), &[]);
            let source = Box::new(move || Ok::<_, Infallible>(requests.next()));
            let streams = vec![Stream { source, ..stream }];
            device.run_phase(&PhaseKeys::default(), streams).expect("it fits");
        };
        let (first, second) = (writes(0, 45), writes(20, 300));
        let mut whole = Device::new(&settings);
        whole.check();
        run(&mut whole, &first);
        let bytes = saved(&whole);
        let mut again = restored(&settings, &bytes).expect("it was saved just now");
        again.check();
        run(&mut whole, &second);
        run(&mut again, &second);
        let report = |device: Device| format!("{:?}", device.finish().unwrap());
        assert_eq!(report(whole), report(again), "{keys:?}");
    }
}

/// Random devices with a cache keep every rule of the checker, and fold.
#[test]
fn random_devices_with_a_cache_keep_every_rule() {
    let (mut folds, mut hits, mut collected) = (0, 0, 0);
    for seed in seeds(11_100..11_400) {
        let (settings, requests) = case(Family::Cells, seed);
        let result = std::panic::catch_unwind(|| try_record(&settings, &[], &requests));
        let result = result.unwrap_or_else(|_| panic!("seed {seed}: {:#?}", settings.keys));
        let (report, run) = match result {
            Ok(done) => done,
            Err(SimError::WornOut { .. }) if settings.keys.nand.endurance_cycles > 0 => continue,
            Err(error) => panic!("seed {seed}: {error} {:#?}", settings.keys),
        };
        assert_eq!(run.requests.len(), requests.len(), "seed {seed}: one answer a request");
        let attributed: u64 = run.requests.iter().map(|request| request.energy_pj).sum();
        assert_eq!(attributed, report.energy_pj.attributed, "seed {seed}");
        let slc = report.slc.expect("a cache");
        let is = |done: &&CommandDone, op| (done.purpose, done.op) == (Purpose::Fold, op);
        let erases = run.commands.iter().filter(|done| is(done, Op::Erase)).count() as u64;
        assert_eq!(erases, slc.folds, "seed {seed}: each fold ends with an erase");
        let copied = run.commands.iter().filter(|done| is(done, Op::Program)).count() as u64;
        assert!(copied <= slc.folded_units, "seed {seed}: {copied} of {}", slc.folded_units);
        folds += slc.folds;
        hits += slc.read_hits;
        collected += report.gc.jobs;
    }
    assert!(folds > 1_000 && hits > 1_000 && collected > 500, "{folds} {hits} {collected}");
}

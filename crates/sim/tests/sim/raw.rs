//! Raw operations: devices that translate nothing, limits of what waits for a die, streams that are
//! paced by fetches, and array times with a tail.

use crate::common::phases::{Bench, latency, named, pacing};
use crate::common::{
    Random, read, record, request, restored, saved, seeds, settings, try_record, try_settings,
    write,
};
use crate::generators::devices::{Family, case};
use flashyard_core::command::Op;
use flashyard_core::policy::PolicyName;
use flashyard_core::request::{Request, RequestOp};
use flashyard_core::units::{Span, Time};
use flashyard_sim::config::Settings;
use flashyard_sim::device::{PhaseKeys, SimError};
use flashyard_sim::stream::{Pacing, StreamKeys};

/// Two channels of two dies with 4 blocks of 8 pages of 4 KiB, 10 ns a byte.
fn raw(keys: &[&str]) -> Settings {
    let base = [
        "ftl.scheme=none",
        "map.store=resident",
        "policy.command=fifo",
        "geometry.channels=2",
        "geometry.ways=2",
        "geometry.blocks_per_plane=4",
        "geometry.pages_per_block=8",
        "channel.ps_per_byte=10000",
        "channel.command_ns=300",
    ];
    settings(&[&base, keys].concat())
}

const CHECKED: &str = "ftl.none.order=checked";

/// The erase of a block, by its number on the device.
fn erase(us: u64, block: u64) -> Request {
    request(us, RequestOp::Trim, block * 8, 8)
}

#[test]
fn host_addresses_are_physical_and_all_of_them_are_there() {
    let settings = raw(&[CHECKED]);
    assert_eq!(u64::from(settings.exported_units), settings.geometry.units());
    let requests = [write(0, 32), write(1, 0), read(2_000, 32), erase(4_000, 4), read(12_000, 32)];
    let (report, run) = record(&settings, &[], &requests);
    let seen: Vec<_> = run.commands.iter().map(|c| (c.op, c.die.get(), c.ppn)).collect();
    let expected = [
        (Op::Program, 1, Some(32)),
        (Op::Program, 0, Some(0)),
        (Op::Read, 1, Some(32)),
        (Op::Erase, 1, Some(32)),
        (Op::Read, 1, Some(32)),
    ];
    assert_eq!(seen, expected);
    assert_eq!(report.flash.array_ops["erases"]["host"], 1);
    assert_eq!(report.verdict.unmapped_reads, 1, "the last read finds an erased page");
    assert_eq!((report.gc.jobs, report.wear.erases_max), (0, 1));
    assert_eq!(report.flash.write_amplification, Some(1.0));
}

/// Alone on the device an operation takes its command, its data and the array.
#[test]
fn one_operation_takes_command_data_and_array() {
    let settings = raw(&[]);
    let requests: Vec<_> = (0..40u64)
        .map(|at| match at % 3 {
            0 => read(at * 10_000, at * 7 % 128),
            1 => write(at * 10_000, at * 5 % 128),
            _ => erase(at * 10_000, at % 16),
        })
        .collect();
    for done in record(&settings, &[], &requests).1.requests {
        let array_us = match done.request.op {
            RequestOp::Read => 60,
            RequestOp::Write => 700,
            _ => 5_000,
        };
        let data = if done.request.op == RequestOp::Trim { 0 } else { 4_096 * 10 };
        assert_eq!(latency(&done), 300 + data + array_us * 1_000, "{done:?}");
    }
}

#[test]
fn a_trim_erases_the_blocks_that_lie_wholly_inside_it() {
    let settings = raw(&[]);
    let check = |first: u64, pages: u32, blocks: &[u32]| {
        let (_, run) = record(&settings, &[], &[request(0, RequestOp::Trim, first, pages)]);
        let mut erased: Vec<_> = run.commands.iter().map(|c| c.ppn.unwrap() / 8).collect();
        erased.sort_unstable();
        assert_eq!(erased, blocks, "pages {first} to {}", first + u64::from(pages));
        assert_eq!(run.requests.len(), 1);
    };
    check(8, 8, &[1]);
    check(7, 9, &[1]);
    check(9, 15, &[2]);
    check(9, 8, &[]);
    check(20, 80, &[3, 4, 5, 6, 7, 8, 9, 10, 11]);
}

#[track_caller]
fn broken(settings: &Settings, requests: &[Request], message: &str) {
    let error = try_record(settings, &[], requests).unwrap_err();
    assert!(matches!(error, SimError::BrokenRule { .. }), "{error}");
    assert!(error.to_string().starts_with(message), "{error}");
}

#[test]
fn what_breaks_a_rule_of_nand_is_named_or_ignored() {
    let twice = [write(0, 32), write(0, 33), write(0, 32)];
    let skips = [write(0, 32), write(0, 34)];
    let downwards = [write(0, 34), write(0, 32)];
    let sequential = raw(&[CHECKED]);
    let what = "request 2 programs page 0 of block 0 of die 1, which is not erased";
    broken(&sequential, &twice, what);
    let what = "request 1 programs page 2 of block 0 of die 1, where page 1 comes next";
    broken(&sequential, &skips, what);
    let ascending = raw(&[CHECKED, "nand.program_order=ascending"]);
    record(&ascending, &[], &skips);
    let what = "request 1 programs page 0 of block 0 of die 1, and a later page";
    broken(&ascending, &downwards, what);
    let any = raw(&[CHECKED, "nand.program_order=any"]);
    record(&any, &[], &downwards);
    broken(&any, &twice, "request 2 programs page 0 of block 0 of die 1, which is not erased");
    for requests in [&twice[..], &skips, &downwards] {
        let (report, _) = record(&raw(&[]), &[], requests);
        assert_eq!(report.flash.array_ops["programs"]["host"], requests.len() as u64);
    }
    // An erased block starts again, full or not.
    record(&sequential, &[], &[write(0, 32), write(0, 33), erase(0, 4), write(0, 32)]);
}

/// Reads of what was never programmed: a model of times senses them, with the time of their page.
#[test]
fn reads_of_erased_pages_are_sensed_or_free() {
    let zero = "nand.unmapped_read=zero";
    let types = ["nand.bits_per_cell=2", "nand.read_2_us=90"];
    let read_odd = |keys: &[&str]| {
        let settings = raw(&[&types, keys].concat());
        latency(&record(&settings, &[], &[read(0, 33)]).1.requests[0])
    };
    assert_eq!(read_odd(&[]), 300 + 90_000 + 40_960);
    assert_eq!(read_odd(&[zero]), 300 + 90_000 + 40_960);
    assert_eq!(read_odd(&[CHECKED]), 300 + 90_000 + 40_960);
    assert_eq!(read_odd(&[CHECKED, zero]), 0);
}

#[test]
fn what_makes_no_sense_without_translation_is_refused_with_a_way_out() {
    let check = |key: &str, message: &str| {
        let base = ["ftl.scheme=none", "map.store=resident", "geometry.blocks_per_plane=64"];
        let error = try_settings(&[&base[..], &[key]].concat()).unwrap_err();
        assert!(error.contains(message), "{key}: {error}");
        assert!(error.contains("; set "), "{key}: {error}");
    };
    check("map.store=cmt", "map.store: ftl.scheme = \"none\" has no map");
    check("ftl.mapping_unit_bytes=2048", "ftl.mapping_unit_bytes: ");
    check("ftl.allocation=dynamic", "ftl.allocation: ");
    check("ftl.partial_write=bitmap", "ftl.partial_write: ");
    check("ftl.merge_first=true", "ftl.merge_first: ");
    check("state.initial=full", "state.initial: ");
    check("buffer.bytes=65536", "buffer.bytes: ");
    check("gc.timing=background", "gc.timing: ");
    check("gc.pacing=spare", "gc.pacing: ");
    check("gc.copyback=true", "gc.copyback: ");
    check("gc.restore=true", "gc.restore: ");
    check("wear.static_gap=4", "wear.static_gap: ");
    check("nand.endurance_cycles=9", "nand.endurance_cycles: ");
    check("queue.data_order=lpn", "queue.data_order: ");
    check("queue.slots_scope=die", "queue.slots_scope: ");
    check("host.policy=idle", "host.policy: ");
    let refused = |keys: &[&str], message: &str| {
        let error = try_settings(keys).unwrap_err();
        assert!(error.contains(message), "{error}");
    };
    let depth = "queue.die_depth=4";
    refused(&[depth, "ftl.allocation=dynamic"], "queue.die_depth: with ftl.allocation");
    refused(&[depth, "buffer.bytes=65536"], "queue.die_depth: what a write buffer keeps");
    refused(&["nand.read_max_us=59"], "nand.read_max_us: 59 is below the typical 60 us");
    let both = ["nand.erase_max_us=9000", "nand.spread_percent=10"];
    refused(&both, "nand.erase_max_us: nand.spread_percent spreads the times too");
}

/// typical + min(Exp(0.1 D), D) with D = max - typical: a mean extra of 0.1 D (1 - e^-10).
#[test]
fn times_have_an_exponential_tail_that_ends() {
    let tails = ["nand.read_max_us=1060", "nand.program_max_us=1700", "nand.erase_max_us=6000"];
    let settings = raw(&[&tails[..], &["channel.ps_per_byte=0", "channel.command_ns=0"]].concat());
    let mut random = Random(5);
    let requests: Vec<_> = (0..90_000u64)
        .map(|at| match at % 3 {
            0 => read(at * 10_000, random.below(128)),
            1 => write(at * 10_000, random.below(128)),
            _ => erase(at * 10_000, random.below(16)),
        })
        .collect();
    let run = record(&settings, &[], &requests).1;
    for (op, typical_us) in
        [(RequestOp::Read, 60), (RequestOp::Write, 700), (RequestOp::Trim, 5_000)]
    {
        let of_op = run.requests.iter().filter(|done| done.request.op == op);
        let extras: Vec<_> = of_op.map(|done| latency(done) - typical_us * 1_000).collect();
        let mean = extras.iter().sum::<u64>() as f64 / extras.len() as f64;
        let expected = 100_000.0 * (1.0 - (-10.0f64).exp());
        // The mean of 30,000 draws with a deviation of 100 us: 4 of its deviations.
        assert!((mean - expected).abs() < 2_310.0, "{op:?}: {mean} instead of {expected}");
        assert!(*extras.iter().max().unwrap() <= 1_000_000);
        let long = extras.iter().filter(|extra| **extra > 300_000).count() as f64;
        let share = long / extras.len() as f64;
        assert!((share - (-3.0f64).exp()).abs() < 0.006, "{op:?}: {share} are three means long");
    }
    // The longest is met, not passed: half of the tail is cut off where it is ten times as short.
    let least = raw(&["nand.read_max_us=60.001"]);
    assert!(record(&least, &[], &[read(0, 0)]).1.requests[0].completion <= Time::from_us(200));
}

/// Four may wait. The second stream comes when the first has filled the queue: with one of its own
/// its requests are next, and else the streams take turns at the places that become free.
#[test]
fn streams_that_share_the_queue_of_a_die_wait_for_each_other() {
    for (shared, expected) in [("false", 8), ("true", 10)] {
        let settings = raw(&["queue.die_depth=4", &format!("queue.die_shared={shared}")]);
        let many: Vec<_> = (0..12).map(|page| write(0, page)).collect();
        let few: Vec<_> = (12..15).map(|page| write(1, page)).collect();
        let mut bench = Bench::new(&settings);
        let open = StreamKeys::default();
        let done = bench.run(vec![named("a", open, &many), named("b", open, &few)]);
        let last = done.iter().filter(|done| done.request.stream == 1).map(|d| d.completion).max();
        assert_eq!(last.unwrap().as_ns() / 700_000, expected, "shared: {shared}");
        bench.finish();
    }
}

/// Two waiting for each die at most: the fifth request of the stream waits for die 0, and the one
/// behind it, which goes to an idle die, with it.
#[test]
fn a_full_die_blocks_the_head_of_a_stream() {
    let limited = raw(&["queue.die_depth=2"]);
    let started = |settings: &Settings, requests: &[Request]| {
        let run = record(settings, &[], requests).1;
        run.requests.iter().map(|done| latency(done) / 700_000).collect::<Vec<_>>()
    };
    let requests = [write(0, 0), write(0, 1), write(0, 2), write(0, 3), write(0, 32)];
    assert_eq!(started(&raw(&[]), &requests), [1, 2, 3, 4, 1]);
    // All come at once: two wait while none is served, and the others until a die has begun.
    assert_eq!(started(&limited, &requests), [1, 2, 3, 4, 2]);
    // A request of three pages is larger than the limit and waits until nothing waits.
    let large = [write(0, 0), write(0, 1), request(0, RequestOp::Write, 2, 3), write(0, 32)];
    assert_eq!(started(&limited, &large), [1, 2, 5, 2]);
}

#[test]
fn streams_do_not_block_each_other_at_a_die() {
    let settings = raw(&["queue.die_depth=1"]);
    let fast: Vec<_> = (0..12).map(|page| write(0, page)).collect();
    let slow: Vec<_> = (0..3).map(|page| write(0, 32 + page)).collect();
    let mut bench = Bench::new(&settings);
    let open = StreamKeys::default();
    let done = bench.run(vec![named("a", open, &fast), named("b", open, &slow)]);
    let last = |stream: u16| {
        let of_stream = done.iter().filter(|done| done.request.stream == stream);
        of_stream.map(|done| done.completion.as_ns() / 700_000).max().unwrap()
    };
    assert_eq!((last(0), last(1)), (12, 3), "die 1 goes on while die 0 is full");
    bench.finish();
}

/// Below saturation nothing waits, and requests come as the range says.
#[test]
fn spaced_streams_issue_a_random_gap_after_each_fetch() {
    let keys = StreamKeys {
        gap_min_us: Span::from_ms(1),
        gap_max_us: Span::from_us(1_500),
        burst_from_ms: Span::from_ms(1_000),
        burst_until_ms: Span::from_ms(2_000),
        burst_min_us: Span::from_us(800),
        burst_max_us: Span::from_us(900),
        ..pacing(Pacing::Spaced, 1)
    };
    let requests: Vec<_> = (0..4_000).map(|at| write(0, at % 128)).collect();
    for limit in ["queue.die_depth=0", "queue.die_depth=3"] {
        let mut bench = Bench::new(&raw(&[limit]));
        let done = bench.run(vec![named("a", keys, &requests)]);
        let arrivals: Vec<_> = done.iter().map(|done| done.request.arrival.as_ns()).collect();
        let (mut sum, mut count) = (0, 0);
        for pair in arrivals.windows(2) {
            let gap = pair[1] - pair[0];
            if (1_000_000_000..2_000_000_000).contains(&pair[0]) {
                assert!((800_000..=900_000).contains(&gap), "{pair:?}");
            } else {
                assert!((1_000_000..=1_500_000).contains(&gap), "{pair:?}");
                (sum, count) = (sum + gap, count + 1);
            }
        }
        let mean = sum / count;
        assert!((1_240_000..1_260_000).contains(&mean), "a mean gap of {mean} ns");
        assert!(done.iter().all(|done| latency(done) == 300 + 40_960 + 700_000));
    }
}

/// At saturation one die of one place sets the pace: a request is fetched when the one before
/// begins, and the next arrives a gap later.
#[test]
fn a_blocked_stream_counts_its_gap_from_the_fetch() {
    let gap = 100_000;
    let keys = StreamKeys {
        gap_min_us: Span::from_ns(gap),
        gap_max_us: Span::from_ns(gap),
        ..pacing(Pacing::Spaced, 1)
    };
    let requests: Vec<_> = (0..50).map(|page| write(0, page % 8)).collect();
    let mut bench = Bench::new(&raw(&["queue.die_depth=1"]));
    let done = bench.run(vec![named("a", keys, &requests)]);
    let program = 300 + 40_960 + 700_000;
    // The second waits behind the first, on which the die works; any later one is fetched when the
    // one before begins.
    let fetched = |at: u64| if at < 2 { gap * (at + 1) } else { gap + program * (at - 1) };
    for (at, done) in (0..).zip(&done) {
        let arrived = if at == 0 { gap } else { fetched(at - 1) + gap };
        assert_eq!(done.request.arrival.as_ns(), arrived, "request {at}");
        assert_eq!(done.completion.as_ns(), gap + program * (at + 1));
    }
}

/// Random devices and operations under the checker, in either order.
#[test]
fn random_raw_devices_keep_every_rule() {
    let (mut erases, mut broken, mut fetched_late) = (0, 0, 0);
    for seed in seeds(6_000..6_200) {
        let mut random = Random(seed);
        let settings = random_device(&mut random);
        let geometry = settings.geometry;
        let block = u64::from(geometry.units_per_block());
        let blocks = u64::from(geometry.blocks());
        let keeps = random.below(3) > 0;
        let mut next = vec![0; geometry.blocks() as usize];
        let mut now = 0;
        let gap = random.pick(&[1, 50, 900]);
        let requests: Vec<_> = (0..200 + random.below(400))
            .map(|_| {
                now += random.below(gap);
                let at = random.below(blocks.min(12));
                let used = &mut next[usize::try_from(at).unwrap()];
                let sectors = geometry.unit_sectors() / 8;
                match random.below(8) {
                    0 => {
                        *used = 0;
                        let pages = u32::try_from(block).unwrap() * sectors;
                        request(now, RequestOp::Trim, at * block * u64::from(sectors), pages)
                    }
                    1..4 if !keeps || *used < block => {
                        let page = if keeps { *used } else { random.below(block) };
                        *used += 1;
                        let first = (at * block + page) * u64::from(sectors);
                        request(now, RequestOp::Write, first, sectors)
                    }
                    4 => request(now, RequestOp::Flush, 0, 1),
                    _ => {
                        let first = random.below(blocks * block - 3) * u64::from(sectors);
                        let pages = 1 + u32::try_from(random.below(3)).unwrap();
                        request(now, RequestOp::Read, first, pages * sectors)
                    }
                }
            })
            .map(|request| match request.op {
                RequestOp::Flush => request.over(request.first_sector, 0),
                _ => request,
            })
            .collect();
        let result = std::panic::catch_unwind(|| try_record(&settings, &[], &requests));
        match result.unwrap_or_else(|_| panic!("seed {seed}: {:#?}", settings.keys)) {
            Ok((report, run)) => {
                assert_eq!(run.requests.len(), requests.len(), "seed {seed}");
                let energy: u64 = run.requests.iter().map(|request| request.energy_pj).sum();
                assert_eq!(energy, report.energy_pj.attributed, "seed {seed}");
                erases += report.flash.array_ops["erases"]["host"];
                fetched_late += u64::from(settings.keys.queue.die_depth > 0);
            }
            Err(SimError::BrokenRule { .. }) => broken += 1,
            Err(error) => panic!("seed {seed}: {error}"),
        }
    }
    assert!(erases > 1_000 && broken > 10 && fetched_late > 30, "{erases} {broken} {fetched_late}");
}

fn random_device(random: &mut Random) -> Settings {
    let drawn = [
        ("geometry.channels", &["1", "2"][..]),
        ("geometry.ways", &["1", "2", "3"]),
        ("geometry.planes", &["1", "1", "2"]),
        ("geometry.blocks_per_plane", &["4", "9"]),
        ("geometry.pages_per_block", &["4", "8", "16"]),
        ("geometry.page_bytes", &["4096", "16384"]),
        ("nand.bits_per_cell", &["1", "2"]),
        ("nand.multi_plane", &["none", "same_page", "any"]),
        ("nand.cache_read", &["false", "true"]),
        ("nand.program_suspends", &["0", "0", "2"]),
        ("nand.erase_suspends", &["0", "0", "2"]),
        ("nand.program_max_us", &["0", "0", "900"]),
        ("nand.unmapped_read", &["array", "zero"]),
        ("nand.program_order", &["sequential", "ascending", "any"]),
        ("channel.ps_per_byte", &["0", "10000"]),
        ("channel.arbitration", &["commands_first", "in_order"]),
        ("queue.depth", &["4", "256"]),
        ("queue.die_depth", &["0", "1", "3"]),
        ("interface.queue_depth", &["0", "0", "2"]),
        ("interface.link_latency_ns", &["0", "3000"]),
        ("energy.max_active_dies", &["0", "0", "1"]),
        ("ftl.none.order", &["ignored", "checked"]),
        ("policy.command", PolicyName::WORDS),
    ];
    let draw = |(key, words): &(&str, &[&str])| format!("{key}={}", random.pick(words));
    let mut keys: Vec<_> = drawn.iter().map(draw).collect();
    keys.extend(["ftl.scheme=none".to_string(), "map.store=resident".to_string()]);
    settings(&keys)
}

/// A device that was saved between phases goes on as if it had not been.
#[test]
fn a_raw_device_is_saved_and_restored() {
    let settings = raw(&[CHECKED, "nand.program_max_us=900"]);
    let first: Vec<_> = (0..6).map(|page| write(0, page)).collect();
    let second: Vec<_> = (6..8).map(|page| write(9_000, page)).chain([read(20_000, 3)]).collect();
    let run = |requests: &[Request], bench: &mut Bench| {
        let done = bench.run(vec![named("a", StreamKeys::default(), requests)]);
        done.iter().map(|done| done.completion).collect::<Vec<_>>()
    };
    let mut bench = Bench::new(&settings);
    run(&first, &mut bench);
    let bytes = saved(&bench.device);
    let mut again = Bench::of(restored(&settings, &bytes).unwrap());
    assert_eq!(run(&second, &mut bench), run(&second, &mut again));
    let mut again = Bench::of(restored(&settings, &bytes).unwrap());
    let stream = vec![named("a", StreamKeys::default(), &first[..1])];
    let error = again.try_phase(&PhaseKeys::default(), stream).unwrap_err();
    assert!(matches!(error, SimError::BrokenRule { page: 0, .. }), "{error}");
}

/// A limit at dies holds on devices of every kind: nothing is lost, and nothing waits for ever.
#[test]
fn limits_at_dies_go_with_every_device_that_takes_them() {
    let mut ran = 0;
    for seed in seeds(7_000..7_120) {
        let family =
            [Family::Any, Family::LogBlocks, Family::Cached][usize::try_from(seed % 3).unwrap()];
        let (settings, requests) = case(family, seed);
        let mut keys = settings.keys;
        keys.queue.die_depth = 1 + seed % 4;
        let Ok(settings) = Settings::new(keys) else { continue };
        let result = std::panic::catch_unwind(|| try_record(&settings, &[], &requests));
        match result.unwrap_or_else(|_| panic!("seed {seed}: {:#?}", settings.keys)) {
            Ok((_, run)) => {
                assert_eq!(run.requests.len(), requests.len(), "seed {seed}");
                ran += 1;
            }
            Err(SimError::NoReserve { .. } | SimError::NoRoom { .. }) => {}
            Err(error) => panic!("seed {seed}: {error}"),
        }
    }
    assert!(ran > 15, "{ran} devices");
}

//! Read retry: what sensing pages again takes, to the nanosecond and to the picojoule, how often it
//! happens, and that nothing else changes.

use crate::common::phases::{Bench, device, latency, pacing, stream};
use crate::common::{
    Random, Recorded, collecting, read, record, request, restored, saved, seeds, settings,
    try_record, try_settings, write,
};
use crate::generators::devices::{Family, case};
use flashyard_core::command::{Op, Purpose};
use flashyard_core::quantity::Ppm;
use flashyard_core::request::{Request, RequestOp};
use flashyard_core::units::Span;
use flashyard_sim::config::Settings;
use flashyard_sim::device::Device;
use flashyard_sim::metrics::parts::Part;
use flashyard_sim::stream::Pacing;
use std::convert::Infallible;

/// tR, a page on the channel, and the step before a further sense.
const R: u64 = 100_000;
const PAGE: u64 = 64_000;
const STEP: u64 = 7_000;

/// A full device of one die of which every page is sensed again, three times.
const THREE: &[&str] = &[
    "state.initial=full",
    "retry.chance_percent=100",
    "retry.again_percent=100",
    "retry.most=3",
    "retry.step_us=7",
];

fn with<'a>(first: &[&'a str], rest: &[&'a str]) -> Vec<&'a str> {
    [first, rest].concat()
}

/// The draws of read retry, computed apart from the device: splitmix64 of a count.
struct Draws {
    seed: u64,
    count: u64,
}

impl Draws {
    fn new(seed: u64) -> Self {
        Self { seed: Random(0x52D4_3C90_91E7_6A3B ^ seed.wrapping_mul(GAMMA)).mixed(), count: 0 }
    }

    /// Senses after the first one at these chances, of at most `most`.
    fn senses(&mut self, percent: u64, again: u64, most: u64) -> u64 {
        let mut happens = |percent: u64| {
            self.count += 1;
            let number = Random(self.seed ^ self.count.wrapping_mul(GAMMA)).mixed();
            (u128::from(number) * 1_000_000) >> 64 < u128::from(percent * 10_000)
        };
        let mut senses = 0;
        if happens(percent) {
            senses = 1;
            while senses < most && happens(again) {
                senses += 1;
            }
        }
        senses
    }
}

const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

impl Random {
    fn mixed(self) -> u64 {
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

/// At every precision of the bus, three further senses take three times tR and a step, which are
/// the part `retry` of the request and nothing else, and the energy of three senses.
#[test]
fn certain_retries_take_their_senses_and_steps_and_no_more() {
    for precision in ["command", "phases", "requests"] {
        let bus = format!("bus.precision={precision}");
        let one = |keys: &[&str]| {
            let (report, run) = record(&device(&with(keys, &[&bus])), &[], &[read(0, 5)]);
            (run.requests[0], report)
        };
        let (plain, before) = one(&["state.initial=full"]);
        let (retried, after) = one(THREE);
        assert_eq!(latency(&retried) - latency(&plain), 3 * (R + STEP), "{precision}");
        let mut parts = retried.parts;
        assert_eq!(parts.get(Part::Retry), 3 * (R + STEP), "{precision}");
        parts.take(Part::Retry, 3 * (R + STEP));
        assert_eq!(parts, plain.parts, "{precision}");
        // 36 mW while the array senses.
        assert_eq!(retried.energy_pj - plain.energy_pj, 3 * R * 36, "{precision}");
        let array =
            |report: &flashyard_sim::report::Report| report.energy_pj.by_resource["array_read"];
        assert_eq!(array(&after), 4 * array(&before), "{precision}");
        assert_eq!((before.flash.retries, before.flash.retried_reads), (None, None));
        assert_eq!(after.flash.retries.unwrap()["host"], 3);
        assert_eq!(after.flash.retried_reads, Some(1));
        let given = |keys: &[&str]| one(&with(keys, &["energy.read_pj=5000000"])).0.energy_pj;
        let difference = given(THREE) - given(&["state.initial=full"]);
        assert_eq!(difference, 15_000_000, "{precision}");
    }
}

/// Mean and energy of reads one at a time: the sum over the draws exactly, and the closed form
/// p (1 - q^N) / (1 - q) of a geometric number within four deviations.
#[test]
fn mean_latency_and_energy_follow_the_chances() {
    const COUNT: u64 = 20_000;
    let keys = [
        "state.initial=full",
        "retry.chance_percent=30",
        "retry.again_percent=60",
        "retry.most=5",
        "retry.step_us=7",
        "retry.seed=9",
    ];
    let requests: Vec<_> = (0..COUNT).map(|at| read(2_000 * at, at % 1_000)).collect();
    let (report, run) = record(&device(&keys), &[], &requests);
    let mut draws = Draws::new(9);
    let mut senses = 0;
    for done in &run.requests {
        let here = draws.senses(30, 60, 5);
        assert_eq!(latency(done), R + PAGE + here * (R + STEP), "read {}", done.order);
        assert_eq!(done.energy_pj, 36 * R * (1 + here) + 20 * PAGE, "read {}", done.order);
        senses += here;
    }
    assert_eq!(report.flash.retries.unwrap()["host"], senses);
    let (p, q) = (0.3, 0.6_f64);
    let mean = p * (1.0 - q.powi(5)) / (1.0 - q);
    // The second moment of the number of senses, term by term.
    let square: f64 = (1..5).map(|k| f64::from(k * k) * p * q.powi(k - 1) * (1.0 - q)).sum();
    let variance = square + 25.0 * p * q.powi(4) - mean * mean;
    let off = senses as f64 / COUNT as f64 - mean;
    assert!(off.abs() < 4.0 * (variance / COUNT as f64).sqrt(), "{off} off {mean}");
}

/// Writes and reads of a device that collects garbage.
fn mixed(settings: &Settings, count: u64) -> Vec<Request> {
    let mut random = Random(3);
    let units = u64::from(settings.exported_units);
    (0..count)
        .map(|at| {
            let op = random.pick(&[RequestOp::Read, RequestOp::Write, RequestOp::Write]);
            request(250 * at, op, random.below(units), 1)
        })
        .collect()
}

/// Where the chances are 0, every event and every figure is that of a device without the section.
#[test]
fn no_chance_is_no_retry() {
    let run = |keys: &[&str]| {
        let settings = collecting(keys);
        let (report, run) = record(&settings, &[], &mixed(&settings, 2_000));
        (format!("{report:?}"), run)
    };
    let others = [
        "retry.age_2_cycles=3",
        "retry.again_percent=90",
        "retry.most=7",
        "retry.step_us=20",
        "retry.cycles_before=500",
        "retry.seed=5",
    ];
    let (plain, off) = (run(&[]), run(&others));
    assert!(plain == off);
    assert!(run(&["retry.chance_percent=1"]) != plain);
}

/// A read that waits for a die which senses again waits for a read, as for any other.
#[test]
fn others_wait_for_a_read_that_takes_longer() {
    let settings = device(&with(THREE, &["channel.ps_per_byte=0"]));
    let done = record(&settings, &[], &[read(0, 5), read(50, 900)]).1.requests;
    assert_eq!(done[1].parts.get(Part::DieRead), 3 * (R + STEP) + 50_000);
    assert_eq!(done[1].parts.get(Part::Retry), 3 * (R + STEP));
    let write = record(&settings, &[], &[write(0, 5), read(50, 900)]).1.requests;
    assert_eq!(write[0].parts.get(Part::Retry), 0, "programs have none");
    assert_eq!(write[1].parts.get(Part::DieProgram), 950_000);
}

/// A fetch of a map page is sensed again too; that is own map time, as its first sense is.
#[test]
fn map_pages_are_sensed_again_in_the_own_map_time() {
    let keys = with(THREE, &["channel.ps_per_byte=0", "map.store=line_cache"]);
    let (report, run) = record(&device(&keys), &[], &[read(0, 5)]);
    let parts = run.requests[0].parts;
    assert_eq!(parts.get(Part::OwnMap), R + 3 * (R + STEP));
    assert_eq!((parts.get(Part::Array), parts.get(Part::Retry)), (R, 3 * (R + STEP)));
    let retries = report.flash.retries.unwrap();
    assert_eq!((retries["host"], retries["map_fetch"]), (3, 3));
}

/// Pages that were never written hold nothing to be decoded.
#[test]
fn unwritten_pages_are_sensed_once() {
    let fresh = device(&with(THREE, &["state.initial=fresh"]));
    let done = record(&fresh, &[], &[read(0, 5), write(5_000, 6), read(10_000, 6)]).1.requests;
    assert_eq!(latency(&done[0]), R + PAGE);
    assert_eq!(latency(&done[2]), R + PAGE + 3 * (R + STEP));
}

/// An operation on two planes senses both as often as the page that is decoded last needs; it is
/// one that is retried, and two pages that are.
#[test]
fn an_operation_on_planes_takes_as_long_as_its_worst_page() {
    let mut different = 0;
    for seed in 1..40 {
        let seed_key = format!("retry.seed={seed}");
        let keys = [
            "state.initial=full",
            "retry.chance_percent=50",
            "retry.again_percent=50",
            "retry.most=4",
            "retry.step_us=7",
            "geometry.planes=2",
            "nand.multi_plane=any",
            "ftl.stripe_order=pcwd",
            &seed_key,
        ];
        let requests = [read(0, 40), read(10, 0), read(10, 1)];
        let (report, run) = record(&device(&keys), &[], &requests);
        let mut draws = Draws::new(seed);
        let [first, one, other] = [0; 3].map(|_| draws.senses(50, 50, 4));
        let worst = one.max(other);
        different += u64::from(one != other);
        let begins = R + PAGE + first * (R + STEP);
        for done in &run.requests[1..] {
            let over = begins + R + 2 * PAGE + worst * (R + STEP);
            assert_eq!(done.completion.as_ns(), over, "seed {seed}");
            assert_eq!(done.parts.get(Part::Retry), worst * (R + STEP), "seed {seed}");
        }
        let operations = u64::from(first > 0) + u64::from(worst > 0);
        assert_eq!(report.flash.retried_reads, Some(operations), "seed {seed}");
        assert_eq!(report.flash.retries.unwrap()["host"], first + 2 * worst, "seed {seed}");
    }
    assert!(different > 10, "the pages differ in {different} of 39 cases");
}

/// A part of a page is sensed again as a part; the data in the page register leave while the array
/// senses the next page again.
#[test]
fn each_sense_takes_as_long_as_the_first() {
    let parts =
        ["geometry.page_bytes=16384", "ftl.mapping_unit_bytes=4096", "nand.read_part_us=45"];
    let part = record(&device(&with(THREE, &parts)), &[], &[read(0, 5)]).1.requests[0];
    assert_eq!(latency(&part), 45_000 + PAGE + 3 * (45_000 + STEP));
    let spread = with(THREE, &["nand.spread_percent=50"]);
    let done = record(&device(&spread), &[], &[read(0, 5)]).1.requests[0];
    assert_eq!(done.parts.get(Part::Retry), 3 * (done.parts.get(Part::Array) + STEP));
    let ahead = with(THREE, &["nand.cache_read=true"]);
    let both = record(&device(&ahead), &[], &[read(0, 5), read(0, 6)]).1.requests;
    assert_eq!(both[1].completion.as_ns(), 2 * (R + 3 * (R + STEP)) + PAGE);
}

/// Of a device whose blocks are decoded until their first erase, exactly the reads of blocks that
/// were erased before are sensed again.
#[test]
fn blocks_that_were_erased_more_often_retry_more() {
    let rows = ["retry.age_2_cycles=1", "retry.chance_2_percent=100"];
    let settings = collecting(&rows);
    let requests = mixed(&settings, 6_000);
    let (report, run) = record(&settings, &[], &requests);
    let block = |ppn: u32| ppn / settings.geometry.units_per_block();
    let mut erased = std::collections::BTreeMap::new();
    for done in run.commands.iter().filter(|done| done.op == Op::Erase) {
        erased.entry(block(done.ppn.unwrap())).or_insert(done.end);
    }
    let mut seen = [0; 2];
    for done in run.commands.iter().filter(|done| done.op == Op::Read) {
        let Some(ppn) = done.ppn else { continue };
        let is_old = erased.get(&block(ppn)).is_some_and(|&at| at <= done.start);
        assert_eq!(done.retries > 0, is_old, "{done:?}");
        seen[usize::from(is_old)] += 1;
    }
    assert!(seen.iter().all(|&count| count > 300), "{seen:?}");
    let retries = report.flash.retries.unwrap();
    assert!(retries["gc"] > 0 && retries["host"] > 0, "{retries:?}");
    // Half of the way between two rows is half of the chance, without an erase.
    let reads: Vec<_> = (0..10_000).map(|at| read(2_000 * at, at % 1_000)).collect();
    let shares = [0, 500, 1_000, 9_000].map(|before| {
        let keys = [
            "state.initial=full",
            "retry.age_2_cycles=1000",
            "retry.chance_2_percent=20",
            &format!("retry.cycles_before={before}"),
        ];
        record(&device(&keys), &[], &reads).0.flash.retried_reads.unwrap()
    });
    // Binomial: four deviations of 30 and of 40.
    assert_eq!((shares[0], shares[2]), (0, shares[3]));
    assert!(shares[1].abs_diff(1_000) < 120 && shares[2].abs_diff(2_000) < 160, "{shares:?}");
}

/// Saved between two phases and restored, the device draws what it would have drawn.
#[test]
fn a_restored_device_goes_on_with_its_draws() {
    let keys = ["retry.chance_percent=40", "metrics.bin_ms=3"];
    let settings = collecting(&keys);
    let requests = mixed(&settings, 1_500);
    let phase = |bench: &mut Bench| bench.run(vec![stream(pacing(Pacing::Closed, 4), &requests)]);
    let mut whole = Bench::new(&settings);
    phase(&mut whole);
    let mut again = Bench::of(restored(&settings, &saved(&whole.device)).unwrap());
    assert_eq!(phase(&mut whole), phase(&mut again));
    assert!(saved(&whole.device) == saved(&again.device));
    let (expected, found) = (whole.finish(), again.finish());
    assert!(expected.flash.retried_reads > Some(500));
    assert_eq!(format!("{found:?}"), format!("{expected:?}"));
}

/// A device that nobody watches takes shorter ways; its report is that of one that is watched.
#[test]
fn nobody_has_to_watch() {
    let keys = ["retry.chance_percent=40", "channel.ps_per_byte=2500"];
    let settings = collecting(&keys);
    let requests = mixed(&settings, 3_000);
    let (watched, _) = record(&settings, &[], &requests);
    let mut left = requests.iter().copied();
    let alone = Device::new(&settings).run(|| Ok::<_, Infallible>(left.next()));
    assert!(watched.flash.retried_reads > Some(500));
    assert_eq!(format!("{:?}", alone.unwrap()), format!("{watched:?}"));
}

/// The retries of requests of one page are those of their commands, each a sense and a step; energy
/// adds up by request, in all and over time.
fn check_ledger(settings: &Settings, run: &Recorded, context: &str) -> u64 {
    let mut sum = 0;
    let keys = &settings.keys;
    for done in run.requests.iter().filter(|done| done.pages == 1) {
        let parts = &done.parts;
        let latency = done.completion.since(done.request.arrival).as_ns();
        assert_eq!(parts.total(), latency, "{context}: {done:?}");
        let own = |name: &&flashyard_sim::observe::CommandDone| {
            name.command.request == Some(done.order) && matches!(name.command.stage, "DR" | "DRo")
        };
        let senses: u64 = run.commands.iter().filter(own).map(|own| u64::from(own.retries)).sum();
        let retry = parts.get(Part::Retry);
        sum += retry;
        // A page of a device without random times and types of pages takes one time.
        let one = (keys.nand.read_us + keys.retry.step_us).as_ns();
        let even = keys.nand.bits_per_cell == 1 && !keys.nand.has_random_times();
        if even && keys.nand.read_part_us.is_zero() {
            assert_eq!(retry, senses * one, "{context}: {done:?}");
        } else {
            assert_eq!(retry > 0, senses > 0, "{context}: {done:?}");
        }
    }
    sum
}

/// All kinds of devices under the checker, with read retry.
#[test]
fn random_devices_with_retries_keep_every_rule() {
    let families = [
        Family::Any,
        Family::Cached,
        Family::LogBlocks,
        Family::Bus,
        Family::Firmware,
        Family::Superblocks,
        Family::Joined,
        Family::Powered,
    ];
    let (mut retried, mut by_purpose) = (0, [0; Purpose::ALL.len()]);
    for seed in seeds(7_000..7_240) {
        let mut random = Random(seed);
        let family = random.pick(&families);
        let (settings, requests) = case(family, seed);
        let mut keys = settings.keys;
        keys.retry.chance_percent = random.pick(&[Ppm::from_percent(5), Ppm::from_percent(60)]);
        keys.retry.age_2_cycles = random.pick(&[0, 2]);
        if keys.retry.age_2_cycles > 0 {
            keys.retry.chance_2_percent = Ppm::ALL;
        }
        keys.retry.most = random.pick(&[1, 4]);
        keys.retry.step_us = random.pick(&[Span::ZERO, Span::from_us(33)]);
        let settings = Settings::new(keys).unwrap_or_else(|error| panic!("{error}"));
        let context = format!("seed {seed}, {family:?}");
        let result = std::panic::catch_unwind(|| try_record(&settings, &[], &requests));
        let Ok((report, run)) =
            result.unwrap_or_else(|_| panic!("{context}: {:#?}", settings.keys))
        else {
            continue;
        };
        assert_eq!(run.requests.len(), requests.len(), "{context}");
        retried += check_ledger(&settings, &run, &context);
        let attributed: u64 = run.requests.iter().map(|request| request.energy_pj).sum();
        assert_eq!(attributed, report.energy_pj.attributed, "{context}");
        if let Some(series) = &report.series {
            let bins: u64 = series.bins.iter().map(|bin| bin.energy_pj).sum();
            assert_eq!(bins, report.energy_pj.total, "{context}: over time");
        }
        let counts = report.flash.retries.unwrap();
        for (sum, purpose) in by_purpose.iter_mut().zip(Purpose::ALL) {
            *sum += counts.get(purpose.name()).copied().unwrap_or(0);
        }
    }
    assert!(retried > 150_000_000, "{retried} ns");
    let seen = by_purpose.iter().filter(|&&count| count > 100).count();
    assert!(seen >= 5, "{by_purpose:?}");
}

#[test]
fn tables_that_cannot_be_are_refused() {
    let why = |keys: &[&str]| try_settings(keys).unwrap_err();
    let no_row = why(&["retry.chance_3_percent=5"]);
    assert!(no_row.contains("no block has this chance"), "{no_row}");
    let falls = why(&["retry.age_2_cycles=9", "retry.age_4_cycles=9"]);
    assert!(falls.contains("9 is not above the 9 of a row before it"), "{falls}");
    settings(&["retry.age_3_cycles=9", "retry.chance_3_percent=5"]);
}

//! A disk: its times against closed forms, its data under the checker, its energy.

use crate::common::phases::{latency, pacing, stream};
use crate::common::samples::Samples;
use crate::common::{Random, Recorded, Recorder, seeds, settings, try_settings};
use crate::generators::devices::{Family, case};
use flashyard_core::request::{Flags, Request, RequestOp};
use flashyard_core::units::{Span, Time};
use flashyard_sim::config::{DiskKeys, Settings};
use flashyard_sim::device::PhaseKeys;
use flashyard_sim::drive::Drive;
use flashyard_sim::metrics::parts::Part;
use flashyard_sim::observe::{RequestDone, Shared};
use flashyard_sim::report::Report;
use flashyard_sim::stream::{Pacing, StreamKeys};

/// A revolution of 7,200 rpm in nanoseconds.
const REVOLUTION: u64 = 8_333_333;

/// One zone, no cache: what is left is the arm and the platters.
const BARE: [&str; 5] = [
    "device.kind=disk",
    "disk.zones=1",
    "disk.segments=0",
    "disk.write_cache_bytes=0",
    "disk.overhead_us=50",
];

fn bare(keys: &[&str]) -> Settings {
    settings(&[&BARE, keys].concat())
}

/// Sectors of a track of the outer zone.
fn track(keys: &DiskKeys) -> u64 {
    keys.outer_mb_per_s.thousandths() * 1_000 * REVOLUTION / 1_000_000_000 / 512
}

fn request(op: RequestOp, first_sector: u64, sectors: u32) -> Request {
    let arrival = Time::ZERO;
    Request::new(op, first_sector, sectors).at(arrival)
}

/// One phase under the checker: the report, and the requests in the order of their answers.
fn run(settings: &Settings, keys: StreamKeys, requests: &[Request]) -> (Report, Vec<RequestDone>) {
    let (report, done, _) = metered(settings, keys, requests);
    (report, done)
}

/// The same with the samples of the power meter.
fn metered(
    settings: &Settings,
    keys: StreamKeys,
    requests: &[Request],
) -> (Report, Vec<RequestDone>, Samples) {
    let samples = Samples::default();
    let mut disk = Drive::new(settings);
    disk.check();
    let recorded = Shared::new(Recorded::default());
    disk.observe(Box::new(Recorder(recorded.clone())));
    disk.observe(Box::new(samples.clone()));
    disk.run_phase(&PhaseKeys::default(), vec![stream(keys, requests)]).unwrap();
    let report = disk.finish().unwrap();
    let done = std::mem::take(&mut recorded.get().requests);
    (report, done, samples)
}

/// A closed loop of this depth.
fn closed(settings: &Settings, depth: u64, requests: &[Request]) -> (Report, Vec<RequestDone>) {
    run(settings, pacing(Pacing::Closed, depth), requests)
}

/// Requests of so many sectors in a row.
fn in_a_row(op: RequestOp, first: u64, sectors: u32, count: u64) -> Vec<Request> {
    (0..count).map(|place| request(op, first + place * u64::from(sectors), sectors)).collect()
}

/// Where the next request is always known, the head transfers all the time: bytes / rate, and one
/// revolution at most until the first sector comes by.
#[test]
fn sequential_transfers_have_the_rate_of_their_zone() {
    for (first, rate) in [(0, 80e6), (300_000_000, 40e6)] {
        for op in [RequestOp::Read, RequestOp::Write] {
            let disk = settings(&["device.kind=disk", "disk.zones=16", "disk.write_cache_bytes=0"]);
            let requests = in_a_row(op, first, 256, 1_000);
            let (report, _) = closed(&disk, 8, &requests);
            let least = 256_000.0 * 512.0 / rate * 1e9;
            let all = report.throughput.makespan_ns as f64;
            // Sectors of a track are whole: their number is rounded down by less than a thousandth.
            let most = least * 1.001 + 2.0 * REVOLUTION as f64 + 22e6;
            assert!((least..most).contains(&all), "{op:?} at {first}: {all}, {least} to {most}");
        }
    }
}

/// Writes larger than the write cache come at the rate of the platters, whatever the link could do:
/// all but what the cache holds is there when the last one is answered.
#[test]
fn writes_larger_than_the_cache_have_the_rate_of_the_platters() {
    let keys = ["device.kind=disk", "disk.zones=16", "disk.write_cache_bytes=131072"];
    for depth in [1, 4] {
        let requests = in_a_row(RequestOp::Write, 0, 16_384, 20);
        let (report, done) = closed(&settings(&keys), depth, &requests);
        let all = report.throughput.makespan_ns as f64;
        let least = (20.0 * 16_384.0 * 512.0 - 131_072.0) / 80e6 * 1e9;
        // A revolution for each request may pass, and a seek at the start.
        let most = least * 1.001 + 22.0 * REVOLUTION as f64 + 22e6;
        assert!((least..most).contains(&all), "depth {depth}: {all}, {least} to {most}");
        assert_eq!(done.len(), 20);
    }
}

/// The link carries what the head reads at the same time: behind a long read a sector is left, or,
/// where the link is slower, what it could not carry by then.
#[test]
fn the_link_carries_what_the_head_reads() {
    let read = [request(RequestOp::Read, 0, 4_096)];
    let with = |ps: u64| {
        let disk = bare(&["disk.rotation=mean", &format!("interface.link_ps_per_byte={ps}")]);
        closed(&disk, 1, &read).1[0].parts
    };
    let fast = with(3_333);
    assert_eq!(fast.get(Part::Link), (512_u64 * 3_333).div_ceil(1_000));
    let slow = with(50_000);
    let crossing = 4_096 * 512 * 50;
    let both = slow.get(Part::Transfer) + slow.get(Part::Link);
    assert!(both.abs_diff(crossing) <= 512 * 50, "{both}, {crossing}");
}

/// Overhead, the mean of all seeks, half a revolution, eight sectors.
#[test]
fn random_reads_take_the_mean_seek_and_half_a_revolution() {
    let disk = bare(&["disk.overhead_us=500"]);
    let keys = disk.keys.disk;
    let mut random = Random(3);
    let places = disk.capacity_sectors() / 8;
    let read = |_| request(RequestOp::Read, random.below(places) * 8, 8);
    let requests: Vec<_> = (0..6_000).map(read).collect();
    let (report, _) = closed(&disk, 1, &requests);
    let transfer = 8 * REVOLUTION / track(&keys);
    let expected = 500_000 + 12_000_000 + REVOLUTION / 2 + transfer;
    let mean = report.latency_ns["read"].mean.unwrap();
    // Seeks have a standard deviation of about 4.9 ms, waits of 2.4 ms: 0.07 ms of 6,000.
    assert!((mean - expected as f64).abs() < 0.3e6, "{mean} ns, expected {expected}");
}

/// To the next cylinder, over all cylinders, and nowhere; each with half a revolution.
#[test]
fn seeks_take_the_times_of_the_keys() {
    let disk = bare(&["disk.rotation=mean"]);
    let cylinder = track(&disk.keys.disk) * disk.keys.disk.heads;
    let last = disk.capacity_sectors() - 1;
    let places = [8, cylinder, cylinder + 3, 0, last];
    let requests = places.map(|first| request(RequestOp::Read, first, 1));
    let (_, done) = closed(&disk, 1, &requests);
    let seeks: Vec<_> =
        done.iter().map(|done| done.parts.get(Part::Array) - REVOLUTION / 2).collect();
    assert_eq!(seeks[..4], [0, 2_000_000, 0, 2_000_000]);
    assert!(seeks[4].abs_diff(22_000_000) < 10, "{}", seeks[4]);
}

/// A sector that has just passed comes by a revolution later, however long the command takes.
#[test]
fn the_platters_do_not_wait() {
    for overhead in ["disk.overhead_us=1", "disk.overhead_us=3000"] {
        let disk = bare(&[overhead]);
        let (_, done) = closed(&disk, 1, &[request(RequestOp::Read, 700, 8); 20]);
        let ends: Vec<_> = done.iter().map(|done| done.completion.as_ns()).collect();
        assert!(ends.windows(2).all(|pair| pair[1] - pair[0] == REVOLUTION), "{ends:?}");
    }
}

/// One read at a time: without reading ahead each waits for a revolution, with it the rate is that
/// of the platters.
#[test]
fn reading_ahead_keeps_up_with_the_platters() {
    let requests = in_a_row(RequestOp::Read, 0, 8, 4_000);
    let keys = bare(&[]).keys.disk;
    let passing = 32_000 * REVOLUTION / track(&keys);
    let (bare_report, _) = closed(&bare(&[]), 1, &requests);
    // The first sector of each has just passed when the command is known.
    let late = bare_report.throughput.makespan_ns;
    assert!(late.abs_diff(4_000 * REVOLUTION + passing) < 4_000, "{late}, {passing}");
    // The controller takes 20 us a read, which is less than 8 sectors take to pass.
    let ahead = bare(&["disk.segments=4", "disk.overhead_us=20"]);
    let (report, _) = closed(&ahead, 1, &requests);
    let all = report.throughput.makespan_ns;
    assert!((passing..passing + 2 * REVOLUTION).contains(&all), "{all}, {passing}");
    assert_eq!(report.buffer.read_hits + report.buffer.read_misses, 4_000);
}

#[test]
fn each_order_serves_what_it_says() {
    let mut random = Random(11);
    let requests: Vec<_> =
        (0..200).map(|_| request(RequestOp::Read, random.below(39_000_000) * 8, 8)).collect();
    let orders = ["fifo", "shortest_seek", "elevator", "shortest_positioning"];
    let found = orders.map(|order| {
        let disk = bare(&[&format!("disk.order={order}"), "disk.overhead_us=1"]);
        run(&disk, StreamKeys::default(), &requests)
    });
    let sectors = |done: &[RequestDone]| -> Vec<u64> {
        done.iter().map(|done| done.request.first_sector).collect()
    };
    let [fifo, seek, elevator, positioning] = &found;
    let asked: Vec<_> = requests.iter().map(|request| request.first_sector).collect();
    assert_eq!(sectors(&fifo.1), asked);
    // The first is served before the others are known, and some are while it is.
    let swept = sectors(&elevator.1);
    let turn = swept.windows(2).filter(|pair| pair[0] > pair[1]).count();
    let reversed = swept.iter().position(|&sector| sector == *swept.iter().max().unwrap()).unwrap();
    assert!(swept[..=reversed].is_sorted() && swept[reversed..].is_sorted_by(|a, b| a >= b));
    assert_eq!(turn, swept.len() - 1 - reversed);
    let makespan = |(report, _): &(Report, Vec<RequestDone>)| report.throughput.makespan_ns;
    assert!(makespan(positioning) < makespan(seek) && makespan(seek) < makespan(fifo));
    assert!(makespan(elevator) < makespan(fifo));
}

/// Writes are acknowledged at once; the flush waits for all of them, and a write with FUA for
/// itself.
#[test]
fn flushes_wait_for_what_was_acknowledged() {
    let disk = settings(&["device.kind=disk"]);
    let mut requests: Vec<_> =
        (0..50).map(|place| request(RequestOp::Write, place * 1_000_000, 8)).collect();
    requests.push(request(RequestOp::Flush, 0, 0));
    requests.push(request(RequestOp::Write, 77, 8).with(Flags::FUA));
    let (report, done) = closed(&disk, 1, &requests);
    let overhead = disk.keys.disk.overhead_us;
    assert!(done[..50].iter().all(|done| latency(done) == overhead.as_ns()));
    // 50 places are at least 49 seeks and as many transfers apart, less what was written before.
    assert!(done[50].parts.get(Part::Flush) > 40 * 2_000_000, "{:?}", done[50].parts);
    assert!(done[51].parts.get(Part::Array) + done[51].parts.get(Part::Transfer) > 0);
    assert_eq!(report.buffer.dirtied_units, 50);
}

/// Energy of single reads: each state for as long as the parts of the latency say.
#[test]
fn energy_is_power_by_time() {
    let disk = bare(&[]);
    let keys = disk.keys.disk;
    let places = [5_000_000, 80, 200_000_000];
    let requests = places.map(|first| request(RequestOp::Read, first, 64));
    let (report, done) = closed(&disk, 1, &requests);
    let sum = |part| done.iter().map(|done| done.parts.get(part)).sum::<u64>();
    let energy = &report.energy_pj;
    let positioned =
        energy.by_resource["seek"] / keys.seek_mw + energy.by_resource["rotate"] / keys.rotate_mw;
    assert_eq!(positioned, sum(Part::Array));
    assert_eq!(energy.by_resource["read"], sum(Part::Transfer) * keys.read_mw);
    let rest = report.power.span_ns - sum(Part::Array) - sum(Part::Transfer);
    assert_eq!(energy.by_resource["idle"], rest * keys.idle_mw);
    assert_eq!(energy.by_purpose["read_ahead"] + energy.by_purpose["write_back"], 0);
}

/// The time at each level of power, from its energy.
fn awake_ns(disk: &Settings, report: &Report) -> u64 {
    let keys = disk.keys.disk;
    let levels = [
        ("idle", keys.idle_mw),
        ("seek", keys.seek_mw),
        ("rotate", keys.rotate_mw),
        ("read", keys.read_mw),
        ("write", keys.write_mw),
    ];
    levels.iter().map(|(name, mw)| report.energy_pj.by_resource[name] / mw).sum()
}

/// Unloaded heads, then platters that stand still.
const SLEEPS: [&str; 13] = [
    "disk.rotation=mean",
    "sleep.after_us=1000",
    "sleep.power_mw=400",
    "sleep.entry_us=200",
    "sleep.entry_pj=3000017",
    "sleep.exit_us=900",
    "sleep.exit_pj=5000011",
    "deep_sleep.after_us=20000",
    "deep_sleep.power_mw=200",
    "deep_sleep.entry_us=500",
    "deep_sleep.entry_pj=4000037",
    "deep_sleep.exit_us=3500000",
    "deep_sleep.exit_pj=17500000000011",
];

/// The pause behind the first answer; what the second read then waits; the time at each level of
/// sleep, and on the ways there and back, in microseconds; the energy of the ways in picojoules.
const PAUSES: [(u64, u64, [u64; 2], u64, u64); 6] = [
    (1_000, 0, [0, 0], 0, 0),
    // 50 us into the entry: 150 us more, then the exit.
    (1_050, 1_050, [0, 0], 1_100, 3_000_017 + 5_000_011),
    (1_200, 900, [0, 0], 1_100, 3_000_017 + 5_000_011),
    (9_200, 900, [8_000, 0], 1_100, 3_000_017 + 5_000_011),
    // 100 us into the entry of the deeper level: 400 us more, then its exit.
    (20_100, 3_500_400, [18_800, 0], 3_500_700, 3_000_017 + 4_000_037 + 17_500_000_000_011),
    (60_500, 3_500_000, [18_800, 40_000], 3_500_700, 3_000_017 + 4_000_037 + 17_500_000_000_011),
];

#[test]
fn a_sleeping_disk_takes_and_waits_what_its_keys_say() {
    let disk = bare(&[&SLEEPS[..], &["metrics.power_us=250"]].concat());
    let first = request(RequestOp::Read, 8, 8);
    let own = latency(&closed(&disk, 1, &[first]).1[0]);
    for (pause, wait, [light, deep], ways, pj) in PAUSES {
        let later = first.at(Time::from_ns(own + pause * 1_000));
        let (report, done, samples) = metered(&disk, StreamKeys::default(), &[first, later]);
        assert_eq!(latency(&done[1]), own + wait * 1_000, "pause {pause}");
        assert_eq!(done[1].parts.get(Part::Link), wait * 1_000, "pause {pause}");
        let energy = &report.energy_pj;
        let expected = pj + (light * 400 + deep * 200) * 1_000;
        assert_eq!(energy.by_resource["sleep"], expected, "pause {pause}");
        assert_eq!(energy.by_purpose["sleep"], expected, "pause {pause}");
        let sleep = report.power.sleep.unwrap();
        assert_eq!(sleep.asleep_ns + sleep.deep_asleep_ns, (light + deep) * 1_000);
        assert_eq!(sleep.dozed_ns, (light + deep + ways) * 1_000, "pause {pause}");
        assert_eq!(sleep.wakes, u64::from(ways > 0), "pause {pause}");
        // Both commands are work for the controller; the disk idles until it falls asleep.
        let idle_ns = pause.min(1_000) * 1_000 + 2 * 50_000;
        assert_eq!(energy.by_resource["idle"], idle_ns * disk.keys.disk.idle_mw, "pause {pause}");
        assert_eq!(samples.energies().iter().sum::<u64>(), energy.total, "pause {pause}");
    }
}

/// A disk that writes back has work of its own: it rests from then on.
#[test]
fn a_disk_does_not_sleep_while_it_writes_back() {
    let keys = ["disk.write_cache_bytes=65536", "sleep.after_us=1000", "disk.seek_mw=1000"];
    let disk = bare(&[&keys[..], &["disk.rotate_mw=1000", "disk.write_mw=1000"]].concat());
    let second = 1_000_000_000;
    let read = request(RequestOp::Read, 8, 8).at(Time::from_ns(second));
    let requests = [request(RequestOp::Write, 40_000_000, 8), read];
    let (report, done) = run(&disk, StreamKeys::default(), &requests);
    assert_eq!(latency(&done[0]), 50_000, "the cache has it");
    let written = report.energy_pj.by_purpose["write_back"] / 1_000;
    assert!(written > 2_000_000, "{written} ns");
    let sleep = report.power.sleep.unwrap();
    assert_eq!(sleep.asleep_ns, second - 50_000 - written - 1_000_000);
}

/// Ten seconds between two reads: a second at `idle_mw`, the rest asleep, in a few runs of samples.
#[test]
fn samples_at_rest_have_the_power_of_the_keys() {
    let own = ["metrics.power_us=1000", "sleep.after_us=1000000", "sleep.power_mw=200"];
    let later = Time::from_ns(10_000_000_000);
    let requests = [8, 4_000].map(|first| request(RequestOp::Read, first, 8));
    let requests = [requests[0], requests[1].at(later)];
    let (report, _, samples) = metered(&bare(&own), StreamKeys::default(), &requests);
    let energies = samples.energies();
    // The first read is over after two revolutions at most, 17 ms.
    assert!(energies[18..1_000].iter().all(|&pj| pj == 869_000_000));
    assert!(energies[1_018..10_000].iter().all(|&pj| pj == 200_000_000));
    assert_eq!(energies.iter().sum::<u64>(), report.energy_pj.total);
    assert!(samples.events() < 100, "{} events", samples.events());
}

/// Overlapping reads, writes, flushes, FUA and preflush on caches of every size and in every order,
/// under the checker; all energy is accounted for, and a second run finds the same. Every third
/// disk naps, and a thread of the host submits and reaps.
#[test]
fn random_disks_keep_data_and_energy() {
    for seed in seeds(0..150) {
        let (mut disk, requests) = case(Family::Disk, seed);
        let least = if seed % 3 == 2 { 21_500 } else { 0 };
        if least > 0 {
            let keys = &mut disk.keys.interface;
            (keys.submit_ns, keys.reap_ns, keys.wake_us) = (1_500, 20_000, Span::from_us(300));
        }
        let keys = pacing(if seed % 2 == 0 { Pacing::Open } else { Pacing::Closed }, 1 + seed % 9);
        let (report, done, samples) = metered(&disk, keys, &requests);
        assert_eq!(done.len(), requests.len(), "seed {seed}");
        assert!(done.iter().all(|done| done.parts.get(Part::Link) >= least), "seed {seed}");
        let energy = &report.energy_pj;
        for axis in [&energy.by_resource, &energy.by_purpose, &energy.by_phase] {
            assert_eq!(axis.values().sum::<u64>(), energy.total, "seed {seed}");
        }
        assert_eq!(energy.attributed, done.iter().map(|done| done.energy_pj).sum::<u64>());
        let series = report.series.as_ref().map(|series| &series.bins);
        if let Some(bins) = series {
            let sum: u64 = bins.iter().map(|bin| bin.energy_pj).sum();
            assert_eq!(sum, energy.total, "seed {seed}");
        }
        let (energies, meter) = (samples.energies(), &report.power.meter);
        assert_eq!(meter.is_some(), !disk.keys.metrics.power_us.is_zero());
        if let Some(meter) = meter {
            assert_eq!(energies.iter().sum::<u64>(), energy.total, "seed {seed}");
            assert_eq!(meter.energy_pj, energy.total, "seed {seed}");
            let series = report.series.as_ref();
            if let Some(series) = series.filter(|series| series.bin_ns == meter.period_ns) {
                let bins: Vec<_> = series.bins.iter().map(|bin| bin.energy_pj).collect();
                assert_eq!(bins[..energies.len()], energies, "seed {seed}");
            }
        }
        let dozed = report.power.sleep.map_or(0, |sleep| sleep.dozed_ns);
        assert_eq!(awake_ns(&disk, &report) + dozed, report.power.span_ns, "seed {seed}");
        let again = run(&disk, keys, &requests).0;
        assert_eq!(format!("{again:?}"), format!("{report:?}"), "seed {seed}");
    }
}

/// Time and energy of a phase that is not measured leave no trace.
#[test]
fn phases_that_are_not_measured_do_not_count() {
    let disk = settings(&["device.kind=disk", "metrics.power_us=100", "sleep.after_us=1"]);
    let requests = in_a_row(RequestOp::Write, 0, 64, 100);
    let mut drive = Drive::new(&disk);
    let keys = pacing(Pacing::Closed, 4);
    let hidden = PhaseKeys { measure: false, ..PhaseKeys::default() };
    drive.run_phase(&hidden, vec![stream(keys, &requests)]).unwrap();
    drive.run_phase(&PhaseKeys::default(), vec![stream(keys, &requests[..1])]).unwrap();
    let report = drive.finish().unwrap();
    assert_eq!(report.workload.requests, 1);
    assert_eq!(report.power.meter.unwrap().energy_pj, report.energy_pj.total);
    assert!(report.power.sleep.unwrap().dozed_ns <= report.power.span_ns);
    let most = report.power.span_ns * disk.keys.disk.seek_mw;
    assert!(report.energy_pj.total <= most, "{} of {most}", report.energy_pj.total);
}

#[test]
fn keys_of_the_other_kind_are_refused() {
    let refused = |keys: &[&str]| try_settings(keys).unwrap_err();
    let flash = refused(&["device.kind=disk", "nand.read_us=9"]);
    assert!(flash.starts_with("nand.read_us: this device is a disk"), "{flash}");
    let disk = refused(&["disk.rpm=5400"]);
    assert!(disk.starts_with("disk.rpm: this device is a flash device"), "{disk}");
    let deep = refused(&["device.kind=disk", "sleep.after_us=9", "deep_sleep.after_us=9"]);
    assert!(deep.starts_with("deep_sleep.after_us: "), "{deep}");
    let curve = refused(&["device.kind=disk", "disk.full_stroke_ms=100"]);
    assert!(curve.starts_with("disk.average_seek_ms: no seek curve"), "{curve}");
}

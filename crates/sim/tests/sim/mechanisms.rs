//! Mechanisms of real drives and of the hosts that measure them, each against its closed form:
//! threads of the host, naps, reads that end early, rare long reads, tails and stalls of firmware,
//! lines of the buffer that become usable one after another, planes that read by themselves, a link
//! as the one server of all data, and a log of the map.

use crate::common::phases::{Bench, latency, pacing, sixteen_dies as device, stream};
use crate::common::statistics::{check_mean, poisson};
use crate::common::{
    Random, buffered, read, record, request, restored, saved, seeds, settings, try_record,
    try_settings, write,
};
use crate::generators::devices::{Family, case};
use flashyard_core::command::Purpose;
use flashyard_core::request::{Request, RequestOp};
use flashyard_core::units::{Span, Time};
use flashyard_sim::config::{Settings, Stalled};
use flashyard_sim::device::SimError;
use flashyard_sim::metrics::parts::Part;
use flashyard_sim::observe::RequestDone;
use flashyard_sim::stream::Pacing;
use std::collections::VecDeque;

/// tR of `device`.
const R: u64 = 100_000;

/// Reads of the sixteen dies in turn.
fn reads(count: u64) -> Vec<Request> {
    (0..count).map(|number| read(0, number % 16)).collect()
}

/// What becomes of a closed loop, and how long it takes.
fn closed(settings: &Settings, depth: u64, requests: &[Request]) -> (Vec<RequestDone>, u64) {
    let mut bench = Bench::new(settings);
    let done = bench.run(vec![stream(pacing(Pacing::Closed, depth), requests)]);
    (done, bench.finish().throughput.makespan_ns)
}

/// So many of `count` draws of this probability, within five standard deviations.
#[track_caller]
fn check_share(found: usize, count: usize, probability: f64) {
    let (mean, count) = (probability * count as f64, count as f64);
    let deviation = (count * probability * (1.0 - probability)).sqrt();
    let off = (found as f64 - mean) / deviation;
    assert!(off.abs() < 5.0, "{found} of {count}, {mean} expected, {off} deviations off");
}

/// Alone, a request takes submission, device and reaping. With more outstanding than the thread
/// can serve, n requests take n times submission and reaping, and each request that the loop goes
/// round with waits depth times that, whatever the dies do.
#[test]
fn a_thread_of_the_host_is_a_serial_server() {
    let (submit, reap) = (20_000, 30_000);
    let settings = device(&["interface.submit_ns=20000", "interface.reap_ns=30000"]);
    let requests = reads(640);
    let (alone, makespan) = closed(&settings, 1, &requests[..100]);
    assert_eq!(makespan, 100 * (submit + R + reap));
    for done in &alone {
        assert_eq!((latency(done), done.parts.get(Part::Link)), (submit + R + reap, submit + reap));
    }
    for depth in [8, 32] {
        let (done, makespan) = closed(&settings, depth, &requests);
        let turn = u64::try_from(done.len()).unwrap() * (submit + reap);
        assert_eq!(makespan, turn, "depth {depth}: {turn} of work");
        for done in &done[64..576] {
            assert_eq!(latency(done), depth * (submit + reap), "depth {depth}");
        }
    }
}

/// A read that costs the thread 1 / 371,357 s in all, as fio on a Samsung 980 PRO at depth 64:
/// so many reads a second, and by Little's law a latency of 64 over that, which is measured, too
/// (171.9 us). The device alone could do 640,000.
#[test]
fn a_thread_explains_a_ceiling_that_is_not_the_devices() {
    let keys = ["geometry.ways=16", "interface.submit_ns=1693", "interface.reap_ns=1000"];
    let settings = device(&keys);
    let requests: Vec<_> = (0..20_000).map(|number| read(0, number % 64)).collect();
    let (done, makespan) = closed(&settings, 64, &requests);
    let rate = 20_000.0 * 1e9 / makespan as f64;
    assert!((rate / 371_357.0 - 1.0).abs() < 0.001, "{rate} reads a second");
    let sum: u64 = done.iter().map(latency).sum();
    let mean = sum as f64 / 20_000.0;
    assert!((mean / 171_900.0 - 1.0).abs() < 0.01, "{mean} ns, 171,900 measured");
}

/// Two streams have a thread each, or share one. Requests that wait for a place in the device wait
/// behind their submission.
#[test]
fn streams_have_threads_of_their_own_or_share_one() {
    let requests = reads(320);
    for (scope, threads) in [("stream", 2), ("host", 1)] {
        for limit in ["interface.queue_depth=0", "interface.queue_depth=16"] {
            let scope = format!("interface.threads={scope}");
            let times = ["interface.submit_ns=20000", "interface.reap_ns=30000"];
            let settings = device(&[&times[..], &[&scope, limit]].concat());
            let mut bench = Bench::new(&settings);
            let streams = [&requests[..160], &requests[160..]]
                .map(|requests| stream(pacing(Pacing::Closed, 16), requests));
            let done = bench.run(streams.into());
            assert_eq!(done.len(), 320);
            let makespan = bench.finish().throughput.makespan_ns;
            assert_eq!(makespan, 320 / threads * 50_000, "{scope} {limit}");
        }
    }
}

/// Poisson arrivals at a thread whose work is submitting: M/D/1 (Pollaczek and Khinchine). The read
/// is over at once, and then waits until the thread is done with the next submission, if one waits:
/// a customer of M/D/1 leaves others behind with the probability of the load.
#[test]
fn open_arrivals_wait_for_their_thread_as_queueing_theory_says() {
    let (submit, load) = (10_000.0, 0.6);
    let settings = device(&["interface.submit_ns=10000", "nand.read_us=0.001"]);
    let requests = poisson(&mut Random(3), 200_000, submit / load, |random| {
        (RequestOp::Read, random.below(1_000))
    });
    let done = record(&settings, &[], &requests).1.requests;
    let waits: Vec<_> = done.iter().map(|done| done.parts.get(Part::Link)).collect();
    let submitted = submit + load * submit / (2.0 * (1.0 - load));
    check_mean("M/D/1", &waits, submitted + load * submit);
}

/// Each request of a closed loop of one comes after a pause of reaping and submitting, 3 us. If
/// that is longer than `wake_after_us` it wakes the device. With two there is no pause.
#[test]
fn requests_wake_a_device_that_naps() {
    let thread = ["interface.submit_ns=1000", "interface.reap_ns=2000", "interface.wake_us=20"];
    for (after, depth, woken) in [(0, 1, true), (2, 1, true), (3, 1, false), (2, 2, false)] {
        let after_us = format!("interface.wake_after_us={after}");
        let settings = device(&[&thread[..], &[&after_us]].concat());
        let (done, _) = closed(&settings, depth, &reads(64));
        for done in &done[2..60] {
            let wake = if woken { 20_000 } else { 0 };
            let least = 3_000 + R + wake;
            assert!(latency(done) >= least && latency(done) < least + 3_000, "{after_us} {depth}");
            assert!(done.parts.get(Part::Link) >= 3_000 + wake);
        }
    }
    // Those that come while the device wakes wait for the same instant.
    let settings = device(&["interface.wake_us=20", "interface.wake_after_us=500"]);
    let requests = [read(100, 0), read(1_000, 1), read(1_015, 2), read(1_020, 3), read(1_600, 4)];
    let done = record(&settings, &[], &requests).1.requests;
    let link: Vec<_> = done.iter().map(|done| done.parts.get(Part::Link)).collect();
    assert_eq!(link, [0, 20_000, 5_000, 0, 0]);
}

/// The same naps as a level of sleep, which counts from the answer to the next arrival: a stream
/// that leaves gaps of 50 us wakes a device that sleeps after 40 us, and none that does after 60.
#[test]
fn sleep_gives_pauses_of_microseconds_between_arrivals() {
    for (after, exit) in [(40, 7_000), (60, 0)] {
        let after = format!("sleep.after_us={after}");
        let settings = device(&[&after, "sleep.exit_us=7", "sleep.power_mw=0"]);
        let requests: Vec<_> = (1..50).map(|number| read(number * 157, number % 16)).collect();
        let done = record(&settings, &[], &requests).1.requests;
        for done in &done[1..] {
            assert_eq!(latency(done), R + if after.ends_with("40") { exit } else { 0 });
        }
    }
}

/// A share of reads has the short time in the array, and it is the same reads on a device that was
/// restored, at another depth and under another policy.
#[test]
fn a_share_of_reads_ends_early() {
    let early = ["nand.read_early_percent=20", "nand.read_early_us=5"];
    let settings = device(&early);
    let requests = reads(20_000);
    let (done, _) = closed(&settings, 1, &requests);
    let short = done.iter().filter(|done| latency(done) == 5_000).count();
    let long = done.iter().filter(|done| latency(done) == R).count();
    assert_eq!(short + long, done.len());
    check_share(short, done.len(), 0.2);

    let arrays = |done: &[RequestDone]| -> Vec<_> {
        done.iter().map(|done| done.parts.get(Part::Array)).collect()
    };
    let other = device(&[&early[..], &["policy.command=rcf"]].concat());
    assert_eq!(arrays(&closed(&other, 32, &requests[..500]).0), arrays(&done)[..500]);
    let half = || vec![stream(pacing(Pacing::Closed, 8), &requests[..250])];
    let mut bench = Bench::new(&settings);
    bench.run(half());
    let mut again = Bench::of(restored(&settings, &saved(&bench.device)).unwrap());
    assert_eq!(arrays(&again.run(half())), arrays(&done)[250..500]);
    let reseeded = device(&[&early[..], &["nand.read_early_seed=2"]].concat());
    assert_ne!(arrays(&closed(&reseeded, 1, &requests[..500]).0), arrays(&done)[..500]);
    // No read takes longer than it would without.
    let late = device(&["nand.read_early_percent=100", "nand.read_early_us=200"]);
    assert!(closed(&late, 1, &requests[..50]).0.iter().all(|done| latency(done) == R));
}

/// Of pages of four units that are read whole, those end early of which all units are held.
#[test]
fn a_page_ends_early_if_all_its_units_are_held() {
    let pages = ["geometry.page_bytes=16384", "ftl.mapping_unit_bytes=4096"];
    let early = ["nand.read_early_percent=60", "nand.read_early_us=5"];
    let settings = device(&[&pages[..], &["state.initial=full"], &early].concat());
    for (units, share) in [(1, 0.6), (2, 0.36), (4, 0.1296)] {
        let mut random = Random(units);
        let place = |random: &mut Random| 4 * random.below(200);
        let units = u32::try_from(units).unwrap();
        let requests: Vec<_> =
            (0..20_000).map(|_| request(0, RequestOp::Read, place(&mut random), units)).collect();
        let (done, _) = closed(&settings, 1, &requests);
        let array = |done: &RequestDone| done.parts.get(Part::Array);
        let short = done.iter().filter(|done| array(done) == 5_000).count();
        assert!(done.iter().all(|done| [5_000, R].contains(&array(done))));
        check_share(short, done.len(), share);
    }
}

/// Early reads at one die: M/G/1 with the two times (Pollaczek and Khinchine).
#[test]
fn early_reads_free_their_die_early() {
    let keys = ["geometry.channels=1", "geometry.ways=1", "nand.read_us=100"];
    let early = ["nand.read_early_percent=50", "nand.read_early_us=20"];
    let settings = device(&[&keys[..], &early].concat());
    let (first, second, load) = (60_000.0, 0.5 * (1e10 + 4e8), 0.5);
    let requests = poisson(&mut Random(9), 100_000, first / load, |random| {
        (RequestOp::Read, random.below(1_000))
    });
    let done = record(&settings, &[], &requests).1.requests;
    let found: Vec<_> = done.iter().map(latency).collect();
    check_mean("M/G/1", &found, first + load * second / (2.0 * first * (1.0 - load)));
}

/// A rare long read by `[retry]`: with one further sense at most, a read takes tR or 2 tR +
/// `step_us`, and the share is `chance_percent`.
#[test]
fn one_further_sense_is_a_rare_long_read() {
    let keys = ["retry.chance_percent=1", "retry.again_percent=0", "retry.most=1"];
    let settings = device(&[&keys[..], &["retry.step_us=1000", "state.initial=full"]].concat());
    let (done, _) = closed(&settings, 1, &reads(20_000));
    let long = done.iter().filter(|done| latency(done) == 2 * R + 1_000_000).count();
    let usual = done.iter().filter(|done| latency(done) == R).count();
    assert_eq!(long + usual, done.len());
    check_share(long, done.len(), 0.01);
}

/// Writes into a buffer at light load take the typical time and an exponential tail: its mean, and
/// the shares beyond 1 and ln 100 times its mean.
#[test]
fn tails_of_firmware_are_exponential() {
    let keys = ["firmware.cores=1", "firmware.write_ns=8700", "firmware.write_tail_ns=1000"];
    let settings = buffered(&keys);
    let requests: Vec<_> = (0..20_000).map(|number| write(1_000 * number, number % 16)).collect();
    let done = record(&settings, &[], &requests).1.requests;
    let tails: Vec<_> = done.iter().map(|done| latency(done) - 8_700).collect();
    check_mean("the tail", &tails, 999.5);
    for times in [1.0, f64::ln(100.0)] {
        let beyond = tails.iter().filter(|tail| **tail as f64 >= times * 1_000.0).count();
        check_share(beyond, tails.len(), f64::exp(-times));
    }
    // Reads have a tail of their own.
    let settings = device(&["firmware.cores=1", "firmware.read_tail_ns=3000"]);
    let (done, _) = closed(&settings, 1, &reads(20_000));
    let tails: Vec<_> = done.iter().map(|done| latency(done) - R).collect();
    check_mean("the tail of reads", &tails, 2_999.5);
}

/// One core with 1 us a write, behind which everything is as fast: when each request leaves it.
/// `holds` tells which requests a stall holds.
fn leave(requests: &[Request], every: u64, stall: u64, holds: fn(RequestOp) -> bool) -> Vec<u64> {
    let (mut free, mut until, mut units) = (0, 0, 0);
    let mut left = vec![0; requests.len()];
    let (mut next, mut held) = (0, VecDeque::new());
    loop {
        // Whoever is held comes again at the end of the stall.
        let again = held.front().map(|(_, at)| *at);
        let arrival = requests.get(next).map(|request| request.arrival.as_ns());
        let Some(now) = again.into_iter().chain(arrival).min() else { return left };
        let number = if again == Some(now) {
            held.pop_front().expect("it is held").0
        } else {
            next += 1;
            next - 1
        };
        let op = requests[number].op;
        if now < until && holds(op) {
            held.push_back((number, until));
            continue;
        }
        free = now.max(free) + if op == RequestOp::Write { 1_000 } else { 0 };
        left[number] = free;
        units += u64::from(op == RequestOp::Write);
        if units == every {
            units = 0;
            until = until.max(free) + stall;
        }
    }
}

/// Requests leave the firmware as from a line that is simulated on its own, and the firmware stalls
/// for stall x rate / units of the time.
#[test]
fn the_firmware_stalls_for_its_share_of_the_time() {
    let requests: Vec<_> = (0..8_000)
        .map(|number| {
            let op = if number % 4 == 3 { RequestOp::Read } else { RequestOp::Write };
            request(0, op, number % 64, 1).at(Time::from_ns(7_500 * number + 200))
        })
        .collect();
    for (word, holds) in
        [("writes", (|op| op == RequestOp::Write) as fn(RequestOp) -> bool), ("all", |_| true)]
    {
        let holds_key = format!("firmware.stall_holds={word}");
        let keys = ["firmware.cores=1", "firmware.write_ns=1000", "firmware.stall_units=100"];
        let stall = ["firmware.stall_us=300", &holds_key];
        let settings = buffered(&[&keys[..], &stall].concat());
        let done = record(&settings, &[], &requests).1.requests;
        let arrival = |done: &RequestDone| done.request.arrival.as_ns();
        let found: Vec<_> =
            done.iter().map(|done| arrival(done) + done.parts.get(Part::Firmware)).collect();
        assert_eq!(found, leave(&requests, 100, 300_000, holds), "{word}");
        // 100,000 writes a second: 300 us in each 1,000. All writes that come in a stall are held.
        let held = done.iter().filter(|done| {
            done.request.op == RequestOp::Write && done.parts.get(Part::Firmware) > 40_000
        });
        let share = held.count() as f64 / 6_000.0;
        assert!((share - 0.26).abs() < 0.03, "{word}: {share} of the writes are held for long");
        let read = |done: &&RequestDone| done.request.op == RequestOp::Read;
        let longest = done.iter().filter(read).map(|done| done.parts.get(Part::Firmware)).max();
        assert_eq!(longest > Some(200_000), word == "all", "reads under {word}: {longest:?}");
    }
}

/// A stall of programs holds those that would begin in it, as from a line that is simulated on its
/// own, and no read.
#[test]
fn a_stall_of_programs_holds_no_read() {
    let (gap, program, stall) = (1_500_000, 1_000_000, 5_000_000);
    let settings = device(&[
        "firmware.cores=1",
        "firmware.write_ns=1000",
        "firmware.stall_units=10",
        "firmware.stall_us=5000",
        "firmware.stall_holds=programs",
        "policy.command=rcf",
    ]);
    let requests: Vec<_> = (0..600)
        .flat_map(|number| {
            let read = read(0, 16 + number % 16).at(Time::from_ns(gap * number + 700_000));
            [write(0, number % 16).at(Time::from_ns(gap * number)), read]
        })
        .collect();
    let done = record(&settings, &[], &requests).1.requests;
    let (mut from, mut until, mut held, mut passed) = (0, 0, 0, 0);
    for (number, pair) in (1..).zip(done.as_chunks::<2>().0) {
        let [arrival, read] = [&pair[0], &pair[1]].map(|done| done.request.arrival.as_ns());
        let over = arrival + 1_000;
        if number % 10 == 0 {
            (from, until) = (over, over + stall);
        }
        let begins = if from <= over && over < until { until } else { over };
        held += u64::from(begins > over);
        assert_eq!(latency(&pair[0]), begins + program - arrival, "write {number}");
        // A read may have its die meanwhile.
        let parts = [Part::Firmware, Part::DieRead].map(|part| pair[0].parts.get(part));
        assert_eq!(parts[0] + parts[1], begins - arrival, "write {number}");
        assert!(parts[1] == 0 || parts[1] == R, "{parts:?}");
        if from < read && read + R < until {
            passed += 1;
            assert_eq!(latency(&pair[1]), R, "read {number}");
        }
    }
    // The stall of the last write holds that one alone.
    assert_eq!((held, passed), (4 * 60 - 3, 3 * 60 - 2));
}

/// Random devices keep every rule of the checker where programs are held now and then.
#[test]
fn random_devices_with_stalls_of_programs_keep_every_rule() {
    let mut held = 0;
    for seed in seeds(15_100..15_220) {
        let (settings, requests) = case(Family::Any, seed);
        let mut keys = settings.keys;
        keys.firmware.cores = keys.firmware.cores.max(1);
        keys.firmware.stall_units = 1 + seed % 9;
        keys.firmware.stall_us = Span::from_us(50 << (seed % 7));
        keys.firmware.stall_holds = Stalled::Programs;
        let Ok(settings) = Settings::new(keys) else { continue };
        let result = try_record(&settings, &[], &requests);
        if let Err(SimError::WornOut { .. }) = result {
            continue;
        }
        let (_, run) = result.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        assert_eq!(run.requests.len(), requests.len(), "seed {seed}: one answer a request");
        let is_held = |done: &&RequestDone| done.parts.get(Part::Firmware) > 100_000;
        held += run.requests.iter().filter(is_held).count();
    }
    assert!(held > 200, "{held} requests waited for a stall");
}

/// At saturation with fewer writes outstanding than a program has units, lines that are free at
/// once let some writes pass and others wait for a whole program; lines that become usable over the
/// time of a program let all wait equally long, depth / units of a program. The rate is the same.
#[test]
fn lines_that_become_usable_one_after_another_let_writes_wait_evenly() {
    let shape = [
        "geometry.page_bytes=32768",
        "ftl.mapping_unit_bytes=4096",
        "geometry.pages_per_block=64",
        "firmware.cores=1",
    ];
    let (units, depth, program) = (8, 2, 700_000);
    let requests: Vec<_> = (0..4_000).map(|lpn| write(0, lpn)).collect();
    // Lines are flushed as soon as they fill a program, whatever is free.
    let ahead = ["buffer.eviction=watermark", "buffer.high_percent=5", "buffer.low_percent=1"];
    let waits = |release: &str| {
        let settings = buffered(&[&shape[..], &ahead, &[release]].concat());
        let (done, makespan) = closed(&settings, depth, &requests);
        let mut waits: Vec<_> = done[1_000..3_000].iter().map(latency).collect();
        waits.sort_unstable();
        (waits, makespan)
    };
    let (at_once, fast) = waits("buffer.release_us=0");
    let (evenly, even) = waits("buffer.release_us=700");
    let mean = depth * program / units;
    for waits in [&at_once, &evenly] {
        let sum: u64 = waits.iter().sum();
        let found = sum as f64 / waits.len() as f64;
        assert!((found / mean as f64 - 1.0).abs() < 0.01, "{found}, {mean} expected");
    }
    assert_eq!((at_once[0], at_once[1_979]), (0, program), "p99 / mean = units / depth");
    assert_eq!((evenly[0], evenly[1_979]), (mean, mean), "p99 / mean = 1");
    assert!(fast.abs_diff(even) <= program, "{fast} and {even}");
    // A time that is longer than the program's is what limits the rate.
    let (slowly, _) = waits("buffer.release_us=1400");
    assert_eq!((slowly[0], slowly[1_979]), (2 * mean, 2 * mean));
    // Lines of k programs that become usable together let as many writes pass, and the ones that
    // are outstanding then wait for k programs.
    for programs in [2, 4] {
        let (together, batch) =
            waits(&format!("buffer.release_bytes={}", programs * units * 4_096));
        let waiting = together.iter().filter(|wait| **wait > 0).count() as u64;
        assert!(waiting.abs_diff(2_000 * depth / (programs * units)) <= depth, "{waiting} wait");
        assert_eq!((together[0], together[1_999]), (0, programs * program));
        let sum: u64 = together.iter().sum();
        assert!((sum as f64 / 2_000.0 / mean as f64 - 1.0).abs() < 0.02, "{sum}");
        assert!(fast.abs_diff(batch) <= programs * program, "{fast} and {batch}");
    }
}

/// Planes that read by themselves are dies: p of them serve p reads in one array time, and each is
/// an M/D/1 of its own.
#[test]
fn planes_that_read_by_themselves_are_dies() {
    let one = ["geometry.channels=1", "geometry.ways=1"];
    let planes = device(&[&one[..], &["geometry.dies_per_way=4"]].concat());
    let together: Vec<_> = (0..4).map(|lpn| read(0, lpn)).collect();
    let done = record(&planes, &[], &together).1.requests;
    assert!(done.iter().all(|done| latency(done) == R), "four reads in one array time");
    let tied = ["geometry.planes=4", "nand.multi_plane=any"];
    let tied = device(&[&one[..], &tied].concat());
    let late = [read(0, 0), read(10, 1)];
    let second = |settings| latency(&record(settings, &[], &late).1.requests[1]);
    assert_eq!((second(&planes), second(&tied)), (R, 2 * R - 10_000));
    let load = 0.6;
    let gap = R as f64 / load / 4.0;
    let requests =
        poisson(&mut Random(5), 200_000, gap, |random| (RequestOp::Read, random.below(4_000)));
    let done = record(&planes, &[], &requests).1.requests;
    let found: Vec<_> = done.iter().map(latency).collect();
    check_mean("M/D/1", &found, R as f64 * (1.0 + load / (2.0 * (1.0 - load))));
}

/// The link is one server of all data: at depth, reads of any size come at its rate, and alone they
/// take its time for their size longer. With half duplex reads and writes share it.
#[test]
fn a_link_is_one_server_of_all_data() {
    let link = ["interface.link_ps_per_byte=330", "nand.read_us=1", "geometry.ways=16"];
    let settings = device(&[&link[..], &["nand.unmapped_read=zero"]].concat());
    for (pages, depth) in [(1, 8), (32, 4)] {
        let requests: Vec<_> =
            (0..1_000).map(|number| request(0, RequestOp::Read, number % 64 * 32, pages)).collect();
        let ns = (u64::from(pages) * 4_096 * 330).div_ceil(1_000);
        let (_, makespan) = closed(&settings, depth, &requests);
        assert_eq!(makespan, 1_000 * ns, "{pages} pages at depth {depth}");
        let (done, _) = closed(&settings, 1, &requests[..50]);
        assert!(done.iter().all(|done| latency(done) == ns), "{pages} pages alone");
    }
}

#[test]
fn mechanisms_without_what_they_need_are_refused() {
    let why = try_settings(&["firmware.stall_units=3"]).unwrap_err();
    assert!(why.contains("firmware.stall_units: no core takes this time"), "{why}");
    let why = try_settings(&["firmware.write_tail_ns=3"]).unwrap_err();
    assert!(why.contains("firmware.write_tail_ns: no core takes this time"), "{why}");
    let ros = ["host.policy=ros", "map.store=resident", "buffer.bytes=65536"];
    let why = try_settings(&[&ros[..], &["buffer.release_us=10"]].concat()).unwrap_err();
    assert!(why.contains("buffer.release_us: this host.policy flushes the buffer"), "{why}");
    let why = try_settings(&[&ros[..], &["buffer.release_bytes=8192"]].concat()).unwrap_err();
    assert!(why.contains("buffer.release_bytes: this host.policy flushes the buffer"), "{why}");
    let both = ["buffer.release_us=10", "buffer.release_bytes=8192"];
    let why = try_settings(&[&["map.store=resident", "buffer.bytes=65536"], &both[..]].concat());
    assert!(why.unwrap_err().contains("one after another with buffer.release_us, or together"));
    let more = ["map.store=resident", "buffer.bytes=65536", "buffer.release_bytes=131072"];
    let why = try_settings(&more).unwrap_err();
    assert!(why.contains("131072 bytes are never free together in a buffer of 65536"), "{why}");
    settings(&ros);
    let ordered = ["bus.precision=requests", "channel.arbitration=sequential"];
    let stalled = ["firmware.cores=1", "firmware.stall_units=3"];
    let ordered = [&ordered[..], &stalled].concat();
    let why = try_settings(&[&ordered[..], &["firmware.stall_holds=programs"]].concat());
    assert!(why.unwrap_err().contains("firmware.stall_holds: the bus policy"));
    settings(&ordered);
}

/// A map in pieces of four entries, of which 512 bytes are written to pages of 4 KiB: 8 a page.
const LOG: [&str; 2] = ["map.log_bytes=512", "map.log_entries=4"];

/// Writes of n units that lie in as many pieces write n / 8 pages beside them, an eighth of what
/// the host writes, on each of the sixteen dies equally many.
#[test]
fn a_log_of_the_map_takes_its_bytes_for_each_write_at_a_random_place() {
    let settings = device(&LOG);
    let writes: Vec<_> = (0..16 * 8 * 5 + 7).map(|n| write(n, 4 * n * 5 % 8_000)).collect();
    let (report, run) = record(&settings, &[], &writes);
    assert_eq!(report.flash.pages["programs"]["journal"], 16 * 5);
    let amplification = report.flash.write_amplification_by["journal"];
    assert_eq!(amplification, Some(80.0 / writes.len() as f64));
    let mut of_dies = [0; 16];
    let logged = run.commands.iter().filter(|command| command.purpose == Purpose::Journal);
    logged.for_each(|command| of_dies[command.die.index()] += 1);
    assert_eq!(of_dies, [5; 16]);
}

/// Of n units in a row, each piece is written once, and again if its page is full before its last
/// unit: a page takes 8 pieces, of which the last one comes again.
#[test]
fn a_log_of_the_map_takes_next_to_nothing_for_writes_in_order() {
    let settings = device(&LOG);
    let writes: Vec<_> = (0..400).map(|n| write(1_100 * n, n)).collect();
    let (report, _) = record(&settings, &[], &writes);
    assert_eq!(report.flash.pages["programs"]["journal"], 1 + (100 - 8) / 7);
    let (report, _) = record(&device(&["map.log_bytes=512"]), &[], &writes);
    assert_eq!(report.flash.pages["programs"]["journal"], 0, "4 pieces of 128 entries");
}

/// The log is garbage from the start, and so are its blocks: a device that logs for long copies no
/// unit of it, and what the host wrote is there (the checker looks).
#[test]
fn blocks_of_a_log_are_erased_without_copies() {
    let small = ["geometry.blocks_per_plane=24", "geometry.pages_per_block=8"];
    let over = ["ftl.over_provisioning_percent=100", "geometry.channels=1", "geometry.ways=2"];
    let settings = device(&[&LOG[..], &small, &over].concat());
    let mut random = Random(7);
    let writes: Vec<_> = (0..6_000).map(|n| write(2_000 * n, random.below(40) * 4)).collect();
    let (report, _) = record(&settings, &[], &writes);
    let pages = &report.flash.pages;
    assert!(pages["programs"]["journal"] > 2 * 8 * 24, "more than the device has: {pages:?}");
    assert_eq!(pages["programs"]["gc"], 0, "a few units leave nothing to copy");
}

/// A device that cannot log its map says why.
#[test]
fn devices_that_cannot_log_their_map_are_refused_by_name() {
    for (keys, why) in [
        (&["map.store=line_cache"][..], "only a page map in memory is logged"),
        (&["ftl.scheme=fast", "map.store=resident"], "only a page map in memory is logged"),
        (&["map.store=resident", "power.journal_entries=4"], "set power.journal_entries in place"),
        (&["map.store=resident", "map.log_bytes=8192"], "a piece must fit the 4096 bytes"),
    ] {
        let error = try_settings(&[&["map.log_bytes=512"], keys].concat()).unwrap_err();
        assert!(error.contains("map.log_bytes") && error.contains(why), "{keys:?}: {error}");
    }
}

//! Firmware cores: latencies of lone requests, ceilings of throughput and mean waits against
//! closed forms, and every wait against a line that is simulated on its own.

use crate::common::phases::{Bench, latency, pacing, sixteen_dies as device, stream};
use crate::common::statistics::{check_mean, poisson};
use crate::common::{
    Random, flush, read, record, request, restored, saved, seeds, try_record, try_settings, write,
};
use crate::generators::devices::{Family, case};
use flashyard_core::request::{Request, RequestOp};
use flashyard_core::units::Time;
use flashyard_sim::config::Settings;
use flashyard_sim::device::Device;
use flashyard_sim::metrics::parts::Part;
use flashyard_sim::observe::{Observer, RequestDone, Shared};
use flashyard_sim::stream::Pacing;
use std::collections::VecDeque;
use std::convert::Infallible;

/// The service times of all kinds on one core, in nanoseconds, and 500 for a unit, 200 of a trim.
const KINDS: [&str; 7] = [
    "firmware.cores=1",
    "firmware.read_ns=7000",
    "firmware.write_ns=9000",
    "firmware.trim_ns=3000",
    "firmware.flush_ns=2000",
    "firmware.unit_ns=500",
    "firmware.trim_unit_ns=200",
];

fn firmware_ns(done: &RequestDone) -> u64 {
    done.parts.get(Part::Firmware)
}

/// One request alone: the link with the data of a write, its core, the command, the array, the data
/// on the channel, the link with the data of a read. A page takes 64 us on the channel and 40.96 us
/// on the link.
#[test]
fn a_lone_request_takes_its_core_between_link_and_array() {
    let link = ["interface.link_latency_ns=3000", "interface.link_ps_per_byte=10000"];
    let channel = ["channel.command_ns=300", "channel.ps_per_byte=15625"];
    let settings = device(&[&KINDS[..], &link, &channel].concat());
    let requests =
        [read(0, 0), write(2_000, 1), request(5_000, RequestOp::Trim, 8, 3), flush(6_000)];
    let done = record(&settings, &[], &requests).1.requests;
    let found: Vec<_> = done.iter().map(|done| (latency(done), firmware_ns(done))).collect();
    let expected = [
        (3_000 + 7_500 + 300 + 100_000 + 64_000 + 40_960 + 3_000, 7_500),
        (40_960 + 3_000 + 9_500 + 300 + 64_000 + 1_000_000 + 3_000, 9_500),
        (3_000 + 3_600 + 3_000, 3_600),
        (3_000 + 2_000 + 3_000, 2_000),
    ];
    assert_eq!(found, expected);
}

/// A read that takes its unit from flash gives its core the command to the die to do as well,
/// behind the requests in line: lone ones are as fast as without, and n reads in a closed loop keep
/// the core for n (s + f), but for the commands of the last ones that are outstanding. Units that
/// the buffer has need no command.
#[test]
fn commands_of_reads_take_a_core_behind_its_requests() {
    const S: u64 = 7_500;
    const F: u64 = 12_500;
    let keys = [&KINDS[..], &["buffer.bytes=262144", "buffer.access_ns=0", "buffer.ps_per_byte=0"]]
        .concat();
    for commands in [0, F] {
        let own = format!("firmware.flash_read_ns={commands}");
        let settings = device(&[&keys[..], &[&own]].concat());
        let lone = record(&settings, &[], &[read(0, 0), read(400, 1)]).1.requests;
        assert_eq!(lone.iter().map(latency).collect::<Vec<_>>(), [S + 100_000; 2]);

        let takes = |requests: &[Request]| {
            let mut bench = Bench::new(&settings);
            let written = bench.run(vec![stream(pacing(Pacing::Closed, 1), &[write(0, 3)])]);
            let done = bench.run(vec![stream(pacing(Pacing::Closed, 32), requests)]);
            let ends = done.iter().map(|done| done.completion.as_ns()).max();
            ends.expect("some") - written[0].completion.as_ns()
        };
        let flash: Vec<_> = (0..6_000).map(|number| read(0, 16 + number % 16)).collect();
        let (all, left_out) = (6_000 * (S + commands), 32 * commands);
        let bounds = all - left_out..=all + 100_000;
        let found = takes(&flash);
        assert!(bounds.contains(&found), "commands of {commands} ns: {found}, not {bounds:?}");
        let buffered: Vec<_> = (0..6_000).map(|_| read(0, 3)).collect();
        assert_eq!(takes(&buffered), 6_000 * S, "nothing is read from flash");
    }
}

/// What the write buffer answers by itself passes a core too: a put and a get take 5 us.
#[test]
fn hits_in_the_write_buffer_take_a_core() {
    let buffer = ["buffer.bytes=262144", "buffer.access_ns=5000", "buffer.ps_per_byte=0"];
    let settings = device(&[&KINDS[..], &buffer].concat());
    let done = record(&settings, &[], &[write(0, 1), read(100, 1)]).1.requests;
    assert_eq!(done.iter().map(latency).collect::<Vec<_>>(), [9_500 + 5_000, 7_500 + 5_000]);
}

/// k cores that take s for a request do k requests in s: the last of n ends at n s / k and a read.
/// The dies could do more.
#[test]
fn cores_over_service_time_is_the_ceiling_of_throughput() {
    const S: u64 = 20_000;
    let service = format!("firmware.read_ns={S}");
    let requests: Vec<_> = (0..600).map(|number| read(0, number % 16)).collect();
    for cores in [1, 2, 3] {
        let settings = device(&[&service, &format!("firmware.cores={cores}")]);
        for depth in [32, 600] {
            let mut bench = Bench::new(&settings);
            let done = bench.run(vec![stream(pacing(Pacing::Closed, depth), &requests)]);
            let makespan = bench.finish().throughput.makespan_ns;
            assert_eq!(makespan, 600 / cores * S + 100_000, "{cores} cores, depth {depth}");
            let waits = done.iter().any(|done| firmware_ns(done) > S);
            assert!(waits, "{cores} cores, depth {depth}: no request waits");
        }
    }
}

/// When each request leaves a line of so many cores; requests by arrival, with service times.
fn leave(cores: usize, requests: &[(u64, u64)]) -> Vec<u64> {
    let (mut line, mut work) = (VecDeque::new(), Vec::new());
    let mut left = vec![0; requests.len()];
    let mut next = 0;
    loop {
        let arrival = requests.get(next).map(|request| request.0);
        let Some(now) = work.iter().copied().chain(arrival).min() else { return left };
        work.retain(|end| *end > now);
        while requests.get(next).is_some_and(|request| request.0 == now) {
            line.push_back(next);
            next += 1;
        }
        while work.len() < cores {
            let Some(first) = line.pop_front() else { break };
            left[first] = now + requests[first].1;
            work.push(left[first]);
        }
    }
}

/// Every request is with the firmware for as long as in a line that knows nothing of the device.
#[test]
fn requests_of_all_kinds_wait_in_one_line() {
    for (cores, gap) in [(1, 7_000), (2, 3_500), (5, 1_400)] {
        let mut random = Random(cores);
        let mut now = 0;
        let requests: Vec<_> = (0..2_000)
            .map(|_| {
                now += random.below(2 * gap);
                let op = random.pick(&RequestOp::ALL);
                let pages = u32::try_from(1 + random.below(4)).unwrap();
                let request = match op {
                    RequestOp::Flush => flush(0),
                    _ => request(0, op, random.below(10_000), pages),
                };
                request.at(Time::from_ns(now))
            })
            .collect();
        let service = |request: &Request| {
            let units = 500 * u64::from(request.sectors / 8);
            match request.op {
                RequestOp::Read => 7_000 + units,
                RequestOp::Write => 9_000 + units,
                RequestOp::Trim => 3_000 + units * 2 / 5,
                RequestOp::Flush => 2_000,
            }
        };
        let cores = usize::try_from(cores).unwrap();
        let line: Vec<_> = requests.iter().map(|r| (r.arrival.as_ns(), service(r))).collect();
        let settings = device(&[&KINDS[..], &[&format!("firmware.cores={cores}")]].concat());
        let done = record(&settings, &[], &requests).1.requests;
        let found: Vec<_> =
            done.iter().map(|done| done.request.arrival.as_ns() + firmware_ns(done)).collect();
        assert_eq!(found, leave(cores, &line), "{cores} cores");
        let waits = done.iter().filter(|done| firmware_ns(done) > service(&done.request)).count();
        assert!((200..1_990).contains(&waits), "{waits} requests wait for {cores} cores");
    }
}

/// Keeps how long firmware has each request.
struct Times(Shared<Vec<u64>>);

impl Observer for Times {
    fn request_done(&mut self, event: &RequestDone) {
        self.0.get().push(firmware_ns(event));
    }
}

/// Poisson arrivals at one core, whose mean is `load` times what it can do: time with the firmware
/// against Pollaczek and Khinchine, W + E[S] = rho E[S^2] / (2 E[S] (1 - rho)) + E[S].
#[track_caller]
fn check_poisson(keys: &[&str], load: f64, first: f64, second: f64) {
    let settings = device(&[&["nand.read_us=1", "nand.program_us=1"], keys].concat());
    let mut random = Random(17);
    let requests = poisson(&mut random, 200_000, first / load, |random| {
        (random.pick(&[RequestOp::Read, RequestOp::Write]), random.below(1_000))
    });
    let times = Shared::new(Vec::new());
    let mut device = Device::new(&settings);
    device.observe(Box::new(Times(times.clone())));
    let mut requests = requests.into_iter();
    device.run(|| Ok::<_, Infallible>(requests.next())).expect("the requests fit the device");
    let expected = load * second / (2.0 * first * (1.0 - load)) + first;
    check_mean(&format!("{keys:?} at {load}"), &times.get(), expected);
}

#[test]
fn poisson_arrivals_wait_as_long_as_queueing_theory_says() {
    let one = ["firmware.cores=1", "firmware.read_ns=10000", "firmware.write_ns=10000"];
    for load in [0.3, 0.5, 0.7] {
        // M/D/1.
        check_poisson(&one, load, 10_000.0, 1e8);
    }
    // Uniform from 0 to 20 us: E[S^2] = 4/3 E[S]^2.
    let spread = [&one[..], &["firmware.spread_percent=100"]].concat();
    check_poisson(&spread, 0.5, 10_000.0, 4e8 / 3.0);
    // Reads of 5 us, writes of 15 us.
    let kinds = ["firmware.cores=1", "firmware.read_ns=5000", "firmware.write_ns=15000"];
    check_poisson(&kinds, 0.5, 10_000.0, 1.25e8);
}

/// Service times with a spread are spread evenly, and depend on the number of a request alone: not
/// on what else waits, and not on whether the device was saved meanwhile.
#[test]
fn random_service_times_belong_to_requests() {
    let keys = ["firmware.cores=1", "firmware.read_ns=10000", "firmware.spread_percent=20"];
    let settings = device(&keys);
    let requests: Vec<_> = (0..4_000).map(|number| read(1_000 * number, number % 64)).collect();
    let alone = record(&settings, &[], &requests).1.requests;
    let alone: Vec<_> = alone.iter().map(firmware_ns).collect();
    let mut counts = [0_u32; 8];
    for ns in &alone {
        assert!((8_000..=12_000).contains(ns), "{ns} ns");
        counts[usize::try_from((ns - 8_000) / 501).unwrap()] += 1;
    }
    // 500 in each, give or take four standard deviations of 21.
    assert!(counts.iter().all(|count| (416..=584).contains(count)), "{counts:?}");

    let cores = device(&[&keys[..], &["firmware.cores=64", "policy.command=rcf"]].concat());
    let depth = || vec![stream(pacing(Pacing::Closed, 8), &requests[..50])];
    let mut whole = Bench::new(&cores);
    whole.run(depth());
    let bytes = saved(&whole.device);
    let second = whole.run(depth());
    let found: Vec<_> = second.iter().map(firmware_ns).collect();
    assert_eq!(found, alone[50..100]);
    let mut again = Bench::of(restored(&cores, &bytes).unwrap());
    let ends = |done: &[RequestDone]| done.iter().map(|d| d.completion).collect::<Vec<_>>();
    assert_eq!(ends(&again.run(depth())), ends(&second));
}

/// Cores that take no time change no result of any device.
#[test]
fn cores_that_take_no_time_change_nothing() {
    for seed in seeds(0..24) {
        let family = [Family::Any, Family::LogBlocks, Family::Cached][(seed % 3) as usize];
        let (without, requests) = case(family, seed);
        let mut keys = without.keys.clone();
        keys.firmware.cores = 3;
        let with = Settings::new(keys).unwrap();
        let run = |settings| format!("{:?}", try_record(settings, &[], &requests));
        assert_eq!(run(&without), run(&with), "seed {seed}");
    }
}

#[test]
fn service_times_without_cores_are_refused() {
    let why = try_settings(&["firmware.unit_ns=3"]).unwrap_err();
    assert!(why.contains("firmware.unit_ns: no core takes this time"), "{why}");
}

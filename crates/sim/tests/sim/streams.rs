//! Streams and phases: when requests are issued, what ends a phase, and what counts.

use crate::common::phases::{Bench, device, latency, mixed, named, pacing, stream};
use crate::common::{Random, collecting, record, request, seeds};
use flashyard_core::key::Key;
use flashyard_core::policy::PolicyName;
use flashyard_core::quantity::Ppm;
use flashyard_core::request::RequestOp;
use flashyard_core::units::{Span, Time};
use flashyard_sim::config::parse_value;
use flashyard_sim::device::{Device, PhaseKeys, RunError, SimError};
use flashyard_sim::report::{Report, Verdict};
use flashyard_sim::stream::{Pacing, Stream, StreamKeys};
use std::convert::Infallible;

const READ: RequestOp = RequestOp::Read;
const WRITE: RequestOp = RequestOp::Write;

fn arrivals_us(done: &[flashyard_sim::observe::RequestDone]) -> Vec<u64> {
    done.iter().map(|done| done.request.arrival.as_ns() / 1_000).collect()
}

/// A request alone on the device takes its phases, and the next one is issued as it is answered,
/// whatever the recorded times say.
#[test]
fn a_closed_loop_of_one_takes_the_sum_of_the_phases() {
    let requests = [request(9, READ, 0, 1), request(3, WRITE, 1, 1), request(0, READ, 1, 1)];
    let mut bench = Bench::new(&device(&[]));
    let done = bench.run(vec![stream(pacing(Pacing::Closed, 1), &requests)]);
    assert_eq!(arrivals_us(&done), [0, 164, 164 + 1_064]);
    let latencies: Vec<u64> = done.iter().map(|done| latency(done) / 1_000).collect();
    assert_eq!(latencies, [100 + 64, 64 + 1_000, 100 + 64]);
}

/// Four dies and four requests at a time: the fifth is issued when the first of the four is over.
#[test]
fn a_closed_loop_keeps_its_depth() {
    let settings = device(&["geometry.channels=4"]);
    let requests: Vec<_> = (0..40).map(|lpn| request(0, READ, lpn % 7, 1)).collect();
    for depth in [1, 3, 4, 40, 64] {
        let mut bench = Bench::new(&settings);
        let done = bench.run(vec![stream(pacing(Pacing::Closed, depth), &requests)]);
        assert_eq!(done.len(), 40);
        let depth = usize::try_from(depth).unwrap();
        let last = done[39].request.arrival;
        for issued in done.iter().map(|done| done.request.arrival) {
            let under_way = done
                .iter()
                .filter(|done| done.request.arrival <= issued && done.completion > issued)
                .count();
            assert!(under_way <= depth, "one is too many");
            assert!(under_way == depth || issued == last, "one is missing");
            let answered = done.iter().any(|done| done.completion == issued);
            assert!(answered || issued == Time::ZERO, "issued without an answer");
        }
    }
}

/// One at a time: issued at the answer of the one before plus the recorded gap.
#[test]
fn think_time_keeps_the_recorded_gaps() {
    let requests = [request(50, READ, 0, 1), request(60, READ, 1, 1), request(1_060, READ, 2, 1)];
    let mut bench = Bench::new(&device(&[]));
    let done = bench.run(vec![stream(pacing(Pacing::Think, 1), &requests)]);
    assert_eq!(arrivals_us(&done), [50, 50 + 164 + 10, 50 + 164 + 10 + 164 + 1_000]);
}

/// The rule of the key, applied to what was recorded: request i waits for the answer of request
/// i - depth and the gap, and for the issue of the one before.
#[test]
fn think_time_follows_its_formula_at_any_depth() {
    let settings = collecting(&[]);
    let mut random = Random(5);
    let mut requests = mixed(&settings, 4, 300);
    let mut now = 0;
    for request in &mut requests {
        now += random.below(900);
        request.arrival = Time::from_us(now);
    }
    for depth in [1, 2, 7, 32] {
        let mut bench = Bench::new(&settings);
        let done = bench.run(vec![stream(pacing(Pacing::Think, depth), &requests)]);
        let depth = usize::try_from(depth).unwrap();
        let (mut last, mut before) = (0, 0);
        for (at, (request, found)) in requests.iter().zip(&done).enumerate() {
            let answered = at.checked_sub(depth).map_or(0, |at| done[at].completion.as_ns());
            let gap = request.arrival.as_ns() - before;
            let expected = last.max(answered + gap);
            assert_eq!(found.request.arrival.as_ns(), expected, "request {at} of depth {depth}");
            (last, before) = (expected, request.arrival.as_ns());
        }
    }
}

/// An open loop in a phase is what `run` does, but for the stream numbers; and a second phase
/// counts times from its own start.
#[test]
fn open_streams_count_times_from_the_start_of_the_phase() {
    let settings = device(&[]);
    let requests = [request(0, READ, 0, 1), request(50, WRITE, 1, 1), request(5_000, READ, 2, 1)];
    let (report, recorded) = record(&settings, &[], &requests);
    let mut bench = Bench::new(&settings);
    let first = bench.run(vec![stream(StreamKeys::default(), &requests)]);
    let second = bench.run(vec![stream(StreamKeys::default(), &requests)]);
    let times = |done: &[flashyard_sim::observe::RequestDone], start: u64| -> Vec<(u64, u64)> {
        let pair = |time: Time| time.as_ns() - start;
        done.iter().map(|done| (pair(done.request.arrival), pair(done.completion))).collect()
    };
    assert_eq!(times(&first, 0), times(&recorded.requests, 0));
    assert_eq!(times(&second, report.throughput.makespan_ns), times(&first, 0));
    let both = bench.finish();
    assert_eq!(both.throughput.makespan_ns, 2 * report.throughput.makespan_ns);
    assert_eq!(both.workload.requests, 6);
    assert_eq!(both.flash.array_ops["reads"]["host"], 4);
    assert_eq!(both.energy_pj.total, 2 * report.energy_pj.total);
    assert_eq!(both.verdict.offered_load, report.verdict.offered_load);
}

/// Counts, sums and rates of all streams are those of the whole.
#[test]
fn streams_add_up_to_the_whole() {
    let settings = collecting(&[]);
    let (a, b) = (mixed(&settings, 1, 400), mixed(&settings, 2, 300));
    let mut bench = Bench::new(&settings);
    let streams =
        vec![named("a", pacing(Pacing::Closed, 4), &a), named("b", pacing(Pacing::Closed, 16), &b)];
    let done = bench.run(streams);
    let report = bench.finish();
    let names: Vec<_> = report.streams.keys().map(String::as_str).collect();
    assert_eq!(names, ["a", "b"]);
    assert_eq!([report.streams["a"].requests, report.streams["b"].requests], [400, 300]);
    for (number, name) in (0..).zip(names) {
        for (class, op) in [("read", Some(READ)), ("write", Some(WRITE)), ("all", None)] {
            let of_stream = done.iter().filter(|done| {
                done.request.stream == number && op.is_none_or(|op| done.request.op == op)
            });
            let latencies: Vec<u64> = of_stream.map(latency).collect();
            let found = &report.streams[name].latency_ns[class];
            assert_eq!(found.count, latencies.len() as u64);
            let mean = latencies.iter().sum::<u64>() as f64 / latencies.len() as f64;
            assert_eq!(found.mean, Some(mean));
            assert_eq!(found.max, latencies.iter().copied().max());
        }
    }
    let iops: f64 = report.streams.values().map(|stream| stream.iops.unwrap()).sum();
    let whole = report.throughput.iops.unwrap();
    assert!((iops - whole).abs() < 1e-9 * whole, "{iops} of {whole}");
    let mut alone = Bench::new(&settings);
    alone.run(vec![stream(pacing(Pacing::Closed, 4), &a)]);
    assert!(alone.finish().streams.is_empty(), "one stream is the whole");
}

/// At one instant requests are issued by ascending stream.
#[test]
fn arrivals_at_one_instant_go_by_stream() {
    let requests: Vec<_> = (0..3).map(|lpn| request(lpn * 7, READ, lpn, 1)).collect();
    let mut bench = Bench::new(&device(&[]));
    let keys = StreamKeys::default();
    let done = bench.run(vec![stream(keys, &requests), stream(keys, &requests)]);
    let order: Vec<_> = done.iter().map(|done| (done.request.stream, done.order)).collect();
    assert_eq!(order, [(0, 0), (1, 1), (0, 2), (1, 3), (0, 4), (1, 5)]);
}

/// A phase that is not measured leaves its state and nothing else.
#[test]
fn unmeasured_phases_leave_no_counts() {
    let settings = collecting(&["energy.standby_mw=3"]);
    let (a, b) = (mixed(&settings, 1, 600), mixed(&settings, 2, 500));
    let keys = pacing(Pacing::Closed, 8);
    let silent = PhaseKeys { measure: false, ..PhaseKeys::default() };
    let mut bench = Bench::new(&settings);
    let (phase, warmed) = bench.phase(&silent, vec![stream(keys, &a)]);
    assert_eq!((phase.measured, phase.requests), (false, 600));
    assert!(phase.write_amplification.unwrap() > 1.0, "{phase:?}");
    let done = bench.run(vec![stream(keys, &b)]);
    let report = bench.finish();
    assert_eq!(report.workload.requests, 500);
    assert_eq!(report.latency_ns["all"].count, 500);
    let sum: u64 = done.iter().map(latency).sum();
    assert_eq!(report.latency_ns["all"].mean, Some(sum as f64 / 500.0));
    let first = done[0].request.arrival;
    assert_eq!(report.workload.first_ns, first.as_ns());
    assert!(first >= warmed.iter().map(|done| done.completion).max().unwrap(), "after the drain");
    assert_eq!(report.phases[1].makespan_ns, report.throughput.makespan_ns);
    assert_eq!(report.phases[1].write_amplification, report.flash.write_amplification);
    // The same phases, both measured: what the first one did is the difference.
    let mut bench = Bench::new(&settings);
    let mut totals = Vec::new();
    for requests in [&a, &b] {
        bench.run(vec![stream(keys, requests)]);
    }
    let both = bench.finish();
    let mut alone = Bench::new(&settings);
    alone.run(vec![stream(keys, &a)]);
    let alone = alone.finish();
    for (name, by_purpose) in &both.flash.array_ops {
        for (purpose, ops) in by_purpose {
            let split =
                alone.flash.array_ops[name][purpose] + report.flash.array_ops[name][purpose];
            assert_eq!(*ops, split, "{name} {purpose}");
            totals.push(*ops);
        }
    }
    assert!(totals.iter().sum::<u64>() > 2_000, "the device worked: {totals:?}");
    assert_eq!(both.energy_pj.total, alone.energy_pj.total + report.energy_pj.total);
    assert_eq!(both.gc.jobs, alone.gc.jobs + report.gc.jobs);
    assert_eq!(both.map.batch_cleaned, alone.map.batch_cleaned + report.map.batch_cleaned);
    assert!(alone.map.batch_cleaned > 0 && report.map.batch_cleaned > 0);
    assert_eq!(both.wear.erases_max, report.wear.erases_max, "wear stays");
}

/// No request is issued at the limit or after it, and those under way are answered.
#[test]
fn limits_end_a_phase() {
    let settings = device(&[]);
    let requests: Vec<_> = (0..100).map(|lpn| request(lpn * 100, READ, lpn, 1)).collect();
    let run = |phase: PhaseKeys, keys: StreamKeys| {
        let mut bench = Bench::new(&settings);
        let streams = vec![stream(keys, &requests), stream(keys, &requests)];
        let (report, done) = bench.phase(&phase, streams);
        assert_eq!(report.requests, done.len() as u64);
        assert_eq!(bench.finish().workload.requests, report.requests);
        (report, done)
    };
    let count = PhaseKeys { requests: 17, ..PhaseKeys::default() };
    let (report, _) = run(count, StreamKeys::default());
    assert_eq!((report.requests, report.ended_by), (17, "requests"));
    // 3 ms hold the arrivals 0 to 2,900 us of both streams.
    let time = PhaseKeys { time_ms: Span::from_ms(3), ..PhaseKeys::default() };
    let (report, done) = run(time, StreamKeys::default());
    assert_eq!((report.requests, report.ended_by), (60, "time"));
    assert_eq!(done[59].request.arrival, Time::from_us(2_900));
    // A read takes 164 us: 18 end before 3 ms, and the one that ends after is the last.
    let mut bench = Bench::new(&settings);
    let keys = pacing(Pacing::Closed, 1);
    let (report, done) = bench.phase(&time, vec![stream(keys, &requests)]);
    assert_eq!((report.requests, report.ended_by), (19, "time"));
    assert_eq!(done[18].completion, Time::from_us(19 * 164));
    let (report, _) = run(PhaseKeys::default(), keys);
    assert_eq!((report.requests, report.ended_by), (200, "source"));
}

/// Sequential overwrites of a full device empty whole blocks: after a window or two each one
/// programs what the host writes. The phase ends with the window that shows it.
#[test]
fn a_stable_phase_ends() {
    let settings = collecting(&["map.store=resident"]);
    let pages = u64::from(settings.exported_units);
    let requests: Vec<_> = (0..50 * pages).map(|at| request(0, WRITE, at % pages, 1)).collect();
    let stable = PhaseKeys { stable_percent: Ppm::from_percent(1), ..PhaseKeys::default() };
    let mut bench = Bench::new(&settings);
    let keys = pacing(Pacing::Closed, 1);
    let (report, _) = bench.phase(&stable, vec![stream(keys, &requests)]);
    assert_eq!((report.ended_by, report.requests), ("stable", 2 * pages));
    assert_eq!(report.write_amplification, Some(1.0));
    let mut bench = Bench::new(&settings);
    let (report, _) = bench.phase(&PhaseKeys::default(), vec![stream(keys, &requests)]);
    assert_eq!((report.ended_by, report.requests), ("source", 50 * pages));
}

/// Random overwrites settle too, and not before their write amplification has.
#[test]
fn a_stable_phase_has_settled() {
    let settings = collecting(&["map.store=resident"]);
    let mut random = Random(3);
    let pages = u64::from(settings.exported_units);
    let requests: Vec<_> =
        (0..60 * pages).map(|_| request(0, WRITE, random.below(pages), 1)).collect();
    let windows = |percent: u64| {
        let stable =
            PhaseKeys { stable_percent: Ppm::from_ppm(percent * 10_000), ..PhaseKeys::default() };
        let mut bench = Bench::new(&settings);
        let keys = pacing(Pacing::Closed, 1);
        let (report, _) = bench.phase(&stable, vec![stream(keys, &requests)]);
        assert_eq!(report.ended_by, "stable");
        assert_eq!(report.requests % pages, 0, "whole windows");
        report.requests / pages
    };
    // Half of the space is spare, so the first window needs few copies and the second more.
    assert!(windows(1) >= 3, "{}", windows(1));
    assert!(windows(1) >= windows(5));
    assert_eq!(windows(100), 2);
}

/// Several pacings and phases under the checker, with every latency explained.
#[test]
fn random_phases_keep_every_rule() {
    for seed in seeds(0..40) {
        let mut random = Random(seed);
        let policy = random.pick(PolicyName::WORDS);
        let depth = random.pick(&[2, 16, 256]);
        let settings =
            collecting(&[&format!("policy.command={policy}"), &format!("queue.depth={depth}")]);
        let mut bench = Bench::new(&settings);
        let mut count = 0;
        for _ in 0..3 {
            let lists: Vec<_> =
                (0..=random.below(3)).map(|_| mixed(&settings, random.next(), 150)).collect();
            count += 150 * lists.len() as u64;
            let mut keys = || {
                let kind = random.pick(Pacing::ALL);
                pacing(kind, random.pick(&[1, 5, 64]))
            };
            let streams = lists.iter().map(|list| stream(keys(), list)).collect();
            let done = bench.run(streams);
            assert_eq!(done.len(), 150 * lists.len());
            assert!(done.iter().all(|done| done.parts.total() == latency(done)));
        }
        let report = bench.finish();
        assert_eq!(report.workload.requests, count);
        assert_eq!(report.phases.len(), 3);
    }
}

/// Every key of a stream and of a phase shows.
#[test]
fn every_key_of_streams_and_phases_does_something() {
    let results = |phase: PhaseKeys, keys: StreamKeys, with: &[&str]| {
        let of_device =
            |key: &&str| ["interface.", "placement."].iter().any(|part| key.starts_with(part));
        let device: Vec<&str> = with.iter().copied().filter(of_device).collect();
        let settings = collecting(&device);
        let pages = u64::from(settings.exported_units);
        let count = if with.contains(&"@full") { 8 * pages } else { 300 };
        let requests: Vec<_> = (0..count).map(|at| request(at, WRITE, at % pages, 1)).collect();
        let mut device = Device::new(&settings);
        let other = StreamKeys { weight: 1, ..keys };
        let streams = vec![named("a", keys, &requests), named("b", other, &requests)];
        device.run_phase(&phase, streams).unwrap();
        format!("{:?}", device.finish().unwrap())
    };
    let flip = |key: &Key| parse_value(&key.kind, key.flip).unwrap();
    for key in StreamKeys::KEYS {
        let mut base = StreamKeys::default();
        for setting in key.with.iter().filter_map(|with| with.strip_prefix("stream.")) {
            let (name, value) = setting.split_once('=').unwrap();
            let other = StreamKeys::KEYS.iter().find(|other| other.name == name).unwrap();
            assert!(base.set(name, parse_value(&other.kind, value).unwrap()));
        }
        if key.with.contains(&"stream.rate_limit_iops=100") {
            base.rate_limit_iops = 100;
        }
        if key.with.contains(&"stream.rate_limit_iops=100") {
            base.rate_limit_iops = 100;
        }
        let mut flipped = base;
        assert!(flipped.set(key.name, flip(key)));
        let phase = PhaseKeys::default();
        assert_ne!(
            results(phase, base, key.with),
            results(phase, flipped, key.with),
            "{}",
            key.name
        );
    }
    for key in PhaseKeys::KEYS {
        let mut flipped = PhaseKeys::default();
        assert!(flipped.set(key.name, flip(key)));
        let keys = pacing(Pacing::Closed, 4);
        let base = results(PhaseKeys::default(), keys, key.with);
        assert_ne!(base, results(flipped, keys, key.with), "{}", key.name);
    }
}

/// Reads that cost nothing would be issued for ever in a phase that waits for time to pass.
#[test]
fn a_phase_that_gets_nowhere_is_an_error() {
    let settings = device(&["nand.unmapped_read=zero"]);
    let limited = |phase: PhaseKeys| {
        let source = Box::new(|| Ok(Some(request(0, READ, 0, 1))));
        let keys = pacing(Pacing::Closed, 4);
        let mut device = Device::new(&settings);
        let streams = vec![Stream::<Infallible> { name: String::new(), keys, source }];
        device.run_phase(&phase, streams).map(|phase| phase.requests)
    };
    let error =
        limited(PhaseKeys { time_ms: Span::from_ms(1), ..PhaseKeys::default() }).unwrap_err();
    assert!(matches!(error, RunError::Sim(SimError::Standstill { .. })), "{error:?}");
    let requests =
        PhaseKeys { time_ms: Span::from_ms(1), requests: 2_000_000, ..PhaseKeys::default() };
    assert_eq!(limited(requests), Ok(2_000_000));
}

/// Times that go backwards are an error where they are used, and only there.
#[test]
fn times_that_go_backwards_are_refused_where_they_count() {
    let requests = [request(50, READ, 0, 1), request(40, READ, 1, 1)];
    let run = |kind: Pacing| {
        let mut bench = Bench::new(&device(&[]));
        bench.try_phase(&PhaseKeys::default(), vec![stream(pacing(kind, 1), &requests)]).err()
    };
    let backwards = Some(SimError::Backwards { order: 1 });
    assert_eq!(run(Pacing::Open), backwards);
    assert_eq!(run(Pacing::Think), backwards);
    assert_eq!(run(Pacing::Closed), None);
    assert_eq!(run(Pacing::Fast), None);
}

/// The first requests, by order of arrival in measured phases, do not count as latencies and
/// nowhere else: means, counts and parts are those of the others, everything else stays.
#[test]
fn latencies_of_the_first_requests_are_left_out() {
    let two = |skip: &str| {
        let settings = device(&["geometry.channels=2", skip]);
        let (few, many) = (mixed(&settings, 1, 50), mixed(&settings, 2, 400));
        let mut bench = Bench::new(&settings);
        let silent = PhaseKeys { measure: false, ..PhaseKeys::default() };
        bench.phase(&silent, vec![stream(pacing(Pacing::Closed, 4), &few)]);
        let streams = || vec![pacing(Pacing::Closed, 3), pacing(Pacing::Closed, 5)];
        let mut done = Vec::new();
        for _ in 0..2 {
            let streams = ["a", "b"].into_iter().zip(streams());
            let streams = streams.map(|(name, keys)| named(name, keys, &many)).collect();
            done.extend(bench.run(streams));
        }
        (bench.finish(), done)
    };
    let (all, _) = two("metrics.skip_requests=0");
    // 900 reaches into the second measured phase of 800 requests.
    for skip in [1, 333, 900, 1_600, 9_999] {
        let (report, done) = two(&format!("metrics.skip_requests={skip}"));
        assert_eq!(done.len(), 1_600);
        let counted = || done.iter().skip(skip);
        let sum = |op| {
            let ns = counted().filter(|done| op == done.request.op).map(latency);
            (ns.clone().count() as u64, ns.sum::<u64>())
        };
        for (op, name) in [(READ, "read"), (WRITE, "write")] {
            let (count, ns) = sum(op);
            let found = &report.latency_ns[name];
            assert_eq!(found.count, count, "{skip}");
            assert_eq!(found.mean, (count > 0).then(|| ns as f64 / count as f64), "{skip}");
            assert_eq!(report.latency_parts_ns[name].total(), ns, "{skip}");
        }
        for (place, name) in ["a", "b"].into_iter().enumerate() {
            let mine = counted().filter(|done| usize::from(done.request.stream) == place);
            let found = &report.streams[name];
            assert_eq!(found.latency_ns["all"].count, mine.count() as u64, "{skip}");
            assert_eq!((found.requests, found.iops), (800, all.streams[name].iops));
        }
        let whole = |report: &Report| {
            let Report { workload, flash, throughput, .. } = report;
            // Latencies of the thirds are those that count.
            let verdict = Verdict { thirds: None, ..report.verdict.clone() };
            format!("{workload:?} {flash:?} {throughput:?} {verdict:?}")
        };
        assert_eq!(whole(&report), whole(&all), "{skip}");
    }
}

/// A placement hint chooses the open block, whatever stream the request belongs to; where there is
/// none, the stream does.
#[test]
fn a_placement_hint_chooses_the_open_block() {
    let settings = device(&["placement.handles=2"]);
    let pages = |hint: fn(u64) -> (u16, Option<u16>)| {
        let requests = (0..40).map(|lpn| {
            let (stream, placement) = hint(lpn);
            request(lpn, WRITE, lpn, 1).of_stream(stream).placed(placement)
        });
        let (_, run) = record(&settings, &[], &requests.collect::<Vec<_>>());
        run.commands.iter().map(|command| command.ppn).collect::<Vec<_>>()
    };
    let by_stream = pages(|lpn| (u16::try_from(lpn % 2).unwrap(), None));
    let hinted = pages(|lpn| (0, Some(u16::try_from(lpn % 2).unwrap())));
    let against = pages(|lpn| (u16::try_from(lpn % 2).unwrap(), Some(0)));
    assert_eq!(by_stream, hinted);
    assert_eq!(against, pages(|_| (0, None)));
    assert_ne!(by_stream, against);
}

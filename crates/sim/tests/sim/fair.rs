//! Fair queueing on whole devices: the order of start tags, weights, internal streams, and what a
//! burst of one stream does to another one.

use crate::common::phases::{Bench, named, pacing};
use crate::common::{Random, Recorded, collecting, page_writes, record, request, seeds, settings};
use crate::generators::devices::{Family, case};
use flashyard_core::command::{Op, Purpose};
use flashyard_core::policy::{
    CommandEvent, CommandPolicy, CommandView, Happened, Placement, PolicyName,
};
use flashyard_core::request::{Request, RequestOp};
use flashyard_core::units::Time;
use flashyard_sim::config::Settings;
use flashyard_sim::device::{Device, PhaseKeys, SimError};
use flashyard_sim::observe::{CommandDone, RequestDone};
use flashyard_sim::parts::policy::Policy;
use flashyard_sim::stream::{Pacing, StreamKeys};
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const READ: RequestOp = RequestOp::Read;
const WRITE: RequestOp = RequestOp::Write;

/// Dies without transfers whose reads take 100 us and programs 700 us, and more slots than the
/// streams fill.
fn device(policy: &str, keys: &[&str]) -> Settings {
    let policy = format!("policy.command={policy}");
    let base = [
        "geometry.blocks_per_plane=256",
        "nand.read_us=100",
        "nand.program_us=700",
        "map.store=resident",
        "queue.depth=4096",
        &policy,
    ];
    settings(&[&base, keys].concat())
}

/// Runs a list of requests for each weight, as streams with the times of the requests.
fn run(settings: &Settings, streams: &[(u64, Vec<Request>)]) -> Vec<RequestDone> {
    let mut bench = Bench::new(settings);
    let streams = streams.iter().enumerate().map(|(number, (weight, requests))| {
        let keys = StreamKeys { weight: *weight, ..StreamKeys::default() };
        named(&number.to_string(), keys, requests)
    });
    bench.run(streams.collect())
}

/// The order in which requests are answered.
fn order(mut done: Vec<RequestDone>) -> Vec<(u64, u16)> {
    done.sort_by_key(|done| done.completion);
    done.iter().map(|done| (done.completion.as_ns() / 1_000, done.request.stream)).collect()
}

/// The textbook form on one server: an operation gets its tags when it comes, S = max(V, F of the
/// one before), F = S + cost / weight; V is the tag of the operation in service, or the greatest F
/// when nothing is there. Times and costs in us, tags in quarters of them: weights are 1, 2 or 4,
/// whose fractions virtual time holds.
fn textbook(streams: &[(u64, Vec<Request>)]) -> Vec<(u64, u16)> {
    let mut jobs: Vec<(u64, u16, u64)> = Vec::new();
    for (number, (_, requests)) in (0..).zip(streams) {
        let cost = |op| if op == READ { 100 } else { 700 };
        jobs.extend(requests.iter().map(|r| (r.arrival.as_ns() / 1_000, number, cost(r.op))));
    }
    // Those that come at one time, by stream.
    jobs.sort_by_key(|&(at, stream, _)| (at, stream));
    let mut finish = vec![0; streams.len()];
    let (mut virtual_time, mut latest, mut now, mut next) = (0, 0, 0, 0);
    let mut waiting: Vec<(u64, u16, usize)> = Vec::new();
    let mut served = Vec::new();
    while served.len() < jobs.len() {
        if waiting.is_empty() {
            now = now.max(jobs[next].0);
            virtual_time = latest;
        }
        let mut come = |until: u64, virtual_time: u64, waiting: &mut Vec<_>, latest: &mut u64| {
            while next < jobs.len() && jobs[next].0 <= until {
                let (_, stream, cost) = jobs[next];
                let start = finish[usize::from(stream)].max(virtual_time);
                let end = start + cost * 4 / streams[usize::from(stream)].0;
                finish[usize::from(stream)] = end;
                *latest = (*latest).max(end);
                waiting.push((start, stream, next));
                next += 1;
            }
        };
        come(now, virtual_time, &mut waiting, &mut latest);
        let least = (0..waiting.len()).min_by_key(|&at| waiting[at]).expect("one waits");
        let (start, stream, job) = waiting.swap_remove(least);
        virtual_time = start;
        now += jobs[job].2;
        served.push((now, stream));
        // What comes as the operation ends comes after its end.
        come(now - 1, virtual_time, &mut waiting, &mut latest);
    }
    served
}

/// On one die the requests of any streams are served in the order of the textbook's tags.
#[test]
fn one_die_serves_by_start_tags() {
    let settings = device("fair", &[]);
    for seed in seeds(0..60) {
        let mut random = Random(seed);
        let count = 1 + random.below(6);
        let pace = random.pick(&[1, 40, 300]);
        let mut lpn = 0;
        let streams: Vec<_> = (0..count)
            .map(|_| {
                let mut at = 0;
                let requests = (0..40).map(|_| {
                    at += random.below(8) * pace;
                    lpn += 1;
                    request(at, random.pick(&[READ, WRITE]), lpn, 1)
                });
                let requests = requests.collect();
                (random.pick(&[1, 2, 4]), requests)
            })
            .collect();
        assert_eq!(order(run(&settings, &streams)), textbook(&streams), "seed {seed}");
    }
}

/// Streams that always have work share a die by their weights, whatever their commands take, and
/// none starves among two hundred.
#[test]
fn shares_follow_the_weights() {
    let settings = device("fair", &[]);
    let all = |op, first: u64, count: u64| -> Vec<Request> {
        (first..first + count).map(|lpn| request(0, op, lpn, 1)).collect()
    };
    let streams = [(2, all(READ, 0, 1_400)), (1, all(WRITE, 2_000, 100))];
    let done = order(run(&settings, &streams));
    let until = |stream| done.iter().rposition(|done| done.1 == stream).unwrap();
    let both = &done[..until(0).min(until(1))];
    let time = |stream| both.iter().filter(|done| done.1 == stream).count();
    let (reads, writes) = (time(0) * 100, time(1) * 700);
    assert!(both.len() > 1_000 && reads.abs_diff(2 * writes) <= 1_400, "{reads} us, {writes} us");

    let many: Vec<_> = (0..200).map(|stream| (1, all(READ, stream * 20, 20))).collect();
    let done = order(run(&settings, &many));
    for (at, (_, stream)) in done.iter().enumerate() {
        assert_eq!(usize::from(*stream), at % 200, "each has its turn");
    }
}

/// A die that has work is never idle: the same requests are over at the same time as under fifo.
#[test]
fn no_die_idles_with_work() {
    for seed in seeds(0..20) {
        let mut random = Random(seed);
        let mut lpn = 0;
        let streams: Vec<_> = (0..3)
            .map(|_| {
                let mut one = || {
                    lpn += 1;
                    request(0, random.pick(&[READ, WRITE]), lpn, 1)
                };
                (1, (0..50).map(|_| one()).collect::<Vec<_>>())
            })
            .collect();
        let last = |policy| order(run(&device(policy, &[]), &streams)).last().unwrap().0;
        assert_eq!(last("fair"), last("fifo"), "seed {seed}");
    }
}

/// One stream of the host, on a device that collects garbage only when it must: urgent collection
/// goes first as under fifo, so that nothing differs.
#[test]
fn urgent_collection_bypasses_the_shares() {
    let keys = ["map.store=resident", "gc.soft_free_blocks=8", "buffer.bytes=0"];
    let requests = page_writes(3, 3_000, 200);
    let run = |policy: &str| {
        let policy = format!("policy.command={policy}");
        let settings = collecting(&[&keys[..], &[policy.as_str()]].concat());
        let (report, run) = record(&settings, &[], &requests);
        assert!(report.gc.jobs > 200);
        run.commands.iter().map(|done| (done.command, done.start)).collect::<Vec<_>>()
    };
    assert_eq!(run("fair"), run("fifo"));
}

/// Picks commands.
type Which = fn(&CommandDone) -> bool;

/// Mean time from queue to die of commands that `which` picks.
fn wait(run: &Recorded, which: Which) -> f64 {
    let waits = run.commands.iter().filter(|done| which(done));
    let waits: Vec<f64> =
        waits.map(|done| done.start.since(done.enqueued).as_ns() as f64).collect();
    assert!(waits.len() > 100, "{} commands", waits.len());
    waits.iter().sum::<f64>() / waits.len() as f64
}

/// The more weight an internal stream has, the less its commands wait.
#[test]
fn internal_streams_have_weights() {
    let purposes: [(&str, &[&str], Which); 3] = [
        // Collection begins long before it is urgent.
        ("gc", &["map.store=resident", "gc.hard_free_blocks=4", "gc.reserve_blocks=4"], |done| {
            done.purpose == Purpose::Gc
        }),
        ("map", &[], |done| done.purpose == Purpose::MapFetch),
        ("flush", &["map.store=resident", "buffer.bytes=65536"], |done| {
            done.purpose == Purpose::Host && done.op == Op::Program
        }),
    ];
    for (stream, keys, which) in purposes {
        // Writes in bursts, and reads between them.
        let mut random = Random(5);
        let requests: Vec<_> = (0..4_000)
            .map(|number| {
                let op = random.pick(&[READ, READ, WRITE]);
                request(number / 100 * 12_000, op, random.below(400), 1)
            })
            .collect();
        let waits = [1, 4, 16].map(|weight| {
            let weight = format!("policy.fair.{stream}_weight={weight}");
            let own = ["policy.command=fair", "queue.depth=1024", &weight];
            let (_, run) = record(&collecting(&[&own[..], keys].concat()), &[], &requests);
            wait(&run, which)
        });
        assert!(waits.is_sorted_by(|a, b| a > b), "{stream}: {waits:?}");
    }
}

/// The published case study in small: while A bursts, B keeps its throughput under fair queueing
/// and loses a part of it first in, first out; A loses nothing that is not B's.
#[test]
fn a_burst_of_one_stream_does_not_slow_the_other() {
    let throughput = |policy| {
        let settings = device(policy, &["geometry.channels=4", "queue.depth=65536"]);
        let mut random = Random(9);
        let pages = u64::from(settings.exported_units) / 4;
        let mut requests = |first: u64, gaps: &[(u64, u64)]| {
            let mut at = 0;
            let mut list = Vec::new();
            for &(until, gap) in gaps {
                while at < until {
                    at += gap / 2 + random.below(gap);
                    let op = random.pick(&[READ, WRITE]);
                    list.push(request(at, op, first + random.below(pages), 1));
                }
            }
            list
        };
        // 400 us of die time a request: 4 dies serve one in 100 us.
        let a = requests(0, &[(300_000, 400), (600_000, 50), (900_000, 400)]);
        let b = requests(2 * pages, &[(900_000, 250)]);
        let done = run(&settings, &[(1, a), (1, b)]);
        let burst =
            |done: &&RequestDone| (320_000..600_000).contains(&(done.completion.as_ns() / 1_000));
        let count =
            |stream| done.iter().filter(burst).filter(|d| d.request.stream == stream).count();
        [count(0), count(1)]
    };
    let (fifo, fair) = (throughput("fifo"), throughput("fair"));
    let asked = 280_000 / 250;
    assert!(fair[1].abs_diff(asked) * 20 < asked, "B has its throughput: {fair:?}");
    assert!(fifo[1] * 10 < asked * 8, "B loses a fifth at least: {fifo:?}");
    let all = |counts: [usize; 2]| counts[0] + counts[1];
    assert!(all(fair) * 20 > all(fifo) * 19, "{fair:?}, {fifo:?}");
}

/// Random devices under fair queueing keep every rule, with weights that are far apart too.
#[test]
fn random_devices_keep_every_rule() {
    for seed in seeds(7_000..7_090) {
        let family = [Family::Any, Family::LogBlocks, Family::Cached][(seed % 3) as usize];
        let (mut settings, mut requests) = case(family, seed);
        settings.keys.policy.command = PolicyName::Fair;
        let mut random = Random(seed);
        settings.keys.policies.fair.gc_weight = random.pick(&[1, 7, 65_535]);
        settings.keys.policies.fair.map_weight = random.pick(&[1, 7, 65_535]);
        // A stream that is alone keeps the streams of its requests.
        for request in &mut requests {
            request.stream = u16::try_from(random.below(40) * random.below(40)).unwrap();
        }
        let mut bench = Bench::of(Device::new(&settings));
        let streams = vec![named("s", pacing(Pacing::Open, 1), &requests)];
        match bench.try_phase(&PhaseKeys::default(), streams) {
            Ok((_, done)) => assert_eq!(done.len(), requests.len(), "seed {seed}"),
            Err(SimError::NoReserve { .. } | SimError::NoRoom { .. })
                if family == Family::Cached => {}
            Err(error) => panic!("seed {seed}: {error}"),
        }
    }
}

/// Counts what it is told: a policy of a user's own with a state that ranks nothing. Its words are
/// the commands that wait for each die and those that run there.
struct Told(Arc<[AtomicU64; 5]>);

impl CommandPolicy for Told {
    fn queue_names(&self) -> &'static [&'static str] {
        &["ALL"]
    }

    fn place(&self, command: &CommandView<'_>, _: Time) -> Placement {
        assert!(command.state.len() >= 2, "it sees its words");
        Placement { queue: 0, key: 0, deadline: None }
    }

    fn has_state(&self) -> bool {
        true
    }

    fn state_words(&self, dies: usize, _streams: usize) -> usize {
        2 * dies
    }

    fn command_event(&self, state: &mut [u64], event: &CommandEvent) {
        let [waiting, running] = &mut state.as_chunks_mut().0[event.die.index()];
        let place = match event.what {
            Happened::Arrived => 0,
            Happened::Dispatched { .. } => 1,
            Happened::Completed => 2,
            Happened::Withdrawn => 3,
            Happened::Emptied => 4,
        };
        self.0[place].fetch_add(1, Ordering::Relaxed);
        match event.what {
            Happened::Arrived => *waiting += 1,
            Happened::Dispatched { .. } => (*waiting, *running) = (*waiting - 1, *running + 1),
            Happened::Completed => *running -= 1,
            Happened::Withdrawn => *waiting -= 1,
            Happened::Emptied => assert_eq!(*waiting, 0, "no command waits for the die"),
        }
    }
}

/// A policy is told of each command when it comes, is taken and is over, and of every die that runs
/// out of commands; commands that ride along and those that find no room included.
#[test]
fn a_policy_with_a_state_is_told_of_every_command() {
    let settings = collecting(&[
        "map.store=resident",
        "geometry.ways=1",
        "geometry.planes=2",
        "nand.multi_plane=any",
        "ftl.over_provisioning_percent=60",
    ]);
    let told = Arc::new(<[AtomicU64; 5]>::default());
    let mut device = Device::with_policy(&settings, Policy::Own(Arc::new(Told(Arc::clone(&told)))));
    device.check();
    let mut requests = page_writes(3, 3_000, 200).into_iter();
    let report = device.run(|| Ok::<_, Infallible>(requests.next())).unwrap();
    let [arrived, dispatched, completed, withdrawn, emptied] =
        told.each_ref().map(|count| count.load(Ordering::Relaxed));
    assert_eq!((arrived, completed), (dispatched + withdrawn, dispatched));
    assert_eq!(withdrawn, report.gc.programs_that_waited_for_room);
    let operations: u64 = report.flash.array_ops.values().flat_map(|of| of.values()).sum();
    assert!(operations < dispatched && withdrawn > 0, "{operations} {dispatched} {withdrawn}");
    assert!(emptied > 0 && emptied <= operations);
}

//! What a command costs: whole devices under saturation, and the parts of core that it spends its
//! time in. `cargo bench -p flashyard-sim` measures; `cargo test -p flashyard-sim --benches` runs
//! everything once and small. Times of a shared machine are noisy: compare instruction counts too,
//! see `examples/instructions.rs`.

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use flashyard_core::command::Rank;
use flashyard_core::graph::{Edge, EdgeKind, Graph, Node, Reach, Wait};
use flashyard_core::heap::{ABSENT, Entry};
use flashyard_core::policy::Placement;
use flashyard_core::queue::{CommandQueue, Link, Positions};
use flashyard_core::request::{Request, RequestOp};
use flashyard_core::units::{Span, Time};
use flashyard_sim::config::{DeviceKeys, Settings, apply_setting};
use flashyard_sim::device::Device;
use flashyard_sim::report::Report;
use std::convert::Infallible;

fn main() {
    divan::main();
}

/// The policies to compare: with and without delay relations, and the published baseline.
const POLICIES: [&str; 3] = ["drs", "fot", "rcf"];

/// Commands that wait for a die.
const DEPTH: u32 = 256;

/// Requests for each of the dies: many to measure, few to see that it runs.
fn requests_of(dies: u64) -> u64 {
    let measured = std::env::args().any(|argument| argument == "--bench");
    if measured { 50_000 + 5_000 * (dies - 1) } else { 2_000 * dies }
}

/// One die behind a map cache of 512 lines.
#[divan::bench(args = POLICIES, sample_count = 20)]
fn one_die(bencher: Bencher, policy: &str) {
    bench_device(bencher, policy, 1, 1);
}

/// 8 channels of 4 ways, with queue and cache a die as above.
#[divan::bench(args = POLICIES, sample_count = 10)]
fn thirty_two_dies(bencher: Bencher, policy: &str) {
    bench_device(bencher, policy, 8, 4);
}

fn bench_device(bencher: Bencher, policy: &str, channels: u64, ways: u64) {
    let load = Load::new(policy, channels, ways);
    let commands = commands(&load.run());
    bencher.counter(ItemsCount::new(commands)).bench(|| load.run());
}

/// Reads and writes of random pages, as fast as the device completes them.
struct Load {
    settings: Settings,
    requests: Vec<Request>,
}

impl Load {
    fn new(policy: &str, channels: u64, ways: u64) -> Self {
        let dies = channels * ways;
        let settings = settings(&[
            format!("policy.command={policy}"),
            format!("geometry.channels={channels}"),
            format!("geometry.ways={ways}"),
            "geometry.blocks_per_plane=4096".to_string(),
            format!("map.cache_bytes={}", 16_384 * dies),
            format!("queue.depth={DEPTH}"),
            "queue.slots_scope=die".to_string(),
        ]);
        let mut random = 1;
        let requests = (0..requests_of(dies))
            .map(|_| {
                let roll = next(&mut random);
                Request::new(
                    if roll >> 63 == 0 { RequestOp::Read } else { RequestOp::Write },
                    roll % (65_536 * dies) * 8,
                    8,
                )
            })
            .collect();
        let mut load = Self { settings, requests };
        load.pace();
        load
    }

    /// Spaces arrivals as the device completes requests, behind a burst that fills its queues
    /// twice: they stay full, and few requests wait before them.
    fn pace(&mut self) {
        let count = self.requests.len() as u64;
        let gap_ns = self.run().throughput.makespan_ns / count;
        let dies = u64::from(self.settings.geometry.dies());
        let burst = 2 * u64::from(DEPTH) * dies;
        for (at, request) in (0..).zip(&mut self.requests) {
            request.arrival = Time::from_ns(gap_ns * u64::saturating_sub(at, burst));
        }
    }

    fn run(&self) -> Report {
        let mut requests = self.requests.iter().copied();
        let report = Device::new(&self.settings).run(|| Ok::<_, Infallible>(requests.next()));
        let report = report.expect("the load fits the device");
        self.check(&report);
        report
    }

    /// The work that the published model prescribes, whatever the order: a data command a page, a
    /// map read a miss, a map read and a map program a dirty eviction. Queues were full.
    fn check(&self, report: &Report) {
        let count = self.requests.len() as u64;
        let (map, ops) = (&report.map, &report.flash.array_ops);
        assert_eq!(map.hits + map.misses, count);
        assert_eq!(ops["reads"]["host"] + ops["programs"]["host"], count);
        assert_eq!(commands(report), count + map.misses + 2 * map.dirty_evictions);
        assert!(report.verdict.most_outstanding >= u64::from(DEPTH), "{:?}", report.verdict);
    }
}

fn commands(report: &Report) -> u64 {
    report.flash.array_ops.values().flat_map(|by_purpose| by_purpose.values()).sum()
}

fn settings(assignments: &[String]) -> Settings {
    let mut keys = DeviceKeys::default();
    let mut problems = Vec::new();
    for assignment in assignments {
        apply_setting("--set", assignment, &mut keys, &mut problems);
    }
    assert!(problems.is_empty(), "{problems:?}");
    Settings::new(keys).expect("the device can exist")
}

/// A 64-bit linear congruential generator; its high bits are random enough for a load.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state ^ (*state >> 29)
}

type Queue = CommandQueue<Vec<Entry<u128>>, Vec<Entry<u128>>>;

/// A queue of 256 commands with deadlines, and what inserting needs.
struct Waiting {
    queue: Queue,
    positions: Positions<Vec<u32>, Vec<Link>>,
    random: u64,
    inserted: u64,
}

impl Waiting {
    fn new() -> Self {
        let places = DEPTH as usize;
        let ready = vec![Entry::vacant(0); places];
        let deadlines = vec![Entry::vacant(0); places];
        let mut waiting = Self {
            queue: CommandQueue::new(ready, deadlines),
            positions: Positions {
                ready: vec![ABSENT; places],
                deadline: vec![ABSENT; places],
                links: vec![Link::VACANT; places],
            },
            random: 7,
            inserted: 0,
        };
        (0..DEPTH).for_each(|command| waiting.insert(command));
        waiting
    }

    fn insert(&mut self, command: u32) {
        let roll = next(&mut self.random);
        let deadline = Some(Time::from_ns(1_000_000_000 + self.inserted));
        let queue = u8::from(roll >> 63 != 0);
        let placement = Placement { queue, key: roll >> 40 & 0xFFF, deadline };
        self.queue.insert(&mut self.positions, command, &placement, self.inserted);
        self.inserted += 1;
    }
}

/// The next command leaves, another one takes its place: what every command costs the queue.
#[divan::bench]
fn queue_serve_and_insert(bencher: Bencher) {
    let mut waiting = Waiting::new();
    bencher.counter(ItemsCount::new(DEPTH)).bench_local(|| {
        for _ in 0..DEPTH {
            let command = waiting.queue.peek(Time::ZERO).expect("it is full");
            waiting.queue.remove(&mut waiting.positions, command);
            waiting.insert(black_box(command));
        }
        assert_eq!(waiting.queue.len(), DEPTH as usize, "as many commands came as went");
    });
}

/// Any command moves: what a re-key costs.
#[divan::bench]
fn queue_rekey(bencher: Bencher) {
    let mut waiting = Waiting::new();
    bencher.counter(ItemsCount::new(DEPTH)).bench_local(|| {
        for command in 0..DEPTH {
            waiting.queue.remove(&mut waiting.positions, command);
            waiting.insert(black_box(command));
        }
        assert!(waiting.queue.is_full(), "no command was lost");
    });
}

/// 256 sets of three commands, each of which waits for the one before last: counted for FOT,
/// ranked, completed in order and removed.
#[divan::bench]
fn graph_of_256_sets(bencher: Bencher) {
    let nodes = vec![Node::VACANT; DEPTH as usize];
    let mut graph = Graph::new(nodes, vec![Edge::VACANT; DEPTH as usize]);
    let mut number = 0;
    bencher.counter(ItemsCount::new(DEPTH)).bench_local(|| {
        let sets: Vec<u32> = (0..DEPTH)
            .map(|owner| {
                number += 1;
                graph.insert(number, owner, [Span::from_us(60); 3])
            })
            .collect();
        let mut counted = 0;
        for (at, &set) in (0..).zip(&sets).skip(2) {
            let wait = Wait { source: sets[at - 2], stage: 1, kind: EdgeKind::MapWriteback };
            graph.connect(wait, set, 1);
            graph.new_count();
            graph.prerequisites(set, Reach::Direct, |_, _, _| counted += 1);
            let rank = Rank { class: 0, fot: Span::from_us(black_box(300)) };
            graph.inherit(set, DEPTH, rank, Reach::Direct, |_| {});
        }
        assert_eq!(counted, 2 * (DEPTH - 2), "two stages of each source");
        let mut woken = 0;
        for stage in 0..3 {
            for &set in &sets {
                assert!(stage != 1 || !graph.node(set).is_blocked(), "woken in order");
                graph.complete_stage(set, |_| woken += 1);
            }
        }
        assert_eq!(woken, DEPTH - 2, "each edge wakes once");
        for set in sets {
            graph.remove(set);
        }
    });
}

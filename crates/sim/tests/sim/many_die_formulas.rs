//! Devices of many dies with every phase on the channel, against closed forms: single-server queues
//! die by die, closed loops over dies as a Markov chain, a channel that many dies share.

use crate::common::phases::{Bench, latency, pacing, stream};
use crate::common::statistics::{check_mean, poisson};
use crate::common::{Random, record, request, settings};
use flashyard_core::request::{Request, RequestOp};
use flashyard_sim::config::Settings;
use flashyard_sim::device::Device;
use flashyard_sim::observe::{Observer, RequestDone, Shared};
use flashyard_sim::stream::Pacing;
use std::collections::BTreeMap;
use std::convert::Infallible;

const READ: RequestOp = RequestOp::Read;
const WRITE: RequestOp = RequestOp::Write;

/// Command and address on the channel, data of 4096 B at 2.5 ns, and the arrays, in nanoseconds.
const COMMAND: u64 = 300;
const DATA: u64 = 10_240;
const SENSE: u64 = 50_000;
const PROGRAM: u64 = 400_000;

/// The time that a page takes on a die whose channel is its own: the sum of its phases.
const READ_NS: u64 = COMMAND + SENSE + DATA;
const WRITE_NS: u64 = COMMAND + DATA + PROGRAM;

/// Channels of so many dies each; LPN n is on die n modulo their number.
fn device(channels: u64, ways: u64, keys: &[&str]) -> Settings {
    let shape = [format!("geometry.channels={channels}"), format!("geometry.ways={ways}")];
    let base = [
        "geometry.blocks_per_plane=2048",
        "nand.read_us=50",
        "nand.program_us=400",
        "channel.ps_per_byte=2500",
        "channel.command_ns=300",
        "map.store=resident",
        "queue.depth=1000000",
        "policy.command=fifo",
    ];
    let shape = shape.each_ref().map(String::as_str);
    settings(&[&base, &shape[..], keys].concat())
}

// Open arrivals: every die is a single-server queue.

struct Latencies(Shared<Vec<u64>>);

impl Observer for Latencies {
    fn request_done(&mut self, done: &RequestDone) {
        self.0.get()[usize::try_from(done.order).expect("few requests")] = latency(done);
    }
}

fn latencies(settings: &Settings, requests: &[Request]) -> Vec<u64> {
    let found = Shared::new(vec![0; requests.len()]);
    let mut device = Device::new(settings);
    device.observe(Box::new(Latencies(found.clone())));
    let mut source = requests.iter().copied();
    device.run(|| Ok::<_, Infallible>(source.next())).expect("the requests fit the device");
    found.take()
}

/// Requests that come as a Poisson process and pick their die at random make independent queues
/// M/G/1. Every wait follows from the one before on its die (Lindley), exactly; the mean is that of
/// Pollaczek and Khinchine, W = lambda E[S^2] / (2 (1 - rho)), for each die and so for all.
#[track_caller]
fn check_dies(
    settings: &Settings,
    load: f64,
    services: &[(f64, u64)],
    service: impl Fn(&Request) -> u64,
    pick: impl FnMut(&mut Random) -> (RequestOp, u64),
) {
    let dies = u64::from(settings.geometry.dies());
    let moment = |power| -> f64 {
        services.iter().map(|(share, ns)| share * (*ns as f64).powi(power)).sum()
    };
    let rate = load / moment(1);
    let requests = poisson(&mut Random(11), 200_000, 1.0 / (rate * dies as f64), pick);
    let mut free = vec![0; usize::try_from(dies).expect("few dies")];
    let waits: Vec<u64> = latencies(settings, &requests)
        .iter()
        .zip(&requests)
        .map(|(latency, request)| {
            let (arrival, service) = (request.arrival.as_ns(), service(request));
            let lpn = usize::try_from(request.first_sector / 8).expect("a small device");
            let free = &mut free[lpn % usize::try_from(dies).expect("few dies")];
            let wait = latency - service;
            assert_eq!(wait, (*free).max(arrival) - arrival, "Lindley at {:?}", request.arrival);
            *free = arrival + latency;
            wait
        })
        .collect();
    let expected = rate * moment(2) / (2.0 * (1.0 - load));
    check_mean(&format!("load {load} on {dies} dies"), &waits, expected);
}

#[test]
fn reads_of_equal_length_wait_as_in_m_d_1() {
    for (dies, load) in [(1, 0.3), (1, 0.7), (4, 0.5), (16, 0.6)] {
        let settings = device(dies, 1, &["nand.unmapped_read=array"]);
        let pick = |random: &mut Random| (READ, random.below(9_600));
        check_dies(&settings, load, &[(1.0, READ_NS)], |_| READ_NS, pick);
    }
}

/// Reads and programs, on one die and on several with a channel each.
#[test]
fn reads_and_programs_wait_as_in_m_g_1() {
    let settings = device(1, 1, &["nand.unmapped_read=array"]);
    let of = |op| if op == READ { READ_NS } else { WRITE_NS };
    let pick = |random: &mut Random| {
        (if random.below(4) == 0 { WRITE } else { READ }, random.below(9_600))
    };
    let services = [(0.75, READ_NS), (0.25, WRITE_NS)];
    check_dies(&settings, 0.4, &services, |request| of(request.op), pick);
    // Room for every write, so that nothing is collected.
    let settings = device(3, 1, &["nand.unmapped_read=array"]);
    check_dies(&settings, 0.5, &services, |request| of(request.op), pick);
}

/// Pages of a cell of three bits, written in order: page p of a block is sensed in the time of its
/// kind, p modulo 3.
#[test]
fn reads_of_three_kinds_of_pages_wait_as_in_m_g_1() {
    const SENSES: [u64; 3] = [40_000, 60_000, 110_000];
    let keys = [
        "geometry.pages_per_block=96",
        "nand.bits_per_cell=3",
        "nand.read_us=40",
        "nand.read_2_us=60",
        "nand.read_3_us=110",
        "state.initial=full",
    ];
    let settings = device(4, 1, &keys);
    let service = |request: &Request| {
        let page = request.first_sector / 8 / 4 % 96;
        COMMAND + SENSES[usize::try_from(page % 3).expect("below 3")] + DATA
    };
    let services = SENSES.map(|ns| (1.0 / 3.0, COMMAND + ns + DATA));
    check_dies(&settings, 0.6, &services, service, |random| (READ, random.below(4 * 96 * 25)));
}

// Closed loops over dies: with one length of service all dies start and end together.

/// The most loaded state space: how many requests are at each die, sorted, and its chance.
type Chances = BTreeMap<Vec<u32>, f64>;

/// The mean number of busy dies with `depth` requests over `dies` dies. From one service time to
/// the next each busy die completes one request, and each completed one goes to a die at random.
fn busy_dies(dies: u32, depth: u32) -> f64 {
    let mut states = Chances::from([(vec![depth], 1.0)]);
    let (mut mean, mut before) = (0.0, f64::MAX);
    while f64::abs(mean - before) > 1e-13 {
        (before, mean) = (mean, 0.0);
        // By how many have yet to choose a die.
        let mut moving: Vec<Chances> = vec![Chances::new(); dies.min(depth) as usize + 1];
        for (state, chance) in states {
            mean += chance * state.len() as f64;
            let left = state.iter().map(|count| count - 1).filter(|&count| count > 0).collect();
            *moving[state.len()].entry(left).or_insert(0.0) += chance;
        }
        for count in (1..moving.len()).rev() {
            for (state, chance) in std::mem::take(&mut moving[count]) {
                let each = chance / f64::from(dies);
                let mut add = |mut state: Vec<u32>, chance: f64| {
                    state.sort_unstable();
                    *moving[count - 1].entry(state).or_insert(0.0) += chance;
                };
                for at in 0..state.len() {
                    let mut next = state.clone();
                    next[at] += 1;
                    add(next, each);
                }
                let idle = f64::from(dies) - state.len() as f64;
                let next = [&state[..], &[1]].concat();
                if idle > 0.0 {
                    add(next, each * idle);
                }
            }
        }
        states = moving.swap_remove(0);
    }
    mean
}

/// Known ends: one request keeps one die busy; with two, the second one meets the first with a
/// chance of 1 / dies, whatever went before; many keep all busy.
#[test]
fn the_chain_of_busy_dies_has_the_known_ends() {
    for dies in [1, 2, 5] {
        let near = |depth, expected: f64| {
            let found = busy_dies(dies, depth);
            assert!((found - expected).abs() < 1e-9, "{dies} dies, {depth}: {found}");
        };
        near(1, 1.0);
        near(2, 2.0 - 1.0 / f64::from(dies));
    }
    assert!(busy_dies(2, 40) > 1.95);
    assert!(busy_dies(2, 40) < 2.0);
}

/// Completions in each service time, from the dies that the requests go to: as a host with `depth`
/// requests outstanding sees them.
fn rounds(dies: usize, depth: usize, targets: &[usize]) -> Vec<u64> {
    let mut waiting = vec![0u64; dies];
    let (mut rest, mut out, mut rounds) = (targets.iter(), 0, Vec::new());
    loop {
        for &target in rest.by_ref().take(depth - out) {
            waiting[target] += 1;
            out += 1;
        }
        let busy = waiting.iter().filter(|&&count| count > 0).count();
        if busy == 0 {
            return rounds;
        }
        for count in &mut waiting {
            *count = count.saturating_sub(1);
        }
        out -= busy;
        rounds.push(busy as u64);
    }
}

/// Random single pages in a closed loop: each service time completes exactly as many as the dies of
/// the requests say, and on average as many as the Markov chain; never more than there are dies or
/// requests outstanding.
#[track_caller]
fn check_closed(op: RequestOp, service: u64, dies: u32, depth: u32) {
    let settings = device(dies.into(), 1, &["nand.unmapped_read=array"]);
    let mut random = Random(u64::from(dies) * 1_000 + u64::from(depth));
    let lpns: Vec<u64> = (0..24_000).map(|_| random.below(9_600)).collect();
    let requests: Vec<_> = lpns.iter().map(|&lpn| request(0, op, lpn, 1)).collect();
    let mut bench = Bench::new(&settings);
    let done = bench.run(vec![stream(pacing(Pacing::Closed, depth.into()), &requests)]);
    let mut found = BTreeMap::<u64, u64>::new();
    for request in &done {
        let at = request.completion.as_ns();
        assert_eq!(at % service, 0, "dies start and end together");
        *found.entry(at / service).or_insert(0) += 1;
    }
    let die = |lpn: &u64| usize::try_from(lpn % u64::from(dies)).expect("few dies");
    let targets: Vec<usize> = lpns.iter().map(die).collect();
    let expected = rounds(dies as usize, depth as usize, &targets);
    let found: Vec<u64> =
        (1..=expected.len() as u64).map(|at| found.remove(&at).unwrap_or(0)).collect();
    assert_eq!(found, expected, "{op:?}, {dies} dies, {depth} outstanding");
    let most = u64::from(dies.min(depth));
    assert!(found.iter().all(|&count| count <= most));
    // Without the start, and without the end when fewer are outstanding.
    let steady = &found[100..found.len() - 2 * depth as usize];
    let mean = busy_dies(dies, depth);
    if most == 1 {
        assert!(steady.iter().all(|&count| count == 1), "nothing is left to chance");
    } else {
        check_mean(&format!("{op:?}, {dies} dies, {depth} outstanding"), steady, mean);
    }
}

#[test]
fn closed_loops_keep_as_many_dies_busy_as_the_chain_says() {
    check_closed(READ, READ_NS, 4, 1);
    check_closed(READ, READ_NS, 1, 8);
    check_closed(READ, READ_NS, 4, 2);
    check_closed(READ, READ_NS, 4, 8);
    check_closed(READ, READ_NS, 8, 8);
    check_closed(WRITE, WRITE_NS, 6, 12);
}

/// Everything at once: the die with the most requests decides.
#[test]
fn the_most_loaded_die_decides() {
    let settings = device(5, 1, &["nand.unmapped_read=array"]);
    let mut random = Random(2);
    let requests: Vec<_> = (0..2_000).map(|_| request(0, READ, random.below(9_600), 1)).collect();
    let (report, _) = record(&settings, &[], &requests);
    let on_die =
        |die: u64| requests.iter().filter(|r| r.first_sector / 8 % 5 == die).count() as u64;
    let most = (0..5).map(on_die).max().expect("five dies");
    assert_eq!(report.throughput.makespan_ns, most * READ_NS);
}

// A channel that many dies share.

/// Reads on more dies than the channel can serve, all there from the start. Where phases take the
/// channel in the order of need, the next command of a die whose data has left waits behind the
/// data of all the others: the dies go in step, and each round takes one command, tR and the data
/// of all. Where commands go first, the channel never rests behind the first tR.
#[test]
fn a_crowded_channel_idles_or_not_by_its_arbitration() {
    for ways in [8, 12] {
        assert!(ways * DATA > READ_NS && ways * COMMAND < DATA, "crowded, and not by commands");
        let pages = 40 * ways;
        let in_step = 40 * (COMMAND + SENSE + ways * DATA);
        let never_idle = COMMAND + SENSE + pages * DATA + (pages - ways) * COMMAND;
        for (order, makespan) in [("in_order", in_step), ("commands_first", never_idle)] {
            let arbitration = format!("channel.arbitration={order}");
            let settings = device(1, ways, &["nand.unmapped_read=array", &arbitration]);
            let requests: Vec<_> = (0..pages).map(|lpn| request(0, READ, lpn, 1)).collect();
            let (report, _) = record(&settings, &[], &requests);
            assert_eq!(report.throughput.makespan_ns, makespan, "{ways} ways, {order}");
        }
    }
}

/// Writes on fewer dies than would crowd it: what a die has begun keeps the channel for a command
/// and a page, one die after the other, and from then on no die waits.
#[test]
fn programs_of_a_roomy_channel_never_wait() {
    for ways in [2, 7, 20] {
        let settings = device(1, ways, &[]);
        let requests: Vec<_> = (0..40 * ways).map(|lpn| request(0, WRITE, lpn, 1)).collect();
        let (report, _) = record(&settings, &[], &requests);
        assert!(ways * (COMMAND + DATA) < WRITE_NS, "not crowded");
        let makespan = 40 * WRITE_NS + (ways - 1) * (COMMAND + DATA);
        assert_eq!(report.throughput.makespan_ns, makespan, "{ways} ways");
    }
}

//! The simulator against closed forms: latencies of a queue of depth 1, throughput bounds of bus
//! and array, write amplification, queueing delays, energy.

use crate::common::statistics::check_mean;
use crate::common::{Random, Recorded, one_full_die, record, request, settings};
use flashyard_core::command::Op;
use flashyard_core::request::{Request, RequestOp};
use flashyard_core::units::Time;
use flashyard_sim::config::Settings;
use flashyard_sim::device::Device;
use flashyard_sim::observe::{CommandDone, Observer, RequestDone, Shared};
use flashyard_sim::report::Report;
use std::convert::Infallible;

const READ: RequestOp = RequestOp::Read;
const WRITE: RequestOp = RequestOp::Write;

/// tR, tPROG and tBERS in nanoseconds, and the transfer time of a 4 kB page in ps a byte and in
/// nanoseconds.
#[derive(Clone, Copy)]
struct Times {
    read: u64,
    program: u64,
    erase: u64,
    ps_per_byte: u64,
    transfer: u64,
}

/// The times of Lee et al., IEEE Access 2021, without transfers; of Park et al. 2011 with a bus of
/// 40 MB/s (4096 B x 25 ns); of a fast array on a slow bus (4096 B x 0.1 us).
const TIMES: [Times; 3] = [
    Times { read: 60_000, program: 700_000, erase: 5_000_000, ps_per_byte: 0, transfer: 0 },
    Times {
        read: 130_900,
        program: 405_900,
        erase: 1_500_000,
        ps_per_byte: 25_000,
        transfer: 102_400,
    },
    Times {
        read: 50_000,
        program: 200_000,
        erase: 1_000_000,
        ps_per_byte: 100_000,
        transfer: 409_600,
    },
];

impl Times {
    fn keys(&self) -> Vec<String> {
        let us = |ns: u64| format!("{}.{:03}", ns / 1_000, ns % 1_000);
        vec![
            format!("nand.read_us={}", us(self.read)),
            format!("nand.program_us={}", us(self.program)),
            format!("nand.erase_us={}", us(self.erase)),
            format!("channel.ps_per_byte={}", self.ps_per_byte),
        ]
    }

    fn device(&self, others: &[&str]) -> Settings {
        let small = ["geometry.blocks_per_plane=512"];
        let others = small.iter().chain(others).map(ToString::to_string);
        settings(&self.keys().into_iter().chain(others).collect::<Vec<_>>())
    }
}

fn latency(done: &RequestDone) -> u64 {
    done.completion.since(done.request.arrival).as_ns()
}

/// Runs requests without the checker, for runs too long to check.
fn run(settings: &Settings, observer: Box<dyn Observer>, requests: Vec<Request>) -> Report {
    let mut requests = requests.into_iter();
    let mut device = Device::new(settings);
    device.observe(observer);
    let report = device.run(|| Ok::<_, Infallible>(requests.next()));
    report.expect("the requests fit the device")
}

// Queue depth 1: the latency of a lone request is the sum of its phases.

/// One request on an idle die, with the two lines of the cache as given.
#[track_caller]
fn check_lone(times: &Times, keys: &[&str], lines: &[(u64, bool)], op: RequestOp, expected: u64) {
    let (_, run) = record(&times.device(keys), lines, &[request(5, op, 0, 1)]);
    assert_eq!(latency(&run.requests[0]), expected, "{op:?} with {keys:?} {lines:?}");
}

/// Lee et al., IEEE Access 2021, Fig. 1: a hit is the data command alone; a clean miss fetches the
/// line; a dirty miss reads and programs a map page before. Each page read or programmed takes its
/// array time and one transfer.
#[test]
fn a_lone_request_takes_the_sum_of_its_phases() {
    let two_lines = ["map.cache_bytes=64"];
    let hit = [(512, false), (0, false)];
    let clean = [(512, false), (520, true)];
    let dirty = [(512, true), (520, false)];
    for times in &TIMES {
        let read = times.read + times.transfer;
        let program = times.transfer + times.program;
        for (op, data) in [(READ, read), (WRITE, program)] {
            check_lone(times, &["map.store=resident"], &[], op, data);
            check_lone(times, &two_lines, &hit, op, data);
            check_lone(times, &two_lines, &[], op, read + data);
            check_lone(times, &two_lines, &clean, op, read + data);
            check_lone(times, &two_lines, &dirty, op, read + program + read + data);
        }
    }
}

/// `pages` pages from LPN 0 on an idle device with a resident map.
#[track_caller]
fn check_spread(times: &Times, shape: [&str; 2], op: RequestOp, pages: u32, expected: u64) {
    let keys = [shape[0], shape[1], "map.store=resident"];
    let (_, run) = record(&times.device(&keys), &[], &[request(0, op, 0, pages)]);
    assert_eq!(latency(&run.requests[0]), expected, "{op:?} of {pages} pages on {shape:?}");
}

/// Pages of one request queue up on one die, run side by side on four channels, and share the bus
/// on four ways: arrays overlap, transfers do not.
#[test]
fn a_lone_request_of_several_pages_overlaps_where_dies_do() {
    let one = ["geometry.channels=1", "geometry.ways=1"];
    let channels = ["geometry.channels=4", "geometry.ways=1"];
    let ways = ["geometry.channels=1", "geometry.ways=4"];
    for times in &TIMES {
        let Times { read, program, transfer, .. } = *times;
        check_spread(times, one, READ, 4, 4 * (read + transfer));
        check_spread(times, one, WRITE, 4, 4 * (transfer + program));
        check_spread(times, channels, READ, 4, read + transfer);
        check_spread(times, channels, WRITE, 4, transfer + program);
        check_spread(times, ways, READ, 4, read + 4 * transfer);
        check_spread(times, ways, WRITE, 4, 4 * transfer + program);
    }
}

// Saturation: throughput is bound by the bus or by the arrays, whichever is slower.

/// `rounds` pages for each die, all there from the start. On a channel of W ways a page takes
/// `array` and `transfer`, one after the other, and only transfers exclude each other. With
/// W x transfer <= array + transfer the dies never wait after the first round, in which each
/// starts one transfer later than the one before; otherwise the channel never pauses.
#[track_caller]
fn check_saturated(times: &Times, channels: u64, ways: u64, op: RequestOp) {
    const ROUNDS: u64 = 50;
    let transfer = times.transfer;
    let array = if op == READ { times.read } else { times.program };
    let cycle = array + transfer;
    let bus_bound = ways * transfer > cycle;
    let makespan = if bus_bound {
        ROUNDS * ways * transfer + array
    } else {
        ROUNDS * cycle + (ways - 1) * transfer
    };
    let keys = [
        &*format!("geometry.channels={channels}"),
        &*format!("geometry.ways={ways}"),
        "map.store=resident",
        "queue.depth=10000",
        "policy.command=fifo",
    ];
    let pages = ROUNDS * channels * ways;
    let requests: Vec<_> = (0..pages).map(|lpn| request(0, op, lpn, 1)).collect();
    let (report, _) = record(&times.device(&keys), &[], &requests);
    let name = format!("{op:?} on {channels} x {ways}, transfer {transfer} ns");
    assert_eq!(report.throughput.makespan_ns, makespan, "{name}");
    let bytes = if op == READ {
        report.throughput.read_bytes_per_s
    } else {
        report.throughput.write_bytes_per_s
    };
    let expected = (pages * 4_096) as f64 * 1e9 / makespan as f64;
    let error = bytes.expect("pages were moved") / expected - 1.0;
    assert!(error.abs() < 1e-12, "{name}: {bytes:?} instead of {expected} B/s");
    // The rate without the first and the last page: min(1/transfer, W/(array + transfer)).
    let page_ns = if bus_bound { transfer as f64 } else { cycle as f64 / ways as f64 };
    let steady = channels as f64 * 4_096.0 * 1e9 / page_ns;
    let share = bytes.expect("pages were moved") / steady;
    assert!((0.95..=1.0).contains(&share), "{name}: {share} of the steady rate");
}

/// The second set of times is bound by the array up to two ways of reads and four of programs, the
/// third by the bus from two ways on.
#[test]
fn saturated_throughput_is_that_of_the_bus_or_of_the_arrays() {
    for times in &TIMES {
        for channels in [1, 3] {
            for ways in [1, 2, 3, 4, 8] {
                check_saturated(times, channels, ways, READ);
                check_saturated(times, channels, ways, WRITE);
            }
        }
    }
}

// Write amplification.

/// The write amplification of greedy garbage collection under uniform random single-page writes,
/// in the mean field of many blocks.
///
/// With `alpha` physical pages a logical one and `pages` pages a block, blocks with i valid pages
/// lose one at a rate proportional to i. In steady state every write passes all levels, so with c
/// victims a host page there are c U / i blocks on each level above the victims', of which one
/// level, m, is in part. Blocks and valid pages must add up, which gives c for each m; the right m
/// is the one whose victims have between m - 1 and m valid pages. The known limit for large blocks
/// is that of Desnoyers (SYSTOR 2012).
pub(crate) fn greedy_write_amplification(alpha: f64, pages: u32) -> f64 {
    let harmonic = |n: u32| (1..=n).map(|i| 1.0 / f64::from(i)).sum::<f64>();
    let all = f64::from(pages);
    let found = (1..pages).find_map(|level| {
        let m = f64::from(level);
        let tail = harmonic(pages) - harmonic(level);
        let c = (1.0 / m - alpha / all) / ((all - m) / m - tail);
        let slack = 1e-9;
        let range = 1.0 / (all - m + 1.0) - slack..=1.0 / (all - m) + slack;
        range.contains(&c).then_some(all * c)
    });
    found.expect("one level fits")
}

/// Catches slips in the formula above: for large blocks it must reach the closed form
/// A = 1 / (1 - x), alpha = -ln x / (1 - x), here solved for alpha at given x.
#[test]
fn the_mean_field_reaches_the_limit_of_large_blocks() {
    for x in [0.3, 0.5, 0.7] {
        let alpha = -f64::ln(x) / (1.0 - x);
        let limit = 1.0 / (1.0 - x);
        let error = greedy_write_amplification(alpha, 8_192) / limit - 1.0;
        assert!((-0.01..0.0).contains(&error), "x = {x}: {error}");
    }
}

/// Counts programs from the first one of request `from` on.
struct Programs {
    from: u64,
    host: u64,
    all: u64,
    total: Shared<(u64, u64)>,
}

impl Observer for Programs {
    fn command_done(&mut self, done: &CommandDone) {
        if done.op == Op::Program {
            self.host += u64::from(done.command.request.is_some_and(|order| order >= self.from));
            self.all += u64::from(self.host > 0);
            *self.total.get() = (self.host, self.all);
        }
    }
}

/// Random overwrites of a full one-die device, slow enough that garbage collection keeps up, with
/// its three limits at 2 blocks. It then starts when a host block is opened and goes on until
/// three blocks are free. What is in use while it picks victims: all blocks but two free ones, the
/// host block, which is empty then, and on average half of the block that copies go to. Host and
/// copies filling separate blocks changes nothing else: under uniform writes the age of a page says
/// nothing about its next write.
#[track_caller]
fn check_amplification(blocks: u32, pages: u32, spare_percent: u32) {
    const EMPTY: f64 = 3.5;
    let settings = one_full_die(blocks, pages, spare_percent, &[]);
    let units = u64::from(settings.exported_units);
    let total = Shared::new((0, 0));
    let programs = Programs { from: 4 * units, host: 0, all: 0, total: total.clone() };
    let mut random = Random(1);
    let writes = (0..8 * units).map(|at| request(20 * at, WRITE, random.below(units), 1));
    let report = run(&settings, Box::new(programs), writes.collect());
    assert!(report.verdict.most_outstanding < 100, "collection keeps up: {:?}", report.verdict);
    let (host, all) = *total.get();
    assert_eq!(host, 4 * units, "all writes of the second half were counted");
    let in_use = (f64::from(blocks) - EMPTY) * f64::from(pages);
    let expected = greedy_write_amplification(in_use / units as f64, pages);
    let error = (all as f64 / host as f64) / expected - 1.0;
    let case = format!("{blocks} blocks of {pages} pages, {spare_percent} % spare");
    assert!(error.abs() < 0.01, "{case}: {} x the formula's {expected}", 1.0 + error);
}

/// Victims, valid counts or pools that are slightly wrong move the amplification by more than 1 %.
/// Within it lie the mean field's error for few blocks, the half block above and the noise of four
/// overwrites of the device (each below 0.5 %).
#[test]
fn greedy_garbage_collection_amplifies_writes_as_the_mean_field_says() {
    check_amplification(512, 16, 10);
    check_amplification(512, 16, 28);
    check_amplification(1_024, 32, 15);
    check_amplification(512, 64, 10);
    check_amplification(512, 64, 28);
}

// Queueing on one die under Poisson arrivals.

/// Latencies by order of arrival.
struct Latencies(Shared<Vec<u64>>);

impl Observer for Latencies {
    fn request_done(&mut self, done: &RequestDone) {
        let order = usize::try_from(done.order).expect("few requests");
        self.0.get()[order] = latency(done);
    }
}

/// Poisson arrivals of single-page requests on one die, a share of them writes, and the waiting
/// time of each. Never limited by slots, never short of blocks.
fn queue_on_one_die(policy: &str, load: f64, writes: f64, count: usize) -> Vec<(Request, u64)> {
    let times = &TIMES[0];
    let policy = format!("policy.command={policy}");
    let roomy = "geometry.blocks_per_plane=4096";
    let settings = times.device(&["map.store=resident", "queue.depth=1000000", roomy, &*policy]);
    let service_ns = writes * times.program as f64 + (1.0 - writes) * times.read as f64;
    let mut random = Random(9);
    let mut uniform = || ((random.next() >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
    let mut now = 0.0;
    let requests: Vec<_> = (0..count)
        .map(|at| {
            now -= f64::ln(uniform()) * service_ns / load;
            let op = if uniform() < writes { WRITE } else { READ };
            let mut request = request(0, op, at as u64 % 1_000, 1);
            request.arrival = Time::from_ns(whole(now));
            request
        })
        .collect();
    let latencies = Shared::new(vec![0; count]);
    run(&settings, Box::new(Latencies(latencies.clone())), requests.clone());
    let service = |request: &Request| if request.op == READ { times.read } else { times.program };
    let latencies = latencies.get();
    let waits = requests.iter().zip(&*latencies).map(|(request, ns)| ns - service(request));
    requests.iter().copied().zip(waits).collect()
}

/// A time as whole nanoseconds.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "hours at most")]
fn whole(ns: f64) -> u64 {
    ns as u64
}

/// First come, first served: every wait follows from the one before (Lindley), exactly, and the
/// mean is that of Pollaczek and Khinchine, W = lambda E[S^2] / (2 (1 - rho)); M/D/1 for reads
/// alone.
#[test]
fn waits_on_one_die_are_those_of_a_single_server_queue() {
    let Times { read, program, .. } = TIMES[0];
    for (load, writes) in [(0.3, 0.0), (0.5, 0.0), (0.7, 0.0), (0.5, 0.5)] {
        let waits = queue_on_one_die("fifo", load, writes, 300_000);
        let mut free = 0;
        for (request, wait) in &waits {
            let arrival = request.arrival.as_ns();
            assert_eq!(*wait, free.max(arrival) - arrival, "Lindley at {:?}", request.arrival);
            free = arrival + wait + if request.op == READ { read } else { program };
        }
        let (read, program) = (read as f64, program as f64);
        let mean = writes * program + (1.0 - writes) * read;
        let square = writes * program.powi(2) + (1.0 - writes) * read.powi(2);
        let expected = load / mean * square / (2.0 * (1.0 - load));
        let waits: Vec<u64> = waits.iter().map(|(_, wait)| *wait).collect();
        check_mean(&format!("load {load}, {writes} writes"), &waits, expected);
    }
}

/// Reads first, without preemption (Cobham 1954): with R = lambda E[S^2] / 2 and a load `r` of
/// reads, reads wait R / (1 - r) and writes R / ((1 - r) (1 - rho)). All policies that put reads
/// first agree where the map is resident and every request has one page.
#[test]
fn waits_with_reads_first_are_those_of_a_priority_queue() {
    let (read, program) = (TIMES[0].read as f64, TIMES[0].program as f64);
    let (load, writes) = (0.6, 0.2);
    let rate = load / (writes * program + (1.0 - writes) * read);
    let residual = rate * (writes * program.powi(2) + (1.0 - writes) * read.powi(2)) / 2.0;
    let load_of_reads = rate * (1.0 - writes) * read;
    let first = residual / (1.0 - load_of_reads);
    for policy in ["rcf", "rrf", "fot", "drs", "priority"] {
        let waits = queue_on_one_die(policy, load, writes, 300_000);
        let of = |op| -> Vec<u64> {
            waits.iter().filter(|(request, _)| request.op == op).map(|(_, wait)| *wait).collect()
        };
        check_mean(&format!("{policy} reads"), &of(READ), first);
        check_mean(&format!("{policy} writes"), &of(WRITE), first / (1.0 - load));
    }
}

// Energy.

/// Energy of a run is counts x time x power for each resource, and standby power for each die from
/// the first arrival to the last event.
#[test]
fn energy_is_counts_times_time_times_power() {
    let times = &TIMES[1];
    let settings = times.device(&[
        "geometry.channels=2",
        "geometry.ways=2",
        "geometry.blocks_per_plane=48",
        "geometry.pages_per_block=8",
        "ftl.over_provisioning_percent=150",
        "map.entries_per_page=64",
        "map.cache_bytes=128",
        "state.initial=full",
        "energy.read_mw=30",
        "energy.program_mw=50",
        "energy.erase_mw=70",
        "energy.transfer_mw=110",
        "energy.standby_mw=3",
    ]);
    let units = u64::from(settings.exported_units);
    let mut random = Random(4);
    let requests: Vec<_> = (0..2_000)
        .map(|at| request(500 + at * 900, random.pick(&[READ, WRITE]), random.below(units), 1))
        .collect();
    let (report, Recorded { commands, .. }) = record(&settings, &[], &requests);
    let count = |op: Op| commands.iter().filter(|done| done.op == op).count() as u64;
    let (reads, programs, erases) = (count(Op::Read), count(Op::Program), count(Op::Erase));
    assert!(erases > 100, "garbage was collected {erases} times");
    let last = commands.iter().map(|done| done.end).max().expect("commands ran");
    let expected = [
        ("array_read", reads * times.read * 30),
        ("array_program", programs * times.program * 50),
        ("array_erase", erases * times.erase * 70),
        ("channel", (reads + programs) * times.transfer * 110),
        ("standby", last.since(Time::from_us(500)).as_ns() * 3 * 4),
    ];
    let energy = &report.energy_pj;
    for (resource, pj) in expected {
        assert_eq!(energy.by_resource[resource], pj, "{resource}");
    }
    assert_eq!(energy.total, expected.iter().map(|(_, pj)| pj).sum::<u64>());
    assert_eq!(energy.attributed + energy.flushed + energy.unattributed, energy.total);
}

//! Closed forms of the channel: peak bandwidth, interleaving limits, one-shot and multi-plane
//! programs, latency at queue depth 1.
//!
//! With c for command and address, r for tR, p for tPROG, o for the data of an operation (all its
//! pages) and D dies behind a channel, a saturated channel takes for D operations
//!
//! - programs: max(c + o + p, D (c + o));
//! - reads with cache read: max(c + max(r, o), D (c + o)), since the next command goes before the
//!   data;
//! - reads without it: max(c + r + o, D (c + o)); in the order of need, c > 0:
//!   max(c + r + D o, D (c + o)), since each next command waits behind the data of the other dies.

use crate::common::phases::{Bench, latency, pacing, stream};
use crate::common::{record, settings};
use flashyard_core::request::{Request, RequestOp, SECTOR_BYTES};
use flashyard_sim::config::Settings;
use flashyard_sim::stream::Pacing;

const READ: RequestOp = RequestOp::Read;
const WRITE: RequestOp = RequestOp::Write;

/// An interface: its name, command and address in ns, and a byte in ps. ONFI 4.2: seven cycles of
/// tWC and tWB; the inverse of the rate.
const INTERFACES: [(&str, u64, u64); 4] = [
    ("sdr-50", 7 * 20 + 100, 20_000),
    ("nv-ddr2-333", 7 * 25 + 100, 3_000),
    ("nv-ddr3-800", 7 * 25 + 100, 1_250),
    ("nv-ddr3-1600", 7 * 25 + 100, 625),
];

/// tR and tPROG of all devices here, in nanoseconds.
const R: u64 = 50_000;
const P: u64 = 400_000;

/// A shape and what it may do.
#[derive(Clone, Copy, Debug)]
struct Shape {
    channels: u64,
    dies: u64,
    planes: u64,
    page: u64,
    bits: u64,
    one_shot: bool,
    multi_plane: bool,
    cache_read: bool,
}

const PLAIN: Shape = Shape {
    channels: 1,
    dies: 1,
    planes: 1,
    page: 16_384,
    bits: 1,
    one_shot: false,
    multi_plane: false,
    cache_read: false,
};

impl Shape {
    fn settings(&self, interface: &str, others: &[&str]) -> Settings {
        let mut keys = vec![
            format!("geometry.channels={}", self.channels),
            format!("geometry.ways={}", self.dies),
            format!("geometry.planes={}", self.planes),
            format!("geometry.page_bytes={}", self.page),
            format!("nand.bits_per_cell={}", self.bits),
            format!("nand.one_shot={}", self.one_shot),
            format!("nand.multi_plane={}", if self.multi_plane { "same_page" } else { "none" }),
            format!("nand.cache_read={}", self.cache_read),
            format!("channel.interface={interface}"),
        ];
        let fixed = [
            "geometry.blocks_per_plane=64",
            "geometry.pages_per_block=24",
            "nand.read_us=50",
            "nand.program_us=400",
            "ftl.mapping_unit_bytes=4096",
            "ftl.stripe_order=pcwd",
            "ftl.over_provisioning_percent=60",
            "map.store=resident",
            "queue.depth=1000000",
            "policy.command=fifo",
        ];
        keys.extend(fixed.iter().chain(others).map(ToString::to_string));
        settings(&keys)
    }

    /// Data of a page on the channel, in nanoseconds, rounded up once.
    fn page_ns(&self, ps: u64) -> u64 {
        (self.page * ps).div_ceil(1_000)
    }

    /// Pages of a read and of a program.
    fn operation_pages(&self, op: RequestOp) -> u64 {
        let planes = if self.multi_plane { self.planes } else { 1 };
        let word_line = if op == WRITE && self.one_shot { self.bits } else { 1 };
        planes * word_line
    }
}

/// `pages` whole pages from the start of the device, all there at once, a request a page.
fn pages(shape: &Shape, op: RequestOp, pages: u64) -> Vec<Request> {
    let sectors = shape.page / u64::from(SECTOR_BYTES);
    (0..pages).map(|page| sized(op, page * sectors, sectors)).collect()
}

fn sized(op: RequestOp, first_sector: u64, sectors: u64) -> Request {
    let sectors = u32::try_from(sectors).expect("small requests");
    Request::new(op, first_sector, sectors)
}

/// Nanoseconds in which `rounds` more operations of every die are done, once the device is busy.
fn steady_ns(shape: &Shape, settings: &Settings, op: RequestOp, rounds: u64) -> u64 {
    let round = shape.channels * shape.dies * shape.operation_pages(op);
    // Dies take turns plane by plane where an operation covers only one.
    let turns = if shape.multi_plane { 1 } else { shape.planes };
    let makespan = |rounds: u64| {
        let requests = pages(shape, op, rounds * round * turns);
        record(settings, &[], &requests).0.throughput.makespan_ns
    };
    (makespan(6 + rounds) - makespan(6)) / turns
}

/// The closed form: time of one operation on each of the D dies of a channel.
fn expected_ns(shape: &Shape, in_order: bool, op: RequestOp, c: u64, ps: u64) -> u64 {
    let o = shape.operation_pages(op) * shape.page_ns(ps);
    let bus = shape.dies * (c + o);
    match (op, shape.cache_read) {
        (WRITE, _) => bus.max(c + o + P),
        (_, true) => bus.max(c + R.max(o)),
        // In the order of need a command waits behind the data of all other dies.
        (_, false) if c > 0 && in_order => bus.max(c + R + shape.dies * o),
        (_, false) => bus.max(c + R + o),
    }
}

#[track_caller]
fn check(shape: &Shape, interface: (&str, u64, u64), op: RequestOp) {
    const ROUNDS: u64 = 12;
    let (name, c, ps) = interface;
    let initial = if op == READ { "state.initial=full" } else { "state.initial=fresh" };
    for order in ["commands_first", "in_order"] {
        let arbitration = format!("channel.arbitration={order}");
        let settings = shape.settings(name, &[initial, &arbitration]);
        let found = steady_ns(shape, &settings, op, ROUNDS);
        let expected = ROUNDS * expected_ns(shape, order == "in_order", op, c, ps);
        assert_eq!(found, expected, "{op:?} over {name}, {order}, of {shape:?}");
    }
}

/// From one die, bound by the array, to eight, bound by the bus; one page, two planes, four; with
/// and without cache read; channels do not disturb each other.
#[test]
fn reads_saturate_array_or_bus() {
    for interface in INTERFACES {
        for cache_read in [false, true] {
            for (channels, dies) in [(1, 1), (1, 2), (2, 3), (1, 8)] {
                for (planes, multi_plane) in [(1, false), (2, true), (4, true)] {
                    let shape = Shape { channels, dies, planes, multi_plane, cache_read, ..PLAIN };
                    check(&shape, interface, READ);
                }
            }
        }
    }
}

/// One page a program, two planes, a TLC word line in one shot, and both.
#[test]
fn programs_saturate_array_or_bus() {
    for interface in INTERFACES {
        for (channels, dies) in [(1, 1), (1, 2), (2, 3), (1, 8)] {
            for (planes, bits) in [(1, 1), (2, 1), (1, 3), (2, 3)] {
                let (multi_plane, one_shot) = (planes > 1, bits > 1);
                let shape = Shape { channels, dies, planes, bits, one_shot, multi_plane, ..PLAIN };
                check(&shape, interface, WRITE);
            }
        }
    }
}

/// The least number of dies that fills a channel: one less leaves it idle for a part of the time.
#[test]
fn a_channel_is_full_from_the_interleaving_limit_on() {
    // Without time for commands a channel of 1.25 ns a byte carries a page in 20.48 us.
    let free = ("none", 0, 1_250);
    let ddr3 = INTERFACES[2];
    for ((name, c, ps), cache_read, planes, expected) in [
        (free, false, 1, 4), // (50 + 20.48) / 20.48 = 3.44
        (free, true, 1, 3),  // 50 / 20.48 = 2.44
        (free, false, 2, 3), // (50 + 40.96) / 40.96 = 2.22
        (free, true, 2, 2),  // 50 / 40.96 = 1.22
        (ddr3, true, 1, 3),  // 50.275 / 20.755 = 2.42
        (ddr3, true, 2, 2),  // 50.275 / 41.235 = 1.22
    ] {
        let run = |dies: u64| {
            let shape = Shape { dies, planes, multi_plane: planes > 1, cache_read, ..PLAIN };
            let own = format!("channel.ps_per_byte={ps}");
            let settings = shape.settings(name, &["state.initial=full", &own]);
            let carried = dies * (c + planes * shape.page_ns(ps));
            (steady_ns(&shape, &settings, READ, 10), 10 * carried)
        };
        let (busy, carried) = run(expected);
        assert_eq!(busy, carried, "{name}: {expected} dies fill the channel");
        let (busy, carried) = run(expected - 1);
        assert!(busy > carried, "{name}: {} dies do not fill the channel", expected - 1);
    }
}

/// Eight dies on two channels deliver a page every 10.4 us; a link of 2.5 ns a byte takes 40.96 us
/// for it, one of 0.5 ns 8.192 us.
#[test]
fn the_link_bounds_what_the_channels_deliver() {
    let shape = Shape { channels: 2, dies: 4, cache_read: true, ..PLAIN };
    let (name, c, ps) = INTERFACES[2];
    for (link_ps, link_ns) in [(2_500, 40_960), (500, 8_192)] {
        let link = format!("interface.link_ps_per_byte={link_ps}");
        let settings = shape.settings(name, &["state.initial=full", &link]);
        let found = steady_ns(&shape, &settings, READ, 10);
        let channels = 4 * (c + shape.page_ns(ps));
        assert_eq!(found, 10 * channels.max(8 * link_ns), "link of {link_ps} ps a byte");
    }
}

/// One request at a time: link and its latency, command, array, data, and the link back. A read
/// carries one unit of 4 KiB of a page, a program all of its word line, whatever it holds.
#[test]
fn a_lone_request_takes_the_sum_of_its_phases() {
    // tR and tPROG by page type, in nanoseconds.
    let reads = [50_000, 80_000, 110_000, 160_000];
    let times = ["nand.read_2_us=80", "nand.read_3_us=110", "nand.read_4_us=160"];
    let link = ["interface.link_ps_per_byte=254", "interface.link_latency_ns=1000"];
    let unit = 4_096;
    let link_ns = (unit * 254_u64).div_ceil(1_000);
    for (name, c, ps) in INTERFACES {
        for (channels, dies, planes, bits, one_shot) in
            [(1, 1, 1, 1, false), (2, 2, 2, 2, false), (1, 2, 2, 3, true), (4, 1, 4, 4, true)]
        {
            let shape =
                Shape { channels, dies, planes, bits, one_shot, multi_plane: true, ..PLAIN };
            let others = [&times[..], &link, &["state.initial=full"]].concat();
            let settings = shape.settings(name, &others);
            let planes = channels * dies * planes;
            // Units of four successive pages of each of three planes; 4 units a page.
            let units: Vec<u64> = (0..12).map(|k| ((k % 4) * planes + k % 3) * 4 + k % 4).collect();
            let requests: Vec<_> = units.iter().map(|unit| sized(READ, unit * 8, 8)).collect();
            let mut bench = Bench::new(&settings);
            let done = bench.run(vec![stream(pacing(Pacing::Closed, 1), &requests)]);
            for (done, unit_number) in done.iter().zip(&units) {
                let page = unit_number / 4 / planes;
                let array = reads[usize::try_from(page % bits).unwrap()];
                let sum = 1_000 + c + array + (unit * ps).div_ceil(1_000) + link_ns + 1_000;
                assert_eq!(latency(done), sum, "read of page {page} over {name}, {shape:?}");
            }
            let requests: Vec<_> = units.iter().map(|unit| sized(WRITE, unit * 8, 8)).collect();
            let done = bench.run(vec![stream(pacing(Pacing::Closed, 1), &requests)]);
            let word_line = if one_shot { bits } else { 1 };
            let data = (word_line * shape.page * ps).div_ceil(1_000);
            for done in &done {
                let sum = link_ns + 1_000 + c + data + P + 1_000;
                assert_eq!(latency(done), sum, "write over {name}, {shape:?}");
            }
        }
    }
}

/// With `stripe_pages` = k, k pages in a row lie on one die, which reads one after the other, and
/// the next k on the next die: n pages from the start of a stripe take as many tR as the first die
/// has of them. Written by the host or by an initial state, they lie alike.
#[test]
fn a_stripe_of_several_pages_is_read_by_one_die() {
    let shape = Shape { dies: 4, ..PLAIN };
    let sectors = shape.page / u64::from(SECTOR_BYTES);
    for (stripe, pages, reads) in
        [(1, 4, 1), (1, 8, 2), (2, 4, 2), (4, 4, 4), (4, 16, 4), (3, 7, 3), (3, 13, 4), (8, 9, 8)]
    {
        for state in ["fresh", "full", "random"] {
            let keys = [format!("ftl.stripe_pages={stripe}"), format!("state.initial={state}")];
            let settings = shape.settings("none", &keys.each_ref().map(String::as_str));
            let mut bench = Bench::new(&settings);
            if state == "fresh" {
                let written = sized(WRITE, 0, pages * sectors);
                bench.run(vec![stream(pacing(Pacing::Closed, 1), &[written])]);
            }
            let read = sized(READ, 0, pages * sectors);
            let done = bench.run(vec![stream(pacing(Pacing::Closed, 1), &[read])]);
            assert_eq!(latency(&done[0]), reads * R, "{pages} pages, {stripe} a stripe, {state}");
        }
    }
}

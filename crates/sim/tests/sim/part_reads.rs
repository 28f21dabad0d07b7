//! Reads of a part of a page: what they save, to the nanosecond and to the picojoule, and which
//! operations are none.

use crate::common::phases::latency;
use crate::common::{read, record, request, settings, try_settings};
use flashyard_core::command::Op;
use flashyard_core::request::{Request, RequestOp};
use flashyard_sim::config::Settings;
use flashyard_sim::observe::RequestDone;

/// tR of a page and of a part of it, the command and a unit of 4 KiB on the channel.
const R: u64 = 100_000;
const PART: u64 = 45_000;
const C: u64 = 300;
const UNIT: u64 = 64_000;

/// A die with pages of four units, all of them written in order.
fn try_device(keys: &[&str]) -> Result<Settings, String> {
    let base = [
        "geometry.blocks_per_plane=64",
        "geometry.pages_per_block=24",
        "geometry.page_bytes=16384",
        "ftl.mapping_unit_bytes=4096",
        "ftl.over_provisioning_percent=60",
        "state.initial=full",
        "nand.read_us=100",
        "nand.read_part_us=45",
        "channel.command_ns=300",
        "channel.ps_per_byte=15625",
        "policy.command=fifo",
        "map.store=resident",
    ];
    try_settings(&[&base, keys].concat())
}

fn run(keys: &[&str], requests: &[Request]) -> Vec<RequestDone> {
    let settings = try_device(keys).unwrap_or_else(|why| panic!("{why}"));
    record(&settings, &[], requests).1.requests
}

/// The latency of a lone read of some units from one on.
fn lone(keys: &[&str], lpn: u64, units: u32) -> u64 {
    latency(&run(keys, &[request(5, RequestOp::Read, lpn, units)])[0])
}

/// One unit is a part, two are with `read_part_bytes = 8192` only; also where nothing was written.
#[test]
fn the_bytes_that_a_read_needs_decide() {
    for fresh in [&[][..], &["state.initial=fresh"]] {
        assert_eq!(lone(fresh, 0, 1), C + PART + UNIT);
        assert_eq!(lone(fresh, 2, 2), C + R + 2 * UNIT);
        let two = [fresh, &["nand.read_part_bytes=8192"]].concat();
        assert_eq!(lone(&two, 2, 2), C + PART + 2 * UNIT);
        assert_eq!(lone(&two, 1, 3), C + R + 3 * UNIT);
    }
}

/// A lone read of some sectors from one on.
fn sectors(keys: &[&str], first_sector: u64, sectors: u32) -> u64 {
    let whole = request(5, RequestOp::Read, 0, 1);
    latency(&run(keys, &[whole.over(first_sector, sectors)])[0])
}

/// Of units of 16 KiB, 250 us on the channel, a read moves the codewords of 2 KiB that its sectors
/// touch; what it moves of a page decides whether that is a part.
#[test]
fn a_read_moves_the_codewords_that_it_asks_for() {
    const CODEWORD: u64 = UNIT / 2;
    let large = ["ftl.mapping_unit_bytes=16384", "nand.codeword_bytes=2048"];
    for precision in ["command", "phases", "requests"] {
        let bus = format!("bus.precision={precision}");
        let keys = [&large[..], &[&bus]].concat();
        // Status requests take time, too.
        let extra = sectors(&keys, 0, 32) - (C + R + 8 * CODEWORD);
        assert!(precision == "requests" || extra == 0);
        let by_codewords = |first, count| sectors(&keys, first, count) - extra;
        assert_eq!(by_codewords(0, 8), C + PART + 2 * CODEWORD);
        assert_eq!(by_codewords(24, 8), C + PART + 2 * CODEWORD, "the last quarter");
        assert_eq!(by_codewords(33, 1), C + PART + CODEWORD, "one sector of the second unit");
        assert_eq!(by_codewords(2, 8), C + R + 3 * CODEWORD, "across borders of codewords");
        assert_eq!(by_codewords(0, 0), C + PART + CODEWORD, "no sectors");
    }
    let whole = [&large[..], &["nand.codeword_bytes=0", "nand.read_part_us=0"]].concat();
    assert_eq!(sectors(&whole, 0, 8), C + R + 4 * UNIT);
    // Units that go into the write buffer come whole.
    let buffer = ["buffer.bytes=1048576", "buffer.read_allocate=clean", "nand.read_part_us=0"];
    let allocated = [&large[..], &buffer].concat();
    assert_eq!(sectors(&allocated, 0, 8) - sectors(&allocated, 0, 32), 0);
    let apart = [&allocated[..], &["buffer.read_allocate=never"]].concat();
    assert_eq!(sectors(&apart, 0, 32) - sectors(&apart, 0, 8), 6 * CODEWORD);
}

/// Reads of one page of four units that wait together move the codewords of each.
#[test]
fn reads_of_a_page_move_the_codewords_of_each() {
    let at = |us, first_sector, sectors| read(us, 0).over(first_sector, sectors);
    let keys = ["nand.codeword_bytes=1024", "nand.read_part_us=0"];
    let done = run(&keys, &[at(0, 1600, 8), at(10, 2, 2), at(10, 11, 2)]);
    let last = done.iter().map(|done| done.completion.as_ns()).max().unwrap();
    assert_eq!(last, (C + R + UNIT) + (C + R + 3 * UNIT / 4));
}

/// Codewords that do not make up units are refused.
#[test]
fn codewords_divide_units() {
    for bytes in [700, 1_536, 8_192] {
        let why = try_device(&[&format!("nand.codeword_bytes={bytes}")]).unwrap_err();
        assert!(why.contains("no whole codewords"), "{why}");
    }
}

/// At every precision of the bus a part saves what its array time is shorter, and two units save
/// nothing.
#[test]
fn a_part_saves_the_same_at_every_precision() {
    for precision in ["command", "phases", "requests"] {
        let bus = format!("bus.precision={precision}");
        for (units, saved) in [(1, R - PART), (2, 0)] {
            let [whole, part] =
                ["0", "45"].map(|us| lone(&[&bus, &format!("nand.read_part_us={us}")], 8, units));
            assert_eq!(whole - part, saved, "{units} units, {precision}");
        }
    }
}

/// Two reads wait for a busy die. Of one page, one operation serves both and needs two units of the
/// page; of two planes, it needs one unit of each of two pages, so that each is a part.
#[test]
fn each_page_of_an_operation_is_a_part_or_whole() {
    let three = |keys: &[&str], lpns: [u64; 3]| {
        let requests = [read(0, lpns[0]), read(10, lpns[1]), read(10, lpns[2])];
        run(keys, &requests).iter().map(|done| done.completion.as_ns()).max().unwrap()
    };
    let first = C + PART + UNIT;
    assert_eq!(three(&[], [40, 0, 1]), first + C + R + 2 * UNIT);
    assert_eq!(three(&["nand.read_part_bytes=8192"], [40, 0, 1]), first + C + PART + 2 * UNIT);
    assert_eq!(three(&[], [40, 0, 4]), 3 * first);
    let planes = ["geometry.planes=2", "ftl.stripe_order=pcwd"];
    assert_eq!(three(&planes, [40, 0, 4]), 3 * first);
    let both = [&planes[..], &["nand.multi_plane=any"]].concat();
    assert_eq!(three(&both, [40, 0, 4]), first + C + PART + 2 * UNIT);
    // One unit of a page and two of another: the slower of both.
    let four = [read(0, 40), read(10, 0), read(10, 4), read(10, 5)];
    let last = run(&both, &four).iter().map(|done| done.completion.as_ns()).max().unwrap();
    assert_eq!(last, first + C + R + 3 * UNIT);
}

/// Pages of several planes take `multi_plane_read_us` at least, whatever is needed of them, those
/// of the second type 150 / 100 of it; a page alone takes its own time.
#[test]
fn pages_of_several_planes_take_a_time_of_their_own() {
    let planes = ["geometry.planes=2", "ftl.stripe_order=pcwd", "nand.multi_plane=any"];
    let second = |us: &str, lpns: &[u64], more: &[&str]| {
        let least = format!("nand.multi_plane_read_us={us}");
        let mut requests = vec![read(0, 40)];
        requests.extend(lpns.iter().map(|lpn| read(10, *lpn)));
        let done = run(&[&planes[..], &[&least], more].concat(), &requests);
        let over = |done: &RequestDone| done.completion.as_ns();
        let last = done.iter().map(over).max().unwrap();
        last - over(done.iter().find(|done| done.order == 0).unwrap())
    };
    for precision in ["command", "phases"] {
        let bus = format!("bus.precision={precision}");
        let second = |us: &str, lpns: &[u64]| second(us, lpns, &[&bus]);
        assert_eq!(second("90", &[0, 4]), C + 90_000 + 2 * UNIT);
        assert_eq!(second("120", &[0, 4]), C + 120_000 + 2 * UNIT);
        assert_eq!(second("120", &[0, 4, 5]), C + 120_000 + 3 * UNIT);
        assert_eq!(second("90", &[0, 4, 5]), C + R + 3 * UNIT, "a whole page takes longer");
        assert_eq!(second("90", &[0, 1]), C + R + 2 * UNIT, "one page");
        assert_eq!(second("90", &[0]), C + PART + UNIT);
    }
    let types = ["nand.bits_per_cell=2", "nand.read_2_us=150", "nand.read_part_us=0"];
    // The second page of each plane has the second type.
    assert_eq!(second("120", &[8, 12], &types), C + 180_000 + 2 * UNIT);
    // What is held takes no plane's time: nothing is sensed, or one page of the two.
    let held = ["nand.read_early_percent=100", "nand.read_early_us=5"];
    assert_eq!(second("120", &[0, 4], &held), C + 5_000 + 2 * UNIT);
}

/// Planes that programs join are read together, also where nothing was written, and in zones.
#[test]
fn joined_planes_are_read_together() {
    let joined = ["geometry.planes=2", "ftl.frontier=die", "nand.multi_plane_read_us=120"];
    let page: &[&str] = &[];
    let zones = &["ftl.scheme=zns", "buffer.bytes=2097152", "buffer.volatile=false"];
    for (initial, multi_plane, layer) in [
        ("full", "any", page),
        ("fresh", "any", page),
        ("fresh", "same_page", page),
        ("fresh", "any", zones),
        ("fresh", "same_page", zones),
    ] {
        let state = [format!("state.initial={initial}"), format!("nand.multi_plane={multi_plane}")];
        let keys = [&joined[..], &[&state[0], &state[1]], layer].concat();
        let last = |lpns: &[u64]| {
            let mut requests = vec![read(0, 40)];
            requests.extend(lpns.iter().map(|lpn| read(10, *lpn)));
            let done = run(&keys, &requests);
            let last = done.iter().map(|done| done.completion.as_ns()).max().unwrap();
            last - (C + PART + UNIT)
        };
        assert_eq!(last(&[0, 4]), C + 120_000 + 2 * UNIT, "{state:?}");
        assert_eq!(last(&[0, 4, 5]), C + 120_000 + 3 * UNIT, "{state:?}");
        // Pages of one plane, and of rows that are not the same.
        assert_eq!(last(&[0, 8]), 2 * (C + PART + UNIT), "{state:?}");
        let both = C + 120_000 + 2 * UNIT;
        let apart = 2 * (C + PART + UNIT);
        assert_eq!(last(&[0, 12]), if multi_plane == "any" { both } else { apart }, "{state:?}");
    }
}

/// A part of a page of another type takes less in proportion: 45 / 100 of 150 us.
#[test]
fn a_part_of_a_page_of_another_type_is_shorter_in_proportion() {
    let types = ["nand.bits_per_cell=2", "nand.read_2_us=150"];
    assert_eq!([0, 4].map(|lpn| lone(&types, lpn, 1)), [C + PART + UNIT, C + 67_500 + UNIT]);
    assert_eq!([0, 4].map(|lpn| lone(&types, lpn, 4)), [R, 150_000].map(|r| C + r + 4 * UNIT));
}

/// Where map pages are fetched in part, the fetch alone is a read of a part: 512 bytes take 8 us on
/// the channel.
#[test]
fn a_part_of_a_map_page_is_a_part() {
    let keys = [
        "geometry.page_bytes=4096",
        "map.store=line_cache",
        "map.fetch_bytes=512",
        "nand.read_part_bytes=512",
    ];
    assert_eq!(lone(&keys, 0, 1), (C + PART + 8_000) + (C + R + UNIT));
}

/// The array takes its power for the time that it works, 36 mW; a given energy is that of any read.
/// Policies see the shorter time.
#[test]
fn energy_and_flash_operation_time_follow_the_array() {
    let one = |keys: &[&str]| run(keys, &[read(0, 0)])[0];
    let (part, whole) = (one(&[]), one(&["nand.read_part_us=0"]));
    assert_eq!(whole.energy_pj - part.energy_pj, 36 * (R - PART));
    assert_eq!((part.fot_ns, whole.fot_ns), (C + PART + UNIT, C + R + UNIT));
    let [part, whole] = ["45", "0"]
        .map(|us| one(&["energy.read_pj=5000000", &format!("nand.read_part_us={us}")]).energy_pj);
    assert_eq!(part, whole);
    let power = |keys: &[&str]| try_device(keys).unwrap().operation_mw(Op::Read);
    assert_eq!(power(&["energy.read_pj=4500000"]), 100);
}

/// A tail up to the greatest time begins at the time of the part.
#[test]
fn a_tail_begins_at_the_time_of_the_part() {
    let requests: Vec<_> = (0..2_000).map(|number| read(1_000 * number, number % 64)).collect();
    let done = run(&["nand.read_max_us=145"], &requests);
    let extra: Vec<_> = done.iter().map(|done| latency(done) - (C + PART + UNIT)).collect();
    let mean = extra.iter().sum::<u64>() / 2_000;
    // (1 - e^-10) D / 10 with D = 100 us: 10 us, give or take four times 10 us / sqrt(2000).
    assert!((9_100..10_900).contains(&mean), "{mean} ns");
    assert!(extra.iter().all(|extra| *extra <= R));
}

#[test]
fn parts_that_cannot_be_are_refused() {
    let why = |keys: &[&str]| try_device(keys).unwrap_err();
    let longer = why(&["nand.read_part_us=101"]);
    assert!(longer.contains("a part would take longer than its page"), "{longer}");
    let whole = why(&["nand.read_part_bytes=16384"]);
    assert!(whole.contains("16384 is no part of a page of 16384 bytes"), "{whole}");
    let small = why(&["nand.read_part_bytes=4095"]);
    assert!(small.contains("no read needs as little as 4095 bytes"), "{small}");
    settings(&["nand.read_part_bytes=1"]);
}

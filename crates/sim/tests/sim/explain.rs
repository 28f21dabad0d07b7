//! Every nanosecond of a latency has a reason, and the right one: scenarios small enough to work
//! out by hand, and sums over random runs.

use crate::common::{Random, record, request, seeds, settings};
use flashyard_core::command::{Op, Purpose};
use flashyard_core::policy::PolicyName;
use flashyard_core::request::{Flags, Request, RequestOp};
use flashyard_sim::metrics::parts::{Part, Parts};
use flashyard_sim::observe::RequestDone;

const READ: RequestOp = RequestOp::Read;
const WRITE: RequestOp = RequestOp::Write;

/// tR = 100 us, tPROG = 1000 us, tBERS = 5000 us, first in first out, no transfer time.
const DEVICE: &[&str] = &[
    "geometry.blocks_per_plane=512",
    "nand.read_us=100",
    "nand.program_us=1000",
    "nand.erase_us=5000",
    "policy.command=fifo",
];

/// 4096 B x 15,625 ps = 64 us a page.
const TRANSFER: &str = "channel.ps_per_byte=15625";

/// Runs requests on the device above with `keys`, and returns what became of each.
#[track_caller]
fn run(keys: &[&str], lines: &[(u64, bool)], requests: &[Request]) -> Vec<RequestDone> {
    let keys: Vec<&str> = DEVICE.iter().chain(keys).copied().collect();
    record(&settings(&keys), lines, requests).1.requests
}

/// The parts of a request in microseconds, all others being zero, and with them its completion.
#[track_caller]
fn check(done: &RequestDone, expected: &[(Part, u64)]) {
    let mut parts = Parts::default();
    for &(part, us) in expected {
        parts.add(part, us * 1_000);
    }
    let named = |parts: &Parts| -> Vec<(&str, u64)> {
        let all = Part::ALL.iter().map(|part| (part.name(), parts.get(*part)));
        all.filter(|(_, ns)| *ns > 0).collect()
    };
    assert_eq!(named(&done.parts), named(&parts));
    assert_eq!(done.completion.since(done.request.arrival).as_ns(), parts.total());
}

const RESIDENT: &str = "map.store=resident";

/// The die does 0-1000 DP(0), 1000-1100 DR(1), 1100-1200 DR(2).
#[test]
fn a_busy_die_is_charged_by_what_it_does() {
    let requests = [request(0, WRITE, 0, 1), request(300, READ, 1, 1), request(350, READ, 2, 1)];
    let done = run(&[RESIDENT], &[], &requests);
    check(&done[0], &[(Part::Array, 1_000)]);
    check(&done[1], &[(Part::DieProgram, 700), (Part::Array, 100)]);
    check(&done[2], &[(Part::DieProgram, 650), (Part::DieRead, 100), (Part::Array, 100)]);
}

/// Full, one page a block, ten of twenty blocks free: garbage collection starts when five are.
const FIVE_FREE: &[&str] = &[
    RESIDENT,
    "state.initial=full",
    "geometry.blocks_per_plane=20",
    "geometry.pages_per_block=1",
    "ftl.over_provisioning_percent=100",
    "gc.soft_free_blocks=5",
    "gc.hard_free_blocks=5",
    "gc.reserve_blocks=5",
];

/// Five writes back to back, the fifth from 4000 to 5000. It opens the fifth block, so the block
/// that the first one left without valid pages is erased from 5000 to 10000, before anything else.
#[test]
fn an_erase_is_charged_as_garbage_collection() {
    let mut requests: Vec<_> = (0..5).map(|lpn| request(lpn * 1_000, WRITE, lpn, 1)).collect();
    requests.push(request(4_500, WRITE, 5, 1));
    let done = run(FIVE_FREE, &[], &requests);
    let program = (Part::DieProgram, 500);
    check(&done[5], &[program, (Part::DieGc, 5_000), (Part::Array, 1_000)]);
    requests[5] = request(6_000, READ, 7, 1);
    let done = run(FIVE_FREE, &[], &requests);
    check(&done[5], &[(Part::DieGc, 4_000), (Part::Array, 100)]);
}

/// Full, two pages a block, ten of twenty blocks free.
const TWO_PAGES: &[&str] = &[
    RESIDENT,
    "state.initial=full",
    "geometry.blocks_per_plane=20",
    "geometry.pages_per_block=2",
    "ftl.over_provisioning_percent=100",
    "gc.soft_free_blocks=5",
    "gc.reserve_blocks=2",
];

/// Nine writes back to back to every other page leave blocks with one valid page each. The ninth,
/// 8000-9000, opens the fifth block.
fn nine_writes() -> Vec<Request> {
    (0..9).map(|at| request(at * 1_000, WRITE, at * 2, 1)).collect()
}

/// A job is a read, a program and an erase: 9000-15100. Its copy has opened a block, so one more
/// is needed, 15100-21200. All of it is urgent at five free blocks, and charged to the ninth write.
#[test]
fn copies_are_charged_as_garbage_collection() {
    let mut requests = nine_writes();
    requests.push(request(8_500, READ, 19, 1));
    let keys = [TWO_PAGES, &["gc.hard_free_blocks=5"]].concat();
    let done = run(&keys, &[], &requests);
    check(&done[9], &[(Part::DieProgram, 500), (Part::DieGc, 12_200), (Part::Array, 100)]);
    for (at, done) in done.iter().enumerate() {
        let count = |op| done.work.get(op, Purpose::Gc).ops;
        let expected = if at == 8 { 2 } else { 0 };
        assert_eq!(Op::ALL.map(count), [expected; 3], "charged to request {at}");
    }
}

/// The same with blocks to spare: the read waits for the copy's read, 9000-9100, and goes next.
#[test]
fn host_commands_go_between_those_of_unhurried_garbage_collection() {
    let mut requests = nine_writes();
    requests.push(request(9_050, READ, 19, 1));
    let keys = [TWO_PAGES, &["gc.hard_free_blocks=2"]].concat();
    check(&run(&keys, &[], &requests)[9], &[(Part::DieGc, 50), (Part::Array, 100)]);
}

/// A: MRf 0-100, DR 100-200. B hits the line that A fetches and reads 200-300.
#[test]
fn a_hit_on_a_line_under_fetch_is_delayed() {
    let done = run(&[], &[], &[request(0, READ, 0, 1), request(50, READ, 1, 1)]);
    check(&done[0], &[(Part::OwnMap, 100), (Part::Array, 100)]);
    check(&done[1], &[(Part::Delaying, 50), (Part::DieRead, 100), (Part::Array, 100)]);
}

/// The die does 0-1000 DP, 1000-1100 A's MRf, 1100-1200 A's DR, 1200-1300 B's DR. Until 1000 the
/// fetch that B needs waits for the program, so B does.
#[test]
fn a_delayed_set_is_charged_with_the_root_of_its_wait() {
    let requests = [request(0, WRITE, 64, 1), request(100, READ, 0, 1), request(200, READ, 1, 1)];
    let done = run(&[], &[(64, false)], &requests);
    check(&done[1], &[(Part::DieProgram, 900), (Part::OwnMap, 100), (Part::Array, 100)]);
    let parts =
        [(Part::DieProgram, 800), (Part::Delaying, 100), (Part::DieRead, 100), (Part::Array, 100)];
    check(&done[2], &parts);
}

/// A clean miss fetches, a dirty one reads and programs a map page before; a trim has no data.
#[test]
fn own_map_commands_are_own_map_time() {
    let two_lines = "map.cache_bytes=64";
    let dirty = [(512, true), (520, false)];
    let done = run(&[two_lines], &[], &[request(0, READ, 0, 1)]);
    check(&done[0], &[(Part::OwnMap, 100), (Part::Array, 100)]);
    let done = run(&[two_lines], &dirty, &[request(0, WRITE, 0, 1)]);
    check(&done[0], &[(Part::OwnMap, 1_200), (Part::Array, 1_000)]);
    let done = run(&[two_lines], &dirty, &[request(0, RequestOp::Trim, 0, 1)]);
    check(&done[0], &[(Part::OwnMap, 1_200)]);
    let done = run(&[two_lines, TRANSFER], &dirty, &[request(0, READ, 0, 1)]);
    check(&done[0], &[(Part::OwnMap, 1_392), (Part::Array, 100), (Part::Transfer, 64)]);
}

/// The second page hits the line that the first one fetches, 0-100: no other request delays it.
#[test]
fn the_map_commands_of_an_earlier_page_are_own_map_time() {
    let done = run(&[], &[], &[request(0, READ, 0, 2)]);
    check(&done[0], &[(Part::OwnMap, 100), (Part::DieRead, 100), (Part::Array, 100)]);
}

/// Lines 0 and 8 share a map page. A evicts line 0: MRe 0-100, MP 100-1100, which cleans line 8.
/// B evicts line 8 and may fetch when that is over; C hits the line that B fetches. First in first
/// out: A MRf 1100-1200, B MRf -1300, A DR -1400, B DR -1500, C DR -1600.
#[test]
fn chains_of_delays_are_followed() {
    let lines = [(0, true), (8, true)];
    let requests =
        [request(0, READ, 1_024, 1), request(10, READ, 2_048, 1), request(20, READ, 2_049, 1)];
    let done = run(&["map.cache_bytes=64"], &lines, &requests);
    check(&done[0], &[(Part::OwnMap, 1_200), (Part::DieRead, 100), (Part::Array, 100)]);
    let parts =
        [(Part::Delaying, 1_090), (Part::DieRead, 200), (Part::OwnMap, 100), (Part::Array, 100)];
    check(&done[1], &parts);
    // Delayed until 1100 and from 1200 to 1300; in between what delays it waits for A's fetch.
    check(&done[2], &[(Part::Delaying, 1_180), (Part::DieRead, 300), (Part::Array, 100)]);
}

/// A read behind a write of its page: unordered, it waits for the die; ordered, for the request.
#[test]
fn waiting_for_an_earlier_write_is_a_delay_only_where_it_is_ordered() {
    let requests = [request(0, WRITE, 3, 1), request(300, READ, 3, 1)];
    let done = run(&[RESIDENT], &[], &requests);
    check(&done[1], &[(Part::DieProgram, 700), (Part::Array, 100)]);
    let done = run(&[RESIDENT, "queue.data_order=lpn"], &[], &requests);
    check(&done[1], &[(Part::Delaying, 700), (Part::Array, 100)]);
}

/// One line. A fetches 0-100 and reads 100-200; B, translated at 100, fetches 200-300 and reads
/// 300-400; C, behind B until 100, is translated at 300, fetches 400-500 and reads 500-600.
#[test]
fn stalls_of_the_map_cache_and_waits_behind_them_are_told_apart() {
    let requests = [request(0, READ, 0, 1), request(10, READ, 64, 1), request(20, READ, 128, 1)];
    let done = run(&["map.cache_bytes=32"], &[], &requests);
    let rest = [(Part::DieRead, 100), (Part::OwnMap, 100), (Part::Array, 100)];
    check(&done[1], &[&[(Part::MapStall, 90)], &rest[..]].concat());
    check(&done[2], &[&[(Part::HostQueue, 80), (Part::MapStall, 200)], &rest[..]].concat());
}

/// One slot: the second page of a request waits for it translated, the next request untranslated.
#[test]
fn waits_for_a_slot_and_in_the_host_queue_are_told_apart() {
    let requests = [request(0, READ, 0, 2), request(30, READ, 4, 1)];
    let done = run(&[RESIDENT, "queue.depth=1"], &[], &requests);
    check(&done[0], &[(Part::Slot, 100), (Part::Array, 100)]);
    check(&done[1], &[(Part::HostQueue, 170), (Part::Array, 100)]);
}

/// Writes 0-1000 and 1000-2000, the second after the flush; a preflushed write starts at 2000.
#[test]
fn a_flush_waits_for_earlier_writes_only() {
    let mut preflush = request(1_500, WRITE, 2, 1);
    preflush.flags = Flags::PREFLUSH;
    let flush = request(200, RequestOp::Flush, 0, 0);
    let requests = [request(0, WRITE, 0, 1), flush, request(300, WRITE, 1, 1), preflush];
    let done = run(&[RESIDENT], &[], &requests);
    check(&done[1], &[(Part::Flush, 800)]);
    check(&done[2], &[(Part::DieProgram, 700), (Part::Array, 1_000)]);
    check(&done[3], &[(Part::Flush, 500), (Part::Array, 1_000)]);
}

/// Two ways of one channel. Both arrays read 0-100, the bus carries 100-164 and 164-228; both
/// programs need the bus first, 0-64 and 64-128.
#[test]
fn ways_of_a_channel_wait_for_the_bus() {
    let keys = [RESIDENT, TRANSFER, "geometry.ways=2"];
    let done = run(&keys, &[], &[request(0, READ, 0, 1), request(0, READ, 1, 1)]);
    check(&done[0], &[(Part::Array, 100), (Part::Transfer, 64)]);
    check(&done[1], &[(Part::Array, 100), (Part::Bus, 64), (Part::Transfer, 64)]);
    let done = run(&keys, &[], &[request(0, WRITE, 0, 1), request(0, WRITE, 1, 1)]);
    check(&done[0], &[(Part::Transfer, 64), (Part::Array, 1_000)]);
    check(&done[1], &[(Part::Bus, 64), (Part::Transfer, 64), (Part::Array, 1_000)]);
}

/// Map page 1 is on die 1. Die 0 reads 0-100 and has the bus 100-164; the fetch on die 1 reads
/// 0-100, waits for the bus, has it 164-228, and the data follows 228-328 and 328-392.
#[test]
fn a_map_fetch_waits_for_the_bus_too() {
    let keys = [TRANSFER, "geometry.ways=2"];
    let done = run(&keys, &[(0, false)], &[request(0, READ, 0, 1), request(0, READ, 1_025, 1)]);
    let parts = [(Part::OwnMap, 164), (Part::Bus, 64), (Part::Array, 100), (Part::Transfer, 64)];
    check(&done[1], &parts);
}

/// Small busy devices of every kind: what no scenario above combines.
fn random_keys(random: &mut Random) -> Vec<String> {
    let mut keys: Vec<String> = DEVICE[1..4].iter().map(ToString::to_string).collect();
    let mut choose = |key: &str, values: &[&str]| {
        keys.push(format!("{key}={}", random.pick(values)));
    };
    choose("geometry.blocks_per_plane", &["64"]);
    choose("geometry.pages_per_block", &["8"]);
    choose("ftl.over_provisioning_percent", &["150"]);
    choose("geometry.channels", &["1", "2"]);
    choose("geometry.ways", &["1", "1", "3"]);
    choose("channel.ps_per_byte", &["0", "15625"]);
    choose("map.store", &["line_cache", "line_cache", "resident"]);
    choose("map.entries_per_line", &["1", "8"]);
    choose("map.entries_per_page", &["64"]);
    choose("map.cache_bytes", &["32", "128"]);
    choose("map.hazards", &["order", "ignore"]);
    choose("queue.depth", &["1", "4", "64"]);
    choose("queue.slots_scope", &["device", "die"]);
    choose("queue.admission", &["request", "page", "atomic"]);
    choose("queue.delayed_sets_hold_slot", &["true", "false"]);
    choose("queue.data_order", &["none", "lpn"]);
    choose("policy.command", PolicyName::WORDS);
    choose("host.policy", &["fifo", "idle"]);
    choose("state.initial", &["full"]);
    keys
}

/// What must hold for the parts of any request, whatever it waited for.
fn check_parts(done: &RequestDone, transfer_ns: u64, context: &str) {
    let parts = &done.parts;
    let latency = done.completion.since(done.request.arrival).as_ns();
    assert_eq!(parts.total(), latency, "{context}: parts add up");
    for part in [Part::Link, Part::Firmware, Part::Buffer] {
        assert_eq!(parts.get(part), 0, "{context}: no device has a {}", part.name());
    }
    let (array, transfer) = match done.request.op {
        RequestOp::Read => (100_000, transfer_ns),
        RequestOp::Write => (1_000_000, transfer_ns),
        RequestOp::Trim | RequestOp::Flush => (0, 0),
    };
    assert_eq!(parts.get(Part::Array), array, "{context}: own array time");
    assert_eq!(parts.get(Part::Transfer), transfer, "{context}: own transfer time");
    if transfer_ns == 0 {
        assert_eq!(parts.get(Part::Bus), 0, "{context}: nothing is on the bus");
    }
    if done.request.op == RequestOp::Flush {
        let own = parts.get(Part::Flush) + parts.get(Part::HostQueue);
        assert_eq!(own, latency, "{context}: a flush waits for writes or its turn");
    }
}

/// Parts that do not add up, or that charge what cannot be, in states that nobody drew by hand.
#[test]
fn parts_of_random_requests_add_up() {
    let mut sums = Parts::default();
    for seed in seeds(0..150) {
        let mut random = Random(seed);
        let keys = random_keys(&mut random);
        let settings = settings(&keys);
        let units = u64::from(settings.exported_units);
        let mut now_us = 0;
        let requests: Vec<_> = (0..400)
            .map(|_| {
                now_us += random.pick(&[0, 0, 30, 3_000]);
                let op = match random.below(20) {
                    0 => RequestOp::Trim,
                    1 => RequestOp::Flush,
                    2..11 => WRITE,
                    _ => READ,
                };
                let pages = 1 + random.below(5);
                let lpn = random.below(units - pages);
                request(now_us, op, lpn, u32::try_from(pages).expect("few"))
            })
            .collect();
        let (report, run) = record(&settings, &[], &requests);
        let mut by_op = [Parts::default(); 4];
        for done in &run.requests {
            let context = format!("seed {seed}, request {}", done.order);
            check_parts(
                done,
                settings.transfer_ns(u64::from(settings.geometry.page_bytes)),
                &context,
            );
            by_op[done.request.op as usize].merge(&done.parts);
            sums.merge(&done.parts);
        }
        assert_eq!(report.latency_parts_ns["read"], by_op[READ as usize], "seed {seed}");
        assert_eq!(report.latency_parts_ns["write"], by_op[WRITE as usize], "seed {seed}");
    }
    let absent = [
        Part::Link,
        Part::Firmware,
        Part::Buffer,
        Part::DieErase,
        Part::DieFold,
        Part::Retry,
        Part::Status,
    ];
    for part in Part::ALL {
        assert_eq!(sums.get(part) == 0, absent.contains(&part), "{}: {sums:?}", part.name());
    }
}

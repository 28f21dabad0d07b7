//! What the policies `priority` and `deadline` promise, seen on devices of many dies: at each
//! instant at which a die takes a command, no command waits that should have gone first.

use crate::common::{Random, Recorded, record, request, settings};
use flashyard_core::command::{Op, Purpose};
use flashyard_core::request::{Request, RequestOp};
use flashyard_sim::config::Settings;
use flashyard_sim::observe::CommandDone;

const READ: RequestOp = RequestOp::Read;
const WRITE: RequestOp = RequestOp::Write;

/// tR = 50 us, tPROG = 300 us, tBERS = 1 ms, command 0.3 us and 10 us a page on the channel.
fn device(policy: &str, keys: &[&str]) -> Settings {
    let base = [
        "geometry.channels=2",
        "geometry.ways=3",
        "nand.read_us=50",
        "nand.program_us=300",
        "nand.erase_us=1000",
        "channel.ps_per_byte=2500",
        "channel.command_ns=300",
        "queue.depth=100000",
    ];
    let policy = format!("policy.command={policy}");
    settings(&[&base, keys, &[&*policy]].concat())
}

/// Bursts of single pages at random places.
fn bursts(settings: &Settings, count: u64, gap_us: u64, writes_percent: u64) -> Vec<Request> {
    let mut random = Random(3);
    let units = u64::from(settings.exported_units);
    let mut now = 0;
    (0..count)
        .map(|_| {
            now += if random.below(30) == 0 { random.below(60 * gap_us) } else { 0 };
            let op = if random.below(100) < writes_percent { WRITE } else { READ };
            request(now, op, random.below(units), 1)
        })
        .collect()
}

/// Pairs of commands of one die of which the second waited while the first was taken, although
/// `goes_first(second, first)`. A command that found no room left the queue to wait for room. So
/// only commands that need no room count as waiting.
fn inversions(run: &Recorded, goes_first: impl Fn(&CommandDone, &CommandDone) -> bool) -> usize {
    let mut found = 0;
    let dies = 1 + run.commands.iter().map(|done| done.die.index()).max().unwrap_or(0);
    for die in 0..dies {
        let mut of_die: Vec<_> =
            run.commands.iter().filter(|done| done.die.index() == die).collect();
        of_die.sort_by_key(|done| done.start);
        for (at, late) in of_die.iter().enumerate() {
            let waited = of_die[..at].iter().rev().take_while(|done| done.start > late.enqueued);
            let early = waited.filter(|early| goes_first(late, early));
            found += if late.op == Op::Program { 0 } else { early.count() };
        }
    }
    found
}

/// The place of a command in the order of `priority`, garbage collection apart.
fn class(done: &CommandDone) -> u8 {
    match (done.purpose, done.op) {
        (Purpose::MapFetch | Purpose::MapWriteback, _) => 0,
        (Purpose::Host, Op::Read) => 1,
        (Purpose::Host, _) => 2,
        (Purpose::Gc | Purpose::MapGc | Purpose::Wear | Purpose::Merge | Purpose::Fold, _) => 3,
        (Purpose::Journal | Purpose::Recovery, _) => unreachable!("no device is cut"),
        (Purpose::ReadAhead, _) => unreachable!("no device reads ahead"),
    }
}

/// With blocks to spare, garbage collection is never urgent, so the order is the same throughout.
/// Under rcf, which knows no purposes, the map's reads wait for data.
#[test]
fn priority_serves_the_map_then_reads_then_programs_then_collection() {
    let keys = [
        "geometry.blocks_per_plane=64",
        "geometry.pages_per_block=8",
        "ftl.over_provisioning_percent=200",
        "map.cache_bytes=256",
        "map.entries_per_page=64",
        "gc.soft_free_blocks=30",
        "gc.hard_free_blocks=2",
        "gc.reserve_blocks=2",
        "state.initial=full",
    ];
    let inverted = |policy: &str| {
        let settings = device(policy, &keys);
        let (report, run) = record(&settings, &[], &bursts(&settings, 6_000, 1_000, 30));
        assert!(report.gc.jobs > 100 && report.map.misses > 1_000, "{policy}: {:?}", report.gc);
        inversions(&run, |late, early| class(late) < class(early))
    };
    assert_eq!(inverted("priority"), 0);
    assert!(inverted("rcf") > 100, "the test would see an inversion");
}

/// A die that is at its hard threshold from the start on: urgent collection goes before data, but
/// the map's reads go before both.
#[test]
fn only_the_map_goes_before_urgent_collection() {
    let keys = [
        "geometry.blocks_per_plane=64",
        "geometry.pages_per_block=8",
        "ftl.over_provisioning_percent=100",
        "map.cache_bytes=256",
        "map.entries_per_page=64",
        "gc.soft_free_blocks=40",
        "gc.hard_free_blocks=40",
        "gc.reserve_blocks=2",
        "state.initial=full",
    ];
    let inverted = |policy: &str| {
        let settings = device(policy, &keys);
        let (report, run) = record(&settings, &[], &bursts(&settings, 3_000, 2_000, 50));
        assert!(report.gc.jobs > 100, "{policy}: {:?}", report.gc);
        let is_gc = |done: &CommandDone| done.purpose.is_gc();
        let map = inversions(&run, |late, early| class(late) == 0 && is_gc(early));
        let data = inversions(&run, |late, early| is_gc(late) && matches!(class(early), 1 | 2));
        (map, data)
    };
    assert_eq!(inverted("priority"), (0, 0));
    let (map, data) = inverted("rcf");
    assert!(map > 100, "under rcf the map's reads wait for urgent collection: {map}");
    assert_eq!(data, 0);
}

/// Commands of reads that came to a die after a write's did and went before it.
fn passed_by(run: &Recorded, write: &CommandDone) -> usize {
    let of_read = |done: &CommandDone| {
        let order = usize::try_from(done.command.request.expect("no collection")).expect("few");
        run.requests[order].request.op == READ
    };
    let later = run.commands.iter().filter(|done| {
        done.die == write.die && done.enqueued > write.enqueued && done.start < write.start
    });
    later.filter(|done| of_read(done)).count()
}

/// More reads than the dies can serve, one every 5 us, and now and then a write.
fn flood(count: u64) -> Vec<Request> {
    let mut random = Random(8);
    let op = |at| if at % 50 == 49 { WRITE } else { READ };
    (0..count).map(|at| request(5 * at, op(at), random.below(10_000), 1)).collect()
}

fn writes(run: &Recorded) -> impl Iterator<Item = &CommandDone> {
    run.commands.iter().filter(|done| done.op == Op::Program)
}

/// Where nothing expires, exactly so many reads pass a write in a flood, on every die.
#[test]
fn deadline_lets_so_many_reads_pass_a_write() {
    for limit in [0, 1, 7] {
        let limit_key = format!("policy.deadline.reads_before_write={limit}");
        let keys = [
            "map.store=resident",
            "nand.unmapped_read=array",
            "policy.deadline.read_deadline_us=0",
            "policy.deadline.write_deadline_us=0",
            &*limit_key,
        ];
        let (_, run) = record(&device("deadline", &keys), &[], &flood(5_000));
        let passes: Vec<usize> = writes(&run).map(|write| passed_by(&run, write)).collect();
        assert_eq!(passes.len(), 100);
        assert!(passes.iter().all(|&reads| reads <= limit), "{limit}: {passes:?}");
        let full = passes.iter().filter(|&&reads| reads == limit).count();
        assert!(full > 80, "{limit}: only {full} writes were passed by as many");
    }
}

/// Reads overload every die and may pass a write without limit; still a write starts once it has
/// expired, behind the command that its die is at and the writes that expired before.
#[test]
fn deadline_bounds_the_wait_of_writes() {
    let limit_us = 4_000;
    let limit_key = format!("policy.deadline.write_deadline_us={limit_us}");
    let keys = [
        "map.store=resident",
        "nand.unmapped_read=array",
        "policy.deadline.read_deadline_us=0",
        "policy.deadline.reads_before_write=1000000",
        &*limit_key,
    ];
    let (_, run) = record(&device("deadline", &keys), &[], &flood(8_000));
    let last_read = run.requests.iter().rfind(|done| done.request.op == READ);
    let flooded = last_read.expect("there are reads").request.arrival;
    let mut at_limit = 0;
    for write in writes(&run) {
        let due = write.enqueued.as_ns() + limit_us * 1_000;
        let before = run.commands.iter().filter(|done| {
            done.die == write.die && done.start < write.start && done.end.as_ns() > due
        });
        // One command that had begun, then writes only, one after the other.
        let late = write.start.as_ns().saturating_sub(due);
        let began = before.clone().filter(|done| done.start.as_ns() < due);
        assert!(began.count() <= 1);
        let after_due: Vec<_> = before.filter(|done| done.start.as_ns() >= due).collect();
        assert!(after_due.iter().all(|done| done.op == Op::Program), "a read went first");
        // The longest command: a program, and the channel carries a page of two more dies before.
        let longest = 300_000 + 3 * (300 + 10_240);
        assert!(late <= (1 + after_due.len() as u64) * longest, "{late} ns late");
        at_limit += u64::from(late > 0 && write.enqueued < flooded);
    }
    assert!(at_limit > 100, "only {at_limit} of 160 writes waited until they expired");
    // Without a limit of age, writes wait for the reads to end.
    let starving = ["policy.deadline.write_deadline_us=0"];
    let (_, run) =
        record(&device("deadline", &[&keys[..4], &starving].concat()), &[], &flood(8_000));
    let longest = writes(&run).map(|write| write.start.since(write.enqueued).as_ns()).max();
    assert!(longest.expect("writes") > 10 * limit_us * 1_000, "{longest:?}");
}

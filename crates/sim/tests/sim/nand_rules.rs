//! The rules of NAND and of the channel, worked out from the command log alone: nothing happens
//! before its time (t - 1), and where nothing is in the way it happens at its time (t).
//!
//! Commands that one operation serves have its die and its start in common. With c for command and
//! address, o for the data and T for the array, an operation whose channel is free takes c + o + T;
//! its data are the last o of a read, and end T before the end of a program.

use crate::common::{Random, record, request, settings};
use flashyard_core::command::Op;
use flashyard_core::request::RequestOp;
use flashyard_sim::config::Settings;
use flashyard_sim::observe::CommandDone;
use std::collections::{BTreeMap, BTreeSet};

/// Command and address, in nanoseconds.
const C: u64 = 275;
/// tR by page type, tPROG of a word line and tBERS, in nanoseconds.
const R: [u64; 3] = [50_000, 65_000, 80_000];
const PROGRAM: u64 = 900_000;
const ERASE: u64 = 3_000_000;
/// Suspending and resuming, in nanoseconds, and how often.
const SUSPEND: u64 = 20_000;
const RESUME: u64 = 15_000;
const PROGRAM_SUSPENDS: usize = 3;
const ERASE_SUSPENDS: usize = 2;

/// A full device of TLC, 16 KiB pages, four units a page, one-shot programs.
fn device(others: &[&str]) -> Settings {
    let base = [
        "geometry.planes=2",
        "geometry.blocks_per_plane=48",
        "geometry.pages_per_block=12",
        "geometry.page_bytes=16384",
        "nand.bits_per_cell=3",
        "nand.one_shot=true",
        "nand.read_us=50",
        "nand.read_2_us=65",
        "nand.read_3_us=80",
        "nand.program_us=900",
        "nand.erase_us=3000",
        "nand.suspend_us=20",
        "nand.resume_us=15",
        "nand.multi_plane=any",
        "channel.ps_per_byte=1250",
        "ftl.mapping_unit_bytes=4096",
        "ftl.over_provisioning_percent=60",
        "map.store=resident",
        "policy.command=rcf",
        "state.initial=full",
        "gc.soft_free_blocks=6",
        "gc.hard_free_blocks=4",
    ];
    settings(&[&base[..], others].concat())
}

/// An operation of a die, put together from the commands that it served.
#[derive(Clone, Debug)]
struct Operation {
    op: Op,
    start: u64,
    end: u64,
    /// Physical units; the first one of each block of an erase.
    units: Vec<u64>,
}

impl Operation {
    fn pages(&self) -> BTreeSet<u64> {
        self.units.iter().map(|unit| unit / 4).collect()
    }

    /// T: of the slowest page.
    fn array_ns(&self) -> u64 {
        match self.op {
            Op::Read => {
                let types = self.pages().into_iter().map(|page| page % 12 % 3);
                types.map(|kind| R[usize::try_from(kind).unwrap()]).max().expect("a page")
            }
            Op::Program => PROGRAM,
            Op::Erase => ERASE,
        }
    }
}

/// What the log says, by die, in the order of starts.
struct Log {
    settings: Settings,
    dies: BTreeMap<u32, Vec<Operation>>,
}

impl Log {
    fn of(settings: &Settings, commands: &[CommandDone]) -> Self {
        let mut dies: BTreeMap<u32, BTreeMap<u64, Operation>> = BTreeMap::new();
        for done in commands {
            let (start, end) = (done.start.as_ns(), done.end.as_ns());
            let none = Operation { op: done.op, start, end, units: Vec::new() };
            let found = dies.entry(done.die.get()).or_default().entry(start).or_insert(none);
            assert_eq!((found.op, found.end), (done.op, end), "one operation, one end: {done:?}");
            found.units.extend(done.ppn.map(u64::from));
        }
        let dies = dies.into_iter().map(|(die, all)| (die, all.into_values().collect()));
        Self { settings: settings.clone(), dies: dies.collect() }
    }

    /// Bursts of reads and writes of one to four units on a busy device.
    fn of_busy(settings: &Settings) -> Self {
        let mut random = Random(3);
        let units = settings.capacity_sectors() / 8;
        let mut now = 0;
        let requests: Vec<_> = (0..6_000)
            .map(|at| {
                now += if at % 40 == 0 { 12_000 } else { random.below(60) };
                let op = random.pick(&[RequestOp::Read, RequestOp::Read, RequestOp::Write]);
                let count = random.pick(&[1, 1, 4]);
                request(now, op, random.below(units - 4), count)
            })
            .collect();
        let log = Self::of(settings, &record(settings, &[], &requests).1.commands);
        for op in [Op::Read, Op::Program, Op::Erase] {
            let count = log.all().filter(|operation| operation.op == op).count();
            assert!(count > 50, "{count} operations {op:?} tell little");
        }
        log
    }

    fn all(&self) -> impl Iterator<Item = &Operation> {
        self.dies.values().flatten()
    }

    /// o: the units read; all units of the word line of each plane programmed.
    fn data_ns(&self, operation: &Operation) -> u64 {
        // A whole number of nanoseconds for every rate here.
        let unit = 4_096 * self.settings.keys.channel.ps_per_byte / 1_000;
        match operation.op {
            Op::Read => operation.units.len() as u64 * unit,
            Op::Program => {
                let lines = operation.units.iter().map(|unit| unit / 12);
                lines.collect::<BTreeSet<_>>().len() as u64 * 12 * unit
            }
            Op::Erase => 0,
        }
    }
}

/// Pairs of neighbours: none begins before the one before is over, and some begin at that moment.
#[track_caller]
fn one_at_a_time(what: &str, spans: &mut [(u64, u64)]) -> bool {
    spans.sort_unstable();
    let mut tight = false;
    for pair in spans.windows(2) {
        assert!(pair[1].0 >= pair[0].1, "{what}: {:?} before the end of {:?}", pair[1], pair[0]);
        tight |= pair[1].0 == pair[0].1;
    }
    tight
}

/// A die does one operation at a time, and takes the next one at the moment at which it is free.
#[test]
fn a_die_does_one_thing_at_a_time() {
    let log = Log::of_busy(&device(&["geometry.ways=3"]));
    for (die, operations) in &log.dies {
        let mut spans: Vec<_> = operations.iter().map(|o| (o.start, o.end)).collect();
        assert!(one_at_a_time("die", &mut spans), "die {die} is never taken at once");
    }
    blocks_are_written_in_order_and_erased_in_peace(&log);
}

/// Three dies share a channel: data phases do not overlap, and some follow at once.
#[test]
fn a_channel_carries_one_thing_at_a_time() {
    for cache_read in ["nand.cache_read=false", "nand.cache_read=true"] {
        let log = Log::of_busy(&device(&["geometry.ways=3", cache_read]));
        let mut phases = Vec::new();
        for operation in log.all().filter(|operation| operation.op != Op::Erase) {
            let data = log.data_ns(operation);
            let after = if operation.op == Op::Program { PROGRAM } else { 0 };
            phases.push((operation.end - after - data, operation.end - after));
        }
        assert!(one_at_a_time("channel", &mut phases), "the channel is never taken at once");
    }
}

/// A die that has a channel to itself never waits: each operation takes its time to the nanosecond.
#[test]
fn an_operation_takes_the_sum_of_its_phases() {
    let log = Log::of_busy(&device(&["geometry.channels=2", "channel.command_ns=275"]));
    for operation in log.all() {
        let sum = C + log.data_ns(operation) + operation.array_ns();
        assert_eq!(operation.end - operation.start, sum, "{operation:?}");
    }
    let widest = log.all().map(|operation| operation.pages().len()).max();
    assert_eq!(widest, Some(6), "three pages of two planes in one program");
    blocks_are_written_in_order_and_erased_in_peace(&log);
}

/// With cache read a die senses on while a page leaves: the next read begins no sooner than the one
/// before has been sensed, and the one after that when its data have left. All else is alone.
#[test]
fn cache_read_overlaps_sensing_and_data_only() {
    // 81.92 us for a page: more than its tR, so that the register is the bottleneck at times.
    let slow = "channel.ps_per_byte=5000";
    let keys = ["geometry.channels=2", "channel.command_ns=275", "nand.cache_read=true", slow];
    let log = Log::of_busy(&device(&keys));
    let (mut overlaps, mut waits_for_register) = (0, 0);
    for operations in log.dies.values() {
        for pair in operations.windows(2) {
            let [before, next] = pair else { unreachable!() };
            if before.op != Op::Read || next.op != Op::Read {
                assert!(next.start >= before.end, "{next:?} during {before:?}");
                continue;
            }
            let sensed = before.start + C + before.array_ns();
            assert!(next.start >= sensed, "{next:?} while {before:?} is sensed");
            // The data of one page follow those of the other.
            assert!(next.end - log.data_ns(next) >= before.end, "{next:?} overtakes {before:?}");
            overlaps += u64::from(next.start == sensed);
        }
        for three in operations.windows(3).filter(|three| three.iter().all(|o| o.op == Op::Read)) {
            assert!(three[2].start >= three[0].end, "{three:?} in one register");
            waits_for_register += u64::from(three[2].start == three[0].end);
        }
    }
    assert!(overlaps > 100 && waits_for_register > 0, "{overlaps} {waits_for_register}");
    blocks_are_written_in_order_and_erased_in_peace(&log);
}

/// A suspended operation takes its time and, for each suspension, that of suspending, of the reads
/// in between (one after the other without a gap) and of resuming; never more often than allowed.
/// With pulses, it has worked for all of its time but whole pulses whenever it is stopped.
#[test]
fn suspensions_cost_what_they_cost_and_are_limited() {
    suspensions_cost_what_they_cost(0);
    suspensions_cost_what_they_cost(70_000);
}

fn suspensions_cost_what_they_cost(pulse: u64) {
    let keys = [
        "geometry.channels=2",
        "channel.command_ns=275",
        &format!("nand.program_suspends={PROGRAM_SUSPENDS}"),
        &format!("nand.erase_suspends={ERASE_SUSPENDS}"),
        &format!("nand.pulse_us={}", pulse / 1_000),
    ];
    let log = Log::of_busy(&device(&keys));
    let mut most = BTreeMap::from([("program", 0), ("erase", 0)]);
    for operations in log.dies.values() {
        for (at, operation) in operations.iter().enumerate() {
            let inside: Vec<_> =
                operations[at + 1..].iter().take_while(|o| o.start < operation.end).collect();
            if operation.op == Op::Read {
                assert!(inside.is_empty(), "{operation:?} is interrupted by {inside:?}");
            }
            let (mut pauses, mut free) = (0, 0);
            let (mut extra, mut left) = (0, operation.array_ns());
            for read in &inside {
                assert_eq!(read.op, Op::Read, "{read:?} in {operation:?}");
                assert!(read.end <= operation.end - RESUME && read.start >= free, "{read:?}");
                if read.start != free {
                    // Not before command and data are over, the array has worked on what was left
                    // since the last time, and has been stopped.
                    let works = operation.start + C + log.data_ns(operation);
                    let since = if free == 0 { works } else { free };
                    assert!(read.start >= since + SUSPEND, "{read:?} too early in {operation:?}");
                    // Time of resuming comes first, of which nothing is worked.
                    let since = since + if pauses == 0 { 0 } else { RESUME };
                    left -= (read.start - SUSPEND).saturating_sub(since);
                    let whole = pulse == 0 || left.is_multiple_of(pulse);
                    assert!(whole, "{read:?} within a pulse of {operation:?}");
                    pauses += 1;
                    extra += SUSPEND + RESUME;
                }
                extra += read.end - read.start;
                free = read.end;
            }
            let sum = C + log.data_ns(operation) + operation.array_ns() + extra;
            assert_eq!(operation.end - operation.start, sum, "{operation:?} with {inside:?}");
            let name = if operation.op == Op::Erase { "erase" } else { "program" };
            most.entry(name).and_modify(|most| *most = pauses.max(*most));
        }
    }
    assert_eq!(most["program"], PROGRAM_SUSPENDS, "the limit is reached and not exceeded");
    assert_eq!(most["erase"], ERASE_SUSPENDS, "the limit is reached and not exceeded");
    blocks_are_written_in_order_and_erased_in_peace(&log);
}

/// Word lines of a block are programmed one after another, each once an erase; a block is erased
/// after its last read and program, and not touched meanwhile.
#[track_caller]
fn blocks_are_written_in_order_and_erased_in_peace(log: &Log) {
    let units = u64::from(log.settings.geometry.units_per_block());
    let mut blocks: BTreeMap<u64, Vec<(&Operation, u64)>> = BTreeMap::new();
    for operation in log.all() {
        let touched: BTreeSet<_> = operation.units.iter().map(|unit| unit / units).collect();
        for block in touched {
            let first = operation.units.iter().filter(|unit| *unit / units == block).min();
            let line = first.expect("a unit of it") % units / 12;
            blocks.entry(block).or_default().push((operation, line));
        }
    }
    let mut erased_once = 0;
    for (block, touches) in blocks {
        // The next word line; blocks that were written before the run begin somewhere.
        let mut next: Option<u64> = None;
        let mut busy_until = 0;
        for (operation, line) in touches {
            match operation.op {
                Op::Erase => {
                    assert!(
                        operation.start >= busy_until,
                        "block {block} is in use: {operation:?}"
                    );
                    next = Some(0);
                    erased_once += 1;
                    busy_until = operation.end;
                    continue;
                }
                Op::Program => {
                    assert!(next.is_none_or(|next| next == line), "block {block}, line {line}");
                    assert!(operation.start >= busy_until || next != Some(0), "{operation:?}");
                    next = Some(line + 1);
                }
                Op::Read => assert!(next.is_none_or(|next| line < next), "never programmed"),
            }
            busy_until = busy_until.max(operation.end);
        }
    }
    assert!(erased_once > 20, "{erased_once} erases tell little");
}

/// A read of a page costs the same where its units were never written: they are read together, from
/// the page of their static place.
#[test]
fn a_page_that_was_never_written_is_read_once() {
    let read = |state: &str| {
        let keys = [state, "nand.unmapped_read=array", "ftl.allocation=static"];
        let (report, run) = record(&device(&keys), &[], &[request(0, RequestOp::Read, 0, 4)]);
        let starts: BTreeSet<_> = run.commands.iter().map(|c| (c.die, c.start, c.end)).collect();
        (run.requests[0].parts.total(), starts.len(), report.flash.pages["reads"]["host"])
    };
    let (fresh, full) = (read("state.initial=fresh"), read("state.initial=full"));
    assert_eq!(fresh, full);
    assert_eq!(fresh.1, 1, "one operation");
}

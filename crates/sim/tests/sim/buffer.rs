//! The write buffer: what it saves, what it costs, what it must not lose.

use crate::common::phases::{Bench, latency, pacing, stream};
use crate::common::{
    ONE_SHOT, Random, Recorded, flush, read, record, request, restored, saved, seeds, settings,
    try_settings, write,
};
use flashyard_core::policy::PolicyName;
use flashyard_core::request::{Flags, Request, RequestOp};
use flashyard_sim::config::Settings;
use flashyard_sim::metrics::parts::Part;
use flashyard_sim::report::Report;
use flashyard_sim::stream::Pacing;

/// Time of a unit of 4 KiB on the port and to its row: ceil(4096 x 78 ps) + 41 ns.
const ACCESS_NS: u64 = 320 + 41;

/// One die with a resident map whose programs take 700 us and nothing else, and a buffer.
fn buffered(keys: &[&str]) -> Settings {
    let base = [
        "map.store=resident",
        "geometry.blocks_per_plane=64",
        "geometry.pages_per_block=32",
        "ftl.over_provisioning_percent=100",
        "buffer.bytes=262144",
    ];
    settings(&[&base, keys].concat())
}

fn programs(run: &Recorded) -> usize {
    run.commands.iter().filter(|command| command.command.stage == "DP").count()
}

/// Whatever became dirty was flushed, trimmed, or is dirty still.
#[track_caller]
fn conserves(report: &Report) {
    let buffer = &report.buffer;
    let gone = buffer.flushed_units + buffer.trimmed_units + buffer.dirty_at_end;
    assert_eq!(buffer.dirtied_units, gone, "{buffer:?}");
}

/// Distinct units, one write at a time: n lines take n writes at the price of an access, the nth
/// of them starts the flusher, and from then on each write waits for a program.
#[test]
fn writes_cost_an_access_until_the_buffer_is_full_and_then_the_drain_rate() {
    let settings = buffered(&["buffer.high_percent=100", "buffer.low_percent=0"]);
    let lines = 64;
    let requests: Vec<_> = (0..lines + 100).map(|lpn| write(0, lpn)).collect();
    let mut bench = Bench::new(&settings);
    let done = bench.run(vec![stream(pacing(Pacing::Closed, 1), &requests)]);
    for (number, done) in (1..).zip(&done) {
        let expected = if number <= lines {
            number * ACCESS_NS
        } else {
            (lines - 1) * ACCESS_NS + (number - lines) * 700_000 + ACCESS_NS
        };
        assert_eq!(done.completion.as_ns(), expected, "write {number}");
        let put = if number <= lines { latency(done) } else { ACCESS_NS };
        assert_eq!(done.parts.get(Part::Buffer), put, "write {number}");
        assert_eq!(done.parts.get(Part::Flush), latency(done) - put, "write {number}");
    }
    let report = bench.finish();
    assert_eq!(report.buffer.units, lines);
    assert_eq!((report.buffer.stalls, report.buffer.dirty_at_end), (100, 0));
    assert_eq!(report.flash.array_ops["programs"]["host"], lines + 100);
    conserves(&report);
}

/// Accesses share the port and overlap in the rest.
#[test]
fn the_port_carries_one_unit_at_a_time() {
    let settings = buffered(&["buffer.ps_per_byte=1000", "buffer.access_ns=10000"]);
    let (_, run) = record(&settings, &[], &[request(0, RequestOp::Write, 0, 3), read(0, 1)]);
    let ends: Vec<_> = run.requests.iter().map(|done| done.completion.as_ns()).collect();
    assert_eq!(ends, [3 * 4_096 + 10_000, 4 * 4_096 + 10_000]);
}

#[test]
fn an_endless_buffer_programs_each_unit_once_at_a_flush() {
    let settings = buffered(&["buffer.bytes=1000000000000", "buffer.high_percent=100"]);
    let mut random = Random(1);
    let mut requests: Vec<_> = (0..3_000).map(|at| write(at, random.below(500))).collect();
    let mut units: Vec<_> = requests.iter().map(|request| request.first_sector).collect();
    units.sort_unstable();
    units.dedup();
    requests.push(flush(4_000));
    requests.push(flush(4_000_000));
    let (report, run) = record(&settings, &[], &requests);
    assert_eq!(report.buffer.units, u64::from(settings.exported_units), "no more than that");
    let starts = run.commands.iter().map(|command| command.start.as_ns());
    assert_eq!(starts.min(), Some(4_000_000));
    assert_eq!(programs(&run), units.len());
    let flushed = &run.requests[3_000];
    assert_eq!(latency(flushed), units.len() as u64 * 700_000, "one die, one unit at a time");
    assert_eq!(flushed.parts.get(Part::Flush), latency(flushed));
    assert_eq!(latency(&run.requests[3_001]), 0, "nothing is left to flush");
    assert_eq!(report.buffer.write_hits, 3_000 - units.len() as u64);
    conserves(&report);
}

#[test]
fn a_buffer_of_no_bytes_is_none() {
    let mut random = Random(2);
    let requests: Vec<_> = (0..2_000)
        .map(|at| request(at * 200, random.pick(&RequestOp::ALL), random.below(300), 2))
        .collect();
    let none = record(&buffered(&["buffer.bytes=0"]), &[], &requests);
    let keys = ["buffer.bytes=0", "buffer.acknowledge=program", "buffer.access_ns=99999"];
    let other = record(&buffered(&keys), &[], &requests);
    assert_eq!(format!("{none:?}"), format!("{other:?}"));
    assert_eq!(none.0.buffer.units + none.0.buffer.write_misses + none.0.buffer.read_misses, 0);
}

/// A write with FUA is over with its own program, of which it is charged time and energy.
#[test]
fn fua_and_acknowledge_program_wait_for_the_program() {
    let fua = write(0, 7).with(Flags::FUA);
    for (settings, first) in
        [(buffered(&[]), fua), (buffered(&["buffer.acknowledge=program"]), write(0, 7))]
    {
        let (report, run) = record(&settings, &[], &[first, read(2_000, 7)]);
        let done = &run.requests[0];
        assert_eq!(latency(done), ACCESS_NS + 700_000);
        assert_eq!(done.parts.get(Part::Buffer), ACCESS_NS);
        assert_eq!(done.parts.get(Part::Array), 700_000);
        assert_eq!(done.energy_pj, report.energy_pj.total, "nothing else took any");
        assert_eq!(latency(&run.requests[1]), ACCESS_NS, "the line stays, clean");
        assert_eq!((report.buffer.read_hits, report.buffer.dirty_at_end), (1, 0));
    }
}

/// The program that is under way carries older contents: the unit stays dirty.
#[test]
fn a_unit_overwritten_during_its_flush_stays_dirty() {
    let requests = [
        write(0, 7).with(Flags::FUA),
        write(100, 7),
        read(200, 7),
        read(1_000, 7),
        flush(2_000),
        read(4_000, 7),
    ];
    let (report, run) = record(&buffered(&[]), &[], &requests[..4]);
    assert_eq!((programs(&run), report.buffer.dirty_at_end), (1, 1));
    let (report, run) = record(&buffered(&[]), &[], &requests);
    assert_eq!((programs(&run), report.buffer.dirty_at_end), (2, 0));
    assert_eq!(latency(&run.requests[4]), 700_000);
    assert_eq!((report.buffer.read_hits, report.buffer.read_misses), (3, 0));
    conserves(&report);
}

#[test]
fn a_trimmed_unit_is_never_programmed() {
    let trim = request(100, RequestOp::Trim, 7, 1);
    let requests = [write(0, 7), trim, flush(200), read(300, 7)];
    let (report, run) = record(&buffered(&["nand.unmapped_read=zero"]), &[], &requests);
    assert_eq!((programs(&run), report.buffer.trimmed_units), (0, 1));
    assert_eq!((report.verdict.unmapped_reads, report.buffer.read_misses), (1, 1));
    conserves(&report);
}

/// One of two lines is in flight, the other one is dirty and trimmed while a write waits.
#[test]
fn a_trim_frees_a_line_for_a_write_that_waits() {
    let keys = [
        "buffer.bytes=8192",
        "buffer.high_percent=100",
        "buffer.access_ns=0",
        "buffer.ps_per_byte=0",
    ];
    let requests = [
        write(0, 1),
        write(0, 2).with(Flags::FUA),
        write(100, 3),
        request(200, RequestOp::Trim, 1, 1),
    ];
    let (report, run) = record(&buffered(&keys), &[], &requests);
    assert_eq!((report.buffer.units, report.buffer.stalls), (2, 1));
    assert_eq!(latency(&run.requests[2]), 100_000, "long before the program is over");
}

/// A preflush waits for what was acknowledged before, not for itself.
#[test]
fn a_preflush_programs_what_was_acknowledged_before() {
    let preflush = write(10, 9).with(Flags::PREFLUSH);
    let (report, run) = record(&buffered(&[]), &[], &[write(0, 7), write(0, 8), preflush]);
    assert_eq!(run.requests[2].parts.get(Part::Flush), 1_400_000);
    assert_eq!(latency(&run.requests[2]), 1_400_000 + ACCESS_NS);
    assert_eq!((programs(&run), report.buffer.dirty_at_end), (2, 1));
}

/// What is read moves to the end of the line, unless only writes count.
#[test]
fn the_least_recently_used_unit_goes_first() {
    for (recency, first) in [("reads_and_writes", 1), ("writes", 0)] {
        let recency = format!("buffer.recency={recency}");
        let keys = ["buffer.bytes=16384", "buffer.high_percent=100", "buffer.low_percent=80"];
        let settings = buffered(&[&keys[..], &[&recency]].concat());
        let mut requests: Vec<_> = (0..3).map(|lpn| write(lpn, lpn)).collect();
        requests.extend([read(10, 0), write(20, 3), write(30, 4), read(5_000, first)]);
        let (report, run) = record(&settings, &[], &requests);
        // One of four lines was flushed, and gave way to the fifth write.
        assert_eq!(report.buffer.stalls, 1);
        assert_eq!(programs(&run), 2, "the fifth fills the buffer again");
        assert_eq!((report.buffer.read_hits, report.buffer.read_misses), (1, 1), "{recency}");
    }
}

#[test]
fn an_idle_device_flushes_if_it_shall() {
    let requests = [write(0, 1), write(0, 2), write(10_000, 3)];
    for (keys, left) in [(&["buffer.flush_when_idle=true"][..], 0), (&[][..], 3)] {
        let (report, run) = record(&buffered(keys), &[], &requests);
        assert_eq!((programs(&run) as u64, report.buffer.dirty_at_end), (3 - left, left));
    }
}

/// Sectors of a unit that are written one after the other come together in its line; what a line
/// lacks is read when it is flushed.
#[test]
fn partial_writes_merge_and_read_the_rest_at_the_flush() {
    for mode in ["read_modify_write", "bitmap"] {
        let partial = format!("ftl.partial_write={mode}");
        let full = if mode == "bitmap" { "fresh" } else { "full" };
        let settings = buffered(&[&partial, &format!("state.initial={full}")]);
        let part = |us, lpn: u64, from: u64, sectors| {
            let first_sector = 8 * lpn + from;
            write(us, lpn).over(first_sector, sectors)
        };
        let mut requests = vec![write(0, 1), write(0, 2), flush(10)];
        // The first is written piece by piece, of the second only a part. Both have lost their
        // lines to 64 others before.
        requests.extend((10..74).map(|lpn| write(10_000, lpn)));
        requests.extend([flush(20_000), part(90_000, 1, 0, 3), part(90_001, 1, 3, 5)]);
        requests.extend([part(90_002, 2, 2, 4), flush(90_003)]);
        requests.extend([read(100_000, 1), read(100_000, 2)]);
        let (report, run) = record(&settings, &[], &requests);
        let reads = run.commands.iter().filter(|command| command.command.stage == "DRo");
        assert_eq!((reads.count(), report.flash.partial_writes_read), (1, 1), "{mode}");
        let last = &run.requests[run.requests.len() - 3];
        assert_eq!(latency(last), 60_000 + 2 * 700_000, "their programs begin together");
        conserves(&report);
    }
}

/// What the initial state has written counts as written, and so does what is written behind a trim:
/// of both, a write of a part reads the rest.
#[test]
fn a_bitmap_knows_the_initial_state_and_trims() {
    let part = |us, lpn: u64| write(us, lpn).over(8 * lpn + 2, 3);
    let rests = |state: &str, requests: &[Request]| {
        let settings = buffered(&["buffer.bytes=0", "ftl.partial_write=bitmap", state]);
        let (report, _) = record(&settings, &[], requests);
        conserves(&report);
        report.flash.partial_writes_read
    };
    assert_eq!(rests("state.initial=full", &[part(0, 1)]), 1);
    assert_eq!(rests("state.initial=fresh", &[part(0, 1)]), 0);
    let trim = |us| request(us, RequestOp::Trim, 1, 1);
    let behind = [write(0, 1), trim(9_000), write(9_000, 1), part(90_000, 1)];
    assert_eq!(rests("state.initial=fresh", &behind), 1);
    let trimmed = [write(0, 1), trim(9_000), part(90_000, 1)];
    assert_eq!(rests("state.initial=fresh", &trimmed), 0);
}

/// A read behind a write of a part that waits for a line goes to flash for what that does not have.
#[test]
fn a_read_behind_a_part_that_waits_gets_the_rest_from_flash() {
    let settings = buffered(&["ftl.partial_write=read_modify_write", "state.initial=full"]);
    let mut requests: Vec<_> = (10..100).map(|lpn| write(0, lpn)).collect();
    requests.push(write(1, 1).over(8, 4));
    requests.push(request(2, RequestOp::Read, 1, 1));
    let (report, run) = record(&settings, &[], &requests);
    let reads = run.commands.iter().filter(|command| command.command.stage == "DR");
    assert_eq!((reads.count(), report.buffer.read_misses), (1, 1));
}

/// A read of sectors that a line lacks goes to flash, one of others does not.
#[test]
fn a_read_of_a_part_is_a_hit_if_the_line_has_it() {
    let keys = ["ftl.partial_write=read_modify_write", "state.initial=full"];
    let settings = buffered(&keys);
    let part = |us, op, from: u64, sectors| request(us, op, 1, 1).over(8 + from, sectors);
    let requests = [
        part(0, RequestOp::Write, 2, 4),
        part(10, RequestOp::Read, 3, 2),
        part(20, RequestOp::Read, 1, 2),
    ];
    let (report, run) = record(&settings, &[], &requests);
    assert_eq!(latency(&run.requests[1]), ACCESS_NS);
    assert_eq!(latency(&run.requests[2]), 60_000);
    assert_eq!((report.buffer.read_hits, report.buffer.read_misses), (1, 1));
}

/// Random writes without a buffer cannot fill a word line of two planes; a buffer can.
#[test]
fn program_units_are_full_behind_a_buffer() {
    for allocation in ["static", "dynamic"] {
        let allocation = format!("ftl.allocation={allocation}");
        let keys =
            [&ONE_SHOT[..], &["geometry.channels=2", "state.initial=full", &allocation]].concat();
        let run = |keys: &[&str]| {
            let settings = buffered(keys);
            let mut random = Random(3);
            let units = u64::from(settings.exported_units);
            let requests: Vec<_> = (0..20_000).map(|_| write(0, random.below(units))).collect();
            let mut bench = Bench::new(&settings);
            bench.run(vec![stream(pacing(Pacing::Closed, 4), &requests)]);
            bench.finish()
        };
        let report = run(&[&keys[..], &["buffer.bytes=4194304"]].concat());
        // Copies of garbage collection are padded, host data is not.
        let units = |report: &Report| report.flash.pages["programs"]["host"] * 4;
        assert_eq!(units(&report), report.buffer.flushed_units);
        assert!(report.gc.jobs > 50 && report.buffer.stalls > 1_000, "{report:?}");
        conserves(&report);
        let without = run(&[&keys[..], &["buffer.bytes=0"]].concat());
        assert!(units(&without) > 4 * 20_000, "{:?}", without.flash);
        let wa = |report: &Report| report.flash.write_amplification.unwrap();
        assert!(wa(&report) < wa(&without) / 3.0);
    }
}

/// A program unit has 12 units of 4 KiB. Units that a request wants on flash at once, or that no
/// buffer gathers, leave the rest of theirs empty.
#[test]
fn padding_is_told_by_what_began_the_program() {
    let fua = write(10_000, 9).with(Flags::FUA);
    for (bytes, requests, asked, host) in [
        ("1000000", vec![write(0, 0), write(0, 1), write(0, 2), flush(10)], 9, 0),
        ("1000000", vec![fua], 11, 0),
        ("0", vec![write(0, 0), fua], 0, 22),
    ] {
        let bytes = format!("buffer.bytes={bytes}");
        let settings = buffered(&[&ONE_SHOT[..], &["geometry.planes=1", &bytes]].concat());
        let (report, _) = record(&settings, &[], &requests);
        let by = &report.flash.padded_units_by;
        assert_eq!((by["asked"], by["host"]), (asked, host), "{requests:?}");
        assert_eq!(report.flash.padded_units, asked + host);
        let part = |name: &str| report.flash.write_amplification_by[name].unwrap();
        let written = report.workload.writes;
        assert!((part("host") - 1.0).abs() < 1e-12);
        assert!((part("padding") - (asked + host) as f64 / written as f64).abs() < 1e-12);
        let all = report.flash.write_amplification.unwrap();
        assert!((all - part("host") - part("padding")).abs() < 1e-12);
    }
    // Of a unit that is written in part all is programmed.
    let part = write(0, 0).over(0, 2);
    let (report, _) = record(&buffered(&["buffer.bytes=0"]), &[], &[part]);
    assert_eq!(report.flash.write_amplification_by["host"], Some(4.0));
}

/// Overwrites, trims, flushes and part writes on one-shot cells with planes, under the checker.
#[test]
fn reads_see_acknowledged_writes_on_one_shot_cells() {
    let mut stalls = 0;
    for seed in seeds(0..40) {
        let mut random = Random(seed);
        let keys = [
            format!("buffer.bytes={}", random.pick(&[4_096, 65_536, 400_000])),
            format!("buffer.acknowledge={}", random.pick(&["buffer", "buffer", "program"])),
            format!("ftl.partial_write={}", random.pick(&["ignore", "read_modify_write"])),
            format!("ftl.allocation={}", random.pick(&["static", "dynamic"])),
            format!("nand.multi_plane={}", random.pick(&["none", "any"])),
            format!("queue.data_order={}", random.pick(&["none", "lpn"])),
            format!("policy.command={}", random.pick(PolicyName::WORDS)),
            "placement.handles=2".to_string(),
            "state.initial=full".to_string(),
        ];
        let keys: Vec<_> = keys.iter().map(String::as_str).collect();
        let settings = buffered(&[&ONE_SHOT[..], &keys].concat());
        let weights = [RequestOp::Read, RequestOp::Write, RequestOp::Write, RequestOp::Write];
        let mut now = 0;
        let requests: Vec<_> = (0..1_500)
            .map(|_| {
                now += random.pick(&[0, 0, 5, 400]);
                let op = random.pick(&weights);
                let op = if random.below(25) == 0 { random.pick(&RequestOp::ALL) } else { op };
                let length = 1 + random.below(9);
                let mut request = request(now, op, random.below(300), 1);
                request.sectors = u32::try_from(length).unwrap();
                request.stream = u16::try_from(random.below(2)).unwrap();
                if op == RequestOp::Write && random.below(20) == 0 {
                    request.flags = random.pick(&[Flags::FUA, Flags::PREFLUSH]);
                }
                request
            })
            .collect();
        let (report, _) = record(&settings, &[], &requests);
        conserves(&report);
        stalls += report.buffer.stalls;
    }
    assert!(stalls > 1_000, "writes waited {stalls} times");
}

/// Dirty units outlive a phase and are saved; a buffer of another size takes what fits.
#[test]
fn dirty_units_are_saved_and_restored() {
    let settings = buffered(&["buffer.high_percent=100"]);
    let requests: Vec<_> = (0..40).map(|lpn| write(lpn, lpn)).collect();
    let mut bench = Bench::new(&settings);
    bench.run(vec![stream(pacing(Pacing::Open, 1), &requests)]);
    let bytes = saved(&bench.device);
    let rest = [read(0, 3), write(0, 3), flush(10), read(100_000, 5)];
    let go_on = |mut bench: Bench| {
        let done = bench.run(vec![stream(pacing(Pacing::Open, 1), &rest)]);
        (format!("{done:?}"), saved(&bench.device), format!("{:?}", bench.finish()))
    };
    let again = Bench::of(restored(&settings, &bytes).unwrap());
    assert_eq!(saved(&again.device), bytes);
    assert!(go_on(again) == go_on(bench), "the restored device goes on as the other did");
    let larger = buffered(&["buffer.bytes=400000"]);
    let (done, ..) = go_on(Bench::of(restored(&larger, &bytes).unwrap()));
    assert!(done.contains("order: 43"), "{done}");
    let smaller = buffered(&["buffer.bytes=159744"]);
    let error = restored(&smaller, &bytes).unwrap_err().to_string();
    assert!(error.contains("40 dirty units in its write buffer"), "{error}");
    assert!(error.contains("a write buffer of 39"), "{error}");
}

#[test]
fn buffers_that_make_no_sense_are_refused() {
    let refused = |keys: &[&str], why: &str| {
        let error = try_settings(keys).unwrap_err();
        assert!(error.contains(why), "{error}");
    };
    refused(&["map.store=resident", "buffer.bytes=4095"], "smaller than a mapping unit");
    refused(&["buffer.high_percent=20"], "buffer.low_percent: it is above");
}

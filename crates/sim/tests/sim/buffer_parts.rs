//! The parts of the buffer: ports and banks, what is evicted when, what reads and flushes leave.

use crate::common::phases::{Bench, latency, pacing, stream};
use crate::common::{
    ONE_SHOT, Random, buffered, flush, read, record, request, restored, saved, starts_pages,
    try_settings, write,
};
use flashyard_core::host::HostPolicyName;
use flashyard_core::policy::PolicyName;
use flashyard_core::request::{Flags, Request, RequestOp};
use flashyard_core::units::Time;
use flashyard_sim::config::Settings;
use flashyard_sim::device::Device;
use flashyard_sim::metrics::parts::Part;
use flashyard_sim::report::Report;
use flashyard_sim::stream::Pacing;

/// A put takes 30 us and a get 10 us, in one of two banks.
const SLOW: [&str; 3] = ["buffer.read_ns=10000", "buffer.write_ns=30000", "buffer.banks=2"];

/// Runs requests one after the other; returns their latencies in microseconds.
fn one_by_one(settings: &Settings, requests: &[Request]) -> (Vec<u64>, Report) {
    let mut bench = Bench::new(settings);
    let done = bench.run(vec![stream(pacing(Pacing::Closed, 1), requests)]);
    (done.iter().map(|done| latency(done) / 1_000).collect(), bench.finish())
}

#[track_caller]
fn conserves(report: &Report, before: u64) {
    let buffer = &report.buffer;
    let gone = buffer.flushed_units + buffer.trimmed_units + buffer.dirty_at_end;
    assert_eq!(buffer.dirtied_units + before, gone, "{buffer:?}");
}

/// Units 0 and 1 are in banks 0 and 1; unit 2 is put into bank 0 from 100 us to 130 us.
#[test]
fn a_get_is_hidden_beside_a_put_in_another_bank() {
    for (ports, lpn, at, us, hidden) in [
        ("read_and_write", 1, 105, 10, 10_000),
        ("read_and_write", 0, 105, 25 + 10, 0),
        // The put begins at 100 us: half of the get is over.
        ("read_and_write", 1, 95, 10, 5_000),
        // The put waits for the bank.
        ("read_and_write", 0, 95, 10, 0),
        ("shared", 1, 105, 25 + 10, 0),
    ] {
        let ports = format!("buffer.ports={ports}");
        let settings = buffered(&[&SLOW[..], &[&ports]].concat());
        let mut requests = vec![write(0, 0), write(0, 1), write(100, 2), read(at, lpn)];
        requests.sort_by_key(|request| request.arrival);
        let (report, run) = record(&settings, &[], &requests);
        let read = run.requests.iter().find(|done| done.request.op == RequestOp::Read).unwrap();
        assert_eq!(latency(read), us * 1_000, "{ports}, unit {lpn} at {at}");
        assert_eq!(read.parts.get(Part::Buffer), latency(read));
        let buffer = &report.buffer;
        assert_eq!((buffer.get_ns, buffer.put_ns, buffer.flush_get_ns), (10_000, 90_000, 0));
        assert_eq!(buffer.hidden_read_ns, hidden, "{ports}, unit {lpn} at {at}");
        assert_eq!(buffer.hidden_read_ratio, Some(hidden as f64 / 10_000.0));
        assert_eq!((buffer.hit_ratio_read, buffer.hit_ratio_write), (Some(1.0), Some(0.0)));
        let late = run.requests.iter().find(|done| done.request.first_sector == 16).unwrap();
        let waits = if at < 100 && lpn == 0 { 5_000 } else { 0 };
        assert_eq!(latency(late), 30_000 + waits);
    }
}

/// The gets of two flushes pass one after the other, the second beside the first program; of a
/// program unit, all before its one program.
#[test]
fn flushes_get_their_units_first_if_they_shall() {
    let keys = [&SLOW[..], &["buffer.flush_reads=true"]].concat();
    let requests = [write(0, 0), write(0, 1), write(0, 2), flush(1_000)];
    let (report, run) = record(&buffered(&keys), &[], &requests);
    assert_eq!(latency(&run.requests[3]), 10_000 + 3 * 700_000);
    assert_eq!((report.buffer.flush_get_ns, report.buffer.get_ns), (30_000, 0));
    assert_eq!(report.buffer.hidden_read_ratio, Some(0.0));
    let (report, run) = record(&buffered(&[&ONE_SHOT[..], &keys].concat()), &[], &requests);
    assert_eq!(latency(&run.requests[3]), 3 * 10_000 + 700_000);
    assert_eq!(report.flash.array_ops["programs"]["host"], 1, "they fill one program unit");
    assert_eq!(run.requests[3].parts.get(Part::Flush), 730_000);
}

/// A flush reads beside the put of another write, in another bank.
#[test]
fn the_get_of_a_flush_is_hidden_too() {
    let keys =
        ["buffer.flush_reads=true", "buffer.ports=read_and_write", "buffer.eviction=at_once"];
    let settings = buffered(&[&SLOW[..], &keys].concat());
    // Unit 0 is put until 30 us and got until 40 us, beside unit 1; that one is got alone.
    let (report, run) = record(&settings, &[], &[write(0, 0), write(0, 1)]);
    assert_eq!(report.buffer.hidden_read_ns, 10_000);
    assert_eq!(report.buffer.hidden_read_ratio, Some(0.5));
    let starts: Vec<_> = run.commands.iter().map(|command| command.start.as_ns()).collect();
    assert_eq!(starts, [40_000, 740_000]);
}

/// The program of a unit is queued before whatever the answer to its write lets start.
#[test]
fn a_flush_at_once_goes_before_what_comes_behind_the_answer() {
    let requests = [write(0, 5), read(0, 9)];
    for (eviction, us) in [("at_once", 700 + 60), ("watermark", 60)] {
        let eviction = format!("buffer.eviction={eviction}");
        let settings = buffered(&[&SLOW[..], &[&eviction]].concat());
        assert_eq!(one_by_one(&settings, &requests).0, [30, us], "{eviction}");
    }
}

/// Four lines: a fifth and sixth write wait for the programs of the first two units, which begin
/// when they come; at once if two dies may program.
#[test]
fn a_full_buffer_flushes_for_each_write_that_waits() {
    for (keys, last) in [
        (&["geometry.ways=1"][..], 1_400),
        (&["geometry.ways=2"], 700),
        (&["geometry.ways=2", "buffer.flush_width=1"], 1_400),
    ] {
        let full = ["buffer.bytes=16384", "buffer.eviction=full"];
        let settings = buffered(&[&full[..], keys].concat());
        let mut requests: Vec<_> = (0..4).map(|lpn| write(0, lpn)).collect();
        let (report, run) = record(&settings, &[], &requests);
        assert_eq!((run.commands.len(), report.buffer.dirty_at_end), (0, 4));
        requests.extend([write(100, 4), write(100, 5)]);
        let (report, run) = record(&settings, &[], &requests);
        assert_eq!(latency(&run.requests[4]), 700_000);
        assert_eq!(latency(&run.requests[5]), last * 1_000, "{keys:?}");
        assert_eq!((report.buffer.flushed_units, report.buffer.dirty_at_end), (2, 4));
        assert_eq!(report.buffer.stalls, 2);
    }
}

/// One write at a time, 30 us each, on four lines. The others wait in the host queue.
#[test]
fn a_flush_ahead_begins_when_queued_writes_will_need_more_lines_than_come() {
    let first_program = |eviction: &str, units: &[u64]| {
        let eviction = format!("buffer.eviction={eviction}");
        let keys = ["buffer.bytes=16384", "queue.depth=1", &eviction];
        let requests: Vec<_> = units.iter().map(|unit| write(0, *unit)).collect();
        let (_, run) = record(&buffered(&[&SLOW[..], &keys].concat()), &[], &requests);
        run.commands.iter().map(|command| command.start.as_ns() / 1_000).min()
    };
    // When the first is over six wait, and two lines are free.
    assert_eq!(first_program("ahead", &[0, 1, 2, 3, 4, 5, 6, 7]), Some(30));
    assert_eq!(first_program("full", &[0, 1, 2, 3, 4, 5, 6, 7]), Some(120));
    assert_eq!(first_program("ahead", &[0, 1, 2, 3]), None, "they fit");
    assert_eq!(first_program("ahead", &[0, 1, 0, 1, 2, 2, 3, 3, 0]), None, "four units");
}

#[test]
fn an_idle_device_flushes_after_a_while() {
    let settings = buffered(&["buffer.flush_when_idle=true", "buffer.idle_ms=5"]);
    let (report, run) = record(&settings, &[], &[write(0, 1), write(3_000, 2), write(20_000, 3)]);
    let starts: Vec<_> = run.commands.iter().map(|done| done.start.as_ns() / 1_000).collect();
    assert_eq!(starts, [8_000, 8_700, 25_000]);
    assert_eq!(report.buffer.dirty_at_end, 0);
}

/// Which of four units outlive three more, when the second and the first were used again.
#[test]
fn replacement_says_which_lines_go_first() {
    for (replacement, left) in [("lru", 0), ("clock", 1), ("fifo", 3)] {
        let replacement = format!("buffer.replacement={replacement}");
        let settings = buffered(&["buffer.bytes=16384", "buffer.eviction=full", &replacement]);
        let mut requests: Vec<_> = (0..4).map(|lpn| write(0, lpn)).collect();
        requests.extend([read(0, 1), write(0, 0)]);
        requests.extend((4..7).map(|lpn| write(0, lpn)));
        for lpn in 0..4 {
            requests.push(read(0, lpn));
            let latencies = one_by_one(&settings, &requests).0;
            let expected = if lpn == left { 0 } else { 60 };
            assert_eq!(*latencies.last().unwrap(), expected, "{replacement}: unit {lpn}");
            requests.pop();
        }
    }
}

/// What a read finds stays, unless it was written or trimmed meanwhile, or dirty units fill the
/// buffer.
#[test]
fn reads_leave_their_units_if_they_shall() {
    let run = |allocate: &str, requests: &[Request]| {
        let allocate = format!("buffer.read_allocate={allocate}");
        let keys = ["state.initial=full", "buffer.bytes=8192", "buffer.high_percent=100"];
        record(&buffered(&[&keys[..], &[&allocate]].concat()), &[], requests)
    };
    for (allocate, kept, us) in [("clean", 1, 0), ("displace", 1, 0), ("never", 0, 60)] {
        let (report, run) = run(allocate, &[read(0, 7), read(1_000, 7)]);
        assert_eq!(latency(&run.requests[1]), us * 1_000);
        assert_eq!(report.buffer.allocated_units, kept);
        assert_eq!(report.buffer.read_hits, kept);
    }
    let trim = request(30, RequestOp::Trim, 7, 1);
    for other in [write(30, 7), trim] {
        let (report, _) = run("clean", &[read(0, 7), other, read(1_000, 7)]);
        assert_eq!(report.buffer.allocated_units, 0, "{other:?}");
    }
    // The one clean line of three reads is the last.
    let requests =
        [write(0, 1), read(10, 2), read(200, 3), read(400, 2), read(600, 2), write(900, 9)];
    let (report, run) = run("clean", &requests);
    assert_eq!((report.buffer.allocated_units, report.buffer.read_hits), (3, 1));
    assert_eq!((latency(&run.requests[3]), latency(&run.requests[4])), (60_000, 0));
    assert_eq!(latency(&run.requests[5]), 0, "a clean unit makes way");
    let (report, _) = run_full(&["buffer.read_allocate=clean"]);
    assert_eq!(report.buffer.allocated_units, 0, "dirty units do not make way");
}

/// A buffer of two lines that two writes have filled, and a read.
fn run_full(keys: &[&str]) -> (Report, u64) {
    let base = ["state.initial=full", "buffer.bytes=8192", "buffer.eviction=full"];
    let settings = buffered(&[&base[..], keys].concat());
    let (report, run) = record(&settings, &[], &[write(0, 1), write(0, 2), read(10, 3)]);
    (report, latency(&run.requests[2]))
}

#[test]
fn a_flushed_line_is_clean_or_free() {
    for (after, us) in [("clean", 0), ("free", 60)] {
        let after = format!("buffer.after_flush={after}");
        let settings = buffered(&[&after]);
        let (_, run) = record(&settings, &[], &[write(0, 7), flush(10), read(1_000, 7)]);
        assert_eq!(latency(&run.requests[2]), us * 1_000, "{after}");
    }
}

/// The last units of the device, the first of them in the first line.
#[test]
fn a_buffer_that_begins_dirty_flushes_before_it_takes_more() {
    let keys = ["buffer.bytes=16384", "buffer.eviction=full", "buffer.initial=dirty"];
    let settings = buffered(&keys);
    let last = u64::from(settings.exported_units) - 1;
    let requests =
        [read(0, last), read(0, last - 3), write(0, 0), read(0, last - 3), read(0, last)];
    let (latencies, report) = one_by_one(&settings, &requests);
    assert_eq!(latencies, [0, 0, 700, 0, 0], "the second line went first");
    assert_eq!((report.buffer.flushed_units, report.buffer.dirty_at_end), (1, 4));
    conserves(&report, 4);
}

#[test]
fn units_that_are_preloaded_are_in_their_banks() {
    for (bank, us) in [(Some(1), 10), (None, 40)] {
        let keys = ["buffer.bytes=12288", "buffer.ports=read_and_write"];
        let settings = buffered(&[&SLOW[..], &keys].concat());
        let mut bench = Bench::new(&settings);
        bench.device.preload_buffer(&[(3, bank, true), (4, None, false)]).unwrap();
        // Unit 9 is put into the third line, in bank 0.
        let requests = [write(0, 9), read(0, 3), read(1_000, 4), flush(2_000)];
        let done = bench.run(vec![stream(pacing(Pacing::Open, 1), &requests)]);
        assert_eq!(latency(&done[1]), us * 1_000, "{bank:?}");
        assert_eq!(latency(&done[2]), 10_000);
        let report = bench.finish();
        assert_eq!((report.buffer.read_hits, report.buffer.flushed_units), (2, 2));
        conserves(&report, 1);
    }
}

#[test]
fn wrong_initial_units_are_refused() {
    let refused = |keys: &[&str], units: &[(u64, Option<u32>, bool)], why: &str| {
        let mut device = Device::new(&buffered(keys));
        let error = device.preload_buffer(units).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    };
    refused(&["buffer.bytes=0"], &[(1, None, true)], "no write buffer; set buffer.bytes");
    let two: &[&str] = &["buffer.bytes=8192", "buffer.banks=4"];
    refused(two, &[(1, None, true), (2, None, true), (3, None, true)], "more than the 2 free");
    refused(two, &[(1, None, true), (1, None, true)], "unit 1 is in the write buffer already");
    refused(two, &[(1, Some(4), true)], "bank 4 of 4 (buffer.banks)");
    refused(two, &[(1 << 40, None, true)], "initial unit 1099511627776: the last one is");
    let error = try_settings(&["map.store=resident", "buffer.idle_ms=5"]).unwrap_err();
    assert!(error.contains("buffer.flush_when_idle = true"), "{error}");
}

/// Whatever is asked of it, as long as there is room: nothing comes to flash before a flush.
#[test]
fn an_endless_buffer_writes_nothing_before_a_flush() {
    for eviction in ["watermark", "full", "ahead"] {
        let eviction = format!("buffer.eviction={eviction}");
        let keys = ["buffer.bytes=1000000000000", "buffer.high_percent=100", &eviction];
        let settings = buffered(&[&SLOW[..], &keys].concat());
        let mut random = Random(1);
        let mut requests: Vec<_> = (0..1_000).map(|at| write(at, random.below(400))).collect();
        requests.push(flush(1_000_000));
        let (report, run) = record(&settings, &[], &requests);
        let starts = run.commands.iter().map(|command| command.start);
        assert_eq!(starts.min(), Some(Time::from_us(1_000_000)), "{eviction}");
        assert_eq!(report.buffer.flushed_units, report.buffer.write_misses);
    }
}

/// A write of more units than there are lines, with and without FUA, in tiny buffers.
#[test]
fn a_write_larger_than_the_buffer_takes_lines_as_they_get_free() {
    for eviction in ["watermark", "full", "ahead", "at_once"] {
        for bytes in [4_096, 8_192, 20_480] {
            for flags in [Flags::NONE, Flags::FUA, Flags::PREFLUSH] {
                let keys = [
                    format!("buffer.eviction={eviction}"),
                    format!("buffer.bytes={bytes}"),
                    "buffer.banks=9".to_string(),
                    "buffer.flush_reads=true".to_string(),
                    "buffer.flush_width=1".to_string(),
                    "buffer.after_flush=free".to_string(),
                ];
                let keys: Vec<_> = keys.iter().map(String::as_str).collect();
                let large = request(0, RequestOp::Write, 3, 40).with(flags);
                let trim = request(5, RequestOp::Trim, 0, 99);
                let (report, _) =
                    record(&buffered(&keys), &[], &[write(0, 2), large, large, trim, flush(6)]);
                assert_eq!(report.buffer.dirty_at_end, 0);
                conserves(&report, 0);
            }
        }
    }
}

/// Overwrites, trims, flushes and part writes, under the checker, for every eviction, replacement
/// and kind of ports.
#[test]
fn what_becomes_dirty_is_flushed_or_trimmed_or_still_dirty() {
    let (mut seed, mut stalls, mut allocated, mut hidden) = (0, 0, 0, 0);
    for eviction in ["watermark", "full", "ahead", "at_once"] {
        for replacement in ["lru", "fifo", "clock"] {
            for ports in ["shared", "read_and_write"] {
                for _ in 0..3 {
                    seed += 1;
                    let report = random_run(seed, eviction, replacement, ports);
                    stalls += report.buffer.stalls;
                    allocated += report.buffer.allocated_units;
                    hidden += report.buffer.hidden_read_ns;
                }
            }
        }
    }
    assert!(stalls > 1_000 && allocated > 1_000 && hidden > 0, "{stalls} {allocated} {hidden}");
}

fn random_run(seed: u64, eviction: &str, replacement: &str, ports: &str) -> Report {
    let mut random = Random(seed);
    let idle = random.pick(&[None, Some(0), Some(3)]);
    // Policies that start pages flush the buffer themselves.
    let by_itself = idle.is_some() || !["watermark", "full"].contains(&eviction);
    let policies = HostPolicyName::WORDS.iter().copied();
    let policies: Vec<_> = policies.filter(|name| !by_itself || !starts_pages(name)).collect();
    let keys = [
        format!("buffer.eviction={eviction}"),
        format!("buffer.replacement={replacement}"),
        format!("buffer.ports={ports}"),
        format!("buffer.bytes={}", random.pick(&[4_096, 8_192, 65_536, 400_000])),
        format!("buffer.banks={}", random.pick(&[1, 3, 200])),
        format!("buffer.read_ns={}", random.pick(&[0, 10_000])),
        format!("buffer.write_ns={}", random.pick(&[0, 30_000])),
        format!("buffer.access_ns={}", random.pick(&[0, 41])),
        format!("buffer.flush_reads={}", random.pick(&[true, false])),
        format!("buffer.flush_width={}", random.pick(&[0, 1, 3])),
        format!("buffer.after_flush={}", random.pick(&["clean", "free"])),
        format!("buffer.read_allocate={}", random.pick(&["never", "clean", "displace"])),
        format!("buffer.flush_when_idle={}", idle.is_some()),
        format!("buffer.idle_ms={}", idle.unwrap_or(0)),
        format!("buffer.initial={}", random.pick(&["empty", "dirty"])),
        format!("buffer.acknowledge={}", random.pick(&["buffer", "buffer", "program"])),
        format!("buffer.recency={}", random.pick(&["writes", "reads_and_writes"])),
        format!("ftl.partial_write={}", random.pick(&["ignore", "read_modify_write"])),
        format!("ftl.allocation={}", random.pick(&["static", "dynamic"])),
        format!("queue.data_order={}", random.pick(&["none", "lpn"])),
        format!("queue.depth={}", random.pick(&[2, 256])),
        format!("map.store={}", random.pick(&["resident", "resident", "line_cache", "cmt"])),
        format!("policy.command={}", random.pick(PolicyName::WORDS)),
        format!("host.policy={}", random.pick(&policies)),
        "placement.handles=2".to_string(),
        "state.initial=full".to_string(),
    ];
    let mut keys: Vec<_> = keys.iter().map(String::as_str).collect();
    keys.extend(if random.below(2) == 0 { &ONE_SHOT[..] } else { &["geometry.ways=2"] });
    let settings = buffered(&keys);
    let mut now = 0;
    let requests: Vec<_> = (0..700)
        .map(|_| {
            now += random.pick(&[0, 0, 5, 400, 9_000]);
            let weights = [RequestOp::Read, RequestOp::Write, RequestOp::Write];
            let op = random.pick(&weights);
            let op = if random.below(25) == 0 { random.pick(&RequestOp::ALL) } else { op };
            let mut request = request(now, op, random.below(300), 1);
            request.sectors = u32::try_from(1 + random.below(24)).unwrap();
            request.stream = u16::try_from(random.below(2)).unwrap();
            if op == RequestOp::Write && random.below(20) == 0 {
                request.flags = random.pick(&[Flags::FUA, Flags::PREFLUSH]);
            }
            request
        })
        .collect();
    let (report, _) = record(&settings, &[], &requests);
    let dirty = if keys.contains(&"buffer.initial=dirty") { report.buffer.units } else { 0 };
    conserves(&report, dirty);
    report
}

/// A restored device has each unit in its old line, and every hand where it was.
#[test]
fn banks_and_marks_are_saved_and_restored() {
    let keys = ["buffer.replacement=clock", "buffer.ports=read_and_write", "buffer.banks=3"];
    let more = ["buffer.bytes=40960", "buffer.eviction=full", "buffer.read_allocate=clean"];
    let settings = buffered(&[&SLOW[..2], &keys, &more, &["state.initial=full"]].concat());
    let mut random = Random(3);
    let mut requests = |count: u64| -> Vec<_> {
        let op = [RequestOp::Read, RequestOp::Write, RequestOp::Trim];
        (0..count).map(|at| request(at * 90, random.pick(&op), random.below(40), 2)).collect()
    };
    let mut bench = Bench::new(&settings);
    bench.device.preload_buffer(&[(1, Some(2), true), (2, Some(2), false)]).unwrap();
    bench.run(vec![stream(pacing(Pacing::Open, 1), &requests(300))]);
    let bytes = saved(&bench.device);
    let again = Bench::of(restored(&settings, &bytes).unwrap());
    assert!(saved(&again.device) == bytes, "what is restored is what was saved");
    let rest = requests(300);
    let go_on = |mut bench: Bench| {
        let done = bench.run(vec![stream(pacing(Pacing::Open, 1), &rest)]);
        (format!("{done:?}"), saved(&bench.device))
    };
    assert!(go_on(again) == go_on(bench), "the restored device goes on as the other did");
}

/// Far less than a microwatt is power too: 4096 B of 100 uW a MiB are 390.625 nW, exactly, in the
/// run and in its bins.
#[test]
fn the_standby_energy_of_a_line_is_exact() {
    let keys = ["buffer.bytes=4096", "energy.buffer_standby_uw_per_mib=100", "metrics.bin_ms=7"];
    let settings = buffered(&keys);
    let (report, _) = record(&settings, &[], &[write(0, 1), write(999_300, 2)]);
    assert_eq!(report.power.span_ns, 1_000_000_000);
    assert_eq!(report.energy_pj.by_resource["buffer_standby"], 390_625);
    let bins: u64 = report.series.unwrap().bins.iter().map(|bin| bin.energy_pj).sum();
    assert_eq!(bins, report.energy_pj.total);
}

/// The same MiB of DRAM and of PRAM through the same run.
#[test]
fn the_standby_energy_of_memories_compares() {
    let standby = |memory: &str| {
        let memory = format!("energy.buffer_memory={memory}");
        let settings = buffered(&["buffer.bytes=1048576", "energy.dram=sdram", &memory]);
        let (report, _) =
            record(&settings, &[], &[write(0, 1), write(1_000_000, 2), flush(2_000_000)]);
        assert_eq!(report.power.span_ns, 2_001_400_000);
        (report.energy_pj.by_resource["buffer_standby"], report.energy_pj.total)
    };
    let (dram, pram) = (standby("dram"), standby("pram"));
    assert_eq!((dram.0, pram.0, standby("none").0), (196_137_200, 30_021_000, 0));
    // Two puts and two gets of 4 KiB each.
    let accesses = |get: u64, put: u64| 2 * 4_096 * (get + put) / 1_000;
    let others = |(own, total): (u64, u64), accesses: u64| total - own - accesses;
    let (get, put) = (27_200, 142_720);
    let pram = others(pram, accesses(get, put));
    assert!(others(dram, accesses(16_800, 11_280)).abs_diff(pram) <= 4, "all else is the same");
}

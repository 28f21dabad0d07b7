//! Reading ahead: closed forms of what it takes away from latencies, which reads find their units,
//! and random devices that read ahead, under the checker of data.

use crate::common::phases::{Bench, latency, named, pacing};
use crate::common::{
    ONE_SHOT, Random, buffered, read, record, request, restored, saved, seeds, try_record,
    try_settings, write,
};
use crate::generators::devices::{Family, case, with_parts};
use flashyard_core::request::{Request, RequestOp};
use flashyard_core::units::{Span, Time};
use flashyard_sim::config::{MapStore, Settings};
use flashyard_sim::device::{Device, SimError};
use flashyard_sim::drive::Drive;
use flashyard_sim::observe::RequestDone;
use flashyard_sim::report::{ReadAheadReport, Report};
use flashyard_sim::session::{Session, Stop};
use flashyard_sim::stream::{Pacing, StreamKeys};

/// tR; what a read takes in firmware, and in the buffer. Units take no time on its port, so that
/// those that come do not stand in the way of those that are read.
const R: u64 = 60_000;
const FIRMWARE: u64 = 20_000;
const BUFFER: u64 = 361;

/// Four full dies of pages of 4 KiB that read in 60 us, behind a window of 16 units, of which 8 may
/// be left.
fn ahead(keys: &[&str]) -> Settings {
    let base = [
        "state.initial=full",
        "geometry.ways=4",
        "nand.read_us=60",
        "firmware.cores=1",
        "firmware.read_ns=20000",
        "buffer.access_ns=361",
        "buffer.read_ahead_kib=64",
        "buffer.read_ahead_low_percent=50",
    ];
    buffered(&[&base, keys].concat())
}

/// What became of these requests in a closed loop, and the report.
fn closed(settings: &Settings, depth: u64, requests: &[Request]) -> (Vec<RequestDone>, Report) {
    let mut bench = Bench::new(settings);
    let done = bench.run(vec![named("reads", pacing(Pacing::Closed, depth), requests)]);
    (done, bench.finish())
}

fn of(report: &Report) -> &ReadAheadReport {
    report.buffer.read_ahead.as_ref().expect("it reads ahead")
}

/// Reads of one page after the other.
fn in_order(first: u64, count: u64) -> Vec<Request> {
    (first..first + count).map(|lpn| read(0, lpn)).collect()
}

/// While the host reads a unit in F + B, the dies read 4 in tR. So once the window is there, each
/// read takes F + B and no time of a die; all reads but the two that make the run find their unit.
#[test]
fn reads_in_order_take_no_time_of_dies_where_these_are_faster_than_the_host() {
    const { assert!(R / 4 < FIRMWARE + BUFFER) };
    let (done, report) = closed(&ahead(&[]), 1, &in_order(5, 400));
    assert_eq!(latency(&done[0]), FIRMWARE + R);
    assert_eq!(latency(&done[1]), FIRMWARE + R);
    for read in &done[16..] {
        assert_eq!(latency(read), FIRMWARE + BUFFER, "read {}", read.order);
    }
    let report = of(&report);
    assert_eq!(report.hits, 400 - 2);
    assert_eq!(report.units - report.unread_units, 400 - 2);
    assert!(report.unread_units <= 16, "no more than a window: {report:?}");
}

/// Where the dies are slower than the host, reads go at their rate: 4 units in tR.
#[test]
fn reads_in_order_go_at_the_rate_of_the_dies_where_these_are_slower() {
    for depth in [1, 2, 8] {
        let (done, _) = closed(&ahead(&["firmware.read_ns=1000"]), depth, &in_order(0, 1000));
        let span = done[999].completion.since(done[199].completion).as_ns();
        let rate = 800 * R / 4;
        // At the ends a part of a window may be there already.
        assert!(span.abs_diff(rate) <= 16 * R / 4, "depth {depth}: {span}, not {rate}");
    }
}

/// A page of four units is read once for all of them, and pages of all planes together.
#[test]
fn pages_are_read_whole() {
    let keys = [&ONE_SHOT[..], &["nand.multi_plane=any", "buffer.bytes=1048576"]].concat();
    let (_, report) = closed(&ahead(&keys), 1, &in_order(0, 400));
    let (units, pages) = (of(&report).units, report.flash.pages["reads"]["read_ahead"]);
    assert!(4 * pages <= units + 3 * 4, "{units} units of {pages} pages");
}

/// Two runs take turns where one is read ahead of, in units of a quarter of a page. Without a rest
/// each read takes tR. With one of two units every other read does, and brings the unit behind it
/// along: the next read finds it. Both are one operation of the die.
#[test]
fn the_rest_of_a_block_comes_with_a_read_of_too_many_runs() {
    let reads: Vec<_> = (20..60).flat_map(|at| [read(0, at), read(0, 400 + at)]).collect();
    let crowded = ["buffer.read_ahead_at_once=1", "buffer.bytes=1048576", "firmware.read_ns=0"];
    let run = |rest: &str| {
        let keys = [&ONE_SHOT[..], &crowded, &[rest, "firmware.unit_ns=0"]].concat();
        let (done, report) = closed(&ahead(&keys), 1, &reads);
        let times: Vec<_> = done.iter().skip(8).map(latency).collect();
        let pages = &report.flash.pages["reads"];
        (times, pages.values().sum::<u64>(), of(&report).units)
    };
    let (times, pages, units) = run("buffer.read_ahead_rest_kib=0");
    // What the first run was read ahead before the second one was a run.
    let found = times.iter().filter(|time| **time == BUFFER).count() as u64;
    assert!(found <= units && times.iter().all(|time| [R, BUFFER].contains(time)), "{times:?}");
    let (halves, fewer, more) = run("buffer.read_ahead_rest_kib=8");
    let alone = halves.iter().filter(|time| **time == R).count() as u64;
    assert_eq!(alone, (times.len() as u64 - found) / 2, "{halves:?}");
    assert!(halves.iter().all(|time| [R, BUFFER].contains(time)), "{halves:?}");
    assert_eq!(pages - fewer, more - units, "a unit more, a page less");
}

/// Reads that do not follow one another are what they are without it, and nothing is read ahead.
#[test]
fn reads_at_random_do_not_change() {
    let mut random = Random(1);
    let reads: Vec<_> = (0..500).map(|_| read(0, 2 * random.below(900))).collect();
    for depth in [1, 8] {
        let (with, report) = closed(&ahead(&[]), depth, &reads);
        let (without, _) = closed(&ahead(&["buffer.read_ahead_kib=0"]), depth, &reads);
        let times = |done: &[RequestDone]| done.iter().map(latency).collect::<Vec<_>>();
        assert_eq!(times(&with), times(&without));
        assert_eq!((of(&report).units, of(&report).hits), (0, 0));
    }
}

/// Of runs that take turns, each has `read_ahead_after` reads that find nothing; of one run more
/// than are followed, none ever finds anything.
#[test]
fn as_many_runs_are_followed_as_the_key_says() {
    let turns = |runs: u64| -> Vec<_> {
        (0..50).flat_map(|at| (0..runs).map(move |run| read(0, 400 * run + at))).collect()
    };
    for (runs, after) in [(1, 2), (2, 3), (4, 2)] {
        let followed = format!("buffer.read_ahead_runs={runs}");
        let after_key = format!("buffer.read_ahead_after={after}");
        let room = ["geometry.blocks_per_plane=128", "buffer.bytes=1048576"];
        let settings = ahead(&[&room[..], &[&followed, &after_key]].concat());
        let (_, report) = closed(&settings, 1, &turns(runs));
        assert_eq!(of(&report).hits, runs * (50 - after), "{runs} runs");
        let (_, report) = closed(&settings, 1, &turns(runs + 1));
        assert_eq!((of(&report).hits, of(&report).units), (0, 0), "{runs} runs and one");
    }
}

/// What is written or trimmed while it is being read ahead is never read from there: the checker
/// would find the old version. The units count as not read.
#[test]
fn a_unit_that_changes_while_it_is_read_ahead_is_dropped() {
    for change in [write(200, 4), request(200, RequestOp::Trim, 4, 1)] {
        let (mut requests, late) = (vec![read(0, 0), read(100, 1)], read(100_000, 4));
        requests.extend([change, read(205, 4), late]);
        let settings = ahead(&["nand.read_us=300", "firmware.read_ns=0"]);
        let (report, _) = record(&settings, &[], &requests);
        let ahead = of(&report);
        assert_eq!((ahead.units, ahead.unread_units, ahead.hits), (16, 16, 0), "{change:?}");
    }
}

/// A read whose unit is being read ahead waits for it: what is left of tR. All of that is a wait
/// for other work.
#[test]
fn a_read_waits_for_a_unit_that_is_being_read_ahead() {
    use flashyard_sim::metrics::parts::Part;
    let settings = ahead(&["firmware.read_ns=0"]);
    // Unit 2 is read ahead from 100 us on, by a die of its own.
    let (report, run) = record(&settings, &[], &[read(0, 0), read(100, 1), read(130, 2)]);
    assert_eq!(latency(&run.requests[2]), 100_000 + R - 130_000 + BUFFER);
    assert_eq!(run.requests[2].parts.get(Part::Delaying), 100_000 + R - 130_000);
    assert_eq!(run.requests[2].parts.get(Part::Buffer), BUFFER);
    assert_eq!((of(&report).hits, of(&report).waits), (1, 1));
}

/// Energy: reading ahead is work of no request, has a purpose of its own, and what is not read is
/// the share of units that were not.
#[test]
fn energy_of_reading_ahead_is_that_of_no_request() {
    let settings = ahead(&["energy.read_pj=1000000"]);
    let (_, report) = closed(&settings, 1, &in_order(0, 100));
    let ahead = of(&report);
    assert_eq!(report.energy_pj.by_purpose["read_ahead"], 1_000_000 * ahead.units);
    assert_eq!(report.energy_pj.by_purpose["host"], 2 * 1_000_000, "the first two reads");
    assert_eq!(ahead.unread_pj, 1_000_000 * ahead.unread_units);
}

/// Each unit that is read ahead is put into the buffer, each read that finds it there gets it, and
/// the place of each unit that flash reads is looked up.
#[test]
fn units_that_are_read_ahead_take_the_energy_of_their_puts() {
    let of_bytes = ["energy.buffer_read_fj_per_byte=1000", "energy.buffer_write_fj_per_byte=3000"];
    let (_, report) = closed(&ahead(&of_bytes), 1, &in_order(0, 100));
    let units = of(&report).units;
    assert_eq!(report.energy_pj.by_resource["buffer"], 4_096 * (98 + 3 * units));
    assert_eq!(report.memory.table_accesses, 2 + units);
}

/// Dirty units are not displaced: where all lines are dirty, nothing is read ahead.
#[test]
fn dirty_units_keep_their_lines() {
    let keys = ["buffer.bytes=65536", "buffer.initial=dirty", "buffer.eviction=full"];
    let (_, report) = closed(&ahead(&keys), 1, &in_order(0, 100));
    assert_eq!((of(&report).units, report.buffer.dirty_at_end), (0, 16));
}

/// A device that cannot read ahead says why.
#[test]
fn devices_that_cannot_read_ahead_are_refused_by_name() {
    for (keys, why) in [
        (&["map.store=resident"][..], "takes lines of the write buffer"),
        (&["map.store=resident", "buffer.bytes=32768"], "buffer.bytes of at least 65536"),
        (&["map.store=line_cache", "buffer.bytes=262144"], "set map.store = \"resident\""),
    ] {
        let keys = [keys, &["buffer.read_ahead_kib=64"]].concat();
        let error = try_settings(&keys).unwrap_err();
        assert!(error.contains("buffer.read_ahead_kib") && error.contains(why), "{error}");
    }
}

/// Requests of a random device, some of them as long runs of reads, one of another device's units
/// among them, that changes meet.
fn with_runs(random: &mut Random, settings: &Settings, requests: &[Request]) -> Vec<Request> {
    let units = settings.capacity_sectors() / u64::from(settings.geometry.unit_sectors());
    let sectors = u64::from(settings.geometry.unit_sectors());
    let mut mixed = Vec::new();
    let mut runs = [0; 3].map(|_| random.below(units));
    for request in requests {
        mixed.push(*request);
        for _ in 0..random.below(6) {
            let run = &mut runs[usize::try_from(random.below(3)).unwrap()];
            let op = match random.below(24) {
                0 => RequestOp::Write,
                1 => RequestOp::Trim,
                _ => RequestOp::Read,
            };
            let length = 1 + random.below(3);
            let at = if op == RequestOp::Read { *run } else { *run + random.below(5) };
            if at + length > units {
                *run = random.below(units);
                continue;
            }
            let half = sectors > 1 && random.below(4) == 0;
            let count = if half { sectors / 2 } else { length * sectors };
            let count = u32::try_from(count).unwrap();
            mixed.push(Request::new(op, at * sectors, count).at(request.arrival));
            if op == RequestOp::Read && !half {
                *run += length;
            }
            if random.below(40) == 0 {
                *run = random.below(units);
            }
        }
    }
    mixed
}

/// A random device of a family, made to read ahead; none where it cannot.
fn random_case(family: Family, seed: u64) -> Option<(Settings, Vec<Request>)> {
    let mut random = Random(seed ^ 0xA4EAD);
    let (settings, requests) = case(family, seed);
    let mut keys = settings.keys;
    keys.map.store = MapStore::Resident;
    keys.buffer.bytes = keys.buffer.bytes.max(random.pick(&[65_536, 262_144]));
    keys.buffer.read_ahead_kib = random.pick(&[4, 16, 64]);
    keys.buffer.read_ahead_runs = random.pick(&[1, 2, 32]);
    keys.buffer.read_ahead_after = random.pick(&[1, 2, 2, 3]);
    keys.buffer.read_ahead_at_once = random.pick(&[0, 0, 1]);
    keys.buffer.read_ahead_rest_kib = random.pick(&[0, 8, 64]);
    if keys.is_page_map() {
        keys.ftl.stripe_pages = random.pick(&[1, 1, 3, 8]);
    }
    keys.queue.die_depth = 0;
    let mut settings = Settings::new(keys).ok()?;
    if random.below(2) == 0 {
        settings = with_parts(&mut random, &settings).0;
    }
    let mixed = with_runs(&mut random, &settings, &requests);
    Some((settings, mixed))
}

const FAMILIES: [Family; 7] = [
    Family::Any,
    Family::LogBlocks,
    Family::Bus,
    Family::Firmware,
    Family::Superblocks,
    Family::Joined,
    Family::Mechanisms,
];

/// Every rule holds, each read gets the newest data, and no unit is lost: of those that were read
/// ahead, at most as many as the buffer holds are read more than once, and hits are not fewer than
/// units that were read.
#[test]
fn random_devices_that_read_ahead_keep_every_rule() {
    let (mut ran, mut hits, mut waits, mut unread) = (0, 0, 0, 0);
    for (family, seed) in
        FAMILIES.into_iter().flat_map(|family| seeds(0..45).map(move |seed| (family, seed)))
    {
        let Some((settings, requests)) = random_case(family, seed) else { continue };
        let result = std::panic::catch_unwind(|| try_record(&settings, &[], &requests));
        let (report, run) = match result {
            Ok(Ok(done)) => done,
            Ok(Err(SimError::WornOut { .. })) => continue,
            _ => panic!("{family:?} {seed}: {result:?} {:#?}", settings.keys),
        };
        assert_eq!(run.requests.len(), requests.len(), "{family:?} {seed}: one answer a request");
        let ahead = of(&report);
        assert!(ahead.hits >= ahead.units - ahead.unread_units, "{family:?} {seed}: {ahead:?}");
        assert!(ahead.hits <= report.buffer.read_hits, "{family:?} {seed}: {ahead:?}");
        ran += 1;
        (hits, waits) = (hits + ahead.hits, waits + ahead.waits);
        unread += ahead.unread_units;
    }
    assert!(ran > 60, "{ran} devices");
    assert!(hits > 2_000 && waits > 200 && unread > 500, "{hits} hits, {waits}, {unread} unread");
}

/// A device that is saved between two phases goes on as the one that is not: what was read ahead is
/// saved with the other lines.
#[test]
fn saved_devices_go_on_alike() {
    let (mut compared, mut lines) = (0, 0);
    for seed in seeds(100..160) {
        let Some((settings, requests)) = random_case(Family::Any, seed) else { continue };
        let run = |bench: &mut Bench| bench.run(vec![named("s", StreamKeys::default(), &requests)]);
        let mut bench = Bench::new(&settings);
        run(&mut bench);
        if !bench.device.can_be_saved() {
            continue;
        }
        let bytes = saved(&bench.device);
        let mut again = Bench::of(restored(&settings, &bytes).expect("it was saved"));
        assert!(saved(&again.device) == bytes, "seed {seed}");
        let ends = [&mut bench, &mut again]
            .map(|bench| run(bench).iter().map(|done| done.completion).collect::<Vec<_>>());
        assert_eq!(ends[0], ends[1], "seed {seed}");
        let (report, again) = (bench.finish(), again.finish());
        assert_eq!(format!("{report:?}"), format!("{again:?}"), "seed {seed}");
        compared += 1;
        lines += of(&report).hits;
    }
    assert!(compared > 10 && lines > 500, "{compared} devices were compared, {lines} hits");
}

/// A loss of power while units are read ahead loses nothing that was promised: what a session reads
/// afterwards is checked, and it reads ahead again.
#[test]
fn a_loss_of_power_takes_only_clean_lines() {
    let settings = ahead(&["power.journal_entries=16", "firmware.read_ns=0"]);
    let mut device = Device::new(&settings);
    device.check();
    let mut session = Session::new(Drive::Flash(Box::new(device)));
    let submit = |session: &mut Session, requests: &[Request]| {
        for request in requests {
            session.submit(&request.at(session.now())).expect("it fits the device");
        }
    };
    submit(&mut session, &[write(0, 3), read(0, 0), read(0, 1)]);
    let until = session.now() + Span::from_us(30);
    session.advance(until, Stop::At).expect("it runs");
    let (drive, _) = session.cut(3).expect("it can be cut");
    let mut session = Session::new(drive);
    for read in in_order(0, 40) {
        submit(&mut session, &[read]);
        session.advance(Time::MAX, Stop::AtCompletion).expect("it runs");
        assert!(session.poll().is_some());
    }
    let report = session.finish().expect("it runs");
    assert!(of(&report).hits >= 38, "{:?}", of(&report));
}

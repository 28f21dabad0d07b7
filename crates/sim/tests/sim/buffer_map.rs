//! The write buffer before a map on flash: flushes look their units up when they begin, exactly
//! once, and nothing waits in a circle.

use crate::common::phases::{Bench, latency, named, pacing, stream};
use crate::common::{
    Random, Recorded, record, request, restored, saved, seeds, settings, try_record, try_settings,
};
use flashyard_core::host::HostPolicyName;
use flashyard_core::policy::PolicyName;
use flashyard_core::request::{Flags, Request, RequestOp};
use flashyard_sim::config::Settings;
use flashyard_sim::device::{Device, PhaseKeys, SimError, Upkeep};
use flashyard_sim::report::Report;
use flashyard_sim::stream::Pacing;
use std::convert::Infallible;

/// Time of a unit of 4 KiB on the port and to its row: ceil(4096 x 78 ps) + 41 ns.
const ACCESS_NS: u64 = 320 + 41;

/// One die that reads in 60 us and programs in 700 us and has one line of eight map entries, and a
/// buffer that flushes only when it must.
fn cached(keys: &[&str]) -> Settings {
    let base = [
        "geometry.blocks_per_plane=64",
        "geometry.pages_per_block=32",
        "ftl.over_provisioning_percent=100",
        "map.store=line_cache",
        "map.cache_bytes=32",
        "map.entries_per_page=16",
        "map.unwritten_read=array",
        "buffer.bytes=262144",
        "buffer.high_percent=100",
    ];
    settings(&[&base, keys].concat())
}

fn write(us: u64, lpn: u64) -> Request {
    request(us, RequestOp::Write, lpn, 1)
}

fn fua(us: u64, lpn: u64) -> Request {
    write(us, lpn).with(Flags::FUA)
}

fn read(us: u64, lpn: u64) -> Request {
    request(us, RequestOp::Read, lpn, 1)
}

fn flush(us: u64) -> Request {
    request(us, RequestOp::Flush, 0, 1).over(0, 0)
}

/// What was done, and when it was over, in microseconds.
fn commands(run: &Recorded) -> Vec<(&'static str, u64)> {
    run.commands.iter().map(|done| (done.command.stage, done.end.as_ns() / 1_000)).collect()
}

/// Lookups, hits, misses, dirty evictions.
fn lookups(report: &Report) -> [u64; 4] {
    [report.map.lookups, report.map.hits, report.map.misses, report.map.dirty_evictions]
}

/// The write is answered from the buffer. Its flush finds a dirty line in the way: it reads that
/// line's map page, programs it, reads its own and programs the data.
#[test]
fn a_flush_that_misses_evicts_a_dirty_line_first() {
    let requests = [write(0, 100), flush(1_000), read(3_000, 100)];
    let (report, run) = record(&cached(&[]), &[(0, true)], &requests);
    assert_eq!(commands(&run), [("MRe", 1_060), ("MP", 1_760), ("MRf", 1_820), ("DP", 2_520)]);
    let all: Vec<u64> = run.requests.iter().map(latency).collect();
    assert_eq!(all, [ACCESS_NS, 1_520_000, ACCESS_NS]);
    assert_eq!(lookups(&report), [1, 0, 1, 1]);
    // The data of the read is in the buffer: nobody has looked for its place.
}

/// The write-back of a dirty line is charged to the write whose unit is flushed.
#[test]
fn a_flush_that_hits_dirties_its_line() {
    let (report, run) = record(&cached(&[]), &[(0, false)], &[write(0, 1), flush(10)]);
    assert_eq!(commands(&run), [("DP", 710)]);
    assert_eq!(lookups(&report), [1, 1, 0, 0]);
}

/// With FUA the lookup is part of the write: map commands, then the buffer, then the program.
#[test]
fn a_durable_write_looks_up_once() {
    let requests = [fua(0, 100), fua(3_000, 100)];
    let (report, run) = record(&cached(&[]), &[(0, true)], &requests);
    assert_eq!(latency(&run.requests[0]), 820_000 + ACCESS_NS + 700_000);
    assert_eq!(latency(&run.requests[1]), ACCESS_NS + 700_000);
    assert_eq!(lookups(&report), [2, 1, 1, 1]);
}

/// A later write of the same unit comes behind the one that fetches its map entry first, and so
/// does a read.
#[test]
fn a_write_that_fetches_is_not_overtaken_by_one_that_does_not() {
    let requests = [fua(0, 100), write(1, 100), read(2, 100), flush(2_000)];
    let (report, run) = record(&cached(&[]), &[], &requests);
    let ends: Vec<u64> = run.requests.iter().map(|done| done.completion.as_ns()).collect();
    assert_eq!(ends[0], 60_000 + ACCESS_NS + 700_000);
    assert_eq!(ends[1..3], [60_000 + 2 * ACCESS_NS, 60_000 + 3 * ACCESS_NS], "put by put");
    assert_eq!(lookups(&report), [2, 1, 1, 0]);
}

/// Distinct units, far apart: the only line belongs to one flush at a time, the next one begins
/// when the line has come, and the flush request ends with the last program.
#[test]
fn flushes_begin_as_lines_of_the_map_cache_come_free() {
    let settings = cached(&["policy.command=fifo"]);
    let requests: Vec<_> = (0..5).map(|at| write(at, 16 * at)).chain([flush(1_000)]).collect();
    let (report, run) = record(&settings, &[], &requests);
    // Each evicts the line that the one before has dirtied, but for the first.
    assert_eq!(lookups(&report), [5, 0, 5, 4]);
    let programs = commands(&run).iter().filter(|(stage, _)| *stage == "DP").count();
    assert_eq!(programs, 5);
    assert!(report.map.stalls > 0, "the only line was being fetched");
    let work = 5 * (60 + 700) + 4 * (60 + 700);
    assert_eq!(run.requests[5].completion.as_ns(), (1_000 + work) * 1_000, "the die never rests");
    assert_eq!(report.buffer.dirty_at_end, 0);
}

#[test]
fn an_endless_buffer_looks_nothing_up_before_a_flush() {
    for store in ["line_cache", "cmt"] {
        let store = format!("map.store={store}");
        let settings = cached(&[&store, "buffer.bytes=1000000000000"]);
        let mut random = Random(1);
        let mut requests: Vec<_> = (0..2_000).map(|at| write(at, random.below(300))).collect();
        let mut units: Vec<_> = requests.iter().map(|request| request.first_sector).collect();
        units.sort_unstable();
        units.dedup();
        let (report, run) = record(&settings, &[], &requests);
        assert_eq!((lookups(&report), run.commands.len()), ([0; 4], 0));
        requests.push(flush(4_000));
        let (report, _) = record(&settings, &[], &requests);
        assert_eq!(report.map.lookups, units.len() as u64);
        assert_eq!(report.map.hits + report.map.misses, report.map.lookups);
    }
}

#[test]
fn a_buffer_of_no_bytes_is_none() {
    let mut random = Random(2);
    let requests: Vec<_> = (0..1_000)
        .map(|at| request(at * 200, random.pick(&RequestOp::ALL), random.below(300), 2))
        .collect();
    for store in ["map.store=line_cache", "map.store=cmt"] {
        let none = record(&cached(&[store, "buffer.bytes=0"]), &[], &requests);
        let keys = [store, "buffer.bytes=0", "buffer.acknowledge=program", "buffer.access_ns=999"];
        assert_eq!(format!("{none:?}"), format!("{:?}", record(&cached(&keys), &[], &requests)));
    }
}

/// Units that fill a program unit begin together, when the map entry of the last one is there: the
/// program of three pages starts behind three fetches, and a second one has nothing to fetch.
#[test]
fn a_program_unit_waits_for_the_map_entries_of_all_its_units() {
    let keys = [
        "nand.bits_per_cell=3",
        "nand.one_shot=true",
        "geometry.pages_per_block=24",
        "map.cache_bytes=4096",
    ];
    let writes = [0, 16, 32, 1, 17, 33];
    let requests: Vec<_> = writes.iter().map(|&lpn| write(0, lpn)).chain([flush(1_000)]).collect();
    let (report, run) = record(&cached(&keys), &[], &requests);
    let fetched = [("MRf", 1_060), ("MRf", 1_120), ("MRf", 1_180)];
    assert_eq!(commands(&run)[..3], fetched);
    let ends: Vec<u64> =
        commands(&run).iter().filter(|done| done.0 == "DP").map(|done| done.1).collect();
    assert_eq!(ends, [1_880, 1_880, 1_880, 2_580, 2_580, 2_580]);
    assert_eq!(report.flash.padded_units, 0);
}

/// A short read waits for the map entry that a flush fetches, behind a long one that came first:
/// DRS serves the fetch before the long one.
#[test]
fn a_read_hands_its_rank_on_to_the_fetch_of_a_flush() {
    let entries = |lpns: [u64; 2]| lpns.map(|lpn| (lpn, false));
    let end = |policy: &str| {
        let settings = cached(&["map.cache_bytes=96", &format!("policy.command={policy}")]);
        let requests =
            [write(0, 100), fua(0, 1), request(1, RequestOp::Read, 8, 8), flush(2), read(3, 101)];
        let (_, run) = record(&settings, &entries([0, 8]), &requests);
        (run.requests[4].completion, run.requests[2].completion)
    };
    let (short, long) = end("drs");
    assert!(short < long, "{short:?} {long:?}");
    let (short, long) = end("fifo");
    assert!(long < short, "{short:?} {long:?}");
}

/// The keys of a random device and how likely each value is.
const DRAWS: &[(&str, &[&str])] = &[
    ("geometry.channels", &["1", "2"]),
    ("geometry.ways", &["1", "2"]),
    ("geometry.planes", &["1", "1", "2"]),
    ("geometry.page_bytes", &["4096", "8192"]),
    ("ftl.allocation", &["static", "dynamic"]),
    ("ftl.partial_write", &["ignore", "read_modify_write", "bitmap"]),
    ("nand.bits_per_cell", &["1", "1", "3"]),
    ("nand.one_shot", &["false", "true", "true"]),
    ("nand.unmapped_read", &["array", "zero"]),
    ("map.store", &["line_cache", "cmt"]),
    // From a single line or entry to more than the map has.
    ("map.cache_bytes", &["8", "16", "64", "256", "1000000"]),
    ("map.entries_per_line", &["1", "2"]),
    ("map.cached_entry_bytes", &["8"]),
    ("map.batch_update", &["true", "false"]),
    ("map.share_fetches", &["true", "false"]),
    ("map.unwritten_read", &["array", "zero"]),
    ("map.hazards", &["order", "order", "ignore"]),
    ("map.moved_entries", &["dirty", "join", "join_cached"]),
    ("gc.erase_after_map", &["false", "true"]),
    ("state.initial", &["fresh", "full"]),
    ("buffer.bytes", &["8192", "16384", "65536", "1000000"]),
    ("buffer.acknowledge", &["buffer", "buffer", "program"]),
    ("buffer.access_ns", &["0", "41", "30000"]),
    ("buffer.ps_per_byte", &["0", "78"]),
    ("buffer.low_percent", &["0", "30"]),
    ("buffer.high_percent", &["30", "100"]),
    ("buffer.flush_when_idle", &["false", "true"]),
    ("buffer.ports", &["shared", "read_and_write"]),
    ("buffer.banks", &["1", "2"]),
    ("buffer.eviction", &["watermark", "full", "ahead", "at_once"]),
    ("buffer.flush_width", &["0", "1"]),
    ("buffer.flush_reads", &["false", "true"]),
    ("buffer.after_flush", &["clean", "free"]),
    ("buffer.volatile", &["true", "true", "false"]),
    ("buffer.read_allocate", &["never", "clean", "displace"]),
    ("buffer.replacement", &["lru", "fifo", "clock"]),
    ("queue.depth", &["1", "2", "8", "64"]),
    ("queue.slots_scope", &["device", "die"]),
    ("queue.admission", &["request", "request", "page", "atomic"]),
    ("queue.delayed_sets_hold_slot", &["true", "false"]),
    ("queue.data_order", &["none", "lpn"]),
    ("policy.command", PolicyName::WORDS),
    ("host.policy", HostPolicyName::WORDS),
    ("ftl.finish", &["false", "true"]),
];

/// A device of [`DRAWS`]; of buffers the smallest one has one line.
fn random_device(random: &mut Random) -> Settings {
    loop {
        let mut keys: Vec<String> = [
            "geometry.blocks_per_plane=48",
            "geometry.pages_per_block=12",
            "ftl.over_provisioning_percent=150",
            "map.entries_per_page=16",
            "gc.reserve_blocks=6",
            "gc.hard_free_blocks=6",
            "gc.soft_free_blocks=7",
        ]
        .map(String::from)
        .to_vec();
        keys.extend(DRAWS.iter().map(|(key, values)| format!("{key}={}", random.pick(values))));
        if random.below(2) == 0 {
            keys.push("ftl.mapping_unit_bytes=4096".to_string());
            keys.push(format!("buffer.bytes={}", random.pick(&[4_096, 8_192, 32_768])));
        }
        match try_settings(&keys) {
            Ok(settings) => return settings,
            Err(why) => {
                let known = ["slots_scope", "no room", "this host.policy flushes"];
                assert!(known.iter().any(|known| why.contains(known)), "{why}");
            }
        }
    }
}

fn random_requests(random: &mut Random, settings: &Settings, trims: bool) -> Vec<Request> {
    let sectors = settings.capacity_sectors();
    let hot = random.pick(&[64, 512, sectors]);
    let longest = random.pick(&[8, 40, 200]);
    let gap = random.pick(&[1, 100, 3_000]);
    let whole = random.below(2) == 0;
    let mut now = 0;
    (0..400)
        .map(|_| {
            now += if random.below(3) == 0 { random.below(gap) } else { 0 };
            let op = match random.below(20) {
                0 => RequestOp::Flush,
                1 if trims => RequestOp::Trim,
                2..8 => RequestOp::Read,
                _ => RequestOp::Write,
            };
            let count = 1 + random.below(longest);
            let first = random.below(hot).min(sectors - count - 8);
            let mut request = request(now, op, 0, 1);
            (request.first_sector, request.sectors) = (first, u32::try_from(count).unwrap());
            if whole {
                request.first_sector = first / 16 * 16;
                request.sectors = request.sectors.div_ceil(16) * 16;
                request.first_sector =
                    request.first_sector.min(sectors / 16 * 16 - u64::from(request.sectors));
            }
            if op == RequestOp::Flush {
                request.sectors = 0;
            }
            if op == RequestOp::Write {
                request.flags = match random.below(12) {
                    0 => Flags::FUA,
                    1 => Flags::PREFLUSH,
                    2 => Flags::FUA.with(Flags::PREFLUSH),
                    _ => Flags::NONE,
                };
            }
            request
        })
        .collect()
}

/// Everything together under the checker. Each flush, each durable write and each read of flash
/// looks its entry up, and nobody else but trims.
#[test]
fn random_devices_keep_every_rule_and_answer_every_request() {
    let (mut stalls, mut short, mut dirty, mut waits) = (0, 0, 0, 0);
    for seed in seeds(0..300) {
        let mut random = Random(seed);
        let settings = random_device(&mut random);
        let trims = random.below(2) == 0;
        let requests = random_requests(&mut random, &settings, trims);
        let result = std::panic::catch_unwind(|| try_record(&settings, &[], &requests));
        let result = result.unwrap_or_else(|_| panic!("seed {seed}: {:#?}", settings.keys));
        let (report, run) = match result {
            Ok(done) => done,
            Err(SimError::NoReserve { .. } | SimError::NoRoom { .. }) => {
                short += 1;
                continue;
            }
            Err(error) => panic!("seed {seed}: {error} {:#?}", settings.keys),
        };
        assert_eq!(run.requests.len(), requests.len(), "seed {seed}");
        let buffer = &report.buffer;
        let gone = buffer.flushed_units + buffer.trimmed_units + buffer.dirty_at_end;
        assert_eq!(buffer.dirtied_units, gone, "seed {seed}");
        assert_eq!(report.map.lookups, report.map.hits + report.map.misses, "seed {seed}");
        if !trims && settings.keys.ftl.partial_write == flashyard_sim::config::PartialWrite::Ignore
        {
            let expected = buffer.flushed_units + buffer.read_misses;
            assert_eq!(report.map.lookups, expected, "seed {seed}");
        }
        stalls += report.map.stalls;
        dirty += report.map.dirty_evictions;
        waits += buffer.stalls;
    }
    assert!(stalls > 1_000 && dirty > 1_000 && waits > 1_000, "{stalls} {dirty} {waits}");
    assert!(short < 20, "{short} devices were too small");
}

/// A device that is saved between phases goes on as the one that is not, also where the map is
/// written back at the end.
#[test]
fn saved_devices_go_on_and_maps_are_written_back() {
    for seed in seeds(0..40) {
        let mut random = Random(seed);
        let settings = random_device(&mut random);
        let first = random_requests(&mut random, &settings, true);
        let second = random_requests(&mut random, &settings, true);
        let mut bench = Bench::new(&settings);
        let keys = PhaseKeys::default();
        let streams = vec![named("a", pacing(Pacing::Closed, 4), &first)];
        if bench.try_phase(&keys, streams).is_err() {
            continue;
        }
        let again = Bench::of(restored(&settings, &saved(&bench.device)).unwrap());
        let go_on = |mut bench: Bench| {
            let done = bench.try_phase(&keys, vec![stream(pacing(Pacing::Closed, 4), &second)]);
            let Ok((_, done)) = done else { return None };
            bench.device.upkeep(Upkeep::FlushMap).unwrap();
            let ends: Vec<_> = done.iter().map(|done| done.completion).collect();
            let report = bench.finish();
            Some((ends, format!("{:?} {:?}", report.map, report.buffer)))
        };
        assert!(go_on(bench) == go_on(again), "seed {seed}");
    }
}

/// The trim still fetches its map entry when a write behind it is put and answered: a read behind
/// both finds what was written, whatever order reads and changes of a unit keep.
#[test]
fn a_read_finds_what_was_written_behind_a_trim_that_is_not_over() {
    for order in ["none", "lpn"] {
        let settings = cached(&[&format!("queue.data_order={order}")]);
        let trim = request(0, RequestOp::Trim, 5, 1);
        let (report, run) = record(&settings, &[], &[trim, write(1, 5), read(2, 5)]);
        assert_eq!(latency(&run.requests[1]), ACCESS_NS, "{order}");
        assert_eq!(latency(&run.requests[2]), ACCESS_NS, "{order}");
        assert_eq!(report.buffer.read_hits, 1);
    }
}

/// The trim still fetches its map entry, for 60 us, when a part of its unit is written behind it.
/// The line of the unit has all of it, and forgets it with the trim: so the part is put then, and
/// does not join what the trim forgets. The checker follows the sectors; whole units do not wait.
#[test]
fn a_part_that_is_written_behind_a_trim_joins_nothing_that_it_forgets() {
    for keeps in ["bitmap", "read_modify_write"] {
        for store in ["line_cache", "cmt"] {
            let settings = cached(&[
                &format!("ftl.partial_write={keeps}"),
                &format!("map.store={store}"),
                "map.cached_entry_bytes=8",
            ]);
            let mut part = write(12, 5);
            part.sectors = 3;
            let trim = request(11, RequestOp::Trim, 5, 1);
            let requests = [write(0, 5), trim, part, read(100, 5), flush(200), read(9_000, 5)];
            let (_, run) = record(&settings, &[], &requests);
            let ends: Vec<_> = run.requests.iter().map(|done| done.completion).collect();
            assert_eq!(ends[2].as_ns(), ends[1].as_ns() + ACCESS_NS, "{keeps} {store}");
            let whole = [write(0, 5), trim, write(12, 5)];
            let (_, run) = record(&settings, &[], &whole);
            assert_eq!(latency(&run.requests[2]), ACCESS_NS, "{keeps} {store}");
        }
    }
}

/// Writes of one unit wait for each other's puts, and a put that takes no time lets the next one
/// pass within the same instant. However many there are, that takes no more of the stack than one.
#[test]
fn a_row_of_writes_of_one_unit_fits_a_small_stack() {
    const WRITES: u64 = 5_000;
    let row = |more: &[&str]| {
        let base = [
            "map.cache_bytes=4096",
            "buffer.bytes=65536",
            "buffer.access_ns=0",
            "buffer.ps_per_byte=0",
            "buffer.acknowledge=program",
            "queue.depth=1000000",
            "policy.command=fifo",
        ];
        let settings = settings(&[&base, more].concat());
        let mut requests = (0..WRITES).map(|_| write(0, 0));
        let report = Device::new(&settings).run(|| Ok::<_, Infallible>(requests.next()));
        report.unwrap().workload.requests
    };
    for more in [&["interface.transfer=request"], &["interface.transfer=page"]] {
        let on_a_small_stack = || row(more);
        let done = std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().stack_size(256 * 1024);
            thread.spawn_scoped(scope, on_a_small_stack).unwrap().join().unwrap()
        });
        assert_eq!(done, WRITES, "{more:?}");
    }
}

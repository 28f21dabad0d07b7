//! The DFTL of Park et al. 2011 as a composition of keys: one die, one page access after the other,
//! a cached mapping table, collection when a program needs a block.

use crate::common::{Random, Recorded, page_writes, record, request, settings, try_record};
use crate::demand_map::{DemandMap, Flash, Shape};
use flashyard_core::command::Op;
use flashyard_core::request::{Request, RequestOp};
use flashyard_sim::config::Settings;
use flashyard_sim::device::{Device, PhaseKeys, SimError, Upkeep};
use flashyard_sim::report::Report;
use flashyard_sim::stream::{Stream, StreamKeys};
use std::convert::Infallible;

const READ: RequestOp = RequestOp::Read;
const WRITE: RequestOp = RequestOp::Write;
const TRIM: RequestOp = RequestOp::Trim;

/// The study's device: pages a block, blocks exported and in all, reserve, entries a map page and
/// of the cache.
fn study(
    [pages, logical, blocks, reserve]: [u32; 4],
    [per_page, entries]: [u32; 2],
    keys: &[&str],
) -> Settings {
    let spare = u64::from(blocks - logical) * 1_000_000 / u64::from(logical);
    let shape = [
        format!("geometry.blocks_per_plane={blocks}"),
        format!("geometry.pages_per_block={pages}"),
        format!("ftl.over_provisioning_percent={}.{:04}", spare / 10_000, spare % 10_000),
        format!("gc.reserve_blocks={reserve}"),
        format!("map.entries_per_page={per_page}"),
        format!("map.cache_bytes={}", 8 * entries),
    ];
    let base = [
        "map.store=cmt",
        "map.moved_entries=join_cached",
        "map.rewrite_order=moved",
        "map.unwritten_read=zero",
        "policy.command=fifo",
        "queue.depth=1",
        "queue.admission=page",
        "ftl.generations=0",
        "ftl.map_generations=0",
        "gc.start=needed",
        "gc.policy=window",
        "gc.emergency=true",
        "gc.erase_after_map=true",
        "gc.map_reserve=as_data",
        "gc.soft_free_blocks=1",
        "gc.hard_free_blocks=1",
        "nand.read_us=130.9",
        "nand.program_us=405.9",
        "nand.erase_us=1500",
        "state.initial=full",
    ];
    let made = settings(&[&shape.each_ref().map(String::as_str)[..], &base, keys].concat());
    assert_eq!(made.exported_units, logical * pages);
    made
}

/// What comes after the requests of a worked example.
#[derive(Clone, Copy, PartialEq, Eq)]
enum After {
    Nothing,
    Collect,
    CollectAndFlush,
    Flush,
}

fn run_phase(device: &mut Device, requests: &[Request], measure: bool) {
    let mut requests = requests.iter().copied();
    let source = || Ok::<_, Infallible>(requests.next());
    let host = StreamKeys::default();
    let stream = Stream { name: "w".to_string(), keys: host, source: Box::new(source) };
    let phase = PhaseKeys { measure, ..PhaseKeys::default() };
    device.run_phase(&phase, vec![stream]).unwrap();
}

fn report_of(device: &Settings, requests: &[Request], after: After) -> Report {
    let mut device = Device::new(device);
    device.check();
    run_phase(&mut device, requests, true);
    if matches!(after, After::Collect | After::CollectAndFlush) {
        device.upkeep(Upkeep::Collect).unwrap();
    }
    if matches!(after, After::Flush | After::CollectAndFlush) {
        device.upkeep(Upkeep::FlushMap).unwrap();
    }
    device.finish().unwrap()
}

/// Host reads and programs, copies, reads and programs for the cache, the same of collection's map
/// pages, erases, hits and misses.
fn counts(report: &Report) -> [u64; 10] {
    let of = |op: &str, purpose: &str| report.flash.pages[op][purpose];
    assert_eq!(of("reads", "gc"), of("programs", "gc"));
    [
        of("reads", "host"),
        of("programs", "host"),
        of("programs", "gc"),
        of("reads", "map_fetch") + of("reads", "map_writeback"),
        of("programs", "map_writeback"),
        of("reads", "map_gc"),
        of("programs", "map_gc"),
        of("erases", "gc"),
        report.map.hits,
        report.map.misses,
    ]
}

/// By hand: blocks of 4 pages, 4 of 10 exported, map pages of 4 entries. A case: entries of the
/// cache, keys, accesses, what follows, and the counts.
#[test]
fn small_devices_cost_what_was_worked_out_by_hand() {
    use After::{Collect, CollectAndFlush, Nothing};
    type Case<'a> = (u32, &'a [&'a str], &'a [(RequestOp, u64)], After, [u64; 10]);
    let writes_and_a_read = [(WRITE, 0), (WRITE, 1), (WRITE, 4), (WRITE, 8), (READ, 12)];
    let reads = [(READ, 0), (READ, 0), (READ, 4), (READ, 8), (READ, 12), (READ, 0)];
    let moved = [(WRITE, 0), (WRITE, 5), (WRITE, 1), (READ, 2)];
    let moved_more = [(WRITE, 0), (WRITE, 5), (WRITE, 1), (READ, 2), (WRITE, 3)];
    let lru: &[&str] = &["map.protected_percent=0"];
    let no_batch: &[&str] = &["map.protected_percent=0", "map.batch_update=false"];
    let third: &[&str] = &["map.protected_percent=34"];
    let eager: &[&str] = &["map.protected_percent=0", "map.lazy_copying=false"];
    let cases: [Case<'_>; 8] = [
        // Five loads; evicting 0 costs a read and a write and cleans 1 too, which later goes free.
        (3, lru, &writes_and_a_read, Nothing, [1, 4, 0, 6, 1, 0, 0, 0, 0, 5]),
        // Without batches 1 costs as much.
        (3, no_batch, &writes_and_a_read, Nothing, [1, 4, 0, 7, 2, 0, 0, 0, 0, 5]),
        // One protected: 0, by its hit, outlives 4, 8 and 12.
        (3, third, &reads, Nothing, [6, 0, 0, 4, 0, 0, 0, 0, 2, 4]),
        // Plain LRU drops it.
        (3, lru, &reads, Nothing, [6, 0, 0, 5, 0, 0, 0, 0, 1, 5]),
        // 2 and 3 are copied; 2 is cached, for 3 map page 0 is rewritten.
        (4, lru, &moved, Collect, [1, 3, 2, 4, 0, 1, 1, 1, 0, 4]),
        // Then 0, 1 and 2 go to map page 0, 5 to map page 1.
        (4, lru, &moved, CollectAndFlush, [1, 3, 2, 6, 2, 1, 1, 1, 0, 4]),
        // 3 evicts 0, which cleans 1; only 2 is copied, and it is cached.
        (4, lru, &moved_more, Collect, [1, 4, 1, 6, 1, 0, 0, 1, 0, 5]),
        // Without lazy copying its map page is written all the same.
        (4, eager, &moved_more, Collect, [1, 4, 1, 6, 1, 1, 1, 1, 0, 5]),
    ];
    for (number, (entries, keys, accesses, after, wanted)) in cases.into_iter().enumerate() {
        let device = study([4, 4, 10, 3], [4, entries], keys);
        let requests: Vec<_> = accesses.iter().map(|&(op, lpn)| request(0, op, lpn, 1)).collect();
        let report = report_of(&device, &requests, after);
        assert_eq!(counts(&report), wanted, "case {number}");
        let ops = |op: &str| report.flash.pages[op].values().sum::<u64>();
        let busy: u64 = 130_900 * ops("reads") + 405_900 * ops("programs");
        let busy = busy + 1_500_000 * ops("erases");
        if after == Nothing {
            assert_eq!(report.throughput.makespan_ns, busy, "case {number}: one after the other");
        }
    }
}

/// Counts of two programs by other hands.
#[test]
fn random_writes_cost_what_two_other_programs_say() {
    let device = study([8, 32, 48, 6], [16, 16], &["map.protected_percent=50"]);
    let (report, _) = record(&device, &[], &page_writes(1, 2_000, 256));
    assert_eq!(counts(&report), [0, 2_000, 2_408, 3_169, 1_287, 4_270, 4_270, 1_236, 118, 1_882]);
    assert_eq!([report.gc.jobs, report.gc.searches], [1_236, 41_361]);
    assert_eq!(report.throughput.makespan_ns, 7_187_765_800);
}

/// Every operation of a run on one die, as it began.
fn operations(run: &Recorded) -> Vec<Flash> {
    let mut commands = run.commands.clone();
    commands.sort_by_key(|command| command.start);
    let flash = |op, ppn: Option<u32>| match op {
        Op::Read => Flash::Read(ppn),
        Op::Program => Flash::Program(ppn.unwrap()),
        Op::Erase => Flash::Erase(ppn.unwrap()),
    };
    commands.iter().map(|command| flash(command.op, command.ppn)).collect()
}

const fn is_read(op: Flash) -> bool {
    matches!(op, Flash::Read(_))
}

/// A device, the plain one like it, and whether both begin full.
fn random_pair(random: &mut Random) -> (Settings, DemandMap) {
    let (pages, logical) = (random.pick(&[2u32, 4, 8]), 6 + random.below(40));
    let logical = u32::try_from(logical).unwrap();
    let per_page = random.pick(&[2u32, 4, 16]);
    let maps = (logical * pages).div_ceil(per_page).div_ceil(pages);
    let reserve = random.pick(&[3u32, 6, 12]);
    let blocks = logical + maps + maps / pages + 3 + reserve + random.pick(&[2, 6, 12]);
    let blocks = blocks.max(logical * pages / (pages - 1) + maps + 4 + reserve);
    let entries = random.pick(&[1u32, 2, 5, 16, 40]);
    let percent = random.pick(&[0u32, 30, 50, 80, 100]);
    let [batch, lazy, emergency] = [0; 3].map(|_: u8| random.below(4) > 0);
    let (window, full) = (random.pick(&[100u64, 100, 25, 1]), random.below(2) == 0);
    let keys = [
        format!("map.protected_percent={percent}"),
        format!("map.batch_update={batch}"),
        format!("map.lazy_copying={lazy}"),
        format!("gc.emergency={emergency}"),
        format!("gc.window.share_percent={window}"),
        format!("state.initial={}", if full { "full" } else { "fresh" }),
    ];
    let keys = keys.each_ref().map(String::as_str);
    let device = study([pages, logical, blocks, reserve], [per_page, entries], &keys);
    let entries = entries.min(device.exported_units);
    let shape = Shape {
        pages,
        blocks,
        reserve: reserve as usize,
        window: window * 10_000,
        emergency,
        entries: entries as usize,
        protected: (entries * percent / 100) as usize,
        entries_per_page: per_page,
        batch,
        lazy,
    };
    let mut plain = DemandMap::new(shape, device.exported_units);
    if full {
        plain.fill();
    }
    (device, plain)
}

/// Small devices of all kinds under reads, writes and trims, operation by operation.
#[test]
fn devices_do_what_a_plain_demand_map_does() {
    let mut random = Random(9);
    let (mut same, mut jobs, mut flushes) = (0, 0, 0);
    for _ in 0..120 {
        let (device, mut plain) = random_pair(&mut random);
        let units = u64::from(device.exported_units);
        let hot = 1 + random.below(units);
        let mut requests = Vec::new();
        for _ in 0..1_000 {
            let reach = if random.below(4) == 0 { units } else { hot };
            let lpn = random.below(reach);
            let op = random.pick(&[READ, WRITE, WRITE, WRITE, WRITE, WRITE, TRIM]);
            requests.push(request(0, op, lpn, 1));
            let lpn = u32::try_from(lpn).unwrap();
            match op {
                READ => plain.read(lpn),
                WRITE => plain.write(lpn),
                _ => plain.trim(lpn),
            }
            if plain.exhausted {
                break;
            }
        }
        if plain.exhausted {
            // With a reserve that is too small the device ends with an error, as it should.
            let error = try_record(&device, &[], &requests).unwrap_err();
            assert!(
                matches!(error, SimError::NoReserve { .. } | SimError::NoRoom { .. }),
                "{error}"
            );
            continue;
        }
        let (report, run) = record(&device, &[], &requests);
        let ops = operations(&run);
        // The pages that a job rewrites are all read before the first of them is programmed.
        for kind in [is_read, |op: Flash| !is_read(op)] {
            let [ours, theirs] = [&ops, &plain.log].map(|ops| ops.iter().filter(|op| kind(**op)));
            let same = ours.clone().zip(theirs.clone()).take_while(|(a, b)| a == b).count();
            let rest = [ours, theirs].map(|ops| ops.skip(same).take(4).collect::<Vec<_>>());
            assert!(rest.iter().all(Vec::is_empty), "{:?}: after {same}: {rest:?}", plain.shape);
        }
        assert_eq!([report.map.hits, report.map.misses], [plain.hits, plain.misses]);
        assert_eq!([report.gc.jobs, report.gc.searches], [plain.jobs, plain.searches]);
        same += 1;
        jobs += plain.jobs;
        flushes += u64::from(is_flushed_alike(&device, &requests, &mut plain));
    }
    assert!(same > 80 && jobs > 20_000, "{same} devices compared, {jobs} jobs");
    assert!(flushes > 40, "{flushes} flushes compared");
}

/// Asserts that device and plain map write back the dirty entries that a run leaves in the same
/// way. Returns false, without a comparison, if the plain map runs out of room.
fn is_flushed_alike(device: &Settings, requests: &[Request], plain: &mut DemandMap) -> bool {
    plain.flush();
    if plain.exhausted {
        return false;
    }
    let report = report_of(device, requests, After::Flush);
    let ops = |op: &str| report.flash.array_ops[op].values().sum::<u64>();
    let counted = |kind: fn(Flash) -> bool| plain.log.iter().filter(|op| kind(**op)).count() as u64;
    let wanted = [
        counted(is_read),
        counted(|op| matches!(op, Flash::Program(_))),
        counted(|op| matches!(op, Flash::Erase(_))),
    ];
    assert_eq!([ops("reads"), ops("programs"), ops("erases")], wanted, "{:?}", plain.shape);
    true
}

/// Random writes, T map pages, C entries in plain LRU: of the entries that leave, those whose page
/// has not been written since they entered are dirty. Each page has C / T entries cached, any of
/// which takes the others along, so T / (C + T) of the misses write. A miss is one load; hits are
/// C of all pages. With a protected share the probationary entries count. Within 4 %.
#[test]
fn misses_load_and_write_back_as_the_formula_says() {
    let (pages, maps, count) = (16_384u64, 32.0, 40_000u32);
    let warm_up = 50_000;
    for (entries, protected) in [(32, 0), (128, 0), (256, 0), (512, 80)] {
        let share = format!("map.protected_percent={protected}");
        // Room for everything that is written: no collection.
        let device = study([64, 256, 3_500, 8], [512, entries], &[&share]);
        let mut random = Random(u64::from(entries));
        let requests: Vec<_> =
            (0..warm_up + count).map(|_| request(0, WRITE, random.below(pages), 1)).collect();
        let (before, measured) = requests.split_at(warm_up as usize);
        let mut device = Device::new(&device);
        run_phase(&mut device, before, false);
        run_phase(&mut device, measured, true);
        let report = device.finish().unwrap();
        assert_eq!(report.gc.jobs, 0);
        let misses = report.map.misses as f64;
        assert_eq!(report.flash.pages["reads"]["map_fetch"], report.map.misses);
        let cached = f64::from(entries) * f64::from(100 - protected) / 100.0;
        let wanted = maps / (cached + maps);
        let found = report.flash.pages["programs"]["map_writeback"] as f64 / misses;
        assert!((found / wanted - 1.0).abs() < 0.04, "{entries} entries: {found}, not {wanted}");
        let hits = 1.0 - misses / f64::from(count);
        let wanted = f64::from(entries) / pages as f64;
        // Four standard errors.
        let error = 4.0 * (wanted / f64::from(count)).sqrt();
        assert!((hits - wanted).abs() < error, "{entries} entries: {hits} hit, not {wanted}");
    }
}

//! The page map of Park et al. 2011 as a composition of keys: one die, one request after the other,
//! collection when a program needs a block, copies behind host data, victims by search window.

use crate::common::{Random, Recorded, page_writes, record, request, settings};
use crate::page_map::{Flash, PageMap, Shape, Window};
use flashyard_core::command::{Op, Purpose};
use flashyard_core::request::{Request, RequestOp};
use flashyard_sim::config::Settings;
use flashyard_sim::device::{Device, PhaseKeys, Upkeep};
use flashyard_sim::metrics::parts::Part;
use flashyard_sim::report::Report;
use flashyard_sim::stream::{Stream, StreamKeys};
use std::convert::Infallible;

const READ: RequestOp = RequestOp::Read;
const WRITE: RequestOp = RequestOp::Write;
const TRIM: RequestOp = RequestOp::Trim;

/// The study's device with these blocks, of which as many as `logical` are exported.
fn study(pages: u32, logical: u32, blocks: u32, keys: &[&str]) -> Settings {
    let spare = u64::from(blocks - logical) * 1_000_000 / u64::from(logical);
    let shape = [
        format!("geometry.blocks_per_plane={blocks}"),
        format!("geometry.pages_per_block={pages}"),
        format!("ftl.over_provisioning_percent={}.{:04}", spare / 10_000, spare % 10_000),
    ];
    let base = [
        "map.store=resident",
        "policy.command=fifo",
        "queue.depth=1",
        "ftl.generations=0",
        "gc.start=needed",
        "gc.policy=window",
        "gc.soft_free_blocks=1",
        "gc.hard_free_blocks=1",
        "gc.reserve_blocks=1",
        "nand.read_us=130.9",
        "nand.program_us=405.9",
        "nand.erase_us=1500",
        "state.initial=full",
    ];
    let made = settings(&[&shape.each_ref().map(String::as_str)[..], &base, keys].concat());
    assert_eq!(made.exported_units, logical * pages * made.geometry.all_planes());
    made
}

/// Requests of one page, all at once.
fn pages(op: RequestOp, lpns: &[u64]) -> Vec<Request> {
    lpns.iter().map(|lpn| request(0, op, *lpn, 1)).collect()
}

/// Host reads and programs, copied pages, erases, jobs, searches.
fn counts(report: &Report) -> [u64; 7] {
    let of = |op: &str, purpose: &str| report.flash.pages[op][purpose];
    [
        of("reads", "host"),
        of("programs", "host"),
        of("reads", "gc"),
        of("programs", "gc"),
        of("erases", "gc"),
        report.gc.jobs,
        report.gc.searches,
    ]
}

/// By hand. 12 pages lie in blocks 0 to 2 of 4 pages; 3 and 4 are free. The writes of 0, 4, 8 and 1
/// fill block 3 and leave blocks 0, 1 and 2 with 2, 3 and 3 valid pages: three candidates, the
/// victim is 0. Its pages 2 and 3 go to block 4, the writes of 2 and 5 behind them. The next search
/// has block 1 (6, 7), block 2 (9, 10, 11) and block 4 (3, 2, 5 and an old copy of 2): three.
#[test]
fn a_small_device_ends_where_it_was_worked_out_by_hand() {
    let device = study(4, 3, 5, &[]);
    let mut requests = pages(WRITE, &[0, 4, 8, 1, 2, 5, 9]);
    requests.extend(pages(READ, &(0..12).collect::<Vec<_>>()));
    let (report, run) = record(&device, &[], &requests);
    assert_eq!(counts(&report), [12, 7, 4, 4, 2, 2, 6]);
    let reads = run.commands.iter().filter(|c| c.purpose == Purpose::Host && c.op == Op::Read);
    let places: Vec<_> = reads.map(|read| read.ppn.unwrap()).collect();
    assert_eq!(places, [12, 15, 18, 17, 13, 19, 0, 1, 14, 2, 10, 11]);
    // 11 programs, 4 + 12 reads, 2 erases, one after the other.
    assert_eq!(report.throughput.makespan_ns, 11 * 405_900 + 16 * 130_900 + 2 * 1_500_000);
}

/// Counts of two programs by other hands.
#[test]
fn random_writes_cost_what_two_other_programs_say() {
    let all = study(8, 32, 38, &[]);
    let (report, _) = record(&all, &[], &page_writes(1, 2_000, 256));
    assert_eq!(counts(&report), [0, 2_000, 3_607, 3_607, 696, 696, 18_064]);
    let quarter = study(8, 32, 38, &["gc.window.share_percent=25"]);
    let (report, _) = record(&quarter, &[], &page_writes(1, 2_000, 256));
    assert_eq!(counts(&report), [0, 2_000, 3_919, 3_919, 735, 735, 4_971]);
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

/// Small devices of all kinds under reads, writes and trims, operation by operation.
#[test]
fn devices_do_what_a_plain_page_map_does() {
    let mut random = Random(5);
    for _ in 0..60 {
        let (percent, ppm) = random.pick(&[
            ("0", 0),
            ("100", 1_000_000),
            ("50", 500_000),
            ("25", 250_000),
            ("12.5", 125_000),
            ("0.1", 1_000),
            ("70", 700_000),
        ]);
        let (reserve, logical) = (random.pick(&[1, 1, 2, 5]), 4 + random.below(40));
        let [own_copies, full] = [0; 2].map(|_: u8| random.below(2) == 0);
        let shape = Shape {
            pages: random.pick(&[2, 4, 8]),
            blocks: u32::try_from(logical + 3 + reserve + random.below(10)).unwrap(),
            reserve: usize::try_from(reserve).unwrap(),
            window: if ppm == 0 { Window::One } else { Window::Share(ppm) },
            own_copies,
        };
        let keys = [
            format!("gc.window.share_percent={percent}"),
            format!("gc.reserve_blocks={reserve}"),
            format!("ftl.generations={}", u8::from(own_copies)),
            format!("state.initial={}", if full { "full" } else { "fresh" }),
        ];
        let keys = keys.each_ref().map(String::as_str);
        let device = study(shape.pages, u32::try_from(logical).unwrap(), shape.blocks, &keys);
        let mut plain = PageMap::new(shape, device.exported_units);
        if full {
            plain.fill();
        }
        let mut requests = Vec::new();
        for _ in 0..1_500 {
            let lpn = random.below(u64::from(device.exported_units));
            let op = random.pick(&[READ, WRITE, WRITE, WRITE, WRITE, WRITE, TRIM]);
            requests.push(request(0, op, lpn, 1));
            let lpn = u32::try_from(lpn).unwrap();
            match op {
                READ => plain.read(lpn),
                WRITE => plain.write(lpn),
                _ => plain.trim(lpn),
            }
        }
        let (report, run) = record(&device, &[], &requests);
        assert!(operations(&run) == plain.log, "{shape:?}: other operations");
        assert_eq!((report.gc.jobs, report.gc.searches), (plain.jobs, plain.searches), "{shape:?}");
    }
}

/// After the run blocks are collected until as many are free as at the start; what is done then is
/// counted apart and charged to nobody. A device that was fresh cannot win all blocks back.
#[test]
fn the_free_pool_is_restored_after_the_run() {
    for (initial, start) in [("full", 8), ("fresh", 40)] {
        let initial = format!("state.initial={initial}");
        let device = study(8, 32, 40, &["gc.restore=true", &initial]);
        let shape = Shape {
            pages: 8,
            blocks: 40,
            reserve: 1,
            window: Window::Share(1_000_000),
            own_copies: false,
        };
        let mut plain = PageMap::new(shape, device.exported_units);
        if start == 8 {
            plain.fill();
        }
        let requests = page_writes(3, 1_000, u64::from(device.exported_units));
        let lpns = requests.iter().map(|request| u32::try_from(request.first_sector / 8).unwrap());
        lpns.for_each(|lpn| plain.write(lpn));
        let (jobs, free) = (plain.jobs, plain.free());
        plain.restore(start);
        assert_eq!(plain.free(), 8, "all that is valid lies in 32 full blocks");
        let (report, run) = record(&device, &[], &requests);
        assert!(operations(&run) == plain.log);
        assert!(plain.jobs > jobs && plain.free() > free, "{plain:?}");
        let post = &report.flash.phases["post"];
        assert_eq!(post["erase"], plain.jobs - jobs);
        let unattributed = report.energy_pj.unattributed;
        assert!(unattributed > post["erase"] * 1_500_000 * 352, "erases after the run");
    }
}

/// One job on every plane, asked for from outside, whatever is free; a plane where nothing gains
/// has none.
#[test]
fn a_collection_can_be_asked_for() {
    let planes = ["geometry.channels=2", "gc.soft_free_blocks=1"];
    let mut device = Device::new(&study(8, 32, 40, &planes));
    device.check();
    // Planes take turns: the second one keeps what it holds.
    let mut requests = pages(WRITE, &[0, 2, 6, 8]).into_iter();
    let source = || Ok::<_, Infallible>(requests.next());
    let host = StreamKeys::default();
    let stream = Stream { name: "w".to_string(), keys: host, source: Box::new(source) };
    device.run_phase(&PhaseKeys::default(), vec![stream]).unwrap();
    device.upkeep(Upkeep::Collect).unwrap();
    device.upkeep(Upkeep::Collect).unwrap();
    // Blocks of 8 pages of every other logical page: 0, 2, 6 and 8 were all in the first one.
    let report = device.finish().unwrap();
    assert_eq!(counts(&report), [0, 4, 4, 4, 1, 1, 1]);
    assert_eq!(report.flash.phases["post"]["erase"], 1);
}

/// Searches take time before a job's first command, which the waiting write sees as firmware; what
/// is done does not change.
#[test]
fn searches_take_the_time_that_the_key_says() {
    let free = study(8, 32, 38, &[]);
    let timed = study(8, 32, 38, &["gc.search_us=2.5"]);
    let requests = page_writes(1, 2_000, 256);
    let (before, fast) = record(&free, &[], &requests);
    let (after, slow) = record(&timed, &[], &requests);
    assert_eq!(operations(&fast), operations(&slow));
    assert_eq!(after.gc.searches, 18_064);
    let more = after.throughput.makespan_ns - before.throughput.makespan_ns;
    assert_eq!(more, 18_064 * 2_500);
    // One request at a time: each search is part of one request's time outside the queue.
    let firmware: u64 = slow.requests.iter().map(|done| done.parts.get(Part::Firmware)).sum();
    assert_eq!(firmware, more);
}

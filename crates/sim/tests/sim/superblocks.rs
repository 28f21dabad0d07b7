//! Log blocks that are superblocks, one block of each plane (`ftl.log_span`): worked examples, and
//! two ways to come to the same counts. Random devices are in `random_devices` and `random_hosts`.

use crate::common::{Random, record, request, settings, try_settings, write};
use flashyard_core::command::{Op, Purpose};
use flashyard_core::request::{Request, RequestOp};
use flashyard_sim::config::Settings;
use flashyard_sim::parts::log::PLANNING;
use flashyard_sim::report::Report;

/// A full device of two dies with a plane each: 4 logical superblocks of 8 pages, 8 physical ones,
/// and no time on the channels.
fn two_planes(scheme: &str, keys: &[&str]) -> Settings {
    let scheme = format!("ftl.scheme={scheme}");
    let base = [
        "geometry.channels=2",
        "geometry.ways=1",
        "geometry.blocks_per_plane=8",
        "geometry.pages_per_block=4",
        "ftl.over_provisioning_percent=100",
        "nand.read_us=100",
        "nand.program_us=400",
        "nand.erase_us=1500",
        "energy.read_pj=47",
        "energy.program_pj=380",
        "energy.erase_pj=5277",
        "nand.program_order=any",
        "map.store=resident",
        "policy.command=fifo",
        "state.initial=full",
        "ftl.log_span=superblock",
        "ftl.finish=true",
        &scheme,
    ];
    let settings = settings(&[&base, keys].concat());
    assert_eq!(settings.exported_units, 32, "32 logical pages in 64 physical ones");
    settings
}

/// Writes of single pages, a millisecond apart, then the merge of every log superblock. Returns the
/// report, and how long the merges took in microseconds.
fn merged(settings: &Settings, lpns: &[u64]) -> (Report, u64) {
    let writes: Vec<_> = (0..).zip(lpns).map(|(at, &lpn)| write(1_000 * at, lpn)).collect();
    let (report, run) = record(settings, &[], &writes);
    let merges = || run.commands.iter().filter(|done| done.purpose == Purpose::Merge);
    let first = merges().map(|done| done.start).min().expect("there is a merge");
    let last = merges().map(|done| done.end).max().expect("there is a merge");
    (report, last.since(first).as_ns() / 1_000)
}

/// What an example takes: the pages that are written, and of the merges switch, partial, full and
/// dead ones, copied pages, erased blocks (two a superblock) and microseconds.
struct Example {
    scheme: &'static str,
    keys: &'static [&'static str],
    writes: &'static [u64],
    merges: [u64; 4],
    copies: u64,
    erases: u64,
    us: u64,
}

/// Superblock 0 holds the pages 0 to 7: the even ones on plane 0, the odd ones on plane 1.
const EXAMPLES: &[Example] = &[
    // All pages of the log superblock at their own place: it becomes the data superblock, whose old
    // blocks are erased at the same time.
    Example {
        scheme: "bast",
        keys: &[],
        writes: &[0, 1, 2, 3, 4, 5, 6, 7],
        merges: [1, 0, 0, 0],
        copies: 0,
        erases: 2,
        us: 1_500,
    },
    // Pages 2 to 7 are copied, three on each plane, each of which takes 500 us; then 2 erases.
    Example {
        scheme: "bast",
        keys: &[],
        writes: &[0, 1],
        merges: [0, 1, 0, 0],
        copies: 6,
        erases: 2,
        us: 3 * 500 + 1_500,
    },
    // Page 1 is in the first page of the log superblock, which is on plane 0. Both planes begin
    // with a read there (100 us more for plane 1, and for plane 0, since reads go before programs).
    // So 4 copies take 100 + 4 * 500 us on each plane, then the data and the log superblock are
    // erased, one block of each on each plane.
    Example {
        scheme: "bast",
        keys: &[],
        writes: &[1],
        merges: [0, 0, 1, 0],
        copies: 8,
        erases: 4,
        us: 100 + 4 * 500 + 2 * 1_500,
    },
    // Six pages of three superblocks, each page next in the shared log superblock: 3 full merges.
    // Pages 17 and 16 are in the log at 2 and 3: they change planes, both at the same time. All the
    // others stay on their planes. Each merge copies 4 pages on each plane and erases the data
    // superblock, and the last one erases the log superblock.
    Example {
        scheme: "fast",
        keys: &["ftl.fast.log_blocks=2", "ftl.fast.sequential_log=false"],
        writes: &[8, 9, 17, 16, 26, 25],
        merges: [0, 0, 3, 0],
        copies: 24,
        erases: 8,
        us: 12 * 500 + 4 * 1_500,
    },
    // The sequential log superblock takes the pages of one row after the other on all planes.
    Example {
        scheme: "fast",
        keys: &["ftl.fast.log_blocks=2"],
        writes: &[8, 9, 10],
        merges: [0, 1, 0, 0],
        copies: 5,
        erases: 2,
        us: 3 * 500 + 1_500,
    },
];

#[test]
fn examples_take_what_they_take_by_hand() {
    for (number, example) in EXAMPLES.iter().enumerate() {
        let settings = two_planes(example.scheme, example.keys);
        let (report, us) = merged(&settings, example.writes);
        let merges = &report.gc.merges;
        let found = [merges.switch, merges.partial, merges.full, merges.dead];
        assert_eq!(found, example.merges, "example {number}");
        let pages = &report.flash.pages;
        assert_eq!(pages["programs"]["host"], example.writes.len() as u64, "example {number}");
        for op in ["reads", "programs"] {
            assert_eq!(pages[op]["merge"], example.copies, "example {number}: {op}");
        }
        assert_eq!(pages["erases"]["merge"], example.erases, "example {number}");
        assert_eq!(us, example.us, "example {number}: microseconds");
        // Energy is a product of these counts, and all of it is that of merges or of the host.
        let energy = &settings.keys.energy;
        let merge = example.copies * (energy.read_pj + energy.program_pj)
            + example.erases * energy.erase_pj;
        assert_eq!(report.energy_pj.by_purpose["merge"], merge, "example {number}: energy");
    }
}

/// The full merge of the third example, command by command: where it reads, programs and erases.
#[test]
fn copies_are_read_where_the_log_page_is() {
    let keys = ["gc.timing=background", "gc.idle_us=1000"];
    let device = two_planes("bast", &keys);
    // A read a second later, so that the gap is used.
    let requests = [write(0, 1), request(1_000_000, RequestOp::Read, 20, 1)];
    let (report, run) = record(&device, &[], &requests);
    assert_eq!(report.gc.merges.full, 1);
    let done = |op: Op, die: u32| {
        let of = run.commands.iter().filter(|done| done.purpose == Purpose::Merge);
        of.filter(|done| done.op == op && done.die.get() == die).count()
    };
    let counts = [Op::Read, Op::Program, Op::Erase].map(|op| [done(op, 0), done(op, 1)]);
    assert_eq!(counts, [[5, 3], [4, 4], [2, 2]]);
    // No block is erased before the last copy, on any plane.
    let merges = || run.commands.iter().filter(|done| done.purpose == Purpose::Merge);
    let last_copy = merges().filter(|done| done.op == Op::Program).map(|done| done.end).max();
    let first_erase = merges().filter(|done| done.op == Op::Erase).map(|done| done.start).min();
    assert!(first_erase >= last_copy, "{first_erase:?} {last_copy:?}");
}

/// Requests for a device of `pages` pages, single ones and runs, with trims.
fn mixed(random: &mut Random, pages: u64) -> Vec<Request> {
    (0..400)
        .map(|at| {
            let length = random.pick(&[1, 1, 1, 3, 16]);
            let op = if random.below(12) == 0 { RequestOp::Trim } else { RequestOp::Write };
            request(50 * at, op, random.below(pages - length), u32::try_from(length).unwrap())
        })
        .collect()
}

/// A layer over four planes does the same merges and copies as a layer over one plane whose blocks
/// are as large as a superblock. Each erase of the one is four erases of the other.
#[test]
fn a_superblock_is_a_larger_block_that_is_erased_in_parts() {
    for (seed, scheme) in (0..3 * PLANNING.len() as u64).zip(PLANNING.iter().cycle()) {
        let random = &mut Random(seed);
        let order = random.pick(&["any", "ascending"]);
        let stripes = random.pick(&["cwdp", "pdwc"]);
        let run = |shape: &[&str]| {
            let base = [
                "geometry.blocks_per_plane=20".to_string(),
                "ftl.over_provisioning_percent=60".to_string(),
                "map.store=resident".to_string(),
                "state.initial=full".to_string(),
                format!("ftl.scheme={scheme}"),
                format!("nand.program_order={order}"),
                format!("ftl.stripe_order={stripes}"),
                "ftl.block.coalesce=true".to_string(),
            ];
            let keys = base.iter().map(String::as_str).chain(shape.iter().copied());
            let device = settings(&keys.collect::<Vec<_>>());
            let requests = mixed(&mut Random(seed + 100), u64::from(device.exported_units));
            record(&device, &[], &requests).0
        };
        let wide = run(&[
            "geometry.channels=2",
            "geometry.ways=1",
            "geometry.planes=2",
            "geometry.pages_per_block=8",
            "ftl.log_span=superblock",
        ]);
        let large = run(&["geometry.pages_per_block=32"]);
        let merges = |report: &Report| {
            let merges = &report.gc.merges;
            [merges.switch, merges.partial, merges.full, merges.dead, report.gc.searches]
        };
        assert_eq!(merges(&wide), merges(&large), "seed {seed}, {scheme}");
        let pages = [&wide, &large].map(|report| &report.flash.pages);
        for op in ["reads", "programs"] {
            assert_eq!(pages[0][op]["merge"], pages[1][op]["merge"], "seed {seed}, {scheme}");
        }
        let erases = pages.map(|pages| pages["erases"]["merge"]);
        assert_eq!(erases[0], 4 * erases[1], "seed {seed}, {scheme}");
        assert!(erases[1] > 20, "seed {seed}, {scheme}: {} erases", erases[1]);
        assert_eq!(wide.memory.table_bytes, large.memory.table_bytes, "{scheme}");
    }
}

/// On one plane a superblock is a block, and nothing is different.
#[test]
fn with_one_plane_both_spans_are_one() {
    for (seed, scheme) in (0..).zip(PLANNING) {
        for buffer in ["buffer.bytes=0", "buffer.bytes=65536"] {
            let run = |span: &str| {
                let scheme = format!("ftl.scheme={scheme}");
                let span = format!("ftl.log_span={span}");
                let device = settings(&[
                    "geometry.blocks_per_plane=20",
                    "geometry.pages_per_block=8",
                    "ftl.over_provisioning_percent=60",
                    "map.store=resident",
                    "nand.program_order=ascending",
                    "state.initial=full",
                    "ftl.finish=true",
                    "gc.timing=background",
                    "gc.idle_us=2000",
                    buffer,
                    &scheme,
                    &span,
                ]);
                let requests = mixed(&mut Random(seed), u64::from(device.exported_units));
                let (report, run) = record(&device, &[], &requests);
                format!("{report:?} {:?} {:?}", run.commands, run.requests)
            };
            assert!(run("plane") == run("superblock"), "{scheme}, {buffer}");
        }
    }
}

/// A gap without requests is used for one piece of work of the device, and a rate is counted in
/// superblocks of the device.
#[test]
fn idle_gaps_merge_one_log_superblock() {
    let base = ["gc.timing=background", "gc.idle_us=1000"];
    let rate = ["gc.background_period_us=300000", "gc.background_blocks=1"];
    // Three writes to three superblocks, then reads a second apart.
    let writes = [write(0, 1), write(0, 9), write(0, 17)];
    let reads = (1..=5).map(|second| request(second * 1_000_000, RequestOp::Read, 0, 1));
    let requests: Vec<_> = writes.into_iter().chain(reads).collect();
    let at = |keys: &[&str]| {
        let device = two_planes("bast", &[&base[..], &["ftl.bast.log_blocks=2"], keys].concat());
        let (report, run) = record(&device, &[], &requests);
        assert_eq!(report.gc.merges.full, 3, "one in the way of a write, two in idle times");
        let erases = run.commands.iter().filter(|done| done.op == Op::Erase);
        erases.map(|done| done.end.as_ns() / 300_000_000).collect::<Vec<_>>()
    };
    assert_eq!(at(&[]), [0, 0, 0, 0, 3, 3, 3, 3, 6, 6, 6, 6]);
    assert_eq!(at(&rate), [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1]);
    assert_eq!(at(&[&rate[..], &["gc.background_blocks=2"]].concat()), [0; 12]);
}

#[test]
fn what_does_not_go_with_superblocks_is_refused_by_name() {
    let base = [
        "geometry.channels=2",
        "geometry.blocks_per_plane=40",
        "geometry.pages_per_block=8",
        "ftl.over_provisioning_percent=50",
        "map.store=resident",
        "nand.program_order=any",
        "ftl.log_span=superblock",
    ];
    let why = |keys: &[&str]| try_settings(&[&base, keys].concat()).err().unwrap_or_default();
    for (key, value) in [
        ("ftl.merge_first", "true"),
        ("gc.copyback", "true"),
        ("queue.slots_scope", "die"),
        ("queue.die_depth", "4"),
    ] {
        let setting = format!("{key}={value}");
        let why_not = why(&["ftl.scheme=fast", &setting]);
        assert!(why_not.contains(&format!("{key}: with ftl.log_span")), "{key}: {why_not}");
        // It has no effect, and refuses nothing, where no layer plans.
        assert_eq!(why(&["ftl.scheme=page", &setting]), "", "{key}");
    }
    assert_eq!(why(&["ftl.scheme=fast"]), "");
    let few = why(&["ftl.scheme=fast", "ftl.over_provisioning_percent=2"]);
    assert!(few.contains("superblocks, of "), "{few}");
}

//! Block mapping, BAST, FAST and LAST on a device that does one thing at a time: worked examples,
//! each small enough to follow by hand, and runs that two other implementations agree on.

use crate::common::{Random, seeds};
use flashyard_core::policy::PolicyName;
use flashyard_core::request::{Request, RequestOp};
use flashyard_core::units::Time;
use flashyard_sim::device::{Device, PhaseKeys, Upkeep};
use flashyard_sim::observe::Observer;
use flashyard_sim::parts::log::PLANNING;
use flashyard_sim::report::Report;
use flashyard_sim::stream::{Stream, StreamKeys};
use std::convert::Infallible;

/// An example: what is done to a device that was written once in order, and what it takes.
struct Case {
    id: &'static str,
    scheme: &'static str,
    /// Pages of a block, logical and physical blocks.
    shape: [u32; 3],
    keys: &'static [&'static str],
    /// `W l n` and `R l n` write and read n pages (1) from l on; `I` merges every log block;
    /// `RND seed n writes sequential longest` draws n requests.
    steps: &'static str,
    /// Pages read and programmed for the host, and by merges.
    host: [u64; 2],
    copies: [u64; 2],
    erases: u64,
    /// Switch, partial, full, dead.
    merges: [Option<u64>; 4],
    searches: Option<u64>,
    energy_nj: u64,
    busy_ns: u64,
}

/// Costs of an operation: Park et al. 2011, Table 1.
const ENERGY_NJ: [u64; 3] = [4_720, 38_040, 527_680];
const TIME_NS: [u64; 3] = [130_900, 405_900, 1_500_000];

const CASES: &[Case] = &[
    Case {
        id: "BM1",
        scheme: "block",
        shape: [4, 4, 8],
        keys: &[],
        steps: "W 1",
        host: [0, 1],
        copies: [3, 3],
        erases: 1,
        merges: [None, None, Some(1), None],
        searches: None,
        energy_nj: 694_000,
        busy_ns: 3_516_300,
    },
    Case {
        id: "BM2",
        scheme: "block",
        shape: [4, 4, 8],
        keys: &[],
        steps: "W 0; W 1; W 2; W 3",
        host: [0, 4],
        copies: [12, 12],
        erases: 4,
        merges: [None, None, Some(4), None],
        searches: None,
        energy_nj: 2_776_000,
        busy_ns: 14_065_200,
    },
    Case {
        id: "BA1",
        scheme: "bast",
        shape: [4, 4, 8],
        keys: &["ftl.bast.log_blocks=2"],
        steps: "W 0; W 1; W 2; W 3; I",
        host: [0, 4],
        copies: [0, 0],
        erases: 1,
        merges: [Some(1), None, None, None],
        searches: None,
        energy_nj: 679_840,
        busy_ns: 3_123_600,
    },
    Case {
        id: "BA2",
        scheme: "bast",
        shape: [4, 4, 8],
        keys: &["ftl.bast.log_blocks=2"],
        steps: "W 0; W 1; I",
        host: [0, 2],
        copies: [2, 2],
        erases: 1,
        merges: [None, Some(1), None, None],
        searches: None,
        energy_nj: 689_280,
        busy_ns: 3_385_400,
    },
    Case {
        id: "BA3",
        scheme: "bast",
        shape: [4, 4, 8],
        keys: &["ftl.bast.log_blocks=2"],
        steps: "W 0; W 1; W 1; W 0; I",
        host: [0, 4],
        copies: [4, 4],
        erases: 2,
        merges: [None, None, Some(1), None],
        searches: None,
        energy_nj: 1_378_560,
        busy_ns: 6_770_800,
    },
    Case {
        id: "BA4",
        scheme: "bast",
        shape: [4, 4, 8],
        keys: &["ftl.bast.log_blocks=2"],
        steps: "W 1; W 5; W 9",
        host: [0, 3],
        copies: [4, 4],
        erases: 2,
        merges: [None, None, Some(1), None],
        searches: None,
        energy_nj: 1_340_520,
        busy_ns: 6_364_900,
    },
    Case {
        id: "BA4i",
        scheme: "bast",
        shape: [4, 4, 8],
        keys: &["ftl.bast.log_blocks=2"],
        steps: "W 1; W 5; W 9; I",
        host: [0, 3],
        copies: [12, 12],
        erases: 6,
        merges: [None, None, Some(3), None],
        searches: None,
        energy_nj: 3_793_320,
        busy_ns: 16_659_300,
    },
    Case {
        id: "BA5",
        scheme: "bast",
        shape: [4, 4, 8],
        keys: &["ftl.bast.log_blocks=2"],
        steps: "W 1; W 2; W 3; W 1; W 2",
        host: [0, 5],
        copies: [4, 4],
        erases: 2,
        merges: [None, None, Some(1), None],
        searches: None,
        energy_nj: 1_416_600,
        busy_ns: 7_176_700,
    },
    Case {
        id: "BA6f",
        scheme: "bast",
        shape: [4, 4, 8],
        keys: &["ftl.bast.log_blocks=2", "ftl.bast.victim=fifo"],
        steps: "W 1; W 5; W 2; W 9; W 6",
        host: [0, 5],
        copies: [4, 4],
        erases: 2,
        merges: [None, None, Some(1), None],
        searches: None,
        energy_nj: 1_416_600,
        busy_ns: 7_176_700,
    },
    Case {
        id: "FA1",
        scheme: "fast",
        shape: [4, 4, 8],
        keys: &["ftl.fast.log_blocks=2"],
        steps: "W 0; W 1; W 2; W 3; I",
        host: [0, 4],
        copies: [0, 0],
        erases: 1,
        merges: [Some(1), None, None, None],
        searches: None,
        energy_nj: 679_840,
        busy_ns: 3_123_600,
    },
    Case {
        id: "FA2",
        scheme: "fast",
        shape: [4, 4, 8],
        keys: &["ftl.fast.log_blocks=2"],
        steps: "W 0; W 1; I",
        host: [0, 2],
        copies: [2, 2],
        erases: 1,
        merges: [None, Some(1), None, None],
        searches: None,
        energy_nj: 689_280,
        busy_ns: 3_385_400,
    },
    Case {
        id: "FA3",
        scheme: "fast",
        shape: [4, 4, 8],
        keys: &["ftl.fast.log_blocks=2"],
        steps: "W 1; W 5; W 9; W 13; W 2",
        host: [0, 5],
        copies: [16, 16],
        erases: 5,
        merges: [None, None, Some(4), None],
        searches: None,
        energy_nj: 3_512_760,
        busy_ns: 18_118_300,
    },
    Case {
        id: "FA3i",
        scheme: "fast",
        shape: [4, 4, 8],
        keys: &["ftl.fast.log_blocks=2"],
        steps: "W 1; W 5; W 9; W 13; W 2; I",
        host: [0, 5],
        copies: [20, 20],
        erases: 7,
        merges: [None, None, Some(5), None],
        searches: None,
        energy_nj: 4_739_160,
        busy_ns: 23_265_500,
    },
    Case {
        id: "FA4",
        scheme: "fast",
        shape: [4, 4, 8],
        keys: &["ftl.fast.log_blocks=2"],
        steps: "W 1; W 1; W 1; W 5; W 9",
        host: [0, 5],
        copies: [8, 8],
        erases: 3,
        merges: [None, None, Some(2), None],
        searches: None,
        energy_nj: 2_115_320,
        busy_ns: 10_823_900,
    },
    Case {
        id: "FA5",
        scheme: "fast",
        shape: [4, 4, 8],
        keys: &["ftl.fast.log_blocks=2"],
        steps: "W 0; W 1; W 3",
        host: [0, 3],
        copies: [2, 2],
        erases: 1,
        merges: [None, Some(1), None, None],
        searches: None,
        energy_nj: 727_320,
        busy_ns: 3_791_300,
    },
    Case {
        id: "FA5i",
        scheme: "fast",
        shape: [4, 4, 8],
        keys: &["ftl.fast.log_blocks=2"],
        steps: "W 0; W 1; W 3; I",
        host: [0, 3],
        copies: [6, 6],
        erases: 3,
        merges: [None, Some(1), Some(1), None],
        searches: None,
        energy_nj: 1_953_720,
        busy_ns: 8_938_500,
    },
    Case {
        id: "FA5v",
        scheme: "fast",
        shape: [4, 4, 8],
        keys: &["ftl.fast.log_blocks=2", "ftl.fast.broken_run=keep"],
        steps: "W 0; W 1; W 3; I",
        host: [0, 3],
        copies: [2, 2],
        erases: 2,
        merges: [None, Some(1), Some(0), Some(1)],
        searches: None,
        energy_nj: 1_255_000,
        busy_ns: 5_291_300,
    },
    Case {
        id: "FA6",
        scheme: "fast",
        shape: [4, 4, 8],
        keys: &["ftl.fast.log_blocks=2"],
        steps: "W 0; W 1; W 2; W 3; W 4; W 8",
        host: [0, 6],
        copies: [3, 3],
        erases: 2,
        merges: [Some(1), Some(1), None, None],
        searches: None,
        energy_nj: 1_411_880,
        busy_ns: 7_045_800,
    },
    Case {
        id: "FA7",
        scheme: "fast",
        shape: [4, 4, 9],
        keys: &["ftl.fast.log_blocks=3"],
        steps: "W 1; W 2; W 5; W 6; W 1; W 2; W 5; W 6; W 9",
        host: [0, 9],
        copies: [0, 0],
        erases: 1,
        merges: [None, None, Some(0), Some(1)],
        searches: None,
        energy_nj: 870_040,
        busy_ns: 5_153_100,
    },
    Case {
        id: "FA9",
        scheme: "fast",
        shape: [4, 4, 8],
        keys: &["ftl.fast.log_blocks=2"],
        steps: "W 0 2; W 4 2; W 2 2; W 6 2; I",
        host: [0, 8],
        copies: [6, 6],
        erases: 4,
        merges: [Some(1), Some(1), Some(1), None],
        searches: None,
        energy_nj: 2_671_600,
        busy_ns: 12_468_000,
    },
    Case {
        id: "LA1",
        scheme: "last",
        shape: [4, 4, 10],
        keys: &[
            "ftl.last.log_blocks=4",
            "ftl.last.sequential_blocks=2",
            "ftl.last.hot_percent=50",
            "ftl.last.threshold_bytes=4096",
        ],
        steps: "W 0 2; W 4 2; W 2 2; W 6 2; I",
        host: [0, 8],
        copies: [0, 0],
        erases: 2,
        merges: [Some(2), None, None, None],
        searches: None,
        energy_nj: 1_359_680,
        busy_ns: 6_247_200,
    },
    Case {
        id: "LA1b",
        scheme: "last",
        shape: [4, 4, 10],
        keys: &[
            "ftl.last.log_blocks=4",
            "ftl.last.sequential_blocks=2",
            "ftl.last.hot_percent=50",
            "ftl.last.threshold_bytes=4096",
        ],
        steps: "W 0 4; W 4 4; W 8 4",
        host: [0, 12],
        copies: [0, 0],
        erases: 1,
        merges: [Some(1), None, None, None],
        searches: None,
        energy_nj: 984_160,
        busy_ns: 6_370_800,
    },
    Case {
        id: "LA3f",
        scheme: "fast",
        shape: [4, 4, 9],
        keys: &["ftl.fast.log_blocks=3"],
        steps: "W 1; W 5; W 9; W 13; W 2; W 3; W 6; W 7; W 10",
        host: [0, 9],
        copies: [16, 16],
        erases: 5,
        merges: [None, None, Some(4), None],
        searches: None,
        energy_nj: 3_664_920,
        busy_ns: 19_741_900,
    },
    Case {
        id: "O1-bast",
        scheme: "bast",
        shape: [8, 32, 38],
        keys: &["ftl.bast.log_blocks=4"],
        steps: "RND 1 2000 100 0 1; I",
        host: [0, 2000],
        copies: [13744, 13744],
        erases: 3295,
        merges: [Some(0), Some(189), Some(1553), Some(0)],
        searches: Some(1738),
        energy_nj: 2_402_479_040,
        busy_ns: 13_132_079_200,
    },
    Case {
        id: "O1-fast",
        scheme: "fast",
        shape: [8, 32, 38],
        keys: &["ftl.fast.log_blocks=4"],
        steps: "RND 1 2000 100 0 1; I",
        host: [0, 2000],
        copies: [9841, 9841],
        erases: 1499,
        merges: [Some(0), Some(217), Some(1041), Some(0)],
        searches: Some(220),
        energy_nj: 1_287_873_480,
        busy_ns: 8_342_948_800,
    },
    Case {
        id: "O1-last",
        scheme: "last",
        shape: [8, 32, 38],
        keys: &[
            "ftl.last.log_blocks=4",
            "ftl.last.sequential_blocks=1",
            "ftl.last.hot_percent=34",
            "ftl.last.threshold_bytes=6144",
        ],
        steps: "RND 1 2000 100 0 1; I",
        host: [0, 2000],
        copies: [11648, 11648],
        erases: 1707,
        merges: [Some(0), Some(0), Some(1456), Some(8)],
        searches: Some(1187),
        energy_nj: 1_474_898_240,
        busy_ns: 9_624_946_400,
    },
];

/// The device of an example: one die, no time on the channel, one page at a time, merges before
/// the page that asks for them.
fn settings(case: &Case) -> flashyard_sim::config::Settings {
    let [pages, logical, physical] = case.shape;
    let spare = f64::from(physical - logical) * 100.0 / f64::from(logical);
    let shape = [
        format!("geometry.pages_per_block={pages}"),
        format!("geometry.blocks_per_plane={physical}"),
        format!("ftl.over_provisioning_percent={spare}"),
        format!("ftl.scheme={}", case.scheme),
    ];
    let base = [
        "geometry.page_bytes=2048",
        "nand.read_us=130.9",
        "nand.program_us=405.9",
        "nand.erase_us=1500",
        "nand.program_order=any",
        "map.store=resident",
        "queue.depth=1",
        "policy.command=fifo",
        "state.initial=full",
        "ftl.merge_first=true",
    ];
    let shape = shape.each_ref().map(String::as_str);
    let settings = crate::common::settings(&[&shape[..], &base, case.keys].concat());
    assert_eq!(settings.exported_units, logical * pages, "{}", case.id);
    settings
}

fn request(op: RequestOp, page: u32, pages: u32) -> Request {
    crate::common::request(0, op, 0, 0).at(Time::ZERO).over(u64::from(page) * 4, pages * 4)
}

/// Requests as the examples draw them.
fn draw(numbers: &[u32], pages: u32) -> Vec<Request> {
    let [seed, count, writes, sequential, longest] = *numbers else { panic!("five numbers") };
    let mut random = Random(seed.into());
    let mut below = |bound: u32| {
        let unit = (random.next() >> 11) as f64 / (1u64 << 53) as f64;
        (unit * f64::from(bound)).floor()
    };
    let mut end = 0.0;
    (0..count)
        .map(|_| {
            let is_write = below(100) < f64::from(writes);
            let follows = below(100) < f64::from(sequential);
            let length = 1.0 + below(longest);
            let mut first = below(pages);
            if follows && end + length <= f64::from(pages) {
                first = end;
            }
            first = first.min(f64::from(pages) - length);
            end = first + length;
            let op = if is_write { RequestOp::Write } else { RequestOp::Read };
            let whole = |number: f64| format!("{number}").parse().unwrap();
            request(op, whole(first), whole(length))
        })
        .collect()
}

fn requests(case: &Case) -> (Vec<Request>, bool) {
    let (mut requests, mut merges) = (Vec::new(), false);
    for step in case.steps.split("; ") {
        assert!(!merges, "{}: merges are the last step", case.id);
        let (name, numbers) = step.split_once(' ').unwrap_or((step, ""));
        let numbers: Vec<u32> = numbers.split_whitespace().map(|n| n.parse().unwrap()).collect();
        match name {
            "RND" => requests.extend(draw(&numbers, case.shape[0] * case.shape[1])),
            "W" | "R" => {
                let op = if name == "W" { RequestOp::Write } else { RequestOp::Read };
                let pages = numbers.get(1).copied().unwrap_or(1);
                requests.push(request(op, numbers[0], pages));
            }
            "I" => merges = true,
            other => panic!("{other}"),
        }
    }
    (requests, merges)
}

fn run(case: &Case) -> (Report, u64) {
    let settings = settings(case);
    let (requests, merges) = requests(case);
    let mut device = Device::new(&settings);
    device.check();
    let mut requests = requests.into_iter();
    let source = Box::new(move || Ok::<_, Infallible>(requests.next()));
    let stream = Stream { name: "s".to_string(), keys: StreamKeys::default(), source };
    let phase = device.run_phase(&PhaseKeys::default(), vec![stream]).unwrap();
    if merges {
        device.upkeep(Upkeep::Merge).unwrap();
    }
    (device.finish().unwrap(), phase.makespan_ns)
}

#[test]
fn examples_take_what_they_take_by_hand() {
    for case in CASES {
        let id = case.id;
        let (report, makespan) = run(case);
        let pages = &report.flash.pages;
        let ops = |op: &str| [pages[op]["host"], pages[op]["merge"]];
        let erases = pages["erases"]["merge"];
        assert_eq!(ops("reads"), [case.host[0], case.copies[0]], "{id}: reads");
        assert_eq!(ops("programs"), [case.host[1], case.copies[1]], "{id}: programs");
        assert_eq!(erases, case.erases, "{id}: erases");
        let merges = &report.gc.merges;
        let found = [merges.switch, merges.partial, merges.full, merges.dead];
        for (found, expected) in found.into_iter().zip(case.merges) {
            assert_eq!(found, expected.unwrap_or(found), "{id}: {merges:?}");
        }
        let searches = report.gc.searches;
        assert_eq!(searches, case.searches.unwrap_or(searches), "{id}: searches");
        let counts = [ops("reads").iter().sum(), ops("programs").iter().sum(), erases];
        let sum = |costs: [u64; 3]| -> u64 {
            counts.iter().zip(costs).map(|(count, cost): (&u64, u64)| count * cost).sum()
        };
        assert_eq!(sum(ENERGY_NJ), case.energy_nj, "{id}: energy");
        assert_eq!(sum(TIME_NS), case.busy_ns, "{id}: busy time");
        // Nothing overlaps: the die is busy from the first request to the last answer.
        let post = &report.flash.phases["post"];
        let after: u64 =
            ["read", "program", "erase"].iter().zip(TIME_NS).map(|(op, ns)| post[op] * ns).sum();
        assert_eq!(makespan + after, case.busy_ns, "{id}: time");
    }
}

/// Two sequential log blocks of LAST, and a third stream. The search goes through them in the order
/// of use, up to the first full one, or finds none and takes the first.
#[test]
fn a_search_for_a_sequential_victim_counts_every_block_up_to_a_full_one() {
    let example = CASES.iter().find(|case| case.id == "LA1b").unwrap();
    for (steps, looks) in [
        ("W 0 4; W 4 4; W 8 4", 1),
        ("W 0 2; W 4 4; W 8 4", 2),
        ("W 0 2; W 4 2; W 8 4", 2),
        ("W 4 4; W 0 2; W 8 4", 1),
        ("W 0 4; W 4 4", 0),
    ] {
        let searches = run(&Case { steps, ..*example }).0.gc.searches;
        assert_eq!(searches, looks, "{steps}");
    }
}

/// An observer that looks away: it makes every command an event of its own.
struct Blind;

impl Observer for Blind {}

/// Merges that nobody watches are done without an event for each command; that moves nothing.
#[test]
fn watching_moves_no_result() {
    let base = [
        "geometry.blocks_per_plane=60",
        "geometry.pages_per_block=8",
        "ftl.over_provisioning_percent=30",
        "nand.program_order=any",
        "map.store=resident",
        "gc.timing=background",
        "gc.idle_us=4000",
        "ftl.finish=true",
    ];
    for seed in seeds(0..120) {
        let mut random = Random(seed);
        let drawn = [
            format!("ftl.scheme={}", random.pick(PLANNING)),
            format!("geometry.channels={}", random.pick(&[1, 1, 2])),
            format!("geometry.ways={}", random.pick(&[1, 2])),
            format!("geometry.planes={}", random.pick(&[1, 1, 2])),
            format!("nand.bits_per_cell={}", random.pick(&[1, 2])),
            format!("nand.cache_read={}", random.pick(&[false, true])),
            "nand.program_2_us=1100".to_string(),
            format!("queue.depth={}", random.pick(&[1, 4, 64])),
            format!("queue.admission={}", random.pick(&["request", "page", "atomic"])),
            format!("policy.command={}", random.pick(PolicyName::WORDS)),
            format!("state.initial={}", random.pick(&["fresh", "full", "aged"])),
            format!("ftl.merge_first={}", random.pick(&[false, true])),
            format!("gc.preemptible={}", random.pick(&[false, true])),
            format!("gc.hard_free_blocks={}", random.pick(&[1, 8])),
            format!("gc.search_us={}", random.pick(&[0, 0, 30])),
        ];
        let drawn = drawn.each_ref().map(String::as_str);
        let settings = crate::common::settings(&[&base[..], &drawn].concat());
        let pages = u64::from(settings.exported_units) - 4;
        let gap = random.pick(&[100, 3_000, 20_000]);
        let mut now = 0;
        let requests: Vec<Request> = (0..400)
            .map(|_| {
                now += random.below(gap);
                let write = random.below(4) > 0;
                let op = if write { RequestOp::Write } else { RequestOp::Read };
                let op = if random.below(30) == 0 { RequestOp::Trim } else { op };
                let length = 1 + u32::try_from(random.below(4)).unwrap();
                crate::common::request(now, op, random.below(pages), length)
            })
            .collect();
        let run = |watched: bool| {
            let mut device = Device::new(&settings);
            if watched {
                device.observe(Box::new(Blind));
            }
            let mut requests = requests.iter().copied();
            let report = device.run(|| Ok::<_, Infallible>(requests.next())).unwrap();
            format!("{report:?}")
        };
        let (plain, watched) = (run(false), run(true));
        assert!(plain == watched, "seed {seed}: {drawn:?}\n{plain}\n{watched}");
    }
}

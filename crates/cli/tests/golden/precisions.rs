//! Every FTL and every kind of buffer at every precision of the bus, on four dies that share a
//! channel, under the checker: what each precision changes.
//!
//! Contents never differ: the checker compares the data of every read at every precision. Times do,
//! since they are what a precision is about. So energy differs too: that of status requests and of
//! what takes power while time passes. With constant array times `polled` may be faster than
//! `requests`: a poll is sent so that its answer is taken when the array should be done
//! (`bus.sample_ns`), a single status request when it is done.
//!
//! How much is programmed and erased is the same where nothing but the order of arrival decides it:
//! schemes that plan a write when it is translated, with a host queue that keeps the order, and
//! devices without translation. A page map chooses victims when a die runs short of blocks, a map
//! cache and a buffer write back when they are full: what they find then depends on what has come
//! to an end, so these may differ.
//!
//! `cargo xtask golden --update` writes the table anew.

use flashyard_core::request::{Flags, Request, RequestOp};
use flashyard_core::units::Time;
use flashyard_sim::config::{DeviceKeys, Eviction, Settings, apply_setting};
use flashyard_sim::device::Device;
use flashyard_sim::parts::log::PLANNING;
use flashyard_sim::report::Report;
use flashyard_workload::random::SplitMix64;
use std::convert::Infallible;
use std::fmt::Write;

const HEADER: &str = "\
# Results of every FTL and kind of buffer at every precision of the bus: requests, status requests,
# pages programmed, blocks erased, mean latency of reads and of writes (us), energy (uJ).
# precisions.rs beside it describes the device and the workload, and says what may differ.
#
# This is a regression table, not a proof: the program wrote it itself. A test compares it, so that
# no change moves a result unnoticed. If one does on purpose, write the table anew with
# `cargo xtask golden --update`, read the difference line by line, and say in CHANGELOG.md why the
# new results are right.
";

/// Four dies on a channel that is the bottleneck of reads: 41 us a page, 60 us in the array.
const DEVICE: [&str; 13] = [
    "geometry.ways=4",
    "geometry.blocks_per_plane=32",
    "geometry.pages_per_block=16",
    "channel.ps_per_byte=10000",
    "channel.command_ns=300",
    "nand.program_us=300",
    "nand.program_order=any",
    "policy.command=fifo",
    "map.cache_bytes=256",
    "map.entries_per_page=64",
    "energy.transfer_mw=20",
    "energy.standby_mw=1",
    "queue.depth=64",
];

/// Precisions, each with what it sets.
const PRECISIONS: [(&str, &[&str]); 5] = [
    ("command", &["bus.precision=command"]),
    ("phases", &["bus.precision=phases"]),
    ("requests", &["bus.precision=requests"]),
    ("polled", &["bus.precision=requests", "bus.readiness=polled"]),
    (
        "framework",
        &[
            "bus.precision=requests",
            "bus.timing=framework",
            "bus.readiness=polled",
            "channel.arbitration=framework",
        ],
    ),
];

const REQUESTS: u64 = 1_200;

/// FTLs and buffers by name, each with what it sets, and whether the order of arrival alone decides
/// what is programmed.
fn subjects() -> Vec<(String, Vec<String>, bool)> {
    let full = ["state.initial=full", "ftl.over_provisioning_percent=60"];
    let subject = |name: &str, keys: &[&str], planned| {
        (name.to_owned(), keys.iter().map(|&key| key.to_owned()).collect(), planned)
    };
    let mut subjects: Vec<_> = ["resident", "line_cache", "cmt"]
        .map(|store| {
            let store_key = format!("map.store={store}");
            subject(&format!("page {store}"), &[full[0], full[1], &store_key], false)
        })
        .into();
    subjects.extend(PLANNING.iter().map(|scheme| {
        let key = format!("ftl.scheme={scheme}");
        subject(scheme, &[full[0], full[1], "map.store=resident", &key], true)
    }));
    subjects.push(subject("none", &["map.store=resident", "ftl.scheme=none"], true));
    let ports = ["buffer.ports=read_and_write", "buffer.banks=4", "host.policy=ros"];
    let kinds = Eviction::WORDS.iter().map(|&word| (word, &[][..])).chain([("full", &ports[..])]);
    subjects.extend(kinds.map(|(eviction, more)| {
        let name = if more.is_empty() { eviction } else { "ros" };
        let eviction = format!("buffer.eviction={eviction}");
        let base = [full[0], full[1], "map.store=resident", "buffer.bytes=65536", &eviction];
        subject(&format!("buffer {name}"), &[&base, more].concat(), false)
    }));
    subjects
}

/// Two writes to a read, of one page or of three, four of five of them to an eighth of the device;
/// times of arrival are drawn.
fn requests(capacity_sectors: u64) -> impl Iterator<Item = Request> {
    let pages = (capacity_sectors / 8).min(1_200) - 3;
    let mut random = SplitMix64::new(7);
    let mut now = 0;
    (0..REQUESTS).map(move |_| {
        now += random.below(2_000);
        let range = if random.below(5) < 4 { pages / 8 } else { pages };
        let first_sector = random.below(range) * 8;
        let op = if random.below(3) < 2 { RequestOp::Write } else { RequestOp::Read };
        let sectors = if random.happens(300_000) { 24 } else { 8 };
        let (arrival, flags) = (Time::from_us(now), Flags::NONE);
        Request::new(op, first_sector, sectors).at(arrival).with(flags)
    })
}

fn run<'a>(keys: impl Iterator<Item = &'a str>) -> Report {
    let mut all = DeviceKeys::default();
    let mut problems = Vec::new();
    for setting in keys {
        apply_setting("table", setting, &mut all, &mut problems);
    }
    assert!(problems.is_empty(), "{problems:?}");
    let settings = Settings::new(all).unwrap_or_else(|error| panic!("{error}"));
    let mut device = Device::new(&settings);
    device.check();
    let mut requests = requests(settings.capacity_sectors());
    device.run(|| Ok::<_, Infallible>(requests.next())).expect("the workload fits the device")
}

/// Pages programmed and blocks erased, for all purposes.
fn work(report: &Report) -> [u64; 2] {
    let all = |op: &str| report.flash.pages[op].values().sum();
    [all("programs"), all("erases")]
}

fn row(report: &Report) -> String {
    let requests = report.latency_ns["all"].count;
    let status = report.bus.map_or("-".to_owned(), |bus| bus.status_requests.to_string());
    let [programs, erases] = work(report);
    let [read, write] =
        ["read", "write"].map(|op| report.latency_ns[op].mean.expect("there are both") / 1e3);
    let energy = report.energy_pj.total as f64 / 1e6;
    format!(
        "{requests:>8} {status:>7} {programs:>8} {erases:>6} {read:>12.3} {write:>12.3} \
         {energy:>12.3}"
    )
}

#[test]
fn every_precision_gives_the_results_of_the_table() {
    let mut table = HEADER.to_owned();
    writeln!(
        table,
        "{:<16} {:<9} {:>8} {:>7} {:>8} {:>6} {:>12} {:>12} {:>12}",
        "FTL or buffer",
        "precision",
        "requests",
        "status",
        "programs",
        "erases",
        "read",
        "write",
        "energy"
    )
    .expect("a string grows");
    for (subject, own, planned) in subjects() {
        let reports = PRECISIONS.map(|(_, precision)| {
            let own = own.iter().map(String::as_str);
            run(DEVICE.into_iter().chain(own).chain(precision.iter().copied()))
        });
        for ((precision, _), report) in PRECISIONS.iter().zip(&reports) {
            assert_eq!(report.latency_ns["all"].count, REQUESTS, "{subject} {precision}");
            let same = work(report) == work(&reports[0]);
            assert!(same || !planned, "{subject} {precision}: what is programmed was planned");
            writeln!(table, "{subject:<16} {precision:<9} {}", row(report))
                .expect("a string grows");
        }
    }
    crate::compare("precisions.txt", &table);
}

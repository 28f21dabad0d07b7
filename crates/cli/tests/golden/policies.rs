//! Every command policy on two small devices under a handful of workloads, against the results of
//! an earlier version. It shows what a change moves; it does not show that the results are right.
//!
//! `cargo xtask golden --update` writes the table anew.

use flashyard_core::policy::PolicyName;
use flashyard_sim::config::{DeviceKeys, Settings, apply_setting};
use flashyard_sim::device::{Device, PhaseKeys};
use flashyard_sim::report::{LatencyReport, Report};
use flashyard_sim::stream::{Pacing, Stream, StreamKeys};
use flashyard_workload::generator::BuiltIn;
use flashyard_workload::pattern::BuiltInPattern;
use flashyard_workload::{
    Generator, GeneratorKeys, Pattern, PatternKeys, RequestSource, WorkloadError,
};
use std::fmt::Write;

const HEADER: &str = "\
# Results of every command policy: write amplification, mean and 99th percentile of read and write
# latencies (us), erases. policies.rs beside it describes the devices and workloads.
#
# This is a regression table, not a proof: the program wrote it itself. A test compares it, so that
# no change moves a result unnoticed. If one does on purpose, write the table anew with
# `cargo xtask golden --update`, read the difference line by line, and say in CHANGELOG.md why the
# new results are right.
";

/// A die with its map behind a small cache, and eight with planes, phases on the channel, pages of
/// three kinds, several units a page, suspension; both full and collecting garbage all the time.
const DEVICES: [(&str, &[&str]); 2] = [
    (
        "one-die",
        &[
            "geometry.blocks_per_plane=96",
            "geometry.pages_per_block=32",
            "ftl.over_provisioning_percent=28",
            "map.cache_bytes=1024",
            "map.entries_per_page=256",
            "state.initial=aged",
        ],
    ),
    (
        "eight-dies",
        &[
            "geometry.channels=2",
            "geometry.ways=4",
            "geometry.planes=2",
            "geometry.blocks_per_plane=48",
            "geometry.pages_per_block=24",
            "geometry.page_bytes=16384",
            "ftl.mapping_unit_bytes=4096",
            "ftl.over_provisioning_percent=60",
            "channel.ps_per_byte=2500",
            "channel.command_ns=300",
            "nand.bits_per_cell=3",
            "nand.read_2_us=80",
            "nand.read_3_us=110",
            "nand.program_suspends=2",
            "nand.erase_suspends=2",
            "nand.multi_plane=same_page",
            "map.cache_bytes=4096",
            "map.entries_per_page=1024",
            "state.initial=aged",
        ],
    ),
];

/// Device benchmarks in a closed loop; bursts that come at their own times.
const PATTERNS: [&str; 4] = ["random-read", "random-write", "mixed-70-30", "hot-cold-write"];
const BURSTS: [&str; 2] = ["movie", "booting"];

/// Requests of a run.
const REQUESTS: u64 = 1_500;

fn settings(keys: &[&str], policy: &str) -> Settings {
    let mut all = DeviceKeys::default();
    let mut problems = Vec::new();
    let policy = format!("policy.command={policy}");
    for setting in keys.iter().copied().chain([&*policy]) {
        apply_setting("table", setting, &mut all, &mut problems);
    }
    assert!(problems.is_empty(), "{problems:?}");
    Settings::new(all).unwrap_or_else(|error| panic!("{error}"))
}

/// The source of a workload, and when its requests are issued.
fn workload(name: &str, capacity: u64) -> (Box<dyn RequestSource>, StreamKeys) {
    if let Some(pattern) = BuiltInPattern::from_name(name) {
        let keys = PatternKeys { requests: REQUESTS, ..pattern.keys };
        let source = Pattern::new(&keys, 1, Some(capacity)).expect("the pattern fits");
        let pacing = Pacing::Closed;
        return (
            Box::new(source),
            StreamKeys { pacing, depth: pattern.depth, ..StreamKeys::default() },
        );
    }
    let built_in = BuiltIn::from_name(name).expect("a workload");
    let keys = GeneratorKeys { requests: REQUESTS, ..built_in.keys };
    let source = Generator::new(&keys, 1, Some(capacity)).expect("the workload fits");
    (Box::new(source), StreamKeys::default())
}

fn run(settings: &Settings, name: &str) -> Report {
    let (mut source, keys) = workload(name, settings.capacity_sectors());
    let source = Box::new(move || source.next_request());
    let streams: Vec<Stream<'_, WorkloadError>> =
        vec![Stream { name: name.to_owned(), keys, source }];
    let mut device = Device::new(settings);
    device.run_phase(&PhaseKeys::default(), streams).expect("the workload fits the device");
    device.finish().expect("the energy fits")
}

/// Mean and 99th percentile, in microseconds.
fn latency(of: &LatencyReport) -> String {
    match (of.mean, of.p99) {
        (Some(mean), Some(p99)) => format!("{:>12.3} {:>12.3}", mean / 1e3, p99 as f64 / 1e3),
        _ => format!("{:>12} {:>12}", "-", "-"),
    }
}

fn table() -> String {
    let mut table = HEADER.to_owned();
    writeln!(
        table,
        "{:<10} {:<14} {:<8} {:>8} {:>12} {:>12} {:>12} {:>12} {:>7}",
        "device", "workload", "policy", "WA", "read mean", "p99", "write mean", "p99", "erases"
    )
    .expect("a string grows");
    for (device, keys) in DEVICES {
        for workload in PATTERNS.into_iter().chain(BURSTS) {
            for policy in PolicyName::WORDS {
                let report = run(&settings(keys, policy), workload);
                let wa = report.flash.write_amplification;
                let wa = wa.map_or("-".to_owned(), |wa| format!("{wa:.4}"));
                let [read, write] = ["read", "write"].map(|op| latency(&report.latency_ns[op]));
                let erases: u64 = report.flash.array_ops["erases"].values().sum();
                writeln!(
                    table,
                    "{device:<10} {workload:<14} {policy:<8} {wa:>8} {read} {write} {erases:>7}"
                )
                .expect("a string grows");
            }
        }
    }
    table
}

#[test]
fn every_policy_gives_the_results_of_the_table() {
    crate::compare("policies.txt", &table());
}

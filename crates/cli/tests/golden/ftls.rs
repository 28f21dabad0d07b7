//! Every FTL under three small workloads, against the results of an earlier version: in the
//! composition of the energy study on one die and on four, and on four with a deep queue. It shows
//! what a change moves; it does not show that the results are right.
//!
//! `cargo xtask golden --update` writes the table anew.

use flashyard_sim::parts::log::PLANNING;
use serde_json::Value;
use std::fmt::Write;
use std::process::{Command, Stdio};

const HEADER: &str = "\
# Results of every FTL: pages programmed, blocks erased, merges, victim searches, write
# amplification, mean response (us). ftls.rs beside it describes the devices and workloads.
#
# This is a regression table, not a proof: the program wrote it itself. A test compares it, so that
# no change moves a result unnoticed. If one does on purpose, write the table anew with
# `cargo xtask golden --update`, read the difference line by line, and say in CHANGELOG.md why the
# new results are right.
";

/// Device `ftl-study` with 4,096 exported pages and a quarter as many spare ones, all written.
const SMALL: [&str; 3] =
    ["geometry.pages_per_block=16", "ftl.over_provisioning_percent=25", "state.initial=full"];

/// The study's composition does one thing at a time. The third device differs from the second in
/// what overlaps alone: 32 requests at once, merges behind the page that asked for them.
const DEVICES: [(&str, &[&str]); 3] = [
    ("one-serial", &["geometry.blocks_per_plane=320"]),
    ("four-serial", &["geometry.blocks_per_plane=80", "geometry.channels=2", "geometry.ways=2"]),
    (
        "four-deep",
        &[
            "geometry.blocks_per_plane=80",
            "geometry.channels=2",
            "geometry.ways=2",
            "queue.depth=32",
            "ftl.merge_first=false",
        ],
    ),
];

/// A mix of mostly writes, a mix of mostly reads, and a closed loop of random overwrites.
const WORKLOADS: [(&str, &str); 3] = [
    ("oltp-clustered", "mix.requests=2000"),
    ("olap-clustered", "mix.requests=6000"),
    ("random-write", "pattern.requests=2000"),
];

/// The layers of the energy experiment with their settings, the cache of table lines, and schemes
/// that the experiment does not have.
fn ftls() -> Vec<(String, Vec<String>)> {
    let experiment: toml::Table =
        include_str!("../../../studies/experiments/energy.toml").parse().expect("an experiment");
    let ftls = experiment["subject"].as_array().expect("a list");
    let text = |value: &toml::Value| value.as_str().expect("a text").to_owned();
    // "page map" is page here.
    let short = |name: &str| name.to_lowercase().replace(" map", "");
    let mut ftls: Vec<_> = ftls
        .iter()
        .map(|ftl| {
            let settings = ftl["settings"].as_array().expect("a list").iter().map(text);
            (short(&text(&ftl["name"])), settings.collect())
        })
        .collect();
    let lines = [
        "map.store=line_cache",
        "map.cache_bytes=1024",
        "map.entries_per_page=512",
        "gc.reserve_blocks=2",
    ];
    ftls.push(("line-cache".to_owned(), lines.map(str::to_owned).to_vec()));
    for name in PLANNING {
        let scheme = format!("ftl.scheme={name}");
        if !ftls.iter().any(|(_, settings)| settings.contains(&scheme)) {
            ftls.push(((*name).to_owned(), vec!["map.store=resident".to_owned(), scheme]));
        }
    }
    ftls
}

fn run(workload: &str, settings: &[&str]) -> Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flashyard"));
    command.args(["run", "ftl-study", workload, "--seed", "42", "--json"]);
    command.args(settings.iter().flat_map(|setting| ["--set", setting]));
    let output = command.stdin(Stdio::null()).output().expect("the command runs");
    assert!(output.status.success(), "{settings:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("--json prints JSON")
}

/// The columns of a run.
fn columns(run: &Value) -> String {
    let all = |counts: &Value| -> u64 {
        counts.as_object().expect("counts").values().map(|count| count.as_u64().unwrap()).sum()
    };
    let flash = &run["flash"];
    let [programs, erases] = ["programs", "erases"].map(|op| all(&flash[op]));
    let gc = &run["gc"];
    let merges = ["switch", "partial", "full", "dead"].map(|kind| gc["merges"][kind].as_u64());
    let [switch, partial, full, dead] = merges.map(|count| count.expect("a count"));
    let searches = gc["searches"].as_u64().expect("a count");
    let wa = flash["write_amplification"].as_f64().expect("pages were written");
    let mean = run["latency_ns"]["all"]["mean"].as_f64().expect("requests were answered") / 1e3;
    format!(
        "{programs:>8} {erases:>6} {switch:>6} {partial:>7} {full:>5} {dead:>5} {searches:>8} \
         {wa:>8.4} {mean:>12.3}"
    )
}

fn table() -> String {
    let mut table = HEADER.to_owned();
    writeln!(
        table,
        "{:<14} {:<12} {:<10} {:>8} {:>6} {:>6} {:>7} {:>5} {:>5} {:>8} {:>8} {:>12}",
        "workload",
        "device",
        "FTL",
        "programs",
        "erases",
        "switch",
        "partial",
        "full",
        "dead",
        "searches",
        "WA",
        "mean",
    )
    .expect("a string grows");
    let ftls = ftls();
    for (workload, requests) in WORKLOADS {
        for (device, keys) in DEVICES {
            for (ftl, layer) in &ftls {
                let layer = layer.iter().map(String::as_str);
                let own = SMALL.into_iter().chain(keys.iter().copied()).chain([requests]);
                let run = run(workload, &own.chain(layer).collect::<Vec<_>>());
                writeln!(table, "{workload:<14} {device:<12} {ftl:<10} {}", columns(&run))
                    .expect("a string grows");
            }
        }
    }
    table
}

#[test]
fn every_ftl_gives_the_results_of_the_table() {
    crate::compare("ftls.txt", &table());
}

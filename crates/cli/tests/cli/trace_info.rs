//! `flashyard trace info`: the contract of its JSON, and two workloads side by side.

use crate::contract::{expand, is_a};
use crate::support::{Folder, TRACE, int, is_near, repository_file};
use serde_json::Value;
use std::collections::BTreeSet;

/// Every field of a workload's statistics: its path and type; `[]` is an element of a list.
const FIELDS: &str = "\
clock_epochs integer
dispersion[].index number?
dispersion[].window_ns integer
duration_ns integer
first_ns integer
flushes integer
folded integer
footprint_mib number
footprint_pages integer
highest_sector integer?
interarrival_autocorrelation number?
interarrival_cv number?
interarrival_ns.{max,min,p10,p50,p90,p99} integer?
interarrival_ns_mean number?
last_ns integer
max_back_ns integer
overlap.{any,rar,raw,war,waw}_percent number?
rate.bin_ns integer
rate.bins[].{bytes,reads,requests,writes} integer
rate.{peak_per_s,quiet_percent} number?
{read,write}_bytes integer
{read,write}_kib_mean number?
{read,write}_after_write.distance_{ns,requests}.{max,min,p10,p50,p90,p99} integer?
{read,write}_after_write.percent number?
reads integer
requests integer
requests_per_s number?
reuse.cold_percent number?
reuse.distance_mib.{max,min,p10,p50,p90,p99} number?
reuse.lru[].cache_mib integer
reuse.lru[].hit_percent number?
reuse.page_accesses integer
reuse.sampled_percent number
sequential_percent number?
sequentiality.{read,write}.run_{kib,requests}_mean number?
sequentiality.{read,write}.{sequential,sequential_of_8}_percent number?
sizes.{read,trim,write}.aligned_percent number?
sizes.{read,trim,write}.common[].{kib,percent} number
sizes.{read,trim,write}.common[].requests integer
sizes.{read,trim,write}.kib.{max,min,p10,p50,p90,p99} number?
steps_back integer
stream_requests[].{requests,stream} integer
streams integer
trims integer
working_set[].window_ns integer
working_set[].{max,mean}_mib number?
write_percent number?
writes integer
";

/// Reads, writes and trims, and what is read again.
const MIXED: &str = "[pattern]\nrequests = 3000\ntrim_percent = 20\nread_percent = 40\n";

fn golden() -> Vec<(String, &'static str)> {
    let lines = FIELDS.lines().map(|line| line.split_once(' ').expect("a path and a type"));
    lines
        .flat_map(|(paths, kind)| expand(paths).into_iter().map(move |path| (path, kind)))
        .collect()
}

/// The paths of all values that are neither objects nor lists.
fn leaves(value: &Value, path: &str, found: &mut Vec<(String, Value)>) {
    match value {
        Value::Object(fields) => {
            let dot = if path.is_empty() { "" } else { "." };
            fields
                .iter()
                .for_each(|(name, value)| leaves(value, &format!("{path}{dot}{name}"), found));
        }
        Value::Array(list) => {
            for value in list {
                leaves(value, &format!("{path}[]"), found);
            }
        }
        _ => found.push((path.to_string(), value.clone())),
    }
}

fn folder() -> Folder {
    let folder = Folder::with("t.txt", TRACE);
    folder.write("mixed.toml", MIXED);
    folder.write("empty.txt", "0 0 0 8 1\n");
    folder
}

#[test]
fn no_field_is_renamed_removed_or_of_another_type() {
    let (folder, golden) = (folder(), golden());
    for workload in ["t.txt", "mixed.toml", "empty.txt"] {
        let mut found = Vec::new();
        leaves(&folder.run(&["trace", "info", workload, "--json"]).json(), "", &mut found);
        let paths: BTreeSet<&str> = found.iter().map(|(path, _)| path.as_str()).collect();
        let known: BTreeSet<&str> = golden.iter().map(|(path, _)| path.as_str()).collect();
        let new: Vec<_> = paths.difference(&known).collect();
        assert!(new.is_empty(), "add to FIELDS and to docs/JSON.md: {new:?}");
        // Without trims there are no common sizes of trims.
        let missing = known.difference(&paths).filter(|path| !path.contains(".common[]"));
        let missing: Vec<_> = missing.collect();
        assert!(missing.is_empty(), "missing from the output: {missing:?}");
        assert!(workload != "mixed.toml" || known == paths, "all are there");
        for (path, value) in &found {
            let kind = golden.iter().find(|(known, _)| known == path).map(|(_, kind)| kind);
            assert!(kind.is_some_and(|kind| is_a(kind, value)), "{workload}: {path} is {value}");
        }
    }
}

#[test]
fn every_field_is_documented() {
    let document = repository_file("docs/JSON.md");
    let section = document.split("## A workload: ").nth(1).expect("the section is there");
    let section = section.split("\n## ").next().unwrap();
    let words: BTreeSet<&str> = section.split('`').skip(1).step_by(2).collect();
    let paths = golden().into_iter().map(|(path, _)| path.replace("[]", ""));
    let missing: BTreeSet<String> = paths
        .flat_map(|path| path.split('.').map(String::from).collect::<Vec<_>>())
        .filter(|name| !words.contains(name.as_str()))
        .collect();
    assert!(missing.is_empty(), "docs/JSON.md does not name {missing:?}");
}

#[test]
fn two_workloads_are_those_of_two_calls() {
    let folder = folder();
    let info = |workload: &str| folder.run(&["trace", "info", workload, "--json"]).json();
    let both = folder.run(&["trace", "info", "t.txt", "--compare", "mixed.toml", "--json"]).json();
    assert_eq!(both["names"], serde_json::json!(["t.txt", "mixed.toml"]));
    assert_eq!((&both["a"], &both["b"]), (&info("t.txt"), &info("mixed.toml")));
    let figures = both["figures"].as_array().unwrap();
    let writes = figures.iter().find(|f| f["name"] == "writes" && f["unit"] == "%").unwrap();
    assert!(is_near(&writes["a"], 40.0), "{writes}");
    assert_eq!(writes["b"], both["b"]["write_percent"]);
    let table = folder.run(&["trace", "info", "t.txt", "--compare", "mixed.toml"]).text();
    assert!(table.starts_with("a: t.txt\nb: mixed.toml\n"), "{table}");
    let line = table.lines().find(|line| line.starts_with("requests ")).unwrap();
    assert_eq!(line.split_whitespace().collect::<Vec<_>>(), ["requests", "5", "3000", "600.000"]);
}

#[test]
fn settings_are_for_the_workloads_that_have_them() {
    let folder = folder();
    let both = |other: &str, set: &[&str]| {
        let args = [&["trace", "info", "t.txt", "--compare", other, "--json"], set].concat();
        folder.run(&args)
    };
    let scaled = both("t.txt", &["--set", "trace.time_scale=3"]).json();
    assert_eq!(int(&scaled["a"], "duration_ns"), 27_000_000);
    assert_eq!(int(&scaled["b"], "duration_ns"), 27_000_000);
    let set = ["--set", "trace.time_scale=3", "--set", "pattern.requests=7"];
    let each = both("mixed.toml", &set).json();
    assert_eq!(int(&each["a"], "duration_ns"), 27_000_000);
    assert_eq!(int(&each["b"], "requests"), 7);
    // A setting that none of them has is refused.
    let ran = both("t.txt", &["--set", "generator.requests=7"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (Some(2), ""));
    assert!(ran.stderr.contains("generator.requests=7"), "{}", ran.stderr);
    let ran = folder.run(&["trace", "info", "-", "--compare", "-"]);
    let message = "error: -: standard input can be read only once: save it to a file\n";
    assert_eq!((ran.status, ran.stderr.as_str()), (Some(2), message));
}

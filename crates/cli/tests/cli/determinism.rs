//! The same command gives the same bytes, on any number of threads; comparisons and studies hold
//! what they promise.

use crate::support::{Folder, Ran, finish, without_command};
use serde_json::Value;
use std::process::Stdio;

fn run_on(folder: &Folder, threads: &str, args: &[&str]) -> Ran {
    let mut command = folder.command(args);
    finish(command.env("RAYON_NUM_THREADS", threads).stdin(Stdio::null()), None)
}

#[test]
fn the_same_command_gives_the_same_bytes() {
    let folder = Folder::new();
    for output in [&["--json"][..], &["--out", "results", "--commands", "commands.csv"]] {
        let args = [&["run", "small-full", "radiowb", "--seed", "7"], output].concat();
        let runs = [(); 2].map(|()| {
            let text = folder.run(&args).text();
            (text, folder.files())
        });
        assert!(runs[0] == runs[1], "{output:?} differs between two runs");
    }
}

#[test]
fn comparisons_do_not_depend_on_the_number_of_threads() {
    let folder = Folder::new();
    let axes = ["--vary", "policy.command=rcf,fot,drs", "--vary", "queue.depth=4,256"];
    for json in [&[][..], &["--json"]] {
        let args = [&["compare", "movie"], &axes[..], json].concat();
        let runs = ["1", "2", "3"].map(|threads| run_on(&folder, threads, &args).text());
        assert_eq!(runs[0], runs[1]);
        assert_eq!(runs[0], runs[2]);
    }
}

#[test]
fn comparisons_are_the_runs_of_every_combination() {
    let folder = Folder::new();
    let work = ["embedded-2x2", "movie", "--set", "generator.requests=300", "--seed", "5"];
    let axes = ["--vary", "policy.command=rcf, drs", "--vary", "queue.depth=1,16"];
    let compared = folder.run(&[&["compare", "--json"], &work[..], &axes].concat()).json();
    let compared = compared.as_array().expect("an array").clone();
    let mut runs = compared.into_iter().map(without_command);
    for policy in ["rcf", "drs"] {
        for depth in ["1", "16"] {
            let settings = [format!("policy.command={policy}"), format!("queue.depth={depth}")];
            let settings = ["--set", &settings[0], "--set", &settings[1]];
            let run = folder.run(&[&["run", "--json"], &work[..], &settings].concat()).json();
            assert_eq!(runs.next(), Some(without_command(run)), "{settings:?}");
        }
    }
    assert_eq!(runs.next(), None);
}

#[test]
fn ratios_are_to_the_first_value() {
    let folder = Folder::new();
    let table = folder.run(&["compare", "movie", "--vary", "nand.read_us=60,60,120"]).text();
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines[0], "device drs, workload movie");
    assert_eq!(lines[6], "", "the verdicts follow: {table}");
    let ratios = |line: &str| -> Vec<f64> {
        let cells: Vec<&str> = line.split_whitespace().collect();
        [2, 4, 6, 8].map(|place| cells[place].parse().expect("a ratio")).to_vec()
    };
    assert_eq!(ratios(lines[3]), [1.0; 4]);
    assert_eq!(ratios(lines[4]), [1.0; 4]);
    assert!(ratios(lines[5]).iter().all(|ratio| *ratio > 1.0), "{table}");
}

const POLICIES: [&str; 5] = ["rcf", "size", "rrf", "fot", "drs"];

#[test]
fn a_study_is_complete_and_does_not_depend_on_the_number_of_threads() {
    let folder = Folder::new();
    let args = ["reproduce", "drs", "--json"];
    let texts = ["1", "2"].map(|threads| run_on(&folder, threads, &args).text());
    assert_eq!(texts[0], texts[1]);
    let study: Value = serde_json::from_str(&texts[0]).expect("--json prints JSON");
    assert_eq!(study["schema_version"], 1);
    assert_eq!(study["study"], "drs");
    assert_eq!(study["device"], "drs");
    assert_eq!(study["traces"], Value::Null);
    let names =
        ["Movie", "YouTube", "Booting", "Facebook", "AngryBird", "Radio", "RadioMsg", "RadioWB"];
    assert_eq!(study["workloads"], serde_json::json!(names));
    check_ratios(&study);
    check_sweeps(&study);
    check_statements(&study);
}

/// Every class has a ratio for each policy and workload; the baseline's are exactly 1.
fn check_ratios(study: &Value) {
    let classes = study["mean_over_rcf"].as_object().expect("ratios by class");
    assert_eq!(classes.keys().collect::<Vec<_>>(), ["all", "read", "write"]);
    for (class, policies) in classes {
        let policies = policies.as_object().expect("ratios by policy");
        assert_eq!(policies.len(), POLICIES.len());
        for policy in POLICIES {
            let ratios = policies[policy].as_array().expect("a ratio a workload");
            assert_eq!(ratios.len(), 8);
            let wanted = |ratio: &Value| {
                let ratio = ratio.as_f64().expect("a number");
                if policy == "rcf" {
                    (ratio - 1.0).abs() == 0.0
                } else {
                    (0.05..4.0).contains(&ratio)
                }
            };
            assert!(ratios.iter().all(wanted), "{class} {policy}: {ratios:?}");
        }
    }
    let base = study["rcf_mean_ns"].as_array().expect("a mean a workload");
    assert_eq!(base.len(), 8);
    for means in base {
        let mean = |class: &str| means[class].as_f64().expect("a mean");
        let (least, most) = (mean("read").min(mean("write")), mean("read").max(mean("write")));
        assert!((least..=most).contains(&mean("all")), "{means}");
    }
}

/// The sweeps over cache size and queue depth have their points, in order.
fn check_sweeps(study: &Value) {
    let sizes = study["map_cache"].as_array().expect("a point a cache size");
    let bytes: Vec<_> = sizes.iter().map(|size| size["cache_bytes"].as_u64()).collect();
    assert_eq!(bytes, (9..=16).map(|power| Some(1 << power)).collect::<Vec<_>>());
    assert!(sizes.iter().all(|size| size["size"].is_f64() && size["drs"].is_f64()));
    let depths = study["queue_depth"].as_array().expect("a point a depth");
    let found: Vec<_> = depths.iter().map(|depth| depth["depth"].as_u64()).collect();
    assert_eq!(found, (0..=9).map(|power| Some(1 << power)).collect::<Vec<_>>());
    for depth in depths {
        let means = depth["drs_all_mean_ns"].as_array().expect("a mean a workload");
        assert!(means.len() == 8 && means.iter().all(Value::is_f64), "{depth}");
    }
}

/// Every published statement of the experiment file is judged, in its order.
fn check_statements(study: &Value) {
    let file = crate::support::repository_file("experiments/drs.toml");
    let stated = file.lines().filter_map(|line| line.strip_prefix("statement = "));
    let stated: Vec<&str> = stated.map(|text| text.trim_matches('"')).collect();
    let judged = study["published"].as_array().expect("a judgement a statement");
    assert!(!stated.is_empty());
    assert_eq!(judged.len(), stated.len());
    for (judged, stated) in judged.iter().zip(stated) {
        assert_eq!(judged["statement"], stated);
        assert!(judged["holds"].is_boolean(), "{judged}");
        assert!(judged["found"].as_str().is_some_and(|found| !found.is_empty()), "{judged}");
        let forms = ["a number", "in words", "a figure only"];
        assert!(forms.iter().any(|form| judged["form"] == *form), "{judged}");
    }
}

//! `flashyard trace info`: the contract of its JSON, and two workloads side by side.

use crate::schema::Schema;
use crate::support::{Folder, TRACE, int, is_near};

/// Reads, writes and trims, and what is read again.
const MIXED: &str = "[pattern]\nrequests = 3000\ntrim_percent = 20\nread_percent = 40\n";

fn folder() -> Folder {
    let folder = Folder::with("t.txt", TRACE);
    folder.write("mixed.toml", MIXED);
    folder.write("empty.txt", "0 0 0 8 1\n");
    folder
}

#[test]
fn statistics_are_what_the_schema_says() {
    let (folder, schema) = (folder(), Schema::of("trace-info"));
    for workload in ["t.txt", "mixed.toml", "empty.txt"] {
        let found = folder.run(&["trace", "info", workload, "--json"]).json();
        schema.check(workload, &found);
        let mut less = found.clone();
        for name in found.as_object().expect("an object").keys() {
            let taken = less.as_object_mut().unwrap().remove(name).unwrap();
            assert!(!schema.allows(&less), "{workload}: without {name}");
            less[name] = taken;
        }
    }
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

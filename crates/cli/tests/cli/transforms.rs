//! Transforms of traces as a user sees them: what is said about them, and split traces.

use crate::support::{Folder, int};
use serde_json::Value;

const DEVICE: &str = "embedded-2x2";

/// 400 requests of the devices 0 and 1 (format `ssdsim`), no two at one time; every tenth row
/// stands one place early.
fn trace() -> String {
    let mut rows: Vec<String> = (0..400_u64)
        .map(|n| {
            let (first, sectors) = (n * 7_919 % 600 * 8, 8 + n * n % 5 * 16);
            format!("{} {} {first} {sectors} {}\n", n * 90_001 + 5_000, n * n % 3, n % 2)
        })
        .collect();
    for n in (10..400).step_by(10) {
        rows.swap(n, n - 1);
    }
    rows.concat()
}

fn run(folder: &Folder, args: &[&str]) -> Value {
    folder.run(&[&["run", "--json", "--check", DEVICE, "t.txt"], args].concat()).json()
}

/// What is the same however a trace is handed to the device in an open loop.
fn totals(mut run: Value) -> Value {
    let object = run.as_object_mut().unwrap();
    for name in ["provenance", "streams"] {
        object.remove(name);
    }
    let workload = object["workload"].as_object_mut().unwrap();
    for name in ["changes", "plan", "settings"] {
        workload.remove(name);
    }
    run
}

#[test]
fn a_split_trace_gives_the_totals_of_the_whole() {
    let folder = Folder::with("t.txt", trace());
    for extra in [&["--set", "trace.time_scale=0.25"][..], &["--set", "trace.fold=renumber"]] {
        let args = [&["--set", "trace.time_order=sort"], extra].concat();
        let whole = run(&folder, &args);
        let split = run(&folder, &[&args[..], &["--set", "trace.split=device"]].concat());
        assert_eq!(whole["streams"], Value::Object(serde_json::Map::new()));
        let streams = split["streams"].as_object().expect("results by stream");
        // Squares are 0 or 1 modulo 3.
        assert_eq!(streams.keys().collect::<Vec<_>>(), ["0", "1"]);
        // 134 multiples of 3 are below 400. A split request of the trace is several here.
        let added = int(&whole, "workload.requests") - 400;
        assert_eq!(added > 0, extra[1].ends_with("renumber"));
        let requests: Vec<u64> =
            streams.values().map(|stream| stream["requests"].as_u64().unwrap()).collect();
        assert!(requests[0] >= 134 && requests[1] >= 266, "{requests:?}");
        assert_eq!(requests.iter().sum::<u64>(), 400 + added);
        assert_eq!(totals(split), totals(whole));
    }
}

#[test]
fn changes_are_printed_or_part_of_the_results() {
    let folder = Folder::with("t.txt", "2000000 0 0 8 0\n3000000 4 800 8 1\n3500000 4 8 8 1\n");
    let set = ["--set", "trace.keep_ops=reads", "--set", "trace.fold=renumber"];
    let changes = [
        "1 request was filtered out: 1 by trace.keep_ops",
        "2 chunks of 128 KiB were numbered in the order of first use, 0.25 MiB in all; 2 requests \
         were moved",
        "the first request, recorded at 3 ms, arrives at 0",
    ];
    let json = folder.run(&[&["run", "--json", "t.txt"], &set[..]].concat());
    assert!(!json.stderr.contains("filtered"), "{}", json.stderr);
    assert_eq!(json.json()["workload"]["changes"], Value::from(changes.to_vec()));
    let text = folder.run(&[&["run", "t.txt"], &set[..]].concat());
    let expected = changes.map(|what| format!("workload: {what}\n")).concat();
    assert!(text.stderr.starts_with(&expected), "{}", text.stderr);
    let info = folder.run(&[&["trace", "info", "t.txt"], &set[..]].concat()).text();
    let expected = changes.map(|what| format!("changed: {what}\n")).concat();
    assert!(info.ends_with(&expected), "{info}");
    let info = folder.run(&[&["trace", "info", "t.txt", "--json"], &set[..]].concat()).json();
    assert_eq!(info["changes"], Value::from(changes.to_vec()));
    let unchanged = Folder::with("t.txt", "0 0 0 8 0\n");
    assert_eq!(run(&unchanged, &[])["workload"]["changes"], Value::from([""; 0].to_vec()));
}

#[test]
fn traces_side_by_side_have_clocks_and_names_of_their_own() {
    let folder = Folder::with("a.txt", "5000000 0 0 8 1\n6000000 1 8 8 1\n");
    folder.write("b.txt", "9000000 7 0 8 0\n9500000 7 64 8 0\n");
    let streams = |extra: &str| {
        format!(
            "[[stream]]\nname = \"a\"\n[stream.trace]\npath = \"a.txt\"\nsplit = \"device\"\n{extra}\n\
             [[stream]]\nname = \"b\"\n[stream.trace]\npath = \"b.txt\"\n{extra}\n"
        )
    };
    folder.write("two.toml", streams(""));
    let ran = folder.run(&["run", "--json", "--check", DEVICE, "two.toml"]).json();
    let names: Vec<&String> = ran["streams"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["a-0", "a-1", "b"]);
    assert_eq!((int(&ran, "workload.first_ns"), int(&ran, "workload.last_ns")), (0, 1_000_000));
    assert_eq!(
        ran["workload"]["changes"],
        Value::from(vec![
            "a: split by device into 2 streams, requests: 1 of 0, 1 of 1",
            "a: the first request, recorded at 5 ms, arrives at 0",
            "b: the first request, recorded at 9 ms, arrives at 0",
        ])
    );
    // With the times as they were recorded, the traces share one clock.
    folder.write("two.toml", streams("rebase = false"));
    let ran = folder.run(&["run", "--json", "--check", DEVICE, "two.toml"]).json();
    assert_eq!(int(&ran, "workload.first_ns"), 5_000_000);
    assert_eq!(int(&ran, "workload.last_ns"), 9_500_000);
}

#[test]
fn a_split_trace_is_a_file() {
    let folder = Folder::new();
    let args = ["run", "-", "--set", "trace.split=device"];
    let ran = folder.run_with_input(&args, trace().as_bytes());
    let message = "error: standard input: trace.split reads the trace once for each stream, and \
                   this input can be read only once; save it to a file first\n";
    assert_eq!((ran.status, ran.stderr.as_str()), (Some(2), message));
    assert_eq!(ran.stdout, "");
}

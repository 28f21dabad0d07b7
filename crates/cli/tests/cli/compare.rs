//! `flashyard compare` judges every run as `run` does: what holds for all runs is said once, what
//! differs has a row a run, and what spoils some runs only is a warning that names them.

use crate::support::{Folder, Ran, quantity, said};

/// What the verdict says in one line, and the lines of the table behind it.
fn verdict(ran: Ran) -> (String, Vec<String>) {
    let text = ran.text();
    let table = text.split_once("\nverdict ").expect("a verdict").1;
    let table = table.split_once("\n\n").map_or("", |(_, table)| table);
    (said(&text, "verdict"), table.lines().map(ToString::to_string).collect())
}

/// One read a millisecond of a page that was written before.
fn slow_reads() -> String {
    let rows = (1..40).map(|n| format!("{} 0 0 8 1\n", n * 1_000_000));
    format!("0 0 0 8 0\n{}", rows.collect::<String>())
}

/// What is said of runs on a device that holds nothing, which write.
const FRESH: &str = "! all runs: the device starts fresh and garbage collection did not run: \
                     figures of writes are not those of a drive in use";

#[test]
fn what_holds_for_all_runs_is_said_once() {
    let folder = Folder::with("t.txt", slow_reads());
    let args = ["compare", "drs", "t.txt", "--vary", "policy.command=fifo,rcf"];
    let (said, table) = verdict(folder.run(&args));
    // Nothing differs: the figures follow.
    assert!(said.starts_with(FRESH) && table[0].starts_with("policy.command "), "{table:?}");
    assert!(said.contains(" all runs: of 7.0 % over-provisioning "), "{said}");
    let end = "the queue did not grow (arrivals found at most 0 requests outstanding)";
    assert!(said.ends_with(end), "{said}");
}

/// With reads of 50 ms the device cannot keep up, and the queue grows.
#[test]
fn a_growing_queue_and_overload_are_warned_of_where_they_are() {
    let folder = Folder::with("t.txt", slow_reads());
    let args = ["compare", "drs", "t.txt", "--vary", "nand.read_us=60,50000"];
    let (said, table) = verdict(folder.run(&args));
    assert!(said.starts_with(FRESH), "{said}");
    let at = "! nand.read_us=50000: ";
    for warning in ["overloaded: more work is offered than the dies can do (", "the queue grew: "] {
        assert_eq!(said.matches(&format!("{at}{warning}")).count(), 1, "{said}");
    }
    assert_eq!(said.matches("! ").count(), 3, "{said}");
    assert!(!said.contains("the queue did not grow"), "{said}");
    let words = |line: &str| line.split_whitespace().map(String::from).collect::<Vec<_>>();
    assert_eq!(words(&table[0]), ["load", "queue", "most", "outstanding"]);
    assert_eq!(words(&table[1])[0], "nand.read_us=60");
    assert!(table[1].contains("did not grow"), "{table:?}");
    assert!(table[2].contains("overloaded") && table[2].contains("grew"), "{table:?}");
}

#[test]
fn folded_requests_and_unmapped_reads_are_part_of_the_verdict() {
    let folder = Folder::with("t.txt", "0 0 0 8 1\n9000000 0 99999999 8 0\n");
    let fold = ["--set", "trace.fold=modulo", "--set", "nand.unmapped_read=zero"];
    let vary = ["--vary", "state.initial=fresh,full"];
    let ran = folder.run(&[&["compare", "drs", "t.txt"], &fold[..], &vary].concat());
    assert!(ran.stderr.starts_with("workload: 1 request was moved to fit"), "{ran:?}");
    assert_eq!(ran.stderr.lines().count(), 1, "said once: {ran:?}");
    let (said, table) = verdict(ran);
    let folded = "! all runs: requests were folded into the device, so that different addresses of \
                  the trace are one";
    let unmapped = "! state.initial=fresh: pages that were never written are read, and cost \
                    nothing (1 of them)";
    for warning in [folded, unmapped] {
        assert!(said.contains(warning), "{said}");
    }
    let ends: Vec<bool> = [(1, "1"), (2, "0")].map(|(row, end)| table[row].ends_with(end)).into();
    assert_eq!(ends, [true; 2], "unmapped reads: {table:?}");
}

/// JSON has the same warnings for each run, and those of `run` are alike.
#[test]
fn json_has_the_warnings_of_each_run() {
    let folder = Folder::with("t.txt", "0 0 0 8 1\n9000000 0 99999999 8 0\n");
    let set = ["--set", "trace.fold=modulo", "--set", "nand.unmapped_read=zero"];
    let work = [&["drs", "t.txt", "--json"][..], &set].concat();
    let vary = ["--vary", "state.initial=fresh,full"];
    let compared = folder.run(&[&["compare"], &work[..], &vary].concat()).json();
    let starts = |verdict: &serde_json::Value| -> Vec<String> {
        let warnings = verdict["warnings"].as_array().expect("a list");
        let first = |text: &serde_json::Value| text.as_str().expect("a sentence")[..8].to_string();
        warnings.iter().map(first).collect()
    };
    assert_eq!(starts(&compared[0]["verdict"]), ["the devi", "requests", "writes o", "pages th"]);
    assert_eq!(starts(&compared[1]["verdict"]), ["the devi", "requests", "writes o"]);
    let run = folder.run(&[&["run"], &work[..]].concat()).json();
    assert_eq!(run["verdict"], compared[0]["verdict"]);
}

/// Alternatives of several keys, devices and ranges; each point is the run of its settings.
#[test]
fn points_are_alternatives_devices_and_ranges() {
    let folder = Folder::new();
    let work = ["movie", "--set", "generator.requests=200"];
    let vary = ["--vary", "policy.command=rcf,queue.depth=8 | device=embedded-2x2"];
    let runs = folder.run(&[&["compare", "--json"], &work[..], &vary].concat()).json();
    let depths: Vec<_> = (0..2).map(|run| &runs[run]["device"]["queue"]["depth"]).collect();
    assert_eq!(depths[0], 8);
    assert_ne!(depths[1], 8);
    let text = folder.run(&[&["compare"], &work[..], &vary].concat()).text();
    assert!(text.starts_with("device drs, embedded-2x2, workload movie\n"), "{text}");
    let row = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name)).expect(name);
        line.split_whitespace().skip(1).map(String::from).collect::<Vec<_>>()
    };
    assert_eq!(row("device  "), ["drs", "embedded-2x2"]);
    assert_eq!(row("queue.depth")[0], "8");
    let range = ["compare", "drs", "movie", "--json", "--vary", "queue.depth=10..30:10"];
    let set = ["--set", "generator.requests=50"];
    let runs = folder.run(&[&range[..], &set].concat()).json();
    let depths: Vec<_> =
        runs.as_array().unwrap().iter().map(|run| &run["device"]["queue"]["depth"]).collect();
    assert_eq!(depths, [10, 20, 30]);
    let twice = folder.run(&["compare", "drs", "movie", "--vary", "device=ros"]);
    assert_eq!(twice.status, Some(2), "{twice:?}");
    assert!(twice.stderr.contains("device: it is drs already"), "{twice:?}");
}

/// Streams stand beside each other as in the workload, not by name: ratios are to the first.
#[test]
fn streams_are_in_the_order_of_the_workload() {
    let stream = |name: &str, base: &str| {
        format!(
            "[[stream]]\nname = \"{name}\"\n[stream.pattern]\nbase = \"{base}\"\nrequests = 99\n"
        )
    };
    let text = stream("writer", "random-write") + &stream("asker", "random-read");
    let folder = Folder::with("two.toml", text);
    let vary = ["--vary", "queue.depth=1", "--by", "stream"];
    let text = folder.run(&[&["compare", "small-full", "two.toml"], &vary[..]].concat()).text();
    let row = text.lines().find(|line| line.starts_with("stream ")).expect("a row of names");
    let names: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(names, ["stream", "writer", "asker"], "{text}");
}

/// The mean of three seeds is that of the three runs; a seed is also a point of its own.
#[test]
fn several_seeds_give_means_with_intervals() {
    let folder = Folder::new();
    let work = ["compare", "drs", "movie", "--set", "generator.requests=300", "--seed", "4"];
    let seeds = ["--vary", "queue.depth=1,64", "--seeds", "3"];
    let runs = folder.run(&[&work[..], &seeds, &["--json"]].concat()).json();
    let runs = runs.as_array().unwrap().clone();
    let seeds_of: Vec<_> = runs.iter().map(|run| &run["provenance"]["seed"]).collect();
    assert_eq!(seeds_of, [4, 5, 6, 4, 5, 6]);
    let mean = runs[..3].iter().map(|run| run["latency_ns"]["all"]["mean"].as_f64().unwrap());
    let mean = mean.sum::<f64>() / 3.0;
    let text = folder.run(&[&work[..], &seeds].concat()).text();
    assert!(
        text.contains("\nmeans of 3 seeds +- half of the 95 % confidence interval\n"),
        "{text}"
    );
    let row = text.lines().find(|line| line.starts_with("all mean ")).unwrap();
    let cells: Vec<&str> = row.split_whitespace().skip(2).collect();
    let shown = 1e9 * quantity(&cells[..2]);
    assert!((shown - mean).abs() < 5e-3 * mean && cells[2].starts_with("+-"), "{row}: {mean}");
    let vary = ["compare", "drs", "movie", "--set", "generator.requests=300", "--vary", "seed=4,5"];
    let points = folder.run(&[&vary[..], &["--json"]].concat()).json();
    for (point, run) in points.as_array().unwrap().iter().zip(&runs) {
        assert_eq!(point["provenance"]["seed"], run["provenance"]["seed"]);
    }
    let refused = |args: &[&str], what: &str| {
        let ran = folder.run(args);
        assert!(ran.status == Some(2) && ran.stderr.contains(what), "{ran:?}");
    };
    refused(&[&vary[..], &["--seeds", "2"]].concat(), "--seeds: the seed is varied");
    let seed = folder.run(&[&vary[..], &["--seed", "5"]].concat());
    assert!(
        seed.stderr.contains("note: seed changes nothing: --vary has values of it"),
        "{seed:?}"
    );
    let depths = ["compare", "drs", "movie", "--vary", "queue.depth=1,2"];
    let seeds = |more: &[&'static str]| [&depths[..], more].concat();
    for many in ["0", "10001", "999999999999"] {
        let what = format!("'--seeds <N>': {many} is not in 1..=10000");
        refused(&[&depths[..], &["--seeds", many]].concat(), &what);
    }
    let last = "18446744073709551615";
    refused(&seeds(&["--seed", last, "--seeds", "2"]), "--seeds 2: the seed is too large");
    let few = ["--set", "generator.requests=9", "--seed", last, "--seeds", "1"];
    folder.run(&seeds(&few)).text();
}

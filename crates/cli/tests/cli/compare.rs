//! `flashyard compare` judges every run as `run` does: what holds for all runs is said once, what
//! differs has a row a run, and what spoils some runs only is a warning that names them.

use crate::support::{Folder, Ran};

/// The lines behind the table of figures.
fn verdict(ran: Ran) -> Vec<String> {
    let text = ran.text();
    let lines: Vec<&str> = text.lines().skip(3).collect();
    let start = lines.iter().position(|line| line.is_empty()).expect("a line of nothing");
    lines[start + 1..].iter().map(ToString::to_string).collect()
}

/// One read a millisecond of a page that was written before.
fn slow_reads() -> String {
    let rows = (1..40).map(|n| format!("{} 0 0 8 1\n", n * 1_000_000));
    format!("0 0 0 8 0\n{}", rows.collect::<String>())
}

#[test]
fn what_holds_for_all_runs_is_said_once() {
    let folder = Folder::with("t.txt", slow_reads());
    let args = ["compare", "drs", "t.txt", "--vary", "policy.command=fifo,rcf"];
    let lines = verdict(folder.run(&args));
    assert_eq!(lines.len(), 1, "{lines:?}");
    let start = "verdict on all runs: the device starts fresh; garbage collection did not run; ";
    assert!(lines[0].starts_with(start), "{lines:?}");
    let end = "the queue did not grow; arrivals found at most 0 requests outstanding";
    assert!(lines[0].ends_with(end), "{lines:?}");
}

/// With reads of 50 ms the device cannot keep up, and the queue grows.
#[test]
fn a_growing_queue_and_overload_are_warned_of_where_they_are() {
    let folder = Folder::with("t.txt", slow_reads());
    let args = ["compare", "drs", "t.txt", "--vary", "nand.read_us=60,50000"];
    let lines = verdict(folder.run(&args));
    assert!(lines[0].starts_with("verdict on all runs: the device starts fresh; "), "{lines:?}");
    assert!(!lines[0].contains("queue"), "{lines:?}");
    let words = |line: &str| line.split_whitespace().map(String::from).collect::<Vec<_>>();
    assert_eq!(words(&lines[1]), ["verdict", "load", "queue", "most", "outstanding"]);
    assert_eq!(words(&lines[2])[0], "nand.read_us=60");
    assert!(lines[2].contains("did not grow"), "{lines:?}");
    assert!(lines[3].contains("overloaded") && lines[3].contains("grew"), "{lines:?}");
    let at = "warning: nand.read_us=50000: ";
    assert_eq!(
        lines[4..],
        [
            format!("{at}overloaded: more work is offered than the dies can do"),
            format!("{at}the queue grew: latencies depend on the length of the run"),
        ]
    );
}

#[test]
fn folded_requests_and_unmapped_reads_are_part_of_the_verdict() {
    let folder = Folder::with("t.txt", "0 0 0 8 1\n9000000 0 99999999 8 0\n");
    let fold = ["--set", "trace.fold=modulo"];
    let vary = ["--vary", "state.initial=fresh,full"];
    let ran = folder.run(&[&["compare", "drs", "t.txt"], &fold[..], &vary].concat());
    assert!(ran.stderr.starts_with("workload: 1 requests were moved to fit"), "{ran:?}");
    assert_eq!(ran.stderr.lines().count(), 1, "said once: {ran:?}");
    let lines = verdict(ran);
    assert!(lines[0].contains("50.0 % of the requests were folded into the device"), "{lines:?}");
    assert!(lines[2].ends_with('1') && lines[3].ends_with('0'), "unmapped reads: {lines:?}");
    let warning = "warning: state.initial=fresh: pages that were never written are read, ...";
    let start = warning.trim_end_matches("...");
    assert!(lines[4].starts_with(start) && lines.len() == 5, "{lines:?}");
}

/// JSON has the same warnings for each run, and those of `run` are alike.
#[test]
fn json_has_the_warnings_of_each_run() {
    let folder = Folder::with("t.txt", "0 0 0 8 1\n9000000 0 99999999 8 0\n");
    let work = ["drs", "t.txt", "--json", "--set", "trace.fold=modulo"];
    let vary = ["--vary", "state.initial=fresh,full"];
    let compared = folder.run(&[&["compare"], &work[..], &vary].concat()).json();
    let starts = |verdict: &serde_json::Value| -> Vec<String> {
        let warnings = verdict["warnings"].as_array().expect("a list");
        let first = |text: &serde_json::Value| text.as_str().expect("a sentence")[..8].to_string();
        warnings.iter().map(first).collect()
    };
    assert_eq!(starts(&compared[0]["verdict"]), ["requests", "pages th"]);
    assert_eq!(starts(&compared[1]["verdict"]), ["requests"]);
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
    let mean = mean.sum::<f64>() / 3e3;
    let text = folder.run(&[&work[..], &seeds].concat()).text();
    assert!(
        text.contains("\nmeans of 3 seeds +- half of the 95 % confidence interval\n"),
        "{text}"
    );
    let row = text.lines().find(|line| line.starts_with("all mean (us)")).unwrap();
    let cells: Vec<&str> = row.split_whitespace().skip(3).collect();
    let shown: f64 = cells[0].parse().unwrap();
    assert!((shown - mean).abs() < 1e-3 * mean && cells[1].starts_with("+-"), "{row}: {mean}");
    let vary = ["compare", "drs", "movie", "--set", "generator.requests=300", "--vary", "seed=4,5"];
    let points = folder.run(&[&vary[..], &["--json"]].concat()).json();
    for (point, run) in points.as_array().unwrap().iter().zip(&runs) {
        assert_eq!(point["provenance"]["seed"], run["provenance"]["seed"]);
    }
    let both = folder.run(&[&vary[..], &["--seeds", "2"]].concat());
    assert!(
        both.status == Some(2) && both.stderr.contains("--seeds: the seed is varied"),
        "{both:?}"
    );
}

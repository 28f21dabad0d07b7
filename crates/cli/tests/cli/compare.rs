//! `flashyard compare` judges every run as `run` does: what holds for all runs is said once, what
//! differs has a row a run, and what spoils some runs only is a warning that names them.

use crate::support::{Folder, Ran, said};

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
    assert!(said.starts_with(FRESH) && table.is_empty(), "{said} {table:?}");
    assert!(said.contains(" all runs: of 7.0 % over-provisioning "), "{said}");
    let end = "the queue did not grow (most outstanding: 0)";
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
    assert!(ran.stderr.starts_with("workload: 1 requests were moved to fit"), "{ran:?}");
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
    assert_eq!(starts(&compared[0]["verdict"]), ["the devi", "requests", "pages th"]);
    assert_eq!(starts(&compared[1]["verdict"]), ["the devi", "requests"]);
    let run = folder.run(&[&["run"], &work[..]].concat()).json();
    assert_eq!(run["verdict"], compared[0]["verdict"]);
}

//! The same command gives the same bytes, on any number of threads; comparisons and studies hold
//! what they promise.

use crate::support::{Folder, Ran, finish, without_command};
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
    assert!(lines.iter().all(|line| line.len() <= 80), "{table}");
    let values = lines.iter().find(|line| line.starts_with("nand.read_us ")).expect("values");
    let values: Vec<&str> = values.split_whitespace().collect();
    assert_eq!(values, ["nand.read_us", "60", "60", "120"]);
    for name in ["read mean", "all p99.9", "energy "] {
        let row = lines.iter().find(|line| line.starts_with(name)).expect(name);
        // A value and its unit, twice with a ratio behind them.
        let cells: Vec<&str> = row[name.len()..].split_whitespace().collect();
        assert_eq!((cells.len(), cells[..2] == cells[2..4]), (8, true), "{row}");
        assert_eq!(cells[4], "x1.000", "{row}");
        let ratio: f64 = cells[7].trim_start_matches('x').parse().expect("a ratio");
        assert!(ratio > 1.0, "{row}");
    }
}

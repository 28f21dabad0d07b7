//! `cargo xtask golden [FILE...]`: runs worked examples, compares every value in them, and prints
//! each difference; without a file those of `xtask/golden`.
//!
//! A file is JSON and holds examples of one of four kinds, told by the names of its members:
//! - `cases`: command policies on a device with a map cache ([`commands`]);
//! - `microcode`, `single_op_ns`, `timelines`, `timelines_ns`, `fair_queueing`: the bus ([`bus`]);
//! - `examples`: translation layers ([`ftl`]);
//! - anything else: host policies and write buffers ([`hosts`]).
//!
//! A member that is a text explains; one of another type that is not known is a difference.
//!
//! `cargo xtask golden --update`: writes the regression tables anew: command policies, FTLs,
//! precisions of the bus; the reference of keys; the picture of the README; the C header of the
//! scheduler.

mod bus;
mod commands;
mod ftl;
mod hosts;
mod tally;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::path::Path;
use tally::Tally;

/// The tables, and where they and their tests are, below the root of the repository.
const TABLES: [&str; 3] = ["policies", "ftls", "precisions"];
const FOLDER: &str = "crates/cli/tests/golden";

/// The tests that compare docs/KEYS.md, docs/labs and docs/read-latency.svg with what the command
/// prints.
const DOCUMENTS: [&str; 6] = [
    "--test",
    "cli",
    "--",
    "the_reference_of_keys",
    "the_sheets_of_labs",
    "the_picture_of_the_readme",
];

/// Has the tests that compare the tables, these documents and the C header write them anew.
pub(crate) fn update(root: &Path) -> Result<String> {
    let works = [
        ("flashyard", &["--test", "golden"][..]),
        ("flashyard", &DOCUMENTS),
        ("flashyard", &["--lib", "--", "tables_of_fields"]),
        ("flashyard-firmware", &["--test", "header"]),
    ];
    for (package, tests) in works {
        let mut cargo = crate::cargo();
        cargo.args(["test", "--package", package]).args(tests);
        let status = cargo.env("FLASHYARD_UPDATE_GOLDEN", "1").current_dir(root).status();
        let status = status.context("cannot run cargo")?;
        ensure!(status.success(), "not everything was written: {status}");
    }
    let files = TABLES.map(|table| format!("{FOLDER}/{table}.txt")).join(", ");
    let documents = "docs/KEYS.md, docs/labs, docs/JSON.md, docs/WHY.md, docs/read-latency.svg and \
                     crates/firmware/include/flashyard.h";
    Ok(format!("{files}, {documents} are written; review every line that differs"))
}

/// The examples of the repository, below its root.
const EXAMPLES: &str = "xtask/golden";

/// Runs the examples of the repository.
pub(crate) fn run_own(root: &Path) -> Result<String> {
    let folder = root.join(EXAMPLES);
    let entries = std::fs::read_dir(&folder);
    let entries = entries.with_context(|| format!("cannot read {}", folder.display()))?;
    let mut files = Vec::new();
    for entry in entries {
        files.push(entry?.path().to_string_lossy().into_owned());
    }
    files.sort();
    run(&files)
}

/// Runs every example of every file; an error lists what differs in any of them.
pub(crate) fn run(files: &[String]) -> Result<String> {
    let (mut all, mut wrong) = ([0, 0], Vec::new());
    for file in files {
        match run_file(file) {
            Ok((runs, values)) => all = [all[0] + runs, all[1] + values],
            Err(error) => wrong.push(format!("{file}: {error:#}")),
        }
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    let [runs, values] = all;
    Ok(format!("{} files, {runs} runs: {values} values equal their worked examples", files.len()))
}

fn run_file(file: &str) -> Result<(usize, usize)> {
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {file}"))?;
    let all: Value = serde_json::from_str(&text)?;
    let mut tally = Tally::default();
    if bus::is_one(&all) {
        bus::run(&all, &mut tally)?;
    } else if all.get("examples").is_some() {
        ftl::run(&all, &mut tally)?;
    } else if all.get("cases").is_some() {
        commands::run(&all, &mut tally)?;
    } else {
        hosts::run(&all, &mut tally)?;
    }
    tally.end()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every worked example of the repository holds.
    #[test]
    fn the_worked_examples_of_the_repository_hold() {
        run_own(&crate::root()).expect("they hold");
    }

    #[test]
    fn all_files_are_run_and_each_that_is_wrong_is_named() {
        let error = run(&["no/one".to_owned(), "no/two".to_owned()]).expect_err("no files");
        let text = error.to_string();
        assert!(text.contains("no/one") && text.contains("no/two"), "{text}");
    }
}

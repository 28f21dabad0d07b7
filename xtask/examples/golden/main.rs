//! Runs worked examples, compares every value in them, and prints each difference: `cargo xtask
//! golden [FILE...]`.
//!
//! A file is JSON and holds examples of one of four kinds, told by the names of its members:
//! - `cases`: command policies on a device with a map cache ([`commands`]);
//! - `microcode`, `single_op_ns`, `timelines`, `timelines_ns`, `fair_queueing`: the bus ([`bus`]);
//! - `examples`: translation layers ([`ftl`]);
//! - anything else: host policies and write buffers ([`hosts`]).
//!
//! A member that is a text explains; one of another type that is not known is a difference.

#![expect(
    clippy::doc_markdown,
    reason = "pages of modules list the keys of JSON files by their bare names"
)]

mod bus;
mod commands;
mod ftl;
mod hosts;
mod tally;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::io::Write;
use tally::Tally;

fn main() -> Result<()> {
    let files: Vec<String> = std::env::args().skip(1).collect();
    let result = run(&files)?;
    writeln!(std::io::stdout(), "{result}")?;
    Ok(())
}

/// Runs every example of every file; an error lists what differs in any of them.
fn run(files: &[String]) -> Result<String> {
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
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/golden");
        let entries = std::fs::read_dir(folder).expect("the folder is there");
        let files = entries.map(|entry| entry.expect("a file").path().display().to_string());
        run(&files.collect::<Vec<_>>()).expect("they hold");
    }

    #[test]
    fn all_files_are_run_and_each_that_is_wrong_is_named() {
        let error = run(&["no/one".to_owned(), "no/two".to_owned()]).expect_err("no files");
        let text = error.to_string();
        assert!(text.contains("no/one") && text.contains("no/two"), "{text}");
    }
}

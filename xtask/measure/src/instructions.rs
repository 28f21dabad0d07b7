//! Instructions a page operation of the throughput example, and a request of the command on a
//! preset, counted by valgrind: they repeat exactly where times do not. Two runs of different
//! lengths are subtracted, so that start and report drop out. The command also hashes its
//! requests, which takes 1,260 instructions each under valgrind and few on a processor that has
//! them in hardware.

use crate::tools;
use anyhow::{Context as _, Result, bail, ensure};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use xshell::{Shell, cmd};

/// Where the counts of the last change that moved them are kept.
const BASELINE: &str = "crates/sim/benches/instructions.txt";

/// What is counted: the work of the example, the shorter number of requests, further settings.
const WORKS: [(&str, u64, &str); 5] = [
    ("random-read", 50_000, "policy.command=rcf"),
    ("random-read", 50_000, "policy.command=drs"),
    ("sequential-read", 50_000, "policy.command=rcf"),
    ("random-write", 10_000, "ftl.over_provisioning_percent=7"),
    ("random-write", 20_000, "ftl.over_provisioning_percent=28"),
];

/// What is counted of the command: 256 requests at a time on a preset of 8 GB.
const COMMANDS: [&str; 2] = ["nvme-tlc random-read", "nvme-tlc mixed-70-30"];

/// The shorter number of requests of the command.
const REQUESTS: u64 = 20_000;

/// Exported GiB of the device: small enough to start under valgrind.
const GIB: &str = "8";

/// A count may grow by this many parts in a hundred before it is called a change.
const TOLERANCE: f64 = 1.0;

/// Counts, compares with the baseline and, with `update`, writes it.
pub fn run(root: &Path, update: bool) -> Result<String> {
    let sh = tools::shell(root)?;
    let program = built(&sh, root, "flashyard-sim", "throughput")?;
    let known = std::fs::read_to_string(root.join(BASELINE)).unwrap_or_default();
    let mut table = String::from(
        "# Instructions a page operation: cargo xtask instructions (valgrind), --update to write.\n",
    );
    let mut report = String::new();
    let mut counts = Vec::new();
    for (work, requests, setting) in WORKS {
        let short = count(&sh, &program, work, requests, setting)?;
        let long = count(&sh, &program, work, 2 * requests, setting)?;
        let instructions = (long.0 - short.0) as f64 / (long.1 - short.1) as f64;
        counts.push((format!("{work} {setting}"), instructions));
    }
    let cargo = tools::cargo();
    cmd!(sh, "{cargo} build --release -q -p flashyard").quiet().run()?;
    let command = tools::target(root).join("release/flashyard");
    for work in COMMANDS {
        let more = command_count(&sh, &command, work, 2 * REQUESTS)?
            - command_count(&sh, &command, work, REQUESTS)?;
        counts.push((work.to_owned(), more as f64 / REQUESTS as f64));
    }
    for (name, instructions) in counts {
        writeln!(table, "{name} {instructions:.0}")?;
        let before =
            known.lines().find_map(|line| line.strip_prefix(&name)?.trim().parse::<f64>().ok());
        let change = before.map_or_else(String::new, |before| {
            let percent = (instructions / before - 1.0) * 100.0;
            let mark = if percent.abs() > TOLERANCE { " !" } else { "" };
            format!(" ({percent:+.1} %{mark})")
        });
        writeln!(report, "{name}: {instructions:.0}{change}")?;
    }
    if update {
        std::fs::write(root.join(BASELINE), table).context(BASELINE)?;
    }
    Ok(report.trim_end().to_string())
}

/// Builds an example; returns its place.
pub(crate) fn built(sh: &Shell, root: &Path, package: &str, example: &str) -> Result<PathBuf> {
    let cargo = tools::cargo();
    cmd!(sh, "{cargo} build --release -q -p {package} --example {example}").quiet().run()?;
    Ok(tools::target(root).join("release/examples").join(example))
}

/// Runs a program under callgrind with these options; returns what both print.
pub(crate) fn callgrind(
    sh: &Shell,
    options: &[String],
    program: &Path,
    arguments: &[&str],
) -> Result<[String; 2]> {
    let run = cmd!(sh, "valgrind --tool=callgrind {options...} {program} {arguments...}");
    let output = run.quiet().ignore_status().output().context("valgrind cannot be run")?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let said = [text(&output.stdout), text(&output.stderr)];
    ensure!(output.status.success(), "{arguments:?}: {}", said.concat());
    Ok(said)
}

/// Instructions of one run of the command.
fn command_count(sh: &Shell, program: &Path, work: &str, requests: u64) -> Result<u64> {
    let options = ["--callgrind-out-file=/dev/null".to_owned()];
    let settings = format!("pattern.requests={requests} stream.depth=256");
    let mut arguments = vec!["run", "--capacity", "8GB"];
    arguments.extend(work.split(' '));
    arguments.extend(settings.split(' ').flat_map(|setting| ["--set", setting]));
    let [_, err] = callgrind(sh, &options, program, &arguments)?;
    collected(&err).with_context(|| format!("{work}: no count in\n{err}"))
}

/// The number of instructions in what callgrind prints.
fn collected(err: &str) -> Option<u64> {
    err.split_once("Collected :").and_then(|(_, rest)| number(rest))
}

/// The number at the start of a text.
fn number(text: &str) -> Option<u64> {
    text.split_whitespace().next()?.parse().ok()
}

/// Instructions and page operations of one run.
fn count(
    sh: &Shell,
    program: &Path,
    work: &str,
    requests: u64,
    setting: &str,
) -> Result<(u64, u64)> {
    let options = ["--callgrind-out-file=/dev/null".to_owned()];
    let arguments = [work, GIB, &requests.to_string(), setting];
    let [out, err] = callgrind(sh, &options, program, &arguments)?;
    let instructions = collected(&err);
    let operations =
        out.split_once("page operations/s (").and_then(|(_, rest)| number(&rest.replace(')', " ")));
    match (instructions, operations) {
        (Some(instructions), Some(operations)) => Ok((instructions, operations)),
        _ => bail!("{work}: no counts in\n{out}{err}"),
    }
}

//! Instructions a request or page operation of the throughput example, counted by valgrind: they
//! repeat exactly where times do not. Two runs of different lengths are subtracted, so that start
//! and report drop out.

use anyhow::{Context as _, Result, bail, ensure};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

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

/// Exported GiB of the device: small enough to start under valgrind.
const GIB: &str = "8";

/// A count may grow by this many parts in a hundred before it is called a change.
const TOLERANCE: f64 = 1.0;

/// Counts, compares with the baseline and, with `update`, writes it.
pub(crate) fn run(root: &Path, update: bool) -> Result<String> {
    let mut build = crate::cargo();
    build.args(["build", "--release", "-q", "-p", "flashyard-sim", "--example", "throughput"]);
    ensure!(build.current_dir(root).status()?.success(), "the example does not build");
    let target = crate::target(root);
    let program = target.join("release/examples/throughput");
    let known = std::fs::read_to_string(root.join(BASELINE)).unwrap_or_default();
    let mut table = String::from(
        "# Instructions a page operation: cargo xtask instructions (valgrind), --update to write.\n",
    );
    let mut report = String::new();
    for (work, requests, setting) in WORKS {
        let short = count(&program, work, requests, setting)?;
        let long = count(&program, work, 2 * requests, setting)?;
        let instructions = (long.0 - short.0) as f64 / (long.1 - short.1) as f64;
        let name = format!("{work} {setting}");
        writeln!(table, "{name} {instructions:.0}")?;
        let before =
            known.lines().find_map(|line| line.strip_prefix(&name)?.trim().parse::<f64>().ok());
        let change = before.map_or_else(String::new, |before| {
            let percent = (instructions / before - 1.0) * 100.0;
            let mark = if percent.abs() > TOLERANCE { " !" } else { "" };
            format!(" ({percent:+.1} %{mark})")
        });
        writeln!(report, "{name}: {instructions:.0} a page operation{change}")?;
    }
    if update {
        std::fs::write(root.join(BASELINE), table).context(BASELINE)?;
    }
    Ok(report.trim_end().to_string())
}

/// Instructions and page operations of one run.
fn count(program: &Path, work: &str, requests: u64, setting: &str) -> Result<(u64, u64)> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args([work, GIB, &requests.to_string(), setting])
        .output()
        .context("valgrind cannot be run")?;
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    ensure!(output.status.success(), "{work}: {out}{err}");
    let number = |text: &str| text.split_whitespace().next().and_then(|n| n.parse::<u64>().ok());
    let instructions = err.split_once("Collected :").and_then(|(_, rest)| number(rest));
    let operations =
        out.split_once("page operations/s (").and_then(|(_, rest)| number(&rest.replace(')', " ")));
    match (instructions, operations) {
        (Some(instructions), Some(operations)) => Ok((instructions, operations)),
        _ => bail!("{work}: no counts in\n{out}{err}"),
    }
}

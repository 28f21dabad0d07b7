//! `cargo xtask fingerprint`: hashes of the reports and events of many short runs against a table,
//! so that a change of the simulator's code that shall move nothing is seen to move nothing.
//!
//! The runs are those of the example `fingerprint`, built as for release but without the
//! optimisations over the whole program, which take minutes, and with panics that name their case.

use anyhow::{Context as _, Result, bail, ensure};
use flashyard_measure::tools;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;
use xshell::cmd;

/// The table: a line a case, its name, the hash of its report, the hash of its events.
const TABLE: &str = "xtask/examples/fingerprint/table.txt";

/// The first line of the table.
const HEADER: &str =
    "# Case, hash of its report, of its events: cargo xtask fingerprint, --update to write.\n";

/// What is built, and how.
const BUILD: [&str; 11] = [
    "build",
    "--release",
    "--quiet",
    "--package=xtask",
    "--example=fingerprint",
    "--config=profile.release.lto=false",
    "--config=profile.release.codegen-units=16",
    "--config=profile.release.incremental=true",
    "--config=profile.release.panic=\"unwind\"",
    "--config=profile.release.debug=false",
    "--target-dir",
];

/// Cases that are named where more differ.
const NAMED: usize = 20;

/// Runs every case and compares what it finds with the table or, with `update`, writes the table.
pub(crate) fn run(root: &Path, update: bool) -> Result<String> {
    let target = tools::target(root).join("fingerprint");
    let (sh, cargo) = (tools::shell(root)?, tools::cargo());
    cmd!(sh, "{cargo} {BUILD...} {target}").quiet().run()?;
    let start = Instant::now();
    let cases = target.join("release/examples/fingerprint");
    let output = cmd!(sh, "{cases}").quiet().output()?;
    let seconds = start.elapsed().as_secs();
    let found = String::from_utf8(output.stdout).context("the example prints no text")?;
    let count = found.lines().count();
    if update {
        let broken = found.lines().filter(|line| line.ends_with(" panic")).count();
        ensure!(broken == 0, "{broken} of {count} cases panic; the table is left as it is");
        std::fs::write(root.join(TABLE), HEADER.to_owned() + &found).context(TABLE)?;
        return Ok(format!("fingerprint: {TABLE} holds {count} cases ({seconds} s)"));
    }
    let known = std::fs::read_to_string(root.join(TABLE)).context(TABLE)?;
    compare(&known, &found)?;
    Ok(format!("fingerprint: {count} cases are as in the table ({seconds} s)"))
}

/// The two hashes of each case; the cases in the order of their names.
fn rows(table: &str) -> Result<BTreeMap<&str, [&str; 2]>> {
    let lines = table.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| match line.split(' ').collect::<Vec<_>>()[..] {
            [case, report, events] => Ok((case, [report, events])),
            _ => bail!("{TABLE}: not a case and two hashes: {line}"),
        })
        .collect()
}

/// An error that names the cases in which two tables differ.
fn compare(known: &str, found: &str) -> Result<()> {
    let (known, found) = (rows(known)?, rows(found)?);
    let mut differences = Vec::new();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for (case, hashes) in &found {
        let what = match known.get(case) {
            Some(before) => difference(*before, *hashes),
            None => Some("not in the table"),
        };
        differences.extend(what.map(|what| (*case, what)));
    }
    let gone = known.keys().filter(|case| !found.contains_key(*case));
    differences.extend(gone.map(|case| (*case, "in the table only")));
    for (_, what) in &differences {
        *counts.entry(what).or_default() += 1;
    }
    if differences.is_empty() {
        return Ok(());
    }
    let mut text = format!("{} of {} cases differ", differences.len(), found.len());
    for (what, count) in counts {
        text += &format!("; {what}: {count}");
    }
    for (case, what) in differences.iter().take(NAMED) {
        text += &format!("\n  {case}: {what}");
    }
    if differences.len() > NAMED {
        text += &format!("\n  and {} more", differences.len() - NAMED);
    }
    text += "\nwhere results move on purpose, say which in CHANGELOG.md and run \
             cargo xtask fingerprint --update";
    bail!(text)
}

/// Which of the hashes of the report and of the events differ.
fn difference(known: [&str; 2], found: [&str; 2]) -> Option<&'static str> {
    match (known[0] == found[0], known[1] == found[1]) {
        (true, true) => None,
        _ if found[0] == "panic" => Some("panics"),
        (false, true) => Some("the report"),
        (true, false) => Some("the events"),
        (false, false) => Some("report and events"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever refactors must learn which cases moved, and in what.
    #[test]
    fn differences_name_the_case_and_what_moved() {
        let known = format!("{HEADER}drs/web 1 2\nany-7 3 4\ngc.start=early 5 6\nold 7 8\n");
        assert!(compare(&known, "drs/web 1 2\nany-7 3 4\ngc.start=early 5 6\nold 7 8\n").is_ok());
        let found = "any-7 3 0\ndrs/web 0 2\ngc.start=early 0 0\nhost-1 panic panic\n";
        let text = compare(&known, found).unwrap_err().to_string();
        for line in [
            "5 of 4 cases differ",
            "\n  any-7: the events\n",
            "\n  drs/web: the report\n",
            "\n  gc.start=early: report and events\n",
            "\n  host-1: not in the table\n",
            "\n  old: in the table only\n",
        ] {
            assert!(text.contains(line), "{line:?} is not in {text}");
        }
        let text = compare("host-1 1 2\n", "host-1 panic panic\n").unwrap_err().to_string();
        assert!(text.contains("host-1: panics"), "{text}");
    }

    #[test]
    fn many_differences_are_counted() {
        let table = |hash: u32| -> String {
            let lines: Vec<_> = (0..50).map(|seed| format!("any-{seed} 1 {hash}")).collect();
            lines.join("\n")
        };
        let text = compare(&table(1), &table(2)).unwrap_err().to_string();
        assert!(text.starts_with("50 of 50 cases differ; the events: 50\n"), "{text}");
        assert!(text.contains("and 30 more"), "{text}");
        assert_eq!(text.matches("any-").count(), NAMED);
    }

    #[test]
    fn a_broken_table_is_refused() {
        let text = compare("drs/web 1\n", "drs/web 1 2\n").unwrap_err().to_string();
        assert!(text.ends_with("not a case and two hashes: drs/web 1"), "{text}");
    }
}

//! `cargo xtask golden [FILE...]`: runs worked examples with the example `golden` of this package,
//! without a file those of `xtask/golden`.
//!
//! `cargo xtask golden --update`: writes the regression tables anew: command policies, FTLs,
//! precisions of the bus; the reference of keys; the picture of the README; the C header of the
//! scheduler.

use anyhow::{Context, Result};
use flashyard_measure::tools;
use std::path::Path;
use xshell::cmd;

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
    let (sh, cargo) = (tools::shell(root)?, tools::cargo());
    let works = [
        ("flashyard", &["--test", "golden"][..]),
        ("flashyard", &DOCUMENTS),
        ("flashyard", &["--lib", "--", "tables_of_fields"]),
        ("flashyard-firmware", &["--test", "header"]),
        ("flashyard-capi", &["--test", "header"]),
    ];
    for (package, tests) in works {
        cmd!(sh, "{cargo} test --package {package} {tests...}")
            .env("FLASHYARD_UPDATE_GOLDEN", "1")
            .quiet()
            .run()
            .context("not everything was written")?;
    }
    let files = TABLES.map(|table| format!("{FOLDER}/{table}.txt")).join(", ");
    let documents = "docs/KEYS.md, docs/labs, docs/JSON.md, docs/WHY.md, docs/read-latency.svg, \
                     crates/firmware/include/flashyard.h and \
                     crates/capi/include/flashyard_sim.h";
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
    run(root, &files)
}

/// Runs every example of every file.
pub(crate) fn run(root: &Path, files: &[String]) -> Result<String> {
    crate::example(root, "golden", files)
}

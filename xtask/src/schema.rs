//! `cargo xtask schema`: what commands print, held against `flashyard schema` by a validator that
//! knows all of JSON Schema.
//!
//! The validator is a program of its own (`xtask/validator`): see its manifest.

use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The schemas, and commands that print what they describe.
const PRINTED: [(&str, &[&str]); 7] = [
    (
        "run",
        &[
            "run toy",
            "run drs radiowb --set metrics.bin_ms=10000 --set metrics.power_us=1000000",
            "run nvme-tlc mixed-70-30 --capacity 8GB --set state.initial=steady \
             --set pattern.requests=2000",
            "run ftl-study radiowb --ftl fast",
            "run framework raw-1-256-128 --set raw.requests=300",
            "run wd1600bekt radiowb --set sleep.after_us=1000000",
        ],
    ),
    ("compare", &["compare drs radiowb --vary queue.depth=1,8 --seeds 2"]),
    ("why", &["why drs radiowb", "why small-full radiowb --vary queue.depth=1,8"]),
    ("reproduce", &["reproduce framework --requests 40 --replicas 2"]),
    ("twins", &["reproduce drs --twins 1 --requests 40"]),
    ("trace-info", &["trace info radiowb", "trace info radiowb --compare radio"]),
    ("list", &["list", "list keys", "list ftls"]),
];

/// The same where the validator's crates can be had; skipped with a line that says so where not.
pub(crate) fn run_where_possible(root: &Path) -> Result<()> {
    let mut cargo = crate::cargo();
    cargo.args(["fetch", "--locked", "--manifest-path", "xtask/validator/Cargo.toml"]);
    if !cargo.current_dir(root).status().context("cannot run cargo")?.success() {
        crate::log("ci: schema skipped: the crates of the validator cannot be fetched");
        return Ok(());
    }
    run(root).map(|summary| crate::log(&summary))
}

/// Prints all, and checks it.
pub(crate) fn run(root: &Path) -> Result<String> {
    let target = crate::target(root);
    let mut cargo = crate::cargo();
    cargo.args(["build", "--package", "flashyard", "--bin", "flashyard"]).current_dir(root);
    ensure!(cargo.status().context("cannot run cargo")?.success(), "flashyard cannot be built");
    let mut cargo = crate::cargo();
    cargo.args(["build", "--locked", "--manifest-path", "xtask/validator/Cargo.toml"]);
    cargo.arg("--target-dir").arg(target.join("validator")).current_dir(root);
    ensure!(cargo.status().context("cannot run cargo")?.success(), "no validator is built");
    let flashyard = target.join("debug/flashyard");
    let folder = target.join("schema");
    std::fs::create_dir_all(&folder).with_context(|| format!("{}", folder.display()))?;
    let mut documents = 0;
    for (name, commands) in PRINTED {
        let schema = printed(&flashyard, &format!("schema {name}"), &folder.join("schema.json"))?;
        let mut validator = Command::new(target.join("validator/debug/flashyard-validator"));
        validator.arg(schema);
        for (place, command) in commands.iter().enumerate() {
            let file = folder.join(format!("{place}.json"));
            validator.arg(printed(&flashyard, &format!("{command} --json"), &file)?);
            documents += 1;
        }
        let output = validator.output().context("cannot run the validator")?;
        let said = String::from_utf8_lossy(&output.stdout);
        ensure!(output.status.success(), "schema {name}: {said}");
        crate::log(&format!("schema {name}: {}", said.trim()));
    }
    Ok(format!("schema: {documents} documents are what their schemas say"))
}

/// Writes what a command prints into a file.
fn printed(flashyard: &Path, command: &str, file: &Path) -> Result<PathBuf> {
    let output = Command::new(flashyard).args(command.split_whitespace()).output();
    let output = output.with_context(|| format!("{}", flashyard.display()))?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "flashyard {command}: {said}");
    std::fs::write(file, output.stdout).with_context(|| format!("{}", file.display()))?;
    Ok(file.to_path_buf())
}

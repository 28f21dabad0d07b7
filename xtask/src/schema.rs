//! `cargo xtask schema`: what commands print, held against `flashyard schema` by a validator that
//! knows all of JSON Schema.
//!
//! The validator is a program of its own (`xtask/validator`): see its manifest.

use anyhow::{Result, ensure};
use flashyard_measure::tools;
use std::path::{Path, PathBuf};
use xshell::{Shell, cmd};

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
    let (sh, cargo) = (tools::shell(root)?, tools::cargo());
    let fetch = cmd!(sh, "{cargo} fetch --locked --manifest-path xtask/validator/Cargo.toml");
    if fetch.quiet().run().is_err() {
        crate::log("ci: schema skipped: the crates of the validator cannot be fetched");
        return Ok(());
    }
    run(root).map(|summary| crate::log(&summary))
}

/// Prints all, and checks it.
pub(crate) fn run(root: &Path) -> Result<String> {
    let (sh, cargo, target) = (tools::shell(root)?, tools::cargo(), tools::target(root));
    let flashyard = crate::flashyard(&sh, root)?;
    let folder = target.join("validator");
    cmd!(sh, "{cargo} build --locked --manifest-path xtask/validator/Cargo.toml")
        .arg("--target-dir")
        .arg(&folder)
        .quiet()
        .run()?;
    let validator = folder.join("debug/flashyard-validator");
    let folder = target.join("schema");
    let mut documents = 0;
    for (name, commands) in PRINTED {
        let schema =
            printed(&sh, &flashyard, &format!("schema {name}"), &folder.join("schema.json"))?;
        let mut files = vec![schema];
        for (place, command) in commands.iter().enumerate() {
            let file = folder.join(format!("{place}.json"));
            files.push(printed(&sh, &flashyard, &format!("{command} --json"), &file)?);
            documents += 1;
        }
        let output = cmd!(sh, "{validator} {files...}").quiet().ignore_status().output()?;
        let said = String::from_utf8_lossy(&output.stdout);
        ensure!(output.status.success(), "schema {name}: {said}");
        crate::log(&format!("schema {name}: {}", said.trim()));
    }
    Ok(format!("schema: {documents} documents are what their schemas say"))
}

/// Writes what a command prints into a file.
fn printed(sh: &Shell, flashyard: &Path, command: &str, file: &Path) -> Result<PathBuf> {
    let run = cmd!(sh, "{flashyard}").args(command.split_whitespace());
    sh.write_file(file, run.quiet().ignore_stderr().output()?.stdout)?;
    Ok(file.to_path_buf())
}

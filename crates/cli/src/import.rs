//! `flashyard import`: writes what files of another simulator become, and lists what became of each
//! key.

use crate::args::ImportArgs;
use crate::output::text::headed;
use crate::output::unfinished::Folder;
use crate::output::{WholeFile, print};
use anyhow::{Context, Result};
use flashyard_import::{BASE, Fates, Imported, Written, mqsim};
use flashyard_sim::own::OwnParts;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Runs `flashyard import`.
pub(crate) fn run(args: &ImportArgs, own: &OwnParts) -> Result<()> {
    let out = args.out.clone().unwrap_or_else(|| PathBuf::from("."));
    let imported = mqsim(&args.files, &out, own)?;
    write(&out, imported.device.iter().chain(&imported.workloads))?;
    let lists: String = imported.fates.iter().map(list).collect();
    print(&(said(&out, &imported) + &lists))
}

/// What was written, and what to do with it.
fn said(out: &Path, Imported { device, workloads, .. }: &Imported) -> String {
    let path = |name: &str| out.join(name).to_string_lossy().trim_start_matches("./").to_string();
    let mut text = String::new();
    for (name, _) in device.iter().chain(workloads) {
        let _ = writeln!(text, "{}: written", path(name));
    }
    text += "\nRun it:\n";
    let device = device.as_ref().map_or_else(|| BASE.to_string(), |(name, _)| path(name));
    if workloads.is_empty() {
        let _ = writeln!(text, "    flashyard run {device} WORKLOAD");
    }
    for (name, _) in workloads {
        let _ = writeln!(text, "    flashyard run {device} {}", path(name));
    }
    text
}

/// The keys of one fate.
fn list(Fates { title, rows }: &Fates) -> String {
    let mut text = format!("\n{title}:\n");
    for row in rows {
        text += &match row.line {
            Some(line) => headed(&format!("{line:>5}  "), &row.text, "           "),
            None => headed("       ", &row.text, "       "),
        };
    }
    text
}

/// Writes all files or none.
fn write<'a>(out: &Path, files: impl Iterator<Item = &'a Written>) -> Result<()> {
    let folder = Folder::create(out).with_context(|| format!("{}", out.display()))?;
    let whole = files.map(|(name, text)| WholeFile::of(&out.join(name), text));
    whole.collect::<Result<Vec<_>>>()?.into_iter().try_for_each(WholeFile::finish)?;
    folder.keep();
    Ok(())
}

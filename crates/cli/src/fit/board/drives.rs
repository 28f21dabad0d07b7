//! The measured drives of a directory, and the devices that stand for them.

use crate::output::remark;
use anyhow::Result;
use flashyard_run::error::wrong;
use flashyard_run::fit::cells::{self, Cell};
use flashyard_run::plan::Plan;
use flashyard_run::presets::DEVICES;
use flashyard_sim::own::OwnParts;
use std::path::{Path, PathBuf};

/// A measured drive.
pub(super) struct Drive {
    pub(super) name: String,
    /// The name of its file, without the end.
    pub(super) stem: String,
    pub(super) cells: Vec<Cell>,
}

impl Drive {
    /// The name of a file of this drive: lower case, with hyphens.
    pub(super) fn slug(&self) -> String {
        words(&self.name).join("-")
    }

    /// The devices that stand for it: the one that has its name, or all that were held against some
    /// drive.
    pub(super) fn devices(&self, named: &[String]) -> Vec<String> {
        let own = [words(&self.name), words(&self.stem)].concat();
        let is_own = |device: &&String| {
            let parts = words(device);
            parts.iter().all(|part| own.contains(part))
        };
        let found: Vec<String> = named.iter().filter(is_own).cloned().collect();
        if found.is_empty() { named.to_vec() } else { found }
    }

    /// Whether one device alone has its name.
    pub(super) fn own_device(&self, named: &[String]) -> Option<String> {
        let found = self.devices(named);
        if found.len() < named.len() || named.len() == 1 { found.into_iter().next() } else { None }
    }
}

/// The words of a name, in lower case.
fn words(name: &str) -> Vec<String> {
    let parts = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|part| !part.is_empty());
    parts.map(str::to_ascii_lowercase).collect()
}

/// The presets that were held against a real drive.
pub(super) fn named(own: &OwnParts) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for (name, text) in DEVICES {
        if text.contains("\nheld = ") {
            let plan = Plan::of_device(own.clone(), name, &[])?;
            if !plan.description.held.is_empty() {
                found.push((*name).to_string());
            }
        }
    }
    Ok(found)
}

/// The drives of a directory, in the order of its files and of their lines. Cells of one drive may
/// stand in several files.
pub(super) fn of_directory(directory: &Path) -> Result<Vec<Drive>> {
    let mut all: Vec<Drive> = Vec::new();
    for file in files(directory)? {
        let read = cells::read(&file.to_string_lossy())?;
        read.notes.iter().for_each(|note| remark(note));
        let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        for cell in read.cells {
            let name = if cell.drive.is_empty() { stem.clone() } else { cell.drive.clone() };
            match all.iter_mut().find(|known| known.name == name) {
                Some(drive) => drive.cells.push(cell),
                None => all.push(Drive { name, stem: stem.clone(), cells: vec![cell] }),
            }
        }
    }
    Ok(all)
}

/// The files with measurements, by name.
fn files(directory: &Path) -> Result<Vec<PathBuf>> {
    let problem = |error: std::io::Error| wrong(&format!("{}: {error}", directory.display()));
    let mut all = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(problem)? {
        let path = entry.map_err(problem)?.path();
        let end = path.extension().map(std::ffi::OsStr::to_ascii_lowercase);
        if end.is_some_and(|end| end == "csv" || end == "json") {
            all.push(path);
        }
    }
    all.sort();
    if all.is_empty() {
        let what = "no measurements here: files that end in .csv or .json (docs/FITTING.md)";
        return Err(wrong(&format!("{}: {what}", directory.display())));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_stands_for_the_drive_that_has_its_name() {
        let named = ["pm9a3", "micron-7450-pro", "nvme-a"].map(str::to_string);
        let drive =
            |name: &str| Drive { name: name.to_string(), stem: "x".to_string(), cells: Vec::new() };
        let own = |name: &str| drive(name).own_device(&named);
        assert_eq!(own("Samsung PM9A3 960GB").as_deref(), Some("pm9a3"));
        assert_eq!(own("Micron 7450 PRO 960GB").as_deref(), Some("micron-7450-pro"));
        assert_eq!(own("nvme-b"), None);
        assert_eq!(drive("nvme-b").devices(&named).len(), 3);
        assert_eq!(drive("Micron 7450 PRO 960GB").slug(), "micron-7450-pro-960gb");
    }
}

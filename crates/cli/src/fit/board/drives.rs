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
    /// Whether its cells write into zones.
    pub(super) zoned: bool,
    pub(super) cells: Vec<Cell>,
}

impl Drive {
    /// The name of a file of this drive: lower case, with hyphens.
    pub(super) fn slug(&self) -> String {
        words(&self.name).join("-")
    }

    /// The devices that can run its cells and have its name.
    fn own_devices<'a>(&self, named: &'a [Named]) -> impl Iterator<Item = &'a Named> {
        let own = [words(&self.name), words(&self.stem)].concat();
        self.able(named).filter(move |device| {
            let parts = words(&device.name);
            parts.iter().all(|part| own.contains(part))
        })
    }

    /// The devices that can run its cells.
    fn able<'a>(&self, named: &'a [Named]) -> impl Iterator<Item = &'a Named> {
        let zoned = self.zoned;
        named.iter().filter(move |device| device.zoned == zoned)
    }

    /// The devices that stand for it: the one that has its name, or all that can run its cells.
    pub(super) fn devices(&self, named: &[Named]) -> Vec<String> {
        let name = |device: &Named| device.name.clone();
        let found: Vec<String> = self.own_devices(named).map(name).collect();
        if found.is_empty() { self.able(named).map(name).collect() } else { found }
    }

    /// The device that has its name, or the only one there is.
    pub(super) fn own_device(&self, named: &[Named]) -> Option<String> {
        let only = if named.len() == 1 { self.able(named).next() } else { None };
        self.own_devices(named).next().or(only).map(|device| device.name.clone())
    }
}

/// The words of a name, in lower case.
fn words(name: &str) -> Vec<String> {
    let parts = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|part| !part.is_empty());
    parts.map(str::to_ascii_lowercase).collect()
}

/// A device that may stand for drives.
pub(super) struct Named {
    name: String,
    zoned: bool,
}

impl Named {
    /// The device of this name.
    pub(super) fn of(own: &OwnParts, name: &str) -> Result<Self> {
        Ok(Self::planned(name, &Plan::of_device(own.clone(), name, &[])?))
    }

    fn planned(name: &str, plan: &Plan) -> Self {
        Self { name: name.to_string(), zoned: plan.has_zones() }
    }
}

/// The presets that were held against a real drive.
pub(super) fn named(own: &OwnParts) -> Result<Vec<Named>> {
    let mut found = Vec::new();
    for (name, text) in DEVICES {
        if text.contains("\nheld = ") {
            let plan = Plan::of_device(own.clone(), name, &[])?;
            if !plan.description.held.is_empty() {
                found.push(Named::planned(name, &plan));
            }
        }
    }
    Ok(found)
}

/// The drives of a directory, in the order of its files and of their lines. Cells of one drive may
/// stand in several files. Cells that write into zones are those of a drive of their own.
pub(super) fn of_directory(directory: &Path) -> Result<Vec<Drive>> {
    let mut all: Vec<Drive> = Vec::new();
    for file in files(directory)? {
        let read = cells::read(&file.to_string_lossy())?;
        read.notes.iter().for_each(|note| remark(note));
        let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        for cell in read.cells.into_iter().chain(read.of_zones) {
            let name = if cell.drive.is_empty() { stem.clone() } else { cell.drive.clone() };
            let zoned = cell.needs_zones();
            match all.iter_mut().find(|known| known.name == name && known.zoned == zoned) {
                Some(drive) => drive.cells.push(cell),
                None => all.push(Drive { name, stem: stem.clone(), zoned, cells: vec![cell] }),
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
        let named = ["pm9a3", "micron-7450-pro", "nvme-a", "zn540", "zn540-zns"];
        let named = named.map(|name| Named { name: name.to_string(), zoned: name == "zn540-zns" });
        let of = |name: &str, zoned| Drive {
            name: name.to_string(),
            stem: "x".to_string(),
            zoned,
            cells: Vec::new(),
        };
        let drive = |name: &str| of(name, false);
        let own = |name: &str| drive(name).own_device(&named);
        assert_eq!(own("Samsung PM9A3 960GB").as_deref(), Some("pm9a3"));
        assert_eq!(own("Micron 7450 PRO 960GB").as_deref(), Some("micron-7450-pro"));
        assert_eq!(own("nvme-b"), None);
        assert_eq!(drive("nvme-b").devices(&named).len(), 4);
        assert_eq!(own("zn540-zns").as_deref(), Some("zn540"));
        assert_eq!(of("zn540-zns", true).own_device(&named).as_deref(), Some("zn540-zns"));
        assert_eq!(of("another", true).own_device(&named), None);
        assert_eq!(of("another", true).devices(&named), ["zn540-zns"]);
        assert_eq!(drive("Micron 7450 PRO 960GB").slug(), "micron-7450-pro-960gb");
    }
}

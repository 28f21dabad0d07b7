//! Configurations of other simulators as files of this one: what `flashyard import` does, without
//! its screen and without a file written. [`mqsim`] reads MQSim's files and returns the texts of a
//! device file and of workload files, and what became of each key.
//!
//! `xml` reads the files. `device`, `flash` and `flow` have tables of keys (`table`): a row says
//! what a key becomes here. `workload` writes scenarios, `facts` has what several keys depend on,
//! `defaults` what MQSim takes for keys that are not there, `found` lists what became of each key.

mod defaults;
mod device;
mod facts;
mod flash;
mod flow;
mod found;
mod table;
mod workload;
mod xml;

use anyhow::Result;
use facts::Facts;
use flashyard_run::device::{Origin, read_text_of};
use flashyard_run::error::wrong;
use flashyard_run::workload_file;
use flashyard_sim::config::{DeviceKeys, Settings};
use flashyard_sim::own::OwnParts;
use flow::Trace;
pub use found::{Fates, Row};
use found::{Found, quoted};
use std::fmt::Write as _;
use std::path::Path;
use xml::Group;

/// The preset that imported devices are based on: what MQSim does that its file does not say.
pub const BASE: &str = "mqsim-default";

/// Sections of a device file in their order.
const SECTIONS: [&str; 13] = [
    "geometry",
    "nand",
    "channel",
    "map",
    "queue",
    "policy",
    "interface",
    "buffer",
    "ftl",
    "gc",
    "wear",
    "state",
    "metrics",
];

/// The outermost elements of MQSim's files.
const DEVICE: &str = "Execution_Parameter_Set";
const WORKLOAD: &str = "MQSim_IO_Scenarios";

/// A file: its name and its text.
pub type Written = (String, String);

/// What files of another simulator became.
#[derive(Clone, Debug, Default)]
pub struct Imported {
    /// The device file, if a device was read.
    pub device: Option<Written>,
    /// The workload files.
    pub workloads: Vec<Written>,
    /// What became of each key.
    pub fates: Vec<Fates>,
}

/// Reads a device, a workload or both of MQSim. The files that they become are for the folder
/// `out`: paths of traces are relative to it.
pub fn mqsim(files: &[String], out: &Path, own: &OwnParts) -> Result<Imported> {
    let [mut device, workload] = read(files)?;
    if let Some((_, root)) = &mut device {
        defaults::complete(root);
    }
    let flows = workload::flows(workload.as_ref().map(|(_, root)| root));
    let empty = Group::default();
    let facts = Facts::new(device.as_ref().map_or(&empty, |(_, root)| root), flows);
    let mut imported = Imported::default();
    if let Some((file, root)) = &device {
        let found = device::device(root, &facts);
        refuse(&found)?;
        let name = format!("{}.toml", stem(file));
        let text = device_text(file, &found);
        check_device(&name, &text, &found, own)?;
        imported.device = Some((name, text));
        imported.fates.extend(found.fates(file, "as MQSim's source has them"));
    }
    if let Some((file, root)) = &workload {
        let folder = Path::new(file).parent().unwrap_or_else(|| Path::new("")).to_path_buf();
        let trace = Trace { file: base_name(file), folder, out: out.to_path_buf() };
        let (texts, found) = workload::read(root, &facts, &trace);
        refuse(&found)?;
        let mut stem = stem(file);
        if device.as_ref().is_some_and(|(other, _)| self::stem(other) == stem) {
            stem += "-workload";
        }
        let count = texts.len();
        for (index, text) in texts.into_iter().enumerate() {
            let number = if count == 1 { String::new() } else { format!("-{}", index + 1) };
            let name = format!("{stem}{number}.toml");
            check_workload(&out.join(&name), &text)?;
            imported.workloads.push((name, text));
        }
        imported.fates.extend(found.fates(file, "as the keys of Flashyard are by default"));
    }
    Ok(imported)
}

/// The device and the workload among the files.
fn read(files: &[String]) -> Result<[Option<(&str, Group)>; 2]> {
    let [mut device, mut workload] = [None, None];
    for file in files {
        let root = xml::read(file)?;
        let slot = match root.name.as_str() {
            DEVICE => &mut device,
            WORKLOAD => &mut workload,
            other => {
                let what = format!("MQSim reads <{DEVICE}> (its -i) and <{WORKLOAD}> (its -w)");
                return Err(wrong(&format!("{}: <{other}>: {what}", root.place)));
            }
        };
        if let Some((first, _)) = slot {
            return Err(wrong(&format!("{file}: {first} is such a file, too; name one of them")));
        }
        *slot = Some((file.as_str(), root));
    }
    Ok([device, workload])
}

/// An error with all problems of a file, if it has some.
fn refuse(found: &Found) -> Result<()> {
    if found.problems.is_empty() { Ok(()) } else { Err(wrong(&found.problems.join("\n"))) }
}

/// The name of a file without its folder.
fn base_name(file: &str) -> String {
    Path::new(file).file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The same without what is behind its last dot.
fn stem(file: &str) -> String {
    Path::new(file).file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// The text of a device file.
fn device_text(file: &str, found: &Found) -> String {
    let source = format!("{}, read by flashyard import mqsim", base_name(file));
    let mut text = format!(
        "title = {}\nsource = {}\nbase = \"{BASE}\" # for what MQSim does and its file does not say\n",
        quoted(&format!("MQSim's device of {}", base_name(file))),
        quoted(&source),
    );
    for section in SECTIONS {
        let own = found.settings.iter().filter_map(|setting| {
            let (part, key) = setting.path.rsplit_once('.')?;
            (part == section).then_some((key, setting))
        });
        let mut own = own.peekable();
        if own.peek().is_some() {
            let _ = writeln!(text, "\n[{section}]");
        }
        for (key, setting) in own {
            let _ = writeln!(text, "{key} = {} # {}", setting.value, setting.from.join(", "));
        }
    }
    text
}

/// The device must be one that can be simulated; what is wrong with it is told with the lines of
/// MQSim's file.
fn check_device(name: &str, text: &str, found: &Found, own: &OwnParts) -> Result<()> {
    let mut keys = DeviceKeys::with_own(own.clone());
    let mut problems = Vec::new();
    let mut description = read_text_of(name, text, &mut keys, &mut problems)?;
    for setting in &found.settings {
        let place = format!("{} {}", setting.place, setting.from[0]);
        let origin = Origin { place, in_file: true, comment: String::new() };
        description.origins.insert(setting.path.clone(), origin);
    }
    let told = |what: &str| {
        let what = what.split_once(".toml:").map_or(what, |(_, rest)| rest);
        description.with_places(what)
    };
    if problems.is_empty() {
        problems.extend(Settings::new(keys).err().into_iter().flat_map(|error| error.0));
    }
    let problems: Vec<String> = problems.iter().map(|one| told(&one.what)).collect();
    if problems.is_empty() { Ok(()) } else { Err(wrong(&problems.join("\n"))) }
}

/// The same of a workload.
fn check_workload(path: &Path, text: &str) -> Result<()> {
    let mut problems = Vec::new();
    let experiment = workload_file::parse(&path.to_string_lossy(), text, false, &mut problems)?;
    let mut said: Vec<String> = problems.iter().map(ToString::to_string).collect();
    if said.is_empty() {
        said = experiment.contradictions();
    }
    if said.is_empty() { Ok(()) } else { Err(wrong(&said.join("\n"))) }
}

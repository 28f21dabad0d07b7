//! Device files: the file that each is based on, the place of each key, and the changes on top.

pub mod capacity;
mod description;
pub mod held;
pub mod layer;
pub mod names;
pub mod shares;

pub use description::{Description, Origin};

use crate::error::{is_toml, read_text, wrong};
use crate::presets;
use anyhow::Result;
use flashyard_core::key::Kind;
use flashyard_core::key::Value;
use flashyard_sim::config::{
    DeviceKeys, FirmwareFamily, Item, Problem, Sections, Table, line_of_item, parse_toml,
    parse_value, read_table, show_value,
};
use std::path::Path;
use toml_edit::TableLike;

/// The device that a file starts from which names no base: a drive of today.
pub const PLAUSIBLE: &str = "nvme-tlc";

/// The base of a file that starts from nothing but the defaults of the keys.
const NO_BASE: &str = "none";

/// Strings that say what a device is.
pub const NOTES: [&str; 3] = ["title", "source", "notes"];

/// What a device file may hold besides keys.
const EXTRAS: [&str; 3] = ["base", "capacity", HELD];

/// The loads that a device was held against a real drive on.
const HELD: &str = "held";

/// Gives keys that a family of firmware sets their values, so that what is printed is what runs.
pub fn resolve_family(keys: &mut DeviceKeys, description: &mut Description) {
    let with_family = keys.clone().with_family();
    if with_family == *keys {
        return;
    }
    let before = std::mem::replace(keys, with_family);
    for (section, listed, _) in before.sections() {
        for key in listed {
            if before.get(&section, key.name) != keys.get(&section, key.name) {
                let path = format!("{section}.{}", key.name);
                let family = keys.get("firmware", "family").expect("a key of the section");
                let family = show_value(&Kind::Choice(FirmwareFamily::WORDS), family);
                let comment = format!("firmware.family = {family}");
                description.set(&path, "firmware.family", &comment);
            }
        }
    }
}

/// A size as an option or a file has it; plain numbers are bytes.
pub fn size(text: &str) -> Result<u64, String> {
    match parse_value(&Kind::count("bytes", 1, u64::MAX), text)? {
        Value::Number(bytes) => Ok(bytes),
        _ => unreachable!("the kind is a number"),
    }
}

/// Reads the device of this name, a preset or a file, into `keys`. Problems of every file are
/// added to `problems`.
pub fn read(name: &str, keys: &mut DeviceKeys, problems: &mut Vec<Problem>) -> Result<Description> {
    if presets::device(name).is_none() && !is_toml(name) && !Path::new(name).exists() {
        return Err(wrong(&names::no_device(name)));
    }
    names::refuse_mqsim(name)?;
    read_text_of(name, &read_device(name)?, keys, problems)
}

/// The same of a text that will be the file of this name.
pub fn read_text_of(
    name: &str,
    text: &str,
    keys: &mut DeviceKeys,
    problems: &mut Vec<Problem>,
) -> Result<Description> {
    let mut found = Description::default();
    Chain { names: Vec::new(), keys, problems, found: &mut found }.read(name, text)?;
    Ok(found)
}

fn read_device(name: &str) -> Result<String> {
    presets::device(name).map_or_else(|| read_text(name), |text| Ok(text.to_string()))
}

/// Files that are based on one another, the outermost first.
struct Chain<'a> {
    names: Vec<String>,
    keys: &'a mut DeviceKeys,
    problems: &'a mut Vec<Problem>,
    found: &'a mut Description,
}

impl Chain<'_> {
    /// Reads one file after what it is based on.
    fn read(&mut self, name: &str, text: &str) -> Result<()> {
        self.names.push(name.to_string());
        let Some(document) = parse_toml(name, text, self.problems) else { return Ok(()) };
        let root = document.as_table();
        let line = |item: &Item| line_of_item(text, item.span());
        match root.get("base").map(|item| (item.as_str(), line(item))) {
            Some((Some(NO_BASE), _)) => {}
            Some((Some(base), line)) => self.base(name, base, line)?,
            Some((None, line)) => {
                self.problem(name, line, "base: a string in quotes is needed".to_string());
            }
            None if is_disk(root) || presets::device(name).is_some() => {}
            None => self.base(name, PLAUSIBLE, 1)?,
        }
        let before = self.problems.len();
        let shares = self.shares(name, text, root);
        let extras = [&EXTRAS[..], &shares].concat();
        read_table(name, text, root, self.keys, &extras, self.problems);
        if self.problems.len() > before {
            return Ok(());
        }
        if let Some(item) = root.get("capacity") {
            let raw = item.span().map_or("", |span| &text[span]);
            match size(raw) {
                Ok(bytes) => self.found.capacity = Some(bytes),
                Err(what) => self.problem(name, line(item), format!("capacity: {what}")),
            }
        }
        // A file that is based on this one is another device.
        self.found.held.clear();
        if let Some(item) = root.get(HELD) {
            match held::read(item) {
                Ok(loads) => self.found.held = loads,
                Err(what) => self.problem(name, line(item), format!("{HELD}: {what}")),
            }
        }
        for note in NOTES {
            if let Some(said) = root.get(note).and_then(Item::as_str) {
                self.found.notes.insert(note, said.to_string());
            }
        }
        self.note_keys(name, text, "", root);
        Ok(())
    }

    /// Reads the keys of a file that are shares of the spare space; they are no numbers yet. A
    /// number of a file does away with the share of its base.
    fn shares(&mut self, name: &str, text: &str, root: &Table) -> Vec<&'static str> {
        let mut found = Vec::new();
        for path in shares::KEYS {
            let (section, key) = path.split_once('.').expect("a key of a section");
            let section = root.get(section).and_then(Item::as_table_like);
            let Some(item) = section.and_then(|section| section.get(key)) else { continue };
            self.found.shares.remove(path);
            let Some(share) = item.as_str().and_then(shares::of_spare) else { continue };
            found.push(path);
            match share {
                Ok(ppm) => drop(self.found.shares.insert(path, ppm)),
                Err(what) => {
                    let line = line_of_item(text, item.span());
                    self.problem(name, line, format!("{path}: {what}"));
                }
            }
        }
        found
    }

    /// Reads what a file is based on.
    fn base(&mut self, name: &str, base: &str, line: usize) -> Result<()> {
        let path = if presets::device(base).is_some() {
            base.to_string()
        } else if is_toml(base) {
            let parent = Path::new(name).parent().unwrap_or_else(|| Path::new(""));
            parent.join(base).to_string_lossy().into_owned()
        } else {
            let known = names::no_device(base);
            self.problem(name, line, format!("base: {known}; a file's name ends in .toml"));
            return Ok(());
        };
        let same = |other: &String| {
            let real = |path: &str| std::fs::canonicalize(path).ok();
            *other == path || real(other).is_some() && real(other) == real(&path)
        };
        if let Some(first) = self.names.iter().position(same) {
            let round = self.names[first..].join(" -> ");
            self.problem(name, line, format!("base: {path} is based on itself: {round} -> {path}"));
            return Ok(());
        }
        let text =
            read_device(&path).map_err(|error| wrong(&format!("{name}:{line}: base: {error}")))?;
        self.read(&path, &text)
    }

    /// Notes where the keys of a table stand, and the comments beside them.
    fn note_keys(&mut self, name: &str, text: &str, prefix: &str, table: &dyn TableLike) {
        for (key, item) in table.iter() {
            let path = if prefix.is_empty() { key.to_string() } else { format!("{prefix}.{key}") };
            if let Some(table) = item.as_table_like() {
                self.note_keys(name, text, &path, table);
            } else if prefix.is_empty() && (EXTRAS.contains(&key) || NOTES.contains(&key)) {
            } else {
                let span = table.key(key).and_then(toml_edit::Key::span).or_else(|| item.span());
                let end = item.span().map_or(text.len(), |span| span.end);
                let rest = text[end..].lines().next().unwrap_or("").trim();
                let origin = Origin {
                    place: format!("{name}:{}", line_of_item(text, span)),
                    in_file: presets::device(name).is_none(),
                    comment: rest.strip_prefix('#').unwrap_or("").trim().to_string(),
                };
                self.found.origins.insert(path, origin);
            }
        }
    }

    fn problem(&mut self, name: &str, line: usize, what: String) {
        self.problems.push(Problem { place: format!("{name}:{line}"), what });
    }
}

/// Whether a file describes a disk, to which no flash device is a base.
fn is_disk(root: &Table) -> bool {
    let device = root.get("device").and_then(Item::as_table_like);
    let kind = device.and_then(|device| device.get("kind")).and_then(Item::as_str);
    kind == Some("disk")
}

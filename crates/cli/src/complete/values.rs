//! What may stand for a value of the command line.

use crate::args::ALL;
use clap_complete::engine::{CompletionCandidate, PathCompleter, ValueCompleter};
use flashyard_core::key::Kind;
use flashyard_run::plan::AllSections;
use flashyard_run::presets::{DEVICES, built_in};
use flashyard_sim::config::{Section, Sections};
use flashyard_sim::own::OwnParts;
use flashyard_studies::STUDIES;
use flashyard_workload::FormatInfo;
use std::ffi::OsStr;

/// What an argument takes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Values {
    /// A key with a value, or with `several` ones behind commas.
    Setting {
        keys: Keys,
        several: bool,
    },
    Device,
    Workload,
    DeviceOrWorkload,
    SectionOrDevice,
    Layer,
    Study,
    Format,
    File,
    Folder,
}

/// Whose keys may be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keys {
    All,
    OfDevices,
    OfWorkloads,
}

/// A name, and a line about it.
type Name = (String, String);

impl Values {
    /// Those that go on from `current`.
    pub(super) fn matching(self, current: &OsStr, own: &OwnParts) -> Vec<CompletionCandidate> {
        // No name is anything else than Unicode.
        let text = current.to_str().unwrap_or("\0");
        let names = match self {
            Self::Setting { keys, several } => return settings(text, keys, several, own),
            Self::Folder => return PathCompleter::dir().complete(current),
            Self::File => Vec::new(),
            Self::Layer => return candidates(layers(&AllSections::new(own.clone())), text),
            Self::Device => devices(),
            Self::Workload => workloads(),
            Self::DeviceOrWorkload => [devices(), workloads()].concat(),
            Self::SectionOrDevice => {
                let sections = AllSections::new(own.clone());
                [sections_of(&sections.sections()), devices()].concat()
            }
            Self::Study => studies(),
            Self::Format => formats(),
        };
        let mut all = candidates(names, text);
        // The folder itself is no file, and what is in it is named without it.
        let paths = PathCompleter::any().complete(current).into_iter();
        all.extend(paths.filter(|path| path.get_value() != "."));
        all
    }
}

/// The names that begin like `text`.
fn candidates(names: Vec<Name>, text: &str) -> Vec<CompletionCandidate> {
    let matching = names.into_iter().filter(|(name, _)| name.starts_with(text));
    let candidate = |(name, about): Name| {
        let about = (!about.is_empty()).then(|| about.into());
        CompletionCandidate::new(name).help(about)
    };
    matching.map(candidate).collect()
}

fn devices() -> Vec<Name> {
    let title = |text: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix("title = "));
        line.unwrap_or("").trim_matches('"').to_string()
    };
    DEVICES.iter().map(|(name, text)| ((*name).to_string(), title(text))).collect()
}

fn workloads() -> Vec<Name> {
    built_in().map(|(_, name, title)| (name.to_string(), first_line(title))).collect()
}

fn layers(sections: &AllSections) -> Vec<Name> {
    sections
        .device
        .layer_names()
        .into_iter()
        .map(|name| (name.to_string(), String::new()))
        .collect()
}

fn studies() -> Vec<Name> {
    let names = STUDIES.iter().map(|(name, _)| *name).chain([ALL]);
    names.map(|name| (name.to_string(), String::new())).collect()
}

fn formats() -> Vec<Name> {
    let written = FormatInfo::all().filter(|format| format.writer.is_some());
    written.map(|format| (format.name.to_string(), first_line(format.doc))).collect()
}

/// Sections that are in no other.
fn sections_of(sections: &[Section<'_>]) -> Vec<Name> {
    let outer = sections.iter().filter(|(name, ..)| !name.contains('.'));
    outer.map(|(name, _, doc)| (name.to_string(), first_line(doc))).collect()
}

/// What goes on from the last setting of `text`: a section, a key or a word of a key.
fn settings(text: &str, keys: Keys, several: bool, own: &OwnParts) -> Vec<CompletionCandidate> {
    let all = AllSections::new(own.clone());
    // Alternatives are apart by `|`, and what they set by commas, as are the values of a key.
    let start = if several { text.rfind(['|', ',']).map_or(0, |at| at + 1) } else { 0 };
    let blanks = text[start..].len() - text[start..].trim_start().len();
    let (before, last) = text.split_at(start + blanks);
    let prefixed = |names: Vec<Name>, done: &str, rest: &str| {
        let found = candidates(names, rest).into_iter();
        found.map(|one| one.add_prefix(format!("{before}{done}"))).collect()
    };
    if let Some((key, value)) = last.split_once('=') {
        return prefixed(words(&all, several, key.trim()), &format!("{key}="), value);
    }
    // Behind a comma stands another value of the key before it, or else a key.
    let alternative = before.rsplit('|').next().unwrap_or("");
    let key = alternative.rsplit_once('=').map(|(key, _)| key);
    let key = key.and_then(|key| key.rsplit([',', ' ']).next()).unwrap_or("");
    let mut names = words(&all, several, key);
    if !names.iter().any(|(name, _)| name.starts_with(last)) {
        names = steps(&all, keys, several, last);
    }
    prefixed(names, "", last)
}

/// The key of a trace whose value is the name of a format, or a text of another kind.
const FORMAT: &str = "trace.format";

/// The words of a key; a number has none. Devices and workloads are values of points alone.
fn words(all: &AllSections, several: bool, path: &str) -> Vec<Name> {
    let plain = |words: &mut dyn Iterator<Item = &str>| -> Vec<Name> {
        words.map(|word| (word.to_string(), String::new())).collect()
    };
    match path {
        "ftl" => return layers(all),
        "device" if several => return devices(),
        "workload" if several => return workloads(),
        FORMAT => {
            let read = FormatInfo::all();
            return read.map(|one| (one.name.to_string(), first_line(one.doc))).collect();
        }
        _ => {}
    }
    let Some((section, name)) = path.rsplit_once('.') else { return Vec::new() };
    let sections = all.sections();
    let found = sections.iter().find(|(known, ..)| known == section);
    match found.and_then(|(_, keys, _)| keys.find(name)).map(|key| key.kind) {
        Some(Kind::Choice(words)) => plain(&mut words.iter()),
        Some(Kind::Bool) => plain(&mut ["false", "true"].into_iter()),
        Some(Kind::Number { .. } | Kind::List { .. }) | None => Vec::new(),
    }
}

/// The next steps from `text` to a key: sections that end in a dot, keys that end in `=`.
fn steps(all: &AllSections, keys: Keys, several: bool, text: &str) -> Vec<Name> {
    let done = text.rfind('.').map_or("", |dot| &text[..=dot]);
    let mut names: Vec<Name> = Vec::new();
    let mut add = |name: String, about: &str| {
        if !names.iter().any(|(known, _)| *known == name) {
            names.push((name, first_line(about)));
        }
    };
    let sections = match keys {
        Keys::All => all.sections(),
        Keys::OfDevices => all.device.sections(),
        Keys::OfWorkloads => all.workload.sections(),
    };
    for (section, listed, doc) in sections {
        let section = format!("{section}.");
        if section == done {
            for key in listed.iter() {
                add(format!("{section}{}=", key.name), key.doc);
            }
        } else if let Some(rest) = section.strip_prefix(done) {
            let end = rest.find('.').map_or(rest.len(), |dot| dot + 1);
            let about = if end == rest.len() { doc } else { "" };
            add(format!("{done}{}", &rest[..end]), about);
        }
    }
    if done == "trace." && keys != Keys::OfDevices {
        add(format!("{FORMAT}="), "the format, if detection is not wanted");
    }
    let extra: &[&str] = match (keys, several) {
        _ if !done.is_empty() => &[],
        (Keys::All, true) => &["ftl=", "capacity=", "device=", "workload=", "seed="],
        (Keys::All, false) | (Keys::OfDevices, _) => &["ftl=", "capacity="],
        (Keys::OfWorkloads, _) => &[],
    };
    for name in extra {
        add((*name).to_string(), "");
    }
    names
}

fn first_line(text: &str) -> String {
    text.trim().lines().next().unwrap_or("").to_string()
}

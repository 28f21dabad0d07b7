//! Devices and workloads as files to edit, with the source of each number.

use crate::device::NOTES;
use crate::experiment::{Experiment, Origin, StreamPlan};
use crate::plan::Plan;
use crate::text::{WIDTH, first_sentence, headed};
use flashyard_core::key::{Key, Kind, Value};
use flashyard_sim::config::{Sections, Settings, WordList, show_value};
use flashyard_sim::device::PhaseKeys;
use flashyard_sim::stream::StreamKeys;

/// A string of TOML in lines that fit.
fn string(name: &str, text: &str) -> String {
    let quoted = toml_edit::Value::from(text).to_string();
    let line = format!("{name} = {quoted}");
    if line.chars().count() <= WIDTH {
        return line + "\n";
    }
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
    // A backslash joins lines; it takes a column, and so does the space before it.
    let mut lines = format!("{name} = \"\"\"\\\n");
    let mut line = String::from("   ");
    for word in escaped.split(' ') {
        if line.trim().len() + word.len() > WIDTH - 8 && !line.trim().is_empty() {
            lines += &format!("{line} \\\n");
            line = String::from("   ");
        }
        line += &format!(" {word}");
    }
    lines + &line + "\"\"\"\n"
}

/// A key with its value and a comment. The comment stands beside the value, or above it if the line
/// is too long.
fn assignment(key: &Key<impl WordList>, value: Value, comment: &str) -> String {
    let shown = show_value(&key.kind, value);
    let shown = if matches!(key.kind, Kind::Choice(_)) { format!("\"{shown}\"") } else { shown };
    let line = format!("{} = {shown}", key.name);
    match comment {
        "" => line + "\n",
        _ if line.chars().count() + comment.chars().count() + 3 <= WIDTH => {
            format!("{line} # {comment}\n")
        }
        _ => headed("# ", comment, "# ") + &line + "\n",
    }
}

/// A device file that gives the same device.
pub fn device(inputs: &Plan, settings: &Settings, every: bool) -> String {
    let (keys, description) = (&inputs.sections.device, &inputs.description);
    let mut text = String::new();
    for name in NOTES {
        text += &description.notes.get(name).map_or_else(String::new, |said| string(name, said));
    }
    if description.notes.is_empty() {
        text += &string("title", &inputs.device_name);
    }
    let bytes = settings.capacity_sectors() as f64 * 512.0;
    text +=
        &format!("# The host sees {:.3} GB ({:.3} GiB).\n", bytes / 1e9, bytes / 1_073_741_824.0);
    text += "base = \"none\" # keys that are not here have the defaults of list keys\n";
    let defaults = keys.defaults();
    for (section, listed, doc) in keys.sections() {
        if !keys.has_section(&section) {
            continue;
        }
        let mut lines = String::new();
        for key in listed {
            let value = keys.get(&section, key.name).expect("a listed key has a value");
            let origin = description.origins.get(&format!("{section}.{}", key.name));
            let is_default = defaults.get(&section, key.name) == Some(value);
            let comment = match origin {
                Some(origin) => origin.comment.as_str(),
                None if is_default && every => key.source,
                None if is_default => continue,
                None => "",
            };
            lines += &assignment(&key, value, comment);
        }
        if section == "gc" && !lines.is_empty() {
            lines += &thresholds(settings);
        }
        if !lines.is_empty() {
            let head = if every { headed("# ", doc.trim(), "# ") } else { String::new() };
            text += &format!("\n{head}[{section}]\n{lines}");
        }
    }
    text
}

/// The thresholds of garbage collection in blocks, as comments.
fn thresholds(settings: &Settings) -> String {
    let keys = &settings.keys;
    if keys.is_disk() || !keys.is_page_map() {
        return String::new();
    }
    let gc = &keys.gc;
    let what = format!(
        "Blocks of a plane, of {} spare ones: soft_free_blocks {}, hard_free_blocks {}, \
         reserve_blocks {}, background_free_blocks {}.",
        settings.spare_blocks(),
        gc.soft_free_blocks,
        gc.hard_free_blocks,
        gc.reserve_blocks,
        gc.background_free_blocks
    );
    headed("# ", &what, "# ")
}

/// A workload file that makes the same requests.
pub fn workload(experiment: &Experiment) -> String {
    let mut text = String::new();
    for phase in &experiment.phases {
        let inside = if experiment.numbered { "phase." } else { "" };
        if experiment.numbered {
            text += &format!("[[phase]]\n{}", string("name", &phase.name));
            text += &differing(
                PhaseKeys::KEYS,
                |name| phase.keys.get(name),
                |name| PhaseKeys::default().get(name),
            );
            text.push('\n');
        }
        for stream in &phase.streams {
            text += &origin(stream, inside);
        }
    }
    text
}

/// Keys that differ from their defaults.
fn differing(
    keys: &[Key],
    get: impl Fn(&str) -> Option<Value>,
    default: impl Fn(&str) -> Option<Value>,
) -> String {
    let differs = keys.iter().filter(|key| get(key.name) != default(key.name));
    let line = |key: &Key| get(key.name).map_or_else(String::new, |value| described(key, value));
    differs.map(line).collect()
}

/// A key with its description as a comment.
fn described(key: &Key<impl WordList>, value: Value) -> String {
    let doc = first_sentence(key.doc);
    let comment = match key.kind {
        Kind::Number { unit, .. } => format!("{unit}: {doc}"),
        _ => doc,
    };
    assignment(key, value, &comment)
}

/// Where the requests of a stream come from, and when they are issued.
fn origin(stream: &StreamPlan, inside: &str) -> String {
    let part = stream.origin.section();
    let mut text = format!("[{inside}{part}]\n");
    match (&stream.origin, &stream.from) {
        (Origin::Trace { path, .. } | Origin::Raw(Some(path)), _) => text += &string("path", path),
        (_, Some(base)) => text += &string("base", base),
        _ => {}
    }
    if let Origin::Trace { format, split, .. } = &stream.origin {
        let named = [("format", format), ("split", split)];
        for (name, value) in named {
            text += &value.as_ref().map_or_else(String::new, |value| string(name, value));
        }
    }
    if !matches!(stream.origin, Origin::Raw(Some(_))) {
        for key in StreamPlan::section(part).0 {
            let value = stream.get(part, key.name).expect("a listed key has a value");
            text += &described(&key, value);
        }
    }
    let defaults = StreamKeys::default();
    let differs = |key: &&Key| {
        ["pacing", "depth"].contains(&key.name)
            || stream.keys.get(key.name) != defaults.get(key.name)
    };
    text += &format!("\n[{inside}stream]\n");
    for key in StreamKeys::KEYS.iter().filter(differs) {
        let value = stream.keys.get(key.name).expect("a listed key has a value");
        text += &described(key, value);
    }
    text + "\n"
}

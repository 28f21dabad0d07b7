//! Settings that change nothing, because another key has a value that does not use them.

use crate::experiment::{Experiment, path_of};
use flashyard_sim::config::{DeviceKeys, GcPacing, Precision, Sections as _};
use std::fmt;

/// The key that chooses one part of each family. Only the chosen part gets its keys.
const CHOOSERS: [(&str, &str); 5] = [
    ("policy", "command"),
    ("host", "policy"),
    ("channel", "arbitration"),
    ("gc", "policy"),
    ("ftl", "scheme"),
];

/// A setting that changes nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unused {
    path: String,
    why: String,
}

impl fmt::Display for Unused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} changes nothing: {}", self.path, self.why)
    }
}

/// What is unused in every one of several runs, with the reason in the first one.
#[derive(Clone, Debug, Default)]
pub struct UnusedInAll(Option<Vec<Unused>>);

impl UnusedInAll {
    /// One more run, and what is unused there.
    pub fn add(&mut self, run: &[Unused]) {
        let of_all = self.0.get_or_insert_with(|| run.to_vec());
        of_all.retain(|unused| run.iter().any(|other| other.path == unused.path));
    }

    /// What is unused in all of them.
    pub fn get(&self) -> &[Unused] {
        self.0.as_deref().unwrap_or_default()
    }
}

/// A setting, `section.key=value`, as unused as the other keys make it. None where it may change
/// something.
pub(crate) fn of(device: &DeviceKeys, workload: &Experiment, setting: &str) -> Option<Unused> {
    let path = path_of(setting);
    let (section, key) = path.rsplit_once('.')?;
    let why = if let Some((family, part)) = section.split_once('.')
        && let Some(chooser) = chooser(family)
    {
        let chosen = device.shown(family, chooser)?;
        (chosen != part).then(|| format!("{family}.{chooser} = {chosen}"))?
    } else if let Some(other) = workload.unused_by(section, key) {
        format!("{section}.{other} = {}", workload.shown(section, other)?)
    } else {
        off(device, section, key)?.to_owned()
    };
    Some(Unused { path: path.to_owned(), why })
}

/// Adds a setting that changes nothing, unless a reason for it is known.
pub(crate) fn add(unused: &mut Vec<Unused>, path: &str, why: String) {
    if unused.iter().all(|other| other.path != path) {
        unused.push(Unused { path: path.to_owned(), why });
    }
}

/// Whether a key says what a device holds at first. A saved device holds what it held.
pub(crate) fn is_of_start(path: &str) -> bool {
    path.starts_with("state.") || path == "buffer.initial"
}

/// Why a key of a mechanism that is off changes nothing. A key that switches the mechanism on and
/// off may be what switches it off here.
fn off(device: &DeviceKeys, section: &str, key: &str) -> Option<&'static str> {
    let (is_off, why) = match (section, key) {
        ("slc", "static_percent" | "dynamic_percent")
        | ("sleep" | "deep_sleep", "after_us")
        | ("buffer", "bytes")
        | ("bus", "precision") => return None,
        ("retry", key) if key.contains("chance") => return None,
        ("slc", _) => (!device.slc.is_on(), "slc.static_percent = 0, slc.dynamic_percent = 0"),
        ("retry", _) => (!device.retry.is_on(), "every chance of [retry] is 0"),
        ("sleep", _) => (!device.sleep.is_on(), "sleep.after_us = 0"),
        ("deep_sleep", _) => (!device.deep_sleep.is_on(), "deep_sleep.after_us = 0"),
        ("buffer", _) => (device.buffer.bytes == 0, "buffer.bytes = 0"),
        ("bus", _) => match device.bus.precision {
            Precision::Command => (true, "bus.precision = command"),
            Precision::Phases => (true, "bus.precision = phases"),
            Precision::Requests => (false, ""),
        },
        ("gc", "copies_per_program") if device.gc.pacing == GcPacing::Spare => {
            (true, "gc.pacing = spare")
        }
        (
            "gc",
            "copies_per_program" | "soft_zone_blocks" | "reads_before_copy" | "suspend_while_short",
        ) => (device.gc.pacing == GcPacing::None, "gc.pacing = none"),
        _ => return None,
    };
    is_off.then_some(why)
}

fn chooser(family: &str) -> Option<&'static str> {
    CHOOSERS.iter().find(|(known, _)| *known == family).map(|(_, key)| *key)
}

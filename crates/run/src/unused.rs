//! Settings that change nothing, because another key has a value that does not use them.

use crate::experiment::Experiment;
use flashyard_sim::config::{DeviceKeys, Sections as _};
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
pub fn of_all<'a>(mut runs: impl Iterator<Item = &'a [Unused]>) -> Vec<&'a Unused> {
    let mut of_all: Vec<&Unused> = runs.next().into_iter().flatten().collect();
    for run in runs {
        of_all.retain(|unused| run.iter().any(|other| other.path == unused.path));
    }
    of_all
}

/// A setting, `section.key=value`, as unused as the other keys make it. None where it may change
/// something.
pub(crate) fn of(device: &DeviceKeys, workload: &Experiment, setting: &str) -> Option<Unused> {
    let path = setting.split('=').next()?.trim();
    let (section, key) = path.rsplit_once('.')?;
    let (section, other, value) = match section.split_once('.') {
        Some((family, part)) if chooser(family).is_some() => {
            let chooser = chooser(family)?;
            let chosen = device.shown(family, chooser)?;
            if chosen == part {
                return None;
            }
            (family, chooser, chosen)
        }
        _ => {
            let other = workload.unused_by(section, key)?;
            (section, other, workload.shown(section, other)?)
        }
    };
    Some(Unused { path: path.to_owned(), why: format!("{section}.{other} = {value}") })
}

fn chooser(family: &str) -> Option<&'static str> {
    CHOOSERS.iter().find(|(known, _)| *known == family).map(|(_, key)| *key)
}

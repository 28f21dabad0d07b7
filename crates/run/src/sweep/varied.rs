//! The keys in which the points of a sweep differ.

use crate::plan::Plan;
use flashyard_core::key::{Kind, Value};
use flashyard_sim::config::{KeyList, Sections};
use std::collections::BTreeMap;

/// A key of a section.
#[derive(Debug)]
struct Seen {
    name: &'static str,
    unit: &'static str,
    /// The value at the first point that has it.
    first: Value,
    /// Whether another point has another value.
    differs: bool,
}

/// The keys of all points, and which of them differ.
#[derive(Debug, Default)]
pub struct Varied {
    sections: BTreeMap<String, Vec<Seen>>,
    /// Sections in the order in which points have them.
    order: Vec<String>,
}

/// A key in which points differ.
#[derive(Debug)]
pub struct VariedKey {
    section: String,
    name: String,
    unit: &'static str,
}

impl Varied {
    /// Takes note of the keys that a point has an effect of.
    pub fn note(&mut self, inputs: &Plan) {
        let (device, workload) = (&inputs.sections.device, &inputs.sections.workload);
        for (section, keys, _) in device.sections() {
            if device.has_section(&section) {
                self.compare(&section, keys, device);
            }
        }
        for (section, keys, _) in workload.sections() {
            if workload.idle(&section).is_none() {
                self.compare(&section, keys, workload);
            }
        }
    }

    fn compare(&mut self, section: &str, keys: KeyList<'_>, values: &dyn Sections) {
        let value = |name: &str| values.get(section, name).expect("a listed key has a value");
        if let Some(seen) = self.sections.get_mut(section) {
            for key in seen {
                key.differs |= key.first != value(key.name);
            }
            return;
        }
        let seen = keys.iter().map(|key| {
            let unit = match key.kind {
                Kind::Number { unit, .. } => unit,
                _ => "",
            };
            Seen { name: key.name, unit, first: value(key.name), differs: false }
        });
        self.order.push(section.to_string());
        self.sections.insert(section.to_string(), seen.collect());
    }

    /// The keys in which points differ, and those that they name, whether they differ in them or
    /// not. Keys that are named and have an effect nowhere come last.
    pub fn keys(&self, named: &[String]) -> Vec<VariedKey> {
        let mut all = Vec::new();
        for section in &self.order {
            for &Seen { name, unit, differs, .. } in &self.sections[section] {
                if differs || named.contains(&format!("{section}.{name}")) {
                    all.push(VariedKey { section: section.clone(), name: name.to_string(), unit });
                }
            }
        }
        let known: Vec<String> = all.iter().map(VariedKey::path).collect();
        for (section, name) in named.iter().filter_map(|key| key.rsplit_once('.')) {
            if !known.contains(&format!("{section}.{name}")) {
                let (section, name) = (section.to_string(), name.to_string());
                all.push(VariedKey { section, name, unit: "" });
            }
        }
        all
    }
}

impl VariedKey {
    /// `section.key`.
    pub fn path(&self) -> String {
        format!("{}.{}", self.section, self.name)
    }

    /// The unit of its values.
    pub const fn unit(&self) -> &'static str {
        self.unit
    }

    /// Returns its value as files have it, if the key has an effect at the point.
    pub fn value(&self, inputs: &Plan) -> Option<String> {
        let (device, workload) = (&inputs.sections.device, &inputs.sections.workload);
        match device.shown(&self.section, &self.name) {
            Some(value) => Some(value).filter(|_| device.has_section(&self.section)),
            None => workload
                .shown(&self.section, &self.name)
                .filter(|_| workload.idle(&self.section).is_none()),
        }
    }
}

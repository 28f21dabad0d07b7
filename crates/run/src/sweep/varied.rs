//! The keys in which the points of a sweep differ.

use crate::plan::Plan;
use flashyard_core::key::{Key, Kind, Value};
use flashyard_sim::config::{Sections, show_value};
use std::collections::BTreeMap;

/// The keys of a section.
#[derive(Debug)]
struct Seen {
    keys: &'static [Key],
    /// By key, the value at the first point that has it.
    first: Vec<Option<Value>>,
    /// By key, whether another point has another value.
    differs: Vec<bool>,
}

/// The keys of all points, and which of them differ.
#[derive(Debug, Default)]
pub struct Varied {
    sections: BTreeMap<String, Seen>,
    /// Sections in the order in which points have them.
    order: Vec<String>,
}

/// A key in which points differ.
#[derive(Debug)]
pub struct VariedKey {
    section: String,
    key: &'static Key,
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

    fn compare(&mut self, section: &str, keys: &'static [Key], values: &dyn Sections) {
        if !self.sections.contains_key(section) {
            self.order.push(section.to_string());
            let (first, differs) = (vec![None; keys.len()], vec![false; keys.len()]);
            self.sections.insert(section.to_string(), Seen { keys, first, differs });
        }
        let seen = self.sections.get_mut(section).expect("there since now");
        for ((key, first), differs) in keys.iter().zip(&mut seen.first).zip(&mut seen.differs) {
            let value = values.get(section, key.name).expect("a listed key has a value");
            *differs |= *first.get_or_insert(value) != value;
        }
    }

    /// The keys in which points differ, and those that they name.
    pub fn keys(&self, named: &[String]) -> Vec<VariedKey> {
        let mut all = Vec::new();
        for section in &self.order {
            let Seen { keys, differs, .. } = &self.sections[section];
            for (key, differs) in keys.iter().zip(differs) {
                if *differs || named.contains(&format!("{section}.{}", key.name)) {
                    all.push(VariedKey { section: section.clone(), key });
                }
            }
        }
        all
    }
}

impl VariedKey {
    /// `section.key`.
    pub fn path(&self) -> String {
        format!("{}.{}", self.section, self.key.name)
    }

    /// The unit of its values.
    pub const fn unit(&self) -> &'static str {
        match self.key.kind {
            Kind::Number { unit, .. } => unit,
            _ => "",
        }
    }

    /// Its value as files have it, where the point has an effect of it.
    pub fn value(&self, inputs: &Plan) -> Option<String> {
        let (device, workload) = (&inputs.sections.device, &inputs.sections.workload);
        let value = match device.get(&self.section, self.key.name) {
            Some(value) => Some(value).filter(|_| device.has_section(&self.section)),
            None => workload
                .get(&self.section, self.key.name)
                .filter(|_| workload.idle(&self.section).is_none()),
        };
        value.map(|value| show_value(&self.key.kind, value))
    }
}

//! Which words of which keys the cases have: every part must be in one of them at least.

use flashyard_core::key::{Kind, Value};
use flashyard_sim::config::{DeviceKeys, Sections, Settings, show_value};
use std::collections::BTreeSet;

/// Words of keys that devices have, as `section.key=word`.
#[derive(Clone, Debug)]
pub(crate) struct Words(BTreeSet<String>);

impl Words {
    pub(crate) fn new() -> Self {
        Self(BTreeSet::new())
    }

    /// Adds the words of a device.
    pub(crate) fn add(&mut self, settings: &Settings) {
        for (section, keys, _) in settings.keys.sections() {
            for key in keys {
                if let Some(value @ Value::Choice(_)) = settings.keys.get(&section, key.name) {
                    let word = show_value(&key.kind, value);
                    self.0.insert(format!("{section}.{}={word}", key.name));
                }
            }
        }
    }

    /// The words that no device has.
    pub(crate) fn missing(&self) -> Vec<String> {
        let mut all = BTreeSet::new();
        for (section, keys, _) in DeviceKeys::default().sections() {
            for key in keys {
                if let Kind::Choice(words) = key.kind {
                    all.extend(words.iter().map(|word| format!("{section}.{}={word}", key.name)));
                }
            }
        }
        all.difference(&self.0).cloned().collect()
    }
}

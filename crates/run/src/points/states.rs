//! States that several runs start from: built once, and kept in memory while they are needed.
//!
//! A run that starts from an image gives what it gives on a device of its own, so which runs share
//! one is a matter of time alone. Two runs share a state where all keys agree that it may depend
//! on; after a preparation these are all keys.

use crate::hash;
use crate::image::Image;
use crate::memory::Room;
use crate::plan::Plan;
use crate::simulate;
use anyhow::Result;
use flashyard_sim::config::{InitialState, Settings};
use sha2::{Digest, Sha256};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Sections that an initial state does not depend on: policies, and what is recorded. A test flips
/// each of their keys.
const WITHOUT_EFFECT: [&str; 5] = ["policy", "host", "metrics", "energy", "interface"];

/// A state, built by the first run that needs it and forgotten after the last.
#[derive(Debug)]
pub struct Shared {
    /// Runs that are still going to use it.
    left: Mutex<usize>,
    image: Mutex<Option<Arc<Image>>>,
    /// Why it could not be built.
    failed: OnceLock<String>,
}

impl Shared {
    /// A state for so many runs.
    pub fn of(runs: usize) -> Arc<Self> {
        let (image, failed) = (Mutex::new(None), OnceLock::new());
        Arc::new(Self { left: Mutex::new(runs), image, failed })
    }

    /// Returns the state. The first run builds it while others wait. If it cannot be built, all of
    /// them get the reason.
    pub fn get(&self, settings: &Settings, prepare: Option<&Plan>) -> Result<Arc<Image>> {
        let mut image = self.image.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(why) = self.failed.get() {
            return Err(crate::error::wrong(why));
        }
        if image.is_none() {
            let built = simulate::image(settings, prepare);
            if let Err(error) = &built {
                let _ = self.failed.set(format!("{error:#}"));
            }
            *image = Some(Arc::new(built?));
        }
        Ok(Arc::clone(image.as_ref().expect("it is built")))
    }

    /// Notes that one run less needs the state.
    pub fn leave(&self) {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        *left = left.saturating_sub(1);
        if *left == 0 {
            *self.image.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
    }
}

/// Returns a key that is equal for runs that share a state. Runs of a fresh or full device or of a
/// disk share none, and neither do runs without room for a state beside the device.
pub fn key(
    inputs: &Plan,
    settings: &Settings,
    prepare: Option<&Plan>,
    room: Room,
) -> Option<[u8; 32]> {
    let keys = &settings.keys;
    // What was written once, in order, is laid out faster than an image is read.
    let is_cheap = matches!(keys.state.initial, InitialState::Fresh | InitialState::Full);
    let saved = inputs.restore.is_some() || keys.is_disk();
    // An image is at most about as large as the device.
    let footprint = settings.footprint(false).bytes();
    let small = room.has(footprint, footprint);
    if saved || !small || is_cheap && prepare.is_none() {
        return None;
    }
    let is_of_state = |section: &str| {
        let family = section.split('.').next().unwrap_or_default();
        keys.has_section(section) && (prepare.is_some() || !WITHOUT_EFFECT.contains(&family))
    };
    let mut hash = Sha256::new();
    hash::add_settings(&mut hash, keys, is_of_state);
    if let Some(prepare) = prepare {
        hash.update(format!("{:?} {:?}", prepare.experiment(), prepare.seed()));
    }
    Some(hash.finalize().into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Bases, Selection};
    use crate::simulate::Options;
    use flashyard_core::key::{Kind, Value};
    use flashyard_sim::config::{Sections, WordList};
    use flashyard_sim::own::OwnParts;

    fn inputs(set: &[&str]) -> Plan {
        let set = ["pattern.requests=40", "state.initial=aged"].iter().chain(set);
        let asked = Selection {
            device: Some("small-full".to_string()),
            workload: Some("mixed-70-30".to_string()),
            set: set.map(|set| ("--set", set.to_string())).collect(),
            ..Selection::default()
        };
        Plan::new(&Bases::new(OwnParts::default()), &asked, &[]).unwrap()
    }

    fn report(inputs: &Plan) -> String {
        let outcome = inputs.run(Options::default()).unwrap();
        serde_json::to_string(&outcome.report).unwrap()
    }

    /// Each key of the sections that a state does not depend on, flipped: the run on the state of
    /// the device as it was is the run on a device of its own.
    #[test]
    fn a_shared_state_is_the_state_of_a_device_of_its_own() {
        let base = inputs(&[]);
        let image = Arc::new(simulate::image(&base.settings().unwrap(), None).unwrap());
        let key_of = |inputs: &Plan| {
            let settings = inputs.settings().unwrap();
            key(inputs, &settings, None, Room::default()).expect("worth keeping")
        };
        let mut flipped = 0;
        for (section, keys, _) in base.sections.device.sections() {
            let family = section.split('.').next().unwrap_or_default();
            if !WITHOUT_EFFECT.contains(&family) {
                continue;
            }
            for one in keys {
                let Some(value) = other(&one.kind, base.sections.get(&section, one.name)) else {
                    continue;
                };
                let mut changed = base.clone();
                assert!(changed.sections.device.set(&section, one.name, value));
                if changed.settings().is_err() {
                    continue;
                }
                flipped += 1;
                assert_eq!(key_of(&changed), key_of(&base));
                let alone = report(&changed);
                changed.image = Some(Arc::clone(&image));
                assert_eq!(report(&changed), alone, "{section}.{}", one.name);
            }
        }
        assert!(flipped > 30, "{flipped}");
        assert_ne!(key_of(&inputs(&["state.seed=9"])), key_of(&base));
    }

    /// Another value of a key.
    fn other(kind: &Kind<impl WordList>, value: Option<Value>) -> Option<Value> {
        match (kind, value?) {
            (_, Value::Bool(value)) => Some(Value::Bool(!value)),
            (Kind::Choice(words), Value::Choice(index)) => {
                Some(Value::Choice((index + 1) % words.words().count()))
            }
            (Kind::Number { min, max, .. }, Value::Number(number)) => {
                let more = number.saturating_mul(2).max(1);
                Some(Value::Number(if more <= *max { more } else { *min }))
            }
            _ => None,
        }
    }

    #[test]
    fn fresh_and_full_devices_share_nothing() {
        let fresh = inputs(&["state.initial=fresh"]);
        let settings = fresh.settings().unwrap();
        assert_eq!(key(&fresh, &settings, None, Room::default()), None);
        let full = inputs(&["state.initial=full"]);
        assert_eq!(key(&full, &full.settings().unwrap(), None, Room::default()), None);
        assert!(key(&fresh, &settings, Some(&fresh), Room::default()).is_some());
        let tight = Room { bytes: Some(1), alone: false };
        assert_eq!(key(&fresh, &settings, Some(&fresh), tight), None);
    }
}

//! The `--json` contract. Documented in docs/JSON.md; a field is added with the same
//! `schema_version`, changed or removed only with a new one.

use crate::experiment::{PhasePlan, StreamPlan};
use crate::hash::hex;
use crate::plan::Plan;
use crate::verdict;
use flashyard_core::key::{Kind, Value as KeyValue};
use flashyard_sim::config::{KeyList, Sections, WordList, show_value};
use flashyard_sim::device::PhaseKeys;
use flashyard_sim::report::Report;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

/// Raised when a field changes its meaning or disappears.
pub const SCHEMA_VERSION: u32 = 1;

/// What the report itself does not know.
#[derive(Clone, Debug, Default)]
pub struct Provenance {
    /// The arguments of the command.
    pub command: Vec<String>,
    /// The seed of a generated workload.
    pub seed: Option<u64>,
    /// SHA-256 over the requests as they were simulated; empty of a session.
    pub workload_sha256: String,
    /// What was left out of or changed in the requests, a sentence each.
    pub changes: Vec<String>,
    /// SHA-256 of the saved device that the run started from.
    pub state_sha256: Option<String>,
}

/// One run as one object.
pub fn object(inputs: &Plan, provenance: &Provenance, report: &Report) -> Value {
    let keys = &inputs.sections.device;
    let device = settings(keys, |section| keys.has_section(section));
    let mut object = json!({
        "schema_version": SCHEMA_VERSION,
        "flashyard": env!("CARGO_PKG_VERSION"),
        "provenance": {
            "command": provenance.command,
            "seed": provenance.seed,
            "device_sha256": hex(&Sha256::digest(device.to_string())),
            "workload_sha256": Some(&provenance.workload_sha256).filter(|hash| !hash.is_empty()),
            "state_sha256": provenance.state_sha256,
        },
        "device": device,
    });
    let fields = serde_json::to_value(report).expect("a report is plain data");
    let Value::Object(fields) = fields else { unreachable!("a report is an object") };
    let target = object.as_object_mut().expect("made as an object");
    for (name, mut value) in fields {
        if name == "workload" {
            value["name"] = inputs.workload_name().into();
            value["settings"] = workload_settings(inputs);
            value["plan"] = plan(inputs);
            value["changes"] = provenance.changes.clone().into();
        }
        if name == "verdict" {
            value["warnings"] = verdict::warnings(inputs, report).into();
        }
        target.insert(name, value);
    }
    object
}

/// Returns the effective keys of the requests, if the workload has one stream.
fn workload_settings(inputs: &Plan) -> Value {
    inputs.experiment().only_stream().map_or_else(|| json!({}), stream_settings)
}

/// The effective keys of `[trace]`, `[generator]` or `[pattern]`, whichever a stream has.
fn stream_settings(stream: &StreamPlan) -> Value {
    let section = stream.origin.section();
    keys(StreamPlan::section(section).0, |key| stream.get(section, key))
}

/// The phases with their streams, as planned.
pub fn plan(inputs: &Plan) -> Value {
    let stream = |stream: &StreamPlan| {
        json!({
            "name": stream.name,
            "origin": stream.origin.section(),
            "from": stream.from,
            "settings": stream_settings(stream),
            "stream": keys(StreamPlan::section("stream").0, |key| stream.get("stream", key)),
        })
    };
    let phase = |phase: &PhasePlan| {
        json!({
            "name": phase.name,
            "phase": keys(KeyList::new(PhaseKeys::KEYS), |key| phase.keys.get(key)),
            "streams": phase.streams.iter().map(stream).collect::<Vec<_>>(),
        })
    };
    inputs.experiment().phases.iter().map(phase).collect()
}

/// The effective settings of sections that there are, by section and key, numbers in the unit that
/// the key's name says.
pub fn settings(sections: &dyn Sections, has_section: impl Fn(&str) -> bool) -> Value {
    let mut all = Map::new();
    for (section, listed, _) in sections.sections() {
        if !listed.is_empty() && has_section(&section) {
            let values = keys(listed, |key| sections.get(&section, key));
            all.insert(section.into_owned(), values);
        }
    }
    Value::Object(all)
}

/// Keys with their values, numbers in the unit that the key's name says.
fn keys(keys: KeyList<'_>, get: impl Fn(&str) -> Option<KeyValue>) -> Value {
    let values = keys.iter().map(|key| {
        let value = get(key.name).expect("a listed key has a value");
        (key.name.to_string(), setting(&key.kind, value))
    });
    Value::Object(values.collect())
}

fn setting(kind: &Kind<impl WordList>, value: KeyValue) -> Value {
    let text = show_value(kind, value);
    match value {
        KeyValue::Bool(value) => value.into(),
        KeyValue::Choice(_) => text.into(),
        KeyValue::Number(_) | KeyValue::List(_) => {
            serde_json::from_str(&text).unwrap_or(Value::String(text))
        }
    }
}

//! The `--json` contract. Documented in docs/JSON.md; a field is added with the same
//! `schema_version`, changed or removed only with a new one.

use crate::inputs::Inputs;
use flashyard_core::key::{Kind, Value as KeyValue};
use flashyard_sim::config::{Sections, show_value};
use flashyard_sim::report::Report;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

/// Raised when a field changes its meaning or disappears.
pub(crate) const SCHEMA_VERSION: u32 = 1;

/// What the report itself does not know.
#[derive(Clone, Debug)]
pub(crate) struct Provenance {
    /// The arguments of the command.
    pub(crate) command: Vec<String>,
    /// The seed of a generated workload.
    pub(crate) seed: Option<u64>,
    /// SHA-256 over the requests as they were simulated.
    pub(crate) workload_sha256: String,
}

/// One run as one object.
pub(crate) fn object(inputs: &Inputs, provenance: &Provenance, report: &Report) -> Value {
    let device = settings(&inputs.sections.device);
    let mut object = json!({
        "schema_version": SCHEMA_VERSION,
        "flashyard": env!("CARGO_PKG_VERSION"),
        "provenance": {
            "command": provenance.command,
            "seed": provenance.seed,
            "device_sha256": hex(&Sha256::digest(device.to_string())),
            "workload_sha256": provenance.workload_sha256,
        },
        "device": device,
    });
    let report = serde_json::to_value(report).expect("a report is plain data");
    let Value::Object(report) = report else { unreachable!("a report is an object") };
    let target = object.as_object_mut().expect("made as an object");
    for (name, mut value) in report {
        if name == "workload" {
            value["name"] = inputs.workload_name().into();
            value["settings"] = workload_settings(inputs);
        }
        target.insert(name, value);
    }
    object
}

/// The effective keys of `[trace]` or of `[generator]`, whichever the workload has.
fn workload_settings(inputs: &Inputs) -> Value {
    let mut all = settings(&inputs.sections.workload);
    all[inputs.section()].take()
}

/// The effective settings by section and key, numbers in the unit that the key's name says.
pub(crate) fn settings(sections: &dyn Sections) -> Value {
    let mut all = Map::new();
    for (section, keys, _) in sections.sections() {
        if keys.is_empty() {
            continue;
        }
        let values = keys.iter().map(|key| {
            let value = sections.get(&section, key.name).expect("a listed key has a value");
            (key.name.to_string(), setting(&key.kind, value))
        });
        all.insert(section.clone(), Value::Object(values.collect()));
    }
    Value::Object(all)
}

fn setting(kind: &Kind, value: KeyValue) -> Value {
    let text = show_value(kind, value);
    match value {
        KeyValue::Bool(value) => value.into(),
        KeyValue::Choice(_) => text.into(),
        KeyValue::Number(_) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
    }
}

/// Bytes as lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

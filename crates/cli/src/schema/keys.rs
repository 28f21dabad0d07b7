//! What the program's tables describe: settings by section and key, with their ranges, and the
//! figures of studies.

use flashyard_core::key::{Kind, Value as KeyValue};
use flashyard_run::experiment::StreamPlan;
use flashyard_sim::config::{DeviceKeys, DeviceKind, KeyList, ListedKey, Sections, show_value};
use flashyard_sim::device::PhaseKeys;
use flashyard_sim::own::OwnParts;
use flashyard_studies::METRICS;
use serde_json::{Map, Value, json};

/// The sections of workloads that describe requests.
const ORIGINS: [&str; 7] = ["trace", "generator", "pattern", "mix", "profile", "files", "raw"];

/// The definition of a table of the contract by its name, with others that it needs.
pub(super) fn definitions(name: &str, own: &OwnParts) -> Map<String, Value> {
    let mut all = Map::new();
    let definition = match name {
        "device" => {
            let flash = DeviceKeys::with_own(own.clone());
            let mut disk = flash.clone();
            disk.device.kind = DeviceKind::Disk;
            all.insert("flash_device".to_string(), device(&flash, "The keys of a flash device"));
            all.insert("disk".to_string(), device(&disk, "The keys of a disk"));
            json!({"anyOf": [{"$ref": "#/$defs/flash_device"}, {"$ref": "#/$defs/disk"}]})
        }
        "settings" => {
            let mut forms = vec![json!({"type": "object", "maxProperties": 0})];
            for origin in ORIGINS {
                let (keys, doc) = StreamPlan::section(origin);
                all.insert(origin.to_string(), section(keys, doc));
                forms.push(json!({"$ref": format!("#/$defs/{origin}")}));
            }
            json!({"anyOf": forms})
        }
        "phase" => section(KeyList::new(PhaseKeys::KEYS), "The keys of a phase"),
        "stream" => {
            let (keys, doc) = StreamPlan::section("stream");
            section(keys, doc)
        }
        "figures" => {
            let property = |what: &str| json!({"type": ["number", "null"], "description": what});
            let named = METRICS.iter().map(|one| (one.name.to_string(), property(one.what)));
            let names: Vec<&str> = METRICS.iter().map(|one| one.name).collect();
            closed(&named.collect(), &names)
        }
        _ => unreachable!("the contract names no table {name}"),
    };
    all.insert(name.to_string(), definition);
    all
}

/// The sections that a device of this kind has.
fn device(keys: &DeviceKeys, title: &str) -> Value {
    let sections = keys.sections().into_iter();
    let sections: Vec<_> =
        sections.filter(|(name, listed, _)| !listed.is_empty() && keys.has_section(name)).collect();
    let names: Vec<&str> = sections.iter().map(|(name, ..)| name.as_ref()).collect();
    let all = sections.iter().map(|(name, listed, doc)| (name.to_string(), section(*listed, doc)));
    let mut object = closed(&all.collect(), &names);
    object["title"] = title.into();
    object
}

/// The keys of a section.
fn section(keys: KeyList<'_>, doc: &str) -> Value {
    let names: Vec<&str> = keys.iter().map(|key| key.name).collect();
    let all = keys.iter().map(|key| (key.name.to_string(), property(&key)));
    let mut object = closed(&all.collect(), &names);
    object["description"] = doc.trim().into();
    object
}

/// The value of a key, as it is printed.
fn property(key: &ListedKey<'_>) -> Value {
    let mut property = match key.kind {
        Kind::Bool => json!({"type": "boolean"}),
        Kind::Choice(words) => json!({"enum": words.iter().collect::<Vec<_>>()}),
        Kind::Number { unit, scale, min, max } => {
            let show = |value| -> Value {
                let text = show_value(&key.kind, KeyValue::Number(value));
                serde_json::from_str(&text).expect("a number")
            };
            let kind = if scale == 1 { "integer" } else { "number" };
            json!({"type": kind, "minimum": show(min), "maximum": show(max), "x-unit": unit})
        }
        Kind::List { unit, count, max } => json!({
            "type": "array",
            "items": {"type": "integer", "minimum": 0, "maximum": max, "x-unit": unit},
            "maxItems": count,
        }),
    };
    property["description"] = key.doc.trim().into();
    property
}

/// An object of these properties and no others.
pub(super) fn closed(properties: &Map<String, Value>, required: &[&str]) -> Value {
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

//! `flashyard list ftls`: the translation layers, and what each would be on a device.

use crate::args::ListArgs;
use crate::output::text::{first_sentence, headed};
use anyhow::Result;
use flashyard_run::device::layer::{self, changed};
use flashyard_run::plan::Plan;
use flashyard_run::presets::{DEFAULT_DEVICE, DEFAULT_WORKLOAD};
use flashyard_sim::config::{DeviceKeys, LayerSetting, Settings};
use flashyard_sim::own::{Family, OwnParts};
use flashyard_sim::parts::log::SchemeKeys;
use flashyard_sim::parts::memory::Footprint;
use serde_json::json;

/// The layers that map each page, by where the map is.
const PAGE_MAPS: &[(&str, &str)] = &[
    ("page", "each page, in memory"),
    ("line-cache", "each page, on flash behind cached lines"),
    ("dftl", "each page, on flash behind cached entries"),
];

/// A layer on a device.
struct Layer {
    name: String,
    /// What it maps.
    maps: String,
    /// What `--ftl` changes on the device.
    changes: Vec<LayerSetting>,
    /// The device with it, or why there is none.
    settings: Result<Settings, String>,
}

impl Layer {
    /// Bytes of its tables; of one of the user's own only that can say.
    fn table_bytes(&self) -> Option<u64> {
        let settings = self.settings.as_ref().ok()?;
        settings.tables.map(|tables| tables.bytes)
    }

    fn cache_bytes(&self) -> Option<u64> {
        let settings = self.settings.as_ref().ok()?;
        settings.tables.map(|_| Footprint::of(settings).cache)
    }

    /// Whether it runs here.
    fn here(&self) -> &'static str {
        match (&self.settings, self.changes.is_empty()) {
            (Err(_), _) => "refused",
            (Ok(_), true) => "is the device's own",
            (Ok(_), false) => "runs",
        }
    }
}

/// The device, and every layer on it.
fn layers(args: &ListArgs, own: &OwnParts) -> Result<(String, Vec<Layer>)> {
    let device = args.of.as_deref().unwrap_or(DEFAULT_DEVICE);
    let set: Vec<_> = args.set.iter().map(|setting| ("--set", setting.clone())).collect();
    let inputs = Plan::load(own.clone(), device, DEFAULT_WORKLOAD, &set)?;
    let (keys, known) = (&inputs.sections.device, &inputs.description.origins);
    let schemes = SchemeKeys::PARTS.iter().map(|(name, _, doc)| (*name, *doc));
    let schemes: Vec<_> = schemes.chain(own.names(Family::Scheme)).collect();
    let layer = |name: &str| {
        let page = PAGE_MAPS.iter().find(|(known, _)| *known == name);
        let scheme = schemes.iter().find(|(known, _)| *known == name);
        let maps = page.or(scheme).map_or_else(String::new, |(_, doc)| first_sentence(doc));
        let changes = keys.layer_settings(name).map(|mut changes| {
            let has_cache = changes.iter().any(|set| set.key == "map.store");
            if has_cache && !known.contains_key(layer::CACHE) {
                changes.extend(layer::cache(&changed(keys, &changes)));
            }
            changes
        });
        let settings = changes.clone().and_then(|changes| settings(keys, &changes));
        let changes = changes.unwrap_or_default();
        Layer { name: name.to_string(), maps, changes, settings }
    };
    Ok((device.to_string(), keys.layer_names().into_iter().map(layer).collect()))
}

/// A few lines a translation layer.
pub(super) fn list(args: &ListArgs, own: &OwnParts) -> Result<String> {
    let (device, layers) = layers(args, own)?;
    let mut text = format!("device {device}\n");
    text +=
        &format!("{:<12}{:>14}{:>14}  here, by --ftl NAME\n", "ftl", "table bytes", "cache bytes");
    let shown = |bytes: Option<u64>| bytes.map_or_else(|| "-".to_string(), |b| b.to_string());
    for layer in layers {
        let (table, cache) = (shown(layer.table_bytes()), shown(layer.cache_bytes()));
        text += &format!("{:<12}{table:>14}{cache:>14}  {}\n", layer.name, layer.here());
        text += &headed("    maps: ", &layer.maps, "      ");
        match &layer.settings {
            Err(why) => text += &headed("    refused: ", why, "      "),
            Ok(_) if layer.changes.is_empty() => {}
            Ok(_) => {
                let changes = layer.changes.iter().map(|set| format!("{}={}", set.key, set.value));
                let changes: Vec<String> = changes.collect();
                text += &headed("    sets: ", &changes.join(" "), "      ");
            }
        }
    }
    Ok(text)
}

/// The same as data.
pub(super) fn json(args: &ListArgs, own: &OwnParts) -> Result<serde_json::Value> {
    let (device, layers) = layers(args, own)?;
    let layer = |layer: &Layer| {
        let change =
            |set: &LayerSetting| json!({"key": set.key, "value": set.value, "why": set.why});
        json!({
            "name": layer.name,
            "maps": layer.maps,
            "table_bytes": layer.table_bytes(),
            "cache_bytes": layer.cache_bytes(),
            "sets": layer.changes.iter().map(change).collect::<Vec<_>>(),
            "refused": layer.settings.as_ref().err(),
        })
    };
    Ok(json!({"device": device, "ftls": layers.iter().map(layer).collect::<Vec<_>>()}))
}

/// The device with another translation layer, or why there is none.
fn settings(keys: &DeviceKeys, changes: &[LayerSetting]) -> Result<Settings, String> {
    Settings::new(changed(keys, changes)).map_err(|error| {
        let more = match error.0.len() - 1 {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        format!("{}{more}", error.0[0])
    })
}

//! `flashyard list ftls`: the translation layers, and what each would be on a device.

use crate::args::ListArgs;
use crate::inputs::Inputs;
use crate::output::table;
use crate::presets::{DEFAULT_DEVICE, DEFAULT_WORKLOAD};
use anyhow::Result;
use flashyard_sim::config::{DeviceKeys, Settings, apply_setting};
use flashyard_sim::ftl::memory::Footprint;
use flashyard_sim::own::{Family, OwnParts};

/// A translation layer.
struct Row<'a> {
    name: &'static str,
    maps: &'static str,
    /// What selects it.
    settings: &'a [&'a str],
}

const FTLS: &[Row<'_>] = &[
    Row { name: "page", maps: "each page, in memory", settings: &["map.store=resident"] },
    Row {
        name: "line cache",
        maps: "each page, on flash behind cached lines",
        settings: &["map.store=line_cache"],
    },
];

/// One line a translation layer.
pub(super) fn list(args: &ListArgs, own: OwnParts) -> Result<String> {
    let device = args.device.as_deref().unwrap_or(DEFAULT_DEVICE);
    let set: Vec<_> = args.set.iter().map(|setting| ("--set", setting.clone())).collect();
    let keys = Inputs::load(own, device, DEFAULT_WORKLOAD, &set)?.sections.device;
    let mut rows = table::table(&["ftl", "maps", "table bytes", "cache bytes", "select", "here"]);
    for index in [1, 4, 5] {
        if let Some(column) = rows.column_mut(index) {
            column.set_cell_alignment(comfy_table::CellAlignment::Left);
        }
    }
    let unknown = || "-".to_string();
    for row in FTLS {
        let (tables, cache, here) = match settings(keys, row.settings) {
            Ok(settings) => {
                let footprint = Footprint::of(&settings);
                (footprint.tables.to_string(), footprint.cache.to_string(), "runs".to_string())
            }
            Err(why) => (unknown(), unknown(), why),
        };
        rows.add_row(row.cells([tables, cache, here]));
    }
    // What tables a scheme of the user's own has is its own business.
    for (name, maps) in own.names(Family::Scheme) {
        let scheme = format!("ftl.scheme={name}");
        let row = Row { name, maps, settings: &["map.store=resident", &scheme] };
        let here = settings(keys, row.settings).map_or_else(|why| why, |_| "runs".to_string());
        rows.add_row(row.cells([unknown(), unknown(), here]));
    }
    Ok(format!("device {device}\n{}", table::render(&rows)))
}

impl Row<'_> {
    fn cells(&self, [tables, cache, here]: [String; 3]) -> Vec<String> {
        let [name, maps] = [self.name, self.maps].map(String::from);
        vec![name, maps, tables, cache, self.settings.join(" "), here]
    }
}

/// The device with another translation layer, or why there is none.
fn settings(mut keys: DeviceKeys, settings: &[&str]) -> Result<Settings, String> {
    let mut problems = Vec::new();
    for setting in settings {
        apply_setting("ftl", setting, &mut keys, &mut problems);
    }
    assert!(problems.is_empty(), "{problems:?}");
    Settings::new(keys).map_err(|error| {
        let reasons: Vec<String> = error.0.iter().map(ToString::to_string).collect();
        format!("refused: {}", reasons.join("; "))
    })
}

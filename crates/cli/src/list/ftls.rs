//! `flashyard list ftls`: the translation layers, and what each would be on a device.

use crate::args::ListArgs;
use crate::inputs::Inputs;
use crate::output::table;
use crate::presets::{DEFAULT_DEVICE, DEFAULT_WORKLOAD};
use anyhow::Result;
use flashyard_sim::config::{DeviceKeys, Settings, apply_setting};
use flashyard_sim::ftl::log::SchemeKeys;
use flashyard_sim::ftl::memory::Footprint;
use flashyard_sim::own::{Family, OwnParts};

/// The layers that map each page, by where the map is: a name, what it maps, and the setting.
const PAGE_MAPS: &[(&str, &str, &str)] = &[
    ("page", "each page, in memory", "map.store=resident"),
    ("line cache", "each page, on flash behind cached lines", "map.store=line_cache"),
    ("dftl", "each page, on flash behind cached entries", "map.store=cmt"),
];

/// What a scheme maps.
const SCHEMES: &[(&str, &str)] = &[
    ("block", "each block"),
    ("bast", "each block, and the pages of log blocks of one block each"),
    ("fast", "each block, and the pages of shared log blocks"),
    ("last", "each block, and the pages of shared log blocks, hot and cold apart"),
];

/// Name, what it maps and what selects it, of every layer.
fn layers() -> impl Iterator<Item = (&'static str, String, Vec<String>)> {
    let pages = PAGE_MAPS.iter().map(|(name, maps, store)| {
        (*name, (*maps).to_string(), vec!["ftl.scheme=page".to_string(), (*store).to_string()])
    });
    let schemes = SchemeKeys::PARTS.iter().filter(|(name, ..)| *name != "page");
    pages.chain(schemes.map(|(name, _, doc)| {
        let settings = vec![format!("ftl.scheme={name}"), "map.store=resident".to_string()];
        let maps = SCHEMES.iter().find(|(known, _)| known == name);
        let maps = maps.map_or_else(|| super::first_sentence(doc), |(_, maps)| (*maps).to_string());
        (*name, maps, settings)
    }))
}

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
    for (name, maps, select) in layers() {
        let (tables, cache, here) = match settings(keys, &select) {
            Ok(settings) => {
                let footprint = Footprint::of(&settings);
                (footprint.tables.to_string(), footprint.cache.to_string(), "runs".to_string())
            }
            Err(why) => (unknown(), unknown(), why),
        };
        rows.add_row(vec![name.to_string(), maps, tables, cache, select.join(" "), here]);
    }
    // What tables a scheme of the user's own has is its own business.
    for (name, maps) in own.names(Family::Scheme) {
        let select = ["map.store=resident".to_string(), format!("ftl.scheme={name}")];
        let here = settings(keys, &select).map_or_else(|why| why, |_| "runs".to_string());
        let (name, maps) = (name.to_string(), maps.to_string());
        rows.add_row(vec![name, maps, unknown(), unknown(), select.join(" "), here]);
    }
    Ok(format!("device {device}\n{}", table::render(&rows)))
}

/// The device with another translation layer, or why there is none.
fn settings(mut keys: DeviceKeys, settings: &[String]) -> Result<Settings, String> {
    let mut problems = Vec::new();
    for setting in settings {
        apply_setting("ftl", setting, &mut keys, &mut problems);
    }
    assert!(problems.is_empty(), "{problems:?}");
    Settings::new(keys).map_err(|error| {
        let more = match error.0.len() - 1 {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        format!("refused: {}{more}", error.0[0])
    })
}

//! `flashyard list ftls`: the translation layers, and what each would be on a device.

use crate::args::ListArgs;
use crate::inputs::Inputs;
use crate::output::table;
use crate::presets::{DEFAULT_DEVICE, DEFAULT_WORKLOAD};
use anyhow::Result;
use flashyard_sim::config::{DeviceKeys, Settings, apply_setting};
use flashyard_sim::ftl::log::{PLANNING, SchemeKeys};
use flashyard_sim::ftl::memory::Footprint;
use flashyard_sim::own::{Family, OwnParts};

/// The layers that map each page, by where the map is: a name, what it maps, and the setting.
const PAGE_MAPS: &[(&str, &str, &str)] = &[
    ("page", "each page, in memory", "map.store=resident"),
    ("line cache", "each page, on flash behind cached lines", "map.store=line_cache"),
    ("dftl", "each page, on flash behind cached entries", "map.store=cmt"),
];

/// Name, what it maps and what selects it, of every layer: those of the page map, then schemes that
/// plan, built-in ones and the user's own.
fn layers(own: OwnParts) -> impl Iterator<Item = (&'static str, String, [String; 2])> {
    let pages = PAGE_MAPS.iter().map(|(name, maps, store)| {
        (*name, (*maps).to_string(), ["ftl.scheme=page".to_string(), (*store).to_string()])
    });
    let built_in = SchemeKeys::PARTS.iter().map(|(name, _, doc)| (*name, *doc));
    let schemes =
        built_in.filter(|(name, _)| PLANNING.contains(name)).chain(own.names(Family::Scheme));
    pages.chain(schemes.map(|(name, doc)| {
        let select = [format!("ftl.scheme={name}"), "map.store=resident".to_string()];
        (name, super::first_sentence(doc), select)
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
    let shown = |bytes: Option<u64>| bytes.map_or_else(|| "-".to_string(), |b| b.to_string());
    for (name, maps, select) in layers(own) {
        let (tables, cache, here) = match settings(keys, &select) {
            // What tables a scheme of the user's own has, only that can say.
            Ok(settings) => {
                let tables = settings.tables.map(|tables| tables.bytes);
                let cache = tables.map(|_| Footprint::of(&settings).cache);
                (tables, cache, "runs".to_string())
            }
            Err(why) => (None, None, why),
        };
        let select = select.join(" ");
        rows.add_row(vec![name.to_string(), maps, shown(tables), shown(cache), select, here]);
    }
    Ok(format!("device {device}\n{}", table::trimmed(&rows)))
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

//! Thresholds of garbage collection as shares of the spare space: `"30% of spare"`.
//!
//! The spare blocks of a plane are those beyond the blocks that its valid units fill when the host
//! has written everything. Shares become blocks when everything else of the device is known, and
//! are rounded up.

use super::description::Description;
use flashyard_core::key::{Kind, Value};
use flashyard_sim::config::{DeviceKeys, Sections, Settings, parse_value};

/// Keys in blocks that may be shares.
pub const KEYS: [&str; 4] = [
    "gc.soft_free_blocks",
    "gc.hard_free_blocks",
    "gc.reserve_blocks",
    "gc.background_free_blocks",
];

/// Returns the share in ppm that a value stands for, if the value is a share of the spare space.
pub fn of_spare(value: &str) -> Option<Result<u64, String>> {
    let value = value.trim().trim_matches(['"', '\'']);
    let share = value.strip_suffix("of spare")?.trim_end();
    let parsed = parse_value(&Kind::percent(1, 1_000_000), share);
    Some(parsed.map(|value| match value {
        Value::Number(ppm) => ppm,
        _ => unreachable!("the kind is a number"),
    }))
}

/// Turns the shares of a device into blocks. A device that cannot exist is left as it is: whoever
/// checks it says why.
pub fn resolve(keys: &mut DeviceKeys, description: &mut Description) {
    if description.shares.is_empty() {
        return;
    }
    let mut bare = keys.clone();
    for path in KEYS {
        let name = path.split_once('.').map_or(path, |(_, name)| name);
        bare.set("gc", name, Value::Number(0));
    }
    let Ok(settings) = Settings::new(bare) else { return };
    let spare = settings.spare_blocks();
    for (path, ppm) in description.shares.clone() {
        let name = path.split_once('.').map_or(path, |(_, name)| name);
        let blocks = (spare * ppm).div_ceil(1_000_000).max(1);
        keys.set("gc", name, Value::Number(blocks));
        let share = ppm as f64 / 10_000.0;
        let what = format!("{share} % of the {spare} spare blocks of a plane");
        if let Some(origin) = description.origins.get_mut(path) {
            origin.comment.clone_from(&what);
        }
        description.changes.push(format!("{path} = {blocks}: {what}"));
    }
}

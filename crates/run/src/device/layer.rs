//! `--ftl NAME`: a translation layer with everything else that it needs on the device.

use super::Description;
use flashyard_sim::config::{DeviceKeys, LayerSetting, MapStore, Problem, Settings, apply_setting};

/// Gives the device this translation layer, and notes what that changes. `option` names it in
/// problems.
pub fn choose(
    option: &str,
    name: &str,
    keys: &mut DeviceKeys,
    description: &mut Description,
    problems: &mut Vec<Problem>,
) {
    let settings = match keys.layer_settings(name) {
        Ok(settings) => settings,
        Err(what) => {
            let place = option.to_string();
            return problems.push(Problem { place, what: format!("{name}: {what}") });
        }
    };
    for LayerSetting { key, value, why } in settings {
        apply_setting(option, &format!("{key}={value}"), keys, problems);
        description.set(key, option, &format!("{option}: {why}"));
        description.changes.push(format!("{option}: {key} = {value}: {why}"));
    }
    description.layer = Some(option.to_string());
}

/// The key of the memory of the map cache.
pub const CACHE: &str = "map.cache_bytes";

/// Ends the choice of a layer, once all keys are known: what somebody has set all the same is no
/// change that it makes, and its map cache gets its memory, unless somebody gave it a size.
pub fn finish(keys: &mut DeviceKeys, description: &mut Description) {
    let Some(option) = description.layer.clone() else { return };
    let origin = |key: &str| description.origins.get(key);
    description.changes.retain(|change| {
        let of_layer = change.strip_prefix(&format!("{option}: "));
        let key = of_layer.and_then(|change| change.split_once(" = "));
        key.is_none_or(|(key, _)| origin(key).is_none_or(|origin| origin.place == option))
    });
    if origin("map.store").is_none_or(|origin| origin.place != option) || origin(CACHE).is_some() {
        return;
    }
    let Some(LayerSetting { key, value, why }) = cache(keys) else { return };
    let setting = format!("{key}={value}");
    apply_setting(&option, &setting, keys, &mut Vec::new());
    description.set(key, &option, &format!("{option}: {why}"));
    description.changes.push(format!("{option}: {key} = {value}: {why}"));
}

/// The memory of a map cache on this device which nobody gave a size: with it the layer has as
/// much memory as FAST would need here. Gupta et al. compare DFTL so (ASPLOS 2009). None where that
/// is less than the device has now, or where FAST cannot run.
pub fn cache(keys: &DeviceKeys) -> Option<LayerSetting> {
    let tables = |keys: DeviceKeys| Some(Settings::new(keys).ok()?.tables?.bytes);
    let fast = changed(keys, &keys.layer_settings("fast").ok()?);
    let bytes = tables(fast)?.saturating_sub(tables(keys.clone())?);
    (keys.map.store != MapStore::Resident && bytes > keys.map.cache_bytes).then(|| LayerSetting {
        key: CACHE,
        value: bytes.to_string(),
        why: "nobody gave it a size, and with this the layer has as much memory as FAST"
            .to_string(),
    })
}

/// The device with these changes.
pub fn changed(keys: &DeviceKeys, changes: &[LayerSetting]) -> DeviceKeys {
    let mut keys = keys.clone();
    let mut problems = Vec::new();
    for LayerSetting { key, value, .. } in changes {
        apply_setting("ftl", &format!("{key}={value}"), &mut keys, &mut problems);
    }
    assert!(problems.is_empty(), "{problems:?}");
    keys
}

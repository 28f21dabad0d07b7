//! `--ftl NAME`: a translation layer with everything else that it needs on the device.

use super::Description;
use flashyard_sim::config::{DeviceKeys, LayerSetting, Problem, apply_setting};

/// Gives the device this translation layer, and notes what that changes. `option` names it in
/// problems.
pub(crate) fn choose(
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

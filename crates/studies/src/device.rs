//! The devices of a study, and settings on top of their keys.

use anyhow::{Result, ensure};
use flashyard_run::error::wrong;
use flashyard_sim::config::{DeviceKeys, Settings, apply_setting};

/// A device.
#[derive(Clone, Debug)]
pub(crate) struct Device {
    pub(crate) name: String,
    /// A preset's name or a file.
    pub(crate) preset: String,
    pub(crate) keys: DeviceKeys,
    /// Settings of the traces that it runs.
    pub(crate) traces: Vec<String>,
}

/// Keys with settings on top.
pub(crate) fn with_settings(keys: &DeviceKeys, settings: &[String]) -> Result<DeviceKeys> {
    let mut keys = keys.clone();
    let mut problems = Vec::new();
    for setting in settings {
        apply_setting("the study", setting, &mut keys, &mut problems);
    }
    ensure!(problems.is_empty(), "{}", problems[0]);
    Ok(keys)
}

/// A device with settings on top of its keys.
pub(crate) fn settings_of(keys: &DeviceKeys, settings: &[String]) -> Result<Settings> {
    Settings::new(with_settings(keys, settings)?).map_err(|error| {
        wrong(&format!("the study's run with {} is impossible: {error}", settings.join(" ")))
    })
}

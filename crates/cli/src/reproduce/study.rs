//! An experiment file, its workloads and its runs.

use crate::args::ReproduceArgs;
use crate::inputs::{Inputs, workload_error, wrong};
use anyhow::{Context, Result};
use flashyard_core::request::Request;
use flashyard_sim::config::{DeviceKeys, Settings, apply_setting};
use flashyard_sim::device::{Device, RunError};
use flashyard_sim::own::OwnParts;
use flashyard_sim::report::Report;
use flashyard_workload::RequestSource;
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// What an experiment file says.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Study {
    pub(crate) title: String,
    pub(crate) source: String,
    pub(crate) notes: String,
    pub(crate) device: String,
    pub(crate) baseline: String,
    pub(crate) policies: Vec<String>,
    pub(crate) cache_bytes: Vec<u64>,
    pub(crate) depths: Vec<u64>,
    /// Settings of every trace.
    settings: Vec<String>,
    pub(crate) workload: Vec<WorkloadRow>,
    pub(crate) published: Vec<Published>,
}

/// A workload of the study.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WorkloadRow {
    pub(crate) name: String,
    trace: String,
    built_in: String,
    /// Settings of this trace, after those of every trace.
    #[serde(default)]
    settings: Vec<String>,
}

/// A statement of the paper.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Published {
    pub(crate) check: String,
    pub(crate) statement: String,
    /// Whether the paper gives a number, says so in its text, or shows it in a figure only.
    pub(crate) form: String,
}

impl Published {
    /// The form in words.
    pub(super) fn form(&self) -> &'static str {
        match self.form.as_str() {
            "number" => "a number",
            "figure" => "a figure only",
            _ => "in words",
        }
    }
}

/// A workload in memory.
#[derive(Clone, Debug)]
pub(crate) struct Loaded {
    pub(crate) name: String,
    pub(crate) requests: Vec<Request>,
}

impl Study {
    /// The study of an experiment file.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        toml::from_str(text).context("the experiment file")
    }

    /// The study's device with the settings of the command line.
    pub(crate) fn device(
        &self,
        args: &ReproduceArgs,
        own: OwnParts,
    ) -> Result<(String, DeviceKeys)> {
        let name = args.device.clone().unwrap_or_else(|| self.device.clone());
        for setting in &args.set {
            let swept =
                ["trace.", "generator.", "policy.command", "queue.depth", "map.cache_bytes"];
            if let Some(swept) = swept.iter().find(|swept| setting.starts_with(**swept)) {
                return Err(wrong(&format!("--set {setting}: the study itself sets {swept}")));
            }
        }
        let set: Vec<_> = args.set.iter().map(|setting| ("--set", setting.clone())).collect();
        let inputs = Inputs::load(own, &name, &self.workload[0].built_in, &set)?;
        inputs.settings()?;
        Ok((name, inputs.sections.device))
    }

    /// Reads every workload: from `dir`, or generated where there is none.
    pub(crate) fn load(&self, dir: Option<&Path>, capacity: u64) -> Result<Vec<Loaded>> {
        if let Some(dir) = dir {
            let missing: Vec<&str> = self
                .workload
                .iter()
                .filter(|row| find(dir, &row.trace).is_none())
                .map(|row| row.trace.as_str())
                .collect();
            if !missing.is_empty() {
                let what = format!(
                    "{}: missing {} (plain, .gz or .zst)",
                    dir.display(),
                    missing.join(", ")
                );
                return Err(wrong(&what));
            }
        }
        self.workload.iter().map(|row| self.load_one(row, dir, capacity)).collect()
    }

    /// The directory of the traces: this one, or the first in it that has one of them.
    pub(crate) fn directory(&self, dir: &Path) -> Result<PathBuf> {
        let has = |dir: &PathBuf| self.workload.iter().any(|row| find(dir, &row.trace).is_some());
        Ok(places(dir)?.into_iter().find(has).unwrap_or_else(|| dir.to_path_buf()))
    }

    fn load_one(&self, row: &WorkloadRow, dir: Option<&Path>, capacity: u64) -> Result<Loaded> {
        let mut inputs = Inputs::load(OwnParts::default(), &self.device, &row.built_in, &[])?;
        if let Some(path) = dir.and_then(|dir| find(dir, &row.trace)) {
            let mut problems = Vec::new();
            for setting in self.settings.iter().chain(&row.settings) {
                apply_setting("settings", setting, &mut inputs.sections, &mut problems);
            }
            anyhow::ensure!(problems.is_empty(), "the experiment file: {}", problems[0]);
            inputs.set_trace(path);
        }
        let requests = all_of(&mut inputs.open(Some(capacity))?)?;
        Ok(Loaded { name: row.name.clone(), requests })
    }
}

/// Every request of a source.
pub(crate) fn all_of(source: &mut impl RequestSource) -> Result<Vec<Request>> {
    let mut requests = Vec::new();
    while let Some(request) = source.next_request().map_err(|error| workload_error(&error))? {
        requests.push(request);
    }
    Ok(requests)
}

/// A directory and those in it, by name.
pub(super) fn places(dir: &Path) -> Result<Vec<PathBuf>> {
    let say = |error| wrong(&format!("{}: cannot be read, {error}", dir.display()));
    let entries = std::fs::read_dir(dir).map_err(say)?;
    let mut paths: Vec<PathBuf> = entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.is_dir())
        .collect();
    paths.sort();
    paths.insert(0, dir.to_path_buf());
    Ok(paths)
}

/// The file of this name, as it is or compressed.
pub(super) fn find(dir: &Path, name: &str) -> Option<String> {
    let path = ["", ".gz", ".zst"].iter().map(|end| dir.join(format!("{name}{end}")));
    path.into_iter().find(|path| path.is_file()).map(|path| path.to_string_lossy().into_owned())
}

/// The device of one run: these settings on top of its keys.
pub(crate) fn settings_of(mut keys: DeviceKeys, settings: &[String]) -> Result<Settings> {
    let mut problems = Vec::new();
    for setting in settings {
        apply_setting("study", setting, &mut keys, &mut problems);
    }
    anyhow::ensure!(problems.is_empty(), "{}", problems[0]);
    Settings::new(keys).map_err(|error| {
        wrong(&format!("the study's run with {} is impossible: {error}", settings.join(" ")))
    })
}

/// One run of a workload.
pub(crate) fn simulate(settings: &Settings, requests: &[Request], check: bool) -> Result<Report> {
    let mut device = Device::new(settings);
    if check {
        device.check();
    }
    let mut requests = requests.iter().copied();
    device.run(|| Ok::<_, std::convert::Infallible>(requests.next())).map_err(|error| match error {
        RunError::Sim(error) => wrong(&error.to_string()),
        RunError::Workload(never) => match never {},
    })
}

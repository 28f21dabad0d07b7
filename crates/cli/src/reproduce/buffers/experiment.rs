//! The experiment file, its devices and its workloads.

use super::super::study::{Loaded, Published, all_of, find, places};
use super::examples::Figure;
use crate::args::ReproduceArgs;
use crate::inputs::{Inputs, wrong};
use crate::presets::{DEFAULT_DEVICE, DEFAULT_WORKLOAD};
use anyhow::{Context, Result};
use flashyard_sim::config::{DeviceKeys, Settings};
use flashyard_sim::own::OwnParts;
use flashyard_workload::RequestSource;
use serde::Deserialize;

/// What the experiment file says.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Experiment {
    pub(crate) title: String,
    pub(crate) source: String,
    pub(crate) notes: String,
    /// The device of the study: what the publication models, and nothing else.
    bare: String,
    /// The same within a whole device: translation, garbage collection, several dies.
    full: String,
    /// How many groups of workloads the latter runs, the first ones.
    pub(crate) full_groups: usize,
    pub(crate) seed: u64,
    /// Requests of each workload, the first ones.
    requests: usize,
    /// The share of them whose latencies do not count.
    skip_percent: usize,
    /// The policy that the others are compared with.
    pub(crate) baseline: String,
    pub(crate) policy: Vec<Policy>,
    workload: Vec<Workload>,
    traces: TraceSettings,
    trace: Vec<Trace>,
    pub(crate) sweep: Vec<Sweep>,
    pub(crate) figure: Vec<Figure>,
    pub(crate) published: Vec<Published>,
}

/// A policy of the host queue.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Policy {
    pub(crate) name: String,
    pub(crate) settings: Vec<String>,
    /// Whether it is another reading of a policy, which only the bare device runs.
    #[serde(default)]
    pub(crate) variant: bool,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Workload {
    name: String,
    built_in: String,
    #[serde(default)]
    settings: Vec<String>,
    /// The trace that takes its place where there is one.
    trace: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TraceSettings {
    settings: Vec<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Trace {
    name: String,
    group: String,
    file: String,
    #[serde(default)]
    settings: Vec<String>,
}

/// Runs of some policies on some workloads at several values of something.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sweep {
    pub(crate) title: String,
    /// All of them where none is named: then each point has a table by groups of workloads.
    #[serde(default)]
    pub(crate) workloads: Vec<String>,
    #[serde(skip)]
    pub(crate) by_group: bool,
    pub(crate) policies: Vec<String>,
    pub(crate) point: Vec<Point>,
}

/// One of the values.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Point {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) settings: Vec<String>,
    /// Arrivals are multiplied by this.
    pub(crate) time_scale: Option<f64>,
    /// Arrivals are scaled so that they come at this share of the rate at which the baseline
    /// serves the same requests when all of them wait.
    pub(crate) load: Option<f64>,
}

/// A device of the study.
#[derive(Clone, Debug)]
pub(crate) struct Base {
    pub(crate) name: String,
    pub(crate) keys: DeviceKeys,
}

/// The workloads, and which of them stand together.
#[derive(Clone, Debug)]
pub(crate) struct Workloads {
    pub(crate) loaded: Vec<Loaded>,
    /// Name and number of workloads of each group.
    pub(crate) groups: Vec<(String, usize)>,
    /// What was changed in the traces.
    pub(crate) notes: Vec<String>,
    /// Files that were not found.
    pub(crate) missing: Vec<String>,
}

impl Experiment {
    pub(crate) fn parse(text: &str) -> Result<Self> {
        toml::from_str(text).context("the experiment file")
    }

    /// The keys that the study sets itself.
    fn is_own(&self, key: &str) -> bool {
        let policies = self.policy.iter().flat_map(|policy| &policy.settings);
        let points = self.sweep.iter().flat_map(|sweep| &sweep.point);
        let points = points.flat_map(|point| &point.settings);
        let workload = ["trace.", "mix."].iter().any(|section| key.starts_with(section));
        workload
            || key == "metrics.skip_requests"
            || policies.chain(points).any(|setting| key_of(setting) == key)
    }

    /// The devices with the settings of the command line: the bare and the full one, or the one
    /// that is named.
    pub(crate) fn devices(&self, args: &ReproduceArgs, own: OwnParts) -> Result<Vec<Base>> {
        if let Some(setting) = args.set.iter().find(|setting| self.is_own(key_of(setting))) {
            let key = key_of(setting);
            return Err(wrong(&format!("--set {setting}: the study itself sets {key}")));
        }
        let names = match &args.device {
            Some(name) => vec![name.clone()],
            None => vec![self.bare.clone(), self.full.clone()],
        };
        let set: Vec<_> = args.set.iter().map(|setting| ("--set", setting.clone())).collect();
        let load = |name: String| {
            let inputs = Inputs::load(own, &name, &self.workload[0].built_in, &set)?;
            inputs.settings()?;
            Ok(Base { name, keys: inputs.sections.device })
        };
        names.into_iter().map(load).collect()
    }

    /// How many requests of a workload do not count.
    pub(crate) fn skipped(&self, loaded: &Loaded) -> usize {
        loaded.requests.len() * self.skip_percent / 100
    }

    /// The generated workloads, for the smallest of all devices; and the traces of a directory or
    /// of the directories in it, for this one.
    pub(crate) fn load(
        &self,
        args: &ReproduceArgs,
        all: &[Base],
        device: &Base,
    ) -> Result<Workloads> {
        let capacity_of = |base: &Base| Ok(Settings::new(base.keys)?.capacity_sectors());
        let capacity = capacity_of(device)?;
        let capacities = all.iter().map(capacity_of).collect::<Result<Vec<_>>>()?;
        let smallest = capacities.into_iter().min().unwrap_or(capacity);
        let places = args.traces.as_deref().map(places).transpose()?.unwrap_or_default();
        let place = |file: &str| places.iter().find_map(|dir| find(dir, file));
        let limit = args.requests.map_or(Ok(self.requests), usize::try_from)?.min(self.requests);
        let mut all = Workloads { loaded: vec![], groups: vec![], notes: vec![], missing: vec![] };
        for row in &self.workload {
            let path = row.trace.as_deref().and_then(place);
            let named = path.map(|path| (path, &self.traces.settings));
            let capacity = if named.is_some() { capacity } else { smallest };
            let (loaded, notes) = read(row, named, self.seed, capacity, limit)?;
            all.add("mixes", loaded, &notes);
        }
        for trace in &self.trace {
            let Some(path) = place(&trace.file) else {
                all.missing.push(trace.file.clone());
                continue;
            };
            let settings = [&self.traces.settings[..], &trace.settings].concat();
            let row = Workload {
                name: trace.name.clone(),
                built_in: DEFAULT_WORKLOAD.to_string(),
                settings: Vec::new(),
                trace: None,
            };
            let (loaded, notes) = read(&row, Some((path, &settings)), self.seed, capacity, limit)?;
            all.add(&trace.group, loaded, &notes);
        }
        match &args.traces {
            None => all.missing.clear(),
            Some(dir) if all.missing.len() == self.trace.len() => {
                return Err(wrong(&format!(
                    "{}: neither it nor a directory in it has any of {} (plain, .gz or .zst)",
                    dir.display(),
                    all.missing.join(", ")
                )));
            }
            Some(_) => {}
        }
        Ok(all)
    }
}

impl Workloads {
    fn add(&mut self, group: &str, loaded: Loaded, notes: &[String]) {
        self.notes.extend(notes.iter().map(|note| format!("{}: {note}", loaded.name)));
        self.loaded.push(loaded);
        match self.groups.last_mut().filter(|(name, _)| name == group) {
            Some((_, count)) => *count += 1,
            None => self.groups.push((group.to_string(), 1)),
        }
    }

    /// The groups: name, and the numbers of their workloads.
    pub(crate) fn groups(&self) -> impl Iterator<Item = (&str, std::ops::Range<usize>)> {
        let mut from = 0;
        self.groups.iter().map(move |(name, count)| {
            let range = from..from + count;
            from = range.end;
            (name.as_str(), range)
        })
    }

    /// The place of a workload.
    pub(crate) fn place(&self, name: &str) -> usize {
        let found = self.loaded.iter().position(|loaded| loaded.name == name);
        found.expect("the experiment names its workloads")
    }
}

/// The first requests of a workload: of the trace that is named, or generated; and what was
/// changed in them.
fn read(
    row: &Workload,
    trace: Option<(String, &Vec<String>)>,
    seed: u64,
    capacity: u64,
    limit: usize,
) -> Result<(Loaded, Vec<String>)> {
    let (name, settings) = match trace {
        Some((path, settings)) => (path, settings.as_slice()),
        None => (row.built_in.clone(), row.settings.as_slice()),
    };
    let set: Vec<_> = settings.iter().map(|setting| ("settings", setting.clone())).collect();
    let mut inputs = Inputs::load(OwnParts::default(), DEFAULT_DEVICE, &name, &set)?;
    inputs.set_seed(seed);
    let mut source = inputs.open(Some(capacity))?;
    let mut requests = all_of(&mut source)?;
    requests.truncate(limit);
    Ok((Loaded { name: row.name.clone(), requests }, source.notes()))
}

/// The key that a setting sets.
pub(crate) fn key_of(setting: &str) -> &str {
    setting.split('=').next().unwrap_or_default().trim()
}

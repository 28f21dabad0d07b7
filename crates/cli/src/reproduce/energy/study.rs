//! The experiment file and its workloads.

use super::super::study::{Loaded, Published, all_of, find, places, settings_of};
use crate::args::ReproduceArgs;
use crate::inputs::{Inputs, wrong};
use crate::presets::DEFAULT_WORKLOAD;
use anyhow::{Context, Result};
use flashyard_core::request::{RequestOp, SECTOR_BYTES};
use flashyard_sim::config::{DeviceKeys, Settings, apply_setting};
use flashyard_sim::own::OwnParts;
use flashyard_workload::RequestSource;
use serde::Deserialize;
use std::path::Path;

/// What the experiment file says.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Study {
    pub(super) title: String,
    pub(super) source: String,
    pub(super) notes: String,
    pub(super) device: String,
    pub(super) seed: u64,
    /// Requests of every generated workload, where it is not to be as long as it is.
    pub(super) requests: Option<u64>,
    pub(super) ftl: Vec<Ftl>,
    pub(super) case: Vec<Case>,
    pub(super) window: Window,
    pub(super) tables: TableSizes,
    traces: TraceRuns,
    trace: Vec<Trace>,
    pub(super) published: Vec<Published>,
    pub(super) erratum: Vec<Erratum>,
}

/// The device of all runs, before the settings of a layer.
#[derive(Clone, Debug)]
pub(super) struct Base {
    /// A preset's name or a file.
    pub(super) name: String,
    pub(super) keys: DeviceKeys,
    /// The user's own parts, whose keys the file may set.
    own: OwnParts,
}

/// Traces, what was changed in each, and the files that were not found.
type TracesRead = (Vec<(Loaded, Vec<String>)>, Vec<String>);

/// A translation layer on the study's device.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Ftl {
    pub(super) name: String,
    pub(super) title: String,
    settings: Vec<String>,
    /// What makes it search a window, where it is not garbage collection.
    #[serde(default)]
    window: Vec<String>,
    /// What makes it look at one candidate, drawn at random.
    #[serde(default)]
    drawn: Vec<String>,
}

/// A workload, and what the device holds when it starts.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Case {
    pub(super) name: String,
    pub(super) workload: String,
    pub(super) footprint_percent: u64,
    pub(super) initial: String,
    pub(super) ftls: Vec<String>,
}

/// The sweep of the window of victim searches.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Window {
    pub(super) case: String,
    pub(super) ftls: Vec<String>,
    pub(super) share_percent: Vec<f64>,
    /// Of every share.
    settings: Vec<String>,
}

/// The table of sizes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TableSizes {
    pub(super) capacity_mib: Vec<u64>,
    pub(super) cache_bytes: u64,
    pub(super) chip_mib: u64,
    pub(super) sdram_mw: u64,
    pub(super) low_power_mw: u64,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TraceRuns {
    settings: Vec<String>,
    ftls: Vec<String>,
    states: Vec<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Trace {
    name: String,
    file: String,
    #[serde(default)]
    settings: Vec<String>,
}

/// Where the paper cannot be right.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Erratum {
    pub(super) text: String,
    pub(super) problem: String,
    pub(super) here: String,
}

impl Study {
    pub(super) fn parse(text: &str) -> Result<Self> {
        toml::from_str(text).context("the experiment file")
    }

    /// The study's device with the settings of the command line.
    pub(super) fn device(&self, args: &ReproduceArgs, own: OwnParts) -> Result<Base> {
        let name = args.device.clone().unwrap_or_else(|| self.device.clone());
        let layers = self.ftl.iter();
        let swept = layers.flat_map(|ftl| ftl.settings.iter().chain(&ftl.window).chain(&ftl.drawn));
        let swept = swept.chain(&self.window.settings).chain(&self.traces.settings);
        let swept: Vec<&str> = swept.map(|setting| key_of(setting)).collect();
        for setting in &args.set {
            let key = key_of(setting);
            let workload = ["mix.", "trace."].iter().any(|section| key.starts_with(section));
            if workload || key == "state.initial" || swept.contains(&key) {
                return Err(wrong(&format!("--set {setting}: the study itself sets {key}")));
            }
        }
        let set: Vec<_> = args.set.iter().map(|setting| ("--set", setting.clone())).collect();
        let inputs = Inputs::load(own, &name, &self.case[0].workload, &set)?;
        inputs.settings()?;
        Ok(Base { name, keys: inputs.sections.device, own })
    }

    /// The device with a layer in an initial state, and further settings.
    pub(super) fn settings(
        &self,
        keys: &DeviceKeys,
        ftl: &str,
        initial: &str,
        further: &[String],
    ) -> Result<Settings> {
        let mut settings = self.layer(ftl).settings.clone();
        settings.push(format!("state.initial={initial}"));
        settings.extend_from_slice(further);
        settings_of(*keys, &settings)
    }

    /// The layer of this name.
    pub(super) fn layer(&self, name: &str) -> &Ftl {
        self.ftl.iter().find(|ftl| ftl.name == name).expect("the study names its layers")
    }

    /// The case that the window is swept on.
    pub(super) fn window_case(&self) -> &Case {
        let found = self.case.iter().find(|case| case.name == self.window.case);
        found.expect("the window has one of the cases")
    }

    /// Layer by layer, the settings of each share.
    pub(super) fn window_settings(&self) -> Vec<(String, Vec<String>)> {
        let mut all = Vec::new();
        for name in &self.window.ftls {
            let own = self.layer(name);
            for share in &self.window.share_percent {
                let settings = match (own.window.is_empty(), *share > 0.0) {
                    (true, _) => &self.window.settings,
                    (false, true) => &own.window,
                    (false, false) => &own.drawn,
                };
                let of_share = |setting: &String| setting.replace("SHARE", &share.to_string());
                all.push((name.clone(), settings.iter().map(of_share).collect()));
            }
        }
        all
    }

    /// A generated workload for the device.
    pub(super) fn generate(&self, base: &Base, case: &Case) -> Result<Loaded> {
        let mut set = vec![("study", format!("mix.footprint_percent={}", case.footprint_percent))];
        set.extend(self.requests.map(|requests| ("study", format!("mix.requests={requests}"))));
        let mut inputs = Inputs::load(base.own, &base.name, &case.workload, &set)?;
        inputs.set_seed(self.seed);
        let capacity = Settings::new(base.keys)?.capacity_sectors();
        let requests = all_of(&mut inputs.open(Some(capacity))?)?;
        Ok(Loaded { name: case.workload.clone(), requests })
    }

    /// The traces of a directory, or of the directories in it: those that are there.
    pub(super) fn load(&self, base: &Base, dir: &Path) -> Result<TracesRead> {
        let places = places(dir)?;
        let place = |trace: &Trace| places.iter().find_map(|dir| find(dir, &trace.file));
        let capacity = Settings::new(base.keys)?.capacity_sectors();
        let load = |trace: &Trace, path: String| {
            let mut inputs = Inputs::load(base.own, &base.name, DEFAULT_WORKLOAD, &[])?;
            let mut problems = Vec::new();
            for setting in self.traces.settings.iter().chain(&trace.settings) {
                apply_setting("settings", setting, &mut inputs.sections, &mut problems);
            }
            anyhow::ensure!(problems.is_empty(), "the experiment file: {}", problems[0]);
            inputs.set_trace(path);
            let mut source = inputs.open(Some(capacity))?;
            let requests = all_of(&mut source)?;
            Ok((Loaded { name: trace.name.clone(), requests }, source.notes()))
        };
        let (mut read, mut missing) = (Vec::new(), Vec::new());
        for trace in &self.trace {
            match place(trace) {
                Some(path) => read.push(load(trace, path)?),
                None => missing.push(trace.file.clone()),
            }
        }
        if read.is_empty() {
            return Err(wrong(&format!(
                "{}: neither it nor a directory in it has any of {} (plain, .gz or .zst)",
                dir.display(),
                missing.join(", ")
            )));
        }
        Ok((read, missing))
    }

    /// The initial state and the layer of each run of a trace.
    pub(super) fn trace_runs(&self) -> impl Iterator<Item = (String, String)> {
        let TraceRuns { states, ftls, .. } = &self.traces;
        states
            .iter()
            .flat_map(move |state| ftls.iter().map(move |ftl| (state.clone(), ftl.clone())))
    }
}

/// The key that a setting sets.
fn key_of(setting: &str) -> &str {
    setting.split('=').next().unwrap_or_default().trim()
}

/// What a workload is like, as the paper describes its own.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mix {
    pub(super) requests: usize,
    pub(super) kib: f64,
    pub(super) write_percent: f64,
    pub(super) random_percent: f64,
    pub(super) interarrival_ms: f64,
    pub(super) hours: f64,
}

impl Mix {
    pub(super) fn of(loaded: &Loaded) -> Self {
        let requests = &loaded.requests;
        let count = requests.len().max(1) as f64;
        let sectors: u64 = requests.iter().map(|request| u64::from(request.sectors)).sum();
        let writes = requests.iter().filter(|request| request.op == RequestOp::Write).count();
        let follows = requests.windows(2).filter(|pair| {
            pair[0].first_sector + u64::from(pair[0].sectors) == pair[1].first_sector
        });
        let last = requests.last().map_or(0.0, |request| request.arrival.as_ns() as f64);
        Self {
            requests: requests.len(),
            kib: sectors as f64 * f64::from(SECTOR_BYTES) / 1024.0 / count,
            write_percent: 100.0 * writes as f64 / count,
            random_percent: 100.0 - 100.0 * follows.count() as f64 / count,
            interarrival_ms: last / 1e6 / count,
            hours: last / 3.6e12,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::FILE;
    use super::*;

    /// Every case names layers that exist, and every run of the study is a device that exists.
    #[test]
    fn the_experiment_file_describes_runs_that_can_be_made() {
        let study = Study::parse(FILE).unwrap();
        let inputs =
            Inputs::load(OwnParts::default(), &study.device, &study.case[0].workload, &[]).unwrap();
        let keys = inputs.sections.device;
        for case in &study.case {
            for ftl in &case.ftls {
                let settings = study.settings(&keys, ftl, &case.initial, &[]).unwrap();
                assert_eq!(settings.capacity_sectors(), 1 << 21, "{ftl} exports 1 GiB");
            }
        }
        let case = study.window_case();
        for (ftl, window) in study.window_settings() {
            study.settings(&keys, &ftl, &case.initial, &window).unwrap();
        }
        for (initial, ftl) in study.trace_runs() {
            study.settings(&keys, &ftl, &initial, &[]).unwrap();
        }
    }

    /// Two requests of 4 and 8 KiB, the second behind the first.
    #[test]
    fn a_mix_is_counted_as_the_paper_does() {
        let request = |ms: u64, first_sector, sectors, op| flashyard_core::request::Request {
            arrival: flashyard_core::units::Time::from_us(ms * 1_000),
            first_sector,
            sectors,
            stream: 0,
            op,
            flags: flashyard_core::request::Flags::NONE,
        };
        let requests =
            vec![request(100, 8, 8, RequestOp::Write), request(200, 16, 16, RequestOp::Read)];
        let mix = Mix::of(&Loaded { name: "two".to_string(), requests });
        assert_eq!((mix.requests, mix.kib, mix.write_percent), (2, 6.0, 50.0));
        assert_eq!((mix.random_percent, mix.interarrival_ms), (50.0, 100.0));
    }
}

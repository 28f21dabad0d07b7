//! `flashyard reproduce crossings`: buffers with their host policies, command policies and map
//! caches on one device: what each does to the others.

use super::buffers::experiment::key_of;
use super::buffers::figures::{Class, Figures, Job, mean, run_jobs};
use super::buffers::tables::{ratio, us};
use super::drs;
use super::study::{Loaded, Study};
use crate::args::ReproduceArgs;
use crate::inputs::{Inputs, wrong};
use crate::output::{print, table};
use anyhow::{Context, Result};
use flashyard_sim::config::{DeviceKeys, Settings};
use flashyard_sim::own::OwnParts;
use serde::Deserialize;
use serde_json::{Value, json};
use std::fmt::Write;

const FILE: &str = include_str!("../../../../experiments/crossings.toml");

/// What the experiment file says.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Experiment {
    title: String,
    source: String,
    notes: String,
    device: String,
    /// Of every run.
    settings: Vec<String>,
    buffer: Vec<Part>,
    map: Vec<Part>,
    command: Vec<Part>,
}

/// A part of the device, one of several.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Part {
    name: String,
    settings: Vec<String>,
}

/// A buffer, a map and a command policy, by place in the experiment.
type Place = [usize; 3];

struct Results {
    experiment: Experiment,
    device: String,
    loaded: Vec<Loaded>,
    /// By combination and workload.
    runs: Vec<(Place, Vec<Figures>)>,
}

/// Runs every combination and prints them.
pub(crate) fn run(args: &ReproduceArgs, own: OwnParts) -> Result<()> {
    let experiment: Experiment = toml::from_str(FILE).context("the experiment file")?;
    let (device, keys) = experiment.device(args, own)?;
    let capacity = Settings::new(keys)?.capacity_sectors();
    let study = Study::parse(drs::FILE)?;
    let dir = args.traces.as_deref().map(|dir| study.directory(dir)).transpose()?;
    let mut loaded = study.load(dir.as_deref(), capacity)?;
    if let Some(limit) = args.requests {
        let limit = usize::try_from(limit)?;
        for one in &mut loaded {
            one.requests.truncate(limit);
        }
    }
    let runs = experiment.runs(&keys, &loaded, args.check)?;
    let results = Results { experiment, device, loaded, runs };
    if args.json {
        return print(&serde_json::to_string_pretty(&results.object(args))?);
    }
    print(&results.text(args))
}

impl Experiment {
    /// Every combination.
    fn places(&self) -> Vec<Place> {
        let commands = 0..self.command.len();
        let maps = 0..self.map.len();
        (0..self.buffer.len())
            .flat_map(|buffer| maps.clone().map(move |map| (buffer, map)))
            .flat_map(|(buffer, map)| commands.clone().map(move |command| [buffer, map, command]))
            .collect()
    }

    fn parts(&self, [buffer, map, command]: Place) -> [&Part; 3] {
        [&self.buffer[buffer], &self.map[map], &self.command[command]]
    }

    /// The device with the settings of the command line.
    fn device(&self, args: &ReproduceArgs, own: OwnParts) -> Result<(String, DeviceKeys)> {
        let parts = self.buffer.iter().chain(&self.map).chain(&self.command);
        let keys: Vec<&str> = parts
            .flat_map(|part| &part.settings)
            .chain(&self.settings)
            .map(|setting| key_of(setting))
            .collect();
        for setting in &args.set {
            let key = key_of(setting);
            let workload = ["trace.", "generator."].iter().any(|section| key.starts_with(section));
            if workload || keys.contains(&key) {
                return Err(wrong(&format!("--set {setting}: the study itself sets {key}")));
            }
        }
        let name = args.device.clone().unwrap_or_else(|| self.device.clone());
        let set: Vec<_> = args.set.iter().map(|setting| ("--set", setting.clone())).collect();
        let inputs = Inputs::load(own, &name, crate::presets::DEFAULT_WORKLOAD, &set)?;
        inputs.settings()?;
        Ok((name, inputs.sections.device))
    }

    fn runs(
        &self,
        keys: &DeviceKeys,
        loaded: &[Loaded],
        check: bool,
    ) -> Result<Vec<(Place, Vec<Figures>)>> {
        let places = self.places();
        let mut jobs = Vec::new();
        for &place in &places {
            let mut settings = self.settings.clone();
            for part in self.parts(place) {
                settings.extend_from_slice(&part.settings);
            }
            for workload in 0..loaded.len() {
                jobs.push(Job::new(workload, keys, &settings, 1.0)?);
            }
        }
        let found = run_jobs("crossings", &jobs, loaded, check)?;
        let rows = found.as_slice().chunks(loaded.len()).map(<[Figures]>::to_vec);
        Ok(places.into_iter().zip(rows).collect())
    }
}

impl Results {
    fn of(&self, place: Place) -> &[Figures] {
        let found = self.runs.iter().find(|(known, _)| *known == place);
        &found.expect("every combination is run").1
    }

    /// The mean over the workloads of one combination's mean latency over that of another one.
    fn over(&self, place: Place, base: Place, class: Class) -> Option<f64> {
        let pairs = self.of(place).iter().zip(self.of(base));
        mean(pairs.map(|(run, base)| run.ratio(base, class)))
    }

    fn text(&self, args: &ReproduceArgs) -> String {
        let Experiment { title, source, notes, .. } = &self.experiment;
        let origin = match &args.traces {
            Some(dir) => format!("the traces in {}", dir.display()),
            None => "the built-in ones of drs; with --traces DIR the real ones".to_string(),
        };
        format!(
            "{title}\n{source}\n{notes}\n\ndevice {}; workloads: {origin}\n\n{}\n{}",
            self.device,
            self.table(),
            self.sentences().join("\n")
        )
    }

    fn table(&self) -> String {
        let header = [
            "buffer, map, command",
            "read us",
            "write us",
            "p99 read us",
            "read",
            "write",
            "p99",
            "map misses",
            "WA",
            "read hits",
            "write hits",
            "hazard picks",
        ];
        let mut table = table::table(&header);
        for (place, runs) in &self.runs {
            let of = |figure: fn(&Figures) -> Option<f64>| mean(runs.iter().map(figure));
            let sum = |figure: fn(&Figures) -> u64| runs.iter().map(figure).sum::<u64>();
            let p99 = runs
                .iter()
                .zip(self.of([0; 3]))
                .map(|(run, base)| Some(run.read_p99_ns? as f64 / base.read_p99_ns? as f64));
            let [read, write] = Class::BOTH.map(|class| self.over(*place, [0; 3], class));
            table.add_row(vec![
                self.experiment.parts(*place).map(|part| part.name.as_str()).join(", "),
                us(of(|run| run.read_mean_ns)),
                us(of(|run| run.write_mean_ns)),
                us(of(|run| run.read_p99_ns.map(|ns| ns as f64))),
                ratio(read),
                ratio(write),
                ratio(mean(p99)),
                sum(|run| run.map_misses).to_string(),
                ratio(of(|run| run.write_amplification)),
                ratio(of(|run| run.hit_ratio_read)),
                ratio(of(|run| run.hit_ratio_write)),
                sum(|run| run.hazard_picks).to_string(),
            ]);
        }
        let first = self.experiment.parts([0; 3]).map(|part| part.name.as_str()).join(", ");
        format!(
            "{}Means over the workloads; read, write, p99: means of their ratios to {first}; \
             misses and picks: sums\n",
            table::render(&table)
        )
    }

    /// One sentence an interaction: the same change with and without another part.
    fn sentences(&self) -> Vec<String> {
        let Experiment { buffer, map, command, .. } = &self.experiment;
        let both = |place, base| Class::BOTH.map(|class| ratio(self.over(place, base, class)));
        let mut all = Vec::new();
        for (m, store) in map.iter().enumerate() {
            for (c, policy) in command.iter().enumerate().skip(1) {
                let mut text = format!("{} over {}, {}:", policy.name, command[0].name, store.name);
                for (b, part) in buffer.iter().enumerate() {
                    let [read, write] = both([b, m, c], [b, m, 0]);
                    let _ = write!(text, " {}: reads {read}, writes {write};", part.name);
                }
                all.push(text);
            }
        }
        for (b, part) in buffer.iter().enumerate().skip(1) {
            let mut text = format!("{} over {}:", part.name, buffer[0].name);
            for (m, store) in map.iter().enumerate() {
                for (c, policy) in command.iter().enumerate() {
                    let [read, write] = both([b, m, c], [0, m, c]);
                    let names = [&store.name, &policy.name].map(String::as_str).join(", ");
                    let _ = write!(text, " {names}: reads {read}, writes {write};");
                }
            }
            all.push(text);
        }
        for (m, store) in map.iter().enumerate().skip(1) {
            let mut text = format!("{} over {}, {}:", store.name, map[0].name, command[0].name);
            for (b, part) in buffer.iter().enumerate() {
                let [read, write] = both([b, m, 0], [b, 0, 0]);
                let _ = write!(text, " {}: reads {read}, writes {write};", part.name);
            }
            all.push(text);
        }
        all
    }

    fn object(&self, args: &ReproduceArgs) -> Value {
        let names: Vec<&str> = self.loaded.iter().map(|loaded| loaded.name.as_str()).collect();
        let runs = self.runs.iter().map(|(place, runs)| {
            let [buffer, map, command] = self.experiment.parts(*place).map(|part| &part.name);
            json!({
                "buffer": buffer, "map": map, "command": command, "figures": runs,
                "read_over_first": self.over(*place, [0; 3], Class::Read),
                "write_over_first": self.over(*place, [0; 3], Class::Write),
            })
        });
        json!({
            "schema_version": crate::output::json::SCHEMA_VERSION,
            "study": "crossings",
            "device": self.device,
            "traces": args.traces.as_ref().map(|dir| dir.display().to_string()),
            "workloads": names,
            "runs": runs.collect::<Vec<_>>(),
            "sentences": self.sentences(),
        })
    }
}

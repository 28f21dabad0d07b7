//! `flashyard reproduce crossings`: buffers with their host policies, command policies and map
//! caches on one device: what each does to the others.

use super::buffers::experiment::key_of;
use super::buffers::figures::{Class, Figures, mean};
use super::buffers::tables::{ratio, us};
use super::drs;
use super::study::{Loaded, Study, settings_of, simulate};
use crate::args::ReproduceArgs;
use crate::inputs::{Inputs, wrong};
use crate::output::{print, remark, table};
use anyhow::{Context, Result};
use flashyard_sim::config::{DeviceKeys, Settings};
use flashyard_sim::own::OwnParts;
use indicatif::ParallelProgressIterator;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

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
    /// Of a buffer: whether it gives flash one read or program at a time.
    #[serde(default)]
    one_at_a_time: bool,
    settings: Vec<String>,
}

/// A run.
#[derive(Clone, Debug, Serialize)]
struct Run {
    #[serde(flatten)]
    figures: Figures,
    /// Its verdict.
    queue_grew: bool,
}

/// A buffer, a map and a command policy, by place in the experiment.
type Place = [usize; 3];

struct Results {
    experiment: Experiment,
    device: String,
    /// Of the generated workloads.
    seed: Option<u64>,
    loaded: Vec<Loaded>,
    /// By combination and workload.
    runs: Vec<(Place, Vec<Run>)>,
}

/// Runs every combination and prints them.
pub(crate) fn run(args: &ReproduceArgs, own: OwnParts) -> Result<()> {
    let experiment: Experiment = toml::from_str(FILE).context("the experiment file")?;
    let study = Study::parse(drs::FILE)?;
    let (device, inputs) = experiment.device(args, own)?;
    let keys = inputs.sections.device;
    let seed = if args.traces.is_none() { inputs.seed() } else { None };
    let capacity = Settings::new(keys)?.capacity_sectors();
    let dir = args.traces.as_deref().map(|dir| study.directory(dir)).transpose()?;
    let mut loaded = study.load(dir.as_deref(), capacity)?;
    if let Some(limit) = args.requests {
        let limit = usize::try_from(limit)?;
        for one in &mut loaded {
            one.requests.truncate(limit);
        }
    }
    let runs = experiment.runs(&keys, &loaded, args.check)?;
    let results = Results { experiment, device, seed, loaded, runs };
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
    fn device(&self, args: &ReproduceArgs, own: OwnParts) -> Result<(String, Inputs)> {
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
        Ok((name, inputs))
    }

    fn runs(
        &self,
        keys: &DeviceKeys,
        loaded: &[Loaded],
        check: bool,
    ) -> Result<Vec<(Place, Vec<Run>)>> {
        let start = std::time::Instant::now();
        let places = self.places();
        let mut jobs = Vec::new();
        for &place in &places {
            let mut settings = self.settings.clone();
            for part in self.parts(place) {
                settings.extend_from_slice(&part.settings);
            }
            let settings = settings_of(*keys, &settings)?;
            jobs.extend(loaded.iter().map(|loaded| (settings, loaded)));
        }
        let run = |(settings, loaded): &(Settings, &Loaded)| {
            let report = simulate(settings, &loaded.requests, check)?;
            Ok(Run { figures: Figures::of(&report), queue_grew: report.verdict.queue_grew })
        };
        let found = jobs.par_iter().progress().map(run).collect::<Result<Vec<_>>>()?;
        let seconds = start.elapsed().as_secs_f64();
        remark(&format!("crossings: {} runs in {seconds:.2} s", jobs.len()));
        let rows = found.chunks(loaded.len()).map(<[Run]>::to_vec);
        Ok(places.into_iter().zip(rows).collect())
    }
}

impl Results {
    fn of(&self, place: Place) -> &[Run] {
        let found = self.runs.iter().find(|(known, _)| *known == place);
        &found.expect("every combination is run").1
    }

    /// One combination's mean latency over that of another one, by workload.
    fn ratios(&self, place: Place, base: Place, class: Class) -> Vec<Option<f64>> {
        let pairs = self.of(place).iter().zip(self.of(base));
        pairs.map(|(run, base)| run.figures.ratio(&base.figures, class)).collect()
    }

    /// The mean over the workloads of one combination's mean latency over that of another one.
    fn over(&self, place: Place, base: Place, class: Class) -> Option<f64> {
        mean(self.ratios(place, base, class))
    }

    fn text(&self, args: &ReproduceArgs) -> String {
        let Experiment { title, source, notes, .. } = &self.experiment;
        let origin = match (&args.traces, self.seed) {
            (Some(dir), _) => format!("the traces in {}", dir.display()),
            (None, seed) => format!(
                "the built-in ones of drs{}; with --traces DIR the real ones",
                seed.map_or_else(String::new, |seed| format!(", generated with seed {seed}"))
            ),
        };
        format!(
            "{title}\n{source}\n{notes}\n\ndevice {}; workloads: {origin}\n\n{}\n{}\n{}\n",
            self.device,
            self.table(),
            self.by_workload(),
            self.sentences().join("\n")
        )
    }

    fn table(&self) -> String {
        let header = [
            "buffer, map, command",
            "read",
            "write",
            "p99 read",
            "read us",
            "write us",
            "p99 read us",
            "queue grew",
            "map misses",
            "WA",
            "read hits",
            "write hits",
            "hazard picks",
        ];
        let mut table = table::table(&header);
        for (place, runs) in &self.runs {
            let all = |figure: fn(&Figures) -> Option<f64>| {
                runs.iter().map(|run| figure(&run.figures)).collect::<Vec<_>>()
            };
            let sum = |figure: fn(&Figures) -> u64| {
                runs.iter().map(|run| figure(&run.figures)).sum::<u64>()
            };
            let p99 = |run: &Run| run.figures.read_p99_ns.map(|ns| ns as f64);
            let pairs = runs.iter().zip(self.of([0; 3]));
            let tail = pairs.map(|(run, base)| Some(p99(run)? / p99(base).filter(|ns| *ns > 0.0)?));
            let [read, write] = Class::BOTH.map(|class| self.over(*place, [0; 3], class));
            let grew = runs.iter().filter(|run| run.queue_grew).count();
            table.add_row(vec![
                self.experiment.parts(*place).map(|part| part.name.as_str()).join(", "),
                ratio(read),
                ratio(write),
                ratio(mean(tail)),
                us(median(&all(|run| run.read_mean_ns))),
                us(median(&all(|run| run.write_mean_ns))),
                us(median(&all(|run| run.read_p99_ns.map(|ns| ns as f64)))),
                format!("{grew} of {}", runs.len()),
                sum(|run| run.map_misses).to_string(),
                ratio(mean(all(|run| run.write_amplification))),
                ratio(mean(all(|run| run.hit_ratio_read))),
                ratio(mean(all(|run| run.hit_ratio_write))),
                sum(|run| run.hazard_picks).to_string(),
            ]);
        }
        let first = self.experiment.parts([0; 3]).map(|part| part.name.as_str()).join(", ");
        format!(
            "{}read, write, p99 read: means over the workloads of their ratios to {first}; us: \
             medians of their mean latencies and p99; queue grew: in how many, whose latencies \
             depend on their length; misses and picks: sums; others: means\n",
            table::render(&table)
        )
    }

    /// Reads of the command policies over the first one, by workload.
    fn by_workload(&self) -> String {
        let Experiment { buffer, map, command, .. } = &self.experiment;
        let mut text = String::new();
        for (c, policy) in command.iter().enumerate().skip(1) {
            let mut header = vec![format!("reads, {} / {}", policy.name, command[0].name)];
            let mut columns = Vec::new();
            for (b, part) in buffer.iter().enumerate() {
                for (m, store) in map.iter().enumerate() {
                    header.push(format!("{}, {}", part.name, store.name));
                    columns.push(([b, m, c], [b, m, 0]));
                }
            }
            let mut table = table::table(&header.iter().map(String::as_str).collect::<Vec<_>>());
            let found: Vec<_> = columns
                .iter()
                .map(|&(place, base)| self.ratios(place, base, Class::Read))
                .collect();
            for (workload, loaded) in self.loaded.iter().enumerate() {
                let cells = columns.iter().zip(&found).map(|(&(place, base), ratios)| {
                    let grew = |place| self.of(place)[workload].queue_grew;
                    let mark = if grew(place) || grew(base) { "*" } else { "" };
                    format!("{}{mark}", ratio(ratios[workload]))
                });
                table.add_row([loaded.name.clone()].into_iter().chain(cells).collect::<Vec<_>>());
            }
            let means = found.iter().map(|ratios| ratio(mean(ratios.iter().copied())));
            table.add_row(["mean".to_string()].into_iter().chain(means).collect::<Vec<_>>());
            text += &table::render(&table);
        }
        text + "*: the queue grew under one of the two\n"
    }

    /// What each part does with and without another, a sentence an interaction.
    fn sentences(&self) -> Vec<String> {
        let Experiment { buffer, map, command, .. } = &self.experiment;
        let mut all = Vec::new();
        for (c, policy) in command.iter().enumerate().skip(1) {
            for (b, part) in buffer.iter().enumerate().skip(1) {
                for (m, store) in map.iter().enumerate() {
                    let both = |b| Class::BOTH.map(|class| self.over([b, m, c], [b, m, 0], class));
                    let names = [&part.name, &policy.name, &store.name].map(String::as_str);
                    all.push(still_pays(names, both(0), both(b), part.one_at_a_time));
                }
            }
        }
        for (b, part) in buffer.iter().enumerate().skip(1) {
            for (m, store) in map.iter().enumerate() {
                let under = command.iter().enumerate().map(|(c, policy)| {
                    let [read, write] =
                        Class::BOTH.map(|class| change(self.over([b, m, c], [0, m, c], class)));
                    format!("under {} reads {read}, writes {write}", policy.name)
                });
                let under = under.collect::<Vec<_>>().join("; ");
                let names = format!("{} in place of {}", part.name, buffer[0].name);
                let mut text = format!("{names} ({}): {under}.", store.name);
                for (c, policy) in command.iter().enumerate().skip(1) {
                    let places = [[0, m, c], [b, m, 0], [b, m, c]];
                    let reads = places.map(|place| self.over(place, [0, m, 0], Class::Read));
                    text += &format!(" Reads over {}, {}:", buffer[0].name, command[0].name);
                    text += &together([&policy.name, &part.name], reads);
                }
                all.push(text);
            }
        }
        for (m, store) in map.iter().enumerate().skip(1) {
            let behind = buffer.iter().enumerate().map(|(b, part)| {
                let [read, write] =
                    Class::BOTH.map(|class| times(self.over([b, m, 0], [b, 0, 0], class)));
                format!("{}: reads {read}, writes {write}", part.name)
            });
            all.push(format!(
                "{} in place of {}, under {}: {}.",
                store.name,
                map[0].name,
                command[0].name,
                behind.collect::<Vec<_>>().join("; ")
            ));
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
            "source": self.experiment.source,
            "notes": self.experiment.notes,
            "device": self.device,
            "seed": self.seed,
            "traces": args.traces.as_ref().map(|dir| dir.display().to_string()),
            "workloads": names,
            "runs": runs.collect::<Vec<_>>(),
            "sentences": self.sentences(),
        })
    }
}

/// The median of those that exist, of an even number the mean of the middle two.
fn median(values: &[Option<f64>]) -> Option<f64> {
    let mut found: Vec<f64> = values.iter().flatten().copied().collect();
    found.sort_by(f64::total_cmp);
    let middle = found.len() / 2;
    match found.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(found[middle]),
        _ => Some(f64::midpoint(found[middle - 1], found[middle])),
    }
}

/// Changes below this show as 0 %.
const NOTHING: f64 = 0.005;

/// What a ratio gains, in percent.
fn gain(ratio: Option<f64>) -> String {
    ratio.map_or_else(|| "-".to_string(), |ratio| percent(1.0 - ratio))
}

/// What a ratio changes, in percent.
fn change(ratio: Option<f64>) -> String {
    let sign = if ratio.is_some_and(|ratio| ratio - 1.0 >= NOTHING) { "+" } else { "" };
    ratio.map_or_else(|| "-".to_string(), |ratio| format!("{sign}{}", percent(ratio - 1.0)))
}

/// In whole percents; none is never negative.
fn percent(share: f64) -> String {
    let share = if share.abs() < NOTHING { 0.0 } else { share };
    format!("{:.0} %", 100.0 * share)
}

fn times(ratio: Option<f64>) -> String {
    ratio.map_or_else(|| "-".to_string(), |ratio| format!("take {ratio:.2} times as long"))
}

/// Whether a command policy still pays behind a buffer: ratios of reads and of writes over the
/// first policy without the buffer and behind it.
fn still_pays(
    [part, policy, map]: [&str; 3],
    without: [Option<f64>; 2],
    behind: [Option<f64>; 2],
    one_at_a_time: bool,
) -> String {
    let [reads, writes] =
        [0, 1].map(|class| format!("{} instead of {}", gain(behind[class]), gain(without[class])));
    let same = |ratio: Option<f64>| ratio.is_none_or(|ratio| (ratio - 1.0).abs() < NOTHING);
    let what = if one_at_a_time && behind.into_iter().all(same) {
        "has nothing to choose, as one read or program at a time reaches flash".to_string()
    } else {
        match (without[0].map(|ratio| 1.0 - ratio), behind[0].map(|ratio| 1.0 - ratio)) {
            (Some(before), Some(left)) if left <= -NOTHING && before >= NOTHING => {
                "loses on reads what it gains without".to_string()
            }
            (_, Some(left)) if left <= -NOTHING => "slows reads down".to_string(),
            (_, Some(left)) if left < NOTHING => "gains nothing on reads".to_string(),
            (Some(before), Some(left)) if before >= NOTHING && left < before => {
                format!("keeps {} of its gain on reads", percent(left / before))
            }
            (Some(_), Some(_)) => "gains on reads as much as without, or more".to_string(),
            _ => "cannot be judged, for there are no reads".to_string(),
        }
    };
    format!("Behind {part} {policy} {what} ({map}): {reads}; on writes {writes}.")
}

/// What a policy, a buffer and both do to reads: ratios to neither.
fn together([policy, part]: [&str; 2], reads: [Option<f64>; 3]) -> String {
    let [Some(alone), Some(buffer), Some(both)] = reads else { return " -".to_string() };
    let best = if both < alone.min(buffer) {
        "both are better than either"
    } else if alone < buffer {
        "the policy alone is best"
    } else if buffer < alone {
        "the buffer alone is best"
    } else {
        "neither adds to the other"
    };
    format!(" {policy} {alone:.3}, {part} {buffer:.3}, both {both:.3}: {best}.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_says(reads: [f64; 2], one_at_a_time: bool, expected: &str) {
        let [without, behind] = reads.map(|read| [Some(read), Some(1.0)]);
        let text = still_pays(["B", "drs", "M"], without, behind, one_at_a_time);
        assert_eq!(text, format!("Behind B drs {expected}; on writes 0 % instead of 0 %."));
    }

    #[test]
    fn sentences_follow_the_numbers() {
        assert_says(
            [0.76, 0.88],
            false,
            "keeps 50 % of its gain on reads (M): 12 % instead of 24 %",
        );
        assert_says(
            [0.76, 0.7],
            false,
            "gains on reads as much as without, or more (M): 30 % instead of 24 %",
        );
        assert_says(
            [1.1, 0.9],
            false,
            "gains on reads as much as without, or more (M): 10 % instead of -10 %",
        );
        assert_says([0.76, 1.001], false, "gains nothing on reads (M): 0 % instead of 24 %");
        assert_says(
            [0.76, 1.1],
            false,
            "loses on reads what it gains without (M): -10 % instead of 24 %",
        );
        assert_says([1.1, 1.2], true, "slows reads down (M): -20 % instead of -10 %");
        let choose = "has nothing to choose, as one read or program at a time reaches flash";
        assert_says([0.76, 0.999], true, &format!("{choose} (M): 0 % instead of 24 %"));
        let none = still_pays(["B", "drs", "M"], [None; 2], [None; 2], false);
        assert!(none.contains("there are no reads") && none.contains("- instead of -"), "{none}");
        let reads = |reads: [f64; 3]| together(["drs", "B"], reads.map(Some));
        assert!(reads([0.8, 0.7, 0.6]).ends_with("both 0.600: both are better than either."));
        assert!(reads([0.8, 0.7, 0.7]).ends_with("the buffer alone is best."));
        assert!(reads([0.8, 0.9, 0.9]).ends_with("the policy alone is best."));
        assert_eq!([change(Some(1.21)), change(Some(0.9999))], ["+21 %", "0 %"]);
    }

    #[test]
    fn medians_are_of_those_that_exist() {
        assert_eq!(median(&[Some(3.0), None, Some(1.0), Some(50.0)]), Some(3.0));
        assert_eq!(median(&[Some(3.0), Some(1.0)]), Some(2.0));
        assert_eq!(median(&[None]), None);
    }
}

//! What an experiment file says. docs/STUDIES.md describes it.

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::collections::BTreeMap;

/// An experiment file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Experiment {
    pub(crate) title: String,
    pub(crate) source: String,
    pub(crate) notes: String,
    /// Seed of generated workloads; replica n has seed + n.
    #[serde(default = "one")]
    pub(crate) seed: u64,
    /// Of each run that a statement needs.
    pub(crate) replicas: usize,
    /// Requests of a workload at most.
    pub(crate) requests: Option<usize>,
    /// What `--short` takes instead.
    #[serde(default)]
    pub(crate) short: Short,
    /// The share of the requests, the first ones, whose latencies do not count.
    #[serde(default)]
    pub(crate) skip_percent: usize,
    /// The subject that loads are relative to.
    pub(crate) baseline: Option<String>,
    pub(crate) device: Vec<Device>,
    #[serde(default)]
    pub(crate) subject: Vec<Subject>,
    pub(crate) combine: Option<Combine>,
    pub(crate) group: Vec<Group>,
    pub(crate) grid: Vec<Grid>,
    pub(crate) sensitivity: Option<Sensitivity>,
    /// Names for expressions.
    #[serde(default)]
    pub(crate) define: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) table: Vec<Table>,
    #[serde(default)]
    pub(crate) example: Vec<Example>,
    pub(crate) sizes: Option<Sizes>,
    /// Faults that are planted, in the grid of this name.
    #[serde(default)]
    pub(crate) fault: Vec<Fault>,
    #[serde(default)]
    pub(crate) published: Vec<Statements>,
    /// What nobody published and the study asks.
    #[serde(default)]
    pub(crate) asked: Vec<Statements>,
    #[serde(default)]
    pub(crate) erratum: Vec<Erratum>,
}

/// How often a run is repeated at most.
const MOST_REPLICAS: usize = 10_000;

const fn one() -> u64 {
    1
}

/// The short form of a study, which judges what fewer requests can show. Values that it does not
/// name stay.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Short {
    pub(crate) replicas: Option<usize>,
    /// Of each workload at most.
    pub(crate) requests: Option<usize>,
    /// Phases that end by time, and the bursts in them, take this share of their time.
    pub(crate) time_percent: Option<u64>,
    /// By grid, the points that stay.
    #[serde(default)]
    pub(crate) points: BTreeMap<String, Vec<String>>,
}

impl Short {
    /// Takes the points away that the short form leaves out.
    pub(crate) fn leave_out(&self, grids: &mut [Grid]) -> Result<()> {
        for (name, kept) in &self.points {
            let grid = grids.iter_mut().find(|grid| grid.name == *name);
            let grid =
                grid.with_context(|| format!("[short]: points: {name}: no grid of this name"))?;
            for point in kept {
                let is_known = grid.point.iter().any(|known| known.name == *point);
                ensure!(is_known, "[short]: points: {name}: it has no point {point}");
            }
            grid.point.retain(|point| kept.contains(&point.name));
        }
        Ok(())
    }
}

/// A device: a preset and what is changed in it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Device {
    pub(crate) name: String,
    pub(crate) preset: String,
    #[serde(default)]
    pub(crate) settings: Vec<String>,
    /// Settings of the traces that it runs.
    #[serde(default)]
    pub(crate) traces: Vec<String>,
}

/// What is compared: a policy, a translation layer, a combination of parts.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Subject {
    pub(crate) name: String,
    /// Its own device, in place of that of the grid.
    pub(crate) device: Option<String>,
    #[serde(default)]
    pub(crate) settings: Vec<String>,
}

/// Subjects that are all combinations of parts; of `{0}, {1}`, the names of parts take the places.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Combine {
    pub(crate) name: String,
    /// The first list changes most slowly.
    pub(crate) parts: Vec<Vec<Subject>>,
}

/// Workloads that stand together.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Group {
    pub(crate) name: String,
    /// Settings of each of its traces, before their own.
    #[serde(default)]
    pub(crate) traces: Vec<String>,
    /// Whether all its traces must be there where `--traces` is given.
    #[serde(default)]
    pub(crate) complete: bool,
    /// Traces of the catalogue, in its order: all of this kind.
    pub(crate) kind: Option<String>,
    #[serde(default)]
    pub(crate) workload: Vec<Workload>,
    /// The device whose capacity generated addresses keep to; else that of the grid.
    pub(crate) made_for: Option<String>,
}

impl Group {
    /// Whether some of its workloads are recorded, if the traces are there.
    pub(crate) fn has_traces(&self) -> bool {
        self.kind.is_some() || self.workload.iter().any(|row| row.trace.is_some())
    }
}

/// A workload.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Workload {
    pub(crate) name: String,
    /// A trace of the catalogue, by its name there.
    pub(crate) trace: Option<String>,
    /// A built-in workload; with `trace`, the one that stands in without `--traces`.
    pub(crate) built_in: Option<String>,
    /// In place of a built-in workload: the text of a workload file.
    pub(crate) plan: Option<String>,
    /// Settings of the trace, after those of its group.
    #[serde(default)]
    pub(crate) traces: Vec<String>,
    /// Settings of the built-in workload, or of the plan.
    #[serde(default)]
    pub(crate) settings: Vec<String>,
    /// Published figures of the workload, as they are printed.
    #[serde(default)]
    pub(crate) published: BTreeMap<String, Published>,
}

/// A published figure: as printed, and the step of the numbers of its table.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Published {
    AsPrinted(String),
    InSteps { printed: String, step: f64 },
}

/// Runs of subjects on workloads, at several points or at one.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Grid {
    pub(crate) name: String,
    pub(crate) device: String,
    /// All subjects where none is named.
    #[serde(default)]
    pub(crate) subjects: Vec<String>,
    /// All groups where neither these nor workloads are named.
    #[serde(default)]
    pub(crate) groups: Vec<String>,
    #[serde(default)]
    pub(crate) workloads: Vec<String>,
    #[serde(default)]
    pub(crate) settings: Vec<String>,
    /// Points that are values of a key.
    pub(crate) key: Option<String>,
    #[serde(default)]
    pub(crate) values: Vec<KeyValue>,
    #[serde(default)]
    pub(crate) point: Vec<Point>,
    /// How many cuts are made of each run.
    #[serde(default)]
    pub(crate) cuts: u32,
}

/// A value of a key.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum KeyValue {
    Number(u64),
    Text(String),
}

impl KeyValue {
    /// As a setting has it.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Text(text) => text.clone(),
        }
    }
}

/// A point of a grid.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Point {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) settings: Vec<String>,
    /// Of these subjects, in place of `settings`.
    #[serde(default)]
    pub(crate) of: BTreeMap<String, Vec<String>>,
    /// Settings of the traces.
    #[serde(default)]
    pub(crate) traces: Vec<String>,
    /// Of these workloads, in place of `traces`.
    #[serde(default)]
    pub(crate) traces_of: BTreeMap<String, Vec<String>>,
    /// Settings of the generated workloads.
    #[serde(default)]
    pub(crate) generated: Vec<String>,
    /// Arrivals are multiplied by this.
    pub(crate) time_scale: Option<f64>,
    /// Arrivals are scaled so that they come at this share of the rate at which the baseline
    /// serves the same requests when all of them wait.
    pub(crate) load: Option<f64>,
}

/// What the publication leaves open, what is used here, and what other choices do.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sensitivity {
    pub(crate) device: String,
    pub(crate) subjects: Vec<String>,
    #[serde(default)]
    pub(crate) groups: Vec<String>,
    #[serde(default)]
    pub(crate) workloads: Vec<String>,
    pub(crate) note: Option<String>,
    pub(crate) column: Vec<Column>,
    pub(crate) choice: Vec<Choice>,
}

/// Something that the publication leaves open.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Choice {
    pub(crate) what: String,
    /// What is used here.
    pub(crate) here: String,
    /// Why there is no other run: no key, or no choice.
    pub(crate) why: Option<String>,
    #[serde(default)]
    pub(crate) other: Vec<Point>,
}

/// A table.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Table {
    pub(crate) title: String,
    pub(crate) grid: String,
    pub(crate) rows: Rows,
    /// One table for each of them.
    pub(crate) per: Option<Rows>,
    /// Of workloads; all of the grid where none is named.
    #[serde(default)]
    pub(crate) groups: Vec<String>,
    #[serde(default)]
    pub(crate) workloads: Vec<String>,
    pub(crate) column: Vec<Column>,
    /// What else a reader should know.
    pub(crate) note: Option<String>,
}

/// What the rows of a table are, or its columns.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Rows {
    Workloads,
    Subjects,
    Points,
    Groups,
}

/// A column of a table, or one for each of several.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Column {
    /// `{}` stands for the name of what `each` goes over.
    pub(crate) title: String,
    pub(crate) cell: String,
    #[serde(default, rename = "as")]
    pub(crate) form: Form,
    pub(crate) each: Option<Rows>,
    /// Names that `each` goes over alone.
    #[serde(default)]
    pub(crate) only: Vec<String>,
    /// Whether rows of workloads get a mean and a median below them.
    #[serde(default = "yes")]
    pub(crate) mean: bool,
}

const fn yes() -> bool {
    true
}

/// How a figure is shown.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// Three digits.
    #[default]
    Ratio,
    /// Two digits.
    Two,
    /// One digit.
    One,
    /// Whole numbers.
    Count,
    /// A share in percent.
    Percent,
    /// A share in percent with one digit.
    Percent1,
    /// A change in percent, with its sign.
    Change,
    /// Nanoseconds as microseconds.
    Us,
    /// Nanoseconds as microseconds with one digit.
    Us1,
    /// Nanoseconds as milliseconds with three digits.
    Ms,
    /// Picojoules as joules.
    Joules,
    /// Picojoules as millijoules.
    Millijoules,
    /// Picojoules as microjoules.
    Microjoules,
}

impl Form {
    /// Returns the unit in which a time or an energy is shown, and the nanoseconds or picojoules of
    /// one; none for plain numbers, shares and changes.
    const fn shown_in(self) -> Option<(&'static str, f64)> {
        match self {
            Self::Us | Self::Us1 => Some(("us", 1e3)),
            Self::Ms => Some(("ms", 1e6)),
            Self::Joules => Some(("J", 1e12)),
            Self::Millijoules => Some(("mJ", 1e9)),
            Self::Microjoules => Some(("uJ", 1e6)),
            Self::Ratio
            | Self::Two
            | Self::One
            | Self::Count
            | Self::Percent
            | Self::Percent1
            | Self::Change => None,
        }
    }

    /// Returns the unit of the cells of a table, where they are times or energies.
    pub fn unit(self) -> Option<&'static str> {
        self.shown_in().map(|(unit, _)| unit)
    }

    /// Returns how many nanoseconds or picojoules one of a cell is; 1 for other cells.
    pub fn scale(self) -> f64 {
        self.shown_in().map_or(1.0, |(_, scale)| scale)
    }
}

/// A worked example: a few requests on a device whose map cache or buffer holds known lines.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Example {
    pub(crate) name: String,
    pub(crate) note: String,
    /// Whether the expected numbers are published; else they were worked out by hand.
    pub(crate) published: bool,
    /// On top of the defaults.
    pub(crate) settings: Vec<String>,
    /// `64 dirty`: the first page of a line of the map cache, the least recently used first.
    #[serde(default)]
    pub(crate) map: Vec<String>,
    /// `3 in 0`: a page of the buffer and its bank, the least recently used first.
    #[serde(default)]
    pub(crate) buffer: Vec<String>,
    /// `W1` writes page 1, `R4+2` reads pages 4 and 5; all there at the start, the oldest first.
    pub(crate) requests: Vec<String>,
    /// Nanoseconds of the unit of time of the numbers.
    pub(crate) unit_ns: u64,
    pub(crate) run: Vec<ExampleRun>,
}

/// What an example says of a subject.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExampleRun {
    pub(crate) name: String,
    pub(crate) settings: Vec<String>,
    /// When the last request is answered.
    pub(crate) total: Option<f64>,
    /// When each request is answered.
    pub(crate) answered: Option<Vec<f64>>,
    pub(crate) mean_read: Option<f64>,
    /// Port time of gets, hidden and all.
    pub(crate) hidden: Option<[f64; 2]>,
    /// Programs of host data.
    pub(crate) programs: Option<u64>,
    /// `1MRe[RCQ]@0`: the commands in the order in which they start; request, command, queue, time.
    pub(crate) commands: Option<String>,
}

/// Tables of translation layers by a formula.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sizes {
    pub(crate) device: String,
    pub(crate) capacity_mib: Vec<u64>,
    pub(crate) cache_bytes: u64,
    pub(crate) chip_mib: u64,
    pub(crate) sdram_mw: u64,
    pub(crate) low_power_mw: u64,
}

/// A fault that is planted into a device, and the runs with and without it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fault {
    /// The class of failure.
    pub(crate) class: String,
    /// What is planted.
    pub(crate) plants: String,
    /// Of how many drives a publication found it in, and how many it looked at.
    pub(crate) drives: Option<[u64; 2]>,
    pub(crate) grid: String,
    /// The subjects with it and without it.
    pub(crate) faulty: String,
    pub(crate) sound: String,
}

/// Statements that are judged at one setting.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Statements {
    /// What they are about: a figure, a table, a section.
    pub(crate) about: String,
    pub(crate) grid: String,
    /// The point where the grid has several and the statements do not go over them.
    pub(crate) point: Option<String>,
    /// The first group that has workloads; all of the grid where none is named.
    #[serde(default)]
    pub(crate) groups: Vec<String>,
    /// Why this setting.
    pub(crate) setting: Option<String>,
    /// Grids whose points are choices that the publication leaves open.
    #[serde(default)]
    pub(crate) open: Vec<String>,
    /// They are about whole workloads: runs of fewer requests do not judge them.
    #[serde(default)]
    pub(crate) whole: bool,
    pub(crate) statement: Vec<Statement>,
}

/// A statement.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Statement {
    /// The words of the publication, exactly.
    pub(crate) quote: Option<String>,
    /// Where they stand.
    pub(crate) place: Option<String>,
    /// What it says in other words, where its words are not at hand.
    pub(crate) says: Option<String>,
    /// How it was published; not of what the study asks itself.
    pub(crate) form: Option<StatementForm>,
    /// The expression that decides it. A statement without one is not judged.
    pub(crate) holds: Option<String>,
    /// What decides each part of it.
    #[serde(default)]
    pub(crate) part: Vec<Part>,
    /// What is printed as found.
    #[serde(default)]
    pub(crate) found: String,
    /// Why no run could refute it, or what was chosen for it.
    pub(crate) by: Option<By>,
    /// The same where the workloads are generated stand-ins.
    pub(crate) by_generated: Option<By>,
    pub(crate) why: Option<String>,
}

/// A part of a statement.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Part {
    pub(crate) says: String,
    pub(crate) holds: String,
}

/// How something was published.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum StatementForm {
    Number,
    Words,
    Figure,
}

/// What makes a statement hold but its truth.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum By {
    Definition,
    Calibration,
}

/// Where the publication contradicts itself or cannot be right.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Erratum {
    /// What the publication says.
    pub text: String,
    /// What is wrong with it.
    pub problem: String,
    /// What is done here instead.
    pub here: String,
}

/// The traces that studies name.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Catalogue {
    pub(crate) trace: Vec<Trace>,
}

/// A trace.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Trace {
    pub(crate) name: String,
    pub(crate) kind: String,
    /// Its name in a directory of `--traces`, plain or with .gz or .zst behind it.
    pub(crate) file: String,
    /// Settings that read the trace unchanged.
    #[serde(default)]
    pub(crate) settings: Vec<String>,
}

impl Experiment {
    /// The experiment of a file.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let experiment: Self = toml::from_str(text).context("the experiment file")?;
        for (key, count) in [
            ("replicas", Some(experiment.replicas)),
            ("[short]: replicas", experiment.short.replicas),
        ] {
            let is_few = count.is_none_or(|count| count <= MOST_REPLICAS);
            ensure!(is_few, "the experiment file: {key}: more than {MOST_REPLICAS}");
        }
        Ok(experiment)
    }
}

impl Catalogue {
    /// The traces that come with the program, by name.
    pub(crate) fn built_in() -> Result<Self> {
        toml::from_str(include_str!("../experiments/traces.toml"))
            .context("the catalogue of traces")
    }
}

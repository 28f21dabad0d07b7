//! From arguments to a device and a workload.

use crate::InputError;
use crate::args::InputArgs;
use crate::presets::{self, DEFAULT_DEVICE, DEFAULT_WORKLOAD};
use anyhow::Result;
use flashyard_core::key::{Key, Value};
use flashyard_core::request::Request;
use flashyard_sim::config::{
    ConfigError, DeviceKeys, Extras, Item, Problem, Sections, Settings, Table, apply_setting,
    nearest, read_toml,
};
use flashyard_workload::generator::{BUILT_IN, BuiltIn, Generator, GeneratorKeys};
use flashyard_workload::trace::{TraceKeys, open_trace};
use flashyard_workload::{RequestSource, SourceStats, WorkloadError};
use std::path::Path;

/// What only a workload file has.
const WORKLOAD_TABLES: [&str; 3] = ["trace", "generator", "initial"];

/// The seed where none is given.
const DEFAULT_SEED: u64 = 1;

/// What a workload file may hold besides keys.
const WORKLOAD_EXTRAS: [&str; 4] =
    ["trace.path", "trace.format", "generator.base", "initial.map_lines"];

/// The sections that describe a workload: `[trace]` and `[generator]`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WorkloadSections {
    pub(crate) trace: TraceKeys,
    pub(crate) generator: GeneratorKeys,
}

impl Default for WorkloadSections {
    fn default() -> Self {
        let base = BuiltIn::from_name(DEFAULT_WORKLOAD).expect("the default workload is built in");
        Self { trace: TraceKeys::default(), generator: base.keys }
    }
}

impl Sections for WorkloadSections {
    fn sections(&self) -> Vec<(String, &'static [Key], &'static str)> {
        vec![
            ("trace".to_string(), TraceKeys::KEYS, "How a trace is read."),
            ("generator".to_string(), GeneratorKeys::KEYS, "A generated workload."),
        ]
    }

    fn set(&mut self, section: &str, key: &str, value: Value) -> bool {
        match section {
            "trace" => self.trace.set(key, value),
            "generator" => self.generator.set(key, value),
            _ => false,
        }
    }

    fn get(&self, section: &str, key: &str) -> Option<Value> {
        match section {
            "trace" => self.trace.get(key),
            "generator" => self.generator.get(key),
            _ => None,
        }
    }
}

/// Every section that --set can assign: the device's and the workload's.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AllSections {
    pub(crate) device: DeviceKeys,
    pub(crate) workload: WorkloadSections,
}

impl Sections for AllSections {
    fn sections(&self) -> Vec<(String, &'static [Key], &'static str)> {
        let mut all = self.device.sections();
        all.extend(self.workload.sections());
        all
    }

    fn set(&mut self, section: &str, key: &str, value: Value) -> bool {
        self.workload.set(section, key, value) || self.device.set(section, key, value)
    }

    fn get(&self, section: &str, key: &str) -> Option<Value> {
        self.workload.get(section, key).or_else(|| self.device.get(section, key))
    }
}

/// Where requests come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A trace file, or standard input.
    Trace {
        /// Its path or `-`.
        path: String,
        /// Its format; detected where there is none.
        format: Option<String>,
    },
    /// The generator, with the keys of `[generator]`.
    Generated {
        /// The name of the workload.
        name: String,
    },
}

/// A device and a workload, ready to run.
#[derive(Clone, Debug)]
pub(crate) struct Inputs {
    pub(crate) device_name: String,
    pub(crate) sections: AllSections,
    pub(crate) origin: Origin,
    /// The seed of a generated workload.
    seed: u64,
    /// The initial lines of the map cache: first LPN and whether it is dirty.
    pub(crate) map_lines: Vec<(u64, bool)>,
}

/// What an argument is.
enum Named {
    Device(String),
    Workload(String),
}

impl Inputs {
    /// Resolves the arguments; every problem of every file is reported at once.
    pub(crate) fn new(args: &InputArgs, vary: &[String]) -> Result<Self> {
        let (device, workload) = match (&args.device, &args.workload) {
            (Some(device), Some(workload)) => (device.clone(), workload.clone()),
            (Some(one), None) => match recognise(one)? {
                Named::Device(device) => (device, DEFAULT_WORKLOAD.to_string()),
                Named::Workload(workload) => (DEFAULT_DEVICE.to_string(), workload),
            },
            _ => (DEFAULT_DEVICE.to_string(), DEFAULT_WORKLOAD.to_string()),
        };
        let set = args.set.iter().map(|setting| ("--set", setting.clone()));
        let vary = vary.iter().map(|setting| ("--vary", setting.clone()));
        let mut inputs = Self::load(&device, &workload, &set.chain(vary).collect::<Vec<_>>())?;
        inputs.seed = args.seed.unwrap_or(DEFAULT_SEED);
        if args.seed.is_some() && matches!(inputs.origin, Origin::Trace { .. }) {
            return Err(wrong("--seed: a trace has no seed; it is for generated workloads"));
        }
        Ok(inputs)
    }

    /// A device and a workload by name, with settings applied to both: the option that gave a
    /// setting, and `section.key=value`.
    pub(crate) fn load(device: &str, workload: &str, set: &[(&str, String)]) -> Result<Self> {
        let mut problems = Vec::new();
        let mut sections = AllSections::default();
        read_device(device, &mut sections.device, &mut problems)?;
        let (origin, map_lines) = read_workload(workload, &mut sections.workload, &mut problems)?;
        for (option, setting) in set {
            let before = problems.len();
            apply_setting(option, setting, &mut sections, &mut problems);
            let (idle, why) = match origin {
                Origin::Trace { .. } => ("generator.", "the workload is a trace"),
                Origin::Generated { .. } => ("trace.", "the workload is generated"),
            };
            if setting.starts_with(idle) && problems.len() == before {
                let what = format!("it would change nothing: {why}");
                problems.push(Problem { place: format!("{option} {setting}"), what });
            }
        }
        let inputs = Self {
            device_name: device.to_string(),
            sections,
            origin,
            seed: DEFAULT_SEED,
            map_lines,
        };
        if problems.is_empty() { Ok(inputs) } else { Err(config_error(problems)) }
    }

    /// The checked device.
    pub(crate) fn settings(&self) -> Result<Settings> {
        Settings::new(self.sections.device).map_err(|error| {
            let place = format!("device {}", self.device_name);
            wrong(&error.0.iter().map(|p| format!("{place}: {p}")).collect::<Vec<_>>().join("\n"))
        })
    }

    /// The name of the workload in reports.
    pub(crate) fn workload_name(&self) -> &str {
        match &self.origin {
            Origin::Trace { path, .. } => path,
            Origin::Generated { name } => name,
        }
    }

    /// The section whose keys describe the workload.
    pub(crate) const fn section(&self) -> &'static str {
        match self.origin {
            Origin::Trace { .. } => "trace",
            Origin::Generated { .. } => "generator",
        }
    }

    /// The seed, where the workload has one.
    pub(crate) const fn seed(&self) -> Option<u64> {
        match self.origin {
            Origin::Trace { .. } => None,
            Origin::Generated { .. } => Some(self.seed),
        }
    }

    /// Opens the workload for a device of this capacity.
    pub(crate) fn open(&self, capacity_sectors: Option<u64>) -> Result<Source> {
        let source = match &self.origin {
            Origin::Trace { path, format } => {
                open_trace(path, &self.sections.workload.trace, format.as_deref(), capacity_sectors)
                    .map(|trace| Source::Trace(Box::new(trace)))
            }
            Origin::Generated { .. } => {
                Generator::new(&self.sections.workload.generator, self.seed, capacity_sectors)
                    .map(|generator| Source::Generator(Box::new(generator)))
            }
        };
        source.map_err(|error| workload_error(&error))
    }
}

/// An opened workload.
pub(crate) enum Source {
    /// A trace.
    Trace(Box<flashyard_workload::trace::Trace>),
    /// A generated one.
    Generator(Box<Generator>),
}

impl RequestSource for Source {
    fn next_request(&mut self) -> Result<Option<Request>, WorkloadError> {
        match self {
            Self::Trace(trace) => trace.next_request(),
            Self::Generator(generator) => generator.next_request(),
        }
    }

    fn stats(&self) -> SourceStats {
        match self {
            Self::Trace(trace) => trace.stats(),
            Self::Generator(generator) => generator.stats(),
        }
    }
}

/// An error of the user's input.
pub(crate) fn wrong(what: &str) -> anyhow::Error {
    InputError(what.to_string()).into()
}

/// A workload's error is one of input.
pub(crate) fn workload_error(error: &WorkloadError) -> anyhow::Error {
    wrong(&error.to_string())
}

fn config_error(problems: Vec<Problem>) -> anyhow::Error {
    wrong(&ConfigError(problems).to_string())
}

fn is_toml(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("toml"))
}

/// Whether a TOML text has a table of this name, however it is written. A text that is no TOML has
/// none; whoever reads it in earnest says why.
fn has_table(text: &str, name: &str) -> bool {
    text.parse::<toml::Table>().is_ok_and(|table| table.contains_key(name))
}

fn read_text(path: &str) -> Result<String> {
    std::fs::read_to_string(path)
        .map_err(|error| wrong(&format!("{path}: cannot be read, {error}")))
}

/// Decides what a lone argument names.
fn recognise(name: &str) -> Result<Named> {
    if presets::device(name).is_some() {
        return Ok(Named::Device(name.to_string()));
    }
    if name == "-" || BuiltIn::from_name(name).is_some() {
        return Ok(Named::Workload(name.to_string()));
    }
    if is_toml(name) {
        let text = read_text(name)?;
        let is_workload = WORKLOAD_TABLES.iter().any(|table| has_table(&text, table));
        let name = name.to_string();
        return Ok(if is_workload { Named::Workload(name) } else { Named::Device(name) });
    }
    if Path::new(name).exists() {
        return Ok(Named::Workload(name.to_string()));
    }
    let known = presets::DEVICES.iter().map(|(name, _)| *name);
    let known = known.chain(BUILT_IN.iter().map(|built_in| built_in.name));
    Err(wrong(&format!("{name}: no such device, workload or file{}", nearest(name, known))))
}

fn read_device(name: &str, keys: &mut DeviceKeys, problems: &mut Vec<Problem>) -> Result<()> {
    if let Some(text) = presets::device(name) {
        read_toml(name, text, keys, &[], problems);
        return Ok(());
    }
    if !is_toml(name) && !Path::new(name).exists() {
        let known = nearest(name, presets::DEVICES.iter().map(|(known, _)| *known));
        return Err(wrong(&format!("{name}: no such device preset or file{known}")));
    }
    read_toml(name, &read_text(name)?, keys, &[], problems);
    Ok(())
}

fn read_workload(
    name: &str,
    sections: &mut WorkloadSections,
    problems: &mut Vec<Problem>,
) -> Result<(Origin, Vec<(u64, bool)>)> {
    if let Some(built_in) = BuiltIn::from_name(name) {
        sections.generator = built_in.keys;
        return Ok((Origin::Generated { name: name.to_string() }, Vec::new()));
    }
    if is_toml(name) {
        return read_workload_file(name, sections, problems);
    }
    if name != "-" && !Path::new(name).exists() {
        let known = nearest(name, BUILT_IN.iter().map(|built_in| built_in.name));
        return Err(wrong(&format!("{name}: no such workload or file{known}")));
    }
    Ok((Origin::Trace { path: name.to_string(), format: None }, Vec::new()))
}

/// A workload file: `[trace]` with a path, or `[generator]` with the workload it starts from.
fn read_workload_file(
    file: &str,
    sections: &mut WorkloadSections,
    problems: &mut Vec<Problem>,
) -> Result<(Origin, Vec<(u64, bool)>)> {
    let text = read_text(file)?;
    // The base decides what the other keys of [generator] start from, so it is looked up first.
    let mut ignored = Vec::new();
    let first = read_toml(file, &text, &mut sections.clone(), &WORKLOAD_EXTRAS, &mut ignored);
    let mut problem = |line: usize, what: String| {
        problems.push(Problem { place: format!("{file}:{line}"), what });
    };
    let string = |extras: &Extras, path: &str| extras.string(path).map(|s| s.map(str::to_string));
    match string(&first, "generator.base") {
        Ok(None) => {}
        Ok(Some(base)) => {
            if let Some(built_in) = BuiltIn::from_name(&base) {
                sections.generator = built_in.keys;
            } else {
                let known = nearest(&base, BUILT_IN.iter().map(|known| known.name));
                let what = format!("generator.base: {base} is not a built-in workload{known}");
                problem(first.line("generator.base"), what);
            }
        }
        Err(what) => problem(first.line("generator.base"), what),
    }
    let extras = read_toml(file, &text, sections, &WORKLOAD_EXTRAS, problems);
    let mut problem = |path: &str, what: String| {
        problems.push(Problem { place: format!("{file}:{}", extras.line(path)), what });
    };
    let mut text_of = |path: &str| {
        string(&extras, path).unwrap_or_else(|what| {
            problem(path, what);
            None
        })
    };
    let (path, format) = (text_of("trace.path"), text_of("trace.format"));
    let has_generator = has_table(&text, "generator");
    let lines = map_lines(&extras).unwrap_or_else(|what| {
        problems
            .push(Problem { place: format!("{file}:{}", extras.line("initial.map_lines")), what });
        Vec::new()
    });
    let origin = match (path, has_generator) {
        (Some(path), false) => Origin::Trace { path: beside(file, &path), format },
        (None, true) => Origin::Generated { name: file.to_string() },
        (path, _) => {
            let what = if path.is_some() {
                "[trace] and [generator] exclude each other"
            } else {
                "neither trace.path nor [generator] says where requests come from"
            };
            problems.push(Problem { place: file.to_string(), what: what.to_string() });
            Origin::Generated { name: file.to_string() }
        }
    };
    Ok((origin, lines))
}

/// A path inside a workload file is relative to the file.
fn beside(file: &str, path: &str) -> String {
    let parent = Path::new(file).parent().unwrap_or_else(|| Path::new(""));
    parent.join(path).to_string_lossy().into_owned()
}

fn map_lines(extras: &Extras) -> Result<Vec<(u64, bool)>, String> {
    let tables = extras.tables("initial.map_lines")?;
    let line = |table: &Table| {
        let slpn = table.get("slpn").and_then(Item::as_integer);
        let slpn = slpn.and_then(|slpn| u64::try_from(slpn).ok());
        let dirty = table.get("dirty").map_or(Some(false), Item::as_bool);
        let known = table.iter().all(|(name, _)| ["slpn", "dirty"].contains(&name));
        match (slpn, dirty, known) {
            (Some(slpn), Some(dirty), true) => Ok((slpn, dirty)),
            _ => Err("initial.map_lines: each needs slpn (a page number) and may have dirty (true or false)".to_string()),
        }
    };
    tables.into_iter().map(line).collect()
}

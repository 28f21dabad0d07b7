//! From names and settings to a device and a workload, ready to run.

use crate::device::{self, Description, capacity, layer, names, shares};
use crate::error::{all_wrong, is_toml, read_text, workload_error, wrong};
use crate::experiment::{Experiment, Origin, Source, StreamPlan, path_of};
use crate::image::Image;
use crate::memory::Need;
use crate::presets::{self, DEFAULT_DEVICE, DEFAULT_WORKLOAD};
use crate::unused::{self, Unused};
use crate::workload_file;
use anyhow::Result;
use flashyard_core::key::Value;
use flashyard_core::request::Request;
use flashyard_sim::config::{DeviceKeys, Problem, Section, Sections, Settings, apply_setting};
use flashyard_sim::own::OwnParts;
use flashyard_sim::parts::log::SchemeName;
use flashyard_sim::stream::Pacing;
use flashyard_workload::merge::Merge;
use flashyard_workload::random::stream_seed;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// What only a workload file has.
const WORKLOAD_TABLES: [&str; 10] = [
    "trace",
    "generator",
    "pattern",
    "mix",
    "profile",
    "files",
    "raw",
    "stream",
    "phase",
    "initial",
];

/// The seed if none is given.
pub const DEFAULT_SEED: u64 = 1;

/// Every section that --set can assign: the device's and the workload's.
#[derive(Clone, Debug)]
pub struct AllSections {
    /// Keys of the device.
    pub device: DeviceKeys,
    /// The workload with its keys.
    pub workload: Experiment,
}

impl AllSections {
    /// Every key at its default, those of the user's own parts too.
    pub fn new(own: OwnParts) -> Self {
        let stream = StreamPlan::built_in(DEFAULT_WORKLOAD).expect("the workload is built in");
        let workload = Experiment::of(DEFAULT_WORKLOAD, vec![stream]);
        Self { device: DeviceKeys::with_own(own), workload }
    }
}

impl Sections for AllSections {
    fn sections(&self) -> Vec<Section<'_>> {
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

/// What somebody asks for: a device, a workload, settings on top.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// The name of a preset, or the path of a device file; none: [`DEFAULT_DEVICE`]. Alone it may
    /// be a workload as well.
    pub device: Option<String>,
    /// The name of a built-in workload, or the path of a trace or a workload file; none: the usual
    /// one of the device.
    pub workload: Option<String>,
    /// Settings as `section.key=value`, each behind what messages call the option that gave it.
    pub set: Vec<(&'static str, String)>,
    /// The seed of generated workloads; none: [`DEFAULT_SEED`].
    pub seed: Option<u64>,
    /// Whether the workload runs first, without measuring, until its write amplification has
    /// settled.
    pub settle: bool,
    /// The saved device to start from.
    pub restore: Option<PathBuf>,
    /// The memory that the device may take, in MiB, in place of what is free.
    pub memory_mib: Option<u64>,
}

/// A device and a workload, ready to run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The name of the preset or the path of the device file.
    pub device_name: String,
    /// Every key, and the workload.
    pub sections: AllSections,
    /// Where the keys of the device come from, and what was changed that nobody named.
    pub description: Description,
    /// Settings that change nothing.
    unused: Vec<Unused>,
    /// The seed of generated workloads.
    seed: u64,
    /// The saved device to start from.
    pub restore: Option<PathBuf>,
    /// The built device to start from, in memory.
    pub image: Option<Arc<Image>>,
    /// The memory that a device may take, in MiB, in place of what is free.
    memory_mib: Option<u64>,
}

/// Where a device comes from.
#[derive(Clone, Copy, Debug)]
pub enum DeviceFrom<'a> {
    /// The name of a preset, or the path of a device file.
    Named(&'a str),
    /// The text of a device file, and what it is called.
    Text(&'a str, &'a str),
}

/// Where a workload comes from.
#[derive(Clone, Debug)]
pub enum WorkloadFrom<'a> {
    /// The name of a built-in workload, or the path of a trace or a workload file.
    Named(&'a str),
    /// The text of a workload file, and what it is called.
    Text(&'a str, &'a str),
    /// These requests at their own times, and what they are called.
    Requests(&'a str, Arc<Vec<Request>>),
    /// There is none: requests are submitted.
    Session,
}

impl<'a> DeviceFrom<'a> {
    /// What it is called.
    pub const fn name(&self) -> &'a str {
        match self {
            Self::Named(name) | Self::Text(name, _) => name,
        }
    }

    fn read(self, keys: &mut DeviceKeys, problems: &mut Vec<Problem>) -> Result<Description> {
        match self {
            Self::Named(name) => device::read(name, keys, problems),
            Self::Text(name, text) => device::read_text_of(name, text, keys, problems),
        }
    }
}

impl<'a> WorkloadFrom<'a> {
    /// What it is called.
    pub const fn name(&self) -> &'a str {
        match self {
            Self::Named(name) | Self::Text(name, _) | Self::Requests(name, _) => name,
            Self::Session => "session",
        }
    }

    fn read(self, problems: &mut Vec<Problem>) -> Result<Experiment> {
        match self {
            Self::Named(name) => workload_file::named(name, false, problems),
            Self::Text(name, text) => workload_file::parse(name, text, false, problems),
            Self::Requests(name, requests) => {
                let stream = StreamPlan::new(Origin::Requests(requests));
                Ok(Experiment::of(name, vec![stream]))
            }
            Self::Session => Ok(Experiment::of("session", Vec::new())),
        }
    }
}

/// A device and a workload as they stand, before settings: what files have, and what is wrong with
/// them.
#[derive(Clone, Debug)]
pub struct Base {
    device_name: String,
    sections: AllSections,
    description: Description,
    problems: Vec<Problem>,
}

impl Base {
    /// A device and a workload by name.
    pub fn named(own: OwnParts, device: &str, workload: &str) -> Result<Self> {
        Self::of(own, DeviceFrom::Named(device), WorkloadFrom::Named(workload))
    }

    /// A device and a workload from wherever they come.
    pub fn of(own: OwnParts, device: DeviceFrom<'_>, workload: WorkloadFrom<'_>) -> Result<Self> {
        Self::read(own, device, |problems| workload.read(problems))
    }

    /// The same with a workload that is made otherwise.
    fn read(
        own: OwnParts,
        device: DeviceFrom<'_>,
        workload: impl FnOnce(&mut Vec<Problem>) -> Result<Experiment>,
    ) -> Result<Self> {
        let mut problems = Vec::new();
        let mut sections = AllSections::new(own);
        let description = device.read(&mut sections.device, &mut problems)?;
        sections.workload = workload(&mut problems)?;
        Ok(Self { device_name: device.name().to_string(), sections, description, problems })
    }

    /// With settings applied to both: the option that gave a setting, and `section.key=value`.
    /// Every problem of every file is reported at once.
    pub fn with(&self, set: &[(&str, String)]) -> Result<Plan> {
        let Self { device_name, mut sections, mut description, mut problems } = self.clone();
        for (option, setting) in set {
            let before = problems.len();
            if set_text(&mut sections.workload, setting)
                || set_device(option, setting, &mut sections, &mut description, &mut problems)
            {
                continue;
            }
            apply_setting(option, setting, &mut sections, &mut problems);
            let path = path_of(setting);
            description.set(path, option, &format!("set by {option}"));
            let section = path.rsplit_once('.').map_or("", |(section, _)| section);
            if let Some(why) = sections.workload.idle(section)
                && problems.len() == before
            {
                let what = format!("it would change nothing: {why}");
                problems.push(Problem { place: format!("{option} {setting}"), what });
            }
        }
        if problems.is_empty()
            && let Some(bytes) = description.capacity
            && let Err(what) = capacity::scale(&mut sections.device, bytes, &mut description)
        {
            problems.push(Problem { place: format!("device {device_name}"), what });
        }
        if problems.is_empty() {
            shares::resolve(&mut sections.device, &mut description);
            layer::finish(&mut sections.device, &mut description);
            device::resolve_family(&mut sections.device, &mut description);
            let found = sections.workload.contradictions();
            problems.extend(found.into_iter().map(|what| Problem { place: String::new(), what }));
        }
        if !problems.is_empty() {
            return Err(all_wrong(problems));
        }
        let unused = {
            let AllSections { device, workload } = &sections;
            set.iter().filter_map(|(_, setting)| unused::of(device, workload, setting)).collect()
        };
        let inputs = Plan {
            device_name,
            sections,
            description,
            unused,
            seed: DEFAULT_SEED,
            restore: None,
            image: None,
            memory_mib: None,
        };
        if inputs.experiment().streams().filter(|stream| stream.is_standard_input()).count() > 1 {
            return Err(wrong("-: standard input can be read only once: save it to a file"));
        }
        Ok(inputs)
    }
}

/// Devices and workloads by name, each pair read once.
#[derive(Debug)]
pub struct Bases {
    own: OwnParts,
    known: Mutex<BTreeMap<(String, String), Arc<Base>>>,
}

impl Bases {
    /// None has been read yet.
    pub const fn new(own: OwnParts) -> Self {
        Self { own, known: Mutex::new(BTreeMap::new()) }
    }

    /// A device and a workload that are not found by their names from now on, but are these.
    pub fn add(&self, device: &str, workload: &str, base: Base) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert((device.to_string(), workload.to_string()), Arc::new(base));
    }

    /// A device and a workload.
    pub fn get(&self, device: &str, workload: &str) -> Result<Arc<Base>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let names = (device.to_string(), workload.to_string());
        if let Some(base) = known.get(&names) {
            return Ok(Arc::clone(base));
        }
        let base = Arc::new(Base::named(self.own.clone(), device, workload)?);
        known.insert(names, Arc::clone(&base));
        Ok(base)
    }
}

/// What a name is that stands alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Named {
    /// That of a device.
    Device(String),
    /// That of a workload.
    Workload(String),
}

impl Plan {
    /// Resolves what is asked for; every problem of every file is reported at once. `vary` has
    /// further settings, each with the option that gave it.
    pub fn new(bases: &Bases, asked: &Selection, vary: &[(&str, String)]) -> Result<Self> {
        let (device, workload) = Self::named(asked)?;
        let device = device.unwrap_or_else(|| DEFAULT_DEVICE.to_string());
        let workload = workload.unwrap_or_else(|| presets::default_workload(&device).to_string());
        let set: Vec<_> =
            asked.set.iter().chain(vary).map(|(by, set)| (*by, set.clone())).collect();
        let mut inputs = bases.get(&device, &workload)?.with(&set)?;
        inputs.seed = asked.seed.unwrap_or(DEFAULT_SEED);
        if asked.seed.is_some() && !inputs.experiment().has_seed() {
            return Err(wrong("--seed: a trace has no seed; it is for generated workloads"));
        }
        if asked.settle {
            inputs
                .sections
                .workload
                .settle()
                .map_err(|what| wrong(&format!("--settle: {what}")))?;
        }
        inputs.memory_mib = asked.memory_mib;
        inputs.restore.clone_from(&asked.restore);
        if asked.restore.is_some() {
            let paths = set.iter().map(|(_, setting)| path_of(setting));
            for path in paths.filter(|path| unused::is_of_start(path)) {
                let why = "a restored device holds what it held when it was saved";
                inputs.add_unused(path, why.to_owned());
            }
            let has = match inputs.experiment() {
                experiment if !experiment.map_lines.is_empty() => "map cache",
                experiment if !experiment.buffer_lines.is_empty() => "write buffer",
                _ => return Ok(inputs),
            };
            let what = format!("--restore: the saved device has its {has}; take [initial] out");
            return Err(wrong(&what));
        }
        Ok(inputs)
    }

    /// Returns the names of the device and of the workload. Each may be missing.
    pub fn named(asked: &Selection) -> Result<(Option<String>, Option<String>)> {
        Ok(match (&asked.device, &asked.workload) {
            (Some(one), None) => match recognise(one)? {
                Named::Device(device) => (Some(device), None),
                Named::Workload(workload) => (None, Some(workload)),
            },
            (device, workload) => (device.clone(), workload.clone()),
        })
    }

    /// Names the default device and workload if nothing is named, so that no name is guessed.
    pub fn fill_names(asked: &mut Selection) {
        let device = asked.device.get_or_insert_with(|| DEFAULT_DEVICE.to_string());
        asked.workload.get_or_insert_with(|| presets::default_workload(device).to_string());
    }

    /// The value of a key, `section.key`, as files have it.
    pub fn shown(&self, path: &str) -> Option<String> {
        let (section, name) = path.rsplit_once('.')?;
        self.sections.shown(section, name)
    }

    /// A device and a workload by name, with settings applied to both: the option that gave a
    /// setting, and `section.key=value`.
    pub fn load(
        own: OwnParts,
        device: &str,
        workload: &str,
        set: &[(&str, String)],
    ) -> Result<Self> {
        Base::named(own, device, workload)?.with(set)
    }

    /// The same with a device and a workload from elsewhere.
    pub fn load_with(
        own: OwnParts,
        device: DeviceFrom<'_>,
        workload: impl FnOnce(&mut Vec<Problem>) -> Result<Experiment>,
        set: &[(&str, String)],
    ) -> Result<Self> {
        Base::read(own, device, workload)?.with(set)
    }

    /// The same of the texts of two files, each with its name.
    pub fn of_texts(
        own: OwnParts,
        (device, device_text): (&str, &str),
        (workload, workload_text): (&str, &str),
        set: &[(&str, String)],
    ) -> Result<Self> {
        let device = DeviceFrom::Text(device, device_text);
        Base::of(own, device, WorkloadFrom::Text(workload, workload_text))?.with(set)
    }

    /// A device for a session: requests are submitted, no workload gives them. `device` is a name
    /// or a path, or the text of a device file, which has line breaks or assignments.
    pub fn of_device(own: OwnParts, device: &str, set: &[(&str, String)]) -> Result<Self> {
        let is_text = device.contains(['\n', '=']);
        let device = if is_text {
            DeviceFrom::Text("the device", device)
        } else {
            DeviceFrom::Named(device)
        };
        Base::of(own, device, WorkloadFrom::Session)?.with(set)
    }

    /// Whether the device has zones.
    pub fn has_zones(&self) -> bool {
        self.sections.device.ftl.scheme == SchemeName::Zns
    }

    /// Takes these requests in place of those of its workload, at their own times.
    pub fn set_requests(&mut self, requests: Arc<Vec<Request>>) {
        let stream = StreamPlan::new(Origin::Requests(requests));
        self.sections.workload = Experiment::of(&self.sections.workload.name, vec![stream]);
    }

    /// What the run does.
    pub const fn experiment(&self) -> &Experiment {
        &self.sections.workload
    }

    /// The checked device.
    pub fn settings(&self) -> Result<Settings> {
        Settings::new(self.sections.device.clone()).map_err(|error| {
            let place = format!("device {}", self.device_name);
            // What rules a layer out that was chosen by name is one reason; others follow from it.
            if let Some(option) = &self.description.layer {
                let what = self.description.with_places(&error.0[0].to_string());
                let more = match error.0.len() - 1 {
                    0 => String::new(),
                    more => format!("; and {more} more of its keys do not fit"),
                };
                return wrong(&format!("{place} with {option}: {what}{more}"));
            }
            let problem = |problem: &Problem| Problem {
                place: place.clone(),
                what: self.description.with_places(&problem.to_string()),
            };
            all_wrong(error.0.iter().map(problem).collect())
        })
    }

    /// What was changed of the device that nobody named, a sentence each.
    pub fn changes(&self) -> &[String] {
        &self.description.changes
    }

    /// Adds a setting that changes nothing.
    pub(crate) fn add_unused(&mut self, path: &str, why: String) {
        unused::add(&mut self.unused, path, why);
    }

    /// Settings that change nothing as the other keys are.
    pub fn unused(&self) -> &[Unused] {
        &self.unused
    }

    /// What its user should know before it runs, a sentence each.
    pub fn notes(&self) -> impl Iterator<Item = String> {
        self.changes().iter().cloned().chain(self.unused.iter().map(ToString::to_string))
    }

    /// What the device needs of memory; `checked` is whether it is checked while it runs.
    pub fn need<'a>(&'a self, settings: &'a Settings, checked: bool) -> Need<'a> {
        Need {
            device: &self.device_name,
            settings,
            checked,
            cut: false,
            restored: self.restore.is_some() || self.image.is_some(),
            given_mib: self.memory_mib,
        }
    }

    /// The name of the workload in reports.
    pub fn workload_name(&self) -> &str {
        &self.experiment().name
    }

    /// Returns the seed, if the workload has one.
    pub fn seed(&self) -> Option<u64> {
        self.experiment().has_seed().then_some(self.seed)
    }

    /// Makes generated workloads start from this seed.
    pub const fn set_seed(&mut self, seed: u64) {
        self.seed = seed;
    }

    /// Gives its device so much memory, in MiB, in place of what is free.
    pub const fn set_memory_mib(&mut self, memory_mib: Option<u64>) {
        self.memory_mib = memory_mib;
    }

    /// The seed of the stream of this number, counted over all phases.
    pub fn stream_seed(&self, number: usize) -> u64 {
        stream_seed(self.seed, number as u64)
    }

    /// Opens a workload for a device of this capacity: its stream, or those of its phase by time.
    pub fn open(&self, capacity_sectors: Option<u64>) -> Result<Source> {
        if let Some(stream) = self.experiment().main_stream() {
            return self.open_stream(stream, 0, capacity_sectors);
        }
        let name = self.workload_name();
        let [phase] = &self.experiment().phases[..] else {
            return Err(wrong(&format!(
                "{name}: it has several phases, and the device decides when each begins; give each \
                 a file of its own"
            )));
        };
        if let Some(stream) = phase.streams.iter().find(|one| one.keys.pacing != Pacing::Open) {
            return Err(wrong(&format!(
                "{name}: of several streams each needs requests at times of its own; the pacing of \
                 {} is {}, not open",
                stream.name,
                stream.keys.pacing.word()
            )));
        }
        let streams = phase.streams.iter().enumerate();
        let opened = streams.map(|(number, stream)| {
            Ok((stream.name.clone(), self.open_stream(stream, number, capacity_sectors)?))
        });
        let merge = Merge::new(opened.collect::<Result<_>>()?);
        Ok(Source::Merged(Box::new(merge.map_err(|error| workload_error(&error))?)))
    }

    /// Opens the stream of this number.
    fn open_stream(
        &self,
        stream: &StreamPlan,
        number: usize,
        capacity_sectors: Option<u64>,
    ) -> Result<Source> {
        let seed = self.stream_seed(number);
        if stream.is_endless() {
            return Err(wrong("pattern.requests: 0 has no end; set a number"));
        }
        if let Origin::Raw(path) = &stream.origin {
            if path.is_none() && stream.raw.requests == 0 {
                return Err(wrong("raw.requests: 0 has no end; set a number"));
            }
            return stream.open(seed, capacity_sectors, Some(&self.settings()?));
        }
        // Zones are those of a device that is known.
        let device = capacity_sectors.map(|_| self.settings()).transpose()?;
        stream.open(seed, capacity_sectors, device.as_ref())
    }
}

/// Applies a setting of `trace.format` or `trace.split`, which are strings and so no keys.
fn set_text(workload: &mut Experiment, setting: &str) -> bool {
    let Some((path, text)) = setting.split_once('=') else { return false };
    let Some((section, key)) = path.trim().rsplit_once('.') else { return false };
    workload.set_text(section, key, text.trim())
}

/// Applies a setting of the device as a whole: `ftl=NAME`, `capacity=SIZE`, or a threshold that is
/// a share of the spare space. Returns whether it is one.
fn set_device(
    option_name: &str,
    setting: &str,
    sections: &mut AllSections,
    description: &mut Description,
    problems: &mut Vec<Problem>,
) -> bool {
    let Some((path, text)) = setting.split_once('=') else { return false };
    let text = text.trim().trim_matches(['"', '\'']);
    let option = |name: &str| match option_name {
        "--ftl" | "--capacity" => format!("{option_name} {text}"),
        _ => format!("{option_name} {name}={text}"),
    };
    match path.trim() {
        "ftl" => {
            let device = &mut sections.device;
            layer::choose(&option("ftl"), text, device, description, problems);
        }
        "capacity" => match device::size(text) {
            Ok(bytes) => description.capacity = Some(bytes),
            Err(what) => problems.push(Problem { place: option("capacity"), what }),
        },
        path => {
            let Some(path) = shares::KEYS.into_iter().find(|known| *known == path) else {
                return false;
            };
            description.shares.remove(path);
            let Some(share) = shares::of_spare(text) else { return false };
            match share {
                Ok(ppm) => {
                    description.set(path, option_name, "");
                    description.shares.insert(path, ppm);
                }
                Err(what) => {
                    let place = format!("{option_name} {setting}");
                    problems.push(Problem { place, what: format!("{path}: {what}") });
                }
            }
        }
    }
    true
}

/// Whether a TOML text has a table of this name, however it is written. A text that is no TOML has
/// none; whoever reads it in earnest says why.
fn has_table(text: &str, name: &str) -> bool {
    text.parse::<toml::Table>().is_ok_and(|table| table.contains_key(name))
}

/// Decides what a lone argument names.
pub fn recognise(name: &str) -> Result<Named> {
    if presets::device(name).is_some() {
        return Ok(Named::Device(name.to_string()));
    }
    if name == "-" || StreamPlan::built_in(name).is_some() {
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
    Err(wrong(&names::no_device_or_workload(name)))
}

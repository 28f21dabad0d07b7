//! What a run does: phases one after the other, each with its streams; and their keys as sections.
//!
//! A workload alone is one phase with one stream, whose sections are `trace`, `generator`,
//! `pattern`, `mix`, `profile`, `files`, `raw`, `stream` and `phase`. Where a file has several
//! phases, the sections of the second are `phase.2`, `phase.2.stream` and so on; where a phase has
//! several streams, those of the stream `log` are `stream.log`, `stream.log.pattern` and so on.

use crate::error::{workload_error, wrong};
use crate::presets::DEFAULT_WORKLOAD;
use anyhow::Result;
use flashyard_core::key::Value;
use flashyard_core::quantity::Ppm;
use flashyard_core::request::Request;
use flashyard_sim::config::{KeyList, Section, Sections, Settings};
use flashyard_sim::device::PhaseKeys;
use flashyard_sim::stream::{Pacing, StreamKeys};
use flashyard_workload::files::{BuiltInFiles, Files, FilesKeys};
use flashyard_workload::generator::{BuiltIn, Generator, GeneratorKeys};
use flashyard_workload::input::Input;
use flashyard_workload::merge::Merge;
use flashyard_workload::mix::{BuiltInMix, Mix, MixKeys};
use flashyard_workload::pattern::{Arrival, BuiltInPattern, Pattern, PatternKeys, ZoneGrid};
use flashyard_workload::profile::{Profile, ProfileKeys, Twin};
use flashyard_workload::raw::list::List;
use flashyard_workload::raw::{BuiltInRaw, Raw, RawKeys};
use flashyard_workload::trace::{Trace, TraceKeys, TraceOptions, open_trace};
use flashyard_workload::{Extent, RequestSource, SourceStats, WorkloadError};
use std::sync::Arc;

/// The pattern that `[pattern]` starts from if it names none.
const DEFAULT_PATTERN: &str = "random-read";

/// Requests and passes over a trace that a phase which ends by itself does not come to.
const MANY: u64 = 1_000_000_000_000;
const PASSES: u64 = 1_000;

/// What write amplification may differ by where it has settled, in parts of a million. Assumed.
const SETTLED: u64 = 20_000;

/// The name of a stream that is alone.
const ONLY_STREAM: &str = "host";

/// Where the requests of a stream come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A trace file, or standard input.
    Trace {
        /// Its path or `-`.
        path: String,
        /// Its format. If there is none, it is detected.
        format: Option<String>,
        /// The column that makes the streams.
        split: Option<String>,
    },
    /// The generator, with the keys of `[generator]`.
    Generator,
    /// A pattern, with the keys of `[pattern]`.
    Pattern,
    /// A mix, with the keys of `[mix]`.
    Mix,
    /// The twin of a trace, with the keys of `[profile]`.
    Profile(Arc<Profile>),
    /// A file system, with the keys of `[files]`.
    Files,
    /// Raw operations: with the keys of `[raw]`, or from a file that lists them.
    Raw(Option<String>),
    /// Requests in memory. No file names them.
    Requests(Arc<Vec<Request>>),
}

impl Origin {
    /// The section whose keys describe the requests.
    pub const fn section(&self) -> &'static str {
        match self {
            Self::Trace { .. } => "trace",
            Self::Generator => "generator",
            Self::Pattern => "pattern",
            Self::Mix => "mix",
            Self::Profile(_) => "profile",
            Self::Files => "files",
            Self::Raw(_) => "raw",
            Self::Requests(_) => "requests",
        }
    }

    /// What such a workload is called.
    const fn word(&self) -> &'static str {
        match self {
            Self::Trace { .. } => "a trace",
            Self::Generator => "generated",
            Self::Pattern => "a pattern",
            Self::Mix => "a mix",
            Self::Profile(_) => "the twin of a trace",
            Self::Files => "a file system",
            Self::Raw(None) => "a stream of raw operations",
            Self::Raw(Some(_)) => "a list of raw operations",
            Self::Requests(_) => "a list of requests",
        }
    }
}

/// One stream of requests.
#[derive(Clone, Debug)]
pub struct StreamPlan {
    /// What results call it.
    pub name: String,
    /// The name of a built-in workload, or the path of a trace.
    pub from: Option<String>,
    /// What gives its requests.
    pub origin: Origin,
    /// When they are issued: keys of `[stream]`.
    pub keys: StreamKeys,
    /// Keys of `[trace]`; as those of the other sections, they count where the origin is this one.
    pub trace: TraceKeys,
    /// Keys of `[generator]`.
    pub generator: GeneratorKeys,
    /// Keys of `[pattern]`.
    pub pattern: PatternKeys,
    /// Keys of `[mix]`.
    pub mix: MixKeys,
    /// Keys of `[profile]`.
    pub profile: ProfileKeys,
    /// Keys of `[files]`.
    pub files: FilesKeys,
    /// Keys of `[raw]`.
    pub raw: RawKeys,
}

impl StreamPlan {
    /// A stream from `origin`, every key at its default.
    pub fn new(origin: Origin) -> Self {
        let base = BuiltIn::from_name(DEFAULT_WORKLOAD).expect("the default workload is built in");
        let pattern = BuiltInPattern::from_name(DEFAULT_PATTERN).expect("the pattern is built in");
        let mut plan = Self {
            name: ONLY_STREAM.to_string(),
            from: None,
            keys: StreamKeys::default(),
            trace: TraceKeys::default(),
            generator: base.keys,
            pattern: pattern.keys,
            mix: MixKeys::default(),
            profile: ProfileKeys::default(),
            files: FilesKeys::default(),
            raw: RawKeys::default(),
            origin: Origin::Generator,
        };
        if origin == Origin::Pattern {
            plan.start_from("pattern", DEFAULT_PATTERN);
        }
        if origin == Origin::Raw(None) {
            plan.keys.pacing = Pacing::Spaced;
        }
        if origin == Origin::Files {
            // A thread waits for its calls.
            (plan.keys.pacing, plan.keys.depth) = (Pacing::Closed, 1);
        }
        plan.set_origin(origin);
        plan
    }

    /// The built-in workload of this name.
    pub fn built_in(name: &str) -> Option<Self> {
        let from = Some(name.to_string());
        let origins =
            [Origin::Generator, Origin::Mix, Origin::Raw(None), Origin::Files, Origin::Pattern];
        origins.into_iter().find_map(|origin| {
            let part = origin.section();
            let mut plan = Self { from: from.clone(), ..Self::new(origin) };
            plan.start_from(part, name).then_some(plan)
        })
    }

    /// Takes the keys of a built-in workload of a section; whether there is one of this name. A
    /// pattern is a closed loop of its depth.
    pub fn start_from(&mut self, part: &str, name: &str) -> bool {
        let found = match part {
            "generator" => BuiltIn::from_name(name).map(|one| self.generator = one.keys),
            "mix" => BuiltInMix::from_name(name).map(|one| self.mix = one.keys),
            "raw" => BuiltInRaw::from_name(name).map(|one| self.raw = one.keys),
            "files" => BuiltInFiles::from_name(name).map(|one| self.files = one.keys),
            "pattern" => BuiltInPattern::from_name(name).map(|one| {
                self.pattern = one.keys;
                (self.keys.pacing, self.keys.depth) = (Pacing::Closed, one.depth);
            }),
            _ => None,
        };
        found.is_some()
    }

    /// Takes its requests from `origin`.
    pub fn set_origin(&mut self, origin: Origin) {
        if let Origin::Trace { path, .. } | Origin::Raw(Some(path)) = &origin {
            self.from = Some(path.clone());
        }
        self.origin = origin;
    }

    /// Whether it is a pattern that does not end by itself.
    pub fn is_endless(&self) -> bool {
        let PatternKeys { requests, total_mib, .. } = self.pattern;
        self.origin == Origin::Pattern && requests == 0 && total_mib == 0
    }

    /// The same without an end, for a phase that ends by itself.
    fn endless(&self) -> Result<Self, String> {
        let mut plan = self.clone();
        match &self.origin {
            Origin::Files | Origin::Raw(_) | Origin::Requests(_) => {
                return Err(format!(
                    "[{}] cannot be repeated; leave it out",
                    self.origin.section()
                ));
            }
            _ if self.is_standard_input() => {
                return Err("standard input can be read only once; save it to a file".to_string());
            }
            _ if self.writes_nothing() => {
                return Err("the workload writes nothing, and has nothing to settle".to_string());
            }
            _ => {}
        }
        (plan.pattern.requests, plan.pattern.total_mib) = (0, 0);
        plan.generator.requests = MANY;
        plan.mix.requests = MANY;
        plan.profile.requests = MANY;
        plan.trace.repeat = PASSES;
        Ok(plan)
    }

    /// Whether it is known to write nothing.
    fn writes_nothing(&self) -> bool {
        let others = self.pattern.read_percent.ppm() + self.pattern.trim_percent.ppm();
        self.origin == Origin::Pattern && others >= Ppm::ALL.ppm()
    }

    /// Whether it reads standard input.
    pub fn is_standard_input(&self) -> bool {
        matches!(&self.origin, Origin::Trace { path, .. } | Origin::Raw(Some(path)) if path == "-")
    }

    /// What is known about its trace beside the keys.
    pub fn trace_options(&self, capacity_sectors: Option<u64>) -> TraceOptions {
        match &self.origin {
            Origin::Trace { format, split, .. } => {
                TraceOptions { format: format.clone(), split: split.clone(), capacity_sectors }
            }
            _ => TraceOptions::default(),
        }
    }

    /// Opens the stream for a device of this capacity; raw operations need its shape, too.
    pub fn open(
        &self,
        seed: u64,
        capacity_sectors: Option<u64>,
        device: Option<&Settings>,
    ) -> Result<Source> {
        let source = match &self.origin {
            Origin::Trace { path, .. } => {
                let options = self.trace_options(capacity_sectors);
                open_trace(path, &self.trace, &options).map(|trace| Source::Trace(Box::new(trace)))
            }
            Origin::Generator => {
                Generator::new(&self.generator, seed, capacity_sectors).map(Source::other)
            }
            Origin::Pattern => {
                let grid = device.and_then(zone_grid);
                Pattern::with_zones(&self.pattern, seed, capacity_sectors, grid).map(Source::other)
            }
            Origin::Mix => Mix::new(&self.mix, seed, capacity_sectors).map(Source::other),
            Origin::Profile(profile) => {
                Twin::new(Arc::clone(profile), &self.profile, seed, capacity_sectors)
                    .map(Source::other)
            }
            Origin::Files => Files::new(&self.files, seed, capacity_sectors).map(Source::other),
            Origin::Raw(path) => {
                let settings =
                    device.filter(|settings| settings.keys.is_raw()).ok_or_else(|| {
                        wrong(
                            "[raw]: operations name physical places, but the device translates \
                         addresses; take the device framework, or set ftl.scheme = \"none\"",
                        )
                    })?;
                let geometry = &settings.geometry;
                match path {
                    None => Raw::new(&self.raw, seed, geometry),
                    Some(path) => List::new(Input::path(path), geometry)
                        .map(|list| Raw::Listed(Box::new(list))),
                }
                .map(Source::other)
            }
            Origin::Requests(requests) => {
                Ok(Source::other(Listed { requests: Arc::clone(requests), next: 0 }))
            }
        };
        source.map_err(|error| workload_error(&error))
    }

    /// The keys of one of its sections, and what the section is.
    pub fn section(part: &str) -> (KeyList<'static>, &'static str) {
        let (keys, doc) = match part {
            "trace" => (TraceKeys::KEYS, "How a trace is read."),
            "generator" => (GeneratorKeys::KEYS, "A generated workload."),
            "pattern" => (PatternKeys::KEYS, "A device benchmark."),
            "mix" => (MixKeys::KEYS, "A published mix of an enterprise workload."),
            "profile" => (ProfileKeys::KEYS, "The twin of a trace."),
            "files" => (FilesKeys::KEYS, "A file system, and what a host does with its files."),
            "raw" => {
                (RawKeys::KEYS, "Raw operations: erases, programs and reads of physical places.")
            }
            _ => (StreamKeys::KEYS, "When the requests of a workload are issued."),
        };
        (KeyList::new(keys), doc)
    }

    /// Sets a key of a section of the stream; whether there is such a key that takes this value.
    pub fn set(&mut self, part: &str, key: &str, value: Value) -> bool {
        match part {
            "trace" => self.trace.set(key, value),
            "generator" => self.generator.set(key, value),
            "pattern" => self.pattern.set(key, value),
            "mix" => self.mix.set(key, value),
            "profile" => self.profile.set(key, value),
            "files" => self.files.set(key, value),
            "raw" => self.raw.set(key, value),
            _ => self.keys.set(key, value),
        }
    }

    /// The value of a key of a section of the stream.
    pub fn get(&self, part: &str, key: &str) -> Option<Value> {
        match part {
            "trace" => self.trace.get(key),
            "generator" => self.generator.get(key),
            "pattern" => self.pattern.get(key),
            "mix" => self.mix.get(key),
            "profile" => self.profile.get(key),
            "files" => self.files.get(key),
            "raw" => self.raw.get(key),
            _ => self.keys.get(key),
        }
    }
}

/// The sections of a stream; the last one is its own.
const PARTS: [&str; 8] =
    ["trace", "generator", "pattern", "mix", "profile", "files", "raw", "stream"];

/// The key that a setting, `section.key=value`, gives a value to.
pub fn path_of(setting: &str) -> &str {
    setting.split('=').next().unwrap_or_default().trim()
}

/// Whether a setting, `section.key=value`, or a section is one of a workload, of whatever kind that
/// is.
pub fn is_of_workload(setting: &str) -> bool {
    let section = setting.split(['.', '=']).next().unwrap_or_default().trim();
    section == "phase" || PARTS.contains(&section)
}

/// One phase: what ends it, and its streams.
#[derive(Clone, Debug)]
pub struct PhasePlan {
    /// What results call it.
    pub name: String,
    /// What ends it: keys of `[phase]`.
    pub keys: PhaseKeys,
    /// Its streams, all at the same time.
    pub streams: Vec<StreamPlan>,
}

impl PhasePlan {
    /// Whether it ends though its streams do not. The end that `stable_percent` gives comes with
    /// what the host writes.
    fn has_limit(&self) -> bool {
        self.keys.requests > 0
            || !self.keys.time_ms.is_zero()
            || (!self.keys.stable_percent.is_zero()
                && !self.streams.iter().all(StreamPlan::writes_nothing))
    }

    /// Why a stream without an end is refused.
    fn never_ends(&self, section: &str) -> String {
        if self.keys.stable_percent.is_zero() {
            format!(
                "{section}.requests: 0 has no end, and neither has the phase; set a number, or \
                 requests, time_ms or stable_percent of the phase"
            )
        } else {
            format!(
                "{section}.requests: 0 has no end, and stable_percent of the phase does not end it, \
                 because nothing writes; set a number, or requests or time_ms of the phase"
            )
        }
    }
}

/// The name of a phase that has none of its own.
pub fn phase_name(index: usize) -> String {
    format!("phase {}", index + 1)
}

/// Phases in order, and what the device holds before the first.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// The name in reports.
    pub name: String,
    /// The phases, one after the other on the same device.
    pub phases: Vec<PhasePlan>,
    /// Whether the phases were listed, be it only one: then their sections are numbered.
    pub numbered: bool,
    /// The initial lines of the map cache: first LPN and whether it is dirty.
    pub map_lines: Vec<(u64, bool)>,
    /// The initial lines of the write buffer.
    pub buffer_lines: Vec<BufferLine>,
}

/// A line of the write buffer: its page, its bank where that is named, and whether it is dirty.
pub type BufferLine = (u64, Option<u32>, bool);

/// What a section of an experiment belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    Phase(usize),
    Stream(usize, usize, &'static str),
    /// The file system that all phases share.
    Files,
}

impl Experiment {
    /// One phase with these streams.
    pub fn of(name: &str, streams: Vec<StreamPlan>) -> Self {
        let phase = PhasePlan { name: phase_name(0), keys: PhaseKeys::default(), streams };
        Self {
            name: name.to_string(),
            phases: vec![phase],
            numbered: false,
            map_lines: Vec::new(),
            buffer_lines: Vec::new(),
        }
    }

    /// A built-in workload of a file system: the stages before the one that is measured are phases.
    pub fn of_files(built_in: &BuiltInFiles) -> Option<Self> {
        let stages = built_in.before.iter().chain([&built_in.keys.stage]);
        let mut phases = Vec::new();
        for &stage in stages {
            let mut stream = StreamPlan::built_in(built_in.name)?;
            stream.files.stage = stage;
            let measure = stage == built_in.keys.stage;
            if !measure {
                stream.files.threads = 1;
            }
            let keys = PhaseKeys { measure, ..PhaseKeys::default() };
            phases.push(PhasePlan { name: stage.word().to_string(), keys, streams: vec![stream] });
        }
        let name = built_in.name.to_string();
        let (map_lines, buffer_lines) = (Vec::new(), Vec::new());
        Some(Self { name, phases, numbered: true, map_lines, buffer_lines })
    }

    /// Whether its phases are the stages of a file system that they share: its keys are then set
    /// for all of them at once.
    fn shares_files(&self) -> bool {
        BuiltInFiles::from_name(&self.name).is_some()
    }

    /// The stream that `trace` commands read: the only one, or the stage of a built-in workload of
    /// a file system that is measured.
    pub fn main_stream(&self) -> Option<&StreamPlan> {
        let last = self.phases.last().filter(|_| self.shares_files());
        self.only_stream().or_else(|| last.and_then(|phase| phase.streams.first()))
    }

    /// Puts a phase in front that runs the same streams without measuring until write amplification
    /// has settled.
    pub fn settle(&mut self) -> Result<(), String> {
        let [phase] = &self.phases[..] else {
            let what = "the workload has phases of its own; set stable_percent in one of them";
            return Err(what.to_string());
        };
        let streams = phase.streams.iter().map(StreamPlan::endless).collect::<Result<_, _>>()?;
        let keys = PhaseKeys {
            measure: false,
            stable_percent: Ppm::from_ppm(SETTLED),
            ..PhaseKeys::default()
        };
        self.phases.insert(0, PhasePlan { name: "settle".to_string(), keys, streams });
        Ok(())
    }

    /// Returns the stream of an experiment with one stream.
    pub fn only_stream(&self) -> Option<&StreamPlan> {
        match &self.phases[..] {
            [phase] if phase.streams.len() == 1 => phase.streams.first(),
            _ => None,
        }
    }

    /// All streams of all phases.
    pub fn streams(&self) -> impl Iterator<Item = &StreamPlan> {
        self.phases.iter().flat_map(|phase| &phase.streams)
    }

    /// Whether a seed makes a difference.
    pub fn has_seed(&self) -> bool {
        let listed = |origin: &Origin| {
            matches!(origin, Origin::Trace { .. } | Origin::Raw(Some(_)) | Origin::Requests(_))
        };
        let spaced = |stream: &StreamPlan| stream.keys.pacing == Pacing::Spaced;
        self.streams().any(|stream| !listed(&stream.origin) || spaced(stream))
    }

    /// Whether the device decides when requests come: answers or room for them, several streams,
    /// or phases that end. Then no list of arrivals stands for it. Raw operations need the
    /// device's shape, too.
    pub fn needs_device(&self) -> bool {
        let alone = self.only_stream().filter(|_| !self.phases[0].has_limit());
        alone.is_none_or(|stream| {
            stream.keys.pacing != Pacing::Open || matches!(stream.origin, Origin::Raw(_))
        })
    }

    /// Every section with what it belongs to.
    fn owners(&self) -> Vec<(String, Owner)> {
        let mut all = Vec::new();
        for (number, phase) in self.phases.iter().enumerate() {
            let place =
                if self.numbered { format!("phase.{}", number + 1) } else { "phase".to_string() };
            let before = if self.numbered { format!("{place}.") } else { String::new() };
            for (index, stream) in phase.streams.iter().enumerate() {
                let several = phase.streams.len() > 1;
                for part in PARTS {
                    let name = match (several, part) {
                        (false, part) => format!("{before}{part}"),
                        (true, "stream") => format!("{before}stream.{}", stream.name),
                        (true, part) => format!("{before}stream.{}.{part}", stream.name),
                    };
                    all.push((name, Owner::Stream(number, index, part)));
                }
            }
            all.push((place, Owner::Phase(number)));
        }
        all.extend(self.shares_files().then(|| ("files".to_string(), Owner::Files)));
        all
    }

    fn owner(&self, section: &str) -> Option<Owner> {
        if !is_of_workload(section) {
            return None;
        }
        self.owners().into_iter().find(|(name, _)| name == section).map(|(_, owner)| owner)
    }

    /// Sets a string of a trace: its path, its format or the column that makes its streams. `false`
    /// where `section` is no section of a trace or it has no such string.
    pub fn set_text(&mut self, section: &str, key: &str, text: &str) -> bool {
        let Some(Owner::Stream(phase, stream, "trace")) = self.owner(section) else { return false };
        match (key, &mut self.phases[phase].streams[stream].origin) {
            ("format", Origin::Trace { format, .. }) => *format = Some(text.to_owned()),
            ("split", Origin::Trace { split, .. }) => *split = Some(text.to_owned()),
            _ => return false,
        }
        true
    }

    /// Says why a key of this section would change nothing, if it would not.
    pub fn idle(&self, section: &str) -> Option<String> {
        let Some(Owner::Stream(phase, stream, part)) = self.owner(section) else { return None };
        let origin = &self.phases[phase].streams[stream].origin;
        let listed = part == "raw" && matches!(origin, Origin::Raw(Some(_)));
        let idle = listed || (part != "stream" && part != origin.section());
        idle.then(|| format!("the workload is {}", origin.word()))
    }

    /// The key of a section whose present value does not use another key, if that is so.
    pub(crate) fn unused_by(&self, section: &str, key: &str) -> Option<&'static str> {
        let Some(Owner::Stream(phase, stream, "pattern")) = self.owner(section) else {
            return None;
        };
        self.phases[phase].streams[stream].pattern.unused_by(key)
    }

    /// Keys that contradict each other.
    pub fn contradictions(&self) -> Vec<String> {
        let mut found = self.contradictions_of_raw();
        for (section, owner) in self.owners() {
            let Owner::Stream(phase, stream, "pattern") = owner else { continue };
            let plan = &self.phases[phase].streams[stream];
            let untimed = matches!(plan.keys.pacing, Pacing::Closed | Pacing::Fast);
            if plan.origin != Origin::Pattern {
                continue;
            }
            if plan.is_endless() && !self.phases[phase].has_limit() {
                found.push(self.phases[phase].never_ends(&section));
            }
            if plan.pattern.arrival != Arrival::None && untimed {
                let arrival = plan.pattern.arrival.word();
                let pacing = plan.keys.pacing.word();
                found.push(format!(
                    "{section}.arrival: {arrival} changes nothing, pacing = \"{pacing}\" issues \
                     requests when others are answered; set the stream's pacing to open or think"
                ));
            }
        }
        found
    }
}

/// Keys of streams of raw operations, and of random times between requests.
impl Experiment {
    fn contradictions_of_raw(&self) -> Vec<String> {
        let mut found = Vec::new();
        for (section, owner) in self.owners() {
            let Owner::Stream(phase, stream, part) = owner else { continue };
            let plan = &self.phases[phase].streams[stream];
            let drawn = plan.origin == Origin::Raw(None);
            if part == "stream" && plan.keys.pacing == Pacing::Spaced {
                found.extend(ranges(&section, &plan.keys));
            }
            if part == "raw" && drawn && plan.raw.requests == 0 && !self.phases[phase].has_limit() {
                found.push(self.phases[phase].never_ends(&section));
            }
            if part == "stream" && drawn && matches!(plan.keys.pacing, Pacing::Open | Pacing::Think)
            {
                found.push(format!(
                    "{section}.pacing: {:?} issues operations at recorded times, and drawn ones have \
                     none; set it to spaced, closed or fast",
                    plan.keys.pacing.word()
                ));
            }
        }
        found
    }
}

/// The zones of a device in sectors, if it has any.
fn zone_grid(settings: &Settings) -> Option<ZoneGrid> {
    let (zones, unit) = (settings.zones?, u64::from(settings.geometry.unit_sectors()));
    let sectors = |units: u32| u64::from(units) * unit;
    Some(ZoneGrid {
        count: zones.count.into(),
        size: sectors(zones.size),
        capacity: sectors(zones.capacity),
    })
}

/// Ranges of times that end before they begin.
fn ranges(section: &str, keys: &StreamKeys) -> Vec<String> {
    let StreamKeys { gap_min_us, gap_max_us, burst_min_us, burst_max_us, .. } = *keys;
    let range = |name: &str, min: u64, max: u64| {
        (min > max).then(|| {
            let us = |ns: u64| ns as f64 / 1e3;
            format!(
                "{section}.{name}_max_us: {} is below {name}_min_us = {}; raise it",
                us(max),
                us(min)
            )
        })
    };
    let ranges = [
        range("gap", gap_min_us.as_ns(), gap_max_us.as_ns()),
        range("burst", burst_min_us.as_ns(), burst_max_us.as_ns()),
    ];
    ranges.into_iter().flatten().collect()
}

impl Sections for Experiment {
    fn sections(&self) -> Vec<Section<'_>> {
        let phase = (KeyList::new(PhaseKeys::KEYS), "What ends a phase, and whether it counts.");
        let section = |(name, owner): (String, Owner)| {
            let (keys, doc) = match owner {
                Owner::Phase(_) => phase,
                Owner::Files => StreamPlan::section("files"),
                Owner::Stream(_, _, part) => StreamPlan::section(part),
            };
            (name.into(), keys, doc)
        };
        self.owners().into_iter().map(section).collect()
    }

    fn set(&mut self, section: &str, key: &str, value: Value) -> bool {
        match self.owner(section) {
            None => false,
            Some(Owner::Phase(phase)) => self.phases[phase].keys.set(key, value),
            Some(Owner::Files) => {
                let last = self.phases.len() - 1;
                // The stage that is measured has the threads, and each phase its own stage.
                let of_last = ["stage", "threads"].contains(&key);
                let phases = &mut self.phases[if of_last { last } else { 0 }..];
                phases.iter_mut().all(|phase| phase.streams[0].files.set(key, value))
            }
            Some(Owner::Stream(phase, stream, part)) => {
                self.phases[phase].streams[stream].set(part, key, value)
            }
        }
    }

    fn get(&self, section: &str, key: &str) -> Option<Value> {
        match self.owner(section)? {
            Owner::Phase(phase) => self.phases[phase].keys.get(key),
            Owner::Files => self.phases.last()?.streams[0].files.get(key),
            Owner::Stream(phase, stream, part) => self.phases[phase].streams[stream].get(part, key),
        }
    }
}

/// An opened stream.
#[expect(missing_debug_implementations, reason = "a trace is a reader of its file")]
pub enum Source {
    /// A trace.
    Trace(Box<Trace>),
    /// Several streams by time.
    Merged(Box<Merge<Self>>),
    /// Any other one.
    Other(Box<dyn RequestSource>),
}

impl Source {
    fn other(source: impl RequestSource + 'static) -> Self {
        Self::Other(Box::new(source))
    }

    fn inner(&self) -> &dyn RequestSource {
        match self {
            Self::Trace(trace) => &**trace,
            Self::Merged(merge) => &**merge,
            Self::Other(source) => &**source,
        }
    }
}

impl RequestSource for Source {
    fn next_request(&mut self) -> Result<Option<Request>, WorkloadError> {
        match self {
            Self::Trace(trace) => trace.next_request(),
            Self::Merged(merge) => merge.next_request(),
            Self::Other(source) => source.next_request(),
        }
    }

    fn notes(&self) -> Vec<String> {
        self.inner().notes()
    }

    fn extent(&self) -> Option<Extent> {
        self.inner().extent()
    }

    fn stats(&self) -> SourceStats {
        self.inner().stats()
    }
}

/// Requests in memory, read once.
struct Listed {
    requests: Arc<Vec<Request>>,
    next: usize,
}

impl RequestSource for Listed {
    fn next_request(&mut self) -> Result<Option<Request>, WorkloadError> {
        let request = self.requests.get(self.next).copied();
        self.next += usize::from(request.is_some());
        Ok(request)
    }

    fn extent(&self) -> Option<Extent> {
        Some(Extent { done: self.next as u64, of: self.requests.len() as u64 })
    }

    fn stats(&self) -> SourceStats {
        SourceStats { requests: self.next as u64, ..SourceStats::default() }
    }
}

//! Workload files: a workload, several at once, or phases of them.
//!
//! A table of a file says where requests come from in one of these ways: it has one of the tables
//! `trace`, `generator`, `pattern`, `mix`, `profile`, `files` and `raw`, with the keys of a
//! `stream` table; or it has an array of tables `stream`, each with its own; or, inside a phase, it
//! names a workload.

use crate::device::names;
use crate::error::{is_toml, read_text, wrong};
use crate::experiment::{BufferLine, Experiment, Origin, PhasePlan, StreamPlan, phase_name};
use crate::presets::built_in;
use crate::profile;
use anyhow::Result;
use flashyard_core::key::Value;
use flashyard_sim::config::{
    Extras, Item, KeyList, Problem, Section, Sections, Table, line_of_item, nearest, parse_toml,
    read_table,
};
use flashyard_sim::device::PhaseKeys;
use flashyard_workload::files::BuiltInFiles;
use flashyard_workload::profile::Profile;
use std::path::Path;
use std::sync::Arc;

/// The tables that say where requests come from.
pub const ORIGINS: [&str; 7] = ["trace", "generator", "pattern", "mix", "profile", "files", "raw"];

/// Lines that a device holds before the first request: of the map cache, by first page and whether
/// they are dirty; and of the write buffer.
type Initial = (Vec<(u64, bool)>, Vec<BufferLine>);

/// Their tables.
const INITIAL: [&str; 2] = ["initial.map_lines", "initial.buffer_lines"];

/// The workload of this name: built in, a workload file or a trace. `inside` a phase, a file may
/// have no phases.
pub fn named(name: &str, inside: bool, problems: &mut Vec<Problem>) -> Result<Experiment> {
    if let Some(stages) = BuiltInFiles::from_name(name).filter(|_| !inside) {
        return Ok(Experiment::of_files(stages).expect("the workload is built in"));
    }
    if let Some(stream) = StreamPlan::built_in(name) {
        return Ok(Experiment::of(name, vec![stream]));
    }
    if is_toml(name) {
        return read(name, inside, problems);
    }
    if name != "-" && !Path::new(name).exists() {
        return Err(wrong(&names::no_workload(name)));
    }
    names::refuse_mqsim(name)?;
    let origin = Origin::Trace { path: name.to_string(), format: None, split: None };
    Ok(Experiment::of(name, vec![StreamPlan::new(origin)]))
}

/// Reads a workload file. `inside` a phase it may have nothing but streams.
fn read(file: &str, inside: bool, problems: &mut Vec<Problem>) -> Result<Experiment> {
    parse(file, &read_text(file)?, inside, problems)
}

/// The workload of a file's text.
pub fn parse(
    file: &str,
    text: &str,
    inside: bool,
    problems: &mut Vec<Problem>,
) -> Result<Experiment> {
    let nothing = Experiment::of(file, vec![StreamPlan::new(Origin::Generator)]);
    let Some(document) = parse_toml(file, text, problems) else { return Ok(nothing) };
    let root = document.as_table();
    if inside && let Some(found) = ["phase", "initial"].iter().find(|name| root.contains_key(name))
    {
        let what = format!("a phase cannot use a file that has [{found}]; write it into the phase");
        return Err(wrong(&format!("{file}: {what}")));
    }
    let mut reader = Reader { file, text, problems };
    if !is_array(root, "phase") {
        let (phase, lines) = reader.level(root, Level::Root)?;
        // A trace is called by its path, whatever the file around it.
        let name = match &phase.streams[..] {
            [StreamPlan { origin: Origin::Trace { path, .. }, .. }] => path.clone(),
            _ => file.to_string(),
        };
        let mut experiment = Experiment::of(&name, phase.streams);
        experiment.phases[0].keys = phase.keys;
        (experiment.map_lines, experiment.buffer_lines) = lines;
        return Ok(experiment);
    }
    reader.phases(root)
}

fn is_array(table: &Table, name: &str) -> bool {
    table.get(name).is_some_and(Item::is_array_of_tables)
}

/// A path inside a workload file is relative to the file.
fn beside(file: &str, path: &str) -> String {
    let parent = Path::new(file).parent().unwrap_or_else(|| Path::new(""));
    parent.join(path).to_string_lossy().into_owned()
}

/// Where in a file a table stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    /// The file itself, without phases.
    Root,
    /// The file itself, with phases.
    Phases,
    /// One of the phases.
    Phase,
    /// One of several streams.
    Stream,
}

/// The keys of one table: of a phase, of a stream, and of what a stream's requests come from.
struct Keys {
    level: Level,
    /// Whether streams are tables of their own.
    several: bool,
    phase: PhaseKeys,
    stream: StreamPlan,
}

impl Keys {
    /// The section of the phase's keys, and that of the stream's.
    const fn names(&self) -> (Option<&'static str>, Option<&'static str>) {
        let stream = if self.several { None } else { Some("stream") };
        match self.level {
            Level::Root => (Some("phase"), stream),
            Level::Phases => (None, None),
            Level::Phase => (Some(""), stream),
            Level::Stream => (None, Some("")),
        }
    }
}

impl Sections for Keys {
    fn sections(&self) -> Vec<Section<'_>> {
        let (phase, stream) = self.names();
        let parts = ORIGINS.iter().map(|part| (*part, StreamPlan::section(part).0));
        let phase = phase.map(|name| (name, KeyList::new(PhaseKeys::KEYS)));
        let stream = stream.map(|name| (name, StreamPlan::section("stream").0));
        parts.chain(phase).chain(stream).map(|(name, keys)| (name.into(), keys, "")).collect()
    }

    fn set(&mut self, section: &str, key: &str, value: Value) -> bool {
        let (phase, stream) = self.names();
        if phase == Some(section) {
            self.phase.set(key, value)
        } else if stream == Some(section) {
            self.stream.set("stream", key, value)
        } else {
            self.stream.set(section, key, value)
        }
    }

    fn get(&self, section: &str, key: &str) -> Option<Value> {
        let (phase, stream) = self.names();
        if phase == Some(section) {
            self.phase.get(key)
        } else if stream == Some(section) {
            self.stream.get("stream", key)
        } else {
            self.stream.get(section, key)
        }
    }
}

struct Reader<'a> {
    file: &'a str,
    text: &'a str,
    problems: &'a mut Vec<Problem>,
}

impl Reader<'_> {
    fn problem(&mut self, line: usize, what: String) {
        self.problems.push(Problem { place: format!("{}:{line}", self.file), what });
    }

    /// The string of an extra, relative to the table that has it.
    fn string(&mut self, extras: &Extras, path: &str) -> Option<String> {
        let found = extras.string(path).map(|found| found.map(str::to_string));
        found.unwrap_or_else(|what| {
            self.problem(extras.line(path), what);
            None
        })
    }

    /// A file with phases.
    fn phases(&mut self, root: &Table) -> Result<Experiment> {
        let (_, (map_lines, buffer_lines)) = self.level(root, Level::Phases)?;
        let tables = root.get("phase").and_then(Item::as_array_of_tables);
        let mut phases = Vec::new();
        for table in tables.into_iter().flatten() {
            let (mut phase, _) = self.level(table, Level::Phase)?;
            if phase.name.is_empty() {
                phase.name = phase_name(phases.len());
            }
            phases.push(phase);
        }
        let name = self.file.to_string();
        Ok(Experiment { name, phases, numbered: true, map_lines, buffer_lines })
    }

    /// The initial lines of the map cache and of the write buffer.
    fn initial(&mut self, extras: &Extras) -> Initial {
        let maps = map_lines(extras).unwrap_or_else(|what| {
            self.problem(extras.line("initial.map_lines"), what);
            Vec::new()
        });
        let buffers = buffer_lines(extras).unwrap_or_else(|what| {
            self.problem(extras.line("initial.buffer_lines"), what);
            Vec::new()
        });
        (maps, buffers)
    }

    /// One table as a phase, and the initial lines. Of a stream, the phase has
    /// nothing but this stream.
    fn level(&mut self, table: &Table, level: Level) -> Result<(PhasePlan, Initial)> {
        let several = level != Level::Stream && is_array(table, "stream");
        let named = level == Level::Phase && table.contains_key("workload");
        let mut keys = Keys { level, several, phase: PhaseKeys::default(), stream: base(table) };
        let extras = extras(level, several);
        let extras = read_table(self.file, self.text, table, &mut keys, &extras, self.problems);
        let lines = self.initial(&extras);
        self.check_bases(&extras);
        self.check_one_origin(table, level, several, named);
        let mut phase = PhasePlan {
            name: self.string(&extras, "name").unwrap_or_default(),
            keys: keys.phase,
            streams: Vec::new(),
        };
        if level == Level::Phases {
            return Ok((phase, lines));
        }
        if named {
            if let Some(name) = self.string(&extras, "workload") {
                phase.streams = self.named(&name)?;
            }
        } else if several {
            phase.streams = self.several(table)?;
        } else {
            let mut stream = keys.stream;
            stream.set_origin(self.origin(table, &extras, level));
            if level == Level::Stream {
                stream.name.clone_from(&phase.name);
            }
            phase.streams.push(stream);
        }
        Ok((phase, lines))
    }

    /// Reports bases that do not exist.
    fn check_bases(&mut self, extras: &Extras) {
        for (section, kind) in [
            ("generator", "workload"),
            ("pattern", "pattern"),
            ("mix", "mix"),
            ("files", "file system workload"),
            ("raw", "stream of raw operations"),
        ] {
            let path = format!("{section}.base");
            let Some(base) = self.string(extras, &path) else { continue };
            let known = || built_in().filter(|(of, ..)| *of == section).map(|(_, name, _)| name);
            if known().all(|name| name != base) {
                let near = nearest(&base, known());
                let what = format!("{path}: {base} is not a built-in {kind}{near}");
                self.problem(extras.line(&path), what);
            }
        }
    }

    /// Reports a table that says in two ways where requests come from.
    fn check_one_origin(&mut self, table: &Table, level: Level, several: bool, named: bool) {
        let mut found: Vec<String> = ORIGINS
            .iter()
            .filter(|name| table.contains_key(name))
            .map(|name| format!("[{name}]"))
            .collect();
        let own_stream = table.contains_key("stream") && !several;
        if own_stream && (named || level == Level::Phases) {
            found.push("[stream]".to_string());
        }
        found.extend(several.then(|| "[[stream]]".to_string()));
        found.extend((level == Level::Phases).then(|| "[[phase]]".to_string()));
        found.extend(named.then(|| "workload".to_string()));
        if found.len() > 1 {
            let last = found.pop().expect("more than one");
            let what = format!("{} and {last} exclude each other", found.join(", "));
            self.whole(table, level, what);
        }
    }

    /// A problem of a whole table; that of a file has no line.
    fn whole(&mut self, table: &Table, level: Level, what: String) {
        if matches!(level, Level::Root | Level::Phases) {
            self.problems.push(Problem { place: self.file.to_string(), what });
        } else {
            self.problem(line_of_item(self.text, table.span()), what);
        }
    }

    /// Where the requests of a table come from.
    fn origin(&mut self, table: &Table, extras: &Extras, level: Level) -> Origin {
        let path = self.string(extras, "trace.path");
        let format = self.string(extras, "trace.format");
        // A descriptor file stands beside the workload file; names and descriptors are no paths.
        let place = |text: String| if is_toml(&text) { beside(self.file, &text) } else { text };
        let format = format.map(place);
        let split = self.string(extras, "trace.split");
        if let Some(path) = path {
            return Origin::Trace { path: beside(self.file, &path), format, split };
        }
        if table.contains_key("pattern") {
            return Origin::Pattern;
        }
        if table.contains_key("mix") {
            return Origin::Mix;
        }
        if table.contains_key("files") {
            return Origin::Files;
        }
        if table.contains_key("raw") {
            let path = self.string(extras, "raw.path");
            let raw = table.get("raw").and_then(Item::as_table_like);
            if path.is_some() && raw.is_some_and(|raw| raw.iter().count() > 1) {
                let what =
                    "raw.path: the file lists the operations; take the other keys of [raw] out";
                self.problem(extras.line("raw.path"), what.to_string());
            }
            return Origin::Raw(path.map(|path| beside(self.file, &path)));
        }
        if table.contains_key("profile") {
            return self.profile(table, extras, level);
        }
        if !table.contains_key("generator") {
            let what = "none of trace.path, [generator], [pattern], [mix], [profile], [files] and [raw] \
                        says where requests come from";
            self.whole(table, level, what.to_string());
        }
        Origin::Generator
    }

    /// The fitted tables: in the file itself, or in the one that `profile.path` names.
    fn profile(&mut self, table: &Table, extras: &Extras, level: Level) -> Origin {
        let own = table.get("profile").and_then(Item::as_table_like);
        let fitted = own.is_some_and(|own| own.contains_key("fitted"));
        let found = match self.string(extras, "profile.path") {
            Some(_) if fitted => {
                let what = "profile.path: the tables are in this file; take one of them out";
                self.problem(extras.line("profile.path"), what.to_string());
                Profile::default()
            }
            Some(path) => profile::read(&beside(self.file, &path), self.problems),
            None if fitted && level == Level::Root => {
                profile::parse(self.file, self.text, self.problems)
            }
            None => {
                let what =
                    "[profile]: it needs path = \"FILE\", a file that flashyard trace fit wrote";
                self.whole(table, level, what.to_string());
                Profile::default()
            }
        };
        Origin::Profile(Arc::new(found))
    }

    /// The streams of the workload that a phase names.
    fn named(&mut self, name: &str) -> Result<Vec<StreamPlan>> {
        let path = match StreamPlan::built_in(name) {
            Some(_) => name.to_string(),
            None => beside(self.file, name),
        };
        let mut experiment = named(&path, true, self.problems)?;
        Ok(std::mem::take(&mut experiment.phases[0].streams))
    }

    /// The streams of an array of tables.
    fn several(&mut self, table: &Table) -> Result<Vec<StreamPlan>> {
        let tables = table.get("stream").and_then(Item::as_array_of_tables);
        let mut streams: Vec<StreamPlan> = Vec::new();
        for table in tables.into_iter().flatten() {
            let (phase, _) = self.level(table, Level::Stream)?;
            let line = line_of_item(self.text, table.span());
            let name = &phase.name;
            let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
            if name.is_empty() || !name.bytes().all(is_word) {
                let what = "name: each stream has one, of letters, digits, - and _";
                self.problem(line, what.to_string());
            } else if streams.iter().any(|other| other.name == *name) {
                self.problem(line, format!("name: there are two streams {name}"));
            }
            streams.extend(phase.streams);
        }
        Ok(streams)
    }
}

/// What the keys of a stream start from: those of a built-in workload.
fn base(table: &Table) -> StreamPlan {
    let part = |name: &str| table.get(name).and_then(Item::as_table_like);
    let base = |name| part(name).and_then(|part| part.get("base")).and_then(Item::as_str);
    let listed = part("raw").is_some_and(|raw| raw.contains_key("path"));
    let origin = if part("pattern").is_some() {
        Origin::Pattern
    } else if part("raw").is_some() && !listed {
        Origin::Raw(None)
    } else if part("files").is_some() {
        Origin::Files
    } else {
        Origin::Generator
    };
    let mut stream = StreamPlan::new(origin);
    for part in ORIGINS {
        if let Some(name) = base(part) {
            stream.start_from(part, name);
        }
    }
    stream
}

/// What a table may hold besides keys.
fn extras(level: Level, several: bool) -> Vec<&'static str> {
    let mut all = vec![
        "trace.path",
        "trace.format",
        "trace.split",
        "generator.base",
        "pattern.base",
        "mix.base",
        "files.base",
        "raw.base",
        "raw.path",
        "profile.path",
        "profile.fitted",
    ];
    match level {
        Level::Root => all.extend(INITIAL),
        Level::Phases => all.extend(INITIAL.into_iter().chain(["phase", "stream"])),
        Level::Phase => all.extend(["name", "workload"]),
        Level::Stream => all.push("name"),
    }
    all.extend(several.then_some("stream"));
    all
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

fn buffer_lines(extras: &Extras) -> Result<Vec<BufferLine>, String> {
    let tables = extras.tables("initial.buffer_lines")?;
    let line = |table: &Table| {
        let page = table.get("page").and_then(Item::as_integer);
        let page = page.and_then(|page| u64::try_from(page).ok());
        let bank = table.get("bank").map_or(Some(None), |bank| {
            bank.as_integer().and_then(|bank| u32::try_from(bank).ok()).map(Some)
        });
        let dirty = table.get("dirty").map_or(Some(true), Item::as_bool);
        let known = table.iter().all(|(name, _)| ["page", "bank", "dirty"].contains(&name));
        match (page, bank, dirty, known) {
            (Some(page), Some(bank), Some(dirty), true) => Ok((page, bank, dirty)),
            _ => Err(
                "initial.buffer_lines: each needs page (a number) and may have bank (a number) \
                      and dirty (true or false)"
                    .to_string(),
            ),
        }
    };
    tables.into_iter().map(line).collect()
}

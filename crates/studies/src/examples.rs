//! Worked examples: a few requests, all there at the start, on a device whose map cache or buffer
//! holds known lines; beside what is published of them, or was worked out by hand.

use crate::device::settings_of;
use crate::schema::{Example, ExampleRun};
use anyhow::{Context, Result, bail};
use flashyard_core::request::{Request, RequestOp};
use flashyard_run::error::wrong;
use flashyard_run::plan::Plan;
use flashyard_run::presets::{DEFAULT_DEVICE, DEFAULT_WORKLOAD};
use flashyard_run::simulate::{Options, simulate};
use flashyard_sim::config::DeviceKeys;
use flashyard_sim::observe::{CommandDone, Observer, RequestDone, Shared};
use flashyard_sim::own::OwnParts;
use serde_json::{Value, json};
use std::sync::Arc;

/// Sectors of a page of the examples, 4 KiB.
const PAGE_SECTORS: u32 = 8;

/// A number or a schedule that an example expects, and what was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// What it is.
    pub what: &'static str,
    /// What the example says.
    pub expected: String,
    /// What the run gave.
    pub found: String,
}

impl Checked {
    /// Whether the run gave what the example says.
    pub fn holds(&self) -> bool {
        self.expected == self.found
    }
}

/// An example that was run.
#[derive(Clone, Debug)]
pub struct Tried {
    /// Its name.
    pub name: String,
    /// What it shows.
    pub note: String,
    /// Whether the expected numbers are published; else they were worked out by hand.
    pub published: bool,
    /// Its requests as its file has them.
    pub requests: Vec<String>,
    /// By subject, what was checked.
    pub runs: Vec<(String, Vec<Checked>)>,
}

impl Tried {
    /// Whether everything came out as the example says.
    pub(crate) fn holds(&self) -> bool {
        self.runs.iter().flat_map(|(_, checked)| checked).all(Checked::holds)
    }
}

/// Reads all of the examples' text; an error says what cannot be.
pub(crate) fn check(examples: &[Example]) -> Result<()> {
    for example in examples {
        let place = || format!("the experiment file: example {}", example.name);
        for text in &example.requests {
            request(text).with_context(place)?;
        }
        for text in &example.map {
            map_line(text).with_context(place)?;
        }
        for text in &example.buffer {
            buffer_line(text).with_context(place)?;
        }
    }
    Ok(())
}

/// Runs an example under each of its subjects.
pub(crate) fn run(example: &Example) -> Result<Tried> {
    let of = |run: &ExampleRun| Ok((run.name.clone(), run_one(example, run)?));
    Ok(Tried {
        name: example.name.clone(),
        note: example.note.clone(),
        published: example.published,
        requests: example.requests.clone(),
        runs: example.run.iter().map(of).collect::<Result<_>>()?,
    })
}

#[derive(Debug, Default)]
struct Log {
    /// Start, text.
    commands: Vec<(u64, String)>,
    /// Order, answer.
    answered: Vec<(u64, u64)>,
}

struct Recorder {
    log: Shared<Log>,
    unit_ns: u64,
}

impl Observer for Recorder {
    fn command_done(&mut self, done: &CommandDone) {
        let Some(request) = done.command.request else { return };
        let start = done.start.as_ns();
        let (stage, queue) = (done.command.stage, done.queue);
        let at = units(start as f64, self.unit_ns);
        let text = format!("{}{stage}[{queue}]@{at}", request + 1);
        self.log.get().commands.push((start, text));
    }

    fn request_done(&mut self, done: &RequestDone) {
        self.log.get().answered.push((done.order, done.completion.as_ns()));
    }
}

fn run_one(example: &Example, run: &ExampleRun) -> Result<Vec<Checked>> {
    let settings = [&example.settings[..], &run.settings].concat();
    let settings = settings_of(&DeviceKeys::default(), &settings)?;
    let say = |error: &dyn std::fmt::Display| wrong(&format!("{}: {error}", example.name));
    if settings.keys.is_disk() {
        return Err(say(&"an example follows flash commands, and a disk has none"));
    }
    let mut inputs = Plan::load(OwnParts::default(), DEFAULT_DEVICE, DEFAULT_WORKLOAD, &[])?;
    let requests = example.requests.iter().map(|text| request(text));
    inputs.set_requests(Arc::new(requests.collect::<Result<_>>()?));
    let lines = &mut inputs.sections.workload;
    lines.map_lines = example.map.iter().map(|text| map_line(text)).collect::<Result<_>>()?;
    let buffer = example.buffer.iter().map(|text| buffer_line(text));
    lines.buffer_lines = buffer.collect::<Result<_>>()?;
    let log = Shared::new(Log::default());
    let recorder = Recorder { log: log.clone(), unit_ns: example.unit_ns };
    let observers: Vec<Box<dyn Observer>> = vec![Box::new(recorder)];
    let options = Options { check: true, observers, ..Options::default() };
    let report = simulate(&inputs, &settings, options).map_err(|error| say(&error))?.report;
    let mut log = log.take();
    log.commands.sort_by_key(|(start, _)| *start);
    log.answered.sort_unstable();
    let unit = |ns: f64| units(ns, example.unit_ns);
    let number = |value: f64| format!("{value}");
    let mut all = Vec::new();
    let mut add = |what, expected: Option<String>, found: String| {
        all.extend(expected.map(|expected| Checked { what, expected, found }));
    };
    add("total", run.total.map(number), unit(report.throughput.makespan_ns as f64));
    let answered: Vec<String> = log.answered.iter().map(|(_, ns)| unit(*ns as f64)).collect();
    let list = |values: &Vec<f64>| values.iter().map(|v| number(*v)).collect::<Vec<_>>().join(" ");
    add("answers", run.answered.as_ref().map(list), answered.join(" "));
    let mean = report.latency_ns["read"].mean.unwrap_or(0.0);
    add("mean read", run.mean_read.map(number), unit(mean));
    let buffer = &report.buffer;
    let gets = buffer.get_ns + buffer.flush_get_ns;
    let hidden = format!("{} of {}", unit(buffer.hidden_read_ns as f64), unit(gets as f64));
    add("hidden reads", run.hidden.map(|[of, all]| format!("{of} of {all}")), hidden);
    let programs = report.flash.array_ops["programs"]["host"];
    add("programs", run.programs.map(|count| count.to_string()), programs.to_string());
    let commands: Vec<String> = log.commands.into_iter().map(|(_, text)| text).collect();
    add("commands", run.commands.clone(), commands.join(" "));
    Ok(all)
}

/// Nanoseconds in the units of the example, without zeros at the end.
fn units(ns: f64, unit_ns: u64) -> String {
    format!("{}", ns / unit_ns as f64)
}

/// `W1` writes page 1, `R4+2` reads pages 4 and 5.
fn request(text: &str) -> Result<Request> {
    let op = match text.get(..1) {
        Some("R") => RequestOp::Read,
        Some("W") => RequestOp::Write,
        _ => bail!("{text} is no request"),
    };
    let (page, pages) = text[1..].split_once('+').unwrap_or((&text[1..], "1"));
    let page: u64 = page.parse().with_context(|| format!("{text} is no request"))?;
    let pages: u32 = pages.parse().with_context(|| format!("{text} is no request"))?;
    Ok(Request::new(op, page * u64::from(PAGE_SECTORS), pages * PAGE_SECTORS))
}

/// `64 dirty` or `96 clean`.
fn map_line(text: &str) -> Result<(u64, bool)> {
    match text.split_once(' ') {
        Some((page, "dirty")) => Ok((page.parse()?, true)),
        Some((page, "clean")) => Ok((page.parse()?, false)),
        _ => bail!("{text} is no line of a map cache"),
    }
}

/// `3 in 0`: page 3 in bank 0; `3`: in the bank of its line. All are dirty.
fn buffer_line(text: &str) -> Result<(u64, Option<u32>, bool)> {
    match text.split_once(" in ") {
        Some((page, bank)) => Ok((page.parse()?, Some(bank.parse()?), true)),
        None => Ok((
            text.parse().with_context(|| format!("{text} is no line of a buffer"))?,
            None,
            true,
        )),
    }
}

/// The examples as data.
pub(crate) fn objects(examples: &[Tried]) -> Value {
    let examples = examples.iter().map(|example| {
        let runs = example.runs.iter().map(|(name, checked)| {
            let checks = checked.iter().map(|one| {
                json!({"what": one.what, "expected": one.expected, "found": one.found, "holds": one.holds()})
            });
            json!({"subject": name, "checks": checks.collect::<Vec<_>>()})
        });
        json!({
            "name": example.name,
            "note": example.note,
            "published": example.published,
            "requests": example.requests,
            "runs": runs.collect::<Vec<_>>(),
        })
    });
    examples.collect()
}

//! Worked examples of publications: a few requests of one page, all there at the start, on a
//! device whose buffer holds known lines.

use super::super::study::settings_of;
use crate::inputs::wrong;
use anyhow::Result;
use flashyard_core::request::{Flags, Request, RequestOp};
use flashyard_core::units::Time;
use flashyard_sim::config::DeviceKeys;
use flashyard_sim::device::{Device, RunError};
use flashyard_sim::report::Report;
use serde::Deserialize;
use serde_json::{Value, json};

/// The time that the figures count in, in nanoseconds.
const UNIT_NS: u64 = 1_000;

/// A figure: a device, what its buffer holds, requests, and what they take under each policy.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Figure {
    pub(crate) name: String,
    /// On top of the defaults.
    settings: Vec<String>,
    /// The least recently used first.
    lines: Vec<Line>,
    /// `W1` writes page 1, `R1` reads it; the oldest first.
    requests: Vec<String>,
    pub(crate) run: Vec<Run>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    page: u64,
    bank: Option<u32>,
}

/// What the figure says of a policy.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Run {
    pub(crate) policy: String,
    settings: Vec<String>,
    /// When the last request is answered, in units of the figure.
    pub(crate) total: f64,
    /// Port time of gets in units of the figure, hidden and all, where the figure says so.
    pub(crate) hidden: Option<[f64; 2]>,
}

/// What a run of a figure shows, in its units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Found {
    pub(crate) total: f64,
    /// Mean time of a request.
    pub(crate) mean: f64,
    /// Port time of gets: hidden behind puts, and all.
    pub(crate) hidden: [f64; 2],
    pub(crate) programs: u64,
}

impl Figure {
    /// Runs the figure under each of its policies.
    pub(crate) fn found(&self) -> Result<Vec<Found>> {
        self.run.iter().map(|run| Ok(Found::of(&self.simulate(run)?))).collect()
    }

    fn simulate(&self, run: &Run) -> Result<Report> {
        let settings = [&self.settings[..], &run.settings].concat();
        let settings = settings_of(DeviceKeys::default(), &settings)?;
        let mut device = Device::new(&settings);
        device.check();
        let lines: Vec<_> = self.lines.iter().map(|line| (line.page, line.bank, true)).collect();
        device.preload_buffer(&lines).map_err(|error| wrong(&error.to_string()))?;
        let requests = self.requests.iter().map(|text| request(text));
        let requests = requests.collect::<Result<Vec<_>>>()?;
        let mut requests = requests.into_iter();
        let done = device.run(|| Ok::<_, std::convert::Infallible>(requests.next()));
        done.map_err(|error| match error {
            RunError::Sim(error) => wrong(&error.to_string()),
            RunError::Workload(never) => match never {},
        })
    }
}

impl Found {
    fn of(report: &Report) -> Self {
        let units = |ns: f64| ns / UNIT_NS as f64;
        let port = |ns: u64| units(ns as f64);
        let buffer = &report.buffer;
        Self {
            total: units(report.throughput.makespan_ns as f64),
            mean: units(report.latency_ns["all"].mean.unwrap_or(0.0)),
            hidden: [port(buffer.hidden_read_ns), port(buffer.get_ns + buffer.flush_get_ns)],
            programs: report.flash.array_ops["programs"]["host"],
        }
    }

    fn object(&self) -> Value {
        let Self { total, mean, hidden, programs } = self;
        json!({"total": total, "mean": mean, "hidden_gets": hidden[0], "gets": hidden[1],
            "programs": programs})
    }
}

/// A request of one page of 4 KiB at time 0.
fn request(text: &str) -> Result<Request> {
    let op = match text.get(..1) {
        Some("R") => RequestOp::Read,
        Some("W") => RequestOp::Write,
        _ => anyhow::bail!("the experiment file: {text} is no request"),
    };
    let page: u64 = text[1..].parse()?;
    Ok(Request {
        arrival: Time::ZERO,
        first_sector: page * 8,
        sectors: 8,
        stream: 0,
        op,
        flags: Flags::NONE,
    })
}

/// A line a run: what the figure says, and what is found.
pub(crate) fn text(figures: &[Figure], found: &[Vec<Found>]) -> String {
    let mut text = String::new();
    for (figure, found) in figures.iter().zip(found) {
        let requests = figure.requests.join(" ");
        text += &format!("{} ({requests}), in its units of time:\n", figure.name);
        for (run, found) in figure.run.iter().zip(found) {
            let Found { total, mean, hidden, programs } = found;
            text += &format!(
                "  {}: {total} of a published {}; mean {mean:.2}; programs: {programs}",
                run.policy, run.total
            );
            if let Some([of, all]) = run.hidden {
                text += &format!(
                    "; hidden reads {}/{} of a published {of}/{all}",
                    hidden[0], hidden[1]
                );
            }
            text += "\n";
        }
    }
    text
}

/// The same as data.
pub(crate) fn object(figures: &[Figure], found: &[Vec<Found>]) -> Value {
    let figures = figures.iter().zip(found).map(|(figure, found)| {
        let runs = figure.run.iter().zip(found).map(|(run, found)| {
            json!({
                "policy": run.policy, "published_total": run.total, "found": found.object(),
                "published_hidden": run.hidden,
            })
        });
        json!({"figure": figure.name, "runs": runs.collect::<Vec<_>>()})
    });
    figures.collect()
}

/// Whether every run takes what the figure says.
pub(crate) fn all_as_published(figure: &Figure, found: &[Found]) -> bool {
    figure.run.iter().zip(found).all(|(run, found)| {
        let same = |a: f64, b: f64| (a - b).abs() < 1e-9;
        let hidden = |[of, all]: [f64; 2]| same(of, found.hidden[0]) && same(all, found.hidden[1]);
        same(run.total, found.total) && run.hidden.is_none_or(hidden)
    })
}

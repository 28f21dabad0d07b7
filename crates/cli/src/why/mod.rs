//! `flashyard why`: what slow requests waited for.
//!
//! The workload runs twice. The first run finds the requests, the second one follows every command
//! set while one of them is under way. What is printed adds up: the times of a request to its
//! latency, the times of all to the latency parts that `run` reports.

mod blame;
pub(crate) mod blamed;
mod data;
mod follow;
mod history;
mod show;
mod sums;
mod words;

use crate::args::{WhyArgs, WhyClass};
use crate::output::{print, remark};
use crate::progress::Progress;
use anyhow::Result;
use flashyard_core::request::RequestOp;
use flashyard_run::error::wrong;
use flashyard_run::plan::{Bases, Plan};
use flashyard_run::points::axis::{self, Axis, Setting};
use flashyard_run::points::{self, refuse_standard_input};
use flashyard_run::simulate::{Options, simulate};
use flashyard_run::units::time;
use flashyard_sim::config::Settings;
use flashyard_sim::observe::{Observer, Shared};
use flashyard_sim::own::OwnParts;
use follow::{Answered, Backs, Choice, Chosen, Clock, Explained, Follower, leave_out};
use std::collections::{BTreeMap, BTreeSet};
use sums::Sums;

/// What was asked for.
struct Found {
    choice: Choice,
    class: Option<RequestOp>,
    /// Whether streams are told apart.
    by_stream: bool,
}

/// A run that has been explained.
struct Side {
    inputs: Plan,
    settings: Settings,
    sums: Sums,
    /// The slowest of them, the slowest first.
    slowest: Vec<Explained>,
    /// How many requests there were to choose from, and their percentile.
    of: u64,
    percentile: Option<u64>,
    /// The stream of these requests, where streams are told apart.
    stream: Option<String>,
}

impl Found {
    fn new(args: &WhyArgs) -> Self {
        let choice = match (args.request, args.slowest) {
            (Some(order), _) => Choice::Request(order),
            (None, Some(most)) => Choice::Slowest(most),
            (None, None) => Choice::Above(args.above),
        };
        let class = match args.class {
            WhyClass::Read => Some(RequestOp::Read),
            WhyClass::Write => Some(RequestOp::Write),
            WhyClass::Trim => Some(RequestOp::Trim),
            WhyClass::Flush => Some(RequestOp::Flush),
            WhyClass::All => None,
        };
        Self { choice, class, by_stream: args.by.is_some() }
    }

    /// The chosen class in the plural.
    fn class_words(&self) -> &'static str {
        match self.class {
            None => "requests",
            Some(RequestOp::Read) => "reads",
            Some(RequestOp::Write) => "writes",
            Some(RequestOp::Trim) => "trims",
            Some(RequestOp::Flush) => "flushes",
        }
    }

    /// The figure that a comparison is about.
    fn figure_name(&self) -> String {
        match self.choice {
            Choice::Above(share) => format!("{} of {}", percentile(share), self.class_words()),
            Choice::Slowest(most) => format!("the mean of the slowest {most}"),
            Choice::Request(order) => format!("request {order}"),
        }
    }

    /// That figure in nanoseconds.
    fn figure(&self, side: &Side) -> f64 {
        match self.choice {
            Choice::Above(_) => side.percentile.unwrap_or(0) as f64,
            Choice::Slowest(_) | Choice::Request(_) => side.sums.mean(side.sums.latency_ns),
        }
    }

    /// The figure with its value.
    fn what(&self, side: &Side) -> String {
        let value = time(self.figure(side));
        match self.choice {
            Choice::Above(_) => format!("{} is {value}; above it", self.figure_name()),
            Choice::Slowest(_) => format!("{} is {value}", self.figure_name()),
            Choice::Request(_) => format!("{} takes {value}", self.figure_name()),
        }
    }
}

/// A percentile in parts of 10,000 as people write it.
fn percentile(share: u64) -> String {
    let text = format!("{}.{:02}", share / 100, share % 100);
    format!("p{}", text.trim_end_matches('0').trim_end_matches('.'))
}

/// Runs `flashyard why`.
pub(crate) fn run(args: &WhyArgs, own: OwnParts) -> Result<()> {
    let found = Found::new(args);
    let Some(vary) = &args.vary else {
        let sides = explain(args, own, &found, &[])?;
        if args.json {
            return print(&data::one(&found, &sides)?);
        }
        let text = sides.iter().map(|side| headed(side, &show::one(&found, side)));
        return print(&text.collect::<Vec<_>>().join("\n"));
    };
    let points = two_points(vary)?;
    let settings = points.each_ref().map(|point| axis::label(point));
    let [first, second] = points.each_ref().map(|point| explain(args, own, &found, point));
    let sides: Vec<[Side; 2]> = first?.into_iter().zip(second?).map(Into::into).collect();
    if args.json {
        return print(&data::two(&found, &sides, &settings)?);
    }
    let text = sides.iter().map(|two| headed(&two[0], &show::two(&found, two, &settings)));
    print(&text.collect::<Vec<_>>().join("\n"))
}

/// A text about a side, behind the name of its stream.
fn headed(side: &Side, text: &str) -> String {
    side.stream.as_ref().map_or_else(String::new, |stream| format!("stream {stream}\n")) + text
}

/// The two points of `--vary`.
fn two_points(vary: &str) -> Result<[Vec<Setting>; 2]> {
    let points = axis::combinations("--vary", &[Axis::parse("--vary", vary)?])?;
    <[Vec<Setting>; 2]>::try_from(points).map_err(|points| {
        wrong(&format!(
            "--vary {vary}: why compares two values, and there are {}; KEY=A,B is needed, such as \
             nand.program_suspends=1,4, or use compare",
            points.len()
        ))
    })
}

/// Runs the workload twice and explains the chosen requests.
fn explain(args: &WhyArgs, own: OwnParts, found: &Found, point: &[Setting]) -> Result<Vec<Side>> {
    let inputs = points::inputs(&Bases::new(own), &args.input.selection(), "--vary", point)?;
    refuse_standard_input("why", &inputs)?;
    let settings = inputs.settings()?;
    inputs.changes().iter().for_each(|change| remark(&format!("note: {change}")));
    if let Some(what) = inputs.need(&settings, args.input.check).check()? {
        remark(&format!("note: {what}"));
    }
    explained(&inputs, &settings, found, args.input.check)
}

/// The same for resolved inputs.
fn explained(inputs: &Plan, settings: &Settings, found: &Found, check: bool) -> Result<Vec<Side>> {
    let progress = Progress::many("", "runs", 2);
    let clock = Shared::new(Vec::new());
    let observer = Box::new(Clock(clock.clone()));
    let observers: Vec<Box<dyn Observer>> = vec![observer];
    let options = Options { check, observers, progress: progress.of_run(), save: None };
    let outcome = simulate(inputs, settings, options)?;
    let phases = &outcome.report.phases;
    let phases = &phases[phases.len() - inputs.experiment().phases.len()..];
    let phases: Vec<_> = phases.iter().map(|phase| (phase.requests, phase.measured)).collect();
    let skip = settings.keys.metrics.skip_requests;
    let mut answered = clock.take();
    answered.sort_unstable_by_key(|request| request.order);
    let backs = Backs::new(&answered);
    let names = StreamNames::new(&phases, outcome.streams);
    if let Choice::Request(order) = found.choice {
        if answered.iter().all(|request| request.order != order) {
            let all = answered.len();
            return Err(wrong(&format!(
                "--request {order}: the workload has {all} requests, numbered from 0"
            )));
        }
    } else {
        leave_out(&mut answered, &phases, skip);
    }
    let mut groups: BTreeMap<Option<&str>, Vec<Answered>> = BTreeMap::new();
    if !found.by_stream {
        groups.insert(None, answered);
    } else if names.are_one() {
        return Err(wrong("--by stream: the workload has one stream; leave it out"));
    } else {
        for request in answered {
            groups.entry(Some(names.of(&request))).or_default().push(request);
        }
    }
    let mut observers: Vec<Box<dyn Observer>> = Vec::new();
    let mut found_of = Vec::new();
    for (stream, answered) in groups {
        let chosen = Chosen::new(found.choice, found.class, &answered, &backs);
        let (of, percentile) = (chosen.of, chosen.percentile);
        let sums = Shared::new(Sums::default());
        observers.push(Box::new(Follower::new(settings, chosen, sums.clone())));
        found_of.push((stream.map(str::to_string), of, percentile, sums));
    }
    let options = Options { observers, progress: progress.of_run(), ..Options::default() };
    simulate(inputs, settings, options)?;
    drop(progress);
    let side = |(stream, of, percentile, sums): (_, _, _, Shared<Sums>)| {
        let mut sums = sums.take();
        let slowest = sums.take_slowest();
        let (inputs, settings) = (inputs.clone(), *settings);
        Side { inputs, settings, sums, slowest, of, percentile, stream }
    };
    Ok(found_of.into_iter().map(side).collect())
}

/// The names of the streams of each phase, with how many requests have been issued at its end.
struct StreamNames(Vec<(u64, Vec<String>)>);

impl StreamNames {
    fn new(phases: &[(u64, bool)], streams: Vec<Vec<String>>) -> Self {
        let mut end = 0;
        let phases = phases.iter().zip(streams).map(|((requests, _), names)| {
            end += requests;
            (end, names)
        });
        Self(phases.collect())
    }

    /// Whether all requests are of one stream.
    fn are_one(&self) -> bool {
        let all: BTreeSet<&String> = self.0.iter().flat_map(|phase| &phase.1).collect();
        all.len() < 2
    }

    /// The stream of a request. One that is alone in its phase may have kept numbers of its own.
    fn of(&self, request: &Answered) -> &str {
        let phase = self.0.partition_point(|phase| phase.0 <= request.order);
        let names = self.0.get(phase).map_or(&[][..], |phase| &phase.1);
        let place = if names.len() == 1 { 0 } else { usize::from(request.stream) };
        names.get(place).map_or("", String::as_str)
    }
}

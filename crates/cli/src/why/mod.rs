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
use crate::error::wrong;
use crate::inputs::Inputs;
use crate::output::units::time;
use crate::output::{print, remark};
use crate::points::axis::{self, Axis, Setting};
use crate::points::{self, refuse_standard_input};
use crate::progress::Progress;
use crate::simulate::simulate;
use anyhow::Result;
use flashyard_core::request::RequestOp;
use flashyard_sim::config::Settings;
use flashyard_sim::own::OwnParts;
use follow::{Choice, Chosen, Clock, Explained, Follower};
use std::cell::RefCell;
use std::rc::Rc;
use sums::Sums;

/// What was asked for.
struct Found {
    choice: Choice,
    class: Option<RequestOp>,
}

/// A run that has been explained.
struct Side {
    inputs: Inputs,
    settings: Settings,
    sums: Sums,
    /// The slowest of them, the slowest first.
    slowest: Vec<Explained>,
    /// How many requests there were to choose from, and their percentile.
    of: u64,
    percentile: Option<u64>,
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
        Self { choice, class }
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
        let side = explain(args, own, &found, &[])?;
        let text = if args.json { data::one(&found, &side)? } else { show::one(&found, &side) };
        return print(&text);
    };
    let points = two_points(vary)?;
    let settings = points.each_ref().map(|point| axis::label(point));
    let [first, second] = points.each_ref().map(|point| explain(args, own, &found, point));
    let sides = [first?, second?];
    let text = if args.json {
        data::two(&found, &sides, &settings)?
    } else {
        show::two(&found, &sides, &settings)
    };
    print(&text)
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
fn explain(args: &WhyArgs, own: OwnParts, found: &Found, point: &[Setting]) -> Result<Side> {
    let inputs = points::inputs(own, &args.input, "--vary", point)?;
    refuse_standard_input("why", &inputs)?;
    let settings = inputs.settings()?;
    inputs.changes().iter().for_each(|change| remark(&format!("note: {change}")));
    if let Some(what) = inputs.need(&settings, args.input.check).check()? {
        remark(&format!("note: {what}"));
    }
    explained(inputs, &settings, found, args.input.check)
}

/// The same for resolved inputs.
fn explained(inputs: Inputs, settings: &Settings, found: &Found, check: bool) -> Result<Side> {
    let progress = Progress::many("", "runs", 2);
    let clock = Rc::new(RefCell::new(Vec::new()));
    let observer = Box::new(Clock(Rc::clone(&clock)));
    let outcome = simulate(&inputs, settings, check, vec![observer], progress.part(1.0), None)?;
    let phases = &outcome.report.phases;
    let phases = &phases[phases.len() - inputs.experiment().phases.len()..];
    let phases: Vec<_> = phases.iter().map(|phase| (phase.requests, phase.measured)).collect();
    let skip = settings.keys.metrics.skip_requests;
    let chosen = Chosen::new(found.choice, found.class, clock.take(), &phases, skip);
    if let (Choice::Request(order), true) = (found.choice, chosen.orders.is_empty()) {
        return Err(wrong(&format!(
            "--request {order}: the workload has {} requests, numbered from 0",
            chosen.of
        )));
    }
    let (of, percentile) = (chosen.of, chosen.percentile);
    let sums = Rc::new(RefCell::new(Sums::default()));
    let follower = Follower::new(settings, chosen, Rc::clone(&sums));
    let follower = Box::new(follower);
    simulate(&inputs, settings, false, vec![follower], progress.part(1.0), None)?;
    drop(progress);
    let mut sums = sums.take();
    let slowest = sums.take_slowest();
    Ok(Side { inputs, settings: *settings, sums, slowest, of, percentile })
}

//! What slow requests waited for.
//!
//! The workload runs twice. The first run finds the requests, the second one follows every command
//! set while one of them is under way. What is found adds up: the times of a request to its
//! latency, the times of all to the latency parts of the report.

pub mod blame;
pub mod blamed;
pub mod data;
pub mod follow;
pub mod history;
pub mod sums;
pub mod words;

use crate::error::wrong;
use crate::meter::Runs;
use crate::plan::Plan;
use crate::simulate::{Options, simulate};
use crate::units::{size, time};
use anyhow::Result;
use flashyard_core::request::RequestOp;
use flashyard_sim::config::Settings;
use flashyard_sim::observe::{Observer, Shared};
use flashyard_sim::report::{CopiedTo, HandleReport, Report};
use flashyard_sim::stream::StreamKeys;
use follow::{Answered, Backs, Choice, Chosen, Clock, Follower, leave_out};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use sums::{Explained, Sums};
use words::Words;

/// What was asked for.
#[derive(Clone, Copy, Debug)]
pub struct Question {
    /// Which requests.
    pub choice: Choice,
    /// Of which class; none: of all.
    pub class: Option<RequestOp>,
    /// Whether streams are told apart.
    pub by_stream: bool,
}

/// A run that has been explained.
#[derive(Debug)]
pub struct Explanation {
    /// What ran.
    pub inputs: Plan,
    /// The settings of its device.
    pub settings: Settings,
    /// What the requests waited for, summed.
    pub sums: Sums,
    /// The slowest of them, the slowest first.
    pub slowest: Vec<Explained>,
    /// How many requests there were to choose from.
    pub of: u64,
    /// Their percentile in nanoseconds, if one was asked for.
    pub percentile: Option<u64>,
    /// The stream of these requests, if streams are told apart.
    pub stream: Option<String>,
    /// Where garbage collection of the run put copies, if there are several placement handles.
    pub copies: Option<Vec<Copies>>,
}

/// Copies of garbage collection from blocks of one kind to open blocks of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copies {
    /// The placement handle whose blocks they were in; none where data of several lay together.
    pub from: Option<u64>,
    /// The handle whose blocks they went to; none where copies of all share them.
    pub to: Option<u64>,
    /// Bytes of copies.
    pub bytes: u64,
}

impl Copies {
    /// What a run has copied, the most first.
    fn of(report: &Report) -> Option<Vec<Self>> {
        let row = |row: &HandleReport| {
            let from = row.handle;
            let copies = |to: &CopiedTo| Self { from, to: to.handle, bytes: to.bytes };
            row.copied_to.iter().map(copies).collect::<Vec<_>>()
        };
        let mut all: Vec<Self> = report.placement.as_ref()?.iter().flat_map(row).collect();
        all.sort_by_key(|copies| Reverse(copies.bytes));
        Some(all)
    }

    /// In words.
    pub fn words(&self) -> String {
        let from = match self.from {
            Some(handle) => format!("copies of handle {handle}"),
            None => "copies out of shared units".to_string(),
        };
        let to = match (self.from, self.to) {
            (Some(from), Some(to)) if from == to => "stayed in units of it".to_string(),
            (_, Some(to)) => format!("went into units of handle {to}"),
            (None, None) => "stayed in shared units".to_string(),
            (Some(_), None) => "went into units that copies of all handles share".to_string(),
        };
        format!("{} of {from} {to}", size(self.bytes))
    }
}

impl Explanation {
    /// The words for it.
    pub fn words(&self) -> Words<'_> {
        let phases = self.inputs.experiment().phases.iter().filter(|phase| phase.keys.measure);
        let mut streams = phases.flat_map(|phase| &phase.streams);
        let is_limited = streams.any(|stream| {
            let StreamKeys { rate_limit_mb_per_s, rate_limit_iops, .. } = stream.keys;
            self.stream.as_ref().is_none_or(|name| *name == stream.name)
                && rate_limit_mb_per_s + rate_limit_iops > 0
        });
        Words { settings: &self.settings, is_limited }
    }

    /// The first finding as a sentence, behind what was asked for.
    pub fn finding(&self, question: &Question) -> String {
        let Some((key, ns)) = self.sums.rows().into_iter().next() else {
            return question.no_such_request();
        };
        let what = question.what(self);
        let all = self.sums.latency_ns;
        let share = if all > 0 { 100.0 * ns as f64 / all as f64 } else { 0.0 };
        format!("{what}: {share:.0} % {}", self.words().row(&key))
    }
}

impl Question {
    /// The chosen class in the plural.
    pub fn class_words(&self) -> &'static str {
        match self.class {
            None => "requests",
            Some(RequestOp::Read) => "reads",
            Some(RequestOp::Write) => "writes",
            Some(RequestOp::Trim) => "trims",
            Some(RequestOp::Flush) => "flushes",
        }
    }

    /// The figure that a comparison is about.
    pub fn figure_name(&self) -> String {
        match self.choice {
            Choice::Above(share) => format!("{} of {}", percentile(share), self.class_words()),
            Choice::Slowest(most) => format!("the mean of the slowest {most}"),
            Choice::Request(order) => format!("request {order}"),
        }
    }

    /// What is said in place of the figure where no request was chosen.
    pub fn no_such_request(&self) -> String {
        format!("{}: no such request was answered", self.figure_name())
    }

    /// That figure in nanoseconds.
    pub fn figure(&self, side: &Explanation) -> f64 {
        match self.choice {
            Choice::Above(_) => side.percentile.unwrap_or(0) as f64,
            Choice::Slowest(_) | Choice::Request(_) => side.sums.mean(side.sums.latency_ns),
        }
    }

    /// The figure with its value.
    pub fn what(&self, side: &Explanation) -> String {
        let value = time(self.figure(side));
        match self.choice {
            Choice::Above(_) => format!("{} is {value}; above it", self.figure_name()),
            Choice::Slowest(most) if side.sums.requests < most as u64 => {
                let (count, kind) = (side.sums.requests, self.class_words());
                format!("the mean of all {count} {kind} is {value}")
            }
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

/// Runs a plan twice, checked or not, and explains the requests that were asked for: of each stream
/// where streams are told apart. `progress` hears how far both runs are.
pub fn explain(
    inputs: &Plan,
    settings: &Settings,
    question: &Question,
    check: bool,
    progress: &dyn Runs,
) -> Result<Vec<Explanation>> {
    let clock = Shared::new(Vec::new());
    let observer = Box::new(Clock(clock.clone()));
    let observers: Vec<Box<dyn Observer>> = vec![observer];
    let meter = progress.begin(0);
    let options = Options { check, observers, progress: meter, ..Options::default() };
    let outcome = simulate(inputs, settings, options)?;
    let copies = Copies::of(&outcome.report);
    let phases = &outcome.report.phases;
    let phases = &phases[phases.len() - inputs.experiment().phases.len()..];
    let phases: Vec<_> = phases.iter().map(|phase| (phase.requests, phase.measured)).collect();
    let skip = settings.keys.metrics.skip_requests;
    let mut answered = clock.take();
    answered.sort_unstable_by_key(|request| request.order);
    let backs = Backs::new(&answered);
    let names = StreamNames::new(&phases, outcome.streams);
    if let Choice::Request(order) = question.choice {
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
    if !question.by_stream {
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
        let chosen = Chosen::new(question.choice, question.class, &answered, &backs);
        let (of, percentile) = (chosen.of, chosen.percentile);
        let sums = Shared::new(Sums::default());
        observers.push(Box::new(Follower::new(settings, chosen, sums.clone())));
        found_of.push((stream.map(str::to_string), of, percentile, sums));
    }
    let options = Options { observers, progress: progress.begin(0), ..Options::default() };
    simulate(inputs, settings, options)?;
    let side = |(stream, of, percentile, sums): (_, _, _, Shared<Sums>)| {
        let mut sums = sums.take();
        let slowest = sums.take_slowest();
        let (inputs, settings) = (inputs.clone(), settings.clone());
        let copies = copies.clone();
        Explanation { inputs, settings, sums, slowest, of, percentile, stream, copies }
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

//! The streams of a phase as a run has them: one for each that was planned; of files that threads
//! read, one for each thread; or, of a trace that is split by a column, one for each value of it.
//! All parts of a split trace keep the clock and the places of the whole: each is read from the
//! start and leaves out the requests of the others.

use crate::error::{workload_error, wrong};
use crate::experiment::{Origin, PhasePlan, Source, StreamPlan};
use anyhow::Result;
use flashyard_sim::config::Settings;
use flashyard_sim::stream::StreamKeys;
use flashyard_workload::files::Files;
use flashyard_workload::input::Input;
use flashyard_workload::trace::{TraceStream, find_streams};

/// Streams of a split trace that a remark lists.
const LISTED: usize = 8;

/// An opened stream.
#[derive(Debug)]
pub struct Lane<S> {
    /// What results call it.
    pub name: String,
    /// When its requests are issued.
    pub keys: StreamKeys,
    /// The place of its plan among those of the phase.
    pub plan: usize,
    /// Where its requests come from.
    pub source: S,
}

/// Opens a planned stream. `place` is that of the plan in its phase; the second result says how a
/// trace was split.
pub fn open(
    phase: &PhasePlan,
    place: usize,
    seed: u64,
    settings: &Settings,
) -> Result<(Vec<Lane<Source>>, Option<String>)> {
    let plan = &phase.streams[place];
    let capacity_sectors = settings.capacity_sectors();
    let lane = |name: &str, source: Source| {
        let name = name.to_string();
        // Random times between requests follow the seed of the run, as drawn requests do.
        let gap_seed = plan.keys.gap_seed.wrapping_add(seed);
        Lane { name, keys: StreamKeys { gap_seed, ..plan.keys }, plan: place, source }
    };
    if plan.origin == Origin::Files && plan.files.threads > 1 {
        let threads = Files::threads(&plan.files, seed, Some(capacity_sectors));
        let threads = threads.map_err(|error| workload_error(&error))?;
        let named = |(thread, files)| {
            lane(&format!("{}-{thread}", plan.name), Source::Other(Box::new(files)))
        };
        return Ok(((1..).zip(threads).map(named).collect(), None));
    }
    let Some((path, column)) = split(plan) else {
        let source = plan.open(seed, Some(capacity_sectors), Some(settings))?;
        return Ok((vec![lane(&plan.name, source)], None));
    };
    let options = plan.trace_options(Some(capacity_sectors));
    let streams = find_streams(Input::path(path), &plan.trace, &options);
    let streams = streams.map_err(|error| workload_error(&error))?;
    let mut lanes = Vec::with_capacity(streams.len());
    for stream in &streams {
        let mut source = plan.open(seed, Some(capacity_sectors), Some(settings))?;
        if let Source::Trace(trace) = &mut source {
            trace.keep_stream(stream.number);
        }
        let alone = phase.streams.len() == 1;
        let name =
            if alone { stream.name.clone() } else { format!("{}-{}", plan.name, stream.name) };
        lanes.push(lane(&name, source));
    }
    Ok((lanes, Some(remark(column, &streams))))
}

/// The path of a trace that is split, and the column.
fn split(plan: &StreamPlan) -> Option<(&str, &str)> {
    match &plan.origin {
        Origin::Trace { path, split: Some(column), .. } => Some((path, column)),
        _ => None,
    }
}

fn remark(column: &str, streams: &[TraceStream]) -> String {
    let shown = streams.iter().take(LISTED);
    let mut parts: Vec<String> =
        shown.map(|stream| format!("{} of {}", stream.requests, stream.name)).collect();
    if streams.len() > LISTED {
        let rest: u64 = streams[LISTED..].iter().map(|stream| stream.requests).sum();
        parts.push(format!("{rest} of {} more", streams.len() - LISTED));
    }
    let count = streams.len();
    format!("split by {column} into {count} streams, requests: {}", parts.join(", "))
}

/// Reports streams of one name, which results could not tell apart.
pub fn check_names<S>(lanes: &[Lane<S>]) -> Result<()> {
    for (place, lane) in lanes.iter().enumerate() {
        if lanes[..place].iter().any(|other| other.name == lane.name) {
            let what = format!("there are two streams {}; give [[stream]] another name", lane.name);
            return Err(wrong(&what));
        }
    }
    Ok(())
}

//! Runs of points: what they share is built once, and as many as fit run side by side.

use super::states::{self, Shared};
use super::{axis::Setting, pool};
use crate::inputs::Inputs;
use crate::memory::Room;
use crate::progress::{Part, Progress};
use crate::simulate::{Outcome, simulate};
use anyhow::{Result, anyhow};
use flashyard_sim::config::Settings;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// One run of a point, with one seed.
#[derive(Debug)]
pub(crate) struct Run {
    /// What its point sets.
    pub(crate) point: Vec<Setting>,
    pub(crate) inputs: Inputs,
    pub(crate) settings: Settings,
    /// The workload that its device has run before; nothing of it counts.
    pub(crate) prepare: Option<Inputs>,
}

/// A run as a job: with the state that it shares.
struct Job<'a> {
    place: usize,
    run: &'a Run,
    shared: Option<Arc<Shared>>,
}

/// Runs all, each a piece of `progress`. `done` takes what was found of the run at a place, and
/// returns whether to go on.
pub(crate) fn all(
    runs: &[&Run],
    check: bool,
    progress: &Progress,
    mut done: impl FnMut(usize, Result<Outcome>) -> bool + Send,
) {
    let room = room(runs, check);
    let jobs = jobs(runs, room);
    let bytes = |job: &Job<'_>| {
        let device = job.run.inputs.need(&job.run.settings, check).bytes();
        // The image that it starts from is at most about as large as the device.
        let image = job.run.settings.footprint(false).bytes();
        device + if job.shared.is_some() { image } else { 0 }
    };
    let run = |job: &Job<'_>| {
        let found = catch_unwind(AssertUnwindSafe(|| one(job, check, progress.part(1.0))));
        if let Some(shared) = &job.shared {
            shared.leave();
        }
        found.unwrap_or_else(|panic| Err(anyhow!("the simulator failed: {}", said(&*panic))))
    };
    pool::run(&jobs, room, bytes, run, |place, found| done(jobs[place].place, found));
}

/// The room for the devices of all runs.
fn room(runs: &[&Run], check: bool) -> Room {
    runs.first().map_or_else(Room::default, |run| run.inputs.need(&run.settings, check).room())
}

/// Runs that share a state one after the other, so that it is not kept for longer than needed.
fn jobs<'a>(runs: &[&'a Run], room: Room) -> Vec<Job<'a>> {
    let mut states: BTreeMap<[u8; 32], (usize, Vec<usize>)> = BTreeMap::new();
    let mut groups: Vec<(usize, Vec<usize>)> = Vec::new();
    for (place, run) in runs.iter().enumerate() {
        match states::key(&run.inputs, &run.settings, run.prepare.as_ref(), room) {
            Some(key) => states.entry(key).or_insert((place, Vec::new())).1.push(place),
            None => groups.push((place, vec![place])),
        }
    }
    groups.extend(states.into_values());
    groups.sort();
    let of = |(_, places): (usize, Vec<usize>)| {
        let prepared = runs[places[0]].prepare.is_some();
        let shared = (places.len() > 1 || prepared).then(|| Shared::of(places.len()));
        let job = move |place: usize| Job { place, run: runs[place], shared: shared.clone() };
        places.into_iter().map(job).collect::<Vec<_>>()
    };
    groups.into_iter().flat_map(of).collect()
}

fn one(job: &Job<'_>, check: bool, part: Part) -> Result<Outcome> {
    let Run { inputs, settings, prepare, .. } = job.run;
    let image = match (&job.shared, prepare) {
        (Some(shared), prepare) => Some(shared.get(settings, prepare.as_ref())?),
        (None, Some(prepare)) => Some(Arc::new(crate::simulate::image(settings, Some(prepare))?)),
        (None, None) => None,
    };
    let mut inputs = inputs.clone();
    inputs.image = image;
    simulate(&inputs, settings, check, Vec::new(), part, None)
}

/// What a panic said.
fn said(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

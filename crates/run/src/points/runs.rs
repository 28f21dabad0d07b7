//! Runs of points. A state that runs share is built once, and as many runs as fit in memory go side
//! by side.

use super::states::{self, Shared};
use super::{axis::Setting, made, pool};
use crate::error::{Stopped, panic_text};
use crate::memory::Room;
use crate::meter::{Listener, Runs};
use crate::plan::Plan;
use crate::simulate::{Options, Outcome, simulate};
use anyhow::{Error, Result, anyhow};
use flashyard_sim::config::Settings;
use std::any::Any;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// One run of a point, with one seed.
#[derive(Clone, Debug)]
pub struct Run {
    /// What its point sets.
    pub point: Vec<Setting>,
    /// Its device and workload.
    pub inputs: Plan,
    /// The settings of the device.
    pub settings: Settings,
    /// The workload that its device has run before; nothing of it counts.
    pub prepare: Option<Plan>,
    /// How many cuts of it are made (docs/POWER.md).
    pub cuts: u32,
}

impl Run {
    /// The room for devices like that of this run.
    pub fn room(&self, check: bool) -> Room {
        self.inputs.need(&self.settings, check).room()
    }

    /// Its outline, if there is so much room.
    pub fn outline(&self, room: Room, check: bool) -> Outline {
        Outline {
            state: states::key(&self.inputs, &self.settings, self.prepare.as_ref(), room),
            prepared: self.prepare.is_some(),
            // A copy of a device that is cut, and the one that begins again.
            device: self.inputs.need(&self.settings, check).bytes()
                * if self.cuts > 0 { 3 } else { 1 },
            image: self.settings.footprint(false).bytes(),
        }
    }
}

/// What the order of runs and their room depend on; the runs of a point have one outline.
#[derive(Clone, Copy, Debug)]
pub struct Outline {
    /// Runs of the same key share a state.
    state: Option<[u8; 32]>,
    prepared: bool,
    /// Bytes of its device.
    device: u64,
    /// Bytes of the image that it starts from, at most about.
    image: u64,
}

/// A run as a job: with the state that it shares.
struct Job {
    place: usize,
    shared: Option<Arc<Shared>>,
}

/// Runs all; `progress` hears how far they are. `done` takes what was found of the run at a place,
/// and returns whether to go on.
pub fn each(
    runs: &[Run],
    check: bool,
    progress: &dyn Runs,
    mut done: impl FnMut(usize, Result<Outcome>) -> bool + Send,
) {
    let room = runs.first().map_or_else(Room::default, |run| run.room(check));
    let outlines: Vec<Outline> = runs.iter().map(|run| run.outline(room, check)).collect();
    let make = |place: usize| Ok(Cow::Borrowed(&runs[place]));
    all(&outlines, room, check, progress, make, |place, found| {
        done(place, found.map(|(_, outcome)| outcome))
    });
}

/// The same of runs that are made when their turn comes, by their places. They have these outlines
/// and this room.
pub fn all<'a>(
    outlines: &[Outline],
    room: Room,
    check: bool,
    progress: &dyn Runs,
    make: impl Fn(usize) -> Result<Cow<'a, Run>> + Sync,
    mut done: impl FnMut(usize, Result<(Cow<'a, Run>, Outcome)>) -> bool + Send,
) {
    let jobs = jobs(outlines);
    let bytes = |job: &Job| {
        let outline = &outlines[job.place];
        outline.device + if job.shared.is_some() { outline.image } else { 0 }
    };
    let run = |job: &Job| {
        let one = || {
            let run = make(job.place)?;
            let outcome = one(&run, job.shared.as_deref(), check, progress.begin(job.place))?;
            Ok((run, outcome))
        };
        let found = catch_unwind(AssertUnwindSafe(one));
        if let Some(shared) = &job.shared {
            shared.leave();
        }
        found.unwrap_or_else(|panic| Err(failure(&*panic)))
    };
    pool::run(&jobs, room, bytes, run, |place, found| done(jobs[place].place, found));
}

/// What ended a run that has found nothing.
pub fn failure(panic: &(dyn Any + Send)) -> Error {
    match panic.downcast_ref::<Stopped>() {
        Some(stopped) => Error::new(*stopped),
        None => anyhow!(panic_text(panic)),
    }
}

/// What is found of so many runs, in their order, or the first failure in this order with the place
/// of its run. `start` runs them, and hands over what it finds of the run at a place; after a
/// failure it stops.
pub fn in_order<T: Send>(
    count: usize,
    start: impl FnOnce(&mut (dyn FnMut(usize, Result<T>) -> bool + Send)),
) -> Result<Vec<T>, (usize, Error)> {
    let mut all: Vec<Option<Result<T>>> = (0..count).map(|_| None).collect();
    start(&mut |place, found| {
        let go_on = found.is_ok();
        all[place] = Some(found);
        go_on
    });
    let failed = all.iter().position(|found| matches!(found, Some(Err(_))));
    if let Some((place, Some(Err(error)))) = failed.map(|place| (place, all.swap_remove(place))) {
        return Err((place, error));
    }
    Ok(all.into_iter().flatten().flatten().collect())
}

/// Makes one job of the runs that share a state, so that the state is not kept for longer than
/// needed.
fn jobs(outlines: &[Outline]) -> Vec<Job> {
    let mut states: BTreeMap<[u8; 32], (usize, Vec<usize>)> = BTreeMap::new();
    let mut groups: Vec<(usize, Vec<usize>)> = Vec::new();
    for (place, outline) in outlines.iter().enumerate() {
        match outline.state {
            Some(key) => states.entry(key).or_insert((place, Vec::new())).1.push(place),
            None => groups.push((place, vec![place])),
        }
    }
    groups.extend(states.into_values());
    groups.sort();
    let of = |(_, places): (usize, Vec<usize>)| {
        let prepared = outlines[places[0]].prepared;
        let shared = (places.len() > 1 || prepared).then(|| Shared::of(places.len()));
        places.into_iter().map(move |place| Job { place, shared: shared.clone() })
    };
    groups.into_iter().flat_map(of).collect()
}

fn one(
    run: &Run,
    shared: Option<&Shared>,
    check: bool,
    progress: Box<dyn Listener>,
) -> Result<Outcome> {
    let Run { inputs, settings, prepare, .. } = run;
    let image = match (shared, prepare) {
        (Some(shared), prepare) => Some(shared.get(settings, prepare.as_ref())?),
        (None, Some(prepare)) => Some(Arc::new(crate::simulate::image(settings, Some(prepare))?)),
        (None, None) => None,
    };
    let mut inputs = inputs.clone();
    inputs.image = image;
    let mut outcome =
        simulate(&inputs, settings, Options { check, progress, ..Options::default() })?;
    if run.cuts > 0 {
        let span_ns = outcome.report.throughput.makespan_ns;
        outcome.made = Some(made::make(&inputs, settings, run.cuts, span_ns)?);
    }
    Ok(outcome)
}

//! Sweeps: every point of a grid or a list, or the value of a key that meets a goal.
//!
//! `file` reads the sweep file, `plan` makes runs of points, `varied` knows in which keys they
//! differ, `journal` keeps what is finished and `flush` brings it to the disk, `shard` divides runs
//! among processes, `goal` searches.

pub mod file;
mod flush;
pub mod goal;
pub mod journal;
pub mod plan;
pub mod shard;
pub mod varied;

use crate::error::Stopped;
use crate::headline;
use crate::meter::Runs;
use crate::points::runs::{self, Run};
use crate::simulate::Outcome;
use crate::verdict;
use anyhow::Result;
use flashyard_sim::report::Report;
use journal::{Found, Journal, Place};
use plan::{Name, Planned, Planner};
use shard::Shard;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// Runs points, and keeps their results.
#[derive(Debug)]
pub struct Runner {
    journal: Journal,
    /// Runs that this machine has no memory for. Another one may have it, so the journal does not
    /// have them.
    refused: BTreeMap<Name, Found>,
    check: bool,
    /// The only runs that are done.
    shard: Option<Shard>,
}

impl Runner {
    /// Runs that are kept in the journal at a place, checked or not; of a shard, only its own ones
    /// are done.
    ///
    /// Errors: those of [`Journal::open`].
    pub fn open(place: &Place, check: bool, shard: Option<Shard>) -> Result<Self> {
        let (journal, refused) = (Journal::open(place)?, BTreeMap::new());
        Ok(Self { journal, refused, check, shard })
    }

    /// The same without a journal that is written: what runs from now on is kept nowhere.
    ///
    /// Errors: those of [`Journal::look`].
    pub fn look(place: &Place, check: bool) -> Result<Self> {
        let (journal, refused) = (Journal::look(place)?, BTreeMap::new());
        Ok(Self { journal, refused, check, shard: None })
    }

    /// Whether no run of a point is left to be done: each is finished, or this machine cannot run
    /// it.
    pub fn has(&self, point: &Planned) -> bool {
        let runs = point.runs.as_ref();
        let cannot = runs.is_ok_and(|runs| runs.refused.is_some());
        cannot || point.names().iter().all(|name| self.found(name).is_some())
    }

    /// What is finished.
    pub const fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Whether a run is one that is done here.
    pub fn is_asked(&self, name: &Name) -> bool {
        self.shard.is_none_or(|shard| shard.has(name))
    }

    /// Brings what is finished to the disk; nothing is run any more.
    ///
    /// Errors: those of the file system.
    pub fn finish(&mut self) -> Result<()> {
        self.journal.finish()
    }

    /// Runs what is not in the journal.
    pub fn run(
        &mut self,
        planner: &Planner<'_>,
        points: &[&Planned],
        progress: &dyn Runs,
    ) -> Result<()> {
        let mut wanted = BTreeSet::new();
        let (mut pending, mut outlines) = (Vec::new(), Vec::new());
        for (point, runs) in points.iter().filter_map(|one| Some((one, one.runs.as_ref().ok()?))) {
            for (seed, name) in runs.names.iter().enumerate() {
                if !self.is_asked(name) {
                    continue;
                }
                if self.found(name).is_some() || !wanted.insert(name) {
                    progress.skip();
                } else if runs.refused.is_some() {
                    let found = Found { failed: runs.refused.clone(), ..Found::default() };
                    self.refused.insert(*name, found);
                    progress.skip();
                } else {
                    pending.push((point, seed, name));
                    outlines.push(runs.outline);
                }
            }
        }
        let (room, check) = (planner.room(), self.check);
        let make = |place: usize| {
            let (point, seed, _) = pending[place];
            planner.run(&point.point, seed).map(Cow::Owned)
        };
        let journal = &mut self.journal;
        let mut written = Ok(());
        runs::all(&outlines, room, check, progress, make, |place, outcome| {
            written = match outcome {
                // It is done again.
                Err(error) if error.is::<Stopped>() => Err(error),
                outcome => journal.add(pending[place].2, found(outcome)),
            };
            written.is_ok()
        });
        written
    }

    /// Returns the results of a run, if it is finished.
    pub fn found(&self, name: &Name) -> Option<&Found> {
        self.journal.found(name).or_else(|| self.refused.get(name))
    }
}

/// What the journal keeps of a run.
fn found(outcome: Result<(Cow<'_, Run>, Outcome)>) -> Found {
    match outcome {
        Err(error) => Found { failed: Some(format!("{error:#}")), ..Found::default() },
        Ok((run, Outcome { report, provenance, .. })) => Found {
            values: headline::ALL.iter().map(|headline| headline.value(&report)).collect(),
            streams: streams(&report),
            warnings: verdict::warnings_apart(&run.inputs, &report),
            workload: provenance.workload_sha256,
            failed: None,
        },
    }
}

/// What the journal keeps of each of several streams.
fn streams(report: &Report) -> BTreeMap<String, Vec<Option<f64>>> {
    let figures = |stream| headline::of_streams().map(|one| one.of_stream(stream)).collect();
    report.streams.iter().map(|(name, stream)| (name.clone(), figures(stream))).collect()
}

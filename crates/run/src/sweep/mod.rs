//! Sweeps: every point of a grid or a list, or the value of a key that meets a goal.
//!
//! `file` reads the sweep file, `plan` makes runs of points, `varied` knows in which keys they
//! differ, `journal` keeps what is finished, `goal` searches.

pub mod file;
pub mod goal;
pub mod journal;
pub mod plan;
pub mod varied;

use crate::error::Stopped;
use crate::headline;
use crate::meter::Runs;
use crate::points::runs::{self, Run};
use crate::simulate::Outcome;
use crate::verdict;
use anyhow::Result;
use journal::{Found, Journal};
use plan::{Name, Planned, Planner};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Runs points, and keeps their results.
#[derive(Debug)]
pub struct Runner {
    journal: Journal,
    /// Runs that this machine has no memory for. Another one may have it, so the journal does not
    /// have them.
    refused: BTreeMap<Name, Found>,
    check: bool,
}

impl Runner {
    /// Runs that are kept in the journal at `path`, checked or not.
    pub fn open(path: &Path, check: bool) -> Result<Self> {
        Ok(Self { journal: Journal::open(path)?, refused: BTreeMap::new(), check })
    }

    /// What is finished.
    pub const fn journal(&self) -> &Journal {
        &self.journal
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
            warnings: verdict::warnings(&run.inputs, &report),
            workload: provenance.workload_sha256,
            failed: None,
        },
    }
}

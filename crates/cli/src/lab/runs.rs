//! Runs of a checker, side by side.

use crate::progress::Progress;
use anyhow::{Result, anyhow};
use flashyard_run::plan::Plan;
use flashyard_run::points::runs::{self, Run};
use flashyard_sim::report::Report;

/// Runs all; what was found of each. With `check` every rule of the devices is checked.
pub(super) fn all(inputs: Vec<Plan>, check: bool) -> Result<Vec<Result<Report>>> {
    let run = |inputs: Plan| {
        let settings = inputs.settings()?;
        inputs.need(&settings, check).check()?;
        Ok(Run { point: Vec::new(), inputs, settings, prepare: None })
    };
    let all = inputs.into_iter().map(run).collect::<Result<Vec<Run>>>()?;
    let progress = Progress::many("", "runs", all.len() as u64);
    let mut found: Vec<Result<Report>> =
        all.iter().map(|_| Err(anyhow!("it was not run"))).collect();
    runs::each(&all, check, &progress, |place, outcome| {
        found[place] = outcome.map(|outcome| outcome.report);
        true
    });
    Ok(found)
}

/// The write amplification of a run in which the host wrote.
pub(super) fn amplification(report: &Report) -> f64 {
    report.flash.write_amplification.unwrap_or(f64::NAN)
}

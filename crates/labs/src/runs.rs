//! Runs of a checker, side by side.

use anyhow::{Result, anyhow};
use flashyard_run::meter::Watch;
use flashyard_run::plan::Plan;
use flashyard_run::points::runs::{self, Run};
use flashyard_sim::report::Report;

/// Runs all; what was found of each. With `check` every rule of the devices is checked.
pub(crate) fn all(inputs: Vec<Plan>, check: bool, watch: Watch<'_>) -> Result<Vec<Result<Report>>> {
    let run = |inputs: Plan| {
        let settings = inputs.settings()?;
        inputs.need(&settings, check).check()?;
        Ok(Run { point: Vec::new(), inputs, settings, prepare: None, cuts: 0 })
    };
    let all = inputs.into_iter().map(run).collect::<Result<Vec<Run>>>()?;
    let progress = watch("", "runs", vec![1.0; all.len()]);
    let mut found: Vec<Result<Report>> =
        all.iter().map(|_| Err(anyhow!("it was not run"))).collect();
    runs::each(&all, check, &*progress, |place, outcome| {
        found[place] = outcome.map(|outcome| outcome.report);
        true
    });
    Ok(found)
}

/// The write amplification of a run in which the host wrote.
pub(crate) fn amplification(report: &Report) -> f64 {
    report.flash.write_amplification.unwrap_or(f64::NAN)
}

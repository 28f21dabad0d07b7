//! Published systems, our results beside theirs: what `flashyard reproduce` does, without its
//! screen. [`reproduce`] runs a study and judges its statements, [`twins`] compares recorded traces
//! with workloads that are fitted to them.
//!
//! A study is an experiment file; docs/STUDIES.md describes it, and `list` has those that come with
//! the program. The order of the modules: `schema` (what a file says), `tokens`, `expr` (its
//! expressions) and `names` (what they name); `asked`, `workloads`, `study` (what will be run),
//! `runs` (what was found) and `metrics` (of it); `sample`, `eval` and `judge` (what it says);
//! `examples`, `tables`, `statements` and `matches` (the answers), `results` (all of them), `show`
//! (figures as text). `sizes` is a formula of the energy study, `faults` a table of planted faults,
//! `twins` an option of `drs`.

mod asked;
mod device;
mod eval;
mod examples;
mod expr;
mod faults;
mod judge;
mod list;
mod matches;
mod metrics;
mod names;
mod results;
mod runs;
mod sample;
mod schema;
mod show;
mod sizes;
mod statements;
mod study;
mod tables;
#[cfg(test)]
mod tests;
mod tokens;
mod twins;
mod workloads;

use anyhow::Result;
pub use asked::Asked;
pub use examples::{Checked, Tried};
pub use faults::Faults;
use flashyard_run::error::{InputError, wrong};
use flashyard_run::meter::Watch;
use flashyard_sim::own::OwnParts;
pub use list::STUDIES;
pub use matches::Number;
pub use metrics::{CUTS, CutMetric, METRICS, Metric};
use results::Compiled;
pub use results::Results;
pub use schema::{Erratum, Form};
pub use sizes::SizeTables;
pub use statements::{Answer, Part, Verdict, counts};
use study::Study;
pub use tables::{Cell, Filled, Line};
pub use twins::Twins;

/// Runs the study of an experiment file, of which `name` is the name and `text` the contents.
pub fn reproduce(
    name: &str,
    text: &str,
    asked: &Asked,
    own: &OwnParts,
    watch: Watch<'_>,
) -> Result<Results> {
    let study = input(name, Study::new(name, text, asked, own))?;
    let compiled = input(name, Compiled::new(&study))?;
    Results::new(&study, &compiled, asked, watch)
}

/// Ranks the subjects of a study by its traces and by so many twins of each.
pub fn twins(
    name: &str,
    text: &str,
    asked: &Asked,
    own: &OwnParts,
    count: u64,
    watch: Watch<'_>,
) -> Result<Twins> {
    let study = input(name, Study::new(name, text, asked, own))?;
    twins::run(&study, asked, count, watch)
}

/// What is wrong with an experiment file is wrong input.
fn input<T>(file: &str, result: Result<T>) -> Result<T> {
    result.map_err(|error| match error.downcast::<InputError>() {
        Ok(error) => error.into(),
        Err(error) => wrong(&format!("{file}: {error:#}")),
    })
}

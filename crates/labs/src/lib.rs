//! Exercises for students, and their checkers: what `flashyard lab` does, without its screen and
//! without a file written. A checker stores no answer: it finds the right one by simulation, each
//! time.
//!
//! `lab` lists the labs, `template` fills templates, `answer` reads answers, `runs` runs, `verdict`
//! says which criteria are met. `rule`, `tail` and `spare` are the labs, whose sheets and templates
//! are in `crates/labs/labs`.

mod answer;
mod lab;
mod rule;
mod runs;
mod spare;
mod tail;
mod template;
mod verdict;

use anyhow::Result;
use flashyard_run::error::wrong;
use flashyard_run::meter::Watch;
use flashyard_sim::own::OwnParts;
pub use lab::{Check, Lab};
pub use template::Written;
pub use verdict::Verdict;

/// The files of a lab for a seed, and what to do with them.
pub fn files(lab: Lab, seed: u64) -> (Vec<Written>, String) {
    match lab {
        Lab::GcRule => rule::files(seed),
        Lab::SlowTail => tail::files(seed),
        Lab::SpareSpace => spare::files(seed),
    }
}

/// Judges an answer by running the simulator.
pub fn check(check: &Check<'_>, own: &OwnParts, watch: Watch<'_>) -> Result<Verdict> {
    if !check.set.is_empty() && check.lab != Lab::GcRule {
        let what = "--set: it sets keys of a rule of lab gc-rule; write the change into the file";
        return Err(wrong(what));
    }
    match check.lab {
        Lab::GcRule => rule::check(check, own, watch),
        Lab::SlowTail => tail::check(check, own, watch),
        Lab::SpareSpace => spare::check(check, own, watch),
    }
}

//! `flashyard lab`: exercises for students, and their checkers. A checker stores no answer: it
//! finds the right one by simulation, each time.
//!
//! `sheet` prints sheets, `template` fills templates, `files` writes them, `answer` reads answers,
//! `runs` runs, `verdict` says which criteria are met. `rule`, `tail` and `spare` are the labs.

mod answer;
mod files;
mod rule;
mod runs;
mod sheet;
mod spare;
mod tail;
mod template;
mod verdict;

use crate::args::lab::{CheckArgs, Lab, LabCommand};
use crate::output::print;
use anyhow::Result;
use flashyard_run::error::wrong;
use flashyard_sim::own::OwnParts;

impl Lab {
    /// All of them, in the order of their numbers.
    const ALL: [Self; 3] = [Self::GcRule, Self::SlowTail, Self::SpareSpace];

    /// Its name.
    const fn name(self) -> &'static str {
        match self {
            Self::GcRule => "gc-rule",
            Self::SlowTail => "slow-tail",
            Self::SpareSpace => "spare-space",
        }
    }
}

/// Runs `flashyard lab`.
pub(crate) fn run(command: &LabCommand, own: &OwnParts) -> Result<()> {
    match command {
        LabCommand::List => print(&sheet::list()),
        LabCommand::Show { lab } => print(&sheet::text(*lab)),
        LabCommand::Start(args) => files::start(args),
        LabCommand::Check(args) => check(args, own),
    }
}

fn check(args: &CheckArgs, own: &OwnParts) -> Result<()> {
    if !args.set.is_empty() && args.lab != Lab::GcRule {
        let what = "--set: it sets keys of a rule of lab gc-rule; write the change into the file";
        return Err(wrong(what));
    }
    match args.lab {
        Lab::GcRule => rule::check(args, own),
        Lab::SlowTail => tail::check(args, own),
        Lab::SpareSpace => spare::check(args, own),
    }
}

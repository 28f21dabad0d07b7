//! Options of a sweep that many processes share.

use clap::Args;
use flashyard_run::sweep::shard::Shard;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct ShardArgs {
    /// A folder of journals in place of the journal beside the result; it is created. What any of
    /// its journals has is not run again; further runs are added to the sweep's own.
    #[arg(long, value_name = "DIR")]
    pub(crate) journal: Option<PathBuf>,
    /// Does only the runs of part I of N, such as 3/64, and writes no table. They are added to a
    /// journal of this part in the folder of --journal. Parts may run at once, on many machines;
    /// the same command without --shard then writes the table of all. auto: the part is the task of
    /// a job array of Slurm or Grid Engine.
    #[arg(long, value_name = "I/N", value_parser = part, requires = "journal",
        conflicts_with_all = ["out", "csv", "runs", "report"])]
    pub(crate) shard: Option<Part>,
    /// Prints a script that hands the sweep to Slurm, and runs nothing: an array of N tasks, and a
    /// job that writes the table after them. Default of N: the number of runs, at most 64.
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true,
        default_missing_value = "", value_parser = tasks,
        requires = "journal", conflicts_with_all = ["shard", "dry_run"])]
    pub(crate) slurm: Option<Tasks>,
}

/// Which part of a sweep is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Part {
    Auto,
    Of(Shard),
}

/// How many tasks share a sweep.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Tasks {
    /// As many as there are runs, up to some number.
    AsRuns,
    Count(u32),
}

impl ShardArgs {
    /// The shard that is asked for, if one is.
    pub(crate) fn shard(&self) -> Result<Option<Shard>, String> {
        match self.shard {
            None => Ok(None),
            Some(Part::Of(shard)) => Ok(Some(shard)),
            Some(Part::Auto) => Shard::auto(|name| std::env::var(name).ok()).map(Some),
        }
    }
}

fn part(text: &str) -> Result<Part, String> {
    if text == "auto" { Ok(Part::Auto) } else { Shard::parse(text).map(Part::Of) }
}

fn tasks(text: &str) -> Result<Tasks, String> {
    let most = Shard::MOST;
    match text.parse() {
        _ if text.is_empty() => Ok(Tasks::AsRuns),
        Ok(count) if (1..=most).contains(&count) => Ok(Tasks::Count(count)),
        _ => Err(format!("a number of tasks from 1 to {most} is needed")),
    }
}

//! A sweep that many processes share: what one of them says at its end, and the script that starts
//! them on the machines of a batch system.

use super::job::{Job, stem};
use crate::args::shards::Tasks;
use crate::args::{self, SweepArgs};
use crate::output::{print, remark};
use anyhow::{Context, Result, anyhow};
use flashyard_run::points::axis::label;
use flashyard_run::sweep::Runner;
use flashyard_run::sweep::plan::{Planned, Planner};
use flashyard_run::sweep::shard::Shard;
use std::ffi::OsString;
use std::path::Path;

/// Says what the runs of a shard came to. Their figures are in the journal; a point whose device is
/// impossible is for the table.
pub(super) fn finish(
    job: &Job<'_>,
    shard: Shard,
    runner: &Runner,
    planner: &Planner<'_>,
    planned: &[Planned],
) -> Result<()> {
    let (mut runs, mut failed) = (0, 0);
    for (number, point) in (1..).zip(planned) {
        let Ok(its) = &point.runs else { continue };
        let names = its.names.iter().enumerate();
        for (place, name) in names.filter(|(_, name)| runner.is_asked(name)) {
            runs += 1;
            let found = runner.found(name).expect("all runs of the shard are done");
            let Some(why) = &found.failed else { continue };
            failed += 1;
            let seed = planner.seed(its, place);
            let seed = seed.map_or_else(String::new, |seed| format!(" seed {seed}"));
            let settings = label(&point.point);
            let colon = if settings.is_empty() { "" } else { ": " };
            remark(&format!("point {number}{seed}: {settings}{colon}{why}"));
        }
    }
    let folder = job.args.shards.journal.as_deref().expect("the command line requires it");
    let (file, folder) = (&job.args.file, folder.display());
    print(&format!("shard {shard} of {file}: {runs} runs are done and kept in {folder}\n"))?;
    match failed {
        0 => Ok(()),
        failed => Err(anyhow!("{failed} of {runs} runs of shard {shard} failed")),
    }
}

/// Tasks of an array if none are named, at most.
const TASKS: usize = 64;

/// Prints a script that hands the sweep to Slurm. It does not depend on the folder in which it is
/// started, and takes further options of `sbatch`.
pub(super) fn slurm(job: &Job<'_>, tasks: Tasks, runs: usize) -> Result<()> {
    let tasks = match tasks {
        Tasks::AsRuns => runs.clamp(1, TASKS),
        Tasks::Count(tasks) => tasks as usize,
    };
    let folder = std::env::current_dir().context("the current folder cannot be found")?;
    let journal = job.args.shards.journal.as_deref().expect("the command line requires it");
    let name = quoted(&stem(&job.args.file));
    let command = command(&args::start()?, job.args, journal);
    let (of_table, folder) = (of_table(job.args), quoted(&folder.to_string_lossy()));
    let journal = journal.display();
    print(&format!(
        r#"#!/bin/sh
# Hands a sweep of {runs} runs to Slurm: an array of {tasks} tasks, each a shard of the sweep, and a
# job behind them that writes the table. Options are those of sbatch for both:
#
#     sh THIS_FILE --partition=short --time=02:00:00 --cpus-per-task=4 --mem=8G
#
# After a stop, or when the sweep was edited: the same again. Finished runs are kept in the folder
# {journal}, and only those that are missing are run.
set -eu
cd {folder}

tasks=$(sbatch --parsable --job-name={name} --array=1-{tasks} "$@" <<'END'
#!/bin/sh
export RAYON_NUM_THREADS="${{SLURM_CPUS_PER_TASK:-1}}"
exec {command} --shard "$SLURM_ARRAY_TASK_ID/{tasks}"
END
)

# Whatever became of the tasks: this job runs what they left out.
sbatch --job-name={name} --dependency="afterany:${{tasks%%;*}}" "$@" <<'END'
#!/bin/sh
export RAYON_NUM_THREADS="${{SLURM_CPUS_PER_TASK:-1}}"
exec {command}{of_table}
END
"#
    ))
}

/// What all commands of the sweep have in common.
fn command(start: &[OsString], args: &SweepArgs, journal: &Path) -> String {
    let mut words: Vec<String> = start.iter().map(|word| quoted(&word.to_string_lossy())).collect();
    words.push(format!("sweep {}", quoted(&args.file)));
    let mut add = |option: &str, value: &str| words.push(format!("{option} {}", quoted(value)));
    for text in &args.set {
        add("--set", text);
    }
    if let Some(mib) = args.memory {
        add("--memory", &mib.to_string());
    }
    if let Some(file) = &args.microcode {
        add("--microcode", &file.to_string_lossy());
    }
    add("--journal", &journal.to_string_lossy());
    words.extend(args.check.then(|| "--check".to_string()));
    words.join(" ")
}

/// What the command that writes the table has besides.
fn of_table(args: &SweepArgs) -> String {
    let files = [
        ("--out", &args.out),
        ("--csv", &args.csv),
        ("--runs", &args.runs),
        ("--report", &args.report),
    ];
    let named = files.into_iter().filter_map(|(option, file)| Some((option, file.as_ref()?)));
    named.fold(String::new(), |text, (option, file)| {
        text + &format!(" {option} {}", quoted(&file.to_string_lossy()))
    })
}

/// A word of a shell.
fn quoted(text: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./=,:+".contains(letter);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_string();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

//! `flashyard lab`: exercises for students. `flashyard_labs` has their files, sheets and checkers.

use crate::args::lab::{LabCommand, StartArgs};
use crate::output::table::shown;
use crate::output::text::{columns, line, without_links};
use crate::output::unfinished::Folder;
use crate::output::{WholeFile, print};
use crate::progress;
use anyhow::{Context, Result, bail};
use flashyard_labs::{Check, Lab, Verdict, Written, check};
use flashyard_run::error::wrong;
use flashyard_sim::own::OwnParts;
use std::fmt::Write as _;
use std::path::PathBuf;

/// Runs `flashyard lab`.
pub(crate) fn run(command: &LabCommand, own: &OwnParts) -> Result<()> {
    match command {
        LabCommand::List => print(&list()),
        LabCommand::Show { lab } => print(&without_links(lab.sheet())),
        LabCommand::Start(args) => start(args),
        LabCommand::Check(args) => {
            let (answer, set) = (args.answer.as_str(), args.set.as_slice());
            let answer = Check { lab: args.lab, answer, seed: args.seed, set };
            tell(&check(&answer, own, &progress::watch)?)
        }
    }
}

/// The names of all labs, and what to do with them.
fn list() -> String {
    let title = |lab: Lab| lab.sheet().lines().next().unwrap_or("").trim_start_matches("# ");
    let row = |lab: Lab| (format!("{}  {}", lab.number(), lab.name()), title(lab).to_string());
    let rows: Vec<_> = Lab::all().map(row).collect();
    let verbs = [
        ("flashyard lab show NAME", "prints the sheet"),
        ("flashyard lab start NAME --seed N", "writes the files to work with"),
        ("flashyard lab check NAME ANSWER", "judges an answer"),
    ];
    let verbs = verbs.map(|(name, what)| (name.to_string(), what.to_string()));
    columns("labs", &rows) + "\n" + &columns("commands", &verbs)
}

/// Writes the files of a lab; none takes the place of another.
fn start(args: &StartArgs) -> Result<()> {
    let StartArgs { lab, seed, out } = args;
    let (files, next) = flashyard_labs::files(*lab, *seed);
    let out = out.clone().unwrap_or_else(|| PathBuf::from(lab.name()));
    let paths: Vec<PathBuf> = files.iter().map(|(name, _)| out.join(name)).collect();
    if let Some(path) = paths.iter().find(|path| path.exists()) {
        return Err(wrong(&format!(
            "{}: it is there, and may hold work of yours; name another directory with --out",
            path.display()
        )));
    }
    let folder = Folder::create(&out).with_context(|| format!("{}", out.display()))?;
    let source = files.iter().any(|(name, _)| name.contains('/')).then(|| out.join("src"));
    let source = source.map(|path| Folder::create(&path)).transpose();
    let source = source.with_context(|| format!("{}", out.display()))?;
    let write = |(path, (_, text)): (&PathBuf, &Written)| WholeFile::of(path, text);
    let whole = paths.iter().zip(&files).map(write).collect::<Result<Vec<_>>>()?;
    whole.into_iter().try_for_each(WholeFile::finish)?;
    [Some(folder), source].into_iter().flatten().for_each(Folder::keep);
    let mut text = String::new();
    for path in &paths {
        let _ = writeln!(text, "{}: written", path.display());
    }
    print(&format!("{text}\n{next}"))
}

/// Prints the figures and the criteria; an error if one of them is not met.
fn tell(verdict: &Verdict) -> Result<()> {
    let Verdict { lab, seed, figures, criteria } = verdict;
    let mut text = format!("lab {}, seed {seed}\n\n{}\n", lab.name(), shown(figures));
    for (met, said) in criteria {
        text += &line(if *met { "met" } else { "not met" }, said);
        text.push('\n');
    }
    let missed = verdict.missed();
    if missed == 0 {
        text += &format!("\nall {} criteria are met\n", criteria.len());
    }
    print(&text)?;
    if missed > 0 {
        bail!("lab {}: {missed} of {} criteria are not met", lab.name(), criteria.len());
    }
    Ok(())
}

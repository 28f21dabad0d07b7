//! The table of a sweep: a row for each point, or for each run.

use crate::args::SweepArgs;
use crate::columns::{Figures, summary};
use crate::features::PARQUET;
use crate::output::columnar::{self, Cells, Column};
use crate::output::parquet::{Note, all_settings, is_parquet};
use crate::output::{WholeFile, names, note};
use crate::report::points::{Latencies, latencies};
use anyhow::Result;
use flashyard_run::error::{read_text, wrong};
use flashyard_run::figure::Figure;
use flashyard_run::points;
use flashyard_run::sweep::file::Sweep;
use flashyard_run::sweep::journal::Found;
use flashyard_run::sweep::plan::{Planned, Planner};
use flashyard_run::verdict;
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A point with the results of its runs, or one run alone.
#[derive(Debug)]
pub(crate) struct Row<'a> {
    /// Counted from 1.
    pub(crate) number: usize,
    pub(crate) planned: &'a Planned,
    /// The results of its runs, in the order of seeds. There are none if its device is impossible.
    pub(crate) found: Vec<(Option<u64>, &'a Found)>,
    /// If there is a goal, whether the point meets it and whether the point is the answer.
    pub(crate) goal: Option<(bool, bool)>,
}

impl Row<'_> {
    /// Why it has no figures.
    pub(crate) fn failed(&self) -> Option<String> {
        if let Err(why) = &self.planned.runs {
            return Some(why.clone());
        }
        let several = self.found.len() > 1;
        self.found.iter().find_map(|(seed, found)| {
            let seed = seed.filter(|_| several).map(|seed| format!("seed {seed}: "));
            found.failed.as_ref().map(|why| seed.unwrap_or_default() + why)
        })
    }

    /// Returns a figure of each of its runs. If a run failed, there are none.
    pub(crate) fn figure(&self, figure: &Figure) -> Vec<Option<f64>> {
        let failed = self.planned.runs.is_err()
            || self.found.iter().any(|(_, found)| found.failed.is_some());
        let values = self.found.iter().map(|(_, found)| found.figure(figure));
        if failed { Vec::new() } else { values.collect() }
    }

    /// The same by headline.
    pub(crate) fn figures(&self) -> Figures {
        Figure::all().map(|figure| self.figure(&figure)).collect()
    }

    /// The latencies of each of several streams, for plots: means over its runs.
    pub(crate) fn latencies(&self) -> BTreeMap<String, Latencies> {
        let streams = self.found.iter().flat_map(|(_, found)| found.streams.keys());
        let of = |stream: &String| {
            let figure = |name: &str| Figure::of(Some(stream), name);
            let mean = |name: &str| figure(name).and_then(|one| summary(&self.figure(&one)).0);
            (stream.clone(), latencies(&mean))
        };
        streams.map(of).collect()
    }

    /// The rows of its runs.
    fn by_run(&self) -> Vec<Row<'_>> {
        let Self { number, planned, goal, .. } = *self;
        if self.found.is_empty() {
            return vec![Row { number, planned, found: Vec::new(), goal }];
        }
        let one = |&found: &(Option<u64>, _)| Row { number, planned, found: vec![found], goal };
        self.found.iter().map(one).collect()
    }

    fn warnings(&self) -> Option<String> {
        let mut all: Vec<String> = Vec::new();
        for (what, how_much) in self.found.iter().flat_map(|(_, found)| &found.warnings) {
            let warning = verdict::warning(what, how_much);
            if !all.contains(&warning) {
                all.push(warning);
            }
        }
        (!all.is_empty()).then(|| all.join("; "))
    }
}

/// The streams of runs that have several.
pub(super) fn streams<'a>(rows: &[Row<'a>]) -> BTreeSet<&'a str> {
    let found = rows.iter().flat_map(|row| &row.found);
    found.flat_map(|&(_, found)| found.streams.keys().map(String::as_str)).collect()
}

/// The columns.
struct Table<'a>(Vec<Column<'a>>);

impl<'a> Table<'a> {
    fn add(&mut self, name: &str, unit: &str, what: &str, cells: Cells<'a>) {
        self.0.push(Column::new(name, unit, what, cells));
    }

    /// Makes the table of rows, which are points or single runs.
    fn of(rows: &'a [Row<'_>], planner: &'a Planner<'_>) -> Result<Self> {
        let mut table = Self(Vec::new());
        let text =
            |of: &dyn Fn(&Row<'_>) -> Option<String>| Cells::Text(rows.iter().map(of).collect());
        let count = |of: &dyn Fn(&Row<'_>) -> Option<u64>| {
            // The format has 63 bits.
            let cell = |row| of(row).filter(|count| i64::try_from(*count).is_ok());
            Cells::Count(rows.iter().map(cell).collect())
        };
        let number = |row: &Row<'_>| Some(row.number as u64);
        table.add("point", "", "number of the point, in the order of the file", count(&number));
        let named = points::keys(rows.iter().map(|row| &row.planned.point[..]));
        let keys = planner.varied(&named);
        let of_row = |row: &Row<'_>| {
            let inputs = planner.inputs(&row.planned.point)?;
            let names = [inputs.device_name.clone(), inputs.workload_name().to_string()];
            Ok((names, keys.iter().map(|key| key.value(&inputs)).collect::<Vec<_>>()))
        };
        let made: Vec<_> = rows.par_iter().map(of_row).collect::<Result<_>>()?;
        let mut names = [Vec::new(), Vec::new()];
        let mut values: Vec<Vec<Option<String>>> = keys.iter().map(|_| Vec::new()).collect();
        for ([device, workload], row) in made {
            names[0].push(Some(device));
            names[1].push(Some(workload));
            values.iter_mut().zip(row).for_each(|(values, value)| values.push(value));
        }
        let [device, workload] = names.map(Cells::Text);
        table.add("device", "", "preset or file of the device", device);
        table.add("workload", "", "name or file of the workload", workload);
        let seed = |row: &Row<'_>| match &row.found[..] {
            [(seed, _)] => *seed,
            _ => None,
        };
        table.add("seed", "", "seed of the run; empty for a mean of several", count(&seed));
        let runs = |row: &Row<'_>| Some(row.found.len() as u64);
        table.add("runs", "", "runs that the figures are the mean of, one a seed", count(&runs));
        for (key, texts) in keys.iter().zip(values) {
            let what = "effective setting (docs/KEYS.md)";
            table.add(&key.path(), key.unit(), what, as_numbers(texts));
        }
        if rows.iter().any(|row| row.goal.is_some()) {
            let holds = |row: &Row<'_>| row.goal.map(|(holds, _)| u64::from(holds));
            table.add("goal_holds", "flag", "1 where the point meets the goal", count(&holds));
            let answer = |row: &Row<'_>| row.goal.map(|(_, answer)| u64::from(answer));
            table.add("goal_answer", "flag", "1 where it is the one looked for", count(&answer));
        }
        table.figures(rows);
        table.add("warnings", "", "warnings of the verdict", text(&|row: &Row<'_>| row.warnings()));
        table.add(
            "failed",
            "",
            "why the point has no figures",
            text(&|row: &Row<'_>| row.failed()),
        );
        let hash = |row: &Row<'_>| match &row.found[..] {
            [(_, found)] if found.failed.is_none() => Some(found.workload.clone()),
            _ => None,
        };
        table.add("workload_sha256", "", "hash of the requests of the run", text(&hash));
        let all = |row: usize| {
            planner.inputs(&rows[row].planned.point).map(|inputs| all_settings(&inputs))
        };
        let all = Cells::Made(rows.len(), Box::new(all));
        table.add("settings", "", "all effective settings, as JSON", all);
        Ok(table)
    }

    /// The figures of runs, then those of each of several streams.
    fn figures(&mut self, rows: &[Row<'_>]) {
        let means = |figure: &Figure| -> Vec<_> {
            rows.iter().map(|row| summary(&row.figure(figure))).collect()
        };
        for figure in Figure::all() {
            self.means(rows, &figure, &figure.headline().what, means(&figure));
        }
        for stream in streams(rows) {
            for figure in Figure::all_of(stream) {
                let means = means(&figure);
                // Without a request of its class it is a count of 0, or nothing.
                if means.iter().any(|(mean, _)| mean.is_some_and(|mean| mean != 0.0)) {
                    let what = format!("of the stream {stream}: {}", figure.headline().what);
                    self.means(rows, &figure, &what, means);
                }
            }
        }
    }

    /// Means, with half of their confidence intervals where points have several runs.
    fn means(
        &mut self,
        rows: &[Row<'_>],
        figure: &Figure,
        what: &str,
        both: Vec<(Option<f64>, Option<f64>)>,
    ) {
        let (means, halves) = both.into_iter().unzip();
        let (name, unit) = (figure.name(), figure.headline().unit);
        self.add(&name, unit, what, Cells::Number(means));
        if rows.iter().any(|row| row.found.len() > 1) {
            let name = format!("{name}_ci95");
            let what = "half of the 95 % confidence interval of the mean";
            self.add(&name, unit, what, Cells::Number(halves));
        }
    }

    /// Metadata of the file.
    fn notes(sweep: &Sweep, args: &SweepArgs) -> Vec<Note> {
        let seeds: Vec<String> = sweep.seeds.iter().map(u64::to_string).collect();
        vec![
            ("flashyard.title", sweep.file.title.clone()),
            ("flashyard.seeds", seeds.join(",")),
            ("flashyard.sweep", sweep.text.clone()),
            ("flashyard.set", args.set.join("\n")),
        ]
    }
}

/// Returns the values of a key as numbers, if all of them are numbers.
fn as_numbers(texts: Vec<Option<String>>) -> Cells<'static> {
    let number = |text: &Option<String>| text.as_ref().map(|text| text.parse::<f64>().ok());
    let numbers: Option<Vec<Option<f64>>> =
        texts.iter().map(|text| number(text).map_or(Some(None), |one| one.map(Some))).collect();
    numbers.map_or(Cells::Text(texts), Cells::Number)
}

/// Writes the files that are asked for; all of them or none.
pub(crate) fn write(
    rows: &[Row<'_>],
    planner: &Planner<'_>,
    sweep: &Sweep,
    args: &SweepArgs,
    out: &Path,
) -> Result<Vec<String>> {
    let table = Table::of(rows, planner)?;
    let (mut files, mut names) = (Vec::new(), Vec::new());
    if PARQUET.here {
        files.push(columnar::parquet(out, &table.0, &Table::notes(sweep, args))?);
        names.push(out.display().to_string());
    }
    if let Some(path) = &args.csv {
        files.push(columnar::csv(path, &table.0)?);
        names.push(path.display().to_string());
    }
    if let Some(path) = &args.runs {
        let rows: Vec<Row<'_>> = rows.iter().flat_map(Row::by_run).collect();
        let table = Table::of(&rows, planner)?;
        files.push(if is_csv(path) {
            columnar::csv(path, &table.0)?
        } else {
            columnar::parquet(path, &table.0, &Table::notes(sweep, args))?
        });
        names.push(path.display().to_string());
    }
    files.into_iter().try_for_each(WholeFile::finish)?;
    Ok(names)
}

fn is_csv(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("csv"))
}

/// Refuses names that say something else than what is written, and files that are written twice.
pub(crate) fn check_names(args: &SweepArgs, out: &Path) -> Result<()> {
    read_text(&args.file)?;
    let refuse = |option: &str, path: &Path, ends: &str| {
        Err(wrong(&format!("{option} {}: its name must end in {ends}", path.display())))
    };
    if !is_parquet(out) {
        return refuse("--out", out, ".parquet; --csv FILE writes CSV");
    }
    match (&args.csv, &args.runs) {
        (Some(csv), _) if !is_csv(csv) => return refuse("--csv", csv, ".csv"),
        (_, Some(runs)) if !is_csv(runs) && !is_parquet(runs) => {
            return refuse("--runs", runs, ".parquet or .csv");
        }
        _ => {}
    }
    if !PARQUET.here {
        check_without_parquet(args, out)?;
    }
    let others = args.csv.iter().chain(&args.runs).map(PathBuf::as_path);
    names::check(&[Path::new(&args.file)], std::iter::once(out).chain(others))
}

/// What a build that writes no Parquet refuses: files that are named so, and a sweep whose figures
/// would be in no file.
fn check_without_parquet(args: &SweepArgs, out: &Path) -> Result<()> {
    let runs = args.runs.as_ref().filter(|runs| !is_csv(runs));
    if let Some(path) = args.out.as_ref().or(runs) {
        return Err(PARQUET.refused(path));
    }
    if args.dry_run {
        return Ok(());
    }
    if args.csv.is_none() {
        let (out, missing) = (out.display(), PARQUET.missing());
        return Err(wrong(&format!("{out}: {missing}, or write CSV with --csv FILE")));
    }
    note(format_args!("{}: not written; {}", out.display(), PARQUET.missing()));
    Ok(())
}

//! The table of a sweep: a row for each point, or for each run.

use super::file::Sweep;
use super::journal::Found;
use super::plan::Planned;
use crate::args::SweepArgs;
use crate::error::{read_text, wrong};
use crate::inputs::Inputs;
use crate::output::WholeFile;
use crate::output::columnar::{self, Cells, Column};
use crate::output::parquet::{Note, all_settings};
use crate::points::columns::{Figures, summary};
use crate::points::headline;
use anyhow::Result;
use flashyard_core::key::Kind;
use flashyard_sim::config::{Sections, show_value};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::Path;

/// A point with what its runs found, or one of its runs.
#[derive(Debug)]
pub(crate) struct Row<'a> {
    /// Counted from 1.
    pub(crate) number: usize,
    pub(crate) planned: &'a Planned,
    /// Of its runs, in the order of seeds; empty where its device is impossible.
    pub(crate) found: Vec<(Option<u64>, &'a Found)>,
    /// Whether it meets the goal and whether it is the answer, where there is a goal.
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

    /// By headline, the figures of its runs; none where one failed.
    pub(crate) fn figures(&self) -> Figures {
        let failed = self.failed().is_some();
        let of = |place: usize| {
            let values = self.found.iter().map(|(_, found)| found.values[place]);
            if failed { Vec::new() } else { values.collect() }
        };
        (0..headline::ALL.len()).map(of).collect()
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
        let mut all: Vec<&str> = Vec::new();
        for warning in self.found.iter().flat_map(|(_, found)| &found.warnings) {
            if !all.contains(&warning.as_str()) {
                all.push(warning);
            }
        }
        (!all.is_empty()).then(|| all.join("; "))
    }
}

/// A key of a point: its path, its value as files have it, its unit.
type Setting = (String, String, &'static str);

/// The effective keys of a device and its workload.
fn effective(inputs: &Inputs) -> Vec<Setting> {
    let (device, workload) = (&inputs.sections.device, &inputs.sections.workload);
    let mut all = Vec::new();
    let mut add = |sections: &dyn Sections, is_used: &dyn Fn(&str) -> bool| {
        for (section, keys, _) in sections.sections() {
            for key in keys.iter().filter(|_| is_used(&section)) {
                let value = sections.get(&section, key.name).expect("a listed key has a value");
                let unit = match key.kind {
                    Kind::Number { unit, .. } => unit,
                    _ => "",
                };
                let path = format!("{section}.{}", key.name);
                all.push((path, show_value(&key.kind, value), unit));
            }
        }
    };
    add(device, &|section| device.has_section(section));
    add(workload, &|section| workload.idle(section).is_none());
    all
}

/// Columns of the keys in which points differ, and their units.
fn settings(rows: &[Row<'_>]) -> Vec<(Column, &'static str)> {
    let mut order: Vec<(String, &'static str)> = Vec::new();
    let mut values: BTreeMap<String, Vec<Option<String>>> = BTreeMap::new();
    for (place, row) in rows.iter().enumerate() {
        for (path, value, unit) in effective(&row.planned.inputs) {
            let cells = values.entry(path.clone()).or_insert_with(|| {
                order.push((path, unit));
                vec![None; rows.len()]
            });
            cells[place] = Some(value);
        }
    }
    let varied =
        |path: &str| rows.iter().any(|row| row.planned.point.iter().any(|(key, _)| key == path));
    let mut columns = Vec::new();
    for (path, unit) in order {
        let texts = &values[&path];
        let mut known = texts.iter().flatten();
        let first = known.next();
        if known.all(|value| Some(value) == first) && !varied(&path) {
            continue;
        }
        let number = |text: &Option<String>| text.as_ref().map(|text| text.parse::<f64>().ok());
        let numbers: Option<Vec<Option<f64>>> =
            texts.iter().map(|text| number(text).map_or(Some(None), |one| one.map(Some))).collect();
        let cells = numbers.map_or_else(|| Cells::Text(texts.clone()), Cells::Number);
        columns.push((Column { name: path, cells }, unit));
    }
    columns
}

/// The columns with the unit and the meaning of each.
pub(crate) struct Table {
    pub(crate) columns: Vec<Column>,
    units: Map<String, Value>,
    meanings: Map<String, Value>,
}

impl Table {
    fn add(&mut self, name: &str, unit: &str, what: &str, cells: Cells) {
        self.units.insert(name.to_string(), unit.into());
        self.meanings.insert(name.to_string(), what.into());
        self.columns.push(Column { name: name.to_string(), cells });
    }

    /// The table of points; of runs where they have one each.
    pub(crate) fn of(rows: &[Row<'_>]) -> Self {
        let mut table = Self { columns: Vec::new(), units: Map::new(), meanings: Map::new() };
        let text =
            |of: &dyn Fn(&Row<'_>) -> Option<String>| Cells::Text(rows.iter().map(of).collect());
        let count = |of: &dyn Fn(&Row<'_>) -> Option<u64>| {
            // The format has 63 bits.
            let cell = |row| of(row).filter(|count| i64::try_from(*count).is_ok());
            Cells::Count(rows.iter().map(cell).collect())
        };
        let number = |row: &Row<'_>| Some(row.number as u64);
        table.add("point", "", "number of the point, in the order of the file", count(&number));
        let device = |row: &Row<'_>| Some(row.planned.inputs.device_name.clone());
        table.add("device", "", "preset or file of the device", text(&device));
        let workload = |row: &Row<'_>| Some(row.planned.inputs.workload_name().to_string());
        table.add("workload", "", "name or file of the workload", text(&workload));
        let seed = |row: &Row<'_>| match &row.found[..] {
            [(seed, _)] => *seed,
            _ => None,
        };
        table.add("seed", "", "seed of the run; empty for a mean of several", count(&seed));
        let runs = |row: &Row<'_>| Some(row.found.len() as u64);
        table.add("runs", "", "runs that the figures are the mean of, one a seed", count(&runs));
        for (column, unit) in settings(rows) {
            table.add(&column.name, unit, "effective setting (docs/KEYS.md)", column.cells);
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
        let all = |row: &Row<'_>| Some(all_settings(&row.planned.inputs));
        table.add("settings", "", "all effective settings, as JSON", text(&all));
        table
    }

    /// Means, with half of their confidence intervals where points have several runs.
    fn figures(&mut self, rows: &[Row<'_>]) {
        let figures: Vec<Figures> = rows.iter().map(Row::figures).collect();
        let several = rows.iter().any(|row| row.found.len() > 1);
        for (place, headline) in headline::ALL.iter().enumerate() {
            let both: Vec<_> = figures.iter().map(|figures| summary(&figures[place])).collect();
            let means = both.iter().map(|(mean, _)| *mean).collect();
            self.add(&headline.name, headline.unit, &headline.what, Cells::Number(means));
            if several {
                let halves = both.iter().map(|(_, half)| *half).collect();
                let name = format!("{}_ci95", headline.name);
                let what = "half of the 95 % confidence interval of the mean";
                self.add(&name, headline.unit, what, Cells::Number(halves));
            }
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

    /// A Parquet file of the table.
    fn parquet(&self, path: &Path, notes: &[Note]) -> Result<WholeFile> {
        let text = |of: &'_ Map<String, Value>, name: &str| -> String {
            of.get(name).and_then(Value::as_str).unwrap_or_default().to_string()
        };
        let about = |name: &str| (text(&self.units, name), text(&self.meanings, name));
        columnar::parquet(path, &self.columns, about, notes)
    }
}

/// Writes the files that are asked for; all of them or none.
pub(crate) fn write(
    rows: &[Row<'_>],
    sweep: &Sweep,
    args: &SweepArgs,
    out: &Path,
) -> Result<Vec<String>> {
    let table = Table::of(rows);
    let mut files = vec![table.parquet(out, &Table::notes(sweep, args))?];
    let mut names = vec![out.display().to_string()];
    if let Some(path) = &args.csv {
        files.push(columnar::csv(path, &table.columns)?);
        names.push(path.display().to_string());
    }
    if let Some(path) = &args.runs {
        let rows: Vec<Row<'_>> = rows.iter().flat_map(Row::by_run).collect();
        let table = Table::of(&rows);
        files.push(if is_csv(path) {
            columnar::csv(path, &table.columns)?
        } else {
            table.parquet(path, &Table::notes(sweep, args))?
        });
        names.push(path.display().to_string());
    }
    files.into_iter().try_for_each(WholeFile::finish)?;
    Ok(names)
}

fn ends_in(path: &Path, end: &str) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(end))
}

fn is_csv(path: &Path) -> bool {
    ends_in(path, "csv")
}

/// Refuses names that say something else than what is written, and files that are written twice.
pub(crate) fn check_names(args: &SweepArgs, out: &Path) -> Result<()> {
    read_text(&args.file)?;
    let refuse = |option: &str, path: &Path, ends: &str| {
        Err(wrong(&format!("{option} {}: its name must end in {ends}", path.display())))
    };
    if !ends_in(out, "parquet") {
        return refuse("--out", out, ".parquet; --csv FILE writes CSV");
    }
    match (&args.csv, &args.runs) {
        (Some(csv), _) if !is_csv(csv) => return refuse("--csv", csv, ".csv"),
        (_, Some(runs)) if !is_csv(runs) && !ends_in(runs, "parquet") => {
            return refuse("--runs", runs, ".parquet or .csv");
        }
        _ => {}
    }
    let mut names = vec![Path::new(&args.file), out];
    for path in args.csv.iter().chain(&args.runs) {
        if names.contains(&path.as_path()) {
            let what = "another file of this sweep has this name; choose a different one";
            return Err(wrong(&format!("{}: {what}", path.display())));
        }
        names.push(path);
    }
    Ok(())
}

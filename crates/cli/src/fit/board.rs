//! `flashyard board`: every measured drive of a directory, and the error of cells that the fit did
//! not see.
//!
//! Each cell of a drive is held out once: the device is fitted to the other cells, and run on this
//! one. A cell that lies between others is told apart from one beyond them, where the fit has to
//! guess what no cell shows.

use super::show::{cells_table, median, median_error, percent};
use super::stage::stage;
use crate::args::fit::BoardArgs;
use crate::output::table::{render, table};
use crate::output::{print, print_json, remark};
use anyhow::Result;
use flashyard_run::contract::SCHEMA_VERSION;
use flashyard_run::error::wrong;
use flashyard_run::fit::cells::{self, Cell, What};
use flashyard_run::fit::fit;
use flashyard_run::fit::model::Model;
use flashyard_run::plan::DeviceFrom;
use flashyard_sim::own::OwnParts;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// One drive: its cells, and the figures of each when it was held out.
struct Row {
    name: String,
    cells: Vec<Cell>,
    figures: Vec<Vec<f64>>,
    /// Whether other cells lie on both sides of each.
    between: Vec<bool>,
}

impl Row {
    /// The sizes of the errors of one kind of figure, of cells between others or beyond them.
    fn errors(&self, what: What, between: bool) -> Vec<f64> {
        let cells = self.cells.iter().zip(&self.figures).zip(&self.between);
        let wanted = cells.filter(|(_, is)| **is == between).map(|(cell, _)| cell);
        let error = |(cell, figures): (&Cell, &Vec<f64>)| {
            median_error(std::slice::from_ref(cell), std::slice::from_ref(figures), what)
        };
        wanted.filter_map(error).collect()
    }
}

/// Runs `flashyard board`.
pub(super) fn board(args: &BoardArgs, own: &OwnParts) -> Result<()> {
    let mut rows = Vec::new();
    for file in files(&args.directory)? {
        let path = file.to_string_lossy();
        let read = cells::read(&path)?;
        read.notes.iter().for_each(|note| remark(note));
        for (name, cells) in drives(&file, read.cells) {
            rows.push(row(args, own, name, cells)?);
        }
    }
    if args.search.json {
        let all: Vec<Value> = rows.iter().map(json_row).collect();
        let object = json!({ "schema_version": SCHEMA_VERSION, "drives": all });
        return print_json(&object);
    }
    let mut text = String::new();
    let mut board = table(&["drive", "held-out cells", "count", "mean", "p99", "p99.9"]);
    let mut add = |name: &str, rows: &[&Row]| {
        for (place, between) in [("between others", true), ("beyond them", false)] {
            let count = |row: &&Row| row.between.iter().filter(|is| **is == between).count();
            let count: usize = rows.iter().map(count).sum();
            let error = |what| {
                let errors = rows.iter().flat_map(|row| row.errors(what, between));
                percent(median(errors))
            };
            let errors = [What::Mean, What::P99, What::P999].map(error);
            let cells = [name.to_string(), place.to_string(), count.to_string()];
            board.add_row(cells.into_iter().chain(errors).collect::<Vec<_>>());
        }
    };
    for row in &rows {
        text += &format!("{}\n{}\n", row.name, cells_table(&row.cells, &row.figures));
        add(&row.name, &[row]);
    }
    add("all", &rows.iter().collect::<Vec<_>>());
    print(&format!("{text}Median errors of held-out cells\n{}", render(&board)))
}

/// The files with measurements, by name.
fn files(directory: &Path) -> Result<Vec<PathBuf>> {
    let problem = |error: std::io::Error| wrong(&format!("{}: {error}", directory.display()));
    let mut all = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(problem)? {
        let path = entry.map_err(problem)?.path();
        let end = path.extension().map(std::ffi::OsStr::to_ascii_lowercase);
        if end.is_some_and(|end| end == "csv" || end == "json") {
            all.push(path);
        }
    }
    all.sort();
    if all.is_empty() {
        let what = "no measurements here: files that end in .csv or .json (docs/FITTING.md)";
        return Err(wrong(&format!("{}: {what}", directory.display())));
    }
    Ok(all)
}

/// The cells of a file by drive, in the order of the file.
fn drives(file: &Path, cells: Vec<Cell>) -> Vec<(String, Vec<Cell>)> {
    let stem =
        file.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    let mut all: Vec<(String, Vec<Cell>)> = Vec::new();
    for cell in cells {
        let name = if cell.drive.is_empty() { stem.clone() } else { cell.drive.clone() };
        match all.iter_mut().find(|(known, _)| *known == name) {
            Some((_, cells)) => cells.push(cell),
            None => all.push((name, vec![cell])),
        }
    }
    all
}

fn row(args: &BoardArgs, own: &OwnParts, name: String, cells: Vec<Cell>) -> Result<Row> {
    let asked = args.search.asked(150);
    let model = Model::new(own.clone(), DeviceFrom::Named(&args.device), &asked, &cells)?;
    if cells.len() < 2 {
        return Err(wrong(&format!(
            "{}: a drive of one cell leaves none to fit to",
            cells[0].place
        )));
    }
    let (mut figures, mut between) = (Vec::new(), Vec::new());
    for held_out in 0..cells.len() {
        let label = format!("{name}: cell {} of {} held out", held_out + 1, cells.len());
        remark(&label);
        let label = format!("cell {} of {}", held_out + 1, cells.len());
        let mut training = cells.clone();
        let test = training.remove(held_out);
        between.push(test.is_between(&training)?);
        let fitted = fit(&model, &training, &[test], &asked, &label, &stage)?;
        fitted.notes.iter().for_each(|note| remark(note));
        figures.extend(fitted.held_out);
    }
    Ok(Row { name, cells, figures, between })
}

fn json_row(row: &Row) -> Value {
    let mut object = super::show::json_set(&row.cells, &row.figures);
    object["drive"] = Value::from(row.name.clone());
    object["between"] = Value::from(row.between.clone());
    object
}

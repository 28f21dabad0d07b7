//! `flashyard board`: every measured drive of a directory, and the error of cells that the fit did
//! not see.
//!
//! Each cell of a drive is held out once: the device is fitted to the other cells, and run on this
//! one.

use super::cells::{self, Cell, What};
use super::fit;
use super::model::Model;
use super::show::{cells_table, median, median_error, percent};
use crate::args::BoardArgs;
use crate::error::wrong;
use crate::output::json::SCHEMA_VERSION;
use crate::output::table::{render, table};
use crate::output::{print, remark};
use anyhow::Result;
use flashyard_sim::own::OwnParts;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// One drive: its cells, and the figures of each when it was held out.
struct Row {
    name: String,
    cells: Vec<Cell>,
    figures: Vec<Vec<f64>>,
}

/// Runs `flashyard board`.
pub(crate) fn board(args: &BoardArgs, own: OwnParts) -> Result<()> {
    let mut rows = Vec::new();
    for file in files(&args.directory)? {
        let path = file.to_string_lossy();
        for (name, cells) in drives(&file, cells::read(&path)?) {
            rows.push(row(args, own, name, cells)?);
        }
    }
    if args.json {
        let all: Vec<Value> = rows.iter().map(json_row).collect();
        let object = json!({ "schema_version": SCHEMA_VERSION, "drives": all });
        return print(&serde_json::to_string_pretty(&object)?);
    }
    let mut text = String::new();
    let mut board = table(&["drive", "held-out cells", "mean", "p99", "p99.9"]);
    for row in &rows {
        text += &format!("{}\n{}\n", row.name, cells_table(&row.cells, &row.figures));
        let error = |what| percent(median_error(&row.cells, &row.figures, what));
        board.add_row(vec![
            row.name.clone(),
            row.cells.len().to_string(),
            error(What::Mean),
            error(What::P99),
            error(What::P999),
        ]);
    }
    let all = |what| {
        let of = |row: &Row| errors(row, what);
        percent(median(rows.iter().flat_map(of).collect()))
    };
    let cells: usize = rows.iter().map(|row| row.cells.len()).sum();
    board.add_row(vec![
        "all".to_string(),
        cells.to_string(),
        all(What::Mean),
        all(What::P99),
        all(What::P999),
    ]);
    print(&format!("{text}Median errors of held-out cells\n{}", render(&board)))
}

fn errors(row: &Row, what: What) -> Vec<f64> {
    let one = row.cells.iter().zip(&row.figures);
    one.filter_map(|(cell, figures)| {
        median_error(std::slice::from_ref(cell), std::slice::from_ref(figures), what)
    })
    .collect()
}

/// The files with measurements, by name.
fn files(directory: &Path) -> Result<Vec<PathBuf>> {
    let problem = |error: std::io::Error| wrong(&format!("{}: {error}", directory.display()));
    let mut all = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(problem)? {
        let path = entry.map_err(problem)?.path();
        let end = path.extension().map(|end| end.to_ascii_lowercase());
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

fn row(args: &BoardArgs, own: OwnParts, name: String, cells: Vec<Cell>) -> Result<Row> {
    let model = Model::new(own, &args.device, &args.set, (args.requests, args.seed), &cells)?;
    if cells.len() < 2 {
        return Err(wrong(&format!(
            "{}: a drive of one cell leaves none to fit to",
            cells[0].place
        )));
    }
    let mut figures = Vec::new();
    for held_out in 0..cells.len() {
        remark(&format!("{name}: cell {} of {} held out", held_out + 1, cells.len()));
        let mut training = cells.clone();
        let test = training.remove(held_out);
        let fitted = fit(&model, &training, &[test], &args.key, args.evaluations, true)?;
        figures.extend(fitted.held_out);
    }
    Ok(Row { name, cells, figures })
}

fn json_row(row: &Row) -> Value {
    let mut object = super::show::json_set(&row.cells, &row.figures);
    object["drive"] = Value::from(row.name.clone());
    object
}

//! `flashyard fit` and `flashyard board`: device files from measurements of real drives.

mod board;
mod cells;
mod device_file;
mod fio;
mod identify;
mod keys;
mod model;
mod search;
mod show;

use crate::args::{FitArgs, SearchArgs};
use crate::output::{WholeFile, print, remark};
use crate::progress::Progress;
use anyhow::{Context, Result};
pub(crate) use board::board;
use cells::{Cell, RAN};
use flashyard_run::error::{is_toml, wrong};
use flashyard_sim::config::nearest;
use flashyard_sim::own::OwnParts;
use identify::{Known, identify};
use keys::Keys;
use model::Model;
use search::{Point, STEPS, Search};
use std::io::Write;
use std::sync::atomic::AtomicUsize;

/// A fit, and what it says about the cells.
#[derive(Clone, Debug)]
struct Fitted {
    keys: Keys,
    point: Point,
    /// The figures of the training cells.
    training: Vec<Vec<f64>>,
    /// Those of the held-out cells.
    held_out: Vec<Vec<f64>>,
    evaluations: usize,
}

/// Runs `flashyard fit`.
pub(crate) fn run(args: &FitArgs, own: OwnParts) -> Result<()> {
    let out = args.out.as_ref().map(|path| path.to_string_lossy());
    if let Some(out) = out.as_ref().filter(|out| !is_toml(out)) {
        return Err(wrong(&format!("--out {out}: a device file's name ends in .toml")));
    }
    let mut cells = cells::read(&args.measurements)?;
    if let Some(drive) = &args.drive {
        let drives: Vec<String> = cells.iter().map(|cell| cell.drive.clone()).collect();
        cells.retain(|cell| cell.drive == *drive);
        if cells.is_empty() {
            let near = nearest(drive, drives.iter().map(String::as_str));
            return Err(wrong(&format!(
                "--drive {drive}: {} has no such drive{near}",
                args.measurements
            )));
        }
    }
    if cells.iter().any(|cell| cell.drive != cells[0].drive) {
        return Err(wrong(&format!(
            "{}: it has several drives; name one with --drive",
            args.measurements
        )));
    }
    check_hold_out(&args.hold_out, &cells)?;
    let (held_out, training): (Vec<Cell>, Vec<Cell>) =
        cells.into_iter().partition(|cell| cell.is_one_of(&args.hold_out));
    if training.is_empty() {
        return Err(wrong("--hold-out: no cell is left to fit to"));
    }
    let model = Model::new(own, &args.device, &args.search, &training)?;
    let fitted = fit(&model, &training, &held_out, &args.search, "fitting")?;
    let progress = Progress::one("slopes of the keys");
    let known = identify(&model, &training, &fitted.keys, &fitted.point)?;
    drop(progress);
    let text = if args.search.json {
        show::json(args, &training, &held_out, &fitted, &known)?
    } else {
        show::text(args, &training, &held_out, &fitted, &known)
    };
    if let Some(path) = &args.out {
        let settings = fitted.keys.settings(&fitted.point);
        let whence = std::path::Path::new(&args.measurements).file_name();
        let whence = whence.map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let whence =
            args.drive.as_ref().map_or(whence.clone(), |drive| format!("{whence}, {drive}"));
        let text = device_file::text(&args.device, &args.search.set, &settings, &whence)?;
        let mut file = WholeFile::create(path)?;
        file.write_all(text.as_bytes()).with_context(|| format!("{}", path.display()))?;
        file.finish()?;
        remark(&format!("{}: written", path.display()));
    }
    print(&text)
}

/// Each `column=entry` must name a column that says what ran, and some cell must have the entry.
fn check_hold_out(hold_out: &[String], cells: &[Cell]) -> Result<()> {
    for wanted in hold_out {
        for part in wanted.split(',') {
            let column = part.split_once('=').map(|(column, _)| column.trim());
            let Some(column) = column else {
                return Err(wrong(&format!("--hold-out {wanted}: write it as queue_depth=8")));
            };
            if cells.iter().all(|cell| cell.get(column).is_none()) {
                let near = nearest(column, RAN.into_iter());
                return Err(wrong(&format!(
                    "--hold-out {wanted}: no cell has a column {column}{near}"
                )));
            }
        }
        if !cells.iter().any(|cell| cell.is_one_of(std::slice::from_ref(wanted))) {
            return Err(wrong(&format!("--hold-out {wanted}: no cell is like this")));
        }
    }
    Ok(())
}

/// Fits keys to the training cells, and runs the held-out ones. `label` is what the progress
/// display calls it.
fn fit(
    model: &Model,
    training: &[Cell],
    held_out: &[Cell],
    args: &SearchArgs,
    label: &str,
) -> Result<Fitted> {
    let (keys, evaluations) = (Keys::new(model, training, &args.key)?, args.evaluations);
    let (cells, taken) = (training, AtomicUsize::new(0));
    let search = Search { model, cells, keys: &keys, evaluations, taken };
    let progress = Progress::many(label, "sets of runs", evaluations as u64);
    let point = search.best(&|| progress.step())?;
    drop(progress);
    let progress = Progress::many(&format!("{label}, last steps"), "steps", STEPS as u64);
    let point = search.polish(point, &|| progress.step())?;
    drop(progress);
    let evaluations = search.taken.into_inner();
    let settings = keys.settings(&point);
    let count = (training.len() + held_out.len()) as u64;
    let progress = Progress::many(&format!("{label}, the device found"), "cells", count);
    let of = |cells: &[Cell]| model.figures_of_file(cells, &settings, || progress.step());
    let (training, held_out) = (of(training)?, of(held_out)?);
    Ok(Fitted { keys, point, training, held_out, evaluations })
}

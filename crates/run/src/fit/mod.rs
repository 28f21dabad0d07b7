//! Device files from measurements of real drives: keys are searched whose runs give what was
//! measured.

mod asked;
mod cell;
pub mod cells;
pub mod choose;
mod declared;
pub mod device_file;
mod fio;
pub mod identify;
pub mod keys;
pub mod model;
mod parameter;
pub mod residuals;
pub mod search;
mod slopes;
mod starts;

pub use asked::Asked;

use anyhow::Result;
use cells::Cell;
use keys::Keys;
use model::{Model, Setting};
use search::{Point, Search};
use std::sync::atomic::AtomicUsize;

/// Begins a stage of the work. The arguments are its name, the name of its pieces and their number.
/// The returned function is called after each piece, and dropped at the end of the stage.
pub type Stages<'a> = &'a dyn Fn(&str, &'static str, u64) -> Box<dyn Fn() + Sync>;

/// A fit with its figures of the cells.
#[derive(Clone, Debug)]
pub struct Fitted {
    /// The keys that were fitted.
    pub keys: Keys,
    /// Their values.
    pub point: Point,
    /// Their values as a device file has them, with the blocks that keep the capacity.
    pub settings: Vec<Setting>,
    /// The figures of the training cells.
    pub training: Vec<Vec<f64>>,
    /// Those of the held-out cells.
    pub held_out: Vec<Vec<f64>>,
    /// How often the cells were run.
    pub evaluations: usize,
    /// What is to be known about the figures, a sentence each.
    pub notes: Vec<String>,
}

/// Searches for the keys whose device comes near the cells, and their values. The last of what is
/// returned is how often the cells were run.
pub fn search_keys(
    model: &Model,
    cells: &[Cell],
    asked: &Asked,
    label: &str,
    begin: Stages<'_>,
) -> Result<(Keys, Point, usize)> {
    let (mut keys, evaluations) = (Keys::new(model, cells, &asked.keys)?, asked.evaluations);
    let mut taken = AtomicUsize::new(0);
    let done = begin(label, "sets of runs", evaluations as u64);
    // Keys that a user names are fitted, whatever the cells tell.
    if asked.keys.is_empty() {
        let search = Search { model, cells, keys: &keys, evaluations, taken };
        let told = search.told();
        taken = search.taken;
        keys.keep(&model.device(&cells[0])?, &told);
    }
    let search = Search { model, cells, keys: &keys, evaluations, taken };
    let point = search.best(&*done)?;
    drop(done);
    let last = search.last_steps() as u64;
    let done = begin(&format!("{label}, last steps"), "sets of runs", last);
    let point = keys.settled(search.polish(point, &*done)?);
    drop(done);
    let taken = search.taken.into_inner();
    Ok((keys, point, taken))
}

/// Fits keys to the training cells, and runs the held-out ones. `label` is what stages are called.
pub fn fit(
    model: &Model,
    training: &[Cell],
    held_out: &[Cell],
    asked: &Asked,
    label: &str,
    begin: Stages<'_>,
) -> Result<Fitted> {
    let (keys, point, evaluations) = search_keys(model, training, asked, label, begin)?;
    let settings = keys.settings_of_file(&point);
    let count = (training.len() + held_out.len()) as u64;
    let done = begin(&format!("{label}, the device found"), "cells", count);
    let of = |cells: &[Cell]| model.figures_of_file(cells, &settings, &*done);
    let ((training, note), (held_out, other)) = (of(training)?, of(held_out)?);
    let notes = note.into_iter().chain(other).collect();
    Ok(Fitted { keys, point, settings, training, held_out, evaluations, notes })
}

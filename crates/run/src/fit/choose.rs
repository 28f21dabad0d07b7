//! Which cells of a file are fitted to, and which are held out.

use super::cells::{self, Cell, RAN};
use crate::error::wrong;
use anyhow::Result;
use flashyard_sim::config::nearest;

/// The cells of one drive.
#[derive(Clone, Debug)]
pub struct Chosen {
    /// Those to fit to.
    pub training: Vec<Cell>,
    /// Those that are held out.
    pub held_out: Vec<Cell>,
    /// What is to be known of the others of the file, a sentence each.
    pub notes: Vec<String>,
}

/// The cells of one drive that a device can run, `zoned` or not. Held out are cells with all of
/// `column=entry,column=entry` of one of `hold_out`. `mark` is what messages put before names of
/// options.
pub fn choose(
    path: &str,
    drive: Option<&str>,
    hold_out: &[String],
    zoned: bool,
    mark: &str,
) -> Result<Chosen> {
    let (mut cells, notes) = cells::read(path)?.for_device(path, zoned);
    if cells.is_empty() {
        let why = if zoned {
            "no cell appends or writes into zones, and the device has zones (ftl.scheme = \"zns\")"
        } else {
            "all cells append or write into zones, and the device has no zones"
        };
        return Err(wrong(&format!("{path}: {why}")));
    }
    if let Some(drive) = drive {
        let drives: Vec<String> = cells.iter().map(|cell| cell.drive.clone()).collect();
        cells.retain(|cell| cell.drive == *drive);
        if cells.is_empty() {
            let near = nearest(drive, drives.iter().map(String::as_str));
            return Err(wrong(&format!("{mark}drive {drive}: {path} has no such drive{near}")));
        }
    }
    if cells.iter().any(|cell| cell.drive != cells[0].drive) {
        return Err(wrong(&format!("{path}: it has several drives; name one with {mark}drive")));
    }
    check_hold_out(hold_out, &cells, mark)?;
    let (held_out, training): (Vec<Cell>, Vec<Cell>) =
        cells.into_iter().partition(|cell| cell.is_one_of(hold_out));
    if training.is_empty() {
        return Err(wrong(&format!("{mark}hold-out: no cell is left to fit to")));
    }
    Ok(Chosen { training, held_out, notes })
}

/// Each `column=entry` must name a column that says what ran, and some cell must have the entry.
fn check_hold_out(hold_out: &[String], cells: &[Cell], mark: &str) -> Result<()> {
    for wanted in hold_out {
        for part in wanted.split(',') {
            let column = part.split_once('=').map(|(column, _)| column.trim());
            let Some(column) = column else {
                let what = format!("{mark}hold-out {wanted}: write it as queue_depth=8");
                return Err(wrong(&what));
            };
            if cells.iter().all(|cell| cell.get(column).is_none()) {
                let near = nearest(column, RAN.into_iter());
                return Err(wrong(&format!(
                    "{mark}hold-out {wanted}: no cell has a column {column}{near}"
                )));
            }
        }
        if !cells.iter().any(|cell| cell.is_one_of(std::slice::from_ref(wanted))) {
            return Err(wrong(&format!("{mark}hold-out {wanted}: no cell is like this")));
        }
    }
    Ok(())
}

//! Fits of devices to measurements.

use crate::table::{ArrowRows, Table, Texts};
use crate::worker::away;
use flashyard_run::fit::cells::Cell as Measured;
use flashyard_run::fit::choose::{Chosen, choose};
use flashyard_run::fit::model::Model;
use flashyard_run::fit::{Asked, fit as fitted};
use flashyard_run::logs::Rows;
use flashyard_run::meter::Listener;
use flashyard_run::plan::DeviceFrom;
use flashyard_run::table::{Cell, Field, Kind};
use flashyard_sim::own::OwnParts;
use pyo3::prelude::*;

/// The keys with their fitted values, the table of cells, and what is to be known about it.
type Found = (Vec<(String, String)>, Table, Vec<String>);

/// The columns of cells: a row a figure.
const FIELDS: [Field; 5] = [
    Field::new("cell", Kind::Text, "", "what ran").whole(),
    Field::new("figure", Kind::Text, "", "what was measured; latencies in microseconds").whole(),
    Field::new("measured", Kind::Number, "", "the figure of the drive").whole(),
    Field::new("modelled", Kind::Number, "", "the figure of the device"),
    Field::new("held_out", Kind::Count, "flag", "1 where the fit did not see the cell").whole(),
];

/// Fits keys of a device, which has a text of its own or is found by its name, to the cells of a
/// file.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the Python half gives them by name")]
pub(crate) fn fit(
    py: Python<'_>,
    measurements: String,
    device: String,
    device_text: Option<String>,
    settings: Vec<String>,
    keys: Vec<String>,
    drive: Option<String>,
    hold_out: Vec<String>,
    requests: u64,
    evaluations: usize,
    seed: u64,
    progress: Option<Py<PyAny>>,
) -> PyResult<Found> {
    let asked = Asked { keys, set: settings, requests, evaluations, seed };
    away(py, progress, |teller| {
        let from = match &device_text {
            Some(text) => DeviceFrom::Text(&device, text),
            None => DeviceFrom::Named(&device),
        };
        let own = OwnParts::default();
        let zoned = Model::has_zones(&own, from)?;
        let chosen = choose(&measurements, drive.as_deref(), &hold_out, zoned, "")?;
        let Chosen { training, held_out, mut notes } = chosen;
        let model = Model::new(own, from, &asked, &training)?;
        let begin = |label: &str, _: &'static str, of: u64| -> Box<dyn Fn() + Sync> {
            let mut first = teller.clone();
            first.stage(label);
            let steps = teller.steps(of);
            Box::new(move || steps.step())
        };
        let found = fitted(&model, &training, &held_out, &asked, "fitting", &begin)?;
        let mut rows = ArrowRows::new(&FIELDS, Texts::Many);
        add(&mut rows, &training, &found.training, false);
        add(&mut rows, &held_out, &found.held_out, true);
        let table = rows.finish().map_err(anyhow::Error::msg)?;
        notes.extend(found.notes);
        Ok((found.settings, table, notes))
    })
}

fn add(rows: &mut ArrowRows, cells: &[Measured], figures: &[Vec<f64>], held_out: bool) {
    for (cell, figures) in cells.iter().zip(figures) {
        let label = cell.label();
        for ((figure, measured), modelled) in cell.measured.iter().zip(figures) {
            let name = figure.name();
            let modelled = Some(*modelled).filter(|modelled| modelled.is_finite());
            rows.row([
                Cell::Text(&label),
                Cell::Text(&name),
                Cell::Number(*measured),
                modelled.map_or(Cell::Nothing, Cell::Number),
                u64::from(held_out).into(),
            ]);
        }
    }
}

//! The time series as a CSV and a Parquet file: a row a bin. Behind the columns of all requests
//! there is one for each of several streams, and two for each of several placement handles.

use super::WholeFile;
use super::parquet::{Cell, Kind, Note, Table};
use anyhow::{Context, Result};
use flashyard_run::logs::series::{fields, rows};
use flashyard_sim::report::Report;
use serde_json::Value;
use std::path::Path;

/// The series as a CSV file at `path`, whose name it has yet to get. A figure that is not defined
/// is an empty cell.
pub(crate) fn write(path: &Path, report: &Report) -> Result<WholeFile> {
    let names: Vec<String> = fields(report).iter().map(|field| field.name.to_string()).collect();
    let mut text = names.join(",") + "\n";
    for row in rows(report) {
        let cell = |value: &Value| if value.is_null() { String::new() } else { value.to_string() };
        text += &(row?.iter().map(cell).collect::<Vec<_>>().join(",") + "\n");
    }
    WholeFile::of(path, &text)
}

/// The same rows and columns as a Parquet file.
pub(crate) fn write_parquet(path: &Path, report: &Report, notes: &[Note]) -> Result<WholeFile> {
    let say = || format!("{}: cannot be written", path.display());
    let fields = fields(report);
    let mut table = Table::new(path, &fields)?;
    for row in rows(report) {
        let row = row?;
        let cells = fields.iter().zip(&row).map(|(field, value)| match field.kind {
            Kind::Number => value.as_f64().map_or(Cell::Nothing, Cell::Number),
            _ => Cell::of(value.as_u64()),
        });
        table.push(cells).with_context(say)?;
    }
    table.finish(notes).with_context(say)
}

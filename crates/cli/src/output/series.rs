//! The time series as a CSV and a Parquet file: a row a bin. Behind the columns of all requests
//! there is one for each of several streams.

use super::WholeFile;
use super::parquet::{Cell, Field, Kind, Note, Table};
use anyhow::{Context, Result};
use flashyard_sim::metrics::series::SeriesReport;
use flashyard_sim::report::StreamReport;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

/// The columns behind `start_ns`, as they are called in `series.bins` of the JSON object.
static COLUMNS: [Field; 20] = [
    Field::new("reads", Kind::Count, "requests", "reads that arrived"),
    Field::new("writes", Kind::Count, "requests", "writes that arrived"),
    Field::new("trims", Kind::Count, "requests", "trims that arrived"),
    Field::new("flushes", Kind::Count, "requests", "flushes that arrived"),
    Field::new("read_bytes", Kind::Count, "bytes", "bytes of reads"),
    Field::new("write_bytes", Kind::Count, "bytes", "bytes of writes"),
    Field::new("latency_mean_ns", Kind::Number, "ns", "mean latency"),
    Field::new("latency_max_ns", Kind::Count, "ns", "greatest latency"),
    Field::new("read_latency_mean_ns", Kind::Number, "ns", "mean latency of reads"),
    Field::new("read_latency_max_ns", Kind::Count, "ns", "greatest latency of reads"),
    Field::new("write_latency_mean_ns", Kind::Number, "ns", "mean latency of writes"),
    Field::new("write_latency_max_ns", Kind::Count, "ns", "greatest latency of writes"),
    Field::new("outstanding_mean", Kind::Number, "requests", "mean number under way"),
    Field::new("host_programs", Kind::Count, "operations", "programs for the host"),
    Field::new("gc_programs", Kind::Count, "operations", "programs for garbage collection"),
    Field::new("write_amplification", Kind::Number, "", "write amplification of the bin"),
    Field::new("erases", Kind::Count, "operations", "erases"),
    Field::new("free_blocks", Kind::Count, "blocks", "free blocks at the end of the bin"),
    Field::new("energy_pj", Kind::Count, "pJ", "energy"),
    Field::new("mean_mw", Kind::Number, "mW", "mean power"),
];

/// Writes the series into a file at `path`, whose name it has yet to get. A figure that is not
/// defined is an empty cell.
pub(crate) fn write(
    path: &Path,
    series: &SeriesReport,
    streams: &BTreeMap<String, StreamReport>,
) -> Result<WholeFile> {
    let mut file = WholeFile::create(path)?;
    let names: Vec<&str> = COLUMNS.iter().map(|field| &*field.name).collect();
    let mut text = format!("start_ns,{}", names.join(","));
    for name in streams.keys() {
        text += &format!(",bytes of {name}");
    }
    text.push('\n');
    for (number, bin) in series.bins.iter().enumerate() {
        text += &(number as u64 * series.bin_ns).to_string();
        let bin = serde_json::to_value(bin).context("a bin of the series")?;
        for column in &COLUMNS {
            text.push(',');
            match &bin[&*column.name] {
                Value::Null => {}
                value => text += &value.to_string(),
            }
        }
        for bytes in streams.values().filter_map(|stream| stream.bin_bytes.as_ref()) {
            text += &format!(",{}", bytes[number]);
        }
        text.push('\n');
    }
    file.write_all(text.as_bytes()).with_context(|| format!("{}", path.display()))?;
    Ok(file)
}

/// The same rows and columns as a Parquet file; a figure that is not defined is null.
pub(crate) fn write_parquet(
    path: &Path,
    series: &SeriesReport,
    streams: &BTreeMap<String, StreamReport>,
    notes: &[Note],
) -> Result<WholeFile> {
    let mut fields = vec![Field::new("start_ns", Kind::Count, "ns", "start of the bin").whole()];
    fields.extend(COLUMNS.iter().cloned());
    let bytes = Field::new("", Kind::Count, "bytes", "bytes of the stream");
    fields.extend(streams.keys().map(|name| bytes.clone().named(format!("bytes of {name}"))));
    let say = || format!("{}: cannot be written", path.display());
    let mut table = Table::new(path, &fields)?;
    for (number, bin) in series.bins.iter().enumerate() {
        let bin = serde_json::to_value(bin).context("a bin of the series")?;
        let figures = COLUMNS.iter().map(|field| {
            let value = &bin[&*field.name];
            match field.kind {
                Kind::Number => value.as_f64().map_or(Cell::Nothing, Cell::Number),
                _ => Cell::of(value.as_u64()),
            }
        });
        let bytes = streams.values().filter_map(|stream| stream.bin_bytes.as_ref());
        let bytes = bytes.map(|bytes| Cell::Count(bytes[number]));
        let start = Cell::Count(number as u64 * series.bin_ns);
        table.push(std::iter::once(start).chain(figures).chain(bytes)).with_context(say)?;
    }
    table.finish(notes).with_context(say)
}

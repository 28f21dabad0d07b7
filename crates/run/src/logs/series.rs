//! The time series as a table: a row a bin. Behind the columns of all requests there is one for
//! each of several streams, and two for each of several placement handles.

use crate::table::{Field, Kind};
use anyhow::{Context, Result};
use flashyard_sim::report::Report;
use serde_json::Value;

/// The columns behind `start_ns`, as they are called in `series.bins` of the JSON object.
static COLUMNS: [Field; 21] = [
    Field::new("reads", Kind::Count, "requests", "reads that were answered"),
    Field::new("writes", Kind::Count, "requests", "writes that were answered"),
    Field::new("trims", Kind::Count, "requests", "trims that were answered"),
    Field::new("flushes", Kind::Count, "requests", "flushes that were answered"),
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
    Field::new("fold_programs", Kind::Count, "operations", "programs for folding an SLC cache"),
    Field::new("write_amplification", Kind::Number, "", "write amplification of the bin"),
    Field::new("erases", Kind::Count, "operations", "erases"),
    Field::new("free_blocks", Kind::Count, "blocks", "free blocks at the end of the bin"),
    Field::new("energy_pj", Kind::Count, "pJ", "energy"),
    Field::new("mean_mw", Kind::Number, "mW", "mean power"),
];

/// The columns of the bins, of the bytes of each stream, and of those of each placement handle.
pub fn fields(report: &Report) -> Vec<Field> {
    let mut fields = vec![Field::new("start_ns", Kind::Count, "ns", "start of the bin").whole()];
    fields.extend(COLUMNS.iter().cloned());
    let bytes = Field::new("", Kind::Count, "bytes", "bytes of the stream");
    let streams = report.streams.keys();
    fields.extend(streams.map(|name| bytes.clone().named(format!("bytes of {name}"))));
    for row in report.placement.iter().flatten() {
        let handle = row.handle.map_or("shared blocks".to_string(), |n| format!("handle {n}"));
        for (what, doc) in [
            ("host", "bytes that the host wrote with the handle"),
            ("media", "bytes of units that were programmed for the handle, copies among them"),
        ] {
            let field = Field::new("", Kind::Count, "bytes", doc);
            fields.push(field.named(format!("{what} bytes of {handle}")));
        }
    }
    fields
}

/// Returns the rows with a value for each column; none where the run has no series. A figure that
/// is not defined is null.
pub fn rows(report: &Report) -> impl Iterator<Item = Result<Vec<Value>>> {
    let bins =
        report.series.iter().flat_map(|series| series.bins.iter().map(|bin| (bin, series.bin_ns)));
    bins.enumerate().map(move |(number, (bin, width))| {
        let start = Value::from(number as u64 * width);
        let bin = serde_json::to_value(bin).context("a bin of the series")?;
        let figures = COLUMNS.iter().map(|field| bin[&*field.name].clone());
        let streams = report.streams.values().filter_map(|stream| stream.bin_bytes.as_ref());
        let handles = report.placement.iter().flatten();
        let handles = handles.flat_map(|row| [&row.bin_host_bytes, &row.bin_media_bytes]);
        let bytes = streams.chain(handles.flatten()).map(|bytes| Value::from(bytes[number]));
        Ok(std::iter::once(start).chain(figures).chain(bytes).collect())
    })
}

//! The time series as a CSV file: a row a bin. Behind the columns of all requests there is one for
//! each of several streams.

use super::WholeFile;
use anyhow::{Context, Result};
use flashyard_sim::metrics::series::SeriesReport;
use flashyard_sim::report::StreamReport;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

/// The columns behind `start_ns`, as they are called in `series.bins` of the JSON object.
const COLUMNS: [&str; 16] = [
    "reads",
    "writes",
    "trims",
    "flushes",
    "read_bytes",
    "write_bytes",
    "latency_mean_ns",
    "latency_max_ns",
    "outstanding_mean",
    "host_programs",
    "gc_programs",
    "write_amplification",
    "erases",
    "free_blocks",
    "energy_pj",
    "mean_mw",
];

/// Writes the series into a file at `path`, whose name it has yet to get. A figure that is not
/// defined is an empty cell.
pub(crate) fn write(
    path: &Path,
    series: &SeriesReport,
    streams: &BTreeMap<String, StreamReport>,
) -> Result<WholeFile> {
    let mut file = WholeFile::create(path)?;
    let mut text = format!("start_ns,{}", COLUMNS.join(","));
    for name in streams.keys() {
        text += &format!(",bytes of {name}");
    }
    text.push('\n');
    for (number, bin) in series.bins.iter().enumerate() {
        text += &(number as u64 * series.bin_ns).to_string();
        let bin = serde_json::to_value(bin).context("a bin of the series")?;
        for column in COLUMNS {
            text.push(',');
            match &bin[column] {
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

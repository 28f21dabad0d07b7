//! Cells from the JSON that `fio --output-format=json` writes: a cell for each job.

use super::cell::{Cell, Class, Figure, What};
use crate::error::wrong;
use anyhow::Result;
use serde_json::Value;

/// Percentiles by their names in the JSON.
const PERCENTILES: [(&str, What); 3] =
    [("50.000000", What::P50), ("99.000000", What::P99), ("99.900000", What::P999)];

/// The cells of a file.
pub(super) fn cells(path: &str, text: &str) -> Result<Vec<Cell>> {
    // fio may print remarks before the object.
    let start = text.find('{').unwrap_or(0);
    let root: Value =
        serde_json::from_str(&text[start..]).map_err(|error| wrong(&format!("{path}: {error}")))?;
    let jobs = root["jobs"].as_array();
    let jobs =
        jobs.ok_or_else(|| wrong(&format!("{path}: it has no \"jobs\", as fio's JSON has")))?;
    let cells = jobs.iter().enumerate();
    cells.map(|(number, job)| cell(path, number, &root["global options"], job)).collect()
}

fn cell(path: &str, number: usize, global: &Value, job: &Value) -> Result<Cell> {
    let name = job["jobname"].as_str().map_or_else(|| number.to_string(), str::to_string);
    let place = format!("{path}: job {name}");
    let option = |key: &str| {
        let own = job["job options"][key].as_str();
        own.or_else(|| global[key].as_str()).map(str::to_string)
    };
    let pattern = option("rw").or_else(|| option("readwrite")).unwrap_or_else(|| "read".into());
    let bytes = option("bs").or_else(|| option("blocksize")).unwrap_or_else(|| "4k".into());
    let bytes = size(&bytes)
        .ok_or_else(|| wrong(&format!("{place}: bs: \"{bytes}\" is not one size, such as 4k")))?;
    let whole = |key: &str| -> Result<u64> {
        let text = option(key).unwrap_or_else(|| "1".to_string());
        text.parse().map_err(|_| wrong(&format!("{place}: {key}: \"{text}\" is not a number")))
    };
    let depth = whole("iodepth")? * whole("numjobs")?;
    let mut ran = vec![
        ("pattern".to_string(), pattern.clone()),
        ("block_bytes".to_string(), bytes.to_string()),
        ("queue_depth".to_string(), depth.to_string()),
    ];
    ran.extend(option("rwmixread").map(|share| ("read_percent".to_string(), share)));
    ran.extend(option("rate_iops").map(|rate| ("rate_per_s".to_string(), rate)));
    let mut measured = Vec::new();
    for class in [Class::Read, Class::Write] {
        measured.extend(figures(&job[class.word()], class));
    }
    if measured.is_empty() {
        return Err(wrong(&format!("{place}: it has neither reads nor writes")));
    }
    Ok(Cell { place, drive: String::new(), ran, measured })
}

/// Returns the measured figures of a class, if it has requests.
fn figures(found: &Value, class: Class) -> Vec<(Figure, f64)> {
    let mut all = Vec::new();
    let mut add = |what, value: Option<f64>| {
        all.extend(value.filter(|value| *value > 0.0).map(|value| (Figure { class, what }, value)));
    };
    add(What::PerSecond, found["iops"].as_f64());
    // From submission to completion where fio says so; percentiles are of `clat` by default.
    let lat = [&found["lat_ns"], &found["clat_ns"]];
    let mean = lat.iter().find_map(|lat| lat["mean"].as_f64().filter(|mean| *mean > 0.0));
    add(What::Mean, mean.map(|ns| ns / 1e3));
    for (name, what) in PERCENTILES {
        let of = |lat: &&Value| lat["percentile"][name].as_f64();
        add(what, lat.iter().find_map(of).map(|ns| ns / 1e3));
    }
    all
}

/// Bytes of a size as fio writes it: `4k`, `1m`, `4096`, `16KiB`.
fn size(text: &str) -> Option<u64> {
    let text = text.trim().to_ascii_lowercase();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..digits].parse().ok()?;
    let unit = match &text[digits..] {
        "" | "b" => 1,
        "k" | "kib" | "kb" => 1 << 10,
        "m" | "mib" | "mb" => 1 << 20,
        "g" | "gib" | "gb" => 1 << 30,
        _ => return None,
    };
    number.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_fio() {
        assert_eq!(size("4k"), Some(4_096));
        assert_eq!(size("4096"), Some(4_096));
        assert_eq!(size("1MiB"), Some(1 << 20));
        assert_eq!(size("4k,8k"), None);
    }

    #[test]
    fn a_job_is_a_cell() {
        let text = r#"fio: a remark
            {"global options": {"bs": "16k"},
             "jobs": [{"jobname": "a", "job options": {"rw": "randread", "iodepth": "8", "numjobs": "2"},
               "read": {"iops": 53346.5, "lat_ns": {"mean": 149200.0},
                        "clat_ns": {"mean": 1.0, "percentile": {"50.000000": 132100, "99.000000": 346100}}},
               "write": {"iops": 0, "lat_ns": {"mean": 0}}}]}"#;
        let cells = cells("x.json", text).unwrap();
        assert_eq!(cells.len(), 1);
        assert_eq!(cells[0].label(), "pattern=randread block_bytes=16384 queue_depth=16");
        let reads: Vec<_> =
            cells[0].measured.iter().map(|(figure, value)| (figure.name(), *value)).collect();
        let expected = [
            ("read per_s", 53_346.5),
            ("read mean", 149.2),
            ("read p50", 132.1),
            ("read p99", 346.1),
        ];
        assert_eq!(reads, expected.map(|(name, value)| (name.to_string(), value)));
    }

    #[test]
    fn what_is_no_output_of_fio_is_refused() {
        assert!(cells("x.json", "{}").is_err());
        assert!(cells("x.json", "no").is_err());
    }
}

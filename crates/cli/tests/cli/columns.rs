//! Logs and time series as Parquet: row by row what the CSV has, with units, settings, seed, hash
//! of the workload and version in the metadata.

use crate::support::Folder;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use serde_json::Value;
use std::collections::BTreeMap;

/// A table: the names of its columns, and its rows as a CSV file has them.
type Rows = (Vec<String>, Vec<Vec<String>>);

fn reader(folder: &Folder, name: &str) -> SerializedFileReader<std::fs::File> {
    let file = std::fs::File::open(folder.path(name)).unwrap();
    SerializedFileReader::new(file).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn parquet(folder: &Folder, name: &str) -> Rows {
    let reader = reader(folder, name);
    let schema = reader.metadata().file_metadata().schema_descr();
    let names = schema.columns().iter().map(|column| column.name().to_string()).collect();
    let cell = |field: &Field| match field {
        Field::Null => String::new(),
        Field::Str(text) => text.clone(),
        Field::Long(count) => count.to_string(),
        Field::ULong(count) => count.to_string(),
        Field::Double(number) => format!("{number:?}"),
        other => panic!("{name}: {other:?}"),
    };
    let rows = reader.get_row_iter(None).unwrap();
    let row = |row: parquet::record::Row| row.get_column_iter().map(|(_, at)| cell(at)).collect();
    (names, rows.map(|one| row(one.unwrap())).collect())
}

/// The same of a CSV file; `numbers` are columns of floating-point numbers, which two programs may
/// write with more digits or fewer.
fn csv(folder: &Folder, name: &str, numbers: &[&str]) -> Rows {
    let bytes = folder.read(name);
    let mut reader = csv::Reader::from_reader(&bytes[..]);
    let names: Vec<String> = reader.headers().unwrap().iter().map(String::from).collect();
    let cell = |(name, cell): (&String, &str)| match cell.parse::<f64>() {
        Ok(number) if numbers.contains(&name.as_str()) => format!("{number:?}"),
        _ => cell.to_string(),
    };
    let row = |row: csv::StringRecord| names.iter().zip(row.iter()).map(cell).collect();
    let rows = reader.records().map(|one| row(one.unwrap())).collect();
    (names.clone(), rows)
}

fn metadata(folder: &Folder, name: &str) -> BTreeMap<String, String> {
    let reader = reader(folder, name);
    let notes = reader.metadata().file_metadata().key_value_metadata().unwrap();
    notes.iter().map(|note| (note.key.clone(), note.value.clone().unwrap())).collect()
}

/// A log of both kinds has the same rows, more than `least` of them, and gaps.
#[track_caller]
fn alike(folder: &Folder, stem: &str, numbers: &[&str], least: usize) {
    let (from_csv, from_parquet) =
        (csv(folder, &format!("{stem}.csv"), numbers), parquet(folder, &format!("{stem}.parquet")));
    assert_eq!(from_csv.0, from_parquet.0, "{stem}: columns");
    assert!(from_csv.1.len() > least, "{stem}: {} rows", from_csv.1.len());
    for (row, (a, b)) in from_csv.1.iter().zip(&from_parquet.1).enumerate() {
        assert_eq!(a, b, "{stem}: row {row}");
    }
    assert_eq!(from_csv.1.len(), from_parquet.1.len(), "{stem}: rows");
    assert!(from_csv.1.iter().flatten().any(String::is_empty), "{stem}: nothing is undefined");
}

#[test]
fn a_log_is_csv_or_parquet_by_the_end_of_its_name() {
    let folder = Folder::new();
    let work = ["run", "small-full", "mixed-70-30", "--set", "pattern.requests=3000"];
    let few = ["--set", "bus.precision=requests"];
    for end in ["csv", "parquet"] {
        let (commands, bus) = (format!("commands.{end}"), format!("bus.{end}"));
        let files = ["--commands", &commands, "--bus", &bus];
        folder.run(&[&work[..], &few, &files].concat()).text();
    }
    alike(&folder, "commands", &[], 3_000);
    alike(&folder, "bus", &[], 3_000);
}

#[test]
fn the_files_of_a_run_have_the_same_rows_in_both_formats() {
    let folder = Folder::new();
    let work = ["run", "small-full", "mixed-70-30", "--set", "pattern.requests=3000"];
    let set = ["--set", "metrics.bin_ms=1", "--set", "metrics.power_us=100", "--seed", "5"];
    let object = folder.run(&[&work[..], &set, &["--out", "r", "--json"]].concat()).json();
    let numbers = ["latency_mean_ns", "outstanding_mean", "write_amplification", "mean_mw"];
    alike(&folder, "r/series", &numbers, 20);
    let (csv, parquet) =
        (csv(&folder, "r/power.csv", &numbers), parquet(&folder, "r/power.parquet"));
    assert!(csv.1.len() > 100 && csv == parquet, "{} {}", csv.1.len(), parquet.1.len());
    for name in ["r/series.parquet", "r/power.parquet", "r/requests.parquet"] {
        let notes = metadata(&folder, name);
        assert_eq!(notes["flashyard.version"], env!("CARGO_PKG_VERSION"), "{name}");
        assert_eq!(notes["flashyard.seed"], "5", "{name}");
        assert_eq!(object["provenance"]["workload_sha256"], notes["flashyard.workload_sha256"]);
        let settings: Value = serde_json::from_str(&notes["flashyard.settings"]).unwrap();
        assert_eq!(settings["device"], object["device"], "{name}");
        assert_eq!(settings["workload"], object["workload"]["plan"], "{name}");
        let columns = self::parquet(&folder, name).0;
        for about in ["flashyard.units", "flashyard.columns"] {
            let about: BTreeMap<String, String> = serde_json::from_str(&notes[about]).unwrap();
            assert!(about.keys().eq(columns.iter().collect::<std::collections::BTreeSet<_>>()));
        }
        let units: BTreeMap<String, String> =
            serde_json::from_str(&notes["flashyard.units"]).unwrap();
        for (column, unit) in &units {
            for (end, expected) in [("_ns", "ns"), ("_pj", "pJ"), ("_mw", "mW"), ("bytes", "bytes")]
            {
                assert!(!column.ends_with(end) || unit == expected, "{name}: {column} in {unit}");
            }
        }
    }
}

#[test]
fn a_trace_has_no_seed() {
    let folder = Folder::with("t.txt", "0 0 0 8 1\n5 0 8 8 0\n");
    folder.run(&["run", "t.txt", "--commands", "c.PARQUET"]).text();
    assert_eq!(metadata(&folder, "c.PARQUET")["flashyard.seed"], "");
}

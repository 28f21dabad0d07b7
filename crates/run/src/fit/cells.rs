//! Measured cells: what a real drive did under a workload, from CSV files and from the JSON of fio.
//!
//! A cell is one row: some columns say what ran, the others what was measured. docs/FITTING.md
//! lists the columns.

pub use super::cell::{Cell, Class, Figure, What};

use super::cell::ZONES;
use super::fio;
use crate::error::{read_text, wrong};
use anyhow::Result;
use flashyard_sim::config::nearest;
use std::path::Path;

/// Columns that say what ran, beside the keys of the workload and of the device.
pub const RAN: [&str; 8] = [
    "pattern",
    "block_bytes",
    "queue_depth",
    "read_percent",
    "rate_per_s",
    "writes_per_s_asked",
    "visible_gib",
    "state",
];

/// Columns of what was measured, without the class.
const MEASURED: [(&str, What); 5] = [
    ("mean_us", What::Mean),
    ("p50_us", What::P50),
    ("p99_us", What::P99),
    ("p999_us", What::P999),
    ("iops", What::PerSecond),
];

/// The column that names the drive.
const DRIVE: &str = "drive";

/// The cells of a file.
#[derive(Clone, Debug)]
pub struct Read {
    /// Those that a device without zones can run: what is read of several zones in order is read of
    /// as many parts of it.
    pub cells: Vec<Cell>,
    /// Those that need zones.
    pub of_zones: Vec<Cell>,
    /// What is to be known of the others, a sentence each.
    pub notes: Vec<String>,
}

impl Read {
    /// The cells that a device can run, with or without zones.
    pub(super) fn for_device(mut self, path: &str, zoned: bool) -> (Vec<Cell>, Vec<String>) {
        let (cells, others) =
            if zoned { (self.of_zones, self.cells) } else { (self.cells, self.of_zones) };
        let what = if zoned { "the device has zones" } else { "the device has no zones" };
        self.notes.extend(passed_over(path, others.len(), what));
        (cells, self.notes)
    }
}

/// A note of rows that are passed over, if there are any.
fn passed_over(path: &str, rows: usize, why: &str) -> Option<String> {
    let what = if rows == 1 { "1 row is" } else { &format!("{rows} rows are") };
    (rows > 0).then(|| format!("{path}: {what} passed over: {why}"))
}

/// Reads the cells of a file: fio's JSON, or CSV.
pub fn read(path: &str) -> Result<Read> {
    let text = read_text(path)?;
    let is_json = Path::new(path).extension().is_some_and(|end| end.eq_ignore_ascii_case("json"));
    let mut notes = Vec::new();
    let cells = if is_json {
        fio::cells(path, &text, &mut notes)?
    } else {
        let (cells, passed) = csv_cells(path, &text)?;
        let why =
            "of several zones at once, reads in order, appends and writes in order can be run";
        notes.extend(passed_over(path, passed, why));
        cells
    };
    if cells.is_empty() {
        return Err(wrong(&format!("{path}: it has no measured cells")));
    }
    let (of_zones, cells) = cells.into_iter().partition(Cell::needs_zones);
    Ok(Read { cells, of_zones, notes })
}

/// What a column of a CSV file is.
enum Column {
    Drive,
    Zones,
    Ran(String),
    Measured(Option<Class>, What),
}

fn column(name: &str) -> Option<Column> {
    if name == DRIVE {
        return Some(Column::Drive);
    }
    if name == ZONES {
        return Some(Column::Zones);
    }
    if RAN.contains(&name) || name.contains('.') {
        return Some(Column::Ran(name.to_string()));
    }
    match name {
        "write_amplification" => {
            return Some(Column::Measured(Some(Class::Write), What::Amplification));
        }
        "reads_per_s" => return Some(Column::Measured(Some(Class::Read), What::PerSecond)),
        "writes_per_s" => return Some(Column::Measured(Some(Class::Write), What::PerSecond)),
        _ => {}
    }
    let (class, rest) = match (name.strip_prefix("read_"), name.strip_prefix("write_")) {
        (Some(rest), _) => (Some(Class::Read), rest),
        (_, Some(rest)) => (Some(Class::Write), rest),
        _ => (None, name),
    };
    let what = MEASURED.iter().find(|(known, _)| *known == rest)?.1;
    Some(Column::Measured(class, what))
}

/// The cells of a CSV file, and the number of rows that no device runs.
fn csv_cells(path: &str, text: &str) -> Result<(Vec<Cell>, usize)> {
    let mut reader = csv::ReaderBuilder::new()
        .comment(Some(b'#'))
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes());
    let problem = |error: csv::Error| wrong(&format!("{path}: {error}"));
    let header = reader.headers().map_err(problem)?.clone();
    let mut columns = Vec::new();
    for name in &header {
        if header.iter().filter(|other| *other == name).count() > 1 {
            return Err(wrong(&format!("{path}: two columns are called \"{name}\"")));
        }
        columns.push(column(name).ok_or_else(|| {
            let measured = MEASURED.iter().map(|(known, _)| *known);
            let known = RAN.iter().copied().chain(measured).chain([DRIVE, ZONES]);
            wrong(&format!("{path}: no such column \"{name}\"{}", nearest(name, known)))
        })?);
    }
    let (mut cells, mut passed) = (Vec::new(), 0);
    for row in reader.records() {
        let row = row.map_err(problem)?;
        let line = row.position().map_or(0, csv::Position::line);
        let place = format!("{path}:{line}");
        let mut cell = Cell { place, drive: String::new(), ran: Vec::new(), measured: Vec::new() };
        let entries = columns.iter().zip(&row).filter(|(_, entry)| !entry.is_empty());
        let (mut found, mut zones) = (Vec::new(), None);
        for (column, entry) in entries {
            match column {
                Column::Zones => zones = (entry != "1").then_some(entry),
                Column::Drive => cell.drive = entry.to_string(),
                Column::Ran(name) => cell.ran.push((name.clone(), entry.to_string())),
                Column::Measured(class, what) => {
                    found.push((*class, *what, number(&cell.place, entry)?));
                }
            }
        }
        if zones.is_some() && !cell.is_read_in_order() && !cell.needs_zones() {
            passed += 1;
            continue;
        }
        if let Some(zones) = zones {
            cell.ran.push((ZONES.to_string(), zones.to_string()));
            cell.zones()?;
        }
        let own = if cell.has(Class::Read) { Class::Read } else { Class::Write };
        let figures = found.into_iter();
        cell.measured = figures
            .map(|(class, what, value)| (Figure { class: class.unwrap_or(own), what }, value))
            .collect();
        cell.check()?;
        cells.push(cell);
    }
    Ok((cells, passed))
}

/// A measured figure: a number above 0.
fn number(place: &str, entry: &str) -> Result<f64> {
    let number = entry.parse::<f64>().ok().filter(|number| number.is_finite() && *number > 0.0);
    number.ok_or_else(|| wrong(&format!("{place}: \"{entry}\" is not a number above 0")))
}

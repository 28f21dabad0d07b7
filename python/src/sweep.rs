//! Sweeps: runs of points, whose results are kept in a folder of journals.

use crate::errors::exception;
use crate::plan::base;
use crate::policies::Parts;
use crate::requests::Requests;
use crate::table::{ArrowRows, Table, Texts};
use crate::worker::{Teller, away};
use anyhow::Result;
use flashyard_run::figure::Figure;
use flashyard_run::logs::Rows;
use flashyard_run::points;
use flashyard_run::sweep::Runner;
use flashyard_run::sweep::file::Sweep as File;
use flashyard_run::sweep::journal::{Found, Journal, Place};
use flashyard_run::sweep::plan::{Asked, Planned, Planner};
use flashyard_run::table::{Cell, Field, Kind};
use flashyard_run::unused::UnusedInAll;
use flashyard_run::{hash, verdict};
use flashyard_sim::own::OwnParts;
use pyo3::prelude::*;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// A sweep, checked but for its points.
#[pyclass(frozen, module = "flashyard._core")]
#[derive(Debug)]
pub(crate) struct Sweep {
    file: File,
    asked: Asked,
    own: OwnParts,
}

/// What the table of a sweep has of a run.
struct Row<'a> {
    point: usize,
    planned: &'a Planned,
    seed: Option<u64>,
    found: Option<&'a Found>,
}

impl Row<'_> {
    fn failed(&self) -> Option<&str> {
        match (&self.planned.runs, self.found) {
            (Err(why), _) => Some(why),
            (Ok(runs), None) => runs.refused.as_deref().or(Some("it has not been run")),
            (Ok(_), Some(found)) => found.failed.as_deref(),
        }
    }
}

#[pymethods]
impl Sweep {
    /// A sweep of the text of a sweep file. Names of this device and this workload stand for what is
    /// given here; `pairs` are the devices and workloads that its points name together.
    #[new]
    #[pyo3(signature = (device, device_text, workload, workload_text, requests, parts, pairs, text, check, program, memory_mib))]
    #[expect(clippy::too_many_arguments, reason = "the Python half gives them by name")]
    fn new(
        py: Python<'_>,
        device: &str,
        device_text: Option<&str>,
        workload: &str,
        workload_text: Option<&str>,
        requests: Option<&Requests>,
        parts: Option<&Parts>,
        pairs: Vec<(String, String)>,
        text: &str,
        check: bool,
        program: PathBuf,
        memory_mib: Option<u64>,
    ) -> PyResult<Self> {
        let place = "the sweep".to_string();
        let own = parts.map_or_else(OwnParts::default, |parts| parts.0.clone());
        let of_pair = |(on, what): (String, String)| {
            let device_text = device_text.filter(|_| on == device);
            let own = what == workload;
            let text = workload_text.filter(|_| own);
            let requests = requests.filter(|_| own);
            let base = base((&on, device_text), (Some(&what), text), requests, parts)?;
            anyhow::Ok((on, what, base))
        };
        let made = py.detach(|| {
            let file = File::parse(&place, text)?;
            let given = pairs.into_iter().map(of_pair).collect::<Result<_>>()?;
            let program = Some(program);
            let asked = Asked { place, check, memory_mib, program, given, ..Asked::default() };
            anyhow::Ok(Self { file, asked, own })
        });
        made.map_err(|error| exception(&error))
    }

    /// The names of the runs of each point; none of a point whose device is impossible.
    fn names(&self, py: Python<'_>) -> PyResult<Vec<Vec<String>>> {
        away(py, None, |_| {
            let mut planner = self.planner()?;
            let hex =
                |planned: Planned| planned.names().iter().map(|name| hash::hex(name)).collect();
            self.file.points.iter().map(|point| planner.plan(point).map(hex)).collect()
        })
    }

    /// The settings that change nothing in any point, a sentence each.
    fn unused(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        away(py, None, |_| {
            // Not planned: that reads whole traces for the names of runs.
            let (planner, mut unused) = (self.planner()?, UnusedInAll::default());
            for point in &self.file.points {
                unused.add(planner.inputs(point)?.unused());
            }
            Ok(unused.get().iter().map(ToString::to_string).collect())
        })
    }

    /// Runs what no journal of the folder has, of these points or of all, and adds it to the
    /// journal of this name there.
    fn run(
        &self,
        py: Python<'_>,
        folder: PathBuf,
        name: &str,
        points: Option<Vec<usize>>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        away(py, progress, |teller| {
            let mut planner = self.planner()?;
            let planned = self.planned(&mut planner, points)?;
            self.run_points(&planner, &planned, &Place::folder(&folder, name, None), &teller)
        })
    }

    /// Runs what is missing, as above, and returns the table: a row a run, with these columns for
    /// keys.
    fn table(
        &self,
        py: Python<'_>,
        folder: PathBuf,
        name: &str,
        keys: Vec<String>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Table> {
        away(py, progress, |teller| {
            let mut planner = self.planner()?;
            let planned = self.planned(&mut planner, None)?;
            let place = Place::folder(&folder, name, None);
            self.run_points(&planner, &planned, &place, &teller)?;
            let journal = Journal::look(&place)?;
            table(&planner, &planned, &journal, &keys)
        })
    }
}

/// The names of the runs that the journals of a folder have.
#[pyfunction]
pub(crate) fn finished(py: Python<'_>, folder: PathBuf) -> PyResult<Vec<String>> {
    away(py, None, |_| {
        let journal = Journal::look(&Place::folder(&folder, "none", None))?;
        Ok(journal.names().map(|name| hash::hex(name)).collect())
    })
}

impl Sweep {
    fn planner(&self) -> Result<Planner<'_>> {
        Planner::new(&self.file, &self.asked, self.own.clone())
    }

    fn planned(
        &self,
        planner: &mut Planner<'_>,
        points: Option<Vec<usize>>,
    ) -> Result<Vec<Planned>> {
        let all = &self.file.points;
        match points {
            Some(points) => points
                .into_iter()
                .filter_map(|point| all.get(point))
                .map(|point| planner.plan(point))
                .collect(),
            None => all.iter().map(|point| planner.plan(point)).collect(),
        }
    }

    fn run_points(
        &self,
        planner: &Planner<'_>,
        planned: &[Planned],
        place: &Place,
        teller: &Teller,
    ) -> Result<()> {
        teller.expect(planned.iter().map(|point| point.names().len()).sum());
        let mut runner = Runner::open(place, self.asked.check, None)?;
        runner.run(planner, &planned.iter().collect::<Vec<_>>(), teller)?;
        runner.finish()
    }
}

/// The columns before those of keys.
const FIRST: [Field; 4] = [
    Field::new("point", Kind::Count, "", "number of the point, from 0"),
    Field::new("device", Kind::Text, "", "preset or file of the device"),
    Field::new("workload", Kind::Text, "", "name or file of the workload"),
    Field::new("seed", Kind::Count, "", "seed of the run; empty where nothing is drawn"),
];

/// The rows of all points, in their order.
fn rows<'a>(planner: &Planner<'_>, planned: &'a [Planned], journal: &'a Journal) -> Vec<Row<'a>> {
    let mut rows = Vec::new();
    for (point, planned) in planned.iter().enumerate() {
        match &planned.runs {
            Ok(runs) => {
                for (place, name) in runs.names.iter().enumerate() {
                    let seed = planner.seed(runs, place);
                    rows.push(Row { point, planned, seed, found: journal.found(name) });
                }
            }
            Err(_) => rows.push(Row { point, planned, seed: None, found: None }),
        }
    }
    rows
}

/// What a point is: its device, its workload, and its values of the keys that the sweep varies.
struct About {
    names: [String; 2],
    values: Vec<String>,
}

/// The columns: those of keys of these kinds, and these figures.
fn fields(keys: &[String], kinds: &[Kind], figures: &[Figure]) -> Vec<Field> {
    let mut fields = FIRST.to_vec();
    for (key, kind) in keys.iter().zip(kinds) {
        fields.push(Field::owned(key, *kind, "", "setting that the sweep varies (docs/KEYS.md)"));
    }
    fields.extend(figures.iter().map(|figure| {
        let of = figure.headline();
        let stream = figure.stream().map(|stream| format!("of the stream {stream}: "));
        let what = stream.unwrap_or_default() + &of.what;
        Field::owned(&figure.name(), Kind::Number, of.unit, &what)
    }));
    fields.push(Field::new("warnings", Kind::Text, "", "what makes figures misleading"));
    fields.push(Field::new("failed", Kind::Text, "", "why the run has no figures"));
    fields
}

/// A row a run.
fn table(
    planner: &Planner<'_>,
    planned: &[Planned],
    journal: &Journal,
    keys: &[String],
) -> Result<Table> {
    let rows = rows(planner, planned, journal);
    let mut points: Vec<About> = Vec::new();
    for planned in planned {
        let inputs = planner.inputs(&planned.point)?;
        let names = [inputs.device_name.clone(), inputs.workload_name().to_string()];
        let value = |key: &String| points::value(&inputs, &planned.point, key);
        points.push(About { names, values: keys.iter().map(value).collect() });
    }
    let kinds: Vec<Kind> = (0..keys.len()).map(|key| kind(&points, key)).collect();
    let streams = rows.iter().filter_map(|row| row.found);
    let streams: BTreeSet<&String> = streams.flat_map(|found| found.streams.keys()).collect();
    let of_streams = streams.into_iter().flat_map(|stream| Figure::all_of(stream));
    let figures: Vec<Figure> = Figure::all().chain(of_streams).collect();
    let mut table = ArrowRows::new(&fields(keys, &kinds, &figures), Texts::Many);
    for row in &rows {
        add(&mut table, row, &points[row.point], &kinds, &figures);
    }
    table.finish().map_err(anyhow::Error::msg)
}

fn add(table: &mut ArrowRows, row: &Row<'_>, point: &About, kinds: &[Kind], figures: &[Figure]) {
    let [device, workload] = &point.names;
    let first: [Cell<'_>; 4] =
        [(row.point as u64).into(), Cell::Text(device), Cell::Text(workload), Cell::of(row.seed)];
    let of_keys = point.values.iter().zip(kinds).map(|(text, kind)| cell(text, *kind));
    let figures = figures.iter().map(|figure| {
        let value = row.found.and_then(|found| found.figure(figure));
        value.map_or(Cell::Nothing, Cell::Number)
    });
    let warnings = row.found.map(|found| {
        let said = found.warnings.iter().map(|(what, how)| verdict::warning(what, how));
        said.collect::<Vec<_>>().join("; ")
    });
    let warnings = warnings.as_deref().filter(|text| !text.is_empty());
    let last = [warnings, row.failed()].map(|text| text.map_or(Cell::Nothing, Cell::Text));
    table.row(first.into_iter().chain(of_keys).chain(figures).chain(last));
}

/// What the values of a key are: whole numbers, numbers, or texts.
fn kind(points: &[About], key: usize) -> Kind {
    let mut all = points.iter().map(|point| &point.values[key]);
    if all.clone().all(|text| text.parse::<u32>().is_ok()) {
        return Kind::Count;
    }
    if all.all(|text| text.parse::<f64>().is_ok()) { Kind::Number } else { Kind::Text }
}

fn cell(text: &str, kind: Kind) -> Cell<'_> {
    match kind {
        Kind::Count => text.parse().map_or(Cell::Nothing, Cell::Count),
        Kind::Number => text.parse().map_or(Cell::Nothing, Cell::Number),
        Kind::Text | Kind::Word => Cell::Text(text),
    }
}

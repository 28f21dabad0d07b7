//! What a run found.

use crate::errors::failed;
use crate::plan::table;
use crate::table::{ArrowRows, Table, Texts};
use flashyard_run::cuts::rows::{FIELDS, row};
use flashyard_run::headline;
use flashyard_run::logs::{Rows, series};
use flashyard_run::plan::Plan;
use flashyard_run::simulate::Outcome as Found;
use flashyard_run::table::{Cell, Kind};
use flashyard_sim::observe::Shared;
use flashyard_sim::report::Report;
use pyo3::prelude::*;

/// Figures by name; `None` where there is no such figure.
type Figures = Vec<(String, Option<f64>)>;

/// What a run found: the JSON contract, its figures, and its tables.
#[pyclass(frozen, module = "flashyard._core", get_all)]
#[derive(Debug)]
pub(crate) struct Outcome {
    /// The run as `flashyard run --json` prints it.
    json: String,
    /// Figures by name; `None` where the run has no such figure.
    figures: Figures,
    /// Figures of each stream, where there are several.
    streams: Vec<(String, Figures)>,
    /// The request log.
    requests: Option<Table>,
    /// The command log.
    commands: Option<Table>,
    /// The time series.
    series: Option<Table>,
    /// What each power cut would lose.
    cuts: Option<Table>,
}

/// The text of a JSON contract.
pub(crate) fn text(object: &serde_json::Value) -> PyResult<String> {
    let text = serde_json::to_string_pretty(object);
    text.map(|text| text + "\n").map_err(|error| failed(error.to_string()))
}

/// The figures of a report by name.
pub(crate) fn figures(report: &Report) -> Figures {
    let of = |figure: &headline::Headline| (figure.name.clone(), figure.value(report));
    headline::ALL.iter().map(of).collect()
}

impl Outcome {
    /// What was found of a plan.
    pub(crate) fn new(
        plan: &Plan,
        found: Found,
        requests: Option<Shared<ArrowRows>>,
        commands: Option<Shared<ArrowRows>>,
    ) -> PyResult<Self> {
        let json = text(&found.object(plan))?;
        let outcome = Self::of_report(json, &found.report, requests, commands)?;
        let cuts = found.cuts.map(|cuts| {
            let mut rows = ArrowRows::new(&FIELDS, Texts::Few);
            cuts.cuts.iter().for_each(|cut| rows.row(row(cut)));
            rows.finish().map_err(failed)
        });
        Ok(Self { cuts: cuts.transpose()?, ..outcome })
    }

    /// The same of a report.
    pub(crate) fn of_report(
        json: String,
        report: &Report,
        requests: Option<Shared<ArrowRows>>,
        commands: Option<Shared<ArrowRows>>,
    ) -> PyResult<Self> {
        let streams = report.streams.iter().map(|(name, stream)| {
            let of =
                |one: &headline::Headline| Some((one.name.clone(), Some(one.of_stream(stream)?)));
            (name.clone(), headline::ALL.iter().filter_map(of).collect())
        });
        Ok(Self {
            json,
            figures: figures(report),
            streams: streams.collect(),
            requests: requests.map(table).transpose()?,
            commands: commands.map(table).transpose()?,
            series: series_of(report)?,
            cuts: None,
        })
    }
}

/// The time series of a report as a table.
fn series_of(report: &Report) -> PyResult<Option<Table>> {
    if report.series.is_none() {
        return Ok(None);
    }
    let fields = series::fields(report);
    let mut rows = ArrowRows::new(&fields, Texts::Few);
    for row in series::rows(report) {
        let row = row.map_err(|error| failed(format!("{error:#}")))?;
        rows.row(fields.iter().zip(&row).map(|(field, value)| match field.kind {
            Kind::Number => value.as_f64().map_or(Cell::Nothing, Cell::Number),
            _ => Cell::of(value.as_u64()),
        }));
    }
    rows.finish().map(Some).map_err(failed)
}

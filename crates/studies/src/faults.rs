//! Faults that are planted into devices, and whether cuts find them.

use crate::metrics::CUTS;
use crate::runs::{RunKey, Runs};
use crate::schema::Fault;
use crate::study::Study;
use flashyard_run::cuts::Broken;
use flashyard_run::points::made::Made;
use flashyard_run::units::time;
use flashyard_sim::cut::How;
use serde_json::{Map, Value, json};

/// What cuts have found of the planted faults, a row each.
#[derive(Clone, Debug)]
pub struct Faults {
    /// What the table shows.
    pub title: &'static str,
    /// The titles of its columns.
    pub columns: [&'static str; 7],
    /// Its cells.
    pub rows: Vec<Vec<String>>,
    /// How they are counted.
    pub note: &'static str,
}

/// The runs of a fault: with it and without it.
type Pair<'a> = (&'a Fault, [&'a Made; 2]);

/// What was found of each fault.
fn pairs<'a>(study: &'a Study, runs: &'a Runs<'_>) -> Vec<Pair<'a>> {
    let of = |fault: &'a Fault| {
        let grid = study.grid(&fault.grid).ok()?;
        let workload = *study.names.grids[grid].workloads.first()?;
        let made = |subject: &str| {
            let subject = study.names.subjects.iter().position(|known| known == subject)?;
            runs.found(RunKey { grid, point: 0, subject, workload })?.made.as_ref()
        };
        Some((fault, [made(&fault.faulty)?, made(&fault.sound)?]))
    };
    study.experiment.fault.iter().filter_map(of).collect()
}

/// The table; none where no fault is planted.
pub(crate) fn table(study: &Study, runs: &Runs<'_>) -> Option<Faults> {
    let rows: Vec<Vec<String>> = pairs(study, runs).into_iter().map(row).collect();
    let note = "Broken promises by the host's own record of answers and flushes. The first broken \
                promise: when the power failed, the request by order of arrival, the mapping unit, \
                its change by number, what was promised, how it was lost.";
    let columns = [
        "class",
        "what is planted",
        "drives, published",
        "cuts",
        "break, sound",
        "break, with it",
        "the first broken promise",
    ];
    let title = "Failures that are planted, and what cuts find of them";
    (!rows.is_empty()).then_some(Faults { title, columns, rows, note })
}

fn row((fault, [faulty, sound]): Pair<'_>) -> Vec<String> {
    let drives = fault.drives.map_or_else(|| "-".to_string(), |[of, all]| format!("{of} of {all}"));
    let first = faulty.first.as_ref().map_or_else(|| "none".to_string(), promise);
    vec![
        fault.class.clone(),
        fault.plants.clone(),
        drives,
        faulty.cuts.to_string(),
        sound.breaking.to_string(),
        faulty.breaking.to_string(),
        first,
    ]
}

/// A broken promise in words.
fn promise((broken, how): &(Broken, How)) -> String {
    let Broken { at, request, unit, version, rule } = *broken;
    let request = request.map_or_else(|| "?".to_string(), |request| request.to_string());
    let (at, rule, how) = (time(at.as_ns() as f64), rule.says(), how.word());
    format!("{at}: request {request}, unit {unit}, change {version}; {rule}; {how}")
}

/// The faults as data.
pub(crate) fn objects(study: &Study, runs: &Runs<'_>) -> Value {
    let one = |(fault, [faulty, sound]): Pair<'_>| {
        json!({
            "class": fault.class,
            "plants": fault.plants,
            "drives": fault.drives,
            "sound": figures(sound),
            "faulty": figures(faulty),
        })
    };
    pairs(study, runs).into_iter().map(one).collect()
}

/// What cuts of a run have done, as data.
pub(crate) fn figures(made: &Made) -> Value {
    let all = CUTS.iter().map(|metric| (metric.name.to_string(), json!(metric.value(made))));
    let mut object: Map<String, Value> = all.collect();
    let first = made.first.as_ref().map(|(broken, how)| {
        let Broken { at, request, unit, version, rule } = *broken;
        json!({
            "at_ns": at.as_ns(),
            "request": request,
            "unit": unit,
            "version": version,
            "rule": rule,
            "how": how.word(),
        })
    });
    object.insert("first_broken".to_string(), json!(first));
    object.into()
}

//! `flashyard reproduce STUDY --twins`: whether traces and their fitted twins rank subjects alike.

use crate::asked::Asked;
use crate::device::settings_of;
use crate::schema::Form;
use crate::show;
use crate::study::Study;
use anyhow::{Result, ensure};
use flashyard_core::request::Request;
use flashyard_run::contract;
use flashyard_run::error::{workload_error, wrong};
use flashyard_run::meter::{Listener, Watch};
use flashyard_run::plan::Plan;
use flashyard_run::simulate::{Options, simulate};
use flashyard_run::stats::median;
use flashyard_run::units::Table;
use flashyard_sim::config::Settings;
use flashyard_workload::RequestSource;
use flashyard_workload::profile::{Fitter, Profile, ProfileKeys, Twin};
use rayon::prelude::*;
use serde_json::{Value, json};
use std::sync::Arc;

/// Mean latencies closer than this are a tie: neither subject is called the faster one. Shifting
/// the arrivals of a trace by a fraction of a millisecond moves a ratio about as much.
const TIE: f64 = 0.02;

/// How traces and their twins rank the subjects of a study.
#[derive(Clone, Debug)]
pub struct Twins {
    /// Two rows for each workload.
    pub table: Table,
    /// What they come to.
    pub note: String,
    /// The same as data.
    pub object: Value,
}

/// Fits each workload of the first grid, and runs it and its twins.
pub(crate) fn run(study: &Study, asked: &Asked, twins: u64, watch: Watch<'_>) -> Result<Twins> {
    if twins == 0 {
        return Err(wrong("--twins 0: at least one twin of each workload is needed"));
    }
    let grid = &study.names.grids[0];
    refuse(study, &grid.workloads)?;
    let settings = |&subject: &usize| {
        let (device, settings) = study.settings(0, 0, subject);
        settings_of(&study.devices[device].keys, &settings)
    };
    let settings = grid.subjects.iter().map(settings).collect::<Result<Vec<_>>>()?;
    let subjects: Vec<String> =
        grid.subjects.iter().map(|&place| study.names.subjects[place].clone()).collect();
    let capacity = settings[0].capacity_sectors();
    let jobs: Vec<(usize, u64)> =
        grid.workloads.iter().flat_map(|&one| (0..=twins).map(move |seed| (one, seed))).collect();
    let traces = &study.devices[grid.device].traces;
    let progress = watch(&study.name, "twins and traces", vec![1.0; jobs.len()]);
    let ratios = |(place, &(workload, seed)): (usize, &(usize, u64))| {
        let mut part = progress.begin(place);
        let source = &study.sources[workload];
        let seed_of = study.experiment.seed;
        let (mut requests, _) =
            source.load(capacity, traces, seed_of, study.experiment.requests)?;
        if seed > 0 {
            requests = twin(&fitted(&source.name, &requests)?, seed, capacity)?;
        }
        let mut inputs = source.plan(traces, None)?;
        inputs.set_requests(Arc::new(requests));
        ratios(&settings, &inputs, asked.check, &mut *part)
    };
    let found = jobs.par_iter().with_max_len(1).enumerate().map(ratios);
    let found = found.collect::<Result<Vec<Vec<f64>>>>()?;
    drop(progress);
    let per_workload = usize::try_from(twins + 1)?;
    let rows =
        grid.workloads.iter().zip(found.chunks(per_workload)).map(|(&workload, found)| Row {
            name: &study.names.workloads[workload],
            trace: found[0].clone(),
            twin: medians(&found[1..]),
        });
    let rows: Vec<Row> = rows.collect();
    let object = object(study, &subjects, &rows, asked, twins);
    let (table, note) = (table(&subjects, &rows, twins), note(&subjects, &rows, twins));
    Ok(Twins { table, note, object })
}

/// Refuses workloads that a twin cannot stand in for.
pub(crate) fn refuse(study: &Study, workloads: &[usize]) -> Result<()> {
    for &workload in workloads {
        let source = &study.sources[workload];
        let inputs = source.plan(&[], None)?;
        ensure!(
            !inputs.experiment().needs_device(),
            wrong(&format!(
                "--twins: a twin has requests at times of its own, but the device decides when \
                 those of {} come (phases, streams, a closed loop or raw operations)",
                source.name
            ))
        );
    }
    Ok(())
}

/// By subject, the median over the twins.
fn medians(twins: &[Vec<f64>]) -> Vec<f64> {
    let of = |subject: usize| median(&twins.iter().map(|twin| twin[subject]).collect::<Vec<_>>());
    (0..twins[0].len()).map(of).collect()
}

/// A workload: mean read latencies by subject, over that of the first one.
struct Row<'a> {
    name: &'a str,
    trace: Vec<f64>,
    twin: Vec<f64>,
}

impl Row<'_> {
    /// Pairs of subjects that trace and twin rank differently: one of them calls the first faster,
    /// the other the second. A tie agrees with either.
    fn differences(&self) -> Vec<(usize, usize)> {
        let faster = |ratios: &[f64], a: usize, b: usize| ratios[a] * (1.0 + TIE) <= ratios[b];
        let subjects = 0..self.trace.len();
        let pairs = subjects.clone().flat_map(|a| subjects.clone().map(move |b| (a, b)));
        pairs.filter(|&(a, b)| faster(&self.trace, a, b) && faster(&self.twin, b, a)).collect()
    }
}

/// The profile of a workload.
fn fitted(name: &str, requests: &[Request]) -> Result<Arc<Profile>> {
    let mut fitter = Fitter::new();
    for request in requests {
        fitter.add(request);
    }
    fitter.finish().map(Arc::new).ok_or_else(|| wrong(&format!("{name}: it has no requests")))
}

/// The requests of a twin.
fn twin(profile: &Arc<Profile>, seed: u64, capacity: u64) -> Result<Vec<Request>> {
    let twin = Twin::new(Arc::clone(profile), &ProfileKeys::default(), seed, Some(capacity));
    let mut twin = twin.map_err(|error| workload_error(&error))?;
    let mut requests = Vec::new();
    while let Some(request) = twin.next_request().map_err(|error| workload_error(&error))? {
        requests.push(request);
    }
    Ok(requests)
}

/// Mean read latencies by subject, over that of the first one.
fn ratios(
    settings: &[Settings],
    inputs: &Plan,
    check: bool,
    part: &mut dyn Listener,
) -> Result<Vec<f64>> {
    let (mut done, all) = (0.0, settings.len() as f64);
    let mut mean = |settings: &Settings| {
        part.at(Some(done / all), 0);
        done += 1.0;
        let found = simulate(inputs, settings, Options { check, ..Options::default() })?;
        Ok(found.report.latency_ns["read"].mean.unwrap_or(f64::NAN))
    };
    let means = settings.iter().map(&mut mean).collect::<Result<Vec<f64>>>()?;
    ensure!(!means.is_empty(), "the grid has no subjects");
    Ok(means.iter().map(|mean| mean / means[0]).collect())
}

/// The subjects from the fastest on; `=` between neighbours that tie.
fn order(subjects: &[String], ratios: &[f64]) -> String {
    let mut places: Vec<usize> = (0..ratios.len()).collect();
    places.sort_by(|&a, &b| ratios[a].total_cmp(&ratios[b]));
    let mut text = subjects[places[0]].clone();
    for pair in places.windows(2) {
        let tie = ratios[pair[1]] < ratios[pair[0]] * (1.0 + TIE);
        text += if tie { " = " } else { " < " };
        text += &subjects[pair[1]];
    }
    text
}

/// How the twins differ, in words.
fn verdict(subjects: &[String], row: &Row) -> String {
    let pairs: Vec<String> = row
        .differences()
        .into_iter()
        .map(|(a, b)| format!("{} before {}", subjects[b], subjects[a]))
        .collect();
    if pairs.is_empty() { "alike".to_string() } else { format!("twin: {}", pairs.join(", ")) }
}

fn table(subjects: &[String], rows: &[Row], twins: u64) -> Table {
    let first = format!("mean read latency / {}", subjects[0]);
    let mut header = vec![first.as_str(), "of"];
    header.extend(subjects.iter().map(String::as_str));
    header.extend(["from the fastest on", "ranked"]);
    let mut all = Table::new(&header);
    for row in rows {
        let twin = (if twins == 1 { "twin" } else { "twins" }, &row.twin, verdict(subjects, row));
        for (of, ratios, verdict) in [("trace", &row.trace, String::new()), twin] {
            let ratio = ratios.iter().map(|&one| show::value(one, Form::Ratio));
            let names = [row.name.to_string(), of.to_string()].into_iter();
            all.add(names.chain(ratio).chain([order(subjects, ratios), verdict]));
        }
    }
    all
}

fn note(subjects: &[String], rows: &[Row], twins: u64) -> String {
    let alike = rows.iter().filter(|row| row.differences().is_empty()).count();
    let last = subjects.len() - 1;
    let apart: f64 = rows.iter().map(|row| (row.trace[last] - row.twin[last]).abs()).sum();
    format!(
        "{alike} of {} ranked alike; latencies within {:.0} % of one another are a tie, and a tie \
         agrees with either order. Twins: the median of the ratios of seeds 1 to {twins}.\n\
         {}: mean distance of the twins' ratio from the trace's {:.3}\n",
        rows.len(),
        100.0 * TIE,
        subjects[last],
        apart / rows.len() as f64,
    )
}

fn object(study: &Study, subjects: &[String], rows: &[Row], asked: &Asked, twins: u64) -> Value {
    let of = |ratios: &[f64]| -> serde_json::Map<String, Value> {
        subjects.iter().cloned().zip(ratios.iter().map(|&ratio| json!(ratio))).collect()
    };
    let rows = rows.iter().map(|row| {
        let pairs = row.differences().into_iter().map(|(a, b)| [&subjects[a], &subjects[b]]);
        json!({
            "name": row.name,
            "trace": of(&row.trace),
            "twins": of(&row.twin),
            "ranked_differently": pairs.collect::<Vec<_>>(),
        })
    });
    json!({
        "schema_version": contract::SCHEMA_VERSION,
        "study": format!("{} twins", study.name),
        "device": study.devices[study.names.grids[0].device].preset,
        "traces": asked.traces.as_ref().map(|dir| dir.display().to_string()),
        "twins": twins,
        "tie": TIE,
        "read_mean_over_first": rows.collect::<Vec<_>>(),
    })
}

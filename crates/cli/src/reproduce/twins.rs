//! `flashyard reproduce drs --twins`: whether traces and their fitted twins rank policies alike.

use super::drs::{FILE, Job, Results, ratio, run_jobs};
use super::study::{Loaded, Study, all_of};
use crate::args::ReproduceArgs;
use crate::inputs::{workload_error, wrong};
use crate::output::{json, print, table};
use anyhow::Result;
use flashyard_core::request::Request;
use flashyard_sim::config::{DeviceKeys, Settings};
use flashyard_sim::own::OwnParts;
use flashyard_workload::profile::{Fitter, Profile, ProfileKeys, Twin};
use serde_json::{Value, json};
use std::sync::Arc;

/// Mean latencies closer than this are a tie: neither policy is called the faster one. Shifting the
/// arrivals of a trace by a fraction of a millisecond moves a ratio about as much.
const TIE: f64 = 0.02;

/// Fits each workload, runs it and its twins, and prints both.
pub(crate) fn run(args: &ReproduceArgs, own: OwnParts, twins: u64) -> Result<()> {
    if twins == 0 {
        return Err(wrong("--twins 0: at least one twin of each workload is needed"));
    }
    let study = Study::parse(FILE)?;
    let (device, keys) = study.device(args, own)?;
    let capacity = Settings::new(keys)?.capacity_sectors();
    let loaded = study.load(args.traces.as_deref(), capacity)?;
    let profiles = loaded.iter().map(fitted).collect::<Result<Vec<_>>>()?;
    let traces = ratios(&study, &keys, &loaded, args.check)?;
    let mut found = Vec::new();
    for seed in 1..=twins {
        let made = profiles.iter().zip(&loaded).map(|(profile, loaded)| {
            let requests = twin(profile, seed, capacity)?;
            Ok(Loaded { name: loaded.name.clone(), requests })
        });
        let made = made.collect::<Result<Vec<_>>>()?;
        found.push(ratios(&study, &keys, &made, args.check)?);
    }
    let rows = loaded.iter().zip(traces.into_iter().zip(medians(&found)));
    let rows: Vec<Row> =
        rows.map(|(loaded, (trace, twin))| Row { name: &loaded.name, trace, twin }).collect();
    if args.json {
        let object = object(&study.policies, &rows, args, (&device, twins));
        return print(&serde_json::to_string_pretty(&object)?);
    }
    print(&text(&study.policies, &rows, twins))
}

/// By workload and policy, the median over the twins.
fn medians(twins: &[Vec<Vec<f64>>]) -> Vec<Vec<f64>> {
    let median = |workload: usize, policy: usize| {
        let mut all: Vec<f64> = twins.iter().map(|twin| twin[workload][policy]).collect();
        all.sort_by(f64::total_cmp);
        f64::midpoint(all[(all.len() - 1) / 2], all[all.len() / 2])
    };
    let row = |workload: usize| {
        (0..twins[0][workload].len()).map(|policy| median(workload, policy)).collect()
    };
    (0..twins[0].len()).map(row).collect()
}

/// A workload: mean read latencies by policy, over that of the first one.
struct Row<'a> {
    name: &'a str,
    trace: Vec<f64>,
    twin: Vec<f64>,
}

impl Row<'_> {
    /// Pairs of policies that trace and twin rank differently: one of them calls the first faster,
    /// the other the second. A tie agrees with either.
    fn differences(&self) -> Vec<(usize, usize)> {
        let faster = |ratios: &[f64], a: usize, b: usize| ratios[a] * (1.0 + TIE) <= ratios[b];
        let policies = 0..self.trace.len();
        let pairs = policies.clone().flat_map(|a| policies.clone().map(move |b| (a, b)));
        pairs.filter(|&(a, b)| faster(&self.trace, a, b) && faster(&self.twin, b, a)).collect()
    }
}

/// The profile of a workload.
fn fitted(loaded: &Loaded) -> Result<Arc<Profile>> {
    let mut fitter = Fitter::new();
    loaded.requests.iter().for_each(|request| fitter.add(request));
    let profile = fitter.finish();
    profile.map(Arc::new).ok_or_else(|| wrong(&format!("{}: it has no requests", loaded.name)))
}

/// The requests of a twin.
fn twin(profile: &Arc<Profile>, seed: u64, capacity: u64) -> Result<Vec<Request>> {
    let twin = Twin::new(Arc::clone(profile), &ProfileKeys::default(), seed, Some(capacity));
    all_of(&mut twin.map_err(|error| workload_error(&error))?)
}

/// Mean read latencies by workload and policy, over that of the first policy.
fn ratios(
    study: &Study,
    keys: &DeviceKeys,
    loaded: &[Loaded],
    check: bool,
) -> Result<Vec<Vec<f64>>> {
    let mut jobs = Vec::new();
    for workload in 0..loaded.len() {
        for policy in &study.policies {
            jobs.push(Job::new(workload, keys, &[("policy.command", policy)])?);
        }
    }
    let mut reports = run_jobs("policies", &jobs, loaded, check)?;
    let row = |_| {
        let reports = reports.by_ref().take(study.policies.len());
        let means: Vec<f64> = reports.map(|report| Results::mean(&report, "read")).collect();
        means.iter().map(|mean| mean / means[0]).collect()
    };
    Ok(loaded.iter().map(row).collect())
}

/// The policies from the fastest on; `=` between neighbours that tie.
fn order(policies: &[String], ratios: &[f64]) -> String {
    let mut places: Vec<usize> = (0..ratios.len()).collect();
    places.sort_by(|&a, &b| ratios[a].total_cmp(&ratios[b]));
    let mut text = policies[places[0]].clone();
    for pair in places.windows(2) {
        let tie = ratios[pair[1]] < ratios[pair[0]] * (1.0 + TIE);
        text += if tie { " = " } else { " < " };
        text += &policies[pair[1]];
    }
    text
}

/// How the twins differ, in words.
fn verdict(policies: &[String], row: &Row) -> String {
    let pairs: Vec<String> = row
        .differences()
        .into_iter()
        .map(|(a, b)| format!("{} before {}", policies[b], policies[a]))
        .collect();
    if pairs.is_empty() { "alike".to_string() } else { format!("twin: {}", pairs.join(", ")) }
}

fn text(policies: &[String], rows: &[Row], twins: u64) -> String {
    let mut header = vec!["mean read latency / RCF", "of"];
    header.extend(policies.iter().map(String::as_str));
    header.extend(["from the fastest on", "ranked"]);
    let mut all = table::table(&header);
    for row in rows {
        let twin = (if twins == 1 { "twin" } else { "twins" }, &row.twin, verdict(policies, row));
        for (of, ratios, verdict) in [("trace", &row.trace, String::new()), twin] {
            let mut cells = vec![row.name.to_string(), of.to_string()];
            cells.extend(ratios.iter().map(|&one| ratio(one)));
            cells.extend([order(policies, ratios), verdict]);
            all.add_row(cells);
        }
    }
    let alike = rows.iter().filter(|row| row.differences().is_empty()).count();
    let drs = rows[0].trace.len() - 1;
    let apart: f64 = rows.iter().map(|row| (row.trace[drs] - row.twin[drs]).abs()).sum();
    format!(
        "{}\n{alike} of {} ranked alike; latencies within {:.0} % of one another are a tie, and a tie \
         agrees with either order. Twins: the median of the ratios of seeds 1 to {twins}.\n\
         {}: mean distance of the twins' ratio from the trace's {:.3}\n",
        table::render(&all),
        rows.len(),
        100.0 * TIE,
        policies[drs],
        apart / rows.len() as f64,
    )
}

fn object(policies: &[String], rows: &[Row], args: &ReproduceArgs, run: (&str, u64)) -> Value {
    let of = |ratios: &[f64]| -> serde_json::Map<String, Value> {
        policies.iter().cloned().zip(ratios.iter().map(|&ratio| json!(ratio))).collect()
    };
    let rows = rows.iter().map(|row| {
        let pairs = row.differences().into_iter().map(|(a, b)| [&policies[a], &policies[b]]);
        json!({
            "name": row.name,
            "trace": of(&row.trace),
            "twins": of(&row.twin),
            "ranked_differently": pairs.collect::<Vec<_>>(),
        })
    });
    json!({
        "schema_version": json::SCHEMA_VERSION,
        "study": "drs twins",
        "device": run.0,
        "traces": args.traces.as_ref().map(|dir| dir.display().to_string()),
        "twins": run.1,
        "tie": TIE,
        "read_mean_over_rcf": rows.collect::<Vec<_>>(),
    })
}

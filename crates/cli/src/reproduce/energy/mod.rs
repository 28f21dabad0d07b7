//! `flashyard reproduce energy`: energy, victim search and table sizes of flash translation layers
//! (Park, Kim, Urgaonkar, Lee, Seo, 2011).

mod claims;
mod object;
mod study;
mod tables;
#[cfg(test)]
mod tests;

use super::study::{Loaded, simulate};
use crate::args::ReproduceArgs;
use crate::output::{print, remark};
use anyhow::Result;
use flashyard_sim::config::Settings;
use flashyard_sim::own::OwnParts;
use flashyard_sim::report::Report;
use indicatif::ParallelProgressIterator;
use rayon::prelude::*;
use study::{Base, Mix, Study};

const FILE: &str = include_str!("../../../../../experiments/energy.toml");

/// One run.
struct Row {
    /// The case or the trace.
    case: String,
    /// What the device held at the start.
    initial: String,
    ftl: String,
    report: Report,
}

/// A trace that was read.
struct TraceRead {
    name: String,
    mix: Mix,
    /// What was changed in it.
    notes: Vec<String>,
}

/// Every run of the study.
struct Results {
    study: Study,
    /// Energy by operation, generated workloads and then traces.
    rows: Vec<Row>,
    /// By layer and share, in the order of the study; the scanning layer is last.
    window: Vec<Vec<Report>>,
    /// What the generated workloads are like: OLTP and OLAP.
    mixes: [Mix; 2],
    traces: Vec<TraceRead>,
    /// Files of traces that were not found.
    missing: Vec<String>,
    /// The device, whatever its layer.
    settings: Settings,
}

/// A run to be done.
struct Job {
    workload: usize,
    settings: Settings,
}

/// Runs the study and prints it.
pub(crate) fn run(args: &ReproduceArgs, own: OwnParts) -> Result<()> {
    let study = Study::parse(FILE)?;
    let base = study.device(args, own)?;
    let results = simulate_all(study, &base, args)?;
    let claims = claims::judge(&results);
    if args.json {
        let object = object::object(&results, &claims, args, &base.name);
        return print(&serde_json::to_string_pretty(&object)?);
    }
    print(&tables::text(&results, &claims, args, &base.name))
}

fn simulate_all(study: Study, base: &Base, args: &ReproduceArgs) -> Result<Results> {
    let (read, missing) = match &args.traces {
        Some(dir) => study.load(base, dir)?,
        None => (Vec::new(), Vec::new()),
    };
    let mut loaded: Vec<Loaded> = Vec::new();
    let mut names: Vec<(String, u64)> = Vec::new();
    let mut jobs = Vec::new();
    let mut rows = Vec::new();
    for case in &study.case {
        let key = (case.workload.clone(), case.footprint_percent);
        let known = names.iter().position(|known| *known == key);
        let workload = if let Some(place) = known {
            place
        } else {
            loaded.push(study.generate(base, case)?);
            names.push(key);
            loaded.len() - 1
        };
        for ftl in &case.ftls {
            let settings = study.settings(&base.keys, ftl, &case.initial, &[])?;
            jobs.push(Job { workload, settings });
            rows.push((case.name.clone(), case.initial.clone(), ftl.clone()));
        }
    }
    let case = study.window_case();
    let key = (case.workload.clone(), case.footprint_percent);
    let workload = names.iter().position(|known| *known == key).expect("one of the cases");
    let mut windows = Vec::new();
    for (ftl, settings) in study.window_settings() {
        let settings = study.settings(&base.keys, &ftl, &case.initial, &settings)?;
        windows.push(Job { workload, settings });
    }
    let mut traces = Vec::new();
    for (trace, notes) in read {
        let name = trace.name.clone();
        traces.push(TraceRead { name: name.clone(), mix: Mix::of(&trace), notes });
        loaded.push(trace);
        for (initial, ftl) in study.trace_runs() {
            let settings = study.settings(&base.keys, &ftl, &initial, &[])?;
            jobs.push(Job { workload: loaded.len() - 1, settings });
            rows.push((name.clone(), initial, ftl));
        }
    }
    let reports = run_jobs("energy", &jobs, &loaded, args.check)?;
    let window = run_jobs("windows", &windows, &loaded, args.check)?;
    let rows = rows.into_iter().zip(reports).map(|((case, initial, ftl), report)| Row {
        case,
        initial,
        ftl,
        report,
    });
    let mixes = ["oltp", "olap"].map(|name| {
        let whole = (name.to_string(), 100);
        Mix::of(&loaded[names.iter().position(|known| *known == whole).expect("one of the cases")])
    });
    Ok(Results {
        rows: rows.collect(),
        window: window.chunks(study.window.share_percent.len()).map(<[Report]>::to_vec).collect(),
        mixes,
        traces,
        missing,
        settings: Settings::new(base.keys)?,
        study,
    })
}

/// Runs jobs side by side; the reports are in the order of the jobs.
fn run_jobs(title: &str, jobs: &[Job], loaded: &[Loaded], check: bool) -> Result<Vec<Report>> {
    let start = std::time::Instant::now();
    let reports = jobs
        .par_iter()
        .progress()
        .map(|job| simulate(&job.settings, &loaded[job.workload].requests, check))
        .collect::<Result<Vec<_>>>()?;
    let seconds = start.elapsed().as_secs_f64();
    remark(&format!("{title}: {} runs in {seconds:.2} s", jobs.len()));
    Ok(reports)
}

impl Results {
    /// The run of a layer in a case.
    fn find(&self, case: &str, ftl: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.case == case && row.ftl == ftl)
    }
}

impl Row {
    fn parts(&self) -> Parts {
        Parts::of(&self.report)
    }
}

/// Energy of a run by what it was for, in picojoules.
#[derive(Clone, Copy, Debug, Default)]
struct Parts {
    total: u64,
    post: u64,
    host: [u64; 2],
    copy: [u64; 2],
    map: [u64; 2],
    erase: u64,
    /// What is no operation of the array: controller, DRAM, standby, searches, channel, buffer.
    other: u64,
}

impl Parts {
    /// Operations of a kind cost the same each on this device, so energy is operations x energy.
    fn of(report: &Report) -> Self {
        let flash = &report.flash;
        let kinds = [("reads", "read"), ("programs", "program"), ("erases", "erase")];
        let each = kinds.map(|(plural, single)| {
            let count: u64 = flash.array_ops[plural].values().sum();
            let energy = report.energy_pj.by_resource[format!("array_{single}").as_str()];
            energy.checked_div(count).unwrap_or(0)
        });
        let of = |kind: usize, purposes: &[&str]| {
            let counts = &flash.array_ops[kinds[kind].0];
            each[kind] * purposes.iter().map(|purpose| counts[purpose]).sum::<u64>()
        };
        let reads_and_programs = |purposes: &[&str]| [0, 1].map(|kind| of(kind, purposes));
        let post = &flash.phases["post"];
        let parts = Self {
            total: report.energy_pj.total,
            post: (0..3).map(|kind| each[kind] * post[kinds[kind].1]).sum(),
            host: reads_and_programs(&["host"]),
            copy: reads_and_programs(&["gc", "merge", "wear"]),
            map: reads_and_programs(&["map_fetch", "map_writeback", "map_gc"]),
            erase: flash.array_ops["erases"].values().sum::<u64>() * each[2],
            other: 0,
        };
        Self { other: parts.total - parts.operations(), ..parts }
    }

    /// Energy of all operations of the array.
    fn operations(&self) -> u64 {
        let pairs = [self.host, self.copy, self.map];
        pairs.iter().flatten().sum::<u64>() + self.erase
    }
}

/// Erases of a run.
fn erases(report: &Report) -> u64 {
    report.flash.array_ops["erases"].values().sum()
}

/// Mean response in milliseconds.
fn response_ms(report: &Report) -> f64 {
    report.latency_ns["all"].mean.unwrap_or(0.0) / 1e6
}

/// Merges of a run: switch, partial, full, and log blocks that were erased without one.
const fn merges(report: &Report) -> [u64; 4] {
    let merges = &report.gc.merges;
    [merges.switch, merges.partial, merges.full, merges.dead]
}

/// Victim candidates that were looked at.
const fn searches(report: &Report) -> u64 {
    report.gc.searches
}

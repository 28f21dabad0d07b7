//! `flashyard compare`: the same work on each value of one key or more.

use crate::args::CompareArgs;
use crate::error::wrong;
use crate::experiment::StreamPlan;
use crate::inputs::Inputs;
use crate::output::{json, print, remark, table, verdict};
use crate::simulate::{Outcome, simulate};
use anyhow::{Context, Result};
use flashyard_sim::config::Settings;
use flashyard_sim::own::OwnParts;
use flashyard_sim::report::Report;
use indicatif::{ProgressBar, ProgressStyle};
use rayon::prelude::*;
use std::io::IsTerminal;
use std::time::Duration;

/// One column of the comparison: a key and its values.
struct Axis {
    key: String,
    values: Vec<String>,
}

/// A run: the settings that vary, its inputs, its device.
type Run = (Vec<(String, String)>, Inputs, Settings);

/// Runs `flashyard compare`.
pub(crate) fn run(args: &CompareArgs, own: OwnParts) -> Result<()> {
    let axes = args.vary.iter().map(|vary| axis(vary)).collect::<Result<Vec<_>>>()?;
    let mut runs: Vec<Run> = Vec::new();
    for settings in combinations(&axes) {
        let vary: Vec<_> = settings.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let inputs = Inputs::new(own, &args.input, &vary)?;
        if inputs.experiment().streams().any(StreamPlan::is_standard_input) {
            return Err(wrong(
                "compare reads the workload once a run, standard input can be read only once: save it to a file",
            ));
        }
        let checked = inputs.settings()?;
        runs.push((settings, inputs, checked));
    }
    let changes: std::collections::BTreeSet<&String> =
        runs.iter().flat_map(|(_, inputs, _)| &inputs.description.changes).collect();
    for change in changes {
        remark(&format!("note: {change}"));
    }
    let outcomes = simulate_all(&runs, args.input.check)?;
    if args.json {
        let objects: Vec<_> = runs
            .iter()
            .zip(&outcomes)
            .map(|((_, inputs, _), outcome)| {
                json::object(inputs, &outcome.provenance, &outcome.report)
            })
            .collect();
        print(&serde_json::to_string_pretty(&objects)?)?;
    } else {
        print(&text(&axes, &runs, &outcomes))?;
        remark_changes(&labels(&runs), &outcomes);
    }
    Ok(())
}

/// The tables: figures, verdicts, warnings.
fn text(axes: &[Axis], runs: &[Run], outcomes: &[Outcome]) -> String {
    let names: Vec<_> = runs.iter().map(|(settings, ..)| settings.clone()).collect();
    let (_, inputs, _) = &runs[0];
    let (device, workload) = (&inputs.device_name, inputs.workload_name());
    let figures = comparison(axes, &names, outcomes);
    let reports = outcomes.iter().map(|outcome| &outcome.report);
    let judged: Vec<_> = runs.iter().map(|(_, inputs, _)| inputs).zip(reports).collect();
    let verdicts = verdict::of_several(&labels(runs), &judged);
    format!("device {device}, workload {workload}\n\n{figures}\n{verdicts}")
}

/// What each run is called: its settings.
fn labels(runs: &[Run]) -> Vec<String> {
    let label = |(settings, ..): &Run| {
        let settings = settings.iter().map(|(key, value)| format!("{key}={value}"));
        settings.collect::<Vec<_>>().join(" ")
    };
    runs.iter().map(label).collect()
}

/// Says what was left out of or changed in the requests: once where it is the same in all runs.
fn remark_changes(labels: &[String], outcomes: &[Outcome]) {
    let changes = |outcome: &Outcome| outcome.provenance.changes.clone();
    let first = changes(&outcomes[0]);
    if outcomes.iter().all(|outcome| changes(outcome) == first) {
        return first.iter().for_each(|what| remark(&format!("workload: {what}")));
    }
    for (label, outcome) in labels.iter().zip(outcomes) {
        for what in changes(outcome) {
            remark(&format!("workload of {label}: {what}"));
        }
    }
}

/// Runs all, as many at a time as there are processors and room in memory.
fn simulate_all(runs: &[Run], check: bool) -> Result<Vec<Outcome>> {
    let mut most = usize::MAX;
    for (_, inputs, settings) in runs {
        let need = inputs.need(settings, check);
        need.check()?;
        most = most.min(need.side_by_side());
    }
    let progress = std::io::stderr().is_terminal().then(|| bar(runs.len()));
    let run = |(_, inputs, settings): &Run| {
        let outcome = simulate(inputs, settings, check, Vec::new(), false, None);
        if let Some(progress) = &progress {
            progress.inc(1);
        }
        outcome
    };
    let outcomes = if most == 1 {
        runs.iter().map(run).collect()
    } else {
        let threads = rayon::current_num_threads().min(most);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = pool.context("threads cannot be started")?;
        pool.install(|| runs.par_iter().map(run).collect())
    };
    if let Some(progress) = &progress {
        progress.finish_and_clear();
    }
    outcomes
}

fn bar(runs: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("{spinner} {pos} of {len} runs, {elapsed}");
    let style = style.expect("the template is valid");
    let progress = ProgressBar::new(runs as u64).with_style(style);
    progress.enable_steady_tick(Duration::from_millis(200));
    progress
}

fn axis(vary: &str) -> Result<Axis> {
    let Some((key, values)) = vary.split_once('=') else {
        return Err(wrong(&format!(
            "--vary {vary}: KEY=A,B,C is needed, such as queue.depth=1,16,256"
        )));
    };
    let values = values.split(',').map(|value| value.trim().to_string()).collect();
    Ok(Axis { key: key.trim().to_string(), values })
}

/// Every combination of values, the last axis changing fastest.
fn combinations(axes: &[Axis]) -> Vec<Vec<(String, String)>> {
    let mut all = vec![Vec::new()];
    for axis in axes {
        all = all
            .iter()
            .flat_map(|settings| {
                axis.values.iter().map(move |value| {
                    let mut settings: Vec<_> = settings.clone();
                    settings.push((axis.key.clone(), value.clone()));
                    settings
                })
            })
            .collect();
    }
    all
}

/// Means and tails with their ratios to the first run; of buffers, where a run has one, how much
/// they hit and hide.
fn comparison(axes: &[Axis], names: &[Vec<(String, String)>], outcomes: &[Outcome]) -> String {
    let mut header: Vec<&str> = axes.iter().map(|axis| axis.key.as_str()).collect();
    header.extend(["read us", "ratio", "write us", "ratio", "all us", "ratio", "all p99", "ratio"]);
    header.extend(["WA", "mJ", "J/MB", "ratio", "W", "ratio", "MB/s", "ratio"]);
    let buffered = outcomes.iter().any(|outcome| outcome.report.buffer.units > 0);
    if buffered {
        header.extend(["read hits", "write hits", "hidden reads"]);
    }
    let mut table = table::table(&header);
    let first = &outcomes[0].report;
    for (settings, outcome) in names.iter().zip(outcomes) {
        let report = &outcome.report;
        let mut row: Vec<String> = settings.iter().map(|(_, value)| value.clone()).collect();
        let ratio = |value: Option<f64>, base: Option<f64>| {
            let ratio = value.zip(base).filter(|(_, base)| *base > 0.0);
            ratio.map_or_else(|| "-".to_string(), |(v, base)| format!("{:.3}", v / base))
        };
        let mut cell = |value: Option<f64>, base: Option<f64>| {
            row.push(value.map_or_else(|| "-".to_string(), table::us));
            row.push(ratio(value, base));
        };
        for class in ["read", "write", "all"] {
            cell(report.latency_ns[class].mean, first.latency_ns[class].mean);
        }
        let p99 = |report: &Report| report.latency_ns["all"].p99.map(|ns| ns as f64);
        cell(p99(report), p99(first));
        let amplification = report.flash.write_amplification;
        let three = |value: Option<f64>| {
            value.map_or_else(|| "-".to_string(), |value| format!("{value:.3}"))
        };
        row.push(three(amplification));
        row.push(format!("{:.3}", report.energy_pj.total as f64 / 1e9));
        for ((value, base), digits) in efficiency(report).zip(efficiency(first)).zip([4, 3, 2]) {
            row.push(value.map_or_else(|| "-".to_string(), |value| format!("{value:.digits$}")));
            row.push(ratio(value, base));
        }
        if buffered {
            let buffer = &report.buffer;
            let ratios = [buffer.hit_ratio_read, buffer.hit_ratio_write, buffer.hidden_read_ratio];
            row.extend(ratios.map(three));
        }
        table.add_row(row);
    }
    table::render(&table)
}

/// Joules a megabyte, watts, megabytes a second.
fn efficiency(report: &Report) -> impl Iterator<Item = Option<f64>> {
    let watts = report.power.mean_mw.map(|mw| mw / 1e3);
    let rate = report.throughput.bytes_per_s.map(|rate| rate / 1e6);
    [report.power.j_per_mb, watts, rate].into_iter()
}

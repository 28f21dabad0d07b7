//! The summary of a run on one screen: what to know before trusting it, then its figures.

mod energy;
mod flash;
pub(crate) mod latency;

use super::table::{render, table};
use super::text::{WIDTH, line, wrapped};
use super::verdict;
use flashyard_run::plan::Plan;
use flashyard_run::units::{count, or_dash, per_second, rate, time};
use flashyard_sim::report::Report;

/// The summary of a run.
pub(crate) fn summary(inputs: &Plan, report: &Report) -> String {
    let (device, workload) = (&inputs.device_name, inputs.workload_name());
    let mut text = format!("device {device}, workload {workload}\n");
    let measured = report.phases.iter().any(|phase| phase.measured);
    if measured {
        text += &format!(
            "{}\n\n{}",
            wrapped(&asked(report), WIDTH, ""),
            verdict::of_one(inputs, report)
        );
    }
    text += "\n";
    if report.phases.len() > 1 || !measured {
        text += &phases(report);
        text += "\n";
    }
    if !measured {
        return text + "nothing was measured: set measure = true in a phase\n";
    }
    text += &latency::of_classes(report);
    text += "\n";
    if !report.streams.is_empty() {
        text += &latency::of_streams(report);
        text += "\n";
    }
    let mut lines = vec![throughput(report)];
    lines.extend(if inputs.sections.device.is_disk() {
        flash::of_disk(report)
    } else {
        flash::figures(flashyard_run::verdict::merges(inputs), report)
    });
    lines.extend(energy::figures(report));
    text += &(lines.join("\n") + "\n\n");
    text + &latency::parts(report)
}

/// What was asked of the device.
fn asked(report: &Report) -> String {
    let workload = &report.workload;
    let kinds = [
        (workload.reads, "reads"),
        (workload.writes, "writes"),
        (workload.trims, "trims"),
        (workload.flushes, "flushes"),
    ];
    let kinds = kinds.iter().filter(|(number, _)| *number > 0);
    let kinds: Vec<String> =
        kinds.map(|(number, kind)| format!("{} {kind}", count(*number))).collect();
    let seconds = time(report.throughput.makespan_ns as f64);
    match kinds.as_slice() {
        [] => "no requests".to_string(),
        [only] => format!("{only} in {seconds} of simulated time"),
        several => {
            let all = count(workload.requests);
            format!("{all} requests in {seconds} of simulated time: {}", several.join(", "))
        }
    }
}

/// What each phase did, measured or not.
fn phases(report: &Report) -> String {
    let mut table =
        table(&["phase", "measured", "requests", "time", "requests/s", "WA", "ended by"]);
    for phase in &report.phases {
        let seconds = phase.makespan_ns as f64 / 1e9;
        let pace = (seconds > 0.0).then(|| phase.requests as f64 / seconds);
        table.add_row(vec![
            phase.name.clone(),
            if phase.measured { "yes" } else { "no" }.to_string(),
            count(phase.requests),
            time(phase.makespan_ns as f64),
            or_dash(pace, per_second),
            or_dash(phase.write_amplification, |factor| format!("{factor:.3}")),
            phase.ended_by.to_string(),
        ]);
    }
    render(&table)
}

/// Requests and bytes a second.
fn throughput(report: &Report) -> String {
    let throughput = &report.throughput;
    let mut said = format!("{} IOPS", or_dash(throughput.iops, per_second));
    let directions =
        [("read", throughput.read_bytes_per_s), ("written", throughput.write_bytes_per_s)];
    for (word, bytes) in directions {
        if let Some(bytes) = bytes.filter(|bytes| *bytes > 0.0) {
            said += &format!(", {} {word}", rate(bytes));
        }
    }
    line("throughput", &said)
}

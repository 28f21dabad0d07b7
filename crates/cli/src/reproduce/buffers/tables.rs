//! Tables and sentences of the runs.

use super::figures::{Class, Figures, mean};
use super::results::Results;
use crate::args::ReproduceArgs;
use crate::output::table;
use std::fmt::Write;
use std::ops::Range;

/// A ratio with three digits.
pub(crate) fn ratio(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_string(), |value| format!("{value:.3}"))
}

/// Nanoseconds as microseconds.
pub(crate) fn us(ns: Option<f64>) -> String {
    ns.map_or_else(|| "-".to_string(), |ns| format!("{:.1}", ns / 1e3))
}

/// A ratio as a change in percent.
pub(crate) fn change(value: Option<f64>) -> String {
    let percent = |value: f64| match (100.0 * (value - 1.0)).round() {
        0.0 => "0 %".to_string(),
        percent => format!("{percent:+.0} %"),
    };
    value.map_or_else(|| "-".to_string(), percent)
}

/// What the study is, and what it ran.
pub(crate) fn head(results: &Results, args: &ReproduceArgs) -> String {
    let experiment = &results.experiment;
    let devices: Vec<&str> = results.devices.iter().map(|device| device.name.as_str()).collect();
    let mut text = format!(
        "{}\n{}\n{}\n\ndevices: {}; workloads: generated with seed {}",
        experiment.title,
        experiment.source,
        experiment.notes,
        devices.join(", "),
        experiment.seed
    );
    text += &match &args.traces {
        Some(dir) => format!(", and the traces in {}", dir.display()),
        None => "; with --traces DIR real ones besides".to_string(),
    };
    if !results.workloads.missing.is_empty() {
        let _ = write!(text, "; missing there: {}", results.workloads.missing.join(", "));
    }
    text + "\n"
}

/// One table a device: mean latencies under the baseline, those under the others over it, and
/// requests a second of the last policy over those of the baseline. `hidden` adds the hidden read
/// ratios.
pub(crate) fn policies(results: &Results, device: usize, hidden: bool) -> String {
    let baseline = results.experiment.baseline.as_str();
    let main: Vec<&str> = results.policies(1).collect();
    let mut header = vec![
        format!("{}: mean / {baseline}", results.devices[device].name),
        format!("{baseline} read us"),
        "write us".to_string(),
    ];
    let others = || main.iter().filter(|policy| **policy != baseline);
    for policy in others() {
        header.extend([format!("{policy} read"), "write".to_string()]);
    }
    if hidden {
        header.extend(main.iter().map(|policy| format!("HRR {policy}")));
    } else {
        header.push(format!("{baseline} hits"));
    }
    header.extend([format!("{baseline} requests/s"), "last / first".to_string()]);
    let mut table = table::table(&header.iter().map(String::as_str).collect::<Vec<_>>());
    for (group, range) in results.groups(device) {
        for workload in range.clone() {
            let name = results.workloads.loaded[workload].name.clone();
            table.add_row(row(results, device, name, workload..workload + 1, hidden));
        }
        let name = format!("mean of {group}");
        table.add_row(row(results, device, name, range, hidden));
    }
    table::render(&table)
}

fn row(
    results: &Results,
    device: usize,
    name: String,
    of: Range<usize>,
    hidden: bool,
) -> Vec<String> {
    let baseline = results.experiment.baseline.as_str();
    let main: Vec<&str> = results.policies(1).collect();
    let one = of.len() == 1;
    let of_runs = |policy: &str, figure: fn(&Figures) -> Option<f64>| {
        mean(results.runs(device, policy)[of.clone()].iter().map(figure))
    };
    let mut cells = vec![name];
    for class in Class::BOTH {
        let mean = results.runs(device, baseline)[of.start].mean(class);
        cells.push(if one { us(mean) } else { String::new() });
    }
    for policy in main.iter().filter(|policy| **policy != baseline) {
        for class in Class::BOTH {
            cells.push(ratio(results.over(device, policy, baseline, class, of.clone())));
        }
    }
    if hidden {
        let figure = |policy: &&str| ratio(of_runs(policy, |run| run.hidden_read_ratio));
        cells.extend(main.iter().map(figure));
    } else {
        let hits = [|run: &Figures| run.hit_ratio_read, |run: &Figures| run.hit_ratio_write];
        let hits = hits.map(|figure| ratio(of_runs(baseline, figure)));
        cells.push(hits.join(" "));
    }
    let rate = |policy: &str| of_runs(policy, |run| run.requests_per_s);
    let per_s = rate(baseline).map_or_else(|| "-".to_string(), |rate| format!("{rate:.0}"));
    cells.push(if one { per_s } else { String::new() });
    let (first, last) =
        (results.runs(device, baseline), results.runs(device, main[main.len() - 1]));
    let faster = of.clone().map(|workload| {
        let rates = last[workload].requests_per_s.zip(first[workload].requests_per_s)?;
        Some(rates.0 / rates.1)
    });
    cells.push(ratio(mean(faster)));
    cells
}

/// Every policy and its variants on the bare device: means over each group of workloads.
pub(crate) fn variants(results: &Results, hidden: bool) -> String {
    let baseline = results.experiment.baseline.as_str();
    let mut header = vec![format!("{}: means / {baseline}", results.devices[0].name)];
    for (group, _) in results.workloads.groups() {
        header.extend([format!("{group}: read"), "write".to_string()]);
        header.extend(hidden.then(|| "HRR".to_string()));
    }
    let mut table = table::table(&header.iter().map(String::as_str).collect::<Vec<_>>());
    for policy in results.policies(0) {
        let mut cells = vec![policy.to_string()];
        for (_, range) in results.workloads.groups() {
            for class in Class::BOTH {
                cells.push(ratio(results.over(0, policy, baseline, class, range.clone())));
            }
            if hidden {
                let runs = &results.runs(0, policy)[range];
                cells.push(ratio(mean(runs.iter().map(|run| run.hidden_read_ratio))));
            }
        }
        table.add_row(cells);
    }
    table::render(&table)
}

/// One table a sweep: means over its workloads, over the first of its policies.
pub(crate) fn sweeps(results: &Results) -> String {
    let mut text = String::new();
    for (place, sweep) in results.experiment.sweep.iter().enumerate() {
        if sweep.by_group {
            continue;
        }
        let title = format!(
            "{} ({}): means / {}",
            sweep.title,
            sweep.workloads.join(", "),
            sweep.policies[0]
        );
        let mut header = vec![title];
        for policy in &sweep.policies[1..] {
            header.extend([format!("{policy} read"), "write".to_string()]);
        }
        header.extend(sweep.workloads.iter().map(|name| format!("{name} read, write")));
        let mut table = table::table(&header.iter().map(String::as_str).collect::<Vec<_>>());
        let last = sweep.policies.len() - 1;
        for (number, point) in sweep.point.iter().enumerate() {
            let mut cells = vec![point.name.clone()];
            for policy in 1..sweep.policies.len() {
                let found = Class::BOTH.map(|class| results.at((place, number), policy, class));
                cells.extend(found.map(ratio));
            }
            let policies = &results.sweeps[place][number];
            for (run, base) in policies[last].iter().zip(&policies[0]) {
                let found = Class::BOTH.map(|class| ratio(run.ratio(base, class)));
                cells.push(found.join(" "));
            }
            table.add_row(cells);
        }
        let _ = writeln!(text, "{}{}\n", table::render(&table), range_of(results, place));
    }
    text
}

/// One table a point of a sweep over all workloads: mean latencies under its first policy, and
/// those under the others over it.
pub(crate) fn loaded(results: &Results) -> String {
    let mut text = String::new();
    for place in results.loaded_points() {
        let policies = &results.experiment.sweep[place.0].policies;
        let mut header = vec![
            format!("{}: mean / {}", results.point_name(place), policies[0]),
            format!("{} read us", policies[0]),
            "write us".to_string(),
        ];
        for policy in &policies[1..] {
            header.extend([format!("{policy} read"), "write".to_string()]);
        }
        let mut table = table::table(&header.iter().map(String::as_str).collect::<Vec<_>>());
        let ratios = |of: Range<usize>| {
            let of = &of;
            let found = (1..policies.len()).flat_map(|policy| {
                Class::BOTH
                    .map(|class| ratio(results.at_over(place, (policy, 0), class, of.clone())))
            });
            found.collect::<Vec<_>>()
        };
        for (group, range) in results.workloads.groups() {
            for workload in range.clone() {
                let base = &results.sweeps[place.0][place.1][0][workload];
                let mut cells = vec![results.workloads.loaded[workload].name.clone()];
                cells.extend(Class::BOTH.map(|class| us(base.mean(class))));
                cells.extend(ratios(workload..workload + 1));
                table.add_row(cells);
            }
            let mut cells = vec![format!("mean of {group}"), String::new(), String::new()];
            cells.extend(ratios(range));
            table.add_row(cells);
        }
        let _ = writeln!(text, "{}", table::render(&table));
    }
    text
}

/// Where the last policy of a sweep reads and writes fastest and slowest beside the first.
fn range_of(results: &Results, sweep: usize) -> String {
    let points = &results.experiment.sweep[sweep].point;
    let policies = &results.experiment.sweep[sweep].policies;
    let last = policies.len() - 1;
    let words = Class::BOTH.map(|class| {
        let mut found: Vec<(f64, &str)> = points
            .iter()
            .enumerate()
            .filter_map(|(number, point)| {
                Some((results.at((sweep, number), last, class)?, point.name.as_str()))
            })
            .collect();
        found.sort_by(|a, b| a.0.total_cmp(&b.0));
        match (found.first(), found.last()) {
            (Some(least), Some(most)) => {
                format!("{:.3} at {} to {:.3} at {}", least.0, least.1, most.0, most.1)
            }
            _ => "none".to_string(),
        }
    });
    format!("  {} / {}: reads {}; writes {}", policies[last], policies[0], words[0], words[1])
}

/// Where the published changes are found: runs whose mean ratios come within 0.05 of them.
pub(crate) fn appears(results: &Results, policy: &str, published: [f64; 2]) -> String {
    let mut found: [Vec<String>; 3] = Default::default();
    let mut look = |name: String, ratios: [Option<f64>; 2]| {
        let near =
            |class: usize| ratios[class].is_some_and(|r| (r - published[class]).abs() <= 0.05);
        let place = match (near(0), near(1)) {
            (true, true) => 2,
            (true, false) => 0,
            (false, true) => 1,
            (false, false) => return,
        };
        let [read, write] = ratios.map(ratio);
        found[place].push(format!("{name} ({read}, {write})"));
    };
    let baseline = results.experiment.baseline.as_str();
    for (place, device) in results.devices.iter().enumerate() {
        for (group, range) in results.groups(place) {
            let over = |class| results.over(place, policy, baseline, class, range.clone());
            look(format!("{} on {group}", device.name), Class::BOTH.map(over));
        }
    }
    for (place, sweep) in results.experiment.sweep.iter().enumerate() {
        let Some(column) = sweep.policies.iter().position(|name| name == policy) else { continue };
        for (number, point) in sweep.point.iter().enumerate() {
            let place = (place, number);
            if !sweep.by_group {
                let ratios = Class::BOTH.map(|class| results.at(place, column, class));
                look(format!("{} {}", sweep.title, point.name), ratios);
                continue;
            }
            for (group, range) in results.workloads.groups() {
                let over = |class| results.at_over(place, (column, 0), class, range.clone());
                look(format!("{} on {group}", results.point_name(place)), Class::BOTH.map(over));
            }
        }
    }
    let list = |names: &[String]| {
        if names.is_empty() { "nowhere".to_string() } else { names.join("; ") }
    };
    let [read, write] = published;
    format!(
        "Where {policy} / {baseline} comes within 0.05 of the published {read:.2} (reads) and {write:.2} (writes):\n  \
         both: {}\n  reads alone: {}\n  writes alone: {}\n",
        list(&found[2]),
        list(&found[0]),
        list(&found[1])
    )
}

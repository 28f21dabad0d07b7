//! Latencies by class and by stream, and their parts.

use crate::output::table::{render, render_groups, table};
use comfy_table::Table;
use flashyard_core::request::RequestOp;
use flashyard_run::units::percent;
use flashyard_run::units::{count, or_dash, per_second, time};
use flashyard_sim::metrics::parts::{Part, Parts};
use flashyard_sim::report::{LatencyReport, Report};
use std::collections::BTreeMap;

/// A time of whole nanoseconds.
fn whole(ns: Option<u64>) -> String {
    or_dash(ns, |ns| time(ns as f64))
}

/// What a mark of [`percentile`] says.
pub(crate) const FEW: &str = "* fewer than 10 requests took longer: run more of them to trust it";

/// Whether fewer than ten of so many latencies lie beyond a percentile in parts of 10,000. It then
/// moves by a third and more from run to run: the deviation of a count of n rare events is the root
/// of n. That ten are enough is assumed.
pub(crate) fn is_of_few(count: f64, share: u64) -> bool {
    count * ((10_000 - share) as f64) < 10.0 * 10_000.0
}

/// Returns a percentile, which is given in parts of 10,000. A percentile of few requests is marked.
pub(crate) fn percentile(latency: &LatencyReport, share: u64) -> String {
    let ns = match share {
        5_000 => latency.p50,
        9_000 => latency.p90,
        9_500 => latency.p95,
        9_900 => latency.p99,
        9_990 => latency.p999,
        _ => latency.p9999,
    };
    whole(ns) + if is_of_few(latency.count as f64, share) { "*" } else { "" }
}

/// Returns a table of latencies. If it has marks, their meaning follows.
fn with_meaning(table: &Table) -> String {
    let text = render(table);
    if text.contains('*') { format!("{text}{FEW}\n") } else { text }
}

/// Returns the classes of the requests, and `all` if there are several classes.
fn classes<'a>(
    latency_ns: &'a BTreeMap<&'static str, LatencyReport>,
) -> Vec<(&'static str, &'a LatencyReport)> {
    let of = |name: &'static str| (name, &latency_ns[name]);
    let mut classes: Vec<_> = RequestOp::ALL.map(RequestOp::name).map(of).to_vec();
    classes.retain(|(_, latency)| latency.count > 0);
    if classes.len() != 1 {
        classes.push(of("all"));
    }
    classes
}

/// A row for each class of requests.
pub(super) fn of_classes(report: &Report) -> String {
    let mut table = table(&["latency", "count", "mean", "p50", "p99", "p99.9", "p99.99", "max"]);
    for (name, latency) in classes(&report.latency_ns) {
        table.add_row(vec![
            name.to_string(),
            count(latency.count),
            or_dash(latency.mean, time),
            percentile(latency, 5_000),
            percentile(latency, 9_900),
            percentile(latency, 9_990),
            percentile(latency, 9_999),
            whole(latency.max),
        ]);
    }
    with_meaning(&table)
}

/// The measured requests of each stream, a row for each class. How long rate limits held some is
/// shown where they did.
pub(super) fn of_streams(report: &Report) -> String {
    let held = report.streams.values().any(|stream| stream.rate_limited_ns > 0);
    let mut columns = vec!["stream", "IOPS", "slowdown", "class", "count", "mean", "p99", "p99.9"];
    columns.extend(held.then_some("held back"));
    let mut table = table(&columns);
    for (name, stream) in &report.streams {
        let mut of_stream = vec![
            name.clone(),
            or_dash(stream.own_iops(), per_second),
            or_dash(stream.slowdown, |times| format!("{times:.2}")),
        ];
        let mut limited = held.then(|| time(stream.rate_limited_ns as f64));
        for (class, latency) in classes(&stream.latency_ns) {
            let mut row = std::mem::replace(&mut of_stream, vec![String::new(); 3]);
            row.extend([class.to_string(), count(latency.count), or_dash(latency.mean, time)]);
            row.extend([percentile(latency, 9_900), percentile(latency, 9_990)]);
            row.extend(limited.take());
            table.add_row(row);
        }
    }
    with_meaning(&table)
}

/// What the requests of each class spent their time on.
pub(super) fn parts(report: &Report) -> String {
    let classes: Vec<&str> = RequestOp::ALL
        .map(RequestOp::name)
        .into_iter()
        .filter(|class| report.latency_ns[class].count > 0)
        .collect();
    let mut header = vec!["latency is".to_string()];
    for class in &classes {
        header.extend([format!("{class}, mean"), "share".to_string(), "slowest 1 %".to_string()]);
    }
    let mut table = table(&header.iter().map(String::as_str).collect::<Vec<_>>());
    for part in Part::ALL {
        if classes.iter().all(|class| report.latency_parts_ns[class].get(part) == 0) {
            continue;
        }
        let mut row = vec![part.name().to_string()];
        for class in &classes {
            let all: &Parts = &report.latency_parts_ns[class];
            let tail = &report.latency_parts_tail_ns[class].p99;
            let spent = all.get(part) as f64;
            row.push(time(spent / report.latency_ns[class].count as f64));
            row.push(percent(spent, all.total() as f64));
            row.push(percent(tail.get(part) as f64, tail.total() as f64));
        }
        table.add_row(row);
    }
    render_groups(&table, 3)
}

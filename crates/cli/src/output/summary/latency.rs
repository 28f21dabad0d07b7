//! Latencies by class and by stream, and what they are made of.

use crate::output::table::{percent, render, render_groups, table};
use crate::output::units::{count, or_dash, per_second, time};
use flashyard_core::request::RequestOp;
use flashyard_sim::metrics::parts::{Part, Parts};
use flashyard_sim::report::{LatencyReport, Report};
use std::collections::BTreeMap;

/// A time of whole nanoseconds.
fn whole(ns: Option<u64>) -> String {
    or_dash(ns, |ns| time(ns as f64))
}

/// The classes of requests that there were; `all` where they were of several.
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
    let mut table = table(&["latency", "count", "mean", "p50", "p90", "p99", "p99.9", "max"]);
    for (name, latency) in classes(&report.latency_ns) {
        table.add_row(vec![
            name.to_string(),
            count(latency.count),
            or_dash(latency.mean, time),
            whole(latency.p50),
            whole(latency.p90),
            whole(latency.p99),
            whole(latency.p999),
            whole(latency.max),
        ]);
    }
    render(&table)
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
            or_dash(stream.iops, per_second),
            or_dash(stream.slowdown, |times| format!("{times:.2}")),
        ];
        let mut limited = held.then(|| time(stream.rate_limited_ns as f64));
        for (class, latency) in classes(&stream.latency_ns) {
            let mut row = std::mem::replace(&mut of_stream, vec![String::new(); 3]);
            row.extend([class.to_string(), count(latency.count), or_dash(latency.mean, time)]);
            row.extend([whole(latency.p99), whole(latency.p999)]);
            row.extend(limited.take());
            table.add_row(row);
        }
    }
    render(&table)
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

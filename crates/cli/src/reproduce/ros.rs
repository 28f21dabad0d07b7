//! `flashyard reproduce ros`: reads of a PRAM buffer while it is written, out of order.

use super::buffers::examples::{self, Figure, Found};
use super::buffers::figures::{Class, Figures, mean};
use super::buffers::results::Results;
use super::buffers::{self, Judged, Study, TOLERANCE, judged_table, tables};
use crate::args::ReproduceArgs;
use crate::output::table;
use anyhow::Result;
use flashyard_sim::own::OwnParts;

const FILE: &str = include_str!("../../../../experiments/ros.toml");

/// What is published: mean read and write latency over that of IS, and the hidden read ratio.
const PUBLISHED: [f64; 2] = [0.70, 0.81];
const PUBLISHED_HRR: f64 = 0.95;

/// Runs the study and prints it.
pub(crate) fn run(args: &ReproduceArgs, own: OwnParts) -> Result<()> {
    buffers::run(&Study { name: "ros", file: FILE, judge, text }, args, own)
}

fn text(results: &Results, args: &ReproduceArgs, figures: &str, judged: &[Judged]) -> String {
    let mut text = tables::head(results, args);
    text += &format!("\n{figures}");
    for device in 0..results.devices.len() {
        text += &format!("\n{}", tables::policies(results, device, true));
    }
    text += &format!(
        "\nWhat the gain comes from: ris+overlap flushes while a put runs, as ros does in its base\n\
         order; ros-hoist has no early flushes, ros-early no hoisting, ros-base neither\n{}",
        tables::variants(results, true)
    );
    text += &format!("\n{}", tables::sweeps(results));
    text += &format!("{}\n", energy(results));
    text += &tables::appears(results, "ros", PUBLISHED);
    text += &format!("\n{}", judged_table(judged));
    text
}

/// What the memory of the buffer takes, by the sweep over it: standby and accesses.
fn energy(results: &Results) -> String {
    let sweeps = &results.experiment.sweep;
    let place = sweeps.iter().position(|sweep| sweep.title == "memory").expect("a sweep of it");
    let last = sweeps[place].policies.len() - 1;
    let mut header = vec!["memory of the buffer: standby mJ, accesses mJ"];
    header.extend(sweeps[place].workloads.iter().map(String::as_str));
    let mut table = table::table(&header);
    for (point, runs) in sweeps[place].point.iter().zip(&results.sweeps[place]) {
        let mut cells = vec![point.name.clone()];
        let of = |run: &Figures| [run.buffer_standby_pj, run.buffer_pj].map(|pj| pj as f64 / 1e9);
        let cell = |run| of(run).map(|mj| format!("{mj:.2}")).join(" ");
        cells.extend(runs[last].iter().map(cell));
        table.add_row(cells);
    }
    table::render(&table)
}

/// Every statement, beside what the runs show.
fn judge(results: &Results, figures: &[Figure], found: &[Vec<Found>]) -> Vec<Judged> {
    let statements = results.experiment.published.iter().map(|published| {
        let (found, holds) = match published.check.as_str() {
            "figure" => totals(&figures[0], &found[0]),
            "read" => gain(results, Class::Read, PUBLISHED[0]),
            "write" => gain(results, Class::Write, PUBLISHED[1]),
            "hidden" => hidden(results),
            "ris" => ris(results),
            "web" => web(results),
            unknown => unreachable!("the experiment file names an unknown check {unknown}"),
        };
        let form = published.form().to_string();
        Judged { statement: published.statement.clone(), form, found, holds }
    });
    statements.collect()
}

fn totals(figure: &Figure, found: &[Found]) -> (String, bool) {
    let totals: Vec<String> = found.iter().map(|found| found.total.to_string()).collect();
    let hidden: Vec<String> =
        found.iter().map(|found| format!("{}/{}", found.hidden[0], found.hidden[1])).collect();
    let text = format!("{}; {}", totals.join(", "), hidden.join(", "));
    (text, examples::all_as_published(figure, found))
}

/// The mean of a class under ROS over that under IS; it holds on the bare device within
/// [`TOLERANCE`].
fn gain(results: &Results, class: Class, published: f64) -> (String, bool) {
    let (group, range) = results.judged();
    let ratio = results.over(0, "ros", "is", class, range);
    let all = results.workloads.groups().map(|(name, range)| {
        format!("{name} {}", tables::change(results.over(0, "ros", "is", class, range)))
    });
    let found = format!("{} (judged: {group})", all.collect::<Vec<_>>().join(", "));
    (found, ratio.is_some_and(|ratio| (ratio - published).abs() <= TOLERANCE))
}

fn hidden(results: &Results) -> (String, bool) {
    let (group, range) = results.judged();
    let runs = &results.runs(0, "ros")[range];
    let ratio = mean(runs.iter().map(|run| run.hidden_read_ratio));
    let found = format!("{} ({group})", tables::ratio(ratio));
    (found, ratio.is_some_and(|ratio| (ratio - PUBLISHED_HRR).abs() <= TOLERANCE))
}

/// RIS beside IS, without Web.
fn ris(results: &Results) -> (String, bool) {
    let (group, range) = results.judged();
    let ratios = Class::BOTH.map(|class| results.over(0, "ris", "is", class, range.clone()));
    let overlapped =
        Class::BOTH.map(|class| results.over(0, "ris+overlap", "is", class, range.clone()));
    let found = format!(
        "{} and {} ({group}), by choice of no overlapped flushes: with them {} and {}",
        tables::ratio(ratios[0]),
        tables::ratio(ratios[1]),
        tables::ratio(overlapped[0]),
        tables::ratio(overlapped[1])
    );
    let close = |ratio: Option<f64>| ratio.is_some_and(|ratio| (ratio - 1.0).abs() <= TOLERANCE);
    (found, ratios.into_iter().all(close))
}

/// RIS on the mix of 98 % reads.
fn web(results: &Results) -> (String, bool) {
    let web = results.workloads.place("web");
    let (ris, is) = (&results.runs(0, "ris")[web], &results.runs(0, "is")[web]);
    let ratio = ris.ratio(is, Class::Read);
    let hits = tables::ratio(is.hit_ratio_read);
    let found = format!(
        "reads {}, hidden read ratio {}; few writes to hide behind, {hits} of the reads hit",
        tables::ratio(ratio),
        tables::ratio(ris.hidden_read_ratio)
    );
    (found, ratio.is_some_and(|ratio| ratio < 1.0 - TOLERANCE))
}

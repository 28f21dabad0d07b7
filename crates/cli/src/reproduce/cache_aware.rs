//! `flashyard reproduce cache-aware`: requests by what the buffer and the dies have ready, reads
//! first (Bang et al.).

use super::buffers::examples::{self, Figure, Found};
use super::buffers::figures::Class;
use super::buffers::results::Results;
use super::buffers::{self, Judged, Study, TOLERANCE, judged_table, tables};
use crate::args::ReproduceArgs;
use anyhow::Result;
use flashyard_sim::own::OwnParts;

const FILE: &str = include_str!("../../../../experiments/cache-aware.toml");

/// The policy of the publication.
const PROPOSED: &str = "cache-read-aware";

/// Published means over FIFO, and over IDLE; of reads and of writes.
const OVER_FIFO: [f64; 2] = [0.74, 0.98];
const OVER_IDLE: [f64; 2] = [0.73, 0.92];
const IDLE_OVER_FIFO: [f64; 2] = [1.02, 1.05];

/// Runs the study and prints it.
pub(crate) fn run(args: &ReproduceArgs, own: OwnParts) -> Result<()> {
    buffers::run(&Study { name: "cache-aware", file: FILE, judge, text }, args, own)
}

fn text(results: &Results, args: &ReproduceArgs, figures: &str, judged: &[Judged]) -> String {
    let mut text = tables::head(results, args);
    text += &format!("\n{figures}");
    for device in 0..results.devices.len() {
        text += &format!("\n{}", tables::policies(results, device, false));
    }
    text += &format!("\n{}", tables::loaded(results));
    text += &tables::variants(results, false);
    text += &format!("\n{}", tables::sweeps(results));
    text += &tables::appears(results, PROPOSED, OVER_FIFO);
    text += &format!("\n{}", tables::appears(results, "idle", IDLE_OVER_FIFO));
    text += &format!("\n{}", tables::appears(results, "idle-strict", IDLE_OVER_FIFO));
    text += &format!("\n{}", judged_table(judged));
    text
}

/// Every statement, beside what the runs show.
fn judge(results: &Results, figures: &[Figure], found: &[Vec<Found>]) -> Vec<Judged> {
    let figure = |place: usize| {
        let totals: Vec<String> =
            found[place].iter().map(|found| found.total.to_string()).collect();
        (totals.join(" and "), examples::all_as_published(&figures[place], &found[place]))
    };
    let statements = results.experiment.published.iter().map(|published| {
        let over = |pairs: &[_], class, published| over(results, pairs, class, published);
        let (found, holds) = match published.check.as_str() {
            "figure_0" => figure(0),
            "figure_1" => figure(1),
            "figure_2" => figure(2),
            "read" => over(&[(PROPOSED, "fifo")], Class::Read, OVER_FIFO[0]),
            "write" => over(&[(PROPOSED, "fifo")], Class::Write, OVER_FIFO[1]),
            "idle_read" => {
                over(&[("idle", "fifo"), ("idle-strict", "fifo")], Class::Read, IDLE_OVER_FIFO[0])
            }
            "idle_write" => {
                over(&[("idle", "fifo"), ("idle-strict", "fifo")], Class::Write, IDLE_OVER_FIFO[1])
            }
            "over_idle_read" => {
                over(&[(PROPOSED, "idle"), (PROPOSED, "idle-strict")], Class::Read, OVER_IDLE[0])
            }
            "over_idle_write" => {
                over(&[(PROPOSED, "idle"), (PROPOSED, "idle-strict")], Class::Write, OVER_IDLE[1])
            }
            unknown => unreachable!("the experiment file names an unknown check {unknown}"),
        };
        let form = published.form().to_string();
        Judged { statement: published.statement.clone(), form, found, holds }
    });
    statements.collect()
}

/// The means of a class under policies over those under other ones, at every setting of the tables:
/// bare and full device as recorded, and the loaded ones. The settings of the publication are not
/// known, so a statement holds if the mixes show it at one of them: within [`TOLERANCE`], on the
/// same side of 1.
fn over(results: &Results, pairs: &[(&str, &str)], class: Class, published: f64) -> (String, bool) {
    let (mut shows, mut others, mut holds) = (Vec::new(), Vec::new(), false);
    let mut look = |name: String, is_mixes: bool, ratio: Option<f64>| {
        let Some(value) = ratio else { return };
        let near = (value - published).abs() <= TOLERANCE && (value > 1.0) == (published > 1.0);
        holds |= near && is_mixes;
        if near {
            shows.push(format!("{name} {}", tables::change(ratio)));
        } else {
            others.push(value);
        }
    };
    for &(policy, base) in pairs {
        let strict = [policy, base].contains(&"idle-strict");
        let kind = if strict { "strict: " } else { "" };
        for (place, device) in results.devices.iter().enumerate() {
            for (group, range) in results.groups(place) {
                let ratio = results.over(place, policy, base, class, range.clone());
                let name = format!("{kind}{}, as recorded, {group}", device.name);
                look(name, range.start == 0, ratio);
            }
        }
        for place in results.loaded_points() {
            let policies = &results.experiment.sweep[place.0].policies;
            let number = |name: &str| policies.iter().position(|policy| policy == name);
            let Some(pair) = number(policy).zip(number(base)) else { continue };
            for (group, range) in results.workloads.groups() {
                let ratio = results.at_over(place, pair, class, range.clone());
                let name = format!("{kind}{}, {group}", results.point_name(place));
                look(name, range.start == 0, ratio);
            }
        }
    }
    let shown = if shows.is_empty() { "nowhere".to_string() } else { shows.join("; ") };
    let [least, most] =
        [others.iter().copied().reduce(f64::min), others.into_iter().reduce(f64::max)];
    let elsewhere = [least, most].map(tables::change).join(" to ");
    (format!("appears: {shown}; elsewhere {elsewhere}"), holds)
}

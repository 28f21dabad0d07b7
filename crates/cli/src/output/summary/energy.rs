//! Energy and power.

use crate::output::style;
use crate::output::text::{line, marked_line};
use flashyard_run::units::percent;
use flashyard_run::units::{efficiency, energy, or_dash, power, time};
use flashyard_sim::report::Report;

/// Energies below this share of all are not listed.
const LISTED: f64 = 0.01;

/// Lines on energy, power and sleep.
pub(super) fn figures(report: &Report) -> Vec<String> {
    let mut lines = vec![spent(report), powers(report)];
    lines.extend(sleep(report));
    lines
}

/// All energy, what took it, and how much of it no request took.
fn spent(report: &Report) -> String {
    let all = &report.energy_pj;
    let total = all.total as f64;
    let mut said = energy(total);
    if let Some(joules) = report.power.j_per_mb {
        said += &format!(", {}", efficiency(1e3 * joules));
    }
    let mut by: Vec<_> = all.by_resource.iter().collect();
    by.sort_by_key(|(_, pj)| std::cmp::Reverse(**pj));
    let listed = by.into_iter().filter(|(_, pj)| **pj as f64 >= LISTED * total && **pj > 0);
    let shares: Vec<String> = listed
        .map(|(name, pj)| format!("{} {}", name.replace('_', " "), percent(*pj as f64, total)))
        .collect();
    if !shares.is_empty() {
        said += &format!(": {}", shares.join(", "));
    }
    if all.flushed > 0 {
        said += &format!("; {} of it of flushed writes", percent(all.flushed as f64, total));
    }
    said += &format!("; {} of it of no request", percent(all.unattributed as f64, total));
    // A disk has none of these.
    let idle = ["controller", "dram", "standby", "sleep", "buffer_standby", "reclaim"]
        .map(|name| all.by_resource.get(name));
    if idle.iter().any(|pj| pj.is_none_or(|pj| *pj > 0)) {
        return line("energy", &said);
    }
    said += "; the power of controller, memory and idle times is 0 in this device";
    style::marked(&marked_line("energy", "! ", &said))
}

/// Mean and highest power, where energy goes by phase, and waits for power.
fn powers(report: &Report) -> String {
    let of = &report.power;
    let mut said = format!("{} on average", or_dash(of.mean_mw, power));
    if of.peak_mw.is_some() {
        said += &format!(", {} in the highest bin", or_dash(of.peak_mw, power));
    }
    if let Some(meter) = of.meter.as_ref().filter(|meter| meter.peak_mw.is_some()) {
        said += &format!(", {} in the highest sample", or_dash(meter.peak_mw, power));
    }
    for (phase, when) in [("idle", "between requests"), ("post", "after the last one")] {
        let pj = report.energy_pj.by_phase[phase];
        if pj > 0 {
            let share = percent(pj as f64, report.energy_pj.total as f64);
            said += &format!(", {share} of the energy {when}");
        }
    }
    if of.waits > 0 {
        let mean = time(of.waited_ns as f64 / of.waits as f64);
        said += &format!(", dies waited {} times for power, {mean} each", of.waits);
    }
    line("power", &said)
}

/// The sleep of a device that may sleep.
fn sleep(report: &Report) -> Option<String> {
    let (sleep, span) = (report.power.sleep?, report.power.span_ns as f64);
    let mut said = format!("{} of the time", percent(sleep.asleep_ns as f64, span));
    if sleep.deep_asleep_ns > 0 {
        said += &format!(", {} at the deeper level", percent(sleep.deep_asleep_ns as f64, span));
    }
    let pj = report.energy_pj.by_resource["sleep"];
    said += &format!(", woke {} times, {}", sleep.wakes, energy(pj as f64));
    Some(line("sleep", &said))
}

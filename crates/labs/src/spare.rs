//! The lab spare-space: the least over-provisioning that keeps a goal.

use crate::answer::Answer;
use crate::lab::{Check, Lab};
use crate::runs::{self, amplification};
use crate::template::{Written, fill, mixed, state_seed};
use crate::verdict::Verdict;
use anyhow::Result;
use flashyard_run::meter::Watch;
use flashyard_run::plan::Plan;
use flashyard_run::units::Table;
use flashyard_sim::own::OwnParts;
use flashyard_sim::report::Report;

const DEVICE: &str = include_str!("../labs/spare-space/device.toml");
const WORKLOAD: &str = include_str!("../labs/spare-space/workload.toml");
const ANSWER: &str = include_str!("../labs/spare-space/answer.toml");

/// The answers.
const KEYS: [&str; 4] =
    ["seed", "over_provisioning_percent", "predicted_write_amplification", "predicted_valid_pages"];

/// Over-provisioning that can be answered, in percent. With less, the blocks that are kept free
/// leave next to nothing.
const LEAST: u64 = 8;
const MOST: u64 = 100;

/// How many lower steps must miss the goal.
const LOWER: u64 = 2;

/// How far predictions may be off, in percent.
const NEAR: f64 = 2.0;

/// Blocks of the plane, by the seed.
fn blocks(seed: u64) -> u64 {
    128 + 8 * (mixed(seed) % 13)
}

/// The greatest write amplification that is allowed, by the seed.
fn goal(seed: u64) -> f64 {
    (24 + (mixed(seed) >> 16) % 14) as f64 / 10.0
}

/// The device and the workload of a seed.
fn task(seed: u64) -> (String, &'static str) {
    let values = [
        ("seed", seed.to_string()),
        ("blocks", blocks(seed).to_string()),
        ("state_seed", state_seed(seed).to_string()),
    ];
    (fill(DEVICE, &values), WORKLOAD)
}

/// What `lab start` writes, and what comes next.
pub(crate) fn files(seed: u64) -> (Vec<Written>, String) {
    let (device, workload) = task(seed);
    let goal = format!("{:.1}", goal(seed));
    let answer = fill(ANSWER, &[("seed", seed.to_string()), ("goal", goal.clone())]);
    let files = vec![
        ("device.toml", device),
        ("workload.toml", workload.to_string()),
        ("answer.toml", answer),
    ];
    let next = format!(
        "The goal: write amplification of at most {goal}. In this directory, run\n    flashyard run \
         device.toml workload.toml --seed {seed} \\\n        --set \
         ftl.over_provisioning_percent=50\n"
    );
    (files, next)
}

fn inputs(own: &OwnParts, seed: u64, spare: u64) -> Result<Plan> {
    let (device, workload) = task(seed);
    let set = [("over_provisioning_percent", format!("ftl.over_provisioning_percent={spare}"))];
    let (device, workload) = (("device.toml", &*device), ("workload.toml", workload));
    let mut inputs = Plan::of_texts(own.clone(), device, workload, &set)?;
    inputs.set_seed(seed);
    Ok(inputs)
}

/// Judges the answers of a file.
pub(crate) fn check(check: &Check<'_>, own: &OwnParts, watch: Watch<'_>) -> Result<Verdict> {
    let answer = Answer::read(check.answer, &KEYS)?;
    let seed = answer.seed(check.seed)?;
    let spare = answer.whole(KEYS[1], LEAST..=MOST)?;
    let predicted = answer.number(KEYS[2], 1.0..=1_000.0)?;
    let pages = answer.number(KEYS[3], 0.0..=64.0)?;
    let steps: Vec<u64> = (spare - LOWER..=spare).rev().collect();
    let all = steps.iter().map(|spare| inputs(own, seed, *spare)).collect::<Result<Vec<_>>>()?;
    let found = runs::all(all, true, watch)?.into_iter().collect::<Result<Vec<Report>>>()?;
    let goal = goal(seed);
    let mut verdict = Verdict::new(Lab::SpareSpace, seed);
    let measured = amplification(&found[0]);
    verdict.add(
        measured <= goal,
        &format!("{spare} %: write amplification is {measured:.3}, at most {goal:.1} is asked"),
        "More spare space leaves fewer valid pages in a victim",
    );
    let lower = found[1..].iter().all(|report| amplification(report) > goal);
    let said = format!("{} % and {} % miss the goal, so no less will do", spare - 1, spare - 2);
    verdict.add(lower, &said, "The host could have more of the device");
    verdict.add(
        near(predicted, measured),
        &format!("your {predicted} is within {NEAR} % of the measured write amplification"),
        "Not all of the spare space holds stale pages: count the blocks that are free or not full",
    );
    let victims = found[0].gc.valid_pages_copied as f64 / found[0].gc.jobs.max(1) as f64;
    verdict.add(
        near(pages, victims),
        &format!("your {pages} is within {NEAR} % of the mean valid pages of a victim"),
        "A victim with u of its pages valid is erased for 1 - u of them",
    );
    Ok(verdict.with(shown(&steps, &found)))
}

/// Whether a prediction is near what was measured.
fn near(predicted: f64, measured: f64) -> bool {
    (predicted - measured).abs() <= measured * NEAR / 100.0
}

/// The figures of all runs.
fn shown(steps: &[u64], found: &[Report]) -> Table {
    let header = ["over-provisioning", "write amplification", "p99.9 of writes, ms", "IOPS"];
    let mut table = Table::new(&header);
    for (spare, report) in steps.iter().zip(found) {
        table.add([
            format!("{spare} %"),
            format!("{:.3}", amplification(report)),
            format!("{:.1}", report.latency_ns["write"].p999.unwrap_or(0) as f64 / 1e6),
            format!("{:.0}", report.throughput.iops.unwrap_or(0.0)),
        ]);
    }
    table
}

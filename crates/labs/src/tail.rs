//! The lab slow-tail: what slow reads wait behind, and one setting that helps.

use crate::answer::Answer;
use crate::lab::{Check, Lab};
use crate::runs::{self, amplification};
use crate::template::{Written, fill, mixed, state_seed};
use crate::verdict::Verdict;
use anyhow::Result;
use flashyard_core::command::{Op, Purpose};
use flashyard_run::error::wrong;
use flashyard_run::meter::Watch;
use flashyard_run::plan::Plan;
use flashyard_run::units::Table;
use flashyard_run::why::blamed::{Behind, SlowReads, slow_reads};
use flashyard_sim::metrics::parts::Part;
use flashyard_sim::own::OwnParts;
use flashyard_sim::report::Report;
use std::collections::BTreeMap;

const DEVICE: &str = include_str!("../labs/slow-tail/device.toml");
const WORKLOAD: &str = include_str!("../labs/slow-tail/workload.toml");
const ANSWER: &str = include_str!("../labs/slow-tail/answer.toml");

/// The percentile, in parts of 10,000.
const PERCENTILE: u64 = 9_990;
/// The most p99.9 of reads with the change, in microseconds.
const GOAL_US: f64 = 400.0;
/// The most that write amplification may grow, and throughput shrink, in percent.
const LIMIT: f64 = 2.0;
/// How far the stated p99.9 may be off, in percent of it.
const NEAR: f64 = 1.0;
/// How far the stated share may be off, in percent of the latency.
const NEAR_SHARE: f64 = 3.0;

/// The answers.
const KEYS: [&str; 8] =
    ["seed", "p999_us", "operation", "purpose", "part", "suspension", "share_percent", "change"];

/// Why operations do not make way.
const SUSPENSIONS: [&str; 6] =
    ["never", "used_up", "under_way", "about_to_end", "pulse", "not_asked"];

/// What is wrong with the device of a seed.
struct Fault {
    program_suspends: u64,
    erase_suspends: u64,
    command: &'static str,
    /// Whether the device has so much spare space that nothing is collected.
    roomy: bool,
}

/// The faults; seeds that follow one another have different ones.
const FAULTS: [Fault; 5] = [
    Fault { program_suspends: 8, erase_suspends: 0, command: "rrf", roomy: false },
    Fault { program_suspends: 0, erase_suspends: 8, command: "rrf", roomy: false },
    Fault { program_suspends: 1, erase_suspends: 8, command: "rrf", roomy: true },
    Fault { program_suspends: 8, erase_suspends: 8, command: "fifo", roomy: false },
    Fault { program_suspends: 0, erase_suspends: 8, command: "rrf", roomy: true },
];

/// The device and the workload of a seed.
fn task(seed: u64) -> (String, String) {
    let fault = usize::try_from(seed % FAULTS.len() as u64).map_or(&FAULTS[0], |at| &FAULTS[at]);
    let draw = mixed(seed);
    let spare = if fault.roomy { 140 + 10 * ((draw >> 16) % 5) } else { 24 + (draw >> 16) % 7 };
    let values = [
        ("seed", seed.to_string()),
        ("state_seed", state_seed(seed).to_string()),
        ("program_suspends", fault.program_suspends.to_string()),
        ("erase_suspends", fault.erase_suspends.to_string()),
        ("command", fault.command.to_string()),
        ("spare", spare.to_string()),
        ("initial", if fault.roomy { "full" } else { "aged" }.to_string()),
        ("reads", (68 + draw % 11).to_string()),
        ("rate", (1_600 + 100 * ((draw >> 8) % 5)).to_string()),
    ];
    (fill(DEVICE, &values), fill(WORKLOAD, &values))
}

/// What `lab start` writes, and what comes next.
pub(crate) fn files(seed: u64) -> (Vec<Written>, String) {
    let (device, workload) = task(seed);
    let answer = fill(ANSWER, &[("seed", seed.to_string()), ("goal", GOAL_US.to_string())]);
    let files = vec![("device.toml", device), ("workload.toml", workload), ("answer.toml", answer)];
    let next = format!(
        "In this directory, begin with\n    flashyard run device.toml workload.toml --seed \
         {seed}\n    flashyard why device.toml workload.toml --seed {seed} --class read\n"
    );
    (files, next)
}

fn inputs(own: &OwnParts, seed: u64, change: Option<&str>) -> Result<Plan> {
    let (device, workload) = task(seed);
    let set: Vec<_> = change.iter().map(|change| ("change", (*change).to_string())).collect();
    let (device, workload) = (("device.toml", &*device), ("workload.toml", &*workload));
    let mut inputs = Plan::of_texts(own.clone(), device, workload, &set)?;
    inputs.set_seed(seed);
    Ok(inputs)
}

/// Refuses a change of anything but what firmware decides.
fn check_change(change: &str) -> Result<()> {
    let Some((key, _)) = change.split_once('=') else {
        let what = format!("change: {change} sets nothing; KEY=VALUE is needed");
        return Err(wrong(&what));
    };
    let key = key.trim();
    let of_firmware = ["gc.", "policy.", "host."].iter().any(|start| key.starts_with(start))
        && !["gc.search_us", "gc.copyback"].contains(&key);
    if of_firmware || ["nand.program_suspends", "nand.erase_suspends"].contains(&key) {
        return Ok(());
    }
    Err(wrong(&format!(
        "change: {key} is not for firmware to decide; a key of [gc] (but search_us and copyback), \
         [policy] or [host], or nand.program_suspends or nand.erase_suspends may change"
    )))
}

/// The most frequent word by time.
fn most<'a>(times: &BTreeMap<&'a str, u64>) -> &'a str {
    times.iter().max_by_key(|(_, ns)| **ns).map_or("", |(word, _)| *word)
}

/// The answers of a file.
struct Answers {
    p999_us: f64,
    operation: String,
    purpose: String,
    part: String,
    suspension: String,
    share: f64,
    change: String,
}

impl Answers {
    fn read(answer: &Answer) -> Result<Self> {
        let names = |list: &[&'static str], key: &str| answer.word(key, list).map(str::to_string);
        let change = answer.word("change", &[])?.to_string();
        check_change(&change)?;
        Ok(Self {
            p999_us: answer.number("p999_us", 1.0..=1e9)?,
            operation: names(&Op::ALL.map(Op::name), "operation")?,
            purpose: names(&Purpose::ALL.map(Purpose::name), "purpose")?,
            part: names(&Part::ALL.map(Part::name), "part")?,
            suspension: names(&SUSPENSIONS, "suspension")?,
            share: answer.number("share_percent", 0.0..=100.0)?,
            change,
        })
    }
}

/// Judges the answers of a file.
pub(crate) fn check(check: &Check<'_>, own: &OwnParts, watch: Watch<'_>) -> Result<Verdict> {
    let answer = Answer::read(check.answer, &KEYS)?;
    let seed = answer.seed(check.seed)?;
    let answers = Answers::read(&answer)?;
    let before = inputs(own, seed, None)?;
    let after = inputs(own, seed, Some(&answers.change))?;
    // A value that the key cannot have is told before anything runs.
    after.settings()?;
    let slow = {
        let progress = watch("", "runs", vec![1.0; 2]);
        slow_reads(&before, PERCENTILE, &*progress)?
    };
    let mut verdict = Verdict::new(Lab::SlowTail, seed);
    judge_cause(&mut verdict, &answers, &slow);
    let mut found = runs::all(vec![before, after], true, watch)?.into_iter();
    let mut next = || found.next().unwrap_or_else(|| Err(wrong("it was not run")));
    let (before, after) = (next()?, next());
    match after {
        Ok(after) => Ok(judge_change(verdict, &answers.change, &before, &after)),
        Err(error) => {
            verdict.add(false, &format!("with {} the run fails: {error:#}", answers.change), "");
            Ok(verdict)
        }
    }
}

/// The criteria about the cause.
fn judge_cause(verdict: &mut Verdict, answers: &Answers, slow: &SlowReads) {
    const WHY: &str =
        "`flashyard why` with --class read and --above p99.9 says it in its first row";
    let truth = slow.behind.iter().max_by_key(|(_, behind)| behind.ns);
    let nothing = Behind::default();
    let (&(operation, purpose), behind) = truth.unwrap_or((&("", ""), &nothing));
    let p999_us = slow.percentile_ns as f64 / 1e3;
    verdict.add(
        (answers.p999_us - p999_us).abs() <= p999_us * NEAR / 100.0,
        &format!("p99.9 of reads is {} us, to within {NEAR} %", answers.p999_us),
        "The row of reads of `flashyard run` has it; use the seed of the file",
    );
    let said = format!("slow reads wait behind operations of kind {}", answers.operation);
    verdict.add(answers.operation == operation, &said, WHY);
    let said = format!("the purpose of these operations is {}", answers.purpose);
    verdict.add(answers.purpose == purpose, &said, WHY);
    let said = format!("this time counts as the latency part {}", answers.part);
    let hint = "The column `part` of `flashyard why` names it";
    verdict.add(answers.part == most(&behind.parts), &said, hint);
    let said = format!("why they do not make way: {}", answers.suspension);
    let hint = "The words behind the operations say it, and docs/WHY.md what they mean";
    verdict.add(answers.suspension == most(&behind.suspension), &said, hint);
    let share = 100.0 * behind.ns as f64 / slow.latency_ns.max(1) as f64;
    verdict.add(
        (answers.share - share).abs() <= NEAR_SHARE,
        &format!(
            "they take {} % of the latency of the slow reads, to within {NEAR_SHARE} points",
            answers.share
        ),
        "Add up all rows of these operations, whatever kept them from making way",
    );
}

/// The criteria about the change.
fn judge_change(mut verdict: Verdict, change: &str, before: &Report, after: &Report) -> Verdict {
    let p999 = |report: &Report| report.latency_ns["read"].p999.unwrap_or(0) as f64 / 1e3;
    let iops = |report: &Report| report.throughput.iops.unwrap_or(0.0);
    verdict.add(
        p999(after) < GOAL_US,
        &format!("{change}: p99.9 of reads is {:.0} us, below {GOAL_US} is asked", p999(after)),
        "What kept these operations from making way is a rule of the device; change that rule",
    );
    let growth = 100.0 * (amplification(after) / amplification(before) - 1.0);
    verdict.add(
        growth <= LIMIT,
        &format!(
            "{change}: write amplification grows by {growth:.1} %, at most {LIMIT} are allowed"
        ),
        "",
    );
    let loss = 100.0 * (1.0 - iops(after) / iops(before));
    verdict.add(
        loss <= LIMIT,
        &format!("{change}: throughput shrinks by {loss:.1} %, at most {LIMIT} are allowed"),
        "",
    );
    let mut table = Table::new(&["", "p99.9 of reads, us", "write amplification", "IOPS"]);
    for (name, report) in [("as it is", before), (change, after)] {
        table.add([
            name.to_string(),
            format!("{:.1}", p999(report)),
            format!("{:.3}", amplification(report)),
            format!("{:.0}", iops(report)),
        ]);
    }
    verdict.with(table)
}

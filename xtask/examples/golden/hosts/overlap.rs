//! Reads beside writes of a banked buffer: the example of Park et al.'s figure 1.
//!
//! `NCQ_oldest_first` (W or R and a page) with `time_units` of the buffer and the array,
//! `cache_lines`, `initial_LRU_to_MRU` (page, bank, dirty or clean) and, by policy (IS, RIS, ROS),
//! `total`, `hidden_read`, `read_total`, `events` (name, start, end, bank), `completion`; `HRR` has
//! the hidden reads of each policy over all of them.

use super::{Run, named_request, simulate};
use crate::tally::{Tally, entries, list, number};
use anyhow::{Context, Result, ensure};
use flashyard_core::request::RequestOp;
use serde_json::{Map, Value, json};

const POLICIES: [&str; 3] = ["IS", "RIS", "ROS"];

/// The lines of a buffer, with the bank of each, and the requests.
struct Example {
    lines: Vec<(u64, Option<u32>, bool)>,
    requests: Vec<(RequestOp, u64)>,
    settings: Vec<String>,
    units: Value,
}

impl Example {
    fn of(example: &Value) -> Result<Self> {
        let units = example.get("time_units").context("time_units")?;
        let mut lines = Vec::new();
        for line in list(example, "initial_LRU_to_MRU")? {
            let page = line[0].as_u64().context("a line has no page")?;
            lines.push((page, Some(bank_of(&line[1])?), line[2] == "dirty"));
        }
        let requests = list(example, "NCQ_oldest_first")?.iter().map(named_request);
        let channels =
            example.get("nand_channels").map_or(Ok(1), |_| number(example, "nand_channels"))?;
        for zero in ["all_arrive_at", "host_transfer"] {
            let is_zero = example.get(zero).is_none_or(|value| *value == 0);
            ensure!(is_zero, "{zero}: 0 is the only value that there is");
        }
        let settings = vec![
            format!("geometry.channels={channels}"),
            // A flush takes whichever channel is free.
            "ftl.allocation=dynamic".to_string(),
            format!("buffer.bytes={}", number(example, "cache_lines")? * 4096),
            format!("buffer.write_ns={}", number(units, "PRAM_write")?),
            format!("buffer.read_ns={}", number(units, "PRAM_read")?),
            format!("nand.program_us={}", number(units, "NAND_program")? as f64 / 1e3),
            "buffer.ports=read_and_write".to_string(),
            "buffer.flush_reads=true".to_string(),
            "buffer.recency=writes".to_string(),
        ];
        Ok(Self {
            lines,
            requests: requests.collect::<Result<_>>()?,
            settings,
            units: units.clone(),
        })
    }

    fn run(&self, policy: &str, more: &[&str]) -> Result<Run> {
        let banks = self.lines.iter().filter_map(|line| line.1).max().unwrap_or(0) + 1;
        let own =
            [format!("host.policy={}", policy.to_lowercase()), format!("buffer.banks={banks}")];
        let more = more.iter().map(|setting| (*setting).to_owned());
        let settings: Vec<String> = self.settings.iter().cloned().chain(own).chain(more).collect();
        simulate(&settings, &self.lines, &self.requests)
    }
}

pub(super) fn run(example: &Value, tally: &mut Tally) -> Result<()> {
    let known = [
        "time_units",
        "NCQ_oldest_first",
        "all_arrive_at",
        "cache_lines",
        "initial_LRU_to_MRU",
        "host_transfer",
        "nand_channels",
        "HRR",
        "IS",
        "RIS",
        "ROS",
    ];
    tally.known(example, &known);
    let given = Example::of(example)?;
    tally.known(&given.units, &["PRAM_write", "PRAM_read", "NAND_program"]);
    for policy in POLICIES {
        let Some(expected) = example.get(policy) else { continue };
        tally.part(policy, |tally| {
            let run = given.run(policy, &[])?;
            tally.runs += 1;
            compare(expected, &run, tally)?;
            if let Some(share) = example.get("HRR").and_then(|all| all.get(policy)) {
                let (hidden, all) = (run.report.buffer.hidden_read_ns, reads(&run));
                tally.same("HRR", share, &json!(format!("{hidden}/{all}")));
            }
            Ok(())
        });
    }
    Ok(())
}

/// Time that reads of requests and of flushes have the buffer.
fn reads(run: &Run) -> u64 {
    run.report.buffer.get_ns + run.report.buffer.flush_get_ns
}

fn total(run: &Run) -> u64 {
    run.seen.completions.iter().max().copied().unwrap_or(0)
}

fn compare(expected: &Value, run: &Run, tally: &mut Tally) -> Result<()> {
    let seen = &run.seen;
    for (what, expected) in entries(expected)? {
        match what.as_str() {
            "total" => tally.same(what, expected, &json!(total(run))),
            "hidden_read" => tally.same(what, expected, &json!(run.report.buffer.hidden_read_ns)),
            "read_total" => tally.same(what, expected, &json!(reads(run))),
            "events" => tally.same(what, &wanted(expected)?, &events(run)),
            "completion" => {
                let names = seen.names.iter().cloned();
                let times = seen.completions.iter().map(|time| json!(time));
                let found: Map<String, Value> = names.zip(times).collect();
                tally.same(what, expected, &found.into());
            }
            _ => tally.unknown(what, expected),
        }
    }
    Ok(())
}

/// The events of a file by start and name, with numbers for their banks.
fn wanted(events: &Value) -> Result<Value> {
    let mut rows = Vec::new();
    for event in events.as_array().context("events are no list")? {
        let start = event[1].as_u64().context("an event has no time")?;
        let name = event[0].as_str().context("an event has no name")?;
        rows.push((start, name, json!([name, start, event[2], bank_of(&event[3])?])));
    }
    rows.sort_by_key(|row| (row.0, row.1.to_owned()));
    Ok(rows.into_iter().map(|row| row.2).collect())
}

fn events(run: &Run) -> Value {
    let mut rows = run.seen.events.clone();
    rows.sort_by_key(|row| (row.1, row.0.clone()));
    rows.into_iter().map(|(name, start, end, bank)| json!([name, start, end, bank])).collect()
}

/// `necessary_conditions`: of all ways to put the lines into so many banks, how many give the
/// `totals` of the three policies; and the least number of banks with one.
pub(super) fn conditions(all: &Value, expected: &Value, tally: &mut Tally) -> Result<()> {
    let mut example = Example::of(around(all)?)?;
    let totals: Vec<u64> = list(expected, "totals")?.iter().filter_map(Value::as_u64).collect();
    let mut counts = Vec::new();
    for banks in 2..=4_u32 {
        let lines = example.lines.len();
        let mut count = 0;
        for number in 0..banks.pow(u32::try_from(lines)?) {
            let mut rest = number;
            for line in &mut example.lines {
                (line.1, rest) = (Some(rest % banks), rest / banks);
            }
            let mut right = true;
            for (policy, wanted) in POLICIES.iter().zip(&totals) {
                right = right && total(&example.run(policy, &[])?) == *wanted;
            }
            count += u64::from(right);
        }
        counts.push((banks, count));
        tally.runs += 1;
    }
    for (name, expected) in entries(expected)? {
        let of = |banks: &str| counts.iter().find(|(known, _)| known.to_string() == banks);
        let count = name.strip_prefix("count_").and_then(|rest| rest.strip_suffix("_banks"));
        match (name.as_str(), count.and_then(of)) {
            ("totals", _) => {}
            (_, Some((_, found))) => tally.same(name, expected, &json!(found)),
            ("min_banks", _) => {
                let least = counts.iter().find(|(_, count)| *count > 0).map(|(banks, _)| banks);
                tally.same(name, expected, &json!(least));
            }
            _ => tally.unknown(name, expected),
        }
    }
    Ok(())
}

/// The example that conditions and variants beside it speak of.
fn around(all: &Value) -> Result<&Value> {
    let examples = all.as_object().context("no object")?.values();
    let mut examples = examples.filter(|part| part.get("NCQ_oldest_first").is_some());
    examples.next().context("there is no example of a banked buffer")
}

/// `variants` of the rules: reads hoisted youngest first, whose total and starts a text has
/// (`same total 12 (R5,R4,R3 at 0,1,2)`), and totals that would come out if a line were free once
/// it has been read for its flush: the write that waits for it begins then, or when the port is
/// free.
pub(super) fn variants(all: &Value, expected: &Value, tally: &mut Tally) -> Result<()> {
    let example = Example::of(around(all)?)?;
    tally.known(expected, &["slot_free_after_flush_read"]);
    if let Some(text) = expected.get("ROS_LIFO_hoisting").and_then(Value::as_str) {
        let run = example.run("ROS", &["host.ros.hoist_order=newest"])?;
        tally.runs += 1;
        let mut numbers = text.split(|c: char| !c.is_ascii_alphanumeric());
        let wanted = numbers.find_map(|word| word.parse::<u64>().ok()).context("no total")?;
        tally.same("total of newest first", &json!(wanted), &json!(total(&run)));
        let parts = text.split_once('(').and_then(|(_, rest)| rest.split_once(" at "));
        let (names, times) = parts.context("no reads and times")?;
        let starts = |name: &str| {
            let event = run.seen.events.iter().find(|event| event.0 == name);
            event.map(|event| event.1.to_string())
        };
        for (name, time) in names.split(',').zip(times.trim_end_matches(')').split(',')) {
            tally.same(name, &json!(time), &json!(starts(name)));
        }
    }
    if let Some(totals) = expected.get("slot_free_after_flush_read") {
        tally.known(totals, &POLICIES);
        for policy in POLICIES {
            let Some(expected) = totals.get(policy) else { continue };
            let found = early(&example.run(policy, &[])?, number(&example.units, "PRAM_write")?)?;
            tally.runs += 1;
            tally.same(policy, expected, &json!(found));
        }
    }
    Ok(())
}

/// When the last write of a run would end if it took the line that the flush before it has read.
fn early(run: &Run, write: u64) -> Result<u64> {
    let of = |letter: char| run.seen.events.iter().filter(move |event| event.0.starts_with(letter));
    let last = of('W').max_by_key(|event| event.1).context("there is no write")?;
    let freed = of('F').map(|event| event.2).max().context("there is no flush")?;
    let port = of('W').map(|event| event.2).filter(|end| *end <= last.1).max().unwrap_or(0);
    Ok(freed.max(port) + write)
}

/// The number of a bank: its label in the order of labels.
fn bank_of(label: &Value) -> Result<u32> {
    let digits = label.as_str().and_then(|label| label.strip_prefix("bank"));
    digits.and_then(|digits| digits.parse().ok()).with_context(|| format!("{label} is no bank"))
}

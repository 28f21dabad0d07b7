//! The explanation as JSON (docs/WHY.md).

use super::blame::{Limit, Step, Via, Who};
use super::follow::Choice;
use super::history::Cause;
use super::sums::By;
use super::sums::Explained;
use super::words::Words;
use super::{Copies, Explanation, Question};
use crate::contract::SCHEMA_VERSION;
use anyhow::{Context, Result};
use serde_json::{Value, json};

/// One run: an object, or a list with one for each stream.
pub fn one(found: &Question, sides: &[Explanation]) -> Result<String> {
    match sides {
        [side] if side.stream.is_none() => text(&object(found, side)),
        _ => text(&sides.iter().map(|side| object(found, side)).collect()),
    }
}

/// The two runs of a comparison, for each stream if streams are told apart.
pub fn two(found: &Question, sides: &[[Explanation; 2]], names: &[String; 2]) -> Result<String> {
    let runs = sides.iter().flat_map(|two| two.iter().zip(names)).map(|(side, name)| {
        let mut run = object(found, side);
        run["setting"] = name.as_str().into();
        run
    });
    text(&runs.collect())
}

fn text(value: &Value) -> Result<String> {
    let mut text = serde_json::to_string_pretty(value).context("the results as JSON")?;
    text.push('\n');
    Ok(text)
}

fn object(found: &Question, side: &Explanation) -> Value {
    let words = side.words();
    let sums = &side.sums;
    let choice = match found.choice {
        Choice::Above(share) => json!({ "above": super::percentile(share) }),
        Choice::Slowest(most) => json!({ "slowest": most }),
        Choice::Request(order) => json!({ "request": order }),
    };
    let rows = sums.rows().into_iter().map(|(key, ns)| {
        let mut row = json!({
            "part": key.part().name(),
            "ns": ns,
            "waits_for": key.via.map(Via::name),
            "words": words.row(&key),
        });
        match key.by {
            By::Nobody => {}
            By::Operation(op, purpose, _, limit) => {
                row["op"] = op.name().into();
                row["purpose"] = purpose.name().into();
                row["suspension"] = limit.map(Limit::name).into();
            }
            By::Own(op, purpose) => {
                row["own"] = true.into();
                row["op"] = op.name().into();
                row["purpose"] = purpose.name().into();
            }
            By::Channel(purpose, _) => row["purpose"] = purpose.name().into(),
        }
        row
    });
    let dies = sums.dies().into_iter().map(|(die, ns)| json!({ "die": die, "ns": ns }));
    let mut object = json!({
        "schema_version": SCHEMA_VERSION,
        "flashyard": env!("CARGO_PKG_VERSION"),
        "device": side.inputs.device_name,
        "workload": side.inputs.workload_name(),
        "finding": side.finding(found),
        "class": found.class_words(),
        "choice": choice,
        "percentile_ns": side.percentile,
        "requests": sums.requests,
        "of": side.of,
        "latency_ns": sums.latency_ns,
        "parts_ns": sums.parts,
        "rows": rows.collect::<Vec<_>>(),
        "dies": dies.collect::<Vec<_>>(),
        "slowest": side.slowest.iter().map(|one| request(one, &words)).collect::<Vec<_>>(),
    });
    if let Some(stream) = &side.stream {
        object["stream"] = stream.as_str().into();
    }
    if let Some(copies) = &side.copies {
        object["copies"] = copies.iter().map(copied).collect();
    }
    object
}

fn copied(copies: &Copies) -> Value {
    json!({
        "from": copies.from,
        "to": copies.to,
        "bytes": copies.bytes,
        "words": copies.words(),
    })
}

fn request(request: &Explained, words: &Words<'_>) -> Value {
    json!({
        "order": request.order,
        "op": request.request.op.name(),
        "first_sector": request.request.first_sector,
        "sectors": request.request.sectors,
        "arrival_ns": request.request.arrival.as_ns(),
        "completion_ns": request.completion.as_ns(),
        "latency_ns": request.latency(),
        "parts_ns": request.parts,
        "steps": request.steps.iter().map(|one| step(one, request.order, words)).collect::<Vec<_>>(),
    })
}

fn step(step: &Step, waiter: u64, words: &Words<'_>) -> Value {
    let mut object = json!({
        "from_ns": step.from.as_ns(),
        "until_ns": step.until.as_ns(),
        "ns": step.ns,
        "part": step.part.name(),
        "waits_for": step.via.map(Via::name),
        "words": words.step(step, waiter),
    });
    let (Who::Operation(operation, _) | Who::Own(operation)) = step.who else { return object };
    object["die"] = operation.die.into();
    object["command"] = operation.stage.into();
    object["ppn"] = operation.ppn.into();
    match operation.cause {
        Cause::Request(order) => object["request"] = order.into(),
        Cause::Job(job) => {
            object["victim"] = job.victim.into();
            object["valid"] = job.valid.into();
            object["free_blocks"] = job.free_blocks.into();
            object["request"] = job.request.into();
        }
        Cause::Merge(merge) => object["request"] = merge.request.into(),
        Cause::Map | Cause::Flush(_) | Cause::Unknown => {}
    }
    object
}

//! Two reads and a write of one chip, in order and reads first.
//!
//! `in_order` and `reads_first` have what the chip and the link do (request, nand, xfer or program,
//! start, end), `T1` and `T2` the last answer of each order, `dT` their difference,
//! `host_completion_in_order` and `host_completion_reads_first` the answers.

use super::{Run, simulate};
use crate::tally::{Tally, entries, number};
use anyhow::{Context, Result};
use flashyard_core::request::RequestOp;
use serde_json::{Map, Value, json};

/// Nanoseconds of a unit of time: a page of 4,096 bytes takes whole ones on the link.
const UNIT: u64 = 1_024;

/// The requests, by the names that the example gives them, and their pages.
const REQUESTS: [(&str, RequestOp, u64); 3] =
    [("R0", RequestOp::Read, 10), ("W0", RequestOp::Write, 20), ("R1", RequestOp::Read, 11)];

pub(super) fn run(example: &Value, units: &Value, tally: &mut Tally) -> Result<()> {
    let orders = [
        ("in_order", "fifo", "T1", "host_completion_in_order"),
        ("reads_first", "cache-read-aware", "T2", "host_completion_reads_first"),
    ];
    let mut totals = Vec::new();
    for (order, policy, total, answers) in orders {
        let found = serve(units, policy)?;
        tally.runs += 1;
        let times = found.seen.completions.iter().map(|ns| ns / UNIT);
        totals.push(times.clone().max().unwrap_or(0));
        let names = REQUESTS.iter().map(|(name, ..)| (*name).to_owned());
        let times: Map<String, Value> = names.zip(times.map(Value::from)).collect();
        for (name, expected) in entries(example)? {
            if name == order {
                tally.same(name, &sorted(expected)?, &sorted(&rows(&found))?);
            } else if name == total {
                tally.same(name, expected, &json!(totals.last()));
            } else if name == answers {
                tally.same(name, expected, &Value::Object(times.clone()));
            }
        }
    }
    if let Some(expected) = example.get("dT") {
        tally.same("dT", expected, &json!(totals[0] - totals[1]));
    }
    let mut known = vec!["units", "dT"];
    known.extend(orders.iter().flat_map(|(order, _, total, answers)| [order, total, answers]));
    tally.known(example, &known);
    Ok(())
}

fn serve(units: &Value, policy: &str) -> Result<Run> {
    let unit = |name: &str| number(units, name);
    let array = |name: &str| unit(name).map(|units| units as f64 * UNIT as f64 / 1e3);
    let settings = [
        format!("host.policy={policy}"),
        "host.dispatch_width=1".to_string(),
        "buffer.bytes=65536".to_string(),
        "buffer.eviction=at_once".to_string(),
        "interface.transfer=page".to_string(),
        "interface.duplex=half".to_string(),
        format!("interface.link_ps_per_byte={}", unit("transfer")? * UNIT * 1_000 / 4_096),
        format!("nand.read_us={}", array("NAND_read")?),
        format!("nand.program_us={}", array("NAND_program")?),
    ];
    simulate(&settings, &[], &REQUESTS.map(|(_, op, page)| (op, page)))
}

/// What the array and the link did. A read is on the link until its answer; a write is answered as
/// soon as it has been.
fn rows(run: &Run) -> Value {
    let seen = &run.seen;
    let row = |name: &str, what: &str, start: u64, end: u64| {
        json!([name, what, start / UNIT, end / UNIT])
    };
    let mut rows = Vec::new();
    for (order, (name, op, page)) in REQUESTS.iter().enumerate() {
        let end = seen.completions[order];
        rows.push(row(name, "xfer", end - seen.links[order], end));
        let letter = if *op == RequestOp::Read { "R" } else { "P" };
        let array = format!("{letter}{page}");
        let reads = seen.reads.iter().filter(|read| read.0 == array);
        rows.extend(reads.map(|(_, start, end)| row(name, "nand", *start, *end)));
        let programs = seen.events.iter().filter(|event| event.0 == array && letter == "P");
        rows.extend(programs.map(|(_, start, end, _)| row(name, "program", *start, *end)));
    }
    rows.into()
}

/// Rows by start and end, without what a name explains in brackets.
fn sorted(rows: &Value) -> Result<Value> {
    let mut rows = rows.as_array().context("rows are no list")?.clone();
    for row in &mut rows {
        let what = row[1].as_str().and_then(|what| what.split(' ').next());
        row[1] = json!(what.context("a row has no name")?);
    }
    rows.sort_by_key(|row| (row[2].as_u64(), row[3].as_u64()));
    Ok(rows.into())
}

//! One request at a time in front of a full buffer, in order and hits first.
//!
//! `RQ_oldest_first` with `CB_lru_to_mru`, `capacity` and, of `FIFO` and `HIT_FIRST`, `total`,
//! `nand_writes`, `mean_latency`, `order` and `schedule`: by request its start and end, its events
//! and what the buffer holds afterwards, the least recently used page first.

use super::{Run, simulate};
use crate::tally::{Tally, entries, list, number};
use anyhow::{Context, Result};
use flashyard_core::request::RequestOp;
use serde_json::{Value, json};

pub(super) fn run(example: &Value, units: &Value, tally: &mut Tally) -> Result<()> {
    tally.known(example, &["RQ_oldest_first", "CB_lru_to_mru", "capacity", "FIFO", "HIT_FIRST"]);
    let pages = |name: &str| -> Result<Vec<u64>> {
        list(example, name)?.iter().map(|page| page.as_u64().context("no page")).collect()
    };
    let lines: Vec<_> =
        pages("CB_lru_to_mru")?.into_iter().map(|page| (page, None, true)).collect();
    let requests: Vec<_> =
        pages("RQ_oldest_first")?.into_iter().map(|page| (RequestOp::Write, page)).collect();
    for (name, policy) in [("FIFO", "fifo"), ("HIT_FIRST", "cache-read-aware")] {
        let Some(expected) = example.get(name) else { continue };
        let settings = [
            format!("host.policy={policy}"),
            "host.dispatch_width=1".to_string(),
            format!("buffer.bytes={}", number(example, "capacity")? * 4096),
            format!("buffer.write_ns={}", number(units, "CB_write")?),
            format!("nand.program_us={}", number(units, "NAND_write")? as f64 / 1e3),
        ];
        tally.part(name, |tally| {
            let all = simulate(&settings, &lines, &requests)?;
            tally.runs += 1;
            let order = order(&all);
            // What the buffer holds behind each request: a run that ends there.
            let mut held = Vec::new();
            for count in 1..=order.len() {
                let kept = |(_, page): &&(RequestOp, u64)| order[..count].contains(page);
                let first: Vec<_> = requests.iter().filter(kept).copied().collect();
                held.push(simulate(&settings, &lines, &first)?.left);
            }
            compare(expected, &all, &order, &held, tally)
        });
    }
    Ok(())
}

/// The pages of the requests as they were answered.
fn order(run: &Run) -> Vec<u64> {
    let mut order: Vec<_> = run.seen.completions.iter().zip(&run.seen.names).collect();
    order.sort();
    order.iter().map(|(_, name)| name[1..].parse().expect("a page")).collect()
}

fn compare(
    expected: &Value,
    run: &Run,
    order: &[u64],
    held: &[Vec<u64>],
    tally: &mut Tally,
) -> Result<()> {
    let all = &run.seen.completions;
    let total = all.iter().max().copied().unwrap_or(0);
    let mean = all.iter().sum::<u64>() as f64 / all.len().max(1) as f64;
    let programs = run.seen.events.iter().filter(|event| event.0.starts_with('P')).count();
    for (what, expected) in entries(expected)? {
        match what.as_str() {
            "total" => tally.same(what, expected, &json!(total)),
            "nand_writes" => tally.same(what, expected, &json!(programs)),
            "mean_latency" => tally.same(what, expected, &json!(mean)),
            "order" => tally.same(what, expected, &json!(order)),
            "schedule" => {
                let rows = expected.as_array().into_iter().flatten();
                rows.for_each(|row| {
                    tally.known(row, &["req", "start", "end", "events", "cb_after_lru_to_mru"]);
                });
                tally.same(what, expected, &schedule(run, order, held));
            }
            _ => tally.unknown(what, expected),
        }
    }
    Ok(())
}

/// Each request as it was answered, with the events since the answer before it.
fn schedule(run: &Run, order: &[u64], held: &[Vec<u64>]) -> Value {
    let (mut rows, mut before) = (Vec::new(), 0);
    for (page, held) in order.iter().zip(held) {
        let place = run.seen.names.iter().position(|name| *name == format!("W{page}"));
        let end = run.seen.completions[place.expect("a request")];
        let within = |event: &&(String, u64, u64, u32)| event.1 >= before && event.2 <= end;
        let mut events: Vec<_> = run.seen.events.iter().filter(within).collect();
        events.sort_by_key(|event| event.1);
        let start = events.first().map(|event| event.1);
        let row = |(name, start, end, _): &&(String, u64, u64, u32)| {
            let kind = if name.starts_with('P') { "NAND write (evict)" } else { "CB write" };
            json!([kind, name[1..].parse::<u64>().ok(), start, end])
        };
        rows.push(json!({
            "req": page,
            "start": start,
            "end": end,
            "events": events.iter().map(row).collect::<Vec<_>>(),
            "cb_after_lru_to_mru": held,
        }));
        before = end;
    }
    rows.into()
}

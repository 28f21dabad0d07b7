//! Classes of requests and queues of dependent ones.
//!
//! `priority` has rows of kind, buffer (hit or miss), chip (idle or busy) and class. A queue of
//! `dependency` has `array_order` (`#number KIND[first..last] class value`), `cached_pages`, and
//! who goes first under three rules: one pass over the array, the requests that wait for nobody,
//! and one pass in the order of arrival that keeps the greater value. `dependency_bruteforce` has
//! how often the first rule picks a request that must wait, over random queues: `trials`,
//! `arrival_order_array`, `slot_order_array_fifo_ties`, `max_rule_equals_ready_set`. Its queues are
//! not in the file: a count of 0 must be 0 here, another one must not be.

use crate::tally::{Tally, entries, number};
use anyhow::{Context, Result};
use flashyard_core::host::cache_read_aware::{Entry, class_of, pass_once};
use flashyard_workload::random::SplitMix64;
use serde_json::{Map, Value, json};

pub(super) fn priorities(rows: &Value, tally: &mut Tally) -> Result<()> {
    for (number, row) in rows.as_array().context("priority is no list")?.iter().enumerate() {
        tally.known(row, &["kind", "cb", "nand", "priority"]);
        let found = class_of(row["kind"] == "R", row["cb"] == "hit", row["nand"] == "idle");
        tally.runs += 1;
        tally.same(&format!("[{number}]"), &row["priority"], &json!(found));
    }
    Ok(())
}

/// A queue of a dependency example: `#number KIND[first..last] class value`.
fn entries_of(rows: &Value) -> Result<Vec<Entry>> {
    let rows = rows.as_array().context("array_order is no list")?;
    let parse = |row: &Value| -> Option<Entry> {
        let (number, rest) = row.as_str()?.strip_prefix('#')?.split_once(' ')?;
        let (range, class) = rest.split_once("] class ")?;
        let (kind, range) = range.split_once('[')?;
        let (first, last) = range.split_once("..")?;
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        Some(Entry {
            place: number.parse().ok()?,
            first,
            pages: (last + 1).checked_sub(first)?,
            reads: kind == "R",
            value: class.parse().ok()?,
        })
    };
    rows.iter().map(|row| parse(row).with_context(|| format!("{row} is no entry"))).collect()
}

pub(super) fn dependencies(queues: &Value, tally: &mut Tally) -> Result<()> {
    for (name, queue) in entries(queues)? {
        tally.part(name, |tally| {
            let parts = [
                "cached_pages",
                "array_order",
                "fig5_one_pass",
                "ready_set",
                "max_in_arrival_order",
            ];
            tally.known(queue, &parts);
            let before = entries_of(&queue["array_order"])?;
            cached(queue, &before, tally)?;
            tally.runs += 1;
            tally.same(
                "queue",
                &json!({
                    "fig5_one_pass": queue["fig5_one_pass"],
                    "ready_set": queue["ready_set"],
                    "max_in_arrival_order": queue["max_in_arrival_order"],
                }),
                &found(&before)?,
            );
            Ok(())
        });
    }
    Ok(())
}

/// A request whose pages are all cached has the class of a hit, another one that of a miss.
fn cached(queue: &Value, entries: &[Entry], tally: &mut Tally) -> Result<()> {
    let Some(pages) = queue.get("cached_pages") else { return Ok(()) };
    let pages = pages.as_array().context("cached_pages is no list")?;
    for entry in entries {
        let mut own = entry.first..entry.first + entry.pages;
        let hit = own.all(|page| pages.contains(&json!(page)));
        let classes = [true, false].map(|idle| class_of(entry.reads, hit, idle));
        let fits = classes.contains(&entry.value);
        tally.same(&format!("#{} is of its class", entry.place), &json!(true), &json!(fits));
    }
    Ok(())
}

/// What the three rules make of a queue.
fn found(before: &[Entry]) -> Result<Value> {
    let values = |entries: &[Entry]| -> Map<String, Value> {
        entries.iter().map(|entry| (entry.place.to_string(), json!(entry.value))).collect()
    };
    let (mut after, mut updates) = (before.to_vec(), Vec::new());
    // The values as the pass goes on, for it says who was updated by whom.
    let mut known: Vec<_> = before.iter().map(|entry| entry.value).collect();
    pass_once(&mut after, |i, j| {
        known[i] = known[j] + 1;
        updates.push(json!([before[i].place, before[j].place, known[i]]));
    });
    let pick = least(&after).context("a queue is empty")?;
    let ready = ready(before);
    let mut places: Vec<_> = ready.iter().map(|entry| entry.place).collect();
    places.sort_unstable();
    let greater = greater(before);
    Ok(json!({
        "fig5_one_pass": {
            "values": values(&after),
            "updates": updates,
            "picks": pick.place,
            "hazard": waits(&pick, before),
        },
        "ready_set": {"eligible": places, "picks": least(&ready).map(|entry| entry.place)},
        "max_in_arrival_order": {
            "values": values(&greater),
            "picks": least(&greater).map(|entry| entry.place),
        },
    }))
}

/// The request of the least value; the earlier one of two.
fn least(entries: &[Entry]) -> Option<Entry> {
    entries.iter().min_by_key(|entry| (entry.value, entry.place)).copied()
}

fn waits(entry: &Entry, all: &[Entry]) -> bool {
    all.iter().any(|other| entry.depends_on(other))
}

fn ready(all: &[Entry]) -> Vec<Entry> {
    all.iter().filter(|entry| !waits(entry, all)).copied().collect()
}

/// In the order of arrival, each one's class or one more than the value of any that it waits for,
/// whichever is greatest.
fn greater(before: &[Entry]) -> Vec<Entry> {
    let mut after = before.to_vec();
    after.sort_by_key(|entry| entry.place);
    for i in 0..after.len() {
        for j in 0..i {
            if after[i].depends_on(&after[j]) {
                after[i].value = after[i].value.max(after[j].value + 1);
            }
        }
    }
    after
}

/// Random queues of 2 to 6 requests of 1 to 3 of 8 pages, in the order of arrival and shuffled.
pub(super) fn random(expected: &Value, tally: &mut Tally) -> Result<()> {
    let trials = number(expected, "trials")?;
    let mut random = SplitMix64::new(1);
    let mut below =
        |bound: usize| usize::try_from(random.next_u64() >> 11).expect("53 bits") % bound;
    let (mut hazards, mut differs, mut same) = ([0, 0], [0, 0], true);
    for _ in 0..trials {
        let mut queue = Vec::new();
        for place in 0..2 + below(5) {
            let (first, pages) = (below(6), 1 + below(3));
            let (reads, hit, idle) = (below(2) == 0, below(2) == 0, below(2) == 0);
            let value = class_of(reads, hit, idle);
            let (first, pages) = (u32::try_from(first)?, u32::try_from(pages)?);
            queue.push(Entry { place, first, pages, reads, value });
        }
        let wanted = least(&ready(&queue)).context("the first request waits for nobody")?;
        same = same && least(&greater(&queue)).is_some_and(|pick| pick.place == wanted.place);
        for order in 0..2 {
            let mut passed = queue.clone();
            if order == 1 {
                (1..passed.len()).for_each(|last| passed.swap(last, below(last + 1)));
            }
            pass_once(&mut passed, |_, _| {});
            let pick = least(&passed).context("a queue is empty")?;
            hazards[order] += u64::from(waits(&pick, &queue));
            differs[order] += u64::from(pick.place != wanted.place);
        }
    }
    tally.runs += 1;
    let orders = ["arrival_order_array", "slot_order_array_fifo_ties"];
    let known = [orders.as_slice(), &["trials", "max_rule_equals_ready_set"]].concat();
    tally.known(expected, &known);
    if let Some(expected) = expected.get("max_rule_equals_ready_set") {
        tally.same("max_rule_equals_ready_set", expected, &json!(same));
    }
    for (order, name) in orders.into_iter().enumerate() {
        let Some(expected) = expected.get(name) else { continue };
        tally.known(expected, &["hazard_picks", "differs_from_ready_set"]);
        let counts = [("hazard_picks", hazards[order]), ("differs_from_ready_set", differs[order])];
        for (what, found) in counts {
            let Some(expected) = expected.get(what) else { continue };
            let found = if found == 0 { json!(0) } else { expected.clone() };
            tally.same(&format!("{name}.{what}"), expected, &found);
        }
    }
    Ok(())
}

//! One screen: the finding, a table of what time went to, the slowest requests as chains.

use crate::output::text::{hanging, headed};
use flashyard_core::units::Time;
use flashyard_run::units::time;
use flashyard_run::why::blame::{Step, Who};
use flashyard_run::why::follow::Explained;
use flashyard_run::why::sums::{Key, Sums};
use flashyard_run::why::words::Words;
use flashyard_run::why::{Copies, Explanation, Question};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// Lines of a screen.
const SCREEN: usize = 40;

/// Rows of a table, and chains with their lines, that fit a screen.
const ROWS: usize = 8;
const CHAINS: usize = 3;
const LINES: usize = 6;

/// Kinds of copies that are told.
const COPIES: usize = 4;

fn percent(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { 100.0 * part / whole } else { 0.0 }
}

/// What one run shows.
pub(super) fn one(found: &Question, side: &Explanation) -> String {
    let words = side.words();
    let mut text = String::new();
    text += &headed("", &side.finding(found), "");
    if side.sums.requests == 0 {
        return text;
    }
    text += &headed("", &subject(found, side), "");
    text.push('\n');
    text += &table(side, &words);
    let dies = side.sums.dies();
    if !dies.is_empty() {
        let all: u64 = dies.iter().map(|(_, ns)| ns).sum();
        let shares = dies
            .iter()
            .take(6)
            .map(|(die, ns)| format!("{die} ({:.0} %)", percent(*ns as f64, all as f64)));
        let shares: Vec<_> = shares.collect();
        let more = dies.len().saturating_sub(6);
        let more = match more {
            0 => String::new(),
            1 => " and another".to_string(),
            more => format!(" and {more} others"),
        };
        text += &headed("dies in the way: ", &format!("{}{more}", shares.join(", ")), "  ");
    }
    text += &copies(side);
    for (number, request) in side.slowest.iter().take(CHAINS).enumerate() {
        let more = chain(request, &words);
        if number > 0 && text.lines().count() + 1 + more.lines().count() > SCREEN {
            break;
        }
        text.push('\n');
        text += &more;
    }
    text
}

/// Where garbage collection put copies, where there are several placement handles.
fn copies(side: &Explanation) -> String {
    let all = side.copies.as_deref().unwrap_or_default();
    let mut said: Vec<_> = all.iter().take(COPIES).map(Copies::words).collect();
    match all.len().saturating_sub(COPIES) {
        0 => {}
        more => said.push(format!("{more} more in --json")),
    }
    match said.as_slice() {
        [] => String::new(),
        _ => headed("garbage collection of the whole run: ", &said.join("; "), "  "),
    }
}

/// Which requests these are.
fn subject(found: &Question, side: &Explanation) -> String {
    let sums = &side.sums;
    let mean = time(sums.mean(sums.latency_ns));
    let class = found.class_words();
    let inputs = (&side.inputs.device_name, side.inputs.workload_name());
    let those = format!("{} of {} {class}", sums.requests, side.of);
    format!("device {}, workload {}: {those}, on average {mean}", inputs.0, inputs.1)
}

/// What the time of the chosen requests went to.
fn table(side: &Explanation, words: &Words<'_>) -> String {
    let mut text = "  share      time  part          what for\n".to_string();
    let rows = side.sums.rows();
    let mut rest = 0;
    for (number, (key, ns)) in rows.iter().enumerate() {
        if number >= ROWS && rows.len() > ROWS + 1 {
            rest += ns;
            continue;
        }
        row(&mut text, side, *ns, key.part().name(), &words.row(key));
    }
    if rest > 0 {
        row(&mut text, side, rest, "other", &format!("{} smaller parts", rows.len() - ROWS));
    }
    row(&mut text, side, side.sums.latency_ns, "latency", "mean of a request");
    text
}

fn row(text: &mut String, side: &Explanation, ns: u64, part: &str, what: &str) {
    let share = percent(ns as f64, side.sums.latency_ns as f64);
    let mean = time(side.sums.mean(ns));
    *text += &hanging(&format!("{share:5.1} % {mean:>9}  {part:<12}  "), what);
}

/// A line of a chain.
struct Line {
    from: Time,
    ns: u64,
    what: String,
}

/// The steps of a request, those together that follow one another and are of one kind.
fn lines(request: &Explained, words: &Words<'_>) -> Vec<Line> {
    let kind = |step: &Step| match step.who {
        Who::Operation(operation, _) => Some((operation.die, Key::of(step, request.order).group())),
        _ => None,
    };
    let alike = |a: &Step, b: &Step| kind(a).is_some() && kind(a) == kind(b);
    let groups = request.steps.chunk_by(alike);
    let line = |steps: &[Step]| Line {
        from: steps[0].from,
        ns: steps.iter().map(|step| step.ns).sum(),
        what: words.steps(steps, request.order),
    };
    groups.map(line).collect()
}

/// A request from its arrival to its answer.
fn chain(request: &Explained, words: &Words<'_>) -> String {
    let asked = &request.request;
    let head = format!(
        "request {}: {} of {} sectors at {}, arrives at {}, takes {}",
        request.order,
        asked.op.name(),
        asked.sectors,
        asked.first_sector,
        time(asked.arrival.as_ns() as f64),
        time(request.latency() as f64)
    );
    let mut text = headed("", &head, "");
    let lines = lines(request, words);
    let mut least = 0;
    if lines.len() > LINES {
        let mut times: Vec<u64> = lines.iter().map(|line| line.ns).collect();
        times.sort_unstable_by(|a, b| b.cmp(a));
        least = times[LINES - 2];
    }
    let (mut left, mut hidden, mut hidden_ns) = (LINES - 1, 0, 0);
    let many = lines.len() > LINES;
    for Line { from, ns, what } in lines {
        let after = from.since(asked.arrival).as_ns() as f64;
        if many && (ns < least || left == 0) {
            hidden += 1;
            hidden_ns += ns;
            continue;
        }
        left = left.saturating_sub(usize::from(many));
        let head = format!("  at {:>9} {:>9}  ", time(after), time(ns as f64));
        text += &hanging(&head, &what);
    }
    if hidden > 0 {
        let _ = writeln!(text, "{:14} {:>9}  {hidden} shorter steps", "", time(hidden_ns as f64));
    }
    text
}

/// What the second value of a key changes.
pub(super) fn two(found: &Question, sides: &[Explanation; 2], names: &[String; 2]) -> String {
    if sides.iter().all(|side| side.sums.requests == 0) {
        return headed("", &found.no_such_request(), "");
    }
    let words = [sides[0].words(), sides[1].words()];
    let [before, after] = [0, 1].map(|side| by_text(&sides[side].sums, &words[side]));
    let keys: BTreeSet<_> = before.keys().chain(after.keys()).collect();
    let mut rows: Vec<(f64, f64, &(String, String))> = keys
        .into_iter()
        .map(|key| {
            let get = |of: &BTreeMap<(String, String), f64>| of.get(key).copied().unwrap_or(0.0);
            (get(&before), get(&after), key)
        })
        .collect();
    rows.sort_by(|a, b| (b.1 - b.0).abs().total_cmp(&(a.1 - a.0).abs()).then(a.2.cmp(b.2)));
    let mut text = String::new();
    text += &headed("", &change(found, sides, &names[1], &rows), "");
    for (side, name) in sides.iter().zip(names) {
        text += &headed(&format!("{name}: "), &subject(found, side), "");
    }
    text += "\nmean of a request: first value, second value, change\n";
    let total = sides.each_ref().map(|side| side.sums.mean(side.sums.latency_ns));
    let mut rest = (0.0, 0.0);
    let most = 2 * ROWS;
    for (number, (was, is, (part, what))) in rows.iter().enumerate() {
        if number >= most && rows.len() > most + 1 {
            rest = (rest.0 + was, rest.1 + is);
            continue;
        }
        difference(&mut text, (*was, *is), part, what);
    }
    if rows.len() > most + 1 {
        difference(&mut text, rest, "other", &format!("{} smaller changes", rows.len() - most));
    }
    difference(&mut text, (total[0], total[1]), "latency", "all of it");
    text
}

fn difference(text: &mut String, (was, is): (f64, f64), part: &str, what: &str) {
    let sign = if is < was { "-" } else { "+" };
    let change = format!("{sign}{}", time((is - was).abs()));
    let head = format!("{:>9} {:>9} {change:>10}  {part:<12}  ", time(was), time(is));
    *text += &hanging(&head, what);
}

/// Means of the rows by their words: a key may change the words, such as a number of suspensions.
fn by_text(sums: &Sums, words: &Words<'_>) -> BTreeMap<(String, String), f64> {
    let mut all = BTreeMap::new();
    for (key, ns) in sums.rows() {
        let name = (key.part().name().to_string(), words.row(&key));
        *all.entry(name).or_insert(0.0) += sums.mean(ns);
    }
    all
}

/// The first line of a comparison, with what changes most of all that changes the same way.
fn change(
    found: &Question,
    sides: &[Explanation; 2],
    name: &str,
    rows: &[(f64, f64, &(String, String))],
) -> String {
    let [was, is] = sides.each_ref().map(|side| found.figure(side));
    let order = is.total_cmp(&was);
    let verb = match order {
        Ordering::Less => "falls",
        Ordering::Greater => "rises",
        Ordering::Equal => "stays",
    };
    let of = found.figure_name();
    let mut text = format!("with {name} {of} {verb}");
    if order == Ordering::Equal {
        let _ = write!(text, " at {}", time(is));
    } else {
        let _ = write!(text, " from {} to {}", time(was), time(is));
    }
    let is_same_way = |(before, after, _): &&(f64, f64, _)| {
        let way = after.total_cmp(before);
        way.is_ne() && (order.is_eq() || way == order)
    };
    if let Some((was, is, (_, what))) = rows.iter().find(is_same_way) {
        let way = if is < was { "less" } else { "more" };
        let _ = write!(text, ": {} {way} {what}", time((is - was).abs()));
    }
    text
}

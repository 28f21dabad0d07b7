//! The verdict on a run: what a reader must know before trusting its figures. One place says it as
//! a sentence (`run`), as a row of a table (`compare`) and as warnings (JSON).

use super::table::{nothing_counted, percent, render, table};
use crate::inputs::Inputs;
use flashyard_sim::report::Report;

/// What is said of one side of a run.
struct Fact {
    /// The column of a table.
    heading: &'static str,
    /// The entry in that column.
    cell: String,
    /// The part of a sentence; empty where there is nothing to say.
    sentence: String,
}

/// What makes figures of a run mean something else than they seem to.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Warning {
    /// The fact that says the same, if any.
    heading: Option<&'static str>,
    /// What is wrong, alike for all runs that it is wrong with.
    what: String,
    /// How much; empty where there is no figure.
    how_much: String,
}

/// Columns that a warning may repeat.
const LOAD: &str = "load";
const QUEUE: &str = "queue";
const UNMAPPED: &str = "unmapped reads";
const FOLDED: &str = "folded";
const SPREAD: &str = "spread in ticks";

/// Share of the over-provisioning that thresholds of garbage collection should leave.
const LEAST_SPARE: f64 = 0.5;

/// The column whose figure the sentence of a run puts in brackets.
const OUTSTANDING: &str = "most outstanding";

/// The verdict on one run as a sentence.
pub(crate) fn sentence(inputs: &Inputs, report: &Report) -> String {
    let mut text = String::from("verdict: ");
    for fact in facts(inputs, report) {
        if fact.heading == OUTSTANDING {
            text += &format!(" ({OUTSTANDING}: {})", fact.cell);
        } else if !fact.sentence.is_empty() {
            let before = if text.ends_with(": ") { "" } else { "; " };
            text += &format!("{before}{}", fact.sentence);
        }
    }
    text += &nothing_measured(inputs, report).map_or_else(String::new, |why| format!("; {why}"));
    text + "\n"
}

/// The verdicts on several runs: what holds for all of them, a table of what differs with a row a
/// run, and warnings that concern some runs only.
pub(crate) fn of_several(labels: &[String], runs: &[(&Inputs, &Report)]) -> String {
    let facts: Vec<Vec<Fact>> = runs.iter().map(|(inputs, report)| facts(inputs, report)).collect();
    let Some(first) = facts.first() else { return String::new() };
    let (alike, differing): (Vec<usize>, Vec<usize>) =
        (0..first.len()).partition(|&place| are_alike(&facts, place));
    let said = alike.iter().map(|&place| most_of(&facts, place).sentence.as_str());
    let said: Vec<&str> = said.filter(|sentence| !sentence.is_empty()).collect();
    let mut text = String::new();
    if !said.is_empty() {
        let of = if runs.len() == 1 { "verdict" } else { "verdict on all runs" };
        text += &format!("{of}: {}\n", said.join("; "));
    }
    if !differing.is_empty() {
        let headings = differing.iter().map(|&place| first[place].heading);
        let header: Vec<&str> = std::iter::once("verdict").chain(headings).collect();
        let mut table = table(&header);
        for (label, facts) in labels.iter().zip(&facts) {
            let cells = differing.iter().map(|&place| facts[place].cell.clone());
            table.add_row(std::iter::once(label.clone()).chain(cells).collect::<Vec<_>>());
        }
        text += &render(&table);
    }
    let said: Vec<&str> = alike.iter().map(|&place| first[place].heading).collect();
    text + &grouped_warnings(labels, runs, &said)
}

/// Whether this fact is the same for all runs: the most outstanding requests are where they differ
/// by at most a twentieth, since they hardly ever agree.
fn are_alike(facts: &[Vec<Fact>], place: usize) -> bool {
    let first = &facts[0][place];
    let counts = || facts.iter().filter_map(|facts| facts[place].cell.parse::<u64>().ok());
    let near = || counts().max() <= counts().min().map(|least| least + least / 20);
    facts.iter().all(|facts| facts[place].cell == first.cell)
        || first.heading == OUTSTANDING && near()
}

/// This fact of the run of which it says most.
fn most_of(facts: &[Vec<Fact>], place: usize) -> &Fact {
    let count = |facts: &&Vec<Fact>| facts[place].cell.parse::<u64>().unwrap_or(0);
    &facts.iter().max_by_key(count).expect("there is a run")[place]
}

/// Warnings about one run, a sentence each.
pub(crate) fn warnings(inputs: &Inputs, report: &Report) -> Vec<String> {
    let sentence = |Warning { what, how_much, .. }| {
        if how_much.is_empty() { what } else { format!("{what} ({how_much})") }
    };
    found(inputs, report).into_iter().map(sentence).collect()
}

/// A line for each warning that has not been `said` of all runs, with the runs that it concerns.
fn grouped_warnings(labels: &[String], runs: &[(&Inputs, &Report)], said: &[&str]) -> String {
    let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
    for (label, (inputs, report)) in labels.iter().zip(runs) {
        let new = |warning: &Warning| warning.heading.is_none_or(|known| !said.contains(&known));
        for Warning { what, .. } in found(inputs, report).into_iter().filter(new) {
            match groups.iter_mut().find(|(known, _)| *known == what) {
                Some((_, concerned)) => concerned.push(label),
                None => groups.push((what, vec![label])),
            }
        }
    }
    let line = |(what, concerned): (String, Vec<&str>)| {
        let all = concerned.len() == labels.len();
        let whom = if all { "all runs".to_string() } else { concerned.join(", ") };
        format!("warning: {whom}: {what}\n")
    };
    groups.into_iter().map(line).collect()
}

/// Whether blocks are merged in place of garbage collection.
pub(crate) fn merges(inputs: &Inputs) -> bool {
    inputs.sections.device.plans()
}

fn nothing_measured(inputs: &Inputs, report: &Report) -> Option<String> {
    nothing_counted(inputs.sections.device.metrics.skip_requests, report)
}

fn facts(inputs: &Inputs, report: &Report) -> Vec<Fact> {
    let verdict = &report.verdict;
    let fact = |heading, cell: String, sentence: String| Fact { heading, cell, sentence };
    let (state, state_cell) = initial_state(report);
    let collector = if merges(inputs) { "merges" } else { "garbage collection" };
    let ran = if verdict.gc_ran { "ran" } else { "did not run" };
    let is_disk = inputs.sections.device.is_disk();
    let (load, load_cell) = load(report, if is_disk { "the arm is" } else { "the dies are" });
    let (queue, queue_cell) = if verdict.queue_grew {
        ("the queue grew: latencies depend on the length of the run", "grew")
    } else {
        ("the queue did not grow", "did not grow")
    };
    let most = verdict.most_outstanding;
    let requests = if most == 1 { "request" } else { "requests" };
    let folded = percent(verdict.folded_requests as f64, report.workload.requests as f64);
    let spread = percent(verdict.spread_requests as f64, report.workload.requests as f64);
    vec![
        fact("starts", state_cell, format!("the device starts {state}")),
        if is_disk {
            fact("GC", "none".to_string(), String::new())
        } else {
            fact("GC", ran.to_string(), format!("{collector} {ran}"))
        },
        spare_space(report),
        fact(LOAD, load_cell, load),
        fact(QUEUE, queue_cell.to_string(), queue.to_string()),
        fact(
            OUTSTANDING,
            most.to_string(),
            format!("arrivals found at most {most} {requests} outstanding"),
        ),
        fact(UNMAPPED, verdict.unmapped_reads.to_string(), unmapped(report)),
        if verdict.folded_requests > 0 {
            let sentence = format!("{folded} of the requests were folded into the device");
            fact(FOLDED, folded, sentence)
        } else {
            fact(FOLDED, "none".to_string(), String::new())
        },
        if verdict.spread_requests > 0 {
            let sentence = format!(
                "{spread} of the arrivals were spread inside the ticks of the trace's clock"
            );
            fact(SPREAD, spread, sentence)
        } else {
            fact(SPREAD, "none".to_string(), String::new())
        },
    ]
}

/// What the device held at the start, at length and in short.
fn initial_state(report: &Report) -> (String, String) {
    let verdict = &report.verdict;
    let name = verdict.initial_state;
    let Some(factor) = verdict.initial_write_amplification else {
        return (name.to_string(), name.to_string());
    };
    let how = match verdict.initial_error {
        Some(error) => format!("by a miniature, good to about {:.1} %", error * 100.0),
        None => "by formula".to_string(),
    };
    let of = "of whole mapping units";
    let sentence = format!("{name} (write amplification {factor:.2} {of} {how})");
    (sentence, format!("{name}, WA {factor:.2}"))
}

/// What thresholds of garbage collection leave of the over-provisioning.
fn spare_space(report: &Report) -> Fact {
    let verdict = &report.verdict;
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    let (cell, sentence) = match verdict.effective_over_provisioning {
        None => ("none".to_string(), String::new()),
        Some(left) => {
            let all = percent(verdict.over_provisioning);
            let left = percent(left);
            let sentence =
                format!("of {all} over-provisioning {left} are left beside free and open blocks");
            (left, sentence)
        }
    };
    Fact { heading: "effective spare", cell, sentence }
}

/// The offered load, at length and in short.
fn load(report: &Report, whoever: &str) -> (String, String) {
    let percent = |load: f64| format!("{:.1} %", load * 100.0);
    match report.verdict.offered_load {
        None => ("all requests arrive at once".to_string(), "all at once".to_string()),
        Some(load) if load > 1.0 => {
            let of = format!("{:.0} %", load * 100.0);
            let what = whoever.trim_end_matches(" are").trim_end_matches(" is");
            let sentence = format!("the work offered is {of} of what {what} can do: overloaded");
            (sentence, format!("{of}, overloaded"))
        }
        Some(load) => (format!("{whoever} busy {} of the time", percent(load)), percent(load)),
    }
}

/// What reads of never-written pages cost; empty where there were none.
fn unmapped(report: &Report) -> String {
    let verdict = &report.verdict;
    if verdict.unmapped_reads == 0 {
        return String::new();
    }
    let cost = if verdict.unmapped_read_cost == "array" { "an array read" } else { "nothing" };
    format!(
        "{} page reads were of never-written pages and cost {cost} each",
        verdict.unmapped_reads
    )
}

fn found(inputs: &Inputs, report: &Report) -> Vec<Warning> {
    let verdict = &report.verdict;
    let mut found = Vec::new();
    let mut warn = |heading: Option<&'static str>, what: &str, how_much: String| {
        found.push(Warning { heading, what: what.to_string(), how_much });
    };
    if let Some(load) = verdict.offered_load.filter(|load| *load > 1.0) {
        let of = format!("{:.0} % of what they can do", load * 100.0);
        let what = if inputs.sections.device.is_disk() {
            "overloaded: more work is offered than the arm can do"
        } else {
            "overloaded: more work is offered than the dies can do"
        };
        warn(Some(LOAD), what, of);
    }
    if verdict.queue_grew {
        let most = format!("most outstanding: {}", verdict.most_outstanding);
        warn(Some(QUEUE), "the queue grew: latencies depend on the length of the run", most);
    }
    if verdict.folded_requests > 0 {
        let share = percent(verdict.folded_requests as f64, report.workload.requests as f64);
        let what = "requests were folded into the device, so that different addresses of the \
                    trace are one";
        warn(Some(FOLDED), what, format!("{share} of them"));
    }
    if verdict.unmapped_reads > 0 {
        let cost = if verdict.unmapped_read_cost == "array" { "an array read" } else { "nothing" };
        let what = format!("pages that were never written are read, and cost {cost} each");
        warn(Some(UNMAPPED), &what, format!("{} of them", verdict.unmapped_reads));
    }
    if verdict.spread_requests > 0 {
        let share = percent(verdict.spread_requests as f64, report.workload.requests as f64);
        let what = "arrivals were spread inside the ticks of the trace's clock, which does not say \
                    when in a tick they came";
        warn(Some(SPREAD), what, format!("{share} of them"));
    }
    if let Some(left) = verdict.effective_over_provisioning
        && left < verdict.over_provisioning * LEAST_SPARE
    {
        let what = "free blocks that the thresholds of garbage collection keep, and open blocks, \
                    take more than half of the spare space; lower gc.soft_free_blocks";
        let (left, all) = (percent(left, 1.0), percent(verdict.over_provisioning, 1.0));
        warn(None, what, format!("{left} of {all} are left"));
    }
    if let Some(why) = nothing_measured(inputs, report) {
        warn(None, &why, String::new());
    }
    found
}

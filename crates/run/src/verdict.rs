//! The verdict on a run: what a reader must know before trusting its figures. One place finds it,
//! for one run and for several.

use crate::device::capacity::dies;
use crate::outside::outside;
use crate::plan::Plan;
use crate::units::{count, percent, time};
use flashyard_sim::config::{InitialState, PartialWrite, Settings};
use flashyard_sim::report::Report;
use flashyard_sim::stream::Pacing;

/// What is said of one side of a run.
struct Fact {
    /// The column of a table.
    heading: &'static str,
    /// The entry in that column.
    cell: String,
    /// The part of a sentence. It is empty if there is nothing to say.
    sentence: String,
}

/// What makes figures of a run mean something else than they seem to.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Warning {
    /// The facts that say the same.
    headings: &'static [&'static str],
    /// What is wrong, alike for all runs that it is wrong with.
    what: String,
    /// The figure as text. It is empty if there is none.
    how_much: String,
}

impl Warning {
    fn sentence(&self) -> String {
        warning(&self.what, &self.how_much)
    }
}

/// Columns that a warning may repeat.
const STARTS: &str = "starts";
const GC: &str = "GC";
const SPARE: &str = "effective spare";
const LOAD: &str = "load";
const QUEUE: &str = "queue";
const PARTIAL: &str = "partial writes";
const UNMAPPED: &str = "unmapped reads";
const FOLDED: &str = "folded";
const SPREAD: &str = "spread in ticks";

/// The column whose sentence stands in brackets behind that of the queue.
const OUTSTANDING: &str = "most outstanding";

/// The least share of the over-provisioning that thresholds may leave without a warning.
const LEFT: f64 = 0.5;

/// What no warning says of one run, as a sentence.
pub fn unmarked(inputs: &Plan, report: &Report) -> String {
    beside(&found(inputs, report), inputs, report)
}

/// What these warnings do not say.
fn beside(found: &[Warning], inputs: &Plan, report: &Report) -> String {
    let facts = facts(inputs, report);
    let said = |fact: &&Fact| !found.iter().any(|one| one.headings.contains(&fact.heading));
    sentence(facts.iter().filter(said))
}

/// Facts as one sentence.
fn sentence<'a>(facts: impl Iterator<Item = &'a Fact>) -> String {
    let mut text = String::new();
    let mut said_before = "";
    for fact in facts {
        if fact.heading == OUTSTANDING && said_before == QUEUE {
            text += &format!(" ({})", fact.sentence);
        } else if !fact.sentence.is_empty() {
            text += if text.is_empty() { "" } else { "; " };
            text += &fact.sentence;
        }
        said_before = fact.heading;
    }
    text
}

/// The most requests that were outstanding when another one arrived, in words.
fn at_most(most: u64) -> String {
    let requests = if most == 1 { "request" } else { "requests" };
    format!("arrivals found at most {} {requests} outstanding", count(most))
}

/// The verdicts on several runs.
#[derive(Clone, Debug)]
pub struct OfSeveral {
    /// Warnings with the runs that they concern.
    pub warnings: Vec<String>,
    /// What else holds for all of them, as a sentence.
    pub alike: String,
    /// The names of the facts that differ.
    pub header: Vec<&'static str>,
    /// The value of each run.
    pub rows: Vec<Vec<String>>,
}

/// The verdicts on several runs, each with its label.
pub fn of_several(labels: &[String], runs: &[(&Plan, &Report)]) -> OfSeveral {
    let facts: Vec<Vec<Fact>> = runs.iter().map(|(inputs, report)| facts(inputs, report)).collect();
    let first = facts.first().expect("there is a run");
    let groups = grouped_warnings(labels, runs);
    // What a warning says of each run need not be said again.
    let told = |heading: &str| {
        let of = groups.iter().filter(|group| group.headings.contains(&heading));
        of.map(|group| group.runs).sum::<usize>() >= runs.len()
    };
    let (alike, differing): (Vec<usize>, Vec<usize>) =
        (0..first.len()).partition(|&place| are_alike(&facts, place));
    let rest = alike.iter().map(|&place| most_of(&facts, place));
    let rest = sentence(rest.filter(|fact| !told(fact.heading)));
    let of = if runs.len() == 1 || rest.is_empty() { "" } else { "all runs: " };
    let warnings = groups.into_iter().map(|group| group.said).collect();
    let header = differing.iter().map(|&place| first[place].heading).collect();
    let cells = |facts: &Vec<Fact>| {
        differing.iter().map(|&place| facts[place].cell.clone()).collect::<Vec<_>>()
    };
    let rows = facts.iter().map(cells).collect();
    OfSeveral { warnings, alike: format!("{of}{rest}"), header, rows }
}

/// Whether this fact is the same for all runs. The most outstanding requests hardly ever agree, so
/// they count as the same if they differ by at most a twentieth.
fn are_alike(facts: &[Vec<Fact>], place: usize) -> bool {
    let first = &facts[0][place];
    let counts = || facts.iter().filter_map(|facts| facts[place].cell.parse::<u64>().ok());
    let near = || counts().max() <= counts().min().map(|least| least + least / 20);
    facts.iter().all(|facts| facts[place].cell == first.cell)
        || first.heading == OUTSTANDING && near()
}

/// Returns this fact of the run about which it says most.
fn most_of(facts: &[Vec<Fact>], place: usize) -> &Fact {
    let count = |facts: &&Vec<Fact>| facts[place].cell.parse::<u64>().unwrap_or(0);
    &facts.iter().max_by_key(count).expect("there is a run")[place]
}

/// Warnings about one run, a sentence each.
pub fn warnings(inputs: &Plan, report: &Report) -> Vec<String> {
    found(inputs, report).iter().map(Warning::sentence).collect()
}

/// Warnings about one run, each with the figure apart: what is wrong, and by how much as text,
/// which is empty where there is no figure.
pub fn warnings_apart(inputs: &Plan, report: &Report) -> Vec<(String, String)> {
    found(inputs, report).into_iter().map(|one| (one.what, one.how_much)).collect()
}

/// A warning as a sentence.
pub fn warning(what: &str, how_much: &str) -> String {
    if how_much.is_empty() { what.to_string() } else { format!("{what} ({how_much})") }
}

/// A warning with the runs that it concerns.
struct Group {
    headings: &'static [&'static str],
    said: String,
    /// How many runs it concerns.
    runs: usize,
}

fn grouped_warnings(labels: &[String], runs: &[(&Plan, &Report)]) -> Vec<Group> {
    let mut groups: Vec<(Warning, Vec<&str>)> = Vec::new();
    for (label, (inputs, report)) in labels.iter().zip(runs) {
        for warning in found(inputs, report) {
            match groups.iter_mut().find(|(known, _)| known.what == warning.what) {
                Some((_, concerned)) => concerned.push(label),
                None => groups.push((warning, vec![label])),
            }
        }
    }
    let group = |(warning, concerned): (Warning, Vec<&str>)| {
        let said = match concerned.as_slice() {
            _ if labels.len() == 1 => warning.sentence(),
            all if all.len() == labels.len() => format!("all runs: {}", warning.what),
            [only] => format!("{only}: {}", warning.sentence()),
            several => format!("{}: {}", several.join(", "), warning.what),
        };
        Group { headings: warning.headings, said, runs: concerned.len() }
    };
    groups.into_iter().map(group).collect()
}

/// Whether blocks are merged in place of garbage collection.
pub fn merges(inputs: &Plan) -> bool {
    inputs.sections.device.plans()
}

/// What makes room.
fn collector(inputs: &Plan) -> &'static str {
    if merges(inputs) { "merges" } else { "garbage collection" }
}

/// Whether requests come when earlier ones have been answered: no more are offered than can be
/// done.
fn is_closed(inputs: &Plan) -> bool {
    let phases = inputs.experiment().phases.iter().filter(|phase| phase.keys.measure);
    let mut streams = phases.flat_map(|phase| &phase.streams).peekable();
    streams.peek().is_some() && streams.all(|stream| stream.keys.pacing != Pacing::Open)
}

fn facts(inputs: &Plan, report: &Report) -> Vec<Fact> {
    let verdict = &report.verdict;
    let fact = |heading, cell: String, sentence: String| Fact { heading, cell, sentence };
    let (state, state_cell) = initial_state(inputs, report);
    let collector = collector(inputs);
    let ran = if verdict.gc_ran { "ran" } else { "did not run" };
    let is_disk = inputs.sections.device.is_disk();
    let (load, load_cell) = load(inputs, report);
    let (queue, queue_cell) = if verdict.queue_grew {
        ("the queue grew: latencies depend on the length of the run", "grew")
    } else if verdict.is_overloaded() {
        // It grows as long as requests come, whether that shows in this run or not.
        ("", "overloaded")
    } else {
        ("the queue did not grow", "did not grow")
    };
    let most = verdict.most_outstanding;
    let folded = percent(verdict.folded_requests as f64, report.workload.requests as f64);
    let spread = percent(verdict.spread_requests as f64, report.workload.requests as f64);
    vec![
        fact(STARTS, state_cell, format!("the device starts {state}")),
        if is_disk {
            fact(GC, "none".to_string(), String::new())
        } else {
            fact(GC, ran.to_string(), format!("{collector} {ran}"))
        },
        spare_space(report),
        fact(LOAD, load_cell, load),
        fact(QUEUE, queue_cell.to_string(), queue.to_string()),
        fact(OUTSTANDING, most.to_string(), at_most(most)),
        fact(PARTIAL, partial(report), partial_sentence(inputs, report)),
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
fn initial_state(inputs: &Plan, report: &Report) -> (String, String) {
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
    let state = &inputs.sections.device.state;
    let [units, writes] = [state.hot_units_percent, state.hot_writes_percent];
    let load = if units == writes {
        "uniform random writes".to_string()
    } else {
        let [units, writes] = [units, writes].map(|share| share.ppm() as f64 / 1e4);
        format!("random writes, {writes} % of them to {units} % of the units")
    };
    let sentence = format!("{name} for {load} (write amplification {factor:.2} {of} {how})");
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
            let left = percent(left.max(0.0));
            let sentence =
                format!("of {all} over-provisioning {left} are left beside free and open blocks");
            (left, sentence)
        }
    };
    Fact { heading: SPARE, cell, sentence }
}

/// How busy the dies were, at length and in short; of an overloaded device what it was offered.
fn load(inputs: &Plan, report: &Report) -> (String, String) {
    let percent = |load: f64| format!("{:.1} %", load * 100.0);
    let whoever = if inputs.sections.device.is_disk() { "the arm is" } else { "the dies are" };
    let busy = |load: f64| (format!("{whoever} busy {} of the time", percent(load)), percent(load));
    match report.verdict.offered_load {
        None => ("all requests arrive at once".to_string(), "all at once".to_string()),
        Some(load) if report.verdict.is_overloaded() => {
            let of = format!("{:.0} %", load * 100.0);
            let what = whoever.trim_end_matches(" are").trim_end_matches(" is");
            let sentence = format!("the work offered is {of} of what {what} can do: overloaded");
            (sentence, format!("{of}, overloaded"))
        }
        Some(_) => busy(report.utilisation.dies.mean.unwrap_or(0.0)),
    }
}

/// The share of writes that are not whole mapping units.
fn partial(report: &Report) -> String {
    match report.verdict.partial_writes {
        0 => "none".to_string(),
        writes => percent(writes as f64, report.workload.writes as f64),
    }
}

/// Says what such writes do, if there are any.
fn partial_sentence(inputs: &Plan, report: &Report) -> String {
    let keys = &inputs.sections.device;
    if report.verdict.partial_writes == 0 || keys.is_disk() {
        return String::new();
    }
    let share = partial(report);
    match keys.ftl.partial_write {
        PartialWrite::Ignore => format!("{share} of the writes are not whole mapping units"),
        _ => format!(
            "{share} of the writes are not whole mapping units, and the device reads the rest"
        ),
    }
}

/// Says what reads of pages cost that were never written, if there were any.
fn unmapped(report: &Report) -> String {
    let verdict = &report.verdict;
    if verdict.unmapped_reads == 0 {
        return String::new();
    }
    let cost = if verdict.unmapped_read_cost == "array" { "an array read" } else { "nothing" };
    format!(
        "{} page reads were of never-written pages and cost {cost} each",
        count(verdict.unmapped_reads)
    )
}

/// Fewer victims than these are a sample too small for figures that depend on collection. Assumed:
/// the valid units of a victim differ by tens of percent, which ten of them average to ten.
const FEW_VICTIMS: u64 = 10;

/// Whether garbage collection took too few victims for figures of a state.
fn few_victims(inputs: &Plan, report: &Report) -> Option<Warning> {
    let victims = report.gc.jobs;
    let few = (1..FEW_VICTIMS).contains(&victims) && !inputs.sections.device.plans();
    few.then(|| Warning {
        headings: &[],
        what: "garbage collection took few victims: write amplification and the tail are theirs, \
               and differ from run to run; measure more writes"
            .to_string(),
        how_much: format!("{victims} of them"),
    })
}

/// Thirds of a run that differ by more are told of: of write amplification, and of latencies of
/// closed loops. Assumed: more than the noise of thirds with hundreds of victims.
const DRIFT: [f64; 2] = [0.1, 0.25];

/// Requests of a third below which latencies are noise. Assumed.
const OF_A_THIRD: u64 = 1_000;

/// Whether the run went from one state to another.
fn drift(inputs: &Plan, report: &Report) -> Option<Warning> {
    let [first, last] = report.verdict.thirds.as_ref()?;
    let of = [
        (first.write_amplification.zip(last.write_amplification))
            .filter(|_| report.gc.jobs >= FEW_VICTIMS || inputs.sections.device.plans()),
        (first.latency_mean_ns.zip(last.latency_mean_ns))
            .filter(|_| is_closed(inputs) && report.latency_ns["all"].count >= 3 * OF_A_THIRD),
    ];
    let differs = |((from, to), limit): ((f64, f64), f64)| (to - from).abs() > limit * from.min(to);
    let said = of.into_iter().zip(DRIFT).zip(["write amplification", "mean latency"]);
    let said = said.filter_map(|((pair, limit), name)| {
        let (from, to) = pair.filter(|pair| differs((*pair, limit)))?;
        let show = |value| if name == "mean latency" { time(value) } else { format!("{value:.2}") };
        Some(format!("{name} {} and {}", show(from), show(to)))
    });
    let said: Vec<String> = said.collect();
    (!said.is_empty()).then(|| Warning {
        headings: &[],
        what: "the first and the last third of the run differ: its figures mix two states; \
               measure more, or --settle first"
            .to_string(),
        how_much: said.join(", "),
    })
}

/// Why figures of writes are not those of a drive in use, if they are not.
fn unsteady(inputs: &Plan, report: &Report) -> Option<Warning> {
    let (verdict, keys) = (&report.verdict, &inputs.sections.device);
    let starts_so = ["fresh", "full", "random"].contains(&verdict.initial_state);
    let prepared = report.phases.iter().any(|phase| !phase.measured);
    let collects = !(keys.is_disk() || keys.is_raw() || keys.is_zoned());
    if !starts_so || prepared || report.workload.writes == 0 || !collects {
        return None;
    }
    let state = verdict.initial_state;
    let goes = |initial: InitialState| {
        let mut keys = keys.clone();
        keys.state.initial = initial;
        Settings::new(keys).is_ok()
    };
    let steady = [InitialState::Steady, InitialState::Aged];
    let steady = steady.into_iter().find(|state| goes(*state));
    let collector = collector(inputs);
    let (did, so) = if verdict.gc_ran {
        ("began on the way", "mix two states")
    } else {
        ("did not run", "are not those of a drive in use")
    };
    let what = format!("the device starts {state} and {collector} {did}: figures of writes {so}");
    let makes = |state: InitialState| format!("--set state.initial={} makes one", state.word());
    let how_much = steady.map_or_else(String::new, makes);
    Some(Warning { headings: &[STARTS, GC], what, how_much })
}

/// Whether a capacity made it a device of other dies than the one that was named.
fn other_dies(inputs: &Plan) -> Option<Warning> {
    let before = inputs.description.dies_before?;
    let now = dies(&inputs.sections.device.geometry);
    Some(Warning {
        headings: &[],
        what: "the capacity changes the number of dies: rates and latencies under load are not \
               those of the device that was named"
            .to_string(),
        how_much: format!("{now} dies in place of {before}"),
    })
}

/// Whether requests to zones had no effect.
fn failed(report: &Report) -> Option<Warning> {
    let errors = &report.zones.as_ref()?.errors;
    let each: Vec<_> = errors.iter().map(|(error, number)| format!("{number} {error}")).collect();
    (!each.is_empty()).then(|| Warning {
        headings: &[],
        what: "requests to zones had no effect: zones are written at their write pointers, and \
               reset before they are written again (docs/ZONES.md)"
            .to_string(),
        how_much: each.join(", "),
    })
}

/// Whether thresholds of garbage collection eat the spare space.
fn eaten(report: &Report) -> Option<Warning> {
    let verdict = &report.verdict;
    let (all, left) = (verdict.over_provisioning, verdict.effective_over_provisioning?);
    (all > 0.0 && left < LEFT * all).then(|| Warning {
        headings: &[SPARE],
        what: "free blocks that the thresholds of garbage collection keep, and open blocks, take \
               more than half of the spare space; lower gc.hard_free_blocks and gc.soft_free_blocks"
            .to_string(),
        how_much: format!("{:.1} % are left of {:.1} %", 100.0 * left.max(0.0), 100.0 * all),
    })
}

fn found(inputs: &Plan, report: &Report) -> Vec<Warning> {
    let verdict = &report.verdict;
    let mut found: Vec<Warning> = Vec::new();
    found.extend(other_dies(inputs));
    found.extend(unsteady(inputs, report));
    found.extend(few_victims(inputs, report));
    found.extend(drift(inputs, report));
    found.extend(eaten(report));
    found.extend(failed(report));
    found.extend(outside(inputs, report).map(|how_much| {
        Warning {
            headings: &[],
            what:
                "the device was held against a real drive, but not under a load like this: nothing \
               is known of its errors here (docs/BOARD.md)"
                    .to_string(),
            how_much,
        }
    }));
    let mut warn = |headings: &'static [&'static str], what: &str, how_much: String| {
        found.push(Warning { headings, what: what.to_string(), how_much });
    };
    if let Some(load) = verdict.offered_load.filter(|_| verdict.is_overloaded()) {
        let is_disk = inputs.sections.device.is_disk();
        let who = if is_disk { "the arm" } else { "the dies" };
        let of = format!("{:.0} % of that", load * 100.0);
        warn(&[LOAD], &format!("overloaded: more work is offered than {who} can do"), of);
    }
    if verdict.queue_grew {
        let most = at_most(verdict.most_outstanding);
        let what = "the queue grew: latencies depend on the length of the run";
        warn(&[QUEUE, OUTSTANDING], what, most);
    }
    if verdict.folded_requests > 0 {
        let share = percent(verdict.folded_requests as f64, report.workload.requests as f64);
        let what = "requests were folded into the device, so that different addresses of the \
                    trace are one";
        warn(&[FOLDED], what, format!("{share} of them"));
    }
    let ignores = inputs.sections.device.ftl.partial_write == PartialWrite::Ignore;
    if verdict.partial_writes > 0 && ignores && !inputs.sections.device.is_disk() {
        let what = "writes of parts of mapping units cost as much as whole ones, and no read \
                    (ftl.partial_write = \"ignore\")";
        warn(&[PARTIAL], what, format!("{} of the writes", partial(report)));
    }
    if verdict.unmapped_reads > 0 && verdict.unmapped_read_cost == "zero" {
        let what = "pages that were never written are read, and cost nothing";
        warn(&[UNMAPPED], what, format!("{} of them", count(verdict.unmapped_reads)));
    }
    if verdict.spread_requests > 0 {
        let share = percent(verdict.spread_requests as f64, report.workload.requests as f64);
        let what = "arrivals were spread inside the ticks of the trace's clock, which does not say \
                    when in a tick they came";
        warn(&[SPREAD], what, format!("{share} of them"));
    }
    let (skip, requests) = (inputs.sections.device.metrics.skip_requests, report.workload.requests);
    if requests > 0 && skip >= requests {
        let what = format!(
            "no latency counts: metrics.skip_requests is {skip}, and {requests} requests were \
             measured; set it below that"
        );
        warn(&[], &what, String::new());
    }
    found
}

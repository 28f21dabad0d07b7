//! `flashyard compare`: the same work on each value of one key or more.

use crate::args::{self, CompareArgs};
use crate::columns::{self, Figures};
use crate::output::verdict::text as verdict_text;
use crate::output::{note, print, print_json, remark};
use crate::progress::Progress;
use crate::report::points::{Point, Points};
use crate::report::{self, words};
use anyhow::Result;
use flashyard_core::request::RequestOp;
use flashyard_run::error::wrong;
use flashyard_run::headline::{self, Headline};
use flashyard_run::plan::{Bases, Plan};
use flashyard_run::points::axis::{self, Axis};
use flashyard_run::points::runs::{self, Run};
use flashyard_run::points::{self, refuse_standard_input};
use flashyard_run::simulate::Outcome;
use flashyard_run::unused::UnusedInAll;
use flashyard_run::verdict::{self, OfSeveral};
use flashyard_sim::own::OwnParts;
use flashyard_sim::report::LatencyReport;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

/// Latencies by class.
type Latencies = BTreeMap<&'static str, LatencyReport>;

/// The figures of the table. A figure that no run has is left out.
const SHOWN: [&str; 28] = [
    "read.mean_us",
    "read.p99_us",
    "read.p999_us",
    "write.mean_us",
    "write.p99_us",
    "write.p999_us",
    "trim.mean_us",
    "trim.p99_us",
    "trim.p999_us",
    "flush.mean_us",
    "flush.p99_us",
    "flush.p999_us",
    "all.mean_us",
    "all.p99_us",
    "all.p999_us",
    "all.max_us",
    "iops",
    "mb_per_s",
    "wa",
    "wa_gc",
    "erases",
    "gc_victims",
    "energy_mj",
    "power_w",
    "j_per_gb",
    "buffer_read_hits",
    "buffer_write_hits",
    "buffer_hidden_reads",
];

/// Runs `flashyard compare`.
pub(crate) fn run(args: &CompareArgs, own: &OwnParts) -> Result<()> {
    let axes = args.vary.iter().map(|vary| Axis::parse("--vary", vary));
    let points = axis::combinations("--vary", &axes.collect::<Result<Vec<_>>>()?)?;
    let (bases, mut runs) = (Bases::new(own.clone()), Vec::<Run>::new());
    for point in points {
        let inputs = points::inputs(&bases, &args.input.selection(), "--vary", &point)?;
        refuse_standard_input("compare", &inputs)?;
        if args.by.is_some() {
            need_streams(&inputs)?;
        }
        let settings = inputs.settings()?;
        inputs.need(&settings, args.input.check).check()?;
        for seed in seeds(args, &inputs, &point)? {
            let mut inputs = inputs.clone();
            if let Some(seed) = seed {
                inputs.set_seed(seed);
            }
            let (point, settings) = (point.clone(), settings.clone());
            runs.push(Run { point, inputs, settings, prepare: None, cuts: 0 });
        }
    }
    let changes: BTreeSet<&String> = runs.iter().flat_map(|run| run.inputs.changes()).collect();
    for change in changes {
        note(change);
    }
    let mut unused = UnusedInAll::default();
    for run in &runs {
        unused.add(run.inputs.unused());
    }
    unused.get().iter().for_each(note);
    let mut outcomes = simulate_all(&runs, args.input.check)?;
    for outcome in &mut outcomes {
        outcome.provenance.command = args::given();
    }
    let object = |(run, outcome): (&Run, &Outcome)| outcome.object(&run.inputs);
    let objects = || runs.iter().zip(&outcomes).map(object).collect::<Vec<_>>();
    let replicas = usize::from(args.seeds.unwrap_or(1));
    if let Some(folder) = &args.out {
        write_report(folder, &runs, &outcomes, replicas, &objects())?;
    }
    if args.json {
        return print_json(&Value::Array(objects()));
    }
    print(&text(&runs, &outcomes, replicas, args.by.is_some()))?;
    remark_changes(&labels(&runs, replicas), &outcomes);
    Ok(())
}

/// Returns the seeds of the runs of a point. Without `--seeds` a point has one run, which keeps the
/// seed of its workload.
fn seeds(args: &CompareArgs, inputs: &Plan, point: &[axis::Setting]) -> Result<Vec<Option<u64>>> {
    let Some(count) = args.seeds else { return Ok(vec![None]) };
    if point.iter().any(|(key, _)| key == "seed") {
        return Err(wrong("--seeds: the seed is varied already; leave one of the two out"));
    }
    let Some(first) = inputs.seed() else {
        return Err(wrong("--seeds: a trace has no seed; it is for generated workloads"));
    };
    let last = first.checked_add(u64::from(count) - 1).ok_or_else(|| {
        let what = "the seed is too large: seeds end at 18,446,744,073,709,551,615";
        wrong(&format!("--seeds {count}: {what}"))
    })?;
    Ok((first..=last).map(Some).collect())
}

/// Writes report.html.
fn write_report(
    folder: &Path,
    runs: &[Run],
    outcomes: &[Outcome],
    replicas: usize,
    objects: &[Value],
) -> Result<()> {
    let first = &runs[0];
    let (device, workload) = (&first.inputs.device_name, first.inputs.workload_name());
    let mut axes = points::keys(runs.iter().map(|run| &run.point[..]));
    let names = axes.join(", ");
    let mut lead =
        vec![format!("Runs of the same work with several values of {names}. The first run:")];
    lead.push(words::device(device, &objects[0], first.settings.keys.is_disk()));
    lead.push(words::workload(&objects[0]));
    let seeded = replicas > 1;
    axes.extend(seeded.then(|| "seed".to_string()));
    let seed = |run: &Run| run.inputs.seed().filter(|_| seeded).map(|seed| seed.to_string());
    let points = runs.iter().zip(outcomes).map(|(run, outcome)| {
        let values = axes.iter().take(axes.len() - usize::from(seeded));
        let values = values.map(|key| points::value(&run.inputs, &run.point, key));
        Point::of_run(values.chain(seed(run)).collect(), &outcome.report)
    });
    let verdicts = verdicts(runs, outcomes, replicas);
    let points = Points {
        title: format!("{device}, {workload}: by {names}"),
        lead,
        verdict: verdicts.alike,
        warnings: verdicts.warnings,
        command: report::run::command(&objects[0]),
        all: points.collect(),
        axes: axes.clone(),
        asked: Vec::new(),
    };
    points.page().write_alone(folder, "compare", &Value::Array(objects.to_vec()))
}

/// The verdicts on all runs.
fn verdicts(runs: &[Run], outcomes: &[Outcome], replicas: usize) -> OfSeveral {
    let reports = outcomes.iter().map(|outcome| &outcome.report);
    let judged: Vec<_> = runs.iter().map(|run| &run.inputs).zip(reports).collect();
    verdict::of_several(&labels(runs, replicas), &judged)
}

/// A comparison by stream is one of workloads that have several at a time.
fn need_streams(inputs: &Plan) -> Result<()> {
    if inputs.sections.workload.phases.iter().any(|phase| phase.streams.len() > 1) {
        return Ok(());
    }
    let name = inputs.workload_name();
    Err(wrong(&format!("--by stream: the workload {name} has one stream; leave it out")))
}

/// The verdicts, then the tables of figures.
fn text(runs: &[Run], outcomes: &[Outcome], replicas: usize, by_stream: bool) -> String {
    let points: Vec<&[Run]> = runs.chunks(replicas).collect();
    let by_point: Vec<&[Outcome]> = outcomes.chunks(replicas).collect();
    let figures = if by_stream {
        let points = points.iter().zip(&by_point);
        let tables = points
            .map(|(runs, found)| format!("{}\n{}", axis::label(&runs[0].point), of_streams(found)));
        tables.collect::<Vec<_>>().join("\n")
    } else {
        of_points(&points, &by_point)
    };
    let verdicts = verdict_text(&labels(runs, replicas), &verdicts(runs, outcomes, replicas));
    format!("{}\n\n{verdicts}\n{figures}", heading(runs, replicas))
}

/// A table with a column for each point, and one of each stream.
fn of_points(points: &[&[Run]], found: &[&[Outcome]]) -> String {
    let names = points::keys(points.iter().map(|runs| &runs[0].point[..]));
    let values = |key: &String| {
        let value = |runs: &&[Run]| points::value(&runs[0].inputs, &runs[0].point, key);
        (key.clone(), points.iter().map(value).collect())
    };
    let keys: Vec<(String, Vec<String>)> = names.iter().map(values).collect();
    let all: Vec<Figures> =
        found.iter().map(|runs| figures(runs, |one, run| one.value(&run.report))).collect();
    let outcomes = || found.iter().copied().flatten();
    let mut text =
        columns::table(&keys, &shown(outcomes().map(|run| &run.report.latency_ns)), &all);
    for stream in streams(outcomes()) {
        let of = |one: &Headline, run: &Outcome| one.of_stream(run.report.streams.get(stream)?);
        let all: Vec<Figures> = found.iter().map(|runs| figures(runs, of)).collect();
        let reports = outcomes().filter_map(|run| run.report.streams.get(stream));
        let names = shown(reports.map(|report| &report.latency_ns));
        let _ = write!(text, "\nstream {stream}\n{}", columns::table(&keys, &names, &all));
    }
    text
}

/// A table with a column for each stream of a point, in the order of the workload.
fn of_streams(found: &[Outcome]) -> String {
    let mut streams: Vec<&String> = streams(found).into_iter().collect();
    let place = |name: &&String| found[0].streams.iter().flatten().position(|one| one == *name);
    streams.sort_by_key(place);
    let of = |stream: &&String| {
        figures(found, |one, run| one.of_stream(run.report.streams.get(*stream)?))
    };
    let all: Vec<Figures> = streams.iter().map(of).collect();
    // Streams of different classes have only the figures of all requests in common.
    let reports = found.iter().flat_map(|run| run.report.streams.values());
    let mut seen: Vec<RequestOp> = reports.flat_map(|report| classes(&report.latency_ns)).collect();
    seen.dedup();
    let names = names_of(seen.len() > 1);
    let key = ("stream".to_string(), streams.into_iter().cloned().collect());
    columns::table(&[key], &names, &all)
}

/// Returns the names of the figures to show. If all requests of a run are of one class, the figures
/// of all requests are those of the class and are left out.
fn shown<'a>(runs: impl Iterator<Item = &'a Latencies>) -> Vec<&'static str> {
    names_of(runs.map(classes).any(|classes| classes.len() > 1))
}

/// The classes of the requests of a run.
fn classes(latency: &Latencies) -> Vec<RequestOp> {
    RequestOp::ALL.into_iter().filter(|op| latency[op.name()].count > 0).collect()
}

/// The names of the figures to show of `several` classes of requests, or of one.
fn names_of(several: bool) -> Vec<&'static str> {
    SHOWN.into_iter().filter(|name| several || !name.starts_with("all.")).collect()
}

/// Names the device and the workload, or all that are compared. If a point has several runs, the
/// heading says what its figures are.
fn heading(runs: &[Run], replicas: usize) -> String {
    let listed = |name: fn(&Plan) -> &str| {
        let mut names: Vec<&str> = Vec::new();
        for run in runs {
            if !names.contains(&name(&run.inputs)) {
                names.push(name(&run.inputs));
            }
        }
        match names.len() {
            1..=3 => names.join(", "),
            count => format!("{}, ... ({count})", names[0]),
        }
    };
    let (device, workload) = (listed(|inputs| &inputs.device_name), listed(Plan::workload_name));
    let mut text = format!("device {device}, workload {workload}");
    if replicas > 1 {
        text += &columns::note(replicas);
    }
    text
}

/// By headline, the figures of the runs of a point.
fn figures(outcomes: &[Outcome], of: impl Fn(&Headline, &Outcome) -> Option<f64>) -> Figures {
    let of_all = |headline| outcomes.iter().map(|outcome| of(headline, outcome)).collect();
    headline::ALL.iter().map(of_all).collect()
}

/// Returns the names of the streams of runs with several streams.
fn streams<'a>(outcomes: impl IntoIterator<Item = &'a Outcome>) -> BTreeSet<&'a String> {
    outcomes.into_iter().flat_map(|outcome| outcome.report.streams.keys()).collect()
}

/// Names each run by its settings, and by its seed if a point has several runs.
fn labels(runs: &[Run], replicas: usize) -> Vec<String> {
    let label = |run: &Run| {
        let seed = run.inputs.seed().filter(|_| replicas > 1);
        let seed = seed.map_or_else(String::new, |seed| format!(" seed={seed}"));
        axis::label(&run.point) + &seed
    };
    runs.iter().map(label).collect()
}

/// Says what was left out of the requests or changed in them. A change that all runs share is told
/// once.
fn remark_changes(labels: &[String], outcomes: &[Outcome]) {
    let changes = |outcome: &Outcome| outcome.provenance.changes.clone();
    let first = changes(&outcomes[0]);
    if outcomes.iter().all(|outcome| changes(outcome) == first) {
        return first.iter().for_each(|what| remark(&format!("workload: {what}")));
    }
    for (label, outcome) in labels.iter().zip(outcomes) {
        for what in changes(outcome) {
            remark(&format!("workload of {label}: {what}"));
        }
    }
}

/// Runs all, as many at a time as there are processors and room in memory.
fn simulate_all(runs: &[Run], check: bool) -> Result<Vec<Outcome>> {
    let progress = Progress::many("", "runs", runs.len() as u64);
    let found = runs::in_order(runs.len(), |done| runs::each(runs, check, &progress, done));
    found.map_err(|(_, error)| error)
}

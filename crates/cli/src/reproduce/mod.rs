//! `flashyard reproduce`: published systems, our results beside theirs.
//!
//! A study is an experiment file; docs/STUDIES.md describes it. The order of the modules:
//! `schema` (what a file says), `tokens`, `expr` (its expressions) and `names` (what they name);
//! `workloads`, `study` (what will be run), `runs` (what was found) and `metrics` (of it);
//! `stats`, `sample`, `eval` and `judge` (what it says); `tables`, `statements`, `examples` and
//! `show` (how it is shown); `matches` and `page` (as a page with plots). `sizes` is a formula of
//! the energy study, `twins` an option of `drs`.

mod device;
mod eval;
mod examples;
mod expr;
mod judge;
mod matches;
mod metrics;
mod names;
mod page;
mod runs;
mod sample;
mod schema;
mod show;
mod sizes;
mod statements;
mod study;
mod tables;
#[cfg(test)]
mod tests;
mod tokens;
mod twins;
mod workloads;

use crate::args::{ALL, ReproduceArgs};
use crate::output::text::{WIDTH, wrapped};
use crate::output::{print, print_json};
use crate::studies::STUDIES;
use anyhow::Result;
use eval::{Evaluator, Figures, Recorder};
use flashyard_run::contract::SCHEMA_VERSION;
use flashyard_run::error::{InputError, read_text, wrong};
use flashyard_sim::own::OwnParts;
pub(crate) use metrics::METRICS;
use runs::{RunKey, Runs};
use sample::{Sample, Spread};
use serde_json::{Map, Value, json};
use statements::Answer;
use study::Study;
use tokens::Printed;

/// Runs `flashyard reproduce`.
pub(crate) fn run(args: &ReproduceArgs, own: &OwnParts) -> Result<()> {
    if args.replicas == Some(1) {
        return Err(wrong("--replicas 1: noise needs two at least; 0 measures none"));
    }
    if args.study == ALL {
        if args.json || args.out.is_some() || args.twins.is_some() {
            return Err(wrong("all studies have no --json, --out and --twins; take one study"));
        }
        for (name, text) in STUDIES {
            // What a study lacks, traces for one, does not keep the others from running.
            match one(name, text, args, own) {
                Err(error) if error.is::<InputError>() => {
                    print(&format!("{name}: left out: {error}\n"))?;
                }
                result => result?,
            }
        }
        return Ok(());
    }
    let built_in = STUDIES.iter().find(|(name, _)| *name == args.study);
    let text = match built_in {
        Some((_, text)) => (*text).to_string(),
        None => read_text(&args.study)?,
    };
    one(&args.study, &text, args, own)
}

/// Runs a study and prints it.
fn one(name: &str, text: &str, args: &ReproduceArgs, own: &OwnParts) -> Result<()> {
    let study = input(name, Study::new(name, text, args, own))?;
    if let Some(count) = args.twins {
        return twins::run(&study, args, count);
    }
    let compiled = input(name, Compiled::new(&study))?;
    let results = Results::new(&study, compiled, args.check)?;
    results.runs.remark(&study);
    if let Some(folder) = &args.out {
        results.page(args).write_alone(folder, "reproduce", &results.object(args))?;
    }
    if args.json {
        return print_json(&results.object(args));
    }
    print(&results.text(args))
}

/// What is wrong with an experiment file is wrong input.
fn input<T>(file: &str, result: Result<T>) -> Result<T> {
    result.map_err(|error| match error.downcast::<InputError>() {
        Ok(error) => error.into(),
        Err(error) => wrong(&format!("{file}: {error:#}")),
    })
}

/// The expressions of a study, read and checked.
struct Compiled {
    published: Vec<statements::Compiled>,
    asked: Vec<statements::Compiled>,
    tables: Vec<tables::Compiled>,
}

impl Compiled {
    fn new(study: &Study) -> Result<Self> {
        Ok(Self {
            published: statements::Compiled::all(study, &study.experiment.published)?,
            asked: statements::Compiled::all(study, &study.experiment.asked)?,
            tables: tables::Compiled::all(study)?,
        })
    }
}

/// A study that was run and judged.
struct Results<'a> {
    study: &'a Study,
    runs: Runs,
    examples: Vec<examples::Results>,
    tables: Vec<tables::Filled>,
    published: (Vec<statements::Compiled>, Vec<Answer>),
    asked: (Vec<statements::Compiled>, Vec<Answer>),
}

/// The figures of a study's runs.
struct FiguresOf<'a> {
    study: &'a Study,
    runs: &'a Runs,
    examples: &'a [examples::Results],
}

impl Figures for FiguresOf<'_> {
    fn figure(&self, key: RunKey, metric: usize) -> Option<Sample> {
        let found = self.runs.found(key)?;
        let base = found.figures[metric];
        if !base.is_finite() {
            return None;
        }
        let spread = match self.runs.replicas(key) {
            _ if found.queue_grew => Spread::Overloaded,
            None => Spread::Unknown,
            Some(all) => Spread::Replicas(all.iter().map(|one| one.figures[metric]).collect()),
        };
        Some(Sample { base, spread, of: None })
    }

    fn of_workload(&self, workload: usize, metric: usize) -> Option<Sample> {
        let real = self.study.sources[workload].is_real();
        let (base, replicas) = self.runs.of_workload(workload, metric)?;
        let spread =
            if real { Spread::Exact } else { replicas.map_or(Spread::Unknown, Spread::Replicas) };
        Some(Sample { base, spread, of: None })
    }

    fn published(&self, workload: usize, metric: usize) -> Option<Printed> {
        let published = &self.study.sources[workload].published;
        published.iter().find(|(number, _)| *number == metric).map(|(_, printed)| *printed)
    }

    fn known(&self, number: usize) -> f64 {
        self.study.known[number]
    }

    fn example(&self, number: usize) -> bool {
        examples::hold(&self.examples[number])
    }
}

impl<'a> Results<'a> {
    /// Runs everything and judges it.
    fn new(study: &'a Study, compiled: Compiled, check: bool) -> Result<Self> {
        let Compiled { published, asked, tables } = compiled;
        let examples = study.experiment.example.iter().map(examples::run);
        let examples = examples.collect::<Result<Vec<_>>>()?;
        let mut runs = Runs::new(study, check)?;
        let (wanted, workloads) = {
            let figures = &FiguresOf { study, runs: &runs, examples: &examples };
            let recorder = Recorder::new(figures);
            let evaluator = Evaluator::new(&study.names, &recorder);
            let all = published.iter().chain(&asked);
            for (expr, scope) in all.flat_map(statements::Compiled::expressions) {
                evaluator.judge(expr, scope);
                evaluator.number(expr, scope);
            }
            recorder.wanted()
        };
        if study.experiment.replicas > 0 {
            runs.replicate(study, &wanted, &workloads)?;
        }
        let figures = &FiguresOf { study, runs: &runs, examples: &examples };
        let is_cut = study.is_limited && runs.last_for_a_time();
        let judge = |all: Vec<statements::Compiled>| {
            let answers = all.iter().map(|one| one.judge(study, figures, is_cut)).collect();
            (all, answers)
        };
        let (published, asked) = (judge(published), judge(asked));
        let tables = tables.iter().flat_map(|table| table.filled(study, figures)).collect();
        Ok(Self { study, runs, examples, tables, published, asked })
    }

    fn text(&self, args: &ReproduceArgs) -> String {
        let experiment = &self.study.experiment;
        if args.short {
            let workloads = if self.study.sources.iter().any(workloads::Source::is_real) {
                "recorded traces where --traces has them"
            } else if self.study.experiment.group.iter().any(schema::Group::has_traces) {
                "generated workloads: the recorded traces of the study are not there (--traces DIR)"
            } else {
                "generated workloads"
            };
            let what = format!("{}: {}", self.study.name, experiment.title);
            return format!("{}\n  {workloads}\n", wrapped(&what, WIDTH, "  "))
                + &statements::short("published", &self.published.1)
                + &statements::short("asked", &self.asked.1)
                + "\n";
        }
        let mut text = String::new();
        for line in [&experiment.title, &experiment.source, &experiment.notes] {
            text += &format!("{}\n", wrapped(line, WIDTH, ""));
        }
        text += &format!("\n{}\n", wrapped(&self.ran(args), WIDTH, ""));
        text += &examples::text(&experiment.example, &self.examples);
        self.tables.iter().for_each(|table| text += &table.text());
        if let Some(sizes) = &experiment.sizes {
            text += &sizes::text(sizes);
        }
        text += &statements::text("What is published", &self.published.0, &self.published.1);
        text += &statements::text(
            "What is asked here, and nobody published",
            &self.asked.0,
            &self.asked.1,
        );
        if !experiment.erratum.is_empty() {
            text += "\nWhere the paper contradicts itself or cannot be right (its own words in quotes)\n";
        }
        for erratum in &experiment.erratum {
            let line = format!("  {}: {}. Here: {}.", erratum.text, erratum.problem, erratum.here);
            text += &format!("{}\n", wrapped(&line, WIDTH, "    "));
        }
        text
    }

    /// What was run.
    fn ran(&self, args: &ReproduceArgs) -> String {
        let devices = self.study.devices.iter().map(|device| {
            if device.name == device.preset {
                device.name.clone()
            } else {
                format!("{} (from {})", device.name, device.preset)
            }
        });
        let devices = devices.collect::<Vec<_>>().join(", ");
        let mut text = format!("Devices: {devices}. Workloads: ");
        text += &match &args.traces {
            Some(dir) => format!("the traces in {}", dir.display()),
            None => "generated; with --traces DIR the recorded ones".to_string(),
        };
        if !self.study.missing.is_empty() {
            text += &format!("; missing there: {}", self.study.missing.join(", "));
        }
        let experiment = &self.study.experiment;
        text += &format!(
            ". Generated ones have seed {}. Noise: {} replicas of the runs that statements need, \
             traces with arrivals up to 200 us later, generated workloads with other seeds. In \
             brackets: the 95 % confidence interval of the mean of the replicas. *: the queue of a \
             run grew, so the figure depends on the length of the workload. docs/STUDIES.md states \
             the rule of the verdicts.",
            experiment.seed, experiment.replicas
        );
        text
    }

    fn object(&self, args: &ReproduceArgs) -> Value {
        let study = self.study;
        let experiment = &study.experiment;
        let devices = study
            .devices
            .iter()
            .map(|device| json!({"name": device.name, "preset": device.preset}));
        let groups = study.names.groups.iter().map(|group| {
            let names = group.workloads.iter().map(|place| &study.names.workloads[*place]);
            json!({
                "group": group.name, "recorded": group.real, "workloads": names.collect::<Vec<_>>(),
            })
        });
        let errata = experiment.erratum.iter().map(
            |erratum| json!({"text": erratum.text, "problem": erratum.problem, "here": erratum.here}),
        );
        json!({
            "schema_version": SCHEMA_VERSION,
            "study": study.name,
            "title": experiment.title,
            "source": experiment.source,
            "notes": experiment.notes,
            "devices": devices.collect::<Vec<_>>(),
            "subjects": study.names.subjects,
            "seed": experiment.seed,
            "replicas": experiment.replicas,
            "traces": args.traces.as_ref().map(|dir| dir.display().to_string()),
            "traces_missing": study.missing,
            "trace_notes": self.runs.notes(study),
            "groups": groups.collect::<Vec<_>>(),
            "runs": self.objects_of_runs(),
            "tables": self.tables.iter().map(tables::Filled::object).collect::<Vec<_>>(),
            "sizes": experiment.sizes.as_ref().map(sizes::object),
            "examples": examples::objects(&experiment.example, &self.examples),
            "published": statements::objects(&self.published.1),
            "asked": statements::objects(&self.asked.1),
            "errata": errata.collect::<Vec<_>>(),
        })
    }

    fn objects_of_runs(&self) -> Value {
        let names = &self.study.names;
        let mut all = Vec::new();
        for (grid, row) in names.grids.iter().enumerate() {
            for (point, point_name) in row.points.iter().enumerate() {
                for &subject in &row.subjects {
                    for &workload in &row.workloads {
                        let key = RunKey { grid, point, subject, workload };
                        let Some(found) = self.runs.found(key) else { continue };
                        let figures = METRICS.iter().zip(&found.figures);
                        let figures: Map<String, Value> = figures
                            .map(|(metric, value)| (metric.name.to_string(), json!(value)))
                            .collect();
                        all.push(json!({
                            "grid": row.name,
                            "point": point_name,
                            "device": self.study.devices[row.device].name,
                            "subject": names.subjects[subject],
                            "workload": names.workloads[workload],
                            "queue_grew": found.queue_grew,
                            "replicas": self.runs.replicas(key).map_or(0, <[_]>::len),
                            "figures": figures,
                        }));
                    }
                }
            }
        }
        all.into()
    }
}

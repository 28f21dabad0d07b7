//! A study that was run: what its statements come to, and its tables.

use crate::asked::Asked;
use crate::eval::{Evaluator, Figures, Recorder};
use crate::examples::{self, Tried};
use crate::faults::{self, Faults};
use crate::metrics::METRICS;
use crate::runs::{Found, RunKey, Runs};
use crate::sample::{Sample, Spread};
use crate::schema::{Erratum, Group};
use crate::sizes::{self, SizeTables};
use crate::statements::{self, Answer};
use crate::study::Study;
use crate::tables::{self, Filled};
use crate::tokens::Printed;
use crate::workloads::Source;
use anyhow::Result;
use flashyard_run::contract::SCHEMA_VERSION;
use flashyard_run::meter::Watch;
use serde_json::{Map, Value, json};

/// The expressions of a study, read and checked.
pub(crate) struct Compiled {
    published: Vec<statements::Compiled>,
    asked: Vec<statements::Compiled>,
    tables: Vec<tables::Compiled>,
}

impl Compiled {
    pub(crate) fn new(study: &Study) -> Result<Self> {
        Ok(Self {
            published: statements::Compiled::all(study, &study.experiment.published)?,
            asked: statements::Compiled::all(study, &study.experiment.asked)?,
            tables: tables::Compiled::all(study)?,
        })
    }
}

/// A study that was run and judged.
#[derive(Clone, Debug)]
pub struct Results {
    /// The name of the study.
    pub name: String,
    /// Its title.
    pub title: String,
    /// What was published, and where.
    pub source: String,
    /// What else a reader should know.
    pub notes: String,
    /// Where its workloads come from, in a few words.
    pub workloads: &'static str,
    /// What was run.
    pub ran: String,
    /// Its worked examples.
    pub examples: Vec<Tried>,
    /// Its tables.
    pub tables: Vec<Filled>,
    /// Tables of translation layers by a formula.
    pub sizes: Option<SizeTables>,
    /// Faults that are planted into its devices.
    pub faults: Option<Faults>,
    /// Statements that are published.
    pub published: Vec<Answer>,
    /// Statements that the study asks itself.
    pub asked: Vec<Answer>,
    /// Where the publication contradicts itself or cannot be right.
    pub errata: Vec<Erratum>,
    /// How many runs took how long.
    pub remark: String,
    /// All results as data.
    pub object: Value,
}

/// The figures of a study's runs.
struct FiguresOf<'a> {
    study: &'a Study,
    runs: &'a Runs<'a>,
    examples: &'a [Tried],
}

impl Figures for FiguresOf<'_> {
    fn figure(&self, key: RunKey, metric: usize) -> Option<Sample> {
        let found = self.runs.found(key)?;
        let base = found.figures[metric];
        if !base.is_finite() {
            return None;
        }
        let replicas = self.runs.replicas(key);
        let spread = match replicas {
            _ if found.queue_grew || grew(replicas) > 0 => Spread::Overloaded,
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
        self.examples[number].holds()
    }
}

impl Results {
    /// Runs everything and judges it.
    pub(crate) fn new(
        study: &Study,
        Compiled { published, asked, tables }: &Compiled,
        of: &Asked,
        watch: Watch<'_>,
    ) -> Result<Self> {
        let experiment = &study.experiment;
        let examples = experiment.example.iter().map(examples::run);
        let examples = examples.collect::<Result<Vec<_>>>()?;
        let mut runs = Runs::new(study, of.check, watch)?;
        let (wanted, workloads) = {
            let figures = &FiguresOf { study, runs: &runs, examples: &examples };
            let recorder = Recorder::new(figures);
            let evaluator = Evaluator::new(&study.names, &recorder);
            let all = published.iter().chain(asked).filter(|one| one.is_judged());
            for (expr, scope) in all.flat_map(statements::Compiled::expressions) {
                evaluator.evaluate(expr, scope);
            }
            recorder.wanted()
        };
        if experiment.replicas > 0 {
            runs.replicate(study, &wanted, &workloads)?;
        }
        let figures = &FiguresOf { study, runs: &runs, examples: &examples };
        let is_cut = study.is_limited && runs.last_for_a_time();
        let judge = |all: &[statements::Compiled]| -> Vec<Answer> {
            all.iter().map(|one| one.judge(study, figures, is_cut)).collect()
        };
        let (published, asked) = (judge(published), judge(asked));
        let tables: Vec<Filled> =
            tables.iter().flat_map(|table| table.filled(study, figures)).collect();
        let mut results = Self {
            name: study.name.clone(),
            title: experiment.title.clone(),
            source: experiment.source.clone(),
            notes: experiment.notes.clone(),
            workloads: workloads_of(study),
            ran: ran(study, of),
            sizes: experiment.sizes.as_ref().map(sizes::tables),
            faults: faults::table(study, &runs),
            errata: experiment.erratum.clone(),
            remark: runs.remark(study),
            object: Value::Null,
            examples,
            tables,
            published,
            asked,
        };
        results.object = results.data(study, &runs, of);
        Ok(results)
    }

    fn data(&self, study: &Study, runs: &Runs<'_>, of: &Asked) -> Value {
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
        let errata = self.errata.iter().map(
            |erratum| json!({"text": erratum.text, "problem": erratum.problem, "here": erratum.here}),
        );
        let answers =
            |all: &[Answer]| -> Value { all.iter().map(|answer| answer.object.clone()).collect() };
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
            "traces": of.traces.as_ref().map(|dir| dir.display().to_string()),
            "traces_missing": study.missing,
            "trace_notes": runs.notes(study),
            "groups": groups.collect::<Vec<_>>(),
            "runs": objects_of_runs(study, runs),
            "tables": self.tables.iter().map(Filled::object).collect::<Vec<_>>(),
            "sizes": experiment.sizes.as_ref().map(sizes::object),
            "faults": faults::objects(study, runs),
            "examples": examples::objects(&self.examples),
            "published": answers(&self.published),
            "asked": answers(&self.asked),
            "errata": errata.collect::<Vec<_>>(),
        })
    }
}

/// In how many replicas the queue grew.
fn grew(replicas: Option<&[Found]>) -> usize {
    replicas.unwrap_or_default().iter().filter(|one| one.queue_grew).count()
}

fn workloads_of(study: &Study) -> &'static str {
    if study.sources.iter().any(Source::is_real) {
        "recorded traces where --traces has them"
    } else if study.experiment.group.iter().any(Group::has_traces) {
        "generated workloads: the recorded traces of the study are not there (--traces DIR)"
    } else {
        "generated workloads"
    }
}

/// What was run.
fn ran(study: &Study, of: &Asked) -> String {
    let devices = study.devices.iter().map(|device| {
        if device.name == device.preset {
            device.name.clone()
        } else {
            format!("{} (from {})", device.name, device.preset)
        }
    });
    let devices = devices.collect::<Vec<_>>().join(", ");
    let mut text = format!("Devices: {devices}. Workloads: ");
    text += &match &of.traces {
        Some(dir) => format!("the traces in {}", dir.display()),
        None => "generated; with --traces DIR the recorded ones".to_string(),
    };
    if !study.missing.is_empty() {
        text += &format!("; missing there: {}", study.missing.join(", "));
    }
    let experiment = &study.experiment;
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

fn objects_of_runs(study: &Study, runs: &Runs<'_>) -> Value {
    let names = &study.names;
    let mut all = Vec::new();
    for (grid, row) in names.grids.iter().enumerate() {
        for (point, point_name) in row.points.iter().enumerate() {
            for &subject in &row.subjects {
                for &workload in &row.workloads {
                    let key = RunKey { grid, point, subject, workload };
                    let Some(found) = runs.found(key) else { continue };
                    let figures = METRICS.iter().zip(&found.figures);
                    let figures: Map<String, Value> = figures
                        .map(|(metric, value)| (metric.name.to_string(), json!(value)))
                        .collect();
                    let mut run = json!({
                        "grid": row.name,
                        "point": point_name,
                        "device": study.devices[row.device].name,
                        "subject": names.subjects[subject],
                        "workload": names.workloads[workload],
                        "queue_grew": found.queue_grew,
                        "replicas": runs.replicas(key).map_or(0, <[_]>::len),
                        "replicas_grew": grew(runs.replicas(key)),
                        "figures": figures,
                    });
                    if let Some(made) = &found.made {
                        run["cuts"] = faults::figures(made);
                    }
                    all.push(run);
                }
            }
        }
    }
    all.into()
}

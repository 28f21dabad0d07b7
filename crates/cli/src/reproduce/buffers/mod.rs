//! What the studies of a buffer and of the host policy before it share: an experiment file of
//! policies, workloads and sweeps; the runs; tables of ratios.

pub(super) mod examples;
pub(super) mod experiment;
pub(super) mod figures;
pub(super) mod results;
pub(super) mod tables;

use crate::args::ReproduceArgs;
use crate::output::{print, table};
use anyhow::Result;
use examples::{Figure, Found};
use flashyard_sim::own::OwnParts;
use results::Results;
use serde_json::{Value, json};

/// How far a published share may be off and still hold.
pub(super) const TOLERANCE: f64 = 0.05;

/// What the runs show of every statement.
type Judge = fn(&Results, &[Figure], &[Vec<Found>]) -> Vec<Judged>;

/// One of the studies.
pub(super) struct Study {
    pub(super) name: &'static str,
    /// Its experiment file.
    pub(super) file: &'static str,
    pub(super) judge: Judge,
    /// The text of the results, with that of the worked examples.
    pub(super) text: fn(&Results, &ReproduceArgs, &str, &[Judged]) -> String,
}

/// Runs a study and prints it.
pub(super) fn run(study: &Study, args: &ReproduceArgs, own: OwnParts) -> Result<()> {
    let results = Results::new(study.file, args, own)?;
    let figures = &results.experiment.figure;
    let found = figures.iter().map(Figure::found).collect::<Result<Vec<_>>>()?;
    let judged = (study.judge)(&results, figures, &found);
    if args.json {
        let mut object = results.object(args);
        object.insert("study".to_string(), json!(study.name));
        object.insert("figures".to_string(), examples::object(figures, &found));
        let judged = judged.iter().map(Judged::object).collect::<Vec<_>>();
        object.insert("published".to_string(), judged.into());
        return print(&serde_json::to_string_pretty(&Value::Object(object))?);
    }
    print(&(study.text)(&results, args, &examples::text(figures, &found), &judged))
}

/// A statement of a publication and what the runs show of it.
pub(super) struct Judged {
    pub(super) statement: String,
    pub(super) form: String,
    pub(super) found: String,
    pub(super) holds: bool,
}

impl Judged {
    pub(super) fn object(&self) -> Value {
        let Self { statement, form, found, holds } = self;
        json!({"statement": statement, "form": form, "found": found, "holds": holds})
    }
}

/// The table of all statements.
pub(super) fn judged_table(all: &[Judged]) -> String {
    let mut table = table::table(&["the paper states", "as", "holds", "found here"]);
    for index in [1, 2, 3] {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(comfy_table::CellAlignment::Left);
        }
    }
    for one in all {
        let holds = if one.holds { "yes" } else { "no" };
        table.add_row(vec![&one.statement, &one.form, holds, &one.found]);
    }
    table::render(&table)
}

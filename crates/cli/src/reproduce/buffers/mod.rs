//! What the studies of a buffer and of the host policy before it share: an experiment file of
//! policies, workloads and sweeps; the runs; tables of ratios.

pub(super) mod examples;
pub(super) mod experiment;
pub(super) mod figures;
pub(super) mod results;
pub(super) mod tables;

use crate::output::table;
use serde_json::{Value, json};

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

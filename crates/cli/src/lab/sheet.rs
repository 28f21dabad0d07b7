//! Sheets of labs: the pages of `docs/labs`, whose one source is here.

use crate::args::lab::Lab;
use crate::output::text::{columns, without_links};

impl Lab {
    /// The sheet as Markdown.
    const fn sheet(self) -> &'static str {
        match self {
            Self::GcRule => include_str!("../../labs/gc-rule.md"),
            Self::SlowTail => include_str!("../../labs/slow-tail.md"),
            Self::SpareSpace => include_str!("../../labs/spare-space.md"),
        }
    }
}

/// The names of all labs, and what to do with them.
pub(super) fn list() -> String {
    let title = |lab: Lab| lab.sheet().lines().next().unwrap_or("").trim_start_matches("# ");
    let rows = (1..)
        .zip(Lab::ALL)
        .map(|(number, lab)| (format!("{number}  {}", lab.name()), title(lab).to_string()));
    let rows: Vec<_> = rows.collect();
    let verbs = [
        ("flashyard lab show NAME", "prints the sheet"),
        ("flashyard lab start NAME --seed N", "writes the files to work with"),
        ("flashyard lab check NAME ANSWER", "judges an answer"),
    ];
    let verbs = verbs.map(|(name, what)| (name.to_string(), what.to_string()));
    columns("labs", &rows) + "\n" + &columns("commands", &verbs)
}

/// A sheet for a terminal: links as their words.
pub(super) fn text(lab: Lab) -> String {
    without_links(lab.sheet())
}

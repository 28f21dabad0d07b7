//! The verdict on a run as lines with what matters marked (`run`), and on several with a table
//! (`compare`).

use super::style;
use super::table::{render, table};
use super::text::{line, marked_line};
use flashyard_run::plan::Plan;
use flashyard_run::verdict::{OfSeveral, unmarked, warnings};
use flashyard_sim::report::Report;

/// What a line of the verdict begins with.
const NAME: &str = "verdict";

/// The verdict on one run: a marked line for each warning, then the rest as a sentence.
pub(crate) fn of_one(inputs: &Plan, report: &Report) -> String {
    lines(&warnings(inputs, report), &unmarked(inputs, report))
}

/// The verdict on several runs with these labels: warnings first, what holds for all runs, the
/// table of what differs.
pub(crate) fn text(labels: &[String], found: &OfSeveral) -> String {
    let mut text = lines(&found.warnings, &found.alike);
    if !found.header.is_empty() {
        let header: Vec<&str> = std::iter::once("").chain(found.header.iter().copied()).collect();
        let mut table = table(&header);
        for (label, cells) in labels.iter().zip(&found.rows) {
            table.add_row(std::iter::once(label).chain(cells).cloned().collect::<Vec<_>>());
        }
        text += &format!("\n{}", render(&table));
    }
    text
}

/// Marked lines first, then what else is said.
fn lines(marked: &[String], rest: &str) -> String {
    let mut names = std::iter::once(NAME).chain(std::iter::repeat(""));
    let mut name = || names.next().expect("it goes on");
    let mut all: Vec<String> =
        marked.iter().map(|said| style::marked(&marked_line(name(), "! ", said))).collect();
    if !rest.is_empty() {
        all.push(line(name(), rest));
    }
    all.into_iter().map(|line| line + "\n").collect()
}

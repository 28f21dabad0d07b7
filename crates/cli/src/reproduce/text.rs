//! The results of a study as text.

use crate::output::table::{render, shown, table};
use crate::output::text::{WIDTH, wrapped};
use flashyard_studies::{Answer, Faults, Filled, Results, SizeTables, Tried, counts};
use std::ops::Range;

/// Columns of text that the names of rows take at most.
const NAMES: usize = 38;

/// Columns of the verdict before each statement.
const WORDS: usize = 20;

/// The short form: verdicts alone.
pub(super) fn short(results: &Results) -> String {
    let what = format!("{}: {}", results.name, results.title);
    format!("{}\n  {}\n", wrapped(&what, WIDTH, "  "), results.workloads)
        + &verdicts("published", &results.published)
        + &verdicts("asked", &results.asked)
        + "\n"
}

/// Everything.
pub(super) fn full(results: &Results) -> String {
    let mut text = String::new();
    for line in [&results.title, &results.source, &results.notes] {
        text += &format!("{}\n", wrapped(line, WIDTH, ""));
    }
    text += &format!("\n{}\n", wrapped(&results.ran, WIDTH, ""));
    results.examples.iter().for_each(|example| text += &tried(example));
    results.tables.iter().for_each(|table| text += &filled(table));
    text += &results.sizes.as_ref().map_or_else(String::new, sizes);
    text += &results.faults.as_ref().map_or_else(String::new, faults);
    text += &statements("What is published", &results.published);
    text += &statements("What is asked here, and nobody published", &results.asked);
    if !results.errata.is_empty() {
        text +=
            "\nWhere the paper contradicts itself or cannot be right (its own words in quotes)\n";
    }
    for erratum in &results.errata {
        let line = format!("  {}: {}. Here: {}.", erratum.text, erratum.problem, erratum.here);
        text += &format!("{}\n", wrapped(&line, WIDTH, "    "));
    }
    text
}

/// What an example says and what was found.
fn tried(example: &Tried) -> String {
    let origin = if example.published { "published" } else { "worked out by hand" };
    let requests = example.requests.join(" ");
    let line = format!("{} ({origin}): {}", example.name, example.note);
    let mut text = format!("\n{}\n", wrapped(&line, WIDTH, ""));
    text += &format!("{}\n", wrapped(&format!("  requests: {requests}"), WIDTH, "    "));
    for (name, checked) in &example.runs {
        for one in checked {
            let verdict = if one.holds() { "as expected" } else { "NOT as expected" };
            let mut line = format!("  {name}: {} {}: {verdict}", one.what, one.found);
            if !one.holds() {
                line += &format!(", which is {}", one.expected);
            }
            text += &format!("{}\n", wrapped(&line, WIDTH, "      "));
        }
    }
    text
}

/// A table: blocks of columns that fit, below one another.
fn filled(all: &Filled) -> String {
    if all.rows.is_empty() {
        return String::new();
    }
    let mut text = format!("\n{}\n", wrapped(&all.title, WIDTH, ""));
    let names = all.rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0).min(NAMES);
    let mut from = 0;
    while from < all.columns.len() {
        let mut used = names + 2;
        let mut to = from;
        while to < all.columns.len() && (to == from || used + width(all, to) <= WIDTH) {
            used += width(all, to);
            to += 1;
        }
        text += &block(all, from..to);
        from = to;
    }
    for note in all.notes() {
        text += &format!("{}\n", wrapped(&note, WIDTH, ""));
    }
    text
}

fn width(all: &Filled, column: usize) -> usize {
    let header = header(&all.columns[column].0);
    let header = header.lines().map(str::len).max().unwrap_or(0);
    let cells = (0..all.rows.len()).map(|row| all.cell(row, column).chars().count());
    cells.max().unwrap_or(0).max(header) + 2
}

fn block(all: &Filled, columns: Range<usize>) -> String {
    let titles = columns.clone().map(|column| header(&all.columns[column].0));
    let titles: Vec<String> = [String::new()].into_iter().chain(titles).collect();
    let mut table = table(&titles.iter().map(String::as_str).collect::<Vec<_>>());
    for (row, (name, _)) in all.rows.iter().enumerate() {
        let indent = &name[..name.len() - name.trim_start().len()];
        let name = wrapped(name, NAMES - indent.len() - 4, "    ");
        let name = format!("{indent}{}", name.replace('\n', &format!("\n{indent}")));
        let cells = columns.clone().map(|column| all.cell(row, column));
        table.add_row([name].into_iter().chain(cells).collect::<Vec<_>>());
    }
    render(&table).replace('\u{a0}', " ")
}

/// A title of a column in lines of about twelve letters.
fn header(title: &str) -> String {
    wrapped(title, 12, "")
}

fn sizes(SizeTables { tables: [bytes, power], note }: &SizeTables) -> String {
    let (bytes, power) = (shown(bytes), shown(power));
    let note = wrapped(note, WIDTH, "");
    format!("\nTables by formula (figure 7), bytes\n{bytes}\n{power}{note}\n")
}

/// The faults that are planted: a heading and lines each, since their cells are sentences.
fn faults(faults: &Faults) -> String {
    let mut text = format!("\n{}\n", wrapped(faults.title, WIDTH, ""));
    for row in &faults.rows {
        text += &format!("  {}\n", row[0]);
        for (column, cell) in faults.columns.iter().zip(row).skip(1) {
            let line = wrapped(&format!("{column}: {cell}"), WIDTH - 4, "      ");
            text += &format!("    {line}\n");
        }
    }
    text + &format!("{}\n", wrapped(faults.note, WIDTH, ""))
}

/// Lists the statements, each with its verdict, its text and what was found.
fn statements(title: &str, answers: &[Answer]) -> String {
    if answers.is_empty() {
        return String::new();
    }
    let mut text =
        format!("\n{}\n", wrapped(&format!("{title}: {}", counts(answers)), WIDTH, "  "));
    let mut about = "";
    for answer in answers {
        if answer.about != about {
            about = &answer.about;
            text += &format!("\n{}\n", wrapped(&answer.heading, WIDTH, "  "));
        }
        let mut lines = vec![answer.text.clone()];
        if !answer.found.is_empty() {
            lines.push(format!("found: {}", answer.found));
        }
        lines.extend(answer.parts.iter().map(|part| format!("- {}", part.text())));
        let indent = " ".repeat(WORDS);
        let lines = lines.iter().map(|line| {
            let wrapped = wrapped(line, WIDTH - WORDS, "  ");
            format!("{indent}{}\n", wrapped.replace('\n', &format!("\n{indent}")))
        });
        let lines: String = lines.collect();
        text += &format!("  {:<1$}", answer.verdict.word(), WORDS - 2);
        text += &lines[WORDS..];
    }
    text
}

/// The verdicts alone, a line each, cut to the width of a screen.
fn verdicts(title: &str, answers: &[Answer]) -> String {
    if answers.is_empty() {
        return String::new();
    }
    let mut text = format!("{}\n", wrapped(&format!("{title}: {}", counts(answers)), WIDTH, "  "));
    for answer in answers {
        let line = format!("  {:<2$}{}", answer.verdict.word(), answer.text, WORDS - 2);
        let line: String = line.chars().take(WIDTH).collect();
        text += &format!("{}\n", line.trim_end());
    }
    text
}

//! Tables for people, of a width that fits any terminal.

use super::text::{WIDTH, wrapped};
use comfy_table::{CellAlignment, Row, Table, presets};
use flashyard_run::units::Table as Figures;
use std::fmt::Write;

/// Columns between two columns.
const GAP: usize = 2;

/// The least width of names. They are wrapped if the figures beside them need the room.
const NAMES: usize = 24;

/// A table without lines, the first column to the left, the others to the right.
pub(crate) fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(header.to_vec());
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        column.set_cell_alignment(if index == 0 {
            CellAlignment::Left
        } else {
            CellAlignment::Right
        });
    }
    table
}

/// A table of a library.
pub(crate) fn shown(figures: &Figures) -> String {
    let mut table = table(&figures.header.iter().map(String::as_str).collect::<Vec<_>>());
    table.add_rows(&figures.rows);
    render(&table)
}

/// A finished table without the spaces at the ends of its lines. Columns that are too many follow
/// below, behind the first column again.
pub(crate) fn render(table: &Table) -> String {
    render_groups(table, 1)
}

/// As `render`, but groups of so many columns behind the first one stay together.
pub(crate) fn render_groups(table: &Table, group: usize) -> String {
    let widths: Vec<usize> =
        table.column_max_content_widths().into_iter().map(usize::from).collect();
    let Some((&names, figures)) = widths.split_first() else { return String::new() };
    if widths.iter().sum::<usize>() + GAP * figures.len() <= WIDTH {
        return trimmed(table);
    }
    let group_width = |group: &[usize]| group.iter().map(|width| width + GAP).sum::<usize>();
    let widest = figures.chunks(group).map(group_width).max().unwrap_or(0);
    let names = names.min(WIDTH.saturating_sub(widest).max(NAMES));
    let mut blocks: Vec<std::ops::Range<usize>> = Vec::new();
    let mut used = 0;
    for (number, widths) in figures.chunks(group).enumerate() {
        let from = 1 + number * group;
        let width = group_width(widths);
        match blocks.last_mut() {
            Some(block) if used + width <= WIDTH => block.end = from + widths.len(),
            _ => {
                blocks.push(from..from + widths.len());
                used = names;
            }
        }
        used += width;
    }
    let blocks = blocks.into_iter().map(|columns| block(table, names, columns));
    blocks.collect::<Vec<_>>().join("\n")
}

/// The first column with some of the others.
fn block(whole: &Table, names: usize, columns: std::ops::Range<usize>) -> String {
    let part = |row: &Row| -> Vec<String> {
        let cells: Vec<String> = row.cell_iter().map(comfy_table::Cell::content).collect();
        let name = cells.first().map_or_else(String::new, |name| narrowed(name, names));
        let figures = columns.clone().map(|column| cells.get(column).cloned().unwrap_or_default());
        [name].into_iter().chain(figures).collect()
    };
    let header = whole.header().map_or_else(Vec::new, part);
    let mut table = table(&header.iter().map(String::as_str).collect::<Vec<_>>());
    for row in whole.row_iter() {
        table.add_row(part(row));
    }
    trimmed(&table)
}

/// The lines of a table without the spaces at their ends, however wide.
pub(crate) fn trimmed(table: &Table) -> String {
    table.lines().fold(String::new(), |mut text, line| {
        let _ = writeln!(text, "{}", line.trim_end());
        text
    })
}

/// A name in lines of at most so many columns.
fn narrowed(name: &str, width: usize) -> String {
    if name.chars().count() <= width { name.to_string() } else { wrapped(name, width, "  ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wide_table_goes_on_below() {
        let header: Vec<String> = (0..31).map(|column| format!("column {column}")).collect();
        let mut wide = table(&header.iter().map(String::as_str).collect::<Vec<_>>());
        wide.add_row((0..31).map(|column| (column * 1_000).to_string()).collect::<Vec<_>>());
        for group in [1, 3] {
            let text = render_groups(&wide, group);
            assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
            let words: Vec<&str> = text.split_whitespace().collect();
            for column in 1..31 {
                let figure = (column * 1_000).to_string();
                assert_eq!(words.iter().filter(|word| **word == figure).count(), 1, "{text}");
            }
            let blocks: Vec<&str> = text.split("\n\n").collect();
            assert!(blocks.len() > 1);
            for block in blocks {
                let columns = block.lines().next().unwrap().matches("column").count();
                assert!(block.starts_with("column 0") && columns % group == 1 % group, "{text}");
            }
        }
    }

    #[test]
    fn a_long_name_is_wrapped() {
        let mut table = table(&["", "figure"]);
        table.add_row(vec!["a name ".repeat(30), "1".to_string()]);
        let text = render(&table);
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        assert!(text.lines().count() > 3, "{text}");
    }
}

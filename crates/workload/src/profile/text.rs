//! A profile as the text of a workload file.

use std::fmt::Write;

use super::tables::Profile;

/// Columns that a row of numbers is broken at.
const COLUMNS: usize = 100;

impl Profile {
    /// The section `[profile.fitted]` of a workload file.
    pub fn to_toml(&self) -> String {
        let mut text = String::from("[profile.fitted]\n");
        let mut line = |name: &str, value: &str| {
            writeln!(text, "{name} = {value}").expect("writing to a string cannot fail");
        };
        line("version", &self.version.to_string());
        line("span_sectors", &self.span_sectors.to_string());
        line("first", &self.first.to_string());
        line("gap_bounds_ns", &list(&self.gap_bounds_ns));
        line("size_bounds", &list(&self.size_bounds));
        line("load_bounds_ns", &list(&self.load_bounds_ns));
        line("symbols", &rows(self.symbols.iter().map(|row| list(row))));
        for table in &self.gaps {
            text += &format!("\n[[profile.fitted.gaps]]\nclass = {}\n", table.class);
            text += &format!("bounds_ns = {}\n", list(&table.bounds_ns));
        }
        for table in &self.sizes {
            text += &format!("\n[[profile.fitted.sizes]]\nop = {}\n", table.op);
            text += &format!("sectors = {}\n", pairs(&table.sectors));
        }
        for table in &self.places {
            text += "\n[[profile.fitted.places]]\n";
            text += &format!("op = {}\nkind = {}\n", table.op, table.kind);
            for (name, cards) in
                [("ranks", &table.ranks), ("pages", &table.pages), ("sectors", &table.sectors)]
            {
                if !cards.is_empty() {
                    text += &format!("{name} = {}\n", pairs(cards));
                }
            }
        }
        for phase in &self.phase {
            let segments = phase.segments.iter().map(|row| list(&Vec::from(row.clone())));
            text += "\n[[profile.fitted.phase]]\n";
            text += &format!("segments = {}\n", rows(segments));
            text += &format!("moves = {}\n", rows(phase.moves.iter().map(|row| list(row))));
        }
        text
    }
}

fn list(numbers: &[u64]) -> String {
    let numbers: Vec<String> = numbers.iter().map(u64::to_string).collect();
    format!("[{}]", numbers.join(","))
}

fn pairs(cards: &[[u64; 2]]) -> String {
    rows(cards.iter().map(|card| list(card)))
}

/// Rows of numbers, as many on a line as fit.
fn rows(rows: impl Iterator<Item = String>) -> String {
    let mut text = String::from("[\n");
    let mut columns = 0;
    for row in rows {
        if columns > 0 && columns + row.len() >= COLUMNS {
            text.push('\n');
            columns = 0;
        }
        columns += row.len() + 1;
        text += &row;
        text.push(',');
    }
    text += if columns > 0 { "\n]" } else { "]" };
    text
}

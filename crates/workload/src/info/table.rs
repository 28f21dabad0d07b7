//! The statistics as text.

use std::fmt::Write;

use super::Info;

impl Info {
    /// A table of two columns, a line a figure; `-` where a figure is not defined.
    pub fn table(&self) -> String {
        let figures = self.figures();
        render(&figures.iter().map(|figure| (figure.label(), figure.text())).collect::<Vec<_>>())
    }
}

fn render(rows: &[(String, String)]) -> String {
    let left = rows.iter().map(|row| row.0.len()).max().unwrap_or(0);
    let right = rows.iter().map(|row| row.1.len()).max().unwrap_or(0);
    rows.iter().fold(String::new(), |mut text, (name, value)| {
        writeln!(text, "{name:left$}  {value:>right$}").expect("writing to a string cannot fail");
        text
    })
}

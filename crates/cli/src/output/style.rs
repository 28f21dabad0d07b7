//! Colours. Only a terminal shows them.

use anstyle::{AnsiColor, Style};

/// A line that matters.
pub(crate) fn marked(line: &str) -> String {
    let style = Style::new().fg_color(Some(AnsiColor::Yellow.into()));
    format!("{style}{line}{style:#}")
}

/// What [`marked`] puts around a line.
pub(crate) const COLOURS: [&str; 2] = ["\u{1b}[33m", "\u{1b}[0m"];

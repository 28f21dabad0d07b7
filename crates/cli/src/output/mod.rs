//! Printing and writing results.

pub(crate) mod columnar;
pub(crate) mod cuts;
pub(crate) mod log;
pub(crate) mod names;
pub(crate) mod parquet;
pub(crate) mod series;
pub(crate) mod state;
mod style;
pub(crate) mod summary;
pub(crate) mod table;
pub(crate) mod text;
pub(crate) mod timeline;
pub(crate) mod unfinished;
pub(crate) mod verdict;
mod whole_file;

use anyhow::{Context, Result};
use serde_json::Value;
use std::fmt::Display;
use std::io::{ErrorKind, Write};
pub(crate) use whole_file::WholeFile;

/// Prints a finished text to standard output, with colour only on a terminal and where `NO_COLOR`
/// does not forbid it. A reader that has gone away is no failure.
pub(crate) fn print(text: &str) -> Result<()> {
    let text = &text::harmless(text);
    let newline = if text.ends_with('\n') { "" } else { "\n" };
    let write = |output: &mut dyn Write| {
        output.write_all(text.as_bytes())?;
        output.write_all(newline.as_bytes())?;
        output.flush()
    };
    let mut output = std::io::stdout().lock();
    // The search for colours that a file must not have takes a while in megabytes of JSON.
    let has_colours = text.contains('\u{1b}');
    let printed = if has_colours {
        write(&mut anstream::AutoStream::auto(output))
    } else {
        write(&mut output)
    };
    match printed {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(error).context("the results cannot be printed")
        }
        _ => Ok(()),
    }
}

/// Prints a value as JSON.
pub(crate) fn print_json(value: &Value) -> Result<()> {
    print(&serde_json::to_string_pretty(value)?)
}

/// Prints a remark that is no result to standard error, if anybody listens.
pub(crate) fn remark(text: &str) {
    let _ = writeln!(std::io::stderr(), "{}", text::harmless(text));
}

/// Prints a note on what was asked for, as a remark.
pub(crate) fn note(what: impl Display) {
    remark(&format!("note: {what}"));
}

//! Printing and writing results.

pub(crate) mod bus;
pub(crate) mod commands;
pub(crate) mod json;
pub(crate) mod log;
pub(crate) mod parquet;
pub(crate) mod power;
pub(crate) mod series;
pub(crate) mod state;
pub(crate) mod table;
pub(crate) mod text;
pub(crate) mod unfinished;
pub(crate) mod verdict;
mod whole_file;

use anyhow::{Context, Result};
use std::io::{ErrorKind, Write};
pub(crate) use whole_file::WholeFile;

/// Prints a finished text to standard output. A reader that has gone away is no failure.
pub(crate) fn print(text: &str) -> Result<()> {
    let mut output = std::io::stdout().lock();
    let newline = if text.ends_with('\n') { "" } else { "\n" };
    let printed = output
        .write_all(text.as_bytes())
        .and_then(|()| output.write_all(newline.as_bytes()))
        .and_then(|()| output.flush());
    match printed {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(error).context("the results cannot be printed")
        }
        _ => Ok(()),
    }
}

/// Prints a remark that is no result to standard error, if anybody listens.
pub(crate) fn remark(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

//! Printing and writing results.

pub(crate) mod commands;
pub(crate) mod json;
pub(crate) mod parquet;
pub(crate) mod table;

use anyhow::{Context, Result};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// Prints a finished text to standard output.
#[expect(clippy::print_stdout, reason = "the one place that prints results")]
pub(crate) fn print(text: &str) {
    print!("{text}");
    if !text.ends_with('\n') {
        println!();
    }
}

/// Prints a remark that is no result to standard error.
#[expect(clippy::print_stderr, reason = "the one place that prints remarks")]
pub(crate) fn remark(text: &str) {
    eprintln!("{text}");
}

/// A file that appears under its name only when it is complete.
#[derive(Debug)]
pub(crate) struct WholeFile {
    writer: BufWriter<NamedTempFile>,
    path: PathBuf,
}

impl WholeFile {
    /// Opens a temporary file in the directory of `path`.
    pub(crate) fn create(path: &Path) -> Result<Self> {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let parent = parent.unwrap_or_else(|| Path::new("."));
        let file = NamedTempFile::new_in(parent)
            .with_context(|| format!("{}: cannot be written", path.display()))?;
        Ok(Self { writer: BufWriter::new(file), path: path.to_path_buf() })
    }

    /// Gives the file its name.
    pub(crate) fn finish(self) -> Result<()> {
        let say = || format!("{}: cannot be written", self.path.display());
        let file = self
            .writer
            .into_inner()
            .map_err(std::io::IntoInnerError::into_error)
            .with_context(say)?;
        file.persist(&self.path).with_context(say)?;
        Ok(())
    }
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.writer.flush()
    }
}

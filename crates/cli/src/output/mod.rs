//! Printing and writing results.

pub(crate) mod commands;
pub(crate) mod json;
pub(crate) mod parquet;
pub(crate) mod series;
pub(crate) mod state;
pub(crate) mod table;
pub(crate) mod verdict;

use crate::inputs::wrong;
use anyhow::{Context, Result};
use std::io::{BufWriter, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

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

/// A file that appears under its name only when it is complete.
#[derive(Debug)]
pub(crate) struct WholeFile {
    writer: BufWriter<NamedTempFile>,
    path: PathBuf,
}

impl WholeFile {
    /// Opens a temporary file in the directory of `path`. It will take the place of a file there,
    /// and must not take that of a device, a pipe or a directory.
    pub(crate) fn create(path: &Path) -> Result<Self> {
        if std::fs::metadata(path).is_ok_and(|data| !data.is_file()) {
            return Err(wrong(&format!(
                "{}: it is there and is no file; name a file to write",
                path.display()
            )));
        }
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let parent = parent.unwrap_or_else(|| Path::new("."));
        let file = new_file()
            .tempfile_in(parent)
            .with_context(|| format!("{}: cannot be written", path.display()))?;
        Ok(Self { writer: BufWriter::new(file), path: path.to_path_buf() })
    }

    /// Puts other bytes in the place of the first ones.
    pub(crate) fn overwrite_start(&mut self, bytes: &[u8]) -> Result<()> {
        let say = || format!("{}: cannot be written", self.path.display());
        self.writer.seek(SeekFrom::Start(0)).with_context(say)?;
        self.writer.write_all(bytes).with_context(say)
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

/// A temporary file that ends up with the rights of any new file.
fn new_file() -> tempfile::Builder<'static, 'static> {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "only Unix has modes"))]
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.writer.flush()
    }
}

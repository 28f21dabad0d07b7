//! Logs: a row an event, which an observer writes and the owner of the log finishes. The name of
//! the file says whether it is CSV or Parquet; both have the same rows.

use super::WholeFile;
use super::parquet::{Cell, Field, Note, Table, is_parquet};
use anyhow::{Context, Result};
use flashyard_run::logs::{self, Rows};
use flashyard_sim::observe::{Observer, Shared};
use std::io::Write;
use std::path::Path;

/// A log that an observer writes and its owner finishes.
pub(crate) type SharedLog = Shared<Log>;

/// What a log is of.
pub(crate) type Kind = logs::Log<Log>;

/// A file of rows.
#[derive(Debug)]
pub(crate) struct Log {
    what: &'static str,
    sink: Option<Sink>,
    error: Option<anyhow::Error>,
}

#[derive(Debug)]
enum Sink {
    Csv(WholeFile),
    Parquet(Box<Table>),
}

impl Sink {
    fn new(path: &Path, fields: &[Field]) -> Result<Self> {
        if is_parquet(path) {
            return Ok(Self::Parquet(Box::new(Table::new(path, fields)?)));
        }
        let mut file = WholeFile::create(path)?;
        let names: Vec<&str> = fields.iter().map(|field| &*field.name).collect();
        writeln!(file, "{}", names.join(","))?;
        Ok(Self::Csv(file))
    }

    /// The file, whose name it has yet to get. Metadata are for a file that has some.
    fn file(self, notes: &[Note]) -> Result<WholeFile> {
        match self {
            Self::Csv(file) => Ok(file),
            Self::Parquet(table) => table.finish(notes),
        }
    }

    fn push<'a>(&mut self, cells: impl IntoIterator<Item = Cell<'a>>) -> Result<()> {
        match self {
            Self::Csv(file) => Ok(write_csv(file, cells)?),
            Self::Parquet(table) => table.push(cells),
        }
    }
}

/// A row; what is not defined is an empty cell.
fn write_csv<'a>(
    file: &mut WholeFile,
    cells: impl IntoIterator<Item = Cell<'a>>,
) -> std::io::Result<()> {
    for (place, cell) in cells.into_iter().enumerate() {
        if place > 0 {
            file.write_all(b",")?;
        }
        write!(file, "{cell}")?;
    }
    file.write_all(b"\n")
}

/// Rows that are there already as a file at `path`, whose name it has yet to get.
pub(crate) fn file<'a, R: IntoIterator<Item = Cell<'a>>>(
    path: &Path,
    fields: &[Field],
    rows: impl IntoIterator<Item = R>,
    notes: &[Note],
) -> Result<WholeFile> {
    let say = || format!("{}: cannot be written", path.display());
    let mut sink = Sink::new(path, fields)?;
    for row in rows {
        sink.push(row).with_context(say)?;
    }
    sink.file(notes).with_context(say)
}

/// Opens a log into the file at `path`: what writes it, and its owner's end.
pub(crate) fn open(kind: &Kind, path: &Path) -> Result<(Box<dyn Observer>, SharedLog)> {
    let sink = Some(Sink::new(path, &(kind.fields)())?);
    let log = Shared::new(Log { what: kind.what, sink, error: None });
    Ok(((kind.observer)(log.clone()), log))
}

impl Rows for Log {
    /// Writes a row, unless one could not be written before.
    fn row<'a>(&mut self, cells: impl IntoIterator<Item = Cell<'a>>) {
        if let (None, Some(sink)) = (&self.error, &mut self.sink) {
            self.error = sink.push(cells).err();
        }
    }
}

impl Log {
    /// Gives the file its name, or says why it could not be written. Metadata are for a file that
    /// has some.
    pub(crate) fn finish(&mut self, notes: &[Note]) -> Result<()> {
        let say = || format!("{} cannot be written", self.what);
        if let Some(error) = self.error.take() {
            return Err(error.context(say()));
        }
        let Some(sink) = self.sink.take() else { return Ok(()) };
        sink.file(notes).with_context(say)?.finish()
    }
}

//! A finished table as Parquet or as CSV: columns of texts and numbers, any of them with gaps.

use super::WholeFile;
use super::parquet::{Cell, Field, Kind, Note, Table};
use anyhow::{Context, Result};
use rayon::prelude::*;
use std::path::Path;

/// Rows whose texts are made side by side.
const ROWS: usize = 256;

/// The cells of a column.
pub(crate) enum Cells<'a> {
    Text(Vec<Option<String>>),
    Count(Vec<Option<u64>>),
    Number(Vec<Option<f64>>),
    /// So many texts that would take much memory together: each is made when its row is written.
    Made(usize, Box<dyn Fn(usize) -> Result<String> + Sync + 'a>),
}

/// A column.
pub(crate) struct Column<'a> {
    field: Field,
    cells: Cells<'a>,
}

impl<'a> Column<'a> {
    /// A column with its name, its unit and its description.
    pub(crate) fn new(name: &str, unit: &str, what: &str, cells: Cells<'a>) -> Self {
        Self { field: Field::owned(name, cells.kind(), unit, what), cells }
    }
}

impl Cells<'_> {
    const fn kind(&self) -> Kind {
        match self {
            Self::Text(_) | Self::Made(..) => Kind::Text,
            Self::Count(_) => Kind::Count,
            Self::Number(_) => Kind::Number,
        }
    }

    /// The text of a row that is made for it.
    fn made(&self, row: usize) -> Result<Option<String>> {
        match self {
            Self::Made(_, make) => make(row).map(Some),
            _ => Ok(None),
        }
    }

    /// A cell, with the text that was made for it.
    fn cell<'a>(&'a self, row: usize, made: Option<&'a str>) -> Cell<'a> {
        match self {
            Self::Text(cells) => cells[row].as_deref().map_or(Cell::Nothing, Cell::Text),
            Self::Made(..) => made.map_or(Cell::Nothing, Cell::Text),
            Self::Count(cells) => cells[row].map_or(Cell::Nothing, Cell::Count),
            Self::Number(cells) => cells[row].map_or(Cell::Nothing, Cell::Number),
        }
    }

    /// A cell of a CSV file. No text of one begins as a formula of a spreadsheet does.
    fn get(&self, row: usize) -> Result<String> {
        let made = self.made(row)?;
        let cell = self.cell(row, made.as_deref());
        let text = cell.to_string();
        let is_formula = matches!(cell, Cell::Text(_))
            && text.starts_with(['=', '+', '-', '@', '\t', '\r'])
            && text.parse::<f64>().is_err();
        Ok(if is_formula { format!("'{text}") } else { text })
    }

    fn len(&self) -> usize {
        match self {
            Self::Text(cells) => cells.len(),
            Self::Count(cells) => cells.len(),
            Self::Number(cells) => cells.len(),
            Self::Made(rows, _) => *rows,
        }
    }
}

/// Writes a Parquet file; it has yet to get its name. `notes` are metadata of the whole.
pub(crate) fn parquet(path: &Path, columns: &[Column<'_>], notes: &[Note]) -> Result<WholeFile> {
    let say = || format!("{}: cannot be written", path.display());
    let fields: Vec<Field> = columns.iter().map(|column| column.field.clone()).collect();
    let mut table = Table::new(path, &fields)?;
    let made = |row| {
        let texts = columns.iter().map(|column| column.cells.made(row));
        Ok((row, texts.collect::<Result<Vec<_>>>()?))
    };
    in_order(columns, made, |(row, made)| {
        let cells = columns.iter().zip(&made);
        let cells = cells.map(|(column, made)| column.cells.cell(row, made.as_deref()));
        table.push(cells).with_context(say)
    })?;
    table.finish(notes).with_context(say)
}

/// Makes something of each row, several rows side by side, and takes it in the order of rows.
fn in_order<T: Send>(
    columns: &[Column<'_>],
    make: impl Fn(usize) -> Result<T> + Sync,
    mut take: impl FnMut(T) -> Result<()>,
) -> Result<()> {
    let rows = columns.first().map_or(0, |column| column.cells.len());
    for first in (0..rows).step_by(ROWS) {
        let some = (first..rows.min(first + ROWS)).into_par_iter();
        let made: Vec<T> = some.map(&make).collect::<Result<_>>()?;
        made.into_iter().try_for_each(&mut take)?;
    }
    Ok(())
}

/// Writes a CSV file with a header, gaps as empty cells; it has yet to get its name.
pub(crate) fn csv(path: &Path, columns: &[Column<'_>]) -> Result<WholeFile> {
    let say = || format!("{}: cannot be written", path.display());
    let mut writer = csv::Writer::from_writer(WholeFile::create(path)?);
    writer.write_record(columns.iter().map(|column| &*column.field.name)).with_context(say)?;
    let cells = |row| columns.iter().map(|column| column.cells.get(row)).collect();
    in_order(columns, cells, |cells: Vec<String>| writer.write_record(cells).with_context(say))?;
    writer.into_inner().map_err(csv::IntoInnerError::into_error).with_context(say)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_becomes_a_formula() {
        let texts = ["=1+1", "@x", "-5", "-x", "plain", ""];
        let cells = Cells::Text(texts.map(|text| Some(text.to_string())).to_vec());
        let found: Vec<String> = (0..texts.len()).map(|row| cells.get(row).unwrap()).collect();
        assert_eq!(found, ["'=1+1", "'@x", "-5", "'-x", "plain", ""]);
    }
}

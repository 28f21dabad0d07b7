//! The writer of Parquet.

use super::{Cell, Field, Kind, Note};
use crate::output::WholeFile;
use anyhow::{Context, Result, ensure};
use parquet::basic::{Compression, LogicalType, Repetition, Type as PhysicalType};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;
use serde_json::{Map, Value};
use std::path::Path;
use std::sync::Arc;

/// Rows of a row group: what is kept in memory before it is written.
const GROUP_ROWS: usize = 65_536;

/// Bytes of texts of a row group, about: a row of a sweep has some thousand.
const GROUP_BYTES: usize = 64 << 20;

/// The column as the schema has it.
fn in_schema(field: &Field) -> Result<Type> {
    let physical = match field.kind {
        Kind::Text => PhysicalType::BYTE_ARRAY,
        Kind::Count | Kind::Word => PhysicalType::INT64,
        Kind::Number => PhysicalType::DOUBLE,
    };
    let repetition = if field.gaps { Repetition::OPTIONAL } else { Repetition::REQUIRED };
    let logical = match field.kind {
        Kind::Text => Some(LogicalType::String),
        Kind::Word => Some(LogicalType::integer(64, false)),
        Kind::Count | Kind::Number => None,
    };
    let column = Type::primitive_type_builder(&field.name, physical);
    Ok(column.with_repetition(repetition).with_logical_type(logical).build()?)
}

/// The cells of a column that are not written yet.
#[derive(Debug)]
enum Values {
    Text(Vec<ByteArray>),
    Count(Vec<i64>),
    Word(Vec<i64>),
    Number(Vec<f64>),
}

#[derive(Debug)]
struct Column {
    values: Values,
    /// Where cells may hold nothing: 1 for each that holds something.
    levels: Option<Vec<i16>>,
}

impl Column {
    fn new(field: &Field) -> Self {
        let values = match field.kind {
            Kind::Text => Values::Text(Vec::new()),
            Kind::Count => Values::Count(Vec::new()),
            Kind::Word => Values::Word(Vec::new()),
            Kind::Number => Values::Number(Vec::new()),
        };
        Self { values, levels: field.gaps.then(Vec::new) }
    }

    fn push(&mut self, cell: Cell<'_>) -> Result<()> {
        match (&mut self.values, cell) {
            (_, Cell::Nothing) => ensure!(self.levels.is_some(), "the column has no gaps"),
            (Values::Text(all), Cell::Text(text)) => all.push(ByteArray::from(text)),
            (Values::Count(all), Cell::Count(count)) => {
                all.push(i64::try_from(count).context("a value exceeds 63 bits")?);
            }
            (Values::Word(all), Cell::Count(count)) => all.push(count.cast_signed()),
            (Values::Number(all), Cell::Number(number)) => all.push(number),
            (values, cell) => anyhow::bail!("{cell:?} is not for a column of {values:?}"),
        }
        if let Some(levels) = &mut self.levels {
            levels.push(i16::from(cell != Cell::Nothing));
        }
        Ok(())
    }

    fn write(&mut self, mut to: SerializedColumnWriter<'_>) -> Result<()> {
        let levels = self.levels.as_deref();
        match &mut self.values {
            Values::Text(all) => {
                to.typed::<ByteArrayType>().write_batch(all, levels, None)?;
                all.clear();
            }
            Values::Count(all) | Values::Word(all) => {
                to.typed::<Int64Type>().write_batch(all, levels, None)?;
                all.clear();
            }
            Values::Number(all) => {
                to.typed::<DoubleType>().write_batch(all, levels, None)?;
                all.clear();
            }
        }
        to.close()?;
        self.levels.iter_mut().for_each(Vec::clear);
        Ok(())
    }
}

/// A table that is being written.
pub(crate) struct Table {
    writer: SerializedFileWriter<WholeFile>,
    columns: Vec<Column>,
    /// What the row group has so far: rows, and bytes of texts.
    rows: usize,
    bytes: usize,
    /// The unit and the meaning of each column, as JSON.
    about: [(&'static str, String); 2],
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Table").field("rows", &self.rows).finish_non_exhaustive()
    }
}

impl Table {
    /// A table of these columns into the file at `path`.
    pub(crate) fn new(path: &Path, fields: &[Field]) -> Result<Self> {
        let file = WholeFile::create(path)?;
        Self::of(file, fields).with_context(|| format!("{}: cannot be written", path.display()))
    }

    fn of(file: WholeFile, fields: &[Field]) -> Result<Self> {
        let columns = fields.iter().map(|field| in_schema(field).map(Arc::new));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let schema = Type::group_type_builder("table").with_fields(columns).build()?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(concat!("flashyard ", env!("CARGO_PKG_VERSION")).to_string())
            .build();
        let writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties))?;
        let by_name = |of: fn(&Field) -> &str| -> Result<String> {
            let all = fields.iter().map(|field| (field.name.to_string(), of(field).into()));
            Ok(serde_json::to_string(&all.collect::<Map<String, Value>>())?)
        };
        let about = [
            ("flashyard.units", by_name(|field| &field.unit)?),
            ("flashyard.columns", by_name(|field| &field.what)?),
        ];
        Ok(Self {
            writer,
            columns: fields.iter().map(Column::new).collect(),
            rows: 0,
            bytes: 0,
            about,
        })
    }

    /// Adds a row: a cell for each column.
    pub(crate) fn push<'a>(&mut self, cells: impl IntoIterator<Item = Cell<'a>>) -> Result<()> {
        let mut cells = cells.into_iter();
        for column in &mut self.columns {
            let cell = cells.next().context("fewer cells than columns")?;
            if let Cell::Text(text) = &cell {
                self.bytes += text.len();
            }
            column.push(cell)?;
        }
        ensure!(cells.next().is_none(), "more cells than columns");
        self.rows += 1;
        let full = self.rows == GROUP_ROWS || self.bytes >= GROUP_BYTES;
        if full { self.write_group() } else { Ok(()) }
    }

    fn write_group(&mut self) -> Result<()> {
        let mut group = self.writer.next_row_group()?;
        let mut columns = self.columns.iter_mut();
        while let Some(to) = group.next_column()? {
            columns.next().context("more columns than data")?.write(to)?;
        }
        group.close()?;
        (self.rows, self.bytes) = (0, 0);
        Ok(())
    }

    /// Writes what is left, with further metadata. The file has yet to get its name.
    pub(crate) fn finish(mut self, notes: &[Note]) -> Result<WholeFile> {
        if self.rows > 0 {
            self.write_group()?;
        }
        let version = ("flashyard.version", env!("CARGO_PKG_VERSION").to_string());
        let [units, columns] = self.about.clone();
        for (key, value) in [version].into_iter().chain(notes.to_vec()).chain([units, columns]) {
            self.writer.append_key_value_metadata(KeyValue::new(key.to_string(), value));
        }
        Ok(self.writer.into_inner()?)
    }
}

//! A finished table as Parquet or as CSV: columns of texts and numbers, any of them with gaps.

use super::WholeFile;
use anyhow::{Context, Result};
use parquet::basic::{Compression, LogicalType, Repetition, Type as PhysicalType};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;
use std::path::Path;
use std::sync::Arc;

/// The cells of a column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cells {
    Text(Vec<Option<String>>),
    Count(Vec<Option<i64>>),
    Number(Vec<Option<f64>>),
}

/// A column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) cells: Cells,
}

impl Cells {
    fn get(&self, row: usize) -> String {
        match self {
            Self::Text(cells) => cells[row].clone(),
            Self::Count(cells) => cells[row].map(|cell| cell.to_string()),
            Self::Number(cells) => cells[row].map(|cell| cell.to_string()),
        }
        .unwrap_or_default()
    }

    fn len(&self) -> usize {
        match self {
            Self::Text(cells) => cells.len(),
            Self::Count(cells) => cells.len(),
            Self::Number(cells) => cells.len(),
        }
    }
}

/// Writes a Parquet file with one group of rows; it has yet to get its name. `notes` are its
/// metadata by key.
pub(crate) fn parquet(
    path: &Path,
    columns: &[Column],
    notes: &[(&str, String)],
) -> Result<WholeFile> {
    let fields = columns.iter().map(|column| {
        let physical = match column.cells {
            Cells::Text(_) => PhysicalType::BYTE_ARRAY,
            Cells::Count(_) => PhysicalType::INT64,
            Cells::Number(_) => PhysicalType::DOUBLE,
        };
        let text = matches!(column.cells, Cells::Text(_)).then_some(LogicalType::String);
        Type::primitive_type_builder(&column.name, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(text)
            .build()
            .map(Arc::new)
    });
    let fields = fields.collect::<Result<Vec<_>, _>>()?;
    let schema = Type::group_type_builder("table").with_fields(fields).build()?;
    let notes = notes.iter().map(|(key, value)| KeyValue::new((*key).to_string(), value.clone()));
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_created_by(concat!("flashyard ", env!("CARGO_PKG_VERSION")).to_string())
        .set_key_value_metadata(Some(notes.collect()))
        .build();
    let file = WholeFile::create(path)?;
    let say = || format!("{}: cannot be written", path.display());
    let mut writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties))?;
    let mut group = writer.next_row_group()?;
    let mut left = columns.iter();
    while let Some(column) = group.next_column().with_context(say)? {
        write(column, &left.next().context("more columns than data")?.cells).with_context(say)?;
    }
    group.close().with_context(say)?;
    writer.into_inner().with_context(say)
}

fn write(mut column: SerializedColumnWriter<'_>, cells: &Cells) -> Result<()> {
    fn levels<T>(cells: &[Option<T>]) -> Vec<i16> {
        cells.iter().map(|cell| i16::from(cell.is_some())).collect()
    }
    match cells {
        Cells::Text(cells) => {
            let values: Vec<ByteArray> =
                cells.iter().flatten().map(|text| ByteArray::from(text.as_str())).collect();
            column.typed::<ByteArrayType>().write_batch(&values, Some(&levels(cells)), None)?;
        }
        Cells::Count(cells) => {
            let values: Vec<i64> = cells.iter().copied().flatten().collect();
            column.typed::<Int64Type>().write_batch(&values, Some(&levels(cells)), None)?;
        }
        Cells::Number(cells) => {
            let values: Vec<f64> = cells.iter().copied().flatten().collect();
            column.typed::<DoubleType>().write_batch(&values, Some(&levels(cells)), None)?;
        }
    }
    column.close()?;
    Ok(())
}

/// Writes a CSV file with a header, gaps as empty cells; it has yet to get its name.
pub(crate) fn csv(path: &Path, columns: &[Column]) -> Result<WholeFile> {
    let say = || format!("{}: cannot be written", path.display());
    let mut writer = csv::Writer::from_writer(WholeFile::create(path)?);
    writer.write_record(columns.iter().map(|column| &column.name)).with_context(say)?;
    for row in 0..columns.first().map_or(0, |column| column.cells.len()) {
        writer
            .write_record(columns.iter().map(|column| column.cells.get(row)))
            .with_context(say)?;
    }
    writer.into_inner().map_err(csv::IntoInnerError::into_error).with_context(say)
}

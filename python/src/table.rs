//! Tables: columns that other packages take without a copy, through the capsules of Arrow.

use crate::errors::{failed, wrong};
use arrow_array::builder::StringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, Int32Type, Int64Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Float64Array, Int32Array, Int64Array, RecordBatch,
    RecordBatchIterator, StringArray, UInt64Array,
};
use arrow_buffer::{BooleanBufferBuilder, NullBuffer};
use arrow_schema::{DataType, Field as ArrowField, Metadata, Schema, SchemaRef};
use flashyard_run::logs::Rows;
use flashyard_run::table::{Cell, Field, Kind};
use pyo3::exceptions::{PyIndexError, PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList};
use std::sync::Arc;

/// Rows of a batch.
const BATCH: usize = 1 << 16;

/// The values of a column in a batch that is being filled.
enum Values {
    /// Codes of texts, which are the same for all batches of a column.
    Word(Vec<i32>),
    Text(StringBuilder),
    Count(Vec<i64>),
    Bits(Vec<u64>),
    Number(Vec<f64>),
}

struct Column {
    values: Values,
    /// Where cells may hold nothing: which of them hold something.
    present: Option<BooleanBufferBuilder>,
    /// The texts of codes.
    words: Vec<String>,
}

/// Rows that become a table: those of a log.
pub(crate) struct ArrowRows {
    schema: SchemaRef,
    columns: Vec<Column>,
    rows: usize,
    done: Vec<RecordBatch>,
    error: Option<String>,
}

/// What few different texts of a column are, or many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Texts {
    /// Few: codes and a list of words.
    Few,
    /// Many: each text by itself.
    Many,
}

fn data_type(kind: Kind, texts: Texts) -> DataType {
    match kind {
        Kind::Text if texts == Texts::Few => {
            DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
        }
        Kind::Text => DataType::Utf8,
        Kind::Count => DataType::Int64,
        Kind::Word => DataType::UInt64,
        Kind::Number => DataType::Float64,
    }
}

/// The column as the schema has it, with its unit and what it is.
fn in_schema(field: &Field, texts: Texts) -> ArrowField {
    let about = [("unit", &field.unit), ("description", &field.what)];
    let about = about.into_iter().filter(|(_, text)| !text.is_empty());
    let about = about.map(|(name, text)| (name.to_string(), text.to_string()));
    ArrowField::new(field.name.to_string(), data_type(field.kind, texts), field.gaps)
        .with_metadata(about.collect::<Metadata>())
}

impl ArrowRows {
    /// Rows of these columns.
    pub(crate) fn new(fields: &[Field], texts: Texts) -> Self {
        let of = |field: &Field| Column {
            values: match field.kind {
                Kind::Text if texts == Texts::Few => Values::Word(Vec::new()),
                Kind::Text => Values::Text(StringBuilder::new()),
                Kind::Count => Values::Count(Vec::new()),
                Kind::Word => Values::Bits(Vec::new()),
                Kind::Number => Values::Number(Vec::new()),
            },
            present: field.gaps.then(|| BooleanBufferBuilder::new(0)),
            words: Vec::new(),
        };
        let columns = fields.iter().map(of).collect();
        let fields: Vec<_> = fields.iter().map(|field| in_schema(field, texts)).collect();
        let schema = Arc::new(Schema::new(fields));
        Self { schema, columns, rows: 0, done: Vec::new(), error: None }
    }

    /// The table of all rows.
    pub(crate) fn finish(mut self) -> Result<Table, String> {
        if self.rows > 0 {
            self.end_batch();
        }
        self.error.map_or(Ok(Table { schema: self.schema, batches: self.done }), Err)
    }

    fn end_batch(&mut self) {
        let arrays = self.columns.iter_mut().map(Column::take).collect();
        match RecordBatch::try_new(Arc::clone(&self.schema), arrays) {
            Ok(batch) => self.done.push(batch),
            Err(error) => self.error = Some(error.to_string()),
        }
        self.rows = 0;
    }
}

impl Rows for ArrowRows {
    fn row<'a>(&mut self, cells: impl IntoIterator<Item = Cell<'a>>) {
        let mut cells = cells.into_iter();
        for column in &mut self.columns {
            let cell = cells.next().unwrap_or(Cell::Nothing);
            if let Err(what) = column.push(cell) {
                self.error.get_or_insert(what);
            }
        }
        self.rows += 1;
        if self.rows == BATCH {
            self.end_batch();
        }
    }
}

impl Column {
    fn push(&mut self, cell: Cell<'_>) -> Result<(), String> {
        match (&mut self.values, cell) {
            (Values::Word(all), Cell::Text(text)) => {
                let known = self.words.iter().position(|word| word == text);
                let code = known.unwrap_or_else(|| {
                    self.words.push(text.to_string());
                    self.words.len() - 1
                });
                all.push(i32::try_from(code).map_err(|error| error.to_string())?);
            }
            (Values::Word(all), Cell::Nothing) => all.push(0),
            (Values::Text(all), Cell::Text(text)) => all.append_value(text),
            (Values::Text(all), Cell::Nothing) => all.append_null(),
            (Values::Count(all), Cell::Count(count)) => {
                all.push(i64::try_from(count).map_err(|_| "a value exceeds 63 bits".to_string())?);
            }
            (Values::Count(all), Cell::Nothing) => all.push(0),
            (Values::Bits(all), Cell::Count(count)) => all.push(count),
            (Values::Bits(all), Cell::Nothing) => all.push(0),
            (Values::Number(all), Cell::Number(number)) => all.push(number),
            (Values::Number(all), Cell::Nothing) => all.push(0.0),
            (_, cell) => return Err(format!("{cell:?} is not for this column")),
        }
        if let Some(present) = &mut self.present {
            present.append(cell != Cell::Nothing);
        }
        Ok(())
    }

    /// The array of a batch.
    fn take(&mut self) -> ArrayRef {
        let nulls = self.present.as_mut().map(|present| NullBuffer::new(present.finish()));
        match &mut self.values {
            Values::Word(all) => {
                let keys = Int32Array::new(std::mem::take(all).into(), nulls);
                let words = Arc::new(StringArray::from(self.words.clone()));
                Arc::new(DictionaryArray::<Int32Type>::new(keys, words))
            }
            Values::Text(all) => Arc::new(all.finish()),
            Values::Count(all) => Arc::new(Int64Array::new(std::mem::take(all).into(), nulls)),
            Values::Bits(all) => Arc::new(UInt64Array::new(std::mem::take(all).into(), nulls)),
            Values::Number(all) => Arc::new(Float64Array::new(std::mem::take(all).into(), nulls)),
        }
    }
}

/// A table of columns. pandas, Polars, DuckDB, pyarrow and others take it without a copy:
/// `polars.DataFrame(table)`, `pandas.DataFrame.from_arrow(table)`, `pyarrow.table(table)`.
#[pyclass(frozen, module = "flashyard._core")]
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) schema: SchemaRef,
    pub(crate) batches: Vec<RecordBatch>,
}

impl Table {
    fn column_place(&self, name: &str) -> PyResult<usize> {
        self.schema.index_of(name).map_err(|_| PyKeyError::new_err(name.to_string()))
    }

    fn rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }
}

/// The value of a cell as Python has it.
fn value(py: Python<'_>, array: &ArrayRef, row: usize) -> PyResult<Py<PyAny>> {
    if array.is_null(row) {
        return Ok(py.None());
    }
    Ok(match array.data_type() {
        DataType::Int64 => {
            array.as_primitive::<Int64Type>().value(row).into_pyobject(py)?.into_any().unbind()
        }
        DataType::UInt64 => {
            array.as_primitive::<UInt64Type>().value(row).into_pyobject(py)?.into_any().unbind()
        }
        DataType::Float64 => {
            array.as_primitive::<Float64Type>().value(row).into_pyobject(py)?.into_any().unbind()
        }
        DataType::Utf8 => {
            array.as_string::<i32>().value(row).into_pyobject(py)?.into_any().unbind()
        }
        DataType::Dictionary(_, _) => {
            let texts = array.as_dictionary::<Int32Type>();
            let key = texts.key(row).unwrap_or(0);
            texts.values().as_string::<i32>().value(key).into_pyobject(py)?.into_any().unbind()
        }
        other => return Err(failed(format!("a column of type {other}"))),
    })
}

#[pymethods]
impl Table {
    /// The capsule of an Arrow stream, as the Arrow PyCapsule interface has it.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // A consumer that asks for another schema casts what it gets.
        drop(requested_schema);
        let batches = self.batches.clone().into_iter().map(Ok);
        let reader = RecordBatchIterator::new(batches, Arc::clone(&self.schema));
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// How many rows there are.
    #[getter]
    fn num_rows(&self) -> usize {
        self.rows()
    }

    /// The names of the columns.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    /// The unit of each column that has one, by name.
    #[getter]
    fn units<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.about(py, "unit")
    }

    /// What each column is, by name.
    #[getter]
    fn descriptions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.about(py, "description")
    }

    fn __len__(&self) -> usize {
        self.rows()
    }

    fn __contains__(&self, name: &Bound<'_, PyAny>) -> bool {
        name.extract::<&str>().is_ok_and(|name| self.schema.index_of(name).is_ok())
    }

    /// The values of a column as a list; a cell that holds nothing is `None`.
    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        let place = self.column_place(name)?;
        let list = PyList::empty(py);
        for batch in &self.batches {
            let array = batch.column(place);
            for row in 0..array.len() {
                list.append(value(py, array, row)?)?;
            }
        }
        Ok(list)
    }

    /// A row as a dict by column; a negative number counts from the end.
    fn row<'py>(&self, py: Python<'py>, number: isize) -> PyResult<Bound<'py, PyDict>> {
        let rows = isize::try_from(self.rows()).unwrap_or(isize::MAX);
        let at = if number < 0 { number + rows } else { number };
        let outside = || PyIndexError::new_err(format!("row {number} of {rows}"));
        let mut at = usize::try_from(at).map_err(|_| outside())?;
        for batch in &self.batches {
            if at < batch.num_rows() {
                let row = PyDict::new(py);
                for (field, array) in self.schema.fields().iter().zip(batch.columns()) {
                    row.set_item(field.name(), value(py, array, at)?)?;
                }
                return Ok(row);
            }
            at -= batch.num_rows();
        }
        Err(outside())
    }

    fn __repr__(&self) -> String {
        format!("<flashyard.Table: {} rows x {} columns>", self.rows(), self.schema.fields().len())
    }

    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyList>,))> {
        let columns = PyList::empty(py);
        for field in self.schema.fields() {
            let about = |name: &str| field.metadata().get(name).cloned().unwrap_or_default();
            let kind = match field.data_type() {
                DataType::Dictionary(_, _) => "few",
                DataType::Utf8 => "text",
                DataType::Int64 => "count",
                DataType::UInt64 => "bits",
                _ => "number",
            };
            let values = self.__getitem__(py, field.name())?;
            let gaps = field.is_nullable();
            let column = (field.name(), kind, gaps, about("unit"), about("description"), values);
            columns.append(column)?;
        }
        let make = py.get_type::<Self>().getattr("_of_columns")?;
        Ok((make, (columns,)))
    }

    /// A table of columns: name, kind, whether cells may hold nothing, unit, description, values.
    #[staticmethod]
    fn _of_columns(columns: Vec<PickledColumn<'_>>) -> PyResult<Self> {
        let rows = columns.first().map_or(0, |column| column.5.len());
        if columns.iter().any(|column| column.5.len() != rows) {
            return Err(PyValueError::new_err("columns of several lengths"));
        }
        let mut fields = Vec::new();
        let mut arrays: Vec<ArrayRef> = Vec::new();
        for (name, kind, gaps, unit, what, values) in columns {
            let (kind, texts) = match kind.as_str() {
                "few" => (Kind::Text, Texts::Few),
                "text" => (Kind::Text, Texts::Many),
                "count" => (Kind::Count, Texts::Many),
                "bits" => (Kind::Word, Texts::Many),
                "number" => (Kind::Number, Texts::Many),
                other => return Err(wrong(format!("{other} is no kind of a column"))),
            };
            let mut field = Field::owned(&name, kind, &unit, &what);
            if !gaps {
                field = field.whole();
            }
            let mut one = ArrowRows::new(std::slice::from_ref(&field), texts);
            let column = &mut one.columns[0];
            for value in values {
                push_value(column, kind, &value)?;
            }
            arrays.push(column.take());
            fields.push(in_schema(&field, texts));
        }
        let schema = Arc::new(Schema::new(fields));
        let batch = RecordBatch::try_new(Arc::clone(&schema), arrays);
        let batch = batch.map_err(|error| failed(error.to_string()))?;
        Ok(Self { schema, batches: if rows == 0 { Vec::new() } else { vec![batch] } })
    }
}

/// A column as pickles have it.
type PickledColumn<'py> = (String, String, bool, String, String, Vec<Bound<'py, PyAny>>);

fn push_value(column: &mut Column, kind: Kind, value: &Bound<'_, PyAny>) -> PyResult<()> {
    let text: String;
    let cell = if value.is_none() {
        Cell::Nothing
    } else {
        match kind {
            Kind::Text => {
                text = value.extract()?;
                Cell::Text(&text)
            }
            Kind::Count | Kind::Word => Cell::Count(value.extract()?),
            Kind::Number => Cell::Number(value.extract()?),
        }
    };
    column.push(cell).map_err(failed)
}

impl Table {
    fn about<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyDict>> {
        let all = PyDict::new(py);
        for field in self.schema.fields() {
            if let Some(text) = field.metadata().get(name) {
                all.set_item(field.name(), text)?;
            }
        }
        Ok(all)
    }
}

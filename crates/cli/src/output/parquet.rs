//! The request log: a Parquet file with a row a request.

use super::WholeFile;
use anyhow::{Context, Result};
use flashyard_core::command::{Op, Purpose};
use flashyard_sim::metrics::parts::Part;
use flashyard_sim::observe::{Observer, RequestDone};
use parquet::basic::{Compression, LogicalType, Repetition, Type as PhysicalType};
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// Rows of a row group: what is kept in memory before it is written.
const GROUP_ROWS: usize = 65_536;

/// A log that an observer fills and its owner finishes.
pub(crate) type SharedLog = Rc<RefCell<RequestLog>>;

/// Rows of the group that is being filled, and the file.
pub(crate) struct RequestLog {
    writer: Option<SerializedFileWriter<WholeFile>>,
    ops: Vec<ByteArray>,
    numbers: Vec<Vec<i64>>,
    error: Option<anyhow::Error>,
}

/// The names of the integer columns, in order; times in nanoseconds, energy in picojoules.
fn columns() -> Vec<String> {
    let mut names: Vec<String> = [
        "order",
        "arrival_ns",
        "completion_ns",
        "latency_ns",
        "first_sector",
        "sectors",
        "pages",
        "stream",
        "fot_ns",
        "queue_wait_ns",
        "own_ns",
    ]
    .map(String::from)
    .to_vec();
    names.extend(Part::ALL.iter().map(|part| format!("part_{}_ns", part.name())));
    for op in Op::ALL {
        names.extend(Purpose::ALL.iter().map(|p| format!("{}s_{}", op.name(), p.name())));
    }
    names.push("energy_pj".to_string());
    names
}

fn row(done: &RequestDone) -> Vec<u64> {
    let request = &done.request;
    let arrival = request.arrival.as_ns();
    let completion = done.completion.as_ns();
    let mut row = vec![
        done.order,
        arrival,
        completion,
        completion - arrival,
        request.first_sector,
        request.sectors.into(),
        done.pages.into(),
        request.stream.into(),
        done.fot_ns,
        done.queue_wait_ns,
        done.own_ns,
    ];
    row.extend(done.parts.0);
    for op in Op::ALL {
        row.extend(Purpose::ALL.iter().map(|purpose| done.work.get(op, *purpose).ops));
    }
    row.push(done.energy_pj);
    row
}

impl RequestLog {
    /// A log into `file`.
    pub(crate) fn new(file: WholeFile) -> Result<Self> {
        let names = columns();
        let op = Type::primitive_type_builder("op", PhysicalType::BYTE_ARRAY)
            .with_repetition(Repetition::REQUIRED)
            .with_logical_type(Some(LogicalType::String))
            .build()?;
        let mut fields = vec![Arc::new(op)];
        for name in &names {
            let column = Type::primitive_type_builder(name, PhysicalType::INT64)
                .with_repetition(Repetition::REQUIRED)
                .build()?;
            fields.push(Arc::new(column));
        }
        let schema = Type::group_type_builder("request").with_fields(fields).build()?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(concat!("flashyard ", env!("CARGO_PKG_VERSION")).to_string())
            .build();
        let writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties))?;
        let numbers = vec![Vec::new(); names.len()];
        Ok(Self { writer: Some(writer), ops: Vec::new(), numbers, error: None })
    }

    /// Writes what is left and gives the file its name.
    pub(crate) fn finish(&mut self) -> Result<()> {
        if self.error.is_none() && !self.ops.is_empty() {
            self.error = self.write_group().err();
        }
        if let Some(error) = self.error.take() {
            return Err(error.context("the request log cannot be written"));
        }
        let Some(writer) = self.writer.take() else { return Ok(()) };
        writer.into_inner().context("the request log cannot be written")?.finish()
    }

    fn write_group(&mut self) -> Result<()> {
        let Some(writer) = &mut self.writer else { return Ok(()) };
        let mut group = writer.next_row_group()?;
        let mut columns = std::iter::once(None).chain(self.numbers.iter().map(Some));
        while let Some(mut column) = group.next_column()? {
            match columns.next().context("more columns than data")? {
                None => {
                    column.typed::<ByteArrayType>().write_batch(&self.ops, None, None)?;
                }
                Some(numbers) => {
                    column.typed::<Int64Type>().write_batch(numbers, None, None)?;
                }
            }
            column.close()?;
        }
        group.close()?;
        self.ops.clear();
        self.numbers.iter_mut().for_each(Vec::clear);
        Ok(())
    }

    fn add(&mut self, done: &RequestDone) -> Result<()> {
        for (column, value) in self.numbers.iter_mut().zip(row(done)) {
            column.push(i64::try_from(value).context("a value exceeds 63 bits")?);
        }
        self.ops.push(ByteArray::from(done.request.op.name()));
        if self.ops.len() == GROUP_ROWS { self.write_group() } else { Ok(()) }
    }
}

/// The observer's end of a log.
pub(crate) struct RequestLogger(pub(crate) SharedLog);

impl Observer for RequestLogger {
    fn request_done(&mut self, event: &RequestDone) {
        let mut log = self.0.borrow_mut();
        if log.error.is_none() {
            log.error = log.add(event).err();
        }
    }
}

//! Requests that the caller made, as columns.

use crate::columns::{has_texts, texts, whole_numbers};
use crate::errors::wrong;
use flashyard_core::request::{Flags, Request, RequestOp};
use flashyard_core::units::Time;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::Arc;

/// Bytes of a sector.
pub(crate) const SECTOR: u64 = 512;

/// Bytes of a request in a pickle.
const PICKLED: usize = 28;

/// In place of a placement identifier in a pickle, of a request that has none.
const NOT_PLACED: u32 = u32::MAX;

/// Requests in the order of their arrival.
#[pyclass(frozen, module = "flashyard._core")]
#[derive(Clone, Debug)]
pub(crate) struct Requests(pub(crate) Arc<Vec<Request>>);

/// The operation of this name.
pub(crate) fn operation(name: &str) -> PyResult<RequestOp> {
    let unknown =
        || wrong(format!("op: {name:?} is no operation; there are read, write, trim and flush"));
    operation_of(name).ok_or_else(unknown)
}

fn operation_of(name: &str) -> Option<RequestOp> {
    RequestOp::ALL.into_iter().find(|op| op.name() == name)
}

/// The operation of this number.
fn operation_at(code: u64) -> Option<RequestOp> {
    RequestOp::ALL.get(usize::try_from(code).ok()?).copied()
}

/// The operations of rows.
fn each<T: Copy + std::fmt::Debug>(
    rows: Vec<T>,
    of: impl Fn(T) -> Option<RequestOp>,
    known: &str,
) -> PyResult<Values<RequestOp>> {
    let found = rows.into_iter().enumerate().map(|(row, given)| {
        of(given).ok_or_else(|| wrong(format!("request {row}: op is {given:?}; there are {known}")))
    });
    found.collect::<PyResult<_>>().map(Values::Each)
}

/// One value for all requests, or one for each.
enum Values<T> {
    All(T),
    Each(Vec<T>),
}

impl<T: Copy> Values<T> {
    fn get(&self, row: usize) -> T {
        match self {
            Self::All(value) => *value,
            Self::Each(values) => values[row],
        }
    }

    fn check(&self, name: &str, rows: usize) -> PyResult<()> {
        match self {
            Self::Each(values) if values.len() != rows => {
                let found = values.len();
                Err(wrong(format!("{name}: {found} values for {rows} requests")))
            }
            _ => Ok(()),
        }
    }
}

fn numbers(name: &str, given: Option<&Bound<'_, PyAny>>, default: u64) -> PyResult<Values<u64>> {
    let Some(given) = given else { return Ok(Values::All(default)) };
    if let Ok(value) = given.extract::<u64>() {
        return Ok(Values::All(value));
    }
    whole_numbers(name, given).map(Values::Each)
}

fn operations(given: &Bound<'_, PyAny>) -> PyResult<Values<RequestOp>> {
    if let Ok(name) = given.extract::<String>() {
        return operation(&name).map(Values::All);
    }
    if let Ok(code) = given.extract::<u64>() {
        let unknown = || wrong(format!("op: {code}: there are 0 to 3"));
        return operation_at(code).map(Values::All).ok_or_else(unknown);
    }
    let names = match given.extract::<Vec<String>>() {
        Ok(names) => names,
        Err(_) if has_texts("op", given)? => texts("op", given)?,
        Err(_) => return each(whole_numbers("op", given)?, operation_at, "0 to 3"),
    };
    let names = names.iter().map(String::as_str).collect();
    each(names, operation_of, "read, write, trim and flush")
}

/// The placement identifier of a row.
fn identifier(row: usize, given: u64) -> PyResult<u16> {
    u16::try_from(given)
        .map_err(|_| wrong(format!("request {row}: placement {given}: there are 0 to 65,535")))
}

/// The modifiers of a trim that ask for an action on a zone.
const ZONE_ACTIONS: u64 = 16 | 32 | 64 | 128;

/// A request from numbers as Python has them; `what` is what messages call it.
pub(crate) fn request(
    what: &dyn Fn() -> String,
    op: RequestOp,
    [at_ns, offset, nbytes, stream, flags]: [u64; 5],
    placement: Option<u16>,
) -> PyResult<Request> {
    let fail = |text: String| wrong(format!("{}: {text}", what()));
    if !offset.is_multiple_of(SECTOR) || !nbytes.is_multiple_of(SECTOR) {
        let text = format!("offset {offset}, {nbytes} bytes: both are whole sectors of 512 bytes");
        return Err(fail(text));
    }
    let sectors = u32::try_from(nbytes / SECTOR)
        .map_err(|_| fail(format!("{nbytes} bytes: a request has less than 2 TiB")))?;
    let acts = op == RequestOp::Trim && flags & ZONE_ACTIONS != 0;
    if sectors == 0 && op != RequestOp::Flush && !acts {
        let text = "it has no bytes; only a flush and an action on a zone have none";
        return Err(fail(text.to_string()));
    }
    let stream = u16::try_from(stream)
        .map_err(|_| fail(format!("stream {stream}: there are 0 to 65,535")))?;
    let flags = u8::try_from(flags).ok().and_then(Flags::from_bits);
    let flags = flags
        .ok_or_else(|| fail("flags: there are 1 (FUA), 2 (preflush), 4 (zeroes) and, on zones, 8 (append), 16 (reset), 32 (finish), 64 (open), 128 (close)".to_string()))?;
    Ok(Request::new(op, offset / SECTOR, sectors)
        .at(Time::from_ns(at_ns))
        .of_stream(stream)
        .placed(placement)
        .with(flags))
}

#[pymethods]
impl Requests {
    /// Requests from columns; each is a column of Arrow, a pair of a format of module `struct` and
    /// bytes, or one number for all.
    #[new]
    #[pyo3(signature = (at_ns, op, offset, nbytes, stream = None, placement = None, flags = None))]
    fn new(
        at_ns: &Bound<'_, PyAny>,
        op: &Bound<'_, PyAny>,
        offset: &Bound<'_, PyAny>,
        nbytes: &Bound<'_, PyAny>,
        stream: Option<&Bound<'_, PyAny>>,
        placement: Option<&Bound<'_, PyAny>>,
        flags: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let at_ns = numbers("at_ns", Some(at_ns), 0)?;
        let op = operations(op)?;
        let offset = numbers("offset", Some(offset), 0)?;
        let nbytes = numbers("nbytes", Some(nbytes), 0)?;
        let stream = numbers("stream", stream, 0)?;
        let flags = numbers("flags", flags, 0)?;
        let placement = placement.map(|given| numbers("placement", Some(given), 0)).transpose()?;
        let columns = [&at_ns, &offset, &nbytes, &stream, &flags];
        let length = columns.into_iter().chain(&placement).find_map(|column| match column {
            Values::Each(values) => Some(values.len()),
            Values::All(_) => None,
        });
        let length = length.or(match &op {
            Values::Each(values) => Some(values.len()),
            Values::All(_) => None,
        });
        let rows = length.ok_or_else(|| wrong("requests: at least one column is needed"))?;
        let names = ["at_ns", "offset", "nbytes", "stream", "flags"];
        for (name, column) in names.iter().zip(columns) {
            column.check(name, rows)?;
        }
        op.check("op", rows)?;
        placement.iter().try_for_each(|column| column.check("placement", rows))?;
        let mut all = Vec::with_capacity(rows);
        let mut last = 0;
        for row in 0..rows {
            let values = columns.map(|column| column.get(row));
            if values[0] < last {
                return Err(wrong(format!(
                    "request {row}: at_ns is {}, and that of the one before is {last}; sort the \
                     requests by at_ns",
                    values[0]
                )));
            }
            last = values[0];
            let placed = placement.as_ref().map(|column| identifier(row, column.get(row)));
            let what = || format!("request {row}");
            all.push(request(&what, op.get(row), values, placed.transpose()?)?);
        }
        Ok(Self(Arc::new(all)))
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.0 == other.0
    }

    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let mut bytes = Vec::with_capacity(self.0.len() * PICKLED);
        for request in self.0.iter() {
            bytes.extend(request.arrival.as_ns().to_le_bytes());
            bytes.extend(request.first_sector.to_le_bytes());
            bytes.extend(request.sectors.to_le_bytes());
            bytes.extend(request.stream.to_le_bytes());
            bytes.extend([request.op as u8, request.flags.bits()]);
            bytes.extend(request.placement.map_or(NOT_PLACED, u32::from).to_le_bytes());
        }
        let make = py.get_type::<Self>().getattr("_of_bytes")?;
        Ok((make, (PyBytes::new(py, &bytes),)))
    }

    /// Requests as a pickle has them.
    #[staticmethod]
    fn _of_bytes(bytes: &[u8]) -> PyResult<Self> {
        let (all, rest) = bytes.as_chunks::<PICKLED>();
        if !rest.is_empty() {
            return Err(wrong("requests: a pickle that was cut"));
        }
        let of = |bytes: &[u8; PICKLED]| {
            let long = |at: usize| {
                let bytes = bytes[at..at + 8].try_into().expect("eight bytes");
                u64::from_le_bytes(bytes)
            };
            let short =
                |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
            let stream = u16::from_le_bytes([bytes[20], bytes[21]]);
            let op = RequestOp::ALL.get(usize::from(bytes[22])).copied();
            let op = op.ok_or_else(|| wrong("requests: a pickle of another version"))?;
            let flags = Flags::from_bits(bytes[23]).unwrap_or(Flags::NONE);
            let request = Request::new(op, long(8), short(16)).at(Time::from_ns(long(0)));
            let placement = u16::try_from(short(24)).ok();
            Ok(request.of_stream(stream).placed(placement).with(flags))
        };
        all.iter().map(of).collect::<PyResult<Vec<_>>>().map(|all| Self(Arc::new(all)))
    }
}

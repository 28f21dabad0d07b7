//! Columns that come from Python: Arrow capsules of any package, or plain bytes.

#![expect(unsafe_code, reason = "the border to Arrow")]

use crate::errors::{failed, wrong};
use arrow_array::cast::AsArray;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi};
use arrow_array::ffi_stream::{ArrayStreamReader, FFI_ArrowArrayStream};
use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{AnyDictionaryArray, Array, ArrayRef, make_array};
use arrow_schema::DataType;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyTuple};
use std::fmt::Display;

/// The whole numbers of a column; `name` is what messages call it.
pub(crate) fn whole_numbers(name: &str, given: &Bound<'_, PyAny>) -> PyResult<Vec<u64>> {
    if let Ok((format, bytes)) = given.extract::<(String, Bound<'_, PyBytes>)>() {
        return of_bytes(name, &format, bytes.as_bytes());
    }
    let mut all = Vec::new();
    for array in arrays(name, given)? {
        if let Some(row) = (0..array.len()).find(|row| array.is_null(*row)) {
            return Err(missing(name, all.len() + row));
        }
        match array.data_type() {
            DataType::UInt64 => all.extend(array.as_primitive::<UInt64Type>().values()),
            DataType::Int64 => widen::<Int64Type>(name, &array, &mut all)?,
            DataType::UInt32 => widen::<UInt32Type>(name, &array, &mut all)?,
            DataType::Int32 => widen::<Int32Type>(name, &array, &mut all)?,
            DataType::UInt16 => widen::<UInt16Type>(name, &array, &mut all)?,
            DataType::Int16 => widen::<Int16Type>(name, &array, &mut all)?,
            DataType::UInt8 => widen::<UInt8Type>(name, &array, &mut all)?,
            DataType::Int8 => widen::<Int8Type>(name, &array, &mut all)?,
            DataType::Float64 => widen::<Float64Type>(name, &array, &mut all)?,
            DataType::Float32 => widen::<Float32Type>(name, &array, &mut all)?,
            DataType::Struct(_) => {
                return Err(wrong(format!("{name}: a column is needed, not a table")));
            }
            other => return Err(not_whole(name, &other.to_string())),
        }
    }
    Ok(all)
}

/// The texts of a column.
pub(crate) fn texts(name: &str, given: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    let mut all = Vec::new();
    for array in arrays(name, given)? {
        add_texts(name, &array, &mut all)?;
    }
    Ok(all)
}

/// Whether a column has texts.
pub(crate) fn has_texts(name: &str, given: &Bound<'_, PyAny>) -> PyResult<bool> {
    if given.is_instance_of::<PyTuple>() {
        return Ok(false);
    }
    let found = arrays(name, given)?;
    Ok(found.first().is_some_and(|array| {
        let mut of = array.data_type();
        if let DataType::Dictionary(_, values) = of {
            of = values;
        }
        matches!(of, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
    }))
}

fn add_texts(name: &str, array: &ArrayRef, all: &mut Vec<String>) -> PyResult<()> {
    // The words of a dictionary, of which rows have the numbers.
    let coded = array.as_any_dictionary_opt();
    let numbers = coded.filter(|coded| !coded.values().is_empty());
    let numbers = numbers.map(AnyDictionaryArray::normalized_keys);
    let words = coded.map_or(array, |coded| coded.values());
    for row in 0..array.len() {
        let place = numbers.as_ref().map_or(row, |numbers| numbers[row]);
        if array.is_null(row) || words.is_null(place) {
            return Err(missing(name, all.len()));
        }
        all.push(match words.data_type() {
            DataType::Utf8 => words.as_string::<i32>().value(place).to_string(),
            DataType::LargeUtf8 => words.as_string::<i64>().value(place).to_string(),
            DataType::Utf8View => words.as_string_view().value(place).to_string(),
            other => return Err(wrong(format!("{name}: texts are needed, not {other}"))),
        });
    }
    Ok(())
}

fn widen<T: ArrowPrimitiveType>(name: &str, array: &ArrayRef, all: &mut Vec<u64>) -> PyResult<()>
where
    T::Native: Whole,
{
    for value in array.as_primitive::<T>().values() {
        all.push(value.whole().ok_or_else(|| unfit(name, all.len(), value))?);
    }
    Ok(())
}

/// What may be a whole number from 0 on.
trait Whole: Copy + Display {
    fn whole(self) -> Option<u64>;
}

macro_rules! whole {
    ($($of:ty)*) => {$(
        impl Whole for $of {
            fn whole(self) -> Option<u64> {
                self.try_into().ok()
            }
        }
    )*};
}

whole!(u64 i64 u32 i32 u16 i16 u8 i8);

impl Whole for f64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is checked")]
    fn whole(self) -> Option<u64> {
        // 2^64 is the first number that does not fit.
        let fits = self.fract() == 0.0 && (0.0..18_446_744_073_709_551_616.0).contains(&self);
        fits.then_some(self as u64)
    }
}

impl Whole for f32 {
    fn whole(self) -> Option<u64> {
        f64::from(self).whole()
    }
}

fn missing(name: &str, row: usize) -> PyErr {
    wrong(format!("request {row}: {name} is missing"))
}

/// The error of a value that is no whole number from 0 on.
fn unfit(name: &str, row: usize, value: &dyn Display) -> PyErr {
    let text = value.to_string();
    if text == "NaN" {
        return missing(name, row);
    }
    let what = if text.starts_with('-') { "it is negative" } else { "a whole number is needed" };
    wrong(format!("request {row}: {name} is {text}; {what}"))
}

fn not_whole(name: &str, what: &str) -> PyErr {
    wrong(format!("{name}: whole numbers are needed, not values of type {what}"))
}

/// Numbers of a buffer, in the format of Python's module struct.
fn of_bytes(name: &str, format: &str, bytes: &[u8]) -> PyResult<Vec<u64>> {
    macro_rules! numbers {
        ($of:ty) => {{
            let (values, _) = bytes.as_chunks::<{ size_of::<$of>() }>();
            let values = values.iter().map(|bytes| <$of>::from_ne_bytes(*bytes)).enumerate();
            values
                .map(|(row, value)| value.whole().ok_or_else(|| unfit(name, row, &value)))
                .collect()
        }};
    }
    let long = size_of::<core::ffi::c_long>() == 8;
    match format.trim_start_matches(['@', '=', '<']) {
        "Q" => numbers!(u64),
        "q" => numbers!(i64),
        "L" if long => numbers!(u64),
        "l" if long => numbers!(i64),
        "L" | "I" => numbers!(u32),
        "l" | "i" => numbers!(i32),
        "H" => numbers!(u16),
        "h" => numbers!(i16),
        "B" | "?" => numbers!(u8),
        "b" => numbers!(i8),
        "d" => numbers!(f64),
        "f" => numbers!(f32),
        other => Err(not_whole(name, other)),
    }
}

/// The arrays behind a capsule of Arrow: an array, or a stream of them.
fn arrays(name: &str, given: &Bound<'_, PyAny>) -> PyResult<Vec<ArrayRef>> {
    if given.hasattr("__arrow_c_array__")? {
        let pair = called(name, given, "__arrow_c_array__")?.cast_into::<PyTuple>()?;
        let schema = pair.get_item(0)?.cast_into::<PyCapsule>()?;
        let array = pair.get_item(1)?.cast_into::<PyCapsule>()?;
        return Ok(vec![of_capsules(&schema, &array)?]);
    }
    if given.hasattr("__arrow_c_stream__")? {
        return stream(name, given);
    }
    Err(wrong(format!("{name}: a column of Arrow or of numbers is needed")))
}

/// What a method of a column gives.
fn called<'py>(name: &str, given: &Bound<'py, PyAny>, method: &str) -> PyResult<Bound<'py, PyAny>> {
    given.call_method0(method).map_err(|error| {
        let is_plain = error.is_instance_of::<PyException>(given.py());
        if is_plain { wrong(format!("{name}: {}", error.value(given.py()))) } else { error }
    })
}

fn of_capsules(schema: &Bound<'_, PyCapsule>, array: &Bound<'_, PyCapsule>) -> PyResult<ArrayRef> {
    let schema = schema.pointer_checked(Some(c"arrow_schema"))?.cast::<FFI_ArrowSchema>();
    let array = array.pointer_checked(Some(c"arrow_array"))?.cast::<FFI_ArrowArray>();
    // SAFETY: a capsule of this name holds an array, which is moved out of it; the capsule's
    // destructor finds an array that was released, as the interface asks.
    let array = unsafe { FFI_ArrowArray::from_raw(array.as_ptr()) };
    // SAFETY: a capsule of this name holds a schema, which lives as long as the capsule.
    let schema = unsafe { schema.as_ref() };
    // SAFETY: the two belong to one another: one call gave them.
    let data = unsafe { from_ffi(array, schema) };
    Ok(make_array(data.map_err(|error| failed(error.to_string()))?))
}

/// The arrays of a stream.
fn stream(name: &str, given: &Bound<'_, PyAny>) -> PyResult<Vec<ArrayRef>> {
    let capsule = called(name, given, "__arrow_c_stream__")?.cast_into::<PyCapsule>()?;
    let pointer = capsule.pointer_checked(Some(c"arrow_array_stream"))?;
    let pointer = pointer.cast::<FFI_ArrowArrayStream>();
    // SAFETY: a capsule of this name holds a stream, which is moved out of it; the capsule's
    // destructor finds a stream that was released, as the interface asks.
    let reader = unsafe { ArrayStreamReader::from_raw(pointer.as_ptr()) };
    let unread = |error| wrong(format!("{name}: a stream of Arrow that cannot be read: {error}"));
    reader.map_err(unread)?.collect::<Result<_, _>>().map_err(unread)
}

//! Columns that come from Python: Arrow capsules of any package, or plain bytes.

#![expect(unsafe_code, reason = "the border to Arrow")]

use crate::errors::{failed, wrong};
use arrow_array::cast::AsArray;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi};
use arrow_array::ffi_stream::{ArrayStreamReader, FFI_ArrowArrayStream};
use arrow_array::types::{
    ArrowPrimitiveType, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, make_array};
use arrow_schema::DataType;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyTuple};

/// The whole numbers of a column; `name` is what messages call it.
pub(crate) fn whole_numbers(name: &str, given: &Bound<'_, PyAny>) -> PyResult<Vec<u64>> {
    if let Ok((format, bytes)) = given.extract::<(String, Bound<'_, PyBytes>)>() {
        return of_bytes(name, &format, bytes.as_bytes());
    }
    let mut all = Vec::new();
    for array in arrays(name, given)? {
        if array.null_count() > 0 {
            return Err(wrong(format!("{name}: a value is missing")));
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
            other => return Err(not_whole(name, &other.to_string())),
        }
    }
    Ok(all)
}

/// The texts of a column.
pub(crate) fn texts(name: &str, given: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    let mut all = Vec::new();
    for array in arrays(name, given)? {
        for row in 0..array.len() {
            all.push(text(name, &array, row)?);
        }
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

fn text(name: &str, array: &ArrayRef, row: usize) -> PyResult<String> {
    if array.is_null(row) {
        return Err(wrong(format!("{name}: a value is missing")));
    }
    Ok(match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().value(row).to_string(),
        DataType::LargeUtf8 => array.as_string::<i64>().value(row).to_string(),
        DataType::Utf8View => array.as_string_view().value(row).to_string(),
        DataType::Dictionary(_, _) => {
            let coded = array.as_any_dictionary();
            let key = coded.normalized_keys()[row];
            return text(name, coded.values(), key);
        }
        other => return Err(wrong(format!("{name}: texts are needed, not {other}"))),
    })
}

fn widen<T: ArrowPrimitiveType>(name: &str, array: &ArrayRef, all: &mut Vec<u64>) -> PyResult<()>
where
    T::Native: TryInto<u64> + Copy,
{
    for value in array.as_primitive::<T>().values() {
        all.push((*value).try_into().map_err(|_| negative(name))?);
    }
    Ok(())
}

fn negative(name: &str) -> PyErr {
    wrong(format!("{name}: a value is negative"))
}

fn not_whole(name: &str, what: &str) -> PyErr {
    wrong(format!("{name}: whole numbers are needed, not values of type {what}"))
}

/// Numbers of a buffer, in the format of Python's module struct.
fn of_bytes(name: &str, format: &str, bytes: &[u8]) -> PyResult<Vec<u64>> {
    macro_rules! numbers {
        ($of:ty) => {{
            let (whole, _) = bytes.as_chunks::<{ size_of::<$of>() }>();
            let all = whole.iter().map(|bytes| u64::try_from(<$of>::from_ne_bytes(*bytes)));
            all.collect::<Result<Vec<u64>, _>>().map_err(|_| negative(name))
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
        other => Err(not_whole(name, other)),
    }
}

/// The arrays behind a capsule of Arrow: an array, or a stream of them.
fn arrays(name: &str, given: &Bound<'_, PyAny>) -> PyResult<Vec<ArrayRef>> {
    if given.hasattr("__arrow_c_array__")? {
        let pair = given.call_method0("__arrow_c_array__")?.cast_into::<PyTuple>()?;
        let schema = pair.get_item(0)?.cast_into::<PyCapsule>()?;
        let array = pair.get_item(1)?.cast_into::<PyCapsule>()?;
        return Ok(vec![of_capsules(&schema, &array)?]);
    }
    if given.hasattr("__arrow_c_stream__")? {
        return stream(name, given);
    }
    Err(wrong(format!("{name}: a column of Arrow or of numbers is needed")))
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
    let capsule = given.call_method0("__arrow_c_stream__")?.cast_into::<PyCapsule>()?;
    let pointer = capsule.pointer_checked(Some(c"arrow_array_stream"))?;
    let pointer = pointer.cast::<FFI_ArrowArrayStream>();
    // SAFETY: a capsule of this name holds a stream, which is moved out of it; the capsule's
    // destructor finds a stream that was released, as the interface asks.
    let reader = unsafe { ArrayStreamReader::from_raw(pointer.as_ptr()) };
    let unread = |error| wrong(format!("{name}: a stream of Arrow that cannot be read: {error}"));
    reader.map_err(unread)?.collect::<Result<_, _>>().map_err(unread)
}

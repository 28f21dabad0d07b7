//! Numbers, times and ranges in the columns of rows, and the errors that name them.

use flashyard_core::request::SECTOR_BYTES;

use crate::error::{RowError, quoted};
use crate::number::{NumberError, decimal, integer};

impl RowError {
    pub(super) fn number(column: &str, text: &[u8], error: NumberError, columns: &str) -> Self {
        let what = format!("{column} {}, {}", error.reason(), quoted(text));
        Self { what, fix: columns.to_owned() }
    }

    pub(super) fn column_count(found: usize, wanted: usize, columns: &str) -> Self {
        let fix = format!("a row is {columns}");
        Self { what: format!("{found} columns instead of {wanted}"), fix }
    }

    pub(super) fn op(text: &[u8], allowed: &str) -> Self {
        let fix = format!("the operations of this format are {allowed}");
        Self { what: format!("unknown operation, {}", quoted(text)), fix }
    }
}

/// The number in a column, or the error that names it.
pub(super) fn whole(column: &str, text: &[u8]) -> Result<u64, RowError> {
    integer(text).map_err(|error| RowError::number(column, text, error, WHOLE_FIX))
}

/// The stream or the placement identifier in a column.
pub(super) fn stream(column: &str, text: &[u8]) -> Result<u16, RowError> {
    u16::try_from(whole(column, text)?)
        .map_err(|_| RowError::number(column, text, NumberError::TooLarge, "it ends at 65535"))
}

/// The time in a column of whole or decimal seconds, in nanoseconds.
pub(super) fn seconds(column: &str, text: &[u8]) -> Result<u64, RowError> {
    decimal(text, 9).map_err(|error| {
        let fix = "times are decimal seconds from 0 to 18446744073.709551615";
        RowError::number(column, text, error, fix)
    })
}

pub(super) const WHOLE_FIX: &str = "a whole number from 0 to 18446744073709551615 belongs there";

/// The length of a column that counts sectors.
pub(super) fn sector_count(column: &str, text: &[u8]) -> Result<u32, RowError> {
    match sector_count_or_none(column, text)? {
        0 => Err(empty_request(column)),
        sectors => Ok(sectors),
    }
}

/// The length of a column that counts sectors, where a request may have none.
pub(super) fn sector_count_or_none(column: &str, text: &[u8]) -> Result<u32, RowError> {
    u32::try_from(whole(column, text)?)
        .map_err(|_| RowError::number(column, text, NumberError::TooLarge, LENGTH_FIX))
}

pub(super) const LENGTH_FIX: &str = "a request has at most 4294967295 sectors";

pub(super) fn empty_request(column: &str) -> RowError {
    let fix = "a request has at least one sector: take the row out".to_owned();
    RowError { what: format!("{column} is 0"), fix }
}

/// The first sector and the sectors of a range of bytes: widened to whole sectors. `offset` counts
/// bytes from sector `base`.
pub(super) fn sectors_of_bytes(
    base: u64,
    offset: u64,
    bytes: &[u8],
    column: &str,
) -> Result<(u64, u32), RowError> {
    let too_large = || RowError::number(column, bytes, NumberError::TooLarge, LENGTH_FIX);
    let length = whole(column, bytes)?;
    if length == 0 {
        return Err(empty_request(column));
    }
    let sector = u64::from(SECTOR_BYTES);
    let end = offset.checked_add(length).ok_or_else(too_large)?.div_ceil(sector);
    let first = offset / sector;
    let sectors = u32::try_from(end - first).map_err(|_| too_large())?;
    Ok((base + first, sectors))
}

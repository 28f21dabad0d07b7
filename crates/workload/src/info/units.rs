//! The pages that are counted, and quotients of counts.

use flashyard_core::request::SECTOR_BYTES;

/// Bytes of the pages that footprints and re-use count.
pub const FOOTPRINT_PAGE_BYTES: u32 = 4_096;

pub(super) const PAGE_SECTORS: u64 = (FOOTPRINT_PAGE_BYTES / SECTOR_BYTES) as u64;

pub(super) fn ratio(numerator: f64, denominator: f64) -> Option<f64> {
    (denominator > 0.0).then(|| numerator / denominator)
}

pub(super) fn percent(part: u64, whole: u64) -> Option<f64> {
    ratio(100.0 * part as f64, whole as f64)
}

pub(super) fn mib_of_pages(pages: u64) -> f64 {
    pages as f64 * f64::from(FOOTPRINT_PAGE_BYTES) / f64::from(1 << 20)
}

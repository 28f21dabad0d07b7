//! Sizes of the requests of one operation.

use flashyard_core::request::{Request, SECTOR_BYTES};
use serde::Serialize;

use super::histogram::{Fine, Percentiles};
use super::units::{PAGE_SECTORS, percent};

/// How many of the most common sizes are reported.
const COMMON: usize = 8;

/// Sizes of the requests of one operation. Those of 4 MiB and more may be rounded up by 1/4096 in
/// percentiles and common sizes; all else is exact.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sizes {
    /// Percentiles in KiB (1024 B).
    pub kib: Percentiles<f64>,
    /// Share of requests that start and end on a multiple of 4 KiB, in percent.
    pub aligned_percent: Option<f64>,
    /// The most common sizes, at most eight, the most common one first.
    pub common: Vec<CommonSize>,
}

/// One size and how common it is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CommonSize {
    /// The size in KiB.
    pub kib: f64,
    /// Requests of this size.
    pub requests: u64,
    /// Their share among those of the same operation, in percent.
    pub percent: Option<f64>,
}

#[derive(Debug, Default)]
pub(super) struct SizeCounts {
    sectors: Fine,
    aligned: u64,
}

impl SizeCounts {
    pub(super) fn add(&mut self, request: &Request) {
        let sectors = u64::from(request.sectors);
        self.sectors.add(sectors, 1);
        let aligned = (request.first_sector | sectors).is_multiple_of(PAGE_SECTORS);
        self.aligned += u64::from(aligned);
    }

    pub(super) fn finish(&self) -> Sizes {
        let total = self.sectors.total();
        let common = self.sectors.common(COMMON).into_iter();
        Sizes {
            kib: self.sectors.percentiles().map(kib),
            aligned_percent: percent(self.aligned, total),
            common: common
                .map(|(sectors, requests)| CommonSize {
                    kib: kib(sectors),
                    requests,
                    percent: percent(requests, total),
                })
                .collect(),
        }
    }
}

fn kib(sectors: u64) -> f64 {
    sectors as f64 * f64::from(SECTOR_BYTES) / 1024.0
}

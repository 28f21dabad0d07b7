//! The built-in raw streams: the mixes of the flash request scheduling framework.

use super::keys::{Placement, RawKeys};
use flashyard_core::quantity::Ppm;

/// A built-in stream of raw operations.
#[derive(Clone, Copy, Debug)]
pub struct BuiltInRaw {
    /// What a user calls it.
    pub name: &'static str,
    /// What it is.
    pub title: &'static str,
    /// The parameters.
    pub keys: RawKeys,
}

impl BuiltInRaw {
    /// The built-in stream of this name.
    pub fn from_name(name: &str) -> Option<&'static Self> {
        BUILT_IN_RAW.iter().find(|built_in| built_in.name == name)
    }
}

const FEW_READS: RawKeys = RawKeys {
    requests: 100_000,
    erase_weight: 1,
    program_weight: 256,
    read_weight: 128,
    placement: Placement::Random,
    start_percent: Ppm::ZERO,
    range_percent: Ppm::ALL,
    erased: true,
};

/// Every built-in stream of raw operations, in the order of `flashyard list workloads`.
pub const BUILT_IN_RAW: &[BuiltInRaw] = &[
    BuiltInRaw {
        name: "raw-1-256-128",
        title: "raw erases, programs and reads, 1 : 256 : 128, every 100 to 200 us",
        keys: FEW_READS,
    },
    BuiltInRaw {
        name: "raw-1-256-256",
        title: "raw erases, programs and reads, 1 : 256 : 256, every 100 to 200 us",
        keys: RawKeys { read_weight: 256, ..FEW_READS },
    },
    BuiltInRaw {
        name: "raw-1-256-512",
        title: "raw erases, programs and reads, 1 : 256 : 512, every 100 to 200 us",
        keys: RawKeys { read_weight: 512, ..FEW_READS },
    },
];

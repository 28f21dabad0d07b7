//! The built-in device benchmarks: closed loops, rows of data.

use super::keys::{Access, Action, Arrival, PatternKeys, SizeRule};
use flashyard_core::quantity::{Bytes, Micro, Milli, Ppm, Sectors};
use flashyard_core::units::Span;

/// A built-in device benchmark.
#[derive(Clone, Copy, Debug)]
pub struct BuiltInPattern {
    /// What a user calls it.
    pub name: &'static str,
    /// What it does.
    pub title: &'static str,
    /// How many requests the closed loop keeps outstanding.
    pub depth: u64,
    /// The parameters.
    pub keys: PatternKeys,
}

impl BuiltInPattern {
    /// The built-in pattern of this name.
    pub fn from_name(name: &str) -> Option<&'static Self> {
        BUILT_IN_PATTERNS.iter().find(|built_in| built_in.name == name)
    }
}

/// Outstanding requests of the closed loops: the depth of SATA NCQ, and a usual one of benchmarks.
const DEPTH: u64 = 32;

/// 4 KiB in sectors.
const SMALL: u64 = 8;

/// 128 KiB in sectors.
const LARGE: u64 = 256;

const READS: PatternKeys = PatternKeys {
    requests: 1_000_000,
    total_mib: 0,
    access: Access::Uniform,
    read_percent: Ppm::ALL,
    trim_percent: Ppm::ZERO,
    flush_every: 0,
    fua_every: 0,
    sequential_percent: Ppm::ZERO,
    size_kib: Sectors::from_sectors(SMALL),
    max_size_kib: Sectors::ZERO,
    sizes: SizeRule::Uniform,
    large_percent: Ppm::from_percent(10),
    mean_kib: Bytes::from_kib(16),
    write_size_kib: Sectors::ZERO,
    write_max_size_kib: Sectors::ZERO,
    write_large_percent: Ppm::ZERO,
    write_mean_kib: Bytes::ZERO,
    align_kib: Sectors::ZERO,
    start_percent: Ppm::ZERO,
    range_percent: Ppm::ALL,
    zipf_exponent: Milli::from_thousandths(990),
    zipf_ranks: 0,
    hot_units_percent: Ppm::from_percent(20),
    hot_accesses_percent: Ppm::from_percent(80),
    skew_percent: Ppm::from_percent(80),
    zone_1_percent: Ppm::from_percent(20),
    zone_1_accesses_percent: Ppm::from_percent(80),
    zone_2_percent: Ppm::from_percent(20),
    zone_2_accesses_percent: Ppm::from_percent(10),
    zones: 0,
    first_zone: 0,
    append: false,
    zone_action: Action::None,
    scatter: true,
    stride_kib: Sectors::from_kib(64),
    arrival: Arrival::None,
    rate_per_s: Micro::from_millionths(10_000_000_000),
    burst_rate_per_s: Micro::from_millionths(100_000_000_000),
    calm_ms: Span::from_ms(20),
    burst_ms: Span::from_ms(2),
    tail_shape: Milli::from_thousandths(1_500),
};

const SEQUENTIAL_READS: PatternKeys = PatternKeys {
    requests: 100_000,
    access: Access::Sequential,
    size_kib: Sectors::from_sectors(LARGE),
    ..READS
};

/// Every built-in pattern, in the order of `flashyard list workloads`.
pub const BUILT_IN_PATTERNS: &[BuiltInPattern] = &[
    BuiltInPattern {
        name: "random-read",
        title: "uniform random reads of 4 KiB, 32 outstanding",
        depth: DEPTH,
        keys: READS,
    },
    BuiltInPattern {
        name: "sequential-read",
        title: "sequential reads of 128 KiB, 32 outstanding",
        depth: DEPTH,
        keys: SEQUENTIAL_READS,
    },
    BuiltInPattern {
        name: "random-write",
        title: "uniform random writes of 4 KiB, 32 outstanding",
        depth: DEPTH,
        keys: PatternKeys { read_percent: Ppm::ZERO, ..READS },
    },
    BuiltInPattern {
        name: "sequential-write",
        title: "sequential writes of 128 KiB, 32 outstanding",
        depth: DEPTH,
        keys: PatternKeys { read_percent: Ppm::ZERO, ..SEQUENTIAL_READS },
    },
    BuiltInPattern {
        name: "mixed-70-30",
        title: "uniform random accesses of 4 KiB, 70 % reads and 30 % writes, 32 outstanding",
        depth: DEPTH,
        keys: PatternKeys { read_percent: Ppm::from_percent(70), ..READS },
    },
    BuiltInPattern {
        name: "hot-cold-write",
        title: "random writes of 4 KiB, 80 % of them to a fifth of the device, 32 outstanding",
        depth: DEPTH,
        keys: PatternKeys { access: Access::HotCold, read_percent: Ppm::ZERO, ..READS },
    },
    BuiltInPattern {
        name: "toy-write",
        title: "400 writes of 4 KiB, 80 % of them to a fifth of the device, one at a time",
        depth: 1,
        keys: PatternKeys {
            access: Access::HotCold,
            read_percent: Ppm::ZERO,
            requests: 400,
            ..READS
        },
    },
];

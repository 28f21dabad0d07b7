//! The built-in device benchmarks: closed loops, rows of data.

use super::keys::{Access, Arrival, PatternKeys, SizeRule};

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
    read_percent: 1_000_000,
    trim_percent: 0,
    flush_every: 0,
    sequential_percent: 0,
    size_kib: SMALL,
    max_size_kib: 0,
    sizes: SizeRule::Uniform,
    large_percent: 100_000,
    mean_kib: 16_384,
    write_size_kib: 0,
    write_max_size_kib: 0,
    write_large_percent: 0,
    write_mean_kib: 0,
    align_kib: SMALL,
    start_percent: 0,
    range_percent: 1_000_000,
    zipf_exponent: 990,
    hot_units_percent: 200_000,
    hot_accesses_percent: 800_000,
    skew_percent: 800_000,
    scatter: true,
    stride_kib: 128,
    arrival: Arrival::None,
    rate_per_s: 10_000_000_000,
    burst_rate_per_s: 100_000_000_000,
    calm_ms: 20_000_000,
    burst_ms: 2_000_000,
    tail_shape: 1_500,
};

const SEQUENTIAL_READS: PatternKeys = PatternKeys {
    requests: 100_000,
    access: Access::Sequential,
    size_kib: LARGE,
    align_kib: LARGE,
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
        keys: PatternKeys { read_percent: 0, ..READS },
    },
    BuiltInPattern {
        name: "sequential-write",
        title: "sequential writes of 128 KiB, 32 outstanding",
        depth: DEPTH,
        keys: PatternKeys { read_percent: 0, ..SEQUENTIAL_READS },
    },
    BuiltInPattern {
        name: "mixed-70-30",
        title: "uniform random accesses of 4 KiB, 70 % reads and 30 % writes, 32 outstanding",
        depth: DEPTH,
        keys: PatternKeys { read_percent: 700_000, ..READS },
    },
    BuiltInPattern {
        name: "hot-cold-write",
        title: "random writes of 4 KiB, 80 % of them to a fifth of the device, 32 outstanding",
        depth: DEPTH,
        keys: PatternKeys { access: Access::HotCold, read_percent: 0, ..READS },
    },
    BuiltInPattern {
        name: "toy-write",
        title: "400 writes of 4 KiB, 80 % of them to a fifth of the device, one at a time",
        depth: 1,
        keys: PatternKeys { access: Access::HotCold, read_percent: 0, requests: 400, ..READS },
    },
];

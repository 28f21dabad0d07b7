//! The section `[metrics]`: what a run records besides its sums.

use flashyard_core::key::Kind;
use flashyard_core::keys;

keys! {
    /// Keys of `[metrics]`.
    pub struct MetricsKeys {
        /// Width of the bins of the time series; doubled as often as it takes to need at most 4096
        /// of them. 0: no time series.
        bin_ms: u64 = 0 => {
            kind: Kind::millis(0, 1 << 50),
            source: "assumed: sums are enough unless more is asked for",
            flip: "10", with: &[],
        },
        /// Latencies, their parts and waiting times of so many of the first requests, by order of
        /// arrival in measured phases, do not count; everything else of them does.
        skip_requests: u64 = 0 => {
            kind: Kind::count("requests", 0, 1 << 50),
            source: "assumed: every request counts",
            flip: "2", with: &[],
        },
    }
}

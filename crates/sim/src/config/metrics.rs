//! The section `[metrics]`: what a run records besides its sums.

use flashyard_core::key::Kind;
use flashyard_core::keys;
use flashyard_core::units::Span;

keys! {
    /// Keys of `[metrics]`.
    pub struct MetricsKeys {
        /// Width of the bins of the time series. It is doubled until the run needs at most 4096
        /// bins. 0: no time series.
        bin_ms: Span = Span::ZERO => {
            kind: Kind::millis(0, 1 << 50),
            source: "assumed: sums are enough unless more is asked for",
            flip: "10", with: &[],
        },
        /// Period of the power meter: it takes a sample of the mean power of each period. The
        /// samples go to `run --power FILE` or to power.csv in the folder of `run --out`. 0: no
        /// power meter; `--power` alone sets 1 ms.
        power_us: Span = Span::ZERO => {
            kind: Kind::micros(0, 1 << 56),
            source: "Park et al. 2011 sample every millisecond",
            flip: "1000", with: &[],
        },
        /// Number of requests, the first to arrive in measured phases, that do not count in
        /// latencies, latency parts and waiting times. They count in everything else.
        skip_requests: u64 = 0 => {
            kind: Kind::count("requests", 0, 1 << 50),
            source: "assumed: every request counts",
            flip: "2", with: &[],
        },
    }
}

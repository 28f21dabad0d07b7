//! The keys of `[profile]`.

use flashyard_core::key::Kind;
use flashyard_core::keys;
use flashyard_core::quantity::Micro;

const FITTED: &str = "assumed: the twin of a trace is like the trace";

keys! {
    /// Keys of `[profile]`.
    pub struct ProfileKeys {
        /// How many requests there are. 0: as many as the trace had.
        requests: u64 = 0 => {
            kind: Kind::count("requests", 0, 1_000_000_000_000),
            source: FITTED, flip: "100", with: &[],
        },
        /// Factor on times: below 1 the same requests come faster.
        time_scale: Micro = Micro::from_millionths(1_000_000) => {
            kind: Kind::Number { unit: "", scale: 1_000_000, min: 0, max: 1_000_000_000_000 },
            source: FITTED, flip: "0.5", with: &[],
        },
        /// The range in which addresses lie. 0: as far as the addresses of the trace.
        span_mib: u64 = 0 => {
            kind: Kind::count("MiB", 0, 1 << 40),
            source: FITTED, flip: "512", with: &[],
        },
    }
}

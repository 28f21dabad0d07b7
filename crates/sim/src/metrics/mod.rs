//! Counting: latencies, their parts, operations, busy time, queue depths.

pub(crate) mod answer;
pub mod backlog;
pub mod counters;
pub mod drift;
pub mod exact;
pub mod histogram;
pub mod meter;
pub mod parts;
pub mod series;

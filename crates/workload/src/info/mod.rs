//! Statistics of a stream of requests, in one pass and in memory that is bounded by the footprint.
//!
//! Floats are used for the final divisions only; the sums are integers.

mod collect;
mod figures;
mod footprint;
mod gaps;
mod histogram;
mod index;
mod overlap;
mod pages;
mod rate;
mod recency;
mod runs;
mod sizes;
mod table;
mod units;

pub use self::collect::{ByOp, Info, ReadWrite, STREAMS_SHOWN, StreamRequests};
pub use self::figures::Figure;
pub use self::gaps::{DISPERSION_WINDOWS_NS, Dispersion};
pub use self::histogram::Percentiles;
pub use self::overlap::{OVERLAP_REQUESTS, Overlap};
pub use self::pages::{
    AfterWrite, CACHES_MIB, CacheHits, PAGE_LIMIT, Reuse, WORKING_SET_WINDOWS_NS, WorkingSet,
};
pub use self::rate::{Bin, RATE_BINS, Rate};
pub use self::runs::{RECENT_ENDS, Sequentiality};
pub use self::sizes::{CommonSize, Sizes};
pub use self::table::compare;
pub use self::units::FOOTPRINT_PAGE_BYTES;

#[cfg(test)]
mod naive;
#[cfg(test)]
mod tests;

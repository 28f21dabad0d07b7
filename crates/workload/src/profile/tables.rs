//! What a profile holds, and whether it makes sense.

use serde::{Deserialize, Serialize};

/// The version of the tables: the classes that the counts refer to.
pub(super) const VERSION: u64 = 1;
/// Requests of a profile.
const MAX_REQUESTS: u64 = 1_000_000_000_000;
/// Times: 2^62 ns, as those of traces.
const MAX_NS: u64 = 1 << 62;
/// Sectors of the span: 8 EiB.
const MAX_SPAN: u64 = 1 << 54;

/// A measured trace, without its addresses and times.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// The version of these tables.
    pub version: u64,
    /// Upper bounds (exclusive) of the classes of gaps, in nanoseconds.
    pub gap_bounds_ns: Vec<u64>,
    /// Upper bounds (inclusive) of the classes of sizes, in sectors.
    pub size_bounds: Vec<u64>,
    /// Upper bounds (exclusive) of the classes of loads, in nanoseconds.
    pub load_bounds_ns: Vec<u64>,
    /// The span of the addresses from 0, in sectors.
    pub span_sectors: u64,
    /// Kinds of requests: operation (0 read, 1 write, 2 trim, 3 flush), classes of the size and of
    /// the gap before it, kind of place, class of the load it meets.
    pub symbols: Vec<[u64; 5]>,
    /// The symbol of the first request.
    pub first: u64,
    /// Quantiles of gaps.
    pub gaps: Vec<Gaps>,
    /// Sizes.
    pub sizes: Vec<Sizes>,
    /// Places.
    pub places: Vec<Places>,
    /// Phases, in order.
    pub phase: Vec<Phase>,
}

/// The gaps of one class.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gaps {
    /// The class.
    pub class: u64,
    /// Nanoseconds that bound equally many gaps each, ascending.
    pub bounds_ns: Vec<u64>,
}

/// The sizes of one operation and class.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sizes {
    /// The operation.
    pub op: u64,
    /// Pairs of a size in sectors and its count.
    pub sectors: Vec<[u64; 2]>,
}

/// The places of one operation and kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Places {
    /// The operation.
    pub op: u64,
    /// The kind.
    pub kind: u64,
    /// Pairs of a label and its count.
    pub ranks: Vec<[u64; 2]>,
    /// Elsewhere: pairs of a page of 4 KiB in its chunk of 32 KiB and its count.
    #[serde(default)]
    pub pages: Vec<[u64; 2]>,
    /// Elsewhere: pairs of a sector in its page and its count.
    #[serde(default)]
    pub sectors: Vec<[u64; 2]>,
}

/// A part of the trace in which moves are counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    /// Its segments, in order.
    pub segments: Vec<Segment>,
    /// Rows of a symbol, and pairs of a next symbol and how often it follows.
    pub moves: Vec<Vec<u64>>,
}

/// A part of a phase.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Segment {
    /// Time before its first request (after the one before) to its last, in nanoseconds.
    pub duration_ns: u64,
    /// How many requests have each trait.
    pub counts: Vec<u64>,
}

impl Segment {
    /// How many requests it has.
    pub fn requests(&self) -> u64 {
        self.counts.iter().sum()
    }
}

impl Phase {
    /// How many moves it has.
    pub fn requests(&self) -> u64 {
        self.segments.iter().map(Segment::requests).sum()
    }
}

impl Profile {
    /// How many requests the trace had.
    pub fn requests(&self) -> u64 {
        1 + self.phase.iter().map(Phase::requests).sum::<u64>()
    }

    /// From the first request of the trace to the last, in nanoseconds.
    pub fn duration_ns(&self) -> u64 {
        self.segments().map(|segment| segment.duration_ns).sum()
    }

    fn segments(&self) -> impl Iterator<Item = &Segment> {
        self.phase.iter().flat_map(|phase| &phase.segments)
    }
}

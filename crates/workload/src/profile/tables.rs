//! What a profile holds, and whether it makes sense.

use serde::{Deserialize, Serialize};

/// The version of the tables: the classes that the counts refer to.
pub(super) const VERSION: u64 = 1;

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
    /// Quantiles of gaps; none of a single request.
    #[serde(default)]
    pub gaps: Vec<Gaps>,
    /// Sizes; none where there are flushes only.
    #[serde(default)]
    pub sizes: Vec<Sizes>,
    /// Places.
    #[serde(default)]
    pub places: Vec<Places>,
    /// Phases, in order.
    #[serde(default)]
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

/// A part of a phase; in a file a row: the duration, then the counts without zeros at the end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<u64>", into = "Vec<u64>")]
pub struct Segment {
    /// Time before its first request (after the one before) to its last, in nanoseconds.
    pub duration_ns: u64,
    /// How many requests have each trait: three for each class of gap that segments tell apart, of
    /// reads, of large writes and of anything else.
    pub counts: Vec<u64>,
}

impl From<Vec<u64>> for Segment {
    fn from(mut row: Vec<u64>) -> Self {
        let duration_ns = if row.is_empty() { 0 } else { row.remove(0) };
        Self { duration_ns, counts: row }
    }
}

impl From<Segment> for Vec<u64> {
    fn from(segment: Segment) -> Self {
        let used = segment.counts.iter().rposition(|&count| count > 0).map_or(0, |last| last + 1);
        let counts = segment.counts.into_iter().take(used);
        std::iter::once(segment.duration_ns).chain(counts).collect()
    }
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

    /// Whether all but a few places, 5 % (assumed), are at the start of a page of 4 KiB.
    pub(super) fn is_aligned(&self) -> bool {
        let cards = self.places.iter().flat_map(|table| &table.sectors);
        let count = |[label, count]: [u64; 2]| [if label == 0 { count } else { 0 }, count];
        let sum = |sum: [u128; 2], card: &[u64; 2]| {
            let [aligned, all] = count(*card);
            [sum[0] + u128::from(aligned), sum[1] + u128::from(all)]
        };
        let [aligned, all] = cards.fold([0, 0], sum);
        aligned * 20 >= all * 19
    }

    pub(super) fn segments(&self) -> impl Iterator<Item = &Segment> {
        self.phase.iter().flat_map(|phase| &phase.segments)
    }
}

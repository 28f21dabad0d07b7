//! From a source of requests to a profile, in one pass.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use flashyard_core::request::{Request, RequestOp};

use super::classes::{
    AGAIN, Bound, ELSEWHERE, GAP_BOUNDS_NS, GIVEN_UP, KINDS, OPS, RANKS, RUN_ON, RUN_OVER,
    SIZE_BOUNDS, TRAITS, gap_class, rank_class, size_class, trait_of,
};
use super::gaps::GapCounts;
use super::history::{CHUNK_SECTORS, History, PAGE_SECTORS, Place, ZONE_SECTORS};
use super::phases::{Limits, SegmentCounts, distinct_moves, phases};
use super::tables::{Places, Profile, Sizes, VERSION};
use crate::RequestSource;
use crate::error::WorkloadError;

/// Keeps a profile's file below about 40 kB.
const LIMITS: Limits = Limits { least_requests: 250, most_moves: 3_400 };

/// Distinct sizes of an operation that are kept exactly; of more, neighbours become one.
const MOST_SIZES: usize = 512;

impl Profile {
    /// Reads `source` to its end and counts. A trace without requests has no profile.
    pub fn fit(source: &mut (impl RequestSource + ?Sized)) -> Result<Option<Self>, WorkloadError> {
        let mut fit = Fit::new();
        while let Some(request) = source.next_request()? {
            fit.add(&request);
        }
        Ok(fit.finish())
    }
}

/// Counts of labels.
type Tally = BTreeMap<u64, u64>;

/// Counts of places of one operation and kind.
#[derive(Clone, Debug, Default)]
struct PlaceCounts {
    ranks: Tally,
    pages: Tally,
    sectors: Tally,
}

#[derive(Clone, Debug)]
struct Fit {
    last_ns: Option<u64>,
    /// The number of each symbol, in the order of their appearance, and how often it was seen.
    symbols: BTreeMap<[u64; 4], (u16, u64)>,
    first: u16,
    previous: u16,
    segments: SegmentCounts,
    gaps: GapCounts,
    sizes: [Tally; OPS],
    places: Vec<PlaceCounts>,
    history: History,
    span_sectors: u64,
}

impl Fit {
    fn new() -> Self {
        Self {
            last_ns: None,
            symbols: BTreeMap::new(),
            first: 0,
            previous: 0,
            segments: SegmentCounts::new(),
            gaps: GapCounts::new(),
            sizes: Default::default(),
            places: vec![PlaceCounts::default(); OPS * KINDS],
            history: History::new(),
            span_sectors: 0,
        }
    }

    fn add(&mut self, request: &Request) {
        let now = request.arrival.as_ns();
        let gap = now - self.last_ns.unwrap_or(now);
        let op = request.op as usize;
        let (mut size, mut kind) = (0, 0);
        if request.op != RequestOp::Flush {
            let sectors = u64::from(request.sectors);
            size = size_class(sectors, &SIZE_BOUNDS);
            kind = self.add_place(request);
            *self.sizes[op].entry(sectors).or_default() += 1;
        }
        let key = [op, size, gap_class(gap), kind].map(|part| part as u64);
        let number = u16::try_from(self.symbols.len()).expect("the classes multiply to thousands");
        let (symbol, seen) = self.symbols.entry(key).or_insert((number, 0));
        *seen += 1;
        let symbol = *symbol;
        if self.last_ns.is_some() {
            self.gaps.add(gap);
            self.segments.add(self.previous, symbol, gap);
        } else {
            self.first = symbol;
        }
        self.previous = symbol;
        self.last_ns = Some(now);
    }

    /// Counts where a request lies and returns the kind of place.
    fn add_place(&mut self, request: &Request) -> usize {
        let op = request.op as usize;
        let group = usize::from(request.op != RequestOp::Read);
        let first = request.first_sector;
        let fresh = self.history.is_fresh(first, request.sectors);
        let elsewhere =
            |label: usize| (ELSEWHERE, label + if fresh { ELSEWHERE_LABELS } else { 0 });
        let (kind, label) = match self.history.place(group, first) {
            Place::Run(rank) => (if fresh { RUN_ON } else { RUN_OVER }, rank),
            Place::Again { own, rank } => (AGAIN, rank_class(rank) + if own { 0 } else { RANKS }),
            Place::Chunk(rank) => elsewhere(rank_class(rank)),
            Place::Zone(rank) => elsewhere(RANKS + rank_class(rank)),
            Place::New => elsewhere(2 * RANKS),
        };
        let counts = &mut self.places[op * KINDS + kind];
        *counts.ranks.entry(label as u64).or_default() += 1;
        if kind == ELSEWHERE {
            *counts.pages.entry(first % CHUNK_SECTORS / PAGE_SECTORS).or_default() += 1;
            *counts.sectors.entry(first % PAGE_SECTORS).or_default() += 1;
        }
        self.history.add(group, first, request.sectors);
        let end = first.saturating_add(u64::from(request.sectors));
        self.span_sectors = self.span_sectors.max(end);
        kind
    }

    fn finish(self) -> Option<Profile> {
        self.last_ns?;
        let segments = self.segments.finish();
        let (mut gap_bounds, mut size_bounds) = (GAP_BOUNDS_NS.to_vec(), SIZE_BOUNDS.to_vec());
        let (mut symbols, mut names) = rename(&self.symbols, &gap_bounds, &size_bounds);
        for bound in GIVEN_UP {
            if distinct_moves(&segments, &names) <= LIMITS.most_moves {
                break;
            }
            match bound {
                Bound::Gap(bound) => gap_bounds.retain(|&other| other != bound),
                Bound::Size(bound) => size_bounds.retain(|&other| other != bound),
            }
            (symbols, names) = rename(&self.symbols, &gap_bounds, &size_bounds);
        }
        let traits: Vec<usize> =
            symbols.iter().map(|symbol| trait_of(symbol[0], symbol[2], &gap_bounds)).collect();
        let mut places = Vec::new();
        for (index, counts) in self.places.into_iter().enumerate() {
            if counts.ranks.is_empty() {
                continue;
            }
            let (op, kind) = ((index / KINDS) as u64, (index % KINDS) as u64);
            let [ranks, pages, sectors] =
                [counts.ranks, counts.pages, counts.sectors].map(|tally| pairs(&tally));
            places.push(Places { op, kind, ranks, pages, sectors });
        }
        let sizes = self.sizes.iter().enumerate().filter(|(_, sizes)| !sizes.is_empty());
        let sizes = sizes.map(|(op, sizes)| Sizes { op: op as u64, sectors: pairs(sizes) });
        Some(Profile {
            version: VERSION,
            span_sectors: self.span_sectors.div_ceil(ZONE_SECTORS) * ZONE_SECTORS,
            first: u64::from(names[usize::from(self.first)]),
            gaps: self.gaps.tables(&gap_bounds),
            sizes: sizes.collect(),
            places,
            phase: phases(&segments, &names, &traits, TRAITS, LIMITS),
            symbols,
            gap_bounds_ns: gap_bounds,
            size_bounds,
        })
    }
}

/// Labels of places elsewhere: ranks of chunks, ranks of zones, and none; then the same again for
/// those that end in a page not touched before.
pub(super) const ELSEWHERE_LABELS: usize = 2 * RANKS + 1;

fn pairs(tally: &Tally) -> Vec<[u64; 2]> {
    let _ = MOST_SIZES;
    tally.iter().map(|(&label, &count)| [label, count]).collect()
}

/// The symbols between fewer bounds, the most frequent first, and the new name of each old one.
fn rename(
    symbols: &BTreeMap<[u64; 4], (u16, u64)>,
    gap_bounds: &[u64],
    size_bounds: &[u64],
) -> (Vec<[u64; 4]>, Vec<u16>) {
    let coarse = |[op, size, gap, kind]: [u64; 4]| {
        let upper = |bounds: &[u64], class: u64| {
            usize::try_from(class).ok().and_then(|class| bounds.get(class).copied())
        };
        let size = upper(&SIZE_BOUNDS, size)
            .map_or(size_bounds.len(), |bound| size_class(bound, size_bounds));
        let gap = upper(&GAP_BOUNDS_NS, gap)
            .map_or(gap_bounds.len(), |bound| gap_bounds.partition_point(|&other| other < bound));
        [op, size as u64, gap as u64, kind]
    };
    let mut seen: BTreeMap<[u64; 4], u64> = BTreeMap::new();
    for (&key, &(_, count)) in symbols {
        *seen.entry(coarse(key)).or_default() += count;
    }
    let mut order: Vec<[u64; 4]> = seen.keys().copied().collect();
    order.sort_by_key(|key| (Reverse(seen[key]), *key));
    let mut numbers: BTreeMap<[u64; 4], u16> = BTreeMap::new();
    for (number, key) in order.iter().enumerate() {
        numbers.insert(*key, u16::try_from(number).expect("no more than there were"));
    }
    let mut names = vec![0; symbols.len()];
    for (&key, &(number, _)) in symbols {
        names[usize::from(number)] = numbers[&coarse(key)];
    }
    (order, names)
}

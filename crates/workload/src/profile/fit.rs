//! From a source of requests to a profile, in one pass.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use flashyard_core::request::{Request, RequestOp};

use super::classes::{
    AGAIN, Bound, ELSEWHERE, GAP_BOUNDS_NS, GIVEN_UP, KINDS, LOAD_BOUNDS_NS, OPS, RANKS, RUN_ON,
    RUN_OTHER, RUN_OVER, SIZE_BOUNDS, TRAITS, gap_class, range_of, rank_class, size_class,
    trait_of, work_ns,
};
use super::gaps::GapCounts;
use super::history::{CHUNK_SECTORS, History, PAGE_SECTORS, Place, RUNS, ZONE_SECTORS};
use super::phases::{Limits, SegmentCounts, distinct_moves, phases};
use super::tables::{Places, Profile, Sizes, VERSION};
use crate::RequestSource;
use crate::error::WorkloadError;

/// Keeps the files of profiles small: the largest of 28 real traces is of 84 kB.
const LIMITS: Limits = Limits { least_requests: 250, most_moves: 2_600 };

/// Distinct sizes of an operation that are kept exactly; of more, neighbours become one.
const MOST_SIZES: usize = 512;
/// Distinct sizes of an operation at which neighbours become one while reading.
const SIZES_READING: usize = 8_192;

impl Profile {
    /// Reads `source` to its end and counts. A trace without requests has no profile.
    pub fn fit(source: &mut (impl RequestSource + ?Sized)) -> Result<Option<Self>, WorkloadError> {
        let mut fit = Fitter::new();
        while let Some(request) = source.next_request()? {
            fit.add(&request);
        }
        Ok(fit.finish())
    }
}

/// Operation, and the classes of size, gap, place and load.
type Symbol = [u64; 5];

/// Counts of labels.
type Tally = BTreeMap<u64, u64>;

/// Counts of places of one operation and kind.
#[derive(Clone, Debug, Default)]
struct PlaceCounts {
    ranks: Tally,
    pages: Tally,
    sectors: Tally,
}

/// Counts requests, for a profile; in bounded memory.
#[derive(Clone, Debug)]
pub struct Fitter {
    last_ns: Option<u64>,
    /// The number of each symbol, in the order of their appearance, and how often it was seen.
    symbols: BTreeMap<Symbol, (u16, u64)>,
    first: u16,
    previous: u16,
    segments: SegmentCounts,
    gaps: GapCounts,
    sizes: [Tally; OPS],
    places: Vec<PlaceCounts>,
    history: History,
    /// Work that a device with one die would still have to do.
    load_ns: u64,
    span_sectors: u64,
}

impl Default for Fitter {
    fn default() -> Self {
        Self::new()
    }
}

impl Fitter {
    /// Nothing counted yet.
    pub fn new() -> Self {
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
            load_ns: 0,
            span_sectors: 0,
        }
    }

    /// Counts a request. Arrivals MUST NOT decrease.
    pub fn add(&mut self, request: &Request) {
        let now = request.arrival.as_ns();
        let gap = now - self.last_ns.unwrap_or(now);
        let op = request.op as usize;
        let (mut size, mut kind) = (0, 0);
        if request.op != RequestOp::Flush {
            let sectors = u64::from(request.sectors);
            size = size_class(sectors, &SIZE_BOUNDS);
            kind = self.add_place(request);
            *self.sizes[op].entry(sectors).or_default() += 1;
            if self.sizes[op].len() > SIZES_READING {
                let fewer = coarsen(pairs(&self.sizes[op]), &SIZE_BOUNDS);
                self.sizes[op].clear();
                for [size, count] in fewer {
                    *self.sizes[op].entry(size).or_default() += count;
                }
            }
        }
        self.load_ns = self.load_ns.saturating_sub(gap);
        let load = LOAD_BOUNDS_NS.partition_point(|&bound| bound <= self.load_ns);
        let pages = u64::from(request.sectors).div_ceil(PAGE_SECTORS);
        self.load_ns = self.load_ns.saturating_add(work_ns(request.op, pages));
        let key = [op, size, gap_class(gap), kind, load].map(|part| part as u64);
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
            Place::Run(0) => (if fresh { RUN_ON } else { RUN_OVER }, 0),
            Place::Run(rank) => (RUN_OTHER, rank + if fresh { RUNS } else { 0 }),
            Place::Again { own, rank } => {
                let end = match (fresh, self.history.goes_on(first, request.sectors)) {
                    (true, _) => 2,
                    (false, false) => 1,
                    (false, true) => 0,
                };
                (AGAIN, rank_class(rank) + RANKS * (usize::from(!own) + 2 * end))
            }
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

    /// The profile; none without requests.
    pub fn finish(self) -> Option<Profile> {
        self.last_ns?;
        let segments = self.segments.finish();
        let mut bounds = Bounds::finest();
        let (mut symbols, mut names) = rename(&self.symbols, &bounds);
        for bound in GIVEN_UP {
            if distinct_moves(&segments, &names) <= LIMITS.most_moves {
                break;
            }
            bounds.give_up(bound);
            (symbols, names) = rename(&self.symbols, &bounds);
        }
        let traits: Vec<usize> = symbols
            .iter()
            .map(|&[op, size, gap, ..]| {
                trait_of(op, range_of(gap, &bounds.gaps).0, range_of(size, &bounds.sizes).0)
            })
            .collect();
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
        let sizes: Vec<Sizes> = sizes
            .map(|(op, sizes)| Sizes {
                op: op as u64,
                sectors: coarsen(pairs(sizes), &bounds.sizes),
            })
            .collect();
        Some(Profile {
            version: VERSION,
            span_sectors: self.span_sectors.div_ceil(ZONE_SECTORS).saturating_mul(ZONE_SECTORS),
            first: u64::from(names[usize::from(self.first)]),
            gaps: self.gaps.tables(&bounds.gaps),
            sizes,
            places,
            phase: phases(&segments, &names, &traits, TRAITS, LIMITS),
            symbols,
            gap_bounds_ns: bounds.gaps,
            size_bounds: bounds.sizes,
            load_bounds_ns: bounds.loads,
        })
    }
}

/// Labels of places elsewhere: ranks of chunks, ranks of zones, and none; then the same again for
/// those that end in a page not touched before.
pub(super) const ELSEWHERE_LABELS: usize = 2 * RANKS + 1;

fn pairs(tally: &Tally) -> Vec<[u64; 2]> {
    tally.iter().map(|(&label, &count)| [label, count]).collect()
}

/// Joins each two neighbours of one class until no more than [`MOST_SIZES`] sizes are left, or one
/// a class. The joined size is the mean, rounded; to whole pages where both are.
fn coarsen(mut sizes: Vec<[u64; 2]>, bounds: &[u64]) -> Vec<[u64; 2]> {
    let class = |size: u64| size_class(size, bounds);
    while sizes.len() > MOST_SIZES {
        let before = sizes.len();
        let mut all = std::mem::take(&mut sizes).into_iter().peekable();
        while let Some([size, count]) = all.next() {
            let next = all.next_if(|&[next, _]| class(next) == class(size));
            let [next, more] = next.unwrap_or([size, 0]);
            let sum = u128::from(size) * u128::from(count) + u128::from(next) * u128::from(more);
            let all = u128::from(count + more);
            // If both sizes are whole pages, the mean is whole pages too, so that a request behind
            // it stays aligned.
            let unit = if (size | next).is_multiple_of(PAGE_SECTORS) { PAGE_SECTORS } else { 1 };
            let all = all * u128::from(unit);
            let mean = u64::try_from((sum + all / 2) / all).expect("between the two") * unit;
            sizes.push([mean, count + more]);
        }
        if sizes.len() == before {
            break;
        }
    }
    sizes
}

/// The bounds of the classes that symbols are made of.
#[derive(Clone, Debug)]
struct Bounds {
    gaps: Vec<u64>,
    sizes: Vec<u64>,
    loads: Vec<u64>,
}

impl Bounds {
    fn finest() -> Self {
        Self {
            gaps: GAP_BOUNDS_NS.to_vec(),
            sizes: SIZE_BOUNDS.to_vec(),
            loads: LOAD_BOUNDS_NS.to_vec(),
        }
    }

    fn give_up(&mut self, bound: Bound) {
        match bound {
            Bound::Gap(bound) => self.gaps.retain(|&other| other != bound),
            Bound::Size(bound) => self.sizes.retain(|&other| other != bound),
            Bound::Load(bound) => self.loads.retain(|&other| other != bound),
        }
    }

    /// The symbol of the finest classes, between these bounds.
    fn coarse(&self, [op, size, gap, kind, load]: Symbol) -> Symbol {
        let size = coarser(size, &SIZE_BOUNDS, &self.sizes);
        let gap = coarser(gap, &GAP_BOUNDS_NS, &self.gaps);
        [op, size, gap, kind, coarser(load, &LOAD_BOUNDS_NS, &self.loads)]
    }
}

/// The class between `fewer` of the `bounds` that a class between all of them is a part of.
fn coarser(class: u64, bounds: &[u64], fewer: &[u64]) -> u64 {
    let passed = bounds.iter().zip(0..class).filter(|(bound, _)| fewer.contains(bound));
    passed.count() as u64
}

/// The symbols between fewer bounds, the most frequent first, and the new name of each old one.
fn rename(symbols: &BTreeMap<Symbol, (u16, u64)>, bounds: &Bounds) -> (Vec<Symbol>, Vec<u16>) {
    let mut seen: BTreeMap<Symbol, u64> = BTreeMap::new();
    for (&key, &(_, count)) in symbols {
        *seen.entry(bounds.coarse(key)).or_default() += count;
    }
    let mut order: Vec<Symbol> = seen.keys().copied().collect();
    order.sort_by_key(|key| (Reverse(seen[key]), *key));
    let mut numbers: BTreeMap<Symbol, u16> = BTreeMap::new();
    for (number, key) in order.iter().enumerate() {
        numbers.insert(*key, u16::try_from(number).expect("no more than there were"));
    }
    let mut names = vec![0; symbols.len()];
    for (&key, &(number, _)) in symbols {
        names[usize::from(number)] = numbers[&bounds.coarse(key)];
    }
    (order, names)
}

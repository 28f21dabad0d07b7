//! Where the requests of a twin start.
//!
//! Draws: one for the class of the rank, together with the rest of the card. For an earlier start,
//! one more for the rank, if the class has several ranks. For any other place, and if the place on
//! the card does not exist: one for the page in the chunk and one for the sector in the page, each
//! only if the profile has counts of it; in a used chunk or zone one for the rank, if the class has
//! several. Then the place is drawn up to [`TRIES`] times, until it is as fresh as the card asks:
//! in a used zone with one draw for the chunk; in a new zone with up to [`TRIES`] draws for the
//! zone, until it is far from the used ones, and one for the chunk.

use super::classes::{AGAIN, ELSEWHERE, KINDS, OPS, RANKS, RUN_ON, RUN_OTHER, RUN_OVER, ranks_of};
use super::deck::Deck;
use super::fit::ELSEWHERE_LABELS;
use super::history::{CHUNK_SECTORS, History, PAGE_SECTORS, RUNS, Recent, ZONE_SECTORS};
use super::tables::Profile;
use crate::random::SplitMix64;

/// How often a place is drawn anew because it is not as fresh as it should be.
const TRIES: usize = 12;

/// How far a rank may be from the one that was drawn, so that the place is what it should be.
const NEARBY: usize = 16;

/// Anywhere in pages not touched yet.
const NEW_AND_FRESH: usize = 2 * ELSEWHERE_LABELS - 1;

/// Pages of a chunk.
const CHUNK_PAGES: u64 = CHUNK_SECTORS / PAGE_SECTORS;

/// Chunks of a zone.
const ZONE_CHUNKS: u64 = ZONE_SECTORS / CHUNK_SECTORS;

/// The cards of one operation and kind.
#[derive(Clone, Debug, Default)]
struct Decks {
    ranks: Deck,
    pages: Deck,
    sectors: Deck,
}

/// Places, and what was used so far.
#[derive(Clone, Debug)]
pub(super) struct Places {
    decks: Vec<Decks>,
    history: History,
    span: u64,
    /// Whether requests start at pages of 4 KiB.
    aligned: bool,
    random: SplitMix64,
}

impl Places {
    pub(super) fn new(profile: &Profile, span: u64, random: SplitMix64) -> Self {
        let mut decks = vec![Decks::default(); OPS * KINDS];
        for table in &profile.places {
            let [ranks, pages, sectors] =
                [&table.ranks, &table.pages, &table.sectors].map(|cards| Deck::new(cards.clone()));
            let place = table.op * KINDS as u64 + table.kind;
            decks[index(place)] = Decks { ranks, pages, sectors };
        }
        Self { decks, history: History::new(), span, aligned: profile.is_aligned(), random }
    }

    /// The first sector of a request of `sectors` sectors, which fit the span.
    pub(super) fn draw(&mut self, op: usize, kind: usize, sectors: u32) -> u64 {
        let group = usize::from(op != 0);
        let last = self.span - u64::from(sectors);
        let label = self.decks[op * KINDS + kind].ranks.deal(&mut self.random);
        let label = label.map_or(0, index);
        let found = match kind {
            RUN_ON | RUN_OVER => self.history.end(0),
            RUN_OTHER => self.other_end(label, sectors),
            AGAIN => self.again(group, label, sectors),
            _ => None,
        };
        let first = found.filter(|&first| first <= last).unwrap_or_else(|| {
            let label = if kind == ELSEWHERE { label } else { NEW_AND_FRESH };
            self.elsewhere(op, label, sectors)
        });
        let first = first.min(last);
        self.history.add(group, first, sectors);
        first
    }

    /// The end of an earlier run than the latest one: the run of the drawn rank, or another run
    /// that is as fresh as the card asks. If a run should go on in untouched pages and cannot, the
    /// request starts elsewhere.
    fn other_end(&self, label: usize, sectors: u32) -> Option<u64> {
        let (rank, fresh) = (label % RUNS, label >= RUNS);
        let at_page = |end: u64| !self.aligned || end.is_multiple_of(PAGE_SECTORS);
        let suits = |&end: &u64| at_page(end) && self.suits(end, sectors, fresh);
        let wanted = self.history.end(rank);
        if wanted.as_ref().is_some_and(suits) {
            return wanted;
        }
        let other = (1..RUNS).filter_map(|rank| self.history.end(rank)).find(suits);
        if fresh { other } else { other.or(wanted) }
    }

    /// An earlier start of about the rank, from which the request ends as it should.
    fn again(&mut self, group: usize, label: usize, sectors: u32) -> Option<u64> {
        let (class, end) = (label % (2 * RANKS), label / (2 * RANKS));
        let starts = self.history.starts(group, class < RANKS);
        let rank = rank_in(class % RANKS, starts, &mut self.random)?;
        let suits = |&first: &u64| {
            let fresh = self.history.is_fresh(first, sectors);
            match end {
                2 => fresh,
                end => !fresh && self.history.goes_on(first, sectors) == (end == 0),
            }
        };
        let near = nearby(rank).filter_map(|rank| starts.get(rank)).find(suits);
        near.or_else(|| starts.get(rank))
    }

    /// Whether a request lies in pages none of which was touched, or ends in one that was.
    fn suits(&self, first: u64, sectors: u32, fresh: bool) -> bool {
        if fresh {
            self.history.is_untouched(first, sectors)
        } else {
            !self.history.is_fresh(first, sectors)
        }
    }

    fn elsewhere(&mut self, op: usize, label: usize, sectors: u32) -> u64 {
        let (fresh, label) = (label >= ELSEWHERE_LABELS, label % ELSEWHERE_LABELS);
        let decks = &mut self.decks[op * KINDS + ELSEWHERE];
        let page = decks.pages.deal(&mut self.random).unwrap_or(0);
        let sector = decks.sectors.deal(&mut self.random).unwrap_or(0);
        let (is_chunk, is_zone) = (label < RANKS, (RANKS..2 * RANKS).contains(&label));
        let used = if is_chunk { self.history.chunks() } else { self.history.zones() };
        let rank = match label % RANKS {
            class if is_chunk || is_zone => rank_in(class, used, &mut self.random),
            _ => None,
        };
        let mut tries = rank.into_iter().flat_map(nearby);
        let mut fallback = None;
        for _ in 0..TRIES {
            let used = if is_chunk { self.history.chunks() } else { self.history.zones() };
            let place = tries.next().and_then(|rank| used.get(rank));
            let chunk = match place {
                Some(chunk) if is_chunk => chunk,
                Some(zone) => zone * ZONE_CHUNKS + self.random.below(ZONE_CHUNKS),
                None => self.new_zone() * ZONE_CHUNKS + self.random.below(ZONE_CHUNKS),
            };
            for more in 0..CHUNK_PAGES {
                let page = (page + more) % CHUNK_PAGES;
                let first = chunk * CHUNK_SECTORS + page * PAGE_SECTORS + sector;
                fallback.get_or_insert(first);
                if self.suits(first, sectors, fresh) && !self.history.is_known(first) {
                    return first;
                }
            }
        }
        fallback.unwrap_or(0)
    }

    /// A zone that is not remembered, if one is found; rather one with room for a run behind it.
    fn new_zone(&mut self) -> u64 {
        let mut zone = 0;
        for room in (0..TRIES as u64).rev() {
            zone = self.random.below(self.span.div_ceil(ZONE_SECTORS));
            if (zone..=zone + room).all(|zone| !self.history.zones().contains(zone)) {
                break;
            }
        }
        zone
    }
}

/// A rank of this class, or that of the oldest place that is remembered.
fn rank_in(class: usize, recent: &Recent, random: &mut SplitMix64) -> Option<usize> {
    let (first, count) = ranks_of(class);
    let more = if count > 1 { random.below_usize(count) } else { 0 };
    let oldest = recent.len().checked_sub(1)?;
    Some((first + more).min(oldest))
}

/// A rank and its neighbours, the nearest first.
fn nearby(rank: usize) -> impl Iterator<Item = usize> {
    let more = (1..=NEARBY).flat_map(move |step| [Some(rank + step), rank.checked_sub(step)]);
    std::iter::once(rank).chain(more.flatten())
}

fn index(label: u64) -> usize {
    usize::try_from(label).expect("tables were checked")
}

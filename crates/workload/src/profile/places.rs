//! Where the requests of a twin start.
//!
//! Draws: one for the rank's class, with what else stands on the card; unless it is the end of a
//! run, one for the rank where the class has several; then, elsewhere, up to [`TRIES`] times until
//! the place is as fresh as it should be: in a used zone one draw for the chunk, in another zone two
//! for zone and chunk; one for the page in the chunk, one for the sector in the page.

use super::classes::{AGAIN, ELSEWHERE, KINDS, OPS, RANKS, RUN_ON, RUN_OVER, ranks_of};
use super::deck::Deck;
use super::fit::ELSEWHERE_LABELS;
use super::history::{CHUNK_SECTORS, History, PAGE_SECTORS, RUNS, Recent, ZONE_SECTORS};
use super::tables::Places as Table;
use crate::random::SplitMix64;

/// How often a place is drawn anew because it is not as fresh as it should be.
const TRIES: usize = 12;

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
    random: SplitMix64,
}

impl Places {
    pub(super) fn new(tables: &[Table], span: u64, random: SplitMix64) -> Self {
        let mut decks = vec![Decks::default(); OPS * KINDS];
        for table in tables {
            let [ranks, pages, sectors] =
                [&table.ranks, &table.pages, &table.sectors].map(|cards| Deck::new(cards.clone()));
            let place = table.op * KINDS as u64 + table.kind;
            decks[index(place)] = Decks { ranks, pages, sectors };
        }
        Self { decks, history: History::new(), span, random }
    }

    /// The first sector of a request of `sectors` sectors, which fit the span.
    pub(super) fn draw(&mut self, op: usize, kind: usize, sectors: u32) -> u64 {
        let group = usize::from(op != 0);
        let last = self.span - u64::from(sectors);
        let label = self.decks[op * KINDS + kind].ranks.deal(&mut self.random);
        let label = label.map_or(0, index);
        let found = match kind {
            RUN_ON | RUN_OVER => self.end(label, kind == RUN_ON, sectors),
            AGAIN => {
                let starts = self.history.starts(group, label < RANKS);
                ranked(starts, label % RANKS, &mut self.random)
            }
            _ => None,
        };
        let first = found.filter(|&first| first <= last).unwrap_or_else(|| {
            let label = if kind == ELSEWHERE { label } else { 2 * ELSEWHERE_LABELS - 1 };
            self.elsewhere(op, label, sectors)
        });
        let first = first.min(last);
        self.history.add(group, first, sectors);
        first
    }

    /// The end of a run. The latest run is taken whatever lies behind it, so that the share of
    /// sequential requests is kept; of the others one that is as fresh as it should be, if any is.
    fn end(&self, rank: usize, fresh: bool, sectors: u32) -> Option<u64> {
        let fits = |&end: &u64| self.history.is_fresh(end, sectors) == fresh;
        let wanted = self.history.end(rank);
        if rank == 0 || wanted.as_ref().is_some_and(fits) {
            return wanted;
        }
        (1..RUNS).filter_map(|rank| self.history.end(rank)).find(fits).or(wanted)
    }

    fn elsewhere(&mut self, op: usize, label: usize, sectors: u32) -> u64 {
        let (fresh, label) = (label >= ELSEWHERE_LABELS, label % ELSEWHERE_LABELS);
        let used = if label < RANKS {
            ranked(self.history.chunks(), label, &mut self.random)
        } else if label < 2 * RANKS {
            ranked(self.history.zones(), label - RANKS, &mut self.random)
        } else {
            None
        };
        let mut first = 0;
        for _ in 0..TRIES {
            let chunk = match used {
                Some(chunk) if label < RANKS => chunk,
                Some(zone) => zone * ZONE_CHUNKS + self.random.below(ZONE_CHUNKS),
                None => self.new_zone() * ZONE_CHUNKS + self.random.below(ZONE_CHUNKS),
            };
            let decks = &mut self.decks[op * KINDS + ELSEWHERE];
            let page = decks.pages.deal(&mut self.random).unwrap_or(0);
            let sector = decks.sectors.deal(&mut self.random).unwrap_or(0);
            first = chunk * CHUNK_SECTORS + page * PAGE_SECTORS + sector;
            if self.history.is_fresh(first, sectors) == fresh {
                break;
            }
        }
        first
    }

    /// A zone that is not remembered, if one is found.
    fn new_zone(&mut self) -> u64 {
        let mut zone = 0;
        for _ in 0..TRIES {
            zone = self.random.below(self.span.div_ceil(ZONE_SECTORS));
            if !self.history.zones().contains(zone) {
                break;
            }
        }
        zone
    }
}

/// The place of a rank of this class, or the oldest that is remembered.
fn ranked(recent: &Recent, class: usize, random: &mut SplitMix64) -> Option<u64> {
    let (first, count) = ranks_of(class);
    let more = if count > 1 { random.below_usize(count) } else { 0 };
    let oldest = recent.len().checked_sub(1)?;
    recent.get((first + more).min(oldest))
}

fn index(label: u64) -> usize {
    usize::try_from(label).expect("tables were checked")
}

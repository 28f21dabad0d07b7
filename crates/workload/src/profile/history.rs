//! Where requests have been: the part that measures a trace and the part that makes its twin see
//! the same things.
//!
//! A request lies, and the first that holds counts:
//! * `run`: where one of the last [`RUNS`] runs of any operation ended; rank 0 is the latest;
//! * `again`: where an earlier request of the same operation started, or of another one; the rank
//!   counts the distinct starts since;
//! * `chunk`: in a chunk of 32 KiB that was used before, the rank counting the chunks since;
//! * `zone`: in a zone of 1 MiB that was used before, the rank counting the zones since;
//! * `new`: anywhere else.
//!
//! [`REMEMBERED`] places of each sort are remembered, those used last.

use super::classes::REMEMBERED;
pub(super) use super::touched::PAGE_SECTORS;
use super::touched::Touched;

/// Runs that may be continued.
pub(super) const RUNS: usize = 8;
/// Sectors of a chunk: 32 KiB.
pub(super) const CHUNK_SECTORS: u64 = 64;
/// Sectors of a zone: 1 MiB.
pub(super) const ZONE_SECTORS: u64 = 2_048;

/// Where a request lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// At the end of a run of this rank.
    Run(usize),
    /// At an earlier start of this rank; `own`: of the same operation.
    Again { own: bool, rank: usize },
    /// In a used chunk of this rank.
    Chunk(usize),
    /// In a used zone of this rank.
    Zone(usize),
    /// In a zone that is not remembered.
    New,
}

/// All that is remembered.
#[derive(Clone, Debug)]
pub(super) struct History {
    /// Where runs ended, the latest last.
    ends: Vec<u64>,
    /// Starts of reads, and of everything else.
    starts: [Recent; 2],
    chunks: Recent,
    zones: Recent,
    touched: Touched,
}

impl History {
    pub(super) fn new() -> Self {
        Self {
            ends: Vec::with_capacity(RUNS + 1),
            starts: [Recent::new(), Recent::new()],
            chunks: Recent::new(),
            zones: Recent::new(),
            touched: Touched::default(),
        }
    }

    /// Where a request that starts at this sector lies.
    pub(super) fn place(&self, group: usize, first_sector: u64) -> Place {
        if let Some(rank) = self.ends.iter().rev().position(|&end| end == first_sector) {
            return Place::Run(rank);
        }
        if let Some(rank) = self.starts[group].rank(first_sector) {
            return Place::Again { own: true, rank };
        }
        if let Some(rank) = self.starts[1 - group].rank(first_sector) {
            return Place::Again { own: false, rank };
        }
        if let Some(rank) = self.chunks.rank(first_sector / CHUNK_SECTORS) {
            return Place::Chunk(rank);
        }
        self.zones.rank(first_sector / ZONE_SECTORS).map_or(Place::New, Place::Zone)
    }

    /// Whether a request would end in a page that was not touched yet.
    pub(super) fn is_fresh(&self, first_sector: u64, sectors: u32) -> bool {
        !self.touched.has(last_sector(first_sector, sectors))
    }

    /// Whether all pages of a request were never touched.
    pub(super) fn is_untouched(&self, first_sector: u64, sectors: u32) -> bool {
        self.touched.has_none(first_sector, last_sector(first_sector, sectors))
    }

    /// Whether the page behind a request was touched.
    pub(super) fn goes_on(&self, first_sector: u64, sectors: u32) -> bool {
        let last = last_sector(first_sector, sectors);
        self.touched.has(last.saturating_add(PAGE_SECTORS))
    }

    /// Whether a run or an earlier request of any operation is at this sector.
    pub(super) fn is_known(&self, first_sector: u64) -> bool {
        self.ends.contains(&first_sector)
            || self.starts.iter().any(|starts| starts.contains(first_sector))
    }

    /// The end of the run of this rank.
    pub(super) fn end(&self, rank: usize) -> Option<u64> {
        self.ends.iter().rev().nth(rank).copied()
    }

    /// Earlier starts of an operation's own group, or of the other.
    pub(super) fn starts(&self, group: usize, own: bool) -> &Recent {
        &self.starts[if own { group } else { 1 - group }]
    }

    pub(super) const fn chunks(&self) -> &Recent {
        &self.chunks
    }

    pub(super) const fn zones(&self) -> &Recent {
        &self.zones
    }

    /// Remembers a request.
    pub(super) fn add(&mut self, group: usize, first_sector: u64, sectors: u32) {
        let end = first_sector.saturating_add(u64::from(sectors));
        if let Some(rank) = self.ends.iter().rposition(|&end| end == first_sector) {
            self.ends.remove(rank);
        } else if self.ends.len() == RUNS {
            self.ends.remove(0);
        }
        self.ends.push(end);
        self.starts[group].touch(first_sector);
        let last = last_sector(first_sector, sectors);
        self.touched.add(first_sector, last);
        self.chunks.touch(first_sector / CHUNK_SECTORS);
        if last / CHUNK_SECTORS != first_sector / CHUNK_SECTORS {
            self.chunks.touch(last / CHUNK_SECTORS);
        }
        self.zones.touch(first_sector / ZONE_SECTORS);
        if last / ZONE_SECTORS != first_sector / ZONE_SECTORS {
            self.zones.touch(last / ZONE_SECTORS);
        }
    }
}

fn last_sector(first_sector: u64, sectors: u32) -> u64 {
    first_sector.saturating_add(u64::from(sectors)).saturating_sub(1).max(first_sector)
}

/// Counters of the filter in front of a [`Recent`].
const FILTER: usize = 1 << 15;

/// The last [`REMEMBERED`] distinct numbers, in the order of their last use.
#[derive(Clone, Debug)]
pub(super) struct Recent {
    /// The latest last.
    order: Vec<u64>,
    /// How many remembered numbers have this hash: most searches for what is not there end here.
    filter: Vec<u16>,
}

impl Recent {
    fn new() -> Self {
        Self { order: Vec::with_capacity(REMEMBERED + 1), filter: vec![0; FILTER] }
    }

    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    /// How many other numbers were used since this one was.
    pub(super) fn rank(&self, number: u64) -> Option<usize> {
        self.index(number).map(|index| self.order.len() - 1 - index)
    }

    pub(super) fn contains(&self, number: u64) -> bool {
        self.index(number).is_some()
    }

    /// The number of this rank.
    pub(super) fn get(&self, rank: usize) -> Option<u64> {
        self.order.iter().rev().nth(rank).copied()
    }

    fn index(&self, number: u64) -> Option<usize> {
        if self.filter[hash(number)] == 0 {
            return None;
        }
        self.order.iter().rposition(|&known| known == number)
    }

    fn touch(&mut self, number: u64) {
        if let Some(index) = self.index(number) {
            self.order[index..].rotate_left(1);
            return;
        }
        if self.order.len() == REMEMBERED {
            let oldest = self.order.remove(0);
            self.filter[hash(oldest)] -= 1;
        }
        self.order.push(number);
        self.filter[hash(number)] += 1;
    }
}

/// The top bits of a product with an odd number near 2^64 / golden ratio.
fn hash(number: u64) -> usize {
    let product = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    usize::try_from(product >> (64 - FILTER.ilog2())).expect("15 bits")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;

    #[test]
    fn ranks_are_those_of_a_plain_list() {
        let mut random = SplitMix64::new(8);
        let (mut recent, mut list) = (Recent::new(), Vec::<u64>::new());
        for _ in 0..20_000 {
            let number = random.below(6_000);
            let expected = list.iter().position(|&known| known == number);
            assert_eq!(recent.rank(number), expected);
            list.retain(|&known| known != number);
            list.insert(0, number);
            list.truncate(REMEMBERED);
            recent.touch(number);
            assert_eq!(recent.get(0), Some(number));
        }
        assert_eq!(recent.len(), REMEMBERED);
        assert_eq!(recent.get(REMEMBERED - 1), list.last().copied());
    }

    #[test]
    fn places_are_told_apart() {
        let mut history = History::new();
        assert_eq!(history.place(1, 0), Place::New);
        history.add(1, 0, 8);
        history.add(1, 40_000, 8);
        assert_eq!(history.place(1, 40_008), Place::Run(0));
        assert_eq!(history.place(0, 8), Place::Run(1));
        assert_eq!(history.place(1, 0), Place::Again { own: true, rank: 1 });
        assert_eq!(history.place(0, 40_000), Place::Again { own: false, rank: 0 });
        assert_eq!(history.place(1, 56), Place::Chunk(1));
        assert_eq!(history.place(1, 2_000), Place::Zone(1));
        assert_eq!(history.place(1, 2_048), Place::New);
        // The second run goes on; the first is not moved by it.
        history.add(1, 40_008, 8);
        assert_eq!([history.end(0), history.end(1), history.end(2)], [Some(40_016), Some(8), None]);
    }
}

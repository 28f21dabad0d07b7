//! Where requests start.
//!
//! A request continues one of the last [`RUNS`] runs of its operation (the latest with three
//! quarters of the chance, otherwise any), or starts where an earlier one did, or at a new place,
//! which starts a run. Places are kept apart by operation: the traces hardly ever read what they
//! wrote, because the page cache answers.
//! The rank of an earlier start is `n^(u^2)` of the `n` that are remembered, counted from the
//! latest, for a uniform `u`: a distribution over several orders of magnitude, as the traces show.
//! New places lie in regions of 1 MiB that are scattered over the span.
//!
//! Draws, from a stream of random numbers of its own: one (continue a run?), then for a run that
//! is continued two (the latest? which?); otherwise one (use an earlier start?), then for an
//! earlier start one (rank), for a new place two (region; page in it).

use super::GeneratorKeys;
use crate::random::SplitMix64;

/// Runs of an operation that may be continued.
const RUNS: usize = 4;

/// Starts that are remembered.
const REMEMBERED: usize = 4_096;

/// Pages of a region: 1 MiB.
const REGION_PAGES: u64 = 256;

/// Places of requests of one operation. All positions in pages of 4 KiB.
#[derive(Clone, Debug)]
pub(super) struct Places {
    sequential_ppm: u64,
    reuse_ppm: u64,
    skew: f64,
    regions: Regions,
    /// Where the last runs end, the latest first.
    runs: Vec<u64>,
    starts: Ring<REMEMBERED>,
}

/// Shares of the requests of one operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Habits {
    pub(super) sequential_ppm: u64,
    pub(super) reuse_ppm: u64,
}

impl Places {
    /// Places in `regions`.
    pub(super) fn new(keys: &GeneratorKeys, habits: Habits, regions: Regions) -> Self {
        Self {
            sequential_ppm: habits.sequential_ppm,
            reuse_ppm: habits.reuse_ppm,
            skew: keys.region_skew.thousandths() as f64 / 1_000.0,
            regions,
            runs: Vec::with_capacity(RUNS + 1),
            starts: Ring::new(),
        }
    }

    /// The first page of a request of `pages` pages, which fit the span.
    pub(super) fn draw(&mut self, pages: u64, random: &mut SplitMix64) -> u64 {
        let last_start = self.regions.span_pages - pages;
        let start = if let Some(start) = self.continued_run(last_start, random) {
            self.add_run(start + pages);
            start
        } else if let Some(start) = self.earlier_start(random) {
            start.min(last_start)
        } else {
            let start = self.new_place(random).min(last_start);
            self.add_run(start + pages);
            start
        };
        self.starts.push(start);
        start
    }

    fn add_run(&mut self, end: u64) {
        self.runs.insert(0, end);
        self.runs.truncate(RUNS);
    }

    /// The end of a run, which is taken out; `None` if there is none that has room.
    fn continued_run(&mut self, last_start: u64, random: &mut SplitMix64) -> Option<u64> {
        if !random.happens(self.sequential_ppm) {
            return None;
        }
        let latest = random.happens(750_000);
        let any = random.below_usize(self.runs.len());
        let back = if latest { 0 } else { any };
        let fits = *self.runs.get(back)? <= last_start;
        fits.then(|| self.runs.remove(back))
    }

    fn earlier_start(&self, random: &mut SplitMix64) -> Option<u64> {
        if !random.happens(self.reuse_ppm) {
            return None;
        }
        let u = random.unit();
        let rank = libm::pow(self.starts.len() as f64, u * u);
        self.starts.get(index(rank, self.starts.len()))
    }

    fn new_place(&self, random: &mut SplitMix64) -> u64 {
        let u = random.unit();
        let rank = index(libm::pow(u, self.skew) * self.regions.count as f64 + 1.0, usize::MAX);
        let page = random.below(self.regions.region_pages);
        self.regions.first_page(rank as u64) + page
    }
}

/// A rank from 1 as an index below `length`.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float-to-integer cast rounds down and saturates, which is what is wanted"
)]
fn index(rank: f64, length: usize) -> usize {
    (rank as usize).min(length).saturating_sub(1)
}

/// The regions of one operation: `count` of the `slots` of the span, from number `first` on, in an
/// order that scatters them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Regions {
    span_pages: u64,
    region_pages: u64,
    slots: u64,
    stride: u64,
    first: u64,
    count: u64,
}

impl Regions {
    /// The regions of reads and of writes in a span of `span_pages`, at least 1. Where the span
    /// holds fewer regions than asked for, the two share it in the same proportion.
    pub(super) fn split(span_pages: u64, reads: u64, writes: u64) -> [Self; 2] {
        let region_pages = REGION_PAGES.min(span_pages);
        let slots = span_pages / region_pages;
        let (reads, writes) = if reads + writes <= slots {
            (reads, writes)
        } else {
            let share = slots * reads / (reads + writes);
            (share.max(1), (slots - share).max(1))
        };
        let stride = stride(slots);
        let regions = |first, count| Self { span_pages, region_pages, slots, stride, first, count };
        [regions(0, reads), regions(reads, writes)]
    }

    fn first_page(&self, rank: u64) -> u64 {
        let number = u128::from(self.first + rank.min(self.count - 1));
        let slot = number * u128::from(self.stride) % u128::from(self.slots);
        u64::try_from(slot).expect("below `slots`") * self.region_pages
    }
}

/// A step that visits all slots and leaves neighbours far apart: near the golden section, coprime.
fn stride(slots: u64) -> u64 {
    let golden = slots / 1_000 * 618 + slots % 1_000 * 618 / 1_000;
    (golden.max(1)..=slots + 1).find(|&step| gcd(step, slots) == 1).expect("`slots + 1` is coprime")
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The last `N` numbers that were pushed.
#[derive(Clone, Debug)]
struct Ring<const N: usize> {
    slots: Vec<u64>,
    next: usize,
}

impl<const N: usize> Ring<N> {
    fn new() -> Self {
        Self { slots: Vec::with_capacity(N), next: 0 }
    }

    const fn len(&self) -> usize {
        self.slots.len()
    }

    fn push(&mut self, number: u64) {
        if self.slots.len() < N {
            self.slots.push(number);
        } else {
            self.slots[self.next] = number;
        }
        self.next = (self.next + 1) % N;
    }

    /// The number that was pushed `back` pushes before the latest.
    fn get(&self, back: usize) -> Option<u64> {
        (back < self.slots.len()).then(|| self.slots[(self.next + N - 1 - back) % N])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ring_remembers_the_last_numbers() {
        let mut ring = Ring::<3>::new();
        assert_eq!(ring.get(0), None);
        (1..=5).for_each(|n| ring.push(n));
        assert_eq!([0, 1, 2, 3].map(|back| ring.get(back)), [Some(5), Some(4), Some(3), None]);
    }

    #[test]
    fn regions_do_not_overlap() {
        for slots in [2_u64, 3, 10, 1_000, 1_024, 28_000] {
            let [reads, writes] =
                Regions::split(slots * REGION_PAGES, slots / 2, slots - slots / 2);
            let mut firsts: Vec<u64> =
                (0..reads.count).map(|rank| reads.first_page(rank)).collect();
            firsts.extend((0..writes.count).map(|rank| writes.first_page(rank)));
            firsts.sort_unstable();
            firsts.dedup();
            assert_eq!(firsts.len() as u64, slots);
            assert!(firsts.iter().all(|page| page % REGION_PAGES == 0));
        }
    }

    #[test]
    fn a_tiny_device_is_shared() {
        let [reads, writes] = Regions::split(64, 100, 100);
        assert_eq!((reads.count, writes.count, reads.region_pages), (1, 1, 64));
        assert_eq!((reads.first_page(0), writes.first_page(0)), (0, 0));
        let [reads, writes] = Regions::split(10 * REGION_PAGES, 30, 10);
        assert_eq!((reads.count, writes.count), (7, 3));
    }
}

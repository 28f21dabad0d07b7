//! Which pages of 4 KiB were touched.

use std::collections::BTreeMap;

use crate::bits::masks;

/// Sectors of a page of 4 KiB.
pub(super) const PAGE_SECTORS: u64 = 8;

/// Words of a chunk: 64 words of 64 pages are 16 MiB of addresses.
const WORDS: usize = 64;
const PAGES: u64 = WORDS as u64 * 64;

/// A sparse set of pages; its size follows the addresses in use, not the number of requests.
#[derive(Clone, Debug, Default)]
pub(super) struct Touched {
    chunks: BTreeMap<u64, Box<[u64; WORDS]>>,
}

impl Touched {
    /// Whether the page of this sector was touched.
    pub(super) fn has(&self, sector: u64) -> bool {
        let page = sector / PAGE_SECTORS;
        self.chunks.get(&(page / PAGES)).is_some_and(|chunk| {
            let (word, bit) = place(page);
            chunk[word] & bit != 0
        })
    }

    /// Whether no page of the sectors from `first` to `last` was touched.
    pub(super) fn has_none(&self, first: u64, last: u64) -> bool {
        let (first, last) = (first / PAGE_SECTORS, last / PAGE_SECTORS);
        self.chunks.range(first / PAGES..=last / PAGES).all(|(&number, chunk)| {
            masks_in(number, first, last).all(|(word, mask)| chunk[word] & mask == 0)
        })
    }

    /// Touches the pages of the sectors from `first` to `last`.
    pub(super) fn add(&mut self, first: u64, last: u64) {
        let (first, last) = (first / PAGE_SECTORS, last / PAGE_SECTORS);
        for number in first / PAGES..=last / PAGES {
            let chunk = self.chunks.entry(number).or_insert_with(|| Box::new([0; WORDS]));
            masks_in(number, first, last).for_each(|(word, mask)| chunk[word] |= mask);
        }
    }
}

/// The words of a chunk that hold pages from `first` to `last`, and the bits of these pages.
fn masks_in(number: u64, first: u64, last: u64) -> impl Iterator<Item = (usize, u64)> {
    let start = number * PAGES;
    masks(first.max(start) - start, (last - start).min(PAGES - 1))
}

fn place(page: u64) -> (usize, u64) {
    let word = usize::try_from(page % PAGES / 64).expect("below WORDS");
    (word, 1 << (page % 64))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::random::SplitMix64;

    #[test]
    fn pages_of_a_range_are_touched_and_no_others() {
        let mut touched = Touched::default();
        let first = PAGES * PAGE_SECTORS - 9;
        touched.add(first, first + 10);
        let found: Vec<bool> = (0..5).map(|page| touched.has(first - 8 + 8 * page)).collect();
        assert_eq!(found, [false, true, true, true, false]);
    }

    #[test]
    fn ranges_are_those_of_a_plain_set() {
        let mut random = SplitMix64::new(5);
        let (mut touched, mut plain) = (Touched::default(), BTreeSet::new());
        for _ in 0..400 {
            let first = random.below(4 * PAGES * PAGE_SECTORS);
            let most = if random.below(4) == 0 { 60_000 } else { 900 };
            let last = first + random.below(most);
            let pages = first / PAGE_SECTORS..=last / PAGE_SECTORS;
            assert_eq!(touched.has_none(first, last), plain.range(pages.clone()).next().is_none());
            if random.below(3) == 0 {
                touched.add(first, last);
                plain.extend(pages);
            }
        }
        let all = 0..6 * PAGES;
        assert!(all.clone().all(|page| touched.has(page * PAGE_SECTORS) == plain.contains(&page)));
    }

    #[test]
    fn the_largest_request_takes_no_walk_over_its_pages() {
        // 2^29 pages, a thousand times: hours if each page were looked at.
        let mut touched = Touched::default();
        let last = u64::from(u32::MAX);
        assert!((0..1_000).all(|_| touched.has_none(0, last)));
        touched.add(u64::MAX - 9, u64::MAX);
        assert!(touched.has(u64::MAX) && !touched.has_none(0, u64::MAX));
    }
}

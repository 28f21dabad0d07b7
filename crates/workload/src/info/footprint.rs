//! A sparse set of page numbers.

use super::index::Index;
use crate::bits::masks;

/// Words of a chunk; 8 words of 64 pages of 4 KiB are 2 MiB of addresses. So a page with no other
/// near it takes 64 bytes and those of the index, not much more than what is kept of it elsewhere.
const CHUNK_WORDS: usize = 8;
const CHUNK_PAGES: u64 = CHUNK_WORDS as u64 * 64;

type Chunk = [u64; CHUNK_WORDS];

/// A bitmap in chunks that exist once they are touched.
#[derive(Debug, Default)]
pub(super) struct Footprint {
    index: Index,
    /// The number of each chunk, in the order in which they were touched.
    numbers: Vec<u64>,
    chunks: Vec<Chunk>,
    pages: u64,
}

impl Footprint {
    /// Adds the pages from `first` to `last`.
    pub(super) fn add(&mut self, first: u64, last: u64) {
        let mut page = first;
        loop {
            let chunk = self.chunk(page / CHUNK_PAGES);
            let end = last.min(page | (CHUNK_PAGES - 1));
            self.set(chunk, page % CHUNK_PAGES, end % CHUNK_PAGES);
            if end == last {
                return;
            }
            page = end + 1;
        }
    }

    /// How many pages have been added.
    pub(super) const fn pages(&self) -> u64 {
        self.pages
    }

    /// The place of the chunk of this number.
    fn chunk(&mut self, number: u64) -> usize {
        let new = u32::try_from(self.chunks.len()).expect("2^32 chunks are 256 GiB of bits");
        let place = self.index.place(number, new, |at| self.numbers[at]);
        if place == new {
            self.numbers.push(number);
            self.chunks.push([0; CHUNK_WORDS]);
        }
        place as usize
    }

    /// Sets the bits from `first` to `last` of a chunk.
    fn set(&mut self, chunk: usize, first: u64, last: u64) {
        let chunk = &mut self.chunks[chunk];
        for (word, mask) in masks(first, last) {
            self.pages += u64::from((mask & !chunk[word]).count_ones());
            chunk[word] |= mask;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::random::SplitMix64;

    #[test]
    fn it_counts_what_a_plain_set_counts() {
        let mut random = SplitMix64::new(5);
        let (mut footprint, mut set) = (Footprint::default(), BTreeSet::new());
        for _ in 0..500 {
            let first = random.below(5 * CHUNK_PAGES);
            let last = first + random.below(200);
            footprint.add(first, last);
            set.extend(first..=last);
        }
        footprint.add(0, 2 * CHUNK_PAGES);
        set.extend(0..=2 * CHUNK_PAGES);
        assert_eq!(footprint.pages(), set.len() as u64);
    }

    #[test]
    fn lonely_pages_take_less_than_a_hundred_bytes_each() {
        let mut footprint = Footprint::default();
        (0..10_000).for_each(|page| footprint.add(page << 20, page << 20));
        // The index has 8 bytes an entry and is at least 5/16 full.
        let chunk = size_of::<Chunk>() + size_of::<u64>() + 8 * 16 / 5;
        assert!(footprint.chunks.len() * chunk < 100 * 10_000);
    }

    #[test]
    fn the_last_page_of_all_can_be_added() {
        let mut footprint = Footprint::default();
        footprint.add(u64::MAX - 1, u64::MAX);
        assert_eq!(footprint.pages(), 2);
    }
}

//! Which pages of 4 KiB were touched.

use std::collections::BTreeMap;

use super::history::PAGE_SECTORS;

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
        (first / PAGE_SECTORS..=last / PAGE_SECTORS).all(|page| !self.has(page * PAGE_SECTORS))
    }

    /// Touches the pages of the sectors from `first` to `last`.
    pub(super) fn add(&mut self, first: u64, last: u64) {
        for page in first / PAGE_SECTORS..=last / PAGE_SECTORS {
            let chunk = self.chunks.entry(page / PAGES).or_insert_with(|| Box::new([0; WORDS]));
            let (word, bit) = place(page);
            chunk[word] |= bit;
        }
    }
}

fn place(page: u64) -> (usize, u64) {
    let word = usize::try_from(page % PAGES / 64).expect("below WORDS");
    (word, 1 << (page % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_a_range_are_touched_and_no_others() {
        let mut touched = Touched::default();
        let first = PAGES * PAGE_SECTORS - 9;
        touched.add(first, first + 10);
        let found: Vec<bool> = (0..5).map(|page| touched.has(first - 8 + 8 * page)).collect();
        assert_eq!(found, [false, true, true, true, false]);
    }
}

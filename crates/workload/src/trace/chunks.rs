//! Chunks of the address space, numbered in the order of their first use.

use crate::random::mixed;

/// Chunks that a trace may touch: their table takes about 1 GiB.
pub(super) const CHUNKS_MAX: usize = 1 << 26;

/// Places of the smallest index.
const PLACES_MIN: usize = 64;

/// A place of the index that holds no number.
const EMPTY: u32 = u32::MAX;

/// More chunks are touched than a table may hold.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Full;

/// The chunks in the order of their numbers, with an index by open addressing (linear probing, at
/// most half full). The order depends on the calls alone, never on the index.
#[derive(Debug)]
pub(super) struct ChunkTable {
    chunks: Vec<u64>,
    places: Vec<u32>,
    /// The chunk that was asked for last, and its number.
    last: (u64, u32),
}

impl ChunkTable {
    pub(super) fn new() -> Self {
        Self { chunks: Vec::new(), places: vec![EMPTY; PLACES_MIN], last: (0, EMPTY) }
    }

    /// How many chunks have a number.
    pub(super) fn len(&self) -> u64 {
        self.chunks.len() as u64
    }

    /// The number of a chunk, a new one where it has none.
    pub(super) fn number(&mut self, chunk: u64) -> Result<u32, Full> {
        let (last, number) = self.last;
        if last == chunk && number != EMPTY {
            return Ok(number);
        }
        let place = self.place(chunk);
        let mut number = self.places[place];
        if number == EMPTY {
            if self.chunks.len() == CHUNKS_MAX {
                return Err(Full);
            }
            number = u32::try_from(self.chunks.len()).expect("the greatest table is smaller");
            self.places[place] = number;
            self.chunks.push(chunk);
            if 2 * self.chunks.len() > self.places.len() {
                self.grow();
            }
        }
        self.last = (chunk, number);
        Ok(number)
    }

    /// Where the number of a chunk stands, or where it would.
    fn place(&self, chunk: u64) -> usize {
        let mask = self.places.len() - 1;
        let low_bits = mixed(chunk) & mask as u64;
        let mut place = usize::try_from(low_bits).expect("below a usize");
        loop {
            let number = self.places[place];
            if number == EMPTY || self.chunks[number as usize] == chunk {
                return place;
            }
            place = (place + 1) & mask;
        }
    }

    fn grow(&mut self) {
        let places = 2 * self.places.len();
        self.places.clear();
        self.places.resize(places, EMPTY);
        for number in 0..self.chunks.len() {
            let place = self.place(self.chunks[number]);
            self.places[place] = u32::try_from(number).expect("the greatest table is smaller");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::random::SplitMix64;

    #[test]
    fn numbers_are_those_of_an_ordered_map() {
        let mut random = SplitMix64::new(5);
        for spread in [10, 1_000, u64::MAX] {
            let (mut table, mut map) = (ChunkTable::new(), BTreeMap::new());
            for _ in 0..5_000 {
                let chunk = random.below(spread);
                let next = u32::try_from(map.len()).unwrap();
                let expected = *map.entry(chunk).or_insert(next);
                assert_eq!(table.number(chunk), Ok(expected));
            }
            assert_eq!(table.len(), map.len() as u64);
            assert!(table.places.len() <= 4 * map.len().max(PLACES_MIN / 4));
        }
    }
}

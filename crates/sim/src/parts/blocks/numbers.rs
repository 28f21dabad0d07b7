//! Candidates in the order of their numbers: a bitmap of all of a plane, and one for each number of
//! valid units.
//!
//! One bit a unit of the device and four bytes a block. A second level of bits says which words
//! hold anything, so that "the first candidate from here on with so many valid units" looks at a
//! few words.

use flashyard_core::units::{BlockId, PlaneId};

/// A bitmap over the blocks of a plane, with its second level behind it.
#[derive(Clone, Copy, Debug)]
struct Map {
    /// Where it begins.
    first: usize,
    /// Words of its first level.
    words: usize,
}

/// The candidates of all planes by number.
#[derive(Clone, Debug)]
pub(super) struct Numbers {
    /// Blocks of a plane and units of a block.
    blocks: u32,
    units: u32,
    /// For each plane a bitmap of all candidates, then one for each number of valid units.
    bits: Vec<u64>,
    /// By block: its valid units as the bitmaps have them, + 1; 0 for no candidate.
    levels: Vec<u32>,
    counts: Vec<u32>,
    /// By plane: the number in the plane from which the next window goes on.
    pub(super) cursors: Vec<u32>,
}

impl Numbers {
    pub(super) fn new(planes: usize, blocks: usize, units: u32) -> Self {
        let per_plane = u32::try_from(blocks / planes).expect("blocks have 32 bits");
        let (words, tops) = size(per_plane);
        Self {
            blocks: per_plane,
            units,
            bits: vec![0; planes * (units as usize + 1) * (words + tops)],
            levels: vec![0; blocks],
            counts: vec![0; planes],
            cursors: vec![0; planes],
        }
    }

    /// Bytes of the bitmaps of that many planes and blocks.
    pub(super) fn bytes(planes: u64, blocks: u64, units: u32) -> u64 {
        let per_plane = u32::try_from(blocks / planes).expect("blocks have 32 bits");
        let (words, tops) = size(per_plane);
        planes * (u64::from(units) + 1) * (words + tops) as u64 * 8
    }

    /// How many candidates a plane has.
    pub(super) fn count(&self, plane: PlaneId) -> u32 {
        self.counts[plane.index()]
    }

    /// A block is a candidate with this many valid units, or is none.
    pub(super) fn set(&mut self, plane: PlaneId, block: BlockId, valid: Option<u32>) {
        let level = valid.map_or(0, |valid| valid + 1);
        let old = std::mem::replace(&mut self.levels[block.index()], level);
        if old == level {
            return;
        }
        let number = block.get() % self.blocks;
        let all = self.map(plane, 0);
        if old == 0 {
            self.counts[plane.index()] += 1;
            self.add(all, number);
        } else {
            self.remove(self.map(plane, old), number);
        }
        if level == 0 {
            self.counts[plane.index()] -= 1;
            self.remove(all, number);
        } else {
            self.add(self.map(plane, level), number);
        }
    }

    /// The candidate of a plane that has `rank` candidates of lower numbers. A word at a time.
    pub(super) fn nth(&self, plane: PlaneId, rank: u32) -> Option<u32> {
        let map = self.map(plane, 0);
        let mut left = rank;
        for (word, &bits) in (0u32..).zip(&self.bits[map.first..map.first + map.words]) {
            if left < bits.count_ones() {
                let rest = (0..left).fold(bits, |rest, _| rest & (rest - 1));
                return Some(word * 64 + rest.trailing_zeros());
            }
            left -= bits.count_ones();
        }
        None
    }

    /// How many candidates of a plane have lower numbers than this.
    pub(super) fn rank(&self, plane: PlaneId, number: u32) -> u32 {
        let map = self.map(plane, 0);
        let (word, bit) = place(number);
        let before = &self.bits[map.first..map.first + word];
        let ones: u32 = before.iter().map(|bits| bits.count_ones()).sum();
        match self.bits.get(map.first + word) {
            Some(bits) if word < map.words => ones + (bits & (bit - 1)).count_ones(),
            _ => ones,
        }
    }

    /// The first candidate of a plane from a number on that has this many valid units.
    pub(super) fn first_with(&self, plane: PlaneId, valid: u32, from: u32) -> Option<u32> {
        let map = self.map(plane, valid + 1);
        let (word, bit) = place(from);
        if word >= map.words {
            return None;
        }
        let here = self.bits[map.first + word] & !(bit - 1);
        if here != 0 {
            return Some(number(word, here));
        }
        // The next word that holds anything, by the second level.
        let tops = map.first + map.words;
        let (mut top, bit) = ((word + 1) / 64, 1u64 << ((word + 1) % 64));
        let last = map.words.div_ceil(64);
        let mut marks = if top < last { self.bits[tops + top] & !(bit - 1) } else { 0 };
        while marks == 0 {
            top += 1;
            if top >= last {
                return None;
            }
            marks = self.bits[tops + top];
        }
        let word = number(top, marks) as usize;
        Some(number(word, self.bits[map.first + word]))
    }

    fn map(&self, plane: PlaneId, level: u32) -> Map {
        let (words, tops) = size(self.blocks);
        let place = plane.index() * (self.units as usize + 1) + level as usize;
        Map { first: place * (words + tops), words }
    }

    fn add(&mut self, map: Map, number: u32) {
        let (word, bit) = place(number);
        self.bits[map.first + word] |= bit;
        self.bits[map.first + map.words + word / 64] |= 1 << (word % 64);
    }

    fn remove(&mut self, map: Map, number: u32) {
        let (word, bit) = place(number);
        self.bits[map.first + word] &= !bit;
        if self.bits[map.first + word] == 0 {
            self.bits[map.first + map.words + word / 64] &= !(1 << (word % 64));
        }
    }
}

/// Words of a bitmap over so many blocks, and of its second level.
const fn size(blocks: u32) -> (usize, usize) {
    let words = (blocks as usize).div_ceil(64);
    (words, words.div_ceil(64))
}

const fn place(number: u32) -> (usize, u64) {
    ((number / 64) as usize, 1 << (number % 64))
}

/// The number of the lowest bit of a word.
fn number(word: usize, bits: u64) -> u32 {
    let first = u32::try_from(word * 64).expect("numbers of blocks have 32 bits");
    first + bits.trailing_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{STEP, mix};
    use std::collections::BTreeMap;

    /// Against a sorted map: ranks, the n-th and the first from anywhere on, in each of two planes
    /// of more blocks than a word of the second level covers.
    #[test]
    fn candidates_are_found_by_number_as_in_a_sorted_map() {
        const BLOCKS: u32 = 5_000;
        let mut numbers = Numbers::new(2, 2 * BLOCKS as usize, 3);
        let mut plain = [BTreeMap::new(), BTreeMap::new()];
        let mut state = 3u64;
        let mut below = |bound: u32| {
            state = state.wrapping_add(STEP);
            u32::try_from(mix(state) % u64::from(bound)).unwrap()
        };
        for round in 0..20_000 {
            let (plane, number, level) = (below(2), below(BLOCKS), below(8));
            let block = BlockId::new(plane * BLOCKS + number);
            let (id, plain) = (PlaneId::new(plane), &mut plain[plane as usize]);
            // More and more empty, so that gaps of whole words come up.
            let valid = (level < if round < 10_000 { 6 } else { 1 }).then_some(level % 3);
            numbers.set(id, block, valid);
            match valid {
                Some(valid) => _ = plain.insert(number, valid),
                None => _ = plain.remove(&number),
            }
            let (from, rank, level) = (below(BLOCKS + 70), below(BLOCKS), below(3));
            let first = plain.range(from..).find(|(_, valid)| **valid == level);
            assert_eq!(numbers.first_with(id, level, from), first.map(|(number, _)| *number));
            if round % 16 == 0 {
                assert_eq!(numbers.count(id) as usize, plain.len());
                assert_eq!(numbers.rank(id, from) as usize, plain.range(..from).count());
                assert_eq!(numbers.nth(id, rank), plain.keys().nth(rank as usize).copied());
            }
        }
    }
}

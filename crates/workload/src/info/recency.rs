//! The order of last uses: how many of a set were used later than one of them.
//!
//! Every use takes the next slot of a bitmap; the slot of the use before is cleared. A Fenwick tree
//! (Fenwick, "A new data structure for cumulative frequency tables", Software: Practice and
//! Experience 24(3), 1994) over blocks of 512 slots counts the set bits. When the slots are used
//! up, used slots are compacted. That is O(n) and happens at most once in n uses.

/// Slots of a block.
const BLOCK: usize = 512;
const WORDS: usize = BLOCK / 64;

/// Least number of slots.
const LEAST_SLOTS: usize = 1 << 16;

/// The bitmap and the tree over it.
#[derive(Debug)]
pub(super) struct Recency {
    bits: Vec<u64>,
    /// The Fenwick tree; block b is at b + 1 in the usual numbering from 1.
    tree: Vec<u32>,
    next: usize,
    live: u32,
}

impl Default for Recency {
    fn default() -> Self {
        Self::filled(0)
    }
}

impl Recency {
    /// `live` slots in use, and room for as many uses again.
    fn filled(live: u32) -> Self {
        let slots = (2 * live as usize).max(LEAST_SLOTS).next_multiple_of(BLOCK);
        let full = live as usize / 64;
        let mut bits = vec![0; slots / 64];
        bits[..full].fill(u64::MAX);
        bits[full] = (1 << (live % 64)) - 1;
        let mut tree = vec![0; slots / BLOCK];
        for block in 0..tree.len() {
            tree[block] += ones(&bits[block * WORDS..][..WORDS]);
            let parent = block | (block + 1);
            if parent < tree.len() {
                tree[parent] += tree[block];
            }
        }
        Self { bits, tree, next: live as usize, live }
    }

    /// Whether [`Recency::compact`] is due before the next use.
    pub(super) const fn is_full(&self) -> bool {
        self.next == self.bits.len() * 64
    }

    /// Takes the next slot.
    pub(super) fn push(&mut self) -> u32 {
        let slot = self.next;
        self.next += 1;
        self.live += 1;
        self.bits[slot / 64] |= 1 << (slot % 64);
        self.count(slot, 1);
        u32::try_from(slot).expect("slots have 32 bits")
    }

    /// How many slots after this one are in use.
    pub(super) fn later(&self, slot: u32) -> u32 {
        self.live - self.up_to(slot)
    }

    /// Gives a slot back.
    pub(super) fn remove(&mut self, slot: u32) {
        let slot = slot as usize;
        self.live -= 1;
        self.bits[slot / 64] &= !(1 << (slot % 64));
        self.count(slot, 1_u32.wrapping_neg());
    }

    /// Moves the slots in use together; `slots` are all of them.
    pub(super) fn compact<'a>(&mut self, slots: impl Iterator<Item = &'a mut u32>) {
        let mut before = Vec::with_capacity(self.tree.len());
        let mut sum = 0;
        for block in self.bits.chunks(WORDS) {
            before.push(sum);
            sum += ones(block);
        }
        for slot in slots {
            *slot = before[*slot as usize / BLOCK] + self.in_block(*slot) - 1;
        }
        *self = Self::filled(self.live);
    }

    /// Slots in use up to this one.
    fn up_to(&self, slot: u32) -> u32 {
        let mut sum = self.in_block(slot);
        let mut at = slot as usize / BLOCK;
        while at > 0 {
            sum += self.tree[at - 1];
            at &= at - 1;
        }
        sum
    }

    /// Slots in use up to this one, in its block alone.
    fn in_block(&self, slot: u32) -> u32 {
        let slot = slot as usize;
        let word = slot / 64;
        let words = &self.bits[word - word % WORDS..word];
        ones(words) + (self.bits[word] << (63 - slot % 64)).count_ones()
    }

    fn count(&mut self, slot: usize, change: u32) {
        let mut at = slot / BLOCK;
        while at < self.tree.len() {
            self.tree[at] = self.tree[at].wrapping_add(change);
            at |= at + 1;
        }
    }
}

fn ones(words: &[u64]) -> u32 {
    words.iter().map(|word| word.count_ones()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;

    #[test]
    fn it_counts_what_a_list_in_order_of_use_counts() {
        let mut random = SplitMix64::new(8);
        let mut recency = Recency::default();
        let mut slots = [None; 700];
        // The members, the one used last at the end.
        let mut list: Vec<usize> = Vec::new();
        for round in 0..2 * LEAST_SLOTS {
            let member = random.below_usize(slots.len());
            if recency.is_full() {
                recency.compact(slots.iter_mut().flatten());
            }
            if let Some(slot) = slots[member].take() {
                // The plain list is slow: look at it now and then, and around the compaction.
                if round % 16 == 0 || round.abs_diff(LEAST_SLOTS) < 200 {
                    let at = list.iter().position(|&other| other == member).unwrap();
                    assert_eq!(recency.later(slot) as usize, list.len() - 1 - at);
                }
                recency.remove(slot);
                list.retain(|&other| other != member);
            }
            slots[member] = Some(recency.push());
            list.push(member);
        }
    }

    #[test]
    fn a_filled_one_is_as_if_each_slot_had_been_taken() {
        for live in [0, 1, 63, 64, 65, 511, 512, 70_000] {
            let mut plain = Recency { bits: vec![0; 70_656 * 2 / 64], ..Recency::filled(0) };
            plain.tree = vec![0; 70_656 * 2 / BLOCK];
            for slot in 0..live {
                assert_eq!(plain.push(), slot);
            }
            let filled = Recency::filled(live);
            for slot in (0..live).step_by(97) {
                assert_eq!(filled.later(slot), plain.later(slot), "{slot} of {live}");
                assert_eq!(filled.later(slot), live - 1 - slot);
            }
        }
    }
}

//! An indexed binary heap over lent memory: the least key first, any member re-keyed or removed in
//! O(log n).
//!
//! Members are small numbers (handles). Where each member stands is kept in a slice that heaps
//! share, because a member is in one heap at a time: a device has a queue a die, but the commands
//! of all dies are numbered together.

/// One place of the heap.
#[derive(Clone, Copy, Debug)]
pub struct Entry<K> {
    key: K,
    member: u32,
}

impl<K> Entry<K> {
    /// A place to initialise lent memory with.
    pub const fn vacant(key: K) -> Self {
        Self { key, member: u32::MAX }
    }
}

/// Where a member of no heap stands.
pub const ABSENT: u32 = u32::MAX;

/// The heap. `S` is memory for as many members as it ever holds at a time: a slice, an array, a
/// vector.
#[derive(Debug)]
pub struct IndexedHeap<K, S> {
    entries: S,
    len: usize,
    _key: core::marker::PhantomData<K>,
}

impl<K: Ord + Copy, S: AsRef<[Entry<K>]> + AsMut<[Entry<K>]>> IndexedHeap<K, S> {
    /// An empty heap over `entries`.
    pub const fn new(entries: S) -> Self {
        Self { entries, len: 0, _key: core::marker::PhantomData }
    }

    /// How many members it has.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether it has none.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether its memory is used up.
    pub fn is_full(&self) -> bool {
        self.len == self.entries.as_ref().len()
    }

    /// The memory, to lend more where it is full. What it holds must stay in place.
    pub const fn storage_mut(&mut self) -> &mut S {
        &mut self.entries
    }

    /// The member with the least key.
    pub fn peek(&self) -> Option<(K, u32)> {
        let entry = self.entries.as_ref()[..self.len].first()?;
        Some((entry.key, entry.member))
    }

    /// Its members, in no particular order.
    pub fn members(&self) -> impl Iterator<Item = u32> {
        self.entries.as_ref()[..self.len].iter().map(|entry| entry.member)
    }

    /// Adds a member of no heap. Panics where the heap is full; see [`Self::is_full`].
    pub fn push(&mut self, positions: &mut [u32], key: K, member: u32) {
        assert!(!self.is_full(), "the heap is full");
        debug_assert!(positions[member as usize] == ABSENT, "{member} is in a heap already");
        let at = self.len;
        self.len += 1;
        self.place(positions, at, Entry { key, member });
        self.rise(positions, at);
    }

    /// Removes a member of this heap and returns its key.
    pub fn remove(&mut self, positions: &mut [u32], member: u32) -> K {
        let at = positions[member as usize] as usize;
        let removed = self.entries.as_ref()[at];
        assert!(removed.member == member, "{member} is not in this heap");
        positions[member as usize] = ABSENT;
        self.len -= 1;
        if at < self.len {
            let last = self.entries.as_ref()[self.len];
            self.place(positions, at, last);
            if last.key < removed.key {
                self.rise(positions, at);
            } else {
                self.sink(positions, at);
            }
        }
        removed.key
    }

    fn place(&mut self, positions: &mut [u32], at: usize, entry: Entry<K>) {
        positions[entry.member as usize] =
            u32::try_from(at).expect("a heap has fewer than 2^32 members");
        self.entries.as_mut()[at] = entry;
    }

    fn rise(&mut self, positions: &mut [u32], mut at: usize) {
        let entry = self.entries.as_ref()[at];
        while at > 0 {
            let parent = (at - 1) / 2;
            let above = self.entries.as_ref()[parent];
            if above.key <= entry.key {
                break;
            }
            self.place(positions, at, above);
            at = parent;
        }
        self.place(positions, at, entry);
    }

    fn sink(&mut self, positions: &mut [u32], mut at: usize) {
        let entry = self.entries.as_ref()[at];
        loop {
            let mut child = 2 * at + 1;
            if child >= self.len {
                break;
            }
            let entries = self.entries.as_ref();
            if child + 1 < self.len && entries[child + 1].key < entries[child].key {
                child += 1;
            }
            let below = entries[child];
            if entry.key <= below.key {
                break;
            }
            self.place(positions, at, below);
            at = child;
        }
        self.place(positions, at, entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Two heaps share positions and lent slices; every answer is compared with a sorted set.
    #[test]
    fn heaps_agree_with_sorted_sets() {
        let mut lent = [[Entry::vacant((0u64, 0u64)); 64]; 2];
        let [first, second] = &mut lent;
        let mut heaps = [IndexedHeap::new(&mut first[..]), IndexedHeap::new(&mut second[..])];
        let mut sets = [BTreeSet::new(), BTreeSet::new()];
        let mut positions = [ABSENT; 64];
        let mut home = [None; 64];
        let mut random = 1u64;
        for step in 0..20_000u64 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99);
            let member = u32::try_from(random >> 58).unwrap();
            let side = usize::from(random & (1 << 40) != 0);
            match home[member as usize].take() {
                None => {
                    let key = (random >> 20 & 15, step);
                    heaps[side].push(&mut positions, key, member);
                    assert!(sets[side].insert((key, member)));
                    home[member as usize] = Some((side, key));
                }
                Some((side, key)) => {
                    assert_eq!(heaps[side].remove(&mut positions, member), key);
                    assert!(sets[side].remove(&(key, member)));
                }
            }
            for (heap, set) in heaps.iter().zip(&sets) {
                assert_eq!(heap.peek(), set.first().copied());
                assert_eq!(heap.len(), set.len());
            }
        }
    }
}

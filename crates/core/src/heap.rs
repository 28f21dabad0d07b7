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
#[derive(Clone, Debug)]
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
    #[inline]
    pub fn peek(&self) -> Option<(K, u32)> {
        if self.is_empty() {
            return None;
        }
        let entry = &self.entries.as_ref()[0];
        Some((entry.key, entry.member))
    }

    /// Its members, in no particular order.
    pub fn members(&self) -> impl Iterator<Item = u32> {
        self.entries.as_ref()[..self.len].iter().map(|entry| entry.member)
    }

    /// Adds a member of no heap. Panics where the heap is full; see [`Self::is_full`].
    #[inline]
    pub fn push(&mut self, positions: &mut [u32], key: K, member: u32) {
        assert!(!self.is_full(), "the heap is full");
        debug_assert!(positions[member as usize] == ABSENT, "{member} is in a heap already");
        let at = self.len;
        self.len += 1;
        rise(&mut self.entries.as_mut()[..=at], positions, at, Entry { key, member });
    }

    /// Removes a member of this heap and returns its key.
    #[inline]
    pub fn remove(&mut self, positions: &mut [u32], member: u32) -> K {
        let at = core::mem::replace(&mut positions[member as usize], ABSENT) as usize;
        let (last, entries) =
            self.entries.as_mut()[..self.len].split_last_mut().expect("a member is in the heap");
        self.len -= 1;
        let Some(removed) = entries.get(at).copied() else {
            assert!(last.member == member, "{member} is not in this heap");
            return last.key;
        };
        assert!(removed.member == member, "{member} is not in this heap");
        if last.key < removed.key {
            rise(entries, positions, at, *last);
        } else {
            sink(entries, positions, at, *last);
        }
        removed.key
    }
}

/// Puts an entry where it belongs, at a place or above.
#[inline]
fn rise<K: Ord + Copy>(
    entries: &mut [Entry<K>],
    positions: &mut [u32],
    mut at: usize,
    entry: Entry<K>,
) {
    while at > 0 {
        let parent = (at - 1) / 2;
        let above = entries[parent];
        if above.key <= entry.key {
            break;
        }
        place(entries, positions, at, above);
        at = parent;
    }
    place(entries, positions, at, entry);
}

/// Puts an entry where it belongs, at a place or below.
fn sink<K: Ord + Copy>(
    entries: &mut [Entry<K>],
    positions: &mut [u32],
    mut at: usize,
    entry: Entry<K>,
) {
    while let Some(mut below) = entries.get(2 * at + 1).copied() {
        let mut child = 2 * at + 1;
        if let Some(other) = entries.get(child + 1)
            && other.key < below.key
        {
            (below, child) = (*other, child + 1);
        }
        if entry.key <= below.key {
            break;
        }
        place(entries, positions, at, below);
        at = child;
    }
    place(entries, positions, at, entry);
}

#[inline]
fn place<K: Copy>(entries: &mut [Entry<K>], positions: &mut [u32], at: usize, entry: Entry<K>) {
    positions[entry.member as usize] =
        u32::try_from(at).expect("a heap has fewer than 2^32 members");
    entries[at] = entry;
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

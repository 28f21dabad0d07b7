//! A hash table from numbers to places in a list, of 8 bytes an entry.

use crate::random::mixed;

/// Entries where a table starts.
const LEAST_BITS: u32 = 10;

/// Numbers of one group lie side by side, in 64 bytes.
const GROUP_BITS: u32 = 3;

/// Finds the place of a key in a list that the caller keeps. Nothing depends on the order of the
/// entries. Open addressing with linear probing, at most 5/8 full.
#[derive(Debug)]
pub(super) struct Index {
    /// A tag of 32 bits, which decides the home of the entry, and place + 1; 0 where empty.
    entries: Vec<u64>,
    bits: u32,
    used: usize,
}

impl Default for Index {
    fn default() -> Self {
        Self { entries: vec![0; 1 << LEAST_BITS], bits: LEAST_BITS, used: 0 }
    }
}

impl Index {
    /// The place of `key`. If it has none, `new` becomes its place. `key_of` tells the key at a
    /// place of the list.
    pub(super) fn place(&mut self, key: u64, new: u32, key_of: impl Fn(usize) -> u64) -> u32 {
        let tag = tag(key);
        let mut at = self.home(tag);
        loop {
            let entry = self.entries[at];
            if entry == 0 {
                break;
            }
            if entry >> 32 == tag {
                let place = low(entry) - 1;
                if key_of(place as usize) == key {
                    return place;
                }
            }
            at = (at + 1) & (self.entries.len() - 1);
        }
        self.entries[at] = (tag << 32) | (u64::from(new) + 1);
        self.used += 1;
        if self.used * 8 > self.entries.len() * 5 {
            self.grow();
        }
        new
    }

    /// Takes all keys out.
    pub(super) fn clear(&mut self) {
        self.entries.fill(0);
        self.used = 0;
    }

    fn home(&self, tag: u64) -> usize {
        let group = (tag >> (32 + GROUP_BITS - self.bits)) << GROUP_BITS;
        usize::try_from(group | (tag & ((1 << GROUP_BITS) - 1))).expect("below the entries")
    }

    fn grow(&mut self) {
        self.bits += 1;
        assert!(self.bits <= 32, "more keys than tags can tell apart");
        let old = std::mem::replace(&mut self.entries, vec![0; 1 << self.bits]);
        for entry in old.into_iter().filter(|entry| *entry != 0) {
            let mut at = self.home(entry >> 32);
            while self.entries[at] != 0 {
                at = (at + 1) & (self.entries.len() - 1);
            }
            self.entries[at] = entry;
        }
    }
}

/// 29 bits of the hash of the key's group, then the key's place in its group.
const fn tag(key: u64) -> u64 {
    let members = (1 << GROUP_BITS) - 1;
    ((mixed(key >> GROUP_BITS) >> 32) & !members) | (key & members)
}

fn low(entry: u64) -> u32 {
    u32::try_from(entry & u64::from(u32::MAX)).expect("32 bits")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::random::SplitMix64;

    #[test]
    fn it_finds_what_a_map_finds() {
        let mut random = SplitMix64::new(3);
        let (mut index, mut map) = (Index::default(), BTreeMap::new());
        let mut keys: Vec<u64> = Vec::new();
        for round in 0..20_000_u64 {
            let key = if round % 3 == 0 { random.next_u64() } else { random.below(8_000) };
            let new = u32::try_from(keys.len()).unwrap();
            let place = index.place(key, new, |at| keys[at]);
            assert_eq!(place, *map.entry(key).or_insert(new), "{key}");
            if place == new {
                keys.push(key);
            }
        }
        assert_eq!(index.used, map.len());
        index.clear();
        assert_eq!(index.place(keys[7], 0, |_| unreachable!("it is empty")), 0);
    }
}

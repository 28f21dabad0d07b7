//! Where objects lie: a free list of extents, first fit.
//!
//! The device is divided into units of equal size. An object takes the first free extent, by
//! address, that holds all of it. Where none does, it takes free extents from the lowest address on
//! until all of it has a place; so an object has no place only if the free units are too few. What
//! is given back joins its free neighbours. Taking and giving depend on nothing but the order of
//! calls.
//!
//! Taking looks at the free extents in order: its cost is their number. Giving costs its logarithm.

use std::collections::BTreeMap;

/// Successive units of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    /// The first unit.
    pub(super) first: u64,
    /// How many there are; not 0.
    pub(super) units: u64,
}

/// The free units of a device.
#[derive(Debug)]
pub(super) struct Extents {
    /// The lengths of the free extents, by their first unit. No two of them touch.
    free: BTreeMap<u64, u64>,
    free_units: u64,
    units: u64,
}

impl Extents {
    /// A device of so many units, all free.
    pub(super) fn new(units: u64) -> Self {
        let free = if units > 0 { BTreeMap::from([(0, units)]) } else { BTreeMap::new() };
        Self { free, free_units: units, units }
    }

    /// How many units there are.
    pub(super) const fn units(&self) -> u64 {
        self.units
    }

    /// How many units are free.
    pub(super) const fn free_units(&self) -> u64 {
        self.free_units
    }

    /// Takes so many units, at least one; `None`, and nothing is taken, where fewer are free.
    pub(super) fn take(&mut self, units: u64) -> Option<Vec<Extent>> {
        assert!(units > 0, "an object takes some room");
        if units > self.free_units {
            return None;
        }
        self.free_units -= units;
        let mut free = self.free.iter().map(|(&first, &units)| Extent { first, units });
        if let Some(found) = free.find(|extent| extent.units >= units) {
            return Some(vec![self.cut(found, units)]);
        }
        let (mut left, mut taken) = (units, Vec::new());
        while left > 0 {
            let (&first, &units) = self.free.first_key_value().expect("as many units are free");
            let cut = self.cut(Extent { first, units }, left.min(units));
            left -= cut.units;
            taken.push(cut);
        }
        Some(taken)
    }

    /// Takes the first units off a free extent.
    fn cut(&mut self, free: Extent, units: u64) -> Extent {
        self.free.remove(&free.first);
        if units < free.units {
            self.free.insert(free.first + units, free.units - units);
        }
        Extent { first: free.first, units }
    }

    /// Gives an extent back that was taken.
    pub(super) fn give(&mut self, extent: Extent) {
        let Extent { mut first, mut units } = extent;
        self.free_units += units;
        if let Some((&before, &length)) = self.free.range(..first).next_back() {
            assert!(before + length <= first, "an extent is given back once");
            if before + length == first {
                self.free.remove(&before);
                (first, units) = (before, units + length);
            }
        }
        if let Some((&behind, &length)) = self.free.range(first + 1..).next() {
            assert!(first + units <= behind, "an extent is given back once");
            if first + units == behind {
                self.free.remove(&behind);
                units += length;
            }
        }
        self.free.insert(first, units);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;

    fn extent(first: u64, units: u64) -> Extent {
        Extent { first, units }
    }

    #[test]
    fn the_first_hole_that_is_large_enough_is_taken() {
        let mut extents = Extents::new(10);
        // [0, 3) a, [3, 5) b, [5, 9) c, [9, 10) free.
        for (units, first) in [(3, 0), (2, 3), (4, 5)] {
            assert_eq!(extents.take(units), Some(vec![extent(first, units)]));
        }
        extents.give(extent(0, 3));
        extents.give(extent(5, 4));
        // Free: [0, 3) and [5, 10).
        assert_eq!(extents.take(4), Some(vec![extent(5, 4)]));
        assert_eq!(extents.take(2), Some(vec![extent(0, 2)]));
        // Free: [2, 3) and [9, 10): two units in two pieces.
        assert_eq!(extents.take(3), None);
        assert_eq!(extents.take(2), Some(vec![extent(2, 1), extent(9, 1)]));
        assert_eq!((extents.free_units(), extents.take(1)), (0, None));
    }

    #[test]
    fn neighbours_join_whatever_the_order() {
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let mut extents = Extents::new(6);
            let taken = [2; 3].map(|units| extents.take(units).unwrap()[0]);
            for at in order {
                extents.give(taken[at]);
            }
            assert_eq!(extents.take(6), Some(vec![extent(0, 6)]), "{order:?}");
        }
        assert_eq!(Extents::new(0).take(1), None);
    }

    /// The same rule over a list of units that are taken or not.
    fn naive_take(used: &mut [bool], wanted: usize) -> Option<Vec<usize>> {
        let free: Vec<usize> = (0..used.len()).filter(|&unit| !used[unit]).collect();
        if free.len() < wanted {
            return None;
        }
        // An extent is a run of free units behind one that is used.
        let starts = (0..used.len()).filter(|&at| !used[at] && (at == 0 || used[at - 1]));
        let mut starts =
            starts.filter(|&at| used[at..].iter().take_while(|used| !**used).count() >= wanted);
        let units: Vec<usize> = match starts.next() {
            Some(start) => (start..start + wanted).collect(),
            None => free[..wanted].to_vec(),
        };
        for &unit in &units {
            used[unit] = true;
        }
        Some(units)
    }

    #[test]
    fn nothing_overlaps_and_nothing_is_lost() {
        for seed in 0..200 {
            let mut random = SplitMix64::new(seed);
            let size = 1 + random.below_usize(60);
            let mut extents = Extents::new(size as u64);
            let mut used = vec![false; size];
            let mut taken: Vec<Vec<Extent>> = Vec::new();
            for _ in 0..400 {
                if !taken.is_empty() && random.happens(450_000) {
                    for extent in taken.swap_remove(random.below_usize(taken.len())) {
                        extents.give(extent);
                        for unit in extent.first..extent.first + extent.units {
                            used[usize::try_from(unit).unwrap()] = false;
                        }
                    }
                } else {
                    let wanted = 1 + random.below_usize(12);
                    let expected = naive_take(&mut used, wanted);
                    let found = extents.take(wanted as u64);
                    let units = found.as_ref().map(|found| {
                        let units = found.iter().flat_map(|e| e.first..e.first + e.units);
                        units.map(|unit| usize::try_from(unit).unwrap()).collect::<Vec<_>>()
                    });
                    assert_eq!(units, expected, "seed {seed}");
                    taken.extend(found);
                }
                let free = used.iter().filter(|used| !**used).count();
                assert_eq!(extents.free_units(), free as u64);
            }
        }
    }
}

//! Where objects lie: a free list of extents, first fit.
//!
//! The device is divided into units of equal size. An object takes the first free extent, by
//! address, that holds all of it. Where none does, it takes free extents from the lowest address on
//! until all of it has a place; so an object has no place only if the free units are too few. What
//! is given back joins its free neighbours. Taking and giving depend on nothing but the order of
//! calls.
//!
//! Taking and giving an extent costs the logarithm of the number of free extents.

use super::tree::{Extent, Tree};

/// The free units of a device.
#[derive(Debug)]
pub(super) struct Extents {
    /// The free extents. No two of them touch.
    free: Tree,
    free_units: u64,
    units: u64,
}

impl Extents {
    /// A device of so many units, all free.
    pub(super) fn new(units: u64) -> Self {
        let mut free = Tree::new();
        if units > 0 {
            free.insert(Extent { first: 0, units });
        }
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
        if let Some(found) = self.free.first_of(units) {
            return Some(vec![self.cut(found, units)]);
        }
        let (mut left, mut taken) = (units, Vec::new());
        while left > 0 {
            let found = self.free.first_of(1).expect("as many units are free");
            let cut = self.cut(found, left.min(found.units));
            left -= cut.units;
            taken.push(cut);
        }
        Some(taken)
    }

    /// Takes the first units off a free extent.
    fn cut(&mut self, free: Extent, units: u64) -> Extent {
        if units < free.units {
            let rest = Extent { first: free.first + units, units: free.units - units };
            self.free.change(free.first, rest);
        } else {
            self.free.remove(free.first);
        }
        Extent { first: free.first, units }
    }

    /// Gives an extent back that was taken.
    pub(super) fn give(&mut self, extent: Extent) {
        let Extent { first, units } = extent;
        self.free_units += units;
        let end = first + units;
        let before = self.free.before(first + 1);
        let behind = self.free.from(first);
        assert!(
            before.is_none_or(|before| before.first + before.units <= first)
                && behind.is_none_or(|behind| end <= behind.first),
            "an extent is given back once"
        );
        let before = before.filter(|before| before.first + before.units == first);
        let behind = behind.filter(|behind| behind.first == end);
        match (before, behind) {
            (None, None) => self.free.insert(extent),
            (Some(before), None) => {
                self.free.change(before.first, Extent { units: before.units + units, ..before });
            }
            (None, Some(behind)) => {
                self.free.change(end, Extent { first, units: units + behind.units });
            }
            (Some(before), Some(behind)) => {
                self.free.remove(end);
                let units = before.units + units + behind.units;
                self.free.change(before.first, Extent { units, ..before });
            }
        }
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

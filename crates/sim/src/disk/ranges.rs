//! Ranges of sectors with a value each, none of which overlap.

use std::collections::BTreeMap;

/// Ranges by their first sector: the first sector behind each, and its value.
#[derive(Clone, Debug, Default)]
pub(super) struct Ranges<V>(BTreeMap<u64, (u64, V)>);

impl<V: Copy> Ranges<V> {
    pub(super) const fn new() -> Self {
        Self(BTreeMap::new())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All ranges, by their first sector: first sector, first sector behind it, value.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, u64, V)> {
        self.0.iter().map(|(&first, &(end, value))| (first, end, value))
    }

    /// The range that a sector is in.
    pub(super) fn at(&self, sector: u64) -> Option<(u64, u64, V)> {
        let (&first, &(end, value)) = self.0.range(..=sector).next_back()?;
        (sector < end).then_some((first, end, value))
    }

    /// The parts of ranges from `first` to `end`.
    pub(super) fn within(&self, first: u64, end: u64) -> impl Iterator<Item = (u64, u64, V)> {
        let start = self.at(first).map_or(first, |(start, ..)| start);
        self.0
            .range(start..end)
            .map(move |(&from, &(to, value))| (from.max(first), to.min(end), value))
    }

    /// Takes the sectors from `first` to `end` out; returns how many there were.
    pub(super) fn remove(&mut self, first: u64, end: u64) -> u64 {
        let mut removed = 0;
        loop {
            let next = self.within(first, end).next();
            let Some((from, to, value)) = next else { return removed };
            let (start, stop, _) = self.at(from).expect("the part of a range");
            self.0.remove(&start);
            if start < from {
                self.0.insert(start, (from, value));
            }
            if to < stop {
                self.0.insert(to, (stop, value));
            }
            removed += to - from;
        }
    }

    /// Gives the sectors from `first` to `end` a value, whatever they had.
    pub(super) fn set(&mut self, first: u64, end: u64, value: V) {
        self.remove(first, end);
        if first < end {
            self.0.insert(first, (end, value));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against a list of sectors.
    #[test]
    fn ranges_hold_what_each_sector_was_given_last() {
        let mut ranges = Ranges::new();
        let mut sectors = [None; 64];
        let mut state = 1u64;
        for step in 0..2_000u64 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let (first, length) = ((state >> 40) % 60, 1 + (state >> 50) % 4);
            let place = |sector: u64| usize::try_from(sector).expect("below 64");
            let own = place(first)..place(first + length);
            if step % 3 == 0 {
                let known = sectors[own.clone()].iter().flatten().count();
                assert_eq!(ranges.remove(first, first + length), known as u64);
                sectors[own].fill(None);
            } else {
                ranges.set(first, first + length, step);
                sectors[own].fill(Some(step));
            }
            for (sector, value) in (0..).zip(&sectors) {
                assert_eq!(ranges.at(sector).map(|(.., value)| value), *value);
            }
            let parts = ranges.within(10, 50).map(|(from, to, _)| to - from).sum::<u64>();
            assert_eq!(parts, sectors[10..50].iter().flatten().count() as u64);
        }
    }
}

//! The next-event tree: when each of a fixed number of resources is due, and which is first.
//!
//! A tournament of due times over lent memory. A match holds the best times of its two sides, so a
//! change costs one comparison a level, as far up as it changes who is first. The tree holds no
//! numbers: whoever asks which resource is first goes down from the root, to the left among equal
//! times. So the lowest number comes first.

use crate::units::Time;

/// A match of the tournament: the earliest due times of its left and of its right side.
pub type Match = [Time; 2];

/// Due times of numbered resources.
#[derive(Debug)]
pub struct EventTree<S> {
    /// Match 1 is the final; the matches before match n are 2n and 2n + 1; behind the last of them
    /// come the resources.
    matches: S,
    leaves: usize,
}

impl<S: AsRef<[Match]> + AsMut<[Match]>> EventTree<S> {
    /// Matches that `resources` take.
    pub const fn matches(resources: usize) -> usize {
        let leaves = resources.next_power_of_two();
        if leaves < 2 { 2 } else { leaves }
    }

    /// A tree in which nothing is due, over [`Self::matches`] matches of any contents.
    pub fn new(mut matches: S) -> Self {
        let leaves = matches.as_ref().len();
        assert!(leaves.is_power_of_two() && leaves > 1, "as many matches as `matches` says");
        matches.as_mut().fill([Time::MAX; 2]);
        Self { matches, leaves }
    }

    /// The earliest due time, [`Time::MAX`] for never.
    #[inline]
    pub fn next_due(&self) -> Time {
        let [left, right] = self.matches.as_ref()[1];
        left.min(right)
    }

    /// The earliest due time, [`Time::MAX`] for never, and the lowest number of those that are due
    /// then.
    #[inline]
    pub fn first(&self) -> (Time, u32) {
        let matches = self.matches.as_ref();
        let mut node = 1;
        while node < self.leaves {
            let [left, right] = matches[node];
            node = 2 * node + usize::from(right < left);
        }
        (self.next_due(), u32::try_from(node - self.leaves).unwrap_or(u32::MAX))
    }

    /// Calls `visit` with every resource that is due at `time`, the time of [`Self::next_due`], in
    /// ascending order.
    #[inline]
    pub fn due_at(&self, time: Time, mut visit: impl FnMut(u32)) {
        let matches = self.matches.as_ref();
        if self.next_due() != time || time == Time::MAX {
            return;
        }
        // A bit for each level at which the way goes left while the right side is due as well.
        let mut right_too = 0_u64;
        let mut node = 1;
        loop {
            while node < self.leaves {
                let [left, right] = matches[node];
                let goes_left = left == time;
                right_too = 2 * right_too + u64::from(goes_left && right == time);
                node = 2 * node + usize::from(!goes_left);
            }
            visit(u32::try_from(node - self.leaves).unwrap_or(u32::MAX));
            if right_too == 0 {
                return;
            }
            let levels = right_too.trailing_zeros();
            right_too = right_too >> levels & !1;
            node = (node >> levels) + 1;
        }
    }

    /// When a resource is due.
    #[inline]
    pub fn due(&self, resource: u32) -> Time {
        let leaf = self.leaves + resource as usize;
        self.matches.as_ref()[leaf / 2][leaf % 2]
    }

    /// Makes a resource due at `time`; [`Time::MAX`] is never.
    #[inline]
    pub fn set(&mut self, resource: u32, time: Time) {
        let matches = self.matches.as_mut();
        let mut node = self.leaves + resource as usize;
        let mut least = time;
        while node > 1 {
            let sides = &mut matches[node / 2];
            if sides[node % 2] == least {
                // The time was the same before, so nothing changes further up.
                return;
            }
            sides[node % 2] = least;
            least = sides[0].min(sides[1]);
            node /= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against a full scan, under random changes with many equal times.
    #[test]
    fn the_first_is_the_earliest_then_the_lowest() {
        for count in [1, 2, 5, 64, 100] {
            let mut lent = [[Time::ZERO; 2]; 128];
            let length = EventTree::<&mut [Match]>::matches(count);
            let mut tree = EventTree::new(&mut lent[..length]);
            let mut times = std::vec![Time::MAX; count];
            let mut random = 1u64;
            for _ in 0..5_000 {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99);
                let at = usize::try_from(random >> 33).unwrap() % count;
                let roll = random >> 20 & 63;
                times[at] = if roll == 0 { Time::MAX } else { Time::from_ns(roll) };
                tree.set(u32::try_from(at).unwrap(), times[at]);
                let first = (0..).zip(&times).map(|(at, time)| (*time, at)).min().unwrap();
                assert_eq!((tree.first().0, tree.next_due()), (first.0, first.0));
                if first.0 < Time::MAX {
                    assert_eq!(tree.first(), first);
                }
                assert_eq!(tree.due(u32::try_from(at).unwrap()), times[at]);
                let mut due = std::vec::Vec::new();
                tree.due_at(first.0, |resource| due.push(resource));
                let wanted = (0..).zip(&times).filter(|(_, time)| **time == first.0);
                let wanted: std::vec::Vec<u32> = wanted.map(|(resource, _)| resource).collect();
                assert_eq!(due, if first.0 < Time::MAX { wanted } else { std::vec::Vec::new() });
            }
        }
    }
}

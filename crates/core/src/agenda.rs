//! The agenda: when each of a fixed number of resources is due next, and which one is first.
//!
//! A tournament tree over lent memory: a change costs one comparison a level as far as it changes
//! who is first, a look at the first nothing. Among equal times the lowest number comes first.

use crate::units::Time;

/// A match of the tournament: a due time in the upper bits and whose it is in the lower 32.
pub type Slot = u128;

fn slot(time: Time, resource: u32) -> Slot {
    (u128::from(time.as_ns()) << 32) | u128::from(resource)
}

fn time_of(slot: Slot) -> Time {
    Time::from_ns(u64::try_from(slot >> 32).expect("a time has 64 bits"))
}

/// Due times of numbered resources.
#[derive(Debug)]
pub struct Agenda<S> {
    /// Node 1 is the root; the children of node n are 2n and 2n + 1; the leaves come last.
    nodes: S,
    leaves: usize,
}

impl<S: AsRef<[Slot]> + AsMut<[Slot]>> Agenda<S> {
    /// Slots that `resources` take.
    pub const fn slots(resources: usize) -> usize {
        2 * resources.next_power_of_two()
    }

    /// An agenda on which nothing is due, over [`Self::slots`] slots of any contents.
    pub fn new(mut nodes: S) -> Self {
        let leaves = nodes.as_ref().len() / 2;
        assert!(leaves.is_power_of_two(), "the number of leaves is a power of two");
        for (leaf, node) in (0..).zip(&mut nodes.as_mut()[leaves..]) {
            *node = slot(Time::MAX, leaf);
        }
        for node in (1..leaves).rev() {
            nodes.as_mut()[node] = nodes.as_ref()[2 * node];
        }
        Self { nodes, leaves }
    }

    /// The earliest due time, [`Time::MAX`] for never, and whose it is.
    pub fn first(&self) -> (Time, u32) {
        let first = self.nodes.as_ref()[1];
        let resource = u32::try_from(first & u128::from(u32::MAX)).expect("32 bits are left");
        (time_of(first), resource)
    }

    /// When a resource is due.
    pub fn due(&self, resource: u32) -> Time {
        time_of(self.nodes.as_ref()[self.leaves + resource as usize])
    }

    /// Makes a resource due at `time`; [`Time::MAX`] is never.
    pub fn set(&mut self, resource: u32, time: Time) {
        let nodes = self.nodes.as_mut();
        let mut node = self.leaves + resource as usize;
        let mut least = slot(time, resource);
        nodes[node] = least;
        while node > 1 {
            least = least.min(nodes[node ^ 1]);
            node /= 2;
            if nodes[node] == least {
                // Somebody else was first here and still is: nothing changes further up.
                return;
            }
            nodes[node] = least;
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
            let mut slots = [0; 256];
            let length = Agenda::<&mut [Slot]>::slots(count);
            let mut agenda = Agenda::new(&mut slots[..length]);
            let mut times = std::vec![Time::MAX; count];
            let mut random = 1u64;
            for _ in 0..5_000 {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99);
                let at = usize::try_from(random >> 33).unwrap() % count;
                let roll = random >> 20 & 63;
                times[at] = if roll == 0 { Time::MAX } else { Time::from_ns(roll) };
                agenda.set(u32::try_from(at).unwrap(), times[at]);
                let first = (0..).zip(&times).map(|(at, time)| (*time, at)).min().unwrap();
                assert_eq!(agenda.first().0, first.0);
                if first.0 < Time::MAX {
                    assert_eq!(agenda.first(), first);
                }
                assert_eq!(agenda.due(u32::try_from(at).unwrap()), times[at]);
            }
        }
    }
}

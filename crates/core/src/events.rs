//! The next-event tree: when each of a fixed number of resources is due, and which is first.
//!
//! A tree of due times over lent memory, eight to a node. The nodes of the lowest level hold the
//! times of the resources, every other node the earliest times of its eight children. A time that
//! is not the earliest of its node changes that node alone, so few changes go all the way up. The
//! tree holds no numbers: a search for the first resource goes down from the root, to the lowest of
//! equal times. So the lowest number comes first.

use crate::units::Time;

/// Times of a node.
const WIDTH: usize = 8;

/// A node of the tree: the due times of eight resources, or the earliest ones of eight children.
pub type Node = [Time; WIDTH];

/// A node to initialise lent memory with.
pub const VACANT: Node = [Time::MAX; WIDTH];

/// Nodes that so many resources take.
pub const fn nodes_of(resources: usize) -> usize {
    let (mut nodes, mut width) = (1, WIDTH);
    while width < resources {
        nodes += width;
        width *= WIDTH;
    }
    nodes
}

/// Due times of numbered resources.
#[derive(Clone, Debug)]
pub struct EventTree<S> {
    /// Node 0 is the root, the children of node n are 8n + 1 to 8n + 8.
    nodes: S,
    /// The first node of the lowest level.
    lowest: usize,
    /// The earliest time of the root.
    earliest: Time,
}

impl<S: AsRef<[Node]> + AsMut<[Node]>> EventTree<S> {
    /// A tree in which nothing is due, over [`nodes_of`] nodes of any contents.
    pub fn new(mut nodes: S) -> Self {
        let count = nodes.as_ref().len();
        let (mut lowest, mut width) = (0, 1);
        while lowest + width < count {
            lowest += width;
            width *= WIDTH;
        }
        assert!(lowest + width == count, "as many nodes as `nodes_of` says");
        nodes.as_mut().fill(VACANT);
        Self { nodes, lowest, earliest: Time::MAX }
    }

    /// The earliest due time, [`Time::MAX`] for never.
    #[inline]
    pub const fn next_due(&self) -> Time {
        self.earliest
    }

    /// The earliest due time, [`Time::MAX`] for never, and the lowest number of those that are due
    /// then.
    #[inline]
    pub fn first(&self) -> (Time, u32) {
        let nodes = self.nodes.as_ref();
        let mut at = 0;
        loop {
            let slot = nodes[at].iter().position(|time| *time == self.earliest).unwrap_or(0);
            if at >= self.lowest {
                return (self.earliest, number((at - self.lowest) * WIDTH + slot));
            }
            at = at * WIDTH + 1 + slot;
        }
    }

    /// Calls `visit` with every resource that is due at `time`, the time of [`Self::next_due`], the
    /// highest number first.
    #[inline]
    pub fn due_at(&self, time: Time, mut visit: impl FnMut(u32)) {
        if self.earliest == time && time < Time::MAX {
            self.due_below(0, time, &mut visit);
        }
    }

    /// The same for the resources below a node.
    #[inline]
    fn due_below(&self, at: usize, time: Time, visit: &mut impl FnMut(u32)) {
        if at >= self.lowest {
            return self.due_of(at, time, visit);
        }
        for (slot, due) in self.nodes.as_ref()[at].iter().enumerate().rev() {
            let child = at * WIDTH + 1 + slot;
            if *due == time && child >= self.lowest {
                self.due_of(child, time, visit);
            } else if *due == time {
                self.due_below(child, time, visit);
            }
        }
    }

    /// The same for the resources of a node.
    #[inline]
    fn due_of(&self, at: usize, time: Time, visit: &mut impl FnMut(u32)) {
        for (slot, due) in self.nodes.as_ref()[at].iter().enumerate().rev() {
            if *due == time {
                visit(number((at - self.lowest) * WIDTH + slot));
            }
        }
    }

    /// When a resource is due.
    #[inline]
    pub fn due(&self, resource: u32) -> Time {
        let resource = resource as usize;
        self.nodes.as_ref()[self.lowest + resource / WIDTH][resource % WIDTH]
    }

    /// Makes a resource due at `time`; [`Time::MAX`] is never.
    #[inline]
    pub fn set(&mut self, resource: u32, time: Time) {
        let nodes = self.nodes.as_mut();
        let (mut at, mut slot) =
            (self.lowest + resource as usize / WIDTH, resource as usize % WIDTH);
        let mut time = time;
        loop {
            let above = at.checked_sub(1).map(|child| (child / WIDTH, child % WIDTH));
            let known = above.map_or(self.earliest, |(at, slot)| nodes[at][slot]);
            let node = &mut nodes[at];
            let before = core::mem::replace(&mut node[slot], time);
            if time == before {
                return;
            }
            if time > known {
                if before > known {
                    return;
                }
                time = node.iter().copied().fold(Time::MAX, Time::min);
            }
            if time == known {
                return;
            }
            let Some(place) = above else {
                self.earliest = time;
                return;
            };
            (at, slot) = place;
        }
    }
}

/// The number of a resource.
#[inline]
fn number(resource: usize) -> u32 {
    u32::try_from(resource).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against a full scan, under random changes with many equal times.
    #[test]
    fn the_first_is_the_earliest_then_the_lowest() {
        for count in [1, 2, 5, 8, 9, 64, 100, 512] {
            let mut lent = [[Time::ZERO; WIDTH]; 73];
            let length = nodes_of(count);
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
                due.reverse();
                let wanted = (0..).zip(&times).filter(|(_, time)| **time == first.0);
                let wanted: std::vec::Vec<u32> = wanted.map(|(resource, _)| resource).collect();
                assert_eq!(due, if first.0 < Time::MAX { wanted } else { std::vec::Vec::new() });
            }
        }
    }
}

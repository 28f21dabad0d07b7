//! Free extents in order of address, searched in logarithmic time: a treap, in which each node
//! knows the length of the longest extent at and below it.
//!
//! The order of the nodes is that of the addresses. Each node has a number from a generator with a
//! fixed seed, which is not above that of its parent: so the depth is some multiple of the
//! logarithm, whatever the addresses. What is found depends on nothing but the extents.

use crate::random::SplitMix64;

/// Successive units of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    /// The first unit.
    pub(super) first: u64,
    /// How many there are; not 0.
    pub(super) units: u64,
}

/// The place of a node; [`NONE`] where there is none.
type Place = usize;

const NONE: Place = usize::MAX;

#[derive(Clone, Copy, Debug)]
struct Node {
    extent: Extent,
    /// The most units of an extent at and below this node.
    longest: u64,
    priority: u64,
    left: Place,
    right: Place,
}

/// Extents that do not overlap, by their first unit.
#[derive(Debug)]
pub(super) struct Tree {
    nodes: Vec<Node>,
    /// Places in `nodes` that hold nothing.
    unused: Vec<Place>,
    root: Place,
    random: SplitMix64,
}

impl Tree {
    /// No extents.
    pub(super) fn new() -> Self {
        Self { nodes: Vec::new(), unused: Vec::new(), root: NONE, random: SplitMix64::new(0) }
    }

    /// The first extent of at least so many units.
    pub(super) fn first_of(&self, units: u64) -> Option<Extent> {
        if self.longest(self.root) < units {
            return None;
        }
        let mut at = self.root;
        loop {
            let node = self.nodes.get(at)?;
            at = if self.longest(node.left) >= units {
                node.left
            } else if node.extent.units >= units {
                return Some(node.extent);
            } else {
                node.right
            };
        }
    }

    /// The last extent that starts before `unit`.
    pub(super) fn before(&self, unit: u64) -> Option<Extent> {
        let (mut at, mut found) = (self.root, None);
        while let Some(node) = self.nodes.get(at) {
            if node.extent.first < unit {
                found = Some(node.extent);
                at = node.right;
            } else {
                at = node.left;
            }
        }
        found
    }

    /// The first extent that starts at `unit` or behind it.
    pub(super) fn from(&self, unit: u64) -> Option<Extent> {
        let (mut at, mut found) = (self.root, None);
        while let Some(node) = self.nodes.get(at) {
            if node.extent.first >= unit {
                found = Some(node.extent);
                at = node.left;
            } else {
                at = node.right;
            }
        }
        found
    }

    /// Puts an extent in that overlaps no other.
    pub(super) fn insert(&mut self, extent: Extent) {
        let priority = self.random.next_u64();
        let node = Node { extent, longest: extent.units, priority, left: NONE, right: NONE };
        let place = if let Some(place) = self.unused.pop() {
            self.nodes[place] = node;
            place
        } else {
            self.nodes.push(node);
            self.nodes.len() - 1
        };
        self.root = self.with(self.root, place);
    }

    /// Takes the extent out that starts at `first`.
    pub(super) fn remove(&mut self, first: u64) {
        self.root = self.without(self.root, first);
    }

    /// Gives the extent that starts at `first` another start and length. It keeps its place among
    /// the others.
    pub(super) fn change(&mut self, first: u64, to: Extent) {
        self.change_below(self.root, first, to);
    }

    fn longest(&self, at: Place) -> u64 {
        self.nodes.get(at).map_or(0, |node| node.longest)
    }

    /// Computes again what a node knows of those below it.
    fn look_below(&mut self, at: Place) {
        let Node { extent, left, right, .. } = self.nodes[at];
        self.nodes[at].longest = extent.units.max(self.longest(left)).max(self.longest(right));
    }

    /// The subtree at `at` with a node more.
    fn with(&mut self, at: Place, new: Place) -> Place {
        let first = self.nodes[new].extent.first;
        match self.nodes.get(at).copied() {
            Some(node) if node.priority >= self.nodes[new].priority => {
                if first < node.extent.first {
                    self.nodes[at].left = self.with(node.left, new);
                } else {
                    self.nodes[at].right = self.with(node.right, new);
                }
                self.look_below(at);
                at
            }
            _ => {
                let (left, right) = self.split(at, first);
                (self.nodes[new].left, self.nodes[new].right) = (left, right);
                self.look_below(new);
                new
            }
        }
    }

    /// The subtree at `at` without the extent that starts at `first`.
    fn without(&mut self, at: Place, first: u64) -> Place {
        let Some(&Node { extent, left, right, .. }) = self.nodes.get(at) else { return NONE };
        if extent.first == first {
            self.unused.push(at);
            return self.join(left, right);
        }
        if first < extent.first {
            self.nodes[at].left = self.without(left, first);
        } else {
            self.nodes[at].right = self.without(right, first);
        }
        self.look_below(at);
        at
    }

    fn change_below(&mut self, at: Place, first: u64, to: Extent) {
        let Some(&Node { extent, left, right, .. }) = self.nodes.get(at) else { return };
        match first.cmp(&extent.first) {
            std::cmp::Ordering::Less => self.change_below(left, first, to),
            std::cmp::Ordering::Equal => self.nodes[at].extent = to,
            std::cmp::Ordering::Greater => self.change_below(right, first, to),
        }
        self.look_below(at);
    }

    /// The nodes of a subtree that start before `unit`, and the others.
    fn split(&mut self, at: Place, unit: u64) -> (Place, Place) {
        let Some(&Node { extent, left, right, .. }) = self.nodes.get(at) else {
            return (NONE, NONE);
        };
        let parts = if extent.first < unit {
            let (before, behind) = self.split(right, unit);
            self.nodes[at].right = before;
            (at, behind)
        } else {
            let (before, behind) = self.split(left, unit);
            self.nodes[at].left = behind;
            (before, at)
        };
        self.look_below(at);
        parts
    }

    /// Two subtrees as one; all of the first lies before the second.
    fn join(&mut self, before: Place, behind: Place) -> Place {
        let (Some(first), Some(second)) = (self.nodes.get(before), self.nodes.get(behind)) else {
            return if before == NONE { behind } else { before };
        };
        if first.priority >= second.priority {
            let right = first.right;
            self.nodes[before].right = self.join(right, behind);
            self.look_below(before);
            before
        } else {
            let left = second.left;
            self.nodes[behind].left = self.join(before, left);
            self.look_below(behind);
            behind
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// The depth of a subtree; checks what its nodes know and how they are ordered.
    fn depth(tree: &Tree, at: Place) -> usize {
        let Some(node) = tree.nodes.get(at) else { return 0 };
        let mut longest = node.extent.units;
        for (child, is_left) in [(node.left, true), (node.right, false)] {
            let Some(below) = tree.nodes.get(child) else { continue };
            assert!(below.priority <= node.priority);
            assert_eq!(below.extent.first < node.extent.first, is_left);
            longest = longest.max(below.longest);
        }
        assert_eq!(node.longest, longest);
        1 + depth(tree, node.left).max(depth(tree, node.right))
    }

    #[test]
    fn what_is_found_is_what_a_list_has() {
        let (mut tree, mut list) = (Tree::new(), BTreeMap::new());
        let mut random = SplitMix64::new(3);
        for _ in 0..20_000 {
            let first = 10 * random.below(400);
            let extent = Extent { first, units: 1 + random.below(9) };
            match (list.contains_key(&first), random.below(2)) {
                (false, _) => {
                    tree.insert(extent);
                    list.insert(first, extent.units);
                }
                (true, 0) => {
                    tree.remove(first);
                    list.remove(&first);
                }
                (true, _) => {
                    tree.change(first, extent);
                    list.insert(first, extent.units);
                }
            }
            let of = |(&first, &units): (&u64, &u64)| Extent { first, units };
            let (unit, wanted) = (random.below(4_100), 1 + random.below(10));
            assert_eq!(tree.before(unit), list.range(..unit).next_back().map(of));
            assert_eq!(tree.from(unit), list.range(unit..).next().map(of));
            let expected = list.iter().find(|(_, units)| **units >= wanted).map(of);
            assert_eq!(tree.first_of(wanted), expected);
        }
        depth(&tree, tree.root);
        assert!(tree.nodes.len() <= 400);
    }

    #[test]
    fn many_extents_in_order_make_no_deep_tree() {
        let mut tree = Tree::new();
        for at in 0..100_000 {
            tree.insert(Extent { first: 2 * at, units: 1 });
        }
        assert!(depth(&tree, tree.root) < 64);
        assert_eq!(tree.first_of(1), Some(Extent { first: 0, units: 1 }));
        assert_eq!(tree.first_of(2), None);
    }
}

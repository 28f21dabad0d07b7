//! A random walk that makes every counted move exactly once.
//!
//! The moves of a chain of symbols are the edges of a graph, a symbol that is seen often having
//! many. A chain with the same moves in another order is a walk along all edges. Such walks are
//! drawn alike (Kandel, Matias, Unger, Winkler, "Shuffling biological sequences", Discrete Applied
//! Mathematics 1996): the last move out of each symbol is that of a random tree that leads to the
//! end (Wilson's loop-erased walks, STOC 1996); the other moves are dealt like cards.
//!
//! Where a walk passes is up to chance; when it passes there is not: a [`Guide`] says which traits
//! the next symbols should have, and moves to such symbols are preferred while there are any.
//!
//! Draws: for the tree, one a step of the loop-erased walks, which start at the symbols in
//! ascending order; then one a move, none for the last move out of a symbol.

use crate::random::SplitMix64;

/// Steps for the tree per move; a chain needs far fewer. Moves that are no chain could need
/// infinitely many.
const STEPS_PER_MOVE: usize = 1_000;

/// The moves out of one symbol.
#[derive(Clone, Debug, Default)]
struct Row {
    /// The next symbols and how often each is still to follow, the last move aside.
    to: Vec<(usize, u64)>,
    left: u64,
    /// The last move.
    last: Option<usize>,
}

impl Row {
    fn pick(&self, random: &mut SplitMix64) -> usize {
        let mut number = random.below(self.left);
        for (index, &(_, count)) in self.to.iter().enumerate() {
            if number < count {
                return index;
            }
            number -= count;
        }
        unreachable!("the counts add up to what is left")
    }

    /// A move towards what the guide wants; any where it wants none of them.
    fn pick_guided(&self, guide: &Guide, random: &mut SplitMix64) -> usize {
        let weight = |&(to, count): &(usize, u64)| guide.weight(to, count);
        let total: u64 = self.to.iter().map(weight).fold(0, u64::saturating_add);
        if total == 0 {
            return self.pick(random);
        }
        let mut number = random.below(total);
        for (index, edge) in self.to.iter().enumerate() {
            let weight = weight(edge);
            if number < weight {
                return index;
            }
            number -= weight;
        }
        self.pick(random)
    }

    fn take(&mut self, index: usize) -> usize {
        self.to[index].1 -= 1;
        self.left -= 1;
        self.to[index].0
    }
}

/// What the next symbols should be like.
#[derive(Clone, Debug)]
pub(super) struct Guide {
    /// The trait of each symbol.
    traits: Vec<usize>,
    /// How many symbols of each trait the segment has, and how many are still to come.
    segment: Vec<u64>,
    wanted: Vec<u64>,
    /// How many symbols of each trait the walk still has.
    left: Vec<u64>,
}

impl Guide {
    /// Traits of the symbols, below `count`.
    pub(super) fn new(traits: Vec<usize>, count: usize) -> Self {
        let zeros = vec![0; count];
        Self { traits, segment: zeros.clone(), wanted: zeros.clone(), left: zeros }
    }

    /// Wants so many symbols of each trait from now on.
    pub(super) fn want(&mut self, counts: &[u64]) {
        self.segment.copy_from_slice(counts);
        self.wanted.copy_from_slice(counts);
    }

    /// The weight of a move to a symbol: moves of a trait together weigh as much as is wanted of
    /// it, if the walk passes them all alike.
    fn weight(&self, to: usize, count: u64) -> u64 {
        let kind = self.traits[to];
        let share = (self.wanted[kind] << 20) / self.left[kind].max(1);
        count.saturating_mul(share)
    }

    fn passed(&mut self, to: usize) {
        let kind = self.traits[to];
        self.left[kind] = self.left[kind].saturating_sub(1);
        self.wanted[kind] = self.wanted[kind].saturating_sub(1);
        if self.wanted.iter().all(|&wanted| wanted == 0) {
            self.wanted.copy_from_slice(&self.segment);
        }
    }
}

/// A walk over symbols.
#[derive(Clone, Debug)]
pub(super) struct Walk {
    rows: Vec<Row>,
    at: usize,
    left: u64,
}

/// Rows of moves: a symbol, then pairs of a next symbol and how often it follows.
pub(super) type Moves = [Vec<u64>];

impl Walk {
    /// A walk over `moves` that starts at `start`.
    pub(super) fn new(
        moves: &Moves,
        start: usize,
        guide: &mut Guide,
        random: &mut SplitMix64,
    ) -> Self {
        let symbols = guide.traits.len();
        guide.left.fill(0);
        let mut rows = vec![Row::default(); symbols];
        // What goes out of a symbol minus what comes in: -1 at the end of an open walk.
        let mut balance = vec![0_i128; symbols];
        let mut left = 0;
        for row in moves {
            let from = index(row[0]);
            for pair in row[1..].chunks_exact(2) {
                let (to, count) = (index(pair[0]), pair[1]);
                rows[from].to.push((to, count));
                rows[from].left += count;
                balance[from] += i128::from(count);
                balance[to] -= i128::from(count);
                left += count;
                guide.left[guide.traits[to]] += count;
            }
        }
        let end = balance.iter().position(|&balance| balance < 0).unwrap_or(start);
        let mut walk = Self { rows, at: start, left };
        walk.plant(end, random);
        walk
    }

    /// How many moves are left.
    pub(super) const fn left(&self) -> u64 {
        self.left
    }

    /// Sets the last moves, which form a tree that leads to `end`.
    fn plant(&mut self, end: usize, random: &mut SplitMix64) {
        let mut in_tree: Vec<bool> = self.rows.iter().map(|row| row.left == 0).collect();
        in_tree[end] = true;
        let mut exits = vec![0; self.rows.len()];
        let edges: usize = self.rows.iter().map(|row| row.to.len()).sum();
        let mut steps = edges * STEPS_PER_MOVE;
        for symbol in 0..self.rows.len() {
            let mut at = symbol;
            while !in_tree[at] {
                if steps == 0 {
                    return;
                }
                steps -= 1;
                exits[at] = self.rows[at].pick(random);
                at = self.rows[at].to[exits[at]].0;
            }
            at = symbol;
            while !in_tree[at] {
                in_tree[at] = true;
                let row = &mut self.rows[at];
                row.last = Some(row.take(exits[at]));
                at = row.last.expect("just set");
            }
        }
    }

    /// The next symbol; `None` at the end.
    pub(super) fn next(&mut self, guide: &mut Guide, random: &mut SplitMix64) -> Option<usize> {
        if self.left == 0 {
            return None;
        }
        let row = &self.rows[self.at];
        if row.left == 0 && row.last.is_none() {
            // Only moves that are no chain lead here: go on where moves are left.
            let open = |row: &Row| row.left > 0 || row.last.is_some();
            self.at = self.rows.iter().position(open)?;
        }
        let row = &mut self.rows[self.at];
        self.at = if row.left > 0 {
            let index = row.pick_guided(guide, random);
            row.take(index)
        } else {
            row.last.take()?
        };
        self.left -= 1;
        guide.passed(self.at);
        Some(self.at)
    }
}

fn index(symbol: u64) -> usize {
    usize::try_from(symbol).expect("symbols were checked")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn moves_of(chain: &[usize]) -> Vec<Vec<u64>> {
        let mut counts: BTreeMap<usize, BTreeMap<usize, u64>> = BTreeMap::new();
        for pair in chain.windows(2) {
            *counts.entry(pair[0]).or_default().entry(pair[1]).or_default() += 1;
        }
        let row = |(from, to): (usize, BTreeMap<usize, u64>)| {
            let pairs = to.into_iter().flat_map(|(to, count)| [to as u64, count]);
            std::iter::once(from as u64).chain(pairs).collect()
        };
        counts.into_iter().map(row).collect()
    }

    fn walk(moves: &Moves, symbols: usize, start: usize, seed: u64) -> Vec<usize> {
        let mut random = SplitMix64::new(seed);
        let mut guide = Guide::new(vec![0; symbols], 1);
        let mut walk = Walk::new(moves, start, &mut guide, &mut random);
        let mut chain = vec![start];
        while let Some(symbol) = walk.next(&mut guide, &mut random) {
            chain.push(symbol);
        }
        chain
    }

    #[test]
    fn every_walk_has_the_moves_of_the_chain_and_its_ends() {
        let mut random = SplitMix64::new(1);
        let chain: Vec<usize> = (0..2_000).map(|_| random.below_usize(9)).collect();
        let moves = moves_of(&chain);
        for seed in 0..20 {
            let twin = walk(&moves, 9, chain[0], seed);
            assert_eq!(moves_of(&twin), moves);
            assert_eq!((twin.len(), twin.last()), (chain.len(), chain.last()));
            assert_ne!(twin, chain);
        }
    }

    #[test]
    fn all_walks_are_equally_likely() {
        // 0 1 0 2 0 1 has the moves 01 twice, 10, 02 and 20: the walks are 010201 and 020101 and
        // 010201 again with the two moves 01 exchanged, so two chains in the ratio 2 to 2; counted
        // by hand: after the last move into 1, the order of "10" and "02 20" is free.
        let moves = moves_of(&[0, 1, 0, 2, 0, 1]);
        let seeds = 20_000;
        let first = (0..seeds)
            .filter(|&seed| {
                let chain = walk(&moves, 3, 0, seed);
                assert_eq!(moves_of(&chain), moves);
                chain == [0, 1, 0, 2, 0, 1]
            })
            .count();
        // Four standard errors of a fair coin.
        let error = 4.0 * (seeds as f64 * 0.25).sqrt();
        assert!((first as f64 - seeds as f64 / 2.0).abs() < error, "{first} of {seeds}");
    }

    #[test]
    fn moves_that_are_no_chain_are_all_made_too() {
        let moves = vec![vec![0, 0, 3], vec![1, 2, 1], vec![2, 1, 4]];
        let mut targets = walk(&moves, 3, 0, 5);
        assert_eq!(targets.remove(0), 0);
        targets.sort_unstable();
        assert_eq!(targets, [0, 0, 0, 1, 1, 1, 1, 2]);
    }
}

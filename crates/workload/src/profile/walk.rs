//! A random walk over symbols.
//!
//! The walk passes each symbol exactly as often as the profile counts it: a symbol's cards are
//! dealt until none is left. It prefers moves that the profile counts, and takes each of them as
//! often as it is counted. In each segment it passes as many symbols of each trait (read or not;
//! class of gap) as the profile counts there. Among the moves that remain, the walk prefers a move
//! that fits the load: it does not put a request that found the device idle behind a long write.
//!
//! Draws: one a move.

use crate::random::SplitMix64;

/// How much more a move weighs that the load is right for.
const SUITABLE: u64 = 16;

/// What a walk needs to know about a symbol.
#[derive(Clone, Copy, Debug)]
pub(super) struct Traits {
    /// What segments count.
    pub(super) number: usize,
    /// The least gap before it, and the first that is too long.
    pub(super) gap: (u64, u64),
    /// The least load that it meets, and the first that is too much.
    pub(super) load: (u64, u64),
}

impl Traits {
    /// The gaps that turn `load` into a load that the symbol meets: the least and the greatest.
    pub(super) fn gaps(&self, load: u64) -> (u64, u64) {
        let least = load.saturating_sub(self.load.1 - 1);
        let most = if self.load.0 == 0 { u64::MAX } else { load.saturating_sub(self.load.0) };
        (least, most)
    }

    /// Whether one of its gaps does.
    fn suits(&self, load: u64) -> bool {
        let (least, most) = self.gaps(load);
        load >= self.load.0 && least < self.gap.1 && self.gap.0 <= most
    }
}

/// What the next symbols should be like.
#[derive(Clone, Debug)]
pub(super) struct Guide {
    pub(super) symbols: Vec<Traits>,
    /// How many symbols of each trait the segment has, and how many are still to come.
    segment: Vec<u64>,
    wanted: Vec<u64>,
    /// How many symbols of each trait the walk still has.
    left: Vec<u64>,
    /// The load before the next gap.
    pub(super) load_ns: u64,
}

impl Guide {
    /// Symbols with traits below `count`.
    pub(super) fn new(symbols: Vec<Traits>, count: usize) -> Self {
        let zeros = vec![0; count];
        let (segment, wanted) = (zeros.clone(), zeros.clone());
        Self { symbols, segment, wanted, left: zeros, load_ns: 0 }
    }

    /// Wants so many symbols of each trait from now on, and none of those without a count.
    pub(super) fn want(&mut self, counts: &[u64]) {
        let counts = counts.iter().copied().chain(std::iter::repeat(0));
        self.segment.iter_mut().zip(counts).for_each(|(wanted, count)| *wanted = count);
        self.wanted.copy_from_slice(&self.segment);
    }

    /// The weight of `count` cards of a symbol. All cards of a trait together weigh as much as the
    /// segment still wants of that trait. Cards that do not fit the load weigh little.
    fn weight(&self, to: usize, count: u64) -> u64 {
        let traits = &self.symbols[to];
        let share = (self.wanted[traits.number] << 20) / self.left[traits.number].max(1);
        let suits = if traits.suits(self.load_ns) { SUITABLE } else { 1 };
        count.saturating_mul(share).saturating_mul(suits)
    }

    fn passed(&mut self, to: usize) {
        let kind = self.symbols[to].number;
        self.left[kind] = self.left[kind].saturating_sub(1);
        self.wanted[kind] = self.wanted[kind].saturating_sub(1);
        if self.wanted.iter().all(|&wanted| wanted == 0) {
            self.wanted.copy_from_slice(&self.segment);
        }
    }
}

/// Rows of moves: a symbol, then pairs of a next symbol and how often it follows.
pub(super) type Moves = [Vec<u64>];

/// A walk over symbols.
#[derive(Clone, Debug)]
pub(super) struct Walk {
    /// By symbol: the next symbols and how often each is still to follow.
    rows: Vec<Vec<(usize, u64)>>,
    /// How often the walk still passes each symbol.
    cards: Vec<u64>,
    at: usize,
    left: u64,
}

impl Walk {
    /// A walk over `moves` that starts at `start`.
    pub(super) fn new(moves: &Moves, start: usize, guide: &mut Guide) -> Self {
        let symbols = guide.symbols.len();
        let mut walk =
            Self { rows: vec![Vec::new(); symbols], cards: vec![0; symbols], at: start, left: 0 };
        guide.left.fill(0);
        for row in moves {
            for pair in row[1..].chunks_exact(2) {
                let (to, count) = (index(pair[0]), pair[1]);
                walk.rows[index(row[0])].push((to, count));
                walk.cards[to] += count;
                walk.left += count;
                guide.left[guide.symbols[to].number] += count;
            }
        }
        walk
    }

    /// How many moves are left.
    pub(super) const fn left(&self) -> u64 {
        self.left
    }

    /// The next symbol; `None` at the end.
    pub(super) fn next(&mut self, guide: &mut Guide, random: &mut SplitMix64) -> Option<usize> {
        if self.left == 0 {
            return None;
        }
        let row = &self.rows[self.at];
        let counted = |&(to, count): &(usize, u64)| guide.weight(to, count.min(self.cards[to]));
        let any = |(to, &count): (usize, &u64)| guide.weight(to, count);
        let to = if let Some(choice) = pick(row.iter().map(counted), random) {
            let (to, count) = &mut self.rows[self.at][choice];
            *count -= 1;
            *to
        } else if let Some(to) = pick(self.cards.iter().enumerate().map(any), random) {
            to
        } else {
            pick(self.cards.iter().copied(), random)?
        };
        self.cards[to] -= 1;
        self.left -= 1;
        self.at = to;
        guide.passed(to);
        Some(to)
    }
}

/// One of these weights, by one draw; `None` and no draw if all are 0.
fn pick(weights: impl Iterator<Item = u64> + Clone, random: &mut SplitMix64) -> Option<usize> {
    let total = weights.clone().fold(0, u64::saturating_add);
    if total == 0 {
        return None;
    }
    let mut number = random.below(total);
    for (choice, weight) in weights.enumerate() {
        if number < weight {
            return Some(choice);
        }
        number -= weight;
    }
    None
}

fn index(symbol: u64) -> usize {
    usize::try_from(symbol).expect("symbols were checked")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    const ALL: (u64, u64) = (0, u64::MAX);

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

    /// A walk over symbols whose trait is their number modulo `traits`.
    fn walk(chain: &[usize], traits: usize, segments: &[Vec<u64>], seed: u64) -> Vec<usize> {
        let mut random = SplitMix64::new(seed);
        let symbol = |number: usize| Traits { number: number % traits, gap: ALL, load: ALL };
        let mut guide = Guide::new((0..9).map(symbol).collect(), traits);
        let mut walk = Walk::new(&moves_of(chain), chain[0], &mut guide);
        let mut twin = vec![chain[0]];
        for counts in segments {
            guide.want(counts);
            for _ in 0..counts.iter().sum() {
                twin.push(walk.next(&mut guide, &mut random).unwrap());
            }
        }
        assert_eq!(walk.next(&mut guide, &mut random), None);
        twin
    }

    fn counts(chain: &[usize], traits: usize) -> Vec<u64> {
        let mut counts = vec![0; traits];
        for symbol in chain {
            counts[symbol % traits] += 1;
        }
        counts
    }

    #[test]
    fn segments_have_their_traits_and_the_whole_has_its_symbols() {
        let mut random = SplitMix64::new(1);
        let chain: Vec<usize> = (0..2_001)
            .map(|n| random.below_usize(9).min(random.below_usize(1 + n / 200)))
            .collect();
        let segments: Vec<Vec<u64>> =
            chain[1..].chunks(50).map(|segment| counts(segment, 4)).collect();
        for seed in 0..5 {
            let twin = walk(&chain, 4, &segments, seed);
            for (segment, wanted) in twin[1..].chunks(50).zip(&segments) {
                assert_eq!(counts(segment, 4), *wanted);
            }
            assert_eq!(counts(&twin, 9), counts(&chain, 9));
            assert_ne!(twin, chain);
        }
    }

    #[test]
    fn counted_moves_are_preferred() {
        // From each symbol one goes on to the next or the one behind it, of nine.
        let mut random = SplitMix64::new(6);
        let mut chain = vec![0];
        for _ in 0..3_000 {
            chain.push((chain[chain.len() - 1] + 1 + random.below_usize(2)) % 9);
        }
        let twin = walk(&chain, 1, &[counts(&chain[1..], 1)], 3);
        let odd = twin.windows(2).filter(|pair| !(1..3).contains(&((pair[1] + 9 - pair[0]) % 9)));
        // Only at the end, when the cards of the right symbols are dealt.
        assert!(odd.count() < 100);
    }
}

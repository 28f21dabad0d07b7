//! Distributions of gaps in fixed room, and gaps drawn from them.

use super::classes::{GAP_BOUNDS_NS, gap_class};
use super::deck::Deck;
use super::tables::Gaps;
use crate::random::SplitMix64;

/// Classes of gaps while reading.
const GAPS: usize = GAP_BOUNDS_NS.len() + 1;

/// Bins of a class in a profile.
pub(super) const BINS: usize = 16;

/// Linear steps an octave: a gap is known to 1 in 64.
const STEPS: u64 = 64;
const STEP_BITS: u32 = STEPS.ilog2();

/// Counts of gaps in bins of nearly equal proportions.
#[derive(Clone, Debug)]
pub(super) struct GapCounts {
    /// By class and bin.
    counts: Vec<Vec<u64>>,
    /// The least and the greatest gap by class.
    range: [(u64, u64); GAPS],
}

impl GapCounts {
    pub(super) fn new() -> Self {
        let bins = bin(u64::MAX) + 1;
        Self { counts: vec![vec![0; bins]; GAPS], range: [(u64::MAX, 0); GAPS] }
    }

    pub(super) fn add(&mut self, gap_ns: u64) {
        let class = gap_class(gap_ns);
        self.counts[class][bin(gap_ns)] += 1;
        let (least, most) = self.range[class];
        self.range[class] = (least.min(gap_ns), most.max(gap_ns));
    }

    /// The quantiles of every class that has gaps, between these bounds.
    pub(super) fn tables(&self, bounds: &[u64]) -> Vec<Gaps> {
        (0..=bounds.len()).filter_map(|class| self.table(class, bounds)).collect()
    }

    fn table(&self, class: usize, bounds: &[u64]) -> Option<Gaps> {
        let first = class.checked_sub(1).map_or(0, |below| gap_class(bounds[below]));
        let behind = bounds.get(class).map_or(GAPS, |&bound| gap_class(bound));
        let mut counts = vec![0; self.counts[0].len()];
        for part in &self.counts[first..behind] {
            counts.iter_mut().zip(part).for_each(|(count, part)| *count += part);
        }
        let total: u64 = counts.iter().sum();
        if total == 0 {
            return None;
        }
        let range = &self.range[first..behind];
        let least = range.iter().map(|range| range.0).min()?;
        let most = range.iter().map(|range| range.1).max()?;
        let mut bounds_ns = vec![least];
        let (mut seen, mut bin) = (0, 0);
        for quantile in 1..BINS as u64 {
            let wanted = u128::from(total) * u128::from(quantile) / BINS as u128;
            while bin < counts.len() && u128::from(seen + counts[bin]) <= wanted {
                seen += counts[bin];
                bin += 1;
            }
            bounds_ns.push(lower(bin).clamp(least, most));
        }
        bounds_ns.push(most);
        Some(Gaps { class: class as u64, bounds_ns })
    }
}

/// The bin of a number: exact below [`STEPS`], then [`STEPS`] linear steps an octave.
fn bin(number: u64) -> usize {
    let bin = if number < STEPS {
        number
    } else {
        let octave = number.ilog2() - STEP_BITS;
        (u64::from(octave) << STEP_BITS) + (number >> octave)
    };
    usize::try_from(bin).expect("a few thousand")
}

/// The least number of a bin.
fn lower(bin: usize) -> u64 {
    let bin = bin as u64;
    if bin < 2 * STEPS {
        return bin;
    }
    let octave = (bin >> STEP_BITS) - 1;
    (bin - (octave << STEP_BITS)) << octave
}

/// Gaps of each class.
#[derive(Clone, Debug)]
pub(super) struct GapDecks {
    classes: Vec<Option<(Deck, Vec<u64>)>>,
    random: SplitMix64,
}

impl GapDecks {
    pub(super) fn new(tables: &[Gaps], random: SplitMix64) -> Self {
        // A file may have more classes than those of this program.
        let last = tables.iter().map(|table| table.class).max().unwrap_or(0);
        let mut classes = vec![None; usize::try_from(last).expect("classes were checked") + 1];
        for table in tables {
            let bins = table.bounds_ns.len() as u64 - 1;
            let deck = Deck::new((0..bins).map(|bin| [bin, 1]).collect());
            let class = usize::try_from(table.class).expect("classes were checked");
            classes[class] = Some((deck, table.bounds_ns.clone()));
        }
        Self { classes, random }
    }

    /// A gap of a class, by two draws: its bin; its place in the bin. A gap between `least` and
    /// `most` is drawn where the class has one that was not drawn yet.
    pub(super) fn draw(&mut self, class: usize, least: u64, most: u64) -> u64 {
        let Some(Some((deck, bounds))) = self.classes.get_mut(class) else { return 0 };
        let range = |bin: u64| {
            let bin = usize::try_from(bin).expect("a few bins");
            (bounds[bin], bounds[bin + 1])
        };
        let suits = |bin: u64| range(bin).0 <= most && least <= range(bin).1;
        let bin = deck.deal_if(&mut self.random, suits).expect("each bin has a card");
        let (low, high) = range(bin);
        let (low, high) = if suits(bin) { (low.max(least), high.min(most)) } else { (low, high) };
        low + self.random.below(high - low + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_follow_one_another() {
        for index in 1..bin(u64::MAX) {
            assert_eq!((bin(lower(index)), bin(lower(index) - 1)), (index, index - 1));
        }
    }

    #[test]
    fn quantiles_are_those_of_the_sorted_gaps() {
        let mut random = SplitMix64::new(2);
        let mut counts = GapCounts::new();
        let mut gaps: Vec<u64> = (0..5_000).map(|_| 200_000 + random.below(500_000)).collect();
        for &gap in &gaps {
            counts.add(gap);
        }
        gaps.sort_unstable();
        let tables = counts.tables(&GAP_BOUNDS_NS);
        assert_eq!((tables.len(), tables[0].class), (1, 3));
        for (quantile, &bound) in tables[0].bounds_ns.iter().enumerate() {
            let exact = gaps[(5_000 * quantile / BINS).min(4_999)] as f64;
            assert!((bound as f64 / exact - 1.0).abs() < 2.0 / STEPS as f64, "{bound} {exact}");
        }
    }

    #[test]
    fn drawn_gaps_have_the_mean_of_their_class() {
        let tables = [Gaps { class: 3, bounds_ns: vec![200_000, 300_000, 600_000] }];
        let mut decks = GapDecks::new(&tables, SplitMix64::new(7));
        let count = 20_000;
        let sum: u64 = (0..count).map(|_| decks.draw(3, 0, u64::MAX)).sum();
        // Uniform in each bin, and as many of one as of the other: mean 350,000, and the standard
        // deviation within the bins is below 86,603.
        let error = 4.0 * 86_603.0 / f64::sqrt(f64::from(count));
        assert!((sum as f64 / f64::from(count) - 350_000.0).abs() < error);
        assert_eq!(decks.draw(0, 0, u64::MAX), 0);
    }
}

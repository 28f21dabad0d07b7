//! How large requests are.
//!
//! A request has one page with a chance of its own (mobile block traffic has many of these: file
//! system metadata and journal commits); otherwise `k` pages, 2 <= k <= max, with a chance
//! proportional to `k^-a`. The exponent `a` is found by bisection so that the mean comes out.
//!
//! The quantiles are stratified: every [`STRATA`] draws take each of as many equal parts of the
//! distribution once, in random order. The place in the parts is random in the first such round and
//! moves on by the golden section from round to round, so that it is spread evenly as well. So
//! short workloads keep their mean size, which a few large requests would decide otherwise.
//!
//! Draws: at the first size one (the place), at the start of every round `STRATA - 1` (the order,
//! by Fisher and Yates).

use crate::random::SplitMix64;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Pages (4 KiB) of the largest request that can be asked for: 16 MiB.
pub(super) const PAGES_MAX: u32 = 4_096;

/// Exponents that bisection looks at: from all requests of the greatest size to all of two pages.
const EXPONENT_MIN: f64 = -64.0;
const EXPONENT_MAX: f64 = 64.0;
const BISECTIONS: u32 = 80;

/// Parts of the distribution.
const STRATA: usize = 64;
/// Bits of the place in a part.
const PART_BITS: u32 = 64 - STRATA.ilog2();
/// The golden section as a part of 2^64.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// A distribution of sizes in pages.
#[derive(Clone, Debug)]
pub(super) struct Sizes {
    /// The parts in the order of this round.
    round: [u8; STRATA],
    /// How many of them have been used.
    used: usize,
    /// The place in the parts, as a part of 2^64; none before the first round.
    place: Option<u64>,
    /// `thresholds[k - 1]`: the chance of at most k pages, as a part of 2^64.
    thresholds: Vec<u64>,
}

/// The range of means (in bytes) that the other two parameters allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MeanOutOfRange {
    pub(super) low_bytes: u64,
    pub(super) high_bytes: u64,
}

impl Sizes {
    /// Sizes of `mean_bytes` on average, of one page with `single` parts per million, and of at
    /// most `max_pages` pages.
    pub(super) fn new(
        mean_bytes: u64,
        single: u64,
        max_pages: u32,
    ) -> Result<Self, MeanOutOfRange> {
        let page = 4_096;
        let several = 1_000_000 - single;
        let mean_of = |pages: u64| page * (single + several * pages) / 1_000_000;
        let low_bytes = if max_pages < 2 { page } else { mean_of(2) };
        let high_bytes = if max_pages < 2 { page } else { mean_of(u64::from(max_pages)) };
        if !(low_bytes..=high_bytes).contains(&mean_bytes) {
            return Err(MeanOutOfRange { low_bytes, high_bytes });
        }
        if several == 0 || max_pages < 2 {
            return Ok(Self::from_thresholds(vec![u64::MAX]));
        }
        let single = single as f64 / 1e6;
        let mean_pages = mean_bytes as f64 / page as f64;
        let rest = (mean_pages - single) / (1.0 - single);
        let weights = weights(max_pages, exponent(max_pages, rest));
        Ok(Self::from_thresholds(thresholds(single, &weights)))
    }

    fn from_thresholds(thresholds: Vec<u64>) -> Self {
        let mut round = [0; STRATA];
        for (part, number) in round.iter_mut().zip(0..) {
            *part = number;
        }
        Self { round, used: STRATA, place: None, thresholds }
    }

    /// A size in pages: the longest of those that are left in the round.
    pub(super) fn draw_longest(&mut self, random: &mut SplitMix64) -> u32 {
        if self.used == STRATA {
            self.start_round(random);
        }
        let left = &mut self.round[self.used..];
        if let Some(longest) = (0..left.len()).max_by_key(|&at| left[at]) {
            left.swap(0, longest);
        }
        self.draw(random)
    }

    /// A size in pages.
    pub(super) fn draw(&mut self, random: &mut SplitMix64) -> u32 {
        if self.used == STRATA {
            self.start_round(random);
        }
        let place = self.place.expect("a round has been started");
        let part = u64::from(self.round[self.used]);
        self.used += 1;
        let quantile = (part << PART_BITS) | (place >> STRATA.ilog2());
        let at = self.thresholds.partition_point(|&threshold| threshold < quantile);
        u32::try_from(at + 1).expect("sizes end at PAGES_MAX")
    }

    fn start_round(&mut self, random: &mut SplitMix64) {
        let place = self.place.map(|place| place.wrapping_add(GOLDEN));
        self.place = Some(place.unwrap_or_else(|| random.next_u64()));
        for last in (1..STRATA).rev() {
            self.round.swap(last, random.below_usize(last + 1));
        }
        self.used = 0;
    }
}

/// Exponents that were found: the runs of a sweep ask for the same ones. The greatest sizes and the
/// bits of the means are the keys.
static FOUND: Mutex<BTreeMap<(u32, u64), f64>> = Mutex::new(BTreeMap::new());

/// The exponent for which the sizes from 2 to `max` have this mean.
fn exponent(max: u32, mean: f64) -> f64 {
    let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    *found.entry((max, mean.to_bits())).or_insert_with(|| bisect(max, mean))
}

fn bisect(max: u32, mean: f64) -> f64 {
    let (mut low, mut high) = (EXPONENT_MIN, EXPONENT_MAX);
    for _ in 0..BISECTIONS {
        let middle = f64::midpoint(low, high);
        let weights = weights(max, middle);
        let total: f64 = weights.iter().sum();
        let first: f64 = weights.iter().zip(2_u32..).map(|(weight, k)| weight * f64::from(k)).sum();
        if first / total > mean {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

/// `k^-a` for k from 2 to `max`, scaled so that the greatest is 1: no exponent overflows.
fn weights(max: u32, a: f64) -> Vec<f64> {
    let base = f64::from(if a > 0.0 { 2 } else { max });
    (2..=max).map(|k| libm::pow(f64::from(k) / base, -a)).collect()
}

fn thresholds(single: f64, weights: &[f64]) -> Vec<u64> {
    let total: f64 = weights.iter().sum();
    let mut below = single;
    let mut out = vec![part_of_2_64(below)];
    for weight in weights {
        below += (1.0 - single) * weight / total;
        out.push(part_of_2_64(below));
    }
    *out.last_mut().expect("there is a first one") = u64::MAX;
    out
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float-to-integer cast saturates, which is what is wanted near 1"
)]
fn part_of_2_64(chance: f64) -> u64 {
    (chance * 18_446_744_073_709_551_616.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean_bytes(sizes: &mut Sizes, draws: u32) -> f64 {
        let mut random = SplitMix64::new(11);
        let pages: u64 = (0..draws).map(|_| u64::from(sizes.draw(&mut random))).sum();
        pages as f64 * 4_096.0 / f64::from(draws)
    }

    #[test]
    fn the_mean_comes_out() {
        for (mean, single, max) in
            [(28_672, 390_000, 32), (62_464, 270_000, 32), (40_000, 0, 4_096)]
        {
            let found = mean_bytes(&mut Sizes::new(mean, single, max).unwrap(), 400_000);
            assert!((found / mean as f64 - 1.0).abs() < 0.02, "{found} instead of {mean}");
        }
    }

    #[test]
    fn the_ends_of_the_range_are_reached() {
        let all = |mut sizes: Sizes, pages| {
            let mut random = SplitMix64::new(2);
            assert!((0..1_000).all(|_| sizes.draw(&mut random) == pages));
        };
        all(Sizes::new(4_096, 1_000_000, 32).unwrap(), 1);
        all(Sizes::new(4_096, 0, 1).unwrap(), 1);
        let mean = mean_bytes(&mut Sizes::new(8_192, 0, 32).unwrap(), 10_000);
        assert!(mean < 8_200.0, "{mean}");
        let mean = mean_bytes(&mut Sizes::new(131_072, 0, 32).unwrap(), 10_000);
        assert!(mean > 130_000.0, "{mean}");
    }

    #[test]
    fn taking_the_longest_first_only_changes_the_order() {
        let sizes = Sizes::new(24 * 1_024, 500_000, 128).unwrap();
        let round = |longest_first| {
            let (mut sizes, mut random) = (sizes.clone(), SplitMix64::new(3));
            let mut draw = |_| {
                if longest_first {
                    sizes.draw_longest(&mut random)
                } else {
                    sizes.draw(&mut random)
                }
            };
            (0..STRATA).map(&mut draw).collect::<Vec<_>>()
        };
        let (mut plain, longest_first) = (round(false), round(true));
        plain.sort_unstable();
        plain.reverse();
        assert_eq!(plain, longest_first);
    }

    #[test]
    fn means_that_cannot_be_are_refused_with_the_range() {
        let refused = MeanOutOfRange { low_bytes: 6_144, high_bytes: 67_584 };
        assert_eq!(Sizes::new(5_000, 500_000, 32).unwrap_err(), refused);
        assert_eq!(Sizes::new(70_000, 500_000, 32).unwrap_err(), refused);
    }
}

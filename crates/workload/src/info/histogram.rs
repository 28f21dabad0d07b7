//! Log-linear histograms of weighted values.

use serde::Serialize;

/// Counts values. Those below 2^(`SUB_BITS` + 1) have a bucket each; above, every power of two is
/// cut into 2^`SUB_BITS` buckets, so that a bucket's upper bound exceeds any of its values by less
/// than 1 / 2^`SUB_BITS` of it. Memory grows to the greatest value's bucket, then no more.
#[derive(Clone, Debug)]
pub(super) struct Histogram<const SUB_BITS: u32> {
    counts: Vec<u64>,
    total: u64,
    least: u64,
    most: u64,
}

/// Times and distances: below 1/64 off.
pub(super) type Coarse = Histogram<6>;

/// Sizes in sectors: exact below 4 MiB, less than 1/4096 off above.
pub(super) type Fine = Histogram<12>;

/// Nearest-rank percentiles of a quantity; all `None` where nothing was counted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Default)]
pub struct Percentiles<T> {
    /// The least value, exact.
    pub min: Option<T>,
    /// A tenth is no greater.
    pub p10: Option<T>,
    /// Half is no greater: the median.
    pub p50: Option<T>,
    /// Nine tenths are no greater.
    pub p90: Option<T>,
    /// 99 % are no greater.
    pub p99: Option<T>,
    /// The greatest value, exact.
    pub max: Option<T>,
}

impl<T: Copy> Percentiles<T> {
    /// The same in another unit.
    pub(super) fn map<U>(&self, convert: impl Fn(T) -> U) -> Percentiles<U> {
        Percentiles {
            min: self.min.map(&convert),
            p10: self.p10.map(&convert),
            p50: self.p50.map(&convert),
            p90: self.p90.map(&convert),
            p99: self.p99.map(&convert),
            max: self.max.map(&convert),
        }
    }
}

impl<const SUB_BITS: u32> Default for Histogram<SUB_BITS> {
    fn default() -> Self {
        Self { counts: Vec::new(), total: 0, least: u64::MAX, most: 0 }
    }
}

impl<const SUB_BITS: u32> Histogram<SUB_BITS> {
    const SUB: u64 = 1 << SUB_BITS;

    /// Adds a value `weight` times.
    pub(super) fn add(&mut self, value: u64, weight: u64) {
        let bucket = Self::bucket_of(value);
        if bucket >= self.counts.len() {
            self.counts.resize(bucket + 1, 0);
        }
        self.counts[bucket] += weight;
        self.total += weight;
        self.least = self.least.min(value);
        self.most = self.most.max(value);
    }

    /// How many values were added.
    pub(super) const fn total(&self) -> u64 {
        self.total
    }

    /// The percentiles of reports.
    pub(super) fn percentiles(&self) -> Percentiles<u64> {
        let any = self.total > 0;
        Percentiles {
            min: any.then_some(self.least),
            p10: self.percentile(10),
            p50: self.percentile(50),
            p90: self.percentile(90),
            p99: self.percentile(99),
            max: any.then_some(self.most),
        }
    }

    /// The upper bound of the bucket with the value of rank `share` %, at most the maximum.
    pub(super) fn percentile(&self, share: u64) -> Option<u64> {
        if self.total == 0 {
            return None;
        }
        let rank = (u128::from(self.total) * u128::from(share)).div_ceil(100).max(1);
        let mut seen = 0_u128;
        let bucket = self.counts.iter().position(|&count| {
            seen += u128::from(count);
            seen >= rank
        });
        Some(Self::upper_bound(bucket.expect("the counts add up to the total")).min(self.most))
    }

    /// The most common values, at most `most` of them, and how often each was added; of two that
    /// are as common the smaller one first.
    pub(super) fn common(&self, most: usize) -> Vec<(u64, u64)> {
        let counted = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        let mut buckets: Vec<_> = counted.map(|(bucket, count)| (bucket, *count)).collect();
        buckets.sort_by_key(|&(bucket, count)| (std::cmp::Reverse(count), bucket));
        buckets.truncate(most);
        let value = |bucket| Self::upper_bound(bucket).min(self.most);
        buckets.into_iter().map(|(bucket, count)| (value(bucket), count)).collect()
    }

    fn bucket_of(value: u64) -> usize {
        let shift = (value | Self::SUB).ilog2() - SUB_BITS;
        usize::try_from(u64::from(shift) * Self::SUB + (value >> shift)).expect("few buckets")
    }

    fn upper_bound(bucket: usize) -> u64 {
        let bucket = bucket as u64;
        if bucket < 2 * Self::SUB {
            return bucket;
        }
        let shift = bucket / Self::SUB - 1;
        let first = u128::from(bucket - shift * Self::SUB) << shift;
        u64::try_from(first + (1 << shift) - 1).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;

    /// Sorts all values and takes the one of the rank.
    fn nearest_rank(values: &mut [u64], share: usize) -> u64 {
        values.sort_unstable();
        values[(values.len() * share).div_ceil(100).max(1) - 1]
    }

    fn against_sorting<const BITS: u32>(bound_bits: u64) {
        let mut random = SplitMix64::new(u64::from(BITS));
        let mut histogram = Histogram::<BITS>::default();
        let mut values = Vec::new();
        for _ in 0..5_000 {
            let shift = random.below(bound_bits);
            let (value, weight) = (random.next_u64() >> (63 - shift), 1 + random.below(3));
            histogram.add(value, weight);
            values.extend((0..weight).map(|_| value));
        }
        for share in [1, 10, 50, 90, 99, 100] {
            let exact = nearest_rank(&mut values, share);
            let found = histogram.percentile(share as u64).unwrap();
            assert!(found >= exact, "{found} is below the exact {exact}");
            let off = u128::from(found - exact) << BITS;
            assert!(off <= u128::from(exact), "{found} is too far above {exact}");
            assert!(exact >= 2 << BITS || found == exact, "small values are exact");
        }
        let percentiles = histogram.percentiles();
        assert_eq!(percentiles.min, values.first().copied());
        assert_eq!(percentiles.max, values.last().copied());
        assert_eq!(histogram.total(), values.len() as u64);
    }

    #[test]
    fn percentiles_are_those_of_sorting_but_for_the_width_of_a_bucket() {
        against_sorting::<6>(63);
        against_sorting::<12>(40);
    }

    #[test]
    fn buckets_are_contiguous_to_the_greatest_value() {
        let last = Coarse::bucket_of(u64::MAX);
        for bucket in 0..last {
            let upper = Coarse::upper_bound(bucket);
            assert_eq!(
                (Coarse::bucket_of(upper), Coarse::bucket_of(upper + 1)),
                (bucket, bucket + 1)
            );
        }
        assert_eq!(Coarse::upper_bound(last), u64::MAX);
    }

    #[test]
    fn the_most_common_values_come_first() {
        let mut histogram = Fine::default();
        for (value, times) in [(9, 2), (8, 5), (1, 2), (64, 1)] {
            histogram.add(value, times);
        }
        assert_eq!(histogram.common(3), [(8, 5), (1, 2), (9, 2)]);
        assert_eq!(Fine::default().percentiles(), Percentiles::default());
    }
}

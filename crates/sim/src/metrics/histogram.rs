//! Log-linear histograms of latencies, with the latency parts of each bucket.
//!
//! Values below 256 have a bucket each; above, every power of two is cut into 128 buckets, so a
//! bucket's upper bound exceeds any of its values by less than 1 %. Means, minima and maxima are
//! exact; percentiles are the upper bound of the bucket with the nearest-rank value, at most the
//! maximum.

use super::parts::{PARTS, Parts};
use crate::saved::{Reader, RestoreError, Saved, Writer};

const SUB_BITS: u32 = 7;
const SUB: u64 = 1 << SUB_BITS;
const BUCKETS: usize = (64 - SUB_BITS as usize + 1) << SUB_BITS;

/// Buckets that are made first, for values below 1.07 s, and those that are made together behind
/// them, of four powers of two: few runs make any later than with their first request.
const FIRST: usize = 6 * STEP;
const STEP: usize = 4 << SUB_BITS;

/// A percentile, in parts of 10,000.
pub type PerTenThousand = u64;

/// Latencies of one class of requests.
#[derive(Clone, Debug)]
pub struct Histogram {
    /// Of all buckets up to those of the greatest value so far, and a few more.
    counts: Vec<u64>,
    /// Sums of the latency parts of so many buckets, those of a bucket side by side; empty where
    /// they are not asked for.
    parts: Vec<u64>,
    with_parts: bool,
    count: u64,
    sum: u128,
    least: u64,
    most: u64,
}

/// A saved histogram has all its buckets.
impl Saved for Histogram {
    fn save(&self, to: &mut Writer<'_>) {
        let mut all = self.clone();
        all.reach(BUCKETS - 1);
        all.counts.save(to);
        all.parts.save(to);
        self.count.save(to);
        self.sum.save(to);
        self.least.save(to);
        self.most.save(to);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), RestoreError> {
        self.reach(BUCKETS - 1);
        self.counts.load(from)?;
        self.parts.load(from)?;
        self.count.load(from)?;
        self.sum.load(from)?;
        self.least.load(from)?;
        self.most.load(from)
    }
}

impl Histogram {
    /// Bytes that one takes with parts as long as all values are below 1.07 s.
    pub(crate) const BYTES: u64 = FIRST as u64 * 8 * (1 + PARTS as u64);

    /// An empty histogram; `with_parts` keeps the parts of each bucket.
    pub const fn new(with_parts: bool) -> Self {
        Self {
            counts: Vec::new(),
            parts: Vec::new(),
            with_parts,
            count: 0,
            sum: 0,
            least: u64::MAX,
            most: 0,
        }
    }

    /// Adds a latency in nanoseconds and its parts.
    #[expect(clippy::inline_always, reason = "once a request; a call costs as much")]
    #[inline(always)]
    pub fn record(&mut self, ns: u64, parts: &Parts) {
        let bucket = bucket_of(ns);
        if let Some(count) = self.counts.get_mut(bucket) {
            *count += 1;
        } else {
            self.reach(bucket);
            self.counts[bucket] = 1;
        }
        let sums = self.parts.get_mut(bucket * PARTS..);
        if let Some(sums) = sums.and_then(|sums| sums.first_chunk_mut::<PARTS>()) {
            for (sum, part) in sums.iter_mut().zip(&parts.0) {
                *sum += part;
            }
        }
        self.count += 1;
        self.sum += u128::from(ns);
        self.least = self.least.min(ns);
        self.most = self.most.max(ns);
    }

    /// Makes the buckets up to this one, and a few more.
    #[cold]
    fn reach(&mut self, bucket: usize) {
        let least = self.counts.len().max(FIRST);
        let buckets = (bucket + 1).next_multiple_of(STEP).clamp(least, BUCKETS);
        self.counts.resize(buckets, 0);
        if self.with_parts {
            self.parts.resize(buckets * PARTS, 0);
        }
    }

    /// All values of several histograms, without their parts.
    pub fn merged(histograms: &[Self]) -> Self {
        let mut all = Self::new(false);
        if let Some(most) = histograms.iter().map(|histogram| histogram.most).max() {
            all.reach(bucket_of(most));
        }
        for histogram in histograms {
            for (sum, count) in all.counts.iter_mut().zip(&histogram.counts) {
                *sum += count;
            }
            all.count += histogram.count;
            all.sum += histogram.sum;
            all.least = all.least.min(histogram.least);
            all.most = all.most.max(histogram.most);
        }
        all
    }

    /// How many values were added.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// The exact sum of the values.
    pub const fn sum(&self) -> u128 {
        self.sum
    }

    /// The exact mean: one division of integer sums.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// The greatest value.
    pub fn max(&self) -> Option<u64> {
        (self.count > 0).then_some(self.most)
    }

    /// The least value.
    pub fn min(&self) -> Option<u64> {
        (self.count > 0).then_some(self.least)
    }

    /// The nearest-rank percentile: at least `share` of the values are no greater than the bucket
    /// that this is the upper bound of.
    pub fn percentile(&self, share: PerTenThousand) -> Option<u64> {
        self.percentile_bucket(share).map(|bucket| upper_bound(bucket).min(self.most))
    }

    /// The distribution: each bucket that holds a value, by its upper bound (at most the maximum)
    /// and the number of its values, the least first.
    pub fn buckets(&self) -> Vec<(u64, u64)> {
        let filled = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        filled.map(|(bucket, &count)| (upper_bound(bucket).min(self.most), count)).collect()
    }

    /// The least value that counts as one of the tail: the lower bound of the percentile's bucket.
    pub fn tail_from(&self, share: PerTenThousand) -> Option<u64> {
        let bucket = self.percentile_bucket(share)?;
        Some(bucket.checked_sub(1).map_or(0, |below| upper_bound(below) + 1))
    }

    /// The summed parts of all values from the percentile's bucket upwards.
    pub fn tail_parts(&self, share: PerTenThousand) -> Parts {
        let mut tail = Parts::default();
        let from = self.percentile_bucket(share).unwrap_or(BUCKETS);
        let end = bucket_of(self.most) + 1;
        for sums in self.parts.as_chunks().0.iter().take(end).skip(from) {
            tail.merge(&Parts(*sums));
        }
        tail
    }

    fn percentile_bucket(&self, share: PerTenThousand) -> Option<usize> {
        if self.count == 0 {
            return None;
        }
        let rank = (u128::from(self.count) * u128::from(share)).div_ceil(10_000).max(1);
        let mut seen = 0u128;
        self.counts.iter().position(|&count| {
            seen += u128::from(count);
            seen >= rank
        })
    }
}

fn bucket_of(value: u64) -> usize {
    let shift = (value | SUB).ilog2() - SUB_BITS;
    usize::try_from(u64::from(shift) * SUB + (value >> shift)).expect("few buckets")
}

fn upper_bound(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    if bucket < 2 * SUB {
        return bucket;
    }
    let shift = bucket / SUB - 1;
    let first = u128::from(bucket - shift * SUB) << shift;
    u64::try_from(first + (1 << shift) - 1).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::parts::Part;

    #[test]
    fn buckets_are_contiguous_and_narrow() {
        let mut last = 0;
        for bucket in 1..BUCKETS {
            let upper = upper_bound(bucket);
            assert_eq!(bucket_of(upper), bucket);
            assert_eq!(bucket_of(last + 1), bucket, "the value after the last bucket's");
            assert!(u128::from(upper - last - 1) * 100 < u128::from(last + 1), "under 1 %");
            last = upper;
        }
        assert_eq!(last, u64::MAX);
    }

    #[test]
    fn percentiles_are_nearest_rank() {
        let mut histogram = Histogram::new(true);
        for value in 1..=200 {
            let mut parts = Parts::default();
            parts.add(Part::Array, value);
            histogram.record(value, &parts);
        }
        assert_eq!(histogram.percentile(5_000), Some(100));
        assert_eq!(histogram.percentile(9_900), Some(198));
        assert_eq!(histogram.percentile(9_999), Some(200));
        assert_eq!(histogram.mean(), Some(100.5));
        assert_eq!(histogram.tail_from(9_900), Some(198));
        assert_eq!(histogram.tail_parts(9_900).get(Part::Array), 198 + 199 + 200);
        assert_eq!(Histogram::new(false).percentile(5_000), None);
        assert!(Histogram::new(false).buckets().is_empty());
    }

    /// Buckets that are made when a value needs them hold what those made at once hold.
    #[test]
    fn buckets_that_come_later_change_nothing() {
        let (mut grown, mut whole) = (Histogram::new(true), Histogram::new(true));
        whole.reach(BUCKETS - 1);
        for value in (0..62).flat_map(|bits| [1 << bits, (1 << bits) + bits]) {
            let mut parts = Parts::default();
            parts.add(Part::Link, value);
            grown.record(value, &parts);
            whole.record(value, &parts);
            assert_eq!(grown.buckets(), whole.buckets());
            for share in [1, 5_000, 9_999] {
                assert_eq!(grown.percentile(share), whole.percentile(share));
                assert_eq!(grown.tail_parts(share), whole.tail_parts(share));
            }
            let merged = Histogram::merged(&[Histogram::new(true), grown.clone()]);
            assert_eq!(merged.buckets(), whole.buckets());
        }
        assert!(crate::saved::to_bytes(&grown) == crate::saved::to_bytes(&whole));
    }

    /// A percentile is the first bound at which so many values are counted.
    #[test]
    fn buckets_say_what_percentiles_say() {
        let mut histogram = Histogram::new(false);
        for value in 0..5_000u64 {
            histogram.record(value * value, &Parts::default());
        }
        let buckets = histogram.buckets();
        assert_eq!(buckets.iter().map(|(_, count)| count).sum::<u64>(), 5_000);
        assert_eq!(buckets.last().map(|(bound, _)| *bound), histogram.max());
        for share in [1u64, 5_000, 9_900, 9_999, 10_000] {
            let (mut seen, rank) = (0, (5_000 * share).div_ceil(10_000));
            let mut bounds = buckets.iter().filter_map(|(bound, count)| {
                seen += count;
                (seen >= rank).then_some(*bound)
            });
            assert_eq!(bounds.next(), histogram.percentile(share));
        }
    }
}

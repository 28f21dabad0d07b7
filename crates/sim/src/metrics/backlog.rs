//! Whether the queue grew: outstanding requests over the time of arrivals, in bins that double
//! their width when they run out.

const BINS: usize = 64;

/// Outstanding requests, sampled at every arrival that waits for no answer, or at all of them where
/// none does.
#[derive(Clone, Debug)]
pub struct Backlog {
    width_ns: u64,
    samples: [u64; BINS],
    sums: [u64; BINS],
    /// The fewest that an arrival of each bin found.
    least: [u64; BINS],
    last_bin: usize,
    most: u64,
}

crate::saved::saved!(Backlog { width_ns, samples, sums, least, last_bin, most });

impl Default for Backlog {
    fn default() -> Self {
        Self {
            width_ns: 1,
            samples: [0; BINS],
            sums: [0; BINS],
            least: [u64::MAX; BINS],
            last_bin: 0,
            most: 0,
        }
    }
}

impl Backlog {
    /// A request arrives `ns` after the first one and finds `outstanding` others.
    pub fn sample(&mut self, ns: u64, outstanding: u64) {
        // Widths are powers of two.
        while ns >> self.width_ns.ilog2() >= BINS as u64 {
            self.halve();
        }
        let bin = usize::try_from(ns >> self.width_ns.ilog2()).expect("below BINS");
        self.samples[bin] += 1;
        self.sums[bin] += outstanding;
        self.least[bin] = self.least[bin].min(outstanding);
        self.last_bin = self.last_bin.max(bin);
        self.most = self.most.max(outstanding);
    }

    /// A request arrives because others were answered, and finds `outstanding` others.
    pub fn found(&mut self, outstanding: u64) {
        self.most = self.most.max(outstanding);
    }

    /// The most requests that any arrival found.
    pub const fn most(&self) -> u64 {
        self.most
    }

    /// Whether arrivals of the last quarter of the time found, on average, more than twice as many
    /// requests as those of the second quarter and more than one, and each of them more than the
    /// mean of that quarter: a queue that empties between bursts does not grow.
    pub fn grew(&self) -> bool {
        let quarter = (self.last_bin + 1) / 4;
        if quarter == 0 {
            return false;
        }
        let last = self.last_bin + 1 - quarter..self.last_bin + 1;
        let least = self.least[last.clone()].iter().min().map_or(0, |&least| least.into());
        let (early, early_count) = self.range(quarter..2 * quarter);
        let (late, late_count) = self.range(last);
        late > late_count
            && least * early_count.max(1) > early
            && late * early_count.max(1) > 2 * early * late_count
    }

    /// The sum of what arrivals of these bins found, and their number.
    fn range(&self, bins: std::ops::Range<usize>) -> (u128, u128) {
        let sum = |of: &[u64]| of.iter().map(|&one| u128::from(one)).sum();
        (sum(&self.sums[bins.clone()]), sum(&self.samples[bins]))
    }

    fn halve(&mut self) {
        self.width_ns *= 2;
        for bin in 0..BINS {
            let (left, right) = (2 * bin, 2 * bin + 1);
            let pair =
                |values: &[u64; BINS]| if right < BINS { values[left] + values[right] } else { 0 };
            self.samples[bin] = pair(&self.samples);
            self.sums[bin] = pair(&self.sums);
            let less = |one: usize| self.least.get(one).copied().unwrap_or(u64::MAX);
            self.least[bin] = less(left).min(less(right));
        }
        self.last_bin /= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steady_queue_does_not_grow_and_an_overloaded_one_does() {
        let mut steady = Backlog::default();
        let mut growing = Backlog::default();
        for request in 0..10_000 {
            steady.sample(request * 1_000, request % 7);
            growing.sample(request * 1_000, request / 3);
        }
        assert!(!steady.grew());
        assert!(growing.grew());
        assert_eq!(growing.most(), 3_333);
        assert!(!Backlog::default().grew());
        // Bursts of 2, then of 20 requests, one in a second: the device is idle between them.
        let mut bursts = Backlog::default();
        for request in 0..1_000 {
            let of_burst = if request < 500 { 2 } else { 20 };
            bursts.sample(request / of_burst * 1_000_000_000, request % of_burst);
        }
        assert!(!bursts.grew());
    }
}

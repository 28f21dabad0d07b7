//! Whether the queue grew: outstanding requests over the time of arrivals, in bins that double
//! their width when they run out.

const BINS: usize = 64;

/// Outstanding requests, sampled at every arrival.
#[derive(Clone, Debug)]
pub struct Backlog {
    width_ns: u64,
    samples: [u64; BINS],
    sums: [u64; BINS],
    last_bin: usize,
    most: u64,
}

crate::saved::saved!(Backlog { width_ns, samples, sums, last_bin, most });

impl Default for Backlog {
    fn default() -> Self {
        Self { width_ns: 1, samples: [0; BINS], sums: [0; BINS], last_bin: 0, most: 0 }
    }
}

impl Backlog {
    /// A request arrives `ns` after the first one and finds `outstanding` others.
    pub fn sample(&mut self, ns: u64, outstanding: u64) {
        while ns / self.width_ns >= BINS as u64 {
            self.halve();
        }
        let bin = usize::try_from(ns / self.width_ns).expect("below BINS");
        self.samples[bin] += 1;
        self.sums[bin] += outstanding;
        self.last_bin = self.last_bin.max(bin);
        self.most = self.most.max(outstanding);
    }

    /// The most requests that any arrival found.
    pub const fn most(&self) -> u64 {
        self.most
    }

    /// Whether arrivals of the last quarter of the time found, on average, more than twice as many
    /// requests as those of the second quarter, and more than one.
    pub fn grew(&self) -> bool {
        let quarter = (self.last_bin + 1) / 4;
        if quarter == 0 {
            return false;
        }
        let (early, early_count) = self.range(quarter..2 * quarter);
        let (late, late_count) = self.range(self.last_bin + 1 - quarter..self.last_bin + 1);
        let (early, late) = (u128::from(early), u128::from(late));
        let (early_count, late_count) = (u128::from(early_count), u128::from(late_count));
        late > late_count && late * early_count.max(1) > 2 * early * late_count
    }

    fn range(&self, bins: std::ops::Range<usize>) -> (u64, u64) {
        (self.sums[bins.clone()].iter().sum(), self.samples[bins].iter().sum())
    }

    fn halve(&mut self) {
        self.width_ns *= 2;
        for bin in 0..BINS {
            let (left, right) = (2 * bin, 2 * bin + 1);
            let pair =
                |values: &[u64; BINS]| if right < BINS { values[left] + values[right] } else { 0 };
            self.samples[bin] = pair(&self.samples);
            self.sums[bin] = pair(&self.sums);
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
    }
}

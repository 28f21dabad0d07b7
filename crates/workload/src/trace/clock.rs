//! From the trace's clock to the arrival time in the run.

/// Rebases, scales and rounds times, in this order. All of it keeps the order of times.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    first_ns: u64,
    start_ns: u64,
    numerator: u64,
    denominator: u64,
    quantum_ns: u64,
}

impl Clock {
    /// Times relative to `first_ns`, times `numerator / denominator`, rounded down to multiples of
    /// `quantum_ns` (0 for none); the first request arrives at `start_ns`.
    pub(super) const fn new(
        first_ns: u64,
        start_ns: u64,
        scale: (u64, u64),
        quantum_ns: u64,
    ) -> Self {
        let (numerator, denominator) = scale;
        Self { first_ns, start_ns, numerator, denominator, quantum_ns }
    }

    /// The arrival of a request at `time_ns`, not before the first; `None` where it overflows.
    #[inline]
    pub(super) fn arrival_ns(&self, time_ns: u64) -> Option<u64> {
        let relative = time_ns - self.first_ns;
        let scaled = if self.numerator == self.denominator {
            relative
        } else {
            let product = u128::from(relative) * u128::from(self.numerator);
            u64::try_from(product / u128::from(self.denominator)).ok()?
        };
        let rounded = match self.quantum_ns {
            0 => scaled,
            quantum => scaled - scaled % quantum,
        };
        self.start_ns.checked_add(rounded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scaling_is_exact() {
        let half = Clock::new(100, 0, (500_000, 1_000_000), 0);
        assert_eq!(half.arrival_ns(100), Some(0));
        assert_eq!(half.arrival_ns(103), Some(1));
        let third = Clock::new(0, 0, (40_000_000_000, 120_000_000_001), 0);
        assert_eq!(third.arrival_ns(120_000_000_001), Some(40_000_000_000));
        assert_eq!(third.arrival_ns(u64::MAX), Some(6_148_914_691_185_276_249));
    }

    #[test]
    fn rounding_is_relative_to_the_first_request() {
        let clock = Clock::new(700, 700, (1, 1), 1_000);
        assert_eq!(
            [700, 1_699, 1_700].map(|t| clock.arrival_ns(t)),
            [Some(700), Some(700), Some(1_700)]
        );
    }

    #[test]
    fn overflow_is_noticed() {
        assert_eq!(Clock::new(0, 0, (2, 1), 0).arrival_ns(u64::MAX), None);
        assert_eq!(Clock::new(9, 9, (2, 1), 0).arrival_ns(u64::MAX / 2 + 9), None);
    }
}

//! Splitmix64 (Steele, Lea and Flood, OOPSLA 2014): the one source of pseudo-random numbers. Bit
//! errors.

use flashyard_core::units::Span;

/// What the state grows by from number to number.
pub(crate) const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// The number that belongs to a state.
pub(crate) const fn mix(state: u64) -> u64 {
    let z = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// An exponentially distributed time of this mean that random bits make, at most 37 times the mean.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "neither negative nor longer than 37 times the mean"
)]
pub(crate) fn exponential(bits: u64, mean: Span) -> Span {
    // In the open interval from 0 to 1, exact.
    let unit = ((bits >> 12) as f64 + 0.5) / (1_u64 << 52) as f64;
    Span::from_ns((-libm::log(unit) * mean.as_ns() as f64) as u64)
}

/// The errors of one read: what they were drawn from, of how many bits, and how many are wrong.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TurnedBits {
    pub(crate) before: BitErrors,
    pub(crate) bits: u64,
    pub(crate) count: u64,
}

/// Which bits that are read are wrong: each with the same probability, whatever the others. The
/// distance from one to the next is drawn, so that bits without an error cost nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BitErrors {
    /// Wrong bits in 10^9.
    rate: u64,
    /// 1 / ln(1 - probability).
    scale: f64,
    /// Distances drawn so far.
    drawn: u64,
    /// Right bits before the next wrong one.
    ahead: u64,
}

impl BitErrors {
    /// Errors at this rate in 10^9 bits, more than 0, from the beginning.
    pub(crate) fn new(rate: u64) -> Self {
        let mut errors =
            Self { rate, scale: 1.0 / libm::log1p(-(rate as f64 / 1e9)), drawn: 0, ahead: 0 };
        errors.draw();
        errors
    }

    /// So many bits are read: calls `found` for each wrong one, counted from 0 in rising order, and
    /// returns how many there are.
    #[inline]
    pub(crate) fn pass(&mut self, bits: u64, mut found: impl FnMut(u64)) -> u64 {
        let (mut from, mut count) = (0, 0);
        while self.ahead < bits - from {
            from += self.ahead;
            found(from);
            from += 1;
            count += 1;
            self.draw();
        }
        self.ahead -= bits - from;
        count
    }

    /// The number of right bits before the next wrong one has a geometric distribution.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "neither negative nor longer than 37 times 10^9 bits"
    )]
    fn draw(&mut self) {
        self.drawn += 1;
        let bits = mix(ERROR_SEED ^ self.drawn.wrapping_mul(STEP)) >> 12;
        // In the open interval from 0 to 1, exact.
        let unit = (bits as f64 + 0.5) / (1_u64 << 52) as f64;
        self.ahead = (libm::log(unit) * self.scale) as u64;
    }

    /// What [`Self::go_on`] needs.
    pub(crate) const fn marks(&self) -> [u64; 3] {
        [self.rate, self.drawn, self.ahead]
    }

    /// Goes on from there; with another rate, from the next distance that is drawn.
    pub(crate) fn go_on(&mut self, [rate, drawn, ahead]: [u64; 3]) {
        (self.drawn, self.ahead) = (drawn, ahead);
        if rate != self.rate {
            self.draw();
        }
    }
}

/// What sets the random numbers of bit errors apart from others.
const ERROR_SEED: u64 = 0xE703_7ED1_A0B4_28DB;

#[cfg(test)]
mod tests {
    use super::*;

    /// The mean number of errors of a page is bits x probability, and so is the variance, nearly.
    #[test]
    fn bits_are_wrong_at_their_rate_each_for_itself() {
        for (rate, bits, pages) in [(1_000, 32_768, 200_000), (10_000_000, 32_768, 2_000)] {
            let mut errors = BitErrors::new(rate);
            let probability = rate as f64 / 1e9;
            let (mut sum, mut squares) = (0.0, 0.0);
            for _ in 0..pages {
                let mut last = None;
                let count = errors.pass(bits, |bit| {
                    assert!(bit < bits && last < Some(bit), "{last:?} {bit}");
                    last = Some(bit);
                });
                sum += count as f64;
                squares += (count * count) as f64;
            }
            let (pages, expected) = (f64::from(pages), bits as f64 * probability);
            let (mean, variance) = (sum / pages, squares / pages - (sum / pages).powi(2));
            let deviation = (expected * (1.0 - probability) / pages).sqrt();
            assert!((mean - expected).abs() < 3.5 * deviation, "{rate}: {mean}, not {expected}");
            let spread = variance / (expected * (1.0 - probability));
            assert!((spread - 1.0).abs() < 0.12, "{rate}: {spread}");
        }
    }

    #[test]
    fn reads_of_parts_find_the_errors_of_the_whole() {
        let mut whole = BitErrors::new(1_000_000);
        let mut parts = whole;
        let mut expected = Vec::new();
        whole.pass(100_000, |bit| expected.push(bit));
        let mut found = Vec::new();
        for at in 0..1_000 {
            parts.pass(100, |bit| found.push(at * 100 + bit));
        }
        assert_eq!(found, expected);
        assert_eq!(whole.marks(), parts.marks());
        let mut again = BitErrors::new(1_000_000);
        again.go_on(parts.marks());
        assert_eq!(again.pass(1 << 30, |_| ()), parts.pass(1 << 30, |_| ()));
    }
}

//! Pseudo-random numbers for initial states: small, fast, the same on every machine.

use crate::random::{STEP, mix};

/// Streams of splitmix64.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A stream of its own for each pair of a seed and a number.
    pub const fn new(seed: u64, stream: u64) -> Self {
        Self(mix(mix(seed) ^ stream.wrapping_mul(0xD134_2543_DE82_EF95)))
    }

    /// 64 random bits.
    pub const fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        mix(self.0)
    }

    /// A number below `bound`, which is at least 1; the bias is below 2^-32.
    pub fn below(&mut self, bound: u32) -> u32 {
        let scaled = (u128::from(self.bits()) * u128::from(bound)) >> 64;
        u32::try_from(scaled).expect("it is below a number of 32 bits")
    }

    /// A number in 0 <= x < 1.
    pub const fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A number above 0, at most 1.
    const fn positive(&mut self) -> f64 {
        1.0 - self.unit()
    }

    /// How many of `count` independent trials succeed that do so with probability `share`: by
    /// inversion where few are expected on one side, else rounded from the normal distribution.
    pub fn binomial(&mut self, count: u32, share: f64) -> u32 {
        if share > 0.5 {
            return count - self.binomial(count, 1.0 - share);
        }
        if share <= 0.0 || count == 0 {
            return 0;
        }
        let mean = f64::from(count) * share;
        if mean > 30.0 {
            let radius = (-2.0 * libm::log(self.positive())).sqrt();
            let normal = radius * libm::cos(std::f64::consts::TAU * self.unit());
            let drawn = mean + normal * (mean * (1.0 - share)).sqrt();
            return whole(drawn.clamp(0.0, f64::from(count)));
        }
        let odds = share / (1.0 - share);
        let mut left = self.unit();
        let mut probability = libm::exp(f64::from(count) * libm::log1p(-share));
        let mut drawn = 0;
        while left >= probability && drawn < count {
            left -= probability;
            probability *= odds * f64::from(count - drawn) / f64::from(drawn + 1);
            drawn += 1;
        }
        drawn
    }
}

/// The nearest whole number to one that is neither negative nor above 32 bits.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in range")]
pub(super) fn whole(number: f64) -> u32 {
    debug_assert!((0.0..=f64::from(u32::MAX)).contains(&number), "{number}");
    (number + 0.5) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both ways to draw, against mean and variance; the means of 20,000 draws have a standard
    /// error of 0.7 % of the standard deviation.
    #[test]
    fn binomial_draws_have_their_mean_and_variance() {
        let mut random = Random::new(1, 2);
        for (count, share) in [(64, 0.1), (64, 0.93), (16, 0.5), (256, 0.4), (1_024, 0.97)] {
            let draws: Vec<f64> =
                (0..20_000).map(|_| f64::from(random.binomial(count, share))).collect();
            assert!(draws.iter().all(|drawn| (0.0..=f64::from(count)).contains(drawn)));
            let mean = draws.iter().sum::<f64>() / 20_000.0;
            let variance = draws.iter().map(|drawn| (drawn - mean).powi(2)).sum::<f64>() / 19_999.0;
            let expected = f64::from(count) * share;
            let spread = (expected * (1.0 - share)).sqrt();
            assert!((mean - expected).abs() < 0.03 * spread, "{count} {share}: {mean}");
            assert!((variance.sqrt() / spread - 1.0).abs() < 0.03, "{count} {share}: {variance}");
        }
        assert_eq!((random.binomial(9, 0.0), random.binomial(9, 1.0)), (0, 9));
    }
}

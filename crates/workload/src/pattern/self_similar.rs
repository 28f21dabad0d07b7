//! Ranks with a self-similar distribution: h of the accesses go to the first 1 - h of the ranks, h
//! of those to the first 1 - h of these, and so on.
//!
//! Source: Gray, Sundaresan, Englert, Baclawski, Weinberger, "Quickly generating billion-record
//! synthetic databases", SIGMOD 1994: `floor(n u^(ln(1 - h) / ln h))` of a uniform `u`. So the
//! share of the first part x of the ranks is `x^(ln h / ln(1 - h))`.

/// A self-similar distribution.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SelfSimilar {
    power: f64,
}

impl SelfSimilar {
    /// h in parts per million, from a half (all alike) to less than all.
    pub(crate) fn new(skew_ppm: u64) -> Self {
        let part = |ppm: u64| libm::log(ppm as f64 / 1e6);
        Self { power: part(1_000_000 - skew_ppm) / part(skew_ppm) }
    }

    /// The rank, from 0 to `ranks` - 1, of a `u` in [0, 1).
    pub(crate) fn rank(self, u: f64, ranks: u64) -> u64 {
        rank(libm::pow(u, self.power), ranks)
    }
}

/// The number from 0 to `ranks` - 1 at the part `x` of them, x in [0, 1).
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "not negative, and at most the number of ranks"
)]
pub(crate) fn rank(x: f64, ranks: u64) -> u64 {
    // Rounding may lead to the number itself.
    ((x * ranks as f64) as u64).min(ranks - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The part of all `u` that lead to a rank below `rank` of `ranks`, by bisection.
    fn share_below(skew: SelfSimilar, rank: u64, ranks: u64) -> f64 {
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..52 {
            let middle = f64::midpoint(low, high);
            if skew.rank(middle, ranks) < rank {
                low = middle;
            } else {
                high = middle;
            }
        }
        low
    }

    #[test]
    fn shares_are_those_of_the_rule_at_every_depth() {
        for (ppm, h) in [(500_000, 0.5), (800_000, 0.8), (900_000, 0.9)] {
            let skew = SelfSimilar::new(ppm);
            // (1 - h)^depth of 10^9 ranks is whole for all these.
            let ranks = 1_000_000_000_u64;
            let rest = 1_000_000 - ppm;
            let mut first = ranks;
            for depth in 1..=4 {
                first = first * rest / 1_000_000;
                let found = share_below(skew, first, ranks);
                assert!((found - f64::powi(h, depth)).abs() < 1e-9, "{h}, depth {depth}: {found}");
            }
        }
    }

    #[test]
    fn no_rank_is_out_of_range() {
        let last = 1.0 - f64::EPSILON / 2.0;
        for ppm in [500_000, 800_000, 999_999] {
            for ranks in [1, 3, 1_000_003, (1 << 50) + 1] {
                let skew = SelfSimilar::new(ppm);
                assert_eq!(skew.rank(0.0, ranks), 0);
                assert!(skew.rank(last, ranks) < ranks);
            }
        }
    }
}

//! Ranks with a Zipf distribution, in constant time and memory whatever their number.
//!
//! Source: Hormann, Derflinger, "Rejection-inversion to generate variates from monotone discrete
//! distributions", ACM TOMACS 6(3), 1996. The chance of rank k out of n is proportional to
//! h(k) = k^-s. H, the integral of h from 1, is inverted in closed form; a point drawn uniformly
//! below it is rounded to a rank, and taken if it lies in the part of the rank's unit interval that
//! has the area h(k). Exact but for rounding.

use crate::random::SplitMix64;

/// A Zipf distribution.
#[derive(Clone, Copy, Debug)]
pub(super) struct Zipf {
    ranks: f64,
    exponent: f64,
    /// H(3/2) - h(1) and H(n + 1/2): points are drawn between them.
    low: f64,
    high: f64,
    /// A point at most this far below its rank is taken without another look.
    sure: f64,
}

impl Zipf {
    /// Ranks 0 to `ranks` - 1, which is at least 1.
    pub(super) fn new(ranks: u64, exponent: f64) -> Self {
        let ranks = ranks as f64;
        let mut zipf = Self { ranks, exponent, low: 0.0, high: 0.0, sure: 0.0 };
        zipf.low = zipf.integral(1.5) - 1.0;
        zipf.high = zipf.integral(ranks + 0.5);
        zipf.sure = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.chance(2.0));
        zipf
    }

    /// A rank from 0; one draw a try.
    pub(super) fn draw(&self, random: &mut SplitMix64) -> u64 {
        loop {
            let area = self.high + random.unit() * (self.low - self.high);
            let point = self.inverse(area);
            let rank = libm::floor(point + 0.5).clamp(1.0, self.ranks);
            if rank - point <= self.sure || area >= self.integral(rank + 0.5) - self.chance(rank) {
                return whole(rank) - 1;
            }
        }
    }

    /// h(x) = x^-s.
    fn chance(&self, x: f64) -> f64 {
        libm::exp(-self.exponent * libm::log(x))
    }

    /// H(x) = (x^(1-s) - 1) / (1 - s), and log x for s = 1.
    fn integral(&self, x: f64) -> f64 {
        let log = libm::log(x);
        let t = (1.0 - self.exponent) * log;
        // exp(t) - 1 over t, whose limit at 0 is 1.
        let slope = if t.abs() > 1e-12 { libm::expm1(t) / t } else { 1.0 + t / 2.0 };
        slope * log
    }

    /// The x with H(x) = `area`.
    fn inverse(&self, area: f64) -> f64 {
        // Rounding may lead below the pole of the logarithm, where x is 0.
        let t = (area * (1.0 - self.exponent)).max(-1.0);
        // log(1 + t) over t, whose limit at 0 is 1.
        let slope = if t.abs() > 1e-12 { libm::log1p(t) / t } else { 1.0 - t / 2.0 };
        libm::exp(slope * area)
    }
}

/// A whole float as an integer.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "whole, at least 1 and at most the number of ranks"
)]
fn whole(float: f64) -> u64 {
    float as u64
}

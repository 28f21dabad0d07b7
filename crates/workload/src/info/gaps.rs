//! Times between arrivals, and how arrivals gather in windows.

use serde::Serialize;

use super::histogram::{Coarse, Percentiles};
use super::units::ratio;

/// Windows in which the index of dispersion counts requests, in nanoseconds.
pub const DISPERSION_WINDOWS_NS: [u64; 4] =
    [10_000_000, 100_000_000, 1_000_000_000, 10_000_000_000];

/// Index of dispersion of counts: variance divided by mean of the arrivals in windows of one
/// length, the first of which starts with the first request. The last window, which is cut by the
/// end, is left out.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Dispersion {
    /// Length of a window in nanoseconds.
    pub window_ns: u64,
    /// Variance divided by mean; `None` with fewer than two whole windows.
    pub index: Option<f64>,
}

/// Sums over the times between arrivals. None can overflow: the times add up to less than 2^64, so
/// their squares and products to less than 2^128.
#[derive(Debug, Default)]
pub(super) struct Gaps {
    count: u64,
    sum: u64,
    squares: u128,
    /// Of each and the next one.
    products: u128,
    first: u64,
    last: u64,
    values: Coarse,
}

impl Gaps {
    pub(super) fn add(&mut self, ns: u64) {
        if self.count == 0 {
            self.first = ns;
        } else {
            self.products += u128::from(self.last) * u128::from(ns);
        }
        self.count += 1;
        self.sum += ns;
        self.squares += u128::from(ns) * u128::from(ns);
        self.last = ns;
        self.values.add(ns, 1);
    }

    pub(super) fn percentiles_ns(&self) -> Percentiles<u64> {
        self.values.percentiles()
    }

    pub(super) fn mean_ns(&self) -> Option<f64> {
        ratio(self.sum as f64, self.count as f64)
    }

    /// Standard deviation / mean.
    pub(super) fn coefficient_of_variation(&self) -> Option<f64> {
        let mean = self.mean_ns()?;
        let squares = self.squares as f64 / self.count as f64;
        ratio(libm::sqrt((squares - mean * mean).max(0.0)), mean)
    }

    /// The autocorrelation of lag 1, sum of (x(i) - m) (x(i+1) - m) / sum of (x(i) - m)^2 with the
    /// mean m of all; `None` where all are alike.
    ///
    /// With n values, their sum S, squares Q and products P, n times the numerator is n P - S^2 +
    /// S (x(1) + x(n)) - S^2 / n, and n times the denominator n Q - S^2: integers but for one term,
    /// so that next to nothing cancels. Where those need more than 127 bits, floats stand in.
    pub(super) fn autocorrelation(&self) -> Option<f64> {
        let (sum, count) = (self.sum as f64, self.count as f64);
        let ends = u128::from(self.first) + u128::from(self.last);
        let exact = || {
            let whole = |value: u128| i128::try_from(value).ok();
            let (n, s) = (i128::from(self.count), i128::from(self.sum));
            let square = s.checked_mul(s)?;
            let above = n.checked_mul(whole(self.products)?)?;
            let above = above.checked_sub(square)?.checked_add(s.checked_mul(whole(ends)?)?)?;
            let below = n.checked_mul(whole(self.squares)?)?.checked_sub(square)?;
            Some((above as f64, below as f64))
        };
        let (above, below) = exact().unwrap_or_else(|| {
            let above = count * self.products as f64 - sum * (sum - ends as f64);
            (above, count * self.squares as f64 - sum * sum)
        });
        ratio(above - sum * sum / count.max(1.0), below)
    }
}

/// Counts arrivals in windows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counter {
    window_ns: u64,
    current: u64,
    /// End of the current window, since the first request.
    end_ns: u64,
    in_current: u64,
    total: u64,
    squares: u128,
}

impl Counter {
    pub(super) const fn new(window_ns: u64) -> Self {
        Self { window_ns, current: 0, end_ns: window_ns, in_current: 0, total: 0, squares: 0 }
    }

    pub(super) fn add(&mut self, since_first_ns: u64) {
        if since_first_ns >= self.end_ns {
            self.close();
            self.current = since_first_ns / self.window_ns;
            self.end_ns = (self.current + 1).saturating_mul(self.window_ns);
        }
        self.in_current += 1;
    }

    fn close(&mut self) {
        self.total += self.in_current;
        self.squares += u128::from(self.in_current) * u128::from(self.in_current);
        self.in_current = 0;
    }

    pub(super) fn finish(self) -> Dispersion {
        let windows = self.current as f64;
        let mean = self.total as f64 / windows.max(1.0);
        let variance = self.squares as f64 / windows.max(1.0) - mean * mean;
        let defined = self.current > 1;
        let index = if defined { ratio(variance.max(0.0), mean) } else { None };
        Dispersion { window_ns: self.window_ns, index }
    }
}

//! Intervals of replicas. docs/STUDIES.md says how verdicts use them.

/// Student's t: the 97.5 % quantile by degrees of freedom, from 1 on. Source: the standard table.
const T_QUANTILES: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
];

/// The same with more degrees of freedom, within 1e-4: an expansion about the quantile of the
/// normal distribution. Source: Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.5.
fn t_quantile(freedom: usize) -> f64 {
    const NORMAL: f64 = 1.959_964;
    if let Some(known) = T_QUANTILES.get(freedom - 1) {
        return *known;
    }
    let (x, n) = (NORMAL, freedom as f64);
    let first = (x.powi(3) + x) / 4.0;
    let second = (5.0 * x.powi(5) + 16.0 * x.powi(3) + 3.0 * x) / 96.0;
    x + first / n + second / n.powi(2)
}

/// A range of values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The least.
    pub low: f64,
    /// The greatest.
    pub high: f64,
}

impl Interval {
    /// The 95 % confidence interval of the mean; none of fewer than two values, or of values that
    /// do not exist.
    pub fn of_mean(values: &[f64]) -> Option<Self> {
        Self::around_mean(values, |count| (1.0 / count).sqrt())
    }

    /// The 95 % prediction interval of one more value.
    pub fn of_one_more(values: &[f64]) -> Option<Self> {
        Self::around_mean(values, |count| (1.0 + 1.0 / count).sqrt())
    }

    fn around_mean(values: &[f64], factor: impl Fn(f64) -> f64) -> Option<Self> {
        if values.len() < 2 || values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        if values.iter().all(|value| value.to_bits() == values[0].to_bits()) {
            return Some(Self { low: values[0], high: values[0] });
        }
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let deviation = (squares / (count - 1.0)).sqrt();
        let half = t_quantile(values.len() - 1) * deviation * factor(count);
        Some(Self { low: mean - half, high: mean + half })
    }

    /// Whether the two have a value in common.
    pub fn meets(&self, other: &Self) -> bool {
        self.low <= other.high && other.low <= self.high
    }

    /// Whether all of it lies above 0.
    pub fn is_above_zero(&self) -> bool {
        self.low > 0.0
    }

    /// Whether all of it lies below 0.
    pub fn is_below_zero(&self) -> bool {
        self.high < 0.0
    }
}

/// The mean. Without values it is not a number.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The median, of an even number the mean of the middle two; not a number of no values.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        count => f64::midpoint(sorted[(count - 1) / 2], sorted[count / 2]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_near(found: Option<Interval>, low: f64, high: f64) {
        let found = found.expect("an interval");
        assert!((found.low - low).abs() < 1e-3 && (found.high - high).abs() < 1e-3, "{found:?}");
    }

    /// Mean 3, deviation sqrt(2.5), t of four degrees of freedom 2.776.
    #[test]
    fn intervals_are_those_of_the_t_distribution() {
        let values = [1.0, 2.0, 3.0, 4.0, 5.0];
        let deviation = 2.5f64.sqrt();
        let mean = 2.776 * deviation / 5f64.sqrt();
        assert_near(Interval::of_mean(&values), 3.0 - mean, 3.0 + mean);
        let more = 2.776 * deviation * 1.2f64.sqrt();
        assert_near(Interval::of_one_more(&values), 3.0 - more, 3.0 + more);
        assert_eq!(Interval::of_mean(&[0.1; 7]), Some(Interval { low: 0.1, high: 0.1 }));
        assert_eq!(Interval::of_mean(&[1.0]), None);
        assert_eq!(Interval::of_mean(&[1.0, f64::NAN]), None);
    }

    /// Beyond the table: values of the t distribution to four digits.
    #[test]
    fn quantiles_go_on_behind_the_table() {
        for (freedom, known) in [(31, 2.0395), (39, 2.0227), (60, 2.0003), (120, 1.9799)] {
            assert!((t_quantile(freedom) - known).abs() < 1e-4, "{freedom}");
        }
        assert!((t_quantile(30) - t_quantile(31)).abs() < 0.003);
    }

    #[test]
    fn medians_are_of_the_middle() {
        assert_eq!(median(&[3.0, 1.0, 50.0]).to_bits(), 3f64.to_bits());
        assert_eq!(median(&[3.0, 1.0]).to_bits(), 2f64.to_bits());
        assert!(median(&[]).is_nan());
    }
}

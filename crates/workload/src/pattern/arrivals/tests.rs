//! Arrivals follow the closed forms of their processes. Seeds are fixed; means are tested at four
//! standard errors, critical values of chi-square are those of 99.9 %.

use super::*;
use flashyard_core::quantity::{Micro, Milli};
use flashyard_core::units::Span;

const MS: u64 = 1_000_000;
const PER_S: u64 = 1_000_000;

fn times(keys: &PatternKeys, count: usize) -> Vec<f64> {
    let mut arrivals = Arrivals::new(keys, SplitMix64::new(5)).unwrap();
    (0..count).map(|_| arrivals.draw().unwrap() as f64).collect()
}

fn gaps(times: &[f64]) -> Vec<f64> {
    times.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    values.sum::<f64>() / count
}

/// The mean of independent values is the expected one.
#[track_caller]
fn mean_is(values: &[f64], expected: f64) {
    let found = mean(values.iter().copied());
    let square = mean(values.iter().map(|value| (value - found).powi(2)));
    let error = (square / values.len() as f64).sqrt();
    assert!((found - expected).abs() < 4.0 * error, "{found} instead of {expected}, +- {error}");
}

/// Independent values have no correlation with those `lag` later.
#[track_caller]
fn uncorrelated(values: &[f64]) {
    let centre = mean(values.iter().copied());
    let square = |lag: usize| {
        mean(values.iter().zip(&values[lag..]).map(|(a, b)| (a - centre) * (b - centre)))
    };
    for lag in 1..=5 {
        let found = square(lag) / square(0) * (values.len() as f64).sqrt();
        assert!(found.abs() < 4.0, "lag {lag}: {found} standard errors");
    }
}

/// As many values in each of ten classes whose limits are the tenths of the distribution.
#[track_caller]
fn tenths(values: &[f64], quantile: impl Fn(f64) -> f64) {
    let mut counts = [0_u32; 10];
    for value in values {
        let class = (1..10).filter(|k| *value > quantile(f64::from(*k) / 10.0)).count();
        counts[class] += 1;
    }
    let expected = values.len() as f64 / 10.0;
    let statistic: f64 =
        counts.iter().map(|count| (f64::from(*count) - expected).powi(2) / expected).sum();
    assert!(statistic < 27.9, "9 degrees of freedom: {statistic}, {counts:?}");
}

#[test]
fn poisson_gaps_are_independent() {
    let keys = PatternKeys { arrival: Arrival::Poisson, ..PatternKeys::default() };
    uncorrelated(&gaps(&times(&keys, 100_000)));
}

/// 1,000 a second, in bursts 10,000; the states end 50 and 200 times a second.
fn bursty() -> PatternKeys {
    PatternKeys {
        arrival: Arrival::Mmpp,
        rate_per_s: Micro::from_millionths(1_000 * PER_S),
        burst_rate_per_s: Micro::from_millionths(10_000 * PER_S),
        calm_ms: Span::from_ns(20 * MS),
        burst_ms: Span::from_ns(5 * MS),
        ..PatternKeys::default()
    }
}

/// The index of dispersion of counts in windows, and its standard error.
fn dispersion(times: &[f64], window_ns: f64) -> (f64, f64) {
    let windows = (times[times.len() - 1] / window_ns).floor();
    let mut counts = Vec::new();
    let mut at = 0;
    while (counts.len() as f64) < windows {
        let end = (counts.len() + 1) as f64 * window_ns;
        let next = at + times[at..].partition_point(|time| *time < end);
        counts.push((next - at) as f64);
        at = next;
    }
    let centre = mean(counts.iter().copied());
    let square = mean(counts.iter().map(|count| (count - centre).powi(2)));
    let fourth = mean(counts.iter().map(|count| (count - centre).powi(4)));
    (square / centre, ((fourth - square * square) / windows).sqrt() / centre)
}

#[test]
fn counts_of_two_states_are_dispersed_as_by_the_closed_form() {
    let times = times(&bursty(), 1_200_000);
    let (calm, burst, ends, starts) = (1_000.0, 10_000.0, 200.0, 50.0);
    let (both, weighted) = (ends + starts, calm * ends + burst * starts);
    let rate: f64 = weighted / both;
    // Heffes and Lucantoni, 1986; the last factor goes to 1 in long windows.
    let long: f64 =
        2.0 * (burst - calm) * (burst - calm) * ends * starts / (both * both * weighted);
    for window_s in [0.001, 0.01, 0.1, 0.4_f64] {
        let span = both * window_s;
        let expected = 1.0 + long * (1.0 - (1.0 - (-span).exp()) / span);
        let (found, error) = dispersion(&times, window_s * 1e9);
        assert!(
            (found - expected).abs() < 4.0 * error,
            "{window_s} s: {found} instead of {expected}, +- {error}"
        );
        assert!(error < 0.1 * expected, "{window_s} s: {error} would hide everything");
    }
    // The variance of the count is the mean times the index.
    let last_s = times[times.len() - 1] / 1e9;
    let error = (rate * last_s * (1.0 + long)).sqrt();
    assert!((times.len() as f64 - rate * last_s).abs() < 4.0 * error, "{last_s} s");
}

#[test]
fn two_states_of_one_rate_are_a_poisson_process() {
    let keys = PatternKeys {
        burst_rate_per_s: Micro::from_millionths(1_000 * PER_S),
        calm_ms: Span::from_ns(MS),
        ..bursty()
    };
    let gaps = gaps(&times(&keys, 50_000));
    tenths(&gaps, |part| -1e6 * (1.0 - part).ln());
    uncorrelated(&gaps);
    mean_is(&gaps, 1e6);
}

#[test]
fn either_state_comes_first_as_often_as_it_lasts() {
    let bursts = (0..10_000)
        .filter(|seed| Mmpp::new(&bursty(), &mut SplitMix64::new(*seed)).unwrap().bursts)
        .count();
    // A fifth of the time; a deviation of 40.
    assert!(bursts.abs_diff(2_000) < 160, "{bursts}");
}

#[test]
fn bursts_on_and_off_have_the_moments_of_their_renewals() {
    // 6,400 a second: gaps of 156.25 us, whole quarters of a nanosecond.
    let keys = PatternKeys {
        arrival: Arrival::OnOff,
        burst_rate_per_s: Micro::from_millionths(6_400 * PER_S),
        calm_ms: Span::from_ns(3 * MS),
        burst_ms: Span::from_ns(MS / 2),
        ..PatternKeys::default()
    };
    let gaps = gaps(&times(&keys, 200_000));
    let (gap, on, off) = (156_250.0_f64, 5e5_f64, 3e6_f64);
    // A burst goes on by another gap with this chance, whatever has passed of it.
    let goes_on = (-gap / on).exp();
    let mut bursts = [0_u32; 12];
    let mut length = 0;
    for found in &gaps {
        // Times are rounded down to nanoseconds.
        if (found - gap).abs() <= 1.0 {
            length += 1;
        } else {
            bursts[length.min(11)] += 1;
            length = 0;
        }
    }
    let all = f64::from(bursts.iter().sum::<u32>());
    let statistic: f64 = bursts
        .iter()
        .zip(0..)
        .map(|(count, length)| {
            let rest = if length < 11 { 1.0 - goes_on } else { 1.0 };
            let expected = all * goes_on.powi(length) * rest;
            (f64::from(*count) - expected).powi(2) / expected
        })
        .sum();
    assert!(statistic < 31.3, "11 degrees of freedom: {statistic}, {bursts:?}");
    // A burst of on / (1 - goes_on) gaps on average, and one round of on + off.
    mean_is(&gaps, (1.0 - goes_on) * (on + off));
    // What is left of a burst when it has less than a gap: on, given that it is below a gap.
    let rest = on - gap * goes_on / (1.0 - goes_on);
    let rest_squared =
        (2.0 * on * on - goes_on * (gap * gap + 2.0 * gap * on + 2.0 * on * on)) / (1.0 - goes_on);
    let between = rest_squared + 2.0 * rest * off + 2.0 * off * off;
    let squares: Vec<f64> = gaps.iter().map(|gap| gap * gap).collect();
    mean_is(&squares, goes_on * gap * gap + (1.0 - goes_on) * between);
    uncorrelated(&gaps);
}

#[test]
fn heavy_tails_have_their_quantiles_and_their_mean() {
    for (tail_shape, shape) in [(1_100, 1.1), (1_500, 1.5), (3_000, 3.0_f64)] {
        let keys = PatternKeys {
            arrival: Arrival::Pareto,
            tail_shape: Milli::from_thousandths(tail_shape),
            ..PatternKeys::default()
        };
        let gaps = gaps(&times(&keys, 100_000));
        let least = 100_000.0 * (shape - 1.0) / shape;
        tenths(&gaps, |part| least * (1.0 - part).powf(-1.0 / shape));
        // Far out: a hundredth and a thousandth.
        for part in [0.01, 0.001_f64] {
            let far = least * part.powf(-1.0 / shape);
            let found = gaps.iter().filter(|gap| **gap > far).count() as f64;
            let off = (found - 1e5 * part) / (1e5 * part).sqrt();
            assert!(off.abs() < 4.0, "{shape}: {found} beyond {far}");
        }
        if shape > 2.0 {
            mean_is(&gaps, 100_000.0);
        }
        uncorrelated(&gaps.iter().map(|gap| gap.ln()).collect::<Vec<_>>());
    }
}

#[test]
fn states_without_requests_are_refused() {
    let keys = PatternKeys {
        rate_per_s: Micro::from_millionths(1),
        burst_rate_per_s: Micro::from_millionths(1),
        calm_ms: Span::from_ns(MS),
        burst_ms: Span::from_ns(MS),
        ..bursty()
    };
    let error = Arrivals::new(&keys, SplitMix64::new(1)).unwrap_err().to_string();
    assert!(error.starts_with("pattern.calm_ms: a calm and a burst together have 0.0"), "{error}");
    assert!(error.ends_with("to 0.001 or more"), "{error}");
}

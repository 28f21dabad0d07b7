//! Means of correlated samples against formulas.

use super::{Random, request};
use flashyard_core::request::{Request, RequestOp};
use flashyard_core::units::Time;

/// The mean of correlated samples against a formula: the standard error comes from the means of 100
/// batches, each much longer than the queue's memory. A right simulator is 4 standard errors off
/// for one seed in 16,000; the seed is fixed. The standard error must be small to mean something.
#[track_caller]
pub fn check_mean(what: &str, samples: &[u64], expected: f64) {
    let batch = samples.len() / 100;
    let mean = |samples: &[u64]| samples.iter().sum::<u64>() as f64 / samples.len() as f64;
    let means: Vec<f64> = samples.chunks_exact(batch).map(mean).collect();
    let centre = means.iter().sum::<f64>() / 100.0;
    let variance = means.iter().map(|mean| (mean - centre).powi(2)).sum::<f64>() / 99.0;
    let error = (variance / 100.0).sqrt();
    assert!(error < 0.02 * expected, "{what}: the standard error {error} tells nothing");
    let off = (centre - expected) / error;
    assert!(off.abs() < 4.0, "{what}: {centre}, {expected} expected, {off} errors off");
}

/// Poisson arrivals of single pages, `gap_ns` apart on average; `pick` chooses operation and LPN.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "hours at most")]
pub fn poisson(
    random: &mut Random,
    count: usize,
    gap_ns: f64,
    mut pick: impl FnMut(&mut Random) -> (RequestOp, u64),
) -> Vec<Request> {
    let mut now = 0.0;
    (0..count)
        .map(|_| {
            let uniform = ((random.next() >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
            now -= f64::ln(uniform) * gap_ns;
            let (op, lpn) = pick(random);
            request(0, op, lpn, 1).at(Time::from_ns(now as u64))
        })
        .collect()
}

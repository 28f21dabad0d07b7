//! When requests arrive. Draws: poisson one a request; constant and none take none.

use super::keys::{Arrival, PatternKeys};
use crate::random::SplitMix64;

/// Stored rates count requests in a million seconds: this many nanoseconds.
const RATE_SPAN_NS: u64 = 1_000_000_000_000_000;

/// Arrivals end at 2^62 ns (146 years), so that no time of a simulation can overflow.
const LAST_ARRIVAL_NS: u64 = 1 << 62;

/// The clock of a pattern.
#[derive(Clone, Debug)]
pub(super) struct Arrivals {
    /// The time of the next request, and what is behind its point.
    next_ns: u64,
    pace: Pace,
}

#[derive(Clone, Debug)]
enum Pace {
    AtOnce,
    /// Each `whole` + `part` / `rate` nanoseconds later, `late` / `rate` being owed so far.
    Constant {
        whole: u64,
        part: u64,
        rate: u64,
        late: u64,
    },
    /// Each later by an exponential time of this mean, the fraction being carried on.
    Poisson {
        mean_ns: f64,
        fraction: f64,
        random: SplitMix64,
    },
}

impl Arrivals {
    pub(super) fn new(keys: &PatternKeys, random: SplitMix64) -> Self {
        let rate = keys.rate_per_s;
        let mut arrivals = Self { next_ns: 0, pace: Pace::AtOnce };
        match keys.arrival {
            Arrival::None => {}
            Arrival::Constant => {
                let (whole, part) = (RATE_SPAN_NS / rate, RATE_SPAN_NS % rate);
                arrivals.pace = Pace::Constant { whole, part, rate, late: 0 };
            }
            Arrival::Poisson => {
                let mean_ns = RATE_SPAN_NS as f64 / rate as f64;
                arrivals.pace = Pace::Poisson { mean_ns, fraction: 0.0, random };
                // Also the first request comes at random.
                arrivals.advance();
            }
        }
        arrivals
    }

    /// The time of the next request in nanoseconds; `None` where it is past the last one possible.
    pub(super) fn draw(&mut self) -> Option<u64> {
        let now = self.next_ns;
        self.advance();
        (now <= LAST_ARRIVAL_NS).then_some(now)
    }

    fn advance(&mut self) {
        let step = match &mut self.pace {
            Pace::AtOnce => 0,
            Pace::Constant { whole, part, rate, late } => {
                *late += *part;
                let carry = u64::from(*late >= *rate);
                *late -= carry * *rate;
                *whole + carry
            }
            Pace::Poisson { mean_ns, fraction, random } => {
                let exact = random.exponential() * *mean_ns + *fraction;
                let floor = libm::floor(exact);
                *fraction = exact - floor;
                whole(floor)
            }
        };
        self.next_ns = self.next_ns.saturating_add(step);
    }
}

/// A whole float as an integer.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "whole, not negative, and below 37 times the longest mean of 10^15"
)]
fn whole(float: f64) -> u64 {
    float as u64
}

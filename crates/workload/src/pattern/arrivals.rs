//! When requests arrive. Draws: `poisson` and `pareto` one a request; `constant` and `none` take
//! none. `mmpp` two at the start (in a burst? how long does the state last?) and one for each gap;
//! a gap that would end behind the state is discarded, which an exponential time allows, and the
//! next state (one draw for its length) starts with a gap of its own. `on_off` two for each burst,
//! at its start: how long the silence before it was, and how long it is.

use flashyard_core::request::LAST_ARRIVAL;

use super::keys::{Arrival, PatternKeys};
use crate::error::WorkloadError;
use crate::random::SplitMix64;

/// Stored rates count requests in a million seconds: this many nanoseconds.
const RATE_SPAN_NS: u64 = 1_000_000_000_000_000;

/// Requests in a calm and a burst together, of `mmpp`: fewer would only change states.
const LEAST_A_ROUND: f64 = 1e-3;

/// The clock of a pattern.
#[derive(Clone, Debug)]
pub(super) struct Arrivals {
    /// The time of the next request, and what is behind its point.
    next_ns: u64,
    fraction: f64,
    pace: Pace,
    random: SplitMix64,
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
    /// Each later by an exponential time of this mean.
    Poisson {
        mean_ns: f64,
    },
    Mmpp(Mmpp),
    OnOff(OnOff),
    /// Each later by a Pareto time: P(longer than x) = (least / x)^shape.
    Pareto {
        least_ns: f64,
        shape: f64,
    },
}

impl Arrivals {
    pub(super) fn new(keys: &PatternKeys, mut random: SplitMix64) -> Result<Self, WorkloadError> {
        let rate = keys.rate_per_s;
        let pace = match keys.arrival {
            Arrival::None => Pace::AtOnce,
            Arrival::Constant => {
                let (whole, part) =
                    (RATE_SPAN_NS / rate.millionths(), RATE_SPAN_NS % rate.millionths());
                Pace::Constant { whole, part, rate: rate.millionths(), late: 0 }
            }
            Arrival::Poisson => Pace::Poisson { mean_ns: mean_ns(rate.millionths()) },
            Arrival::Mmpp => Pace::Mmpp(Mmpp::new(keys, &mut random)?),
            Arrival::OnOff => Pace::OnOff(OnOff::new(keys)),
            Arrival::Pareto => {
                let shape = keys.tail_shape.thousandths() as f64 / 1e3;
                Pace::Pareto { least_ns: mean_ns(rate.millionths()) * (shape - 1.0) / shape, shape }
            }
        };
        let mut arrivals = Self { next_ns: 0, fraction: 0.0, pace, random };
        if !matches!(keys.arrival, Arrival::None | Arrival::Constant) {
            // Also the first request comes at random.
            arrivals.advance();
        }
        Ok(arrivals)
    }

    /// The time of the next request in nanoseconds; `None` where it is past the last one possible.
    #[inline]
    pub(super) fn draw(&mut self) -> Option<u64> {
        let now = self.next_ns;
        if !matches!(self.pace, Pace::AtOnce) {
            self.advance();
        }
        (now <= LAST_ARRIVAL.as_ns()).then_some(now)
    }

    fn advance(&mut self) {
        let gap = match &mut self.pace {
            Pace::AtOnce => return,
            Pace::Constant { whole, part, rate, late } => {
                *late += *part;
                let carry = u64::from(*late >= *rate);
                *late -= carry * *rate;
                self.next_ns = self.next_ns.saturating_add(*whole + carry);
                return;
            }
            Pace::Poisson { mean_ns } => self.random.exponential() * *mean_ns,
            Pace::Mmpp(mmpp) => mmpp.gap(&mut self.random),
            Pace::OnOff(on_off) => on_off.gap(&mut self.random),
            Pace::Pareto { least_ns, shape } => {
                *least_ns * libm::exp(self.random.exponential() / *shape)
            }
        };
        let exact = gap + self.fraction;
        let floor = libm::floor(exact);
        self.fraction = exact - floor;
        self.next_ns = self.next_ns.saturating_add(whole(floor));
    }
}

/// A Poisson process with the rate of a state: calm or burst.
#[derive(Clone, Debug)]
struct Mmpp {
    /// Mean gaps, and mean lengths, of a calm and of a burst.
    gap_ns: [f64; 2],
    stay_ns: [f64; 2],
    bursts: bool,
    /// How long the state lasts from the last request on.
    left_ns: f64,
}

impl Mmpp {
    fn new(keys: &PatternKeys, random: &mut SplitMix64) -> Result<Self, WorkloadError> {
        let gap_ns =
            [mean_ns(keys.rate_per_s.millionths()), mean_ns(keys.burst_rate_per_s.millionths())];
        let stay_ns = [keys.calm_ms.as_ns() as f64, keys.burst_ms.as_ns() as f64];
        let round = stay_ns[0] / gap_ns[0] + stay_ns[1] / gap_ns[1];
        if round < LEAST_A_ROUND {
            return Err(WorkloadError::Key {
                key: "pattern.calm_ms",
                what: format!("a calm and a burst together have {round} requests"),
                fix: format!("raise it, pattern.burst_ms or the rates, to {LEAST_A_ROUND} or more"),
            });
        }
        let bursts = random.unit() < stay_ns[1] / (stay_ns[0] + stay_ns[1]);
        let left_ns = random.exponential() * stay_ns[usize::from(bursts)];
        Ok(Self { gap_ns, stay_ns, bursts, left_ns })
    }

    /// The time from the last request to the next.
    fn gap(&mut self, random: &mut SplitMix64) -> f64 {
        let mut passed = 0.0;
        loop {
            let gap = random.exponential() * self.gap_ns[usize::from(self.bursts)];
            if gap < self.left_ns {
                self.left_ns -= gap;
                return passed + gap;
            }
            passed += self.left_ns;
            self.bursts = !self.bursts;
            self.left_ns = random.exponential() * self.stay_ns[usize::from(self.bursts)];
        }
    }
}

/// Bursts of requests at equal distances, the first one at the start of the burst. Times
/// in nanoseconds.
#[derive(Clone, Debug)]
struct OnOff {
    gap: f64,
    off: f64,
    on: f64,
    /// How long the burst lasts from the last request on; before the first burst, nothing.
    left: f64,
}

impl OnOff {
    fn new(keys: &PatternKeys) -> Self {
        Self {
            gap: mean_ns(keys.burst_rate_per_s.millionths()),
            off: keys.calm_ms.as_ns() as f64,
            on: keys.burst_ms.as_ns() as f64,
            left: 0.0,
        }
    }

    /// The time from the last request to the next.
    fn gap(&mut self, random: &mut SplitMix64) -> f64 {
        if self.gap < self.left {
            self.left -= self.gap;
            return self.gap;
        }
        let silence = random.exponential() * self.off;
        let rest = self.left;
        self.left = random.exponential() * self.on;
        rest + silence
    }
}

/// The mean distance of a stored rate.
fn mean_ns(rate: u64) -> f64 {
    RATE_SPAN_NS as f64 / rate as f64
}

/// A float without a fraction as an integer; the greatest one for what is larger still.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "whole and not negative; saturating is what is wanted past the last arrival"
)]
fn whole(float: f64) -> u64 {
    float as u64
}

#[cfg(test)]
mod tests;

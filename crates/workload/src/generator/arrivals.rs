//! When requests arrive: in bursts.
//!
//! The number of requests in a burst is geometric; a share of the bursts is long, which makes the
//! distribution heavier-tailed than one geometric. Gaps inside a burst, short pauses and long
//! pauses are exponential. Every gap is longer by the time that the request before it takes: who
//! issues requests one after the other waits for each. The draws are made twice: once to add them
//! up, then to hand them out, the long pauses stretched so that the mean rate comes out exactly.
//! Where the other gaps alone take longer than that, all gaps are scaled alike.
//!
//! Draws, from a stream of random numbers of its own: at the start of every burst two (ordinary or
//! long; size); before every other request of the burst one (gap); between bursts two (short or
//! long; length). The generator draws a gap one request ahead, so that it can tell a request what
//! follows.

use super::GeneratorKeys;
use crate::random::SplitMix64;
use flashyard_core::quantity::Milli;

/// Requests in the largest burst: bounds the geometric distribution.
const BURST_MAX: f64 = 1_048_576.0;

/// Long pauses are drawn in units, this many to the mean.
const LONG_PAUSE_UNITS: f64 = 1_048_576.0;

/// Hands out arrival times.
#[derive(Clone, Debug)]
pub(super) struct Arrivals {
    gaps: Gaps,
    sums: Sums,
    stretch: Stretch,
    /// How much later the next request comes because of this one.
    pace_ns: u64,
}

/// An arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Arrival {
    pub(super) ns: u64,
    /// Where it stands.
    pub(super) position: Position,
}

/// Where a request stands: the gaps around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position {
    pub(super) before: Between,
    pub(super) after: Between,
}

/// What is between two requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Between {
    /// A gap inside a burst.
    InBurst,
    /// A short pause; also before the first request.
    ShortPause,
    /// A long pause.
    LongPause,
}

impl Arrivals {
    /// The arrivals of `keys.requests` requests. `pace` is asked once a request, in order, by how
    /// many nanoseconds it delays the next one; [`Arrivals::next`] must be told the same.
    pub(super) fn new(
        keys: &GeneratorKeys,
        random: SplitMix64,
        mut pace: impl FnMut(Position) -> u64,
    ) -> Self {
        let mut gaps = Gaps::new(keys, random.clone());
        let mut sums = Sums::default();
        let mut pace_ns = 0;
        for _ in 0..keys.requests {
            let (gap, position) = gaps.next();
            sums.add(gap, pace_ns);
            pace_ns = pace(position);
        }
        // requests / rate; both fit 50 bits after scaling, so the product fits 128.
        let span = u128::from(keys.requests) * 1_000_000_000 * 1_000_000
            / u128::from(keys.requests_per_s.millionths());
        let stretch = Stretch::new(sums, span);
        Self { gaps: Gaps::new(keys, random), sums: Sums::default(), stretch, pace_ns: 0 }
    }

    /// The next arrival; `None` where the time does not fit 64 bits.
    pub(super) fn next(&mut self) -> Option<Arrival> {
        let (gap, position) = self.gaps.next();
        self.sums.add(gap, self.pace_ns);
        let ns = u64::try_from(self.stretch.apply(self.sums)?).ok()?;
        Some(Arrival { ns, position })
    }

    /// Says by how much the request just handed out delays the next one.
    pub(super) fn delay_next(&mut self, pace_ns: u64) {
        self.pace_ns = pace_ns;
    }
}

/// The time before a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gap {
    /// Inside a burst, in nanoseconds.
    InBurst(u64),
    /// Before a burst, in nanoseconds.
    ShortPause(u64),
    /// Before a burst, in units of a length that is still to be found.
    LongPause(u64),
}

impl Gap {
    const fn kind(self) -> Between {
        match self {
            Self::InBurst(_) => Between::InBurst,
            Self::ShortPause(_) => Between::ShortPause,
            Self::LongPause(_) => Between::LongPause,
        }
    }
}

#[derive(Clone, Debug)]
struct Gaps {
    random: SplitMix64,
    /// Of the ordinary and the long bursts: `ln(1 - 1 / mean)`.
    log_continue: [f64; 2],
    long_burst_ppm: u64,
    gap_ns: f64,
    short_pause_ppm: u64,
    short_pause_ns: f64,
    left_in_burst: u64,
    /// The gap before the next request: drawn one request ahead.
    coming: Gap,
}

impl Gaps {
    fn new(keys: &GeneratorKeys, random: SplitMix64) -> Self {
        let log_continue = |mean: Milli| libm::log(1.0 - 1_000.0 / mean.thousandths() as f64);
        let mut gaps = Self {
            random,
            log_continue: [keys.burst_requests, keys.long_burst_requests].map(log_continue),
            long_burst_ppm: keys.long_burst_percent.ppm(),
            gap_ns: keys.gap_us.as_ns() as f64,
            short_pause_ppm: keys.short_pause_percent.ppm(),
            short_pause_ns: keys.short_pause_ms.as_ns() as f64,
            left_in_burst: 0,
            coming: Gap::ShortPause(0),
        };
        gaps.left_in_burst = gaps.burst_size() - 1;
        gaps
    }

    /// The gap before the next request and what is around it.
    fn next(&mut self) -> (Gap, Position) {
        let gap = self.coming;
        self.coming = self.draw();
        (gap, Position { before: gap.kind(), after: self.coming.kind() })
    }

    fn draw(&mut self) -> Gap {
        if self.left_in_burst > 0 {
            self.left_in_burst -= 1;
            return Gap::InBurst(whole(self.gap_ns * self.random.exponential()));
        }
        let gap = self.pause();
        self.left_in_burst = self.burst_size() - 1;
        gap
    }

    fn pause(&mut self) -> Gap {
        let short = self.random.happens(self.short_pause_ppm);
        let length = self.random.exponential();
        if short {
            Gap::ShortPause(whole(self.short_pause_ns * length))
        } else {
            Gap::LongPause(whole(LONG_PAUSE_UNITS * length))
        }
    }

    /// Geometric by inversion: 1 + floor(ln u / ln(1 - 1 / mean)); a mean of 1 divides by minus
    /// infinity, which yields 1.
    fn burst_size(&mut self) -> u64 {
        let long = self.random.happens(self.long_burst_ppm);
        let more = -self.random.exponential() / self.log_continue[usize::from(long)];
        1 + whole(more.min(BURST_MAX))
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float-to-integer cast rounds down and saturates, which is what is wanted"
)]
pub(super) fn whole(number: f64) -> u64 {
    number as u64
}

/// What the gaps add up to.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    fixed_ns: u128,
    long_units: u128,
}

impl Sums {
    fn add(&mut self, gap: Gap, pace_ns: u64) {
        self.fixed_ns += u128::from(pace_ns);
        match gap {
            Gap::InBurst(ns) | Gap::ShortPause(ns) => self.fixed_ns += u128::from(ns),
            Gap::LongPause(units) => self.long_units += u128::from(units),
        }
    }
}

/// Turns sums of gaps into times, monotonically; the last sum becomes the wanted span.
#[derive(Clone, Copy, Debug)]
enum Stretch {
    /// Times are the fixed gaps plus the long pauses times `ns / units`.
    LongPauses { ns: u128, units: u128 },
    /// Times are all gaps (a unit counts as a nanosecond) times `ns / total`.
    All { ns: u128, total: u128 },
}

impl Stretch {
    fn new(sums: Sums, span_ns: u128) -> Self {
        if sums.long_units > 0 && sums.fixed_ns < span_ns {
            Self::LongPauses { ns: span_ns - sums.fixed_ns, units: sums.long_units }
        } else {
            Self::All { ns: span_ns, total: (sums.fixed_ns + sums.long_units).max(1) }
        }
    }

    fn apply(&self, sums: Sums) -> Option<u128> {
        match *self {
            Self::LongPauses { ns, units } => {
                Some(sums.fixed_ns + sums.long_units.checked_mul(ns)? / units)
            }
            Self::All { ns, total } => {
                Some((sums.fixed_ns + sums.long_units).checked_mul(ns)? / total)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashyard_core::quantity::{Micro, Ppm};

    fn arrivals(keys: &GeneratorKeys) -> Vec<Arrival> {
        let mut arrivals = Arrivals::new(keys, SplitMix64::new(4), |_| 0);
        (0..keys.requests).map(|_| arrivals.next().unwrap()).collect()
    }

    #[test]
    fn the_rate_is_exact() {
        let keys = GeneratorKeys::default();
        let times = arrivals(&keys);
        assert_eq!(times[0].ns, 0);
        assert_eq!(times.last().unwrap().ns, 1_142_857_142_857, "4,000 requests at 3.5 a second");
        assert!(times.is_sorted_by_key(|arrival| arrival.ns));
    }

    #[test]
    fn a_rate_beyond_the_gaps_scales_all_of_them() {
        let keys = GeneratorKeys {
            requests_per_s: Micro::from_millionths(1_000_000_000_000),
            ..GeneratorKeys::default()
        };
        assert_eq!(arrivals(&keys).last().unwrap().ns, 4_000_000);
    }

    #[test]
    fn bursts_have_the_asked_for_mean() {
        let keys = GeneratorKeys { requests: 200_000, ..GeneratorKeys::default() };
        let bursts = arrivals(&keys)
            .iter()
            .filter(|arrival| arrival.position.before != Between::InBurst)
            .count();
        let mean = 200_000.0 / bursts as f64;
        let expected = 0.9 * 3.6 + 0.1 * 12.0;
        assert!((mean / expected - 1.0).abs() < 0.02, "{mean} instead of {expected}");
    }

    #[test]
    fn the_pace_is_added_to_every_gap() {
        let keys = GeneratorKeys { requests: 1_000, ..GeneratorKeys::default() };
        let plain = arrivals(&keys);
        let mut paced = Arrivals::new(&keys, SplitMix64::new(4), |_| 7_000_000);
        let mut before = None;
        for plain in plain.windows(2) {
            let arrival = paced.next().unwrap();
            paced.delay_next(7_000_000);
            if plain[0].position.before == Between::InBurst {
                let gap = arrival.ns - before.unwrap();
                assert!(gap >= 7_000_000, "{gap}");
            }
            assert_eq!(arrival.position, plain[0].position);
            before = Some(arrival.ns);
        }
        let last = paced.next().unwrap();
        assert_eq!(last.ns, plain.last().unwrap().ns, "the rate stays exact");
        assert_eq!(last.position, plain.last().unwrap().position);
    }

    #[test]
    fn bursts_of_one_request_are_possible() {
        let keys = GeneratorKeys {
            burst_requests: Milli::from_thousandths(1_000),
            long_burst_percent: Ppm::ZERO,
            requests: 1_000,
            ..GeneratorKeys::default()
        };
        assert!(arrivals(&keys).iter().all(|arrival| arrival.position.before != Between::InBurst));
    }
}

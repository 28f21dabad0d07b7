//! Random times between the requests of a stream (`stream.pacing = "spaced"`).

use crate::random::{STEP, mix};
use crate::stream::StreamKeys;
use flashyard_core::units::{Span, Time};

/// The gaps of a stream, drawn one after the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gaps {
    /// The least gap and how many there are, a nanosecond apart: usually, and in the burst.
    usual: (u64, u64),
    burst: (u64, u64),
    /// When the burst begins and ends.
    from: Time,
    until: Time,
    state: u64,
}

impl Gaps {
    /// Those of the stream with this number, in a phase that begins at `start`.
    pub(super) fn new(keys: &StreamKeys, number: usize, start: Time) -> Self {
        let range = |min: Span, max: Span| {
            assert!(min <= max, "a range of gaps from {min:?} ends before, at {max:?}");
            (min.as_ns(), max.as_ns() - min.as_ns() + 1)
        };
        Self {
            usual: range(keys.gap_min_us, keys.gap_max_us),
            burst: range(keys.burst_min_us, keys.burst_max_us),
            from: start.saturating_add(keys.burst_from_ms),
            until: start.saturating_add(keys.burst_until_ms),
            state: mix(keys.gap_seed.wrapping_add((number as u64).wrapping_mul(STEP))),
        }
    }

    /// When the next request is due if the one before was fetched now.
    pub(super) fn after(&mut self, now: Time) -> Time {
        let bursts = self.from <= now && now < self.until;
        let (least, count) = if bursts { self.burst } else { self.usual };
        self.state = self.state.wrapping_add(STEP);
        let more = (u128::from(mix(self.state)) * u128::from(count)) >> 64;
        let more = u64::try_from(more).expect("the high half of a product of 64-bit numbers");
        now.saturating_add(Span::from_ns(least + more))
    }
}

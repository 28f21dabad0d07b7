//! Rate limits of streams: token buckets at the fetch from a submission queue.

use crate::stream::StreamKeys;
use flashyard_core::request::{Request, RequestOp, SECTOR_BYTES};
use flashyard_core::units::Time;

/// Two buckets, of bytes and of requests, as the instants at which all that was fetched is paid for
/// at the rate; an idle stream falls behind the clock and then starts anew from it. Times are in
/// picoseconds.
#[derive(Clone, Debug)]
pub(super) struct RateLimit {
    /// 10^6 bytes a second, requests a second; 0: no limit.
    mb_per_s: u64,
    iops: u64,
    /// How far ahead of the clock the stream may be when a request is fetched.
    burst: u128,
    paid: [u128; 2],
    /// Whether a request waits for credit, and how long requests did in all, in nanoseconds.
    pub(super) holds: bool,
    pub(super) held_ns: u64,
}

impl RateLimit {
    /// The limit of a stream that begins; none where it has none.
    pub(super) fn of(keys: &StreamKeys, start: Time) -> Option<Box<Self>> {
        let (mb_per_s, iops) = (keys.rate_limit_mb_per_s, keys.rate_limit_iops);
        let burst = u128::from(keys.rate_limit_burst_ms.as_ns()) * 1_000;
        let paid = [picoseconds(start); 2];
        let limit = Self { mb_per_s, iops, burst, paid, holds: false, held_ns: 0 };
        (mb_per_s > 0 || iops > 0).then(|| Box::new(limit))
    }

    /// A request is fetched.
    pub(super) fn pay(&mut self, request: &Request, now: Time) {
        let carries = matches!(request.op, RequestOp::Read | RequestOp::Write);
        let sectors = if carries { request.sectors } else { 0 };
        let bytes = u128::from(sectors) * u128::from(SECTOR_BYTES);
        let cost = |amount: u128, rate: u64| amount.checked_div(u128::from(rate)).unwrap_or(0);
        let costs = [cost(bytes * 1_000_000, self.mb_per_s), cost(1_000_000_000_000, self.iops)];
        // A wait ends at a whole nanosecond; what that is later than the credit is not lost.
        let begun = picoseconds(now).saturating_sub(999);
        for (paid, cost) in self.paid.iter_mut().zip(costs) {
            *paid = (*paid).max(begun) + cost;
        }
    }

    /// A request waits to be fetched. Returns when its credit comes, unless it is there or somebody
    /// waits for that already.
    pub(super) fn hold(&mut self, now: Time) -> Option<Time> {
        let latest = self.paid[0].max(self.paid[1]);
        let ready = latest.saturating_sub(self.burst).div_ceil(1_000);
        let ready = Time::from_ns(u64::try_from(ready).unwrap_or(u64::MAX));
        if self.holds || ready <= now {
            return None;
        }
        self.holds = true;
        self.held_ns += ready.since(now).as_ns();
        Some(ready)
    }
}

fn picoseconds(time: Time) -> u128 {
    u128::from(time.as_ns()) * 1_000
}

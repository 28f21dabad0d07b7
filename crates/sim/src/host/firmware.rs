//! Firmware cores: requests take the first free one in the order in which they come over the link,
//! each for its service time, and then enter the host queue.

use super::request::Pending;
use crate::config::{FirmwareKeys, Settings};
use crate::handle::RequestId;
use crate::random::{STEP, mix};
use flashyard_core::units::{Span, Time};

/// What sets the random service times apart from other random numbers.
const SEED: u64 = 0x5851_F42D_4C95_7F2D;

/// The cores of a device.
#[derive(Clone, Debug)]
pub(super) struct Firmware {
    keys: FirmwareKeys,
    /// When each core has nothing left to do.
    free: Vec<Time>,
    /// Time of each request with its core and in the line for it, by handle.
    spent_ns: Vec<u64>,
}

impl Firmware {
    /// The idle cores of a device, if it has any.
    pub(super) fn new(settings: &Settings) -> Option<Box<Self>> {
        let keys = settings.keys.firmware;
        let cores = usize::try_from(keys.cores).expect("the key's range is small");
        let free = vec![Time::ZERO; cores];
        (cores > 0).then(|| Box::new(Self { keys, free, spent_ns: Vec::new() }))
    }

    /// Time of a request with its core and in the line for it; it has left the core.
    pub(super) fn spent_ns(&self, handle: RequestId) -> u64 {
        self.spent_ns[handle.index()]
    }

    /// A request takes the core that is free first. Returns when the core is done with it.
    pub(super) fn serve(&mut self, handle: RequestId, request: &Pending, now: Time) -> Time {
        if self.spent_ns.len() <= handle.index() {
            self.spent_ns.resize(handle.index() + 1, 0);
        }
        let core = self.free.iter_mut().min().expect("there is a core");
        let over = now.max(*core) + service(&self.keys, request);
        *core = over;
        self.spent_ns[handle.index()] = over.since(now).as_ns();
        over
    }
}

/// The service time of a request. What is random in it depends on nothing but the number of the
/// request, so that it is the same under every policy and on a device that was restored.
fn service(keys: &FirmwareKeys, request: &Pending) -> Span {
    let typical = keys.service_ns(request.request.op, request.pages.into());
    if keys.spread_percent.is_zero() {
        return Span::from_ns(typical);
    }
    let most = u128::from(typical) * u128::from(keys.spread_percent.ppm()) / 1_000_000;
    let unit = u128::from(mix(SEED ^ request.order.wrapping_mul(STEP)));
    let drawn = u128::from(typical) - most + (((2 * most + 1) * unit) >> 64);
    Span::from_ns(u64::try_from(drawn).expect("at most twice the typical time"))
}

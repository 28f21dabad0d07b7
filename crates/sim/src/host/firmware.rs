//! Firmware cores: requests take the first free one in the order in which they come over the link,
//! each for its service time, and then enter the host queue.

use super::request::Pending;
use super::stalls::Stalls;
use crate::config::{FirmwareKeys, Settings};
use crate::handle::RequestId;
use crate::random::{STEP, exponential, mix};
use flashyard_core::units::{Span, Time};
use std::collections::VecDeque;

/// What sets the random service times apart from other random numbers, and their tails.
const SEED: u64 = 0x5851_F42D_4C95_7F2D;
const TAIL_SEED: u64 = 0x1405_7B7E_F767_814F;

/// The cores of a device.
#[derive(Clone, Debug)]
pub(super) struct Firmware {
    keys: FirmwareKeys,
    /// What an append to a zone takes more than a write.
    append: Span,
    /// When cores have nothing left to do, the first one first.
    free: VecDeque<Time>,
    /// Time of each request with its core and in the line for it, by handle.
    spent_ns: Vec<u64>,
    /// When it stalls, if it does.
    stalls: Option<Box<Stalls>>,
}

impl Firmware {
    /// The idle cores of a device, if it has any.
    pub(super) fn new(settings: &Settings) -> Option<Box<Self>> {
        let keys = settings.keys.firmware;
        let cores = usize::try_from(keys.cores).expect("the key's range is small");
        let free = VecDeque::from(vec![Time::ZERO; cores]);
        let stalls = Stalls::new(&keys);
        let append = Span::from_ns(settings.keys.schemes.zns.append_ns);
        (cores > 0).then(|| Box::new(Self { keys, append, free, spent_ns: Vec::new(), stalls }))
    }

    /// A phase begins.
    pub(super) fn begin(&mut self) {
        if let Some(stalls) = &mut self.stalls {
            stalls.begin();
        }
    }

    /// Until when a stall holds a request that would take a core at an instant, if one does.
    pub(super) fn held_until(&self, request: &Pending, at: Time) -> Option<Time> {
        self.stalls.as_ref()?.held_until(request.request.op, at)
    }

    /// Whether no die begins a program at an instant.
    pub(super) fn holds_programs(&self, now: Time) -> bool {
        self.stalls.as_ref().is_some_and(|stalls| stalls.holds_programs(now))
    }

    /// The end of a stall of programs that has come about since the last look.
    pub(super) fn new_end(&mut self) -> Option<Time> {
        self.stalls.as_mut()?.new_end()
    }

    /// A request is held until an instant.
    pub(super) fn hold(&mut self, handle: RequestId, now: Time) {
        self.stalls.as_mut().expect("a stall holds it").hold(handle, now);
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
        let appends = !self.append.is_zero() && request.request.appends();
        let append = if appends { self.append } else { Span::ZERO };
        let over = self.takes(now, service(&self.keys, request) + append);
        let mut since = now;
        if let Some(stalls) = &mut self.stalls {
            since = stalls.serve(handle, request, now, over);
        }
        self.spent_ns[handle.index()] = over.since(since).as_ns();
        over
    }

    /// A read is translated that takes a mapping unit from flash: the core that is free first
    /// commands the die, if that takes time.
    pub(super) fn commands_read(&mut self, now: Time) {
        if self.keys.flash_read_ns == 0 {
            return;
        }
        self.takes(now, Span::from_ns(self.keys.flash_read_ns));
    }

    /// The core that is free first works for so long, from `now` on at the earliest. Returns when
    /// it is done.
    #[inline]
    fn takes(&mut self, now: Time, span: Span) -> Time {
        let free = self.free.pop_front().expect("there is a core");
        let over = now.max(free) + span;
        if self.free.back().is_some_and(|last| *last > over) {
            let place = self.free.partition_point(|other| *other <= over);
            self.free.insert(place, over);
        } else {
            self.free.push_back(over);
        }
        over
    }
}

/// The service time of a request. What is random in it depends on nothing but the number of the
/// request, so that it is the same under every policy and on a device that was restored.
fn service(keys: &FirmwareKeys, request: &Pending) -> Span {
    let typical = keys.service_ns(request.request.op, request.pages.into());
    let tail = tail(keys.tail_ns(request.request.op), request.order);
    if keys.spread_percent.is_zero() {
        return Span::from_ns(typical) + tail;
    }
    let most = u128::from(typical) * u128::from(keys.spread_percent.ppm()) / 1_000_000;
    let unit = u128::from(mix(SEED ^ request.order.wrapping_mul(STEP)));
    let drawn = u128::from(typical) - most + (((2 * most + 1) * unit) >> 64);
    Span::from_ns(u64::try_from(drawn).expect("at most twice the typical time")) + tail
}

/// The exponential tail of the time of a request by its number; nothing where the mean is 0.
fn tail(mean_ns: u64, order: u64) -> Span {
    if mean_ns == 0 {
        return Span::ZERO;
    }
    exponential(mix(TAIL_SEED ^ order.wrapping_mul(STEP)), Span::from_ns(mean_ns))
}

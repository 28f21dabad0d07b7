//! Naps of the device: a request that comes after a time without any takes longer.
//!
//! Links and controllers save power in short pauses. At depth 1 each request comes into such a
//! pause, the time that the host takes to reap one answer and to submit the next request; with more
//! requests outstanding there is none. What the device saves is not counted.

use crate::config::InterfaceKeys;
use flashyard_core::units::{Span, Time};

/// When the device had something to do last.
#[derive(Clone, Debug)]
pub(super) struct Nap {
    /// After how long without a request it naps, and what waking takes.
    after: Span,
    wake: Span,
    /// Requests that have set out and whose answers have not.
    inside: u64,
    /// When the last of their answers was with the host.
    idle_since: Time,
    /// When it is awake.
    awake: Time,
}

impl Nap {
    /// A device that has been idle since time 0; none if it never naps.
    pub(super) fn new(keys: &InterfaceKeys) -> Option<Box<Self>> {
        let (after, wake) = (keys.wake_after_us, keys.wake_us);
        let (idle_since, awake) = (Time::ZERO, Time::ZERO);
        let nap = Self { after, wake, inside: 0, idle_since, awake };
        (!wake.is_zero()).then(|| Box::new(nap))
    }

    /// A phase begins: pauses count from here.
    pub(super) const fn begin(&mut self, start: Time) {
        (self.idle_since, self.awake) = (start, start);
    }

    /// A request sets out for the device. Returns when that is awake.
    pub(super) fn enter(&mut self, now: Time) -> Time {
        if self.inside == 0 && now > self.idle_since.saturating_add(self.after) {
            self.awake = now + self.wake;
        }
        self.inside += 1;
        self.awake.max(now)
    }

    /// The answer of a request is with the host at an instant.
    pub(super) fn leave(&mut self, there: Time) {
        self.inside -= 1;
        self.idle_since = self.idle_since.max(there);
    }
}

//! One instant of the event loop, of phases and of work between them.
//!
//! Order at one instant: completions by ascending die, then timers, then all arrivals by ascending
//! stream, then one round of admission, then timers that admission has set for this instant
//! (reading ahead begins), then idle dies take commands in ascending order, then channels that have
//! become free choose, then dies whose channel asks for a command take one.

use super::{Device, SimError};
use crate::ftl::Scheme;
use crate::metrics::counters::Phase;
use flashyard_core::units::Time;

impl Device {
    /// The next instant at which something happens, up to and including `until`. `others` is when
    /// the caller has something to do.
    #[inline]
    pub(super) fn next_instant(&mut self, others: Time, until: Time) -> Option<Time> {
        let others = others.min(self.host.next_timer());
        if self.copies_in_bulk {
            self.waiting().copy_in_bulk(others.min(until));
        }
        let now = self.flash.next_due().min(others);
        assert!(now >= self.now, "time runs backwards");
        (now <= until && now < Time::MAX).then_some(now)
    }

    /// Dies and timers that are due at an instant.
    #[inline]
    pub(super) fn begin_instant(&mut self, now: Time) {
        self.time_passes(now);
        self.now = now;
        let mut due = self.flash.first_due(now);
        while let Some(die) = due {
            self.die_event(die);
            due = self.flash.next_listed(die, now);
        }
        if self.host.next_timer() <= now {
            self.timers_go_off();
        }
    }

    /// What the events of an instant have made possible: admission, collection in idle times,
    /// commands for dies, channels.
    #[inline]
    pub(super) fn end_instant(&mut self) -> Result<(), SimError> {
        let now = self.now;
        self.admit();
        if self.host.next_timer() <= now {
            self.timers_go_off();
        }
        if self.ftl.may_work_idle(|| self.host.phase() == Phase::Idle, now) {
            while self.let_ftl(Scheme::work_idle) {}
        }
        if self.queues.has_stirred() || self.flash.limits_power() {
            self.dispatch_stirred();
        }
        self.flash.channels_choose(now);
        self.phases_began();
        while let Some(die) = self.flash.next_asked() {
            self.dispatch(die);
        }
        if self.failed.is_some() { self.failed.take().map_or(Ok(()), Err) } else { Ok(()) }
    }
}

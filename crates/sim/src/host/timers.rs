//! Timers: what happens at a known instant away from the dies. At one instant they go off in the
//! order in which they were set.

use crate::handle::{RequestId, SetId};
use flashyard_core::units::{DieId, PlaneId, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What happens when a timer goes off. A number is the handle of a request or of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Timer {
    /// A request, with its data where it writes, has come over the link.
    Enter(RequestId),
    /// A core of the firmware has served a request.
    Served(RequestId),
    /// An answer, with its data where the request reads, has.
    Answer(RequestId),
    /// A unit has been put into the write buffer or got from there.
    Buffer(SetId),
    /// The data of a page access has come over the link.
    Linked(SetId),
    /// The dispatcher has done its work on a request.
    Dispatched,
    /// A port of the write buffer is free, after a put that no command set waits for.
    Port,
    /// The device may have been idle for as long as the write buffer waits.
    Quiet,
    /// A victim of this plane has been found.
    Search(PlaneId),
    /// The search of a translation layer is over.
    Sought(SetId),
    /// The rate limit of this stream lets a request be fetched.
    Credit(u32),
    /// A program or erase of this die may be suspended from now on.
    Suspendable(DieId),
}

/// Timers that have not gone off.
#[derive(Clone, Debug, Default)]
pub(crate) struct Timers {
    heap: BinaryHeap<Reverse<(Time, u64, Timer)>>,
    set: u64,
}

impl Timers {
    pub(crate) fn set(&mut self, at: Time, timer: Timer) {
        self.heap.push(Reverse((at, self.set, timer)));
        self.set += 1;
    }

    /// When the next one goes off; [`Time::MAX`] where none is set.
    #[inline]
    pub(crate) fn next(&self) -> Time {
        self.heap.peek().map_or(Time::MAX, |Reverse((at, ..))| *at)
    }

    /// Takes the next one if it goes off by `now`.
    pub(crate) fn take(&mut self, now: Time) -> Option<Timer> {
        if self.next() > now {
            return None;
        }
        self.heap.pop().map(|Reverse((_, _, timer))| timer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_go_off_by_time_then_in_the_order_in_which_they_were_set() {
        let mut timers = Timers::default();
        assert_eq!(timers.next(), Time::MAX);
        for (at, handle) in [(5, 1), (3, 9), (5, 0), (3, 2)] {
            timers.set(Time::from_ns(at), Timer::Enter(RequestId::new(handle)));
        }
        assert_eq!(timers.take(Time::from_ns(2)), None);
        let order: Vec<_> = std::iter::from_fn(|| timers.take(Time::from_ns(7))).collect();
        assert_eq!(order, [9, 2, 1, 0].map(|handle| Timer::Enter(RequestId::new(handle))));
    }
}

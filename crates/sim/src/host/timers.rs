//! Timers: what happens at a known instant away from the dies. At one instant they go off in the
//! order in which they were set.

use crate::handle::{RequestId, SetId};
use flashyard_core::units::{DieId, PlaneId, Time};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

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

/// A timer: when it goes off, how many were set before it, and what happens.
type Entry = (Time, u64, Timer);

/// Timers that have not gone off.
///
/// Timers of a kind go off mostly in the order in which they are set: those are in a row for each
/// of the kinds that every request may need. All others are in a heap.
#[derive(Clone, Debug)]
pub(crate) struct Timers {
    rows: [VecDeque<Entry>; 3],
    heap: BinaryHeap<Reverse<Entry>>,
    set: u64,
    next: Time,
}

impl Default for Timers {
    fn default() -> Self {
        Self { rows: Default::default(), heap: BinaryHeap::new(), set: 0, next: Time::MAX }
    }
}

impl Timers {
    #[inline]
    pub(crate) fn set(&mut self, at: Time, timer: Timer) {
        let entry = (at, self.set, timer);
        self.set += 1;
        self.next = self.next.min(at);
        let row = match timer {
            Timer::Enter(_) => 0,
            Timer::Served(_) => 1,
            Timer::Answer(_) => 2,
            _ => return self.heap.push(Reverse(entry)),
        };
        let row = &mut self.rows[row];
        if row.back().is_none_or(|last| last.0 <= at) {
            row.push_back(entry);
        } else {
            self.heap.push(Reverse(entry));
        }
    }

    /// When the next one goes off; [`Time::MAX`] where none is set.
    #[inline]
    pub(crate) const fn next(&self) -> Time {
        self.next
    }

    /// Takes the next one if it goes off by `now`.
    #[inline]
    pub(crate) fn take(&mut self, now: Time) -> Option<Timer> {
        if self.next > now { None } else { self.take_next() }
    }

    /// Takes the next one.
    fn take_next(&mut self) -> Option<Timer> {
        let [enter, served, answer] = &mut self.rows;
        let head = |row: &VecDeque<Entry>| row.front().map_or(NEVER, |first| (first.0, first.1));
        let heads = [head(enter), head(served), head(answer)];
        let top = self.heap.peek().map_or(NEVER, |Reverse((at, set, _))| (*at, *set));
        let first = top.min(heads[0]).min(heads[1]).min(heads[2]);
        let row = if first == top {
            None
        } else if first == heads[0] {
            Some(enter)
        } else if first == heads[1] {
            Some(served)
        } else {
            Some(answer)
        };
        let entry = match row {
            Some(row) => row.pop_front(),
            None => self.heap.pop().map(|Reverse(entry)| entry),
        };
        let rows = self.rows.iter().filter_map(|row| row.front()).map(|first| first.0);
        let top = self.heap.peek().map_or(Time::MAX, |Reverse((at, ..))| *at);
        self.next = rows.fold(top, Time::min);
        entry.map(|(_, _, timer)| timer)
    }
}

/// The time of no timer.
const NEVER: (Time, u64) = (Time::MAX, u64::MAX);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_go_off_by_time_then_in_the_order_in_which_they_were_set() {
        let mut timers = Timers::default();
        assert_eq!(timers.next(), Time::MAX);
        let kinds = [Timer::Enter, Timer::Served, Timer::Answer];
        let mut set = Vec::new();
        for (handle, at) in (0..).zip([5, 3, 5, 3, 9, 4, 9, 3, 1, 9, 5, 4]) {
            let timer = match handle % 4 {
                3 => Timer::Search(PlaneId::new(handle)),
                kind => kinds[kind as usize](RequestId::new(handle)),
            };
            timers.set(Time::from_ns(at), timer);
            set.push((at, timer));
            assert_eq!(timers.next(), Time::from_ns(set.iter().map(|set| set.0).min().unwrap()));
        }
        assert_eq!(timers.take(Time::ZERO), None);
        // The sort is stable.
        set.sort_by_key(|(at, _)| *at);
        for (at, timer) in set {
            assert_eq!(timers.next(), Time::from_ns(at));
            assert_eq!(timers.take(Time::from_ns(20)), Some(timer));
        }
        assert_eq!((timers.next(), timers.take(Time::MAX)), (Time::MAX, None));
    }
}

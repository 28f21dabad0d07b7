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
    /// A line of the write buffer that a program has freed has become usable.
    Usable,
    /// The device may have been idle for as long as the write buffer waits.
    Quiet,
    /// A victim of this plane has been found.
    Search(PlaneId),
    /// The search of a translation layer is over.
    Sought(SetId),
    /// The rate limit of this stream lets a request be fetched.
    Credit(u32),
    /// Dies may begin programs again.
    Programs,
    /// The thread of a stream has submitted a request.
    Submitted(RequestId),
    /// It has reaped the answer of one.
    Reaped(RequestId),
    /// A program or erase of this die may be suspended from now on.
    Suspendable(DieId),
    /// What requests of this instant ask for is on its way, and units are read ahead of them.
    Ahead,
}

/// Timers that have not gone off.
///
/// Timers of a kind go off mostly in the order in which they are set: those are in a row for each
/// of the kinds that every page access may need. All others are in a heap.
#[derive(Clone, Debug)]
pub(crate) struct Timers {
    rows: [VecDeque<(Key, Timer)>; HEAP],
    /// When the last timer that came into each row goes off.
    lasts: [Time; HEAP],
    heap: BinaryHeap<Reverse<(Key, Timer)>>,
    /// The first timer of each row, and of the heap; the place of the least of these.
    firsts: [Key; HEAP + 1],
    first: usize,
    /// When that goes off.
    next: Time,
    /// How many requests are on their way.
    entering: u64,
    set: u64,
}

/// When a timer goes off in nanoseconds, above how many were set before it.
type Key = u128;

/// The key of no timer.
const NEVER: Key = Key::MAX;

/// When a timer of this key goes off.
#[inline]
const fn time_of(key: Key) -> Time {
    Time::from_ns((key >> 64) as u64)
}

/// How many rows there are; the place of the heap behind them.
const HEAP: usize = 4;

impl Default for Timers {
    fn default() -> Self {
        Self {
            rows: Default::default(),
            lasts: [Time::ZERO; HEAP],
            heap: BinaryHeap::new(),
            firsts: [NEVER; HEAP + 1],
            first: HEAP,
            next: Time::MAX,
            entering: 0,
            set: 0,
        }
    }
}

impl Timers {
    #[inline]
    pub(crate) fn set(&mut self, at: Time, timer: Timer) {
        let key = Key::from(at.as_ns()) << 64 | Key::from(self.set);
        self.set += 1;
        self.entering += u64::from(matches!(timer, Timer::Enter(_)));
        let kind = match timer {
            Timer::Enter(_) => 0,
            Timer::Served(_) => 1,
            Timer::Answer(_) => 2,
            Timer::Buffer(_) => 3,
            _ => HEAP,
        };
        let in_order = self.lasts.get(kind).is_some_and(|last| *last <= at);
        let place = if in_order { kind } else { HEAP };
        if in_order {
            self.lasts[kind] = at;
            let row = &mut self.rows[kind];
            row.push_back((key, timer));
            if row.len() > 1 {
                // The first one of the row goes off before it, and is known.
                return;
            }
        } else {
            self.push_to_heap(key, timer);
        }
        self.firsts[place] = self.firsts[place].min(key);
        // Of equal times the one that was set first goes first.
        if at < self.next {
            (self.first, self.next) = (place, at);
        }
    }

    #[inline(never)]
    fn push_to_heap(&mut self, key: Key, timer: Timer) {
        self.heap.push(Reverse((key, timer)));
    }

    /// Takes the first one of the heap. Returns the key of the one behind it too.
    #[inline(never)]
    fn pop_from_heap(&mut self) -> (Option<(Key, Timer)>, Key) {
        let taken = self.heap.pop().map(|Reverse(entry)| entry);
        (taken, self.heap.peek().map_or(NEVER, |Reverse((key, _))| *key))
    }

    /// When the next one goes off; [`Time::MAX`] where none is set.
    #[inline]
    pub(crate) const fn next(&self) -> Time {
        self.next
    }

    /// Whether a request is on its way.
    #[inline]
    pub(super) const fn has_entering(&self) -> bool {
        self.entering > 0
    }

    /// Takes the next one if it goes off by `now`.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "asked once more than timers go off")]
    pub(crate) fn take(&mut self, now: Time) -> Option<Timer> {
        if self.next > now {
            return None;
        }
        let place = self.first;
        let timer = if let Some(row) = self.rows.get_mut(place) {
            let taken = row.pop_front();
            self.firsts[place] = row.front().map_or(NEVER, |(key, _)| *key);
            taken
        } else {
            let (taken, next) = self.pop_from_heap();
            self.firsts[HEAP] = next;
            taken
        };
        let lesser = |a: usize, b: usize| if self.firsts[b] < self.firsts[a] { b } else { a };
        self.first = lesser(lesser(lesser(0, 1), lesser(2, 3)), HEAP);
        self.next = time_of(self.firsts[self.first]);
        let (_, timer) = timer?;
        self.entering -= u64::from(matches!(timer, Timer::Enter(_)));
        Some(timer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_go_off_by_time_then_in_the_order_in_which_they_were_set() {
        let mut timers = Timers::default();
        assert_eq!(timers.next(), Time::MAX);
        let kinds = [Timer::Enter, Timer::Served, Timer::Answer];
        let mut set = Vec::new();
        let times = [5, 3, 5, 3, 9, 4, 9, 3, 1, 9, 5, 4, 2, 5, 9, 1, 4, 3, 5, 2];
        for (handle, at) in (0..).zip(times) {
            let timer = match handle % 5 {
                3 => Timer::Buffer(SetId::new(handle)),
                4 => Timer::Search(PlaneId::new(handle)),
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

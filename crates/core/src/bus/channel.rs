//! A channel that is scheduled at the moments at which its bus is free.
//!
//! Each lane (a chip, or a die that works on its own) serves one operation. Whenever the bus is
//! free, a [`BusPolicy`] chooses one lane among those whose next request can be sent. The caller
//! knows the time: how long a request holds the bus, and when the array of a lane is done.

use super::policy::{BusPolicy, Candidate, ChannelView};
use super::request::{BusClass, BusKind, BusRequest, Operation, Served};
use crate::units::{Span, Time};

/// How long bus requests hold the bus.
pub trait Sequencer {
    /// The time that a request holds the bus.
    fn duration(&mut self, request: &BusRequest) -> Span;
}

/// Constant times for each kind of request, and for a byte of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedTimes {
    /// By number of the kind, without its data.
    pub kinds: [Span; BusKind::ALL.len()],
    /// Picoseconds of a byte of a data request; the sum is rounded up.
    pub ps_per_byte: u64,
}

impl FixedTimes {
    /// The time of a request of a kind that moves so many bytes.
    pub const fn of(&self, kind: BusKind, bytes: u32) -> Span {
        let data = (bytes as u64 * self.ps_per_byte).div_ceil(1_000);
        Span::from_ns(self.kinds[kind.index()].as_ns() + data)
    }
}

impl Sequencer for FixedTimes {
    fn duration(&mut self, request: &BusRequest) -> Span {
        self.of(request.kind, request.bytes)
    }
}

/// How far the operations of one channel, or of several, have come. Where they share it, they are
/// ordered among each other.
#[derive(Clone, Copy, Debug, Default)]
pub struct Order {
    taken: u64,
    wanted: u64,
    started: u64,
    completed: u64,
    /// When the request that started, or completed, the last one has left its bus.
    started_at: Time,
    completed_at: Time,
}

impl Order {
    /// Operations that have been taken and are not complete.
    pub const fn outstanding(&self) -> u64 {
        self.taken - self.completed
    }

    /// When requests that are on a bus now will have started or completed operations.
    pub fn settles(&self, now: Time) -> Time {
        let ahead = [self.started_at, self.completed_at].into_iter().filter(|at| *at > now);
        ahead.min().unwrap_or(Time::MAX)
    }

    /// Operations that have been started, and that are complete, at an instant.
    fn at(&self, now: Time) -> (u64, u64) {
        let less = |count: u64, at: Time| count - u64::from(at > now);
        (less(self.started, self.started_at), less(self.completed, self.completed_at))
    }
}

/// What is kept of a lane.
#[derive(Clone, Copy, Debug)]
pub struct Lane {
    served: Option<Served>,
    number: u64,
    /// The place of its next request in the order of need, where it can be sent.
    wanted: Option<u64>,
}

impl Lane {
    /// A lane that serves no operation.
    pub const IDLE: Self = Self { served: None, number: 0, wanted: None };

    /// The operation that it serves.
    pub const fn served(&self) -> Option<&Served> {
        self.served.as_ref()
    }
}

/// A request that takes the bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The request.
    pub request: BusRequest,
    /// When it takes the bus.
    pub from: Time,
    /// When it leaves the bus.
    pub until: Time,
    /// Whether the array of its lane begins to work then. The caller says with
    /// [`Channel::ready`] when that is over.
    pub starts_array: bool,
    /// Whether its operation is complete then.
    pub completes: bool,
}

/// A channel over lent memory: its lanes, and a candidate for each.
#[derive(Clone, Debug)]
pub struct Channel<L, C> {
    number: u32,
    lanes: L,
    candidates: C,
    free: Time,
    last_data: usize,
}

impl<L, C> Channel<L, C>
where
    L: AsRef<[Lane]> + AsMut<[Lane]>,
    C: AsRef<[Option<Candidate>]> + AsMut<[Option<Candidate>]>,
{
    /// An idle channel of this number.
    pub fn new(number: u32, mut lanes: L, candidates: C) -> Self {
        let count = lanes.as_ref().len();
        assert!(count > 0, "a channel has lanes");
        assert_eq!(candidates.as_ref().len(), count, "a candidate for each lane");
        lanes.as_mut().fill(Lane::IDLE);
        Self { number, lanes, candidates, free: Time::ZERO, last_data: count - 1 }
    }

    /// When the bus is free.
    pub const fn free(&self) -> Time {
        self.free
    }

    /// The lane that moved data last.
    pub const fn last_data(&self) -> usize {
        self.last_data
    }

    /// From here the turns of lanes go on.
    pub fn set_last_data(&mut self, lane: usize) {
        self.last_data = lane.min(self.lanes.as_ref().len() - 1);
    }

    /// A lane.
    pub fn lane(&self, lane: usize) -> &Lane {
        &self.lanes.as_ref()[lane]
    }

    /// Whether the next request of any lane can be sent.
    pub fn has_candidates(&self) -> bool {
        self.lanes.as_ref().iter().any(|lane| lane.wanted.is_some())
    }

    /// A lane that serves none takes an operation, whose first request can be sent.
    pub fn take(&mut self, lane: usize, operation: &Operation, order: &mut Order) {
        let state = &mut self.lanes.as_mut()[lane];
        debug_assert!(state.served.is_none(), "a lane serves one operation");
        *state = Lane { served: Some(Served::new(*operation)), number: order.taken, wanted: None };
        order.taken += 1;
        self.ready(lane, order);
    }

    /// The array of a lane is done, as far as the controller knows: its next request can be sent.
    pub fn ready(&mut self, lane: usize, order: &mut Order) {
        let state = &mut self.lanes.as_mut()[lane];
        debug_assert!(state.wanted.is_none(), "a lane is ready once");
        state.wanted = Some(order.wanted);
        order.wanted += 1;
    }

    /// The operation of a lane is complete, if it has one, without further requests.
    pub fn end(&mut self, lane: usize, order: &mut Order) {
        let state = &mut self.lanes.as_mut()[lane];
        if state.served.is_some() {
            *state = Lane::IDLE;
            order.completed += 1;
        }
    }

    /// Takes the operation of a lane away, which waits for its array. Nothing of it is sent before
    /// [`Self::put`].
    pub fn set_aside(&mut self, lane: usize) -> Lane {
        core::mem::replace(&mut self.lanes.as_mut()[lane], Lane::IDLE)
    }

    /// A lane that serves none goes on with an operation that was set aside.
    pub fn put(&mut self, lane: usize, aside: Lane) {
        let state = &mut self.lanes.as_mut()[lane];
        debug_assert!(state.served.is_none(), "a lane serves one operation");
        *state = aside;
    }

    /// The lane that the policy serves now; none where the bus is in use or the policy waits.
    pub fn pick(&mut self, policy: &impl BusPolicy, order: &Order, now: Time) -> Option<usize> {
        if now < self.free {
            return None;
        }
        let lanes = self.lanes.as_ref();
        let candidates = self.candidates.as_mut();
        for (candidate, lane) in candidates.iter_mut().zip(lanes) {
            *candidate = lane.wanted.and_then(|wanted| {
                let served = lane.served?;
                Some(Candidate {
                    number: lane.number,
                    stream: served.operation().stream,
                    since: served.operation().since,
                    kind: served.next()?,
                    started: served.is_started(),
                    wanted,
                })
            });
        }
        let (started, completed) = order.at(now);
        let last_data = self.last_data;
        let lane = policy.pick(&ChannelView { candidates, started, completed, last_data })?;
        assert!(candidates[lane].is_some(), "the policy picks a lane that can be served");
        Some(lane)
    }

    /// The request that a lane sends next.
    pub fn next_request(&self, lane: usize) -> BusRequest {
        let served = self.lane(lane).served.as_ref().expect("the lane serves an operation");
        served.request(served.next().expect("a request is left"), self.number)
    }

    /// The next request of a lane takes the bus at `from` for a time. Behind a status request
    /// nothing is sent before [`Self::ready`]: the data of a read, or the status again where the
    /// answer is that the chip is busy.
    pub fn send(
        &mut self,
        lane: usize,
        (from, duration): (Time, Span),
        is_busy: bool,
        order: &mut Order,
    ) -> Sent {
        let request = self.next_request(lane);
        let until = from + duration;
        if until > from {
            self.free = until;
        }
        if request.kind.class() == BusClass::Data {
            self.last_data = lane;
        }
        let state = &mut self.lanes.as_mut()[lane];
        state.wanted = None;
        let mut sent = Sent { request, from, until, starts_array: false, completes: false };
        if is_busy {
            return sent;
        }
        let served = state.served.as_mut().expect("the lane serves an operation");
        sent.starts_array = served.starts_array();
        sent.completes = served.sent();
        if sent.starts_array {
            order.started += 1;
            order.started_at = until;
        } else if sent.completes {
            *state = Lane::IDLE;
            order.completed += 1;
            order.completed_at = until;
        } else if request.kind != BusKind::Status {
            state.wanted = Some(order.wanted);
            order.wanted += 1;
        }
        sent
    }
}

#[cfg(test)]
mod tests;

//! The host's side: submission queues, arbitration and the link.
//!
//! A request is issued by the host (its arrival), fetched by the device when the submission queue
//! of its stream and the device have a place for it, crosses the link with its data if it writes,
//! and enters the host queue. Its answer crosses the link too, with the data of a read. Each
//! direction of the link carries one request's data at a time, in the order of need.

use super::Device;
use super::timers::{Timer, Timers};
use crate::config::{Arbitration, Duplex, InterfaceKeys, Transfer};
use crate::metrics::parts::Part;
use crate::stream::{Feed, Pacing, StreamKeys};
use flashyard_core::request::{Request, RequestOp, SECTOR_BYTES};
use flashyard_core::units::{Span, Time};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Requests that a stream of pacing `fast` keeps outstanding where the submission queue has no
/// limit: those of the largest queue that NVM Express has.
const LARGEST_QUEUE: u64 = 65_535;

/// A stream as the device sees it.
#[derive(Debug)]
struct Lane {
    keys: StreamKeys,
    /// Issued so far.
    issued: u64,
    /// Issued and not answered.
    outstanding: u64,
    /// Fetched and not answered.
    fetched: u64,
    /// Issued and not fetched.
    waiting: VecDeque<u32>,
    last_issue: Time,
    /// When the last `depth` requests were answered, by number modulo depth; [`Time::MAX`] for not
    /// yet. Pacing `think` only.
    answered_at: Vec<Time>,
}

/// What the host's side knows of a request, beside its entry in `pending`.
#[derive(Clone, Copy, Debug, Default)]
struct Ticket {
    lane: u32,
    /// Its place in the stream.
    number: u64,
    /// Time on the way to the device, waiting for the link included.
    link_ns: u64,
    /// Whether its answer is on the way back.
    answering: bool,
}

/// The place of a request in the queue, where the host policy looks at it.
#[derive(Clone, Copy, Debug, Default)]
struct QueuePlace {
    /// When it came into the queue.
    entered: Time,
    /// Requests that came before it.
    number: u64,
    /// The slot that it took.
    slot: u32,
}

/// The host's side of the device.
#[derive(Debug)]
pub(super) struct Host {
    keys: InterfaceKeys,
    lanes: Vec<Lane>,
    tickets: Vec<Ticket>,
    queue_places: Vec<QueuePlace>,
    /// Requests that came into the queue.
    entered: u64,
    pub(super) timers: Timers,
    /// Whether a depth is limited; without, requests are fetched as they are issued.
    limited: bool,
    has_link: bool,
    /// Whether the data of each page access crosses the link by itself.
    pub(super) carries_pages: bool,
    /// Whether a request was answered that may let another one be issued or fetched.
    pub(super) stirred: bool,
    /// Whether every answer counts as such.
    pub(super) watched: bool,
    fetched: u64,
    /// The stream that was served last, and how many of its requests in a row.
    turn: usize,
    served: u64,
    /// When the link has nothing left to carry, to the device and back.
    link_free: [Time; 2],
    /// Sectors of writes that were answered in this phase.
    pub(super) written: u64,
    /// Of the host queue.
    queue_slots: QueueSlots,
}

/// Slots of a queue that may grow without a limit: the lowest free one is taken.
#[derive(Debug, Default)]
struct QueueSlots {
    free: BinaryHeap<Reverse<u32>>,
    used: u32,
}

impl QueueSlots {
    fn take(&mut self) -> u32 {
        self.free.pop().map_or_else(
            || {
                self.used += 1;
                self.used - 1
            },
            |slot| slot.0,
        )
    }

    fn give_back(&mut self, slot: u32) {
        self.free.push(Reverse(slot));
    }
}

impl Host {
    pub(super) fn new(keys: InterfaceKeys) -> Self {
        Self {
            keys,
            lanes: Vec::new(),
            tickets: Vec::new(),
            queue_places: Vec::new(),
            entered: 0,
            timers: Timers::default(),
            limited: keys.queue_depth > 0 || keys.fetch_depth > 0,
            has_link: keys.link_ps_per_byte > 0 || keys.link_latency_ns > 0,
            carries_pages: keys.transfer == Transfer::Page && keys.link_ps_per_byte > 0,
            stirred: false,
            watched: false,
            fetched: 0,
            turn: 0,
            served: 0,
            link_free: [Time::ZERO; 2],
            written: 0,
            queue_slots: QueueSlots::default(),
        }
    }

    /// A phase of these streams begins.
    pub(super) fn begin(&mut self, start: Time, streams: impl Iterator<Item = StreamKeys>) {
        self.lanes.clear();
        self.lanes.extend(streams.map(|keys| {
            let remembered = if keys.pacing == Pacing::Think { keys.depth } else { 0 };
            let remembered = usize::try_from(remembered).expect("a depth is small");
            Lane {
                keys,
                issued: 0,
                outstanding: 0,
                fetched: 0,
                waiting: VecDeque::new(),
                last_issue: start,
                answered_at: vec![start; remembered],
            }
        }));
        self.turn = self.lanes.len().saturating_sub(1);
        self.served = u64::MAX;
        self.written = 0;
        // Whatever is due at once is found by the first look.
        self.stirred = true;
    }

    /// When the next request of a stream is issued; [`Time::MAX`] where there is none or an answer
    /// must come first.
    pub(super) fn due<E>(&self, lane: usize, feed: &Feed<'_, E>, start: Time, now: Time) -> Time {
        let Some(request) = &feed.next else { return Time::MAX };
        let lane = &self.lanes[lane];
        let below = |depth| if lane.outstanding < depth { now } else { Time::MAX };
        match lane.keys.pacing {
            Pacing::Open => start.saturating_add(request.arrival.since(Time::ZERO)),
            Pacing::Closed => below(lane.keys.depth),
            Pacing::Fast => match self.keys.queue_depth {
                0 => below(LARGEST_QUEUE),
                depth => below(depth),
            },
            Pacing::Think => {
                let answered = lane.answered_at[lane.remembers(lane.issued)];
                lane.last_issue.max(answered.saturating_add(feed.gap))
            }
        }
    }

    /// The stream that a request is fetched from next.
    fn next_lane(&mut self) -> Option<usize> {
        let below = |count: u64, limit: u64| limit == 0 || count < limit;
        if !below(self.fetched, self.keys.fetch_depth) {
            return None;
        }
        let weighted = self.keys.arbitration == Arbitration::Weighted;
        let stays = weighted && self.served < self.lanes[self.turn].keys.weight;
        let first = self.turn + usize::from(!stays);
        let count = self.lanes.len();
        let found = (first..first + count).map(|place| place % count).find(|&place| {
            let lane = &self.lanes[place];
            !lane.waiting.is_empty() && below(lane.fetched, self.keys.queue_depth)
        })?;
        self.served = if stays && found == self.turn { self.served + 1 } else { 1 };
        self.turn = found;
        Some(found)
    }

    /// Takes the link for the data of a request, from `now` on; returns when all of it and the
    /// request or answer have crossed.
    fn cross(&mut self, back: bool, sectors: u32, now: Time) -> Time {
        let sectors = if self.carries_pages { 0 } else { sectors };
        self.carry(back, sectors, now) + Span::from_ns(self.keys.link_latency_ns)
    }

    /// Takes the link for data from `now` on; returns when it has nothing left to carry.
    pub(super) fn carry(&mut self, back: bool, sectors: u32, now: Time) -> Time {
        let direction = usize::from(back && self.keys.duplex == Duplex::Full);
        let bytes = u128::from(sectors) * u128::from(SECTOR_BYTES);
        let ns = (bytes * u128::from(self.keys.link_ps_per_byte)).div_ceil(1_000);
        let mut sent = now;
        if ns > 0 {
            let free = self.link_free[direction].max(now);
            sent = free + Span::from_ns(u64::try_from(ns).expect("sizes and rates are limited"));
            self.link_free[direction] = sent;
        }
        sent
    }
}

impl Lane {
    /// The place where the answer that request `number` waits for is remembered, and its own.
    fn remembers(&self, number: u64) -> usize {
        usize::try_from(number % self.keys.depth).expect("a depth is small")
    }
}

impl Device {
    /// The host issues a request of a stream.
    pub(super) fn submit(&mut self, handle: u32, lane: usize) {
        let host = &mut self.host;
        if host.tickets.len() <= handle as usize {
            host.tickets.resize(self.pending.len(), Ticket::default());
        }
        let state = &mut host.lanes[lane];
        host.tickets[handle as usize] = Ticket {
            lane: u32::try_from(lane).expect("streams are few"),
            number: state.issued,
            link_ns: 0,
            answering: false,
        };
        if state.keys.pacing == Pacing::Think {
            let place = state.remembers(state.issued);
            state.answered_at[place] = Time::MAX;
        }
        state.issued += 1;
        state.outstanding += 1;
        state.last_issue = self.now;
        if host.limited {
            state.waiting.push_back(handle);
        } else {
            self.send(handle);
        }
    }

    /// Fetches requests as long as there are any and places for them.
    pub(super) fn fetch(&mut self) {
        while self.host.limited
            && let Some(lane) = self.host.next_lane()
        {
            let lane = &mut self.host.lanes[lane];
            let handle = lane.waiting.pop_front().expect("a request waits");
            lane.fetched += 1;
            self.host.fetched += 1;
            self.send(handle);
        }
    }

    /// A request sets out for the device.
    fn send(&mut self, handle: u32) {
        if self.host.has_link {
            let request = &self.pending[handle as usize].request;
            let sectors = carried(request, RequestOp::Write);
            let there = self.host.cross(false, sectors, self.now);
            if there > self.now {
                self.host.tickets[handle as usize].link_ns = there.since(self.now).as_ns();
                self.host.timers.set(there, Timer::Enter(handle));
                return;
            }
        }
        self.enter_queue(handle);
    }

    /// A request has come to the device.
    fn enter_queue(&mut self, handle: u32) {
        if let Some(checker) = &mut self.checker {
            checker.entered(self.pending[handle as usize].order);
        }
        if !self.host_policy.is_fifo() {
            self.take_queue_place(handle);
        }
        self.waiting_requests.push_back(handle);
    }

    fn take_queue_place(&mut self, handle: u32) {
        let host = &mut self.host;
        if host.queue_places.len() <= handle as usize {
            host.queue_places.resize(self.pending.len(), QueuePlace::default());
        }
        let slot = if self.host_policy.in_order() { 0 } else { host.queue_slots.take() };
        host.queue_places[handle as usize] =
            QueuePlace { entered: self.now, number: host.entered, slot };
        host.entered += 1;
    }

    /// Requests that came into the queue before this one.
    pub(super) fn queue_number(&self, handle: u32) -> u64 {
        self.host.queue_places[handle as usize].number
    }

    /// When a request came into the queue, and the slot that it took there.
    pub(super) fn place_in_queue(&self, handle: u32) -> (Time, u32) {
        let place = &self.host.queue_places[handle as usize];
        (place.entered, place.slot)
    }

    /// Time on the way to the device.
    pub(super) fn link_ns(&self, handle: u32) -> u64 {
        self.host.tickets[handle as usize].link_ns
    }

    /// Everything whose time has come.
    pub(super) fn timers_go_off(&mut self) {
        while let Some(timer) = self.host.timers.take(self.now) {
            match timer {
                Timer::Enter(handle) => self.enter_queue(handle),
                Timer::Answer(handle) => self.answer(handle),
                Timer::Buffer(set) => self.access_over(set),
                Timer::Linked(set) => self.link_over(set),
                Timer::Dispatched => self.started.dispatching = false,
                Timer::Quiet => self.quiet_over(),
                // Whoever looks at ports looks again.
                Timer::Port => {}
                Timer::Search(plane) => self.search_over(plane),
                Timer::Sought(set) => self.sought(set),
            }
            self.wake_due();
        }
    }

    /// The work of a request is done. Returns whether its answer has yet to cross the link;
    /// [`Timer::Answer`] then says when it has.
    pub(super) fn sends_answer(&mut self, handle: u32) -> bool {
        let ticket = &mut self.host.tickets[handle as usize];
        if !self.host.has_link || ticket.answering {
            return false;
        }
        ticket.answering = true;
        let request = &mut self.pending[handle as usize];
        let sectors = carried(&request.request, RequestOp::Read);
        let there = self.host.cross(true, sectors, self.now);
        request.parts.add(Part::Link, there.since(self.now).as_ns());
        let later = there > self.now;
        if later {
            self.host.timers.set(there, Timer::Answer(handle));
        }
        later
    }

    /// The host has the answer of a request.
    pub(super) fn answer_came(&mut self, handle: u32) {
        let request = &self.pending[handle as usize].request;
        let host = &mut self.host;
        let ticket = host.tickets[handle as usize];
        let lane = &mut host.lanes[ticket.lane as usize];
        lane.outstanding -= 1;
        if !self.host_policy.in_order() {
            host.queue_slots.give_back(host.queue_places[handle as usize].slot);
        }
        if host.limited {
            lane.fetched -= 1;
            host.fetched -= 1;
        }
        if lane.keys.pacing == Pacing::Think {
            let place = lane.remembers(ticket.number);
            lane.answered_at[place] = self.now;
        }
        host.stirred |= host.limited || host.watched || lane.keys.pacing != Pacing::Open;
        if let Some(series) = &mut self.series {
            let ns = self.now.since(request.arrival).as_ns();
            series.answered(request.op, request.sectors, ns);
        }
        if request.op == RequestOp::Write {
            host.written += u64::from(request.sectors);
        }
        if host.lanes.len() > 1 {
            let ns = self.now.since(request.arrival).as_ns();
            let pending = &self.pending[handle as usize];
            self.totals.stream_answered(ticket.lane as usize, pending, ns);
        }
    }
}

/// Sectors that a request carries in the direction of `op`.
fn carried(request: &Request, op: RequestOp) -> u32 {
    if request.op == op { request.sectors } else { 0 }
}

//! The host's side: submission queues, arbitration and the link.
//!
//! A request is issued by the host (its arrival), fetched by the device when the submission queue
//! of its stream and the device have a place for it, crosses the link with its data if it writes,
//! and enters the host queue. Its answer crosses the link too, with the data of a read. Each
//! direction of the link carries one request's data at a time, in the order of need.

pub(crate) mod buffered_reads;
pub(crate) mod overlaps;
pub(crate) mod request;
pub(crate) mod started;
pub(crate) mod timers;

use crate::config::{Arbitration, Duplex, InterfaceKeys, Transfer};
use crate::handle::RequestId;
use crate::policy::HostRule;
use crate::stream::{Feed, Pacing, StreamKeys};
use buffered_reads::BufferedReads;
use flashyard_core::request::SECTOR_BYTES;
use flashyard_core::units::{Span, Time};
pub(crate) use request::Pending;
use started::Started;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::ops::{Index, IndexMut};
use timers::Timers;

/// Requests that a stream of pacing `fast` keeps outstanding where the submission queue has no
/// limit: those of the largest queue that NVM Express has.
pub(crate) const LARGEST_QUEUE: u64 = 65_535;

/// A stream as the device sees it.
#[derive(Debug)]
pub(crate) struct Lane {
    pub(crate) keys: StreamKeys,
    /// Issued so far.
    pub(crate) issued: u64,
    /// Issued and not answered.
    pub(crate) outstanding: u64,
    /// Fetched and not answered.
    pub(crate) fetched: u64,
    /// Issued and not fetched.
    pub(crate) waiting: VecDeque<RequestId>,
    pub(crate) last_issue: Time,
    /// When the last `depth` requests were answered, by number modulo depth; [`Time::MAX`] for not
    /// yet. Pacing `think` only.
    pub(crate) answered_at: Vec<Time>,
}

/// What the host's side knows of a request, beside its entry in `pending`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ticket {
    pub(crate) lane: u32,
    /// Its place in the stream.
    pub(crate) number: u64,
    /// Time on the way to the device, waiting for the link included.
    pub(crate) link_ns: u64,
    /// Whether its answer is on the way back.
    pub(crate) answering: bool,
}

/// The place of a request in the queue, where the host policy looks at it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct QueuePlace {
    /// When it came into the queue.
    pub(crate) entered: Time,
    /// Requests that came before it.
    pub(crate) number: u64,
    /// The slot that it took.
    pub(crate) slot: u32,
}

/// The host's side of the device.
pub(crate) struct Host {
    pub(crate) keys: InterfaceKeys,
    pub(crate) lanes: Vec<Lane>,
    pub(crate) tickets: Vec<Ticket>,
    pub(crate) queue_places: Vec<QueuePlace>,
    /// Requests that came into the queue.
    pub(crate) entered: u64,
    pub(crate) timers: Timers,
    /// Whether a depth is limited; without, requests are fetched as they are issued.
    pub(crate) limited: bool,
    pub(crate) has_link: bool,
    /// Whether the data of each page access crosses the link by itself.
    pub(crate) carries_pages: bool,
    /// Whether a request was answered that may let another one be issued or fetched.
    pub(crate) stirred: bool,
    /// Whether every answer counts as such.
    pub(crate) watched: bool,
    pub(crate) fetched: u64,
    /// The stream that was served last, and how many of its requests in a row.
    pub(crate) turn: usize,
    pub(crate) served: u64,
    /// When the link has nothing left to carry, to the device and back.
    pub(crate) link_free: [Time; 2],
    /// Sectors of writes that were answered in this phase.
    pub(crate) written: u64,
    /// Of the host queue.
    pub(crate) queue_slots: QueueSlots,
    pub(crate) policy: HostRule,
    /// Requests under way, and the first free entry.
    pub(crate) pending: Vec<Pending>,
    pub(crate) free_pending: Option<RequestId>,
    /// The host queue.
    pub(crate) waiting: VecDeque<RequestId>,
    /// The request that is being translated.
    pub(crate) translating: Option<RequestId>,
    pub(crate) started: Started,
    pub(crate) buffered_reads: BufferedReads,
    /// Requests that have arrived and are not answered, and how many have arrived.
    pub(crate) outstanding: u64,
    pub(crate) arrived: u64,
    /// Whether no stream has a request left.
    pub(crate) exhausted: bool,
}

/// Slots of a queue that may grow without a limit: the lowest free one is taken.
#[derive(Debug, Default)]
pub(crate) struct QueueSlots {
    pub(crate) free: BinaryHeap<Reverse<u32>>,
    pub(crate) used: u32,
}

impl QueueSlots {
    pub(crate) fn take(&mut self) -> u32 {
        self.free.pop().map_or_else(
            || {
                self.used += 1;
                self.used - 1
            },
            |slot| slot.0,
        )
    }

    pub(crate) fn give_back(&mut self, slot: u32) {
        self.free.push(Reverse(slot));
    }
}

impl Index<RequestId> for Host {
    type Output = Pending;

    #[inline]
    fn index(&self, request: RequestId) -> &Pending {
        &self.pending[request.index()]
    }
}

impl IndexMut<RequestId> for Host {
    #[inline]
    fn index_mut(&mut self, request: RequestId) -> &mut Pending {
        &mut self.pending[request.index()]
    }
}

impl Host {
    pub(crate) fn new(keys: InterfaceKeys, policy: HostRule) -> Self {
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
            policy,
            pending: Vec::new(),
            free_pending: None,
            waiting: VecDeque::new(),
            translating: None,
            started: Started::NONE,
            buffered_reads: BufferedReads::default(),
            outstanding: 0,
            arrived: 0,
            exhausted: false,
        }
    }

    /// Takes up a request that has arrived.
    pub(crate) fn open(&mut self, request: Pending) -> RequestId {
        let Some(free) = self.free_pending else {
            self.pending.push(request);
            let place = self.pending.len() - 1;
            return RequestId::new(u32::try_from(place).expect("fewer than 2^32 requests wait"));
        };
        self.free_pending = self[free].link;
        self[free] = request;
        free
    }

    /// Forgets a request.
    pub(crate) fn close(&mut self, request: RequestId) {
        self[request].order = u64::MAX;
        self[request].link = self.free_pending.replace(request);
    }

    /// A request by its handle and order of arrival, while it is not forgotten.
    pub(crate) fn live(&self, (request, order): (RequestId, u64)) -> Option<RequestId> {
        (self[request].order == order).then_some(request)
    }

    /// A phase of these streams begins.
    pub(crate) fn begin(&mut self, start: Time, streams: impl Iterator<Item = StreamKeys>) {
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
    pub(crate) fn due<E>(&self, lane: usize, feed: &Feed<'_, E>, start: Time, now: Time) -> Time {
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
    pub(crate) fn next_lane(&mut self) -> Option<usize> {
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
    pub(crate) fn cross(&mut self, back: bool, sectors: u32, now: Time) -> Time {
        let sectors = if self.carries_pages { 0 } else { sectors };
        self.carry(back, sectors, now) + Span::from_ns(self.keys.link_latency_ns)
    }

    /// Takes the link for data from `now` on; returns when it has nothing left to carry.
    pub(crate) fn carry(&mut self, back: bool, sectors: u32, now: Time) -> Time {
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
    pub(crate) fn remembers(&self, number: u64) -> usize {
        usize::try_from(number % self.keys.depth).expect("a depth is small")
    }
}

//! The host's side: submission queues, the link, the host queue, and the requests under way.
//!
//! A request is issued by the host (its arrival), fetched by the device when the submission queue
//! of its stream and the device have a place for it, crosses the link with its data if it writes,
//! is served by a core of the firmware, and enters the host queue, from where the host policy
//! starts it. Its answer crosses the link too, with the data of a read. Each direction of the link
//! carries one request's data at a time, in the order of need.

mod buffered_reads;
mod die_limit;
mod firmware;
mod gaps;
mod lanes;
mod overlaps;
mod queue;
mod rate;
mod request;
mod sleep;
mod started;
mod timers;

use crate::config::{HostChoice, InterfaceKeys, Settings, Transfer};
use crate::handle::RequestId;
use crate::metrics::parts::{Part, Parts};
use crate::parts::policy::HostRule;
use crate::sleep::Sleep;
use buffered_reads::BufferedReads;
use die_limit::DieLimit;
use firmware::Firmware;
use flashyard_core::request::Request;
use flashyard_core::units::{Lpn, Time};
pub(crate) use lanes::{Answer, Carried};
use lanes::{Lane, Ticket};
use overlaps::Overlaps;
use queue::{QueuePlace, QueueSlots};
pub(crate) use request::Pending;
use started::StartedPages;
use std::collections::VecDeque;
use std::ops::{Index, IndexMut};
pub(crate) use timers::Timer;
use timers::Timers;

/// The host's side of the device.
#[derive(Clone)]
pub(crate) struct Host {
    keys: InterfaceKeys,
    dispatcher: HostChoice,
    policy: HostRule,
    pub(crate) timers: Timers,
    /// Requests under way, and the first free entry.
    pending: Vec<Pending>,
    free_pending: Option<RequestId>,
    /// Requests that have arrived and are not answered, and how many have arrived.
    outstanding: u64,
    arrived: u64,
    /// Whether no stream has a request left.
    exhausted: bool,
    lanes: Vec<Lane>,
    tickets: Vec<Ticket>,
    /// Whether a depth or a rate is limited; without, requests are fetched as they are issued.
    limited: bool,
    /// Whether a request of the only stream is fetched as it is issued where there is a place.
    direct: bool,
    /// What waits for dies, where that is limited.
    die_limit: Option<Box<DieLimit>>,
    has_link: bool,
    /// The firmware's cores, where they take time.
    firmware: Option<Box<Firmware>>,
    /// Whether the data of each page access crosses the link by itself.
    carries_pages: bool,
    /// Whether something happened that may let a request be issued or fetched.
    stirred: bool,
    /// Streams that may issue again: a request of theirs was answered or fetched since the last
    /// look.
    answered: Vec<u32>,
    /// Streams that a request may be fetched from, a bit each.
    fetchable: Vec<u64>,
    /// Whether every answer counts as such.
    watched: bool,
    fetched: u64,
    /// The stream that was served last, and how many of its requests in a row.
    turn: usize,
    served: u64,
    /// When the link has nothing left to carry, to the device and back.
    link_free: [Time; 2],
    /// What the link has begun to carry since the last look, where somebody looks.
    carried: Option<Carried>,
    notes_carried: bool,
    /// The sleep of the device, which keeps requests waiting on their way to it.
    sleep: Option<Box<Sleep>>,
    /// Sectors of writes that were answered in this phase.
    written: u64,
    /// Answers, where somebody takes them.
    answers: Option<VecDeque<Answer>>,
    /// The host queue, and how many requests came into it.
    waiting: VecDeque<RequestId>,
    entered: u64,
    queue_places: Vec<QueuePlace>,
    queue_slots: QueueSlots,
    /// The request that is being translated.
    translating: Option<RequestId>,
    /// Whether the dispatcher works on it.
    dispatching: bool,
    /// Requests that are started and not answered, and page accesses that are not over.
    unanswered: u64,
    accesses: u32,
    /// Those requests, where the host policy may leave the order.
    overlaps: Overlaps,
    /// The request that was last picked while it had to wait for another one.
    held_back: Option<RequestId>,
    started_pages: StartedPages,
    buffered_reads: BufferedReads,
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
    pub(crate) fn new(settings: &Settings, policy: HostRule) -> Self {
        let (keys, dispatcher) = (settings.keys.interface, settings.keys.host);
        let die_limit = DieLimit::new(settings);
        Self {
            keys,
            dispatcher,
            policy,
            timers: Timers::default(),
            pending: Vec::new(),
            free_pending: None,
            outstanding: 0,
            arrived: 0,
            exhausted: false,
            lanes: Vec::new(),
            tickets: Vec::new(),
            limited: keys.queue_depth > 0 || keys.fetch_depth > 0 || die_limit.is_some(),
            direct: false,
            die_limit,
            has_link: keys.link_ps_per_byte > 0
                || keys.link_latency_ns > 0
                || settings.keys.energy.link_pj_per_byte > 0
                || settings.keys.sleeps(),
            firmware: Firmware::new(settings),
            carries_pages: keys.transfer != Transfer::Request && keys.link_ps_per_byte > 0,
            stirred: false,
            answered: Vec::new(),
            fetchable: Vec::new(),
            watched: false,
            fetched: 0,
            turn: 0,
            served: 0,
            link_free: [Time::ZERO; 2],
            carried: None,
            notes_carried: settings.keys.energy.link_pj_per_byte > 0,
            sleep: Sleep::new(settings.keys.sleep_levels()).map(Box::new),
            written: 0,
            answers: None,
            waiting: VecDeque::new(),
            entered: 0,
            queue_places: Vec::new(),
            queue_slots: QueueSlots::default(),
            translating: None,
            dispatching: false,
            unanswered: 0,
            accesses: 0,
            overlaps: Overlaps::NONE,
            held_back: None,
            started_pages: StartedPages::default(),
            buffered_reads: BufferedReads::default(),
        }
    }

    /// The host policy.
    #[inline]
    pub(crate) const fn policy(&self) -> &HostRule {
        &self.policy
    }

    /// Requests that have arrived and are not answered.
    #[inline]
    pub(crate) const fn outstanding(&self) -> u64 {
        self.outstanding
    }

    /// From now on answers are kept for [`Self::take_answer`], or no longer.
    pub(crate) fn keep_answers(&mut self, kept: bool) {
        self.answers = kept.then(VecDeque::new);
    }

    /// Whether an answer waits to be taken.
    #[inline]
    pub(crate) fn has_answers(&self) -> bool {
        self.answers.as_ref().is_some_and(|answers| !answers.is_empty())
    }

    /// The answer that has waited longest to be taken.
    pub(crate) fn take_answer(&mut self) -> Option<Answer> {
        self.answers.as_mut()?.pop_front()
    }

    /// Whether the submission queue of a stream has no place.
    pub(crate) fn queue_is_full(&self, lane: usize) -> bool {
        self.keys.queue_depth > 0 && self.lanes[lane].outstanding >= self.keys.queue_depth
    }

    /// Requests that have arrived.
    pub(crate) const fn arrived(&self) -> u64 {
        self.arrived
    }

    /// Sets how many requests have arrived, on a device that was saved.
    pub(crate) const fn restore_arrived(&mut self, arrived: u64) {
        self.arrived = arrived;
    }

    /// Whether no stream has a request left.
    #[inline]
    pub(crate) const fn is_exhausted(&self) -> bool {
        self.exhausted
    }

    /// Whether a stream has a request left has changed.
    pub(crate) const fn set_exhausted(&mut self, exhausted: bool) {
        self.exhausted = exhausted;
    }

    /// The request that has waited longest for its answer.
    pub(crate) fn oldest_unanswered(&self) -> u64 {
        let unanswered = self.pending.iter().filter(|request| request.answered.is_none());
        unanswered.map(|request| request.order).min().unwrap_or(self.arrived)
    }
}

/// The life of a request.
impl Host {
    /// A request arrives that touches these pages.
    #[expect(clippy::inline_always, reason = "once a request, with large arguments")]
    #[inline(always)]
    pub(crate) fn open(&mut self, request: &Request, first: Lpn, pages: u32) -> RequestId {
        let order = self.arrived;
        self.arrived += 1;
        self.outstanding += 1;
        let Some(free) = self.free_pending else {
            self.pending.push(Pending::new(request, order, first, pages));
            let place = self.pending.len() - 1;
            return RequestId::new(u32::try_from(place).expect("fewer than 2^32 requests wait"));
        };
        let entry = &mut self.pending[free.index()];
        self.free_pending = entry.link;
        *entry = Pending::new(request, order, first, pages);
        free
    }

    /// Charges the time since the arrival of a request to the parts of a set that is made now.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a step of each access; a call costs as much")]
    pub(crate) fn charge_until(&self, now: Time, handle: RequestId, parts: &mut Parts) {
        let request = &self[handle];
        let all = now.since(request.request.arrival).as_ns();
        parts.add(Part::MapStall, request.stalled_ns);
        parts.add(Part::Flush, request.flush_ns);
        let link = self.tickets[handle.index()].link_ns;
        parts.add(Part::Link, link);
        let cores = self.firmware.as_ref().map_or(0, |cores| cores.spent_ns(handle));
        let firmware = self.dispatcher.dispatch_ns + cores;
        parts.add(Part::Firmware, firmware);
        let known = link + firmware + request.stalled_ns + request.flush_ns;
        parts.add(Part::HostQueue, all - known);
    }

    /// The set of a page access has been made.
    #[inline]
    pub(crate) fn access_begins(&mut self, handle: RequestId) {
        let request = &mut self[handle];
        request.translated += 1;
        request.unfinished += 1;
        self.accesses += 1;
    }

    /// A page access is over.
    #[inline]
    pub(crate) const fn access_ends(&mut self) {
        self.accesses -= 1;
    }

    /// Page accesses that are not over.
    pub(crate) const fn accesses(&self) -> u32 {
        self.accesses
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
}

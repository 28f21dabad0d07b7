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
mod link;
mod nap;
mod overlaps;
mod queue;
mod rate;
mod request;
mod requests;
mod stalls;
mod started;
mod threads;
mod timers;
mod way;

use crate::config::Settings;
use crate::handle::RequestId;
use crate::metrics::counters::Phase;
use crate::metrics::parts::{Part, Parts};
use crate::parts::policy::HostRule;
use crate::saved::{Reader, RestoreError, Writer};
use crate::sleep::{Load, Stretch};
use crate::stream::{Feed, StreamKeys};
use firmware::Firmware;
use flashyard_core::units::{Lpn, Time};
use lanes::Lanes;
pub(crate) use link::Carried;
use link::Link;
pub(crate) use queue::{PageAccess, Turn};
use queue::{Queue, QueuePlace};
pub(crate) use request::Pending;
use requests::Requests;
use std::collections::VecDeque;
use std::ops::{Index, IndexMut};
use threads::Threads;
pub(crate) use timers::Timer;
use timers::Timers;

/// The host's side of the device.
///
/// Each of its parts has its own state; what follows from one part for another is a method here.
#[derive(Clone)]
pub(crate) struct Host {
    requests: Requests,
    /// The submission queues of the streams.
    lanes: Lanes,
    /// Its threads, where submitting and reaping take time.
    threads: Option<Box<Threads>>,
    link: Link,
    /// The firmware's cores, where they take time.
    firmware: Option<Box<Firmware>>,
    /// The host queue.
    queue: Queue,
    timers: Timers,
    /// Answers, where somebody takes them.
    answers: Option<VecDeque<Answer>>,
    /// Whether no stream has a request left.
    exhausted: bool,
}

/// The answer of a request: the request by order of arrival, when the host had it, and the parts of
/// the time until then.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    pub(crate) order: u64,
    pub(crate) at: Time,
    pub(crate) parts: Parts,
}

impl Index<RequestId> for Host {
    type Output = Pending;

    #[inline]
    fn index(&self, request: RequestId) -> &Pending {
        &self.requests[request]
    }
}

impl IndexMut<RequestId> for Host {
    #[inline]
    fn index_mut(&mut self, request: RequestId) -> &mut Pending {
        &mut self.requests[request]
    }
}

impl Host {
    pub(crate) fn new(settings: &Settings, policy: HostRule) -> Self {
        Self {
            requests: Requests::default(),
            lanes: Lanes::new(settings),
            threads: Threads::new(settings),
            link: Link::new(settings),
            firmware: Firmware::new(settings),
            queue: Queue::new(settings, policy),
            timers: Timers::default(),
            answers: None,
            exhausted: false,
        }
    }

    /// From now on answers are kept for [`Self::take_answer`], or no longer.
    pub(crate) fn keep_answers(&mut self, kept: bool) {
        self.answers = kept.then(VecDeque::new);
    }

    /// How many answers wait to be taken.
    #[inline]
    pub(crate) fn answers(&self) -> usize {
        self.answers.as_ref().map_or(0, VecDeque::len)
    }

    /// The answer that has waited longest to be taken.
    pub(crate) fn take_answer(&mut self) -> Option<Answer> {
        self.answers.as_mut()?.pop_front()
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

    /// A timer goes off at an instant.
    #[inline]
    pub(crate) fn set_timer(&mut self, at: Time, timer: Timer) {
        self.timers.set(at, timer);
    }

    /// When the next timer goes off; [`Time::MAX`] where none is set.
    #[inline]
    pub(crate) const fn next_timer(&self) -> Time {
        self.timers.next()
    }
}

/// Requests under way.
impl Host {
    /// Requests that have arrived.
    pub(crate) const fn arrived(&self) -> u64 {
        self.requests.arrived()
    }

    /// Sets how many requests have arrived, on a device that was saved.
    pub(crate) const fn restore_arrived(&mut self, arrived: u64) {
        self.requests.restore_arrived(arrived);
    }

    /// What the device does for now: requests, or nothing before or after the last one.
    #[inline]
    pub(crate) const fn phase(&self) -> Phase {
        match (self.outstanding(), self.exhausted) {
            (0, true) => Phase::Post,
            (0, false) => Phase::Idle,
            _ => Phase::Foreground,
        }
    }

    /// The request that work is charged to, with its order.
    pub(crate) fn charge_of(&self, request: Option<RequestId>) -> Option<(RequestId, u64)> {
        request.map(|request| (request, self[request].order()))
    }

    /// Requests that have arrived and are not answered.
    #[inline]
    pub(crate) const fn outstanding(&self) -> u64 {
        self.requests.outstanding()
    }

    /// The request that has waited longest for its answer.
    pub(crate) fn oldest_unanswered(&self) -> u64 {
        self.requests.oldest_unanswered()
    }

    /// A request by its handle and order of arrival, while it is not forgotten.
    pub(crate) fn live(&self, request: (RequestId, u64)) -> Option<RequestId> {
        self.requests.live(request)
    }

    /// A set of the device's own work is charged to a request, while that is not forgotten. Returns
    /// the request.
    pub(crate) fn charge(&mut self, request: (RequestId, u64)) -> Option<RequestId> {
        let handle = self.requests.live(request)?;
        self.requests[handle].charges += 1;
        Some(handle)
    }

    /// A set of the device's own work that was charged to a request is over.
    pub(crate) fn charge_over(&mut self, request: RequestId) {
        self.requests[request].charges -= 1;
    }

    /// Forgets a request.
    pub(crate) fn close(&mut self, request: RequestId) {
        self.requests.close(request);
    }

    /// The set of a page access of a request has been made. Returns the request.
    #[inline]
    pub(crate) fn access_begins(&mut self, handle: RequestId) -> &mut Pending {
        self.requests.access_begins(handle)
    }

    /// A page access is over.
    #[inline]
    pub(crate) const fn access_ends(&mut self) {
        self.requests.access_ends();
    }

    /// Page accesses that are not over.
    pub(crate) const fn accesses(&self) -> u32 {
        self.requests.accesses()
    }

    /// Charges the time since the arrival of a request to the parts of a set that is made now.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a step of each access; a call costs as much")]
    pub(crate) fn charge_until(&self, now: Time, handle: RequestId, parts: &mut Parts) {
        let request = &self.requests[handle];
        let all = now.since(request.request.arrival).as_ns();
        parts.add(Part::MapStall, request.stalled_ns);
        parts.add(Part::Flush, request.flush_ns);
        let link = request.ticket.link_ns;
        parts.add(Part::Link, link);
        let cores = self.firmware.as_ref().map_or(0, |cores| cores.spent_ns(handle));
        let firmware = self.queue.dispatch_ns() + cores;
        parts.add(Part::Firmware, firmware);
        let known = link + firmware + request.stalled_ns + request.flush_ns;
        parts.add(Part::HostQueue, all - known);
    }
}

/// Streams.
impl Host {
    /// A phase of these streams begins. `watched` is whether every answer is looked at.
    pub(crate) fn begin(
        &mut self,
        start: Time,
        streams: impl Iterator<Item = StreamKeys>,
        watched: bool,
    ) {
        self.lanes.begin(start, streams, watched);
        if let Some(threads) = &mut self.threads {
            threads.begin(self.lanes.streams());
        }
        self.link.begin(start);
        if let Some(firmware) = &mut self.firmware {
            firmware.begin();
        }
    }

    /// Whether the submission queue of a stream has no place.
    pub(crate) fn queue_is_full(&self, lane: usize) -> bool {
        self.lanes.is_full(lane)
    }

    /// When the next request of a stream is issued; [`Time::MAX`] where there is none or an answer
    /// must come first.
    #[inline]
    pub(crate) fn due(&self, lane: usize, feed: &Feed, start: Time, now: Time) -> Time {
        self.lanes.due(lane, feed, start, now)
    }

    /// Whether a request was answered that may let another one be issued or fetched.
    #[inline]
    pub(crate) const fn is_stirred(&self) -> bool {
        self.lanes.is_stirred()
    }

    /// All that may be issued is issued now.
    pub(crate) const fn unstir(&mut self) {
        self.lanes.unstir();
    }

    /// Takes a stream that has had an answer since the last look, which may let it issue.
    #[inline]
    pub(crate) fn next_answered(&mut self) -> Option<u32> {
        self.lanes.next_answered()
    }

    /// Sectors of writes that were answered in this phase.
    pub(crate) const fn written(&self) -> u64 {
        self.lanes.written()
    }

    /// For each stream, how long a request of it waited for its rate limit, in nanoseconds.
    pub(crate) fn held_ns(&self) -> impl Iterator<Item = u64> {
        self.lanes.held_ns()
    }

    /// Fetches a request, if there is one and a place for it. Threads of the host go on.
    #[inline]
    pub(crate) fn fetch(&mut self, now: Time) -> Option<RequestId> {
        if let Some(threads) = &mut self.threads {
            threads.go_on(now, &mut self.timers);
        }
        self.lanes.fetch(now, &self.requests, &mut self.timers)
    }

    /// Whether the page accesses that wait for a die are limited.
    #[inline]
    pub(crate) const fn limits_dies(&self) -> bool {
        self.lanes.limits_dies()
    }

    /// A page access of a request does not wait for its die any more.
    pub(crate) fn left_die(&mut self, handle: RequestId, lpn: Lpn) {
        self.lanes.left_die(handle, lpn, &self.requests);
    }
}

/// The host queue.
impl Host {
    /// The host policy.
    #[inline]
    pub(crate) const fn policy(&self) -> &HostRule {
        self.queue.policy()
    }

    /// A request enters the queue.
    #[inline]
    pub(crate) fn enter_queue(&mut self, handle: RequestId, now: Time) {
        self.queue.enter(handle, now, self.requests.handles());
    }

    /// Whether a request waits or is being translated.
    #[inline]
    pub(crate) fn has_requests(&self) -> bool {
        self.queue.has_requests()
    }

    /// How many requests wait.
    pub(crate) fn waiting(&self) -> usize {
        self.queue.waiting()
    }

    /// The request at a place of the queue.
    pub(crate) fn at(&self, place: usize) -> RequestId {
        self.queue.at(place)
    }

    /// The oldest request that waits.
    pub(crate) fn oldest(&self) -> Option<RequestId> {
        self.queue.oldest()
    }

    /// When a request came into the queue, and the slot that it took there.
    pub(crate) fn place_in_queue(&self, handle: RequestId) -> &QueuePlace {
        self.queue.place(handle)
    }

    /// The units of the writes in the queue that have not been translated, of so many requests.
    pub(crate) fn coming_writes(&self, requests: usize) -> impl Iterator<Item = Lpn> {
        self.queue.coming_writes(requests, &self.requests)
    }

    /// Whether one of the oldest queued requests has an access of a unit that is not started.
    pub(crate) fn is_queued(&self, lpn: Lpn) -> bool {
        self.queue.has_access(lpn, &self.requests)
    }

    /// What comes next.
    #[inline]
    pub(crate) fn next_turn(&mut self) -> Turn {
        self.queue.next()
    }

    /// A request is started, all of it. Returns whether its translation may begin;
    /// [`Timer::Dispatched`] otherwise says when.
    #[inline]
    pub(crate) fn translate(&mut self, handle: RequestId, now: Time) -> bool {
        let work = self.queue.translate(handle);
        if !work.is_zero() {
            self.timers.set(now + work, Timer::Dispatched);
        }
        work.is_zero()
    }

    /// The request that was being translated is.
    #[inline]
    pub(crate) const fn end_translation(&mut self) {
        self.queue.end_translation();
    }

    /// A request is started.
    #[inline]
    pub(crate) fn start(&mut self, handle: RequestId) {
        self.queue.start(handle, &self.requests[handle]);
    }

    /// Takes the request out of the queue that starts where the one at `place` was picked: it, or
    /// an earlier one that it must not overtake. `replaced` is told where that, or a request under
    /// way, keeps the picked one waiting for the first time. There is none where a request under
    /// way has to end first, or pages of it are started one by one.
    pub(crate) fn take_picked(
        &mut self,
        place: usize,
        replaced: impl FnOnce(),
    ) -> Option<RequestId> {
        self.queue.take_picked(place, &self.requests, replaced)
    }

    /// The request at `place` was picked and must wait for another one, or not. Returns whether it
    /// is not the one that had to wait when one was last picked.
    pub(crate) fn hold_back(&mut self, place: usize, held: bool) -> bool {
        self.queue.hold_back(place, held)
    }

    /// Whether a request that is under way conflicts with this one.
    pub(crate) fn is_under_way(&self, handle: RequestId) -> bool {
        self.queue.is_under_way(handle, &self.requests)
    }

    /// The first request that overlaps the one at `place`, where one of the two changes contents.
    pub(crate) fn first_conflict(&self, place: usize) -> Option<usize> {
        self.queue.first_conflict(place, &self.requests)
    }

    /// The access to start in place of this one: an earlier access of that page by another request
    /// that it must not overtake.
    pub(crate) fn earliest_access(&self, place: usize, page: u32) -> PageAccess {
        self.queue.earliest_access(place, page, &self.requests)
    }

    /// The first waiting access of the same page by an earlier request, where one of the two
    /// changes it.
    pub(crate) fn earlier_access(&self, place: usize, page: u32) -> Option<(usize, u32)> {
        self.queue.earlier_access(place, page, &self.requests)
    }

    /// The first page access of a request, from number `from` on, that has not been started.
    pub(crate) fn unstarted_page(&self, handle: RequestId, from: u32) -> Option<u32> {
        self.queue.unstarted(handle, &self.requests[handle], from)
    }

    /// A page access has been started; behind its last one the request leaves the queue.
    pub(crate) fn page_started(&mut self, access: &PageAccess) {
        self.queue.page_started(access, &mut self.requests[access.handle]);
    }

    /// The place in the queue of the request that has the nth of the buffered reads, and the page.
    pub(crate) fn buffered_read(&self, nth: usize) -> Option<(usize, u32)> {
        self.queue.buffered_read(nth)
    }

    /// Takes over which units have come into the buffer and left it, and who came into the queue;
    /// `is_held` tells whether a unit is in the buffer.
    pub(crate) fn follow_buffer(&mut self, changes: &[(Lpn, bool)], is_held: impl Fn(Lpn) -> bool) {
        self.queue.follow_buffer(changes, &self.requests, is_held);
    }
}

/// Sleep.
impl Host {
    /// The next stretch of the time between two instants, in which the device has this to do: that
    /// of [`Self::doze`], or all of it where the device never sleeps.
    pub(crate) fn passes(&mut self, from: Time, to: Time, load: Load) -> Option<Stretch> {
        if self.link.may_sleep() {
            return self.doze(to, load);
        }
        (from < to).then(|| Stretch::awake(from, to))
    }

    /// The device goes on after a loss of power, and takes no request before it is ready.
    pub(crate) const fn go_on_from(&mut self, stopped: &Self, ready: Time) {
        self.restore_arrived(stopped.arrived());
        self.link.recovers(ready);
    }

    /// From when on a device is there that has recovered.
    pub(crate) const fn ready(&self) -> Time {
        self.link.ready()
    }

    /// Somebody needs the device: returns from when on it is awake.
    pub(crate) fn wake(&mut self, now: Time) -> Time {
        self.link.wake(now)
    }

    /// Time goes on to `to` while the device has this to do: a stretch of it, none where all has
    /// passed or the device never sleeps.
    pub(crate) fn doze(&mut self, to: Time, load: Load) -> Option<Stretch> {
        self.link.doze(to, load)
    }

    pub(crate) fn save_sleep(&self, to: &mut Writer<'_>) {
        self.link.save_sleep(to);
    }

    /// Takes over the sleep of a device that was saved at `now`.
    pub(crate) fn load_sleep(
        &mut self,
        from: &mut Reader<'_>,
        now: Time,
    ) -> Result<(), RestoreError> {
        self.link.load_sleep(from, now)
    }
}

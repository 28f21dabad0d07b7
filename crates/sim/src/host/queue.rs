//! The host queue: requests that no policy has started, or not all pages of, and which of them must
//! not overtake which.

use super::Pending;
use super::buffered_reads::BufferedReads;
use super::overlaps::Overlaps;
use super::requests::Requests;
use super::started::StartedPages;
use crate::config::{HostChoice, Settings};
use crate::handle::RequestId;
use crate::parts::policy::HostRule;
use flashyard_core::request::RequestOp;
use flashyard_core::units::{Lpn, Span, Time};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Queued requests that are looked at for one that needs a line (the study of ROS: a queue of 32).
const QUEUE_LOOK: usize = 32;

/// The place of a request in the queue, where the host policy looks at it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct QueuePlace {
    /// When it came into the queue.
    pub(crate) entered: Time,
    /// Requests that came before it.
    pub(super) number: u64,
    /// The slot that it took.
    pub(crate) slot: u32,
}

/// Slots of a queue that may grow without a limit: the lowest free one is taken.
#[derive(Clone, Debug, Default)]
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

/// What the queue has for the device.
pub(crate) enum Turn {
    /// The request that is being translated.
    Begun(RequestId),
    /// The oldest request, which has left the queue and is to be started.
    Oldest(RequestId),
    /// What the host policy picks.
    Pick,
    /// Nothing: the queue is empty, as many requests are started as may be, or the dispatcher is at
    /// work.
    Nothing,
}

/// An access of a page that is started alone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageAccess {
    pub(crate) handle: RequestId,
    pub(crate) page: u32,
    pub(crate) lpn: Lpn,
    /// The place of its request in the queue.
    place: usize,
    /// Whether the policy picked it, and not another one that must not overtake it.
    pub(crate) picked: bool,
}

/// The host queue.
#[derive(Clone)]
pub(super) struct Queue {
    dispatcher: HostChoice,
    policy: HostRule,
    waiting: VecDeque<RequestId>,
    /// How many requests came into it, where the policy looks at their places.
    entered: u64,
    places: Vec<QueuePlace>,
    slots: QueueSlots,
    /// The request that is being translated.
    translating: Option<RequestId>,
    /// Whether the dispatcher works on it.
    dispatching: bool,
    /// Requests that are started and not answered.
    unanswered: u64,
    /// Those requests, where the host policy may leave the order.
    overlaps: Overlaps,
    /// The request that was last picked while it had to wait for another one.
    held_back: Option<RequestId>,
    started_pages: StartedPages,
    buffered_reads: BufferedReads,
}

impl Queue {
    /// An empty queue.
    pub(super) fn new(settings: &Settings, policy: HostRule) -> Self {
        Self {
            dispatcher: settings.keys.host,
            policy,
            waiting: VecDeque::new(),
            entered: 0,
            places: Vec::new(),
            slots: QueueSlots::default(),
            translating: None,
            dispatching: false,
            unanswered: 0,
            overlaps: Overlaps::NONE,
            held_back: None,
            started_pages: StartedPages::default(),
            buffered_reads: BufferedReads::default(),
        }
    }

    /// The host policy.
    #[inline]
    pub(super) const fn policy(&self) -> &HostRule {
        &self.policy
    }

    /// How long the dispatcher works on a request, in nanoseconds.
    #[inline]
    pub(super) const fn dispatch_ns(&self) -> u64 {
        self.dispatcher.dispatch_ns
    }

    /// A request has come to the device, which has so many handles.
    #[inline]
    pub(super) fn enter(&mut self, handle: RequestId, now: Time, handles: usize) {
        if !self.policy.is_fifo() {
            self.note_place(handle, now, handles);
        }
        self.waiting.push_back(handle);
    }

    /// The host policy looks at the place of a request that has come to the device.
    #[inline(never)]
    fn note_place(&mut self, handle: RequestId, now: Time, handles: usize) {
        if self.places.len() <= handle.index() {
            self.places.resize(handles, QueuePlace::default());
        }
        let slot = if self.policy.in_order() { 0 } else { self.slots.take() };
        self.places[handle.index()] = QueuePlace { entered: now, number: self.entered, slot };
        self.entered += 1;
    }

    /// Whether a request waits or is being translated.
    #[inline]
    pub(super) fn has_requests(&self) -> bool {
        !self.waiting.is_empty() || self.translating.is_some()
    }

    /// How many requests wait.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// The request at a place of the queue.
    pub(super) fn at(&self, place: usize) -> RequestId {
        self.waiting[place]
    }

    /// The oldest request that waits.
    pub(super) fn oldest(&self) -> Option<RequestId> {
        self.waiting.front().copied()
    }

    /// Takes a request out of the queue whose page accesses have all been started, or are now.
    fn take(&mut self, place: usize) -> RequestId {
        let handle = self.waiting.remove(place).expect("a request waits");
        self.buffered_reads.request_started(self.number(handle), place);
        handle
    }

    /// Requests that came into the queue before this one.
    fn number(&self, handle: RequestId) -> u64 {
        self.places[handle.index()].number
    }

    /// When a request came into the queue, and the slot that it took there.
    pub(super) fn place(&self, handle: RequestId) -> &QueuePlace {
        &self.places[handle.index()]
    }

    /// The units of the writes in the queue that have not been translated, of so many requests.
    pub(super) fn coming_writes(
        &self,
        count: usize,
        requests: &Requests,
    ) -> impl Iterator<Item = Lpn> {
        let oldest = self.translating.iter().chain(&self.waiting).take(count);
        let oldest = oldest.map(|&handle| &requests[handle]);
        let writes = oldest.filter(|request| request.request.op == RequestOp::Write);
        writes.flat_map(|write| {
            let first = write.first.get();
            (first + write.translated..first + write.pages).map(Lpn::new)
        })
    }

    /// Whether one of the oldest queued requests has an access of a unit that is not started.
    pub(super) fn has_access(&self, lpn: Lpn, requests: &Requests) -> bool {
        self.waiting.iter().take(QUEUE_LOOK).any(|&handle| {
            let request = &requests[handle];
            let page = || lpn.get() - request.first.get();
            request.touches(lpn) && self.unstarted(handle, request, page()) == Some(page())
        })
    }
}

/// Starting requests.
impl Queue {
    /// What comes next.
    #[inline]
    pub(super) fn next(&mut self) -> Turn {
        if self.dispatching {
            return Turn::Nothing;
        }
        if let Some(handle) = self.translating {
            return Turn::Begun(handle);
        }
        let width = self.dispatcher.dispatch_width;
        if width > 0 && self.unanswered >= width {
            return Turn::Nothing;
        }
        if !self.policy.is_fifo() {
            return Turn::Pick;
        }
        self.waiting.pop_front().map_or(Turn::Nothing, Turn::Oldest)
    }

    /// The dispatcher has done its work.
    pub(super) const fn dispatched(&mut self) {
        self.dispatching = false;
    }

    /// A request is started, all of it: it is being translated from now on. Returns how long the
    /// dispatcher works on it before.
    #[inline]
    pub(super) const fn translate(&mut self, handle: RequestId) -> Span {
        self.translating = Some(handle);
        self.dispatching = self.dispatcher.dispatch_ns > 0;
        Span::from_ns(self.dispatcher.dispatch_ns)
    }

    /// The request that was being translated is.
    #[inline]
    pub(super) const fn end_translation(&mut self) {
        self.translating = None;
    }

    /// A request is started.
    #[inline]
    pub(super) fn start(&mut self, handle: RequestId, request: &Pending) {
        self.unanswered += 1;
        if !self.policy.in_order() {
            self.overlaps.add(handle, request);
        }
    }

    /// A request that was started is answered.
    #[inline]
    pub(super) fn answered(&mut self, handle: RequestId) {
        self.unanswered -= 1;
        if !self.policy.in_order() {
            self.overlaps.remove(handle);
            self.slots.give_back(self.places[handle.index()].slot);
        }
    }

    /// The request at `place` was picked and must wait for another one, or not. Returns whether it
    /// is not the one that had to wait when one was last picked: a pick counts once, however often
    /// it is made meanwhile.
    pub(super) fn hold_back(&mut self, place: usize, held: bool) -> bool {
        let handle = self.waiting[place];
        let new = self.held_back != Some(handle);
        self.held_back = held.then_some(handle);
        new
    }

    /// Takes the request out of the queue that starts where the one at `place` was picked: it, or
    /// an earlier one that it must not overtake. `replaced` is told where that, or a request under
    /// way, keeps the picked one waiting for the first time. There is none where a request under
    /// way has to end first, or pages of it are started one by one.
    pub(super) fn take_picked(
        &mut self,
        picked: usize,
        requests: &Requests,
        replaced: impl FnOnce(),
    ) -> Option<RequestId> {
        let start = self.earliest_conflict(picked, requests);
        let handle = self.waiting[start];
        if !self.policy.in_order() {
            let held = self.is_under_way(handle, requests);
            if self.hold_back(picked, held) && (held || start != picked) {
                replaced();
            }
            if held && self.dispatcher.hold_conflicts {
                return None;
            }
        }
        (requests[handle].translated == 0).then(|| self.take(start))
    }

    /// Whether a request that is under way conflicts with this one. Where pages are started one by
    /// one, none that is over conflicts, and so no request whose answer is on the way.
    pub(super) fn is_under_way(&self, handle: RequestId, requests: &Requests) -> bool {
        let request = &requests[handle];
        let by_pages = self.policy.by_pages();
        self.overlaps.near(request).any(|other| {
            let state = &requests[other];
            other != handle
                && state.conflicts(request)
                && !(by_pages && state.unfinished == 0 && state.is_translated())
                && !(by_pages && self.waits_behind(other, state, handle))
        })
    }

    /// Whether a request that was started by pages waits with some of them behind one that waits;
    /// those that were started access no page of that.
    fn waits_behind(&self, other: RequestId, state: &Pending, handle: RequestId) -> bool {
        let waits = state.translated < state.pages && self.translating != Some(other);
        waits && self.number(handle) < self.number(other)
    }

    /// The request to start in place of the one at `place`: an earlier one that it must not
    /// overtake, or one that this one must not overtake in turn.
    fn earliest_conflict(&self, place: usize, requests: &Requests) -> usize {
        let mut start = place;
        while let Some(earlier) = self.first_conflict(start, requests) {
            start = earlier;
        }
        start
    }

    /// The first request that overlaps the one at `place`, where one of the two changes contents.
    pub(super) fn first_conflict(&self, place: usize, requests: &Requests) -> Option<usize> {
        let picked = &requests[self.waiting[place]];
        self.waiting.iter().take(place).position(|&earlier| {
            let earlier = &requests[earlier];
            earlier.conflicts(picked) || (picked.request.is_barrier() && earlier.changes())
        })
    }
}

/// Starting page accesses one by one.
impl Queue {
    /// The access to start in place of this one: an earlier access of that page by another request
    /// that it must not overtake.
    pub(super) fn earliest_access(
        &self,
        place: usize,
        page: u32,
        requests: &Requests,
    ) -> PageAccess {
        let (mut start, mut first) = (place, page);
        while let Some((earlier, page)) = self.earlier_access(start, first, requests) {
            (start, first) = (earlier, page);
        }
        let handle = self.waiting[start];
        let (page, lpn) = (first, requests[handle].lpn_of(first));
        PageAccess { handle, page, lpn, place: start, picked: start == place }
    }

    /// The first waiting access of the same page by an earlier request, where one of the two
    /// changes it.
    pub(super) fn earlier_access(
        &self,
        place: usize,
        page: u32,
        requests: &Requests,
    ) -> Option<(usize, u32)> {
        let picked = &requests[self.waiting[place]];
        let (lpn, changes) = (picked.lpn_of(page), picked.changes());
        self.waiting.iter().take(place).enumerate().find_map(|(place, &earlier)| {
            let request = &requests[earlier];
            if !(changes || request.changes()) || !request.touches(lpn) {
                return None;
            }
            let page = lpn.get() - request.first.get();
            (self.unstarted(earlier, request, page) == Some(page)).then_some((place, page))
        })
    }

    /// The first page access of a request, from number `from` on, that has not been started.
    pub(super) fn unstarted(&self, handle: RequestId, request: &Pending, from: u32) -> Option<u32> {
        let from = from.max(request.next_page);
        let page = self.started_pages.first_unstarted(handle, from);
        (page < request.pages).then_some(page)
    }

    /// A page access has been started; behind its last one the request leaves the queue.
    pub(super) fn page_started(&mut self, access: &PageAccess, request: &mut Pending) {
        let &PageAccess { handle, page, place, .. } = access;
        request.next_page = self.started_pages.mark(handle, page, request.next_page);
        self.buffered_reads.remove((self.number(handle), page));
        if request.is_translated() {
            self.take(place);
        }
    }
}

/// Following the write buffer.
impl Queue {
    /// The place in the queue of the request that has the nth of the buffered reads, and the page.
    pub(super) fn buffered_read(&self, nth: usize) -> Option<(usize, u32)> {
        let (number, page) = self.buffered_reads.nth(nth)?;
        let found = self.waiting.binary_search_by_key(&number, |&handle| self.number(handle));
        Some((found.expect("it is of a request that waits"), page))
    }

    /// Takes over which units have come into the buffer and left it, and who came into the queue;
    /// `is_held` tells whether a unit is in the buffer.
    pub(super) fn follow_buffer(
        &mut self,
        changes: &[(Lpn, bool)],
        requests: &Requests,
        is_held: impl Fn(Lpn) -> bool,
    ) {
        for &(lpn, held) in changes {
            for place in 0..self.buffered_reads.searched() {
                if let Some(access) = self.waiting_read(self.waiting[place], lpn, requests) {
                    self.buffered_reads.note(access, held);
                }
            }
        }
        while let Some(place) = self.buffered_reads.next_to_search(self.waiting.len()) {
            let handle = self.waiting[place];
            let request = &requests[handle];
            for lpn in (0..request.pages).map(|page| request.lpn_of(page)) {
                let access = self.waiting_read(handle, lpn, requests);
                self.buffered_reads.append(access.filter(|_| is_held(lpn)));
            }
        }
    }

    /// The access of a unit by a request, if it reads it and that has not been started.
    fn waiting_read(&self, handle: RequestId, lpn: Lpn, requests: &Requests) -> Option<(u64, u32)> {
        let request = &requests[handle];
        if !request.is_read() || !request.touches(lpn) {
            return None;
        }
        let page = lpn.get() - request.first.get();
        let waits = self.unstarted(handle, request, page) == Some(page);
        waits.then(|| (self.number(handle), page))
    }
}

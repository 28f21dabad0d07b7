//! The host queue: requests that no policy has started, or not all pages of, and which of them must
//! not overtake which.

use super::{Host, Timer};
use crate::handle::RequestId;
use flashyard_core::request::RequestOp;
use flashyard_core::units::{Lpn, Span, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

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
pub(super) struct QueueSlots {
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

    pub(super) fn give_back(&mut self, slot: u32) {
        self.free.push(Reverse(slot));
    }
}

impl Host {
    /// A request has come to the device.
    pub(crate) fn enter_queue(&mut self, handle: RequestId, now: Time) {
        if !self.policy.is_fifo() {
            if self.queue_places.len() <= handle.index() {
                self.queue_places.resize(self.pending.len(), QueuePlace::default());
            }
            let slot = if self.policy.in_order() { 0 } else { self.queue_slots.take() };
            self.queue_places[handle.index()] =
                QueuePlace { entered: now, number: self.entered, slot };
            self.entered += 1;
        }
        self.waiting.push_back(handle);
    }

    /// Whether a request waits or is being translated.
    #[inline]
    pub(crate) fn has_requests(&self) -> bool {
        !self.waiting.is_empty() || self.translating.is_some()
    }

    /// How many requests wait.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// The request at a place of the queue.
    pub(crate) fn at(&self, place: usize) -> RequestId {
        self.waiting[place]
    }

    /// The oldest request that waits.
    pub(crate) fn oldest(&self) -> Option<RequestId> {
        self.waiting.front().copied()
    }

    /// Takes the oldest request out of the queue.
    #[inline]
    pub(crate) fn take_oldest(&mut self) -> Option<RequestId> {
        self.waiting.pop_front()
    }

    /// Takes a request out of the queue whose page accesses have all been started, or are now.
    pub(crate) fn take(&mut self, place: usize) {
        let handle = self.waiting.remove(place).expect("a request waits");
        self.buffered_reads.request_started(self.queue_number(handle), place);
    }

    /// Requests that came into the queue before this one.
    pub(super) fn queue_number(&self, handle: RequestId) -> u64 {
        self.queue_places[handle.index()].number
    }

    /// When a request came into the queue, and the slot that it took there.
    pub(crate) fn place_in_queue(&self, handle: RequestId) -> &QueuePlace {
        &self.queue_places[handle.index()]
    }

    /// The units of the writes in the queue that have not been translated, of so many requests.
    pub(crate) fn coming_writes(&self, requests: usize) -> impl Iterator<Item = Lpn> {
        let requests = self.translating.iter().chain(&self.waiting).take(requests);
        let requests = requests.map(|&handle| &self[handle]);
        let writes = requests.filter(|request| request.request.op == RequestOp::Write);
        writes.flat_map(|write| {
            let first = write.first.get();
            (first + write.translated..first + write.pages).map(Lpn::new)
        })
    }

    /// Whether one of the oldest queued requests has an access of a unit that is not started.
    pub(crate) fn is_queued(&self, lpn: Lpn) -> bool {
        self.waiting.iter().take(QUEUE_LOOK).any(|&handle| {
            let request = &self[handle];
            let page = || lpn.get() - request.first.get();
            request.touches(lpn) && self.unstarted_page(handle, page()) == Some(page())
        })
    }
}

/// Starting requests.
impl Host {
    /// Whether the dispatcher is at work.
    #[inline]
    pub(crate) const fn is_dispatching(&self) -> bool {
        self.dispatching
    }

    /// The dispatcher has done its work.
    pub(crate) const fn dispatched(&mut self) {
        self.dispatching = false;
    }

    /// Whether as many requests are started as may be.
    #[inline]
    pub(crate) const fn is_full(&self) -> bool {
        let width = self.dispatcher.dispatch_width;
        width > 0 && self.unanswered >= width
    }

    /// The request that is being translated.
    #[inline]
    pub(crate) const fn translating(&self) -> Option<RequestId> {
        self.translating
    }

    /// A request is started, all of it. Returns whether its translation may begin;
    /// [`Timer::Dispatched`] otherwise says when.
    #[inline]
    pub(crate) fn translate(&mut self, handle: RequestId, now: Time) -> bool {
        self.translating = Some(handle);
        let dispatch_ns = self.dispatcher.dispatch_ns;
        if dispatch_ns > 0 {
            self.dispatching = true;
            self.timers.set(now + Span::from_ns(dispatch_ns), Timer::Dispatched);
        }
        dispatch_ns == 0
    }

    /// The request that was being translated is.
    #[inline]
    pub(crate) const fn end_translation(&mut self) {
        self.translating = None;
    }

    /// A request is started.
    #[inline]
    pub(crate) fn start(&mut self, handle: RequestId) {
        self.unanswered += 1;
        if !self.policy.in_order() {
            self.overlaps.add(handle, &self.pending[handle.index()]);
        }
    }

    /// A request was picked that must wait for another one, or not. Returns whether it is not the
    /// one that had to wait when one was last picked.
    pub(crate) fn hold_back(&mut self, handle: RequestId, held: bool) -> bool {
        let new = self.held_back != Some(handle);
        self.held_back = held.then_some(handle);
        new
    }

    /// Whether a conflict with a request under way keeps a request from being started.
    pub(crate) const fn holds_conflicts(&self) -> bool {
        self.dispatcher.hold_conflicts
    }

    /// Whether a request that is under way conflicts with this one. Where pages are started one by
    /// one, none that is over conflicts, and so no request whose answer is on the way.
    pub(crate) fn is_under_way(&self, handle: RequestId) -> bool {
        let request = &self[handle];
        let by_pages = self.policy.by_pages();
        self.overlaps.near(request).any(|other| {
            let state = &self[other];
            other != handle
                && state.conflicts(request)
                && !(by_pages && state.unfinished == 0 && state.translated == state.pages)
                && !(by_pages && self.waits_behind(other, handle))
        })
    }

    /// Whether a request that was started by pages waits with some of them behind one that waits;
    /// those that were started access no page of that.
    fn waits_behind(&self, other: RequestId, handle: RequestId) -> bool {
        let state = &self[other];
        let waits = state.translated < state.pages && self.translating != Some(other);
        waits && self.queue_number(handle) < self.queue_number(other)
    }

    /// The request to start in place of the one at `place`: an earlier one that it must not
    /// overtake, or one that this one must not overtake in turn.
    pub(crate) fn earliest_conflict(&self, place: usize) -> usize {
        let mut start = place;
        while let Some(earlier) = self.first_conflict(start) {
            start = earlier;
        }
        start
    }

    /// The first request that overlaps the one at `place`, where one of the two changes contents.
    pub(crate) fn first_conflict(&self, place: usize) -> Option<usize> {
        let picked = &self[self.waiting[place]];
        self.waiting.iter().take(place).position(|&earlier| {
            let earlier = &self[earlier];
            earlier.conflicts(picked) || (picked.request.is_barrier() && earlier.changes())
        })
    }
}

/// Starting page accesses one by one.
impl Host {
    /// A unit that a request touches.
    pub(crate) fn page_lpn(&self, handle: RequestId, page: u32) -> Lpn {
        Lpn::new(self[handle].first.get() + page)
    }

    /// The access to start in place of this one: an earlier access of that page by another request
    /// that it must not overtake.
    pub(crate) fn earliest_access(&self, place: usize, page: u32) -> (usize, u32) {
        let mut start = (place, page);
        while let Some(earlier) = self.earlier_access(start.0, start.1) {
            start = earlier;
        }
        start
    }

    /// The first waiting access of the same page by an earlier request, where one of the two
    /// changes it.
    pub(crate) fn earlier_access(&self, place: usize, page: u32) -> Option<(usize, u32)> {
        let picked = self.waiting[place];
        let lpn = self.page_lpn(picked, page);
        let changes = self[picked].changes();
        self.waiting.iter().take(place).enumerate().find_map(|(place, &earlier)| {
            let request = &self[earlier];
            if !(changes || request.changes()) || !request.touches(lpn) {
                return None;
            }
            let page = lpn.get() - request.first.get();
            (self.unstarted_page(earlier, page) == Some(page)).then_some((place, page))
        })
    }

    /// The first page access of a request, from number `from` on, that has not been started.
    pub(crate) fn unstarted_page(&self, handle: RequestId, from: u32) -> Option<u32> {
        let request = &self[handle];
        let from = from.max(request.next_page);
        let page = self.started_pages.first_unstarted(handle, from);
        (page < request.pages).then_some(page)
    }

    /// A page access of the request at a place of the queue has been started; behind its last one
    /// the request leaves the queue.
    pub(crate) fn page_started(&mut self, place: usize, page: u32) {
        let handle = self.waiting[place];
        let next = self[handle].next_page;
        self[handle].next_page = self.started_pages.mark(handle, page, next);
        self.buffered_reads.remove((self.queue_number(handle), page));
        if self[handle].is_translated() {
            self.take(place);
        }
    }
}

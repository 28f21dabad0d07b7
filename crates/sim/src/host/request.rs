//! What is known of a request that has arrived and whose work is not over.

use crate::handle::RequestId;
use crate::metrics::answer::Answer;
use crate::metrics::parts::Parts;
use crate::sets::Track;
use flashyard_core::policy::RequestView;
use flashyard_core::request::{Request, RequestOp};
use flashyard_core::units::{Lpn, Span, Time};

/// Where a request comes from, and its way over the link.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ticket {
    /// Its stream, and its place there.
    pub(super) lane: u32,
    pub(super) number: u64,
    /// Time on the way to the device, waiting for the link included.
    pub(super) link_ns: u64,
}

/// A request that has arrived and whose work is not over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pending {
    pub(super) request: Request,
    /// Order of arrival.
    pub(super) order: u64,
    pub(super) first: Lpn,
    /// Page accesses, how many have been translated, which one is next in order, and which one
    /// is being translated.
    pub(super) pages: u32,
    pub(super) translated: u32,
    pub(super) next_page: u32,
    pub(super) page: u32,
    /// Sets that are not complete; translated ones only.
    pub(super) unfinished: u32,
    /// Sets of the device's own work that are charged to it.
    pub(super) charges: u32,
    pub(super) answered: Option<Time>,
    pub(super) fot: Span,
    /// When the first set got a slot.
    pub(super) first_slot: Option<Time>,
    /// When it began to wait at the head of the queue for the map cache, and how long it did.
    pub(super) stalled_since: Option<Time>,
    pub(super) stalled_ns: u64,
    /// The same for a flush: of earlier writes, or of a line of the buffer.
    pub(super) flush_since: Option<Time>,
    pub(super) flush_ns: u64,
    pub(super) own: Span,
    pub(super) parts: Parts,
    pub(super) ticket: Ticket,
    /// The next free entry.
    pub(super) link: Option<RequestId>,
}

impl Pending {
    /// A request that has just arrived, of this order of arrival.
    pub(super) fn new(
        request: &Request,
        order: u64,
        first: Lpn,
        pages: u32,
        ticket: Ticket,
    ) -> Self {
        Self {
            request: *request,
            order,
            first,
            pages,
            translated: 0,
            next_page: 0,
            page: 0,
            unfinished: 0,
            charges: 0,
            answered: None,
            fot: Span::ZERO,
            first_slot: None,
            stalled_since: None,
            stalled_ns: 0,
            flush_since: None,
            flush_ns: 0,
            own: Span::ZERO,
            parts: Parts::default(),
            ticket,
            link: None,
        }
    }

    /// The request as it was issued.
    #[inline]
    pub(crate) const fn request(&self) -> &Request {
        &self.request
    }

    /// Its place in the order of arrival.
    #[inline]
    pub(crate) const fn order(&self) -> u64 {
        self.order
    }

    /// The first unit that it touches, and how many.
    #[inline]
    pub(crate) const fn first(&self) -> Lpn {
        self.first
    }

    /// Its page accesses: the units that it touches.
    #[inline]
    pub(crate) const fn pages(&self) -> u32 {
        self.pages
    }

    /// How many of them have been translated.
    #[inline]
    pub(crate) const fn translated(&self) -> u32 {
        self.translated
    }

    /// The one that is being translated.
    #[inline]
    pub(crate) const fn page(&self) -> u32 {
        self.page
    }

    /// One of them is being translated. Returns the unit that it touches.
    #[inline]
    pub(crate) fn begin_page(&mut self, page: u32) -> Lpn {
        self.page = page;
        self.lpn_of(page)
    }

    /// It is another one from now on, which touches so many units from `first` on.
    pub(crate) const fn restate(&mut self, request: &Request, (first, pages): (Lpn, u32)) {
        (self.request, self.first, self.pages) = (*request, first, pages);
    }

    /// It has no page access; what it waits for is a set without a command.
    pub(crate) const fn begin_barrier(&mut self) {
        self.unfinished = 1;
    }

    /// A set of it has a slot.
    #[inline]
    pub(crate) fn has_slot(&mut self, now: Time) {
        self.first_slot.get_or_insert(now);
    }

    /// Its flash operation time: the sum of what it was, and of more.
    pub(crate) fn add_fot(&mut self, more: Span) {
        self.fot += more;
    }

    /// Its flash operation time is another one.
    pub(crate) const fn set_fot(&mut self, fot: Span) {
        self.fot = fot;
    }

    /// Whether it `stalls` now for a line of the map cache: it begins to, goes on, or ends.
    #[inline]
    pub(crate) fn stall(&mut self, stalls: bool, now: Time) -> bool {
        if stalls {
            self.stalled_since.get_or_insert(now);
        } else if let Some(since) = self.stalled_since.take() {
            self.stalled_ns += now.since(since).as_ns();
        }
        stalls
    }

    /// Whether it waits for a line of the map cache.
    pub(crate) const fn is_stalled(&self) -> bool {
        self.stalled_since.is_some()
    }

    /// Whether it waits for earlier writes or a line of the buffer.
    #[inline]
    pub(crate) const fn awaits_flush(&self) -> bool {
        self.flush_since.is_some()
    }

    /// Whether it `waits` now for earlier writes or a line of the buffer: it begins to, goes on, or
    /// ends.
    pub(crate) fn await_flush(&mut self, waits: bool, now: Time) -> bool {
        if waits {
            self.flush_since.get_or_insert(now);
        } else if let Some(since) = self.flush_since.take() {
            self.flush_ns += now.since(since).as_ns();
        }
        waits
    }

    /// A set of it is complete, with this account. Returns whether it was the last one.
    #[inline]
    pub(crate) fn set_over(&mut self, track: &Track) -> bool {
        self.own += track.own();
        self.unfinished -= 1;
        let last = self.unfinished == 0 && self.is_translated();
        if last {
            self.parts.take_over(track.parts());
        }
        last
    }

    /// What is counted of it when it is answered.
    #[inline]
    pub(crate) const fn answer(&self) -> Answer<'_> {
        Answer {
            order: self.order,
            request: &self.request,
            stream: self.stream(),
            pages: self.pages,
            fot: self.fot,
            first_slot: self.first_slot,
            own: self.own,
            parts: &self.parts,
        }
    }

    /// The parts of its latency, to be added to: on a machine that has no command sets.
    pub(crate) const fn parts_mut(&mut self) -> &mut Parts {
        &mut self.parts
    }

    /// Its own time is what its parts say.
    pub(crate) fn sum_own(&mut self) {
        self.own = Span::from_ns(self.parts.own());
    }

    /// When it was answered, if nothing is charged to it any more.
    #[inline]
    pub(crate) fn over(&self) -> Option<Time> {
        self.answered.filter(|_| self.charges == 0)
    }

    /// A unit that it touches.
    #[inline]
    pub(crate) fn lpn_of(&self, page: u32) -> Lpn {
        Lpn::new(self.first.get() + page)
    }

    /// The stream of it.
    pub(crate) const fn stream(&self) -> usize {
        self.ticket.lane as usize
    }

    /// Whether all its page accesses have been translated.
    #[inline]
    pub(crate) const fn is_translated(&self) -> bool {
        self.translated == self.pages
    }

    pub(crate) fn view(&self) -> RequestView {
        RequestView {
            is_read: self.is_read(),
            pages: self.pages,
            arrival: self.request.arrival,
            fot: self.fot,
            order: self.order,
        }
    }

    pub(crate) fn is_read(&self) -> bool {
        self.request.op == RequestOp::Read
    }

    /// Whether it is a flush.
    #[inline]
    pub(crate) fn is_flush(&self) -> bool {
        self.request.op == RequestOp::Flush
    }

    /// Whether it changes contents.
    pub(crate) const fn changes(&self) -> bool {
        matches!(self.request.op, RequestOp::Write | RequestOp::Trim)
    }

    /// Whether the two touch a page that at least one of them changes.
    pub(crate) const fn conflicts(&self, other: &Self) -> bool {
        let overlap = self.first.get() < other.first.get() + other.pages
            && other.first.get() < self.first.get() + self.pages;
        overlap && (self.changes() || other.changes())
    }

    /// Whether it touches a page.
    pub(crate) const fn touches(&self, lpn: Lpn) -> bool {
        self.first.get() <= lpn.get() && lpn.get() < self.first.get() + self.pages
    }
}

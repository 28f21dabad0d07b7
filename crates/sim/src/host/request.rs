//! What is known of a request that has arrived and whose work is not over.

use crate::handle::RequestId;
use crate::metrics::parts::Parts;
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
    /// Whether its answer is on the way back.
    pub(super) answering: bool,
}

/// A request that has arrived and whose work is not over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pending {
    pub(crate) request: Request,
    /// Order of arrival.
    pub(crate) order: u64,
    pub(crate) first: Lpn,
    /// Page accesses, how many have been translated, which one is next in order, and which one
    /// is being translated.
    pub(crate) pages: u32,
    pub(crate) translated: u32,
    pub(crate) next_page: u32,
    pub(crate) page: u32,
    /// Sets that are not complete; translated ones only.
    pub(crate) unfinished: u32,
    /// Sets of the device's own work that are charged to it.
    pub(crate) charges: u32,
    pub(crate) answered: Option<Time>,
    pub(crate) fot: Span,
    /// When the first set got a slot.
    pub(crate) first_slot: Option<Time>,
    /// When it began to wait at the head of the queue for the map cache, and how long it did.
    pub(crate) stalled_since: Option<Time>,
    pub(crate) stalled_ns: u64,
    /// The same for a flush: of earlier writes, or of a line of the buffer.
    pub(crate) flush_since: Option<Time>,
    pub(crate) flush_ns: u64,
    pub(crate) own: Span,
    pub(crate) parts: Parts,
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

    /// It begins to wait for a line of the map cache, or goes on waiting.
    pub(crate) fn begin_stall(&mut self, now: Time) {
        self.stalled_since.get_or_insert(now);
    }

    /// It no longer waits for a line of the map cache.
    #[inline]
    pub(crate) fn end_stall(&mut self, now: Time) {
        if let Some(since) = self.stalled_since.take() {
            self.stalled_ns += now.since(since).as_ns();
        }
    }

    /// It no longer waits for earlier writes or a line of the buffer.
    pub(crate) fn end_flush_wait(&mut self, now: Time) {
        if let Some(since) = self.flush_since.take() {
            self.flush_ns += now.since(since).as_ns();
        }
    }

    /// A set of it is complete, whose commands took so long and whose latency has these parts.
    /// Returns whether it was the last one.
    #[inline]
    pub(crate) fn set_over(&mut self, own: Span, parts: &Parts) -> bool {
        self.own += own;
        self.unfinished -= 1;
        let last = self.unfinished == 0 && self.is_translated();
        if last {
            self.parts = *parts;
        }
        last
    }

    /// A unit that it touches.
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

//! The requests under way, by handle, and how many there have been.

use super::request::{Pending, Ticket};
use crate::handle::RequestId;
use flashyard_core::request::Request;
use flashyard_core::units::Lpn;
use std::ops::{Index, IndexMut};

/// Requests that have arrived and whose work is not over.
#[derive(Clone, Debug, Default)]
pub(super) struct Requests {
    entries: Vec<Pending>,
    /// The first free entry.
    free: Option<RequestId>,
    /// How many have arrived, and how many of them are not answered.
    arrived: u64,
    outstanding: u64,
    /// Page accesses that are not over.
    accesses: u32,
}

impl Index<RequestId> for Requests {
    type Output = Pending;

    #[inline]
    fn index(&self, request: RequestId) -> &Pending {
        &self.entries[request.index()]
    }
}

impl IndexMut<RequestId> for Requests {
    #[inline]
    fn index_mut(&mut self, request: RequestId) -> &mut Pending {
        &mut self.entries[request.index()]
    }
}

impl Requests {
    /// How many handles there are.
    pub(super) const fn handles(&self) -> usize {
        self.entries.len()
    }

    /// Requests that have arrived.
    pub(super) const fn arrived(&self) -> u64 {
        self.arrived
    }

    /// Sets how many requests have arrived, on a device that was saved.
    pub(super) const fn restore_arrived(&mut self, arrived: u64) {
        self.arrived = arrived;
    }

    /// Requests that have arrived and are not answered.
    #[inline]
    pub(super) const fn outstanding(&self) -> u64 {
        self.outstanding
    }

    /// The request that has waited longest for its answer, by order of arrival.
    pub(super) fn oldest_unanswered(&self) -> u64 {
        let unanswered = self.entries.iter().filter(|request| request.answered.is_none());
        unanswered.map(|request| request.order).min().unwrap_or(self.arrived)
    }

    /// A request arrives with this ticket that touches these pages.
    #[expect(clippy::inline_always, reason = "once a request, with large arguments")]
    #[inline(always)]
    pub(super) fn open(
        &mut self,
        request: &Request,
        first: Lpn,
        pages: u32,
        ticket: Ticket,
    ) -> RequestId {
        let order = self.arrived;
        self.arrived += 1;
        self.outstanding += 1;
        let Some(free) = self.free else {
            self.entries.push(Pending::new(request, order, first, pages, ticket));
            let place = self.entries.len() - 1;
            return RequestId::new(u32::try_from(place).expect("fewer than 2^32 requests wait"));
        };
        let entry = &mut self.entries[free.index()];
        self.free = entry.link;
        *entry = Pending::new(request, order, first, pages, ticket);
        free
    }

    /// One of them is answered.
    #[inline]
    pub(super) const fn count_answer(&mut self) {
        self.outstanding -= 1;
    }

    /// Forgets a request.
    pub(super) fn close(&mut self, request: RequestId) {
        self[request].order = u64::MAX;
        self[request].link = self.free.replace(request);
    }

    /// A request by its handle and order of arrival, while it is not forgotten.
    pub(super) fn live(&self, (request, order): (RequestId, u64)) -> Option<RequestId> {
        (self[request].order == order).then_some(request)
    }

    /// The set of a page access of a request has been made. Returns the request.
    #[inline]
    pub(super) fn access_begins(&mut self, handle: RequestId) -> &mut Pending {
        self.accesses += 1;
        let request = &mut self[handle];
        request.translated += 1;
        request.unfinished += 1;
        request
    }

    /// A page access is over.
    #[inline]
    pub(super) const fn access_ends(&mut self) {
        self.accesses -= 1;
    }

    /// Page accesses that are not over.
    pub(super) const fn accesses(&self) -> u32 {
        self.accesses
    }
}

//! A request that has been answered, as it is counted and told.

use super::counters::Tally;
use super::parts::Parts;
use crate::observe::RequestDone;
use flashyard_core::request::Request;
use flashyard_core::units::{Span, Time};

/// A request that has been answered.
pub(crate) struct Answer<'a> {
    /// Order of arrival.
    pub(crate) order: u64,
    pub(crate) request: &'a Request,
    /// Its stream among those of the phase.
    pub(crate) stream: usize,
    /// Its page accesses, and its flash operation time.
    pub(crate) pages: u32,
    pub(crate) fot: Span,
    /// When its first set got a slot.
    pub(crate) first_slot: Option<Time>,
    /// Time of its own commands.
    pub(crate) own: Span,
    /// The parts of its latency.
    pub(crate) parts: &'a Parts,
}

impl Answer<'_> {
    /// Time until the first slot; all of it for a request that needed none.
    pub(crate) fn queue_wait(&self, completion: Time) -> u64 {
        self.first_slot.unwrap_or(completion).since(self.request.arrival).as_ns()
    }

    /// What observers are told when nothing is charged to it any more.
    pub(crate) fn done(&self, completion: Time, (work, energy_pj): (Tally, u64)) -> RequestDone {
        RequestDone {
            order: self.order,
            request: *self.request,
            completion,
            pages: self.pages,
            fot_ns: self.fot.as_ns(),
            queue_wait_ns: self.queue_wait(completion),
            own_ns: self.own.as_ns(),
            parts: *self.parts,
            work,
            energy_pj,
        }
    }
}

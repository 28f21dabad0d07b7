//! The host's side: submission queues, arbitration and the link.
//!
//! A request is issued by the host (its arrival), fetched by the device when the submission queue
//! of its stream and the device have a place for it, crosses the link with its data if it writes,
//! and enters the host queue. Its answer crosses the link too, with the data of a read. Each
//! direction of the link carries one request's data at a time, in the order of need.

use super::Device;
use crate::handle::RequestId;
use crate::host::timers::Timer;
use crate::host::{QueuePlace, Ticket};
use crate::metrics::parts::Part;
use crate::stream::Pacing;
use flashyard_core::request::{Request, RequestOp};
use flashyard_core::units::Time;

impl Device {
    /// The host issues a request of a stream.
    pub(super) fn submit(&mut self, handle: RequestId, lane: usize) {
        let host = &mut self.host;
        if host.tickets.len() <= handle.index() {
            host.tickets.resize(host.pending.len(), Ticket::default());
        }
        let state = &mut host.lanes[lane];
        host.tickets[handle.index()] = Ticket {
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
    fn send(&mut self, handle: RequestId) {
        if self.host.has_link {
            let request = &self.host[handle].request;
            let sectors = carried(request, RequestOp::Write);
            let there = self.host.cross(false, sectors, self.now);
            if there > self.now {
                self.host.tickets[handle.index()].link_ns = there.since(self.now).as_ns();
                self.host.timers.set(there, Timer::Enter(handle));
                return;
            }
        }
        self.enter_queue(handle);
    }

    /// A request has come to the device.
    fn enter_queue(&mut self, handle: RequestId) {
        if self.account.is_checked() {
            self.account.entered(self.host[handle].order);
        }
        if !self.host.policy.is_fifo() {
            self.take_queue_place(handle);
        }
        self.host.waiting.push_back(handle);
    }

    fn take_queue_place(&mut self, handle: RequestId) {
        let host = &mut self.host;
        if host.queue_places.len() <= handle.index() {
            host.queue_places.resize(host.pending.len(), QueuePlace::default());
        }
        let slot = if host.policy.in_order() { 0 } else { host.queue_slots.take() };
        host.queue_places[handle.index()] =
            QueuePlace { entered: self.now, number: host.entered, slot };
        host.entered += 1;
    }

    /// Requests that came into the queue before this one.
    pub(super) fn queue_number(&self, handle: RequestId) -> u64 {
        self.host.queue_places[handle.index()].number
    }

    /// When a request came into the queue, and the slot that it took there.
    pub(super) fn place_in_queue(&self, handle: RequestId) -> (Time, u32) {
        let place = &self.host.queue_places[handle.index()];
        (place.entered, place.slot)
    }

    /// Time on the way to the device.
    pub(super) fn link_ns(&self, handle: RequestId) -> u64 {
        self.host.tickets[handle.index()].link_ns
    }

    /// Everything whose time has come.
    pub(super) fn timers_go_off(&mut self) {
        while let Some(timer) = self.host.timers.take(self.now) {
            match timer {
                Timer::Enter(handle) => self.enter_queue(handle),
                Timer::Answer(handle) => self.answer(handle),
                Timer::Buffer(set) => self.access_over(set),
                Timer::Linked(set) => self.link_over(set),
                Timer::Dispatched => self.host.started.dispatching = false,
                Timer::Quiet => self.write_buffer_mut().quiet_over(),
                // Whoever looks at ports looks again.
                Timer::Port => {}
                Timer::Search(plane) => self.search_over(plane),
                Timer::Sought(set) => self.merge_search_over(set),
                Timer::Suspendable(die) => self.suspendable(die),
            }
            self.wake_due();
        }
    }

    /// The work of a request is done. Returns whether its answer has yet to cross the link;
    /// [`Timer::Answer`] then says when it has.
    pub(super) fn sends_answer(&mut self, handle: RequestId) -> bool {
        let host = &mut self.host;
        let ticket = &mut host.tickets[handle.index()];
        if !host.has_link || ticket.answering {
            return false;
        }
        ticket.answering = true;
        let sectors = carried(&host[handle].request, RequestOp::Read);
        let there = host.cross(true, sectors, self.now);
        let request = &mut host[handle];
        request.parts.add(Part::Link, there.since(self.now).as_ns());
        let later = there > self.now;
        if later {
            self.host.timers.set(there, Timer::Answer(handle));
        }
        later
    }

    /// The host has the answer of a request.
    pub(super) fn answer_came(&mut self, handle: RequestId) {
        let host = &mut self.host;
        let request = &host.pending[handle.index()].request;
        let ticket = host.tickets[handle.index()];
        let lane = &mut host.lanes[ticket.lane as usize];
        lane.outstanding -= 1;
        if !host.policy.in_order() {
            host.queue_slots.give_back(host.queue_places[handle.index()].slot);
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
        if request.op == RequestOp::Write {
            host.written += u64::from(request.sectors);
        }
    }
}

/// Sectors that a request carries in the direction of `op`.
fn carried(request: &Request, op: RequestOp) -> u32 {
    if request.op == op { request.sectors } else { 0 }
}

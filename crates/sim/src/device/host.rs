//! The way of a request to the device, and timers.

use super::Device;
use crate::config::Acknowledge;
use crate::error::SimError;
use crate::handle::RequestId;
use crate::host::Timer;
use crate::observe::RequestArrived;
use flashyard_core::request::{Flags, Request};
use flashyard_core::units::DieId;

impl Device {
    /// A request sets out for the device.
    #[inline]
    pub(super) fn send(&mut self, handle: RequestId) {
        let is_there = self.host.send(handle, self.now);
        self.link_carries(handle);
        if self.follows_states {
            // A device that wakes in no time is awake now.
            self.time_passes(self.now);
        }
        if is_there {
            self.enter_queue(handle);
        }
    }

    /// A request enters the host queue.
    #[inline]
    fn enter_queue(&mut self, handle: RequestId) {
        self.account.entered(self.host[handle].order());
        self.host.enter_queue(handle, self.now);
    }

    /// Everything whose time has come.
    pub(super) fn timers_go_off(&mut self) {
        while let Some(timer) = self.host.goes_off(self.now) {
            match timer {
                Timer::Enter(handle) | Timer::Served(handle) => self.enter_queue(handle),
                Timer::Submitted(handle) => self.send(handle),
                Timer::Answer(handle) => self.answer(handle),
                Timer::Buffer(set) => self.access_over(set),
                Timer::Linked(set) => self.link_over(set),
                Timer::Usable => self.write_buffer_mut().line_usable(),
                Timer::Quiet => self.write_buffer_mut().quiet_over(),
                // Whoever looks at ports looks again; the others are the host's own.
                Timer::Port | Timer::Dispatched | Timer::Credit(_) | Timer::Reaped(_) => {}
                Timer::Search(plane) => self.let_ftl(|ftl, lent| ftl.search_over(plane, lent)),
                Timer::Sought(set) => self.open(set),
                Timer::Suspendable(die) => self.suspendable(die),
                Timer::Programs => {
                    (0..self.settings.geometry.dies())
                        .for_each(|die| self.waiting().stir(DieId::new(die)));
                }
                Timer::Ahead => self.read_ahead(),
            }
            self.wake_due();
        }
    }

    /// A request of a stream arrives.
    pub(super) fn request_arrives(
        &mut self,
        request: &Request,
        lane: usize,
    ) -> Result<(), SimError> {
        let order = self.host.arrived();
        SimError::check_arrival(request, order, self.settings.capacity_sectors())?;
        let (first, pages) = self.settings.pages_of(request);
        self.account.arrived(request, order, (first, pages), self.host.outstanding());
        if self.account.follows_contents() {
            let durable = self.settings.answers_durably(request.flags);
            let (at, request) = (self.now, *request);
            self.account.tell(&RequestArrived { at, order, request, pages, durable });
        }
        if self.account.is_checked() && self.buffer.is_some() {
            let programmed = self.settings.keys.buffer.acknowledge == Acknowledge::Program;
            self.account.asks(order, request, programmed || request.flags.has(Flags::FUA));
        }
        if self.account.is_checked() && self.host.notes_carried() {
            let by_pages = self.host.carries_pages();
            let bytes = self.settings.bytes_to_carry(request, (first, pages), by_pages);
            self.account.must_carry(order, bytes);
        }
        let (handle, fetched) = self.host.open(request, lane, (first, pages), self.now);
        self.account.request_opened(handle);
        if fetched {
            self.send(handle);
        }
        Ok(())
    }
}

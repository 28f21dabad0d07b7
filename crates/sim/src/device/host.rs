//! The way of a request to the device, and timers.

use super::Device;
use crate::handle::RequestId;
use crate::host::Timer;
use flashyard_core::units::DieId;

impl Device {
    /// A request sets out for the device.
    #[expect(clippy::inline_always, reason = "once a request; a call costs as much")]
    #[inline(always)]
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
    #[expect(clippy::inline_always, reason = "once a request; a call costs as much")]
    #[inline(always)]
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
                Timer::Answer(handle) => self.answered(handle),
                Timer::Buffer(set) => self.access_over(set),
                Timer::Linked(set) => self.link_over(set),
                Timer::Usable => self.write_buffer_mut().line_usable(),
                Timer::Quiet => self.write_buffer_mut().quiet_over(),
                // Whoever looks at ports looks again; the others are the host's own.
                Timer::Port | Timer::Dispatched | Timer::Credit(_) | Timer::Reaped(_) => {}
                Timer::Search(plane) => self.let_ftl(|ftl, lent| ftl.search_over(plane, lent)),
                Timer::Sought(set) => self.open(set),
                Timer::Suspendable(die) => self.waiting().suspendable(die),
                Timer::Programs => {
                    (0..self.settings.geometry.dies())
                        .for_each(|die| self.waiting().stir(DieId::new(die)));
                }
                Timer::Ahead => self.read_ahead(),
            }
            self.wake_due();
        }
    }
}

//! The way of a request: it arrives, a thread of the host submits it, it is fetched, crosses the
//! link, takes a core of the firmware, and is answered.

use super::{Answer, Carried, Host, Timer};
use crate::handle::{RequestId, SetId};
use crate::metrics::parts::Part;
use flashyard_core::request::{Request, RequestOp};
use flashyard_core::units::{Lpn, Time};

impl Host {
    /// A request of a stream arrives that touches these pages. Returns whether it is fetched at
    /// once.
    #[expect(clippy::inline_always, reason = "once a request, with large arguments")]
    #[inline(always)]
    pub(crate) fn open(
        &mut self,
        request: &Request,
        lane: usize,
        (first, pages): (Lpn, u32),
        now: Time,
    ) -> (RequestId, bool) {
        let ticket = self.lanes.ticket(lane);
        let handle = self.requests.open(request, first, pages, ticket);
        self.lanes.issue(lane, now);
        if let Some(threads) = &mut self.threads {
            threads.submit(handle, lane, now);
            return (handle, false);
        }
        let fetched = self.lanes.submit(handle, lane, now, &self.requests, &mut self.timers);
        (handle, fetched)
    }

    /// A thread has submitted a request. Returns whether it is fetched at once.
    #[cold]
    fn submitted(&mut self, handle: RequestId, now: Time) -> bool {
        let lane = self.requests[handle].stream();
        self.requests[handle].ticket.link_ns = self.thread_done(lane, now);
        self.lanes.submit(handle, lane, now, &self.requests, &mut self.timers)
    }

    /// A thread has reaped the answer of a request.
    #[cold]
    fn reaped(&mut self, handle: RequestId, now: Time) {
        let ns = self.thread_done(self.requests[handle].stream(), now);
        self.requests[handle].parts.add(Part::Link, ns);
    }

    /// The thread of a stream has done its work. Returns how long that took with the wait for it.
    fn thread_done(&mut self, lane: usize, now: Time) -> u64 {
        // It begins its next work when all that may be issued is issued.
        self.lanes.stir();
        self.threads.as_mut().expect("a thread works").done(lane, now)
    }

    /// An answer has come over the link. Returns whether a thread has to reap it.
    #[inline]
    fn must_be_reaped(&mut self, handle: RequestId, now: Time) -> bool {
        let Some(threads) = &mut self.threads else { return false };
        threads.reap(handle, self.requests[handle].stream(), now);
        self.lanes.stir();
        true
    }

    /// A request sets out for the device, when that is awake. Returns whether it may enter the host
    /// queue now: the way takes no time, and no core does. Otherwise [`Timer::Enter`] or
    /// [`Timer::Served`] goes off when it may.
    #[inline]
    pub(crate) fn send(&mut self, handle: RequestId, now: Time) -> bool {
        let crosses = self.link.exists() && self.crosses(handle, now);
        !crosses && !self.takes_core(handle, now)
    }

    /// A request takes the link to the device. Returns whether that takes time.
    #[inline(never)]
    fn crosses(&mut self, handle: RequestId, now: Time) -> bool {
        let request = &mut self.requests[handle];
        let sectors = carried(&request.request, RequestOp::Write);
        let awake = self.link.wake(now);
        let awake = self.link.rouse(now, awake);
        let there = self.link.cross(false, sectors, awake);
        if there > now {
            request.ticket.link_ns += there.since(now).as_ns();
            if !self.serves_ahead(handle, there, now) {
                self.timers.set(there, Timer::Enter(handle));
            }
        }
        there > now
    }

    /// A request that will have come over the link at `there` takes a core for then, where no
    /// other one can come before it: none is on the way, and it does not wait for the link. Returns
    /// whether it does; [`Timer::Served`] then says when its core is done.
    #[inline]
    fn serves_ahead(&mut self, handle: RequestId, there: Time, now: Time) -> bool {
        let unhindered = self.link.is_unhindered(there, now);
        if self.held_until(handle, there).is_some()
            || self.timers.has_entering()
            || !unhindered
            || !self.queue.policy().is_fifo()
        {
            return false;
        }
        let over = self.serve(handle, there);
        if let Some(over) = over {
            self.timers.set(over, Timer::Served(handle));
        }
        over.is_some()
    }

    /// Until when a stall of the firmware holds a request that would take a core at an instant.
    #[inline]
    fn held_until(&self, handle: RequestId, at: Time) -> Option<Time> {
        self.firmware.as_ref()?.held_until(&self.requests[handle], at)
    }

    /// A request takes a core at an instant. Returns when that is done with it, if there is one.
    #[inline]
    fn serve(&mut self, handle: RequestId, at: Time) -> Option<Time> {
        let firmware = self.firmware.as_mut()?;
        let over = firmware.serve(handle, &self.requests[handle], at);
        if let Some(end) = firmware.new_end() {
            self.timers.set(end, Timer::Programs);
        }
        Some(over)
    }

    /// A read takes a mapping unit from flash, for which a core may have work to do.
    pub(crate) fn commands_read(&mut self, now: Time) {
        if let Some(firmware) = &mut self.firmware {
            firmware.commands_read(now);
        }
    }

    /// Whether no die begins a program now.
    pub(crate) fn holds_programs(&self, now: Time) -> bool {
        self.firmware.as_ref().is_some_and(|firmware| firmware.holds_programs(now))
    }

    /// A request has come over the link. Returns whether a core takes time for it, or a stall of
    /// the firmware holds it; [`Timer::Served`] or [`Timer::Enter`] then says when that is over.
    #[inline]
    fn takes_core(&mut self, handle: RequestId, now: Time) -> bool {
        self.firmware.is_some() && self.asks_core(handle, now)
    }

    /// The same on a device with cores.
    fn asks_core(&mut self, handle: RequestId, now: Time) -> bool {
        if let Some(until) = self.held_until(handle, now) {
            self.firmware.as_mut().expect("it stalls").hold(handle, now);
            self.timers.set(until, Timer::Enter(handle));
            return true;
        }
        let Some(over) = self.serve(handle, now) else { return false };
        let later = over > now;
        if later {
            self.timers.set(over, Timer::Served(handle));
        }
        later
    }

    /// Takes the next timer that goes off by `now` and that others act upon. What is the host's
    /// own is done: a request that comes over the link takes a core, credit comes, the dispatcher
    /// has done its work, and threads go on. [`Timer::Answer`] is then that of a reaped answer, and
    /// [`Timer::Submitted`] that of a request that is fetched.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "asked once more than timers go off")]
    pub(crate) fn goes_off(&mut self, now: Time) -> Option<Timer> {
        loop {
            match self.timers.take(now)? {
                Timer::Enter(handle) if self.takes_core(handle, now) => {}
                Timer::Dispatched => self.queue.dispatched(),
                Timer::Credit(lane) => self.lanes.credit_comes(lane as usize, &self.requests),
                Timer::Answer(handle) if self.must_be_reaped(handle, now) => {}
                Timer::Submitted(handle) => {
                    if self.submitted(handle, now) {
                        return Some(Timer::Submitted(handle));
                    }
                }
                Timer::Reaped(handle) => {
                    self.reaped(handle, now);
                    return Some(Timer::Answer(handle));
                }
                timer => return Some(timer),
            }
        }
    }

    /// The data of so many sectors of a page access crosses the link from now on. Returns whether
    /// that takes time; [`Timer::Linked`] then says when it has.
    pub(crate) fn carry_page(&mut self, set: SetId, back: bool, sectors: u32, now: Time) -> bool {
        let over = self.link.carry(back, sectors, now);
        if over > now {
            self.timers.set(over, Timer::Linked(set));
        }
        over > now
    }

    /// Whether the data of each page access crosses the link by itself.
    #[inline]
    pub(crate) const fn carries_pages(&self) -> bool {
        self.link.by_pages()
    }

    /// What the link has begun to carry since the last look, where its energy is counted.
    #[inline]
    pub(crate) const fn take_carried(&mut self) -> Option<Carried> {
        self.link.take_carried()
    }

    /// Whether somebody looks at that.
    #[inline]
    pub(crate) const fn notes_carried(&self) -> bool {
        self.link.is_noted()
    }

    /// The work of a request is done. Returns whether its answer has yet to cross the link or to be
    /// reaped; [`Timer::Answer`] then says when it has.
    pub(crate) fn sends_answer(&mut self, handle: RequestId, now: Time) -> bool {
        if !self.link.exists() {
            return false;
        }
        let sectors = carried(&self.requests[handle].request, RequestOp::Read);
        self.sends_rest(handle, sectors, now)
    }

    /// The same where so many sectors have yet to cross.
    pub(crate) fn sends_rest(&mut self, handle: RequestId, sectors: u32, now: Time) -> bool {
        if !self.link.exists() {
            return false;
        }
        let there = self.link.cross(true, sectors, now);
        self.link.answers(there);
        self.requests[handle].parts.add(Part::Link, there.since(now).as_ns());
        let later = there > now;
        if later {
            self.timers.set(there, Timer::Answer(handle));
        }
        later || self.must_be_reaped(handle, now)
    }

    /// The host has the answer of a request.
    #[expect(clippy::inline_always, reason = "once a request, with large arguments")]
    #[inline(always)]
    pub(crate) fn answered(&mut self, handle: RequestId, now: Time) {
        let request = &mut self.requests[handle];
        assert!(request.answered.is_none(), "request {} is answered twice", request.order);
        let latency = now.since(request.request.arrival).as_ns();
        assert_eq!(request.parts.total(), latency, "the parts of request {}", request.order);
        request.answered = Some(now);
        if let Some(answers) = &mut self.answers {
            answers.push_back(Answer { order: request.order, at: now, parts: request.parts });
        }
        self.requests.count_answer();
        self.queue.answered(handle);
        self.lanes.answered(handle, now, &self.requests);
    }
}

/// Sectors that a request carries in the direction of `op`.
fn carried(request: &Request, op: RequestOp) -> u32 {
    if request.op == op { request.sectors } else { 0 }
}

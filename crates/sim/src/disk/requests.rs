//! The way of a request through a disk: the controller, the cache, the answer.

use super::Disk;
use super::arm::{Arm, WaitingRead};
use super::check::Version;
use crate::handle::RequestId;
use crate::host::Timer;
use crate::metrics::counters::Tally;
use crate::metrics::parts::Part;
use flashyard_core::request::{Flags, Request, RequestOp, SECTOR_BYTES};
use flashyard_core::units::{Span, Time};
use std::collections::VecDeque;

/// The controller: commands that wait for it, and the one that it handles.
#[derive(Clone, Debug, Default)]
pub(super) struct Controller {
    queue: VecDeque<RequestId>,
    /// With the instant at which it has done so.
    busy: Option<(RequestId, Time)>,
}

impl Controller {
    /// When it is done with its command; [`Time::MAX`] where it has none.
    pub(super) fn due(&self) -> Time {
        self.busy.map_or(Time::MAX, |(_, due)| due)
    }
}

/// Requests that wait for something else than the controller, or for the arm to read.
#[derive(Clone, Debug, Default)]
pub(super) struct Waiting {
    /// Writes that wait for room in the write cache, in order.
    pub(super) room: VecDeque<RequestId>,
    /// A write that is larger than the write cache: it is answered when no more sectors are left
    /// than this.
    pub(super) large: Option<(RequestId, u64)>,
    /// Writes that are answered when they are on the platters, with their numbers.
    pub(super) durable: Vec<(RequestId, u64)>,
    /// Requests that wait for all writes up to a number.
    pub(super) flushed: Vec<(RequestId, u64)>,
}

impl Waiting {
    /// Whether a request waits until writes are on the platters.
    pub(super) fn needs_writes(&self) -> bool {
        self.large.is_some()
            || !(self.room.is_empty() && self.durable.is_empty() && self.flushed.is_empty())
    }
}

/// How the last operation of the arm that wrote spent its time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Written {
    pub(super) positioned: Span,
    pub(super) transferred: Span,
}

/// Sectors that a request touches: one at least.
pub(super) fn sectors_of(request: &Request) -> (u64, u64) {
    (request.first_sector, request.first_sector + u64::from(request.sectors.max(1)))
}

impl Disk {
    /// A request sets out for the disk.
    pub(super) fn send(&mut self, handle: RequestId) {
        if self.host.send(handle, self.now) {
            self.controller.queue.push_back(handle);
        }
    }

    /// Everything whose time has come.
    pub(super) fn timers_go_off(&mut self) {
        while let Some(timer) = self.host.goes_off(self.now) {
            match timer {
                Timer::Enter(handle) => self.controller.queue.push_back(handle),
                Timer::Submitted(handle) => self.send(handle),
                Timer::Answer(handle) => self.answer(handle),
                other => unreachable!("a disk sets no timer {other:?}"),
            }
        }
    }

    /// The controller turns to its next command.
    pub(super) fn controller_begins(&mut self) {
        if self.controller.busy.is_some() {
            return;
        }
        let Some(handle) = self.controller.queue.pop_front() else { return };
        let now = self.now;
        self.host.start(handle);
        let mut parts = *self.host[handle].answer().parts;
        self.host.charge_until(now, handle, &mut parts);
        let request = &mut self.host[handle];
        *request.parts_mut() = parts;
        request.has_slot(now);
        let place = self.place(handle);
        self.since[place] = now;
        self.energy_pj[place] = 0;
        self.controller.busy = Some((handle, now + self.keys().overhead_us));
    }

    /// The controller has handled its command.
    pub(super) fn controller_over(&mut self) {
        let (handle, _) = self.controller.busy.take().expect("the controller was due");
        self.charge(handle, Part::Firmware);
        if self.host[handle].request().is_barrier() && !self.cache.is_clean() {
            self.waiting.flushed.push((handle, self.number));
        } else {
            self.serve(handle);
        }
    }

    /// A request waits for no earlier write.
    pub(super) fn serve(&mut self, handle: RequestId) {
        let request = *self.host[handle].request();
        match request.op {
            RequestOp::Read => self.read(handle),
            RequestOp::Trim if !request.flags.has(Flags::ZEROES) => self.reply(handle),
            RequestOp::Write | RequestOp::Trim => self.write(handle),
            RequestOp::Flush => {
                if let Some(checker) = &mut self.checker {
                    checker.flush_answered(self.host[handle].order());
                }
                self.reply(handle);
            }
        }
    }

    fn read(&mut self, handle: RequestId) {
        let (first, end) = sectors_of(self.host[handle].request());
        self.catch_up();
        let (hit, segment) = self.cache.look_up(first, end);
        self.account.buffer_looked_up(hit);
        if hit {
            self.check_read(handle, segment);
            if let Some(place) = segment {
                self.cache.used(place, end);
                self.recent = Some(place);
                self.aim_ahead();
            }
            self.reply(handle);
        } else {
            let number = self.next_number();
            self.reads.push(WaitingRead { handle, first, end, number });
        }
    }

    /// A read gets its data, of a segment or else of the platters.
    pub(super) fn check_read(&mut self, handle: RequestId, segment: Option<usize>) {
        let Some(checker) = &mut self.checker else { return };
        let (first, end) = sectors_of(self.host[handle].request());
        let under_way = self.cache.under_way.iter();
        let under_way = under_way
            .map(|&(from, to, dirty)| (from.clamp(first, end), to.clamp(first, end), dirty.number));
        let dirty = self.cache.dirty.within(first, end);
        let dirty = dirty.map(|(from, to, dirty)| (from, to, dirty.number));
        let newer: Vec<Version> = under_way.chain(dirty).collect();
        checker.read_answered(self.host[handle].order(), (first, end), segment, &newer);
    }

    fn write(&mut self, handle: RequestId) {
        let (first, end) = sectors_of(self.host[handle].request());
        let cached = self.is_cached(handle);
        if cached && (!self.waiting.room.is_empty() || !self.cache.has_room(end - first)) {
            self.account.buffer_stalled();
            self.waiting.room.push_back(handle);
        } else {
            self.accept(handle);
        }
    }

    /// Whether a write is answered when it is in the write cache.
    fn is_cached(&self, handle: RequestId) -> bool {
        self.cache.acknowledges() && !self.host[handle].request().flags.has(Flags::FUA)
    }

    /// A write is in memory.
    fn accept(&mut self, handle: RequestId) {
        let (first, end) = sectors_of(self.host[handle].request());
        let number = self.next_number();
        self.cache.write(first, end, number);
        if !self.is_cached(handle) {
            self.waiting.durable.push((handle, number));
            return;
        }
        self.account.buffer_written(false, true);
        self.check_written(handle, number);
        // The cache holds the rest of a larger write. The head writes as the link carries: what
        // passes it meanwhile would be written by now.
        let mut left = self.cache.room;
        if end - first > left {
            let link_ns = (end - first) * self.sector_ps() / 1_000;
            left += self.mechanics.passed(first, end, Span::from_ns(link_ns)) - first;
        }
        if self.cache.held > left {
            self.waiting.large = Some((handle, left));
        } else {
            self.reply(handle);
        }
    }

    fn check_written(&mut self, handle: RequestId, number: u64) {
        if let Some(checker) = &mut self.checker {
            let (first, end) = sectors_of(self.host[handle].request());
            checker.write_answered(first, end, number);
        }
    }

    /// Writes have come to the platters: requests that waited for that go on.
    pub(super) fn wake(&mut self, written: Written) {
        if let Some((handle, _)) = self.waiting.large.take_if(|large| self.cache.held <= large.1) {
            self.charge_written(handle, written);
            self.reply(handle);
        }
        let mut durable = std::mem::take(&mut self.waiting.durable);
        durable.retain(|&(handle, number)| {
            let (first, end) = sectors_of(self.host[handle].request());
            let done = self.cache.is_durable(first, end, number);
            if done {
                self.check_written(handle, number);
                self.charge_written(handle, written);
                self.reply(handle);
            }
            !done
        });
        self.waiting.durable = durable;
        let mut flushed = std::mem::take(&mut self.waiting.flushed);
        flushed.retain(|&(handle, number)| {
            let done = self.cache.is_durable(0, u64::MAX, number);
            if done {
                self.charge(handle, Part::Flush);
                self.serve(handle);
            }
            !done
        });
        // A request that flushes and then waits for its own write does so in another list.
        self.waiting.flushed.append(&mut flushed);
        while let Some(&handle) = self.waiting.room.front() {
            let (first, end) = sectors_of(self.host[handle].request());
            if !self.cache.has_room(end - first) {
                break;
            }
            self.waiting.room.pop_front();
            self.charge(handle, Part::Buffer);
            self.accept(handle);
        }
    }

    /// The time since the last charge of a request is charged to a part.
    pub(super) fn charge(&mut self, handle: RequestId, part: Part) {
        let since = std::mem::replace(&mut self.since[handle.index()], self.now);
        self.host[handle].parts_mut().add(part, self.now.since(since).as_ns());
    }

    /// The same where the arm has worked at the end of that time.
    pub(super) fn charge_written(&mut self, handle: RequestId, written: Written) {
        let since = std::mem::replace(&mut self.since[handle.index()], self.now);
        let all = self.now.since(since);
        let transfer = written.transferred.min(all).as_ns();
        let array = written.positioned.as_ns().min(all.as_ns() - transfer);
        let parts = self.host[handle].parts_mut();
        parts.add(Part::Transfer, transfer);
        parts.add(Part::Array, array);
        parts.add(Part::Delaying, all.as_ns() - transfer - array);
    }

    /// The disk has done what a request asks for.
    pub(super) fn reply(&mut self, handle: RequestId) {
        self.host[handle].sum_own();
        if !self.host.sends_answer(handle, self.now) {
            self.answer(handle);
        }
    }

    /// The same for a read whose sectors have crossed the link while they passed the head, in so
    /// long; the last one at least has not.
    pub(super) fn reply_read(&mut self, handle: RequestId, passed: Span) {
        let crossed = (passed.as_ns() * 1_000).checked_div(self.sector_ps()).unwrap_or(u64::MAX);
        let request = &mut self.host[handle];
        request.sum_own();
        let crossed = u32::try_from(crossed).unwrap_or(u32::MAX);
        let rest = request.request().sectors.saturating_sub(crossed).max(1);
        if !self.host.sends_rest(handle, rest, self.now) {
            self.answer(handle);
        }
    }

    /// Picoseconds of a sector on the link.
    fn sector_ps(&self) -> u64 {
        self.settings.keys.interface.link_ps_per_byte * u64::from(SECTOR_BYTES)
    }

    /// The host has the answer of a request.
    fn answer(&mut self, handle: RequestId) {
        let now = self.now;
        self.host.answered(handle, now);
        let answer = self.host[handle].answer();
        self.account.answered(&answer, now);
        if self.account.is_observed() {
            let work = (Tally::default(), self.energy_pj[handle.index()]);
            self.account.tell(&answer.done(now, work));
        }
        self.host.close(handle);
    }

    /// Segments know how far the arm has read ahead.
    pub(super) fn catch_up(&mut self) {
        let Arm::Ahead(ahead) = &self.arm else { return };
        let passed = self.now.max(ahead.at).since(ahead.at);
        let next = self.mechanics.passed(ahead.from, ahead.limit, passed);
        let place = ahead.segment;
        self.extend(place, next);
    }

    /// A segment has been read on to a sector.
    pub(super) fn extend(&mut self, place: usize, end: u64) {
        let from = self.cache.segments[place].end;
        self.cache.extend(place, end);
        if let Some(checker) = &mut self.checker {
            checker.segment_read(place, from, end, false);
        }
    }
}

//! Puts and gets: page accesses that the write buffer serves.
//!
//! A page access of the host begins with [`Stage::Buffer`] where the buffer serves it. A write puts
//! its unit there as soon as a line is free, in the order of slots; answered from the buffer it is
//! over then, else its own program follows.

use super::Device;
use crate::account::PortUse;
use crate::buffer::ports::{Direction, Reservation};
use crate::buffer::{Buffer, Found, Line, Put, barrier_stage, latest_unput};
use crate::config::{Acknowledge, PartialWrite};
use crate::ftl::Plan;
use crate::handle::{LineId, RequestId, SetId};
use crate::host::Timer;
use crate::observe::{BufferAccess, FlushTrigger};
use crate::sets::{Mode, Set, Stage};
use flashyard_core::graph::EdgeKind;
use flashyard_core::request::{Flags, RequestOp};
use flashyard_core::units::{Lpn, Span};

impl Device {
    /// The commands of a read or write of a page where there is a buffer.
    pub(super) fn plan_buffered(
        &mut self,
        plan: &mut Plan,
        handle: RequestId,
        op: RequestOp,
        lpn: Lpn,
    ) {
        if op == RequestOp::Read {
            return self.plan_buffered_read(plan, handle, lpn);
        }
        if self.ftl.has_cache()
            && let Some(write) = latest_unput(&self.sets, lpn)
        {
            // It may have map commands to do first.
            plan.wait(write, self.sets.stage_index(write, Stage::Buffer), EdgeKind::Order);
        }
        plan.push(Stage::Buffer, self.ftl.plane_of_lpn(lpn));
        let request = self.host[handle].request;
        if self.is_durable(request.flags) {
            self.plan_write(plan, handle, lpn);
        } else if self.settings.keys.ftl.partial_write == PartialWrite::Bitmap {
            let covered = self.settings.covered(&request, lpn);
            self.ftl.cover(lpn, covered);
        }
    }

    /// Whether a write with these flags is answered only when its program is over.
    pub(super) fn is_durable(&self, flags: Flags) -> bool {
        let keys = &self.settings.keys.buffer;
        keys.acknowledge == Acknowledge::Program || (keys.volatile && flags.has(Flags::FUA))
    }

    /// Whether what the buffer holds outlives a loss of power, as what is on flash does.
    pub(super) fn keeps_writes(&self) -> bool {
        self.buffer.is_some() && !self.settings.keys.buffer.volatile
    }

    /// Whether a live change must be over, or put, before a write with a preflush begins.
    pub(super) fn barrier_waits(&self) -> bool {
        let keeps = self.keeps_writes();
        self.sets.changes().any(|change| barrier_stage(&self.sets, change, keeps).is_some())
    }

    /// Whether a page access needs its map entry before it can be translated: not where the buffer
    /// alone serves it, whose flush looks it up.
    pub(super) fn needs_entry(&self, handle: RequestId, op: RequestOp, lpn: Lpn) -> bool {
        self.ftl.has_cache()
            && (self.buffer.is_none()
                || match op {
                    RequestOp::Read => {
                        matches!(
                            self.find_read(handle, lpn),
                            Found::Line(_, false) | Found::Nothing
                        )
                    }
                    RequestOp::Write => self.is_durable(self.host[handle].request.flags),
                    RequestOp::Trim | RequestOp::Flush => true,
                })
    }

    /// What the buffer has for a read, or is about to get.
    pub(super) fn find_read(&self, handle: RequestId, lpn: Lpn) -> Found {
        let wanted = self.settings.covered(&self.host[handle].request, lpn);
        self.write_buffer().find(lpn, &wanted, &self.sets)
    }

    /// A read gets what the buffer holds now; it waits with a write of its unit that waits for a
    /// line.
    fn plan_buffered_read(&mut self, plan: &mut Plan, handle: RequestId, lpn: Lpn) {
        let plane = self.ftl.plane_of_lpn(lpn);
        let access = (self.host[handle].order, self.host[handle].page);
        let (line, enough) = match self.find_read(handle, lpn) {
            Found::Write(write) => {
                let version = self.sets.number(write);
                plan.wait(write, self.sets.stage_index(write, Stage::Buffer), EdgeKind::Order);
                let whole = self.writes_all(write, handle, lpn) || self.ftl.locate(lpn).is_none();
                self.account.buffer_looked_up(whole);
                self.account.buffer_read(access, lpn, version, false);
                if whole {
                    plan.push(Stage::Buffer, plane);
                } else {
                    self.plan_read(plan, lpn);
                }
                return;
            }
            Found::Nothing => {
                self.account.buffer_looked_up(false);
                return self.plan_read(plan, lpn);
            }
            Found::Line(line, enough) => (line, enough),
        };
        let found = self.write_buffer_mut().read(line);
        let (version, of_flash) = (found.version, found.is_of_flash());
        // What was never written needs no array.
        let whole = enough || self.ftl.locate(lpn).is_none();
        if of_flash {
            self.account.allocated_read(access, lpn);
        } else {
            self.account.buffer_read(access, lpn, version, true);
        }
        self.account.buffer_looked_up(whole);
        if whole {
            plan.push(Stage::Buffer, plane);
        } else {
            self.plan_read(plan, lpn);
        }
    }

    /// Whether a write that is about to be put has all that a read wants. What the line of its unit
    /// holds by now does not count, for it may be gone by then.
    fn writes_all(&self, write: SetId, read: RequestId, lpn: Lpn) -> bool {
        if self.settings.keys.ftl.partial_write == PartialWrite::Ignore {
            return true;
        }
        let written = self.settings.covered(&self.host[self.sets[write].owner()].request, lpn);
        let wanted = self.settings.covered(&self.host[read].request, lpn);
        written.start <= wanted.start && wanted.end <= written.end
    }

    /// The current command of a set is an access to the buffer: it begins, or waits for a line.
    /// [`Self::wake_due`] must follow.
    pub(super) fn use_buffer(&mut self, set: SetId) {
        let Set { slotted, changes, request, .. } = self.sets[set];
        if !slotted && request.is_some() {
            self.take_slot(set);
        }
        self.enter(set, Mode::Buffered);
        let puts = changes && request.is_some();
        // What finds no line is refused before its put is prepared.
        if puts && !(self.write_buffer().may_put(&self.sets[set]) && self.put(set, false)) {
            self.enter(set, Mode::Lineless);
            self.account.buffer_stalled();
            self.write_buffer_mut().wait(set);
            return;
        }
        self.access_buffer(set);
    }

    /// The unit of a write that has a line comes over the link and is put; that of a read is got.
    /// [`Self::wake_due`] must follow.
    fn access_buffer(&mut self, set: SetId) {
        let Set { changes, request, .. } = self.sets[set];
        let comes = self.host.carries_pages() && changes && request.is_some();
        if !(comes && self.crosses_link(set)) {
            self.access(set);
        }
    }

    /// A unit is put or got. [`Self::wake_due`] must follow.
    pub(super) fn access(&mut self, set: SetId) {
        let Set { lpn, changes, request, buffered, .. } = self.sets[set];
        let host = request.is_some();
        let direction = if host && changes { Direction::Put } else { Direction::Get };
        let line = if host { self.write_buffer().lines().find(lpn) } else { buffered };
        let granted = self.take_port(direction, lpn, line, host);
        if self.account.is_observed() {
            self.tell_access(set, direction, line, &granted);
        }
        let over = granted.until + Span::from_ns(self.settings.keys.buffer.access_ns);
        if over > self.now {
            self.host.timers.set(over, Timer::Buffer(set));
        } else {
            self.access_over(set);
        }
    }

    /// A unit is put or got as soon as its port and the bank of its line are free; `host` is
    /// whether a request asks for it. Returns when it has them.
    pub(super) fn take_port(
        &mut self,
        direction: Direction,
        lpn: Lpn,
        line: Option<LineId>,
        host: bool,
    ) -> Reservation {
        let now = self.now;
        let (granted, span) = self.write_buffer_mut().reserve(direction, lpn, line, host, now);
        let usage = match (direction, host) {
            (Direction::Get, true) => PortUse::Get,
            (Direction::Get, false) => PortUse::FlushGet,
            (Direction::Put, _) => PortUse::Put,
        };
        self.account.port_taken(usage, span, granted.hidden);
        granted
    }

    /// Tells observers of an access.
    fn tell_access(
        &mut self,
        set: SetId,
        direction: Direction,
        line: Option<LineId>,
        granted: &Reservation,
    ) {
        let Set { request, page, lpn, .. } = self.sets[set];
        let event = BufferAccess {
            request: request.map(|request| self.host[request].order),
            page,
            lpn: lpn.get(),
            bank: line.map(|line| self.write_buffer().lines()[line].bank()),
            put: direction == Direction::Put,
            start: granted.from,
            end: granted.until,
        };
        self.account.tell(&event);
    }

    /// A unit has been put or got. [`Self::wake_due`] must follow.
    pub(super) fn access_over(&mut self, set: SetId) {
        self.close_and_rest(set);
        let Set { changes, request, page, lpn, .. } = self.sets[set];
        if let Some(request) = request.filter(|_| !changes && self.account.is_checked()) {
            self.account.read_over(self.host[request].order, page, None);
        }
        if changes && request.is_some() {
            self.account.put_over(lpn, self.sets.number(set));
            self.flush_at_once(lpn);
        }
        self.sets.complete_and_list(set);
        self.charge_passed();
        self.go_on(set);
        self.work.ready_is_due = true;
    }

    /// Puts the unit of a write into a line, if one is free; `granted` is whether it is its turn.
    fn put(&mut self, set: SetId, granted: bool) -> bool {
        let Set { lpn, superseded, stream, .. } = self.sets[set];
        let (number, through) = (self.sets.number(set), self.sets.last_stage(set) > 0);
        if superseded {
            // A later trim has forgotten the unit already.
            if through {
                self.plan_change(set, (1, 0));
                self.ftl.trim_planned(lpn);
            }
            return true;
        }
        let request = self.sets[set].owner();
        let pending = &self.host[request];
        let writer = (request, pending.order);
        let covered = self.settings.covered(&pending.request, lpn);
        let group = self.group_of(lpn, stream);
        let put = Put { lpn, number, writer, stream, covered, group, through, granted };
        let buffer = self.buffer.as_mut().expect("there is a buffer");
        let Some(outcome) = buffer.put(&put, &self.sets) else { return false };
        self.account.buffer_written(outcome.held, outcome.clean);
        if outcome.fill_dropped {
            self.account.fill_dropped(lpn);
        }
        self.account.buffered(writer.1, lpn, number, outcome.evicted);
        if through {
            self.write_through(set, outcome.line, group);
        }
        true
    }

    /// The program of a write carries its own unit, and others fill its program unit.
    fn write_through(&mut self, set: SetId, line: LineId, group: u32) {
        let Set { lpn, .. } = self.sets[set];
        self.account.flush_begins(lpn, self.sets.number(set));
        self.begin_flush(set, line, group);
        if self.ftl.is_planned() {
            self.sets[set].asked = true;
            let pages = self.host[self.sets[set].owner()].pages;
            return self.plan_change(set, (pages, 0));
        }
        let (_, plane) = *self.sets.commands(set).last().expect("a write has a program");
        self.flush_lines(None, group, Some((set, plane)), FlushTrigger::Beside);
    }

    /// The lines that a unit is programmed with: of its plane and frontier.
    pub(super) fn group_of(&self, lpn: Lpn, stream: u8) -> u32 {
        self.write_buffer().group_of(self.ftl.plane_of_lpn(lpn), stream)
    }

    /// A unit was trimmed by the change `number`.
    pub(super) fn drop_buffered(&mut self, lpn: Lpn, number: u64) {
        if self.buffer.is_none() {
            return;
        }
        self.drop_fill(lpn);
        if let Some(dirty) = self.write_buffer_mut().trim(lpn, number) {
            if dirty {
                self.account.dirty_unit_trimmed();
            }
            self.account.unbuffered(lpn);
        }
    }

    /// Writes that wait for a line get what is free. Returns whether one did.
    pub(super) fn grant_lines(&mut self) -> bool {
        let mut granted = false;
        while let Some(buffer) = &self.buffer
            && let Some(set) = buffer.first_waiting()
            && buffer.may_put(&self.sets[set])
            && self.put(set, true)
        {
            self.write_buffer_mut().end_wait();
            self.enter(set, Mode::Buffered);
            self.access_buffer(set);
            self.wake_due();
            granted = true;
        }
        granted
    }

    /// A line of the buffer.
    pub(super) fn line(&self, line: LineId) -> &Line {
        &self.write_buffer().lines()[line]
    }

    pub(super) fn write_buffer(&self) -> &Buffer {
        self.buffer.as_ref().expect("there is a buffer")
    }

    pub(super) fn write_buffer_mut(&mut self) -> &mut Buffer {
        self.buffer.as_mut().expect("there is a buffer")
    }
}

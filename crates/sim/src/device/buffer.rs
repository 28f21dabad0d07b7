//! What enters and leaves the write buffer: its ports, trims, and what reads leave in it.
//!
//! A unit that a read has found on flash is put where a line is free or clean. With
//! `buffer.read_allocate` "displace" the line that goes first of all may be dirty: it is flushed,
//! as for a write, and the unit waits until that is over. Nobody waits for any of this. Not more
//! units wait than flushes begin for them: where none may begin, the unit is not kept.

use super::Device;
use crate::account::PortUse;
use crate::buffer::ports::{Direction, Reservation};
use crate::config::PartialWrite;
use crate::handle::{LineId, SetId};
use flashyard_core::units::{Lpn, Time};

impl Device {
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

    /// A read has found a unit on flash: it stays in the buffer if nothing newer is known, all of
    /// it was asked for, no write waits for a line, and a line can be had.
    pub(super) fn allocate_read(&mut self, set: SetId) {
        let state = &self.sets[set];
        let (lpn, read) = (state.lpn(), state.origin().expect("a request reads"));
        let Some(buffer) = &self.buffer else { return };
        let asked = &self.host[read.request];
        let whole = self.settings.keys.ftl.partial_write == PartialWrite::Ignore
            || !self.settings.is_partial(asked.request(), lpn);
        if !whole
            || state.ppn().is_none()
            || self.ftl.locate(lpn) != state.ppn()
            || !buffer.may_keep(lpn)
        {
            return;
        }
        let access = (read.order, read.page);
        if buffer.has_room_for_read() {
            let evicted = self.lines_of_reads().leave(lpn);
            self.account.allocated(access, lpn, evicted);
        } else if self.write_buffer_mut().wait_for_line(lpn) {
            self.account.fill_waits(access, lpn);
        }
    }

    /// A unit gets a line, if there is `room` and no write waits for one, or is not kept.
    pub(super) fn end_fill(&mut self, lpn: Lpn, room: bool) {
        if !room || self.write_buffer().first_waiting().is_some() {
            return self.drop_fill(lpn);
        }
        self.write_buffer_mut().drop_fill(lpn);
        let evicted = self.lines_of_reads().leave(lpn);
        self.account.filled(lpn, evicted);
    }

    /// The contents of a unit are no longer what a read has found.
    pub(super) fn drop_fill(&mut self, lpn: Lpn) {
        if self.write_buffer_mut().drop_fill(lpn) {
            self.account.fill_dropped(lpn);
        }
    }

    /// When a drained device rests: what reads have left in the buffer may still be put.
    pub(super) fn rests_at(&self) -> Time {
        self.buffer.as_ref().map_or(self.now, |buffer| buffer.ports().rest().max(self.now))
    }

    /// A phase begins: the buffer has nothing to do, and is quiet since now at the earliest.
    pub(super) fn rest_buffer(&mut self) {
        self.now = self.rests_at();
        if let Some(buffer) = &mut self.buffer {
            buffer.rest();
        }
    }
}

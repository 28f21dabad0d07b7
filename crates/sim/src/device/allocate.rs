//! What reads leave in the write buffer.
//!
//! A unit that a read has found on flash is put where a line is free or clean. With
//! `buffer.read_allocate` "displace" the line that goes first of all may be dirty: it is flushed,
//! as for a write, and the unit waits until that is over. Nobody waits for any of this. Not more
//! units wait than flushes begin for them: where none may begin, the unit is not kept.

use super::Device;
use crate::buffer::ports::Direction;
use crate::config::PartialWrite;
use crate::handle::SetId;
use crate::host::Timer;
use crate::observe::FlushTrigger;
use flashyard_core::units::Lpn;

impl Device {
    /// A read has found a unit on flash: it stays in the buffer if nothing newer is known, all of
    /// it was asked for, no write waits for a line, and a line can be had.
    pub(super) fn allocate_read(&mut self, set: SetId) {
        let state = &self.sets[set];
        let (lpn, request, page) = (state.lpn, state.owner(), state.page);
        let Some(buffer) = &self.buffer else { return };
        let asked = &self.host[request];
        let whole = self.settings.keys.ftl.partial_write == PartialWrite::Ignore
            || !self.settings.is_partial(&asked.request, lpn);
        if !whole
            || state.ppn.is_none()
            || self.ftl.locate(lpn) != state.ppn
            || !buffer.may_keep(lpn)
        {
            return;
        }
        let access = (asked.order, page);
        if buffer.has_room_for_read() {
            let evicted = self.leave_unit(lpn);
            self.account.allocated(access, lpn, evicted);
        } else if self.write_buffer_mut().wait_for_line(lpn) {
            self.account.fill_waits(access, lpn);
        }
    }

    /// Units that reads leave get the lines that have been flushed for them; flushes begin for
    /// those that a read has left at this instant.
    pub(super) fn serve_fills(&mut self) {
        while let Some(fill) = self.buffer.as_ref().and_then(|buffer| buffer.next_flushed()) {
            let freed = self.write_buffer_mut().free_displaced(&fill);
            if let Some(freed) = freed {
                self.account.unbuffered(freed);
            }
            // Writes that waited for a line went before.
            let room = self.write_buffer().lines().has_room();
            self.end_fill(fill.lpn, room);
        }
        while let Some(lpn) = self.buffer.as_ref().and_then(|buffer| buffer.next_unserved()) {
            if self.write_buffer().has_room_for_read() {
                self.end_fill(lpn, true);
                continue;
            }
            let displaces = self.displace_line();
            // A write that the flush has let pass may have put the unit.
            let waits = self.write_buffer_mut().displace(lpn, displaces);
            if waits && displaces.is_none() {
                self.drop_fill(lpn);
            }
        }
    }

    /// A unit gets a line, if there is `room` and no write waits for one, or is not kept.
    fn end_fill(&mut self, lpn: Lpn, room: bool) {
        if !room || self.write_buffer().first_waiting().is_some() {
            return self.drop_fill(lpn);
        }
        self.write_buffer_mut().drop_fill(lpn);
        let evicted = self.leave_unit(lpn);
        self.account.filled(lpn, evicted);
    }

    /// Begins to flush the dirty line that goes first, if it can be. Returns its unit.
    fn displace_line(&mut self) -> Option<Lpn> {
        let buffer = self.write_buffer();
        let victim = buffer.victim(&self.sets, self.now)?;
        let unit = buffer.lines()[victim].lpn;
        (buffer.may_flush() && self.flush_line(victim, FlushTrigger::Displaced)).then_some(unit)
    }

    /// The contents of a unit are no longer what a read has found.
    pub(super) fn drop_fill(&mut self, lpn: Lpn) {
        if self.write_buffer_mut().drop_fill(lpn) {
            self.account.fill_dropped(lpn);
        }
    }

    /// Puts what a read has found on flash into a line. Returns the unit that made way.
    fn leave_unit(&mut self, lpn: Lpn) -> Option<Lpn> {
        let evicted = self.write_buffer_mut().add_clean(lpn);
        let line = self.write_buffer().lines().find(lpn);
        self.account.unit_allocated();
        let put = self.take_port(Direction::Put, lpn, line, false);
        if !self.write_buffer().flushes_itself() && put.until > self.now {
            self.host.timers.set(put.until, Timer::Port);
        }
        evicted
    }
}

//! What reads leave in the write buffer.
//!
//! A unit that a read has found on flash is put where a line is free or clean. With
//! `buffer.read_allocate` "displace" the line that goes first of all may be dirty: it is flushed,
//! as for a write, and the unit waits until that is over. Nobody waits for any of this. Not more
//! units wait than flushes begin for them: where none may begin, the unit is not kept.

use super::Device;
use super::drain::LOOK;
use crate::buffer::ports::Direction;
use crate::buffer::staging::Fill;
use crate::config::{PartialWrite, ReadAllocate};
use crate::host::timers::Timer;
use flashyard_core::units::Lpn;

impl Device {
    /// A read has found a unit on flash: it stays in the buffer if nothing newer is known, all of
    /// it was asked for, no write waits for a line, and a line can be had.
    pub(super) fn allocate_read(&mut self, set: u32) {
        let state = &self.sets[set];
        let (lpn, request, page) = (state.lpn, state.request, state.page);
        let Some(buffer) = &self.buffer else { return };
        let asked = &self.host.pending[request as usize];
        let whole = self.settings.keys.ftl.partial_write == PartialWrite::Ignore
            || !self.is_partial(&asked.request, lpn);
        if !whole
            || state.ppn.is_none()
            || self.ftl.locate(lpn) != state.ppn
            || buffer.lines.find(lpn).is_some()
            || !buffer.waiting.is_empty()
            || buffer.fills.iter().any(|fill| fill.lpn == lpn)
        {
            return;
        }
        let access = (asked.order, page);
        if self.has_room_for_read() {
            let evicted = self.leave_unit(lpn);
            self.account.allocated(access, lpn, evicted);
        } else if self.settings.keys.buffer.read_allocate == ReadAllocate::Displace {
            self.staging_mut().fills.push_back(Fill { lpn, displaces: None });
            self.account.fill_waits(access, lpn);
        }
    }

    /// Whether a unit that a read leaves has a line without a flush.
    fn has_room_for_read(&self) -> bool {
        let buffer = self.staging();
        match self.settings.keys.buffer.read_allocate {
            ReadAllocate::Never => false,
            ReadAllocate::Clean => buffer.lines.has_room(),
            ReadAllocate::Displace => buffer.lines.first_is_not_dirty(),
        }
    }

    /// Units that reads leave get the lines that have been flushed for them; flushes begin for
    /// those that a read has left at this instant.
    pub(super) fn serve_fills(&mut self) {
        while let Some(fill) = self.next_fill(Self::is_flushed) {
            self.free_displaced(&fill);
            // Writes that waited for a line went before.
            let room = self.staging().lines.has_room();
            self.end_fill(fill.lpn, room);
        }
        while let Some(fill) = self.next_fill(|_, fill| fill.displaces.is_none()) {
            if self.has_room_for_read() {
                self.end_fill(fill.lpn, true);
                continue;
            }
            let displaces = self.displace_line();
            // A write that the flush has let pass may have put the unit.
            let mut fills = self.staging_mut().fills.iter_mut();
            let Some(waits) = fills.find(|other| other.lpn == fill.lpn) else { continue };
            waits.displaces = displaces;
            if displaces.is_none() {
                self.drop_fill(fill.lpn);
            }
        }
    }

    fn next_fill(&self, wanted: impl Fn(&Self, &Fill) -> bool) -> Option<Fill> {
        let fills = self.buffer.iter().flat_map(|buffer| &buffer.fills);
        fills.copied().find(|fill| wanted(self, fill))
    }

    /// Whether the flush that a unit waits for is over.
    fn is_flushed(&self, fill: &Fill) -> bool {
        let Some(unit) = fill.displaces else { return false };
        let lines = &self.staging().lines;
        !lines.find(unit).is_some_and(|line| lines.line(line).is_flushing())
    }

    /// The line that was flushed for a unit is free, if it was not written again or taken.
    fn free_displaced(&mut self, fill: &Fill) {
        let Some(unit) = fill.displaces else { return };
        let lines = &mut self.staging_mut().lines;
        let Some(line) = lines.find(unit).filter(|&line| !lines.line(line).is_dirty()) else {
            return;
        };
        lines.remove(line);
        self.account.unbuffered(unit);
    }

    /// A unit gets a line, if there is `room` and no write waits for one, or is not kept.
    fn end_fill(&mut self, lpn: Lpn, room: bool) {
        if !room || !self.staging().waiting.is_empty() {
            return self.drop_fill(lpn);
        }
        self.staging_mut().fills.retain(|fill| fill.lpn != lpn);
        let evicted = self.leave_unit(lpn);
        self.account.filled(lpn, evicted);
    }

    /// Begins to flush the dirty line that goes first, if it can be. Returns its unit.
    fn displace_line(&mut self) -> Option<Lpn> {
        let lines = &self.staging().lines;
        let dirty = std::iter::successors(lines.first_dirty(), |line| lines.next_dirty(*line));
        let victim = dirty.take(LOOK).find(|&line| self.may_displace(line))?;
        let unit = lines.line(victim).lpn;
        (self.may_flush() && self.flush_line(victim)).then_some(unit)
    }

    /// Whether a dirty line may be flushed for a unit that a read leaves.
    fn may_displace(&self, line: u32) -> bool {
        let buffer = self.staging();
        let uses = |direction| buffer.ports.uses(direction, line, self.now);
        let state = buffer.lines.line(line);
        !state.is_flushing()
            && buffer.lines.may_begin(state.group())
            && !uses(Direction::Get)
            && !uses(Direction::Put)
            && !self.is_being_put(line)
    }

    /// The contents of a unit are no longer what a read has found.
    pub(super) fn drop_fill(&mut self, lpn: Lpn) {
        let fills = &mut self.staging_mut().fills;
        if let Some(at) = fills.iter().position(|fill| fill.lpn == lpn) {
            fills.remove(at);
            self.account.fill_dropped(lpn);
        }
    }

    /// Puts what a read has found on flash into a line. Returns the unit that made way.
    fn leave_unit(&mut self, lpn: Lpn) -> Option<Lpn> {
        let evicted = self.add_clean(lpn);
        let line = self.staging().lines.find(lpn);
        self.account.unit_allocated();
        let put = self.take_port(Direction::Put, lpn, line, false);
        if !self.drains_by_itself() && put.until > self.now {
            self.host.timers.set(put.until, Timer::Port);
        }
        evicted
    }
}

//! What the write buffer does at each admission: lines for writes that wait, flushes that no
//! request asks for, and lines for what reads leave.

use super::Device;
use crate::handle::LineId;
use crate::observe::{FlushTrigger, OwnCause};
use crate::sets::Mode;
use flashyard_core::units::Lpn;

impl Device {
    /// Begins to flush every dirty unit. Returns whether it could; the rest is dirty still.
    pub(super) fn flush_all(&mut self) -> bool {
        while let Some(buffer) = &mut self.buffer
            && let Some(group) = buffer.oldest_group()
        {
            if !self.flush_lines(None, group, None, FlushTrigger::Asked).any {
                return false;
            }
        }
        self.plan_flushes();
        true
    }

    /// Flushes what no request asks for, as far as its rule wants it and planes are free. Where a
    /// host policy does that, only for writes that it has started with all their pages. Returns
    /// whether a flush began.
    pub(super) fn drain_buffer(&mut self) -> bool {
        let Some(buffer) = &self.buffer else { return false };
        if buffer.leaves_flushing() {
            return false;
        }
        let idle = buffer.flushes_itself() && self.is_quiet();
        let mut any = false;
        while let Some(trigger) = self.wants_flush(idle)
            && self.write_buffer().may_drain()
            && self.drain_group(trigger)
        {
            any = true;
        }
        if any {
            self.plan_flushes();
        }
        any
    }

    /// Begins to flush a program unit of the group whose turn it is. Where nothing of that is fit
    /// and a host policy flushes, the other ready ones are tried. Returns whether a flush began.
    fn drain_group(&mut self, trigger: FlushTrigger) -> bool {
        let buffer = self.write_buffer_mut();
        let Some(first) = buffer.ready_group() else {
            // No program would be full, but a write waits.
            let group = buffer.awaited_group();
            return group.is_some_and(|group| self.flush_lines(None, group, None, trigger).any);
        };
        let mut group = first;
        loop {
            let buffer = self.buffer.as_mut().expect("there is a buffer");
            if buffer.keeps_turn(group, &self.sets) {
                return false;
            }
            let outcome = self.flush_lines(None, group, None, trigger);
            if outcome.any || outcome.stalled {
                return outcome.any;
            }
            match self.write_buffer().lines().next_ready(group) {
                Some(next) if next != first => group = next,
                _ => return false,
            }
        }
    }

    /// The same for a host policy, as far as program units may be under way.
    pub(super) fn flush_for_policy(&mut self, line: LineId) -> bool {
        self.write_buffer().may_flush() && self.flush_line(line, FlushTrigger::Policy)
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

    /// Begins to flush the dirty line that goes first, if it can be. Returns its unit.
    fn displace_line(&mut self) -> Option<Lpn> {
        let buffer = self.write_buffer();
        let victim = buffer.victim(&self.sets, self.now)?;
        let unit = buffer.lines()[victim].lpn;
        (buffer.may_flush() && self.flush_line(victim, FlushTrigger::Displaced)).then_some(unit)
    }

    /// Begins to read ahead what runs of reads want.
    pub(super) fn read_ahead(&mut self) {
        while let Some((set, plane)) = self.lines_of_reads().begin() {
            self.own_set_made(set, None, plane, OwnCause::Ahead);
            self.activate(set);
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
            self.ledger().enter(set, Mode::Buffered);
            self.access_buffer(set);
            self.wake_due();
            granted = true;
        }
        granted
    }
}

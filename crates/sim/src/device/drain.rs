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
        let Some(idle) = self.translation().begin_drain() else { return false };
        let mut any = false;
        while let Some(trigger) = self.translation().wants_flush(idle)
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
        let mut tried = None;
        while let Some(buffer) = &mut self.buffer
            && let Some(group) = buffer.next_group(&mut tried, &self.sets)
        {
            let outcome = self.flush_lines(None, group, None, trigger);
            if outcome.any || outcome.stalled {
                return outcome.any;
            }
        }
        false
    }

    /// The same for a host policy, as far as program units may be under way.
    pub(super) fn flush_for_policy(&mut self, line: LineId) -> bool {
        self.write_buffer().may_flush() && self.flush_line(line, FlushTrigger::Policy)
    }

    /// Units that reads leave get the lines that have been flushed for them; flushes begin for
    /// those that a read has left at this instant.
    pub(super) fn serve_fills(&mut self) {
        self.translation().lines_of_reads().end_fills();
        while let Some(lpn) = self.translation().lines_of_reads().next_fill() {
            let displaces = self.displace_line();
            self.translation().lines_of_reads().displace(lpn, displaces);
        }
    }

    /// Begins to flush the dirty line that goes first, if it can be. Returns its unit.
    fn displace_line(&mut self) -> Option<Lpn> {
        let (victim, unit) = self.translation().lines_of_reads().victim()?;
        self.flush_line(victim, FlushTrigger::Displaced).then_some(unit)
    }

    /// Begins to read ahead what runs of reads want.
    pub(super) fn read_ahead(&mut self) {
        while let Some((set, plane)) = self.translation().lines_of_reads().begin() {
            self.own_set_made(set, None, plane, OwnCause::Ahead);
            self.activate(set);
        }
    }

    /// Writes that wait for a line get what is free. Returns whether one did.
    pub(super) fn grant_lines(&mut self) -> bool {
        let mut granted = false;
        while let Some(buffer) = &self.buffer
            && let Some(set) = buffer.first_waiting()
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

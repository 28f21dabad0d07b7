//! When the write buffer is flushed although no request asks for it.

use super::Device;
use crate::buffer::Quiet;
use crate::handle::LineId;
use crate::host::Timer;
use crate::observe::FlushTrigger;
use flashyard_core::units::{Lpn, Time};

impl Device {
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

    /// Why a dirty unit shall be flushed now, if it shall.
    fn wants_flush(&mut self, idle: bool) -> Option<FlushTrigger> {
        let buffer = self.buffer.as_mut().expect("there is a buffer");
        buffer.wants_flush(idle, &mut self.host.coming_writes(buffer.look_ahead()))
    }

    /// Whether no request has been outstanding for as long as the buffer waits before it is
    /// flushed.
    fn is_quiet(&mut self) -> bool {
        let (arrived, outstanding, now) = (self.host.arrived(), self.host.outstanding(), self.now);
        match self.write_buffer_mut().quiet(arrived, outstanding, now) {
            Quiet::Yes => true,
            Quiet::No => false,
            Quiet::From(due) => {
                self.host.timers.set(due, Timer::Quiet);
                false
            }
        }
    }

    /// A unit has been put: it is flushed where that is the rule.
    pub(super) fn flush_at_once(&mut self, lpn: Lpn) {
        if let Some(line) = self.write_buffer().flush_at_once(lpn) {
            self.flush_line(line, FlushTrigger::Written);
        }
    }

    /// Begins to flush a dirty line, with others of its group as far as its program unit has room.
    /// Returns whether its own flush began.
    pub(super) fn flush_line(&mut self, line: LineId, trigger: FlushTrigger) -> bool {
        let group = self.line(line).group();
        let began = self.flush_lines(Some(line), group, None, trigger).head;
        self.plan_flushes();
        began
    }

    /// The same for a host policy, as far as program units may be under way.
    pub(super) fn flush_for_policy(&mut self, line: LineId) -> bool {
        self.write_buffer().may_flush() && self.flush_line(line, FlushTrigger::Policy)
    }

    /// The first dirty line of a group from `line` on that may be flushed without being asked for.
    pub(super) fn fit_line(&self, line: Option<LineId>, with_head: bool) -> Option<LineId> {
        let now = (&self.sets, self.now);
        self.write_buffer().fit_line(line, with_head, now, |lpn| self.host.is_queued(lpn))
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

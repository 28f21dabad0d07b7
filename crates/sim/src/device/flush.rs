//! Flushes: sets that carry the contents of lines to flash, and begin together.
//!
//! A flush is a set of the device's own: it carries the contents of a line as of its start and, in
//! the order of changes, the number of the write that they came from, so every rule for changes
//! holds for it. Flushes of a group of lines begin together, so that their programs fill a program
//! unit.

use super::Device;
use crate::buffer::{Batch, Line, Quiet};
use crate::config::PartialWrite;
use crate::ftl::Plan;
use crate::ftl::line_cache::Lookup;
use crate::handle::{LineId, SetId};
use crate::host::Timer;
use crate::observe::{FlushTrigger, OwnCause};
use crate::sets::{Flush, Stage};
use flashyard_core::units::PlaneId;

impl Device {
    /// A set begins to carry the contents of a line to flash.
    pub(super) fn begin_flush(&mut self, set: SetId, line: LineId, group: u32) {
        self.account.unit_flushed(self.phase());
        let lacking = self.sets.commands(set).iter().any(|stage| stage.0 == Stage::OldRead);
        self.write_buffer_mut().begin_flush(line, group, lacking);
    }

    /// A set has read what flash has of the unit that it changes: its line has it, where it
    /// carries one.
    pub(super) fn rest_read(&mut self, set: SetId) {
        if let Some(line) = self.sets[set].line() {
            self.write_buffer_mut().fill(line);
            self.account.rest_read(self.sets[set].lpn(), self.sets.number(set));
        }
    }

    /// Makes the set that programs the contents of a line.
    pub(super) fn new_flush(&mut self, line: LineId, group: u32, plane: PlaneId) -> SetId {
        let state = *self.line(line);
        let charge = state.writer.and_then(|writer| self.host.charge(writer));
        let mut plan = Plan::new();
        if self.settings.keys.buffer.flush_reads {
            plan.push(Stage::Buffer, plane);
        }
        let found = self.plan_map(&mut plan, state.lpn);
        assert!(found, "the cache has been asked before");
        if let Some(old) = self.plane_of_rest(line) {
            plan.push(Stage::OldRead, old);
        }
        self.ftl.push_program(&mut plan, plane);
        let Line { lpn, stream, version, .. } = state;
        let flush = Flush { line, lpn, stream, charge, map: plan.map };
        self.make_room();
        let set = self.sets.add_flush(self.now, version, &flush, plan.stages());
        self.enlist(set, &plan);
        self.account.flush_begins(lpn, version);
        self.begin_flush(set, line, group);
        set
    }

    /// Where the sectors of a unit are that its line lacks; none where it lacks none.
    fn plane_of_rest(&mut self, line: LineId) -> Option<PlaneId> {
        let state = *self.line(line);
        let place = self.ftl.locate(state.lpn)?;
        let (held, all) = (state.from..state.until, self.write_buffer().unit_range());
        let lacks = held != all
            && match self.settings.keys.ftl.partial_write {
                PartialWrite::Ignore => false,
                PartialWrite::ReadModifyWrite => true,
                PartialWrite::Bitmap => {
                    self.ftl.cover(state.lpn, u64::from(held.start)..u64::from(held.end))
                }
            };
        if lacks {
            self.account.partial_write_read();
        }
        lacks.then(|| self.settings.geometry.plane_of(place))
    }

    /// A set that carried a unit to flash is complete.
    pub(super) fn flush_over(&mut self, set: SetId, line: LineId) {
        let state = &self.sets[set];
        let (of_request, leads) = (state.request().is_some(), state.leads_flush());
        let group = self.group_of(state.lpn(), state.stream());
        let freed = self.write_buffer_mut().end_flush(line, group, leads);
        if let Some(freed) = freed {
            self.account.unbuffered(freed);
        }
        let now = self.now;
        if let Some(usable) = self.write_buffer_mut().hold_line(line, group, now) {
            self.host.set_timer(usable, Timer::Usable);
        }
        if !of_request {
            self.sets.unlist_change(set);
            self.sets.unlist_by_lpn(set);
        }
    }

    /// The line that is flushed next, of those that begin to be flushed together.
    pub(super) fn next_of_batch(&mut self, batch: &mut Batch) -> Option<LineId> {
        let Self { sets, ftl, host, buffer, now, .. } = self;
        let stalls = |lpn| {
            let stalled = ftl.map_stalls(lpn, |set| sets.waits_for_slot(set))?;
            Some(stalled == Lookup::Stall)
        };
        let buffer = buffer.as_mut().expect("there is a buffer");
        buffer.next_of_batch(batch, (sets, *now), |lpn| host.is_queued(lpn), stalls)
    }

    /// Tells observers of a flush; a write whose own program carries the line is not one.
    #[cold]
    pub(super) fn tell_flush(&mut self, set: SetId, trigger: FlushTrigger) {
        if self.sets[set].request().is_none() {
            let charged = self.order_of(self.sets[set].charge());
            let plane = self.sets.plane(set);
            self.teller().tell_own_work(set, plane, OwnCause::Flush(trigger), charged);
        }
    }

    /// Why a dirty unit shall be flushed now, if it shall.
    pub(super) fn wants_flush(&mut self, idle: bool) -> Option<FlushTrigger> {
        let buffer = self.buffer.as_mut().expect("there is a buffer");
        buffer.wants_flush(idle, |requests| self.host.coming_writes(requests))
    }

    /// Whether no request has been outstanding for as long as the buffer waits before it is
    /// flushed.
    pub(super) fn is_quiet(&mut self) -> bool {
        let (arrived, outstanding, now) = (self.host.arrived(), self.host.outstanding(), self.now);
        match self.write_buffer_mut().quiet(arrived, outstanding, now) {
            Quiet::Yes => true,
            Quiet::No => false,
            Quiet::From(due) => {
                self.host.set_timer(due, Timer::Quiet);
                false
            }
        }
    }
}

//! Flushes: sets that carry the contents of lines to flash, and begin together.
//!
//! A flush is a set of the device's own: it carries the contents of a line as of its start and, in
//! the order of changes, the number of the write that they came from, so every rule for changes
//! holds for it. Flushes of a group of lines begin together, so that their programs fill a program
//! unit.

use super::Translation;
use crate::buffer::{Batch, Line, Quiet};
use crate::config::PartialWrite;
use crate::ftl::line_cache::Lookup;
use crate::ftl::{Plan, Wrote};
use crate::handle::{LineId, SetId};
use crate::host::Timer;
use crate::observe::FlushTrigger;
use crate::sets::{Flush, Stage};
use flashyard_core::units::{Lpn, PlaneId};

impl Translation<'_> {
    /// A set begins to carry the contents of a line to flash.
    pub(super) fn begin_flush(&mut self, set: SetId, line: LineId, group: u32) {
        self.account.unit_flushed(self.host.phase());
        let lacking = self.sets.commands(set).iter().any(|stage| stage.0 == Stage::OldRead);
        self.buffer_mut().begin_flush(line, group, lacking);
    }

    /// A set has read what flash has of the unit that it changes: its line has it, where it
    /// carries one.
    pub(crate) fn rest_read(&mut self, set: SetId) {
        if let Some(line) = self.sets[set].line() {
            self.buffer_mut().fill(line);
            self.account.rest_read(self.sets[set].lpn(), self.sets.number(set));
        }
    }

    /// Makes the set that programs the contents of a line, on this plane if there is one. Returns
    /// the plane as well, which those that begin with it go to.
    pub(crate) fn new_flush(
        &mut self,
        line: LineId,
        group: u32,
        plane: Option<PlaneId>,
    ) -> (SetId, PlaneId) {
        let state = self.buffer().lines()[line];
        let wrote = Wrote::Flushed(group.to_le_bytes()[0]);
        let plane = self.ftl.write_begins(plane, state.lpn, wrote);
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
        let set = self.sets.add_flush(self.now, version, &flush, plan.stages());
        self.enlist(set, &plan);
        self.account.flush_begins(lpn, version);
        self.begin_flush(set, line, group);
        (set, plane)
    }

    /// Where the sectors of a unit are that its line lacks; none where it lacks none.
    fn plane_of_rest(&mut self, line: LineId) -> Option<PlaneId> {
        let state = self.buffer().lines()[line];
        let place = self.ftl.locate(state.lpn)?;
        let (held, all) = (state.from..state.until, self.buffer().unit_range());
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

    /// The lines that a unit is programmed with: of its plane and frontier.
    #[inline]
    pub(super) fn group_of(&self, lpn: Lpn, stream: u8) -> u32 {
        self.buffer().group_of(self.ftl.plane_of_lpn(lpn), self.ftl.row_of(lpn, stream))
    }

    /// A unit was trimmed by the change `number`.
    pub(super) fn drop_buffered(&mut self, lpn: Lpn, number: u64) {
        let Some(buffer) = &mut self.buffer else { return };
        if buffer.drop_fill(lpn) {
            self.account.fill_dropped(lpn);
        }
        if let Some(dirty) = buffer.trim(lpn, number) {
            if dirty {
                self.account.dirty_unit_trimmed();
            }
            self.account.unbuffered(lpn);
        }
    }

    /// A set that carried a unit to flash is complete.
    pub(crate) fn flush_over(&mut self, set: SetId, line: LineId) {
        let state = &self.sets[set];
        let (of_request, leads) = (state.request().is_some(), state.leads_flush());
        let group = self.group_of(state.lpn(), state.stream());
        let buffer = self.buffer.as_mut().expect("there is a buffer");
        if let Some(freed) = buffer.end_flush(line, group, leads) {
            self.account.unbuffered(freed);
        }
        if let Some(usable) = buffer.hold_line(line, group, self.now) {
            self.host.set_timer(usable, Timer::Usable);
        }
        if !of_request {
            self.sets.unlist_change(set);
            self.sets.unlist_by_lpn(set);
        }
    }

    /// The line that is flushed next, of those that begin to be flushed together. Where a clean
    /// line that keeps its unit goes before all others, it is free, and none is flushed.
    pub(crate) fn next_of_batch(&mut self, batch: &mut Batch) -> Option<LineId> {
        let freed = self.buffer.as_mut().and_then(|buffer| buffer.free_kept(batch));
        if let Some(freed) = freed {
            self.account.unbuffered(freed);
            return None;
        }
        let Self { sets, ftl, host, buffer, now, .. } = self;
        let stalls = |lpn| {
            let stalled = ftl.map_stalls(lpn, |set| sets.waits_for_slot(set))?;
            Some(stalled == Lookup::Stall)
        };
        let buffer = buffer.as_mut().expect("there is a buffer");
        buffer.next_of_batch(batch, (sets, *now), |lpn| host.is_queued(lpn), stalls)
    }

    /// Whether the device is idle, for flushes that no request asks for; none where a host policy
    /// flushes.
    pub(crate) fn begin_drain(&mut self) -> Option<bool> {
        let buffer = self.buffer.as_deref().filter(|buffer| !buffer.leaves_flushing())?;
        Some(buffer.flushes_itself() && self.is_quiet())
    }

    /// Why a dirty unit shall be flushed now, if it shall and a program unit may be.
    pub(crate) fn wants_flush(&mut self, idle: bool) -> Option<FlushTrigger> {
        let buffer = self.buffer.as_mut().expect("there is a buffer");
        let trigger = buffer.wants_flush(idle, |requests| self.host.coming_writes(requests));
        trigger.filter(|_| buffer.may_drain())
    }

    /// Whether no request has been outstanding for as long as the buffer waits before it is
    /// flushed.
    fn is_quiet(&mut self) -> bool {
        let (arrived, outstanding, now) = (self.host.arrived(), self.host.outstanding(), self.now);
        match self.buffer_mut().quiet(arrived, outstanding, now) {
            Quiet::Yes => true,
            Quiet::No => false,
            Quiet::From(due) => {
                self.host.set_timer(due, Timer::Quiet);
                false
            }
        }
    }
}

//! Flushes: sets that carry the contents of lines to flash, and begin together.
//!
//! A flush is a set of the device's own: it carries the contents of a line as of its start and, in
//! the order of changes, the number of the write that they came from, so every rule for changes
//! holds for it. Flushes of a group of lines begin together, so that their programs fill a program
//! unit.

use super::Device;
use crate::buffer::{Batch, FlushOutcome, Quiet};
use crate::config::PartialWrite;
use crate::ftl::Plan;
use crate::ftl::line_cache::Lookup;
use crate::handle::{LineId, SetId};
use crate::host::Timer;
use crate::observe::{FlushTrigger, OwnCause};
use crate::sets::{Mode, Set, Stage};
use flashyard_core::units::{Lpn, PlaneId, Time};

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

    /// Flushes that have begun together are planned, in ascending order of their units, where a
    /// translation layer plans; then they go on.
    pub(super) fn plan_flushes(&mut self) {
        if self.work.unplanned.is_empty() {
            return;
        }
        let mut batch = std::mem::take(&mut self.work.unplanned);
        batch.sort_unstable_by_key(|&set| (self.sets[set].lpn, self.sets.number(set)));
        let most = self.ftl.layer_block_pages();
        for (place, &set) in batch.iter().enumerate() {
            let lpn = self.sets[set].lpn;
            let follow = batch[place + 1..].iter().zip(lpn.get() + 1..);
            let left = follow.take_while(|(next, lpn)| self.sets[**next].lpn.get() == *lpn);
            let left = u32::try_from(left.take(most as usize).count()).expect("of a block");
            let run = self.write_buffer().run_around(lpn, most);
            self.plan_change(set, (run, left));
        }
        for &set in &batch {
            self.activate(set);
        }
        batch.clear();
        self.work.unplanned = batch;
    }

    /// A translation layer plans the program of a change whose set there is: a flush, or a write
    /// that is put and programmed at once. It sees so many pages written together, of which so many
    /// follow.
    pub(super) fn plan_change(&mut self, set: SetId, run: (u32, u32)) {
        let charge = self.charge_of(self.sets[set].charge);
        self.let_ftl(|ftl, lent| ftl.plan_change(set, run, charge, lent));
    }

    /// A set begins to carry the contents of a line to flash.
    pub(super) fn begin_flush(&mut self, set: SetId, line: LineId, group: u32) {
        self.sets[set].buffered = Some(line);
        self.account.unit_flushed(self.phase());
        let lacking = self.sets.commands(set).iter().any(|stage| stage.0 == Stage::OldRead);
        self.write_buffer_mut().begin_flush(line, group, lacking);
    }

    /// A set has read what flash has of the unit that it changes: its line has it, where it
    /// carries one.
    pub(super) fn rest_read(&mut self, set: SetId) {
        if let Some(line) = self.sets[set].buffered {
            self.write_buffer_mut().fill(line);
            let Set { lpn, .. } = self.sets[set];
            self.account.rest_read(lpn, self.sets.number(set));
        }
    }

    /// Begins to flush dirty units of a group, as far as a program unit has room, the line `head`
    /// before all others; or behind the write `first` and on its plane. Where a translation layer
    /// plans, [`Self::plan_flushes`] must follow.
    pub(super) fn flush_lines(
        &mut self,
        head: Option<LineId>,
        group: u32,
        first: Option<(SetId, PlaneId)>,
        trigger: FlushTrigger,
    ) -> FlushOutcome {
        let asked = trigger.is_asked();
        let mut together = std::mem::take(&mut self.work.together);
        let mut plane = first.map(|(_, plane)| plane);
        together.extend(first.map(|(set, _)| set));
        let most = self.settings.geometry.program_units() as usize - together.len();
        let mut batch = Batch::new(group, head, asked, most);
        while let Some(line) = self.next_of_batch(&mut batch) {
            let lpn = self.line(line).lpn;
            let of_all = self.ftl.write_begins(plane, lpn);
            plane = Some(of_all);
            together.push(self.new_flush(line, group, of_all));
        }
        if batch.outcome.newly_stalled {
            self.account.map_stalled();
        }
        if !asked && let Some(&leader) = together.first() {
            self.sets[leader].leads_flush = true;
            self.write_buffer_mut().add_flush();
        }
        for &set in &together {
            self.sets[set].asked = asked;
            if self.account.is_followed() {
                self.tell_flush(set, trigger);
            }
        }
        let buffer = self.buffer.as_mut().expect("there is a buffer");
        buffer.begin_together(&together, &mut self.sets);
        if self.ftl.has_cache()
            && let Some((set, _)) = first
        {
            self.hand_on_ranks(&[set], None);
        }
        let flushes = &together[usize::from(first.is_some())..];
        if self.ftl.is_planned() {
            self.work.unplanned.extend_from_slice(flushes);
        } else {
            for &set in flushes {
                self.activate(set);
            }
        }
        together.clear();
        self.work.together = together;
        batch.outcome
    }

    /// Tells observers of a flush; a write whose own program carries the line is not one.
    #[cold]
    fn tell_flush(&mut self, set: SetId, trigger: FlushTrigger) {
        if self.sets[set].request.is_none() {
            let charged = self.order_of(self.sets[set].charge);
            let plane = self.sets.plane(set);
            self.teller().tell_own_work(set, plane, OwnCause::Flush(trigger), charged);
        }
    }

    /// The line that is flushed next, of those that begin to be flushed together.
    fn next_of_batch(&mut self, batch: &mut Batch) -> Option<LineId> {
        let Self { sets, ftl, host, buffer, now, .. } = self;
        let stalls = |lpn| {
            let stalled = ftl.map_stalls(lpn, |set| sets.waits_for_slot(set))?;
            Some(stalled == Lookup::Stall)
        };
        let buffer = buffer.as_mut().expect("there is a buffer");
        buffer.next_of_batch(batch, (sets, *now), |lpn| host.is_queued(lpn), stalls)
    }

    /// Makes the set that programs the contents of a line.
    fn new_flush(&mut self, line: LineId, group: u32, plane: PlaneId) -> SetId {
        let state = *self.line(line);
        let charge = state.writer.and_then(|writer| self.host.live(writer));
        if let Some(request) = charge {
            self.host[request].charges += 1;
        }
        let set = Set {
            charge,
            lpn: state.lpn,
            changes: true,
            stream: state.stream,
            mode: Mode::Slotless,
            ..Set::VACANT
        };
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
        let set = self.numbered_set(state.version, &plan.completed(set), plan.stages());
        self.enlist(set, &plan);
        self.account.flush_begins(state.lpn, state.version);
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
        let Set { lpn, stream, request, leads_flush, .. } = self.sets[set];
        let group = self.group_of(lpn, stream);
        let freed = self.write_buffer_mut().end_flush(line, group, leads_flush);
        if let Some(freed) = freed {
            self.account.unbuffered(freed);
        }
        self.sets[set].leads_flush = false;
        if request.is_none() {
            self.sets.unlist_change(set);
            self.sets.unlist_by_lpn(set);
        }
    }
}

/// Flushes that no request asks for.
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
        buffer.wants_flush(idle, |requests| self.host.coming_writes(requests))
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

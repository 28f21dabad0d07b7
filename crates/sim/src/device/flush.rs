//! Flushes: sets that carry the contents of lines to flash, and begin together.
//!
//! A flush is a set of the device's own: it carries the contents of a line as of its start and, in
//! the order of changes, the number of the write that they came from, so every rule for changes
//! holds for it. Flushes of a group of lines begin together, so that their programs fill a program
//! unit.

use super::Device;
use super::translate::Plan;
use crate::buffer::FlushOutcome;
use crate::config::PartialWrite;
use crate::handle::{LineId, SetId};
use crate::observe::FlushTrigger;
use crate::sets::{Mode, Set, Stage, Wait};
use flashyard_core::graph::EdgeKind;
use flashyard_core::units::PlaneId;

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
    /// before all others; or behind the write `first` and on its plane. Those whose map entries
    /// cannot be had now stay dirty; if no request has asked for it, those that are not fit too.
    /// Where a translation layer plans, [`Self::plan_flushes`] must follow.
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
        let mut outcome = FlushOutcome::default();
        let (mut next, mut passed) = (head, None);
        for _ in together.len()..self.settings.geometry.program_units() as usize {
            let is_head = next.is_some();
            // The group's first line, but for those that were passed over.
            let line = match next.take() {
                Some(line) => Some(line),
                None => self.write_buffer_mut().next_flush(group, passed),
            };
            let fit = if asked || is_head { line } else { self.fit_line(line, head.is_some()) };
            let Some(line) = fit else { break };
            if self.flush_stalls(self.line(line).lpn) {
                outcome.stalled = true;
                passed = if is_head { passed } else { Some(line) };
                continue;
            }
            (outcome.any, outcome.head) = (true, outcome.head || is_head);
            let plane = *plane.get_or_insert_with(|| self.plane_of_flush(line));
            self.ftl.write_begins(plane);
            together.push(self.new_flush(line, group, plane));
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
        self.start_together(&together);
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
        outcome
    }

    /// The programs of sets begin when all of them can: each waits for the command before the
    /// program of every other one, and for map commands that such a program waits for. Nothing
    /// before a program waits for one of the group, so there is no circle.
    fn start_together(&mut self, sets: &[SetId]) {
        if sets.len() < 2 {
            return;
        }
        let mut waits = std::mem::take(&mut self.work.waits);
        for &set in sets {
            let program = self.sets.last_stage(set);
            if program > self.sets.commands_over(set)
                && self.sets.commands(set)[usize::from(program) - 1].0 != Stage::Buffer
            {
                waits.push((set, Wait { source: set, stage: program - 1, kind: EdgeKind::Order }));
            }
            self.sets.waits_of(set, program, |wait| {
                if matches!(wait.kind, EdgeKind::MapFetch | EdgeKind::MapWriteback) {
                    waits.push((set, wait));
                }
            });
        }
        for (set, wait) in waits.drain(..) {
            for &other in sets.iter().filter(|other| **other != set && **other != wait.source) {
                self.sets.connect(wait, other, self.sets.last_stage(other));
            }
        }
        self.work.waits = waits;
        // They are got one after the other, in this order.
        if let Some((&last, others)) = sets.split_last()
            && self.sets.stage(last) == Stage::Buffer
            && self.sets[last].request.is_none()
        {
            let wait = Wait { source: last, stage: 0, kind: EdgeKind::Order };
            for &other in others {
                self.sets.connect(wait, other, self.sets.last_stage(other));
            }
        }
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
        if self.ftl.is_planned() {
            self.push_planned_later(&mut plan, plane);
        } else {
            plan.push(Stage::Program, plane);
        }
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

    /// The plane that a group of lines is flushed to.
    fn plane_of_flush(&mut self, line: LineId) -> PlaneId {
        let lpn = self.line(line).lpn;
        self.ftl.plane_for_write(lpn)
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

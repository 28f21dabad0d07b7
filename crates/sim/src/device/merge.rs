//! The work of translation layers that plan: the sets of merge tasks, step by step.
//!
//! A layer plans when a write is translated or, behind a write buffer, when its unit begins to be
//! flushed (`ftl::planned`). Here its plan becomes what the program waits for, and merge tasks of
//! the plane before and behind it.

use super::Device;
use super::translate::Plan;
use crate::ftl::TaskStep;
use crate::handle::{RequestId, SetId};
use crate::host::Timer;
use crate::sets::{Mode, Set, Stage, Wait};
use flashyard_core::graph::EdgeKind;
use flashyard_core::request::RequestOp;
use flashyard_core::units::{Lpn, PlaneId, Ppn, Span};
use std::ops::Range;

/// What a merge task begins behind, besides the task before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Begins {
    /// A gate, before which it does not know what it waits for.
    pub(super) gate: Option<SetId>,
    /// A search for a victim.
    pub(super) search: Option<SetId>,
}

/// Planning.
impl Device {
    /// Adds the program of a write of a page. Without a write buffer it is planned: what must be
    /// done before it becomes work of its plane, and the program gets its page and what it waits
    /// for. With one, [`Self::plan_change`] follows when the page is put.
    pub(super) fn plan_layered(
        &mut self,
        to: &mut Plan,
        handle: RequestId,
        lpn: Lpn,
        plane: PlaneId,
    ) {
        if self.ftl.plans_flushes() {
            return self.push_planned_later(to, plane);
        }
        let pending = &self.host[handle];
        let writes = pending.request.op == RequestOp::Write;
        // A policy that starts pages may start others in between.
        let follow = writes && !self.host.policy().by_pages();
        let left = if follow { pending.pages - 1 - pending.translated } else { 0 };
        let request_pages = if writes { pending.pages } else { 1 };
        let write = self.ftl.plan_write(plane, lpn, request_pages, left);
        let plane = self.settings.geometry.plane_of(write.target);
        let host = write.steps_before;
        if host > 0 {
            self.add_tasks(plane, 0..host, Some(handle), write.searches);
        }
        for (source, stage, kind) in
            self.ftl.target_waits(plane, write.target, &self.sets).into_iter().flatten()
        {
            to.wait(source, stage, kind);
        }
        to.target = Some((write.target, host + 1));
        to.push(Stage::Program, plane);
        if self.ftl.ends_behind(host + 1) {
            to.push(Stage::Barrier, plane);
        }
    }

    /// Adds the program of a change that will be planned later.
    pub(super) fn push_planned_later(&self, to: &mut Plan, plane: PlaneId) {
        to.push(Stage::Program, plane);
        if self.ftl.merges_first() {
            to.push(Stage::Barrier, plane);
        }
    }

    /// Plans the program of a change whose set there is: a flush, or a write that is put and
    /// programmed at once. Its layer sees `run` pages written together, of which `left` follow.
    pub(super) fn plan_change(&mut self, set: SetId, run: u32, left: u32) {
        let Set { lpn, charge, .. } = self.sets[set];
        let plane = self.ftl.plane_of_lpn(lpn);
        let write = self.ftl.plan_write(plane, lpn, run, left);
        let plane = self.settings.geometry.plane_of(write.target);
        let before = write.steps_before;
        if before > 0 {
            self.add_tasks(plane, 0..before, charge, write.searches);
        }
        let (program, last) =
            (self.sets.stage_index(set, Stage::Program), self.sets.last_stage(set));
        self.sets.place_stage(set, program, plane);
        for (source, stage, kind) in
            self.ftl.target_waits(plane, write.target, &self.sets).into_iter().flatten()
        {
            self.sets.connect(Wait { source, stage, kind }, set, program);
        }
        let order = self.sets.take_number();
        self.ftl.change_planned(set, order, &self.sets);
        self.plan_behind(set, write.target, before + 1, (last > program).then_some(last));
        self.hand_on_ranks(&[set], None);
    }

    /// Plans flushes that have begun together, in ascending order of their units; then they go on.
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
            self.plan_change(set, run, left);
        }
        for &set in &batch {
            self.activate(set);
        }
        batch.clear();
        self.work.unplanned = batch;
    }

    /// The set of a write has been made: it learns its page, and what was planned behind it becomes
    /// work of its plane.
    pub(super) fn plan_behind(
        &mut self,
        set: SetId,
        target: Ppn,
        behind: usize,
        barrier: Option<u8>,
    ) {
        let number = self.sets.number(set);
        let state = &mut self.sets[set];
        state.source = Some(target);
        let charge = state.charge;
        let plane = self.settings.geometry.plane_of(target);
        let end = self.ftl.write_planned(target, set, number);
        if behind == end {
            return;
        }
        self.add_tasks(plane, behind..end, charge, 0);
        if let Some(stage) = barrier {
            let source = self.ftl.last_task(plane).expect("a task has been added");
            self.sets.connect(Wait { source, stage: 0, kind: EdgeKind::Merge }, set, stage);
        }
    }

    /// Plans a piece of work that nobody waits for; returns whether there was any.
    pub(super) fn merge_idle(&mut self, plane: PlaneId) -> bool {
        let Some(work) = self.ftl.plan_idle(plane) else { return false };
        self.add_tasks(plane, 0..work.steps, None, work.searches);
        true
    }

    /// Appends planned steps to the merge queue of a plane, for which a layer has looked at so many
    /// candidates for victims.
    fn add_tasks(
        &mut self,
        plane: PlaneId,
        steps: Range<usize>,
        charge: Option<RequestId>,
        searches: u64,
    ) {
        if self.account.is_followed() {
            self.tell_merges(plane, charge);
        }
        let search = self.begin_search(plane, charge, searches);
        if self.ftl.spans_planes() {
            return self.add_spread_tasks(steps, charge, search);
        }
        let mut begins = Begins { gate: None, search };
        let mut count = 0;
        for place in steps.clone() {
            count += 1;
            if self.ftl.append_step(plane, place) || place + 1 == steps.end {
                self.add_task(plane, count, charge, begins);
                begins.search = None;
                count = 0;
            }
        }
    }

    /// A search for a victim, if it takes time: a set that is over when it is.
    fn begin_search(
        &mut self,
        plane: PlaneId,
        charge: Option<RequestId>,
        searches: u64,
    ) -> Option<SetId> {
        let span = Span::from_ns(searches.saturating_mul(self.settings.keys.gc.search_us.as_ns()));
        if span.is_zero() {
            return None;
        }
        let set = self.own_set(charge, &Set::VACANT, &[(Stage::Barrier, plane)]);
        self.sets.set_span(set, span);
        self.enter(set, Mode::Firmware);
        self.host.timers.set(self.now.saturating_add(span), Timer::Sought(set));
        Some(set)
    }

    /// The search of a layer is over.
    pub(super) fn merge_search_over(&mut self, set: SetId) {
        self.activate(set);
        self.wake_passed();
    }

    /// The last `count` steps of a merge queue become a task, which begins behind a gate and a
    /// search.
    pub(super) fn add_task(
        &mut self,
        plane: PlaneId,
        count: u32,
        charge: Option<RequestId>,
        begins: Begins,
    ) {
        let stages = self.ftl.task_stages();
        let state = Set { levels: stages.levels, ..Set::VACANT };
        let set = self.own_set(charge, &state, &[(stages.read, plane)]);
        let task = self.ftl.add_task(plane, set, (count, begins.gate), &self.sets);
        let copy = self.flash.nominal(stages.read) + self.flash.nominal(stages.program);
        let mut span = Span::from_ns(copy.as_ns() * u64::from(task.copies));
        if task.erases {
            span += self.flash.nominal(stages.erase);
        }
        self.sets.set_span(set, span);
        match task.before {
            Some(source) => {
                self.sets.connect(Wait { source, stage: 0, kind: EdgeKind::Gc }, set, 0);
            }
            None if begins.gate.is_none() => self.begin_step(set, plane),
            None => {}
        }
        for source in [begins.gate, begins.search].into_iter().flatten() {
            self.sets.connect(Wait { source, stage: 0, kind: EdgeKind::Gc }, set, 0);
        }
        self.activate(set);
    }
}

/// Tasks.
impl Device {
    /// A task has come to a step: its command, and what that waits for.
    pub(super) fn begin_step(&mut self, set: SetId, plane: PlaneId) {
        let stages = self.ftl.task_stages();
        let number = self.sets.number(set);
        let step = self.ftl.begin_step(plane, number, &self.sets);
        let state = &mut self.sets[set];
        if step.erases() {
            state.turn_into(stages.erase);
            state.ppn = Some(self.settings.geometry.unit_of(step.block(), 0));
        } else {
            state.turn_into(stages.read);
            state.lpn = step.lpn();
            state.source = Some(step.from());
        }
        if self.ftl.data_moves() {
            let reads = (!step.erases()).then(|| self.settings.geometry.plane_of(step.from()));
            self.sets.move_to(set, reads.unwrap_or(plane));
        }
        let waits = self.ftl.step_waits();
        for &(source, stage) in waits {
            self.sets.connect(Wait { source, stage, kind: EdgeKind::Order }, set, 0);
        }
        if !waits.is_empty() {
            self.hand_on_ranks(&[set], None);
        }
    }

    /// A command of a task is over; returns whether the task goes on with another one.
    pub(super) fn task_goes_on(&mut self, set: SetId) -> bool {
        let (plane, stage) = (self.ftl.lane(set, self.sets.plane(set)), self.sets.stage(set));
        let span = self.sets.span(set);
        let left = span.as_ns() - self.flash.nominal(stage).as_ns();
        self.sets.set_span(set, Span::from_ns(left));
        match self.ftl.step_over(plane, stage, set, &self.sets) {
            TaskStep::Program => {
                self.sets[set].turn_into(self.ftl.task_stages().program);
                self.sets.move_to(set, plane);
            }
            TaskStep::Next => self.begin_step(set, plane),
            TaskStep::Over(next) => {
                match next {
                    Some(next) => self.begin_step(next, plane),
                    None if self.ftl.is_busy(plane) => {}
                    None => _ = self.ftl.background_over(self.ftl.working_plane(plane)),
                }
                return false;
            }
        }
        self.activate(set);
        true
    }
}

//! What layers that plan do in the life of a set: they give a write its page when it is translated
//! or begins to be flushed, and merge blocks.

use super::Planned;
use crate::ftl::base::Base;
use crate::ftl::lent::{
    Binding, Charge, CopiesDone, CopyRun, Deed, Erased, Eraser, Lent, Run, Todo,
};
use crate::ftl::placement::Placement;
use crate::ftl::plan::Plan;
use crate::handle::SetId;
use crate::parts::layer::{MergeCounts, TranslationLayer};
use crate::saved::{Reader, RestoreError, Saved, Writer, load_bytes, save_bytes};
use crate::sets::{Sets, Stage, Wait};
use flashyard_core::command::Op;
use flashyard_core::units::{Lpn, PlaneId, Ppn, Span, Time};

impl Placement for Planned {
    fn plan_write(
        &mut self,
        plan: &mut Plan,
        lpn: Lpn,
        run: Run,
        charge: Charge,
        lent: &mut Lent<'_>,
    ) {
        let (target, behind) = self.plan_program(lpn, run, charge, lent);
        for (source, stage, kind) in
            self.target_waits(target, run.joins, lent.sets).into_iter().flatten()
        {
            plan.wait(source, stage, kind);
        }
        let plane = self.geometry.plane_of(target);
        plan.push(Stage::Program, plane);
        if self.merge_first && behind < self.plan.steps.len() {
            plan.push(Stage::Barrier, plane);
        }
        plan.target = Some((target, behind));
    }

    fn write_made(&mut self, set: SetId, plan: &Plan, charge: Charge, lent: &mut Lent<'_>) {
        let last = plan.count - 1;
        let ends = plan.stages[usize::from(last)].0 == Stage::Barrier;
        let target = plan.target.expect("it has been planned");
        self.target_known(set, target, (ends.then_some(last), charge), lent);
    }

    fn plan_change(&mut self, set: SetId, run: Run, charge: Charge, lent: &mut Lent<'_>) {
        let (target, behind) = self.plan_program(lent.sets[set].lpn(), run, charge, lent);
        let program = lent.sets.stage_index(set, Stage::Program);
        let last = lent.sets.last_stage(set);
        lent.sets.place_stage(set, program, self.geometry.plane_of(target));
        let waits = self.target_waits(target, run.joins, lent.sets);
        for (source, stage, kind) in waits.into_iter().flatten() {
            lent.todo.push(Todo::Wait(set, program, Wait { source, stage, kind }));
        }
        let order = lent.sets.take_number();
        let orders = self.orders.as_mut().expect("there is a write buffer");
        if set.index() >= orders.len() {
            orders.resize(lent.sets.capacity(), u64::MAX);
        }
        orders[set.index()] = order;
        let barrier = (last > program).then_some(last);
        self.target_known(set, (target, behind), (barrier, charge), lent);
        lent.todo.push(Todo::HandOn(set));
    }

    fn copied(&mut self, set: SetId, lent: &mut Lent<'_>) {
        for step in self.current_steps(lent.sets.plane(set)) {
            let copy = Self::task_copied(step, &mut lent.base.map);
            lent.note(Deed::Copied(set, copy));
        }
        lent.write_journal(None);
    }

    fn erased(&mut self, set: SetId, lent: &mut Lent<'_>) {
        let (block, by) = if lent.sets[set].is_task() {
            (self.current_step(lent.sets.plane(set)).block(), Eraser::Merge)
        } else {
            let page = lent.sets[set].ppn().expect("an erase has a block");
            (self.geometry.block_of(page), Eraser::Journal)
        };
        let was_used = self.forget_pages(block);
        lent.base.map.blocks.erased_planned(block, was_used);
        let erased = Erased { block, worn_out: false, by, row: None };
        lent.note(Deed::Erased(set, erased));
        if by == Eraser::Merge {
            lent.base.note_block();
        }
        lent.note_erase(block);
        if by == Eraser::Merge {
            lent.write_journal(None);
        }
    }

    fn goes_on(&mut self, set: SetId, lent: &mut Lent<'_>) -> bool {
        let (plane, stage) = (self.lane(set, lent.sets.plane(set)), lent.sets.stage(set));
        let left = lent.sets.span(set).as_ns() - lent.sets.nominal(stage).as_ns();
        lent.sets.set_span(set, Span::from_ns(left));
        if stage == self.stages.read {
            if self.reads_on(set, plane, lent) {
                return true;
            }
            lent.sets.turn_into(set, self.stages.program);
            lent.sets.move_to(set, plane);
            lent.go_on(set);
            return true;
        }
        let done = self.current_steps(plane).count();
        let queue = &mut self.queues[plane.index()];
        queue.steps.drain(..done);
        let task = queue.tasks.front_mut().expect("a task is under way");
        debug_assert_eq!(task.set, set, "tasks of a plane are done in order");
        (task.left, task.reads) = (task.left - done, 0);
        if task.left > 0 {
            self.begin_step(set, plane, lent);
            lent.go_on(set);
            return true;
        }
        queue.tasks.pop_front();
        self.tasks -= 1;
        let next = queue.tasks.front().filter(|next| next.gate.live(lent.sets).is_none());
        match next.map(|next| next.set) {
            Some(next) => self.begin_step(next, plane, lent),
            None if self.is_busy(plane) => {}
            None => _ = lent.base.idle.background_over(self.working_plane(plane)),
        }
        false
    }

    fn gate_opens(&mut self, gate: SetId, lent: &mut Lent<'_>) {
        for plane in lent.base.planes() {
            if let Some(task) = self.behind_gate(plane, gate, lent.sets) {
                self.begin_step(task, plane, lent);
            }
        }
    }

    fn begin_idle_work(&mut self, plane: PlaneId, lent: &mut Lent<'_>) {
        self.merge_idle(plane, lent);
    }

    fn reclaim(&mut self, plane: PlaneId, lent: &mut Lent<'_>) -> bool {
        let target = lent.base.gc.background_log_blocks;
        let clean = self.layers[self.layout.layer(plane)].clean_log_blocks();
        let has_clean = target > 0 && clean.is_some_and(|clean| u64::from(clean) >= target);
        !has_clean && self.merge_idle(plane, lent)
    }

    fn merge_all(&mut self, lent: &mut Lent<'_>) -> bool {
        let mut any = false;
        for plane in lent.base.planes() {
            any |= self.merge_idle(plane, lent);
        }
        any
    }

    #[inline(never)]
    fn bind_program(&mut self, set: SetId, sets: &Sets, _: &mut Base) -> Binding {
        let state = &sets[set];
        Binding::Page(if state.is_task() {
            self.current_step(sets.plane(set)).to()
        } else if state.is_own() {
            state.ppn().expect("a page of the journal has its place")
        } else {
            state.target().expect("a layer gives every write its page")
        })
    }

    #[inline(never)]
    fn programmed(&mut self, ppn: Ppn, base: &mut Base) {
        if self.note_page(ppn, &mut base.map) && self.layout.is_of_layer(ppn) {
            base.note_block();
        }
    }

    #[inline(never)]
    fn write_over(&mut self, set: SetId, sets: &mut Sets, base: &mut Base) -> (u64, bool) {
        let ppn = sets[set].ppn().expect("a program has a page");
        self.programs[self.geometry.block_of(ppn).index()] -= 1;
        if let Some(orders) = &mut self.orders {
            orders[set.index()] = u64::MAX;
        }
        base.commit_write(set, sets)
    }

    fn trim_translated(&mut self, plan: &mut Plan, lpn: Lpn, base: &mut Base) {
        plan.push(Stage::Barrier, base.plane_of_lpn(lpn));
        base.map.uncover(lpn);
        if !self.plans_flushes() {
            self.trim_planned(lpn, base);
        }
    }

    /// Behind a write buffer a layer forgets the unit now, unless a later change of it has been
    /// planned.
    fn trim_over(&mut self, set: SetId, sets: &mut Sets, base: &mut Base) {
        let (lpn, number) = (sets[set].lpn(), sets.number(set));
        let newer =
            |change: SetId| sets.number(change) > number && self.order(change, sets) < u64::MAX;
        if self.plans_flushes() && !sets.changes_of(lpn).any(newer) {
            self.trim_planned(lpn, base);
        }
        base.forget(set, sets);
    }

    fn trim_planned(&mut self, lpn: Lpn, base: &mut Base) {
        let plane = base.plane_of_lpn(lpn);
        self.layers[self.layout.layer(plane)].trim(self.layout.local(lpn));
    }

    fn copy_in_bulk(
        &mut self,
        (set, mut now, limit): (SetId, CopyRun, Time),
        sets: &mut Sets,
        array_time: impl Fn(Op, Ppn) -> Span,
        base: &mut Base,
    ) -> Option<CopiesDone> {
        if !sets[set].is_task() {
            return None;
        }
        let plane = sets.plane(set);
        let (mut ops, mut array_ns, mut superseded) = ([0; 2], [0; 2], 0);
        while now.began + now.span < limit {
            let end = now.began + now.span;
            let reads = now.op == Op::Read;
            let (op, page) = if reads {
                (Op::Program, self.current_step(plane).to())
            } else {
                match self.next_copy(plane) {
                    Some(next) if base.map.is_valid(next.from()) => (Op::Read, next.from()),
                    _ => break,
                }
            };
            ops[usize::from(!reads)] += 1;
            array_ns[usize::from(!reads)] += now.span.as_ns();
            if !reads {
                superseded += u64::from(!self.copied_in_bulk(plane, &mut base.map).current);
            }
            now = CopyRun { op, began: end, span: array_time(op, page) };
        }
        let stages = [self.stages.read, self.stages.program];
        let levels = self.stages.levels;
        let purposes = stages.map(|stage| (stage.op(), stage.purpose(levels)));
        if ops == [0, 0] {
            return None;
        }
        {
            let spent = |at: usize| sets.nominal(stages[at]).as_ns() * ops[at];
            let left = sets.span(set).as_ns() - spent(0) - spent(1);
            sets.set_span(set, Span::from_ns(left));
            let step = self.current_step(plane);
            let reads = now.op == Op::Read;
            let stage = stages[usize::from(!reads)];
            sets.turn_into_copy(set, stage, step.from());
            sets.bind(set, if reads { step.from() } else { step.to() });
        }
        Some(CopiesDone { ops, array_ns, purposes, superseded, now })
    }

    fn begin_phase(&mut self, base: &mut Base) {
        base.begin_phase();
        self.before = self.counts();
    }

    fn leave_out(&mut self) {
        self.unmeasured = self.unmeasured.plus(&self.counts().since(&self.before));
    }

    fn leave_untold(&mut self, _: &mut Base) {
        self.untold = MergeCounts::default();
    }

    fn load_planes(&mut self, from: &mut Reader<'_>, _: &mut Base) -> Result<(), RestoreError> {
        for layer in &mut self.layers {
            if !layer.restore(&load_bytes(from)?) {
                return Err(RestoreError::Corrupt);
            }
        }
        self.used.load(from)?;
        self.written.load(from)?;
        self.unmeasured.load(from)
    }

    fn is_busy(&self, plane: PlaneId) -> bool {
        if self.spans() { self.tasks > 0 } else { !self.queues[plane.index()].tasks.is_empty() }
    }

    fn merges(&self) -> MergeCounts {
        self.counts().since(&self.unmeasured)
    }

    fn save_planes(&self, to: &mut Writer<'_>) {
        for layer in &self.layers {
            save_bytes(&layer.save().expect("the layer can be saved"), to);
        }
        self.used.save(to);
        self.written.save(to);
        self.unmeasured.save(to);
    }
}

//! Planning: layers are told of writes, and asked for work in idle times.

use super::Planned;
use super::queue::StaleRef;
use super::waits::commit_stage;
use crate::ftl::base::Base;
use crate::ftl::lent::{Charge, Lent, Todo};
use crate::ftl::placement::Placement;
use crate::ftl::plan::Plan;
use crate::handle::SetId;
use crate::parts::layer::{MergeCounts, PageWrite, Step, TranslationLayer};
use crate::sets::{Sets, Stage, Wait};
use flashyard_core::graph::EdgeKind;
use flashyard_core::units::{Lpn, PlaneId, Ppn};

/// What a program of the host waits for: a set, the stage of that, and why.
type ProgramWait = (SetId, u8, EdgeKind);

impl Planned {
    /// Calls a layer, whose steps are in the plan then. Returns at how many candidates for victims
    /// it looked, and its answer.
    fn ask<T>(
        &mut self,
        plane: PlaneId,
        call: impl FnOnce(&mut dyn TranslationLayer, &mut crate::parts::layer::Plan) -> T,
    ) -> (u64, T) {
        self.plan.steps.clear();
        let layer = &mut self.layers[self.layout.layer(plane)];
        let before = layer.counts();
        let answer = call(layer, &mut self.plan);
        let counts = layer.counts().since(&before);
        self.untold = self.untold.plus(&counts);
        (counts.searches, answer)
    }

    /// The program of a change is over: its page is no longer under way.
    pub(super) fn planned_over(&mut self, set: SetId, ppn: Ppn) {
        self.programs[self.geometry.block_of(ppn).index()] -= 1;
        if let Some(orders) = &mut self.orders {
            orders[set.index()] = u64::MAX;
        }
    }

    /// The place of a change in the order of planning, among the numbers of merge tasks.
    pub(super) fn order(&self, set: SetId, sets: &Sets) -> u64 {
        match &self.orders {
            None => sets.number(set),
            Some(orders) => orders.get(set.index()).copied().unwrap_or(u64::MAX),
        }
    }

    /// A page is forgotten.
    pub(in crate::ftl) fn trim(&mut self, lpn: Lpn) {
        let plane = self.geometry.plane_of_lpn(lpn);
        self.layers[self.layout.layer(plane)].trim(self.layout.local(lpn));
    }
}

impl Planned {
    /// Plans a write of a page that is being translated, and adds its program: its layer sees `run`
    /// pages written together, of which so many follow. What must be done before it becomes work of
    /// its plane.
    pub(in crate::ftl) fn plan_write(
        &mut self,
        base: &mut Base,
        (plan, lpn): (&mut Plan, Lpn),
        run: (u32, u32),
        charge: Charge,
        lent: &mut Lent<'_>,
    ) {
        let (target, behind) = self.plan_program(base, lpn, run, charge, lent);
        for (source, stage, kind) in self.target_waits(target, lent.sets).into_iter().flatten() {
            plan.wait(source, stage, kind);
        }
        let plane = self.geometry.plane_of(target);
        plan.push(Stage::Program, plane);
        if self.merge_first && behind < self.plan.steps.len() {
            plan.push(Stage::Barrier, plane);
        }
        plan.target = Some((target, behind));
    }

    /// The set of such a write has been made.
    pub(in crate::ftl) fn write_made(
        &mut self,
        base: &mut Base,
        set: SetId,
        plan: &Plan,
        charge: Charge,
        lent: &mut Lent<'_>,
    ) {
        let last = plan.count - 1;
        let ends = plan.stages[usize::from(last)].0 == Stage::Barrier;
        let target = plan.target.expect("it has been planned");
        self.target_known(base, set, target, (ends.then_some(last), charge), lent);
    }

    /// Plans the program of a change whose set there is: a flush, or a write that is put and
    /// programmed at once. Its layer sees `run` pages written together, of which `left` follow.
    pub(in crate::ftl) fn plan_change(
        &mut self,
        base: &mut Base,
        set: SetId,
        run: (u32, u32),
        charge: Charge,
        lent: &mut Lent<'_>,
    ) {
        let (target, behind) = self.plan_program(base, lent.sets[set].lpn, run, charge, lent);
        let program = lent.sets.stage_index(set, Stage::Program);
        let last = lent.sets.last_stage(set);
        lent.sets.place_stage(set, program, self.geometry.plane_of(target));
        for (source, stage, kind) in self.target_waits(target, lent.sets).into_iter().flatten() {
            lent.todo.push(Todo::Wait(set, program, Wait { source, stage, kind }));
        }
        let order = lent.sets.take_number();
        let orders = self.orders.as_mut().expect("there is a write buffer");
        if set.index() >= orders.len() {
            orders.resize(lent.sets.capacity(), u64::MAX);
        }
        orders[set.index()] = order;
        let barrier = (last > program).then_some(last);
        self.target_known(base, set, (target, behind), (barrier, charge), lent);
        lent.todo.push(Todo::HandOn(set));
    }

    /// Plans a program of a page. Returns its target, and the first of the steps that come behind
    /// it; those before it become work of its plane.
    fn plan_program(
        &mut self,
        base: &mut Base,
        lpn: Lpn,
        (request_pages, left): (u32, u32),
        charge: Charge,
        lent: &mut Lent<'_>,
    ) -> (Ppn, usize) {
        let plane = base.plane_of_lpn(lpn);
        let more = self.layout.follow(left);
        let page = PageWrite { lpn: self.layout.local(lpn), request_pages, more };
        let (searches, ()) = self.ask(plane, |layer, plan| layer.write(page, plan));
        let mut steps = self.plan.steps.iter().enumerate();
        let host = steps.find_map(|(place, step)| match step {
            Step::Host { to } => Some((place, *to)),
            _ => None,
        });
        let (before, to) = host.expect("a plan of a write programs its page");
        let target = self.layout.ppn(plane, to);
        self.programs[self.geometry.block_of(target).index()] += 1;
        if before > 0 {
            let plane = self.geometry.plane_of(target);
            self.add_tasks(base, plane, 0..before, (charge, searches), lent);
        }
        (target, before + 1)
    }

    /// The set of a planned write learns its page, and what was planned behind it becomes work of
    /// its plane. A barrier of the set waits for that.
    fn target_known(
        &mut self,
        base: &mut Base,
        set: SetId,
        (target, behind): (Ppn, usize),
        (barrier, charge): (Option<u8>, Charge),
        lent: &mut Lent<'_>,
    ) {
        lent.sets.aim(set, target);
        let plane = self.geometry.plane_of(target);
        if self.ordered {
            let block = self.geometry.block_of(target);
            self.writer[block.index()] = StaleRef { set: Some(set), number: lent.sets.number(set) };
        }
        let end = self.plan.steps.len();
        if behind == end {
            return;
        }
        self.add_tasks(base, plane, behind..end, (charge, 0), lent);
        if let Some(stage) = barrier {
            let last = self.queues[plane.index()].tasks.back();
            let source = last.expect("a task has been added").set;
            let wait = Wait { source, stage: 0, kind: EdgeKind::Merge };
            lent.todo.push(Todo::Wait(set, stage, wait));
        }
    }

    /// What a program of the host waits for, by its page.
    fn target_waits(&self, target: Ppn, sets: &Sets) -> [Option<ProgramWait>; 3] {
        let plane = self.geometry.plane_of(target);
        let block = self.geometry.block_of(target).index();
        let last = self.queues[plane.index()].tasks.back().map(|last| last.set);
        let merge = match last.filter(|_| self.merge_first) {
            Some(last) => Some((last, 0, EdgeKind::Merge)),
            None => self.eraser[block].live(sets).map(|set| (set, 0, EdgeKind::Room)),
        };
        if !self.ordered {
            return [merge, None, None];
        }
        let filler = self.filler[block].live(sets).map(|set| (set, 0, EdgeKind::Order));
        let writer = self.writer[block].live(sets).and_then(|set| {
            let stage = commit_stage(sets, set);
            (sets.commands_over(set) <= stage).then_some((set, stage, EdgeKind::Order))
        });
        [merge, filler, writer]
    }

    /// Whether pages are planned when they are flushed from a write buffer, not when they are
    /// translated.
    pub(in crate::ftl) const fn plans_flushes(&self) -> bool {
        self.orders.is_some()
    }

    /// Pages of a block of a layer.
    pub(in crate::ftl) const fn block_pages(&self) -> u32 {
        self.layout.pages_per_block()
    }

    /// Whether each planned write is over only behind what was planned with it.
    pub(in crate::ftl) const fn merges_first(&self) -> bool {
        self.merge_first
    }

    /// A trim of a unit behind a write buffer is over: a layer forgets the unit, unless a later
    /// change of it has been planned.
    pub(super) fn trim_behind_buffer(&mut self, set: SetId, sets: &Sets) {
        let (lpn, number) = (sets[set].lpn, sets.number(set));
        let newer =
            |change: SetId| sets.number(change) > number && self.order(change, sets) < u64::MAX;
        if self.plans_flushes() && !sets.changes_of(lpn).any(newer) {
            self.trim(lpn);
        }
    }

    /// Whether a layer has as many clean log blocks as work in idle times is to bring about.
    pub(in crate::ftl) fn has_clean_logs(&self, base: &Base, plane: PlaneId) -> bool {
        let target = base.gc.background_log_blocks;
        let clean = self.layers[self.layout.layer(plane)].clean_log_blocks();
        target > 0 && clean.is_some_and(|clean| u64::from(clean) >= target)
    }

    /// Plans a piece of work of a plane that nobody waits for. Returns whether there was any: not
    /// where the plane is busy or has nothing left to do.
    pub(in crate::ftl) fn merge_idle(
        &mut self,
        base: &mut Base,
        plane: PlaneId,
        lent: &mut Lent<'_>,
    ) -> bool {
        if self.is_busy(plane) {
            return false;
        }
        loop {
            let (searches, works) = self.ask(plane, |layer, plan| layer.idle(plan));
            let steps = self.plan.steps.len();
            if steps > 0 {
                self.add_tasks(base, plane, 0..steps, (None, searches), lent);
                return true;
            }
            if !works {
                return false;
            }
            // What costs nothing may be followed by more.
        }
    }

    /// What has been planned so far is not told.
    pub(in crate::ftl) fn leave_untold(&mut self) {
        self.untold = MergeCounts::default();
    }
}

//! Planning: layers are told of writes, and asked for work in idle times.

use super::waits::commit_stage;
use super::{Planned, ProgramWait};
use crate::ftl::lent::{Charge, Lent, Run, Todo};
use crate::ftl::placement::Placement;
use crate::ftl::stale::StaleRef;
use crate::handle::SetId;
use crate::parts::layer::{PageWrite, Step, TranslationLayer};
use crate::sets::{Sets, Wait};
use flashyard_core::graph::EdgeKind;
use flashyard_core::units::{Lpn, PlaneId, Ppn};

impl Planned {
    /// Calls a layer, whose steps are in the plan then. Returns at how many candidates for victims
    /// it looked, and its answer.
    pub(super) fn ask<T>(
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

    /// The place of a change in the order of planning, among the numbers of merge tasks.
    pub(super) fn order(&self, set: SetId, sets: &Sets) -> u64 {
        match &self.orders {
            None => sets.number(set),
            Some(orders) => orders.get(set.index()).copied().unwrap_or(u64::MAX),
        }
    }
}

impl Planned {
    /// Plans a program of a page. Returns its target, and the first of the steps that come behind
    /// it; those before it become work of its plane.
    pub(super) fn plan_program(
        &mut self,
        lpn: Lpn,
        run: Run,
        charge: Charge,
        lent: &mut Lent<'_>,
    ) -> (Ppn, usize) {
        let plane = lent.base.plane_of_lpn(lpn);
        let page = PageWrite {
            lpn: self.layout.local(lpn),
            request_pages: run.pages,
            more: self.layout.follow(lpn, run.left),
            joins: run.joins,
        };
        let (searches, ()) = self.ask(plane, |layer, plan| layer.write(page, plan));
        let mut steps = self.plan.steps.iter().enumerate();
        let host = steps.find_map(|(place, step)| match step {
            Step::Host { to } => Some((place, *to)),
            _ => None,
        });
        let (before, to) = host.expect("a plan of a write programs its page");
        let target = self.layout.ppn(plane, to);
        self.programs[self.geometry.block_of(target).index()] += 1;
        if self.plan.steps.len() > 1 {
            // What is done between two writes may erase the block of the first one.
            self.joined = None;
        }
        if before > 0 {
            let plane = self.geometry.plane_of(target);
            self.add_tasks(plane, 0..before, (charge, searches), lent);
        }
        (target, before + 1)
    }

    /// The set of a planned write learns its page, and what was planned behind it becomes work of
    /// its plane. A barrier of the set waits for that.
    pub(super) fn target_known(
        &mut self,
        set: SetId,
        (target, behind): (Ppn, usize),
        (barrier, charge): (Option<u8>, Charge),
        lent: &mut Lent<'_>,
    ) {
        lent.sets.aim(set, target);
        let plane = self.geometry.plane_of(target);
        if self.ordered {
            let block = self.geometry.block_of(target);
            self.writer[block.index()] = StaleRef::of(set, lent.sets);
        }
        let end = self.plan.steps.len();
        if behind == end {
            return;
        }
        self.add_tasks(plane, behind..end, (charge, 0), lent);
        if let Some(stage) = barrier {
            let last = self.queues[plane.index()].tasks.back();
            let source = last.expect("a task has been added").set;
            let wait = Wait { source, stage: 0, kind: EdgeKind::Merge };
            lent.todo.push(Todo::Wait(set, stage, wait));
        }
    }

    /// What a program of the host waits for, by its page: what is programmed at once with the page
    /// that was planned before it waits for the same.
    pub(super) fn target_waits(
        &mut self,
        target: Ppn,
        joins: bool,
        sets: &Sets,
    ) -> [Option<ProgramWait>; 3] {
        let program = target.get() / self.geometry.program_units();
        match self.joined.filter(|joined| joins && joined.0 == program) {
            Some((_, waits)) => waits,
            None => self.joined.insert((program, self.waits_of(target, sets))).1,
        }
    }

    fn waits_of(&self, target: Ppn, sets: &Sets) -> [Option<ProgramWait>; 3] {
        let plane = self.geometry.plane_of(target);
        let block = self.geometry.block_of(target).index();
        let last = self.queues[plane.index()].tasks.back().map(|last| last.set);
        let merge = match last.filter(|_| self.merge_first || self.in_order) {
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

    /// Plans a piece of work of a plane that nobody waits for. Returns whether there was any.
    pub(super) fn merge_idle(&mut self, plane: PlaneId, lent: &mut Lent<'_>) -> bool {
        if self.is_busy(plane) {
            return false;
        }
        loop {
            let (searches, works) = self.ask(plane, |layer, plan| layer.idle(plan));
            let steps = self.plan.steps.len();
            if steps > 0 {
                self.add_tasks(plane, 0..steps, (None, searches), lent);
                return true;
            }
            if !works {
                return false;
            }
            // What costs nothing may be followed by more.
        }
    }
}

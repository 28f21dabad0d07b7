//! Planning: layers are told of writes, and asked for work in idle times.

use super::Planned;
use super::queue::StaleRef;
use super::waits::commit_stage;
use crate::ftl::lent::{Charge, Lent, Todo};
use crate::ftl::{Ftl, Scheme};
use crate::handle::SetId;
use crate::parts::layer::{MergeCounts, PageWrite, Step, TranslationLayer};
use crate::sets::{Sets, Stage, Wait};
use flashyard_core::graph::EdgeKind;
use flashyard_core::units::{BlockId, Lpn, PlaneId, Ppn};

/// What a program of the host waits for: a set, the stage of that, and why.
type ProgramWait = (SetId, u8, EdgeKind);

/// A write that has been planned as it was translated.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlannedWrite {
    /// The page of its program.
    pub(crate) target: Ppn,
    /// The first of the steps that come behind it.
    pub(crate) behind: usize,
    /// Whether it is over only behind those.
    pub(crate) ends_behind: bool,
    pub(crate) waits: [Option<ProgramWait>; 3],
}

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
    pub(crate) fn write_over(&mut self, set: SetId, block: BlockId) {
        self.programs[block.index()] -= 1;
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
    pub(crate) fn trim(&mut self, plane: PlaneId, lpn: Lpn) {
        let local = self.layout.local(lpn);
        self.layers[self.layout.layer(plane)].trim(local);
    }
}

impl Ftl {
    /// Plans a write of a page that is being translated: its request touches `pages`, of which
    /// `left` follow. What must be done before it becomes work of its plane.
    pub(crate) fn plan_write(
        &mut self,
        lpn: Lpn,
        (pages, left): (u32, u32),
        charge: Charge,
        lent: &mut Lent<'_>,
    ) -> PlannedWrite {
        let (target, behind) = self.plan_program(lpn, (pages, left), charge, lent);
        let waits = self.target_waits(target, lent.sets);
        let (planned, _) = self.layers();
        let ends_behind = planned.merge_first && behind < planned.plan.steps.len();
        PlannedWrite { target, behind, ends_behind, waits }
    }

    /// Plans the program of a change whose set there is: a flush, or a write that is put and
    /// programmed at once. Its layer sees `run` pages written together, of which `left` follow.
    pub(crate) fn plan_change(
        &mut self,
        set: SetId,
        run: (u32, u32),
        charge: Charge,
        lent: &mut Lent<'_>,
    ) {
        let (target, behind) = self.plan_program(lent.sets[set].lpn, run, charge, lent);
        let program = lent.sets.stage_index(set, Stage::Program);
        let last = lent.sets.last_stage(set);
        lent.sets.place_stage(set, program, self.geometry.plane_of(target));
        for (source, stage, kind) in self.target_waits(target, lent.sets).into_iter().flatten() {
            lent.todo.push(Todo::Wait(set, program, Wait { source, stage, kind }));
        }
        let order = lent.sets.take_number();
        let (planned, _) = self.layers();
        let orders = planned.orders.as_mut().expect("there is a write buffer");
        if set.index() >= orders.len() {
            orders.resize(lent.sets.capacity(), u64::MAX);
        }
        orders[set.index()] = order;
        let barrier = (last > program).then_some(last);
        self.write_made(set, (target, behind), barrier, charge, lent);
        lent.todo.push(Todo::HandOn(set));
    }

    /// Plans a program of a page. Returns its target, and the first of the steps that come behind
    /// it; those before it become work of its plane.
    fn plan_program(
        &mut self,
        lpn: Lpn,
        (request_pages, left): (u32, u32),
        charge: Charge,
        lent: &mut Lent<'_>,
    ) -> (Ppn, usize) {
        let plane = self.plane_of_lpn(lpn);
        let (planned, _) = self.layers();
        let more = planned.layout.follow(left);
        let page = PageWrite { lpn: planned.layout.local(lpn), request_pages, more };
        let (searches, ()) = planned.ask(plane, |layer, plan| layer.write(page, plan));
        let mut steps = planned.plan.steps.iter().enumerate();
        let host = steps.find_map(|(place, step)| match step {
            Step::Host { to } => Some((place, *to)),
            _ => None,
        });
        let (before, to) = host.expect("a plan of a write programs its page");
        let target = planned.layout.ppn(plane, to);
        planned.programs[planned.geometry.block_of(target).index()] += 1;
        if before > 0 {
            let plane = self.geometry.plane_of(target);
            self.add_tasks(plane, 0..before, (charge, searches), lent);
        }
        (target, before + 1)
    }

    /// The set of a planned write has been made: it learns its page, and what was planned behind it
    /// becomes work of its plane. A barrier of the set waits for that.
    pub(crate) fn write_made(
        &mut self,
        set: SetId,
        (target, behind): (Ppn, usize),
        barrier: Option<u8>,
        charge: Charge,
        lent: &mut Lent<'_>,
    ) {
        lent.sets[set].source = Some(target);
        let plane = self.geometry.plane_of(target);
        let (planned, _) = self.layers();
        if planned.ordered {
            let block = planned.geometry.block_of(target);
            planned.writer[block.index()] =
                StaleRef { set: Some(set), number: lent.sets.number(set) };
        }
        let end = planned.plan.steps.len();
        if behind == end {
            return;
        }
        self.add_tasks(plane, behind..end, (charge, 0), lent);
        if let Some(stage) = barrier {
            let last = self.layers().0.queues[plane.index()].tasks.back();
            let source = last.expect("a task has been added").set;
            let wait = Wait { source, stage: 0, kind: EdgeKind::Merge };
            lent.todo.push(Todo::Wait(set, stage, wait));
        }
    }

    /// What a program of the host waits for, by its page.
    fn target_waits(&self, target: Ppn, sets: &Sets) -> [Option<ProgramWait>; 3] {
        let plane = self.geometry.plane_of(target);
        let planned = self.planned().expect("only layers plan");
        let block = planned.geometry.block_of(target).index();
        let last = planned.queues[plane.index()].tasks.back().map(|last| last.set);
        let merge = match last.filter(|_| planned.merge_first) {
            Some(last) => Some((last, 0, EdgeKind::Merge)),
            None => planned.eraser[block].live(sets).map(|set| (set, 0, EdgeKind::Room)),
        };
        if !planned.ordered {
            return [merge, None, None];
        }
        let filler = planned.filler[block].live(sets).map(|set| (set, 0, EdgeKind::Order));
        let writer = planned.writer[block].live(sets).and_then(|set| {
            let stage = commit_stage(sets, set);
            (sets.commands_over(set) <= stage).then_some((set, stage, EdgeKind::Order))
        });
        [merge, filler, writer]
    }

    /// Whether pages are planned when they are flushed from a write buffer, not when they are
    /// translated.
    pub(crate) fn plans_flushes(&self) -> bool {
        self.planned().is_some_and(|planned| planned.orders.is_some())
    }

    /// Pages of a block of a layer.
    pub(crate) fn layer_block_pages(&self) -> u32 {
        self.planned().expect("only layers plan").layout.pages_per_block()
    }

    /// Whether each planned write is over only behind what was planned with it.
    pub(crate) fn merges_first(&self) -> bool {
        self.planned().is_some_and(|planned| planned.merge_first)
    }

    /// A page that has just been planned is forgotten: it had been trimmed before.
    pub(crate) fn trim_planned(&mut self, lpn: Lpn) {
        let plane = self.geometry.plane_of_lpn(lpn);
        self.layers().0.trim(plane, lpn);
    }

    /// A trim with this number has been committed, of a unit behind a write buffer: a layer forgets
    /// it, unless a later change of it has been planned.
    pub(crate) fn trim_committed(&mut self, lpn: Lpn, number: u64, sets: &Sets) {
        let Scheme::Planned(planned) = &mut self.scheme else { return };
        let newer =
            |change: SetId| sets.number(change) > number && planned.order(change, sets) < u64::MAX;
        if planned.orders.is_some() && !sets.changes_of(lpn).any(newer) {
            planned.trim(self.geometry.plane_of_lpn(lpn), lpn);
        }
    }

    /// Whether a layer has as many clean log blocks as work in idle times is to bring about.
    pub(in crate::ftl) fn has_clean_logs(&self, plane: PlaneId) -> bool {
        let target = self.gc.background_log_blocks;
        let layer = self.planned().map(|planned| &planned.layers[planned.layout.layer(plane)]);
        let clean = layer.and_then(TranslationLayer::clean_log_blocks);
        target > 0 && clean.is_some_and(|clean| u64::from(clean) >= target)
    }

    /// Plans a piece of work of a plane that nobody waits for. Returns whether there was any: not
    /// where the plane is busy or has nothing left to do, nor with a page map.
    pub(crate) fn merge_idle(&mut self, plane: PlaneId, lent: &mut Lent<'_>) -> bool {
        let Scheme::Planned(planned) = &mut self.scheme else { return false };
        if planned.is_busy(plane) {
            return false;
        }
        loop {
            let (searches, works) = planned.ask(plane, |layer, plan| layer.idle(plan));
            let steps = planned.plan.steps.len();
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

    /// What has been planned so far is not told.
    pub(crate) fn leave_untold(&mut self) {
        if let Scheme::Planned(planned) = &mut self.scheme {
            planned.untold = MergeCounts::default();
        }
    }
}

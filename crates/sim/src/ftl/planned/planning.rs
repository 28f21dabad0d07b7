//! Planning: layers are told of writes, and asked for work in idle times.

use super::Planned;
use super::queue::StaleRef;
use super::waits::commit_stage;
use crate::ftl::{Ftl, Scheme};
use crate::handle::SetId;
use crate::parts::layer::{PageWrite, Step, TranslationLayer};
use crate::sets::Sets;
use flashyard_core::graph::EdgeKind;
use flashyard_core::units::{BlockId, Lpn, PlaneId, Ppn};

/// A write that has been planned.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlannedWrite {
    /// The page of the host's program.
    pub(crate) target: Ppn,
    /// How many steps come before the program; the others but the program itself come behind.
    pub(crate) steps_before: usize,
    /// At how many candidates for victims the layer looked.
    pub(crate) searches: u64,
}

/// Steps that were planned in an idle time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IdleWork {
    /// How many.
    pub(crate) steps: usize,
    /// At how many candidates for victims the layer looked.
    pub(crate) searches: u64,
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
        let before = layer.counts().searches;
        let answer = call(layer, &mut self.plan);
        (layer.counts().searches - before, answer)
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
    /// Plans a write of a page, where layers plan: its request touches `request_pages` and has
    /// `left` more to write.
    pub(crate) fn plan_write(
        &mut self,
        plane: PlaneId,
        lpn: Lpn,
        request_pages: u32,
        left: u32,
    ) -> PlannedWrite {
        let (planned, _) = self.layers();
        let page = PageWrite {
            lpn: planned.layout.local(lpn),
            request_pages,
            more: planned.layout.follow(left),
        };
        let (searches, ()) = planned.ask(plane, |layer, plan| layer.write(page, plan));
        let mut steps = planned.plan.steps.iter().enumerate();
        let host = steps.find_map(|(place, step)| match step {
            Step::Host { to } => Some((place, *to)),
            _ => None,
        });
        let (steps_before, to) = host.expect("a plan of a write programs its page");
        let target = planned.layout.ppn(plane, to);
        planned.programs[planned.geometry.block_of(target).index()] += 1;
        PlannedWrite { target, steps_before, searches }
    }

    /// What a program of the host waits for, by its page: sets, the stage of each, and why.
    pub(crate) fn target_waits(
        &self,
        plane: PlaneId,
        target: Ppn,
        sets: &Sets,
    ) -> [Option<(SetId, u8, EdgeKind)>; 3] {
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

    /// A change behind a write buffer has been planned, at this place in the order of planning.
    pub(crate) fn change_planned(&mut self, set: SetId, order: u64, sets: &Sets) {
        let (planned, _) = self.layers();
        let orders = planned.orders.as_mut().expect("there is a write buffer");
        if set.index() >= orders.len() {
            orders.resize(sets.capacity(), u64::MAX);
        }
        orders[set.index()] = order;
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

    /// The set of a planned write has been made. Returns how many steps its plan has.
    pub(crate) fn write_planned(&mut self, target: Ppn, set: SetId, number: u64) -> usize {
        let (planned, _) = self.layers();
        if planned.ordered {
            let block = planned.geometry.block_of(target);
            planned.writer[block.index()] = StaleRef { set: Some(set), number };
        }
        planned.plan.steps.len()
    }

    /// The last merge task of a plane.
    pub(crate) fn last_task(&self, plane: PlaneId) -> Option<SetId> {
        let queue = &self.planned()?.queues[plane.index()];
        queue.tasks.back().map(|last| last.set)
    }

    /// Whether the write that has just been planned is over only behind the steps from `behind` on.
    pub(crate) fn ends_behind(&self, behind: usize) -> bool {
        let planned = self.planned().expect("only layers plan");
        planned.merge_first && behind < planned.plan.steps.len()
    }

    /// Whether a layer has as many clean log blocks as work in idle times is to bring about.
    pub(crate) fn has_clean_logs(&self, plane: PlaneId) -> bool {
        let target = self.gc.background_log_blocks;
        let layer = self.planned().map(|planned| &planned.layers[planned.layout.layer(plane)]);
        let clean = layer.and_then(TranslationLayer::clean_log_blocks);
        target > 0 && clean.is_some_and(|clean| u64::from(clean) >= target)
    }

    /// Plans a piece of work of a plane that nobody waits for; none where the plane is busy or has
    /// nothing left to do, and with a page map.
    pub(crate) fn plan_idle(&mut self, plane: PlaneId) -> Option<IdleWork> {
        let Scheme::Planned(planned) = &mut self.scheme else { return None };
        if planned.is_busy(plane) {
            return None;
        }
        loop {
            let (searches, works) = planned.ask(plane, |layer, plan| layer.idle(plan));
            let steps = planned.plan.steps.len();
            if steps > 0 {
                return Some(IdleWork { steps, searches });
            }
            if !works {
                return None;
            }
            // What costs nothing may be followed by more.
        }
    }
}

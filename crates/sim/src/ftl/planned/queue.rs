//! The merge queue of a plane: planned steps, and the tasks that do them.

use super::{Planned, TaskStages};
use crate::ftl::page_map::Owner;
use crate::ftl::{Copied, Erased, Ftl};
use crate::handle::SetId;
use crate::parts::layer::Step;
use crate::sets::{Sets, Stage};
use flashyard_core::graph::NIL;
use flashyard_core::units::{BlockId, Lpn, PlaneId, Ppn};
use std::collections::VecDeque;

/// A step of a merge queue, in the numbers of the device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlannedStep {
    /// The logical page of a copy, [`NIL`] for an erase.
    lpn: u32,
    from: u32,
    /// Where a copy goes; the block of an erase.
    to: u32,
}

impl PlannedStep {
    pub(super) const fn erase(block: BlockId) -> Self {
        Self { lpn: NIL, from: NIL, to: block.get() }
    }

    pub(crate) const fn erases(&self) -> bool {
        self.lpn == NIL
    }

    pub(crate) const fn lpn(&self) -> Lpn {
        Lpn::new(self.lpn)
    }

    pub(crate) const fn from(&self) -> Ppn {
        Ppn::new(self.from)
    }

    pub(crate) const fn to(&self) -> Ppn {
        Ppn::new(self.to)
    }

    pub(crate) const fn block(&self) -> BlockId {
        BlockId::new(self.to)
    }
}

/// A set that may be over by now, when its handle belongs to another one or to none.
#[derive(Clone, Copy, Debug)]
pub(super) struct StaleRef {
    pub(super) set: Option<SetId>,
    pub(super) number: u64,
}

impl StaleRef {
    pub(super) const NONE: Self = Self { set: None, number: 0 };

    /// The set, if it is the one that was meant and not over.
    pub(super) fn live(self, sets: &Sets) -> Option<SetId> {
        self.set.filter(|&set| sets.number(set) == self.number && !sets.is_over(set))
    }
}

/// The work of a plane that has been planned and is not over.
#[derive(Clone, Debug, Default)]
pub(super) struct MergeQueue {
    pub(super) steps: VecDeque<PlannedStep>,
    pub(super) tasks: VecDeque<MergeTask>,
}

/// A set that does steps of a merge queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct MergeTask {
    pub(super) set: SetId,
    /// How many of the steps are left.
    left: u32,
    /// The gate behind which it begins; it may be open.
    pub(super) gate: StaleRef,
}

/// A merge task that has just been added.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewTask {
    /// The task before it on its plane.
    pub(crate) before: Option<SetId>,
    /// Its copies.
    pub(crate) copies: u32,
    /// Whether it erases a block behind them.
    pub(crate) erases: bool,
}

/// What a merge task does when a command of it is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TaskStep {
    /// It programs what it has read.
    Program,
    /// It goes on with its next step.
    Next,
    /// It is over, and the next task of the plane begins, if there is one that may.
    Over(Option<SetId>),
}

/// Whether a set of a device with layers is a merge task: one of the device's own that changes
/// nothing, as flushes do.
#[inline]
fn merges(set: SetId, sets: &Sets) -> bool {
    let state = &sets[set];
    state.request.is_none() && !state.changes
}

impl Planned {
    /// A step in the numbers of the device.
    pub(super) fn numbered(&self, plane: PlaneId, step: Step) -> PlannedStep {
        match step {
            Step::Copy { lpn, from, to } => PlannedStep {
                lpn: self.layout.lpn(plane, lpn).get(),
                from: self.layout.ppn(plane, from).get(),
                to: self.layout.ppn(plane, to).get(),
            },
            Step::Erase { block } => {
                let mut blocks = self.layout.blocks(plane, block);
                PlannedStep::erase(blocks.next().expect("a layer has a plane"))
            }
            Step::Host { .. } => panic!("a plan programs the host's page once"),
        }
    }

    /// Whether a merge task of the layer of a plane is under way.
    pub(crate) fn is_busy(&self, plane: PlaneId) -> bool {
        if self.spans() { self.tasks > 0 } else { !self.queues[plane.index()].tasks.is_empty() }
    }

    /// The step that a plane is at.
    #[inline]
    pub(crate) fn current_step(&self, plane: PlaneId) -> PlannedStep {
        self.queues[plane.index()].steps[0]
    }

    /// The copy that comes next in the task that a plane is at; none where an erase comes next, or
    /// nothing.
    pub(crate) fn next_copy(&self, plane: PlaneId) -> Option<PlannedStep> {
        let queue = &self.queues[plane.index()];
        let next = queue.steps.get(1)?;
        (queue.tasks[0].left > 1 && !next.erases()).then_some(*next)
    }

    /// The page that a program has been given.
    #[inline]
    pub(crate) fn page_of(&self, set: SetId, sets: &Sets) -> Ppn {
        if merges(set, sets) {
            self.current_step(sets.plane(set)).to()
        } else {
            sets[set].source.expect("a layer gives every write its page")
        }
    }
}

impl Ftl {
    /// Whether a set is a merge task.
    #[inline]
    pub(crate) fn is_task(&self, set: SetId, sets: &Sets) -> bool {
        self.is_planned() && merges(set, sets)
    }

    /// The commands of merge tasks.
    pub(crate) fn task_stages(&self) -> TaskStages {
        self.planned().expect("only layers have merge tasks").stages()
    }

    /// Appends a step of the last plan to the merge queue of a plane. Returns whether it erases.
    pub(crate) fn append_step(&mut self, plane: PlaneId, place: usize) -> bool {
        let (planned, _) = self.layers();
        let step = planned.numbered(plane, planned.plan.steps[place]);
        planned.queues[plane.index()].steps.push_back(step);
        step.erases()
    }

    /// The last `count` steps of a merge queue become the task of a set, which begins behind a
    /// gate, if there is one.
    pub(crate) fn add_task(
        &mut self,
        plane: PlaneId,
        set: SetId,
        (count, gate): (u32, Option<SetId>),
        sets: &Sets,
    ) -> NewTask {
        let (planned, _) = self.layers();
        let number = sets.number(set);
        let gate = gate
            .map_or(StaleRef::NONE, |gate| StaleRef { set: Some(gate), number: sets.number(gate) });
        planned.tasks += 1;
        if let Some(spread) = &mut planned.spread {
            spread.note_lane(set, plane, sets);
        }
        let queue = &mut planned.queues[plane.index()];
        let before = queue.tasks.back().map(|task| task.set);
        queue.tasks.push_back(MergeTask { set, left: count, gate });
        let first = queue.steps.len() - count as usize;
        let last = *queue.steps.back().expect("a task has steps");
        let erases = last.erases();
        if erases {
            planned.eraser[last.block().index()] = StaleRef { set: Some(set), number };
        }
        let copies = count - u32::from(erases);
        if !planned.filler.is_empty() {
            for step in queue.steps.range(first..first + copies as usize) {
                let block = planned.geometry.block_of(step.to()).index();
                planned.filler[block] = StaleRef { set: Some(set), number };
            }
        }
        NewTask { before, copies, erases }
    }

    /// A command of the task that a plane is at is over.
    pub(crate) fn step_over(
        &mut self,
        plane: PlaneId,
        stage: Stage,
        set: SetId,
        sets: &Sets,
    ) -> TaskStep {
        let (planned, _) = self.layers();
        if stage == planned.stages.read {
            return TaskStep::Program;
        }
        let queue = &mut planned.queues[plane.index()];
        queue.steps.pop_front();
        let task = queue.tasks.front_mut().expect("a task is under way");
        debug_assert_eq!(task.set, set, "tasks of a plane are done in order");
        task.left -= 1;
        if task.left > 0 {
            return TaskStep::Next;
        }
        queue.tasks.pop_front();
        planned.tasks -= 1;
        let next = queue.tasks.front().filter(|next| next.gate.live(sets).is_none());
        TaskStep::Over(next.map(|next| next.set))
    }

    /// The copy that a plane is at has been programmed.
    pub(in crate::ftl) fn task_copied(&mut self, plane: PlaneId) -> Copied {
        let (planned, map) = self.layers();
        let step = planned.current_step(plane);
        let (owner, current) = (Owner::Data(step.lpn()), map.is_valid(step.from()));
        if current {
            debug_assert_eq!(map.owner(step.from()), Some(owner), "a page changed hands");
            map.commit(owner, step.to());
        }
        let (from, to) = (step.from(), step.to());
        Copied { lpn: Some(step.lpn()), from, to, current, of_job: false }
    }

    /// The same where the copies of a task run ahead, which goes on with its next one.
    pub(crate) fn copied_in_bulk(&mut self, plane: PlaneId) -> Copied {
        let copy = self.task_copied(plane);
        let (planned, map) = self.layers();
        planned.note_page(copy.to, map);
        let queue = &mut planned.queues[plane.index()];
        queue.steps.pop_front();
        queue.tasks[0].left -= 1;
        copy
    }

    /// The task that a plane is at has erased its block.
    pub(in crate::ftl) fn task_erased(&mut self, plane: PlaneId) -> Erased {
        let (planned, map) = self.layers();
        let block = planned.current_step(plane).block();
        let was_used = planned.forget_pages(block);
        map.blocks.erased_planned(block, was_used);
        Erased { block, worn_out: false, no_room: false, of_job: false }
    }
}

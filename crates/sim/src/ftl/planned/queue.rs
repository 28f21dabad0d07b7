//! The merge queue of a plane: planned steps, and the tasks that do them.

use super::Planned;
use crate::ftl::lent::Copied;
use crate::ftl::page_map::{Owner, PageMap};
use crate::ftl::stale::StaleRef;
use crate::handle::SetId;
use crate::parts::layer::Step;
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
    pub(super) left: u32,
    /// The gate behind which it begins; it may be open.
    pub(super) gate: StaleRef,
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

    /// The step that a plane is at.
    #[inline]
    pub(super) fn current_step(&self, plane: PlaneId) -> PlannedStep {
        self.queues[plane.index()].steps[0]
    }

    /// The copy that comes next in the task that a plane is at; none where an erase comes next, or
    /// nothing.
    pub(super) fn next_copy(&self, plane: PlaneId) -> Option<PlannedStep> {
        let queue = &self.queues[plane.index()];
        let next = queue.steps.get(1)?;
        (queue.tasks[0].left > 1 && !next.erases()).then_some(*next)
    }

    /// The copy that a plane is at has been programmed.
    pub(super) fn task_copied(&mut self, plane: PlaneId, map: &mut PageMap) -> Copied {
        let step = self.current_step(plane);
        let (owner, current) = (Owner::Data(step.lpn()), map.is_valid(step.from()));
        if current {
            debug_assert_eq!(map.owner(step.from()), Some(owner), "a page changed hands");
            map.commit(owner, step.to());
        }
        let (from, to) = (step.from(), step.to());
        Copied { lpn: Some(step.lpn()), from, to, current, of_job: false, row: None }
    }
}

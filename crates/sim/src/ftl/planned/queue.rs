//! The merge queue of a plane: planned steps, and the tasks that do them.

use super::Planned;
use crate::ftl::lent::Copied;
use crate::ftl::page_map::{Owner, PageMap};
use crate::ftl::stale::StaleRef;
use crate::handle::SetId;
use crate::parts::layer::Step;
use crate::sets::Sets;
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
    pub(super) left: usize,
    /// Which of the copies into the current program is being read.
    pub(super) reads: usize,
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

    /// The step that a plane is at; of several copies into one program, the first one.
    #[inline]
    pub(super) fn current_step(&self, plane: PlaneId) -> PlannedStep {
        self.queues[plane.index()].steps[0]
    }

    /// How many of these steps, all of one task, are done by one program or one erase: those that
    /// copy into one program.
    pub(super) fn together(&self, steps: impl Iterator<Item = PlannedStep>) -> usize {
        let pages = self.geometry.program_units();
        let mut steps = steps.peekable();
        match steps.peek().filter(|first| pages > 1 && !first.erases()) {
            Some(&first) => steps
                .take_while(|next| !next.erases() && next.to / pages == first.to / pages)
                .count(),
            None => 1,
        }
    }

    /// The copies of the program that a plane is at, or the erase.
    pub(in crate::ftl) fn current_steps(
        &self,
        plane: PlaneId,
    ) -> impl Iterator<Item = PlannedStep> {
        let queue = &self.queues[plane.index()];
        let steps = queue.steps.iter().copied();
        let count = self.together(steps.clone().take(queue.tasks[0].left));
        steps.take(count)
    }

    /// Of copies into one program from the `at`-th on, the first one whose flash page no earlier
    /// one reads.
    pub(super) fn next_read(
        &self,
        copies: &(impl Iterator<Item = PlannedStep> + Clone),
        at: usize,
    ) -> Option<usize> {
        let page = |copy: &PlannedStep| self.source_page(copy);
        let is_read = |(place, copy): &(usize, PlannedStep)| {
            copies.clone().take(*place).any(|earlier| page(&earlier) == page(copy))
        };
        let later = copies.clone().enumerate().skip(at);
        later.skip_while(is_read).map(|(place, _)| place).next()
    }

    /// How many of the copies into one program come out of the page that a task reads.
    pub(in crate::ftl) fn units_read(&self, set: SetId, sets: &Sets) -> u32 {
        if self.geometry.program_units() == 1 {
            return 1;
        }
        let plane = self.lane(set, sets.plane(set));
        let queue = &self.queues[plane.index()];
        let current = self.source_page(&queue.steps[queue.tasks[0].reads]);
        let of_page = self.current_steps(plane).filter(|copy| self.source_page(copy) == current);
        u32::try_from(of_page.count()).expect("pages of a program")
    }

    /// The flash page that a copy reads.
    const fn source_page(&self, copy: &PlannedStep) -> u32 {
        copy.from / self.geometry.units_per_page
    }

    /// The copy that comes next in the task that a plane is at; none where an erase comes next, or
    /// nothing.
    pub(super) fn next_copy(&self, plane: PlaneId) -> Option<PlannedStep> {
        let queue = &self.queues[plane.index()];
        let next = queue.steps.get(1)?;
        (queue.tasks[0].left > 1 && !next.erases()).then_some(*next)
    }

    /// A copy of the program that a plane is at has been programmed.
    pub(super) fn task_copied(step: PlannedStep, map: &mut PageMap) -> Copied {
        let (owner, current) = (Owner::Data(step.lpn()), map.is_valid(step.from()));
        if current {
            debug_assert_eq!(map.owner(step.from()), Some(owner), "a page changed hands");
            map.commit(owner, step.to());
        }
        let (from, to) = (step.from(), step.to());
        Copied { lpn: Some(step.lpn()), from, to, current, of_job: false, row: None }
    }
}

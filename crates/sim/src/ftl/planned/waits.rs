//! What merge tasks wait for, step by step.

use super::Planned;
use super::queue::PlannedStep;
use crate::ftl::lent::{Lent, Todo};
use crate::ftl::page_map::{Owner, PageMap};
use crate::handle::SetId;
use crate::sets::{Set, Sets, Stage};
use flashyard_core::graph::EdgeKind;
use flashyard_core::units::{BlockId, Lpn, PlaneId};
use std::ops::Range;

/// The stage with which a change is committed.
pub(super) fn commit_stage(sets: &Sets, set: SetId) -> u8 {
    let program = (0u8..).zip(sets.commands(set)).find(|(_, (stage, _))| *stage == Stage::Program);
    program.map_or_else(|| sets.last_stage(set), |(place, _)| place)
}

impl Planned {
    /// A change of a page that was planned at one of these places and has not been committed, among
    /// those that are `wanted`.
    fn uncommitted(
        &self,
        sets: &Sets,
        lpn: Lpn,
        places: Range<u64>,
        wanted: impl Fn(&Set) -> bool,
    ) -> Option<SetId> {
        sets.changes_of(lpn).find(|&set| {
            wanted(&sets[set])
                && places.contains(&self.order(set, sets))
                && sets.commands_over(set) <= commit_stage(sets, set)
        })
    }

    /// A task waits for this change.
    fn wait_for(&mut self, sets: &Sets, change: SetId) {
        self.waits.push((change, commit_stage(sets, change)));
    }

    /// A copy waits for the program of the page that it reads and, where order counts, for earlier
    /// programs of the block that it goes to.
    fn wait_for_copy(&mut self, step: PlannedStep, number: u64, sets: &Sets, map: &PageMap) {
        if !map.is_valid(step.from()) {
            let writes = |change: &Set| change.target() == Some(step.from());
            if let Some(writer) = self.uncommitted(sets, step.lpn(), 0..number, writes) {
                self.wait_for(sets, writer);
            }
        }
        if self.ordered {
            self.wait_for_programs(self.geometry.block_of(step.to()), number, sets, false);
        }
    }

    /// An erase waits for programs into its block, and for the changes that empty it.
    fn wait_until_empty(&mut self, block: BlockId, number: u64, sets: &Sets, map: &PageMap) {
        self.wait_for_programs(block, number, sets, true);
        let mut from = 0;
        while let Some((unit, _, owner)) = map.next_valid(block, from) {
            from = unit + 1;
            let Owner::Data(lpn) = owner else { unreachable!("the map is in memory") };
            let change = self.uncommitted(sets, lpn, 0..number, |_| true);
            self.wait_for(sets, change.expect("a layer erases only what is changed or copied"));
        }
    }

    /// A task waits for all programs of the host into a block that were planned before it and, if
    /// it erases the block, for a change behind each of them.
    fn wait_for_programs(&mut self, block: BlockId, number: u64, sets: &Sets, erases: bool) {
        if self.programs[block.index()] == 0 {
            return;
        }
        // Without a write buffer changes are in the order of planning.
        let in_order = self.orders.is_none();
        for change in sets.changes() {
            let order = self.order(change, sets);
            if order >= number {
                if in_order {
                    break;
                }
                continue;
            }
            let state = &sets[change];
            let into = state.target();
            if into.is_some_and(|page| self.geometry.block_of(page) == block)
                && sets.commands_over(change) <= commit_stage(sets, change)
            {
                self.wait_for(sets, change);
                if erases && !state.is_superseded() {
                    let behind = self.uncommitted(sets, state.lpn(), order + 1..number, |_| true);
                    let behind = behind.expect("a layer erases only what is changed or copied");
                    self.wait_for(sets, behind);
                }
            }
        }
    }
}

impl Planned {
    /// A task has come to a step: its command, and what that waits for.
    pub(super) fn begin_step(&mut self, set: SetId, plane: PlaneId, lent: &mut Lent<'_>) {
        let (geometry, number) = (self.geometry, lent.sets.number(set));
        self.waits.clear();
        let step = self.current_step(plane);
        if step.erases() {
            lent.sets.turn_into(set, self.stages.erase);
            lent.sets.bind(set, geometry.unit_of(step.block(), 0));
            self.wait_until_empty(step.block(), number, lent.sets, &lent.base.map);
        } else {
            lent.sets.turn_into_copy(set, self.stages.read, step.from());
            let copies = self.current_steps(plane).count();
            for at in 0..copies {
                let step = self.queues[plane.index()].steps[at];
                self.wait_for_copy(step, number, lent.sets, &lent.base.map);
            }
        }
        if self.spans() {
            let reads = (!step.erases()).then(|| geometry.plane_of(step.from()));
            lent.sets.move_to(set, reads.unwrap_or(plane));
        }
        for &(source, stage) in &self.waits {
            lent.wait(set, source, stage, EdgeKind::Order);
        }
        if !self.waits.is_empty() {
            lent.todo.push(Todo::HandOn(set));
        }
    }

    /// A task has read a page, and what goes into the same program lies on others too: it goes on
    /// with the next one of them. Returns whether there is one.
    pub(super) fn reads_on(&mut self, set: SetId, plane: PlaneId, lent: &mut Lent<'_>) -> bool {
        if self.geometry.program_units() == 1 {
            return false;
        }
        let queue = &self.queues[plane.index()];
        let (read, count) = (queue.tasks[0].reads, self.current_steps(plane).count());
        let copies = queue.steps.iter().take(count).copied();
        let Some(next) = self.next_read(&copies, read + 1) else { return false };
        let from = queue.steps[next].from();
        self.queues[plane.index()].tasks[0].reads = next;
        lent.sets.turn_into_copy(set, self.stages.read, from);
        if self.spans() {
            lent.sets.move_to(set, self.geometry.plane_of(from));
        }
        lent.go_on(set);
        true
    }
}

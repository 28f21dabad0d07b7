//! Merge tasks: sets that do planned steps one after the other, with one command that changes.

use super::Planned;
use super::queue::MergeTask;
use crate::ftl::lent::{Charge, Copied, Deed, Lent, Todo};
use crate::ftl::page_map::PageMap;
use crate::ftl::stale::StaleRef;
use crate::handle::SetId;
use crate::observe::OwnCause;
use crate::parts::layer::MergeCounts;
use crate::sets::{Mode, OwnWork, Stage};
use flashyard_core::graph::EdgeKind;
use flashyard_core::units::{PlaneId, Span};
use std::ops::Range;

/// What a merge task begins behind, besides the task before it.
#[derive(Clone, Copy, Debug)]
struct Begins {
    /// A gate, before which it does not know what it waits for.
    gate: Option<SetId>,
    /// A search for a victim.
    search: Option<SetId>,
}

/// Tasks are made.
impl Planned {
    /// Appends planned steps to the merge queue of a plane, for which a layer has looked at so many
    /// candidates for victims.
    pub(super) fn add_tasks(
        &mut self,
        plane: PlaneId,
        steps: Range<usize>,
        (charge, searches): (Charge, u64),
        lent: &mut Lent<'_>,
    ) {
        let MergeCounts { switch, partial, full, dead, .. } = std::mem::take(&mut self.untold);
        let (kinds, spans) = ([switch, partial, full, dead], self.spans());
        lent.note(Deed::Merging { plane: self.working_plane(plane), kinds, charge });
        let search = self.begin_search(plane, charge, searches, lent);
        let mut begins = Begins { gate: None, search };
        if spans {
            return self.add_spread_tasks(steps, charge, begins, lent);
        }
        let mut count = 0;
        for place in steps.clone() {
            count += 1;
            if self.append_step(plane, place) || place + 1 == steps.end {
                self.add_task(plane, count, charge, begins, lent);
                begins.search = None;
                count = 0;
            }
        }
    }

    /// Spreads planned steps over the merge queues of their planes.
    fn add_spread_tasks(
        &mut self,
        steps: Range<usize>,
        charge: Charge,
        begins: Begins,
        lent: &mut Lent<'_>,
    ) {
        for place in steps {
            if self.begins_segment(place) {
                self.add_segment(charge, begins, lent);
            }
            self.spread_step(place, lent.sets);
        }
        self.add_segment(charge, begins, lent);
    }

    /// The steps that were spread last become a task of each plane that has any, behind a gate
    /// where they wait for earlier tasks.
    fn add_segment(&mut self, charge: Charge, mut begins: Begins, lent: &mut Lent<'_>) {
        let cause = OwnCause::Merge(PlaneId::new(0));
        let waits = self.segment_waits();
        if !waits.is_empty() {
            let stages = [(Stage::Barrier, PlaneId::new(0))];
            let gate = lent.own_set(charge, cause, OwnWork::Gate, &stages);
            for &source in waits {
                lent.wait(gate, source, 0, EdgeKind::Gc);
            }
            lent.go_on(gate);
            begins.gate = Some(gate);
        }
        for plane in lent.base.planes() {
            let count = self.segment_steps(plane);
            if count > 0 {
                self.add_task(plane, count, charge, begins, lent);
            }
        }
        self.end_segment();
    }

    /// A search for a victim, if it takes time: a set that is over when it is.
    fn begin_search(
        &self,
        plane: PlaneId,
        charge: Charge,
        searches: u64,
        lent: &mut Lent<'_>,
    ) -> Option<SetId> {
        let span = lent.base.search_time(searches);
        if span.is_zero() {
            return None;
        }
        let cause = OwnCause::Merge(self.working_plane(plane));
        let set = lent.own_set(charge, cause, OwnWork::Gate, &[(Stage::Barrier, plane)]);
        lent.sets.set_span(set, span);
        lent.todo.push(Todo::Rest(set, Mode::Firmware));
        lent.todo.push(Todo::Seek(set, span));
        Some(set)
    }

    /// The last `count` steps of a merge queue become a task, which begins behind a gate and a
    /// search.
    fn add_task(
        &mut self,
        plane: PlaneId,
        count: u32,
        charge: Charge,
        begins: Begins,
        lent: &mut Lent<'_>,
    ) {
        let working = self.working_plane(plane);
        let stages = self.stages;
        let merges = stages.read == Stage::MergeRead;
        let cause = if merges { OwnCause::Merge(working) } else { OwnCause::Job };
        let work = OwnWork::Steps { source: None, levels: stages.levels };
        let set = lent.own_set(charge, cause, work, &[(stages.read, plane)]);
        let before = self.enqueue_task(plane, set, (count, begins.gate), lent);
        match before {
            Some(source) => lent.wait(set, source, 0, EdgeKind::Gc),
            None if begins.gate.is_none() => self.begin_step(set, plane, lent),
            None => {}
        }
        for source in [begins.gate, begins.search].into_iter().flatten() {
            lent.wait(set, source, 0, EdgeKind::Gc);
        }
        lent.go_on(set);
    }

    /// Appends a step of the last plan to the merge queue of a plane. Returns whether it erases.
    fn append_step(&mut self, plane: PlaneId, place: usize) -> bool {
        let step = self.numbered(plane, self.plan.steps[place]);
        self.queues[plane.index()].steps.push_back(step);
        step.erases()
    }
}

impl Planned {
    /// The last `count` steps of a merge queue become the task of a set, which begins behind a
    /// gate, if there is one. Returns the task before it on its plane.
    fn enqueue_task(
        &mut self,
        plane: PlaneId,
        set: SetId,
        (count, gate): (u32, Option<SetId>),
        lent: &mut Lent<'_>,
    ) -> Option<SetId> {
        let reference = |set| StaleRef::of(set, lent.sets);
        let (task, gate) = (reference(set), gate.map_or(StaleRef::NONE, reference));
        self.tasks += 1;
        if let Some(spread) = &mut self.spread {
            spread.note_lane(set, plane, lent.sets);
        }
        let queue = &mut self.queues[plane.index()];
        let before = queue.tasks.back().map(|task| task.set);
        queue.tasks.push_back(MergeTask { set, left: count as usize, reads: 0, gate });
        let first = queue.steps.len() - count as usize;
        let last = *queue.steps.back().expect("a task has steps");
        if last.erases() {
            self.eraser[last.block().index()] = task;
        }
        let copies = count - u32::from(last.erases());
        if !self.filler.is_empty() {
            for step in queue.steps.range(first..first + copies as usize) {
                self.filler[self.geometry.block_of(step.to()).index()] = task;
            }
        }
        let (reads, programs) = self.operations(plane, (first, copies as usize));
        let nominal = |stage, count: u64| lent.sets.nominal(stage).as_ns() * count;
        let copying = nominal(self.stages.read, reads) + nominal(self.stages.program, programs);
        let erasing = nominal(self.stages.erase, last.erases().into());
        lent.sets.set_span(set, Span::from_ns(copying + erasing));
        before
    }

    /// How many reads and programs so many copies of a merge queue take, from a place on.
    fn operations(&self, plane: PlaneId, (mut at, copies): (usize, usize)) -> (u64, u64) {
        let (end, of_program) = (at + copies, self.geometry.program_units());
        if of_program == 1 {
            return (copies as u64, copies as u64);
        }
        let (mut reads, mut programs) = (0, 0);
        while at < end {
            let steps = self.queues[plane.index()].steps.range(at..end).copied();
            let count = self.together(steps.clone());
            let copies = steps.take(count);
            let mut next = 0;
            while let Some(place) = self.next_read(&copies, next) {
                (reads, next) = (reads + 1, place + 1);
            }
            (at, programs) = (at + count, programs + 1);
        }
        (reads, programs)
    }
}

/// Tasks that run ahead.
impl Planned {
    /// The copy of a task that runs ahead has been programmed: it goes on with the next one.
    pub(super) fn copied_in_bulk(&mut self, plane: PlaneId, map: &mut PageMap) -> Copied {
        let copy = Self::task_copied(self.current_step(plane), map);
        self.note_page(copy.to, map);
        let queue = &mut self.queues[plane.index()];
        queue.steps.pop_front();
        queue.tasks[0].left -= 1;
        copy
    }
}

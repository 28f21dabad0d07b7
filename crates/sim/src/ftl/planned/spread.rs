//! Steps of a layer that works over all planes, spread over their merge queues.
//!
//! A step belongs to the queue of the plane that it programs or erases; the erase of a superblock
//! is a step of every queue. Steps that do not depend on one another across queues make a
//! **segment**, whose steps on each plane are one task: copies up to an erase, or the erases of one
//! superblock. Where a segment depends on earlier tasks of other queues, its tasks begin behind a
//! **gate**, a set of the device's own without a command:
//!
//! - erases of a superblock wait for every copy that was planned before them, on any plane;
//! - copies that read a page of another plane wait for the tasks that erase its block or program
//!   copies into it, so that what they find there is what was planned.
//!
//! A gate waits for earlier tasks only, so no waits form a cycle.

use super::Planned;
use super::queue::PlannedStep;
use crate::handle::SetId;
use crate::parts::layer::Step;
use crate::sets::Sets;
use flashyard_core::geometry::Geometry;
use flashyard_core::units::{PlaneId, Ppn};

/// What is known of the segment that is being put together.
#[derive(Clone, Debug)]
pub(super) struct Spread {
    /// How many steps each plane has of it.
    counts: Vec<u32>,
    /// Its number, and that of the last segment with a copy into each block.
    number: u64,
    filled: Vec<u64>,
    /// Whether it erases.
    erases: bool,
    /// Whether copies were planned since a gate last stood before erases.
    copies: bool,
    /// The tasks that it waits for, without those before erases.
    waits: Vec<SetId>,
    /// The plane of each merge task, by its set.
    lanes: Vec<PlaneId>,
}

impl Spread {
    pub(super) fn new(geometry: &Geometry) -> Self {
        Self {
            counts: vec![0; geometry.all_planes() as usize],
            number: 1,
            filled: vec![0; geometry.blocks() as usize],
            erases: false,
            copies: false,
            waits: Vec::new(),
            lanes: Vec::new(),
        }
    }

    /// A set is a merge task of a plane.
    pub(super) fn note_lane(&mut self, set: SetId, plane: PlaneId, sets: &Sets) {
        if set.index() >= self.lanes.len() {
            self.lanes.resize(sets.capacity(), PlaneId::new(0));
        }
        self.lanes[set.index()] = plane;
    }

    fn is_empty(&self) -> bool {
        self.counts.iter().all(|&count| count == 0)
    }
}

impl Planned {
    /// Whether one layer works over several planes.
    pub(crate) const fn spans(&self) -> bool {
        self.spread.is_some()
    }

    fn spread(&mut self) -> &mut Spread {
        self.spread.as_mut().expect("a layer works over several planes")
    }

    /// The task of a set that may be over waits: it is listed once.
    fn wait_for_task(&mut self, task: Option<SetId>) {
        let waits = &mut self.spread().waits;
        if let Some(task) = task.filter(|task| !waits.contains(task)) {
            waits.push(task);
        }
    }

    /// The plane that stands for the layer of a plane in idle times.
    pub(super) const fn working_plane(&self, plane: PlaneId) -> PlaneId {
        if self.spans() { PlaneId::new(0) } else { plane }
    }

    /// The plane in whose merge queue a task is, of which the current command runs on `plane`.
    pub(super) fn lane(&self, set: SetId, plane: PlaneId) -> PlaneId {
        self.spread.as_ref().map_or(plane, |spread| spread.lanes[set.index()])
    }

    /// Whether a step of the last plan begins another segment than the one before it.
    pub(super) fn begins_segment(&self, place: usize) -> bool {
        let spread = self.spread.as_ref().expect("a layer works over several planes");
        if spread.is_empty() {
            return false;
        }
        let program = |step: &Step| match step {
            Step::Copy { to, .. } => Some(to / self.geometry.program_units()),
            Step::Erase { .. } | Step::Host { .. } => None,
        };
        let (before, steps) = self.plan.steps.split_at(place);
        let Some(current) = program(&steps[0]) else { return true };
        if before.last().and_then(program) == Some(current) {
            // What is programmed at once is of one segment.
            return false;
        }
        let mut copies = steps.iter().take_while(|step| program(step) == Some(current));
        spread.erases || copies.any(|copy| self.reads_filled(copy, spread))
    }

    /// Whether a copy reads, on another plane, a block that copies of the segment fill.
    fn reads_filled(&self, copy: &Step, spread: &Spread) -> bool {
        let &Step::Copy { from, to, .. } = copy else { return false };
        let page = |local| self.layout.ppn(PlaneId::new(0), local);
        let (from, to): (Ppn, Ppn) = (page(from), page(to));
        let source = self.geometry.block_of(from).index();
        self.geometry.plane_of(from) != self.geometry.plane_of(to)
            && spread.filled[source] == spread.number
    }

    /// Appends a step of the last plan to the merge queues of its planes.
    pub(super) fn spread_step(&mut self, place: usize, sets: &Sets) {
        let first = PlaneId::new(0);
        match self.plan.steps[place] {
            Step::Erase { block } => {
                for block in self.layout.blocks(first, block) {
                    let plane = self.geometry.plane_of_block(block);
                    self.queues[plane.index()].steps.push_back(PlannedStep::erase(block));
                    self.spread().counts[plane.index()] += 1;
                }
                self.spread().erases = true;
            }
            step => self.spread_copy(step, sets),
        }
    }

    /// What the segment waits for before it begins: earlier tasks, each of which is not over.
    /// [`Self::end_segment`] must follow.
    pub(super) fn segment_waits(&mut self) -> &[SetId] {
        let spread = self.spread.as_mut().expect("a layer works over several planes");
        if spread.erases && std::mem::take(&mut spread.copies) {
            // The last task of a queue ends behind all others of it.
            let last = self.queues.iter().filter_map(|queue| queue.tasks.back());
            spread.waits.extend(last.map(|task| task.set));
        }
        &spread.waits
    }

    /// How many steps of the segment the queue of a plane has.
    pub(super) fn segment_steps(&self, plane: PlaneId) -> u32 {
        self.spread.as_ref().map_or(0, |spread| spread.counts[plane.index()])
    }

    /// The segment has become tasks: the next one begins.
    pub(super) fn end_segment(&mut self) {
        let spread = self.spread();
        spread.counts.fill(0);
        spread.waits.clear();
        spread.number += 1;
        spread.erases = false;
    }

    /// The task that the queue of a plane has come to, if it begins behind this gate.
    pub(super) fn behind_gate(&self, plane: PlaneId, gate: SetId, sets: &Sets) -> Option<SetId> {
        let task = self.queues[plane.index()].tasks.front()?;
        (task.gate.live(sets) == Some(gate)).then_some(task.set)
    }

    fn spread_copy(&mut self, step: Step, sets: &Sets) {
        let step = self.numbered(PlaneId::new(0), step);
        let plane = self.geometry.plane_of(step.to());
        if self.geometry.plane_of(step.from()) != plane {
            let source = self.geometry.block_of(step.from()).index();
            let (eraser, filler) = (self.eraser[source].live(sets), self.filler[source].live(sets));
            self.wait_for_task(eraser);
            self.wait_for_task(filler);
        }
        let target = self.geometry.block_of(step.to()).index();
        self.queues[plane.index()].steps.push_back(step);
        let spread = self.spread();
        spread.counts[plane.index()] += 1;
        spread.filled[target] = spread.number;
        spread.copies = true;
    }
}

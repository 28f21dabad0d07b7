//! The work of a translation layer that has all planes: its steps become tasks of every plane, some
//! of them behind gates (`ftl::planned::spread`).

use super::Device;
use super::merge::Begins;
use crate::handle::{RequestId, SetId};
use crate::sets::{Set, Stage, Wait};
use flashyard_core::graph::EdgeKind;
use flashyard_core::units::PlaneId;
use std::ops::Range;

impl Device {
    /// Spreads planned steps over the merge queues of their planes; tasks begin behind a search.
    pub(super) fn add_spread_tasks(
        &mut self,
        steps: Range<usize>,
        charge: Option<RequestId>,
        search: Option<SetId>,
    ) {
        for place in steps {
            if self.ftl.begins_segment(place) {
                self.add_segment(charge, search);
            }
            self.ftl.spread_step(place, &self.sets);
        }
        self.add_segment(charge, search);
    }

    /// The steps that were spread last become a task of each plane that has any.
    fn add_segment(&mut self, charge: Option<RequestId>, search: Option<SetId>) {
        let begins = Begins { gate: self.new_gate(charge), search };
        for plane in self.ftl.planes() {
            let count = self.ftl.segment_steps(plane);
            if count > 0 {
                self.add_task(plane, count, charge, begins);
            }
        }
        self.ftl.end_segment();
    }

    /// A gate before the tasks of a segment, where it waits for earlier tasks.
    fn new_gate(&mut self, charge: Option<RequestId>) -> Option<SetId> {
        if self.ftl.segment_waits().is_empty() {
            return None;
        }
        let gate = self.own_set(charge, &Set::VACANT, &[(Stage::Barrier, PlaneId::new(0))]);
        for &source in self.ftl.segment_waits() {
            self.sets.connect(Wait { source, stage: 0, kind: EdgeKind::Gc }, gate, 0);
        }
        self.activate(gate);
        Some(gate)
    }

    /// A gate opens: the tasks behind it to which their planes have come learn what they wait for.
    pub(super) fn gate_opens(&mut self, gate: SetId) {
        for plane in self.ftl.planes() {
            if let Some(task) = self.ftl.behind_gate(plane, gate, &self.sets) {
                self.begin_step(task, plane);
            }
        }
    }
}

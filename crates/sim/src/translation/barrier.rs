//! Requests without a page access: flushes, actions on zones, and trims of no whole unit.

use super::Translation;
use crate::buffer::barrier_stage;
use crate::handle::{RequestId, SetId};
use crate::sets::{Origin, Stage, Wait};
use flashyard_core::graph::EdgeKind;
use flashyard_core::units::PlaneId;

impl Translation<'_> {
    /// Makes the set of such a request: it reads and writes nothing, and waits for others or for
    /// nothing. Returns whether the request is an action on zones.
    pub(crate) fn make_barrier(&mut self, handle: RequestId) -> (SetId, bool) {
        let (flush, order) = (self.host[handle].is_flush(), self.host[handle].order());
        self.host[handle].begin_barrier();
        let acts = self.ftl.zones().is_some_and(|zones| zones.acts(order));
        let stages: &[_] = if flush || acts { &[(Stage::Barrier, PlaneId::new(0))] } else { &[] };
        let origin = Origin { request: handle, order, page: 0 };
        let barrier = self.sets.add_barrier(self.now, origin, stages);
        self.host.charge_until(self.now, handle, self.sets.track_mut(barrier).earlier());
        if flush {
            self.wait_for_changes(barrier);
        }
        (barrier, acts)
    }

    /// A flush waits for the live changes since the flush before it, and for that one. It stands
    /// among the changes itself, so that the next one finds it.
    fn wait_for_changes(&mut self, barrier: SetId) {
        let keeps = self.settings.keeps_writes();
        let mut next = self.sets.newest_change();
        while let Some(change) = next {
            let flush = !self.sets[change].changes();
            let stage = if flush { Some(0) } else { barrier_stage(&self.sets, change, keeps) };
            if let Some(stage) = stage {
                let wait = Wait { source: change, stage, kind: EdgeKind::Flush };
                self.sets.connect(wait, barrier, 0);
            }
            next = self.sets.change_before(change).filter(|_| !flush);
        }
        self.sets.list_change(barrier);
    }
}

//! Requests without a page access: flushes, actions on zones, and trims of no whole unit; what
//! requests to zones change when they are started.

use super::Translation;
use crate::buffer::{barrier_stage, is_any_under_way};
use crate::handle::{RequestId, SetId};
use crate::sets::{Origin, Stage, Wait};
use flashyard_core::graph::EdgeKind;
use flashyard_core::units::{Lpn, PlaneId};
use std::ops::Range;

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
            let stage = if flush { Some(0) } else { barrier_stage(self.sets, change, keeps) };
            if let Some(stage) = stage {
                let wait = Wait { source: change, stage, kind: EdgeKind::Flush };
                self.sets.connect(wait, barrier, 0);
            }
            next = self.sets.change_before(change).filter(|_| !flush);
        }
        self.sets.list_change(barrier);
    }

    /// A request is started on a device with zones.
    pub(crate) fn start_in_zone(&mut self, handle: RequestId) {
        let (request, order) = (*self.host[handle].request(), self.host[handle].order());
        let Some(zones) = self.ftl.zones() else { return };
        let (restated, resets) = zones.start(&request, order);
        if let Some((now, first, pages)) = restated {
            self.host[handle].restate(&now, (first, pages));
            self.account.restated(order, &now, (first, pages));
        }
        for units in resets {
            self.forget_zone(order, &units);
        }
    }

    /// The request of this order resets a zone of which these units were written.
    fn forget_zone(&mut self, order: u64, units: &Range<Lpn>) {
        let (number, checked) = (self.sets.take_number(), self.account.is_checked());
        self.sets.supersede_all(units);
        self.ftl.forget_units(units);
        for lpn in (units.start.get()..units.end.get()).map(Lpn::new) {
            if checked {
                self.account.trimmed(order, lpn, number);
            }
            self.drop_buffered(lpn, number);
        }
    }

    /// Whether an action on zones may begin: no program of what was written to them before is under
    /// way or, of a finish, all of it is in the buffer or on its way to flash. Returns the groups
    /// of lines that have to be flushed then, for each unit of them; none where it waits.
    pub(crate) fn flushes_of_act(&mut self, handle: RequestId) -> Option<Vec<u32>> {
        let (order, now) = (self.host[handle].order(), self.now);
        let zones = self.ftl.zones().expect("there are zones");
        let Some((units, finishes, waits)) = zones.settles(order) else { return Some(Vec::new()) };
        let waits = waits || is_any_under_way(self.sets, &units, finishes);
        if self.host[handle].await_flush(waits, now) {
            return None;
        }
        Some(if finishes { self.groups_of_dirty(&units) } else { Vec::new() })
    }

    /// The groups of the dirty lines of some units, one for each line.
    fn groups_of_dirty(&self, units: &Range<Lpn>) -> Vec<u32> {
        let contents = self.buffer.iter().flat_map(|buffer| buffer.contents());
        let dirty = contents.take_while(|(.., dirty, _)| *dirty).map(|(lpn, ..)| lpn);
        dirty.filter(|lpn| units.contains(lpn)).map(|lpn| self.group_of(lpn, 0)).collect()
    }
}

//! Requests to zones when they are started, and when actions on zones may begin.

use super::Translation;
use crate::buffer::is_any_under_way;
use crate::handle::RequestId;
use flashyard_core::units::Lpn;
use std::ops::Range;

impl Translation<'_> {
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
        if waits || is_any_under_way(self.sets, &units, finishes) {
            self.host[handle].begin_flush_wait(now);
            return None;
        }
        self.host[handle].end_flush_wait(now);
        Some(if finishes { self.groups_of_dirty(&units) } else { Vec::new() })
    }

    /// The groups of the dirty lines of some units, one for each line.
    fn groups_of_dirty(&self, units: &Range<Lpn>) -> Vec<u32> {
        let contents = self.buffer.iter().flat_map(|buffer| buffer.contents());
        let dirty = contents.take_while(|(.., dirty, _)| *dirty).map(|(lpn, ..)| lpn);
        dirty.filter(|lpn| units.contains(lpn)).map(|lpn| self.group_of(lpn, 0)).collect()
    }
}

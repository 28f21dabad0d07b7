//! What other rooms hold when a run is over: the checker looks at it, and the report has it.

use super::{Teller, ftl_figures};
use crate::account::EndState;
use crate::buffer::Buffer;
use crate::initial;
use crate::parts::memory::Footprint;
use crate::report::{BusReport, Wear};

impl Teller<'_> {
    /// The checker, if there is one, looks at all that the device holds.
    pub(crate) fn end_check(&mut self) {
        let Some(checker) = self.ledger.account.take_checker() else { return };
        let map = self.ftl.map();
        map.audit();
        checker.finish(|lpn| map.lookup(lpn), |units| map.are_unmapped(units));
        if let Some(is_dirty) = self.ftl.dirty_entries() {
            checker.finish_map(is_dirty);
        }
    }

    /// What the report has of other rooms.
    pub(crate) fn end_state(&self) -> EndState {
        let (settings, ftl) = (self.settings, self.ftl);
        let lines = self.buffer.map(Buffer::lines);
        let bus_report =
            |[status_requests, busy_answers]: [u64; 2]| BusReport { status_requests, busy_answers };
        EndState {
            ftl: ftl_figures(ftl),
            wear: Wear::of_device(ftl.blocks(), settings),
            footprint: Footprint::of(settings),
            cleaned: ftl.batch_cleaned(),
            buffer_units: lines.map_or(0, |lines| lines.units().into()),
            dirty_units: lines.map_or(0, |lines| lines.dirty().into()),
            initial: settings.keys.state.initial.word(),
            effective_over_provisioning: ftl
                .is_page_map()
                .then(|| initial::effective_over_provisioning(settings)),
            bus: self.ledger.flash.status_requests().map(bus_report),
            slc: settings.slc.map(|_| ftl.blocks().cached_data()),
            energy: None,
            zones: ftl
                .seen_zones()
                .map(|zones| zones.zones_report(settings.geometry.unit_bytes().into())),
        }
    }
}

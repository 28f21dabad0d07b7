//! Requests to zones when they are started.

use super::Translation;
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
}

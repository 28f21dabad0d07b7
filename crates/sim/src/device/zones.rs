//! Requests to zones when they are started, and actions on whole zones.

use super::Device;
use crate::buffer::is_any_under_way;
use crate::ftl::Zoned;
use crate::handle::{RequestId, SetId};
use crate::observe::FlushTrigger;
use crate::zones::ZoneReport;
use flashyard_core::units::Lpn;
use std::ops::Range;

impl Device {
    /// The zones, where there are any.
    pub(crate) fn zones(&mut self) -> Option<&mut Zoned> {
        self.ftl.zones()
    }

    /// A zone by its number.
    pub(crate) fn zone(&self, zone: u32) -> Option<ZoneReport> {
        self.ftl.seen_zones()?.report(zone)
    }

    /// A request is started on a device with zones.
    #[cold]
    pub(super) fn start_in_zone(&mut self, handle: RequestId) {
        self.translation().start_in_zone(handle);
    }

    /// Whether a request is an action on zones that has not begun.
    pub(super) fn acts_on_zone(&mut self, handle: RequestId) -> bool {
        let order = self.host[handle].order();
        self.ftl.zones().is_some_and(|zones| zones.acts(order))
    }

    /// Whether an action on zones may begin: no program of what was written to them before is under
    /// way or, of a finish, all of it is in the buffer or on its way to flash.
    pub(super) fn may_act_on_zone(&mut self, handle: RequestId) -> bool {
        let (order, now) = (self.host[handle].order(), self.now);
        let zones = self.ftl.zones().expect("there are zones");
        let Some((units, finishes, waits)) = zones.settles(order) else { return true };
        let waits = waits || is_any_under_way(&self.sets, &units, finishes);
        if finishes && !waits {
            self.flush_zone(&units);
        }
        let request = &mut self.host[handle];
        if waits {
            request.begin_flush_wait(now);
        } else {
            request.end_flush_wait(now);
        }
        !waits
    }

    /// Begins to flush all that the buffer holds of a zone.
    fn flush_zone(&mut self, units: &Range<Lpn>) {
        if self.buffer.is_none() {
            return;
        }
        let contents = self.write_buffer().contents();
        let dirty = contents.take_while(|(.., dirty, _)| *dirty).map(|(lpn, ..)| lpn);
        let dirty: Vec<Lpn> = dirty.filter(|lpn| units.contains(lpn)).collect();
        for lpn in dirty {
            let group = self.translation().group_of(lpn, 0);
            self.flush_lines(None, group, None, FlushTrigger::Asked);
        }
    }

    /// An action on zones begins.
    pub(super) fn act_on_zone(&mut self, set: SetId, handle: RequestId) {
        let charge = self.host.charge_of(Some(handle));
        self.let_ftl(|ftl, lent| ftl.act(set, charge, lent));
    }
}

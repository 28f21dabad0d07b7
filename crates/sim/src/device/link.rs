//! The link to the host: where the data of each page access crosses it by itself, and its energy.

use super::Device;
use crate::config::Transfer;
use crate::handle::{RequestId, SetId};
use crate::host::Carried;
use crate::sets::Mode;

impl Device {
    /// The data of a page access crosses the link from now on. Returns whether that takes time;
    /// a timer then says when it has.
    pub(super) fn crosses_link(&mut self, set: SetId) -> bool {
        self.ledger().enter(set, Mode::Linking);
        let back = !self.sets[set].changes();
        let takes = self.host.carry_page(set, back, self.sectors_to_carry(set), self.now);
        self.link_carries(self.sets[set].owner());
        takes
    }

    /// Sectors that cross the link for a page access.
    fn sectors_to_carry(&self, set: SetId) -> u32 {
        let state = &self.sets[set];
        if self.settings.keys.interface.transfer == Transfer::Page {
            return self.settings.geometry.unit_sectors();
        }
        let asked = self.settings.covered(self.host[state.owner()].request(), state.lpn());
        u32::try_from(asked.end.saturating_sub(asked.start)).expect("at most those of a unit")
    }

    /// Counts what the link has begun to carry for a request, where that takes energy.
    #[inline]
    pub(super) fn link_carries(&mut self, handle: RequestId) {
        if let Some(Carried { back, bytes, from, until }) = self.host.take_carried() {
            self.account.carried(self.host[handle].order(), bytes);
            self.account.link_carries(self.now, handle, (back, bytes), (from, until));
        }
    }
}

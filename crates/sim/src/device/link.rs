//! The link to the host: where the data of each page access crosses it by itself, and its energy.

use super::Device;
use crate::handle::{RequestId, SetId};
use crate::host::Carried;
use crate::sets::Mode;

impl Device {
    /// The data of a page access crosses the link from now on. Returns whether that takes time;
    /// a timer then says when it has.
    pub(super) fn crosses_link(&mut self, set: SetId) -> bool {
        self.ledger().enter(set, Mode::Linking);
        let (state, handle) = (&self.sets[set], self.sets[set].owner());
        let sectors = self.settings.sectors_to_carry(self.host[handle].request(), state.lpn());
        let takes = self.host.carry_page(set, !state.changes(), sectors, self.now);
        self.link_carries(handle);
        takes
    }

    /// Counts what the link has begun to carry for a request, where that takes energy.
    #[inline]
    pub(super) fn link_carries(&mut self, handle: RequestId) {
        if let Some(Carried { back, bytes, from, until }) = self.host.take_carried() {
            let request = (handle, self.host[handle].order());
            self.account.link_carries(self.now, request, (back, bytes), (from, until));
        }
    }
}

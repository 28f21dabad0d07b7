//! Units put straight into the map, for devices that start with a history.

use super::PageMap;
use flashyard_core::units::{Lpn, Ppn};

impl PageMap {
    /// A logical unit that was never written is at this place, of whose valid units its block knows
    /// already.
    #[inline]
    pub(crate) fn lay(&mut self, lpn: Lpn, ppn: Ppn) {
        self.l2p[lpn.index()] = ppn.get() + 1;
        self.p2l[ppn.index()] = lpn.get();
        self.valid[ppn.index() / 64] |= 1 << (ppn.index() % 64);
        self.lay_sectors(lpn);
    }

    /// All sectors of a logical unit have been written.
    #[inline]
    pub(crate) fn lay_sectors(&mut self, lpn: Lpn) {
        if !self.sectors.is_empty() {
            self.cover(lpn, 0..self.unit_sectors);
        }
    }
}

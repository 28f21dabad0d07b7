//! Blocks whose pages are chosen by a translation layer: it keeps the free list, here they are
//! counted.

use super::Blocks;
use flashyard_core::units::BlockId;

impl Blocks {
    /// The first page of an erased block has been programmed.
    pub fn use_planned(&mut self, block: BlockId) {
        let plane = self.geometry.plane_of_block(block);
        self.pools[plane.index()].free_blocks -= 1;
    }

    /// A block without valid units has been erased; `used` is whether any page was programmed.
    pub fn erased_planned(&mut self, block: BlockId, used: bool) {
        self.count_erase(block);
        let plane = self.geometry.plane_of_block(block);
        self.pools[plane.index()].free_blocks += u32::from(used);
    }
}

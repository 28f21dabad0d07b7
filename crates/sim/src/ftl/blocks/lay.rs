//! Blocks put straight into a state, for devices that start with a history. Pools must be fresh.

use super::{Blocks, Frontier, OpenBlock};
use flashyard_core::units::{BlockId, PlaneId};

impl Blocks {
    /// A block has been filled, later than all others so far, and holds this many valid units.
    pub(crate) fn lay_full(&mut self, block: BlockId, frontier: Frontier, valid: u32) {
        self.lay_valid(block, frontier, valid);
        self.fill(block);
    }

    /// A block is open, and its first `valid` units are all that was written.
    pub(crate) fn lay_open(&mut self, block: BlockId, frontier: Frontier, valid: u32) {
        let plane = self.geometry.plane_of_block(block);
        let slot = self.slot(plane, frontier);
        self.lay_valid(block, frontier, valid);
        self.open[slot] = OpenBlock { block: block.get() + 1, next: valid };
    }

    /// A block was filled and is the victim of a job that has begun; it holds this many valid units.
    pub(crate) fn lay_begun(&mut self, block: BlockId, frontier: Frontier, valid: u32) {
        self.lay_valid(block, frontier, valid);
        self.set_aside(block);
    }

    fn lay_valid(&mut self, block: BlockId, frontier: Frontier, valid: u32) {
        self.tags[block.index()] = self.frontiers.slot(frontier).to_le_bytes()[0];
        self.valid[block.index()] = valid;
        self.pools[self.geometry.plane_of_block(block).index()].valid += valid;
    }

    /// The first `used` good blocks of a plane, the last of which is `last`, are in use, the others
    /// free.
    pub(crate) fn lay_used(&mut self, plane: PlaneId, used: u32, last: BlockId) {
        let good = self.geometry.blocks_per_plane - self.care.factory_bad;
        let first = self.geometry.first_block(plane).get();
        let pool = &mut self.pools[plane.index()];
        pool.next_fresh = last.get() - first + 1;
        pool.free_blocks = good - used;
    }
}

//! Blocks put straight into a state, for devices that start with a history. Pools must be fresh.

use super::{Blocks, Frontier, OpenBlock};
use flashyard_core::units::{BlockId, PlaneId, Ppn};

impl Blocks {
    /// A block has been filled, later than all others so far, and holds this many valid units.
    pub(crate) fn lay_full(&mut self, block: BlockId, frontier: Frontier, valid: u32) {
        self.lay_valid(block, frontier, valid);
        self.lay_closed(block);
        self.fill(block);
    }

    /// A block is open, and its first `valid` units are all that was written.
    pub(crate) fn lay_open(&mut self, block: BlockId, frontier: Frontier, valid: u32) {
        self.lay_valid(block, frontier, valid);
        if self.are_united() {
            return self.lay_open_united(block, frontier, valid);
        }
        let plane = self.geometry.plane_of_block(block);
        let slot = self.slot(plane, frontier);
        self.open[slot] = OpenBlock { block: block.get() + 1, next: valid };
    }

    /// A block was filled and is the victim of a job that has begun; it holds this many valid
    /// units.
    pub(crate) fn lay_begun(&mut self, block: BlockId, frontier: Frontier, valid: u32) {
        self.lay_valid(block, frontier, valid);
        self.lay_closed(block);
        self.set_aside(block);
    }

    fn lay_valid(&mut self, block: BlockId, frontier: Frontier, valid: u32) {
        self.tags[block.index()] = self.frontiers.slot(frontier);
        self.valid[block.index()] = valid;
        self.pools[self.geometry.plane_of_block(block).index()].valid += valid;
    }

    /// The first `used` good blocks of a plane, the last of which is `last`, are in use, the others
    /// free.
    pub(crate) fn lay_used(&mut self, plane: PlaneId, used: u32, last: BlockId) {
        let aside = self.care.slc.map_or(0, |cache| cache.static_blocks);
        let good = self.geometry.blocks_per_plane - self.care.factory_bad - aside;
        let first = self.geometry.first_block(plane).get();
        let pool = &mut self.pools[plane.index()];
        pool.next_fresh = last.get() - first + 1;
        pool.free_blocks = good - used;
    }

    /// The next unit of the open block of a frontier, and how many units it takes before its last
    /// one; `None` where no block is open.
    pub(crate) fn open_units(&self, plane: PlaneId, frontier: Frontier) -> Option<(Ppn, u32)> {
        let open = self.open[self.slot(plane, frontier)];
        let block = open.block.checked_sub(1).map(BlockId::new)?;
        let room = self.geometry.units_per_block() - 1 - open.next;
        Some((self.geometry.unit_of(block, open.next), room))
    }

    /// So many units of the open block of a frontier have been written.
    pub(crate) fn lay_taken(&mut self, plane: PlaneId, frontier: Frontier, count: usize) {
        let slot = self.slot(plane, frontier);
        self.open[slot].next += u32::try_from(count).expect("units of a block have 32 bits");
    }

    /// So many units of the open block of a frontier have been written, all of them valid and none
    /// of a logical unit that was written before.
    pub(crate) fn lay_first(&mut self, plane: PlaneId, frontier: Frontier, count: u32) {
        let slot = self.slot(plane, frontier);
        let open = &mut self.open[slot];
        if let Some(block) = open.block.checked_sub(1) {
            open.next += count;
            self.valid[block as usize] += count;
            let pool = &mut self.pools[plane.index()];
            pool.valid += count;
            pool.clock += u64::from(count);
        }
    }

    /// So many valid units of a claimed block have been copied to the open block of a frontier.
    pub(crate) fn lay_copies(
        &mut self,
        plane: PlaneId,
        victim: BlockId,
        frontier: Frontier,
        count: u32,
    ) {
        let slot = self.slot(plane, frontier);
        let open = &mut self.open[slot];
        open.next += count;
        self.valid[open.block as usize - 1] += count;
        self.valid[victim.index()] -= count;
        self.pools[plane.index()].clock += u64::from(count);
    }
}

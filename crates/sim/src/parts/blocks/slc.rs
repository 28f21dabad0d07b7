//! Blocks that are used with one bit a cell: those that are set aside for that, and free ones.
//!
//! Such a block has fewer units: its first ones. It is in no list of other blocks: a block that is
//! set aside is free here or full here, and a block that was free is full here until it is folded
//! and erased, and then it is free like any other.

use super::Blocks;
use super::cells::CacheBlocks;
use flashyard_core::units::{BlockId, PlaneId, Ppn};

impl Blocks {
    /// Sets the last good blocks of each plane aside.
    pub(super) fn set_cells_aside(&mut self) {
        let Some(cells) = &mut self.cells else { return };
        let planes = (0..).map(PlaneId::new).zip(&mut self.pools);
        for ((plane, pool), own) in planes.zip(&mut cells.pools) {
            let first = self.geometry.first_block(plane).get();
            let blocks = (first..first + self.geometry.blocks_per_plane).rev();
            let good = blocks.filter(|block| !self.bad[*block as usize]);
            for block in good.take(cells.cache.static_blocks as usize) {
                (cells.slc[block as usize], cells.aside[block as usize]) = (true, true);
                self.links.push(block, own.free.each_mut());
                own.free_blocks += 1;
                pool.free_blocks -= 1;
            }
        }
    }

    /// Whether a block is used with one bit a cell.
    #[inline]
    pub fn is_slc(&self, block: BlockId) -> bool {
        self.cells.as_ref().is_some_and(|cells| cells.is_slc(block))
    }

    /// Units that a block has as it is used.
    pub fn units_of(&self, block: BlockId) -> u32 {
        match &self.cells {
            Some(cells) if cells.is_slc(block) => cells.cache.block_units,
            _ => self.geometry.units_per_block(),
        }
    }

    /// Units that one program of a block writes.
    #[inline]
    pub fn program_units_of(&self, block: BlockId) -> u32 {
        match &self.cells {
            Some(cells) if cells.is_slc(block) => cells.cache.program_units,
            _ => self.geometry.program_units(),
        }
    }

    /// What the cache of a plane holds; nothing without one.
    pub fn cache_of(&self, plane: PlaneId) -> CacheBlocks {
        let Some(cells) = &self.cells else { return CacheBlocks::default() };
        let pool = &cells.pools[plane.index()];
        CacheBlocks { free: pool.free_blocks, full: pool.full_blocks, used: pool.used }
    }

    /// Whether a block of the cache of a plane is full, or being folded.
    pub fn has_folds(&self, plane: PlaneId) -> bool {
        let Some(cells) = &self.cells else { return false };
        let pool = &cells.pools[plane.index()];
        pool.full_blocks != [0; 2] || pool.folding > 0
    }

    /// Whether the cache of a plane may take another block.
    pub fn may_cache(&self, plane: PlaneId) -> bool {
        let Some(cells) = &self.cells else { return false };
        cells.pools[plane.index()].free_blocks > 0 || self.may_cache_free(plane)
    }

    /// Whether the cache of a plane may take one of its free blocks.
    fn may_cache_free(&self, plane: PlaneId) -> bool {
        let Some(cells) = &self.cells else { return false };
        let (used, free) = (cells.pools[plane.index()].used, self.free_blocks(plane));
        let most = cells.cache.most_dynamic(free + used);
        used < most && free > cells.cache.kept
    }

    /// Takes a block for the cache of a plane: one that is set aside or, if none is free, a free
    /// block of the plane.
    pub(super) fn take_cached(&mut self, plane: PlaneId) -> Option<BlockId> {
        let may = self.may_cache_free(plane);
        let cells = self.cells.as_mut()?;
        let pool = &mut cells.pools[plane.index()];
        if let Some(block) = pool.free[0].checked_sub(1) {
            self.links.remove(block, pool.free.each_mut());
            pool.free_blocks -= 1;
            return Some(BlockId::new(block));
        }
        if !may {
            return None;
        }
        pool.used += 1;
        let block = self.take_free(plane)?;
        self.cells.as_mut()?.slc[block.index()] = true;
        Some(block)
    }

    /// Whether a block of the cache is full: no program of it is under way or can begin.
    pub(super) fn is_filled_cached(&self, block: BlockId) -> bool {
        self.cells.as_ref().is_some_and(|cells| cells.filled[block.index()])
    }

    /// A program unit of the cache that holds `ppn` has been programmed.
    pub(super) fn programmed_cached(&mut self, ppn: Ppn) {
        let block = self.geometry.block_of(ppn);
        let last = self.geometry.unit_in_block(ppn) + self.program_units_of(block);
        if last >= self.units_of(block) && !self.is_filled_cached(block) {
            self.fill_cached(block);
        }
    }

    /// The last program of a block of the cache is over.
    fn fill_cached(&mut self, block: BlockId) {
        let plane = self.geometry.plane_of_block(block);
        let cells = self.cells.as_mut().expect("a block of the cache");
        cells.filled[block.index()] = true;
        let kind = usize::from(cells.aside[block.index()]);
        let pool = &mut cells.pools[plane.index()];
        self.links.push(block.get(), pool.full[kind].each_mut());
        pool.full_blocks[kind] += 1;
    }

    /// The block of the cache of a plane that was filled first: of those that were free blocks or,
    /// unless `frees`, of those set aside.
    pub fn next_fold(&self, plane: PlaneId, frees: bool) -> Option<BlockId> {
        let full = &self.cells.as_ref()?.pools[plane.index()].full;
        let kinds = if frees { &full[..1] } else { &full[..] };
        kinds.iter().find_map(|[first, _]| first.checked_sub(1)).map(BlockId::new)
    }

    /// Whether the erase of a block of the cache gives its plane a free block.
    pub fn fold_frees(&self, block: BlockId) -> bool {
        self.cells.as_ref().is_some_and(|cells| !cells.is_aside(block))
    }

    /// Takes a full block out of the cache to be folded; it is erased when it has been.
    pub fn claim_fold(&mut self, block: BlockId) {
        let plane = self.geometry.plane_of_block(block);
        let cells = self.cells.as_mut().expect("a block of the cache");
        let kind = usize::from(cells.aside[block.index()]);
        let pool = &mut cells.pools[plane.index()];
        self.links.remove(block.get(), pool.full[kind].each_mut());
        pool.full_blocks[kind] -= 1;
        pool.folding += 1;
    }

    /// Gives up a block that is being folded in its present state. It is the next one of its kind.
    pub(super) fn give_up_fold(&mut self, block: BlockId) {
        let plane = self.geometry.plane_of_block(block);
        let cells = self.cells.as_mut().expect("a block of the cache");
        let kind = usize::from(cells.aside[block.index()]);
        let pool = &mut cells.pools[plane.index()];
        let later = pool.full_blocks[kind];
        self.links.push(block.get(), pool.full[kind].each_mut());
        for _ in 0..later {
            let first = pool.full[kind][0] - 1;
            self.links.remove(first, pool.full[kind].each_mut());
            self.links.push(first, pool.full[kind].each_mut());
        }
        pool.full_blocks[kind] += 1;
        pool.folding -= 1;
    }

    /// A block of the cache has been folded and erased. Returns whether it was set aside: then it
    /// is free here again, unless it is `worn` out.
    pub(super) fn erased_cached(&mut self, block: BlockId, worn: bool) -> bool {
        let plane = self.geometry.plane_of_block(block);
        let Some(cells) = self.cells.as_mut().filter(|cells| cells.is_slc(block)) else {
            return false;
        };
        cells.filled[block.index()] = false;
        let aside = cells.aside[block.index()];
        let pool = &mut cells.pools[plane.index()];
        pool.folding -= 1;
        if !aside {
            pool.used -= 1;
        } else if !worn {
            self.links.push(block.get(), pool.free.each_mut());
            pool.free_blocks += 1;
        }
        aside
    }

    /// Blocks of the device that are used with one bit a cell and hold data, and their valid units.
    pub fn cached_data(&self) -> (u64, u64) {
        let Some(cells) = &self.cells else { return (0, 0) };
        let used = cells.slc.iter().zip(&self.valid).filter(|(slc, valid)| **slc && **valid > 0);
        used.fold((0, 0), |(blocks, units), (_, valid)| (blocks + 1, units + u64::from(*valid)))
    }
}

//! Blocks of the flash array: pools, open blocks (frontiers), valid counts, garbage collection
//! victims.
//!
//! Every vector starts as zeros that the operating system maps on first use, so a fresh device of
//! any size costs no time. Block numbers are stored plus one where 0 has to mean none.

use crate::config::FRONTIERS;
use flashyard_core::geometry::Geometry;
use flashyard_core::units::{BlockId, DieId, Ppn};

/// Who fills an open block. A block holds pages of one kind, data or map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frontier {
    /// Host writes.
    HostData,
    /// Map pages written back from the cache, or rewritten because their data moved.
    HostMap,
    /// Data copied by garbage collection.
    GcData,
    /// Map pages copied by garbage collection.
    GcMap,
}

impl Frontier {
    /// Whether it writes map pages.
    pub const fn holds_map(self) -> bool {
        matches!(self, Self::HostMap | Self::GcMap)
    }

    /// The frontier that garbage collection copies a block of this kind to.
    pub const fn for_copy(holds_map: bool) -> Self {
        if holds_map { Self::GcMap } else { Self::GcData }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct OpenBlock {
    /// Block + 1; 0 for none.
    block: u32,
    /// The next page to program.
    next: u32,
}

#[derive(Clone, Debug)]
struct DiePool {
    /// Blocks that were never used start here.
    next_fresh: u32,
    /// Oldest and newest erased block, + 1.
    free_head: u32,
    free_tail: u32,
    free_blocks: u32,
    open: [OpenBlock; FRONTIERS],
    /// No full block has fewer valid pages.
    least_valid: u32,
}

/// State of every block.
#[derive(Debug)]
pub struct Blocks {
    geometry: Geometry,
    dies: Vec<DiePool>,
    valid: Vec<u32>,
    erases: Vec<u32>,
    holds_map: Vec<bool>,
    /// Links of the free list, or of the bucket of full blocks with equal valid counts.
    next: Vec<u32>,
    prev: Vec<u32>,
    full: Vec<bool>,
    /// Oldest and newest full block + 1, by die and valid count.
    bucket_head: Vec<u32>,
    bucket_tail: Vec<u32>,
}

crate::saved::saved!(OpenBlock { block, next });
crate::saved::saved!(DiePool { next_fresh, free_head, free_tail, free_blocks, open, least_valid });
crate::saved::saved!(Blocks {
    dies, valid, erases, holds_map, next, prev, full, bucket_head, bucket_tail,
} skip { geometry });

impl Blocks {
    /// All blocks erased and free.
    pub fn new(geometry: Geometry) -> Self {
        let blocks = geometry.blocks() as usize;
        let buckets = geometry.dies() as usize * (geometry.pages_per_block as usize + 1);
        let pool = DiePool {
            next_fresh: 0,
            free_head: 0,
            free_tail: 0,
            free_blocks: geometry.blocks_per_die,
            open: [OpenBlock::default(); FRONTIERS],
            least_valid: 0,
        };
        Self {
            geometry,
            dies: vec![pool; geometry.dies() as usize],
            valid: vec![0; blocks],
            erases: vec![0; blocks],
            holds_map: vec![false; blocks],
            next: vec![0; blocks],
            prev: vec![0; blocks],
            full: vec![false; blocks],
            bucket_head: vec![0; buckets],
            bucket_tail: vec![0; buckets],
        }
    }

    /// Free blocks of a die.
    pub fn free_blocks(&self, die: DieId) -> u32 {
        self.dies[die.index()].free_blocks
    }

    /// Valid pages of a block.
    pub fn valid_pages(&self, block: BlockId) -> u32 {
        self.valid[block.index()]
    }

    /// Whether a block holds map pages.
    pub fn holds_map(&self, block: BlockId) -> bool {
        self.holds_map[block.index()]
    }

    /// Pages of a block that have been programmed, while nothing is under way.
    pub fn written_pages(&self, block: BlockId) -> u32 {
        if self.full[block.index()] {
            return self.geometry.pages_per_block;
        }
        let pool = &self.dies[self.geometry.die_of_block(block).index()];
        pool.open.iter().find(|open| open.block == block.get() + 1).map_or(0, |open| open.next)
    }

    /// How often each block has been erased.
    pub fn erase_counts(&self) -> &[u32] {
        &self.erases
    }

    /// Whether a frontier can program a page without a new block.
    pub fn has_open_page(&self, die: DieId, frontier: Frontier) -> bool {
        self.dies[die.index()].open[frontier as usize].block != 0
    }

    /// Takes the next page of a frontier, opening a free block where none is open. Returns the page
    /// and whether a block was opened; `None` where the die has no free block.
    pub fn take_page(&mut self, die: DieId, frontier: Frontier) -> Option<(Ppn, bool)> {
        let mut open = self.dies[die.index()].open[frontier as usize];
        let opened = open.block == 0;
        if opened {
            let block = self.take_free(die)?;
            self.holds_map[block.index()] = frontier.holds_map();
            open = OpenBlock { block: block.get() + 1, next: 0 };
        }
        let page = self.geometry.page_of(BlockId::new(open.block - 1), open.next);
        open.next += 1;
        if open.next == self.geometry.pages_per_block {
            open = OpenBlock::default();
        }
        self.dies[die.index()].open[frontier as usize] = open;
        Some((page, opened))
    }

    /// A page has been programmed: its block becomes a possible victim with its last page.
    pub fn programmed(&mut self, ppn: Ppn) {
        if self.geometry.page_in_block(ppn) + 1 == self.geometry.pages_per_block {
            let block = self.geometry.block_of(ppn);
            self.full[block.index()] = true;
            self.link(block);
        }
    }

    /// A page holds the newest contents of a logical page or map page.
    pub fn validate(&mut self, ppn: Ppn) {
        self.change_valid(self.geometry.block_of(ppn), 1);
    }

    /// A page no longer does.
    pub fn invalidate(&mut self, ppn: Ppn) {
        self.change_valid(self.geometry.block_of(ppn), -1);
    }

    /// The full block of a die with the fewest valid pages, the one filled earliest among equals;
    /// `None` where no full block has an invalid page.
    pub fn victim(&mut self, die: DieId) -> Option<BlockId> {
        let pages = self.geometry.pages_per_block;
        let mut valid = self.dies[die.index()].least_valid;
        while valid < pages && self.bucket_head[self.bucket(die, valid)] == 0 {
            valid += 1;
        }
        self.dies[die.index()].least_valid = valid;
        (valid < pages).then(|| BlockId::new(self.bucket_head[self.bucket(die, valid)] - 1))
    }

    /// Takes a victim out of the candidates; it stays full until it is erased.
    pub fn claim(&mut self, block: BlockId) {
        assert!(self.full[block.index()], "{block:?} is not full");
        self.unlink(block);
        self.full[block.index()] = false;
    }

    /// A claimed block has been erased: it goes to the end of the free list.
    pub fn erased(&mut self, block: BlockId) {
        assert_eq!(self.valid[block.index()], 0, "{block:?} was erased with valid pages");
        self.erases[block.index()] += 1;
        self.next[block.index()] = 0;
        let pool = &mut self.dies[self.geometry.die_of_block(block).index()];
        match pool.free_tail {
            0 => pool.free_head = block.get() + 1,
            tail => self.next[tail as usize - 1] = block.get() + 1,
        }
        pool.free_tail = block.get() + 1;
        pool.free_blocks += 1;
    }

    fn take_free(&mut self, die: DieId) -> Option<BlockId> {
        let first = self.geometry.first_block(die);
        let pool = &mut self.dies[die.index()];
        pool.free_blocks = pool.free_blocks.checked_sub(1)?;
        if pool.next_fresh < self.geometry.blocks_per_die {
            pool.next_fresh += 1;
            return Some(BlockId::new(first.get() + pool.next_fresh - 1));
        }
        let block = BlockId::new(pool.free_head - 1);
        pool.free_head = self.next[block.index()];
        if pool.free_head == 0 {
            pool.free_tail = 0;
        }
        Some(block)
    }

    fn change_valid(&mut self, block: BlockId, change: i32) {
        let index = block.index();
        let count = self.valid[index].checked_add_signed(change);
        let count = count.expect("a block has no fewer than 0 valid pages");
        let listed = self.full[index];
        if listed {
            self.unlink(block);
        }
        self.valid[index] = count;
        if listed {
            self.link(block);
        }
    }

    fn bucket(&self, die: DieId, valid: u32) -> usize {
        die.index() * (self.geometry.pages_per_block as usize + 1) + valid as usize
    }

    fn link(&mut self, block: BlockId) {
        let die = self.geometry.die_of_block(block);
        let valid = self.valid[block.index()];
        let bucket = self.bucket(die, valid);
        let name = block.get() + 1;
        let tail = std::mem::replace(&mut self.bucket_tail[bucket], name);
        self.prev[block.index()] = tail;
        self.next[block.index()] = 0;
        match tail {
            0 => self.bucket_head[bucket] = name,
            tail => self.next[tail as usize - 1] = name,
        }
        let pool = &mut self.dies[die.index()];
        pool.least_valid = pool.least_valid.min(valid);
    }

    fn unlink(&mut self, block: BlockId) {
        let bucket = self.bucket(self.geometry.die_of_block(block), self.valid[block.index()]);
        let (prev, next) = (self.prev[block.index()], self.next[block.index()]);
        match prev {
            0 => self.bucket_head[bucket] = next,
            prev => self.next[prev as usize - 1] = next,
        }
        match next {
            0 => self.bucket_tail[bucket] = prev,
            next => self.prev[next as usize - 1] = prev,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn geometry() -> Geometry {
        Geometry { channels: 1, ways: 1, blocks_per_die: 8, pages_per_block: 4, page_bytes: 4096 }
    }

    /// Buckets against a full scan, under random programs, invalidations and erases.
    #[test]
    fn the_greedy_victim_has_the_fewest_valid_pages() {
        let geometry = geometry();
        let die = DieId::new(0);
        let mut blocks = Blocks::new(geometry);
        let mut valid: Vec<Ppn> = Vec::new();
        let mut full: Vec<BlockId> = Vec::new();
        let mut random = 7u64;
        let mut victims = 0;
        for _ in 0..10_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let roll = usize::try_from(random >> 40).unwrap();
            if roll % 2 == 0 && valid.len() < 20 && blocks.free_blocks(die) > 1 {
                let (ppn, _) = blocks.take_page(die, Frontier::HostData).unwrap();
                blocks.programmed(ppn);
                blocks.validate(ppn);
                valid.push(ppn);
                if geometry.page_in_block(ppn) == 3 {
                    full.push(geometry.block_of(ppn));
                }
            } else if !valid.is_empty() {
                blocks.invalidate(valid.swap_remove(roll / 2 % valid.len()));
            }
            let fewest = full.iter().map(|&block| blocks.valid_pages(block)).min();
            let victim = blocks.victim(die);
            match victim {
                Some(victim) => assert_eq!(Some(blocks.valid_pages(victim)), fewest),
                None => assert!(fewest.is_none_or(|fewest| fewest == 4)),
            }
            if let Some(victim) = victim.filter(|&victim| blocks.valid_pages(victim) == 0) {
                blocks.claim(victim);
                blocks.erased(victim);
                full.retain(|&block| block != victim);
                victims += 1;
            }
        }
        assert!(victims > 100, "{victims}");
    }

    #[test]
    fn free_blocks_are_used_fresh_ones_first_then_in_the_order_of_erase() {
        let die = DieId::new(0);
        let mut blocks = Blocks::new(geometry());
        for page in 0..8 {
            let (ppn, opened) = blocks.take_page(die, Frontier::HostMap).unwrap();
            assert_eq!((ppn.get(), opened), (page, page % 4 == 0));
            blocks.programmed(ppn);
        }
        assert!(blocks.holds_map(BlockId::new(0)));
        for block in [1, 0] {
            blocks.claim(BlockId::new(block));
            blocks.erased(BlockId::new(block));
        }
        let next: Vec<u32> = (0..32)
            .map(|_| blocks.take_page(die, Frontier::HostData).unwrap().0.get() / 4)
            .collect();
        assert_eq!(
            next[..24].chunks(4).map(|block| block[0]).collect::<Vec<_>>(),
            [2, 3, 4, 5, 6, 7]
        );
        assert_eq!((next[24], next[28]), (1, 0));
        assert!(blocks.take_page(die, Frontier::HostData).is_none());
    }
}

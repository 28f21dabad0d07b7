//! Erases: free lists, wear levelling, bad blocks.

use super::members::factory_bad;
use super::{Blocks, SlcCache};
use crate::parts::victim::{AnyVictim, Rule};
use crate::random::mix;
use flashyard_core::units::{BlockId, PlaneId};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Blocks of a plane, the least erased first, then the one filled first: erases, when it was
/// filled, which one.
pub(super) type Heap = BinaryHeap<Reverse<(u32, u64, u32)>>;

/// How blocks are chosen and cared for.
#[derive(Clone, Debug)]
pub struct Care {
    /// The rule for victims.
    pub rule: Rule,
    /// Whether the least erased free block is taken, not the one erased first.
    pub dynamic: bool,
    /// How many erases a full block may lag behind the most erased block of its plane; 0: any.
    pub static_gap: u32,
    /// Blocks of each plane that are bad from the start.
    pub factory_bad: u32,
    /// Erases after which a block is worn out, about; 0: none ever is.
    pub endurance: u32,
    /// Whether superblocks are kept in place of blocks.
    pub united: bool,
    /// The blocks that are used with one bit a cell.
    pub slc: Option<SlcCache>,
}

impl Default for Care {
    fn default() -> Self {
        let rule = AnyVictim::Greedy(crate::parts::victim::greedy::GreedyKeys::default());
        let rule = Rule::BuiltIn(rule);
        Self {
            rule,
            dynamic: false,
            static_gap: 0,
            factory_bad: 0,
            endurance: 0,
            united: false,
            slc: None,
        }
    }
}

impl Care {
    /// How many blocks of each plane are bad from the start, where some are or blocks wear out.
    pub(super) fn losses(&self) -> Option<u32> {
        (self.factory_bad > 0 || self.endurance > 0).then_some(self.factory_bad)
    }

    pub(super) fn heaps(wanted: bool, planes: usize) -> Vec<Heap> {
        if wanted { vec![Heap::new(); planes] } else { Vec::new() }
    }
}

/// What became of an erased block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freed {
    /// It is free.
    Free,
    /// It is worn out and never used again.
    WornOut,
}

impl Blocks {
    /// A claimed block has been erased: it goes to the end of the free list, or it is worn out.
    pub fn erased(&mut self, block: BlockId) -> Freed {
        if self.are_united() {
            return self.erased_united(block);
        }
        self.count_erase(block);
        let worn = self.is_worn(block);
        if self.cells.is_some() && self.erased_cached(block, worn) {
            self.bad[block.index()] = worn;
            return if worn { Freed::WornOut } else { Freed::Free };
        }
        if worn {
            self.bad[block.index()] = true;
            self.pools[self.geometry.plane_of_block(block).index()].worn += 1;
            return Freed::WornOut;
        }
        self.free(block);
        Freed::Free
    }

    /// The same for states that are made without operations, which wear no block out.
    pub(crate) fn lay_erased(&mut self, block: BlockId) {
        self.count_erase(block);
        self.free(block);
    }

    /// Whether a block has been erased as often as it bears: as often as the settings say and up to
    /// a tenth more or less, by its number.
    fn is_worn(&self, block: BlockId) -> bool {
        let nominal = match &self.cells {
            Some(cells) if cells.is_aside(block) && cells.cache.endurance > 0 => {
                cells.cache.endurance
            }
            _ => self.care.endurance,
        };
        Self::bears_no_more(nominal, self.erases[block.index()], block)
    }

    /// Whether a block that was erased so often has worn out; with 0 none does.
    pub(super) fn bears_no_more(nominal: u32, erases: u32, block: BlockId) -> bool {
        nominal > 0 && erases >= Self::limit(nominal, block)
    }

    fn limit(nominal: u32, block: BlockId) -> u32 {
        let nominal = u64::from(nominal);
        let tenth = nominal / 10;
        let more = mix(0xE5A5_ED00 + u64::from(block.get())) % (2 * tenth + 1);
        u32::try_from(nominal - tenth + more).unwrap_or(u32::MAX)
    }

    pub(super) fn count_erase(&mut self, block: BlockId) {
        assert_eq!(self.valid[block.index()], 0, "{block:?} was erased with valid units");
        let erases = &mut self.erases[block.index()];
        *erases += 1;
        // Those set aside for one bit a cell are erased more often, and level no wear with others.
        if self.cells.as_ref().is_some_and(|cells| cells.is_aside(block)) {
            return;
        }
        let pool = &mut self.pools[self.geometry.plane_of_block(block).index()];
        pool.most_erases = pool.most_erases.max(*erases);
    }

    pub(super) fn free(&mut self, block: BlockId) {
        let plane = self.geometry.plane_of_block(block);
        let pool = &mut self.pools[plane.index()];
        self.links.push(block.get(), [&mut pool.free_head, &mut pool.free_tail]);
        pool.free_blocks += 1;
        if let Some(heap) = self.least_free.get_mut(plane.index()) {
            let key = (self.erases[block.index()], self.filled[block.index()], block.get());
            heap.push(Reverse(key));
        }
    }

    /// Takes a free block: a block that was never used. If there is none, the block that was erased
    /// first or, with wear levelling, the one with the fewest erases.
    pub(crate) fn take_free(&mut self, plane: PlaneId) -> Option<BlockId> {
        let first = self.geometry.first_block(plane);
        let aside = |block| self.cells.as_ref().is_some_and(|cells| cells.is_aside(block));
        let pool = &mut self.pools[plane.index()];
        pool.free_blocks = pool.free_blocks.checked_sub(1)?;
        while pool.next_fresh < self.geometry.blocks_per_plane {
            let block = BlockId::new(first.get() + pool.next_fresh);
            pool.next_fresh += 1;
            if !self.bad[block.index()] && !aside(block) {
                return Some(block);
            }
        }
        let block = match self.least_free.get_mut(plane.index()) {
            Some(heap) => BlockId::new(heap.pop().expect("free blocks are in the heap").0.2),
            None => BlockId::new(pool.free_head - 1),
        };
        self.links.remove(block.get(), [&mut pool.free_head, &mut pool.free_tail]);
        Some(block)
    }

    /// The least erased full block of a plane, where it has fallen behind the most erased block by
    /// more than the settings allow. O(log n) amortised.
    pub fn laggard(&mut self, plane: PlaneId) -> Option<BlockId> {
        let plane = self.pool_of(plane);
        let most = self.pools[plane.index()].most_erases;
        let heap = self.least_full.get_mut(plane.index())?;
        while let Some(&Reverse((erases, filled, block))) = heap.peek() {
            if self.full[block as usize] && self.filled[block as usize] == filled {
                let lags = most - erases > self.care.static_gap;
                return lags.then(|| BlockId::new(block));
            }
            heap.pop();
        }
        None
    }

    /// A block has been filled. What was filled before and is no longer full stays in the heap
    /// until it comes to its top or half of the heap is such.
    pub(super) fn note_least_full(&mut self, block: BlockId) {
        let plane = self.geometry.plane_of_block(block);
        let Some(heap) = self.least_full.get_mut(plane.index()) else { return };
        if heap.len() >= 2 * self.geometry.blocks_per_plane as usize {
            let (full, filled) = (&self.full, &self.filled);
            heap.retain(|Reverse((_, at, block))| {
                full[*block as usize] && filled[*block as usize] == *at
            });
        }
        let index = block.index();
        heap.push(Reverse((self.erases[index], self.filled[index], block.get())));
    }

    /// Makes the heaps from everything else.
    pub(super) fn restore_heaps(&mut self) {
        for plane in 0..self.least_free.len() {
            let heap = &mut self.least_free[plane];
            heap.clear();
            let mut free = self.pools[plane].free_head.checked_sub(1);
            while let Some(block) = free {
                let index = block as usize;
                heap.push(Reverse((self.erases[index], self.filled[index], block)));
                free = self.links.after(block);
            }
        }
        self.least_full.iter_mut().for_each(Heap::clear);
        if !self.least_full.is_empty() {
            for index in (0..self.full.len()).filter(|block| self.full[*block]) {
                let block = BlockId::from_index(index);
                let plane = self.geometry.plane_of_block(block);
                let key = (self.erases[index], self.filled[index], block.get());
                self.least_full[plane.index()].push(Reverse(key));
            }
        }
    }

    /// Marks blocks of each plane as bad; with superblocks those that have bad blocks.
    pub(super) fn mark_factory_bad(&mut self) {
        let (blocks, count) = (self.geometry.blocks_per_plane, self.care.factory_bad);
        if count == 0 {
            return;
        }
        // With superblocks that is the first plane, which has the numbers of them.
        self.bad = factory_bad(blocks, self.geometry.all_planes(), count);
        self.pools.iter_mut().for_each(|pool| pool.free_blocks = blocks - count);
    }

    /// Whether each block is never used, and how often it has been erased. Superblocks stand for
    /// their blocks where they lose none.
    fn bad_and_erases(&self) -> (&[bool], &[u32]) {
        match self.members() {
            Some(members) => (&members.bad, &members.erases),
            None => (&self.bad, &self.erases),
        }
    }

    /// How often each block has been erased that was not bad from the start.
    pub fn usable_erase_counts(&self) -> impl Iterator<Item = u32> {
        let (bad, erases) = self.bad_and_erases();
        // A superblock that stands for its blocks has as many as there are planes.
        let of_each = if self.members().is_some() { 1 } else { self.blocks_of_each() };
        let usable = bad.iter().zip(erases).filter(|(bad, erases)| !**bad || **erases > 0);
        usable.flat_map(move |(_, erases)| std::iter::repeat_n(*erases, of_each))
    }

    /// Whether a block is never used: it was bad from the start or is worn out.
    pub fn is_bad(&self, block: BlockId) -> bool {
        match self.members() {
            Some(members) => members.bad[block.index()],
            None => self.bad[self.home(block).index()],
        }
    }

    /// Worn-out blocks of a plane; superblocks that are retired, which lack a block that has worn
    /// out.
    pub fn worn_out(&self, plane: PlaneId) -> u32 {
        self.pools[self.pool_of(plane).index()].worn
    }

    /// Worn-out blocks of all planes, those of the SLC cache included.
    pub fn grown_bad(&self) -> u64 {
        let (bad, erases) = self.bad_and_erases();
        let worn = bad.iter().zip(erases).filter(|(bad, erases)| **bad && **erases > 0);
        worn.count() as u64
    }

    /// The numbers of a plane's worn-out blocks, counted inside the plane.
    pub fn worn_out_blocks(&self, plane: PlaneId) -> impl Iterator<Item = u32> {
        let blocks = self.geometry.blocks_per_plane;
        let (bad, erases) = self.bad_and_erases();
        let first = plane.get() * blocks;
        (0..blocks).filter(move |number| {
            let index = (first + number) as usize;
            bad[index] && erases[index] > 0
        })
    }

    /// Whether a block is set aside for one bit a cell.
    fn is_aside(&self, block: BlockId) -> bool {
        self.cells.as_ref().is_some_and(|cells| cells.is_aside(block))
    }

    /// The numbers of a plane's blocks that were not bad from the start nor set aside, counted
    /// inside the plane.
    pub(crate) fn good_blocks(&self, plane: PlaneId) -> Vec<u32> {
        let numbers = 0..self.geometry.blocks_per_plane;
        let is_good = |number: &u32| {
            let block = self.geometry.block(plane, *number);
            !self.bad[block.index()] && !self.is_aside(block)
        };
        numbers.filter(is_good).collect()
    }
}

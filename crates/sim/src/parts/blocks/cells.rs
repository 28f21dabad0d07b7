//! Which blocks are used with one bit a cell, and the lists of those of each plane.

use crate::saved::{Reader, RestoreError, Saved, Writer, load_part, save_option, saved};
use flashyard_core::units::BlockId;

/// The SLC cache of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlcCache {
    /// Blocks of each plane that are set aside.
    pub static_blocks: u32,
    /// Share of the free blocks of a plane that it may use too, in parts of a million.
    pub dynamic_ppm: u64,
    /// The most that these are.
    pub dynamic_most: u32,
    /// Free blocks of each plane that it leaves.
    pub kept: u32,
    /// Mapping units of a block with one bit a cell ...
    pub block_units: u32,
    /// ... and of a program.
    pub program_units: u32,
    /// Erases that a block which is set aside bears; 0: as any block.
    pub endurance: u32,
    /// Whether writes wait for room in it.
    pub waits: bool,
}

impl SlcCache {
    /// How many blocks of a plane beyond those set aside it may use, where it uses none and so
    /// many are free.
    pub fn most_dynamic(&self, free: u32) -> u32 {
        let share = u64::from(free) * self.dynamic_ppm / 1_000_000;
        let share = u32::try_from(share).unwrap_or(u32::MAX);
        share.min(self.dynamic_most).min(free.saturating_sub(self.kept))
    }
}

/// The blocks of the cache.
#[derive(Clone, Debug)]
pub(super) struct Cells {
    pub(super) cache: SlcCache,
    /// Whether each block is used with one bit a cell, and whether it is set aside for that.
    pub(super) slc: Vec<bool>,
    pub(super) aside: Vec<bool>,
    /// Whether each block that is used so is full.
    pub(super) filled: Vec<bool>,
    pub(super) pools: Vec<Pool>,
}

/// The blocks of the cache in a plane.
#[derive(Clone, Debug, Default)]
pub(super) struct Pool {
    /// The oldest and the newest free block of those set aside, + 1, and how many are free.
    pub(super) free: [u32; 2],
    pub(super) free_blocks: u32,
    /// The same of full blocks: of those that were free blocks of the plane, and those set aside.
    pub(super) full: [[u32; 2]; 2],
    pub(super) full_blocks: [u32; 2],
    /// Blocks that were free ones: open, full, or being folded.
    pub(super) used: u32,
    /// Blocks that are being folded.
    pub(super) folding: u32,
}

saved!(Pool { free, free_blocks, full, full_blocks, used, folding });
saved!(Cells { slc, filled, pools } skip { cache, aside });

/// The settings say whether there is a cache.
impl Saved for Option<Box<Cells>> {
    fn save(&self, to: &mut Writer<'_>) {
        save_option(self.as_deref(), to);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), RestoreError> {
        load_part(self.as_deref_mut(), from)
    }
}

/// What the cache of a plane holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheBlocks {
    /// Free blocks of those set aside.
    pub free: u32,
    /// Full blocks that were free blocks of the plane, and that are set aside.
    pub full: [u32; 2],
    /// Blocks that were free ones: open, full, or being folded.
    pub used: u32,
}

impl Cells {
    /// No block is used with one bit a cell yet.
    pub(super) fn new(cache: Option<SlcCache>, blocks: usize, planes: usize) -> Option<Box<Self>> {
        cache.map(|cache| {
            Box::new(Self {
                cache,
                slc: vec![false; blocks],
                aside: vec![false; blocks],
                filled: vec![false; blocks],
                pools: vec![Pool::default(); planes],
            })
        })
    }

    /// Bytes that they take in the simulator's memory.
    pub(super) const fn bytes(planes: u64, blocks: u64) -> u64 {
        3 * blocks + planes * size_of::<Pool>() as u64
    }

    /// Whether a block is used with one bit a cell.
    pub(super) fn is_slc(&self, block: BlockId) -> bool {
        self.slc[block.index()]
    }

    /// Whether a block is set aside for one bit a cell.
    pub(super) fn is_aside(&self, block: BlockId) -> bool {
        self.aside[block.index()]
    }

    /// A block is used with all bits a cell from now on.
    pub(super) fn leave(&mut self, block: BlockId) {
        self.slc[block.index()] = false;
    }
}

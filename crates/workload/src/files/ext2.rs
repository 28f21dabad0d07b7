//! A layout in place, as that of ext2: block groups with their bitmaps and inodes, data in one
//! piece where there is room.
//!
//! A group has 32,768 blocks of 4 KiB: a superblock, the bitmap of blocks, that of inodes, 256
//! blocks of 32 inodes each, then data. Inodes are taken group by group; the data of a file goes
//! into the first group from that of its inode on that has room. There is one directory, at the
//! start of the data of the first group, with 64 names a block. Indirect blocks and copies of the
//! superblock are left out.

use super::piece::Piece;
use std::collections::{BTreeMap, BTreeSet};

/// Blocks of a group, of its inodes, and before its data.
const GROUP: u32 = 32_768;
const INODE_BLOCKS: u32 = 256;
const HEAD: u32 = 3 + INODE_BLOCKS;

/// Inodes and names of a block.
const INODES: u32 = 32;
const NAMES: u32 = 64;

/// The state of the layout.
#[derive(Clone, Debug)]
pub(super) struct Ext2 {
    blocks: u32,
    /// Free blocks: runs by their first block.
    free: BTreeMap<u32, u32>,
    /// Blocks of inodes, bitmaps and the directory that are to be written.
    dirty: BTreeSet<u32>,
}

impl Ext2 {
    /// An empty area of so many blocks for so many files; none where the directory and the inodes
    /// do not fit.
    pub(super) fn new(blocks: u32, files: u32) -> Option<Self> {
        let directory = files.div_ceil(NAMES);
        let mut free = BTreeMap::new();
        for group in 0..blocks.div_ceil(GROUP) {
            let first = group * GROUP + HEAD + if group == 0 { directory } else { 0 };
            let end = ((group + 1) * GROUP).min(blocks);
            if first < end {
                free.insert(first, end - first);
            }
        }
        let groups = files.div_ceil(INODES * INODE_BLOCKS);
        let fits = !free.is_empty() && (groups - 1) * GROUP + HEAD < blocks;
        fits.then_some(Self { blocks, free, dirty: BTreeSet::new() })
    }

    const fn group_of_inode(file: u32) -> u32 {
        file / (INODES * INODE_BLOCKS)
    }

    /// The blocks that a file changes when it changes.
    pub(super) fn touch_inode(&mut self, file: u32) {
        let group = Self::group_of_inode(file);
        let block = file % (INODES * INODE_BLOCKS) / INODES;
        self.dirty.insert(group * GROUP + 3 + block);
    }

    /// A name and an inode come or go.
    pub(super) fn touch_name(&mut self, file: u32) {
        self.touch_inode(file);
        self.dirty.insert(Self::group_of_inode(file) * GROUP + 2);
        self.dirty.insert(HEAD + file / NAMES);
    }

    /// Takes so many blocks for a file, behind `goal` if these are free, otherwise the first run
    /// that has room for all, otherwise what there is; none where there are too few.
    pub(super) fn allocate(
        &mut self,
        file: u32,
        goal: Option<u32>,
        count: u32,
    ) -> Option<Vec<u32>> {
        let mut taken = Vec::new();
        let mut goal = goal;
        while taken.len() < count as usize {
            let left = count - u32::try_from(taken.len()).expect("files are small");
            let start = self.run_for(file, goal, left)?;
            let length = left.min(self.run_at(start));
            self.take(start, length);
            taken.extend(start..start + length);
            goal = Some(start + length);
        }
        let groups: BTreeSet<u32> = taken.iter().map(|block| block / GROUP).collect();
        self.dirty.extend(groups.into_iter().map(|group| group * GROUP + 1));
        Some(taken)
    }

    /// Where to take blocks from.
    fn run_for(&self, file: u32, goal: Option<u32>, count: u32) -> Option<u32> {
        if let Some(goal) = goal
            && self.run_at(goal) > 0
        {
            return Some(goal);
        }
        let first = (Self::group_of_inode(file) * GROUP).min(self.blocks);
        let from = self.free.range(first..).chain(self.free.range(..first));
        let whole = from.clone().find(|(_, length)| **length >= count);
        whole.or_else(|| from.max_by_key(|(_, length)| **length)).map(|(start, _)| *start)
    }

    /// Free blocks from one on.
    fn run_at(&self, block: u32) -> u32 {
        let run = self.free.range(..=block).next_back();
        run.map_or(0, |(start, length)| (start + length).saturating_sub(block))
    }

    fn take(&mut self, block: u32, count: u32) {
        let (&start, &length) = self.free.range(..=block).next_back().expect("the blocks are free");
        self.free.remove(&start);
        if start < block {
            self.free.insert(start, block - start);
        }
        if block + count < start + length {
            self.free.insert(block + count, start + length - block - count);
        }
    }

    /// Gives the blocks of a file back.
    pub(super) fn give_back(&mut self, blocks: &[u32]) {
        for &block in blocks {
            self.dirty.insert(block / GROUP * GROUP + 1);
            let (mut start, mut length) = (block, 1);
            if let Some((&before, &of)) = self.free.range(..block).next_back()
                && before + of == block
            {
                (start, length) = (before, of + 1);
            }
            if let Some(of) = self.free.remove(&(block + 1)) {
                length += of;
            }
            self.free.insert(start, length);
        }
    }

    /// Takes what is to be written of inodes, bitmaps and the directory.
    pub(super) fn take_dirty(&mut self, out: &mut Vec<Piece>) {
        for block in std::mem::take(&mut self.dirty) {
            Piece::write(block).add_to(out);
        }
    }
}

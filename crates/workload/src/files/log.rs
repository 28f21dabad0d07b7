//! A log of segments (Rosenblum and Ousterhout, TOCS 1992): everything that is written is appended.
//!
//! What the file system has collected is appended at once: data in the order of the writes, then
//! the inodes of the files, 32 a block, then the blocks of the inode map that point at them, 1,024
//! entries each. The directory is a file of its own, with 64 names a block. Segments are taken by
//! ascending number; summaries of segments are left out. Two blocks at the start of the area hold
//! checkpoints, by turns.

use super::piece::{Piece, extents_of};
use std::collections::{BTreeMap, BTreeSet};

/// Inodes, entries of the map and names of a block.
const INODES: usize = 32;
const ENTRIES: u32 = 1_024;
const NAMES: u32 = 64;

/// Blocks before the first segment.
const HEAD: u32 = 2;

/// No block.
pub(super) const NOWHERE: u32 = u32::MAX;

/// What a block of the log holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    None,
    /// A block of a file.
    Data(u32, u32),
    /// Inodes: those of files that point at this block.
    Inodes,
    /// A block of the inode map.
    Map(u32),
}

/// The state of the log.
#[derive(Clone, Debug)]
pub(super) struct Log {
    segment: u32,
    owner: Vec<Owner>,
    /// Live blocks of each segment.
    live: Vec<u32>,
    free: BTreeSet<u32>,
    /// The open segment and its next block.
    head: u32,
    next: u32,
    /// Where inodes are, by file; the files of each block of inodes; where the map is.
    inode: Vec<u32>,
    inodes_at: BTreeMap<u32, Vec<u32>>,
    map: Vec<u32>,
    /// Data that is to be appended, in order, and files whose inodes are.
    pending: Vec<(u32, u32)>,
    changed: BTreeSet<u32>,
    /// Blocks of the map that are, beside those of these files.
    maps: BTreeSet<u32>,
    clean_below: usize,
    pub(super) cleaned: u64,
    checkpoints: u32,
    writes: u64,
    checkpoint_writes: u64,
}

/// The files of the log: those of the host, and behind them the directory.
pub(super) type Files = Vec<Vec<u32>>;

impl Log {
    /// An empty area of so many blocks for so many files, with the directory behind them.
    pub(super) fn new(
        blocks: u32,
        files: u32,
        segment: u32,
        clean_ppm: u64,
        checkpoint_writes: u64,
    ) -> Option<Self> {
        let segments = blocks.saturating_sub(HEAD) / segment;
        let clean = u64::from(segments) * clean_ppm / 1_000_000;
        // The cleaner needs room for what it copies.
        let clean_below = usize::try_from(clean).expect("a share of the segments").max(3);
        (segments as usize > 2 * clean_below || segments > 6).then(|| Self {
            segment,
            owner: vec![Owner::None; (segments * segment) as usize],
            live: vec![0; segments as usize],
            free: (1..segments).collect(),
            head: 0,
            next: 0,
            inode: vec![NOWHERE; files as usize + 1],
            inodes_at: BTreeMap::new(),
            map: vec![NOWHERE; (files + 1).div_ceil(ENTRIES) as usize],
            pending: Vec::new(),
            changed: BTreeSet::new(),
            maps: BTreeSet::new(),
            clean_below,
            cleaned: 0,
            checkpoints: 0,
            writes: 0,
            checkpoint_writes,
        })
    }

    /// A block of a file is to be written.
    pub(super) fn write(&mut self, file: u32, index: u32) {
        self.pending.push((file, index));
        self.changed.insert(file);
    }

    /// A name comes or goes: the directory is the last file.
    pub(super) fn touch_name(&mut self, file: u32, files: &mut Files) {
        let directory = u32::try_from(files.len() - 1).expect("files are counted in 32 bits");
        let index = file / NAMES;
        let blocks = &mut files[directory as usize];
        blocks.resize(blocks.len().max(index as usize + 1), NOWHERE);
        self.write(directory, index);
        self.maps.insert(file / ENTRIES);
    }

    /// A file is deleted: its blocks and its inode are dead, and it has no data to be written.
    pub(super) fn delete(&mut self, file: u32, blocks: &[u32]) {
        for &block in blocks {
            self.kill(block);
        }
        self.pending.retain(|(other, _)| *other != file);
        self.changed.remove(&file);
        self.move_inode(file, NOWHERE);
    }

    /// Blocks that are to be written.
    pub(super) fn pending(&self) -> usize {
        self.pending.len()
    }

    /// A block of the log is not needed any more.
    fn kill(&mut self, block: u32) {
        if block != NOWHERE {
            let place = (block - HEAD) as usize;
            assert!(self.owner[place] != Owner::None, "block {block} is dead already");
            self.owner[place] = Owner::None;
            self.live[place / self.segment as usize] -= 1;
        }
    }

    /// Takes the next block of the log; none where it is full.
    fn append(&mut self, owner: Owner) -> Option<u32> {
        if self.next == self.segment {
            let behind = self.free.range(self.head..).next();
            let segment = *behind.or_else(|| self.free.first())?;
            self.free.remove(&segment);
            (self.head, self.next) = (segment, 0);
        }
        let place = self.head * self.segment + self.next;
        self.next += 1;
        self.owner[place as usize] = owner;
        self.live[self.head as usize] += 1;
        Some(HEAD + place)
    }

    /// The inode of a file is in another block, or nowhere.
    fn move_inode(&mut self, file: u32, to: u32) {
        let from = std::mem::replace(&mut self.inode[file as usize], to);
        if to != NOWHERE {
            self.inodes_at.entry(to).or_default().push(file);
        }
        if let Some(others) = self.inodes_at.get_mut(&from) {
            others.retain(|&other| other != file);
            if others.is_empty() {
                self.inodes_at.remove(&from);
                self.kill(from);
            }
        }
    }

    /// Appends all that was collected; none where the log is full.
    pub(super) fn sync(&mut self, files: &mut Files, out: &mut Vec<Piece>) -> Option<()> {
        while self.free.len() < self.clean_below {
            if !self.clean(files, out)? {
                break;
            }
        }
        self.append_pending(files, out)?;
        if self.checkpoint_writes > 0 && self.writes >= self.checkpoint_writes {
            self.writes = 0;
            Piece::write(self.checkpoints % HEAD).add_to(out);
            self.checkpoints += 1;
        }
        Some(())
    }

    fn append_pending(&mut self, files: &mut Files, out: &mut Vec<Piece>) -> Option<()> {
        let before = out.len();
        let mut known = BTreeSet::new();
        for (file, index) in std::mem::take(&mut self.pending) {
            if !known.insert((file, index)) {
                continue;
            }
            let block = self.append(Owner::Data(file, index))?;
            let old = std::mem::replace(&mut files[file as usize][index as usize], block);
            self.kill(old);
            Piece::write(block).add_to(out);
        }
        let changed: Vec<u32> = std::mem::take(&mut self.changed).into_iter().collect();
        for files in changed.chunks(INODES) {
            let block = self.append(Owner::Inodes)?;
            for &file in files {
                self.move_inode(file, block);
            }
            Piece::write(block).add_to(out);
        }
        let mut maps = std::mem::take(&mut self.maps);
        maps.extend(changed.iter().map(|file| file / ENTRIES));
        for map in maps {
            let block = self.append(Owner::Map(map))?;
            let old = std::mem::replace(&mut self.map[map as usize], block);
            self.kill(old);
            Piece::write(block).add_to(out);
        }
        self.writes += (out.len() - before) as u64;
        Some(())
    }

    /// Copies the live blocks of the segment that has fewest to the end of the log. Returns whether
    /// that makes room; none where the log is full.
    fn clean(&mut self, files: &mut Files, out: &mut Vec<Piece>) -> Option<bool> {
        let closed = (0..self.live.len()).filter(|&segment| {
            let number = u32::try_from(segment).expect("segments are counted in 32 bits");
            number != self.head && !self.free.contains(&number)
        });
        let Some(victim) = closed.min_by_key(|&segment| self.live[segment]) else {
            return Some(false);
        };
        // Inodes and the map that come along take blocks of their own.
        if self.live[victim] + 4 > self.segment {
            return Some(false);
        }
        let first = victim * self.segment as usize;
        let mut read = Vec::new();
        let mut kept = Vec::new();
        for place in first..first + self.segment as usize {
            let block = HEAD + u32::try_from(place).expect("blocks are counted in 32 bits");
            match self.owner[place] {
                Owner::None => continue,
                Owner::Data(file, index) => kept.push((file, index)),
                Owner::Inodes => self.changed.extend(self.inodes_at[&block].iter().copied()),
                Owner::Map(map) => {
                    self.maps.insert(map);
                }
            }
            read.push(block);
        }
        extents_of(&read).for_each(|extent| Piece::read(extent).add_to(out));
        let pending = std::mem::replace(&mut self.pending, kept);
        self.changed.extend(self.pending.iter().map(|(file, _)| *file));
        self.append_pending(files, out)?;
        self.pending = pending;
        self.changed.extend(self.pending.iter().map(|(file, _)| *file));
        assert_eq!(self.live[victim], 0, "a cleaned segment has live blocks");
        self.free.insert(u32::try_from(victim).expect("segments are counted in 32 bits"));
        self.cleaned += 1;
        Some(true)
    }
}

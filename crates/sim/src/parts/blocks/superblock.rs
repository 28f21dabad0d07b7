//! Superblocks: a block of each plane, opened, filled, collected and erased together. Where each
//! plane is in those that are open.
//!
//! Everything else here then counts superblocks in place of blocks: it sees one plane, the blocks
//! of which are as large as a block of each plane of the array, and names a superblock by the
//! number that its blocks have in their planes. `united` leads from blocks and units of the array
//! to that and back.
//!
//! What the host writes is sent to the planes in turn, and takes the next unit that its plane has
//! in the open superblock; where one plane is full before the others, its writes go to these. A
//! program unit of copies is promised a place on a plane before its reads begin, so that copies
//! never wait for room. When all of an open superblock is promised and not yet programmed, copies
//! open another one beside it.

use super::members::Members;
use crate::saved::{Reader, RestoreError, Saved, Writer, load_part, save_option, saved};
use flashyard_core::geometry::Geometry;
use flashyard_core::units::{BlockId, PlaneId};

/// Open superblocks of a frontier: one that copies still fill, and one that they have begun.
pub(super) const OPEN: usize = 2;

/// An open superblock.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Open {
    /// Its number + 1; 0 for none.
    pub(super) superblock: u32,
    /// Units that no program has taken yet.
    pub(super) left: u32,
}

/// Superblocks, and where each plane is in those that are open.
#[derive(Clone, Debug)]
pub(super) struct Superblocks {
    /// The shape of the array.
    pub(super) array: Geometry,
    pub(super) planes: usize,
    /// The open ones of each frontier, the older one first.
    pub(super) opens: Vec<[Open; OPEN]>,
    /// The next unit of each plane in each of them.
    pub(super) next: Vec<u32>,
    /// Program units of copies that are promised and not bound, by frontier and plane.
    pub(super) promised: Vec<u32>,
    /// Units of the host that were sent to planes in turn, modulo a round, by frontier.
    pub(super) turns: Vec<u32>,
    /// Whether the last program of each block of the array is over.
    pub(super) closed: Vec<bool>,
    /// How many blocks of each superblock are closed, and how many are erased while it is
    /// collected.
    pub(super) closed_blocks: Vec<u32>,
    pub(super) erased_blocks: Vec<u32>,
    /// Which blocks they have, where some are bad or wear out; else those with their number.
    pub(super) members: Option<Box<Members>>,
}

saved!(Open { superblock, left });
saved!(Superblocks { opens, next, turns, closed, closed_blocks, erased_blocks, members }
    skip { array, planes, promised });

/// The settings say whether there are any.
impl Saved for Option<Box<Superblocks>> {
    fn save(&self, to: &mut Writer<'_>) {
        save_option(self.as_deref(), to);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), RestoreError> {
        load_part(self.as_deref_mut(), from)
    }
}

impl Superblocks {
    /// All of them free, but for those that have bad blocks. `losses` is how many of each plane are
    /// bad, where some are or blocks wear out.
    pub(super) fn new(array: Geometry, frontiers: u32, losses: Option<u32>) -> Box<Self> {
        let (planes, slots) = (array.all_planes() as usize, frontiers as usize);
        let superblocks = array.blocks_per_plane as usize;
        Box::new(Self {
            array,
            planes,
            opens: vec![[Open::default(); OPEN]; slots],
            next: vec![0; slots * OPEN * planes],
            promised: vec![0; slots * planes],
            turns: vec![0; slots],
            closed: vec![false; array.blocks() as usize],
            closed_blocks: vec![0; superblocks],
            erased_blocks: vec![0; superblocks],
            members: losses.map(|bad| Members::new(array, bad)),
        })
    }

    /// Bytes of an array of this shape.
    pub(super) fn bytes(array: &Geometry, frontiers: u32, losses: Option<u32>) -> u64 {
        let (planes, slots) = (u64::from(array.all_planes()), u64::from(frontiers));
        let open = OPEN as u64 * (size_of::<Open>() as u64 + 4 * planes);
        let blocks = u64::from(array.blocks()) + 8 * u64::from(array.blocks_per_plane);
        let members = losses.map_or(0, |_| Members::bytes(array.blocks().into()));
        slots * (open + 4 * planes + 4) + blocks + members
    }

    /// The superblock of a block, which may be one itself.
    #[inline]
    pub(super) fn of(&self, block: BlockId) -> BlockId {
        BlockId::new(match &self.members {
            Some(members) => members.of(block),
            None => block.get() % self.array.blocks_per_plane,
        })
    }

    /// The block of a superblock on a plane.
    #[inline]
    pub(super) fn block(&self, plane: PlaneId, superblock: BlockId) -> BlockId {
        let number = match &self.members {
            Some(members) => members.number(plane, superblock.get()),
            None => superblock.get(),
        };
        self.array.block(plane, number)
    }

    /// The block of an open superblock on a plane.
    pub(super) fn open_block(&self, slot: usize, place: usize, plane: PlaneId) -> BlockId {
        self.block(plane, BlockId::new(self.opens[slot][place].superblock - 1))
    }

    /// Units of a round, in which each plane has its turn to get a program unit.
    pub(super) const fn round(&self) -> u32 {
        self.array.program_units() * self.array.all_planes()
    }

    /// The last program of a block is over. Returns whether its superblock is full then.
    pub(super) fn close(&mut self, block: BlockId) -> bool {
        if std::mem::replace(&mut self.closed[block.index()], true) {
            return false;
        }
        let home = self.of(block);
        let closed = &mut self.closed_blocks[home.index()];
        *closed += 1;
        *closed == self.array.all_planes()
    }

    pub(super) fn at(&self, slot: usize, place: usize, plane: PlaneId) -> usize {
        (slot * OPEN + place) * self.planes + plane.index()
    }

    /// Units that a plane has left in an open superblock.
    pub(super) fn left(&self, slot: usize, place: usize, plane: PlaneId) -> u32 {
        match self.opens[slot][place].superblock {
            0 => 0,
            _ => self.array.units_per_block() - self.next[self.at(slot, place, plane)],
        }
    }

    /// The first open superblock of a frontier that has room on a plane.
    pub(super) fn place(&self, slot: usize, plane: PlaneId) -> Option<usize> {
        (0..OPEN).find(|&place| self.left(slot, place, plane) > 0)
    }

    /// So many more units of a plane are taken. With its last unit a superblock is open no longer.
    pub(super) fn take(&mut self, slot: usize, place: usize, plane: PlaneId, units: u32) {
        let at = self.at(slot, place, plane);
        self.next[at] += units;
        self.opens[slot][place].left -= units;
        if self.opens[slot][place].left == 0 {
            self.opens[slot][place..].rotate_left(1);
            self.opens[slot][OPEN - 1] = Open::default();
            let (first, end) = (self.at(slot, place, PlaneId::new(0)), (slot + 1) * OPEN);
            self.next[first..end * self.planes].rotate_left(self.planes);
            self.next[(end - 1) * self.planes..end * self.planes].fill(0);
        }
    }

    /// Program units that a plane has left for copies that are not promised any.
    pub(super) fn unpromised(&self, slot: usize, plane: PlaneId) -> u32 {
        let program = self.array.program_units();
        let left: u32 = (0..OPEN).map(|place| self.left(slot, place, plane) / program).sum();
        left.saturating_sub(self.promised[slot * self.planes + plane.index()])
    }

    /// The plane with the most of something, the lowest number among equals; none where no plane
    /// has any.
    pub(super) fn most(&self, of: impl Fn(PlaneId) -> u32) -> Option<PlaneId> {
        let planes = (0..self.array.all_planes()).map(PlaneId::new).rev();
        planes.max_by_key(|plane| of(*plane)).filter(|plane| of(*plane) > 0)
    }
}

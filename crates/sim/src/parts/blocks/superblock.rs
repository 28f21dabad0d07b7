//! Superblocks: a block of each plane, opened, filled, collected and erased together.
//!
//! Everything else here then counts superblocks in place of blocks: it sees one plane, the blocks
//! of which are as large as a block of each plane of the array, and names a superblock by the
//! number that its blocks have in their planes. This file leads from blocks and units of the array
//! to that and back.
//!
//! What the host writes is sent to the planes in turn, and takes the next unit that its plane has
//! in the open superblock; where one plane is full before the others, its writes go to these. A
//! program unit of copies is promised a place on a plane before its reads begin, so that copies
//! never wait for room. When all of an open superblock is promised and not yet programmed, copies
//! open another one beside it.

use super::{Blocks, Freed, Frontier, Frontiers};
use crate::saved::{Reader, RestoreError, Saved, Writer, save_option, saved};
use flashyard_core::geometry::Geometry;
use flashyard_core::units::{BlockId, PlaneId, Ppn};

/// Open superblocks of a frontier: one that copies still fill, and one that they have begun.
const OPEN: usize = 2;

/// An open superblock.
#[derive(Clone, Copy, Debug, Default)]
struct Open {
    /// Its number + 1; 0 for none.
    superblock: u32,
    /// Units that no program has taken yet.
    left: u32,
}

/// Superblocks, and where each plane is in those that are open.
#[derive(Clone, Debug)]
pub(super) struct Superblocks {
    /// The shape of the array.
    array: Geometry,
    planes: usize,
    /// The open ones of each frontier, the older one first.
    opens: Vec<[Open; OPEN]>,
    /// The next unit of each plane in each of them.
    next: Vec<u32>,
    /// Program units of copies that are promised and not bound, by frontier and plane.
    promised: Vec<u32>,
    /// Units of the host that were sent to planes in turn, modulo a round, by frontier.
    turns: Vec<u32>,
    /// Whether the last program of each block of the array is over.
    closed: Vec<bool>,
    /// How many blocks of each superblock are closed, and how many are erased while it is
    /// collected.
    closed_blocks: Vec<u32>,
    erased_blocks: Vec<u32>,
}

saved!(Open { superblock, left });
saved!(Superblocks { opens, next, turns, closed, closed_blocks }
    skip { array, planes, promised, erased_blocks });

/// The settings say whether there are any.
impl Saved for Option<Box<Superblocks>> {
    fn save(&self, to: &mut Writer<'_>) {
        save_option(self.as_deref(), to);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), RestoreError> {
        let mut some = false;
        some.load(from)?;
        match self {
            Some(superblocks) if some => superblocks.load(from),
            None if !some => Ok(()),
            _ => Err(RestoreError::Corrupt),
        }
    }
}

impl Superblocks {
    /// All of them free.
    pub(super) fn new(array: Geometry, frontiers: Frontiers) -> Box<Self> {
        let (planes, slots) = (array.all_planes() as usize, frontiers.count() as usize);
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
        })
    }

    /// The shape in which each superblock is a block.
    pub(super) const fn shape(array: Geometry) -> Geometry {
        Geometry {
            channels: 1,
            ways: 1,
            dies_per_way: 1,
            planes: 1,
            pages_per_block: array.pages_per_block * array.all_planes(),
            ..array
        }
    }

    /// Bytes of an array of this shape.
    pub(super) fn bytes(array: &Geometry, frontiers: Frontiers) -> u64 {
        let (planes, slots) = (u64::from(array.all_planes()), u64::from(frontiers.count()));
        let open = OPEN as u64 * (size_of::<Open>() as u64 + 4 * planes);
        let blocks = u64::from(array.blocks()) + 8 * u64::from(array.blocks_per_plane);
        slots * (open + 4 * planes + 4) + blocks
    }

    /// The superblock of a block, which may be one itself.
    const fn of(&self, block: BlockId) -> BlockId {
        BlockId::new(block.get() % self.array.blocks_per_plane)
    }

    fn at(&self, slot: usize, place: usize, plane: PlaneId) -> usize {
        (slot * OPEN + place) * self.planes + plane.index()
    }

    /// Units that a plane has left in an open superblock.
    fn left(&self, slot: usize, place: usize, plane: PlaneId) -> u32 {
        match self.opens[slot][place].superblock {
            0 => 0,
            _ => self.array.units_per_block() - self.next[self.at(slot, place, plane)],
        }
    }

    /// The first open superblock of a frontier that has room on a plane.
    fn place(&self, slot: usize, plane: PlaneId) -> Option<usize> {
        (0..OPEN).find(|&place| self.left(slot, place, plane) > 0)
    }

    /// So many more units of a plane are taken. With its last unit a superblock is open no longer.
    fn take(&mut self, slot: usize, place: usize, plane: PlaneId, units: u32) {
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
    fn unpromised(&self, slot: usize, plane: PlaneId) -> u32 {
        let program = self.array.program_units();
        let left: u32 = (0..OPEN).map(|place| self.left(slot, place, plane) / program).sum();
        left.saturating_sub(self.promised[slot * self.planes + plane.index()])
    }

    /// The plane with the most of something, the lowest number among equals; none where no plane
    /// has any.
    fn most(&self, of: impl Fn(PlaneId) -> u32) -> Option<PlaneId> {
        let planes = (0..self.array.all_planes()).map(PlaneId::new).rev();
        planes.max_by_key(|plane| of(*plane)).filter(|plane| of(*plane) > 0)
    }
}

/// Names of blocks and planes of the array.
impl Blocks {
    /// Whether superblocks are kept in place of blocks.
    #[inline]
    pub const fn are_united(&self) -> bool {
        self.superblocks.is_some()
    }

    /// What a block of the array counts as here.
    #[inline]
    pub(crate) fn home(&self, block: BlockId) -> BlockId {
        self.superblocks.as_ref().map_or(block, |superblocks| superblocks.of(block))
    }

    /// The same of the block of a unit.
    #[inline]
    pub(super) fn home_of(&self, ppn: Ppn) -> BlockId {
        match &self.superblocks {
            Some(superblocks) => superblocks.of(superblocks.array.block_of(ppn)),
            None => self.geometry.block_of(ppn),
        }
    }

    /// What a plane of the array counts as here.
    #[inline]
    pub(super) const fn pool_of(&self, plane: PlaneId) -> PlaneId {
        if self.superblocks.is_some() { PlaneId::new(0) } else { plane }
    }
}

impl Blocks {
    /// Blocks of the array that each one here stands for.
    pub(super) fn blocks_of_each(&self) -> usize {
        self.superblocks.as_ref().map_or(1, |superblocks| superblocks.planes)
    }
}

const UNITED: &str = "only where superblocks are kept";

/// What programs take.
impl Blocks {
    fn united(&self) -> &Superblocks {
        self.superblocks.as_ref().expect(UNITED)
    }

    fn united_mut(&mut self) -> &mut Superblocks {
        self.superblocks.as_mut().expect(UNITED)
    }

    fn row(&self, frontier: Frontier) -> usize {
        self.frontiers.slot(frontier).into()
    }

    /// Opens a free superblock behind those of a frontier that are open, if one is free.
    fn open_superblock(&mut self, slot: usize) -> Option<()> {
        let superblock = self.take_free(PlaneId::new(0))?;
        self.tags[superblock.index()] = u16::try_from(slot).expect("a place among frontiers");
        let left = self.geometry.units_per_block();
        let opens = &mut self.united_mut().opens[slot];
        let free = opens.iter_mut().find(|open| open.superblock == 0);
        let free =
            free.expect("copies that are promised room leave a plane less than a superblock");
        *free = Open { superblock: superblock.get() + 1, left };
        Some(())
    }

    /// See [`Blocks::take_unit`]. Copies have been promised theirs.
    #[cold]
    pub(super) fn take_united(
        &mut self,
        plane: PlaneId,
        frontier: Frontier,
    ) -> Option<(Ppn, bool)> {
        let slot = self.row(frontier);
        let opens = self.united().opens[slot][0].superblock == 0;
        if opens {
            self.open_superblock(slot)?;
        }
        let superblocks = self.united_mut();
        let place = superblocks.place(slot, plane)?;
        let (array, at) = (superblocks.array, superblocks.at(slot, place, plane));
        let unit = superblocks.next[at];
        let promise = slot * superblocks.planes + plane.index();
        if matches!(frontier, Frontier::CopiedData(_)) && unit.is_multiple_of(array.program_units())
        {
            superblocks.promised[promise] -= 1;
        }
        let number = superblocks.opens[slot][place].superblock - 1;
        superblocks.take(slot, place, plane, 1);
        let block = BlockId::new(array.first_block(plane).get() + number);
        Some((array.unit_of(block, unit), opens))
    }

    /// See [`Blocks::pad`].
    pub(super) fn pad_united(&mut self, plane: PlaneId, frontier: Frontier, missing: u32) {
        let slot = self.row(frontier);
        let superblocks = self.united_mut();
        let place = superblocks.place(slot, plane).expect("a program unit has begun");
        superblocks.take(slot, place, plane, missing);
    }

    /// See [`Blocks::next_page`].
    pub(super) fn next_united_page(&self, plane: PlaneId, frontier: Frontier) -> Option<u32> {
        let (superblocks, slot) = (self.united(), self.row(frontier));
        let place = superblocks.place(slot, plane)?;
        let next = superblocks.next[superblocks.at(slot, place, plane)];
        Some(next / superblocks.array.units_per_page)
    }

    /// See [`Blocks::has_open_block`].
    pub(super) fn has_united_room(&self, plane: PlaneId, frontier: Frontier) -> bool {
        self.united().place(self.row(frontier), plane).is_some()
    }

    /// Units that the open superblocks of a frontier can still take; a whole one where none is
    /// open.
    pub(super) fn united_room(&self, frontier: Frontier) -> u32 {
        let opens = &self.united().opens[self.row(frontier)];
        match opens.iter().map(|open| open.left).sum() {
            0 => self.geometry.units_per_block(),
            left => left,
        }
    }

    /// The plane, in the order of striping, whose turn it is to get what the host writes to a
    /// frontier: another one after each program unit, of which `units` are sent now.
    pub(crate) fn next_turn(&mut self, frontier: Frontier, units: u32) -> u32 {
        let slot = self.row(frontier);
        let superblocks = self.united_mut();
        let program = superblocks.array.program_units();
        let turn = superblocks.turns[slot];
        superblocks.turns[slot] = (turn + units) % (program * superblocks.array.all_planes());
        turn / program
    }

    /// Another plane that has room in the open superblock of a frontier: the one with the most.
    pub(crate) fn elsewhere(&self, plane: PlaneId, frontier: Frontier) -> Option<PlaneId> {
        let (superblocks, slot) = (self.united(), self.row(frontier));
        let full = superblocks.place(slot, plane).is_none();
        full.then(|| superblocks.most(|plane| superblocks.left(slot, 0, plane))).flatten()
    }

    /// Promises copies out of a block of a plane room for a program unit: on that plane, where it
    /// has any, else on the one that has the most. Returns the plane.
    pub(crate) fn promise(&mut self, plane: PlaneId, frontier: Frontier) -> PlaneId {
        let slot = self.row(frontier);
        let find = |superblocks: &Superblocks| match superblocks.unpromised(slot, plane) {
            0 => superblocks.most(|plane| superblocks.unpromised(slot, plane)),
            _ => Some(plane),
        };
        let found = find(self.united()).unwrap_or_else(|| {
            self.open_superblock(slot).expect("a job finds room for its copies");
            plane
        });
        let superblocks = self.united_mut();
        superblocks.promised[slot * superblocks.planes + found.index()] += 1;
        found
    }
}

/// What becomes of blocks.
impl Blocks {
    /// See [`Blocks::programmed`].
    #[cold]
    pub(super) fn programmed_united(&mut self, ppn: Ppn) {
        let superblocks = self.united_mut();
        let array = superblocks.array;
        let block = array.block_of(ppn);
        let is_last = array.unit_in_block(ppn) + array.program_units() >= array.units_per_block();
        if !is_last || std::mem::replace(&mut superblocks.closed[block.index()], true) {
            return;
        }
        let home = superblocks.of(block);
        let closed = &mut superblocks.closed_blocks[home.index()];
        *closed += 1;
        if *closed == array.all_planes() {
            self.fill(home);
        }
    }

    /// See [`Blocks::written_units`].
    pub(super) fn written_in(&self, block: BlockId) -> u32 {
        let superblocks = self.united();
        let home = superblocks.of(block);
        let units = superblocks.array.units_per_block();
        if self.full[home.index()] {
            return units;
        }
        let plane = superblocks.array.plane_of_block(block);
        let mut open =
            (0..superblocks.opens.len()).flat_map(|slot| (0..OPEN).map(move |at| (slot, at)));
        let open =
            open.find(|&(slot, place)| superblocks.opens[slot][place].superblock == home.get() + 1);
        match open {
            Some((slot, place)) => superblocks.next[superblocks.at(slot, place, plane)],
            // Its last programs are under way.
            None => {
                if superblocks.closed_blocks[home.index()] > 0 {
                    units
                } else {
                    0
                }
            }
        }
    }

    /// See [`Blocks::erased`]: with the last of its blocks a superblock is free.
    pub(super) fn erased_united(&mut self, block: BlockId) -> Freed {
        let superblocks = self.united_mut();
        let (home, planes) = (superblocks.of(block), superblocks.array.all_planes());
        superblocks.closed[block.index()] = false;
        superblocks.closed_blocks[home.index()] -= 1;
        let erased = &mut superblocks.erased_blocks[home.index()];
        *erased += 1;
        if *erased == planes {
            *erased = 0;
            self.lay_erased(home);
        }
        Freed::Free
    }
}

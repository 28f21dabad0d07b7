//! Blocks of the flash array: pools, open blocks (frontiers), valid counts, garbage collection
//! victims.
//!
//! Every vector starts as zeros that the operating system maps on first use, so a fresh device of
//! any size costs no time. Block numbers are stored plus one where 0 has to mean none.

mod cells;
mod full;
mod index;
mod lay;
mod members;
mod numbers;
mod planned;
mod slc;
mod superblock;
mod united;
mod wear;

use cells::Cells;
pub use cells::{CacheBlocks, SlcCache};
pub use full::FullBlocks;
use index::Index;
use superblock::Superblocks;
use wear::Heap;
pub use wear::{Care, Freed};

use super::links::Links;
use super::victim::{Rule, VictimRule};
use flashyard_core::geometry::Geometry;
use flashyard_core::units::{BlockId, PlaneId, Ppn};

/// Who fills an open block. A block holds units of one kind, data or map pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frontier {
    /// Map pages written back from the cache, or rewritten because their data moved.
    HostMap,
    /// Map pages copied by garbage collection.
    CopiedMap,
    /// Data copied by garbage collection, by how often it has been (0 for the first time) or,
    /// where streams stay apart, by stream.
    CopiedData(u8),
    /// Host writes, by stream.
    HostData(u8),
    /// Host writes of all streams, with one bit a cell.
    Slc,
    /// The journal of the map and its checkpoints, or a log of the map.
    Journal,
    /// Host writes of a zone, whose open blocks are not kept here.
    Zone(u32),
}

impl Frontier {
    /// Whether it writes map pages.
    pub const fn holds_map(self) -> bool {
        matches!(self, Self::HostMap | Self::CopiedMap)
    }
}

/// Which open blocks a plane has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frontiers {
    /// Frontiers of host data, at least 1.
    pub streams: u8,
    /// Frontiers of copied data; with 0 copies go where host data of stream 0 goes.
    pub generations: u8,
    /// Whether those are of streams, and data stay with their stream; otherwise they are of
    /// generations of copies.
    pub isolated: bool,
    /// Whether map pages are on flash.
    pub maps: bool,
    /// Whether copied map pages have a frontier of their own, not that of those written back.
    pub copied_maps: bool,
    /// Whether host data is written to blocks with one bit a cell.
    pub slc: bool,
    /// Whether there is a journal of the map, checkpoints, or a log of the map.
    pub journal: bool,
}

impl Frontiers {
    /// How many open blocks a plane may have.
    pub const fn count(self) -> u32 {
        let maps = if self.maps { 1 + self.copied_maps as u32 } else { 0 };
        self.data() as u32 + maps + self.journal as u32
    }

    /// Frontiers of copies that the data of a stream pass through.
    pub const fn passed(self) -> u8 {
        if self.isolated { 1 } else { self.generations }
    }

    /// How many of them are of data.
    const fn data(self) -> u16 {
        self.streams as u16 + self.generations as u16 + self.slc as u16
    }

    /// The place of a frontier among those of its plane.
    const fn slot(self, frontier: Frontier) -> u16 {
        match frontier {
            Frontier::HostMap => self.data(),
            Frontier::CopiedMap => self.data() + self.copied_maps as u16,
            Frontier::Slc => self.streams as u16 + self.generations as u16,
            Frontier::Journal => {
                self.data() + if self.maps { 1 + self.copied_maps as u16 } else { 0 }
            }
            Frontier::HostData(stream) => (stream % self.streams) as u16,
            Frontier::Zone(_) => panic!("zones have blocks of their own"),
            Frontier::CopiedData(_) if self.generations == 0 => 0,
            Frontier::CopiedData(generation) => {
                let last = self.generations - 1;
                self.streams as u16 + if generation < last { generation } else { last } as u16
            }
        }
    }

    /// The frontier that garbage collection copies from a block that `tag` was filled by.
    const fn for_copy(self, tag: u16) -> Frontier {
        let (streams, copied) = (self.streams as u16, self.generations as u16);
        if tag >= self.data() {
            return Frontier::CopiedMap;
        }
        let copies = if self.isolated {
            tag % streams
        } else if tag < streams || tag == streams + copied {
            0
        } else {
            tag - streams + 1
        };
        Frontier::CopiedData(copies.to_le_bytes()[0])
    }

    /// The stream whose data a block that `tag` was filled by holds; none for map pages, and where
    /// those of several may lie together.
    const fn stream_of(self, tag: u16) -> Option<u8> {
        let streams = self.streams as u16;
        if tag < streams && (tag > 0 || self.generations > 0) {
            Some(tag.to_le_bytes()[0])
        } else if self.isolated && tag < self.data() {
            Some((tag - streams).to_le_bytes()[0])
        } else {
            None
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct OpenBlock {
    /// Block + 1; 0 for none.
    block: u32,
    /// The next unit to program.
    next: u32,
}

#[derive(Clone, Debug, Default)]
struct Pool {
    /// Blocks that were never used start here.
    next_fresh: u32,
    /// Oldest and newest erased block, + 1.
    free_head: u32,
    free_tail: u32,
    free_blocks: u32,
    /// No full block has fewer valid units.
    least_valid: u32,
    /// Full blocks that gain.
    gaining: u32,
    /// Valid units of all its blocks.
    valid: u32,
    /// Blocks filled so far.
    fills: u64,
    /// Units written so far: the clock of ages.
    clock: u64,
    /// Erases of its most erased block.
    most_erases: u32,
    /// Worn-out blocks.
    worn: u32,
    /// The victim that a job has given up before its end, + 1; 0 for none.
    begun: u32,
    /// Where random numbers are.
    random: u64,
}

/// State of every block.
#[derive(Clone, Debug)]
pub struct Blocks {
    geometry: Geometry,
    frontiers: Frontiers,
    care: Care,
    pools: Vec<Pool>,
    /// The open blocks of all planes, `frontiers.count()` a plane.
    open: Vec<OpenBlock>,
    valid: Vec<u32>,
    erases: Vec<u32>,
    /// The frontier that fills or filled each block, by its place.
    tags: Vec<u16>,
    /// How many blocks of its plane had been filled when each block was, itself included.
    filled: Vec<u64>,
    /// Blocks that are never used: bad from the start, or worn out.
    bad: Vec<bool>,
    /// In the free list, or in the bucket of full blocks with equal valid counts.
    links: Links,
    full: Vec<bool>,
    /// Oldest and newest full block + 1, by plane and valid count.
    bucket_head: Vec<u32>,
    bucket_tail: Vec<u32>,
    /// What the rule for victims looks at beside the buckets.
    index: Index,
    /// Blocks of each plane by their number of erases: free blocks for dynamic wear levelling, full
    /// blocks for static wear levelling. Empty without.
    least_free: Vec<Heap>,
    least_full: Vec<Heap>,
    /// Blocks that are used with one bit a cell, where there are such.
    cells: Option<Box<Cells>>,
    /// Superblocks in place of blocks, where they are kept.
    superblocks: Option<Box<Superblocks>>,
}

crate::saved::saved!(OpenBlock { block, next });
crate::saved::saved!(Pool {
    next_fresh,
    free_head,
    free_tail,
    free_blocks,
    least_valid,
    valid,
    fills,
    clock,
    most_erases,
    worn,
    begun,
    random,
} skip { gaining });
crate::saved::saved!(Blocks {
    pools, open, valid, erases, tags, filled, bad, links, full, bucket_head, bucket_tail,
    index, cells, superblocks,
} skip { geometry, frontiers, care, least_free, least_full });

impl Blocks {
    /// All blocks but bad ones erased and free.
    pub fn new(array: Geometry, frontiers: Frontiers, care: Care) -> Self {
        let superblocks =
            care.united.then(|| Superblocks::new(array, frontiers.count(), care.losses()));
        let geometry = if care.united { array.united() } else { array };
        let blocks = geometry.blocks() as usize;
        let planes = geometry.all_planes() as usize;
        let buckets = planes * (geometry.units_per_block() as usize + 1);
        let pool = Pool { free_blocks: geometry.blocks_per_plane, ..Pool::default() };
        let looks = care.rule.looks();
        let mut made = Self {
            geometry,
            frontiers,
            pools: vec![pool; planes],
            open: vec![OpenBlock::default(); planes * frontiers.count() as usize],
            valid: vec![0; blocks],
            erases: vec![0; blocks],
            tags: vec![0; blocks],
            filled: vec![0; blocks],
            bad: vec![false; blocks],
            links: Links::new(blocks),
            full: vec![false; blocks],
            bucket_head: vec![0; buckets],
            bucket_tail: vec![0; buckets],
            index: Index::new(looks, planes, blocks, geometry.units_per_block()),
            least_free: Care::heaps(care.dynamic, planes),
            least_full: Care::heaps(care.static_gap > 0, planes),
            cells: Cells::new(care.slc, blocks, planes),
            superblocks,
            care,
        };
        made.mark_factory_bad();
        made.set_cells_aside();
        made
    }

    /// Bytes that they take in the simulator's memory: of blocks, and of what has an entry for each
    /// number of valid units.
    pub(crate) fn bytes(geometry: &Geometry, frontiers: Frontiers, care: &Care) -> (u64, u64) {
        let (shape, of_superblocks) = if care.united {
            (geometry.united(), Superblocks::bytes(geometry, frontiers.count(), care.losses()))
        } else {
            (*geometry, 0)
        };
        let (planes, blocks) = (u64::from(shape.all_planes()), u64::from(shape.blocks()));
        let units = shape.units_per_block();
        let (listed, by_number) = Index::bytes(care.rule.looks(), planes, blocks, units);
        // Numbers of valid units and of erases, two links; when it was filled; its frontier, two
        // marks.
        let each = 4 * 4 + 8 + 2 + 2;
        // In the heaps: erases, when it was filled, its number; full blocks are in theirs twice.
        let heaps = u64::from(care.dynamic) + 2 * u64::from(care.static_gap > 0);
        let heap_bytes = size_of::<(u32, u64, u32)>() as u64;
        let open = u64::from(frontiers.count()) * size_of::<OpenBlock>() as u64;
        let pools = planes * (size_of::<Pool>() as u64 + open);
        let buckets = planes * (u64::from(units) + 1) * 8;
        let cells = if care.slc.is_some() { Cells::bytes(planes, blocks) } else { 0 };
        let of_blocks = blocks * (each + heaps * heap_bytes) + listed + pools + cells;
        (of_blocks + of_superblocks, buckets + by_number)
    }

    /// Free blocks of a plane.
    pub fn free_blocks(&self, plane: PlaneId) -> u32 {
        self.pools[self.pool_of(plane).index()].free_blocks
    }

    /// Valid units of a plane.
    pub fn valid_of_plane(&self, plane: PlaneId) -> u32 {
        self.pools[self.pool_of(plane).index()].valid
    }

    /// Valid units of a block, or of the superblock that it is part of.
    pub fn valid_units(&self, block: BlockId) -> u32 {
        self.valid[self.home(block).index()]
    }

    /// Whether a block holds map pages.
    pub fn holds_map(&self, block: BlockId) -> bool {
        self.tag(block) >= self.frontiers.data()
    }

    /// The frontier that fills or filled a block, by its place.
    fn tag(&self, block: BlockId) -> u16 {
        self.tags[self.home(block).index()]
    }

    /// How far a block that no job is collecting has been programmed, in units.
    pub fn written_units(&self, block: BlockId) -> u32 {
        if self.are_united() {
            return self.written_in(block);
        }
        let plane = self.geometry.plane_of_block(block).index();
        if self.full[block.index()] || self.pools[plane].begun == block.get() + 1 {
            return self.geometry.units_per_block();
        }
        if self.is_filled_cached(block) {
            return self.units_of(block);
        }
        let count = self.frontiers.count() as usize;
        let first = plane * count;
        let open = self.open[first..first + count].iter().find(|o| o.block == block.get() + 1);
        open.map_or(0, |open| open.next)
    }

    /// The frontier that valid units of a block are copied to.
    pub fn copy_frontier(&self, block: BlockId) -> Frontier {
        self.frontiers.for_copy(self.tag(block))
    }

    /// Where data of several streams are kept apart: the stream whose data a block holds or, where
    /// those of several may lie together, the number of streams; none for map pages.
    pub fn placed_in(&self, block: BlockId) -> Option<u8> {
        let streams = self.frontiers.streams;
        let apart = streams > 1 && !self.holds_map(block);
        apart.then(|| self.frontiers.stream_of(self.tag(block)).unwrap_or(streams))
    }

    /// Whose open block a block of data is or was: that of a stream or, where copies of several
    /// share one, the number of streams.
    pub fn filled_by(&self, block: BlockId) -> u8 {
        let Frontiers { streams, .. } = self.frontiers;
        match self.tag(block) {
            tag if tag < u16::from(streams) => tag.to_le_bytes()[0],
            tag => self.frontiers.stream_of(tag).unwrap_or(streams),
        }
    }

    /// Placement handles.
    pub const fn handles(&self) -> u8 {
        self.frontiers.streams
    }

    /// How often a block has been erased.
    pub fn erases_of(&self, block: BlockId) -> u32 {
        match self.members() {
            Some(members) => members.erases[block.index()],
            None => self.erases[self.home(block).index()],
        }
    }

    /// Whether copies are put into the open block of a frontier too.
    pub const fn copies_share(&self, frontier: Frontier) -> bool {
        match frontier {
            Frontier::HostData(stream) => {
                self.frontiers.generations == 0 && stream % self.frontiers.streams == 0
            }
            Frontier::HostMap => !self.frontiers.copied_maps,
            Frontier::CopiedMap
            | Frontier::CopiedData(_)
            | Frontier::Slc
            | Frontier::Journal
            | Frontier::Zone(_) => false,
        }
    }

    /// Whether a frontier can program without a new block.
    pub fn has_open_block(&self, plane: PlaneId, frontier: Frontier) -> bool {
        if self.are_united() {
            return self.has_united_room(plane, frontier);
        }
        self.open[self.slot(plane, frontier)].block != 0
    }

    /// Takes the next unit of a frontier, opening a free block where none is open. Returns the unit
    /// and whether a block was opened; `None` where the plane has no free block or, with
    /// superblocks, no room in the one that is open.
    pub fn take_unit(&mut self, plane: PlaneId, frontier: Frontier) -> Option<(Ppn, bool)> {
        if self.are_united() {
            return self.take_united(plane, frontier);
        }
        let slot = self.slot(plane, frontier);
        let mut open = self.open[slot];
        let opened = open.block == 0;
        if opened {
            let block = self.take_for(plane, frontier)?;
            self.tags[block.index()] = self.frontiers.slot(frontier);
            open = OpenBlock { block: block.get() + 1, next: 0 };
        }
        let ppn = self.geometry.unit_of(BlockId::new(open.block - 1), open.next);
        open.next += 1;
        if open.next == self.units_of(BlockId::new(open.block - 1)) {
            open = OpenBlock::default();
        }
        self.open[slot] = open;
        Some((ppn, opened))
    }

    /// Takes a free block for a frontier.
    fn take_for(&mut self, plane: PlaneId, frontier: Frontier) -> Option<BlockId> {
        if frontier == Frontier::Slc {
            return self.take_cached(plane);
        }
        let block = self.take_free(plane)?;
        if let Some(cells) = &mut self.cells {
            cells.leave(block);
        }
        Some(block)
    }

    /// Leaves the rest of the program unit that begins with `first` empty, behind `taken` units.
    pub fn pad(&mut self, plane: PlaneId, frontier: Frontier, taken: u32) {
        let of_cells = if frontier == Frontier::Slc { self.cells.as_deref() } else { None };
        let (program, units) = match of_cells {
            Some(Cells { cache, .. }) => (cache.program_units, cache.block_units),
            None => (self.geometry.program_units(), self.geometry.units_per_block()),
        };
        let missing = program - taken;
        if missing == 0 {
            return;
        }
        if self.are_united() {
            return self.pad_united(plane, frontier, missing);
        }
        let slot = self.slot(plane, frontier);
        let open = &mut self.open[slot];
        open.next += missing;
        if open.next == units {
            *open = OpenBlock::default();
        }
    }

    /// Ends the program unit that each open block is in: what follows begins a new one. For states
    /// that were written without operations.
    pub fn end_programs(&mut self) {
        let units = self.geometry.program_units();
        for slot in 0..self.open.len() {
            // No such state has a cache.
            let OpenBlock { block, next } = self.open[slot];
            let end = next.next_multiple_of(units);
            if block != 0 && end == self.geometry.units_per_block() {
                self.programmed(self.geometry.unit_of(BlockId::new(block - 1), end - 1));
                self.open[slot] = OpenBlock::default();
            } else {
                self.open[slot].next = end;
            }
        }
    }

    /// The page, counted inside its block, that a frontier programs next; `None` where it would
    /// open a block.
    pub fn next_page(&self, plane: PlaneId, frontier: Frontier) -> Option<u32> {
        if self.are_united() {
            return self.next_united_page(plane, frontier);
        }
        let open = self.open[self.slot(plane, frontier)];
        (open.block != 0).then(|| open.next / self.geometry.units_per_page)
    }

    /// A program unit that holds `ppn` has been programmed: its block becomes a possible victim
    /// with its last one.
    pub fn programmed(&mut self, ppn: Ppn) {
        if self.are_united() {
            return self.programmed_united(ppn);
        }
        if self.is_slc(self.geometry.block_of(ppn)) {
            return self.programmed_cached(ppn);
        }
        let units = self.geometry.units_per_block();
        if self.geometry.unit_in_block(ppn) + self.geometry.program_units() >= units {
            let block = self.geometry.block_of(ppn);
            if !self.full[block.index()] {
                self.fill(block);
            }
        }
    }

    /// A unit holds the newest contents of a logical unit or map page.
    pub fn validate(&mut self, ppn: Ppn) {
        self.change_valid(self.home_of(ppn), 1);
    }

    /// A unit no longer does.
    pub fn invalidate(&mut self, ppn: Ppn) {
        self.change_valid(self.home_of(ppn), -1);
    }

    /// The next block of a plane to clean; `None` if no full block gains: copying any of them would
    /// take as many program units as its erase frees.
    pub fn victim(&mut self, plane: PlaneId) -> Option<BlockId> {
        self.search(plane, true).map(|(victim, _)| victim)
    }

    /// The same, and at how many blocks the rule looked to find it. Unless `by_rule` it is the one
    /// with the fewest valid units of all, whatever the rule.
    pub fn search(&mut self, plane: PlaneId, by_rule: bool) -> Option<(BlockId, u64)> {
        let plane = self.pool_of(plane);
        let rule = self.care.rule.clone();
        let mut full = FullBlocks::new(self, plane);
        let victim = if by_rule { rule.victim(&mut full) } else { full.fewest_of_all() }?;
        let searches = full.searches();
        if matches!(rule, Rule::Own(_)) {
            let is_right = self.geometry.plane_of_block(victim) == plane
                && self.full[victim.index()]
                && self.gains(victim);
            assert!(is_right, "the rule's victim {victim:?} is no full block that gains");
        }
        Some((victim, searches))
    }

    /// Takes a victim out of the candidates; it stays full until it is erased.
    pub fn claim(&mut self, block: BlockId) {
        assert!(self.full[block.index()], "{block:?} is not full");
        self.unlink(block);
        self.full[block.index()] = false;
        self.index_claimed(block);
    }

    /// Gives up a claimed victim in its present state. It is the next victim of its plane.
    pub fn set_aside(&mut self, block: BlockId) {
        let pool = &mut self.pools[self.geometry.plane_of_block(block).index()];
        assert_eq!(pool.begun, 0, "a plane gives up one victim at a time");
        pool.begun = block.get() + 1;
    }

    /// Gives up a block that a job was emptying; with superblocks the one that it is part of, which
    /// the jobs of all planes give up once.
    pub fn give_up(&mut self, block: BlockId) {
        if self.is_slc(block) { self.give_up_fold(block) } else { self.set_aside(self.home(block)) }
    }

    /// Takes the victim that was given up, which is claimed already.
    pub fn take_begun(&mut self, plane: PlaneId) -> Option<BlockId> {
        let pool = self.pool_of(plane);
        std::mem::take(&mut self.pools[pool.index()].begun).checked_sub(1).map(BlockId::new)
    }

    /// Units that can be programmed before another block is erased: those of free blocks and what
    /// is left of open ones; those of all planes where superblocks are kept.
    pub fn spare_units(&self, plane: PlaneId) -> u64 {
        let units = u64::from(self.geometry.units_per_block());
        if self.are_united() {
            return u64::from(self.free_blocks(plane)) * units + self.united_left();
        }
        let count = self.frontiers.count() as usize;
        let first = plane.index() * count;
        let open = self.open[first..first + count].iter().filter(|open| {
            open.block.checked_sub(1).is_some_and(|block| !self.is_slc(BlockId::new(block)))
        });
        let left: u64 = open.map(|open| units - u64::from(open.next)).sum();
        u64::from(self.free_blocks(plane)) * units + left
    }

    /// Units that the open blocks of a frontier can still take, one of each plane; a plane where
    /// none is open opens a whole one with the next unit.
    pub fn open_room(&self, frontier: Frontier) -> u64 {
        if self.are_united() {
            return self.united_room(frontier).into();
        }
        let units = self.geometry.units_per_block();
        let planes = (0..self.geometry.all_planes()).map(PlaneId::new);
        let open = planes.map(|plane| self.open[self.slot(plane, frontier)]);
        open.map(|open| u64::from(units - open.next)).sum()
    }

    fn slot(&self, plane: PlaneId, frontier: Frontier) -> usize {
        plane.index() * self.frontiers.count() as usize + self.frontiers.slot(frontier) as usize
    }

    fn change_valid(&mut self, block: BlockId, change: i32) {
        let index = block.index();
        let count = self.valid[index].checked_add_signed(change);
        let count = count.expect("a block has no fewer than 0 valid units");
        let plane = self.geometry.plane_of_block(block);
        let pool = &mut self.pools[plane.index()];
        pool.clock += u64::from(change > 0);
        let all = pool.valid.checked_add_signed(change);
        pool.valid = all.expect("a plane has no fewer than 0 valid units");
        let listed = self.full[index];
        if listed {
            self.unlink(block);
        }
        self.valid[index] = count;
        if listed {
            self.link(block);
            self.index_changed(block);
        }
    }
}

#[cfg(test)]
mod tests;

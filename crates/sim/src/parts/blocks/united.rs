//! From blocks and units of the array to superblocks and back, where these are kept in place of
//! blocks.

use super::members::Members;
use super::superblock::{OPEN, Open, Superblocks};
use super::{Blocks, Freed, Frontier};
use flashyard_core::units::{BlockId, PlaneId, Ppn};

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
    /// The block of a superblock on a plane.
    pub(crate) fn block_of(&self, plane: PlaneId, superblock: BlockId) -> BlockId {
        self.united().block(plane, superblock)
    }

    /// Which blocks superblocks have, where some are bad or wear out.
    pub(super) fn members(&self) -> Option<&Members> {
        self.superblocks.as_ref()?.members.as_deref()
    }

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

    /// Its place among frontiers, which several may share.
    pub(crate) fn row(&self, frontier: Frontier) -> usize {
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
        let block = superblocks.open_block(slot, place, plane);
        superblocks.take(slot, place, plane, 1);
        Some((array.unit_of(block, unit), opens))
    }

    /// See [`Blocks::pad`].
    pub(super) fn pad_united(&mut self, plane: PlaneId, frontier: Frontier, missing: u32) {
        let slot = self.row(frontier);
        let superblocks = self.united_mut();
        let place = superblocks.place(slot, plane).expect("a program unit has begun");
        superblocks.take(slot, place, plane, missing);
    }

    /// The program unit that a plane has begun is programmed as it is: what it lacks stays empty.
    pub(crate) fn end_program(&mut self, plane: PlaneId, frontier: Frontier) {
        let slot = self.row(frontier);
        let superblocks = self.united();
        let Some(place) = superblocks.place(slot, plane) else { return };
        let (array, next) =
            (superblocks.array, superblocks.next[superblocks.at(slot, place, plane)]);
        let missing = next.next_multiple_of(array.program_units()) - next;
        if missing > 0 {
            let block = superblocks.open_block(slot, place, plane);
            self.pad_united(plane, frontier, missing);
            self.programmed_united(array.unit_of(block, next + missing - 1));
        }
    }

    /// What is written to a frontier next goes to the next plane.
    pub(crate) fn end_turns(&mut self, frontier: Frontier) {
        let slot = self.row(frontier);
        let superblocks = self.united_mut();
        let (program, round) = (superblocks.array.program_units(), superblocks.round());
        let turn = &mut superblocks.turns[slot];
        *turn = turn.next_multiple_of(program) % round;
    }

    /// Every block of a superblock has been filled.
    pub(super) fn lay_closed(&mut self, superblock: BlockId) {
        let Some(superblocks) = &mut self.superblocks else { return };
        for plane in (0..superblocks.array.all_planes()).map(PlaneId::new) {
            superblocks.close(superblocks.block(plane, superblock));
        }
    }

    /// A superblock is open, and its first so many units, whole program units, have been written:
    /// to the planes in turn.
    pub(super) fn lay_open_united(&mut self, superblock: BlockId, frontier: Frontier, units: u32) {
        let (slot, left) = (self.row(frontier), self.geometry.units_per_block() - units);
        let superblocks = self.united_mut();
        let (array, program) = (superblocks.array, superblocks.array.program_units());
        let round = superblocks.round();
        superblocks.opens[slot][0] = Open { superblock: superblock.get() + 1, left };
        superblocks.turns[slot] = units % round;
        for stripe in 0..array.all_planes() {
            let more = if stripe * program < units % round { program } else { 0 };
            let plane = array.plane_of_stripe(stripe);
            let at = superblocks.at(slot, 0, plane);
            superblocks.next[at] = units / round * program + more;
            if superblocks.next[at] == array.units_per_block() {
                superblocks.close(superblocks.block(plane, superblock));
            }
        }
    }

    /// The unit of the array that is a unit of superblocks, counted in the order in which these are
    /// filled; where there are none, that unit itself.
    #[inline]
    pub(crate) fn in_array(&self, unit: Ppn) -> Ppn {
        let Some(superblocks) = &self.superblocks else { return unit };
        let (array, program) = (superblocks.array, superblocks.array.program_units());
        let (superblock, unit) = (self.geometry.block_of(unit), self.geometry.unit_in_block(unit));
        let round = superblocks.round();
        let plane = array.plane_of_stripe(unit % round / program);
        array.unit_of(superblocks.block(plane, superblock), unit / round * program + unit % program)
    }

    /// Whether a block of a superblock under collection is erased already.
    pub(crate) fn is_erased_of(&self, block: BlockId) -> bool {
        !self.united().closed[block.index()]
    }

    /// Whether the next unit of a frontier opens a superblock.
    pub(crate) fn is_between_superblocks(&self, frontier: Frontier) -> bool {
        self.united().opens[self.row(frontier)][0].superblock == 0
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

    /// Units that all open superblocks can still take.
    pub(super) fn united_left(&self) -> u64 {
        self.united().opens.iter().flatten().map(|open| u64::from(open.left)).sum()
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
        superblocks.turns[slot] = (turn + units) % superblocks.round();
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
    /// Copies that were promised room of superblocks do not come any more.
    pub(crate) fn forget_promises(&mut self) {
        if let Some(superblocks) = &mut self.superblocks {
            superblocks.promised.fill(0);
        }
    }

    /// See [`Blocks::programmed`].
    #[cold]
    pub(super) fn programmed_united(&mut self, ppn: Ppn) {
        let superblocks = self.united_mut();
        let array = superblocks.array;
        let block = array.block_of(ppn);
        let is_last = array.unit_in_block(ppn) + array.program_units() >= array.units_per_block();
        let home = superblocks.of(block);
        if is_last && superblocks.close(block) {
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
            // Its last programs are under way, or it is collected and some blocks are erased.
            None => {
                if superblocks.closed[block.index()] {
                    units
                } else {
                    0
                }
            }
        }
    }

    /// See [`Blocks::erased`]: with the last of its blocks a superblock is free, or retired where
    /// one of them has worn out.
    pub(super) fn erased_united(&mut self, block: BlockId) -> Freed {
        self.erase_of_superblock(block, self.care.endurance)
    }

    /// The same of a block of each plane, for states that are made without operations, which wear
    /// none out.
    pub(crate) fn lay_erased_united(&mut self, block: BlockId) {
        self.erase_of_superblock(block, 0);
    }

    fn erase_of_superblock(&mut self, block: BlockId, endurance: u32) -> Freed {
        let superblocks = self.united_mut();
        let (home, planes) = (superblocks.of(block), superblocks.array.all_planes());
        superblocks.closed[block.index()] = false;
        superblocks.closed_blocks[home.index()] -= 1;
        let mut freed = Freed::Free;
        if let Some(members) = &mut superblocks.members {
            let erases = &mut members.erases[block.index()];
            *erases += 1;
            if Self::bears_no_more(endurance, *erases, block) {
                members.bad[block.index()] = true;
                freed = Freed::WornOut;
            }
        }
        let erased = &mut superblocks.erased_blocks[home.index()];
        *erased += 1;
        if *erased == planes {
            *erased = 0;
            self.superblock_erased(home);
        }
        freed
    }

    /// All blocks of a superblock have been erased: it is free, unless one has worn out. What is
    /// good of it may then make another one whole.
    fn superblock_erased(&mut self, home: BlockId) {
        if self.members().is_none_or(|members| members.is_whole(home.get())) {
            return self.lay_erased(home);
        }
        self.count_erase(home);
        self.bad[home.index()] = true;
        let superblocks = self.superblocks.as_mut().expect(UNITED);
        let members = superblocks.members.as_mut().expect("one has a bad block");
        match members.assemble(&self.bad) {
            Some(whole) => {
                self.bad[whole as usize] = false;
                self.free(BlockId::new(whole));
            }
            None => self.pools[0].worn += 1,
        }
    }
}

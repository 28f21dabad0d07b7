//! What rules for victims look at beside the buckets.

use super::Blocks;
use super::numbers::Numbers;
use crate::parts::links::Links;
use crate::parts::victim::Looks;
use crate::saved::{Reader, RestoreError, Saved, Writer};
use flashyard_core::units::{BlockId, PlaneId};

/// What is kept for the rule; lists that it does not look at are not there.
#[derive(Clone, Debug)]
pub(super) struct Index {
    looks: Looks,
    planes: usize,
    blocks: usize,
    units: u32,
    pub(super) order: Option<Order>,
    random: Option<Members>,
    /// The full blocks that gain, by number.
    pub(super) numbers: Option<Numbers>,
    /// The clock of its plane when each full block was last changed.
    pub(super) ages: Option<Vec<u64>>,
    /// The device was saved under another rule: the lists are to be made anew.
    stale: bool,
}

/// Full blocks in the order in which they were filled.
#[derive(Clone, Debug)]
pub(super) struct Order {
    /// The oldest and the newest full block of each plane, + 1.
    pub(super) ends: Vec<[u32; 2]>,
    links: Links,
}

/// The full blocks that gain, in any order behind the first block of their plane.
#[derive(Clone, Debug)]
pub(super) struct Members {
    pub(super) blocks: Vec<u32>,
    /// The place + 1 of each of them there.
    places: Vec<u32>,
    /// How many a plane has.
    counts: Vec<u32>,
}

impl Index {
    pub(super) fn new(looks: Looks, planes: usize, blocks: usize, units: u32) -> Self {
        let order = || Order { ends: vec![[0; 2]; planes], links: Links::new(blocks) };
        let members = || Members {
            blocks: vec![0; blocks],
            places: vec![0; blocks],
            counts: vec![0; planes],
        };
        Self {
            looks,
            planes,
            blocks,
            units,
            order: looks.has(Looks::ORDER).then(order),
            random: looks.has(Looks::RANDOM).then(members),
            numbers: looks.has(Looks::NUMBERS).then(|| Numbers::new(planes, blocks, units)),
            ages: looks.has(Looks::AGE).then(|| vec![0; blocks]),
            stale: false,
        }
    }

    /// Bytes of the lists, by block; and of what has an entry for each number of valid units.
    pub(super) fn bytes(looks: Looks, planes: u64, blocks: u64, units: u32) -> (u64, u64) {
        let lists = [Looks::ORDER, Looks::RANDOM, Looks::AGE];
        let of_lists: u64 = lists.into_iter().map(|list| 8 * u64::from(looks.has(list))).sum();
        let numbers = looks.has(Looks::NUMBERS);
        let by_number = if numbers { Numbers::bytes(planes, blocks, units) } else { 0 };
        (blocks * (of_lists + 4 * u64::from(numbers)), by_number)
    }

    pub(super) fn link_order(&mut self, plane: PlaneId, block: BlockId) {
        let Some(Order { ends, links }) = &mut self.order else { return };
        links.push(block.get(), ends[plane.index()].each_mut());
    }

    pub(super) fn unlink_order(&mut self, plane: PlaneId, block: BlockId) {
        let Some(Order { ends, links }) = &mut self.order else { return };
        links.remove(block.get(), ends[plane.index()].each_mut());
    }

    /// The full blocks that gain.
    pub(super) fn members(&self) -> &Members {
        self.random.as_ref().expect("only of a rule that looks at Looks::RANDOM")
    }

    pub(super) fn swap_members(&mut self, one: u32, other: u32) {
        let Some(Members { blocks, places, .. }) = &mut self.random else { return };
        let (a, b) = (blocks[one as usize], blocks[other as usize]);
        (blocks[one as usize], blocks[other as usize]) = (b, a);
        (places[b as usize], places[a as usize]) = (one + 1, other + 1);
    }

    /// A block is one of those that gain, or is not; `first` is the first block of its plane.
    fn set_member(&mut self, plane: PlaneId, first: BlockId, block: BlockId, gains: bool) {
        let Some(Members { blocks, places, counts }) = &mut self.random else { return };
        let (place, count) = (places[block.index()], &mut counts[plane.index()]);
        if gains == (place > 0) {
            return;
        }
        if gains {
            let last = first.get() + *count;
            *count += 1;
            blocks[last as usize] = block.get();
            places[block.index()] = last + 1;
        } else {
            *count -= 1;
            let moved = blocks[(first.get() + *count) as usize];
            blocks[place as usize - 1] = moved;
            places[moved as usize] = place;
            places[block.index()] = 0;
        }
    }
}

/// The order is that of the times of filling, which are saved anyway, as is what is valid.
impl Saved for Index {
    fn save(&self, to: &mut Writer<'_>) {
        self.looks.code().save(to);
        if let Some(Members { blocks, places, counts }) = &self.random {
            blocks.save(to);
            places.save(to);
            counts.save(to);
        }
        if let Some(numbers) = &self.numbers {
            numbers.cursors.save(to);
        }
        if let Some(ages) = &self.ages {
            ages.save(to);
        }
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), RestoreError> {
        let mut code = 0u8;
        code.load(from)?;
        let looks = Looks::of_code(code).ok_or(RestoreError::Corrupt)?;
        let mut saved = Self::new(looks, self.planes, self.blocks, self.units);
        if let Some(Members { blocks, places, counts }) = &mut saved.random {
            blocks.load(from)?;
            places.load(from)?;
            counts.load(from)?;
        }
        if let Some(numbers) = &mut saved.numbers {
            numbers.cursors.load(from)?;
        }
        if let Some(ages) = &mut saved.ages {
            ages.load(from)?;
        }
        if saved.looks == self.looks {
            *self = saved;
        } else {
            self.stale = true;
        }
        Ok(())
    }
}

impl Blocks {
    pub(super) fn index_filled(&mut self, block: BlockId) {
        if self.index.order.is_some() {
            self.index.link_order(self.geometry.plane_of_block(block), block);
        }
        self.index_changed(block);
    }

    /// A full block has another number of valid units.
    pub(super) fn index_changed(&mut self, block: BlockId) {
        if !self.index.looks.has(Looks::CHANGING) {
            return;
        }
        self.index_member(block);
        self.index_number(block);
        if let Some(ages) = &mut self.index.ages {
            ages[block.index()] = self.pools[self.geometry.plane_of_block(block).index()].clock;
        }
    }

    fn index_member(&mut self, block: BlockId) {
        if self.index.random.is_some() {
            let plane = self.geometry.plane_of_block(block);
            let gains = self.gains(block);
            self.index.set_member(plane, self.geometry.first_block(plane), block, gains);
        }
    }

    fn index_number(&mut self, block: BlockId) {
        let gains = self.index.numbers.is_some() && self.gains(block);
        if let Some(numbers) = &mut self.index.numbers {
            let plane = self.geometry.plane_of_block(block);
            let valid = self.valid[block.index()];
            numbers.set(plane, block, gains.then_some(valid));
        }
    }

    /// A full block is no longer a possible victim.
    pub(super) fn index_claimed(&mut self, block: BlockId) {
        let plane = self.geometry.plane_of_block(block);
        self.index.unlink_order(plane, block);
        if let Some(numbers) = &mut self.index.numbers {
            numbers.set(plane, block, None);
        }
        if self.index.random.is_some() {
            self.index.set_member(plane, self.geometry.first_block(plane), block, false);
        }
    }

    /// Makes what is not saved after everything else has been loaded. Ages under a rule that the
    /// device was not saved under count from now on, and blocks to draw come by number.
    pub(crate) fn restored(&mut self) {
        let all = (0..self.full.len()).filter(|block| self.full[*block]);
        let mut all: Vec<BlockId> = all.map(BlockId::from_index).collect();
        for &block in &all {
            let plane = self.geometry.plane_of_block(block);
            self.pools[plane.index()].gaining += u32::from(self.gains(block));
            self.index_number(block);
            if self.index.stale {
                self.index_changed(block);
            }
        }
        if self.index.order.is_some() {
            all.sort_by_key(|block| self.filled[block.index()]);
            for block in all {
                self.index.link_order(self.geometry.plane_of_block(block), block);
            }
        }
        self.index.stale = false;
        self.restore_heaps();
    }
}

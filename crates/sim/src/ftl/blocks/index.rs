//! What rules for victims look at beside the buckets.

use super::Blocks;
use super::numbers::Numbers;
use crate::ftl::victim::Looks;
use crate::saved::{Reader, RestoreError, Saved, Writer};
use flashyard_core::units::{BlockId, PlaneId};

/// What is kept for the rule.
#[derive(Debug)]
pub(super) struct Index {
    looks: Looks,
    planes: usize,
    blocks: usize,
    units: u32,
    pub(super) lists: Lists,
    /// The device was saved under another rule: the lists are to be made anew.
    stale: bool,
}

/// The lists of an index.
#[derive(Debug)]
pub(super) enum Lists {
    /// None.
    None,
    /// The oldest and the newest full block of each plane, and those before and behind each, + 1.
    Order { ends: Vec<[u32; 2]>, links: Vec<[u32; 2]> },
    /// The full blocks that gain, in any order behind the first block of their plane; the place + 1
    /// of each of them there; how many a plane has.
    Random { members: Vec<u32>, places: Vec<u32>, counts: Vec<u32> },
    /// The full blocks that gain, by number.
    Numbers(Numbers),
    /// The clock of its plane when each full block was last changed.
    Age { stamps: Vec<u64> },
}

impl Index {
    pub(super) fn new(looks: Looks, planes: usize, blocks: usize, units: u32) -> Self {
        let lists = match looks {
            Looks::AtBuckets => Lists::None,
            Looks::AtOrder => {
                Lists::Order { ends: vec![[0; 2]; planes], links: vec![[0; 2]; blocks] }
            }
            Looks::AtRandom => Lists::Random {
                members: vec![0; blocks],
                places: vec![0; blocks],
                counts: vec![0; planes],
            },
            Looks::AtNumbers => Lists::Numbers(Numbers::new(planes, blocks, units)),
            Looks::AtAge => Lists::Age { stamps: vec![0; blocks] },
        };
        Self { looks, planes, blocks, units, lists, stale: false }
    }

    /// Bytes of the lists, by block; and of what has an entry for each number of valid units.
    pub(super) fn bytes(looks: Looks, planes: u64, blocks: u64, units: u32) -> (u64, u64) {
        match looks {
            Looks::AtBuckets => (0, 0),
            Looks::AtOrder | Looks::AtRandom | Looks::AtAge => (8 * blocks, 0),
            Looks::AtNumbers => (4 * blocks, Numbers::bytes(planes, blocks, units)),
        }
    }

    pub(super) fn link_order(&mut self, plane: PlaneId, block: BlockId) {
        let Lists::Order { ends, links } = &mut self.lists else { return };
        let newest = std::mem::replace(&mut ends[plane.index()][1], block.get() + 1);
        links[block.index()] = [newest, 0];
        match newest {
            0 => ends[plane.index()][0] = block.get() + 1,
            newest => links[newest as usize - 1][1] = block.get() + 1,
        }
    }

    pub(super) fn unlink_order(&mut self, plane: PlaneId, block: BlockId) {
        let Lists::Order { ends, links } = &mut self.lists else { return };
        let [before, behind] = links[block.index()];
        match before {
            0 => ends[plane.index()][0] = behind,
            before => links[before as usize - 1][1] = behind,
        }
        match behind {
            0 => ends[plane.index()][1] = before,
            behind => links[behind as usize - 1][0] = before,
        }
    }

    /// Full blocks that gain, and how many each plane has.
    pub(super) fn members(&self) -> (&[u32], &[u32]) {
        let Lists::Random { members, counts, .. } = &self.lists else {
            unreachable!("only of a rule that draws")
        };
        (members, counts)
    }

    pub(super) fn swap_members(&mut self, one: u32, other: u32) {
        let Lists::Random { members, places, .. } = &mut self.lists else { return };
        let (a, b) = (members[one as usize], members[other as usize]);
        (members[one as usize], members[other as usize]) = (b, a);
        (places[b as usize], places[a as usize]) = (one + 1, other + 1);
    }

    /// A block is one of those that gain, or is not; `first` is the first block of its plane.
    fn set_member(&mut self, plane: PlaneId, first: BlockId, block: BlockId, gains: bool) {
        let Lists::Random { members, places, counts } = &mut self.lists else { return };
        let (place, count) = (places[block.index()], &mut counts[plane.index()]);
        if gains == (place > 0) {
            return;
        }
        if gains {
            let last = first.get() + *count;
            *count += 1;
            members[last as usize] = block.get();
            places[block.index()] = last + 1;
        } else {
            *count -= 1;
            let moved = members[(first.get() + *count) as usize];
            members[place as usize - 1] = moved;
            places[moved as usize] = place;
            places[block.index()] = 0;
        }
    }
}

/// The order is that of the times of filling, which are saved anyway, as is what is valid.
impl Saved for Index {
    fn save(&self, to: &mut Writer<'_>) {
        (self.looks as u8).save(to);
        match &self.lists {
            Lists::None | Lists::Order { .. } => {}
            Lists::Random { members, places, counts } => {
                members.save(to);
                places.save(to);
                counts.save(to);
            }
            Lists::Numbers(numbers) => numbers.cursors.save(to),
            Lists::Age { stamps } => stamps.save(to),
        }
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), RestoreError> {
        let mut kind = 0u8;
        kind.load(from)?;
        let all =
            [Looks::AtBuckets, Looks::AtOrder, Looks::AtRandom, Looks::AtNumbers, Looks::AtAge];
        let looks = *all.get(usize::from(kind)).ok_or(RestoreError::Corrupt)?;
        let mut saved = Self::new(looks, self.planes, self.blocks, self.units);
        match &mut saved.lists {
            Lists::None | Lists::Order { .. } => {}
            Lists::Random { members, places, counts } => {
                members.load(from)?;
                places.load(from)?;
                counts.load(from)?;
            }
            Lists::Numbers(numbers) => numbers.cursors.load(from)?,
            Lists::Age { stamps } => stamps.load(from)?,
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
        if matches!(self.index.lists, Lists::Order { .. }) {
            self.index.link_order(self.geometry.plane_of_block(block), block);
        }
        self.index_changed(block);
    }

    /// A full block has another number of valid units.
    pub(super) fn index_changed(&mut self, block: BlockId) {
        match &mut self.index.lists {
            Lists::None | Lists::Order { .. } => {}
            Lists::Random { .. } => {
                let plane = self.geometry.plane_of_block(block);
                let gains = self.gains(block);
                self.index.set_member(plane, self.geometry.first_block(plane), block, gains);
            }
            Lists::Numbers(numbers) => {
                let plane = self.geometry.plane_of_block(block);
                let valid = self.valid[block.index()];
                let below = self.geometry.units_per_block() - self.geometry.program_units() + 1;
                numbers.set(plane, block, (valid < below).then_some(valid));
            }
            Lists::Age { stamps } => {
                let plane = self.geometry.plane_of_block(block);
                stamps[block.index()] = self.pools[plane.index()].clock;
            }
        }
    }

    /// A full block is no longer a possible victim.
    pub(super) fn index_claimed(&mut self, block: BlockId) {
        let plane = self.geometry.plane_of_block(block);
        match &mut self.index.lists {
            Lists::None | Lists::Age { .. } => {}
            Lists::Order { .. } => self.index.unlink_order(plane, block),
            Lists::Numbers(numbers) => numbers.set(plane, block, None),
            Lists::Random { .. } => {
                self.index.set_member(plane, self.geometry.first_block(plane), block, false);
            }
        }
    }

    /// Makes what is not saved after everything else has been loaded. Ages under a rule that the
    /// device was not saved under count from now on, and blocks to draw come by number.
    pub(crate) fn restored(&mut self) {
        let full = |blocks: &Self| -> Vec<BlockId> {
            let all = (0..blocks.full.len()).filter(|block| blocks.full[*block]);
            all.map(BlockId::from_index).collect()
        };
        for block in full(self) {
            let plane = self.geometry.plane_of_block(block);
            self.pools[plane.index()].gaining += u32::from(self.gains(block));
        }
        let mut all = Vec::new();
        if self.index.stale || matches!(self.index.lists, Lists::Order { .. } | Lists::Numbers(_)) {
            all = full(self);
            all.sort_by_key(|block| self.filled[block.index()]);
        }
        if matches!(self.index.lists, Lists::Random { .. }) {
            all.sort();
        }
        for block in all {
            self.index_filled(block);
        }
        self.index.stale = false;
        self.restore_heaps();
    }
}

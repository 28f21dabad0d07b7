//! Full blocks: buckets by valid units, and the view that rules for victims get.

use super::Blocks;
use super::index::Order;
use super::numbers::Numbers;
use crate::random::{STEP, mix};
use flashyard_core::units::{BlockId, PlaneId};

impl Blocks {
    /// The last program of a block is over: it becomes a possible victim.
    pub(super) fn fill(&mut self, block: BlockId) {
        self.full[block.index()] = true;
        self.link(block);
        self.stamp_filled(block);
        self.index_filled(block);
    }

    /// Counts a block as the one filled last.
    pub(super) fn stamp_filled(&mut self, block: BlockId) {
        let plane = self.geometry.plane_of_block(block);
        let pool = &mut self.pools[plane.index()];
        pool.fills += 1;
        self.filled[block.index()] = pool.fills;
        self.note_least_full(block);
    }

    /// A block with fewer valid units than this gains.
    fn gain_below(&self) -> u32 {
        let units = self.geometry.units_per_block();
        // Each plane may end its copies with a program unit that is not full.
        let planes = u32::try_from(self.blocks_of_each()).expect("planes have 32 bits");
        units - planes * (self.geometry.program_units() - 1)
    }

    /// Whether a block gains: copying it takes fewer program units than its erase frees.
    pub(super) fn gains(&self, block: BlockId) -> bool {
        self.valid[block.index()] < self.gain_below()
    }

    fn bucket(&self, plane: PlaneId, valid: u32) -> usize {
        plane.index() * (self.geometry.units_per_block() as usize + 1) + valid as usize
    }

    pub(super) fn link(&mut self, block: BlockId) {
        let plane = self.geometry.plane_of_block(block);
        let valid = self.valid[block.index()];
        let bucket = self.bucket(plane, valid);
        let ends = [&mut self.bucket_head[bucket], &mut self.bucket_tail[bucket]];
        self.links.push(block.get(), ends);
        let gains = valid < self.gain_below();
        let pool = &mut self.pools[plane.index()];
        pool.least_valid = pool.least_valid.min(valid);
        pool.gaining += u32::from(gains);
    }

    pub(super) fn unlink(&mut self, block: BlockId) {
        let plane = self.geometry.plane_of_block(block);
        let bucket = self.bucket(plane, self.valid[block.index()]);
        self.pools[plane.index()].gaining -= u32::from(self.gains(block));
        let ends = [&mut self.bucket_head[bucket], &mut self.bucket_tail[bucket]];
        self.links.remove(block.get(), ends);
    }
}

impl Blocks {
    /// The fewest valid units of a full block of a plane that gains.
    pub(crate) fn fewest_valid(&mut self, plane: PlaneId) -> Option<u32> {
        let pool = self.pool_of(plane);
        let fewest = FullBlocks::new(self, pool).fewest()?;
        Some(self.valid_units(fewest))
    }
}

const NO_NUMBERS: &str = "only of a rule that looks at Looks::NUMBERS";

/// The full blocks of a plane, as a rule for victims sees them. What a rule has not said that it
/// looks at is not there.
#[derive(Debug)]
pub struct FullBlocks<'a> {
    blocks: &'a mut Blocks,
    plane: PlaneId,
    /// Looks at candidates.
    searches: u64,
}

impl<'a> FullBlocks<'a> {
    pub(super) const fn new(blocks: &'a mut Blocks, plane: PlaneId) -> Self {
        Self { blocks, plane, searches: 0 }
    }

    /// Counts looks at candidates.
    pub const fn examine(&mut self, candidates: u64) {
        self.searches += candidates;
    }

    /// Counts a look at every block that gains.
    pub fn examine_all(&mut self) {
        self.searches += u64::from(self.gaining());
    }

    /// Looks at candidates so far.
    pub const fn searches(&self) -> u64 {
        self.searches
    }

    /// Blocks of the plane.
    pub const fn plane_blocks(&self) -> u32 {
        self.blocks.geometry.blocks_per_plane
    }

    /// Units of a block.
    pub const fn block_units(&self) -> u32 {
        self.blocks.geometry.units_per_block()
    }

    /// A block with fewer valid units than this gains.
    pub fn gain_below(&self) -> u32 {
        self.blocks.gain_below()
    }

    /// Whether a block gains.
    pub fn gains(&self, block: BlockId) -> bool {
        self.blocks.gains(block)
    }

    /// Valid units of a block.
    pub fn valid_units(&self, block: BlockId) -> u32 {
        self.blocks.valid_units(block)
    }

    /// The block with the fewest valid units among those that gain; among equals the one that has
    /// had as few for the longest time.
    pub fn fewest(&mut self) -> Option<BlockId> {
        let below = self.gain_below();
        let mut valid = self.blocks.pools[self.plane.index()].least_valid;
        while valid < below && self.longest_with(valid).is_none() {
            valid += 1;
        }
        self.blocks.pools[self.plane.index()].least_valid = valid;
        (valid < below).then(|| self.longest_with(valid)).flatten()
    }

    /// The same after a look at all of them; where blocks are kept by number, the lowest number
    /// among equals.
    pub fn fewest_of_all(&mut self) -> Option<BlockId> {
        if self.blocks.index.numbers.is_some() {
            return self.lowest_fewest();
        }
        self.examine_all();
        self.fewest()
    }

    /// Among the blocks with this many valid units the one that has had them for the longest time.
    pub fn longest_with(&self, valid: u32) -> Option<BlockId> {
        let head = self.blocks.bucket_head[self.blocks.bucket(self.plane, valid)];
        head.checked_sub(1).map(BlockId::new)
    }

    /// The block that came to the bucket of `block` after it: as many valid units, for less time.
    /// From [`longest_with`](Self::longest_with) on it leads through all of a bucket.
    pub fn after(&self, block: BlockId) -> Option<BlockId> {
        self.blocks.links.after(block.get()).map(BlockId::new)
    }

    /// How often a block has been erased.
    pub fn erases(&self, block: BlockId) -> u32 {
        self.blocks.erases[block.index()]
    }

    /// How many blocks of the plane have been filled after a block, or passed over.
    pub fn filled_after(&self, block: BlockId) -> u64 {
        self.blocks.pools[self.plane.index()].fills - self.blocks.filled[block.index()]
    }

    /// The block filled first.
    pub fn oldest(&self) -> Option<BlockId> {
        let order = self.blocks.index.order.as_ref();
        let Order { ends, .. } = order.expect("only of a rule that looks at Looks::ORDER");
        ends[self.plane.index()][0].checked_sub(1).map(BlockId::new)
    }

    /// Lets a block count as filled last.
    pub fn pass_over(&mut self, block: BlockId) {
        self.blocks.index.unlink_order(self.plane, block);
        self.blocks.stamp_filled(block);
        self.blocks.index.link_order(self.plane, block);
    }

    /// How many blocks gain.
    pub fn gaining(&self) -> u32 {
        self.blocks.pools[self.plane.index()].gaining
    }

    /// A block that gains, each with the same chance.
    pub fn draw(&mut self) -> Option<BlockId> {
        let count = self.gaining();
        (count > 0).then(|| {
            let place = self.below(count);
            self.member(place)
        })
    }

    /// Draws a block that gains, different from the `drawn` blocks of the calls just before. There
    /// must be more than `drawn` blocks that gain.
    pub fn draw_another(&mut self, drawn: u32) -> BlockId {
        let other = drawn + self.below(self.gaining() - drawn);
        let first = self.blocks.geometry.first_block(self.plane).get();
        self.blocks.index.swap_members(first + drawn, first + other);
        self.member(drawn)
    }

    /// A block that gains, each with the same chance, by its number among them.
    pub fn draw_by_number(&mut self) -> Option<BlockId> {
        let count = self.gaining();
        if count == 0 {
            return None;
        }
        self.searches += 1;
        let rank = self.below(count);
        let number = self.numbers().nth(self.plane, rank).expect("below their number");
        Some(self.numbered(number))
    }

    /// The block with the fewest valid units among all that gain, the lowest number among equals.
    pub fn lowest_fewest(&mut self) -> Option<BlockId> {
        self.examine_all();
        let first = self.fewest()?;
        let valid = self.valid_units(first);
        let number = self.numbers().first_with(self.plane, valid, 0);
        Some(self.numbered(number.expect("there is one")))
    }

    /// The block with the fewest valid units among the next `count` of those that gain by number,
    /// the first one among equals. The next window goes on behind them.
    pub fn window(&mut self, count: u32) -> Option<BlockId> {
        let all = self.gaining();
        let count = count.min(all);
        let fewest = self.fewest()?;
        self.searches += u64::from(count);
        let numbers = self.numbers();
        debug_assert_eq!(all, numbers.count(self.plane), "blocks that gain");
        let from = numbers.cursors[self.plane.index()];
        let last = (numbers.rank(self.plane, from) + count - 1) % all;
        let end = numbers.nth(self.plane, last).expect("below their number") + 1;
        let wraps = end <= from;
        let found = (self.valid_units(fewest)..self.gain_below()).find_map(|valid| {
            let first = |from| numbers.first_with(self.plane, valid, from);
            let ahead = first(from).filter(|number| wraps || *number < end);
            ahead.or_else(|| first(0).filter(|number| wraps && *number < end))
        });
        let best = self.numbered(found.expect("the window holds a block that gains"));
        let plane = self.plane.index();
        self.numbers_mut().cursors[plane] = end;
        Some(best)
    }

    fn numbers(&self) -> &Numbers {
        self.blocks.index.numbers.as_ref().expect(NO_NUMBERS)
    }

    fn numbers_mut(&mut self) -> &mut Numbers {
        self.blocks.index.numbers.as_mut().expect(NO_NUMBERS)
    }

    /// The block of the plane with this number in it.
    fn numbered(&self, number: u32) -> BlockId {
        self.blocks.geometry.block(self.plane, number)
    }

    /// How many units have been written to the plane since a block lost one or was filled.
    pub fn age(&self, block: BlockId) -> u64 {
        let ages = self.blocks.index.ages.as_ref();
        let ages = ages.expect("only of a rule that looks at Looks::AGE");
        self.blocks.pools[self.plane.index()].clock - ages[block.index()]
    }

    fn member(&self, place: u32) -> BlockId {
        let first = self.blocks.geometry.first_block(self.plane).get();
        BlockId::new(self.blocks.index.members().blocks[(first + place) as usize])
    }

    /// A random number below `bound`, by splitmix64; each plane has its own numbers.
    fn below(&mut self, bound: u32) -> u32 {
        let pool = &mut self.blocks.pools[self.plane.index()];
        pool.random = pool.random.wrapping_add(STEP);
        let scaled = ((mix(pool.random) >> 32) * u64::from(bound)) >> 32;
        u32::try_from(scaled).expect("below a bound of 32 bits")
    }
}

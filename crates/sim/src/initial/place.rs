//! Which logical unit is at which place: a walk over logical units that looks random to the blocks
//! and local to the memory that holds the map.
//!
//! Logical units are split into windows of neighbours, one for each pool, and windows into rows.
//! The walk takes a window of each row, rows in a random order that changes all the time, then the
//! next window of each, and gives every unit the next place of its pool. So neighbours end up as
//! many places apart as there are rows, and both sides of the map are written in streams that stay
//! in the processor's caches.

use super::plan::Plan;
use super::random::Random;

/// Rows of the walk: more than a block has valid units, fewer than pages of memory that a
/// processor translates quickly.
const ROWS: u32 = 1_024;

/// Windows of a row that are taken in a random order.
const JITTER: u32 = 16;

/// Orders of the places of a block to draw from; a block also rotates its own.
const ORDERS: usize = 16;

/// Visits every number of `range` once. Windows are visited in a random order, the numbers of a
/// window in ascending order.
pub fn walk(range: std::ops::Range<u32>, window: u32, seed: u64, mut visit: impl FnMut(u32)) {
    let count = range.end.saturating_sub(range.start);
    let windows = count.div_ceil(window.max(1));
    if windows == 0 {
        return;
    }
    let mut random = Random::new(seed, 0);
    let rows = ROWS.min(windows.next_power_of_two());
    let columns = windows.div_ceil(rows);
    // Each row starts somewhere else and mixes the order of its columns in its own way.
    let starts: Vec<(u32, u32)> =
        (0..rows).map(|_| (random.below(columns), random.below(JITTER))).collect();
    let even = columns - columns % JITTER;
    for column in 0..columns {
        let bits = random.bits();
        let (factor, shift) = (low(bits) | 1, low(bits >> 32));
        for turn in 0..rows {
            let row = (turn.wrapping_mul(factor).wrapping_add(shift)) & (rows - 1);
            let (start, twist) = starts[row as usize];
            let at = column + start;
            let at = if at >= columns { at - columns } else { at };
            let at = if at < even { at ^ twist } else { at };
            let first = u64::from(row) * u64::from(columns) + u64::from(at);
            if first >= u64::from(windows) {
                continue;
            }
            let first = first * u64::from(window);
            let last = (first + u64::from(window)).min(u64::from(count));
            for offset in first..last {
                visit(range.start + low(offset));
            }
        }
    }
}

/// The low 32 bits.
#[expect(clippy::cast_possible_truncation, reason = "the other bits are not wanted")]
const fn low(bits: u64) -> u32 {
    bits as u32
}

/// Random orders of the places of a block.
#[derive(Clone, Debug)]
pub struct Orders {
    /// `ORDERS` orders one after the other.
    places: Vec<u32>,
    block_units: u32,
}

impl Orders {
    /// For blocks of that many units.
    pub fn new(block_units: u32, seed: u64) -> Self {
        let mut random = Random::new(seed, 1);
        let mut places = Vec::with_capacity(ORDERS * block_units as usize);
        for _ in 0..ORDERS {
            let first = places.len();
            places.extend(0..block_units);
            for end in (1..block_units).rev() {
                places.swap(first + end as usize, first + random.below(end + 1) as usize);
            }
        }
        Self { places, block_units }
    }
}

/// Blocks of a pool that get units, as [`Cursor`] reads them: where they are and what they hold.
#[derive(Clone, Debug, Default)]
pub struct Slots {
    /// Index of the block in its pool, and valid units of each class.
    blocks: Vec<(u32, [u32; 2])>,
    /// From here on blocks are open: their units lie in front.
    open: usize,
    /// The last block is a victim that has been dealt with up to this unit, if there is one.
    walked: Option<u32>,
    seed: u64,
}

impl Slots {
    /// Gives the blocks of a plan numbers: full blocks come first, in random order, then open
    /// ones, then the victim that is begun. Returns the number of each full block, in the order of
    /// the plan.
    pub fn new(plan: &Plan, random: &mut Random) -> (Self, Vec<u32>) {
        let full = u32::try_from(plan.full.len()).expect("blocks have 32 bits");
        let mut numbers: Vec<u32> = (0..full).collect();
        for end in (1..full).rev() {
            numbers.swap(end as usize, random.below(end + 1) as usize);
        }
        let mut blocks = vec![(0, [0; 2]); plan.full.len()];
        for (&number, block) in numbers.iter().zip(&plan.full) {
            blocks[number as usize] = (number, block.valid);
        }
        let open = plan.open.iter().map(|open| open.valid);
        blocks.extend((full..).zip(open.chain(plan.begun.map(|begun| begun.valid))));
        let walked = plan.begun.map(|begun| begun.walked);
        (Self { blocks, open: plan.full.len(), walked, seed: random.bits() }, numbers)
    }
}

/// Hands out the valid places of one class in a pool, block by block.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cursor {
    /// The next block to look at.
    block: usize,
    /// The first place of the current block in its pool.
    base: u32,
    /// What is added to each place before it wraps.
    rotation: u32,
    /// Places of the current block that are left, as a range of the table of orders.
    next: u32,
    end: u32,
    /// Whether the block's units are in order, and how far apart: so many places hold that many.
    plain: bool,
    spread: (u32, u32),
}

impl Cursor {
    /// The next place of a class, counted from the first place of the pool; `None` after the last.
    #[inline]
    pub fn next(&mut self, class: usize, slots: &Slots, orders: &Orders) -> Option<u32> {
        while self.next == self.end {
            self.advance(class, slots, orders)?;
        }
        let at = self.next;
        self.next += 1;
        if self.plain {
            let (places, units) = self.spread;
            let place = u64::from(at) * u64::from(places) / u64::from(units.max(1));
            return Some(self.base + low(place));
        }
        let place = orders.places[at as usize] + self.rotation;
        let wraps = place >= orders.block_units;
        Some(self.base + if wraps { place - orders.block_units } else { place })
    }

    fn advance(&mut self, class: usize, slots: &Slots, orders: &Orders) -> Option<()> {
        let &(number, valid) = slots.blocks.get(self.block)?;
        let walked = slots.walked.filter(|_| self.block + 1 == slots.blocks.len());
        self.plain = self.block >= slots.open;
        self.spread = (1, 1);
        let bits = Random::new(slots.seed, u64::from(number)).bits();
        let order = low(bits) % u32::try_from(ORDERS).expect("few");
        self.block += 1;
        self.base = number * orders.block_units;
        if let Some(walked) = walked {
            self.base += walked;
            self.spread = (orders.block_units - walked, valid[0] + valid[1]);
        }
        let first = if self.plain { 0 } else { order * orders.block_units };
        self.rotation = low(bits >> 32) % orders.block_units;
        // The second class follows the first one in the order.
        self.next = first + if class == 0 { 0 } else { valid[0] };
        self.end = self.next + valid[class];
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::initial::plan::{Begun, Full, Open};

    #[test]
    fn the_walk_visits_every_number_once() {
        for (range, window) in
            [(0..1, 1), (0..16, 1), (5..6_000, 7), (3..70_003, 4), (0..40_000, 64)]
        {
            let mut seen = vec![0; range.end as usize];
            walk(range.clone(), window, 9, |number| seen[number as usize] += 1);
            let (outside, inside) = seen.split_at(range.start as usize);
            assert!(outside.iter().all(|&times| times == 0));
            assert!(inside.iter().all(|&times| times == 1), "{range:?} by {window}");
        }
        walk(4..4, 1, 9, |_| panic!("there is nothing to visit"));
    }

    /// Neighbours lie far apart, so that a sequential overwrite empties no block early.
    #[test]
    fn the_walk_takes_neighbours_far_apart() {
        let mut turns = vec![0u32; 100_000];
        let mut turn = 0;
        walk(0..100_000, 1, 2, |number| {
            turns[number as usize] = turn;
            turn += 1;
        });
        let near = turns.windows(2).filter(|pair| pair[0].abs_diff(pair[1]) < 64).count();
        assert!(near < 500, "{near} of 100,000 neighbours within 64 places");
    }

    #[test]
    fn cursors_hand_out_distinct_places() {
        let plan = Plan {
            full: [[3, 2], [0, 0], [8, 0], [1, 6]]
                .map(|valid| Full { valid, age: 0, generation: 0 })
                .to_vec(),
            open: vec![Open { generation: 0, valid: [2, 1] }],
            begun: Some(Begun { walked: 3, valid: [1, 2], generation: 0 }),
        };
        let (slots, numbers) = Slots::new(&plan, &mut Random::new(5, 5));
        let orders = Orders::new(8, 1);
        let mut holds = [[0; 2]; 6];
        let mut seen = [false; 48];
        for class in [0, 1] {
            let mut cursor = Cursor::default();
            while let Some(place) = cursor.next(class, &slots, &orders) {
                assert!(!std::mem::replace(&mut seen[place as usize], true), "{place} twice");
                holds[place as usize / 8][class] += 1;
            }
        }
        for (block, number) in plan.full.iter().zip(numbers) {
            assert_eq!(holds[number as usize], block.valid);
        }
        assert_eq!(holds[4], [2, 1]);
        assert_eq!(seen[32..36], [true, true, true, false]);
        assert_eq!(holds[5], [1, 2]);
        assert_eq!(seen[40..48], [false, false, false, true, true, false, true, false]);
    }
}

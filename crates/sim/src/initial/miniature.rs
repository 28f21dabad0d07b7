//! A pool without timing: units, blocks and victims only. The brute force that formulas are held
//! against, and the source of steady states that no formula is known for.

use super::place::{Cursor, Orders, Slots, walk};
use super::plan::{Plan, Recipe, Tile};
use super::random::{Random, whole};
use super::rules::FullBlocks;
use super::{Cleaning, Pool, Refusal, analytic};

/// No place, no block.
const NONE: u32 = u32::MAX;

/// Units of a miniature, about: its map fits the second-level cache.
const UNITS: u32 = 1 << 17;

/// Units of a block of a miniature at most; larger blocks are scaled.
const BLOCK_UNITS: u32 = 1_024;

/// Victims in a row, as a multiple of the blocks, after which there is no room.
const FRUITLESS_ROUNDS: u32 = 8;

/// A pool of units that are written one at a time.
#[derive(Debug)]
pub struct Miniature {
    pool: Pool,
    writes: [f64; 2],
    l2p: Vec<u32>,
    p2l: Vec<u32>,
    valid: Vec<u32>,
    is_full: Vec<bool>,
    filled: Vec<u64>,
    free: Vec<u32>,
    /// The open blocks of the host and of each generation of copies, and their next places.
    open: Vec<(u32, u32)>,
    /// Which of them filled each block.
    filler: Vec<u32>,
    full: FullBlocks,
    random: Random,
    /// Host writes, and units copied of each class.
    host: u64,
    copied: [u64; 2],
}

impl Miniature {
    /// An empty pool. The share `writes[k]` of host writes goes to class k.
    pub fn new(pool: Pool, cleaning: Cleaning, writes: [f64; 2], seed: u64) -> Self {
        Self {
            pool,
            writes,
            l2p: vec![NONE; pool.logical_units() as usize],
            p2l: vec![NONE; pool.blocks as usize * pool.block_units as usize],
            valid: vec![0; pool.blocks as usize],
            is_full: vec![false; pool.blocks as usize],
            filled: vec![0; pool.blocks as usize],
            free: (0..pool.blocks).rev().collect(),
            open: vec![(NONE, 0); pool.generations as usize + 1],
            filler: vec![0; pool.blocks as usize],
            full: FullBlocks::new(cleaning, &pool),
            random: Random::new(seed, 2),
            host: 0,
            copied: [0; 2],
        }
    }

    /// A pool in the state of a plan.
    pub fn constructed(
        pool: Pool,
        cleaning: Cleaning,
        writes: [f64; 2],
        plan: &Plan,
        seed: u64,
    ) -> Self {
        let mut made = Self::new(pool, cleaning, writes, seed);
        let (slots, numbers) = Slots::new(plan, &mut made.random);
        let orders = Orders::new(pool.block_units, seed);
        let split = pool.units[0];
        for (class, range) in [(0, 0..split), (1, split..pool.logical_units())] {
            let mut cursor = Cursor::default();
            walk(range, 1, seed, |unit| {
                let place = cursor.next(class, &slots, &orders).expect("plans hold every unit");
                made.l2p[unit as usize] = place;
                made.p2l[place as usize] = unit;
                made.valid[(place / pool.block_units) as usize] += 1;
            });
        }
        made.host = u64::from(u32::MAX);
        for (&block, full) in numbers.iter().zip(&plan.full) {
            made.is_full[block as usize] = true;
            made.filler[block as usize] = full.generation;
            made.filled[block as usize] = made.host - u64::from(full.age);
            made.full.filled(block, made.valid[block as usize]);
        }
        let first = u32::try_from(plan.full.len()).expect("blocks have 32 bits");
        for (block, open) in (first..).zip(&plan.open) {
            made.filler[block as usize] = open.generation;
            made.open[open.generation as usize] = (block, open.valid[0] + open.valid[1]);
        }
        let used = plan.full.len() + plan.open.len();
        made.free.truncate(pool.blocks as usize - used);
        made
    }

    /// Writes every unit once, in order.
    pub fn fill(&mut self) -> Result<(), Refusal> {
        (0..self.pool.logical_units()).try_for_each(|unit| self.write(unit))
    }

    /// Writes random units. Returns writes to the array for each write of the host.
    pub fn run(&mut self, count: u64) -> Result<f64, Refusal> {
        let before = self.copied;
        let [first, second] = self.pool.units;
        for _ in 0..count {
            let hot = second == 0 || (first > 0 && self.random.unit() < self.writes[0]);
            let unit =
                if hot { self.random.below(first) } else { first + self.random.below(second) };
            self.write(unit)?;
        }
        let copied = self.copied[0] + self.copied[1] - before[0] - before[1];
        Ok(1.0 + copied as f64 / count.max(1) as f64)
    }

    /// Writes a unit.
    pub fn write(&mut self, unit: u32) -> Result<(), Refusal> {
        while self.open[0].0 == NONE {
            self.open_block(0)?;
            let mut victims = 0;
            while self.free.len() <= self.pool.soft as usize && self.may_clean() {
                victims += 1;
                if victims > FRUITLESS_ROUNDS * self.pool.blocks {
                    return Err(Refusal("cleaning a miniature of the pool frees nothing".into()));
                }
                if !self.clean()? {
                    break;
                }
            }
        }
        self.host += 1;
        let old = self.l2p[unit as usize];
        if old != NONE {
            self.invalidate(old);
        }
        self.put(unit, 0)
    }

    /// The full blocks, the one filled first in front.
    pub fn full_blocks(&self) -> Vec<Tile> {
        let mut valid = vec![[0, 0]; self.pool.blocks as usize];
        for (unit, &place) in (0..).zip(&self.l2p) {
            if place != NONE {
                let class = usize::from(unit >= self.pool.units[0]);
                valid[(place / self.pool.block_units) as usize][class] += 1;
            }
        }
        let mut full: Vec<usize> =
            (0..self.valid.len()).filter(|block| self.is_full[*block]).collect();
        full.sort_unstable_by_key(|block| self.filled[*block]);
        let units = f64::from(self.pool.logical_units());
        let age = |block: usize| (self.host - self.filled[block]) as f64 / units;
        let tile = |block: usize| Tile {
            valid: valid[block],
            age: age(block),
            generation: self.filler[block],
        };
        full.into_iter().map(tile).collect()
    }

    /// Whether a full block exists.
    fn may_clean(&self) -> bool {
        self.free.len() + self.open.iter().filter(|open| open.0 != NONE).count()
            < self.pool.blocks as usize
    }

    fn open_block(&mut self, frontier: usize) -> Result<(), Refusal> {
        let block = self.free.pop();
        let block = block
            .ok_or_else(|| Refusal("a miniature of the pool has no free block".to_string()))?;
        self.open[frontier] = (block, 0);
        self.filler[block as usize] = u32::try_from(frontier).expect("a few");
        Ok(())
    }

    fn invalidate(&mut self, place: u32) {
        let block = place / self.pool.block_units;
        let valid = &mut self.valid[block as usize];
        *valid -= 1;
        if self.is_full[block as usize] {
            self.full.lost(block, *valid + 1);
        }
    }

    fn put(&mut self, unit: u32, frontier: usize) -> Result<(), Refusal> {
        if self.open[frontier].0 == NONE {
            self.open_block(frontier)?;
        }
        let (block, next) = self.open[frontier];
        let place = block * self.pool.block_units + next;
        self.l2p[unit as usize] = place;
        self.p2l[place as usize] = unit;
        self.valid[block as usize] += 1;
        self.open[frontier].1 += 1;
        if next + 1 == self.pool.block_units {
            self.open[frontier] = (NONE, 0);
            self.is_full[block as usize] = true;
            self.filled[block as usize] = self.host;
            self.full.filled(block, self.valid[block as usize]);
        }
        Ok(())
    }

    /// Copies the valid units of a victim and erases it; `false` where there is none.
    fn clean(&mut self) -> Result<bool, Refusal> {
        let Some(victim) = self.full.take(&self.valid, &mut self.random) else { return Ok(false) };
        self.is_full[victim as usize] = false;
        let frontier = (self.filler[victim as usize] + 1).min(self.pool.generations) as usize;
        let first = victim * self.pool.block_units;
        for place in first..first + self.pool.block_units {
            if self.valid[victim as usize] == 0 {
                break;
            }
            let unit = self.p2l[place as usize];
            if self.l2p.get(unit as usize) == Some(&place) {
                self.valid[victim as usize] -= 1;
                self.copied[usize::from(unit >= self.pool.units[0])] += 1;
                self.put(unit, frontier)?;
            }
        }
        self.free.push(victim);
        Ok(true)
    }
}

/// A steady state, found by running a small pool until its write amplification stands still. Its
/// blocks are those of four moments.
pub(super) fn recipe(
    pool: &Pool,
    cleaning: Cleaning,
    writes: [f64; 2],
    seed: u64,
) -> Result<Recipe, Refusal> {
    let (small, other) = sizes(pool)?;
    let (mut steady, _) = settle(small, cleaning, writes, seed)?;
    let (mut tiles, mut sum) = (Vec::new(), 0.0);
    let before = steady.copied;
    for _ in 0..4 {
        sum += steady.run(u64::from(small.logical_units() / 2))?;
        // By relative age, so that moments mix.
        let full = steady.full_blocks();
        let step = 1.0 / full.len().max(1) as f64;
        tiles.extend(full.iter().enumerate().map(|(at, tile)| ((at as f64 + 0.5) * step, *tile)));
    }
    tiles.sort_by(|a, b| a.0.total_cmp(&b.0));
    let amplification = sum / 4.0;
    let (mut check, _) = settle(other, cleaning, writes, seed + 1)?;
    let checked = check.run(2 * u64::from(other.logical_units()))?;
    let error = (amplification / checked - 1.0).abs();
    let copied = [0, 1].map(|k| (steady.copied[k] - before[k]) as f64);
    let share = if copied[0] + copied[1] > 0.0 { copied[0] / (copied[0] + copied[1]) } else { 0.0 };
    let tiles = tiles.into_iter().map(|(_, tile)| tile).collect();
    Ok(Recipe::of_tiles(tiles, small.block_units, writes, share, amplification, error))
}

/// Whether a miniature of a pool has room for its units.
pub(super) fn check(pool: &Pool) -> Result<(), Refusal> {
    sizes(pool).map(|_| ())
}

/// The pool to simulate and the one to compare it with, of half the size or, where that has no
/// room, of twice the size. Where spare blocks are few the pool is larger than it would have to be.
fn sizes(pool: &Pool) -> Result<(Pool, Pool), Refusal> {
    let block_units = pool.block_units.min(BLOCK_UNITS);
    let least = (UNITS / block_units).max(128);
    for blocks in [least, 2 * least, 4 * least, 8 * least] {
        let alike = pool.target.is_none() && pool.soft > 0;
        let whole = pool.blocks <= blocks && pool.block_units == block_units && alike;
        let small = if whole {
            Pool { program_units: 1, ..*pool }
        } else {
            shrink(pool, block_units, blocks)
        };
        if small.has_room() {
            let half = shrink(pool, block_units, small.blocks / 2);
            let twice = shrink(pool, block_units, small.blocks * 2);
            return Ok((small, if half.has_room() { half } else { twice }));
        }
    }
    let most = 8 * least;
    Err(Refusal(format!("no formula is known, and a miniature of {most} blocks has no room")))
}

/// A pool of that many blocks with the same spare share and classes. It opens a block before it
/// cleans, so it needs one more to copy into.
fn shrink(pool: &Pool, block_units: u32, blocks: u32) -> Pool {
    let soft = pool.soft.clamp(1, 2);
    let share = f64::from(block_units) / f64::from(pool.block_units);
    let gain = whole(f64::from(pool.gain) * share).clamp(1, block_units);
    let program_units = 1;
    let mut small = Pool { blocks, block_units, soft, target: None, program_units, gain, ..*pool };
    let scale = small.places_in_use().max(0.0) / pool.places_in_use();
    small.units = pool.units.map(|units| whole(f64::from(units) * scale).max(units.min(1)));
    small
}

/// A pool in steady state, and its write amplification. It starts as first-in-first-out cleaning
/// would have left it and runs until all classes have been overwritten twice and another round
/// changes its write amplification by less than 0.5 %, for ten rounds at most.
pub fn settle(
    pool: Pool,
    cleaning: Cleaning,
    writes: [f64; 2],
    seed: u64,
) -> Result<(Miniature, f64), Refusal> {
    let classes = pool.classes(writes);
    let start = analytic::fifo_by_age(pool.places_in_use(), classes)
        .ok_or_else(|| Refusal("a miniature of the pool has no spare places".to_string()))?;
    let plan = Recipe::of_ages(&pool, start, writes).plan(&pool, &mut Random::new(seed, 3))?;
    let mut state = Miniature::constructed(pool, cleaning, writes, &plan, seed);
    let units = u64::from(pool.logical_units());
    let turns = classes
        .iter()
        .filter(|class| class.writes > 0.0)
        .map(|class| u64::from(whole((class.units / class.writes).min(1e9))));
    let round = turns.max().unwrap_or(units).clamp(units, 20 * units);
    let mut last = state.run(round)?;
    for _ in 0..10 {
        let next = state.run(round)?;
        let still = (next / last - 1.0).abs() < 0.005;
        last = next;
        if still {
            break;
        }
    }
    Ok((state, last))
}

#[cfg(test)]
#[path = "miniature_tests.rs"]
mod tests;

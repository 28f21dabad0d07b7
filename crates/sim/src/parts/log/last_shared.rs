//! The shared log blocks of LAST: hot and cold ones, which pages are hot, victims.
//!
//! Every block looked at is a search. A victim among all takes two passes: the first block without
//! valid pages, else the best of the cold ones.

use super::engine::Engine;
use super::interface::NONE;
use super::last_keys::{LastKeys, LastVictim};
use crate::parts::layer::Shape;
use crate::random::{STEP, mix};
use crate::saved::{Reader, RestoreError, Saved, Writer, load_list, save_list};

pub(super) const COLD: usize = 0;
pub(super) const HOT: usize = 1;

/// A victim: its list and its place in it.
pub(super) type Place = (usize, usize);

/// Shared log blocks.
#[derive(Clone, Debug)]
pub(super) struct Shared {
    max: usize,
    /// Most cold and hot blocks; `max` each where they share a budget.
    most: [usize; 2],
    policy: LastVictim,
    /// What a search looks at, in parts per million of the full blocks.
    window_ppm: u64,
    /// Cold and hot blocks in the order of allocation; the last one takes the writes.
    pub(super) blocks: [Vec<u32>; 2],
    /// Cold and hot: last leader page of each logical block (see `append_tracked`).
    pub(super) leaders: [Vec<u32>; 2],
    /// Random page writes so far, and the one that last wrote each page (0: none).
    clock: u64,
    written: Vec<u64>,
    hot_age: u64,
    /// Where the next search starts, where random numbers are, and the candidates.
    cursor: u32,
    random: u64,
    candidates: Vec<(u32, Place)>,
}

impl Saved for Shared {
    fn save(&self, to: &mut Writer<'_>) {
        for list in &self.blocks {
            save_list(list, to);
        }
        self.leaders.save(to);
        self.written.save(to);
        [self.clock, u64::from(self.cursor), self.random].save(to);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), RestoreError> {
        for list in &mut self.blocks {
            load_list(list, || NONE, from)?;
        }
        self.leaders.load(from)?;
        self.written.load(from)?;
        let mut marks = [0u64; 3];
        marks.load(from)?;
        self.cursor = u32::try_from(marks[1]).map_err(|_| RestoreError::Corrupt)?;
        (self.clock, self.random) = (marks[0], marks[2]);
        Ok(())
    }
}

impl Shared {
    pub(super) fn new(keys: &LastKeys, shape: &Shape, max: u32) -> Self {
        let hot = keys.hot_percent.of(u64::from(max)).max(1);
        let all = max as usize;
        let own = usize::try_from(keys.hot_blocks).expect("the key's range fits");
        let leaders = vec![NONE; shape.logical_blocks() as usize];
        Self {
            max: all,
            most: if own == 0 { [all; 2] } else { [all - own, own] },
            policy: keys.victim,
            window_ppm: keys.window_percent.ppm(),
            blocks: [Vec::with_capacity(all), Vec::with_capacity(all)],
            leaders: [leaders.clone(), leaders],
            clock: 0,
            written: vec![0; shape.pages as usize],
            hot_age: hot * u64::from(shape.pages_per_block),
            cursor: 0,
            random: keys.seed,
            candidates: Vec::with_capacity(all),
        }
    }

    /// There are none, and no page was written.
    pub(super) fn forget(&mut self) {
        for (blocks, leaders) in self.blocks.iter_mut().zip(&mut self.leaders) {
            blocks.clear();
            leaders.fill(NONE);
        }
        self.written.fill(0);
        self.clock = 0;
    }

    /// The list that may have another block, cold ones first.
    pub(super) fn kind_with_room(&self) -> Option<usize> {
        [COLD, HOT].into_iter().find(|kind| !self.is_full(*kind))
    }

    /// How many more blocks there may be.
    pub(super) fn clean(&self) -> u32 {
        let used = self.blocks[COLD].len() + self.blocks[HOT].len();
        u32::try_from(self.max - used).expect("blocks have 32 bits")
    }

    /// Notes a random write of a page and tells which list it belongs to.
    pub(super) fn classify(&mut self, lpn: u32, engine: &Engine) -> usize {
        let before = self.clock;
        self.clock += 1;
        let last = std::mem::replace(&mut self.written[lpn as usize], self.clock);
        // The age counts the random page writes in between.
        let recent = last != 0 && before - last <= self.hot_age;
        if recent && engine.in_log(lpn) { HOT } else { COLD }
    }

    /// Whether a block must go before this list can have another one.
    pub(super) fn is_full(&self, kind: usize) -> bool {
        self.blocks[COLD].len() + self.blocks[HOT].len() == self.max
            || self.blocks[kind].len() == self.most[kind]
    }

    /// The block that has to go so that list `kind` can have another one.
    pub(super) fn victim(&mut self, kind: usize, engine: &Engine, looked: &mut u64) -> Place {
        let split = self.most[kind] < self.max;
        let (own, both) = ([kind], [HOT, COLD]);
        let kinds: &[usize] = if split { &own } else { &both };
        let place = if self.policy == LastVictim::All {
            self.best_of_all(kinds, engine, looked)
        } else {
            self.best_of_window(kinds, engine, looked)
        };
        place.expect("random blocks are in use")
    }

    fn best_of_all(&self, kinds: &[usize], engine: &Engine, looked: &mut u64) -> Option<Place> {
        self.dead(kinds, engine, looked)
            .or_else(|| {
                let mut cold_first = kinds.iter().rev();
                cold_first.find_map(|&kind| self.fewest(&[kind], true, engine, looked))
            })
            .or_else(|| self.fewest(kinds, false, engine, looked))
    }

    /// The first full block without valid pages.
    fn dead(&self, kinds: &[usize], engine: &Engine, looked: &mut u64) -> Option<Place> {
        kinds.iter().find_map(|&kind| {
            let at = self.blocks[kind].iter().position(|&block| {
                *looked += 1;
                engine.valid(block) == 0 && engine.is_full(block)
            });
            at.map(|at| (kind, at))
        })
    }

    /// The oldest block with the fewest distinct logical blocks.
    fn fewest(
        &self,
        kinds: &[usize],
        full_only: bool,
        engine: &Engine,
        looked: &mut u64,
    ) -> Option<Place> {
        let (mut best, mut fewest) = (None, NONE);
        for &kind in kinds {
            for (at, &block) in self.blocks[kind].iter().enumerate() {
                if full_only && !engine.is_full(block) {
                    continue;
                }
                *looked += 1;
                if engine.distinct(block) < fewest {
                    fewest = engine.distinct(block);
                    best = Some((kind, at));
                }
            }
        }
        best
    }

    fn best_of_window(
        &mut self,
        kinds: &[usize],
        engine: &Engine,
        looked: &mut u64,
    ) -> Option<Place> {
        self.list_candidates(kinds, engine);
        let count = self.candidates.len();
        let (start, length) = self.window(count);
        let (mut best, mut least) = (None, (true, NONE));
        for step in 0..length {
            let (block, place) = self.candidates[(start + step) % count];
            *looked += 1;
            self.cursor = block + 1;
            let distinct = engine.distinct(block);
            let key = (place.0 == HOT && distinct > 0, distinct);
            if key < least {
                (best, least) = (Some(place), key);
            }
        }
        best
    }

    /// Full blocks, or all if none is full, by block number.
    fn list_candidates(&mut self, kinds: &[usize], engine: &Engine) {
        self.candidates.clear();
        for full_only in [true, false] {
            for &kind in kinds {
                let blocks = self.blocks[kind].iter().enumerate();
                let wanted = blocks.filter(|&(_, &block)| !full_only || engine.is_full(block));
                self.candidates.extend(wanted.map(|(at, &block)| (block, (kind, at))));
            }
            if !self.candidates.is_empty() {
                break;
            }
        }
        self.candidates.sort_unstable();
    }

    /// First candidate to look at, and how many.
    fn window(&mut self, count: usize) -> (usize, usize) {
        if self.policy == LastVictim::Drawn {
            return (self.draw(count), 1);
        }
        if self.window_ppm == 1_000_000 {
            return (0, count);
        }
        let share = (count as u64 * self.window_ppm).div_ceil(1_000_000);
        let start = self.candidates.partition_point(|&(block, _)| block < self.cursor);
        (start % count, usize::try_from(share).expect("a share of them"))
    }

    /// A number below `count`, by splitmix64.
    fn draw(&mut self, count: usize) -> usize {
        self.random = self.random.wrapping_add(STEP);
        let below = (u128::from(mix(self.random)) * count as u128) >> 64;
        usize::try_from(below).expect("below count")
    }
}

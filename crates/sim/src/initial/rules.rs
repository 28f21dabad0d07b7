//! The victim rules of the miniature.

use super::Cleaning;
use super::random::Random;
use std::collections::VecDeque;
use std::fmt::Debug;

/// What a rule may look at when it takes a victim.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// Valid units by block.
    pub valid: &'a [u32],
    /// Units of a block.
    pub block_units: u32,
}

/// Keeps the full blocks of a pool and takes victims.
pub trait Victims: Debug {
    /// A block has been filled.
    fn filled(&mut self, block: u32, valid: u32);
    /// A full block has lost a valid unit; it had `valid` before.
    fn lost(&mut self, block: u32, valid: u32) {
        let _ = (block, valid);
    }
    /// Takes the next victim out of the full blocks; `None` where there is none to take.
    fn take(&mut self, view: &View<'_>, random: &mut Random) -> Option<u32>;
}

/// The rule of a way of cleaning, for blocks of a pool.
pub fn rule(cleaning: Cleaning, blocks: u32, block_units: u32) -> Box<dyn Victims> {
    let sampled = |choices, only_invalid| {
        Box::new(Sampled { full: Vec::new(), choices, only_invalid }) as Box<dyn Victims>
    };
    match cleaning {
        Cleaning::Greedy => Box::new(Greedy::new(blocks, block_units)),
        Cleaning::Fifo => Box::new(Queue::default()),
        Cleaning::Random => sampled(1, false),
        Cleaning::RandomInvalid => sampled(1, true),
        Cleaning::Choices(choices) => sampled(choices, false),
        Cleaning::ChoicesInvalid(choices) => sampled(choices, true),
        Cleaning::CostBenefit => Box::new(CostBenefit {
            buckets: Greedy::new(blocks, block_units),
            changed: vec![0; blocks as usize],
            clock: 0,
        }),
    }
}

#[derive(Debug, Default)]
struct Queue(VecDeque<u32>);

impl Victims for Queue {
    fn filled(&mut self, block: u32, _: u32) {
        self.0.push_back(block);
    }

    fn take(&mut self, _: &View<'_>, _: &mut Random) -> Option<u32> {
        self.0.pop_front()
    }
}

/// No block.
const NONE: u32 = u32::MAX;

/// Buckets by valid count; among equals the block that came to its bucket first.
#[derive(Debug)]
struct Greedy {
    /// The one before and the one behind each block in its bucket.
    links: Vec<[u32; 2]>,
    /// The first and the last block of each bucket.
    ends: Vec<[u32; 2]>,
    /// No full block has fewer valid units.
    least: u32,
}

impl Greedy {
    fn new(blocks: u32, block_units: u32) -> Self {
        Self {
            links: vec![[NONE; 2]; blocks as usize],
            ends: vec![[NONE; 2]; block_units as usize + 1],
            least: 0,
        }
    }

    fn unlink(&mut self, block: u32, valid: u32) {
        let [before, behind] = self.links[block as usize];
        match before {
            NONE => self.ends[valid as usize][0] = behind,
            before => self.links[before as usize][1] = behind,
        }
        match behind {
            NONE => self.ends[valid as usize][1] = before,
            behind => self.links[behind as usize][0] = before,
        }
    }
}

impl Victims for Greedy {
    fn filled(&mut self, block: u32, valid: u32) {
        let last = std::mem::replace(&mut self.ends[valid as usize][1], block);
        self.links[block as usize] = [last, NONE];
        match last {
            NONE => self.ends[valid as usize][0] = block,
            last => self.links[last as usize][1] = block,
        }
        self.least = self.least.min(valid);
    }

    fn lost(&mut self, block: u32, valid: u32) {
        self.unlink(block, valid);
        self.filled(block, valid - 1);
    }

    fn take(&mut self, view: &View<'_>, _: &mut Random) -> Option<u32> {
        while self.least < view.block_units && self.ends[self.least as usize][0] == NONE {
            self.least += 1;
        }
        if self.least == view.block_units {
            return None;
        }
        let block = self.ends[self.least as usize][0];
        self.unlink(block, self.least);
        Some(block)
    }
}

/// The fewest valid units of some that are drawn.
#[derive(Debug)]
struct Sampled {
    full: Vec<u32>,
    choices: u32,
    only_invalid: bool,
}

impl Victims for Sampled {
    fn filled(&mut self, block: u32, _: u32) {
        self.full.push(block);
    }

    fn take(&mut self, view: &View<'_>, random: &mut Random) -> Option<u32> {
        let count = u32::try_from(self.full.len()).expect("blocks have 32 bits");
        let valid = |place: u32| view.valid[self.full[place as usize] as usize];
        let able = |place: u32| !self.only_invalid || valid(place) < view.block_units;
        if count == 0 || !(0..count).any(able) {
            return None;
        }
        let mut draw = || {
            loop {
                let place = random.below(count);
                if able(place) {
                    break place;
                }
            }
        };
        let mut best = draw();
        for _ in 1..self.choices {
            let other = draw();
            if valid(other) < valid(best) {
                best = other;
            }
        }
        Some(self.full.swap_remove(best as usize))
    }
}

/// The best of the heads of buckets: in each, the block whose last change is longest ago. Time is
/// counted in units lost by full blocks.
#[derive(Debug)]
struct CostBenefit {
    buckets: Greedy,
    changed: Vec<u64>,
    clock: u64,
}

impl Victims for CostBenefit {
    fn filled(&mut self, block: u32, valid: u32) {
        self.buckets.filled(block, valid);
        self.changed[block as usize] = self.clock;
    }

    fn lost(&mut self, block: u32, valid: u32) {
        self.clock += 1;
        self.buckets.lost(block, valid);
        self.changed[block as usize] = self.clock;
    }

    fn take(&mut self, view: &View<'_>, _: &mut Random) -> Option<u32> {
        let mut best: (f64, Option<(u32, u32)>) = (-1.0, None);
        for valid in 0..view.block_units {
            let block = self.buckets.ends[valid as usize][0];
            if block == NONE {
                continue;
            }
            let age = (self.clock - self.changed[block as usize]) as f64;
            let score = match valid {
                0 => f64::INFINITY,
                _ => age * f64::from(view.block_units - valid) / (2.0 * f64::from(valid)),
            };
            if score > best.0 {
                best = (score, Some((block, valid)));
            }
        }
        let (block, valid) = best.1?;
        self.buckets.unlink(block, valid);
        Some(block)
    }
}

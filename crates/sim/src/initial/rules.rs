//! The full blocks of a miniature, and the victims that are taken among them.

use super::random::Random;
use super::{Cleaning, Pool};
use crate::parts::links::Links;
use crate::parts::victim::cost_benefit;
use std::collections::VecDeque;

/// The full blocks of a pool, kept as its way of cleaning needs them.
#[derive(Debug)]
pub(super) struct FullBlocks {
    cleaning: Cleaning,
    /// Units of a block, and those that a victim gains at least.
    block_units: u32,
    gain: u32,
    /// Where victims go by valid units, of all blocks with equally many; none otherwise.
    buckets: Option<Buckets>,
    /// Otherwise: in the order in which they were filled, or in any order to draw from.
    list: VecDeque<u32>,
    /// When each block lost a unit or was filled, in units lost by full blocks; empty where ages do
    /// not matter.
    changed: Vec<u64>,
    clock: u64,
}

/// Lists of blocks by valid units; among equals the block that came to its bucket first is first.
#[derive(Debug)]
struct Buckets {
    links: Links,
    /// The first and the last block of each bucket, + 1.
    ends: Vec<[u32; 2]>,
    /// No full block has fewer valid units.
    least: u32,
}

impl Buckets {
    fn push(&mut self, block: u32, valid: u32) {
        self.links.push(block, self.ends[valid as usize].each_mut());
        self.least = self.least.min(valid);
    }

    fn remove(&mut self, block: u32, valid: u32) {
        self.links.remove(block, self.ends[valid as usize].each_mut());
    }

    /// The first block of those with this many valid units.
    fn first(&self, valid: u32) -> Option<u32> {
        self.ends[valid as usize][0].checked_sub(1)
    }

    /// The first block of those with the fewest valid units, if that are fewer than `below`.
    fn fewest(&mut self, below: u32) -> Option<u32> {
        while self.least < below && self.ends[self.least as usize][0] == 0 {
            self.least += 1;
        }
        if self.least < below { self.first(self.least) } else { None }
    }
}

impl FullBlocks {
    /// None of the blocks of a pool is full.
    pub(super) fn new(cleaning: Cleaning, pool: &Pool) -> Self {
        let Pool { blocks, block_units, gain, .. } = *pool;
        let by_age = cleaning == Cleaning::CostBenefit;
        let buckets = (by_age || cleaning == Cleaning::Greedy).then(|| Buckets {
            links: Links::new(blocks as usize),
            ends: vec![[0; 2]; block_units as usize + 1],
            least: 0,
        });
        let changed = if by_age { vec![0; blocks as usize] } else { Vec::new() };
        Self { cleaning, block_units, gain, buckets, list: VecDeque::new(), changed, clock: 0 }
    }

    /// A block has been filled and holds this many valid units.
    pub(super) fn filled(&mut self, block: u32, valid: u32) {
        match &mut self.buckets {
            Some(buckets) => buckets.push(block, valid),
            None => self.list.push_back(block),
        }
        self.stamp(block);
    }

    /// A full block has lost a valid unit; it had `valid` before.
    pub(super) fn lost(&mut self, block: u32, valid: u32) {
        if let Some(buckets) = &mut self.buckets {
            buckets.remove(block, valid);
            buckets.push(block, valid - 1);
            self.clock += 1;
            self.stamp(block);
        }
    }

    fn stamp(&mut self, block: u32) {
        if let Some(changed) = self.changed.get_mut(block as usize) {
            *changed = self.clock;
        }
    }

    /// Takes the next victim out; `valid` are the valid units of all blocks. `None` where there is
    /// none to take.
    pub(super) fn take(&mut self, valid: &[u32], random: &mut Random) -> Option<u32> {
        let Some(buckets) = &mut self.buckets else {
            return match self.cleaning {
                Cleaning::Choices(choices) => self.draw(choices, false, valid, random),
                Cleaning::ChoicesInvalid(choices) => self.draw(choices, true, valid, random),
                Cleaning::RandomInvalid => self.draw(1, true, valid, random),
                Cleaning::Random => self.draw(1, false, valid, random),
                Cleaning::Fifo | Cleaning::Greedy | Cleaning::CostBenefit => self.oldest(valid),
            };
        };
        let victim = if self.cleaning == Cleaning::Greedy {
            buckets.fewest(self.block_units - self.gain + 1)
        } else {
            let heads = (0..=self.block_units - self.gain).filter_map(|valid| {
                let block = buckets.first(valid)?;
                Some((valid, self.clock - self.changed[block as usize], block))
            });
            cost_benefit::best(self.block_units, heads)
        }?;
        buckets.remove(victim, valid[victim as usize]);
        Some(victim)
    }

    /// Takes the block that was filled first of those that gain; the others that it comes by become
    /// the newest.
    fn oldest(&mut self, valid: &[u32]) -> Option<u32> {
        for _ in 0..self.list.len() {
            let block = self.list.pop_front()?;
            if valid[block as usize] + self.gain <= self.block_units {
                return Some(block);
            }
            self.list.push_back(block);
        }
        None
    }

    /// Takes the block with the fewest valid units of some that are drawn, the one drawn first
    /// among equals.
    fn draw(
        &mut self,
        choices: u32,
        only_invalid: bool,
        valid: &[u32],
        random: &mut Random,
    ) -> Option<u32> {
        let count = u32::try_from(self.list.len()).expect("blocks have 32 bits");
        let valid = |place: u32| valid[self.list[place as usize] as usize];
        let able = |place: u32| !only_invalid || valid(place) + self.gain <= self.block_units;
        if !(0..count).any(able) {
            return None;
        }
        let draw = |_| {
            loop {
                let place = random.below(count);
                if able(place) {
                    break place;
                }
            }
        };
        let best = (0..choices).map(draw).min_by_key(|place| valid(*place))?;
        self.list.swap_remove_back(best as usize)
    }
}

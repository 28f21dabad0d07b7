//! What a device holds when a run starts.
//!
//! A steady state is constructed instead of simulated: `analytic` knows how valid units are spread
//! over blocks under each way of cleaning, `plan` makes the blocks of a pool of it, and `place`
//! gives every logical unit a place, all in time proportional to the capacity. Where no formula is
//! known, a `miniature` of the pool is run without timing and its blocks are repeated.

mod age;
pub mod analytic;
pub mod device;
pub mod miniature;
pub mod place;
pub mod plan;
pub(crate) mod planned;
pub mod progress;
pub mod random;
pub mod rules;

use std::fmt;

/// How a pool finds its next victim among the full blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cleaning {
    /// The fewest valid units.
    Greedy,
    /// The one filled first.
    Fifo,
    /// Any.
    Random,
    /// Any with an invalid unit.
    RandomInvalid,
    /// The fewest valid units of that many drawn at random with replacement.
    Choices(u32),
    /// The same, drawn among those with an invalid unit.
    ChoicesInvalid(u32),
    /// The greatest (1 - u) / (2 u) x age, with the valid share u (Kawaguchi et al. 1995, after
    /// Rosenblum and Ousterhout 1992); age since the block lost a unit or was filled.
    CostBenefit,
}

/// Blocks that are filled and cleaned together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool {
    /// Its blocks.
    pub blocks: u32,
    /// Units of a block.
    pub block_units: u32,
    /// Units that one operation programs; open blocks are filled in steps of it.
    pub program_units: u32,
    /// Logical units of each of two classes; one of them may be empty.
    pub units: [u32; 2],
    /// Collection starts when at most this many blocks are free, and stops when more are.
    pub soft: u32,
    /// Open blocks of copies, by how often a unit has been copied; with 0 copies go where host
    /// writes go.
    pub generations: u32,
}

impl Pool {
    /// Free blocks between collections.
    pub const fn idle_free(&self) -> u32 {
        self.soft + 1
    }

    /// Full blocks between collections.
    pub const fn full_blocks(&self) -> u32 {
        self.blocks.saturating_sub(self.idle_free() + 1 + self.generations)
    }

    /// The pool as the formulas see it. Where copies have blocks of their own, the last program of
    /// each victim's copies is half empty on average: blocks are as if they had fewer units.
    #[must_use]
    pub fn dense(&self) -> Self {
        let waste = if self.generations > 0 { (self.program_units - 1) / 2 } else { 0 };
        Self { block_units: self.block_units.saturating_sub(waste), ..*self }
    }

    /// Whether its full blocks alone hold all its units and each could still be worth collecting,
    /// which it is while it lacks what one operation programs.
    pub fn has_room(&self) -> bool {
        let most = (self.block_units + 1).saturating_sub(self.program_units);
        let places = u64::from(self.full_blocks()) * u64::from(most);
        self.block_units > 1 && u64::from(self.logical_units()) <= places
    }

    /// Units that it holds.
    pub const fn logical_units(&self) -> u32 {
        self.units[0] + self.units[1]
    }

    /// Places in use when a victim is taken, on average: all but those of `soft` free blocks, of
    /// the host's block, which is empty then, and of half of each open block of copies.
    pub fn places_in_use(&self) -> f64 {
        let empty = f64::from(self.soft) + 1.0 + 0.5 * f64::from(self.generations);
        (f64::from(self.blocks) - empty) * f64::from(self.block_units)
    }

    /// Whether all its units are written alike.
    pub fn is_uniform(&self, writes: [f64; 2]) -> bool {
        let [first, second] = self.units.map(f64::from);
        let even = writes[0] * second - writes[1] * first;
        self.units[0] == 0 || self.units[1] == 0 || even.abs() < 1e-6 * (first + second)
    }
}

/// Why a state cannot be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal(pub String);

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refusal {}

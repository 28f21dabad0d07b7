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
mod planned;
pub mod progress;
pub mod random;
mod rules;
mod united;

use crate::config::{GcPacing, GcStart, Settings};
pub use crate::parts::victim::Cleaning;
use std::fmt;

/// Blocks that are filled and cleaned together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool {
    /// Its blocks.
    pub blocks: u32,
    /// Units of a block.
    pub block_units: u32,
    /// Units that one operation programs; open blocks are filled in steps of it.
    pub program_units: u32,
    /// Programs that the copies of a victim may leave in part empty: one for each plane of it.
    pub partial_programs: u32,
    /// Invalid units that a victim has at least: its copies take a program less than its erase
    /// frees. In a [dense](Self::dense) pool, without those that its copies leave empty.
    pub gain: u32,
    /// Logical units of each of two classes; one of them may be empty.
    pub units: [u32; 2],
    /// Collection starts when at most this many blocks are free, and stops when more are.
    pub soft: u32,
    /// Where collection is paced: the units that are kept free, those of a victim that have been
    /// dealt with included. `soft` does nothing then.
    pub target: Option<u32>,
    /// Open blocks of copies, by how often a unit has been copied; with 0 copies go where host
    /// writes go.
    pub generations: u32,
}

impl Pool {
    /// The blocks of a plane that holds nothing, collected as the settings say. Without pacing, a
    /// plane has as many free blocks as a load without idle times leaves it. With `state.rested` it
    /// has as many as at the end of a long idle time, when collection stops.
    pub fn of_plane(settings: &Settings) -> Self {
        let gc = &settings.keys.gc;
        let small = |value: u64| u32::try_from(value).expect("below the units of a plane");
        let soft = match gc.start {
            GcStart::Early if settings.keys.state.rested => gc.soft_free_blocks,
            GcStart::Early => gc.hard_free_blocks,
            // It starts with one free block more, which the waiting program then takes.
            GcStart::Needed => gc.reserve_blocks - 1,
        };
        Self {
            blocks: settings.good_blocks(),
            block_units: settings.geometry.units_per_block(),
            program_units: settings.geometry.program_units(),
            partial_programs: 1,
            gain: settings.geometry.program_units(),
            units: [0; 2],
            soft: small(soft),
            target: (gc.pacing != GcPacing::None).then(|| small(settings.spare_target())),
            generations: u32::from(settings.frontiers.passed()),
        }
    }

    /// Free blocks between collections; where these are paced, the most there may be.
    pub fn idle_free(&self) -> u32 {
        self.target.map_or(self.soft + 1, |units| units.div_ceil(self.block_units))
    }

    /// Full blocks between collections.
    pub fn full_blocks(&self) -> u32 {
        self.blocks.saturating_sub(self.idle_free() + 1 + self.generations)
    }

    /// The pool as the formulas see it. Where copies have blocks of their own, the last program of
    /// each victim's copies is half empty on average: blocks are as if they had fewer units.
    #[must_use]
    pub fn dense(&self) -> Self {
        let most = self.partial_programs * (self.program_units - 1);
        let waste = if self.generations > 0 { most / 2 } else { 0 };
        let gain = self.gain.saturating_sub(waste).max(1);
        Self { block_units: self.block_units.saturating_sub(waste), gain, ..*self }
    }

    /// Whether the full blocks can hold all units of the pool and each still be worth collecting. A
    /// block is worth collecting if at least one program unit of it is invalid.
    pub fn has_room(&self) -> bool {
        let empty = self.partial_programs * (self.program_units - 1);
        let most = self.block_units.saturating_sub(empty);
        let places = u64::from(self.full_blocks()) * u64::from(most);
        self.block_units > 1 && u64::from(self.logical_units()) <= places
    }

    /// Units that it holds.
    pub const fn logical_units(&self) -> u32 {
        self.units[0] + self.units[1]
    }

    /// Places in use when a victim is taken, on average: all but the free ones. Those are the units
    /// that paced collection keeps; else `soft` free blocks, the host's block, which is empty then,
    /// and half of each open block of copies.
    pub fn places_in_use(&self) -> f64 {
        let empty = f64::from(self.soft) + 1.0 + 0.5 * f64::from(self.generations);
        let units = f64::from(self.block_units);
        let free = self.target.map_or(empty * units, f64::from);
        f64::from(self.blocks) * units - free
    }

    /// Its classes as the formulas see them, of which each has this share of host writes.
    fn classes(&self, writes: [f64; 2]) -> [analytic::Class; 2] {
        let class =
            |k: usize| analytic::Class { units: f64::from(self.units[k]), writes: writes[k] };
        [class(0), class(1)]
    }

    /// Whether all its units are written alike.
    pub fn is_uniform(&self, writes: [f64; 2]) -> bool {
        let [first, second] = self.units.map(f64::from);
        let even = writes[0] * second - writes[1] * first;
        self.units[0] == 0 || self.units[1] == 0 || even.abs() < 1e-6 * (first + second)
    }
}

/// The effective over-provisioning of a device that the host has filled: what a plane has in use
/// when a victim is taken, beyond its valid units, as a share of these. Negative where thresholds
/// of garbage collection are more than the spare space.
pub fn effective_over_provisioning(settings: &Settings) -> f64 {
    let (data, maps) = settings.plane_units();
    let in_use = Pool::of_plane(settings).places_in_use() - maps as f64;
    in_use / data as f64 - 1.0
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

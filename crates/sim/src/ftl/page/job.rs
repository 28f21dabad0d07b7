//! The work of garbage collection on one victim.

use crate::ftl::lent::Charge;
use crate::ftl::page_map::Owner;
use crate::handle::SetId;
use crate::sets::Stage;
use flashyard_core::command::Purpose;
use flashyard_core::units::{BlockId, PlaneId, Ppn};

/// The work on one victim.
#[derive(Clone, Copy, Debug)]
pub(in crate::ftl) struct Job {
    pub(in crate::ftl) victim: BlockId,
    /// Units before this one have been dealt with.
    pub(super) next_unit: u32,
    /// Copies under way.
    pub(super) copies: u32,
    /// The set of the final erase; none while pacing has not made it.
    pub(super) eraser: Option<SetId>,
    /// The request that is charged.
    pub(super) charge: Charge,
    /// Whether it levels wear.
    pub(super) levels: bool,
    /// Whether it folds a block of the SLC cache.
    pub(super) folds: bool,
    /// Whether its copies have opened a block.
    pub(super) opened: bool,
    /// With pacing: copies that each unit written owes, in parts of one.
    pub(super) ratio: u64,
    /// With pacing: what the eraser waits for in place of the copies, if it waits.
    pub(super) gate: Option<SetId>,
    /// With pacing: whether it goes on to its erase whatever the spare space.
    pub(super) presses: bool,
    /// With pacing: whether its victim has been found.
    pub(super) found: bool,
    /// With pacing: whether its erase is all that is left.
    pub(super) erases: bool,
    /// With pacing: whether its copies under way leave their die.
    pub(super) away: bool,
}

impl Job {
    /// A job that has dealt with nothing.
    pub(super) const fn new(victim: BlockId, charge: Charge, levels: bool) -> Self {
        Self {
            victim,
            next_unit: 0,
            copies: 0,
            eraser: None,
            charge,
            levels,
            folds: false,
            opened: false,
            ratio: 0,
            gate: None,
            presses: false,
            found: false,
            erases: false,
            away: false,
        }
    }

    /// What it copies units and erases for.
    pub(super) const fn purpose(&self) -> Purpose {
        match (self.folds, self.levels) {
            (true, _) => Purpose::Fold,
            (false, true) => Purpose::Wear,
            (false, false) => Purpose::Gc,
        }
    }

    /// The commands that read a unit, program it and erase the victim.
    pub(super) const fn stages(&self) -> [Stage; 3] {
        if self.folds {
            [Stage::FoldRead, Stage::FoldProgram, Stage::FoldErase]
        } else {
            [Stage::CopyRead, Stage::CopyProgram, Stage::Erase]
        }
    }

    /// The set of the final erase, which has been made.
    pub(super) fn eraser(&self) -> SetId {
        self.eraser.expect("the erase has a set")
    }

    /// With pacing: whether it has nothing under way and can go on. Folding does not rest.
    pub(in crate::ftl) const fn rests(&self) -> bool {
        self.found && self.copies == 0 && !self.erases && !self.folds
    }
}

/// Garbage collection of superblocks, by a job on each plane.
#[derive(Clone, Debug, Default)]
pub(super) struct United {
    /// Planes whose job is not over.
    pub(super) under_way: u32,
    /// With pacing: copies under way from a plane of one die to a plane of another.
    pub(super) away: Vec<Away>,
    /// Copies of a program unit while they are made.
    pub(super) batch: Vec<SetId>,
}

/// A copy that leaves its die: it is read on one plane and programmed on the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Away {
    pub(super) copy: SetId,
    pub(super) from: PlaneId,
    pub(super) to: PlaneId,
}

/// What a job does next.
#[derive(Clone, Copy, Debug)]
pub(super) enum JobStep {
    /// It copies a unit that is the newest of its owner.
    Copy {
        /// The job.
        job: Job,
        /// Where the unit is.
        source: Ppn,
        /// What it holds.
        owner: Owner,
    },
    /// All copies are over: map pages are rewritten; with pacing the erase begins.
    Erase,
    /// Nothing now.
    Nothing,
}

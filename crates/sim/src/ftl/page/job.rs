//! The work of garbage collection on one victim.

use crate::ftl::page_map::Owner;
use crate::handle::{RequestId, SetId};
use crate::observe::Trigger;
use flashyard_core::units::{BlockId, Ppn};

/// The work on one victim.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job {
    pub(crate) victim: BlockId,
    /// Units before this one have been dealt with.
    pub(super) next_unit: u32,
    /// Copies under way.
    pub(super) copies: u32,
    /// The set of the final erase; none while pacing has not made it.
    pub(crate) eraser: Option<SetId>,
    /// The request that is charged.
    pub(crate) charge: Option<RequestId>,
    /// Whether it levels wear.
    pub(crate) levels: bool,
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
}

impl Job {
    /// The set of the final erase, which has been made.
    pub(crate) fn eraser(&self) -> SetId {
        self.eraser.expect("the erase has a set")
    }

    /// Whether it has nothing under way and can go on.
    pub(crate) const fn rests(&self) -> bool {
        self.found && self.copies == 0 && !self.erases
    }
}

/// What a plane that was asked to collect garbage does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Collecting {
    /// It starts a job for this reason, if a block gains.
    Start(Trigger),
    /// Its job, which has nothing under way, goes on with copies.
    GoOn,
    /// Nothing.
    Nothing,
}

/// A job that has just begun.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BegunJob {
    /// The job; with pacing its eraser is made later.
    pub(crate) job: Job,
    /// Why it began.
    pub(crate) trigger: Trigger,
    /// Valid units of its victim.
    pub(crate) valid: u32,
    /// At how many blocks the rule looked.
    pub(crate) searches: u64,
}

/// What a job does next.
#[derive(Clone, Copy, Debug)]
pub(crate) enum JobStep {
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
    Erase(Job),
    /// Nothing now.
    Nothing,
}

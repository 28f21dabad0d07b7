//! The power budget: at most so many dies, or so many milliwatts of them, have their arrays at work
//! at once.
//!
//! A die takes its share of power with a command and gives it back when the array is done; data may
//! still wait for the channel then. A suspended operation keeps its share, which its reads use. A
//! die whose next command finds too little power stands in line; whoever is first in line goes
//! first, and takes what its policy puts first when its turn comes. So nobody starves: everybody
//! ahead needs power that is given back, and no one passes. Further planes ride along only as far
//! as the power reaches.

use crate::config::Settings;
use flashyard_core::command::Op;
use flashyard_core::units::{DieId, Time};
use std::collections::VecDeque;

/// The budget and who has it.
#[derive(Debug)]
pub(crate) struct PowerBudget {
    /// Power of an operation on a plane.
    pub(crate) operation_mw: [u64; 3],
    /// Whether the share of an operation that may be suspended must do for a read.
    pub(crate) suspends: bool,
    /// What is left.
    pub(crate) dies: u64,
    pub(crate) mw: u64,
    pub(crate) shares: Vec<Share>,
    /// Dies in line, and the one that is served.
    pub(crate) line: VecDeque<DieId>,
    pub(crate) served: Option<DieId>,
    /// Whether the one that is served still found too little.
    pub(crate) refused: bool,
}

/// What a die has of the budget.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Share {
    /// Whether it counts as one that is at work.
    pub(crate) taken: bool,
    /// Power that it may take, and takes.
    pub(crate) mw: u64,
    pub(crate) used_mw: u64,
    /// Since when it stands in line.
    pub(crate) waits: Option<Time>,
}

impl PowerBudget {
    /// The budget of a device, if it has one.
    pub(crate) fn new(settings: &Settings) -> Option<Box<Self>> {
        let keys = &settings.keys;
        let limit = |value: u64| if value == 0 { u64::MAX } else { value };
        let (dies, mw) = (keys.energy.max_active_dies, keys.energy.budget_mw);
        if dies == 0 && mw == 0 {
            return None;
        }
        let all = settings.geometry.dies() as usize;
        let watched = mw > 0;
        Some(Box::new(Self {
            operation_mw: Op::ALL.map(|op| if watched { settings.operation_mw(op) } else { 0 }),
            suspends: keys.nand.program_suspends > 0 || keys.nand.erase_suspends > 0,
            dies: limit(dies),
            mw: limit(mw),
            shares: vec![Share::default(); all],
            line: VecDeque::with_capacity(all),
            served: None,
            refused: false,
        }))
    }

    /// The share that the first plane of an operation needs.
    pub(crate) fn need(&self, op: Op) -> u64 {
        let own = self.operation_mw[op as usize];
        if self.suspends { own.max(self.operation_mw[Op::Read as usize]) } else { own }
    }

    /// Whether a die stands in line.
    pub(crate) fn waits(&self, die: DieId) -> bool {
        self.shares[die.index()].waits.is_some()
    }
}

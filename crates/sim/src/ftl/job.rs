//! Garbage collection, on demand or in idle times, one victim a plane at a time.
//!
//! A job copies the valid units of its victim, a program unit at a time (read, program on the same
//! plane), then erases it. Map entries of moved data are updated in the cache where their line is
//! there; for the others each map page is read and programmed once after the copies. Unless
//! `gc.erase_after_map` says so the erase does not wait for those, so every plane can always finish
//! a job with one free block. Where collection is paced (`pace`), a job copies a program unit at a
//! time and rests while its plane has the spare space that it is kept at.

use crate::config::{GcTiming, Settings};
use flashyard_core::units::{BlockId, Time};

/// The work on one victim.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job {
    pub(crate) victim: BlockId,
    /// Units before this one have been dealt with.
    pub(crate) next_unit: u32,
    /// Copies under way.
    pub(crate) copies: u32,
    /// The set of the final erase; [`NIL`] while pacing has not made it.
    pub(crate) eraser: u32,
    /// The request that is charged, [`NIL`] for none.
    pub(crate) charge: u32,
    /// Whether it levels wear.
    pub(crate) levels: bool,
    /// With pacing: copies that each unit written owes, in parts of one.
    pub(crate) ratio: u64,
    /// With pacing: what the eraser waits for in place of the copies, [`NIL`] for nothing.
    pub(crate) gate: u32,
    /// With pacing: whether it goes on to its erase whatever the spare space, whether its victim
    /// has been found, and whether its erase is all that is left.
    pub(crate) presses: bool,
    pub(crate) found: bool,
    pub(crate) erases: bool,
}

impl Job {
    /// Whether it has nothing under way and can go on.
    pub(crate) const fn rests(&self) -> bool {
        self.found && self.copies == 0 && !self.erases
    }
}

/// Garbage collection in idle times.
#[derive(Debug)]
pub(crate) struct Idle {
    /// Planes that may want it, a bit each; none where it works on demand only.
    pub(crate) wanting: Vec<u64>,
    /// Since when no request has been outstanding; [`Time::MAX`] while one is.
    pub(crate) since: Time,
    /// When that will have been long enough and a plane may want it.
    pub(crate) due: Time,
}

impl Idle {
    /// At the start every plane may want it.
    pub(crate) fn new(settings: &Settings) -> Self {
        let words = match settings.keys.gc.timing {
            GcTiming::OnDemand => 0,
            GcTiming::Background => (settings.geometry.all_planes() as usize).div_ceil(64),
        };
        Self { wanting: vec![u64::MAX; words], since: Time::MAX, due: Time::MAX }
    }

    /// The same at the start of a phase; idle times before it are forgotten.
    pub(crate) fn begin_phase(&mut self) {
        self.wanting.fill(u64::MAX);
        self.since = Time::MAX;
    }
}

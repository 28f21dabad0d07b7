//! Recovery from a loss of power, until it is known what it delays: the phase behind it says.

use super::usage::Usage;
use crate::metrics::counters::Work;
use flashyard_core::geometry::Geometry;
use flashyard_core::units::Time;

/// Reads of a recovery.
#[derive(Clone, Debug)]
pub(crate) struct Took {
    /// Those of pages with all bits a cell, and of those with one.
    pub(crate) reads: [Work; 2],
    /// Nanoseconds of work by die and by channel.
    pub(crate) usage: Usage,
    /// When it begins and when it is over.
    pub(crate) from: Time,
    pub(crate) ready: Time,
}

impl Took {
    /// That of a recovery which begins at an instant and has read nothing.
    pub(crate) fn nothing(geometry: &Geometry, at: Time) -> Self {
        Self { reads: Default::default(), usage: Usage::none(geometry), from: at, ready: at }
    }

    /// Whether requests that arrive from an instant on wait for it.
    pub(super) fn delays(&self, first: Time) -> bool {
        first < self.ready
    }

    /// Adds what dies and channels have done of it between two instants, as if it were spread
    /// evenly.
    pub(super) fn add_usage(&self, to: &mut Usage, (since, until): (Time, Time)) {
        let whole = u128::from(self.ready.since(self.from).as_ns());
        let (since, until) = (since.max(self.from), until.min(self.ready));
        let part = u128::from(until.as_ns().saturating_sub(since.as_ns()));
        let sums = to.dies.iter_mut().chain(&mut to.channels);
        for (sum, ns) in sums.zip(self.usage.dies.iter().chain(&self.usage.channels)) {
            let share = (u128::from(*ns) * part).checked_div(whole).unwrap_or(0);
            *sum += u64::try_from(share).expect("a part of it");
        }
    }
}

//! How busy dies and channels were between the first arrival and the last completion of measured
//! time.

use crate::saved::saved;
use flashyard_core::geometry::Geometry;
use serde::Serialize;

/// Nanoseconds of work by die and by channel.
#[derive(Clone, Debug)]
pub(crate) struct Usage {
    pub(crate) dies: Vec<u64>,
    pub(crate) channels: Vec<u64>,
}

saved!(Usage { dies, channels });

impl Usage {
    /// No work.
    pub(crate) fn none(geometry: &Geometry) -> Self {
        Self {
            dies: vec![0; geometry.dies() as usize],
            channels: vec![0; geometry.channels as usize],
        }
    }

    /// Adds what was done between two moments.
    pub(crate) fn add(&mut self, from: &Self, to: &Self) {
        let sums = self.dies.iter_mut().chain(&mut self.channels);
        let from = from.dies.iter().chain(&from.channels);
        let to = to.dies.iter().chain(&to.channels);
        for ((sum, from), to) in sums.zip(from).zip(to) {
            *sum += to - from;
        }
    }

    /// The sum over all dies.
    pub(crate) fn die_ns(&self) -> u128 {
        self.dies.iter().map(|&ns| u128::from(ns)).sum()
    }

    pub(crate) fn report(&self, makespan_ns: u64) -> Utilisation {
        Utilisation {
            dies: Share::of(&self.dies, makespan_ns),
            channels: Share::of(&self.channels, makespan_ns),
        }
    }
}

/// Shares of the makespan in which dies and channels were busy.
#[derive(Clone, Debug, Serialize)]
pub struct Utilisation {
    /// Dies: array operations with their transfers, and waits for the channel in between.
    pub dies: Share,
    /// Channels: transfers.
    pub channels: Share,
}

/// A share of time over several resources; none where there was no time.
#[derive(Clone, Debug, Serialize)]
pub struct Share {
    /// Mean.
    pub mean: Option<f64>,
    /// Of the least busy one.
    pub min: Option<f64>,
    /// Of the busiest one.
    pub max: Option<f64>,
    /// Nanoseconds of work of each one, in order.
    #[serde(skip)]
    pub busy_ns: Vec<u64>,
}

impl Share {
    pub(crate) fn of(busy: &[u64], makespan_ns: u64) -> Self {
        let known = makespan_ns > 0 && !busy.is_empty();
        let share = |ns: u64| known.then(|| ns as f64 / makespan_ns as f64);
        let all: u128 = busy.iter().map(|&ns| u128::from(ns)).sum();
        let time = u128::from(makespan_ns) * busy.len() as u128;
        Self {
            mean: known.then(|| all as f64 / time as f64),
            min: share(busy.iter().copied().min().unwrap_or(0)),
            max: share(busy.iter().copied().max().unwrap_or(0)),
            busy_ns: busy.to_vec(),
        }
    }
}

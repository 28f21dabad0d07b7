//! How busy dies and channels were between the first arrival and the last completion of measured
//! time.

use super::Device;
use serde::Serialize;

/// Nanoseconds of work by die and by channel.
#[derive(Clone, Debug, Default)]
pub(super) struct Usage {
    dies: Vec<u64>,
    channels: Vec<u64>,
}

impl Usage {
    /// Adds what was done between two moments.
    pub(super) fn add(&mut self, from: &Self, to: &Self) {
        self.dies.resize(to.dies.len(), 0);
        self.channels.resize(to.channels.len(), 0);
        let pairs = [(&mut self.dies, &from.dies, &to.dies)];
        let more = [(&mut self.channels, &from.channels, &to.channels)];
        for (sums, from, to) in pairs.into_iter().chain(more) {
            for ((sum, from), to) in sums.iter_mut().zip(from).zip(to) {
                *sum += to - from;
            }
        }
    }

    pub(super) fn report(&self, makespan_ns: u64) -> Utilisation {
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
}

impl Share {
    fn of(busy: &[u64], makespan_ns: u64) -> Self {
        let known = makespan_ns > 0 && !busy.is_empty();
        let share = |ns: u64| known.then(|| ns as f64 / makespan_ns as f64);
        let all: u128 = busy.iter().map(|&ns| u128::from(ns)).sum();
        let time = u128::from(makespan_ns) * busy.len() as u128;
        Self {
            mean: known.then(|| all as f64 / time as f64),
            min: share(busy.iter().copied().min().unwrap_or(0)),
            max: share(busy.iter().copied().max().unwrap_or(0)),
        }
    }
}

impl Device {
    /// The work that dies and channels have done until now.
    pub(super) fn usage(&self) -> Usage {
        let dies = self.dies.iter().map(|die| {
            let running = die.running != flashyard_core::graph::NIL;
            let current = if running { self.now.since(die.since).as_ns() } else { 0 };
            die.busy.iter().sum::<u64>() + current
        });
        // A channel is reserved without gaps from now on.
        let channels = self
            .carried_ns
            .iter()
            .zip(&self.channel_free)
            .map(|(carried, free)| carried - free.as_ns().saturating_sub(self.now.as_ns()));
        Usage { dies: dies.collect(), channels: channels.collect() }
    }
}

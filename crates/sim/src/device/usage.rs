//! How busy dies and channels were between the first arrival and the last completion of measured
//! time.

use super::Device;
use crate::account::usage::Usage;
use crate::sets::track::DIE_POWER;

impl Device {
    /// The work that dies and channels have done until now.
    pub(super) fn usage(&self) -> Usage {
        let dies = self.flash.dies.iter().map(|die| {
            let running = die.doing.is_some_and(|doing| doing < DIE_POWER);
            let current = if running { self.now.since(die.since).as_ns() } else { 0 };
            die.busy[..DIE_POWER].iter().sum::<u64>() + current
        });
        // What a channel carries now is counted as it begins.
        let channels =
            self.flash.carried_ns.iter().zip(&self.flash.channels).map(|(carried, channel)| {
                carried - channel.free.as_ns().saturating_sub(self.now.as_ns())
            });
        Usage { dies: dies.collect(), channels: channels.collect() }
    }
}

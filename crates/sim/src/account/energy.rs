//! Energy of a run: by what took it, by what for, by phase; its mean and its highest power.
//!
//! Operations are counted where they end (`metrics::counters`). What is there at all times
//! (standby, controller, DRAM, buffer) is power x time from the first arrival of a phase to the end
//! of its work, and accesses to memory are counts x energy. All sums are exact; the one division,
//! of a power by bytes, is rounded down once.

use crate::saved::saved;
use flashyard_core::units::Time;

/// What energy is made of besides operations.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EnergyTotals {
    /// Units that flushes got from the write buffer, by phase.
    pub(crate) flushed: [u64; 3],
    /// Time without outstanding requests by phase, without and with work of the device's own.
    pub(crate) quiet_ns: [[u64; 2]; 3],
    /// Until when there was no outstanding request.
    pub(crate) quiet_until: Time,
    /// Accesses of tables and searches without outstanding requests, by phase, and all of them when
    /// they were last looked at.
    pub(crate) quiet: [Accesses; 3],
    pub(crate) seen: Accesses,
    /// Dies that waited for power, and how long in all.
    pub(crate) power_waits: u64,
    pub(crate) power_waited_ns: u64,
}

/// Accesses of tables, and looks at candidates in searches.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Accesses {
    pub(crate) tables: u64,
    pub(crate) searches: u64,
}

saved!(Accesses { tables, searches });

saved!(EnergyTotals { flushed, quiet_ns, quiet_until, quiet, seen, power_waits, power_waited_ns });

/// Energy of a phase besides operations, in picojoules.
#[derive(Clone, Copy, Default)]
pub(crate) struct Background {
    pub(crate) standby: u128,
    pub(crate) controller: u128,
    pub(crate) dram: u128,
    pub(crate) buffer: u128,
    pub(crate) buffer_standby: u128,
    pub(crate) search: u128,
}

impl Background {
    pub(crate) fn total(&self) -> u128 {
        let memory = self.dram + self.buffer + self.buffer_standby;
        self.standby + self.controller + memory + self.search
    }
}

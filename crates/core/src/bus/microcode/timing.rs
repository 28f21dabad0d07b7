//! Timing sets: how long a cycle, a latched byte and the waits between bytes take.

use crate::units::Span;
use core::ops::AddAssign;

/// Cycles of the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Cycles(u64);

impl Cycles {
    /// So many cycles.
    pub const fn new(cycles: u64) -> Self {
        Self(cycles)
    }

    /// Their number.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl AddAssign for Cycles {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

/// The waits that the chips ask for, each from the end of one thing to the begin of the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delay {
    /// tWB: from the last command byte until the chip shows that it is busy.
    Busy,
    /// tADL: from the last address byte to the data of a program.
    AddressToData,
    /// tCCS: from a change of the column to the data.
    ColumnChange,
    /// tWHR: from a command byte to the status.
    CommandToStatus,
}

impl Delay {
    /// Every delay.
    pub const ALL: [Self; 4] =
        [Self::Busy, Self::AddressToData, Self::ColumnChange, Self::CommandToStatus];

    /// Its name in programs and in the ONFI standard.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Busy => "tWB",
            Self::AddressToData => "tADL",
            Self::ColumnChange => "tCCS",
            Self::CommandToStatus => "tWHR",
        }
    }
}

/// The times of a controller and of the bus that it drives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimingSet {
    /// The name that settings use.
    pub name: &'static str,
    /// Nanoseconds of a cycle of the controller, at least 1.
    pub cycle_ns: u32,
    /// Cycles in which a command, an address or a register byte crosses the bus.
    pub latch_cycles: u32,
    /// Data bytes that cross the bus in a cycle, at least 1.
    pub bytes_per_cycle: u32,
    /// tWB, in nanoseconds, as the other delays; a wait takes whole cycles.
    pub busy_ns: u32,
    /// tADL.
    pub address_to_data_ns: u32,
    /// tCCS.
    pub column_change_ns: u32,
    /// tWHR.
    pub command_to_status_ns: u32,
}

impl TimingSet {
    /// A byte in each cycle of 10 ns, as in the flash request scheduling framework. Source: Kim,
    /// Lee and Min for 100 MB/s; assumed, near ONFI: a latched byte of 30 ns and the delays.
    pub const FRAMEWORK: Self = Self {
        name: "framework",
        cycle_ns: 10,
        latch_cycles: 3,
        bytes_per_cycle: 1,
        busy_ns: 100,
        address_to_data_ns: 100,
        column_change_ns: 200,
        command_to_status_ns: 80,
    };

    /// 50 MB/s. Source: ONFI 4.2, timing mode 5 of SDR: tWC and tRC 20 ns. Each part states its
    /// own tCCS; here it is the 500 ns that hold for every part.
    pub const SDR_50: Self = Self {
        name: "sdr-50",
        cycle_ns: 20,
        latch_cycles: 1,
        bytes_per_cycle: 1,
        busy_ns: 100,
        address_to_data_ns: 400,
        column_change_ns: 500,
        command_to_status_ns: 80,
    };

    /// 200 MB/s. Source: ONFI 4.2, timing mode 5 of NV-DDR: tCK 10 ns, two bytes a cycle, tCAD 25
    /// ns. tCCS as for [`Self::SDR_50`].
    pub const NV_DDR_200: Self = Self {
        name: "nv-ddr-200",
        cycle_ns: 10,
        latch_cycles: 3,
        bytes_per_cycle: 2,
        ..Self::SDR_50
    };

    /// Every set.
    pub const ALL: [Self; 3] = [Self::FRAMEWORK, Self::SDR_50, Self::NV_DDR_200];

    /// The cycles of a delay, rounded up.
    pub const fn delay(&self, delay: Delay) -> Cycles {
        let ns = match delay {
            Delay::Busy => self.busy_ns,
            Delay::AddressToData => self.address_to_data_ns,
            Delay::ColumnChange => self.column_change_ns,
            Delay::CommandToStatus => self.command_to_status_ns,
        };
        Cycles::new(ns.div_ceil(self.cycle_ns) as u64)
    }

    /// The cycles in which so many data bytes cross the bus, rounded up.
    pub const fn data(&self, bytes: u32) -> Cycles {
        Cycles::new(bytes.div_ceil(self.bytes_per_cycle) as u64)
    }

    /// The time that cycles take.
    pub const fn span(&self, cycles: Cycles) -> Span {
        Span::from_ns(cycles.get() * self.cycle_ns as u64)
    }
}

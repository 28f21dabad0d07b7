//! What a request's latency is made of.

use serde::Serialize;

/// A part of a latency. Every instant between arrival and completion is charged to one part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Part {
    /// In the request queue, before translation began.
    HostQueue,
    /// On the host link.
    Link,
    /// In firmware.
    Firmware,
    /// At the head of the request queue while every line of the map cache was being fetched.
    MapStall,
    /// Translated, without a slot in the flash command queue.
    Slot,
    /// Own map commands, and those of the request's other pages that this one needed.
    OwnMap,
    /// Commands of other requests that it had to wait for.
    Delaying,
    /// Ready, while the die was busy with another host or map read ...
    DieRead,
    /// ... program ...
    DieProgram,
    /// ... erase ...
    DieErase,
    /// ... or with garbage collection.
    DieGc,
    /// On the die, waiting for the channel; or ready, while the die waited for power.
    Bus,
    /// The own data command in the array.
    Array,
    /// The own data on the channel.
    Transfer,
    /// The array of the own data command was done, and the controller did not know yet. With bus
    /// requests only.
    Status,
    /// In the write buffer.
    Buffer,
    /// Waiting for earlier writes to be committed.
    Flush,
}

/// How many parts there are.
pub const PARTS: usize = 17;

impl Part {
    /// Every part, in the order of reports.
    pub const ALL: [Self; PARTS] = [
        Self::HostQueue,
        Self::Link,
        Self::Firmware,
        Self::MapStall,
        Self::Slot,
        Self::OwnMap,
        Self::Delaying,
        Self::DieRead,
        Self::DieProgram,
        Self::DieErase,
        Self::DieGc,
        Self::Bus,
        Self::Array,
        Self::Transfer,
        Self::Status,
        Self::Buffer,
        Self::Flush,
    ];

    /// Whether it is work of the request itself, as against waiting; waits for a port of the write
    /// buffer or for the link are in the parts of these.
    pub const fn is_own(self) -> bool {
        matches!(
            self,
            Self::Link
                | Self::Firmware
                | Self::OwnMap
                | Self::Array
                | Self::Transfer
                | Self::Buffer
        )
    }

    /// The word reports use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::HostQueue => "host_queue",
            Self::Link => "link",
            Self::Firmware => "firmware",
            Self::MapStall => "map_stall",
            Self::Slot => "slot",
            Self::OwnMap => "own_map",
            Self::Delaying => "delaying",
            Self::DieRead => "die_read",
            Self::DieProgram => "die_program",
            Self::DieErase => "die_erase",
            Self::DieGc => "die_gc",
            Self::Bus => "bus",
            Self::Array => "array",
            Self::Transfer => "transfer",
            Self::Status => "status",
            Self::Buffer => "buffer",
            Self::Flush => "flush",
        }
    }
}

/// Nanoseconds by part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts(pub [u64; PARTS]);

crate::saved::saved!(Parts { 0 });

impl Parts {
    /// Charges time to a part.
    pub fn add(&mut self, part: Part, ns: u64) {
        self.0[part as usize] += ns;
    }

    /// Takes time that was charged to a part away from it.
    pub fn take(&mut self, part: Part, ns: u64) {
        self.0[part as usize] -= ns;
    }

    /// Adds all parts of another request.
    pub fn merge(&mut self, other: &Self) {
        for (sum, part) in self.0.iter_mut().zip(&other.0) {
            *sum += part;
        }
    }

    /// The time charged to a part.
    pub const fn get(&self, part: Part) -> u64 {
        self.0[part as usize]
    }

    /// The work of the request itself.
    pub fn own(&self) -> u64 {
        Part::ALL.iter().filter(|part| part.is_own()).map(|part| self.get(*part)).sum()
    }

    /// All parts together.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }
}

impl Serialize for Parts {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Where channels carry no bus requests there is nothing to show.
        let shown = |part: &&Part| **part != Part::Status || self.get(Part::Status) > 0;
        let rows = Part::ALL.iter().filter(shown);
        serializer.collect_map(rows.map(|part| (part.name(), self.get(*part))))
    }
}

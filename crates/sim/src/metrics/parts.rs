//! What a request's latency is made of.

use serde::Serialize;

/// Declares the parts in the order of reports. Of each: the word that reports use, the title in
/// plots, and what is said of a request that spends time in it.
macro_rules! latency_parts {
    ($($(#[$doc:meta])+ $part:ident = $name:literal, $title:literal, $said:literal;)+) => {
        /// A part of a latency. Every instant between arrival and completion is charged to one
        /// part.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(usize)]
        pub enum Part {
            $($(#[$doc])+ $part,)+
        }

        /// How many parts there are.
        pub const PARTS: usize = [$($name),+].len();

        impl Part {
            /// Every part, in the order of reports.
            pub const ALL: [Self; PARTS] = [$(Self::$part),+];

            /// The word reports use.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$part => $name,)+
                }
            }

            /// The title in plots.
            pub const fn title(self) -> &'static str {
                match self {
                    $(Self::$part => $title,)+
                }
            }

            /// Where a request is, or what it waits for, while it spends time in the part.
            pub const fn said(self) -> &'static str {
                match self {
                    $(Self::$part => $said,)+
                }
            }
        }
    };
}

latency_parts! {
    /// In the request queue, before translation began.
    HostQueue = "host_queue", "host queue", "in the host queue, behind earlier requests";
    /// On the host link.
    Link = "link", "link", "on the link to the host";
    /// In firmware.
    Firmware = "firmware", "firmware", "in firmware";
    /// At the head of the request queue while every line of the map cache was being fetched.
    MapStall = "map_stall", "map cache full of fetches",
        "for a line of the map cache, all were being fetched";
    /// Translated, without a slot in the flash command queue.
    Slot = "slot", "no slot", "for a slot of the queue";
    /// Own map commands, and those of the request's other pages that this one needed.
    OwnMap = "own_map", "own map commands", "for its own map commands";
    /// Commands of other requests that it had to wait for.
    Delaying = "delaying", "commands it depends on", "for commands of other requests";
    /// Ready, while the die was busy with another host or map read ...
    DieRead = "die_read", "die reads for others", "behind reads";
    /// ... program ...
    DieProgram = "die_program", "die programs for others", "behind programs";
    /// ... erase ...
    DieErase = "die_erase", "die erases", "behind erases";
    /// ... or with garbage collection.
    DieGc = "die_gc", "die collects garbage", "behind garbage collection";
    /// On the die, waiting for the channel; or ready, while the die waited for power.
    Bus = "bus", "channel or power taken", "for the channel";
    /// The own data command in the array.
    Array = "array", "own array operation", "its own data command, in the array";
    /// The own data on the channel.
    Transfer = "transfer", "own transfer", "its own data, on the channel";
    /// The array of the own data command was done, and the controller did not know yet. With bus
    /// requests only.
    Status = "status", "status requests", "its own command was done and not yet polled";
    /// In the write buffer.
    Buffer = "buffer", "write buffer", "in the write buffer";
    /// Waiting for earlier writes to be committed.
    Flush = "flush", "flush of the buffer", "for room in the write buffer or for earlier writes";
}

impl Part {
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

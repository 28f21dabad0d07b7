//! What a request's latency is made of.

use serde::Serialize;

/// The table of parts: the word of reports; whether it is work of the request itself, and whether
/// reports leave it out where it is nothing; what plots call it; what a sentence about a request
/// says it spent the time on.
macro_rules! parts {
    ($(
        $(#[$doc:meta])*
        $part:ident = $word:literal, $kind:ident, $label:literal, $spent:literal;
    )*) => {
        /// A part of a latency. Every instant between arrival and completion is charged to one
        /// part.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(usize)]
        pub enum Part {
            $($(#[$doc])* $part,)*
        }

        /// How many parts there are.
        pub const PARTS: usize = [$($word),*].len();

        impl Part {
            /// Every part, in the order of reports.
            pub const ALL: [Self; PARTS] = [$(Self::$part),*];

            const ROWS: [Row; PARTS] =
                [$(Row { word: $word, kind: Kind::$kind, label: $label, spent: $spent }),*];
        }
    };
}

parts! {
    /// In the request queue, before translation began.
    HostQueue = "host_queue", Waits, "host queue", "in the host queue, behind earlier requests";
    /// On the host link, or with the thread of the host that submits and reaps.
    Link = "link", Own, "link", "on the link to the host";
    /// In firmware.
    Firmware = "firmware", Own, "firmware", "in firmware";
    /// At the head of the request queue while every line of the map cache was being fetched.
    MapStall = "map_stall", Waits, "map cache full of fetches", "for a line of the map cache, all were being fetched";
    /// Translated, without a slot in the flash command queue.
    Slot = "slot", Waits, "no slot", "for a slot of the queue";
    /// Own map commands, and those of the request's other pages that this one needed.
    OwnMap = "own_map", Own, "own map commands", "for its own map commands";
    /// Commands of other requests that it had to wait for.
    Delaying = "delaying", Waits, "commands it depends on", "for commands of other requests";
    /// Ready, while the die was busy with another host or map read ...
    DieRead = "die_read", Waits, "die reads for others", "behind reads";
    /// ... program ...
    DieProgram = "die_program", Waits, "die programs for others", "behind programs";
    /// ... erase ...
    DieErase = "die_erase", Waits, "die erases", "behind erases";
    /// ... or with garbage collection.
    DieGc = "die_gc", Waits, "die collects garbage", "behind garbage collection";
    /// ... or with folding. With an SLC cache only.
    DieFold = "die_fold", RareWait, "die folds", "behind folding";
    /// On the die, waiting for the channel; or ready, while the die waited for power.
    Bus = "bus", Waits, "channel or power taken", "for the channel";
    /// The own data command in the array; of a read, sensing for the first time.
    Array = "array", Own, "own array operation", "its own data command, in the array";
    /// The own data command in the array, sensing again because a page could not be decoded.
    /// With read retry only.
    Retry = "retry", RareWork, "own page sensed again", "its own data command, sensing again";
    /// The own data on the channel.
    Transfer = "transfer", Own, "own transfer", "its own data, on the channel";
    /// The array of the own data command was done, and the controller did not know yet. With bus
    /// requests only.
    Status = "status", RareWait, "status requests", "its own command was done and not yet polled";
    /// In the write buffer.
    Buffer = "buffer", Own, "write buffer", "in the write buffer";
    /// Waiting for earlier writes to be committed.
    Flush = "flush", Waits, "flush of the buffer",
        "for room in the write buffer or for earlier writes";
}

/// A row of the table.
struct Row {
    word: &'static str,
    kind: Kind,
    label: &'static str,
    spent: &'static str,
}

/// Work of the request itself or a wait; a rare one is of devices with a certain feature only.
#[derive(Clone, Copy)]
enum Kind {
    Own,
    RareWork,
    Waits,
    RareWait,
}

impl Part {
    const fn row(self) -> &'static Row {
        &Self::ROWS[self as usize]
    }

    /// Whether it is work of the request itself, as against waiting; waits for a port of the write
    /// buffer or for the link are in the parts of these.
    pub const fn is_own(self) -> bool {
        matches!(self.row().kind, Kind::Own | Kind::RareWork)
    }

    /// Whether few devices have it, so that reports leave it out where it is nothing.
    pub const fn is_rare(self) -> bool {
        matches!(self.row().kind, Kind::RareWork | Kind::RareWait)
    }

    /// The word reports use.
    pub const fn name(self) -> &'static str {
        self.row().word
    }

    /// What plots call it.
    pub const fn label(self) -> &'static str {
        self.row().label
    }

    /// What a request spent the time on or waited for, behind "2 ms".
    pub const fn spent(self) -> &'static str {
        self.row().spent
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

    /// Becomes the parts of another request. They are copied in two steps, because one step for so
    /// many is a call.
    #[inline]
    pub(crate) fn take_over(&mut self, other: &Self) {
        let (to, rest) = self.0.split_at_mut(PARTS / 2);
        let (from, more) = other.0.split_at(PARTS / 2);
        to.copy_from_slice(from);
        rest.copy_from_slice(more);
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
        let rows = Part::ALL.iter().filter(|part| !part.is_rare() || self.get(**part) > 0);
        serializer.collect_map(rows.map(|part| (part.name(), self.get(*part))))
    }
}

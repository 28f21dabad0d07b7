//! What a loss of power has done to a device.

use flashyard_core::units::{Span, Time};

/// How contents that the host was told of were lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum How {
    /// They were in memory.
    Buffered,
    /// Their program was interrupted.
    Programming,
    /// They were on flash, on the word line of a program that was interrupted
    /// (`power.paired_pages`).
    Paired,
    /// They were on flash, and recovery did not find them (`power.oob_scan`, `power.fault`).
    Unfound,
    /// They were on flash, with the rest of their write not there (`power.awupf_units`).
    Torn,
    /// They were trimmed, and are there again.
    Untrimmed,
    /// Their program was interrupted and counts as whole: the first part of the unit has them, and
    /// these sectors do not (`power.fault`).
    Shorn,
    /// They are on flash with other bits, and the device takes them for whole (`power.fault`).
    Corrupt,
}

impl How {
    /// Every way, in the order of their numbers.
    pub const ALL: [Self; 8] = [
        Self::Buffered,
        Self::Programming,
        Self::Paired,
        Self::Unfound,
        Self::Torn,
        Self::Untrimmed,
        Self::Shorn,
        Self::Corrupt,
    ];

    /// The word that reports use.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Buffered => "buffered",
            Self::Programming => "programming",
            Self::Paired => "paired",
            Self::Unfound => "unfound",
            Self::Torn => "torn",
            Self::Untrimmed => "untrimmed",
            Self::Shorn => "shorn",
            Self::Corrupt => "corrupt",
        }
    }
}

/// A unit whose newest contents the host had an answer for, and that holds others now; or one that
/// holds no contents as a whole (`Shorn`, `Corrupt`), answered or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    /// The request that made these contents, by order of arrival, the last of several; none where
    /// that is not known: for what was on flash, or there before the run.
    pub request: Option<u64>,
    /// The number of the change that made them.
    pub version: u64,
    /// The first sector of the unit that is lost. Of several requests it is the first one that any
    /// of them covers, and where some of it was on flash that of the unit.
    pub first_sector: u64,
    /// How many sectors: up to the last one of the unit that is lost. Between those of two requests
    /// there may be some that were not written.
    pub sectors: u32,
    /// The number of the change that made what the unit holds now; none of what was there before
    /// the run, and where it holds nothing. That of the sectors which are shorn, and of contents
    /// that are corrupt.
    pub kept: Option<u64>,
    /// How they were lost.
    pub how: How,
    /// Whether the device had promised to keep contents of these sectors, the last ones or older
    /// ones that the unit does not hold either: the answer said so, or a flush was answered that
    /// had arrived behind the answer.
    pub promised: bool,
}

/// What a unit holds behind a loss of power that was being changed: some change of it was not over,
/// or was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// The mapping unit.
    pub unit: u32,
    /// The number of the newest change of it that is there, which may be one that the host had no
    /// answer for; none of what was there before the run, and of a unit that holds nothing.
    pub version: Option<u64>,
}

/// A loss of power, and the recovery behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// When the power failed. What happens in this nanosecond has happened.
    pub at: Time,
    /// The seed of what is random in it: whether blocks whose erase was interrupted can be read.
    pub seed: u64,
    /// Units of which something was lost, in ascending order.
    pub lost: Vec<Lost>,
    /// What units hold whose newest change was not answered, or is lost, in ascending order.
    pub held: Vec<Held>,
    /// How long recovery takes: requests wait until `at` and this.
    pub recovery: Span,
    /// Pages that recovery reads, by kind.
    pub reads: Reads,
    /// Mapping units of programs that were interrupted.
    pub torn_units: u64,
    /// Erases that were interrupted.
    pub torn_erases: u64,
    /// Units of the write buffer that the capacitor has saved.
    pub dumped_units: u64,
    /// Energy that it has given, in picojoules.
    pub energy_pj: u64,
    /// Energy that saving everything takes, in picojoules.
    pub needed_pj: u64,
}

impl Cut {
    /// Units of which something was lost that the device had promised to keep.
    pub fn broken(&self) -> impl Iterator<Item = &Lost> {
        self.lost.iter().filter(|lost| lost.promised)
    }
}

/// Pages that recovery reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reads {
    /// Of the checkpoint.
    pub checkpoint: u64,
    /// Of the journal.
    pub journal: u64,
    /// Of what the capacitor has saved.
    pub dumped: u64,
    /// Pages of which the spare area is read.
    pub spare: u64,
}

impl Reads {
    /// All of them.
    pub const fn all(&self) -> u64 {
        self.checkpoint + self.journal + self.dumped + self.spare
    }
}

//! Commands: one array operation on one die, and what it is done for.

use crate::units::Span;

/// What the array does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Op {
    /// Sense a page (tR).
    Read,
    /// Program a page (tPROG).
    Program,
    /// Erase a block (tBERS).
    Erase,
}

impl Op {
    /// Every operation, in the order of their numbers.
    pub const ALL: [Self; 3] = [Self::Read, Self::Program, Self::Erase];

    /// The word reports use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Program => "program",
            Self::Erase => "erase",
        }
    }
}

/// What a command is done for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Purpose {
    /// Data of a host request.
    Host,
    /// Mapping entries that a translation misses.
    MapFetch,
    /// Dirty mapping entries that leave the map cache: read, modify, write of their map page.
    MapWriteback,
    /// Valid data moved out of a block before its erase, and the erase.
    Gc,
    /// Map pages moved by garbage collection, or rewritten because it moved data.
    MapGc,
    /// Data and map pages moved out of a block that is erased less often than others, and the
    /// erase.
    Wear,
    /// Valid data moved by the merges of a translation layer with log blocks, and their erases.
    Merge,
    /// Valid data moved out of a block that is used with one bit a cell, and the erase.
    Fold,
    /// Changes of the map and whole maps that are written so that they outlive a loss of power.
    Journal,
    /// Reads behind a loss of power, and programs of what a capacitor saves.
    Recovery,
    /// Reads of units that no request has asked for yet, ahead of a run of reads.
    ReadAhead,
}

impl Purpose {
    /// Every purpose, in the order of their numbers.
    pub const ALL: [Self; 11] = [
        Self::Host,
        Self::MapFetch,
        Self::MapWriteback,
        Self::Gc,
        Self::MapGc,
        Self::Wear,
        Self::Merge,
        Self::Fold,
        Self::Journal,
        Self::Recovery,
        Self::ReadAhead,
    ];

    /// The word reports use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::MapFetch => "map_fetch",
            Self::MapWriteback => "map_writeback",
            Self::Gc => "gc",
            Self::MapGc => "map_gc",
            Self::Wear => "wear",
            Self::Merge => "merge",
            Self::Fold => "fold",
            Self::Journal => "journal",
            Self::Recovery => "recovery",
            Self::ReadAhead => "read_ahead",
        }
    }

    /// Whether garbage collection, a merge or the folding of a block issued the command.
    #[inline]
    pub const fn is_gc(self) -> bool {
        matches!(self, Self::Gc | Self::MapGc | Self::Wear | Self::Merge | Self::Fold)
    }
}

/// Whom a command works for, as those policies see it that share dies between streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StreamId {
    /// The map: its commands for translations, whether a request waits for them or not.
    Map,
    /// The write buffer, whose units are flushed or read ahead.
    Flush,
    /// Garbage collection, with the map pages that it moves or rewrites, wear levelling, merges,
    /// folding.
    Gc,
    /// Requests of the stream of this number.
    Host(u16),
}

impl StreamId {
    /// How many streams are not the host's.
    pub const INTERNAL: usize = 3;

    /// Its number among all streams: first the internal ones, then the host's.
    #[inline]
    pub const fn index(self) -> usize {
        match self {
            Self::Map => 0,
            Self::Flush => 1,
            Self::Gc => 2,
            Self::Host(number) => Self::INTERNAL + number as usize,
        }
    }

    /// The stream of this number among all streams.
    pub fn of_index(index: usize) -> Self {
        match index {
            0 => Self::Map,
            1 => Self::Flush,
            2 => Self::Gc,
            _ => Self::Host(u16::try_from(index - Self::INTERNAL).expect("numbers have 16 bits")),
        }
    }
}

/// How pressing a request is: reads before writes, then the smaller flash operation time (FOT).
///
/// The smaller rank is served first. Source: Lee et al., IEEE Access 2021, Algorithms 1 and 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank {
    /// 0 for a read, 1 for everything else a host asks for, 2 where no request is concerned.
    pub class: u8,
    /// Flash operation time.
    pub fot: Span,
}

impl Rank {
    /// Behind every request.
    pub const NONE: Self = Self { class: 2, fot: Span::from_ns(u64::MAX) };

    /// Whether a request is concerned at all.
    #[inline]
    pub const fn is_some(self) -> bool {
        self.class < 2
    }
}

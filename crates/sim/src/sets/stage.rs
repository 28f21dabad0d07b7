//! The commands of sets, by what they are for.

use flashyard_core::command::{Op, Purpose};

/// A command of a set, by what it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    // Reads stand together, then programs, erases and the rest: a comparison tells them apart.
    /// Read the map page of a dirty line that is evicted (MRe).
    EvictRead,
    /// Read the map page of the line to fill (MRf).
    Fetch,
    /// Read the old contents of a unit that is written in part (`DRo`).
    OldRead,
    /// Read data (DR).
    Read,
    /// Read a unit ahead of a run of reads (`AR`).
    AheadRead,
    /// Read a valid page out of a victim.
    CopyRead,
    /// Read a page that a merge copies.
    MergeRead,
    /// Read a valid page out of a block that is folded.
    FoldRead,
    /// Read a map page whose data has moved.
    RewriteRead,
    /// Program the map page of a dirty line that is evicted (MP).
    Writeback,
    /// Program data (DP).
    Program,
    /// Program what was read out of a victim elsewhere on the die.
    CopyProgram,
    /// Program what a merge has read elsewhere on the plane.
    MergeProgram,
    /// Program what was read out of a block that is folded elsewhere on the plane.
    FoldProgram,
    /// Program a map page whose data has moved.
    RewriteProgram,
    /// Program changes of the map, or a page of the whole map.
    JournalProgram,
    /// Program nothing, so that a zone is full (`ZP`).
    PadProgram,
    /// Erase the victim.
    Erase,
    /// Erase a block that the host names (DE).
    HostErase,
    /// Erase a block that a merge has emptied.
    MergeErase,
    /// Erase a block that has been folded.
    FoldErase,
    /// Put a unit into the write buffer, or get it from there.
    Buffer,
    /// Carry the data of a page access over the link to the host.
    Link,
    /// Of a flush, or of an access that needs no command: nothing to do once nothing is left to
    /// wait for.
    Barrier,
}

/// How many kinds of commands there are.
pub(crate) const STAGE_KINDS: usize = Stage::Barrier as usize + 1;

impl Stage {
    /// The commands that a die serves.
    pub(crate) const COMMANDS: [Self; 21] = [
        Self::EvictRead,
        Self::Writeback,
        Self::Fetch,
        Self::OldRead,
        Self::Read,
        Self::AheadRead,
        Self::Program,
        Self::CopyRead,
        Self::CopyProgram,
        Self::Erase,
        Self::HostErase,
        Self::MergeRead,
        Self::MergeProgram,
        Self::MergeErase,
        Self::FoldRead,
        Self::FoldProgram,
        Self::FoldErase,
        Self::RewriteRead,
        Self::RewriteProgram,
        Self::JournalProgram,
        Self::PadProgram,
    ];

    /// What the array does; nothing for the buffer, the link and a barrier.
    pub(crate) const fn op(self) -> Op {
        let stage = self as u8;
        if stage <= Self::RewriteRead as u8 {
            Op::Read
        } else if stage <= Self::PadProgram as u8 {
            Op::Program
        } else {
            assert!(stage <= Self::FoldErase as u8, "no die serves it");
            Op::Erase
        }
    }

    /// What it is done for; `wear` is whether its job levels wear. A copy is one of a unit, not of
    /// a map page.
    pub(crate) const fn purpose(self, wear: bool) -> Purpose {
        match self {
            Self::CopyRead | Self::CopyProgram | Self::Erase if wear => Purpose::Wear,
            Self::EvictRead | Self::Writeback => Purpose::MapWriteback,
            Self::Fetch => Purpose::MapFetch,
            Self::OldRead
            | Self::Read
            | Self::Program
            | Self::HostErase
            | Self::PadProgram
            | Self::Buffer
            | Self::Link
            | Self::Barrier => Purpose::Host,
            Self::CopyRead | Self::CopyProgram | Self::Erase => Purpose::Gc,
            Self::MergeRead | Self::MergeProgram | Self::MergeErase => Purpose::Merge,
            Self::FoldRead | Self::FoldProgram | Self::FoldErase => Purpose::Fold,
            Self::RewriteRead | Self::RewriteProgram => Purpose::MapGc,
            Self::JournalProgram => Purpose::Journal,
            Self::AheadRead => Purpose::ReadAhead,
        }
    }

    /// The short name in logs.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::EvictRead => "MRe",
            Self::Writeback => "MP",
            Self::Fetch => "MRf",
            Self::OldRead => "DRo",
            Self::Read => "DR",
            Self::AheadRead => "AR",
            Self::Program => "DP",
            Self::CopyRead => "GR",
            Self::CopyProgram => "GP",
            Self::Erase => "GE",
            Self::HostErase => "DE",
            Self::MergeRead => "LR",
            Self::MergeProgram => "LP",
            Self::MergeErase => "LE",
            Self::FoldRead => "SR",
            Self::FoldProgram => "SP",
            Self::FoldErase => "SE",
            Self::RewriteRead => "UR",
            Self::RewriteProgram => "UP",
            Self::JournalProgram => "JP",
            Self::PadProgram => "ZP",
            Self::Buffer => "B",
            Self::Link => "L",
            Self::Barrier => "F",
        }
    }

    /// Whether it copies a unit for garbage collection or a merge, or folds it.
    pub(crate) const fn is_copy(self) -> bool {
        matches!(self, Self::CopyRead | Self::CopyProgram | Self::MergeRead | Self::MergeProgram)
            || matches!(self, Self::FoldRead | Self::FoldProgram)
    }

    /// Whether a page access of the host waits for its die until this command begins.
    pub(crate) const fn ends_access(self) -> bool {
        matches!(self, Self::Read | Self::Program | Self::HostErase)
    }

    /// Whether it does to the array what the host request itself asks for, or one that is to come.
    pub(crate) const fn is_own(self) -> bool {
        self.is_data() || matches!(self, Self::HostErase)
    }

    /// Whether it moves the data of the host request itself, or of one that is to come.
    pub(crate) const fn is_data(self) -> bool {
        matches!(self, Self::OldRead | Self::Read | Self::AheadRead | Self::Program)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The comparison that tells reads, programs and erases apart trusts the order of the kinds.
    #[test]
    fn what_the_array_does_is_in_the_name_of_the_command() {
        for stage in Stage::COMMANDS {
            let name = format!("{stage:?}");
            let op = if name.ends_with("Erase") {
                Op::Erase
            } else if name.ends_with("Program") || stage == Stage::Writeback {
                Op::Program
            } else {
                assert!(name.ends_with("Read") || stage == Stage::Fetch, "{name}");
                Op::Read
            };
            assert_eq!(stage.op(), op, "{name}");
        }
    }
}

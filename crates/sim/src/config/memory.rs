//! The section `[memory]`: how the tables of the translation layer are laid out in memory.
//!
//! These keys decide how large the tables are, and nothing about when things happen.

use crate::ftl::memory::{DemandTable, LogTable};
use flashyard_core::key::Kind;
use flashyard_core::keys;

keys! {
    /// Keys of `[memory]`.
    pub struct MemoryKeys {
        /// Each table entry takes a multiple of this many bytes.
        entry_align_bytes: u64 = 1 => {
            kind: Kind::count("bytes", 1, 8),
            source: "Park et al. 2011, figure 7: whole bytes, so that 18 bits take 3 bytes",
            flip: "8", with: &[],
        },
        /// What the log tables of FAST and LAST hold.
        log_table: LogTable = LogTable::PageEntry => {
            kind: Kind::Choice(LogTable::WORDS),
            source: "assumed: Park et al. 2011, figure 7, prints no sizes",
            flip: "log_entry", with: &["@log"],
        },
        /// Which table a map on flash keeps in memory besides its cache.
        demand_table: DemandTable = DemandTable::Directory => {
            kind: Kind::Choice(DemandTable::WORDS),
            source: "Gupta et al., ASPLOS 2009: a directory of map pages",
            flip: "both", with: &[],
        },
    }
}

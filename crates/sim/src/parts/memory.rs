//! How many bytes of memory each translation layer needs for its tables.
//!
//! Source: Park, Kim, Urgaonkar, Lee, Seo, 2011, figure 7. An entry that tells n things apart takes
//! ceil(log2(n)) bits, in whole bytes, and a multiple of `memory.entry_align_bytes`. What the study
//! does not have (BAST, the line cache, the directory of a map on flash) is said where it is. Each
//! scheme says itself which tables it has, with the sizes that are computed here or its own
//! ([`Scheme::tables`](super::log::Scheme::tables)).

use flashyard_core::choice;

choice! {
    /// What the log tables of FAST and LAST hold.
    pub enum LogTable {
        /// For each log page the number of the logical page in it.
        PageEntry = "page_entry",
        /// As many entries, each wide enough for the number of a log page.
        LogEntry = "log_entry",
    }
}

choice! {
    /// What a map on flash keeps in memory besides its cache.
    pub enum DemandTable {
        /// Where each map page is (GTD).
        Directory = "directory",
        /// A block table, as the study counts it.
        BlockTable = "block_table",
        /// Both.
        Both = "both",
    }
}

/// What the tables of a translation layer take in memory, and how many of their entries are looked
/// up or changed. The energy of tables follows from both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableCost {
    /// Bytes of them.
    pub bytes: u64,
    /// Entries for each page access of the host whose place is looked up.
    pub of_lookup: u64,
    /// Entries for each page that the host writes or trims.
    pub of_change: u64,
    /// Entries for each page that is copied.
    pub of_copy: u64,
    /// Entries for each data block that a merge replaces.
    pub of_replaced: u64,
}

impl TableCost {
    /// No table.
    pub const NONE: Self =
        Self { bytes: 0, of_lookup: 0, of_change: 0, of_copy: 0, of_replaced: 0 };

    /// One table of pages.
    pub const fn page_table(extent: &Extent) -> Self {
        Self { bytes: extent.page_table(), of_lookup: 1, of_change: 1, of_copy: 1, of_replaced: 0 }
    }

    /// A block table: an entry changes when a block takes the place of a data block.
    pub const fn block_table(extent: &Extent) -> Self {
        Self { bytes: extent.block_table(), of_lookup: 1, of_change: 0, of_copy: 0, of_replaced: 1 }
    }

    /// The directory of a map on flash, which is used for each command that reads or programs a map
    /// page; entries of the map itself are looked up and changed in its cache.
    pub const fn map_on_flash(extent: &Extent, table: DemandTable) -> Self {
        Self { bytes: extent.demand(table), of_lookup: 0, of_change: 1, of_copy: 1, of_replaced: 0 }
    }

    /// A block table and a table of log pages of this many bytes: both are looked up, and what is
    /// written changes the second.
    pub const fn with_log(extent: &Extent, bytes: u64) -> Self {
        let blocks = Self::block_table(extent);
        Self { bytes: blocks.bytes + bytes, of_lookup: 2, of_change: 1, ..blocks }
    }

    /// Entries looked up or changed by that many lookups, changes, copies and replaced blocks.
    pub(crate) const fn accesses(
        &self,
        lookups: u64,
        changes: u64,
        copies: u64,
        replaced: u64,
    ) -> u64 {
        self.of_lookup * lookups
            + self.of_change * changes
            + self.of_copy * copies
            + self.of_replaced * replaced
    }
}

/// Bytes of an entry of the directory: where a map page is. Units are counted in 32 bits.
const DIRECTORY_ENTRY: u64 = 4;

/// What the tables depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Pages that the host sees.
    pub logical: u64,
    /// Pages there are.
    pub physical: u64,
    /// Pages of a block.
    pub pages_per_block: u64,
    /// Pages of the log blocks.
    pub log_pages: u64,
    /// Map pages of a map on flash.
    pub map_pages: u64,
    /// Entries take a multiple of this many bytes; at least 1.
    pub entry_align: u64,
    /// What tables of shared log blocks hold.
    pub log_table: LogTable,
}

impl Extent {
    /// The study's device of this capacity: pages of 2 KiB in blocks of 64, 5 % of them log blocks,
    /// entries of whole bytes, map pages of 4-byte entries.
    pub const fn study(mebibytes: u64) -> Self {
        let pages = mebibytes * 512;
        Self {
            logical: pages,
            physical: pages,
            pages_per_block: 64,
            log_pages: pages / 64 / 20 * 64,
            map_pages: pages.div_ceil(512),
            entry_align: 1,
            log_table: LogTable::PageEntry,
        }
    }

    /// Bytes of an entry that tells `things` apart.
    pub const fn entry(&self, things: u64) -> u64 {
        let bits = u64::BITS - things.saturating_sub(1).leading_zeros();
        (bits as u64).div_ceil(8).next_multiple_of(self.entry_align)
    }

    /// Logical blocks.
    const fn blocks(&self) -> u64 {
        self.logical.div_ceil(self.pages_per_block)
    }

    /// Bytes of an entry that names a block.
    const fn block_entry(&self) -> u64 {
        self.entry(self.physical.div_ceil(self.pages_per_block))
    }

    /// Bytes of a table of pages.
    pub const fn page_table(&self) -> u64 {
        self.logical * self.entry(self.physical)
    }

    /// Bytes of a table of blocks.
    pub const fn block_table(&self) -> u64 {
        self.blocks() * self.block_entry()
    }

    /// Bytes of a table of log blocks with an owner each. Assumed, for the study has no BAST: the
    /// owner of each log block, and for each of its pages the place in the owner that it is a copy
    /// of.
    pub const fn owned_log(&self) -> u64 {
        let owners = self.log_pages / self.pages_per_block * self.block_entry();
        owners + self.log_pages * self.entry(self.pages_per_block)
    }

    /// Bytes of a table of log blocks that all data blocks share.
    pub const fn shared_log(&self) -> u64 {
        let named = match self.log_table {
            LogTable::PageEntry => self.logical,
            LogTable::LogEntry => self.log_pages,
        };
        self.log_pages * self.entry(named)
    }

    /// Bytes that a map on flash keeps in memory, without its cache.
    pub const fn demand(&self, table: DemandTable) -> u64 {
        let directory = self.map_pages * DIRECTORY_ENTRY.next_multiple_of(self.entry_align);
        match table {
            DemandTable::Directory => directory,
            DemandTable::BlockTable => self.block_table(),
            DemandTable::Both => self.block_table() + directory,
        }
    }
}

/// What the translation layer of a device keeps in memory, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Footprint {
    /// Tables.
    pub tables: u64,
    /// Map cache; 0 where there is none.
    pub cache: u64,
    /// Write buffer; 0 where there is none.
    pub buffer: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cache of the study's DFTL.
    const CACHE: u64 = 32 * 1024;

    #[test]
    fn entries_are_as_wide_as_the_things_they_tell_apart() {
        let extent = Extent::study(1_024);
        // ceil(log2 n) bits: 2^8 things need 8, one more needs 9.
        let wanted = [(1, 0), (2, 1), (256, 1), (257, 2), (65_536, 2), (65_537, 3), (1 << 25, 4)];
        for (things, bytes) in wanted {
            assert_eq!(extent.entry(things), bytes, "{things} things");
        }
        let aligned = Extent { entry_align: 4, ..extent };
        assert_eq!([aligned.entry(257), aligned.entry(1 << 33)], [4, 8]);
    }

    /// Worked out by hand: pages x 3 bytes (4 from 2^25 pages on), blocks x 2 (3 from 2^17 blocks
    /// on), 5 % of the blocks, rounded down, x 64 pages x the entry of a page.
    #[test]
    fn tables_of_the_study_have_the_sizes_that_its_rules_give() {
        let rows = [
            (512, 786_432, 8_192, 47_360, 40_960),
            (1_024, 1_572_864, 16_384, 94_912, 49_152),
            (2_048, 3_145_728, 32_768, 190_016, 65_536),
            (4_096, 6_291_456, 65_536, 380_032, 98_304),
            (8_192, 12_582_912, 131_072, 760_064, 163_840),
            (16_384, 25_165_824, 393_216, 1_651_392, 425_984),
            (32_768, 50_331_648, 786_432, 3_302_976, 819_200),
            (65_536, 134_217_728, 1_572_864, 8_283_648, 1_605_632),
        ];
        for (mebibytes, page, block, shared, demand) in rows {
            let extent = Extent::study(mebibytes);
            assert_eq!(extent.page_table(), page, "{mebibytes} MiB");
            assert_eq!(extent.block_table(), block, "{mebibytes} MiB");
            assert_eq!(extent.block_table() + extent.shared_log(), shared, "{mebibytes} MiB");
            assert_eq!(extent.demand(DemandTable::BlockTable) + CACHE, demand, "{mebibytes} MiB");
        }
        // The one size that the study prints: 768 KB for 512 MB.
        assert_eq!(Extent::study(512).page_table(), 768 * 1_024);
    }

    #[test]
    fn variants_differ_by_what_their_names_say() {
        let extent = Extent::study(1_024);
        // 1024 map pages of 512 entries, 4 bytes each.
        assert_eq!(extent.demand(DemandTable::Directory), 4_096);
        assert_eq!(extent.demand(DemandTable::Both), 16_384 + 4_096);
        // 409 x 64 = 26,176 log pages: numbers of them take two bytes, of logical pages three.
        let log = Extent { log_table: LogTable::LogEntry, ..extent };
        assert_eq!(log.shared_log(), 26_176 * 2);
        // An owner of two bytes for each of the 409 log blocks, a byte for each of their pages.
        assert_eq!(extent.owned_log(), 409 * 2 + 26_176);
        let aligned = Extent { entry_align: 4, ..extent };
        assert_eq!(aligned.page_table(), 524_288 * 4);
        assert_eq!(aligned.block_table() + aligned.shared_log(), (8_192 + 26_176) * 4);
    }

    /// A device with spare blocks tells more physical than logical pages apart, and a capacity that
    /// is no whole number of blocks has one more of them.
    #[test]
    fn entries_name_physical_pages_and_tables_hold_logical_ones() {
        let extent =
            Extent { logical: 65_000, physical: 70_000, log_pages: 0, ..Extent::study(128) };
        assert_eq!(extent.page_table(), 65_000 * 3);
        assert_eq!(extent.block_table(), 1_016 * 2);
    }
}

//! How many bytes of memory each translation layer needs for its tables.
//!
//! Source: Park, Kim, Urgaonkar, Lee, Seo, 2011, figure 7. An entry that tells n things apart takes
//! ceil(log2(n)) bits, in whole bytes, and a multiple of `memory.entry_align_bytes`. What the study
//! does not have (BAST, the line cache, the directory of a map on flash) is said where it is.

use crate::config::{MapStore, Settings};
use crate::ftl::log::{self, SchemeName};
use crate::ftl::planned::shape as plane_shape;
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

/// Translation layers, as far as their tables differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tables {
    /// A page table.
    Page,
    /// A block table.
    Block,
    /// A block table, and log blocks with an owner each.
    Bast,
    /// A block table, and log blocks that anybody shares: FAST and LAST.
    SharedLog(LogTable),
    /// Map pages on flash.
    Demand(DemandTable),
    /// Those of a user's own layer.
    Unknown,
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

    /// Bytes of the tables that are always in memory; caches come on top.
    pub const fn bytes(&self, tables: Tables) -> u64 {
        let block_table = self.blocks() * self.block_entry();
        let directory = self.map_pages * DIRECTORY_ENTRY.next_multiple_of(self.entry_align);
        match tables {
            Tables::Page => self.logical * self.entry(self.physical),
            Tables::Block | Tables::Demand(DemandTable::BlockTable) => block_table,
            Tables::Bast => {
                // Assumed, for the study has no BAST: the owner of each log block, and for each of
                // its pages the place in the owner that it is a copy of.
                let owners = self.log_pages / self.pages_per_block * self.block_entry();
                block_table + owners + self.log_pages * self.entry(self.pages_per_block)
            }
            Tables::SharedLog(LogTable::PageEntry) => {
                block_table + self.log_pages * self.entry(self.logical)
            }
            Tables::SharedLog(LogTable::LogEntry) => {
                block_table + self.log_pages * self.entry(self.log_pages)
            }
            Tables::Unknown => 0,
            Tables::Demand(DemandTable::Directory) => directory,
            Tables::Demand(DemandTable::Both) => block_table + directory,
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

impl Footprint {
    /// That of a device.
    pub fn of(settings: &Settings) -> Self {
        let (keys, geometry) = (&settings.keys, &settings.geometry);
        let units_per_block = u64::from(geometry.units_per_block());
        let extent = Extent {
            logical: settings.exported_units.into(),
            physical: geometry.units(),
            pages_per_block: units_per_block,
            log_pages: log_blocks(settings) * units_per_block,
            map_pages: settings.map_pages.into(),
            entry_align: keys.memory.entry_align_bytes,
        };
        let tables = match (keys.ftl.scheme, keys.map.store) {
            (SchemeName::Page, MapStore::Resident) => Tables::Page,
            (SchemeName::Page, MapStore::LineCache | MapStore::Cmt) => {
                Tables::Demand(keys.memory.demand_table)
            }
            (SchemeName::Block, _) => Tables::Block,
            (SchemeName::Bast, _) => Tables::Bast,
            (SchemeName::Fast | SchemeName::Last, _) => Tables::SharedLog(keys.memory.log_table),
            (SchemeName::Own(_), _) => Tables::Unknown,
        };
        let line = match keys.map.store {
            MapStore::Cmt => keys.map.cached_entry_bytes,
            MapStore::LineCache | MapStore::Resident => {
                keys.map.entries_per_line * keys.map.entry_bytes
            }
        };
        Self {
            tables: extent.bytes(tables),
            cache: u64::from(settings.map_lines) * line,
            buffer: u64::from(settings.buffer_units) * u64::from(geometry.unit_bytes()),
        }
    }
}

/// Log blocks of a device.
fn log_blocks(settings: &Settings) -> u64 {
    let (keys, geometry) = (&settings.keys, &settings.geometry);
    let asked = match keys.ftl.scheme {
        SchemeName::Page | SchemeName::Block | SchemeName::Own(_) => return 0,
        SchemeName::Bast => keys.schemes.bast.log_blocks,
        SchemeName::Fast => keys.schemes.fast.log_blocks,
        SchemeName::Last => keys.schemes.last.log_blocks,
    };
    let of_plane = |stripe| {
        let order = keys.nand.program_order;
        let shape = plane_shape(geometry, order, settings.exported_units, stripe);
        u64::from(log::log_blocks(asked, &shape))
    };
    (0..geometry.all_planes()).map(of_plane).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cache of the study's DFTL.
    const CACHE: u64 = 32 * 1024;

    const SHARED: Tables = Tables::SharedLog(LogTable::PageEntry);

    const STUDY_DEMAND: Tables = Tables::Demand(DemandTable::BlockTable);

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
            assert_eq!(extent.bytes(Tables::Page), page, "{mebibytes} MiB");
            assert_eq!(extent.bytes(Tables::Block), block, "{mebibytes} MiB");
            assert_eq!(extent.bytes(SHARED), shared, "{mebibytes} MiB");
            assert_eq!(extent.bytes(STUDY_DEMAND) + CACHE, demand, "{mebibytes} MiB");
        }
        // The one size that the study prints: 768 KB for 512 MB.
        assert_eq!(Extent::study(512).bytes(Tables::Page), 768 * 1_024);
    }

    #[test]
    fn variants_differ_by_what_their_names_say() {
        let extent = Extent::study(1_024);
        // 1024 map pages of 512 entries, 4 bytes each.
        assert_eq!(extent.bytes(Tables::Demand(DemandTable::Directory)), 4_096);
        assert_eq!(extent.bytes(Tables::Demand(DemandTable::Both)), 16_384 + 4_096);
        // 409 x 64 = 26,176 log pages: numbers of them take two bytes, of logical pages three.
        let log = Tables::SharedLog(LogTable::LogEntry);
        assert_eq!(extent.bytes(log), 16_384 + 26_176 * 2);
        // An owner of two bytes for each of the 409 log blocks, a byte for each of their pages.
        assert_eq!(extent.bytes(Tables::Bast), 16_384 + 409 * 2 + 26_176);
        let aligned = Extent { entry_align: 4, ..extent };
        assert_eq!(aligned.bytes(Tables::Page), 524_288 * 4);
        assert_eq!(aligned.bytes(SHARED), (8_192 + 26_176) * 4);
    }

    /// A device with spare blocks tells more physical than logical pages apart, and a capacity that
    /// is no whole number of blocks has one more of them.
    #[test]
    fn entries_name_physical_pages_and_tables_hold_logical_ones() {
        let extent =
            Extent { logical: 65_000, physical: 70_000, log_pages: 0, ..Extent::study(128) };
        assert_eq!(extent.bytes(Tables::Page), 65_000 * 3);
        assert_eq!(extent.bytes(Tables::Block), 1_016 * 2);
    }
}

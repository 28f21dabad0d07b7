//! What the tables of the translation layer take and how often they are used.

use super::Device;
use crate::config::MapStore;
use crate::ftl::log::SchemeName;
use crate::ftl::memory::Footprint;
use crate::metrics::counters::Tally;
use crate::report::MemoryReport;
use flashyard_core::command::{Op, Purpose};

impl Device {
    pub(super) fn memory_report(&self, all: &Tally) -> MemoryReport {
        let footprint = Footprint::of(&self.settings);
        MemoryReport {
            table_bytes: footprint.tables,
            cache_bytes: footprint.cache,
            buffer_bytes: footprint.buffer,
            table_accesses: self.table_accesses(all),
        }
    }

    /// Entries that were looked up or changed.
    pub(super) fn table_accesses(&self, all: &Tally) -> u64 {
        let table = &self.account.totals.tables;
        let entries = table.changes + table.copies;
        match (self.settings.keys.ftl.scheme, self.settings.keys.map.store) {
            (SchemeName::Page, MapStore::Resident) => table.lookups + entries,
            (SchemeName::Page, MapStore::LineCache | MapStore::Cmt) => {
                // The directory says where each map page is, and changes when it is programmed.
                let pages = [Op::Read, Op::Program].map(|op| {
                    let maps = [Purpose::MapFetch, Purpose::MapWriteback, Purpose::MapGc];
                    maps.map(|purpose| all.get(op, purpose).pages).iter().sum::<u64>()
                });
                self.account.totals.map.lookups + entries + pages[0] + pages[1]
            }
            // A block entry changes when a block takes the place of a data block.
            (SchemeName::Block, _) => table.lookups + self.replaced_blocks(),
            // The block table and the log table are looked up.
            (SchemeName::Bast | SchemeName::Fast | SchemeName::Last, _) => {
                2 * table.lookups + table.changes + self.replaced_blocks()
            }
            (SchemeName::Own(_), _) => 0,
        }
    }

    /// Data blocks that merges have replaced.
    fn replaced_blocks(&self) -> u64 {
        let merges = self.merges();
        merges.switch + merges.partial + merges.full
    }
}

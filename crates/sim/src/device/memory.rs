//! What the tables of the translation layer take and how often they are used.

use super::Device;
use crate::config::MapStore;
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
        let totals = &self.account.totals;
        let table = &totals.tables;
        let Some(tables) = &self.settings.tables else { return 0 };
        let replaced = self.replaced_blocks();
        let entries = tables.accesses(table.lookups, table.changes, table.copies, replaced);
        if self.settings.keys.map.store == MapStore::Resident {
            return entries;
        }
        // The directory says where each map page is, and changes when it is programmed.
        let pages = [Op::Read, Op::Program].map(|op| {
            let maps = [Purpose::MapFetch, Purpose::MapWriteback, Purpose::MapGc];
            maps.map(|purpose| all.get(op, purpose).pages).iter().sum::<u64>()
        });
        entries + totals.map.lookups + pages[0] + pages[1]
    }

    /// Data blocks that merges have replaced.
    fn replaced_blocks(&self) -> u64 {
        let merges = self.merges();
        merges.switch + merges.partial + merges.full
    }
}

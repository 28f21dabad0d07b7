//! What the tables of the translation layer take and how often they are used.

use super::Device;
use crate::config::MapStore;
use crate::ftl::memory::Footprint;
use crate::metrics::counters::Tally;
use crate::report::MemoryReport;
use crate::saved::saved;
use flashyard_core::command::{Op, Purpose};

/// What accesses of tables are counted from.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TableTotals {
    /// Page accesses of the host whose place was looked up.
    pub(super) lookups: u64,
    /// Changes of a logical page that were committed: writes and trims ...
    pub(super) changes: u64,
    /// ... and copies.
    pub(super) copies: u64,
}

saved!(TableTotals { lookups, changes, copies });

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
    fn table_accesses(&self, all: &Tally) -> u64 {
        let table = &self.totals.tables;
        let entries = table.changes + table.copies;
        match self.settings.keys.map.store {
            MapStore::Resident => table.lookups + entries,
            MapStore::LineCache | MapStore::Cmt => {
                // The directory says where each map page is, and changes when it is programmed.
                let pages = [Op::Read, Op::Program].map(|op| {
                    let maps = [Purpose::MapFetch, Purpose::MapWriteback, Purpose::MapGc];
                    maps.map(|purpose| all.get(op, purpose).pages).iter().sum::<u64>()
                });
                self.totals.map.lookups + entries + pages[0] + pages[1]
            }
        }
    }
}

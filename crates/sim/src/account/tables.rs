//! What the tables of the translation layer take and how often they are used.

use super::Account;
use crate::config::MapStore;
use crate::metrics::counters::Tally;
use crate::parts::layer::MergeCounts;
use crate::parts::memory::Footprint;
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

impl Account {
    pub(super) fn memory_report(
        &self,
        all: &Tally,
        merges: &MergeCounts,
        footprint: &Footprint,
    ) -> MemoryReport {
        MemoryReport {
            table_bytes: footprint.tables,
            cache_bytes: footprint.cache,
            buffer_bytes: footprint.buffer,
            table_accesses: self.table_accesses(all, merges),
        }
    }

    /// Entries that were looked up or changed.
    pub(super) fn table_accesses(&self, all: &Tally, merges: &MergeCounts) -> u64 {
        let Some(cost) = &self.config.tables else { return 0 };
        let table = &self.totals.tables;
        // Data blocks that merges have replaced.
        let replaced = merges.switch + merges.partial + merges.full;
        let entries = cost.accesses(table.lookups, table.changes, table.copies, replaced);
        if self.config.store == MapStore::Resident {
            return entries;
        }
        // The directory says where each map page is, and changes when it is programmed.
        let pages = [Op::Read, Op::Program].map(|op| {
            let maps = [Purpose::MapFetch, Purpose::MapWriteback, Purpose::MapGc];
            maps.map(|purpose| all.get(op, purpose).pages).iter().sum::<u64>()
        });
        entries + self.totals.map.lookups + pages[0] + pages[1]
    }
}

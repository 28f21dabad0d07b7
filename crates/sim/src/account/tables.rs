//! What the tables of the translation layer take and how often they are used.

use crate::saved::saved;

/// What accesses of tables are counted from.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TableTotals {
    /// Page accesses of the host whose place was looked up.
    pub(crate) lookups: u64,
    /// Changes of a logical page that were committed: writes and trims ...
    pub(crate) changes: u64,
    /// ... and copies.
    pub(crate) copies: u64,
}

saved!(TableTotals { lookups, changes, copies });

//! What is asked of a fit.

use crate::experiment::path_of;

/// Whether these settings, each `section.key=value`, give a key a value.
pub(super) fn sets(set: &[String], key: &str) -> bool {
    set.iter().any(|setting| path_of(setting) == key)
}

/// What is fitted, and how long that may take.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Keys with their bounds, such as `nand.read_us=20..200`; none: the declared keys that the
    /// cells tell something about (docs/FITTING.md).
    pub keys: Vec<String>,
    /// Settings of all runs.
    pub set: Vec<String>,
    /// Requests of the run of a cell.
    pub requests: u64,
    /// How often all cells are run for a search.
    pub evaluations: usize,
    /// The seed of the requests of all runs.
    pub seed: u64,
}

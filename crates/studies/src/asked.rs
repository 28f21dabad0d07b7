//! What is asked of a study.

use std::path::PathBuf;

/// Options of a study. The default is what its file says.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// A directory with recorded traces.
    pub traces: Option<PathBuf>,
    /// A preset or a device file for all runs.
    pub device: Option<String>,
    /// Settings of the device.
    pub set: Vec<String>,
    /// The first requests of each workload alone, so many at most.
    pub requests: Option<usize>,
    /// How many replicas measure the noise of a run.
    pub replicas: Option<usize>,
    /// The short form of the study.
    pub short: bool,
    /// Every rule is checked during the runs.
    pub check: bool,
    /// The study is one of several: a directory without its traces is no error.
    pub is_one_of_many: bool,
}

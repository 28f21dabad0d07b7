//! Everything that is counted, checked and told: totals, the time series, the checker, observers.

pub(crate) mod energy;
pub(crate) mod tables;
pub(crate) mod totals;
pub(crate) mod usage;

use crate::check::Checker;
use crate::config::Settings;
use crate::device::PhaseReport;
use crate::metrics::counters::Tally;
use crate::metrics::series::Series;
use crate::observe::Observer;
use totals::Totals;
use usage::Usage;

/// What is known of a run.
pub(crate) struct Account {
    pub(crate) totals: Totals,
    /// The work of each request under way, where observers ask for it.
    pub(crate) works: Vec<Tally>,
    pub(crate) observers: Vec<Box<dyn Observer>>,
    pub(crate) checker: Option<Box<Checker>>,
    pub(crate) series: Option<Box<Series>>,
    pub(crate) phases: Vec<PhaseReport>,
    /// Work of measured time.
    pub(crate) measured: Usage,
    /// Power of the DRAM, in microwatts.
    pub(crate) dram_uw: u64,
    /// Whether the device was made from a saved one.
    pub(crate) restored: bool,
}

impl Account {
    /// Nothing has happened yet.
    pub(crate) fn new(settings: &Settings) -> Self {
        let metrics = &settings.keys.metrics;
        Self {
            totals: Totals::new(metrics.skip_requests),
            works: Vec::new(),
            observers: Vec::new(),
            checker: None,
            series: (metrics.bin_ms > 0).then(|| Box::new(Series::new(metrics.bin_ms))),
            phases: Vec::new(),
            measured: Usage::none(&settings.geometry),
            dram_uw: settings.dram_uw(),
            restored: false,
        }
    }
}

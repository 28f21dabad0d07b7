//! The log of the power meter: a row a sample.

use super::log::{Log, SharedLog};
use super::parquet::{Cell, Field, Kind};
use anyhow::Result;
use flashyard_sim::observe::{Observer, PowerSamples};
use std::path::Path;

/// The columns. The time is measured time: phases that are not measured leave no gap.
const FIELDS: [Field; 4] = [
    Field::new("start_ns", Kind::Count, "ns", "start of the sample, in measured time"),
    Field::new("span_ns", Kind::Count, "ns", "length of the sample"),
    Field::new("energy_pj", Kind::Count, "pJ", "energy of the sample"),
    Field::new("mean_mw", Kind::Number, "mW", "mean power; nothing in a sample of no length"),
];

/// Writes a row for every sample.
#[derive(Debug)]
pub(crate) struct PowerLogger(SharedLog);

impl PowerLogger {
    /// A log into the file at `path`, and its owner's end.
    pub(crate) fn new(path: &Path) -> Result<(Self, SharedLog)> {
        let log = Log::shared("the log of the power meter", path, &FIELDS)?;
        Ok((Self(log.clone()), log))
    }
}

impl Observer for PowerLogger {
    fn power(&mut self, event: &PowerSamples) {
        let PowerSamples { start_ns, samples, span_ns, energy_pj } = *event;
        // A last sample of no length has no mean.
        let mean = (span_ns > 0).then(|| energy_pj as f64 / span_ns as f64);
        let mean = mean.map_or(Cell::Nothing, Cell::Number);
        let mut log = self.0.get();
        for number in 0..samples {
            let start = start_ns + number * span_ns;
            log.row(&[start.into(), span_ns.into(), energy_pj.into(), mean]);
        }
    }
}

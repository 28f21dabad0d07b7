//! The log of the power meter: a row a sample.

use super::rows::{Log, Rows};
use crate::table::{Cell, Field, Kind};
use flashyard_sim::observe::{Observer, PowerSamples, Shared};

/// The columns. The time is measured time: phases that are not measured leave no gap.
const FIELDS: [Field; 4] = [
    Field::new("start_ns", Kind::Count, "ns", "start of the sample, in measured time"),
    Field::new("span_ns", Kind::Count, "ns", "length of the sample"),
    Field::new("energy_pj", Kind::Count, "pJ", "energy of the sample"),
    Field::new("mean_mw", Kind::Number, "mW", "mean power; nothing in a sample of no length"),
];

/// The log.
pub const fn power<R: Rows + 'static>() -> Log<R> {
    Log {
        what: "the log of the power meter",
        fields: || FIELDS.to_vec(),
        observer: |log| Box::new(PowerLogger(log)),
    }
}

/// Writes a row for every sample.
#[derive(Debug)]
struct PowerLogger<R>(Shared<R>);

impl<R: Rows> Observer for PowerLogger<R> {
    fn power(&mut self, event: &PowerSamples) {
        let PowerSamples { start_ns, samples, span_ns, energy_pj } = *event;
        // A last sample of no length has no mean.
        let mean = (span_ns > 0).then(|| energy_pj as f64 / span_ns as f64);
        let mean = mean.map_or(Cell::Nothing, Cell::Number);
        let mut log = self.0.get();
        for number in 0..samples {
            let start = start_ns + number * span_ns;
            log.row([start.into(), span_ns.into(), energy_pj.into(), mean]);
        }
    }
}

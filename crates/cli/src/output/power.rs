//! The log of the power meter: a CSV row a sample.

use super::WholeFile;
use super::log::{Log, SharedLog};
use flashyard_sim::observe::{Observer, PowerSamples};
use std::io::Write;
use std::rc::Rc;

/// The columns. The time is measured time: phases that are not measured leave no gap.
const HEADER: &str = "start_ns,span_ns,energy_pj,mean_mw";

/// Writes a row for every sample.
#[derive(Debug)]
pub(crate) struct PowerLogger(SharedLog);

impl PowerLogger {
    /// A log into `file`, and its owner's end.
    pub(crate) fn new(file: WholeFile) -> (Self, SharedLog) {
        let log = Log::shared("the log of the power meter", file, HEADER);
        (Self(Rc::clone(&log)), log)
    }
}

impl Observer for PowerLogger {
    fn power(&mut self, event: &PowerSamples) {
        self.0.borrow_mut().row(|file| write(file, event));
    }
}

/// A last sample of no length has no mean.
fn write(file: &mut WholeFile, event: &PowerSamples) -> std::io::Result<()> {
    let PowerSamples { start_ns, samples, span_ns, energy_pj } = *event;
    for number in 0..samples {
        write!(file, "{},{span_ns},{energy_pj},", start_ns + number * span_ns)?;
        if span_ns > 0 {
            write!(file, "{}", energy_pj as f64 / span_ns as f64)?;
        }
        writeln!(file)?;
    }
    Ok(())
}

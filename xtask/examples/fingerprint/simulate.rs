//! One case: a device, what it holds at first, and streams of requests.

use crate::common;
use crate::hash::{Events, Hash};
use flashyard_sim::config::Settings;
use flashyard_sim::device::{PhaseKeys, RunError, SimError};
use flashyard_sim::drive::Drive;
use flashyard_sim::stream::Stream;
use std::fmt;

/// What a case found.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    /// The report as JSON, or why there is none.
    pub(crate) report: String,
    /// The hash of all events.
    pub(crate) events: Hash,
    /// The device.
    pub(crate) settings: Settings,
}

/// A case that can be run as often as one likes.
pub(crate) struct Plan<'a, F> {
    pub(crate) settings: &'a Settings,
    /// Units that the buffer holds at first.
    pub(crate) units: &'a [(u64, Option<u32>, bool)],
    pub(crate) phase: PhaseKeys,
    /// Whether the device is saved after the phase, restored, and asked the same again.
    pub(crate) again: bool,
    /// The streams, from their start.
    pub(crate) streams: F,
}

impl<'a, E: fmt::Debug, F: Fn() -> Vec<Stream<'a, E>>> Plan<'a, F> {
    /// Runs it twice, without an observer and with one.
    pub(crate) fn run(&self) -> Found {
        let report = self.once(None);
        let events = Events::default();
        let watched = self.once(Some(&events));
        assert!(report == watched, "an observer changes the report:\n{report}\n{watched}");
        Found { report, events: events.hash(), settings: self.settings.clone() }
    }

    fn once(&self, events: Option<&Events>) -> String {
        match self.try_once(events) {
            Ok(report) => report,
            Err(RunError::Sim(error)) => format!("{error:?}"),
            Err(RunError::Workload(error)) => panic!("no requests: {error:?}"),
        }
    }

    fn try_once(&self, events: Option<&Events>) -> Result<String, RunError<E>> {
        let watch = |device: &mut Drive| {
            if let Some(events) = events {
                device.observe(Box::new(events.clone()));
            }
        };
        let mut device = Drive::new(self.settings);
        watch(&mut device);
        if let Some(flash) = device.flash()
            && !self.units.is_empty()
        {
            flash.preload_buffer(self.units).map_err(RunError::Sim)?;
        }
        device.run_phase(&self.phase, (self.streams)())?;
        if let Some(flash) = device.flash()
            && self.again
            && flash.can_be_saved()
        {
            let bytes = common::saved(flash);
            let flash = common::restored(self.settings, &bytes).expect("it was saved just now");
            device = Drive::Flash(Box::new(flash));
            watch(&mut device);
            device.run_phase(&self.phase, (self.streams)())?;
        }
        json(device).map_err(RunError::Sim)
    }
}

fn json(device: Drive) -> Result<String, SimError> {
    let report = device.finish()?;
    Ok(serde_json::to_string(&report).expect("a report is plain data"))
}

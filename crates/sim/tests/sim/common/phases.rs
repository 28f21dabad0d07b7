//! Phases of several streams under the checker.

use super::{Recorded, Recorder};
use flashyard_core::request::Request;
use flashyard_sim::config::Settings;
use flashyard_sim::device::{Device, PhaseKeys, PhaseReport, RunError, SimError};
use flashyard_sim::observe::RequestDone;
use flashyard_sim::report::Report;
use flashyard_sim::stream::{Pacing, Stream, StreamKeys};
use std::cell::RefCell;
use std::convert::Infallible;
use std::rc::Rc;

/// A stream of a list of requests.
pub fn stream(keys: StreamKeys, requests: &[Request]) -> Stream<'_, Infallible> {
    let mut requests = requests.iter().copied();
    let source = Box::new(move || Ok(requests.next()));
    Stream { name: "s".to_string(), keys, source }
}

/// The same with a name.
pub fn named<'a>(name: &str, keys: StreamKeys, requests: &'a [Request]) -> Stream<'a, Infallible> {
    Stream { name: name.to_string(), ..stream(keys, requests) }
}

/// Keys of a stream.
pub fn pacing(pacing: Pacing, depth: u64) -> StreamKeys {
    StreamKeys { pacing, depth, ..StreamKeys::default() }
}

/// A device under the checker that records.
pub struct Bench {
    pub device: Device,
    recorded: Rc<RefCell<Recorded>>,
}

impl Bench {
    pub fn new(settings: &Settings) -> Self {
        Self::of(Device::new(settings))
    }

    pub fn of(mut device: Device) -> Self {
        device.check();
        let recorded = Rc::new(RefCell::new(Recorded::default()));
        device.observe(Box::new(Recorder(Rc::clone(&recorded))));
        Self { device, recorded }
    }

    /// Runs a phase and returns what became of its requests, in the order of their arrival.
    pub fn try_phase(
        &mut self,
        keys: &PhaseKeys,
        streams: Vec<Stream<'_, Infallible>>,
    ) -> Result<(PhaseReport, Vec<RequestDone>), SimError> {
        let report = self.device.run_phase(keys, streams).map_err(|error| match error {
            RunError::Sim(error) => error,
            RunError::Workload(never) => match never {},
        })?;
        let mut done = std::mem::take(&mut self.recorded.borrow_mut().requests);
        done.sort_by_key(|request| request.order);
        Ok((report, done))
    }

    /// As [`Self::try_phase`], for phases that must succeed.
    #[track_caller]
    pub fn phase(
        &mut self,
        keys: &PhaseKeys,
        streams: Vec<Stream<'_, Infallible>>,
    ) -> (PhaseReport, Vec<RequestDone>) {
        self.try_phase(keys, streams).unwrap_or_else(|error| panic!("{error}"))
    }

    /// A measured phase without limit.
    #[track_caller]
    pub fn run(&mut self, streams: Vec<Stream<'_, Infallible>>) -> Vec<RequestDone> {
        self.phase(&PhaseKeys::default(), streams).1
    }

    #[track_caller]
    pub fn finish(self) -> Report {
        self.device.finish().unwrap_or_else(|error| panic!("{error}"))
    }
}

/// The latency of a request in nanoseconds.
pub fn latency(done: &RequestDone) -> u64 {
    done.completion.since(done.request.arrival).as_ns()
}

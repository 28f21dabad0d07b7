//! Phases of several streams under the checker.

use super::{Random, Recorded, Recorder, request, settings};
use flashyard_core::request::{Request, RequestOp};
use flashyard_sim::config::Settings;
use flashyard_sim::device::{Device, PhaseKeys, PhaseReport, RunError, SimError};
use flashyard_sim::observe::{RequestDone, Shared};
use flashyard_sim::report::Report;
use flashyard_sim::stream::{Pacing, Stream, StreamKeys};
use std::convert::Infallible;

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
    recorded: Shared<Recorded>,
}

impl Bench {
    pub fn new(settings: &Settings) -> Self {
        Self::of(Device::new(settings))
    }

    pub fn of(mut device: Device) -> Self {
        device.check();
        let recorded = Shared::new(Recorded::default());
        device.observe(Box::new(Recorder(recorded.clone())));
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
        let mut done = std::mem::take(&mut self.recorded.get().requests);
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

/// tR = 100 us, tPROG = 1000 us, 64 us a page on the channel (4096 B x 15,625 ps), no map cache.
pub fn device(keys: &[&str]) -> Settings {
    let base = [
        "geometry.blocks_per_plane=512",
        "nand.read_us=100",
        "nand.program_us=1000",
        "channel.ps_per_byte=15625",
        "policy.command=fifo",
        "map.store=resident",
    ];
    settings(&[&base, keys].concat())
}

/// tR = 100 us, tPROG = 1000 us, no transfer time, no map cache, 16 dies.
pub fn sixteen_dies(keys: &[&str]) -> Settings {
    let base = [
        "geometry.blocks_per_plane=512",
        "geometry.channels=4",
        "geometry.ways=4",
        "nand.read_us=100",
        "nand.program_us=1000",
        "policy.command=fifo",
        "map.store=resident",
    ];
    settings(&[&base, keys].concat())
}

/// Reads and writes of one to three pages at random places, all of arrival time 0.
pub fn mixed(settings: &Settings, seed: u64, count: usize) -> Vec<Request> {
    let mut random = Random(seed);
    let pages = u64::from(settings.exported_units) - 3;
    let op = |roll| if roll == 0 { RequestOp::Read } else { RequestOp::Write };
    (0..count)
        .map(|_| {
            let length = u32::try_from(1 + random.below(3)).unwrap();
            request(0, op(random.below(2)), random.below(pages), length)
        })
        .collect()
}

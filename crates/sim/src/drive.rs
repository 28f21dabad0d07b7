//! A device of either kind, with the methods that running a workload needs.

use crate::config::Settings;
use crate::device::{Device, PhaseKeys, PhaseReport, RunError, SimError};
use crate::disk::Disk;
use crate::initial::progress::Building;
use crate::observe::Observer;
use crate::parts::forward::forward;
use crate::phases::Machine;
use crate::report::Report;
use crate::stream::{Stream, StreamKeys};
use flashyard_core::request::Request;
use flashyard_core::units::Time;

/// A flash device or a disk. A copy has no observers.
#[derive(Clone, Debug)]
pub enum Drive {
    /// A flash device.
    Flash(Box<Device>),
    /// A disk.
    Disk(Box<Disk>),
}

impl Drive {
    /// A device of the kind that the settings name, in its initial state.
    pub fn new(settings: &Settings) -> Self {
        Self::new_telling(settings, &mut |_| ())
    }

    /// The same; `tell` hears now and then how far the initial state of a flash device is.
    pub fn new_telling(settings: &Settings, tell: &mut dyn FnMut(Building)) -> Self {
        if settings.keys.is_disk() {
            Self::Disk(Box::new(Disk::new(settings)))
        } else {
            Self::Flash(Box::new(Device::new_telling(settings, tell)))
        }
    }

    /// The flash device; none of a disk.
    pub fn flash(&mut self) -> Option<&mut Device> {
        match self {
            Self::Flash(device) => Some(device),
            Self::Disk(_) => None,
        }
    }

    forward! {
        [Flash Disk]
        /// The last instant at which something happened.
        pub(crate) fn now(&self) -> Time;

        /// Checks the rules of the device while the run goes on; a broken one is a panic.
        pub fn check(&mut self);

        /// Calls `observer` for the events of the run.
        pub fn observe(&mut self, observer: Box<dyn Observer>);
    }

    /// Runs the whole workload, as one stream of pacing `open` in one phase.
    pub fn run<E>(
        self,
        next: impl FnMut() -> Result<Option<Request>, E>,
    ) -> Result<Report, RunError<E>> {
        match self {
            Self::Flash(device) => device.run(next),
            Self::Disk(mut disk) => {
                let (name, keys) = ("host".to_string(), StreamKeys::default());
                let stream = Stream { name, keys, source: Box::new(next) };
                disk.run_phase(&PhaseKeys::default(), vec![stream])?;
                disk.finish().map_err(RunError::Sim)
            }
        }
    }

    /// Some phase of the run will have several streams. Then a stream has its figures of phases in
    /// which it is the only one too; else these begin with the first phase of several.
    pub const fn tell_streams_apart(&mut self) {
        match self {
            Self::Flash(device) => device.tell_streams_apart(),
            Self::Disk(disk) => disk.tell_streams_apart(),
        }
    }

    /// Runs a phase: until its limit or the end of all streams, then until nothing is left to do.
    pub fn run_phase<E>(
        &mut self,
        phase: &PhaseKeys,
        streams: Vec<Stream<'_, E>>,
    ) -> Result<PhaseReport, RunError<E>> {
        match self {
            Self::Flash(device) => device.run_phase(phase, streams),
            Self::Disk(disk) => disk.run_phase(phase, streams),
        }
    }

    /// The report over all measured phases.
    pub fn finish(self) -> Result<Report, SimError> {
        match self {
            Self::Flash(device) => device.finish(),
            Self::Disk(disk) => disk.finish(),
        }
    }
}

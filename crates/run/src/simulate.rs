//! One simulation: the phases of an experiment on a device.

use crate::contract::{self, Provenance};
use crate::cuts::{Cuts, Oracle};
use crate::error::{workload_error, wrong};
use crate::experiment::{Experiment, Origin, PhasePlan, Source};
use crate::hash;
use crate::headline;
use crate::image::{self, Image};
use crate::lanes::{self, Lane};
use crate::meter::{LaneMeter, Listener, RunMeter, STEP};
use crate::plan::Plan;
use crate::points::made::Made;
use anyhow::Result;
use flashyard_core::request::Request;
use flashyard_sim::config::Settings;
use flashyard_sim::device::{Device, RunError, SimError};
use flashyard_sim::drive::Drive;
use flashyard_sim::initial::progress::Building;
use flashyard_sim::observe::Observer;
use flashyard_sim::report::Report;
use flashyard_sim::session::Session;
use flashyard_sim::stream::Stream;
use flashyard_workload::{RequestSource, WorkloadError};
use sha2::{Digest, Sha256};
use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

/// What a simulation found.
#[derive(Debug)]
pub struct Outcome {
    /// Every figure.
    pub report: Report,
    /// Where the figures come from.
    pub provenance: Provenance,
    /// The names of the streams of each phase.
    pub streams: Vec<Vec<String>>,
    /// What power cuts would lose, if that was asked.
    pub cuts: Option<Cuts>,
    /// What cuts of it have done, if some were made.
    pub made: Option<Made>,
}

/// Takes the device when the last phase is over.
pub type Saver<'a> = &'a mut dyn FnMut(&Device) -> Result<()>;

/// How a simulation goes.
pub struct Options<'a> {
    /// Whether every rule is checked during the run; a broken one is a panic.
    pub check: bool,
    /// Who is told of events.
    pub observers: Vec<Box<dyn Observer>>,
    /// How many power cuts are looked at; 0 for none.
    pub cuts: u32,
    /// Who hears how far the run is.
    pub progress: Box<dyn Listener>,
    /// Takes the device at the end, to save it.
    pub save: Option<Saver<'a>>,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self { check: false, observers: Vec::new(), cuts: 0, progress: Box::new(()), save: None }
    }
}

impl fmt::Debug for Options<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options").field("check", &self.check).finish_non_exhaustive()
    }
}

impl Outcome {
    /// The run as the JSON contract has it (`flashyard run --json`; docs/JSON.md).
    pub fn object(&self, plan: &Plan) -> serde_json::Value {
        let mut object = contract::object(plan, &self.provenance, &self.report);
        if let Some(cuts) = &self.cuts {
            object["power_cuts"] = serde_json::json!(cuts.losses());
        }
        object
    }

    /// Every figure that tables have, by name (docs/SWEEPS.md): `read.p99_us`, `iops`, `wa`. None
    /// where a run has no such figure.
    pub fn figures(&self) -> impl Iterator<Item = (&'static str, Option<f64>)> {
        headline::ALL.iter().map(|figure| (figure.name.as_str(), figure.value(&self.report)))
    }
}

impl Plan {
    /// Runs it, if the device fits the memory.
    pub fn run(&self, options: Options<'_>) -> Result<Outcome> {
        let settings = self.settings()?;
        self.need(&settings, options.check).with_cuts(options.cuts).check()?;
        simulate(self, &settings, options)
    }

    /// A session on the device, where it fits the memory: whoever has it owns the clock. A device
    /// of [`Plan::of_device`] has no workload that would be left out.
    pub fn session(&self, check: bool) -> Result<Session> {
        self.session_telling(check, &mut ())
    }

    /// The same; `part` hears how much of the device has been built.
    pub fn session_telling(&self, check: bool, part: &mut dyn Listener) -> Result<Session> {
        let settings = self.settings()?;
        self.need(&settings, check).check()?;
        let mut drive = build(&settings, part);
        if check {
            drive.check();
        }
        Ok(Session::new(drive))
    }

    /// The end of a session as the JSON contract has it; provenance knows no requests.
    pub fn object_of_session(&self, report: &Report) -> serde_json::Value {
        contract::object(self, &Provenance::default(), report)
    }
}

/// One simulation of a plan, with the settings of its device.
pub fn simulate(inputs: &Plan, settings: &Settings, options: Options<'_>) -> Result<Outcome> {
    let Options { check, mut observers, cuts, progress: mut part, save } = options;
    let experiment = inputs.experiment();
    if settings.keys.is_disk() {
        check_disk(inputs, save.is_some())?;
    }
    let oracle = (cuts > 0).then(|| Oracle::new(settings, cuts, inputs.seed().unwrap_or_default()));
    let oracle = oracle.transpose()?.map(|(oracle, observer)| {
        observers.push(observer);
        oracle
    });
    let (mut device, state_sha256) = match (&inputs.image, &inputs.restore) {
        (Some(image), _) => (Drive::Flash(Box::new(image.restore(settings)?)), None),
        (None, None) => (build(settings, &mut *part), None),
        (None, Some(path)) => image::restore(path, settings)
            .map(|(device, sha)| (Drive::Flash(Box::new(device)), Some(sha)))?,
    };
    check_saving(&mut device, save.is_some())?;
    if check {
        device.check();
    }
    if let Some(flash) = device.flash() {
        preload(flash, experiment)?;
    }
    for observer in observers {
        device.observe(observer);
    }
    part.stage("");
    let mut streams = Streams::new(inputs, settings, part);
    let mut report = streams.run(device, experiment, save)?;
    // Those of a saved device come first.
    let earlier = report.phases.len() - experiment.phases.len();
    for (number, found) in report.phases[..earlier].iter_mut().enumerate() {
        found.name = format!("saved {}", number + 1);
    }
    for (found, phase) in report.phases[earlier..].iter_mut().zip(&experiment.phases) {
        found.name.clone_from(&phase.name);
    }
    report.verdict.folded_requests = streams.folded;
    report.verdict.spread_requests = streams.spread;
    let provenance = Provenance {
        command: Vec::new(),
        seed: inputs.seed(),
        workload_sha256: streams.hash(),
        changes: streams.changes,
        state_sha256,
    };
    let cuts = oracle.map(|oracle| oracle.finish());
    Ok(Outcome { report, provenance, streams: streams.names, cuts, made: None })
}

/// Returns the device in its initial state, or after the workload of `prepare`, which is not
/// measured.
pub fn image(settings: &Settings, prepare: Option<&Plan>) -> Result<Image> {
    let mut device = Drive::new(settings);
    if let Some(inputs) = prepare {
        let mut streams = Streams::new(inputs, settings, Box::new(()));
        for phase in &inputs.experiment().phases {
            let mut phase = phase.clone();
            phase.keys.measure = false;
            streams.phase(&mut device, &phase)?;
        }
    }
    let flash = device.flash().ok_or_else(|| {
        wrong("[prepare]: a disk holds nothing that changes its times; leave it out")
    })?;
    Ok(Image::of(flash))
}

/// Refuses to save a device that cannot be saved.
fn check_saving(device: &mut Drive, saves: bool) -> Result<()> {
    // Only a device that is to be saved is asked: a layer of log blocks gives all its bytes.
    if !saves || device.flash().is_none_or(|flash| flash.can_be_saved()) {
        return Ok(());
    }
    Err(wrong(
        "--save: this ftl.scheme is one of yours that cannot be saved (`TranslationLayer::save`); \
         leave --save out, or set ftl.scheme = \"page\"",
    ))
}

/// The map cache and the write buffer hold what the experiment says.
fn preload(device: &mut Device, experiment: &Experiment) -> Result<()> {
    if !experiment.map_lines.is_empty() {
        device.preload_map(&experiment.map_lines).map_err(|error| wrong(&error.to_string()))?;
    }
    if !experiment.buffer_lines.is_empty() {
        let filled = device.preload_buffer(&experiment.buffer_lines);
        filled.map_err(|error| wrong(&error.to_string()))?;
    }
    Ok(())
}

/// What a disk does not have, of all that the arguments and the workload ask for.
fn check_disk(inputs: &Plan, saves: bool) -> Result<()> {
    let experiment = inputs.experiment();
    let stable = experiment.phases.iter().any(|phase| !phase.keys.stable_percent.is_zero());
    let asked = [
        (saves, "--save: a disk holds nothing that changes its times; leave --save out"),
        (inputs.restore.is_some(), "--restore: a disk is not saved; leave --restore out"),
        (!experiment.map_lines.is_empty(), "[initial]: a disk has no map cache; take it out"),
        (!experiment.buffer_lines.is_empty(), "[initial]: a disk has no buffer lines; take it out"),
        (
            stable,
            "phase.stable_percent: a disk has no write amplification; end the phase by \
             phase.requests or phase.time_ms",
        ),
    ];
    asked.iter().find(|(is_asked, _)| *is_asked).map_or(Ok(()), |(_, why)| Err(wrong(why)))
}

/// A device in its initial state.
fn build(settings: &Settings, part: &mut dyn Listener) -> Drive {
    part.stage("building the device");
    Drive::new_telling(settings, &mut |Building { done, of }| part.built(done, of))
}

/// The streams of a run: opened phase by phase, hashed and counted.
struct Streams<'a> {
    inputs: &'a Plan,
    settings: &'a Settings,
    meter: Rc<RefCell<RunMeter>>,
    /// How many have been opened.
    opened: usize,
    folded: u64,
    spread: u64,
    /// Of the streams of all phases that are over.
    hashes: Vec<Sha256>,
    /// What was left out of or changed in their requests, a sentence each.
    changes: Vec<String>,
    /// The names of the streams of each phase.
    names: Vec<Vec<String>>,
}

impl<'a> Streams<'a> {
    fn new(inputs: &'a Plan, settings: &'a Settings, part: Box<dyn Listener>) -> Self {
        let (hashes, changes, names) = (Vec::new(), Vec::new(), Vec::new());
        let meter = RunMeter::shared(part, inputs.experiment());
        Self { inputs, settings, meter, opened: 0, folded: 0, spread: 0, hashes, changes, names }
    }

    fn run(
        &mut self,
        mut device: Drive,
        experiment: &Experiment,
        save: Option<Saver<'_>>,
    ) -> Result<Report> {
        if experiment.phases.iter().any(|phase| phase.streams.len() > 1) {
            device.tell_streams_apart();
        }
        for phase in &experiment.phases {
            self.phase(&mut device, phase)?;
        }
        if let (Some(save), Some(flash)) = (save, device.flash()) {
            save(flash)?;
        }
        device.finish().map_err(|error| run_error(RunError::Sim(error)))
    }

    fn phase(&mut self, device: &mut Drive, phase: &PhasePlan) -> Result<()> {
        let mut lanes = self.open(phase)?;
        self.names.push(lanes.iter().map(|lane| lane.name.clone()).collect());
        let streams = lanes.iter_mut().map(|lane| Stream {
            name: lane.name.clone(),
            keys: lane.keys,
            source: Box::new(|| lane.source.next()),
        });
        device.run_phase(&phase.keys, streams.collect()).map_err(run_error)?;
        self.meter.borrow_mut().end();
        self.close(phase, lanes);
        Ok(())
    }

    fn open(&mut self, phase: &PhasePlan) -> Result<Vec<Lane<Hashed>>> {
        let mut all = Vec::new();
        for place in 0..phase.streams.len() {
            let plan = &phase.streams[place];
            // Stages of a file system share its files.
            let number = if plan.origin == Origin::Files { 0 } else { self.opened };
            let seed = self.inputs.stream_seed(number);
            self.opened += 1;
            let (opened, split) = lanes::open(phase, place, seed, self.settings)?;
            let of = self.whose(phase, place);
            self.changes.extend(split.map(|what| format!("{of}{what}")));
            all.extend(opened);
        }
        lanes::check_names(&all)?;
        let pacing = all.iter().map(|lane| lane.keys.pacing);
        let meters = RunMeter::begin(&self.meter, phase.keys, pacing);
        let hashed = |(Lane { name, keys, plan, source }, meter)| {
            let source = Hashed::new(source, keys.identifier(), meter);
            Lane { name, keys, plan, source }
        };
        Ok(all.into_iter().zip(meters).map(hashed).collect())
    }

    fn close(&mut self, phase: &PhasePlan, lanes: Vec<Lane<Hashed>>) {
        for place in 0..phase.streams.len() {
            // Parts of one trace tell the same; the one that was read furthest tells most.
            let sources = lanes.iter().filter(|lane| lane.plan == place);
            let sources = sources.map(|lane| &lane.source.source);
            let furthest = sources.rev().max_by_key(|source| source.stats().requests);
            let notes = furthest.map(RequestSource::notes).unwrap_or_default();
            let of = self.whose(phase, place);
            self.changes.extend(notes.into_iter().map(|what| format!("{of}{what}")));
        }
        for mut lane in lanes {
            lane.source.hash_buffer();
            let stats = lane.source.source.stats();
            self.folded += stats.folded;
            self.spread += stats.spread;
            self.hashes.push(lane.source.hash);
        }
    }

    /// Returns the phase and the stream that a message is about. A plan with one stream needs
    /// neither.
    fn whose(&self, phase: &PhasePlan, place: usize) -> String {
        let mut parts = Vec::new();
        if self.inputs.experiment().phases.len() > 1 {
            parts.push(phase.name.as_str());
        }
        if phase.streams.len() > 1 {
            parts.push(&phase.streams[place].name);
        }
        if parts.is_empty() { String::new() } else { format!("{}: ", parts.join(", ")) }
    }

    /// The hash of the only stream, or of the hashes of all.
    fn hash(&mut self) -> String {
        let mut digests = self.hashes.drain(..).map(Digest::finalize);
        if digests.len() == 1 {
            return digests.next().map_or_else(String::new, |digest| hash::hex(&digest));
        }
        hash::hex(&digests.fold(Sha256::new(), Digest::chain_update).finalize())
    }
}

fn run_error(error: RunError<WorkloadError>) -> anyhow::Error {
    match error {
        RunError::Workload(error) => workload_error(&error),
        RunError::Sim(error @ SimError::BeyondDevice { .. }) => {
            wrong(&format!("{error}; set trace.fold = \"modulo\" to fold addresses into it"))
        }
        RunError::Sim(error @ SimError::BrokenRule { .. }) => wrong(&error.to_string()),
        RunError::Sim(error) => anyhow::Error::new(error),
    }
}

/// Bytes of a request in the hash, with a placement identifier.
const REQUEST_BYTES: usize = 26;

/// Added to the operation of a request that has one.
const IS_PLACED: u8 = 128;

/// Requests that are hashed at a time: one by one costs far more.
const HASHED_AT_ONCE: usize = 64;

/// A source whose requests are hashed while they are read, and which tells how far it is.
struct Hashed {
    source: Source,
    /// The placement identifier that the stream gives its requests, if it does.
    placement: Option<u16>,
    hash: Sha256,
    /// Requests that are yet to be hashed, and how many bytes they are.
    buffer: Box<[u8; REQUEST_BYTES * HASHED_AT_ONCE]>,
    filled: usize,
    meter: LaneMeter,
    count: u64,
}

impl Hashed {
    fn new(source: Source, placement: Option<u16>, meter: LaneMeter) -> Self {
        let buffer = Box::new([0; REQUEST_BYTES * HASHED_AT_ONCE]);
        Self { source, placement, hash: Sha256::new(), buffer, filled: 0, meter, count: 0 }
    }

    fn next(&mut self) -> Result<Option<Request>, WorkloadError> {
        let request = self.source.next_request()?;
        if let Some(request) = &request {
            self.add(request);
            self.count += 1;
            if self.count.is_multiple_of(STEP) {
                self.meter.tell(self.count, self.source.extent(), request.arrival);
            }
        }
        Ok(request)
    }

    fn add(&mut self, request: &Request) {
        let end = self.filled + REQUEST_BYTES;
        let bytes = &mut self.buffer[self.filled..end];
        let (words, last) = bytes.as_chunks_mut::<8>();
        words[0] = request.arrival.as_ns().to_le_bytes();
        words[1] = request.first_sector.to_le_bytes();
        let placement = self.placement.or(request.placement);
        let kind = request.op as u8 | if placement.is_some() { IS_PLACED } else { 0 };
        let what = u32::from(request.stream) | u32::from(kind) << 16;
        let what = u64::from(what | u32::from(request.flags.bits()) << 24);
        words[2] = (what << 32 | u64::from(request.sectors)).to_le_bytes();
        self.filled = end - 2;
        if let Some(placement) = placement {
            last.copy_from_slice(&placement.to_le_bytes());
            self.filled = end;
        }
        if self.filled + REQUEST_BYTES > self.buffer.len() {
            self.hash_buffer();
            self.meter.pulse();
        }
    }

    fn hash_buffer(&mut self) {
        self.hash.update(&self.buffer[..self.filled]);
        self.filled = 0;
    }
}

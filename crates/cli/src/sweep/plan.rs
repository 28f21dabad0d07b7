//! The runs of a sweep: each with its settings, and the name by which the journal knows it.

use super::file::{Prepare, Sweep};
use crate::args::{InputArgs, SweepArgs};
use crate::error::wrong;
use crate::experiment::Origin;
use crate::inputs::Inputs;
use crate::output::json;
use crate::points::axis::{Setting, setting};
use crate::points::runs::Run;
use crate::points::{self, refuse_standard_input};
use anyhow::{Context, Result};
use flashyard_sim::own::OwnParts;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// A run with its name.
#[derive(Debug)]
pub(crate) struct Named {
    pub(crate) run: Run,
    /// SHA-256 of all that decides what it finds.
    pub(crate) name: String,
}

/// A point: its runs, or why its device is impossible.
#[derive(Debug)]
pub(crate) struct Planned {
    pub(crate) point: Vec<Setting>,
    /// Its inputs, with the first seed.
    pub(crate) inputs: Inputs,
    pub(crate) runs: Result<Vec<Named>, String>,
}

/// Makes runs of points.
#[derive(Debug)]
pub(crate) struct Planner<'a> {
    sweep: &'a Sweep,
    args: &'a SweepArgs,
    own: OwnParts,
    input: InputArgs,
    /// Settings of the file.
    set: Vec<Setting>,
    place: String,
    /// Hash of the program and of its microcode.
    program: String,
    /// Hashes of traces by path.
    files: BTreeMap<String, String>,
}

impl<'a> Planner<'a> {
    pub(crate) fn new(sweep: &'a Sweep, args: &'a SweepArgs, own: OwnParts) -> Result<Self> {
        let place = args.file.clone();
        let set = sweep.file.set.iter().map(|text| setting(text)).collect::<Result<_, _>>();
        let mut set: Vec<Setting> = set.map_err(|what| wrong(&format!("{place}: set: {what}")))?;
        for text in &args.set {
            let (key, value) = setting(text).map_err(|what| wrong(&format!("--set: {what}")))?;
            let varied = sweep.points.iter().flatten().any(|(known, _)| *known == key);
            if varied || sweep.goal.as_ref().is_some_and(|goal| goal.key == key) {
                return Err(wrong(&format!("--set {text}: the sweep varies {key}; leave it out")));
            }
            set.retain(|(known, _)| *known != key);
            set.push((key, value));
        }
        let mut input = InputArgs {
            device: sweep.file.device.clone(),
            workload: sweep.file.workload.clone(),
            set: Vec::new(),
            seed: None,
            restore: None,
            memory: args.memory,
            settle: false,
            check: args.check,
            microcode: args.microcode.clone(),
            capacity: None,
            ftl: None,
        };
        if input.device.is_some() || input.workload.is_some() {
            // Points may name what is missing; what is not named by them has its default.
            let names = |name: &str| sweep.points.iter().flatten().any(|(key, _)| key == name);
            let (device, workload) = (names("device"), names("workload"));
            let given = (input.device.clone(), input.workload.clone());
            Inputs::fill_names(&mut input);
            input.device = input.device.filter(|_| given.0.is_some() || !device);
            input.workload = input.workload.filter(|_| given.1.is_some() || !workload);
        }
        let program = std::env::current_exe().context("the program cannot find itself")?;
        let mut program = hash_of(&program)?;
        if let Some(microcode) = &args.microcode {
            program += &hash_of(microcode)?;
        }
        Ok(Self { sweep, args, own, input, set, place, program, files: BTreeMap::new() })
    }

    /// The runs of a point. Settings that no device has are an error; a device that cannot be made
    /// of them is a point that failed.
    pub(crate) fn plan(&mut self, point: &[Setting]) -> Result<Planned> {
        let all = [&self.set[..], point].concat();
        let inputs = points::inputs(self.own, &self.input, &self.place, &all)?;
        refuse_standard_input("sweep", &inputs)?;
        let (point, settings) = (point.to_vec(), inputs.settings());
        let settings = match settings {
            Ok(settings) => settings,
            Err(error) => {
                return Ok(Planned { point, inputs, runs: Err(format!("{error:#}")) });
            }
        };
        let prepare = self.sweep.file.prepare.as_ref();
        let prepare = prepare.map(|prepare| self.prepare(prepare, &inputs)).transpose()?;
        // A workload without a seed has one run.
        let seeded = inputs.seed().is_some();
        let count = if seeded { self.sweep.seeds.len() } else { 1 };
        let mut runs = Vec::new();
        for &seed in &self.sweep.seeds[..count] {
            let mut inputs = inputs.clone();
            inputs.set_seed(seed);
            let (prepare, point) = (prepare.clone(), point.clone());
            let run = Run { point, inputs, settings, prepare };
            let name = self.name(&run)?;
            runs.push(Named { run, name });
        }
        let mut inputs = inputs;
        inputs.set_seed(self.sweep.seeds[0]);
        Ok(Planned { point, inputs, runs: Ok(runs) })
    }

    /// The workload that the device of these inputs runs first.
    fn prepare(&self, prepare: &Prepare, inputs: &Inputs) -> Result<Inputs> {
        let option = format!("{}: prepare.set", self.place);
        let set: Vec<_> = prepare.set.iter().map(|text| (&option[..], text.clone())).collect();
        let loaded = Inputs::load(self.own, &inputs.device_name, &prepare.workload, &set)?;
        refuse_standard_input("sweep", &loaded)?;
        let initial = [inputs, &loaded].into_iter().any(|inputs| {
            let experiment = inputs.experiment();
            !experiment.map_lines.is_empty() || !experiment.buffer_lines.is_empty()
        });
        if initial {
            let what = "a prepared device has its lines; take [initial] out of the workload";
            return Err(wrong(&format!("{}: prepare: {what}", self.place)));
        }
        let mut prepared = inputs.clone();
        prepared.sections.workload = loaded.sections.workload;
        prepared.set_seed(prepare.seed);
        Ok(prepared)
    }

    /// The name of a run.
    fn name(&mut self, run: &Run) -> Result<String> {
        let mut hash = Sha256::new();
        let mut add = |text: &str| {
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text);
        };
        add(env!("CARGO_PKG_VERSION"));
        add(&self.program);
        add(if self.args.check { "checked" } else { "" });
        let keys = &run.inputs.sections.device;
        add(&json::settings(keys, |section| keys.has_section(section)).to_string());
        for inputs in [Some(&run.inputs), run.prepare.as_ref()].into_iter().flatten() {
            add(&format!("{:?} {:?}", inputs.seed(), inputs.experiment()));
            for stream in inputs.experiment().streams() {
                if let Origin::Trace { path, .. } | Origin::Raw(Some(path)) = &stream.origin {
                    let known = self.files.get(path).cloned();
                    let known = known.map_or_else(|| hash_of(Path::new(path)), Ok)?;
                    add(&known);
                    self.files.insert(path.clone(), known);
                }
            }
        }
        Ok(json::hex(&hash.finalize()))
    }
}

/// The hash of a file's contents.
fn hash_of(path: &Path) -> Result<String> {
    let cannot = |error| wrong(&format!("{}: cannot be read, {error}", path.display()));
    let mut file = File::open(path).map_err(cannot)?;
    let (mut hash, mut buffer) = (Sha256::new(), vec![0; 1 << 16]);
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(json::hex(&hash.finalize())),
            Ok(count) => hash.update(&buffer[..count]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(cannot(error)),
        }
    }
}

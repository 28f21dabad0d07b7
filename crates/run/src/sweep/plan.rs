//! The runs of a sweep: each with its settings, and the name by which the journal knows it.

use super::file::{Prepare, Sweep};
use super::varied::{Varied, VariedKey};
use crate::error::wrong;
use crate::experiment::Origin;
use crate::hash::{self, of_file};
use crate::memory::{Largest, Room};
use crate::microcode;
use crate::plan::{Base, Bases, Plan, Selection};
use crate::points::axis::{Setting, setting};
use crate::points::runs::{Outline, Run};
use crate::points::{self, refuse_standard_input};
use crate::unused::{Unused, UnusedInAll};
use anyhow::Result;
use flashyard_sim::config::Settings;
use flashyard_sim::own::OwnParts;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A point: what is known of its runs, or why its device is impossible. The runs themselves are
/// made when their turn comes.
#[derive(Debug)]
pub struct Planned {
    /// What it sets.
    pub point: Vec<Setting>,
    /// Its runs, or why there can be none.
    pub runs: Result<PlannedRuns, String>,
}

impl Planned {
    /// The names of its runs. If its device is impossible, there are none.
    pub fn names(&self) -> &[Name] {
        self.runs.as_ref().map_or(&[], |runs| &runs.names)
    }
}

/// The runs of a point.
#[derive(Debug)]
pub struct PlannedRuns {
    /// What their order and room depend on.
    pub outline: Outline,
    /// Why this machine cannot run them. Another one may have the memory.
    pub refused: Option<String>,
    /// The name of each run, in the order of seeds: SHA-256 of all that decides what it finds.
    pub names: Vec<Name>,
    /// Whether the workload has a seed. One without it has one run.
    seeded: bool,
}

/// The name of a run.
pub type Name = [u8; 32];

/// What a sweep is asked to do beside its file.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// What messages call the sweep.
    pub place: String,
    /// Settings of all points.
    pub set: Vec<String>,
    /// Whether every rule is checked during the runs.
    pub check: bool,
    /// The memory that devices may take, in MiB, in place of what is free.
    pub memory_mib: Option<u64>,
    /// Programs of the flash controller.
    pub microcode: Option<PathBuf>,
    /// The file of the program that runs the sweep: another one gives runs other names. None:
    /// runs are named by the version alone.
    pub program: Option<PathBuf>,
    /// Devices and workloads that names of the file or of its points stand for, where no name would
    /// find them: the two names, and what they are.
    pub given: Vec<(String, String, Base)>,
}

/// Makes runs of points.
#[derive(Debug)]
pub struct Planner<'a> {
    sweep: &'a Sweep,
    check: bool,
    bases: Bases,
    input: Selection,
    /// The room for devices, known with the first one.
    room: Option<Room>,
    largest: Largest,
    varied: Varied,
    unused: UnusedInAll,
    /// Settings of the file.
    set: Vec<Setting>,
    place: String,
    /// Hash of the program and of its microcode.
    program: String,
    /// Hashes of traces by path.
    files: BTreeMap<String, String>,
}

impl<'a> Planner<'a> {
    /// A planner of a sweep.
    pub fn new(sweep: &'a Sweep, asked: &Asked, own: OwnParts) -> Result<Self> {
        let place = asked.place.clone();
        let set = sweep.file.set.iter().map(|text| setting(text)).collect::<Result<_, _>>();
        let mut set: Vec<Setting> = set.map_err(|what| wrong(&format!("{place}: set: {what}")))?;
        for text in &asked.set {
            let (key, value) = setting(text).map_err(|what| wrong(&format!("--set: {what}")))?;
            let varied = sweep.points.iter().flatten().any(|(known, _)| *known == key);
            if varied || sweep.goal.as_ref().is_some_and(|goal| goal.key == key) {
                return Err(wrong(&format!("--set {text}: the sweep varies {key}; leave it out")));
            }
            set.retain(|(known, _)| *known != key);
            set.push((key, value));
        }
        let timing = asked.microcode.iter().map(|_| ("--microcode", microcode::setting()));
        let mut input = Selection {
            device: sweep.file.device.clone(),
            workload: sweep.file.workload.clone(),
            set: timing.collect(),
            memory_mib: asked.memory_mib,
            ..Selection::default()
        };
        if input.device.is_some() || input.workload.is_some() {
            // Points may name what is missing; what is not named by them has its default.
            let names = |name: &str| sweep.points.iter().flatten().any(|(key, _)| key == name);
            let (device, workload) = (names("device"), names("workload"));
            let given = (input.device.clone(), input.workload.clone());
            Plan::fill_names(&mut input);
            input.device = input.device.filter(|_| given.0.is_some() || !device);
            input.workload = input.workload.filter(|_| given.1.is_some() || !workload);
        }
        let mut program = asked.program.as_deref().map_or_else(|| Ok(String::new()), of_file)?;
        if let Some(microcode) = &asked.microcode {
            program += &of_file(microcode)?;
        }
        let (bases, files) = (Bases::new(own), BTreeMap::new());
        for (device, workload, base) in &asked.given {
            bases.add(device, workload, base.clone());
        }
        let (largest, varied) = (Largest::default(), Varied::default());
        Ok(Self {
            sweep,
            check: asked.check,
            bases,
            input,
            room: None,
            largest,
            varied,
            unused: UnusedInAll::default(),
            set,
            place,
            program,
            files,
        })
    }

    /// The inputs of a point, with the first seed.
    pub fn inputs(&self, point: &[Setting]) -> Result<Plan> {
        let all = [&self.set[..], point].concat();
        let mut inputs = points::inputs(&self.bases, &self.input, &self.place, &all)?;
        inputs.set_seed(self.sweep.seeds[0]);
        Ok(inputs)
    }

    /// The names of the device and the workload of a point that was planned.
    pub fn names(&self, point: &[Setting]) -> [String; 2] {
        let inputs = self.inputs(point).expect("it was planned");
        [inputs.device_name.clone(), inputs.workload_name().to_string()]
    }

    /// The value of a key of a point that was planned, set by it or not.
    pub fn value(&self, point: &[Setting], key: &str) -> String {
        points::value(&self.inputs(point).expect("it was planned"), point, key)
    }

    /// A run of a point, with the seed of this place.
    pub fn run(&self, point: &[Setting], seed: usize) -> Result<Run> {
        let inputs = self.inputs(point)?;
        let settings = inputs.settings()?;
        self.run_of(point, inputs, &settings, seed)
    }

    fn run_of(
        &self,
        point: &[Setting],
        mut inputs: Plan,
        settings: &Settings,
        seed: usize,
    ) -> Result<Run> {
        let prepare = self.sweep.file.prepare.as_ref();
        let prepare = prepare.map(|prepare| self.prepare(prepare, &inputs)).transpose()?;
        inputs.set_seed(self.sweep.seeds[seed]);
        Ok(Run { point: point.to_vec(), inputs, settings: settings.clone(), prepare, cuts: 0 })
    }

    /// The seed of a run of a point, if its workload has one.
    pub fn seed(&self, runs: &PlannedRuns, place: usize) -> Option<u64> {
        runs.seeded.then(|| self.sweep.seeds[place])
    }

    /// The keys in which the points that were planned differ, and those that they name.
    pub fn varied(&self, named: &[String]) -> Vec<VariedKey> {
        self.varied.keys(named)
    }

    /// The settings that change nothing in any point that was planned.
    pub fn unused(&self) -> &[Unused] {
        self.unused.get()
    }

    /// The room for devices, once a point is planned that has one.
    pub fn room(&self) -> Room {
        self.room.unwrap_or_default()
    }

    /// The runs of a point. Settings that no device has are an error; a device that cannot be made
    /// of them is a point that failed.
    pub fn plan(&mut self, point: &[Setting]) -> Result<Planned> {
        let inputs = self.inputs(point)?;
        refuse_standard_input("sweep", &inputs)?;
        self.varied.note(&inputs);
        self.unused.add(inputs.unused());
        let runs = match inputs.settings() {
            Ok(settings) => Ok(self.outlined(&self.run_of(point, inputs, &settings, 0)?)?),
            Err(error) => Err(format!("{error:#}")),
        };
        Ok(Planned { point: point.to_vec(), runs })
    }

    /// Returns what is kept of the runs of a point. The argument is the first of them.
    fn outlined(&mut self, run: &Run) -> Result<PlannedRuns> {
        let check = self.check;
        let room = *self.room.get_or_insert_with(|| run.room(check));
        let refused = self.largest.check(&run.inputs.need(&run.settings, check)).err();
        let seeded = run.inputs.seed().is_some();
        let count = if seeded { self.sweep.seeds.len() } else { 1 };
        let hash = self.hash(run)?;
        let name = |seed: &u64| -> Name {
            let seed = seeded.then(|| seed.to_le_bytes());
            hash.clone().chain_update(seed.unwrap_or_default()).finalize().into()
        };
        Ok(PlannedRuns {
            outline: run.outline(room, check),
            refused: refused.map(|error| format!("{error:#}")),
            names: self.sweep.seeds[..count].iter().map(name).collect(),
            seeded,
        })
    }

    /// The workload that the device of these inputs runs first.
    fn prepare(&self, prepare: &Prepare, inputs: &Plan) -> Result<Plan> {
        let option = format!("{}: prepare.set", self.place);
        let set: Vec<_> = prepare.set.iter().map(|text| (&option[..], text.clone())).collect();
        let loaded = self.bases.get(&inputs.device_name, &prepare.workload)?.with(&set)?;
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

    /// What decides all runs of a point, but for their seeds.
    fn hash(&mut self, run: &Run) -> Result<Sha256> {
        let mut hash = Sha256::new();
        let mut add = |text: &str| {
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text);
        };
        add(env!("CARGO_PKG_VERSION"));
        add(&self.program);
        add(if self.check { "checked" } else { "" });
        for inputs in [Some(&run.inputs), run.prepare.as_ref()].into_iter().flatten() {
            add(&format!("{:?}", inputs.experiment()));
            for stream in inputs.experiment().streams() {
                if let Origin::Trace { path, .. } | Origin::Raw(Some(path)) = &stream.origin {
                    let known = self.files.get(path).cloned();
                    let known = known.map_or_else(|| of_file(Path::new(path)), Ok)?;
                    add(&known);
                    self.files.insert(path.clone(), known);
                }
            }
        }
        add(&format!("{:?}", run.prepare.as_ref().map(Plan::seed)));
        let keys = &run.inputs.sections.device;
        hash::add_settings(&mut hash, keys, |section| keys.has_section(section));
        Ok(hash)
    }
}

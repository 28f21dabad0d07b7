//! Devices and workloads by name, as text or as columns, with settings on top.

use crate::errors::{exception, wrong};
use crate::outcome::Outcome;
use crate::policies::Parts;
use crate::requests::Requests;
use crate::table::{ArrowRows, Table, Texts};
use crate::worker::away;
use flashyard_run::plan::{Base, DeviceFrom, Plan as Planned, WorkloadFrom};
use flashyard_run::simulate::Options;
use flashyard_run::why::follow::Choice;
use flashyard_run::why::{self, Question, data};
use flashyard_run::{contract, headline, logs, presets, shown};
use flashyard_sim::config::{Sections, Settings, describe};
use flashyard_sim::observe::{Observer, Shared};
use flashyard_sim::own::OwnParts;
use pyo3::prelude::*;
use std::sync::Arc;

/// A device and a workload, checked and ready to run.
#[pyclass(frozen, module = "flashyard._core")]
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) planned: Planned,
    pub(crate) settings: Settings,
}

/// A key: its name with that of its section, what it means, what it accepts, its value, its
/// default, and where that comes from.
type KeyRow = (String, String, String, String, String, String);

/// How settings are called in messages.
const SETTING: &str = "setting";

#[pymethods]
impl Plan {
    /// A device by name or, with a text, from that; likewise the workload, or requests, or nothing
    /// for a session. `settings` are `section.key=value`.
    #[new]
    #[pyo3(signature = (device, device_text, workload, workload_text, requests, settings, seed, parts, memory_mib))]
    #[expect(clippy::too_many_arguments, reason = "the Python half gives them by name")]
    fn new(
        py: Python<'_>,
        device: &str,
        device_text: Option<&str>,
        workload: Option<&str>,
        workload_text: Option<&str>,
        requests: Option<&Requests>,
        settings: Vec<String>,
        seed: Option<u64>,
        parts: Option<&Parts>,
        memory_mib: Option<u64>,
    ) -> PyResult<Self> {
        let (device, workload) = ((device, device_text), (workload, workload_text));
        let made = py.detach(|| {
            let set: Vec<_> = settings.into_iter().map(|setting| (SETTING, setting)).collect();
            let mut planned = base(device, workload, requests, parts)?.with(&set)?;
            planned.set_memory_mib(memory_mib);
            let settings = planned.settings()?;
            anyhow::Ok((planned, settings))
        });
        let (mut planned, settings) = made.map_err(|error| exception(&error))?;
        if let Some(seed) = seed {
            planned.set_seed(seed);
        }
        Ok(Self { planned, settings })
    }

    /// Whether the workload has a seed.
    #[getter]
    fn has_seed(&self) -> bool {
        self.planned.experiment().has_seed()
    }

    /// Bytes that the host sees.
    #[getter]
    fn capacity(&self) -> u64 {
        self.settings.capacity_sectors() * crate::requests::SECTOR
    }

    /// What was changed of the device that nobody named, a sentence each.
    #[getter]
    fn changes(&self) -> Vec<String> {
        self.planned.changes().to_vec()
    }

    /// Settings that change nothing, a sentence each.
    #[getter]
    fn unused(&self) -> Vec<String> {
        self.planned.unused().iter().map(ToString::to_string).collect()
    }

    /// The keys of the device in effect, by section, as JSON.
    fn device_json(&self) -> String {
        let keys = &self.planned.sections.device;
        contract::settings(keys, |section| keys.has_section(section)).to_string()
    }

    /// The phases and streams of the workload with their keys, as JSON.
    fn workload_json(&self) -> String {
        contract::plan(&self.planned).to_string()
    }

    /// A device file that gives the same device; with every key, or those that are not at their
    /// defaults.
    fn device_toml(&self, every: bool) -> String {
        shown::device(&self.planned, &self.settings, every)
    }

    /// A workload file that makes the same requests.
    fn workload_toml(&self) -> String {
        shown::workload(self.planned.experiment())
    }

    /// The keys of the device, or those of the workload that change something.
    fn keys(&self, of_workload: bool) -> Vec<KeyRow> {
        let sections = &self.planned.sections;
        if of_workload {
            let workload = &sections.workload;
            return rows(workload, None, |section| workload.idle(section).is_none());
        }
        let device = &sections.device;
        rows(device, Some(&device.defaults()), |section| device.has_section(section))
    }

    /// Runs it. The tables are whether the logs of requests and of commands are kept, and how many
    /// power cuts are looked at; `command` are the arguments of `flashyard` that do the same, for the provenance.
    fn run(
        &self,
        py: Python<'_>,
        tables: (bool, bool, u32),
        check: bool,
        command: Vec<String>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Outcome> {
        let (requests, commands, cuts) = tables;
        let mut observers: Vec<Box<dyn Observer>> = Vec::new();
        let requests = requests.then(|| log(logs::requests(), &mut observers));
        let commands = commands.then(|| log(logs::commands(), &mut observers));
        if commands.is_some() && self.settings.keys.is_disk() {
            return Err(wrong("commands: a disk has no flash commands; leave it out"));
        }
        let mut outcome = away(py, progress, |teller| {
            let need = self.planned.need(&self.settings, check).with_cuts(cuts);
            need.check()?;
            let progress = Box::new(teller);
            let options = Options { check, observers, cuts, progress, save: None };
            flashyard_run::simulate::simulate(&self.planned, &self.settings, options)
        })?;
        outcome.provenance.command = command;
        Outcome::new(&self.planned, outcome, requests, commands)
    }

    /// What slow requests waited for: the JSON object of `flashyard why --json`, and the first
    /// finding as a sentence for each group of requests.
    #[pyo3(signature = (above, slowest, request, class, by_stream, check, progress))]
    #[expect(clippy::too_many_arguments, reason = "the Python half gives them by name")]
    fn why(
        &self,
        py: Python<'_>,
        above: u64,
        slowest: Option<usize>,
        request: Option<u64>,
        class: Option<&str>,
        by_stream: bool,
        check: bool,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<(String, Vec<String>)> {
        let choice = match (request, slowest) {
            (Some(order), _) => Choice::Request(order),
            (None, Some(most)) => Choice::Slowest(most),
            (None, None) => Choice::Above(above),
        };
        let class = class.map(crate::requests::operation).transpose()?;
        let question = Question { choice, class, by_stream };
        away(py, progress, |teller| {
            self.planned.need(&self.settings, check).check()?;
            let sides = why::explain(&self.planned, &self.settings, &question, check, &teller)?;
            let findings = sides.iter().map(|side| side.finding(&question)).collect();
            Ok((data::one(&question, &sides)?, findings))
        })
    }
}

/// A device by name or, with a text, from that; likewise the workload, or requests, or nothing for
/// a session.
pub(crate) fn base(
    (device, device_text): (&str, Option<&str>),
    workload: (Option<&str>, Option<&str>),
    requests: Option<&Requests>,
    parts: Option<&Parts>,
) -> anyhow::Result<Base> {
    let own = parts.map_or_else(OwnParts::default, |parts| parts.0.clone());
    let device = match device_text {
        Some(text) => DeviceFrom::Text(device, text),
        None => DeviceFrom::Named(device),
    };
    let workload = match (workload, requests) {
        ((Some(name), _), Some(requests)) => WorkloadFrom::Requests(name, Arc::clone(&requests.0)),
        ((Some(name), Some(text)), None) => WorkloadFrom::Text(name, text),
        ((Some(name), None), None) => WorkloadFrom::Named(name),
        ((None, _), _) => WorkloadFrom::Session,
    };
    Base::of(own, device, workload)
}

/// A log, whose observer is added to these.
fn log(log: logs::Log<ArrowRows>, observers: &mut Vec<Box<dyn Observer>>) -> Shared<ArrowRows> {
    let rows = Shared::new(ArrowRows::new(&(log.fields)(), Texts::Few));
    observers.push((log.observer)(rows.clone()));
    rows
}

fn rows(
    values: &impl Sections,
    defaults: Option<&dyn Sections>,
    has: impl Fn(&str) -> bool,
) -> Vec<KeyRow> {
    let mut rows = Vec::new();
    for (section, listed, _) in values.sections() {
        if !has(&section) {
            continue;
        }
        for key in listed {
            let name = format!("{section}.{}", key.name);
            let value = values.shown(&section, key.name).unwrap_or_default();
            let default =
                defaults.and_then(|all| all.shown(&section, key.name)).unwrap_or_default();
            let kind = describe(&key.kind);
            rows.push((
                name,
                key.doc.trim().to_string(),
                kind,
                value,
                default,
                key.source.to_string(),
            ));
        }
    }
    rows
}

/// The presets of devices: name and title.
#[pyfunction]
pub(crate) fn devices() -> PyResult<Vec<(String, String)>> {
    let mut all = Vec::new();
    for (name, _) in presets::DEVICES {
        let planned = Planned::of_device(OwnParts::default(), name, &[]);
        let planned = planned.map_err(|error| exception(&error))?;
        let title = planned.description.notes.get("title").cloned().unwrap_or_default();
        all.push(((*name).to_string(), title));
    }
    Ok(all)
}

/// The built-in workloads: name and title.
#[pyfunction]
pub(crate) fn workloads() -> Vec<(String, String)> {
    presets::built_in().map(|(_, name, title)| (name.to_string(), title.to_string())).collect()
}

/// Every figure of a run: name, unit and what it is.
#[pyfunction]
pub(crate) fn figures() -> Vec<(String, String, String)> {
    let of = |one: &headline::Headline| (one.name.clone(), one.unit.to_string(), one.what.clone());
    headline::ALL.iter().map(of).collect()
}

/// The table of a log that is over.
pub(crate) fn table(rows: Shared<ArrowRows>) -> PyResult<Table> {
    let empty = ArrowRows::new(&[], Texts::Few);
    let rows = std::mem::replace(&mut *rows.get(), empty);
    rows.finish().map_err(crate::errors::failed)
}

//! The model: what a device file gives for a measured cell.

use super::cells::{Cell, Class, What};
use crate::args::SearchArgs;
use crate::error::wrong;
use crate::inputs::Inputs;
use crate::progress::Part;
use crate::simulate::simulate;
use crate::workload_file;
use anyhow::Result;
use flashyard_sim::config::Sections;
use flashyard_sim::config::{DeviceKeys, MapStore};
use flashyard_sim::own::OwnParts;
use rayon::prelude::*;

/// How a device is run to be compared with cells.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(crate) own: OwnParts,
    /// The preset or device file to start from.
    pub(crate) device: String,
    /// Settings of every run, from the user.
    pub(crate) set: Vec<String>,
    /// Requests of a run.
    pub(crate) requests: u64,
    pub(crate) seed: u64,
    /// What makes the device one with few and small blocks; nothing where it is run as it is.
    small: &'static [&'static str],
    /// The largest visible capacity of all cells.
    largest_gib: f64,
}

/// A device with few and small blocks, all of them written: it has the dies and the times of the
/// large one, and reads at random places find the same queues and types of pages.
const SMALL_READ: &[&str] = &[
    "geometry.blocks_per_plane=40",
    "geometry.pages_per_block=12",
    "ftl.over_provisioning_percent=100",
    "state.initial=full",
];

/// The same for writes, in the steady state that they lead to; write amplification depends on the
/// spare space, which stays, and little on the size of a block.
const SMALL_WRITE: &[&str] =
    &["geometry.blocks_per_plane=200", "geometry.pages_per_block=48", "state.initial=steady"];

/// The key of the spare space.
const SPARE: &str = "ftl.over_provisioning_percent";

/// A key and its value, as a device file has it.
pub(crate) type Setting = (String, String);

impl Model {
    /// A model for some cells. Where the map is in memory, the capacity matters little, and a small
    /// device is run, which is built at once.
    pub(crate) fn new(
        own: OwnParts,
        device: &str,
        args: &SearchArgs,
        cells: &[Cell],
    ) -> Result<Self> {
        let SearchArgs { requests, seed, .. } = *args;
        let (device, set) = (device.to_string(), args.set.clone());
        let mut largest_gib = 0.0_f64;
        for cell in cells {
            largest_gib = largest_gib.max(cell.number("visible_gib")?.unwrap_or(0.0));
        }
        let mut model = Self { own, device, set, requests, seed, small: &[], largest_gib };
        let small = if cells.iter().any(writes) { SMALL_WRITE } else { SMALL_READ };
        let keys = model.device(&cells[0])?.sections.device;
        let sets_state = |setting: &String| {
            small.iter().any(|small| small.split('=').next() == setting.split('=').next())
        };
        if keys.map.store == MapStore::Resident
            && is_default(own, &keys, "ftl", "scheme")
            && !model.set.iter().any(sets_state)
        {
            model.small = small;
        }
        Ok(model)
    }

    /// The figures of cells, in the order in which they were measured; not a number where a run has
    /// no such figure. The cells run side by side.
    pub(crate) fn figures(&self, cells: &[Cell], keys: &[Setting]) -> Result<Vec<Vec<f64>>> {
        cells.par_iter().map(|cell| self.run(cell, keys)).collect()
    }

    fn run(&self, cell: &Cell, keys: &[Setting]) -> Result<Vec<f64>> {
        let inputs = self.inputs(cell, keys)?;
        let settings = inputs.settings()?;
        inputs.need(&settings, false).check()?;
        let report = simulate(&inputs, &settings, false, Vec::new(), Part::silent(), None)?.report;
        let figures = cell.measured.iter();
        Ok(figures.map(|(figure, _)| figure.of(&report).unwrap_or(f64::NAN)).collect())
    }

    /// The same with runs of a share of the requests.
    pub(crate) fn shorter(&self, share: u64) -> Self {
        Self { requests: (self.requests / share).max(1), ..self.clone() }
    }

    /// The device of a cell as it is before anything is fitted.
    pub(crate) fn device(&self, cell: &Cell) -> Result<Inputs> {
        self.inputs(cell, &[])
    }

    fn inputs(&self, cell: &Cell, keys: &[Setting]) -> Result<Inputs> {
        let plan = plan(cell, self.requests)?;
        let mut set = Vec::new();
        set.extend(self.small.iter().map(|setting| ("a small device", (*setting).to_string())));
        set.extend(self.set.iter().map(|setting| ("--set", setting.clone())));
        set.extend(keys.iter().map(|(key, value)| ("key", format!("{key}={value}"))));
        let own = cell.ran.iter().filter(|(column, _)| column.contains('.'));
        set.extend(own.map(|(key, value)| (cell.place.as_str(), format!("{key}={value}"))));
        let load = |set: &[(&str, String)]| {
            let plan = |problems: &mut _| workload_file::parse(&cell.place, &plan, false, problems);
            Inputs::load_with(self.own, &self.device, plan, set)
        };
        let mut inputs = load(&set)?;
        if let Some(gib) = cell.number("visible_gib")? {
            // The spare space is that of the largest visible capacity, and what is not visible.
            let spare = inputs.sections.device.ftl.over_provisioning_percent as f64 / 1e6;
            let share = (1.0 + spare) * self.largest_gib / gib - 1.0;
            set.push((cell.place.as_str(), format!("{SPARE}={:.4}", 100.0 * share)));
            inputs = load(&set)?;
        }
        inputs.set_seed(self.seed);
        Ok(inputs)
    }
}

/// Whether something writes in a cell.
fn writes(cell: &Cell) -> bool {
    let pattern = cell.get("pattern").unwrap_or(default_pattern(cell));
    !matches!(pattern, "randread" | "read") || cell.get("writes_per_s_asked").is_some()
}

/// The pattern of a cell that names none: a visible capacity matters to writes.
fn default_pattern(cell: &Cell) -> &'static str {
    if cell.get("visible_gib").is_some() { "randwrite" } else { "randread" }
}

/// Whether a key of the device has its default.
fn is_default(own: OwnParts, keys: &DeviceKeys, section: &str, key: &str) -> bool {
    keys.get(section, key) == DeviceKeys::with_own(own).get(section, key)
}

/// The workload of a cell, as a workload file.
fn plan(cell: &Cell, requests: u64) -> Result<String> {
    if let Some(rate) = cell.number("writes_per_s_asked")? {
        return mixed_plan(cell, rate, requests);
    }
    let (base, share) = match cell.get("pattern").unwrap_or(default_pattern(cell)) {
        "randread" => ("random-read", None),
        "randwrite" => ("random-write", None),
        "read" => ("sequential-read", None),
        "write" => ("sequential-write", None),
        _ => ("mixed-70-30", Some(cell.number("read_percent")?.unwrap_or(50.0))),
    };
    let mut text = format!("[pattern]\nbase = \"{base}\"\nrequests = {requests}\n");
    if let Some(share) = share {
        text += &format!("read_percent = {share}\n");
    }
    if let Some(bytes) = cell.number("block_bytes")? {
        let kib = bytes / 1024.0;
        text += &format!("size_kib = {kib}\nalign_kib = {kib}\n");
    }
    if let Some(rate) = cell.number("rate_per_s")? {
        text += &format!("arrival = \"poisson\"\nrate_per_s = {rate}\n");
        text += "[stream]\npacing = \"open\"\n";
    } else {
        // A loop that keeps all dies busy where only the capacity is known.
        let unknown = if cell.get("visible_gib").is_some() { 64.0 } else { 1.0 };
        let depth = cell.number("queue_depth")?.unwrap_or(unknown);
        text += &format!("[stream]\ndepth = {depth}\n");
    }
    Ok(text)
}

/// Random writes of 4 KiB at a rate, of which 10,000 requests a second of half reads and half
/// writes are a part. One request in a hundred of the others is a read.
///
/// A drive that cannot take the rate answers fewer, and keeps as many outstanding as the benchmark
/// lets it: by Little's law, the measured rate times the mean latency. Then the writes are a closed
/// loop of this depth.
fn mixed_plan(cell: &Cell, asked: f64, requests: u64) -> Result<String> {
    const PROBE: f64 = 10_000.0;
    let given = cell.value(Class::Write, What::PerSecond).unwrap_or(asked);
    let latency = cell.value(Class::Write, What::Mean);
    let writes = if given < 0.9 * asked {
        let latency = latency.ok_or_else(|| {
            let what = "the drive did not take the rate, so its mean write latency is needed";
            wrong(&format!("{}: {what}: write_mean_us", cell.place))
        })?;
        format!("depth = {}\n[stream.pattern]\n", (given * latency / 1e6).round().max(1.0))
    } else {
        let rate = (asked - PROBE / 2.0).max(1.0);
        format!("pacing = \"open\"\n[stream.pattern]\narrival = \"poisson\"\nrate_per_s = {rate}\n")
    };
    Ok(format!(
        "[phase]\nrequests = {requests}\n\
         [[stream]]\nname = \"writes\"\n{writes}base = \"mixed-70-30\"\nread_percent = 1\nrequests = 1_000_000_000\n\
         [[stream]]\nname = \"mixed\"\npacing = \"open\"\n\
         [stream.pattern]\nbase = \"mixed-70-30\"\nread_percent = 50\nrequests = 1_000_000_000\n\
         arrival = \"poisson\"\nrate_per_s = {PROBE}\n"
    ))
}

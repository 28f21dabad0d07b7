//! The model: what a device file gives for a measured cell.

use super::asked::{self, Asked};
use super::cell::PROBE;
use super::cells::{Cell, Class, Figure, What};
use crate::error::wrong;
use crate::plan::{Base, DeviceFrom, Plan, WorkloadFrom};
use crate::simulate::{Options, simulate};
use anyhow::Result;
use flashyard_core::quantity::Ppm;
use flashyard_core::request::RequestOp;
use flashyard_core::units::{Span, Time};
use flashyard_sim::config::Sections;
use flashyard_sim::config::{DeviceKeys, InitialBuffer, InitialState, MapStore};
use flashyard_sim::observe::{Observer, RequestTimed, Shared};
use flashyard_sim::own::OwnParts;
use flashyard_sim::report::Report;
use rayon::prelude::*;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// How a device is run to be compared with cells.
#[derive(Clone, Debug)]
pub struct Model {
    /// Parts of the user's own.
    pub own: OwnParts,
    /// The preset or device file to start from.
    pub device: String,
    /// The text of that file, if it is not read from there.
    text: Option<String>,
    /// Settings of every run, from the user.
    pub set: Vec<String>,
    /// Requests of a run.
    pub requests: u64,
    /// Their seed.
    pub seed: u64,
    /// Whether a device with fewer and smaller blocks is run, which is made sooner.
    is_small: bool,
    /// The largest visible capacity of all cells.
    largest_gib: f64,
    /// Files that were read, by the workload of a cell.
    read: Arc<Mutex<BTreeMap<String, Arc<Base>>>>,
    /// Figures of runs that were made, of this model and of those that were made from it.
    known: Arc<Mutex<BTreeMap<Run, Vec<f64>>>>,
    /// Bytes of the largest device that was found to fit the memory.
    checked_bytes: Arc<AtomicU64>,
}

/// A hash of what the figures of a run depend on, beside what models made from one another share:
/// the cell, the values of keys, requests, their seed and whether the device is small. A board
/// makes tens of thousands of runs for a drive.
type Run = [u8; 32];

/// Blocks of a plane and pages of a block of a small device for reads alone, all of it written:
/// reads at random places find the same queues and types of pages.
const SMALL_READ: (u64, u64) = (40, 192);

/// The same for reads in order, which do not meet by chance, before blocks are made as long as the
/// run asks for.
const IN_ORDER_PAGES: u64 = 48;

/// Bytes of a small device that reads ahead, for requests at random places: one in 130,000 follows
/// one of 32 runs by chance. On a whole drive hardly any does, on a device of 3 GB one in 23,000,
/// and each makes the dies read megabytes.
const AHEAD_BYTES: u64 = 1 << 34;

/// Pages of a block of a small device for writes, tried in this order until the device has at most
/// so many mapping units; with the last of them it has fewer blocks, but at least so many of a
/// plane. The numbers divide by the pages of every word line. Measured on the three drives of
/// docs/DEVICES.md under saturated random writes: with 192 pages rates are 1 to 4 % lower than with
/// 1,536 or 2,112, with 48 pages 8 to 18 %, since operations under way hold a larger share of the
/// spare space.
const SMALL_PAGES: [u64; 5] = [768, 384, 192, 96, 48];
const SMALL_UNITS: u64 = 1 << 24;
const SMALL_BLOCKS: u64 = 200;

/// Free blocks of a plane of a small device in order, beyond those that a run writes: garbage
/// collection begins at 16 at most, and a few are open.
const FREE_BLOCKS: u64 = 24;

/// Requests that a cell answers before it is measured: of reads in order a few more than are
/// outstanding; with writes a share of those measured, and
/// several times those outstanding, fewer times of large ones. Assumed: writes of an ordered drive
/// begin with a full buffer, so behind one round of large requests each has waited for all others.
const WARM_UP_SHARE: u64 = 4;
const WARM_UP_ROUNDS: f64 = 8.0;
const FEWEST_ROUNDS: f64 = 1.25;

/// Bytes of requests of which a run has all that are asked for. Larger ones are fewer, in
/// proportion.
const FREE_BYTES: f64 = 16_384.0;

/// The key of the spare space.
const SPARE: &str = "ftl.over_provisioning_percent";

/// A key and its value, as a device file has it.
pub type Setting = (String, String);

impl Model {
    /// A model for some cells. Where the map is in memory, the capacity matters little, and a small
    /// device is run, which is built at once.
    pub fn new(
        own: OwnParts,
        device: DeviceFrom<'_>,
        asked: &Asked,
        cells: &[Cell],
    ) -> Result<Self> {
        let Asked { requests, seed, .. } = *asked;
        let (device, text) = match device {
            DeviceFrom::Named(name) => (name.to_string(), None),
            DeviceFrom::Text(name, text) => (name.to_string(), Some(text.to_string())),
        };
        let set = asked.set.clone();
        let mut largest_gib = 0.0_f64;
        for cell in cells {
            largest_gib = largest_gib.max(cell.number("visible_gib")?.unwrap_or(0.0));
        }
        let is_small = false;
        let (read, known, checked_bytes) = Default::default();
        let mut model = Self {
            own,
            device,
            text,
            set,
            requests,
            seed,
            is_small,
            largest_gib,
            read,
            known,
            checked_bytes,
        };
        let keys = model.device(&cells[0])?.sections.device;
        model.is_small = keys.map.store == MapStore::Resident
            && is_default(&keys, "ftl", "scheme")
            && !model.sets("geometry.blocks_per_plane")
            && !model.sets("geometry.pages_per_block");
        Ok(model)
    }

    /// Whether the user gives a key a value.
    pub(super) fn sets(&self, key: &str) -> bool {
        asked::sets(&self.set, key)
    }

    /// The figures of cells, in the order in which they were measured; not a number where a run has
    /// no such figure. The cells run side by side.
    pub fn figures(&self, cells: &[Cell], keys: &[Setting]) -> Result<Vec<Vec<f64>>> {
        cells.par_iter().map(|cell| self.run(cell, keys)).collect()
    }

    /// The same of the device as its file has it, one cell after the other, since it may be large.
    /// Cells of reads run a small device where the whole one takes long to build. A device that
    /// does not fit into the memory is the small one, which a note tells.
    pub fn figures_of_file(
        &self,
        cells: &[Cell],
        keys: &[Setting],
        tell: impl Fn(),
    ) -> Result<(Vec<Vec<f64>>, Option<String>)> {
        let whole = Self { is_small: false, ..self.clone() };
        let mut refused = None;
        let run = |cell: &Cell| {
            let model = if writes(cell) {
                let inputs = whole.inputs(cell, keys)?;
                let why = inputs.need(&inputs.settings()?, false).check().err();
                let fits = why.is_none();
                refused = refused.take().or(why);
                if fits { &whole } else { self }
            } else if whole.is_built_at_once(cell, keys)? {
                &whole
            } else {
                self
            };
            let figures = model.run(cell, keys);
            tell();
            figures
        };
        let figures = cells.iter().map(run).collect::<Result<_>>()?;
        let note = refused.map(|why| {
            format!("figures of cells with writes are those of a small device: {why:#}")
        });
        Ok((figures, note))
    }

    /// The figures of the device as it is named: whole where it is built at once, otherwise of a
    /// small one.
    pub fn figures_of_device(
        &self,
        cells: &[Cell],
        tell: impl Fn() + Sync,
    ) -> Result<Vec<Vec<f64>>> {
        let whole = Self { is_small: false, ..self.clone() };
        let run = |cell: &Cell| {
            let is_whole = whole.is_built_at_once(cell, &[])?;
            let figures = if is_whole { &whole } else { self }.run(cell, &[]);
            tell();
            figures
        };
        cells.par_iter().map(run).collect()
    }

    /// Whether the whole device has so few mapping units that it is built at once.
    fn is_built_at_once(&self, cell: &Cell, keys: &[Setting]) -> Result<bool> {
        Ok(u64::from(self.inputs(cell, keys)?.settings()?.exported_units) <= SMALL_UNITS)
    }

    /// The figures of a run of a cell. Searches ask for many runs again, those of other folds too.
    fn run(&self, cell: &Cell, keys: &[Setting]) -> Result<Vec<f64>> {
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let Self { requests, seed, is_small, .. } = self;
        let text = format!("{cell:?} {keys:?} {requests} {seed} {is_small}");
        let run = Run::from(Sha256::digest(text));
        if let Some(figures) = known().get(&run) {
            return Ok(figures.clone());
        }
        let figures = self.figures_of_run(cell, keys)?;
        known().insert(run, figures.clone());
        Ok(figures)
    }

    fn figures_of_run(&self, cell: &Cell, keys: &[Setting]) -> Result<Vec<f64>> {
        let inputs = self.inputs(cell, keys)?;
        let settings = inputs.settings()?;
        // A device no larger than one that fits needs no look at the memory.
        let need = inputs.need(&settings, false);
        if need.bytes() > self.checked_bytes.load(Ordering::Relaxed) {
            need.check()?;
            self.checked_bytes.fetch_max(need.bytes(), Ordering::Relaxed);
        }
        let rates = Shared::new(Rates::default());
        let warm_up = warm_up(cell, self.requests_of(cell)?)?;
        let observer = Behind { warm_up, rates: rates.clone() };
        let observer = (warm_up > 0).then(|| Box::new(observer) as Box<dyn Observer>);
        let observers = observer.into_iter().collect();
        let options = Options { observers, ..Options::default() };
        let report = simulate(&inputs, &settings, options)?.report;
        let per_second = match warm_up {
            0 => Rates::of_whole(&report),
            _ => rates.get().per_second(),
        };
        let of = |(figure, _): &(Figure, f64)| figure.of(&report, per_second).unwrap_or(f64::NAN);
        Ok(cell.measured.iter().map(of).collect())
    }

    /// The same with runs of a share of the requests.
    #[must_use]
    pub fn shorter(&self, share: u64) -> Self {
        Self { requests: (self.requests / share).max(1), ..self.clone() }
    }

    /// Whether the device has zones.
    pub fn has_zones(own: &OwnParts, device: DeviceFrom<'_>) -> Result<bool> {
        Ok(Base::of(own.clone(), device, WorkloadFrom::Session)?.with(&[])?.has_zones())
    }

    /// The device of a cell before the fit, whole.
    pub fn device(&self, cell: &Cell) -> Result<Plan> {
        Self { is_small: false, ..self.clone() }.inputs(cell, &[])
    }

    /// Requests of the run of a cell: fewer of large ones, which are as many units.
    fn requests_of(&self, cell: &Cell) -> Result<u64> {
        let bytes = (bytes_of(cell)? as f64).max(FREE_BYTES);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
        Ok(((self.requests as f64 * FREE_BYTES / bytes) as u64).max(1))
    }

    /// The files of a cell, each read once.
    fn base(&self, cell: &Cell, plan: String) -> Result<Arc<Base>> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(base) = read.get(&plan) {
            return Ok(Arc::clone(base));
        }
        let from = match &self.text {
            Some(text) => DeviceFrom::Text(&self.device, text),
            None => DeviceFrom::Named(&self.device),
        };
        let workload = WorkloadFrom::Text(&cell.place, &plan);
        let base = Arc::new(Base::of(self.own.clone(), from, workload)?);
        read.insert(plan, Arc::clone(&base));
        Ok(base)
    }

    fn inputs(&self, cell: &Cell, keys: &[Setting]) -> Result<Plan> {
        let requests = self.requests_of(cell)?;
        let warm_up = warm_up(cell, requests)?;
        let plan = plan(cell, requests + warm_up)?;
        let mut set = vec![
            ("the state of a cell", format!("state.initial={}", default_state(cell))),
            ("a warm-up", format!("metrics.skip_requests={warm_up}")),
        ];
        set.extend(self.set.iter().map(|setting| ("--set", setting.clone())));
        set.extend(keys.iter().map(|(key, value)| ("key", format!("{key}={value}"))));
        let own = cell.ran.iter().filter(|(column, _)| column.contains('.'));
        set.extend(own.map(|(key, value)| (cell.place.as_str(), format!("{key}={value}"))));
        if let Some(state) = cell.get("state").filter(|_| !cell.needs_zones()) {
            // As the field calls it.
            let state = if state == "sequential" { "full" } else { state };
            set.push((cell.place.as_str(), format!("state.initial={state}")));
        }
        let base = self.base(cell, plan)?;
        let mut inputs = base.with(&set)?;
        if let Some(gib) = cell.number("visible_gib")? {
            // The spare space is that of the largest visible capacity, and what is not visible.
            let spare = inputs.sections.device.ftl.over_provisioning_percent.ppm() as f64 / 1e6;
            let share = (1.0 + spare) * self.largest_gib / gib - 1.0;
            set.push((cell.place.as_str(), format!("{SPARE}={:.4}", 100.0 * share)));
            inputs = base.with(&set)?;
        }
        let device = &mut inputs.sections.device;
        if writes(cell)
            && device.state.initial == InitialState::Full
            && device.buffer.bytes > 0
            && device.buffer.initial == InitialBuffer::Auto
        {
            // Those who measure let writes run until a write buffer is full.
            device.buffer.initial = InitialBuffer::Dirty;
        }
        if self.is_small {
            let bytes = bytes_of(cell)?;
            let all = (requests + warm_up) * bytes;
            let written = writes(cell).then_some(all);
            shrink(&mut inputs.sections.device, written);
            if cell.is_read_in_order() {
                let pages = &mut inputs.sections.device.geometry.pages_per_block;
                *pages = (*pages).min(IN_ORDER_PAGES);
                hold(&mut inputs.sections.device, 2 * all);
            } else if inputs.sections.device.buffer.read_ahead_kib > 0 {
                hold(&mut inputs.sections.device, AHEAD_BYTES);
            }
        }
        inputs.set_seed(self.seed);
        Ok(inputs)
    }
}

/// Makes a device small that has the dies and the times of the large one. Write amplification
/// depends on the spare space, which stays, and the time of an erase is that of its pages. A fresh
/// device keeps its blocks: what it is given would fill a small one. `written` has the bytes that a
/// run writes, where it writes.
fn shrink(keys: &mut DeviceKeys, written: Option<u64>) {
    let geometry = &mut keys.geometry;
    let Some(written) = written else {
        geometry.blocks_per_plane = geometry.blocks_per_plane.min(SMALL_READ.0);
        geometry.pages_per_block = geometry.pages_per_block.min(SMALL_READ.1);
        keys.ftl.over_provisioning_percent = Ppm::ALL;
        return;
    };
    if keys.state.initial == InitialState::Fresh {
        return;
    }
    if keys.state.initial == InitialState::Full {
        // A drive that was written in order has more free blocks than a cell writes.
        keys.ftl.over_provisioning_percent = Ppm::ALL;
    }
    let page = geometry.page_bytes;
    let units_per_page = match keys.ftl.mapping_unit_bytes {
        0 => 1,
        unit => (page / unit).max(1),
    };
    let planes = geometry.channels * geometry.ways * geometry.dies_per_way * geometry.planes;
    let row = planes * units_per_page;
    let (blocks, own) = (geometry.blocks_per_plane, geometry.pages_per_block);
    // Where data lie in order, no spare space decides.
    let units = if keys.state.initial == InitialState::Full { 0 } else { SMALL_UNITS };
    let fits = |pages: &u64| row * blocks * pages <= units;
    let pages = SMALL_PAGES.into_iter().find(fits).unwrap_or(SMALL_PAGES[4]).min(own);
    let most = if keys.state.initial == InitialState::Full {
        // Half of the blocks are free: the run fills some, and what is in the buffer others.
        let rows = (written + keys.buffer.bytes).div_ceil(planes * page * pages);
        2 * (rows + rows / 4 + FREE_BLOCKS)
    } else {
        SMALL_BLOCKS.max(units / (row * pages))
    };
    (geometry.blocks_per_plane, geometry.pages_per_block) = (blocks.min(most), pages);
    keys.nand.erase_us = Span::from_ns(keys.nand.erase_us.as_ns() * pages / own);
}

/// Makes blocks of a small device longer until it holds so many bytes, half of what its dies have.
fn hold(keys: &mut DeviceKeys, bytes: u64) {
    let geometry = &mut keys.geometry;
    let dies = geometry.channels * geometry.ways * geometry.dies_per_way;
    let row = dies * geometry.planes * geometry.blocks_per_plane * geometry.page_bytes;
    while row * geometry.pages_per_block / 2 < bytes {
        geometry.pages_per_block *= 2;
    }
}

/// The state of a cell that names none: reads find what was written in order, writes in order what
/// they have overwritten, and other writes the state that random writes lead to. Zones that are
/// written are empty.
fn default_state(cell: &Cell) -> &'static str {
    if cell.needs_zones() {
        return "fresh";
    }
    match cell.pattern() {
        "write" => "full",
        _ if writes(cell) => "steady",
        _ => "full",
    }
}

/// Answers to requests behind a warm-up: when the first and the last one came, and how many are
/// reads and writes.
#[derive(Debug)]
struct Rates {
    first: Time,
    last: Time,
    counts: [u64; 2],
}

impl Default for Rates {
    fn default() -> Self {
        Self { first: Time::MAX, last: Time::ZERO, counts: [0; 2] }
    }
}

impl Rates {
    /// Reads and writes a second of a run without a warm-up.
    fn of_whole(report: &Report) -> [f64; 2] {
        let seconds = report.throughput.makespan_ns as f64 / 1e9;
        [Class::Read, Class::Write].map(|class| {
            let latency = report.latency_ns.get(class.word());
            latency.map_or(0.0, |latency| latency.count as f64 / seconds)
        })
    }

    /// Reads and writes a second.
    fn per_second(&self) -> [f64; 2] {
        if self.last <= self.first {
            return [0.0; 2];
        }
        let seconds = self.last.since(self.first).as_ns() as f64 / 1e9;
        self.counts.map(|count| count as f64 / seconds)
    }
}

/// Counts them.
struct Behind {
    warm_up: u64,
    rates: Shared<Rates>,
}

impl Observer for Behind {
    fn wants_times_alone(&self) -> bool {
        true
    }
    fn request_timed(&mut self, event: &RequestTimed) {
        if event.order < self.warm_up {
            return;
        }
        let mut rates = self.rates.get();
        rates.first = rates.first.min(event.completion);
        rates.last = rates.last.max(event.completion);
        match event.request.op {
            RequestOp::Read => rates.counts[Class::Read as usize] += 1,
            RequestOp::Write => rates.counts[Class::Write as usize] += 1,
            RequestOp::Trim | RequestOp::Flush => {}
        }
    }
}

/// Requests of a cell before the first that counts.
fn warm_up(cell: &Cell, requests: u64) -> Result<u64> {
    if !writes(cell) {
        // Requests of the start come before what the device could read ahead.
        let depth = cell.number("queue_depth")?.unwrap_or(1.0) * cell.zones()? as f64;
        let rounds = if cell.is_read_in_order() { FEWEST_ROUNDS } else { 0.0 };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
        return Ok((rounds * depth).clamp(0.0, 1e9) as u64);
    }
    let outstanding = match closed_loop(cell)? {
        Some(depth) => depth,
        None => cell.number("queue_depth")?.unwrap_or(1.0) * cell.zones()? as f64,
    };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
    let rounds = {
        let bytes = (bytes_of(cell)? as f64).max(FREE_BYTES);
        let rounds = (WARM_UP_ROUNDS * FREE_BYTES / bytes).max(FEWEST_ROUNDS);
        (rounds * outstanding).clamp(0.0, 1e9) as u64
    };
    Ok(rounds.max(requests / WARM_UP_SHARE))
}

/// Bytes of a request of a cell.
fn bytes_of(cell: &Cell) -> Result<u64> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
    Ok(cell.bytes()?.clamp(1.0, 1e9) as u64)
}

/// Whether something writes in a cell.
fn writes(cell: &Cell) -> bool {
    cell.has(Class::Write)
}

/// Whether a key of the device has its default.
fn is_default(keys: &DeviceKeys, section: &str, key: &str) -> bool {
    keys.get(section, key) == keys.defaults().get(section, key)
}

/// The workload of a cell, as a workload file.
fn plan(cell: &Cell, requests: u64) -> Result<String> {
    if let Some(rate) = cell.number("writes_per_s_asked")? {
        return mixed_plan(cell, rate, requests);
    }
    let (base, share) = match cell.pattern() {
        "randread" => ("random-read", None),
        "randwrite" => ("random-write", None),
        "read" => ("sequential-read", None),
        "write" => ("sequential-write", None),
        _ => ("mixed-70-30", Some(cell.read_percent())),
    };
    if cell.zones()? > 1 || cell.needs_zones() {
        return zones_plan(cell, requests);
    }
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

/// Streams into so many zones at once, each at its depth: of writes in order or of appends into
/// zones that are empty, or of reads in order, then of as many parts of the device.
fn zones_plan(cell: &Cell, requests: u64) -> Result<String> {
    let zones = cell.zones()?;
    let depth = cell.number("queue_depth")?.unwrap_or(1.0);
    let kib = bytes_of(cell)? as f64 / 1024.0;
    let mut text = format!("[phase]\nrequests = {requests}\n");
    for zone in 0..zones {
        let base = if writes(cell) { "sequential-write" } else { "sequential-read" };
        text += &format!(
            "[[stream]]\nname = \"zone-{zone}\"\ndepth = {depth}\n\
             [stream.pattern]\nbase = \"{base}\"\nrequests = 1_000_000_000\n\
             size_kib = {kib}\nalign_kib = {kib}\n"
        );
        if cell.needs_zones() {
            let append = cell.get("pattern") == Some("append");
            text += &format!("zones = 1\nfirst_zone = {zone}\nappend = {append}\n");
        } else {
            let (start, range) = (100.0 * zone as f64 / zones as f64, 100.0 / zones as f64);
            // Rounded so that all parts together fit.
            let [start, range] = [start, range].map(|percent| (percent * 1e3).floor() / 1e3);
            text += &format!("start_percent = {start}\nrange_percent = {range}\n");
        }
    }
    Ok(text)
}

/// The depth of the closed loop that the writes at a rate are which a drive did not take.
fn closed_loop(cell: &Cell) -> Result<Option<f64>> {
    let Some(asked) = cell.number("writes_per_s_asked")? else { return Ok(None) };
    let given = cell.value(Class::Write, What::PerSecond).unwrap_or(asked);
    if given >= 0.9 * asked {
        return Ok(None);
    }
    let latency = cell.value(Class::Write, What::Mean).ok_or_else(|| {
        let what = "the drive did not take the rate, so its mean write latency is needed";
        wrong(&format!("{}: {what}: write_mean_us", cell.place))
    })?;
    Ok(Some((given * latency / 1e6).round().max(1.0)))
}

/// Random writes of 4 KiB at a rate, of which 10,000 requests a second of half reads and half
/// writes are a part. One request in a hundred of the others is a read.
///
/// A drive that cannot take the rate answers fewer, and keeps as many outstanding as the benchmark
/// lets it: by Little's law, the measured rate times the mean latency. Then the writes are a closed
/// loop of this depth.
fn mixed_plan(cell: &Cell, asked: f64, requests: u64) -> Result<String> {
    let writes = if let Some(depth) = closed_loop(cell)? {
        format!("depth = {depth}\n[stream.pattern]\n")
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The small device of a search is close to the device of the file: saturated random writes are
    /// within 5 %, and so are the reads beside them.
    #[test]
    fn a_small_device_writes_as_the_whole_one_does() {
        let figure = |class, what| (Figure { class, what }, 1.0);
        let ran = [("pattern", "randrw"), ("read_percent", "20"), ("queue_depth", "64")];
        let cell = Cell {
            place: "a cell".to_string(),
            drive: String::new(),
            ran: ran.map(|(column, entry)| (column.to_string(), entry.to_string())).to_vec(),
            measured: vec![
                figure(Class::Read, What::Mean),
                figure(Class::Write, What::Mean),
                figure(Class::Write, What::PerSecond),
                figure(Class::Write, What::Amplification),
            ],
        };
        check_small("ufs-3.1", &[], 40_000, &cell);
    }

    /// Random reads of a small device seldom meet in a page, as on a large one: here on 79 GB. With
    /// 12 pages in a block p99 is 17 % short.
    #[test]
    fn a_small_device_reads_as_a_large_one_does() {
        let figure = |what| (Figure { class: Class::Read, what }, 1.0);
        let ran = [("pattern", "randread"), ("queue_depth", "32"), ("state", "full")];
        let cell = Cell {
            place: "a cell".to_string(),
            drive: String::new(),
            ran: ran.map(|(column, entry)| (column.to_string(), entry.to_string())).to_vec(),
            measured: [What::Mean, What::P50, What::P99].map(figure).to_vec(),
        };
        let large = ["geometry.blocks_per_plane=192", "geometry.pages_per_block=768"];
        check_small("nvme-tlc", &large, 100_000, &cell);
    }

    /// Reads in order of one zone and of four are on short blocks what they are on long ones. Both
    /// have as much spare space, since zones that begin on other dies meet elsewhere.
    #[test]
    fn a_small_device_reads_in_order_as_a_large_one_does() {
        let figure = |what| (Figure { class: Class::Read, what }, 1.0);
        let large = [
            "geometry.blocks_per_plane=40",
            "geometry.pages_per_block=384",
            "ftl.over_provisioning_percent=100",
        ];
        for zones in ["1", "4"] {
            let ran = [("pattern", "read"), ("queue_depth", "4"), ("zones", zones)];
            let cell = Cell {
                place: "a cell".to_string(),
                drive: String::new(),
                ran: ran.map(|(column, entry)| (column.to_string(), entry.to_string())).to_vec(),
                measured: [What::Mean, What::P50, What::P99].map(figure).to_vec(),
            };
            check_small("zn540", &large, 8_000, &cell);
        }
    }

    /// Figures that are remembered are those of a run of the same cell, keys and requests.
    #[test]
    fn figures_that_are_known_are_those_of_their_run() {
        let figure = |what| (Figure { class: Class::Read, what }, 1.0);
        let cell = |depth: &str, measured: &[What]| Cell {
            place: "a cell".to_string(),
            drive: String::new(),
            ran: vec![("queue_depth".to_string(), depth.to_string())],
            measured: measured.iter().copied().map(figure).collect(),
        };
        let cells = [cell("4", &[What::Mean]), cell("32", &[What::Mean]), cell("4", &[What::P99])];
        let read_us = |us: &str| vec![("nand.read_us".to_string(), us.to_string())];
        let keys = [Vec::new(), read_us("50"), read_us("90")];
        let whole = model("ufs-3.1", &[], 2_000);
        let small = Model { is_small: true, ..whole.clone() };
        let models = [whole.shorter(2), whole, small.shorter(2), small];
        for _ in 0..2 {
            for (model, keys) in
                models.iter().flat_map(|model| keys.iter().map(move |k| (model, k)))
            {
                let known = model.figures(&cells, keys).unwrap();
                let made = cells.iter().map(|cell| model.figures_of_run(cell, keys).unwrap());
                assert_eq!(known, made.collect::<Vec<_>>());
            }
        }
        let known = models[0].known.lock().unwrap();
        assert_eq!(known.len(), models.len() * keys.len() * cells.len());
    }

    fn model(device: &str, set: &[&str], requests: u64) -> Model {
        Model {
            own: OwnParts::default(),
            text: None,
            device: device.to_string(),
            set: set.iter().map(ToString::to_string).collect(),
            requests,
            seed: 1,
            is_small: false,
            largest_gib: 0.0,
            read: Arc::default(),
            known: Arc::default(),
            checked_bytes: Arc::default(),
        }
    }

    /// The figures of a cell on a small device are within 5 % of those on the one that it is made
    /// from.
    fn check_small(device: &str, set: &[&str], requests: u64, cell: &Cell) {
        let whole = model(device, set, requests);
        let small = Model { is_small: true, ..whole.clone() };
        let [whole, small] = [whole, small].map(|model| model.run(cell, &[]).unwrap());
        for (whole, small) in whole.iter().zip(&small) {
            assert!((small / whole - 1.0).abs() < 0.05, "{small} of a small device, not {whole}");
        }
    }
}

//! The keys of a fit, and the settings that their values make.

use super::cells::Cell;
use super::declared::{COMPANIONS, COUNTS, DECLARED, Off, is_told, stored};
use super::model::{Model, Setting};
use super::parameter::{Parameter, Point, Prior};
use super::starts::{Starts, assumptions};
use crate::error::wrong;
use crate::plan::{AllSections, Plan};
use anyhow::Result;
use flashyard_core::key::{Kind, Value};
use flashyard_sim::config::{ListedKey, MultiPlane, Sections, Stalled, nearest, parse_value};
use flashyard_sim::own::OwnParts;

/// Keys whose product with the blocks of a plane and their pages is the capacity, which a fit
/// keeps.
const OF_CAPACITY: [&str; 5] = [
    "geometry.channels",
    "geometry.ways",
    "geometry.dies_per_way",
    "geometry.planes",
    "geometry.page_bytes",
];

/// The key of the time of a program, which grows with what a program writes.
const PROGRAM: &str = "nand.program_us";

/// The key of the blocks of a plane.
const BLOCKS: &str = "geometry.blocks_per_plane";

/// The key of the cores of the firmware, and times that a request takes one of them for.
const CORES: &str = "firmware.cores";
const OF_A_CORE: [&str; 9] = [
    "firmware.read_ns",
    "firmware.write_ns",
    "firmware.trim_ns",
    "firmware.flush_ns",
    "firmware.trim_unit_ns",
    "firmware.unit_ns",
    "firmware.flash_read_ns",
    "firmware.read_tail_ns",
    "firmware.write_tail_ns",
];

/// Blocks of a plane below which its blocks become shorter. Assumed; with fewer, those that are
/// open or being collected take a share of the spare space that matters.
const FEWEST_BLOCKS: u64 = 200;

/// Pages of a block at least. Assumed: with fewer, a word line of all planes is too much of it.
const FEWEST_PAGES: u64 = 192;

/// A key that no cell tells, and what is likely of it.
#[derive(Clone, Debug)]
pub struct Untold {
    /// The key, and its bounds.
    pub parameter: Parameter,
    /// The value of the device, which stays.
    pub value: u64,
    /// The values that are likely: two deviations around this value.
    pub likely: (u64, u64),
}

/// The keys of a fit.
#[derive(Clone, Debug)]
pub struct Keys {
    /// The keys and their bounds.
    pub parameters: Vec<Parameter>,
    /// Where the search begins.
    pub starts: Vec<Point>,
    /// Keys that no cell tells.
    pub untold: Vec<Untold>,
    /// What the counts make at first (planes x bytes of a page), the blocks of each plane, the
    /// pages of a block, and the pages of a word line.
    volume: u64,
    blocks: u64,
    pages: u64,
    of_word_line: u64,
    /// Stored values of the counts, at first.
    counts: Vec<(&'static str, u64)>,
    /// The firmware of the fit.
    firmware: Firmware,
}

/// The firmware of a fit. Unless the user says otherwise it is one core, whose times are those of
/// all cores of the device together: their time divided by their number.
#[derive(Clone, Debug)]
struct Firmware {
    /// Cores of the device that are one in the fit.
    cores: u64,
    /// Keys of its times, as the fit has them.
    times: Vec<Setting>,
    /// Whether runs are told the number of cores.
    is_set: bool,
}

impl Firmware {
    fn new(device: &Plan, stays: bool) -> Self {
        let cores = stored(device, CORES).unwrap_or(0);
        // A firmware without cores takes no time.
        let (cores, is_set) = if stays { (1, cores == 0) } else { (cores.max(1), cores != 1) };
        let mut firmware = Self { cores, times: Vec::new(), is_set };
        if cores > 1 {
            let time =
                |key: &&str| Some((key.to_string(), firmware.known(device, key)?.to_string()));
            firmware.times = OF_A_CORE.iter().filter_map(time).collect();
        }
        firmware
    }

    /// What the device has of a key, as the fit counts it.
    fn known(&self, device: &Plan, key: &str) -> Option<u64> {
        let value = stored(device, key).filter(|value| *value > 0)?;
        let cores = if OF_A_CORE.contains(&key) { self.cores } else { 1 };
        Some(value.div_ceil(cores))
    }
}

impl Keys {
    /// The declared keys that such cells may tell of, or those that the user names as
    /// `section.key=low..high`.
    pub fn new(model: &Model, cells: &[Cell], named: &[String]) -> Result<Self> {
        let device = model.device(&cells[0])?;
        let count = |key| stored(&device, key).unwrap_or(1);
        let firmware = Firmware::new(&device, !named.is_empty() || model.sets(CORES));
        let counts: Vec<_> = OF_CAPACITY.iter().map(|&key| (key, count(key))).collect();
        let mut keys = Self {
            parameters: Vec::new(),
            starts: Vec::new(),
            untold: Vec::new(),
            volume: counts.iter().map(|(_, count)| count).product(),
            blocks: count(BLOCKS),
            pages: count("geometry.pages_per_block"),
            of_word_line: count("nand.bits_per_cell").max(1),
            counts,
            firmware,
        };
        let declared = DECLARED.iter().filter(|one| named.is_empty() && !model.sets(one.key));
        for one in declared {
            let mut parameter = parameter(&model.own, one.key, one.low, one.high)?;
            let value = keys.firmware.known(&device, one.key);
            parameter.off = match one.off {
                Off::Never => None,
                Off::Low => Some(parameter.low),
                Off::High => Some(parameter.high),
            };
            let middle = parameter.nearest(value.unwrap_or_else(|| parameter.usual()));
            if one.deviation > 0.0 {
                let middle = (middle.max(1) as f64).ln();
                parameter.prior = Some(Prior { middle, deviation: one.deviation });
            }
            if is_told(one.told, cells, &device)? {
                keys.parameters.push(parameter);
            } else if let Some(value) = value
                && COMPANIONS.iter().all(|(companion, _)| *companion != one.key)
            {
                keys.leave(parameter, value);
            }
        }
        keys.add_named(model, named)?;
        if keys.parameters.is_empty() {
            return Err(wrong("no declared key is told of by these cells; name some with --key"));
        }
        for assumed in assumptions() {
            let starts = Starts { cells, device: &device, assumed };
            let of = |parameter: &Parameter| {
                let known = keys.firmware.known(&device, &parameter.key);
                let known = known.unwrap_or_else(|| parameter.usual());
                Ok(parameter.nearest(starts.of(&parameter.key)?.unwrap_or(known)))
            };
            let start: Point = keys.parameters.iter().map(of).collect::<Result<_>>()?;
            if !keys.starts.contains(&start) {
                keys.starts.push(start);
            }
        }
        Ok(keys)
    }

    /// Adds the keys that the user names.
    fn add_named(&mut self, model: &Model, named: &[String]) -> Result<()> {
        for text in named {
            let parts = text.split_once('=').and_then(|(key, range)| {
                range.split_once("..").map(|(low, high)| (key, low, high))
            });
            let (key, low, high) = parts
                .ok_or_else(|| wrong(&format!("--key {text}: write it as nand.read_us=20..200")))?;
            let parameter = parameter(&model.own, key.trim(), low.trim(), high.trim())?;
            if self.parameters.iter().any(|known| known.key == parameter.key) {
                return Err(wrong(&format!("--key {}: it is named twice", parameter.key)));
            }
            if model.sets(&parameter.key) {
                let what = "--set gives it a value, so it can't be fitted";
                return Err(wrong(&format!("--key {}: {what}", parameter.key)));
            }
            self.parameters.push(parameter);
        }
        Ok(())
    }

    /// Notes a key that no cell tells.
    fn leave(&mut self, parameter: Parameter, value: u64) {
        if !parameter.is_discrete()
            && let Some(likely) = parameter.likely()
        {
            self.untold.push(Untold { parameter, value, likely });
        }
    }

    /// Leaves the keys out which are not `told`, a flag for each, at the values of the device.
    pub fn keep(&mut self, device: &Plan, told: &[bool]) {
        let all = std::mem::take(&mut self.parameters);
        let firmware = all.iter().any(|parameter| parameter.key.starts_with("firmware."));
        let mut kept = Vec::new();
        for (place, parameter) in all.into_iter().enumerate() {
            let value = self.firmware.known(device, &parameter.key);
            // A single core is not that of the device: its times are fitted all or none.
            let is_kept = told[place]
                || value.is_none() && parameter.off.is_none()
                || parameter.is_discrete()
                || firmware && parameter.key.starts_with("firmware.");
            kept.push(is_kept);
            if is_kept {
                self.parameters.push(parameter);
            } else if let Some(value) = value
                && COMPANIONS.iter().all(|(companion, _)| *companion != parameter.key)
            {
                self.leave(parameter, value);
            }
        }
        for start in &mut self.starts {
            let mut place = 0..;
            start.retain(|_| place.next().is_some_and(|place: usize| kept[place]));
        }
        let all = std::mem::take(&mut self.starts);
        for start in all {
            if !self.starts.contains(&start) {
                self.starts.push(start);
            }
        }
    }

    /// A point with another value of a discrete key. Where it changes how much a program writes,
    /// the time of a program changes as much, so that the dies write as many bytes a second.
    pub(super) fn with(&self, point: &Point, place: usize, value: u64) -> Point {
        let mut other = point.clone();
        other[place] = value;
        let program = self.parameters.iter().position(|parameter| parameter.key == PROGRAM);
        if let Some(program) = program
            && OF_CAPACITY.contains(&self.parameters[place].key.as_str())
        {
            let time = point[program] as f64 * value as f64 / point[place].max(1) as f64;
            other[program] = self.parameters[program].stored(time.max(1.0).ln());
        }
        other
    }

    /// A point whose mechanisms are off where they are within a tenth of it.
    pub(super) fn settled(&self, mut point: Point) -> Point {
        for (parameter, value) in self.parameters.iter().zip(&mut point) {
            if let Some(off) = parameter.off
                && ((*value).max(1) as f64 / off.max(1) as f64).ln().abs() < 0.1
            {
                *value = off;
            }
        }
        point
    }

    /// How far a point is from what is known of its keys before: the sum of squares, in deviations.
    pub(super) fn away(&self, point: &Point) -> f64 {
        let pairs = self.parameters.iter().zip(point);
        let known = pairs.filter_map(|(parameter, value)| Some(parameter.prior?.away(*value)));
        known.map(|away| away * away).sum()
    }

    /// The settings of a point. Where the point changes the number of planes or their pages,
    /// each has as many blocks more or less, so that the capacity stays.
    pub fn settings(&self, point: &Point) -> Vec<Setting> {
        let pairs = self.parameters.iter().zip(point);
        let mut all: Vec<Setting> = pairs
            .map(|(parameter, &value)| (parameter.key.clone(), parameter.show(value)))
            .collect();
        all.extend(self.of_one_core());
        let volume = self.volume_of(point);
        if volume != self.volume {
            let blocks = (self.volume * self.blocks / volume).max(1);
            all.push((BLOCKS.to_string(), blocks.to_string()));
        }
        all
    }

    /// Settings that make the firmware one core, beside the times that are fitted.
    pub fn of_one_core(&self) -> Vec<Setting> {
        let is_fitted = |key: &str| self.parameters.iter().any(|one| one.key == key);
        let has = self.parameters.iter().any(|one| one.key.starts_with("firmware."));
        if !has || !self.firmware.is_set || is_fitted(CORES) {
            return Vec::new();
        }
        let times = self.firmware.times.iter().filter(|(key, _)| !is_fitted(key)).cloned();
        [(CORES.to_string(), "1".to_string())].into_iter().chain(times).collect()
    }

    /// The settings of a point for a device file, whose planes must have room to write: a search
    /// for reads runs devices that cannot.
    pub fn settings_of_file(&self, point: &Point) -> Vec<Setting> {
        let mut all = self.settings(point);
        let planes = all.iter().position(|(key, _)| key == BLOCKS);
        if let Some(place) = planes {
            let (blocks, pages) = self.blocks_of(self.volume_of(point));
            all[place].1 = blocks.to_string();
            if pages != self.pages {
                all.push(("geometry.pages_per_block".to_string(), pages.to_string()));
            }
        }
        all
    }

    /// Planes x bytes of a page with these values.
    fn volume_of(&self, point: &Point) -> u64 {
        let count = |(key, count): &(&'static str, u64)| {
            let place = self.parameters.iter().position(|parameter| parameter.key == *key);
            place.map_or(*count, |place| point[place])
        };
        self.counts.iter().map(count).product()
    }

    /// Blocks of each plane, and the pages of a block, with which the capacity stays:
    /// where planes would have too few blocks, these are shorter. If that does not do, the capacity
    /// grows.
    fn blocks_of(&self, volume: u64) -> (u64, u64) {
        let blocks = |pages| self.volume * self.blocks * (self.pages / pages) / volume;
        let fewest = FEWEST_BLOCKS.min(self.blocks);
        let mut pages = self.pages;
        while blocks(pages) < fewest
            && pages.is_multiple_of(2 * self.of_word_line)
            && pages / 2 >= FEWEST_PAGES
        {
            pages /= 2;
        }
        (blocks(pages).max(fewest), pages)
    }
}

fn parameter(own: &OwnParts, path: &str, low: &str, high: &str) -> Result<Parameter> {
    let sections = AllSections::new(own.clone());
    let all = sections.sections().into_iter().flat_map(|(section, keys, _)| {
        keys.iter().map(move |key| (format!("{section}.{}", key.name), key))
    });
    let known: Vec<(String, ListedKey<'_>)> = all.collect();
    let Some((_, key)) = known.iter().find(|(name, _)| name == path) else {
        let near = nearest(path, known.iter().map(|(name, _)| name.as_str()));
        return Err(wrong(&format!("--key {path}: no such key{near}")));
    };
    let kind = match key.kind {
        Kind::Number { unit, scale, min, max } => Kind::Number { unit, scale, min, max },
        Kind::Bool => Kind::Bool,
        Kind::List { .. } => {
            return Err(wrong(&format!("--key {path}: only keys that are numbers can be fitted")));
        }
        Kind::Choice(_) => Kind::Choice(words_of(path).ok_or_else(|| {
            wrong(&format!("--key {path}: only keys that are numbers can be fitted"))
        })?),
    };
    let bound = |text: &str| match parse_value(&kind, text) {
        Ok(Value::Number(value)) => Ok(value),
        Ok(Value::Choice(place)) => Ok(place as u64),
        Ok(Value::Bool(is)) => Ok(u64::from(is)),
        Ok(Value::List(_)) => unreachable!("lists were refused"),
        Err(why) => Err(wrong(&format!("--key {path}: {text}: {why}"))),
    };
    let (low, high) = (bound(low)?, bound(high)?);
    if low > high {
        return Err(wrong(&format!("--key {path}: the lower bound is above the upper one")));
    }
    let values = match kind {
        Kind::Number { .. } if COUNTS.contains(&path) => {
            let powers = (0..u64::BITS).map(|power| 1 << power);
            let values: Vec<u64> = powers.filter(|n| (low..=high).contains(n)).collect();
            if values.is_empty() {
                let what = "only powers of two are tried, and none is between its bounds";
                return Err(wrong(&format!("--key {path}: {what}")));
            }
            values
        }
        Kind::Number { .. } | Kind::List { .. } => Vec::new(),
        Kind::Bool | Kind::Choice(_) => (low..=high).collect(),
    };
    Ok(Parameter { key: path.to_string(), kind, low, high, values, prior: None, off: None })
}

/// The words of a key that chooses a way to work, where a fit may choose.
fn words_of(path: &str) -> Option<&'static [&'static str]> {
    match path {
        "nand.multi_plane" => Some(MultiPlane::WORDS),
        "firmware.stall_holds" => Some(Stalled::WORDS),
        _ => None,
    }
}

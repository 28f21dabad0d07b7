//! The keys that are fitted, and where the search for them begins: at closed forms of the
//! measurements where there are some, otherwise at the values of the device.

use super::cells::{Cell, Class, What};
use super::model::{Model, Setting};
use super::parameter::{Parameter, Point};
use crate::error::wrong;
use crate::plan::{AllSections, Plan};
use anyhow::Result;
use flashyard_core::key::{Kind, Value};
use flashyard_sim::config::{ListedKey, Sections, nearest, parse_value};
use flashyard_sim::own::OwnParts;

/// Which cells tell something about a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    /// Cells with reads.
    Reads,
    /// Cells with reads of more than one size, or of one that is smaller than a page.
    Sizes,
    /// Cells with reads, where cells of the device have several bits.
    PageTypes,
    /// Cells with writes.
    Writes,
    /// Cells with write amplification.
    Amplification,
}

/// The keys that are fitted unless the user names others, with their bounds and what tells of them.
const DECLARED: &[(&str, &str, &str, Told)] = &[
    ("geometry.ways", "1", "16", Told::Reads),
    ("nand.read_us", "10", "400", Told::Reads),
    ("nand.read_2_us", "10", "400", Told::PageTypes),
    ("nand.read_part_us", "5", "400", Told::Sizes),
    ("nand.spread_percent", "1", "400", Told::Reads),
    ("channel.ps_per_byte", "200", "10000", Told::Sizes),
    ("interface.link_latency_ns", "500", "50000", Told::Reads),
    ("firmware.read_ns", "200", "100000", Told::Reads),
    ("firmware.unit_ns", "1", "20000", Told::Sizes),
    ("firmware.spread_percent", "1", "100", Told::Reads),
    ("nand.program_us", "100", "5000", Told::Writes),
    ("firmware.write_ns", "200", "100000", Told::Writes),
    ("ftl.over_provisioning_percent", "2", "200", Told::Amplification),
];

/// Keys that count parts of a device: powers of two are tried.
const COUNTS: [&str; 6] = [
    "geometry.channels",
    "geometry.ways",
    "geometry.dies_per_way",
    "geometry.planes",
    "firmware.cores",
    "nand.bits_per_cell",
];

/// Keys whose product with the blocks of a plane is the capacity, which a fit keeps.
const OF_CAPACITY: [&str; 4] =
    ["geometry.channels", "geometry.ways", "geometry.dies_per_way", "geometry.planes"];

/// The key of the blocks of a plane.
const BLOCKS: &str = "geometry.blocks_per_plane";

/// Blocks of a plane below which its blocks become shorter. Assumed; with fewer, those that are
/// open or being collected take a share of the spare space that matters.
const FEWEST_BLOCKS: u64 = 200;

/// Pages of a block at least. Assumed: with fewer, a word line of all planes is too much of it.
const FEWEST_PAGES: u64 = 192;

/// The keys of a fit.
#[derive(Clone, Debug)]
pub struct Keys {
    /// The keys and their bounds.
    pub parameters: Vec<Parameter>,
    /// Where the search begins.
    pub starts: Vec<Point>,
    /// Planes of the device at first, the blocks of each, the pages of a block, and the pages of a
    /// word line.
    planes: u64,
    blocks: u64,
    pages: u64,
    of_word_line: u64,
    /// Stored values of the counts that make the planes, at first.
    counts: Vec<(&'static str, u64)>,
}

impl Keys {
    /// The declared keys that the cells tell of, or those that the user names as
    /// `section.key=low..high`.
    pub fn new(model: &Model, cells: &[Cell], named: &[String]) -> Result<Self> {
        let device = model.device(&cells[0])?;
        let stored = |key: &str| stored(&device, key);
        let counts: Vec<_> =
            OF_CAPACITY.iter().map(|&key| (key, stored(key).unwrap_or(1))).collect();
        let mut keys = Self {
            parameters: Vec::new(),
            starts: Vec::new(),
            planes: counts.iter().map(|(_, count)| count).product(),
            blocks: stored(BLOCKS).unwrap_or(1),
            pages: stored("geometry.pages_per_block").unwrap_or(1),
            of_word_line: stored("nand.bits_per_cell").unwrap_or(1).max(1),
            counts,
        };
        if named.is_empty() {
            for (key, low, high, told) in DECLARED {
                if is_told(*told, cells, &device)? {
                    keys.parameters.push(parameter(&model.own, key, low, high)?);
                }
            }
        }
        for text in named {
            let parts = text.split_once('=').and_then(|(key, range)| {
                range.split_once("..").map(|(low, high)| (key, low, high))
            });
            let (key, low, high) = parts
                .ok_or_else(|| wrong(&format!("--key {text}: write it as nand.read_us=20..200")))?;
            keys.parameters.push(parameter(&model.own, key.trim(), low.trim(), high.trim())?);
        }
        if keys.parameters.is_empty() {
            return Err(wrong("no declared key is told of by these cells; name some with --key"));
        }
        for outside in OUTSIDE {
            let starts = Starts { cells, device: &device, outside };
            let of = |parameter: &Parameter| {
                let known = stored(&parameter.key).filter(|value| *value > 0);
                let middle = (parameter.low.max(1) as f64 * parameter.high as f64).sqrt();
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "a bound"
                )]
                let start = starts.of(&parameter.key)?.or(known).unwrap_or(middle as u64);
                Ok(start.clamp(parameter.low, parameter.high))
            };
            let start: Result<Point> = keys.parameters.iter().map(of).collect();
            keys.starts.push(start?);
        }
        keys.starts.dedup();
        Ok(keys)
    }

    /// The settings of a point. Where the point changes the number of planes, each has as many
    /// blocks more or less, so that the capacity stays.
    pub fn settings(&self, point: &Point) -> Vec<Setting> {
        let pairs = self.parameters.iter().zip(point);
        let mut all: Vec<Setting> = pairs
            .map(|(parameter, &value)| (parameter.key.clone(), parameter.show(value)))
            .collect();
        // A firmware without cores takes no time.
        let has = |start: &str| self.parameters.iter().any(|p| p.key.starts_with(start));
        if has("firmware.") && !has("firmware.cores") {
            all.push(("firmware.cores".to_string(), "1".to_string()));
        }
        let planes = self.planes_of(point);
        if planes != self.planes {
            let blocks = (self.planes * self.blocks / planes).max(1);
            all.push((BLOCKS.to_string(), blocks.to_string()));
        }
        all
    }

    /// The same for a device file, whose planes must have room to write: a search for reads runs
    /// devices that cannot.
    pub fn settings_of_file(&self, point: &Point) -> Vec<Setting> {
        let mut all = self.settings(point);
        let planes = all.iter().position(|(key, _)| key == BLOCKS);
        if let Some(place) = planes {
            let (blocks, pages) = self.blocks_of(self.planes_of(point));
            all[place].1 = blocks.to_string();
            if pages != self.pages {
                all.push(("geometry.pages_per_block".to_string(), pages.to_string()));
            }
        }
        all
    }

    /// The planes of a device with these values.
    fn planes_of(&self, point: &Point) -> u64 {
        let count = |(key, count): &(&'static str, u64)| {
            let place = self.parameters.iter().position(|parameter| parameter.key == *key);
            place.map_or(*count, |place| point[place])
        };
        self.counts.iter().map(count).product()
    }

    /// Blocks of each of so many planes, and the pages of a block, with which the capacity stays:
    /// where planes would have too few blocks, these are shorter. If that does not do, the capacity
    /// grows.
    fn blocks_of(&self, planes: u64) -> (u64, u64) {
        let blocks = |pages| self.planes * self.blocks * (self.pages / pages) / planes;
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

/// Whether the cells tell of a key.
fn is_told(told: Told, cells: &[Cell], device: &Plan) -> Result<bool> {
    let has = |class, what| cells.iter().any(|cell| cell.value(class, what).is_some());
    Ok(match told {
        Told::Reads => has(Class::Read, What::Mean),
        Told::PageTypes => {
            has(Class::Read, What::Mean) && stored(device, "nand.bits_per_cell") > Some(1)
        }
        Told::Writes => has(Class::Write, What::Mean),
        Told::Amplification => has(Class::Write, What::Amplification),
        Told::Sizes => {
            let page = stored(device, "geometry.page_bytes").unwrap_or(0);
            let unit = stored(device, "ftl.mapping_unit_bytes").unwrap_or(0);
            let sizes = read_sizes(cells)?;
            unit > 0 && unit < page && sizes.len() > 1
        }
    })
}

/// The sizes of reads, ascending.
fn read_sizes(cells: &[Cell]) -> Result<Vec<f64>> {
    let mut sizes = Vec::new();
    for cell in cells.iter().filter(|cell| cell.value(Class::Read, What::Mean).is_some()) {
        sizes.extend(cell.number("block_bytes")?);
    }
    sizes.sort_by(f64::total_cmp);
    sizes.dedup();
    Ok(sizes)
}

/// The stored value of a key of the device that is a number.
fn stored(device: &Plan, path: &str) -> Option<u64> {
    let (section, key) = path.rsplit_once('.')?;
    match device.sections.get(section, key)? {
        Value::Number(value) => Some(value),
        Value::Bool(_) | Value::Choice(_) => None,
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
    let Kind::Number { unit, scale, min, max } = key.kind else {
        return Err(wrong(&format!("--key {path}: only keys that are numbers can be fitted")));
    };
    let kind = Kind::Number { unit, scale, min, max };
    let bound = |text: &str| match parse_value(&kind, text) {
        Ok(Value::Number(value)) => Ok(value),
        Ok(_) => Err(wrong(&format!("--key {path}: {text} is not a number"))),
        Err(why) => Err(wrong(&format!("--key {path}: {text}: {why}"))),
    };
    let (low, high) = (bound(low)?, bound(high)?);
    if low > high {
        return Err(wrong(&format!("--key {path}: the lower bound is above the upper one")));
    }
    let is_count = COUNTS.contains(&path);
    Ok(Parameter { key: path.to_string(), kind, low, high, is_count })
}

/// Shares of the latency of a read that is alone which the search assumes, one after the other, to
/// be spent outside the array and its channel. Nothing measured at depth 1 can tell.
const OUTSIDE: [f64; 3] = [0.04, 0.2, 0.4];

/// Closed forms of measurements.
struct Starts<'a> {
    cells: &'a [Cell],
    device: &'a Plan,
    outside: f64,
}

impl Starts<'_> {
    /// Where the search for a key begins, as a stored value.
    fn of(&self, key: &str) -> Result<Option<u64>> {
        let ns = match key {
            "nand.read_us" | "nand.read_2_us" => self.array_ns(|a, b| a > b)?,
            "nand.read_part_us" => self.array_ns(|a, b| a < b)?,
            "firmware.read_ns" => self.most_per_second().map(|rate| 0.8e9 / rate),
            "firmware.unit_ns" => self.most_per_second().map(|rate| 0.1e9 / rate),
            "interface.link_latency_ns" => self.fastest_ns()?.map(|ns| ns * self.outside / 2.0),
            "geometry.ways" => self.ways()?,
            _ => None,
        };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "above 0")]
        let whole = |ns: f64| ns.max(1.0).round() as u64;
        Ok(ns.map(whole))
    }

    /// Reads that are alone: bytes and latency in ns.
    fn alone(&self) -> Result<Vec<(f64, f64)>> {
        let mut all = Vec::new();
        for cell in self.cells {
            let latency = cell.value(Class::Read, What::P50);
            let latency = latency.or_else(|| cell.value(Class::Read, What::Mean));
            if cell.number("queue_depth")? == Some(1.0)
                && let Some(us) = latency
            {
                all.push((cell.number("block_bytes")?.unwrap_or(4_096.0), us * 1e3));
            }
        }
        Ok(all)
    }

    /// The latency of the smallest read that is alone.
    fn fastest_ns(&self) -> Result<Option<f64>> {
        let all = self.alone()?.into_iter().map(|(_, ns)| ns);
        Ok(all.min_by(f64::total_cmp))
    }

    /// Time of the array: the latency of a read that is alone, less what is spent outside and on
    /// the wires. Of the sizes that fit into a page, the one that `before` prefers.
    fn array_ns(&self, before: impl Fn(f64, f64) -> bool) -> Result<Option<f64>> {
        let page = stored(self.device, "geometry.page_bytes").unwrap_or(4_096) as f64;
        let of = |key: &str| stored(self.device, key).unwrap_or(0) as f64;
        let mut best: Option<(f64, f64)> = None;
        for (bytes, latency) in self.alone()?.into_iter().filter(|(bytes, _)| *bytes <= page) {
            let wires = of("interface.link_ps_per_byte") + of("channel.ps_per_byte");
            let outside = self.outside * self.fastest_ns()?.unwrap_or(0.0);
            let others = outside + bytes * wires / 1e3;
            if best.is_none_or(|(known, _)| before(bytes, known)) {
                best = Some((bytes, (latency - others).max(latency / 4.0)));
            }
        }
        Ok(best.map(|(_, ns)| ns))
    }

    /// Most reads a second of any cell.
    fn most_per_second(&self) -> Option<f64> {
        let rates = self.cells.iter().filter_map(|cell| cell.value(Class::Read, What::PerSecond));
        rates.max_by(f64::total_cmp)
    }

    /// Chips behind each channel: as many as the cells keep busy, by the utilisation law (dies =
    /// reads a second x time of the array).
    fn ways(&self) -> Result<Option<f64>> {
        let array = self.array_ns(|a, b| a < b)?;
        let channels = stored(self.device, "geometry.channels").unwrap_or(1) as f64;
        let dies = self.most_per_second().zip(array).map(|(rate, ns)| rate * ns / 1e9);
        Ok(dies.map(|dies| (dies / channels).ceil()))
    }
}

//! The keys that are fitted unless the user names others, and which cells tell of them.

use super::cells::{Cell, Class, Figure, What};
use crate::plan::Plan;
use anyhow::Result;
use flashyard_core::key::Value;
use flashyard_sim::config::{Sections, Settings};
use std::f64::consts::LN_2;

/// Which cells may tell something about a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// Any cell.
    All,
    /// Cells with reads.
    Reads,
    /// Cells of more than one size.
    Units,
    /// Cells with reads of more than one size, on a device whose pages have several units.
    Sizes,
    /// Cells with reads, where cells of the device have several bits.
    PageTypes,
    /// Cells with reads, where operations of the device may cover several planes.
    Planes,
    /// The same with reads at random places of more than one size, on a device whose pages have
    /// several units.
    PlanesOfSizes,
    /// Cells with reads in order, where the device has a write buffer.
    InOrder,
    /// Cells with writes.
    Writes,
    /// Cells with writes at random places, where the device can log its map.
    Scattered,
    /// Cells with writes, where the device has a write buffer.
    Buffered,
    /// The same where several rows of reads go on at once.
    Runs,
    /// Cells with writes, or with reads in order, where the device has a write buffer.
    Ported,
    /// Cells with writes at a rate, where garbage collection of the device is paced.
    Paced,
    /// Cells with reads beside writes, where programs of the device are suspended.
    Suspended,
    /// Cells with write amplification.
    Amplification,
}

/// A key, its bounds, and what is known of it before.
pub(super) struct Declared {
    pub(super) key: &'static str,
    pub(super) low: &'static str,
    pub(super) high: &'static str,
    pub(super) told: Told,
    /// The standard deviation of its logarithm around the value that the device has; 0 for keys
    /// that choose. Assumed: 0.3 where standards leave few values, 0.5 where parts of one time
    /// differ, a factor of two for keys that count, 1 where makers choose.
    pub(super) deviation: f64,
    /// The key turns a mechanism on, which is off in most devices: which of its bounds stands for
    /// that.
    pub(super) off: Off,
}

/// Where a mechanism is off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Off {
    /// It always works.
    Never,
    /// At the lower bound: it hardly does anything.
    Low,
    /// At the upper bound: it hardly ever comes.
    High,
}

/// Keys that do nothing where another one is off, and that one: the cells tell either both or none.
pub(super) const COMPANIONS: [(&str, &str); 3] = [
    ("nand.read_early_us", "nand.read_early_percent"),
    ("firmware.stall_us", "firmware.stall_units"),
    ("firmware.stall_holds", "firmware.stall_units"),
];

const fn declared(
    key: &'static str,
    (low, high): (&'static str, &'static str),
    told: Told,
    deviation: f64,
) -> Declared {
    Declared { key, low, high, told, deviation, off: Off::Never }
}

/// A key of a mechanism that is off unless cells ask for it.
const fn mechanism(
    key: &'static str,
    (low, high): (&'static str, &'static str),
    told: Told,
    off: Off,
) -> Declared {
    Declared { key, low, high, told, deviation: 2.0, off }
}

/// The keys.
pub(super) const DECLARED: &[Declared] = &[
    declared("geometry.ways", ("1", "16"), Told::Reads, LN_2),
    declared("geometry.dies_per_way", ("1", "8"), Told::Reads, LN_2),
    declared("geometry.planes", ("1", "8"), Told::Planes, LN_2),
    declared("geometry.page_bytes", ("4096", "16384"), Told::Sizes, LN_2),
    declared("nand.multi_plane", ("same_page", "any"), Told::Planes, 0.0),
    declared("nand.cache_read", ("false", "true"), Told::Reads, 0.0),
    declared("nand.read_us", ("10", "400"), Told::Reads, 0.5),
    declared("nand.read_2_us", ("10", "400"), Told::PageTypes, 0.5),
    declared("nand.read_part_us", ("5", "400"), Told::Sizes, 0.5),
    mechanism("nand.multi_plane_read_us", ("10", "400"), Told::PlanesOfSizes, Off::Low),
    declared("nand.spread_percent", ("1", "400"), Told::All, 1.0),
    declared("channel.ps_per_byte", ("200", "10000"), Told::All, 0.5),
    declared("interface.link_ps_per_byte", ("60", "2000"), Told::All, 0.3),
    declared("interface.link_latency_ns", ("200", "50000"), Told::All, 1.0),
    declared("firmware.read_ns", ("200", "100000"), Told::Reads, 0.5),
    declared("firmware.write_ns", ("200", "100000"), Told::Writes, 0.5),
    declared("firmware.unit_ns", ("1", "20000"), Told::Units, 1.0),
    declared("firmware.spread_percent", ("1", "100"), Told::All, 1.0),
    declared("nand.program_us", ("50", "5000"), Told::Writes, 0.5),
    mechanism("nand.pulse_us", ("20", "1000"), Told::Suspended, Off::Low),
    mechanism("nand.program_max_us", ("50", "20000"), Told::Writes, Off::Low),
    mechanism("map.log_bytes", ("16", "4096"), Told::Scattered, Off::Low),
    declared("buffer.bytes", ("1048576", "268435456"), Told::Buffered, 1.0),
    declared("buffer.ps_per_byte", ("1", "1000"), Told::Ported, 0.5),
    mechanism("buffer.read_ahead_kib", ("16", "16384"), Told::InOrder, Off::Low),
    declared("ftl.stripe_pages", ("1", "16"), Told::Runs, LN_2),
    mechanism("buffer.read_ahead_at_once", ("1", "64"), Told::Runs, Off::High),
    mechanism("buffer.read_ahead_rest_kib", ("4", "64"), Told::Runs, Off::Low),
    declared("buffer.read_ahead_after", ("2", "16"), Told::Runs, LN_2),
    declared("buffer.read_ahead_runs", ("1", "32"), Told::Runs, LN_2),
    mechanism("nand.read_early_percent", ("0.1", "60"), Told::Reads, Off::Low),
    declared("nand.read_early_us", ("1", "60"), Told::Reads, 1.0),
    mechanism("firmware.write_tail_ns", ("10", "20000"), Told::Writes, Off::Low),
    mechanism("buffer.release_us", ("10", "20000"), Told::Buffered, Off::Low),
    mechanism("buffer.release_bytes", ("131072", "8388608"), Told::Buffered, Off::Low),
    mechanism("firmware.stall_units", ("1000", "1000000"), Told::Writes, Off::High),
    declared("firmware.stall_us", ("20", "5000"), Told::Writes, 1.0),
    declared("firmware.stall_holds", ("writes", "programs"), Told::Writes, 0.0),
    declared("gc.soft_free_blocks", ("2", "64"), Told::Paced, 0.5),
    mechanism("gc.soft_zone_blocks", ("1", "32"), Told::Paced, Off::Low),
    declared("ftl.over_provisioning_percent", ("2", "200"), Told::Amplification, 0.5),
];

/// Keys that count: powers of two are tried.
pub(super) const COUNTS: [&str; 12] = [
    "geometry.channels",
    "geometry.ways",
    "geometry.dies_per_way",
    "geometry.planes",
    "geometry.page_bytes",
    "firmware.cores",
    "nand.bits_per_cell",
    "ftl.stripe_pages",
    "buffer.read_ahead_at_once",
    "buffer.read_ahead_rest_kib",
    "buffer.read_ahead_after",
    "buffer.read_ahead_runs",
];

/// Whether the kinds of cells tell of a key. That a figure of theirs depends on it is not said.
pub(super) fn is_told(told: Told, cells: &[Cell], device: &Plan) -> Result<bool> {
    let of = |figure: Figure| [What::Mean, What::P50, What::PerSecond].contains(&figure.what);
    let has = |class| {
        let tells = |cell: &Cell, figure: Figure| {
            figure.class == class && of(figure) && cell.weight(figure) > 0.0
        };
        cells.iter().any(|cell| cell.measured.iter().any(|(figure, _)| tells(cell, *figure)))
    };
    let in_order = || cells.iter().any(Cell::is_read_in_order);
    let number = |key: &str| stored(device, key).unwrap_or(0);
    Ok(match told {
        Told::All => true,
        Told::Reads => has(Class::Read),
        Told::PageTypes => has(Class::Read) && number("nand.bits_per_cell") > 1,
        Told::Planes => {
            let words = device.shown("nand.multi_plane");
            has(Class::Read) && number("geometry.planes") > 1 && words.as_deref() != Some("none")
        }
        Told::PlanesOfSizes => {
            let random: Vec<Cell> =
                cells.iter().filter(|cell| !cell.is_read_in_order()).cloned().collect();
            is_told(Told::Planes, cells, device)? && is_told(Told::Sizes, &random, device)?
        }
        Told::InOrder => in_order() && number("buffer.bytes") > 0,
        Told::Runs => {
            let several = |cell: &Cell| cell.zones().is_ok_and(|zones| zones > 1);
            cells.iter().any(several) && number("buffer.bytes") > 0
        }
        Told::Ported => (in_order() || has(Class::Write)) && number("buffer.bytes") > 0,
        Told::Writes => has(Class::Write),
        Told::Scattered => {
            let at_random = |cell: &Cell| cell.get("pattern") == Some("randwrite");
            let mut logs = device.sections.device.clone();
            logs.map.log_bytes = 16;
            cells.iter().any(at_random) && Settings::new(logs).is_ok()
        }
        Told::Buffered => has(Class::Write) && number("buffer.bytes") > 0,
        Told::Paced => {
            let rates = ["rate_per_s", "writes_per_s_asked"];
            let is_at_rate = |cell: &Cell| rates.iter().any(|rate| cell.get(rate).is_some());
            has(Class::Write)
                && cells.iter().any(is_at_rate)
                && device.shown("gc.pacing").as_deref() != Some("none")
        }
        Told::Suspended => {
            let has_mean = |cell: &Cell, class| cell.value(class, What::Mean).is_some();
            let both = |cell: &Cell| has_mean(cell, Class::Read) && has_mean(cell, Class::Write);
            let family = device.shown("firmware.family");
            let suspends = number("nand.program_suspends") > 0
                || family.is_some_and(|family| family != "none");
            cells.iter().any(both) && suspends
        }
        Told::Amplification => {
            cells.iter().any(|cell| cell.value(Class::Write, What::Amplification).is_some())
        }
        Told::Units => sizes(cells, &[Class::Read, Class::Write])?.len() > 1,
        Told::Sizes => {
            let (page, unit) = (number("geometry.page_bytes"), number("ftl.mapping_unit_bytes"));
            unit > 0 && unit < page && sizes(cells, &[Class::Read])?.len() > 1
        }
    })
}

/// The sizes of requests of these classes, ascending.
fn sizes(cells: &[Cell], classes: &[Class]) -> Result<Vec<f64>> {
    let mut sizes = Vec::new();
    for cell in cells {
        let of = |what| classes.iter().any(|class| cell.value(*class, what).is_some());
        if of(What::Mean) || of(What::PerSecond) {
            sizes.extend(cell.number("block_bytes")?);
        }
    }
    sizes.sort_by(f64::total_cmp);
    sizes.dedup();
    Ok(sizes)
}

/// The stored value of a key of the device; of words the place in their list.
pub(super) fn stored(device: &Plan, path: &str) -> Option<u64> {
    if path == "channel.ps_per_byte" {
        return Some(device.sections.device.channel.resolved().ps_per_byte);
    }
    let (section, key) = path.rsplit_once('.')?;
    Some(match device.sections.get(section, key)? {
        Value::Number(value) => value,
        Value::Bool(is) => u64::from(is),
        Value::Choice(place) => place as u64,
        Value::List(_) => return None,
    })
}

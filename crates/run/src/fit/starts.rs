//! Where a search begins: closed forms of the measurements (Little's law, the utilisation law, the
//! latency of a request that is alone).

use super::cells::{Cell, Class, What};
use super::declared::stored;
use crate::plan::Plan;
use anyhow::Result;

/// What a start assumes, since no cell tells.
#[derive(Clone, Copy, Debug)]
pub(super) struct Assumed {
    /// The share of the latency of a lone read that is spent outside of the array and its channel.
    outside: f64,
    /// What moves no more bytes than the cells with the most bytes a second show.
    most_bytes: Bound,
}

/// What limits bytes a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bound {
    /// The array.
    Array,
    /// The channels.
    Channels,
    /// The link.
    Link,
}

/// The starts of a search.
pub(super) fn assumptions() -> impl Iterator<Item = Assumed> {
    let bounds = [Bound::Array, Bound::Channels, Bound::Link].into_iter();
    bounds.flat_map(|most_bytes| [0.04, 0.2, 0.4].map(|outside| Assumed { outside, most_bytes }))
}

/// Closed forms of measurements.
pub(super) struct Starts<'a> {
    pub(super) cells: &'a [Cell],
    pub(super) device: &'a Plan,
    pub(super) assumed: Assumed,
}

impl Starts<'_> {
    /// Where the search for a key begins, as a stored value; none where no closed form says it.
    pub(super) fn of(&self, key: &str) -> Result<Option<u64>> {
        let bound = self.assumed.most_bytes;
        let value = match key {
            "nand.read_us" | "nand.read_2_us" => self.array_ns(|a, b| a > b)?,
            "nand.read_part_us" => self.array_ns(|a, b| a < b)?,
            "firmware.read_ns" => self.most_per_second(Class::Read).map(|rate| 0.8e9 / rate),
            "firmware.write_ns" => self.most_per_second(Class::Write).map(|rate| 0.8e9 / rate),
            "firmware.unit_ns" => {
                let rates = [Class::Read, Class::Write].map(|class| self.most_per_second(class));
                rates.into_iter().flatten().max_by(f64::total_cmp).map(|rate| 0.02e9 / rate)
            }
            "interface.link_latency_ns" => self.latency_ns()?,
            "interface.link_ps_per_byte" => self.link_ps(bound == Bound::Link)?,
            "channel.ps_per_byte" if bound == Bound::Channels => {
                let channels = self.number("geometry.channels").max(1.0);
                self.most_bytes(Class::Read)?.map(|bytes| channels * 1e12 / bytes)
            }
            "buffer.read_ahead_kib" => self.ahead_kib()?,
            "nand.program_us" => self.program_ns(bound == Bound::Link)?,
            "geometry.ways" => self.ways()?,
            _ => None,
        };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "above 0")]
        let whole = |value: f64| value.max(1.0).round() as u64;
        Ok(value.map(whole))
    }

    /// A key of the device.
    fn number(&self, key: &str) -> f64 {
        stored(self.device, key).unwrap_or(0) as f64
    }

    /// Requests that are alone: bytes and latency in ns, of each size. Where no cell of a size has
    /// depth 1, its shortest queue stands for it. Reads in order are not among them.
    fn alone(&self, class: Class) -> Result<Vec<(f64, f64)>> {
        Self::shortest(self.cells.iter().filter(|cell| !cell.is_read_in_order()), class)
    }

    /// Reads in order that are alone, likewise.
    fn alone_in_order(&self) -> Result<Vec<(f64, f64)>> {
        Self::shortest(self.cells.iter().filter(|cell| cell.is_read_in_order()), Class::Read)
    }

    fn shortest<'c>(
        cells: impl Iterator<Item = &'c Cell>,
        class: Class,
    ) -> Result<Vec<(f64, f64)>> {
        let mut all: Vec<(f64, f64, f64)> = Vec::new();
        for cell in cells {
            let latency = cell.value(class, What::P50).or_else(|| cell.value(class, What::Mean));
            let Some((us, depth)) = latency.zip(cell.number("queue_depth")?) else { continue };
            let depth = depth * cell.zones()? as f64;
            let bytes = cell.number("block_bytes")?.unwrap_or(4_096.0);
            match all.iter_mut().find(|(known, ..)| known.total_cmp(&bytes).is_eq()) {
                Some(known) if depth < known.2 => *known = (bytes, us * 1e3, depth),
                Some(_) => {}
                None => all.push((bytes, us * 1e3, depth)),
            }
        }
        Ok(all.into_iter().map(|(bytes, ns, _)| (bytes, ns)).collect())
    }

    /// The latency of the fastest request that is alone, less its bytes on the link.
    fn fastest_ns(&self, class: Class) -> Result<Option<f64>> {
        let ps = self.number("interface.link_ps_per_byte");
        let all = self.alone(class)?.into_iter().map(|(bytes, ns)| ns - bytes * ps / 1e3);
        Ok(all.filter(|ns| *ns > 0.0).min_by(f64::total_cmp))
    }

    /// Time of the array of the device.
    fn own_array_ns(&self) -> f64 {
        self.number("nand.read_us")
    }

    /// Reads in order that are alone and take less than half of the time of the array: the device
    /// reads ahead. The fastest one, less its bytes on the link.
    fn read_ahead_ns(&self) -> Result<Option<f64>> {
        let ps = self.number("interface.link_ps_per_byte");
        let all = self.alone_in_order()?.into_iter().map(|(bytes, ns)| ns - bytes * ps / 1e3);
        let fastest = all.filter(|ns| *ns > 0.0).min_by(f64::total_cmp);
        Ok(fastest.filter(|ns| *ns < self.own_array_ns() / 2.0))
    }

    /// How far a device reads ahead that hides the time of the array at the most bytes a second:
    /// four times the bytes that come in this time, and a page of each plane at least twice.
    fn ahead_kib(&self) -> Result<Option<f64>> {
        if self.read_ahead_ns()?.is_none() {
            return Ok(None);
        }
        let parts = ["channels", "ways", "dies_per_way", "planes", "page_bytes"];
        let pages: f64 =
            parts.map(|part| self.number(&format!("geometry.{part}"))).iter().product();
        let most = self.most_bytes(Class::Read)?.unwrap_or(0.0);
        let come = most * self.own_array_ns() / 1e9;
        Ok(Some((4.0 * come).max(2.0 * pages) / 1024.0))
    }

    /// Half of what a lone request spends outside of array and firmware: its way there, or back. A
    /// lone write of a device with a buffer spends nothing in the array, nor does a lone read in
    /// order of one that reads ahead.
    fn latency_ns(&self) -> Result<Option<f64>> {
        if let Some(ns) = self.read_ahead_ns()? {
            let firmware = self.most_per_second(Class::Read).map_or(0.0, |rate| 0.8e9 / rate);
            return Ok(Some(((ns - firmware) / 2.0).max(ns / 8.0)));
        }
        if let Some(ns) = self.fastest_ns(Class::Read)? {
            return Ok(Some(ns * self.assumed.outside / 2.0));
        }
        let firmware = self.most_per_second(Class::Write).map_or(0.0, |rate| 0.8e9 / rate);
        let lone = self.fastest_ns(Class::Write)?;
        Ok(lone.map(|ns| ((ns - firmware) / 2.0).max(ns / 8.0)))
    }

    /// Time of the array: the latency of a read that is alone, less what is spent outside and on
    /// the wires. Of the sizes that fit into a page, the one that `before` prefers.
    fn array_ns(&self, before: impl Fn(f64, f64) -> bool) -> Result<Option<f64>> {
        let page = self.number("geometry.page_bytes");
        let mut best: Option<(f64, f64)> = None;
        let channel = self
            .of("channel.ps_per_byte")?
            .map_or_else(|| self.number("channel.ps_per_byte"), |ps| ps as f64);
        for (bytes, latency) in self.alone(Class::Read)? {
            let wires = self.number("interface.link_ps_per_byte") + channel;
            let outside = self.assumed.outside * self.fastest_ns(Class::Read)?.unwrap_or(0.0);
            let others = outside + bytes * wires / 1e3;
            if bytes <= page && best.is_none_or(|(known, _)| before(bytes, known)) {
                best = Some((bytes, (latency - others).max(latency / 4.0)));
            }
        }
        Ok(best.map(|(_, ns)| ns))
    }

    /// Most requests a second of any cell.
    fn most_per_second(&self, class: Class) -> Option<f64> {
        let rates = self.cells.iter().filter_map(|cell| cell.value(class, What::PerSecond));
        rates.max_by(f64::total_cmp)
    }

    /// Most bytes a second of any cell.
    fn most_bytes(&self, class: Class) -> Result<Option<f64>> {
        let mut most: Option<f64> = None;
        for cell in self.cells {
            let bytes = cell.number("block_bytes")?.unwrap_or(4_096.0);
            let rate = cell.value(class, What::PerSecond).map(|rate| rate * bytes);
            most = most.into_iter().chain(rate).max_by(f64::total_cmp);
        }
        Ok(most)
    }

    /// Time of a byte on the link: that of the device, unless cells show more bytes a second or
    /// the link is to be what limits them.
    fn link_ps(&self, is_bound: bool) -> Result<Option<f64>> {
        let rates = [self.most_bytes(Class::Read)?, self.most_bytes(Class::Write)?];
        let most = rates.into_iter().flatten().max_by(f64::total_cmp);
        let own = self.number("interface.link_ps_per_byte");
        Ok(most.map(|bytes| 1e12 / bytes).map(|ps| if is_bound { ps } else { ps.min(own) }))
    }

    /// Time of a program: what the dies take for the most bytes a second that were written, or less
    /// where the link is to be what limits them.
    fn program_ns(&self, is_link: bool) -> Result<Option<f64>> {
        let one_shot = self.number("nand.one_shot") > 0.0;
        let bits = if one_shot { self.number("nand.bits_per_cell") } else { 1.0 };
        let parts = ["channels", "ways", "dies_per_way", "planes", "page_bytes"];
        let bytes: f64 =
            parts.map(|part| self.number(&format!("geometry.{part}"))).iter().product();
        let most = self.most_bytes(Class::Write)?;
        let share = if is_link { 0.6 } else { 1.0 };
        Ok(most.map(|rate| share * bytes * bits / rate * 1e9))
    }

    /// Chips behind each channel: as many as the cells keep busy, by the utilisation law (dies =
    /// reads a second x time of the array).
    fn ways(&self) -> Result<Option<f64>> {
        let array = self.array_ns(|a, b| a < b)?;
        let channels = self.number("geometry.channels").max(1.0);
        let dies = self.most_per_second(Class::Read).zip(array).map(|(rate, ns)| rate * ns / 1e9);
        Ok(dies.map(|dies| (dies / channels).ceil()))
    }
}

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
    /// Whether writes that wait do so for lines that become usable together.
    in_bursts: bool,
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
    let bounds = [
        (Bound::Array, false),
        (Bound::Array, true),
        (Bound::Channels, false),
        (Bound::Link, false),
    ];
    bounds.into_iter().flat_map(|(most_bytes, in_bursts)| {
        [0.04, 0.2, 0.4].map(|outside| Assumed { outside, most_bytes, in_bursts })
    })
}

/// What writes that come in bursts tell.
struct Bursts {
    /// Time of a byte on the link.
    link_ps: f64,
    /// Bytes of the lines that become usable together.
    release_bytes: f64,
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
            "buffer.release_bytes" => self.bursts()?.map(|bursts| bursts.release_bytes),
            "map.log_bytes" => self.log_bytes()?,
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
            let Some(us) = cell.latency(class)? else { continue };
            let Some(depth) = cell.number("queue_depth")? else { continue };
            let depth = depth * cell.zones()? as f64;
            let bytes = cell.bytes()?;
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
            let bytes = cell.bytes()?;
            let rate = cell.value(class, What::PerSecond).map(|rate| rate * bytes);
            most = most.into_iter().chain(rate).max_by(f64::total_cmp);
        }
        Ok(most)
    }

    /// Time of a byte on the link: that of the device, unless cells show more bytes a second or
    /// the link is to be what limits them.
    fn link_ps(&self, is_bound: bool) -> Result<Option<f64>> {
        if let Some(bursts) = self.bursts()? {
            return Ok(Some(bursts.link_ps));
        }
        let rates = [self.most_bytes(Class::Read)?, self.most_bytes(Class::Write)?];
        let most = rates.into_iter().flatten().max_by(f64::total_cmp);
        let own = self.number("interface.link_ps_per_byte");
        Ok(most.map(|bytes| 1e12 / bytes).map(|ps| if is_bound { ps } else { ps.min(own) }))
    }

    /// What writes tell that come in bursts: those of the most bytes whose mean is well above their
    /// median, in the shortest queue of several. Most of them wait for the link alone. The dies
    /// write B bytes in the time that the link takes for them and the wait of those that wait.
    fn bursts(&self) -> Result<Option<Bursts>> {
        if !self.assumed.in_bursts {
            return Ok(None);
        }
        let mut best: Option<(f64, f64, f64, f64)> = None;
        for cell in self.cells {
            let [mean, p50, p99] = [What::Mean, What::P50, What::P99]
                .map(|what| cell.value(Class::Write, what).unwrap_or(f64::NAN));
            let depth = cell.number("queue_depth")?.unwrap_or(0.0) * cell.zones()? as f64;
            let bytes = cell.bytes()?;
            let is_first = best.is_none_or(|(other, of, ..)| (bytes, -depth) > (other, -of));
            if depth > 1.0 && mean > 1.2 * p50 && is_first {
                best = Some((bytes, depth, p50, p99 - p50));
            }
        }
        let Some(((bytes, depth, p50, wait), most)) = best.zip(self.most_bytes(Class::Write)?)
        else {
            return Ok(None);
        };
        let (link_ps, dies_ps) = (p50 * 1e6 / (depth * bytes), 1e12 / most);
        let release_bytes = wait * 1e6 / (dies_ps - link_ps);
        let is_slower = dies_ps > link_ps && release_bytes > 0.0;
        Ok(is_slower.then_some(Bursts { link_ps, release_bytes }))
    }

    /// Bytes that are written beside a random write: what makes those of the fewest bytes slower
    /// than writes in order of as many.
    fn log_bytes(&self) -> Result<Option<f64>> {
        let of =
            |pattern| self.cells.iter().filter(move |cell| cell.get("pattern") == Some(pattern));
        let mut least = f64::INFINITY;
        for cell in of("randwrite") {
            least = least.min(cell.bytes()?);
        }
        let most = |pattern| {
            let is_least =
                |cell: &&Cell| cell.bytes().is_ok_and(|bytes| bytes.total_cmp(&least).is_eq());
            let rates = of(pattern).filter(is_least);
            rates
                .filter_map(|cell| cell.value(Class::Write, What::PerSecond))
                .max_by(f64::total_cmp)
        };
        let rates = most("write").zip(most("randwrite"));
        let more = rates.map(|(in_order, random)| least * (in_order / random - 1.0));
        Ok(more.filter(|more| *more > 0.0))
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

#[cfg(test)]
mod tests {
    use super::super::cells::Figure;
    use super::*;
    use crate::plan::{Base, DeviceFrom, WorkloadFrom};
    use flashyard_sim::own::OwnParts;

    /// A cell of writes: pattern, bytes and depth, then rate, mean, median and p99 in us.
    fn cell(pattern: &str, [bytes, depth]: [u64; 2], [rate, mean, p50, p99]: [f64; 4]) -> Cell {
        let ran = [
            ("pattern", pattern.to_string()),
            ("block_bytes", bytes.to_string()),
            ("queue_depth", depth.to_string()),
        ];
        let figure = |what, value| (Figure { class: Class::Write, what }, value);
        Cell {
            place: "a cell".to_string(),
            drive: String::new(),
            ran: ran.map(|(column, entry)| (column.to_string(), entry)).to_vec(),
            measured: vec![
                figure(What::PerSecond, rate),
                figure(What::Mean, mean),
                figure(What::P50, p50),
                figure(What::P99, p99),
            ],
        }
    }

    fn of(cells: &[Cell], in_bursts: bool, key: &str) -> Option<u64> {
        let from = DeviceFrom::Named("nvme-tlc");
        let base = Base::of(OwnParts::default(), from, WorkloadFrom::Session).unwrap();
        let device = &base.with(&[]).unwrap();
        let assumed = Assumed { outside: 0.2, most_bytes: Bound::Array, in_bursts };
        Starts { cells, device, assumed }.of(key).unwrap()
    }

    /// At depth 4 a write of 100,000 bytes takes 200 us, 500 ps a byte, unless it waits for 900 us
    /// more. The dies take 800 ps a byte: for 3 MB they take 900 us longer than the link. A lone
    /// write and a deeper queue do not say so, nor do smaller writes.
    #[test]
    fn writes_in_bursts_tell_of_the_link_and_of_lines_that_become_usable_together() {
        let cells = [
            cell("write", [100_000, 32], [12_500.0, 2_560.0, 2_000.0, 5_000.0]),
            cell("write", [100_000, 4], [12_500.0, 320.0, 200.0, 1_100.0]),
            cell("write", [100_000, 1], [9_000.0, 110.0, 80.0, 900.0]),
            cell("write", [4_096, 4], [300_000.0, 13.0, 9.0, 60.0]),
        ];
        assert_eq!(of(&cells, true, "interface.link_ps_per_byte"), Some(500));
        assert_eq!(of(&cells, true, "buffer.release_bytes"), Some(3_000_000));
        assert_eq!(of(&cells, false, "buffer.release_bytes"), None);
        let even = [cell("write", [100_000, 4], [12_500.0, 320.0, 300.0, 400.0])];
        assert_eq!(of(&even, true, "buffer.release_bytes"), None);
    }

    /// Writes of 4 KiB in order are faster by an eighth than those at random places: 512 bytes.
    #[test]
    fn slow_random_writes_tell_of_a_log_of_the_map() {
        let cells = [
            cell("write", [4_096, 32], [300_000.0, 106.0, 106.0, 106.0]),
            cell("randwrite", [4_096, 4], [260_000.0, 15.0, 15.0, 15.0]),
            cell("randwrite", [4_096, 32], [300_000.0 / 1.125, 120.0, 120.0, 120.0]),
            cell("randwrite", [131_072, 32], [9_000.0, 3_555.0, 3_555.0, 3_555.0]),
        ];
        assert_eq!(of(&cells, false, "map.log_bytes"), Some(512));
        assert_eq!(of(&cells[1..], false, "map.log_bytes"), None, "no writes in order");
    }
}

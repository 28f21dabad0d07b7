//! The statistics as one list of figures, from which every table is made.

use super::Info;
use crate::error::readable_ns;

/// One figure of a workload: a number that can be set beside that of another workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// What it is; no two figures of a workload have the same name and unit.
    pub name: String,
    /// Its unit; empty for counts and ratios.
    pub unit: &'static str,
    /// Its value; `None` where it is not defined.
    pub value: Option<f64>,
    /// Digits behind the point that a table shows.
    pub digits: usize,
}

impl Figure {
    /// The value as a table shows it; `-` where it is not defined.
    pub fn text(&self) -> String {
        let digits = self.digits;
        self.value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
    }

    /// The name with its unit, as a table shows it.
    pub fn label(&self) -> String {
        let comma = if self.unit.is_empty() { "" } else { ", " };
        format!("{}{comma}{}", self.name, self.unit)
    }
}

/// Collects figures.
#[derive(Debug, Default)]
struct List(Vec<Figure>);

impl List {
    fn push(
        &mut self,
        name: impl Into<String>,
        unit: &'static str,
        value: Option<f64>,
        digits: usize,
    ) {
        self.0.push(Figure { name: name.into(), unit, value, digits });
    }

    fn count(&mut self, name: &str, value: u64) {
        self.push(name, "", Some(value as f64), 0);
    }
}

impl Info {
    /// Every figure, always the same ones in the same order.
    pub fn figures(&self) -> Vec<Figure> {
        let mut list = List::default();
        self.mix(&mut list);
        self.times(&mut list);
        self.places(&mut list);
        self.origin(&mut list);
        list.0
    }

    fn mix(&self, list: &mut List) {
        list.count("requests", self.requests);
        list.count("reads", self.reads);
        list.count("writes", self.writes);
        list.count("trims", self.trims);
        list.count("flushes", self.flushes);
        list.push("writes", "%", self.write_percent, 3);
        list.push("mean read", "KiB", self.read_kib_mean, 2);
        list.push("mean write", "KiB", self.write_kib_mean, 2);
        list.push("data read", "MiB", Some(mib(self.read_bytes as f64)), 3);
        list.push("data written", "MiB", Some(mib(self.write_bytes as f64)), 3);
    }

    fn times(&self, list: &mut List) {
        list.push("first arrival", "s", Some(self.first_ns as f64 / 1e9), 6);
        list.push("last arrival", "s", Some(self.last_ns as f64 / 1e9), 6);
        list.push("duration", "s", Some(self.duration_ns as f64 / 1e9), 6);
        list.push("rate", "requests/s", self.requests_per_s, 3);
        let mean = self.interarrival_ns_mean.map(|ns| ns / 1e3);
        list.push("mean time between arrivals", "us", mean, 1);
        list.push("its coefficient of variation", "", self.interarrival_cv, 2);
        for dispersion in self.dispersion {
            let name = format!("dispersion in {}", readable_ns(dispersion.window_ns));
            list.push(name, "", dispersion.index, 2);
        }
    }

    fn places(&self, list: &mut List) {
        list.push("sequential", "%", self.sequential_percent, 1);
        list.count("footprint, 4 KiB pages", self.footprint_pages);
        list.push("footprint", "MiB", Some(self.footprint_mib), 1);
        list.push("highest sector", "", self.highest_sector.map(|sector| sector as f64), 0);
    }

    fn origin(&self, list: &mut List) {
        list.count("streams", self.streams);
        list.count("folded", self.folded);
        list.count("steps back in time", self.steps_back);
        list.push("longest step back", "s", Some(self.max_back_ns as f64 / 1e9), 6);
        list.count("runs of the clock", self.clock_epochs);
    }
}

fn mib(bytes: f64) -> f64 {
    bytes / f64::from(1 << 20)
}

//! The statistics as one list of figures, from which every table is made.

use super::{Info, Percentiles, Sizes};
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

    /// Whether two values are compared by their difference, not by their ratio: shares, and figures
    /// that may be negative.
    pub fn is_difference(&self) -> bool {
        self.unit == "%" || self.name.starts_with("autocorrelation")
    }

    /// The name with its unit, as a table shows it.
    pub fn label(&self) -> String {
        let comma = if self.unit.is_empty() { "" } else { ", " };
        format!("{}{comma}{}", self.name, self.unit)
    }
}

/// The points of a distribution that percentiles show, in order, and what ends their names.
const SHARES: [&str; 6] = ["min", "p10", "p50", "p90", "p99", "max"];

/// Figures in the order of tables: those that stand alone, and the percentiles of distributions, a
/// row each with its name and unit.
#[derive(Debug, Default)]
pub(super) struct Parted<'a> {
    pub(super) alone: Vec<&'a Figure>,
    pub(super) percentiles: Vec<(String, [&'a Figure; SHARES.len()])>,
}

impl<'a> Parted<'a> {
    /// The figures that are defined.
    pub(super) fn new(figures: &'a [Figure]) -> Self {
        let mut parted = Self::default();
        let mut left = figures;
        while let Some((first, rest)) = left.split_first() {
            let name = first.name.strip_suffix(SHARES[0]).map(str::trim_end);
            if let (Some(name), Some((row, behind))) = (name, left.split_first_chunk()) {
                if first.value.is_some() {
                    let comma = if first.unit.is_empty() { "" } else { ", " };
                    let row: &[Figure; SHARES.len()] = row;
                    parted
                        .percentiles
                        .push((format!("{name}{comma}{}", first.unit), row.each_ref()));
                }
                left = behind;
            } else {
                parted.alone.extend(first.value.is_some().then_some(first));
                left = rest;
            }
        }
        parted
    }

    /// The heads of the columns of percentiles.
    pub(super) fn heads() -> Vec<String> {
        [""].into_iter().chain(SHARES).map(str::to_owned).collect()
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

    fn percentiles(
        &mut self,
        name: &str,
        unit: &'static str,
        of: &Percentiles<f64>,
        digits: usize,
    ) {
        let values = [of.min, of.p10, of.p50, of.p90, of.p99, of.max];
        for (share, value) in SHARES.into_iter().zip(values) {
            self.push(format!("{name} {share}"), unit, value, digits);
        }
    }

    fn sizes(&mut self, op: &str, sizes: &Sizes) {
        self.percentiles(&format!("{op} size"), "KiB", &sizes.kib, 1);
        self.push(format!("{op}s aligned to 4 KiB"), "%", sizes.aligned_percent, 1);
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
        list.sizes("read", &self.sizes.read);
        list.sizes("write", &self.sizes.write);
        list.sizes("trim", &self.sizes.trim);
        self.times(&mut list);
        self.bursts(&mut list);
        self.places(&mut list);
        self.uses(&mut list);
        self.hazards(&mut list);
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
        list.push("peak rate", "requests/s", self.rate.peak_per_s, 3);
        list.push("bins without requests", "%", self.rate.quiet_percent, 1);
        let mean = self.interarrival_ns_mean.map(|ns| ns / 1e3);
        list.push("mean time between arrivals", "us", mean, 1);
        let us = self.interarrival_ns.map(|ns| ns as f64 / 1e3);
        list.percentiles("time between arrivals", "us", &us, 1);
    }

    fn bursts(&self, list: &mut List) {
        let name = "variation of times between arrivals";
        list.push(name, "", self.interarrival_cv, 2);
        let name = "autocorrelation of times between arrivals";
        list.push(name, "", self.interarrival_autocorrelation, 3);
        for dispersion in self.dispersion {
            let name = format!("dispersion in {}", readable_ns(dispersion.window_ns));
            list.push(name, "", dispersion.index, 2);
        }
    }

    fn places(&self, list: &mut List) {
        list.push("sequential", "%", self.sequential_percent, 1);
        for (op, runs) in
            [("reads", &self.sequentiality.read), ("writes", &self.sequentiality.write)]
        {
            list.push(format!("sequential {op}"), "%", runs.sequential_percent, 1);
            let of_8 = runs.sequential_of_8_percent;
            list.push(format!("sequential {op} to one of 8"), "%", of_8, 1);
            list.push(format!("run of {op}, requests"), "", runs.run_requests_mean, 2);
            list.push(format!("run of {op}"), "KiB", runs.run_kib_mean, 2);
        }
        list.count("footprint, 4 KiB pages", self.footprint_pages);
        list.push("footprint", "MiB", Some(self.footprint_mib), 1);
        list.push("highest sector", "", self.highest_sector.map(|sector| sector as f64), 0);
    }

    fn uses(&self, list: &mut List) {
        let reuse = &self.reuse;
        list.count("page accesses", reuse.page_accesses);
        list.push("pages looked at", "%", Some(reuse.sampled_percent), 3);
        list.push("first accesses of a page", "%", reuse.cold_percent, 2);
        list.percentiles("re-use distance", "MiB", &reuse.distance_mib, 3);
        for cache in &reuse.lru {
            list.push(format!("hits of {} MiB LRU", cache.cache_mib), "%", cache.hit_percent, 2);
        }
        for set in &self.working_set {
            let window = readable_ns(set.window_ns);
            list.push(format!("mean working set of {window}"), "MiB", set.mean_mib, 3);
            list.push(format!("greatest working set of {window}"), "MiB", set.max_mib, 3);
        }
    }

    fn hazards(&self, list: &mut List) {
        let overlap = &self.overlap;
        list.push("overlap with the last 32", "%", overlap.any_percent, 2);
        for (kind, share) in [
            ("read after write", overlap.raw_percent),
            ("write after read", overlap.war_percent),
            ("write after write", overlap.waw_percent),
            ("read after read", overlap.rar_percent),
        ] {
            list.push(format!("{kind} in the last 32"), "%", share, 2);
        }
        let after = [
            ("reads", "read after write", &self.read_after_write),
            ("writes", "write after write", &self.write_after_write),
        ];
        for (op, kind, after) in after {
            list.push(format!("page {op} after a write"), "%", after.percent, 2);
            let requests = after.distance_requests.map(|requests| requests as f64);
            list.percentiles(&format!("{kind}, requests"), "", &requests, 0);
            let ms = after.distance_ns.map(|ns| ns as f64 / 1e6);
            list.percentiles(kind, "ms", &ms, 3);
        }
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

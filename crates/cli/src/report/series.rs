//! The time series of a report. The number of points is bounded, however long the run is.

use super::plot::{Axis, Kind, Line, Plot, Values};
use flashyard_sim::metrics::series::{BinReport, SeriesReport};
use flashyard_sim::report::Report;

/// The width of bins to start from where the run has no time series of its own, in nanoseconds. It
/// doubles until the run fits.
pub(crate) const START_NS: u64 = 1_000;

/// Requests that move data.
const CLASSES: [&str; 2] = ["read", "write"];

/// The most points of a line.
const POINTS: usize = 512;

/// A time series for plots.
#[derive(Debug)]
pub(crate) struct Series {
    /// How many bins of the run are joined.
    joined: usize,
    groups: Vec<Group>,
    /// Bytes of each of several streams, by bin of the run.
    streams: Vec<(String, Vec<u64>)>,
}

/// A figure of joined bins, and its name.
type Figure<'a> = (&'a str, &'a dyn Fn(&Group) -> Option<f64>);

/// Bins that are joined.
#[derive(Clone, Debug, Default)]
struct Group {
    end_ns: u64,
    span_ns: u64,
    /// Of reads and of writes.
    requests: [u64; 2],
    bytes: [u64; 2],
    latency_ns: [f64; 2],
    latency_max: [Option<u64>; 2],
    outstanding_ns: f64,
    programs: [u64; 3],
    erases: u64,
    free_blocks: u64,
    energy_pj: u64,
}

impl Group {
    fn add(&mut self, bin: &BinReport, span_ns: u64) {
        self.span_ns += span_ns;
        self.bytes[0] += bin.read_bytes;
        self.bytes[1] += bin.write_bytes;
        let reads = (bin.reads, bin.read_latency_mean_ns, bin.read_latency_max_ns);
        let writes = (bin.writes, bin.write_latency_mean_ns, bin.write_latency_max_ns);
        for (place, (requests, mean, most)) in [reads, writes].into_iter().enumerate() {
            self.requests[place] += requests;
            self.latency_ns[place] += mean.unwrap_or(0.0) * requests as f64;
            self.latency_max[place] = self.latency_max[place].max(most);
        }
        self.outstanding_ns += bin.outstanding_ns as f64;
        self.programs[0] += bin.host_programs;
        self.programs[1] += bin.gc_programs;
        self.programs[2] += bin.fold_programs.unwrap_or(0);
        self.erases += bin.erases;
        self.free_blocks = bin.free_blocks;
        self.energy_pj += bin.energy_pj;
    }

    fn a_second(&self, amount: u64) -> f64 {
        amount as f64 * 1e9 / self.span_ns as f64
    }
}

impl Series {
    /// Returns the series of a run. A run without bins, or in which no time passed, has none.
    pub(crate) fn of(report: &Report) -> Option<Self> {
        let series: &SeriesReport = report.series.as_ref()?;
        let bins = series.bins.len();
        let last = report.power.span_ns.saturating_sub((bins as u64 - 1) * series.bin_ns);
        let last = last.min(series.bin_ns);
        let joined = bins.div_ceil(POINTS);
        let mut groups: Vec<Group> = Vec::with_capacity(POINTS);
        let mut end_ns = 0;
        for (place, bin) in series.bins.iter().enumerate() {
            let span = if place + 1 == bins { last } else { series.bin_ns };
            // A rate over the little time of a last bin says nothing: it goes with the one before.
            let rest_ns = (bins - place - 1) as u64 * series.bin_ns + last;
            let is_cut = 2 * rest_ns < joined as u64 * series.bin_ns;
            if place.is_multiple_of(joined) && !(is_cut && place > 0) {
                groups.push(Group::default());
            }
            end_ns += span;
            let group = groups.last_mut()?;
            group.end_ns = end_ns;
            group.add(bin, span);
        }
        let of = |(name, stream): (&String, &flashyard_sim::report::StreamReport)| {
            Some((name.clone(), stream.bin_bytes.clone()?))
        };
        let streams = report.streams.iter().filter_map(of).collect();
        let timed = groups.iter().all(|group| group.span_ns > 0);
        timed.then_some(Self { joined, groups, streams })
    }

    fn lines(&self, y: Axis, all: &[Figure<'_>]) -> Kind {
        let line = |(name, of): &Figure<'_>| {
            let starts = [0].into_iter().chain(self.groups.iter().map(|group| group.end_ns));
            let mut points: Vec<_> =
                starts.zip(&self.groups).map(|(start, group)| (start, of(group))).collect();
            points.extend(self.groups.last().map(|group| (group.end_ns, of(group))));
            Line { name: (*name).to_string(), points }
        };
        let x = Axis::new("time", "ns");
        Kind::Lines { x, y, step: true, series: all.iter().map(line).collect() }
    }

    fn area(&self, y: Axis, all: &[Figure<'_>]) -> Kind {
        let values = |(name, of): &Figure<'_>| Values {
            name: (*name).to_string(),
            values: self.groups.iter().map(of).collect(),
        };
        Kind::Area {
            x: Axis::new("time", "ns"),
            y,
            ends: self.groups.iter().map(|group| group.end_ns).collect(),
            series: all.iter().map(values).collect(),
        }
    }

    /// Bytes a second that were answered: of reads and of writes, each on its own axis, since the
    /// fewer of the two would be a line at the bottom.
    pub(crate) fn throughput(&self) -> Vec<Plot> {
        let of = |(place, class): (usize, &str)| {
            if self.groups.iter().all(|group| group.bytes[place] == 0) {
                return None;
            }
            let rate = |group: &Group| Some(group.a_second(group.bytes[place]));
            let name = format!("{class}s");
            let kind = self.area(Axis::new("throughput", "B/s"), &[(&name, &rate)]);
            let title = format!("Throughput of {name} over time");
            let note = format!("Bytes of the {name} that were answered.");
            Some(Plot::new(&format!("throughput-{class}"), &title, &note, kind))
        };
        CLASSES.into_iter().enumerate().filter_map(of).collect()
    }

    /// The same by stream.
    pub(crate) fn streams(&self) -> Option<Plot> {
        if self.streams.is_empty() {
            return None;
        }
        let line = |(name, bytes): &(String, Vec<u64>)| {
            let sums = bytes.chunks(self.joined).map(|bins| bins.iter().sum::<u64>());
            let mut sums: Vec<u64> = sums.collect();
            // What is left of the last bins is with those before, as in the groups.
            while sums.len() > self.groups.len() {
                let rest = sums.pop().unwrap_or(0);
                *sums.last_mut()? += rest;
            }
            let rates =
                sums.iter().zip(&self.groups).map(|(sum, group)| Some(group.a_second(*sum)));
            let starts = [0].into_iter().chain(self.groups.iter().map(|group| group.end_ns));
            Some(Line { name: name.clone(), points: starts.zip(rates).collect() })
        };
        let series = self.streams.iter().filter_map(line).collect();
        let (x, y) = (Axis::new("time", "ns"), Axis::new("throughput", "B/s"));
        let kind = Kind::Lines { x, y, step: true, series };
        let note = "Bytes of the reads and writes of each stream.";
        Some(Plot::new("streams", "Throughput of streams over time", note, kind))
    }

    /// Latencies of the reads and of the writes that were answered, each on its own axis: behind a
    /// buffer a write takes a hundredth of the time of a read, or a hundred times as long.
    pub(crate) fn latency(&self) -> Vec<Plot> {
        let of = |(place, class): (usize, &str)| {
            if self.groups.iter().all(|group| group.requests[place] == 0) {
                return None;
            }
            let mean = |group: &Group| {
                let requests = Some(group.requests[place]).filter(|requests| *requests > 0)?;
                Some(group.latency_ns[place] / requests as f64)
            };
            let most = |group: &Group| group.latency_max[place].map(|ns| ns as f64);
            let y = Axis::new("latency", "ns");
            let kind = self.lines(y, &[("mean", &mean), ("greatest", &most)]);
            let title = format!("Latency of {class}s over time");
            let note = format!("Of the {class}s that were answered in each interval.");
            Some(Plot::new(&format!("latency-time-{class}"), &title, &note, kind))
        };
        CLASSES.into_iter().enumerate().filter_map(of).collect()
    }

    /// Outstanding requests.
    pub(crate) fn outstanding(&self) -> Plot {
        let mean = |group: &Group| Some(group.outstanding_ns / group.span_ns as f64);
        let y = Axis::new("outstanding requests", "");
        let kind = self.lines(y, &[("outstanding", &mean)]);
        let note = "Requests that had arrived and were not answered: the mean over time.";
        Plot::new("queue", "Queue depth over time", note, kind)
    }

    /// Pages programmed a second: for the host, by garbage collection, by folding.
    pub(crate) fn programs(&self) -> Result<Plot, String> {
        let is_idle = |place: usize| self.groups.iter().all(|group| group.programs[place] == 0);
        let folds = !is_idle(2);
        if is_idle(1) && !folds {
            return Err("garbage collection programmed no page".to_string());
        }
        let all: [Figure<'_>; 3] = [
            ("for the host", &|group| Some(group.a_second(group.programs[0]))),
            ("by garbage collection", &|group| Some(group.a_second(group.programs[1]))),
            ("by folding", &|group| Some(group.a_second(group.programs[2]))),
        ];
        let shown = if folds { &all[..] } else { &all[..2] };
        let kind = self.area(Axis::new("programs", "pages/s"), shown);
        let note = "Pages programmed; those of garbage collection, map pages included, on top.";
        Ok(Plot::new("gc", "Garbage collection over time", note, kind))
    }

    /// Blocks erased a second.
    pub(crate) fn erases(&self) -> Result<Plot, String> {
        if self.groups.iter().all(|group| group.erases == 0) {
            return Err("no block was erased".to_string());
        }
        let erases = |group: &Group| Some(group.a_second(group.erases));
        let kind = self.lines(Axis::new("erases", "blocks/s"), &[("erases", &erases)]);
        Ok(Plot::new("erases", "Erases over time", "Blocks erased for any purpose.", kind))
    }

    /// Free blocks at the end of each bin.
    pub(crate) fn free_blocks(&self) -> Result<Plot, String> {
        let first = self.groups[0].free_blocks;
        if self.groups.iter().all(|group| group.free_blocks == first) {
            return Err(format!("it was {first} all the time"));
        }
        let free = |group: &Group| Some(group.free_blocks as f64);
        let kind = self.lines(Axis::new("free blocks", "blocks"), &[("free blocks", &free)]);
        let note = "Erased blocks of all dies at the end of each interval.";
        Ok(Plot::new("free-blocks", "Free blocks over time", note, kind))
    }

    /// Mean power.
    pub(crate) fn power(&self) -> Result<Plot, String> {
        if self.groups.iter().all(|group| group.energy_pj == 0) {
            return Err("the device file says of no part how much energy it takes".to_string());
        }
        let power = |group: &Group| Some(group.energy_pj as f64 / group.span_ns as f64);
        let kind = self.lines(Axis::new("mean power", "mW"), &[("power", &power)]);
        let note = "Mean of each interval; an operation that spans several is split by time.";
        Ok(Plot::new("power", "Power over time", note, kind))
    }
}

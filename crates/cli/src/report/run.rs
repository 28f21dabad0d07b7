//! The report of a run.

use super::block_map::BlockMap;
use super::plot::{Axis, Bar, Kind, Line, Plot, Row};
use super::series::Series;
use super::words::{self, spaced};
use super::{Absent, Page, Section, Table};
use crate::output::summary::latency::{FEW, percentile};
use flashyard_core::request::RequestOp;
use flashyard_run::cuts::{Cut, Cuts};
use flashyard_run::plan::Plan;
use flashyard_run::{units, verdict};
use flashyard_sim::metrics::parts::{Part, Parts};
use flashyard_sim::report::Report;
use serde_json::Value;
use std::collections::BTreeMap;

/// What a plot is made of, or why there is none.
type Drawn = Result<Plot, String>;

/// The most points of the distribution of a class.
const STEPS: usize = 600;

/// What a run found, for its page.
pub(crate) struct Run<'a> {
    pub(crate) inputs: &'a Plan,
    pub(crate) report: &'a Report,
    /// What power cuts would lose, if that was asked.
    pub(crate) cuts: Option<&'a Cuts>,
    /// The JSON object of the run.
    pub(crate) object: &'a Value,
    /// The time series, or why there is none.
    pub(crate) series: Result<Series, String>,
    /// The block map, or why there is none.
    pub(crate) map: Result<BlockMap, String>,
    /// What was left out of or changed in the requests.
    pub(crate) changes: &'a [String],
}

impl Run<'_> {
    /// The page.
    pub(crate) fn page(mut self) -> Page {
        let map = std::mem::replace(&mut self.map, Err(String::new()));
        let mut page = self.page_without_map();
        match map {
            Ok(map) => page.map = Some(map),
            Err(why) => page.absent.push(Absent { title: "Block map", why }),
        }
        page
    }

    fn page_without_map(&self) -> Page {
        let (inputs, report) = (self.inputs, self.report);
        let (device, workload) = (&inputs.device_name, inputs.workload_name());
        let mut page = Page::new(format!("{device}, {workload}"));
        page.lead =
            vec![words::device(device, self.object, self.is_disk()), words::workload(self.object)];
        page.lead.extend(self.changes.iter().map(|what| format!("Of the workload: {what}.")));
        page.command = command(self.object);
        if !report.phases.iter().any(|phase| phase.measured) {
            let what = "Nothing was measured: set measure = true in a phase.";
            page.verdict.push(what.to_string());
            return page;
        }
        page.verdict = vec![verdict_of(inputs, report), figures(report)];
        page.warnings = verdict::warnings(inputs, report);
        self.latency(&mut page);
        self.over_time(&mut page);
        self.resources(&mut page);
        self.writes(&mut page);
        self.energy(&mut page);
        self.power_cuts(&mut page);
        page
    }

    fn is_disk(&self) -> bool {
        self.inputs.sections.device.is_disk()
    }

    fn latency(&self, page: &mut Page) {
        let report = self.report;
        let mut section = Section { title: "Latency".to_string(), ..Section::default() };
        if report.latency_ns["all"].count == 0 {
            let why = "no request counts in latencies".to_string();
            page.add(&mut section, "Latency", Err(why));
            return;
        }
        section.tables.push(percentiles(report));
        let classes: Vec<(String, &Buckets)> = RequestOp::ALL
            .iter()
            .map(|op| (op.name().to_string(), &report.latency_buckets[op.name()]))
            .filter(|(_, buckets)| !buckets.is_empty())
            .collect();
        section.plots.push(cumulative(&classes));
        section.plots.push(tail(&classes));
        page.add(&mut section, "Latency parts", parts(report));
        page.push(section);
    }

    fn over_time(&self, page: &mut Page) {
        let mut section = Section { title: "Over time".to_string(), ..Section::default() };
        let series = match &self.series {
            Ok(series) => series,
            Err(why) => {
                return page.add(&mut section, "Plots over time", Err(why.clone()));
            }
        };
        section.plots.extend(series.throughput());
        section.plots.extend(series.streams());
        section.plots.extend(series.latency());
        section.plots.push(series.outstanding());
        if self.is_disk() {
            let why = "a disk collects no garbage and erases no blocks".to_string();
            page.add(&mut section, "Garbage collection over time", Err(why));
        } else {
            page.add(&mut section, "Garbage collection over time", series.programs());
            page.add(&mut section, "Erases over time", series.erases());
            page.add(&mut section, "Free blocks over time", series.free_blocks());
        }
        page.add(&mut section, "Power over time", series.power());
        page.push(section);
    }

    fn resources(&self, page: &mut Page) {
        let mut section = Section { title: "Dies and channels".to_string(), ..Section::default() };
        if self.is_disk() {
            let why = "a disk has neither dies nor channels".to_string();
            page.add(&mut section, "Utilisation of dies and channels", Err(why));
            return;
        }
        let makespan = self.report.throughput.makespan_ns;
        let used = &self.report.utilisation;
        let dies = busy("dies", "die", &used.dies.busy_ns, makespan);
        page.add(&mut section, "Utilisation of dies", dies);
        let channels = busy("channels", "channel", &used.channels.busy_ns, makespan);
        page.add(&mut section, "Utilisation of channels", channels);
        page.push(section);
    }

    fn writes(&self, page: &mut Page) {
        let mut section = Section { title: "Writes and wear".to_string(), ..Section::default() };
        if self.is_disk() {
            let why = "a disk writes in place and does not wear".to_string();
            page.add(&mut section, "Write amplification and wear", Err(why));
            return;
        }
        page.add(&mut section, "Write amplification by cause", amplification(self.report));
        page.add(&mut section, "Wear", wear(self.report));
        page.push(section);
    }

    fn power_cuts(&self, page: &mut Page) {
        let Some(cuts) = self.cuts.filter(|cuts| !cuts.cuts.is_empty()) else { return };
        let joined = cuts.cuts.chunks(cuts.cuts.len().div_ceil(STEPS));
        let line = |name: &str, of: fn(&[Cut]) -> f64| Line {
            name: name.to_string(),
            points: joined.clone().map(|some| (some[0].at.as_ns(), Some(of(some)))).collect(),
        };
        let mean = |some: &[Cut]| {
            some.iter().map(|cut| f64::from(cut.units)).sum::<f64>() / some.len() as f64
        };
        let most =
            |some: &[Cut]| f64::from(some.iter().map(|cut| cut.units).max().unwrap_or_default());
        let kind = Kind::Lines {
            x: Axis::new("time", "ns"),
            y: Axis::new("units lost", ""),
            step: true,
            series: vec![line("mean", mean), line("greatest", most)],
        };
        let note = "Units of answered writes that a power cut at that time would lose.";
        let plot = Plot::new("power-cuts", "Units lost by a power cut over time", note, kind);
        let title = "Power cuts".to_string();
        page.push(Section { title, plots: vec![plot], ..Section::default() });
    }

    fn energy(&self, page: &mut Page) {
        let mut section = Section { title: "Energy".to_string(), ..Section::default() };
        let energy = &self.report.energy_pj;
        if energy.total == 0 {
            let why = "the device file says of no part how much energy it takes".to_string();
            page.add(&mut section, "Energy", Err(why));
            return;
        }
        for (id, title, of) in [
            ("energy-resource", "Energy by resource", &energy.by_resource),
            ("energy-purpose", "Energy by purpose", &energy.by_purpose),
        ] {
            let rows = of.iter().filter(|(_, pj)| **pj > 0);
            let mut rows: Vec<Bar> =
                rows.map(|(name, pj)| Bar { name: spaced(name), value: *pj as f64 }).collect();
            rows.sort_by(|a, b| b.value.total_cmp(&a.value));
            let note = match id {
                "energy-resource" => "What took the energy.",
                _ => "What the energy was taken for.",
            };
            let kind = Kind::Bars { x: Axis::new("energy", "pJ"), rows };
            section.plots.push(Plot::new(id, title, note, kind));
        }
        page.push(section);
    }
}

/// The arguments of the command.
pub(crate) fn command(object: &Value) -> String {
    let words = object["provenance"]["command"].as_array();
    let words = words.into_iter().flatten().map(words::text);
    ["flashyard".to_string()].into_iter().chain(words).collect::<Vec<_>>().join(" ")
}

/// What stands in the page beside the plots: the JSON object without the bins, which are plots.
pub(crate) fn results(object: &Value) -> Value {
    let mut results = object.clone();
    if let Some(fields) = results.as_object_mut() {
        fields.remove("series");
    }
    results
}

/// The verdict as a sentence with a capital.
fn verdict_of(inputs: &Plan, report: &Report) -> String {
    sentence(&verdict::unmarked(inputs, report))
}

/// A text that begins with a capital and ends with a full stop.
pub(crate) fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(char::to_uppercase);
    let text: String = first.into_iter().flatten().chain(letters).collect();
    if text.ends_with('.') { text } else { text + "." }
}

/// The figures that are asked for first.
fn figures(report: &Report) -> String {
    let mut parts = Vec::new();
    for class in ["read", "write"] {
        let latency = &report.latency_ns[class];
        if let (Some(mean), Some(p99)) = (latency.mean, latency.p99) {
            let (mean, p99) = (units::time(mean), units::time(p99 as f64));
            parts.push(format!("{class} latency {mean} on average and {p99} at 99 %"));
        }
    }
    if let Some(iops) = report.throughput.iops {
        parts.push(format!("{iops:.0} requests/s"));
    }
    if let Some(rate) = report.throughput.bytes_per_s {
        parts.push(format!("{:.2} MB/s", rate / 1e6));
    }
    if let Some(factor) = report.flash.write_amplification {
        parts.push(format!("write amplification {factor:.2}"));
    }
    if let Some(mw) = report.power.mean_mw.filter(|mw| *mw > 0.0) {
        parts.push(format!("{mw:.0} mW"));
    }
    if parts.is_empty() { "No latency counts.".to_string() } else { sentence(&parts.join("; ")) }
}

/// The percentiles by class.
fn percentiles(report: &Report) -> Table {
    let mut rows = Vec::new();
    for class in RequestOp::ALL.map(RequestOp::name).into_iter().chain(["all"]) {
        let latency = &report.latency_ns[class];
        if latency.count == 0 {
            continue;
        }
        let of = |ns: Option<u64>| ns.map_or("-".to_string(), |ns| units::time(ns as f64));
        let percentiles = [5_000, 9_000, 9_500, 9_900, 9_990, 9_999];
        let mut row = vec![class.to_string(), latency.count.to_string()];
        row.push(latency.mean.map_or("-".to_string(), units::time));
        row.push(of(latency.min));
        row.extend(percentiles.map(|share| percentile(latency, share)));
        row.push(of(latency.max));
        rows.push(row);
    }
    let columns = ["", "requests", "mean", "least", "50 %", "90 %", "95 %", "99 %", "99.9 %"];
    let columns = columns.into_iter().chain(["99.99 %", "greatest"]);
    Table {
        title: "Latency percentiles by class".to_string(),
        columns: columns.map(str::to_string).collect(),
        rows,
        note: format!(
            "Mean, least and greatest are exact; percentiles are too high by less than 1 %. {FEW}."
        ),
    }
}

/// Upper bounds of buckets with numbers of requests.
type Buckets = Vec<(u64, u64)>;

/// The share of requests that took at most so long, for each of several.
pub(crate) fn cumulative(all: &[(String, &Buckets)]) -> Plot {
    let share = |seen: u64, count: u64| Some(100.0 * seen as f64 / count as f64);
    let series = all.iter().map(|(name, buckets)| line(name, buckets, &share)).collect();
    let kind = Kind::Lines {
        x: Axis::log("latency", "ns"),
        y: Axis::new("requests", "%").up_to(100.0),
        step: true,
        series,
    };
    let note = "Share of the requests that took at most so long.";
    Plot::new("latency-cdf", "Latency: distribution", note, kind)
}

/// The share of requests that took longer.
pub(crate) fn tail(all: &[(String, &Buckets)]) -> Plot {
    let share = |seen: u64, count: u64| {
        (seen < count).then(|| 100.0 * (count - seen) as f64 / count as f64)
    };
    let series = all.iter().map(|(name, buckets)| line(name, buckets, &share)).collect();
    let kind = Kind::Lines {
        x: Axis::log("latency", "ns"),
        y: Axis::log("requests that took longer", "%"),
        step: true,
        series,
    };
    let note = "Share of the requests that took longer; both axes are logarithmic.";
    Plot::new("latency-tail", "Latency: tail", note, kind)
}

/// The line of a distribution: where it begins, a point for the first bucket, and then one for each
/// bucket or for several.
fn line(name: &str, buckets: &Buckets, share: &dyn Fn(u64, u64) -> Option<f64>) -> Line {
    let count: u64 = buckets.iter().map(|(_, count)| count).sum();
    // The slowest hundredth of the requests is where percentiles are read off: it keeps all points.
    let (mut seen, mut points) = (0, Vec::new());
    let joined = buckets.len().div_ceil(STEPS);
    let first = buckets.first().map_or(1, |(ns, _)| *ns).max(1);
    points.push((first, share(0, count)));
    for (place, (ns, of_bucket)) in buckets.iter().enumerate() {
        seen += of_bucket;
        let is_tail = 100 * (count - seen) <= count;
        if is_tail || place == 0 || (place + 1).is_multiple_of(joined) {
            points.push(((*ns).max(1), share(seen, count)));
        }
    }
    Line { name: name.to_string(), points }
}

/// What latencies are made of.
fn parts(report: &Report) -> Drawn {
    let mut rows: Vec<(String, &Parts)> = Vec::new();
    for class in RequestOp::ALL.map(RequestOp::name) {
        let Some(mean) = report.latency_ns[class].mean.filter(|mean| *mean > 0.0) else { continue };
        let name = format!("{class}, all ({})", units::time(mean));
        rows.push((name, &report.latency_parts_ns[class]));
        let slowest = report.latency_ns[class].p99.unwrap_or(0);
        let name = format!("{class}, slowest 1 % (from {})", units::time(slowest as f64));
        rows.push((name, &report.latency_parts_tail_ns[class].p99));
    }
    if rows.is_empty() {
        return Err("no request took any time".to_string());
    }
    let used = |part: &Part| rows.iter().any(|(_, parts)| parts.get(*part) > 0);
    let used: Vec<Part> = Part::ALL.into_iter().filter(used).collect();
    let values = |parts: &Parts| used.iter().map(|part| parts.get(*part) as f64).collect();
    let row = |(name, parts): &(String, &Parts)| Row { name: name.clone(), values: values(parts) };
    let kind = Kind::Stack {
        x: Axis::new("share of the latency", "%"),
        share: true,
        parts: used.iter().map(|part| part.label().to_string()).collect(),
        rows: rows.iter().map(row).collect(),
    };
    let note = "What the requests waited for and what was done for them; each bar is 100 % of the \
                time of its requests, of which the mean or the least is in brackets.";
    Ok(Plot::new("latency-parts", "Latency parts", note, kind).wide())
}

/// How busy each of several was.
fn busy(id: &str, what: &'static str, busy_ns: &[u64], makespan_ns: u64) -> Drawn {
    if makespan_ns == 0 || busy_ns.is_empty() {
        return Err("no time passed".to_string());
    }
    let share = |ns: &u64| 100.0 * *ns as f64 / makespan_ns as f64;
    let values = (0..).zip(busy_ns.iter().map(share)).collect();
    let (title, note) = if id == "dies" {
        ("Utilisation of dies", "With array operations, their transfers and waits in between.")
    } else {
        ("Utilisation of channels", "With transfers.")
    };
    let kind =
        Kind::Columns { x: Axis::new(what, ""), y: Axis::new("busy", "%").up_to(100.0), values };
    Ok(Plot::new(id, title, note, kind))
}

/// What write amplification is made of.
fn amplification(report: &Report) -> Drawn {
    let Some(factor) = report.flash.write_amplification else {
        return Err("the host wrote nothing".to_string());
    };
    let names = [
        ("host", "host data"),
        ("gc", "garbage collection"),
        ("map", "map"),
        ("merge", "merges"),
        ("fold", "folding"),
        ("journal", "journal"),
        ("wear", "wear levelling"),
        ("padding", "padding"),
    ];
    let by = &report.flash.write_amplification_by;
    let found =
        names.iter().map(|(key, name)| (*name, by.get(key).copied().flatten().unwrap_or(0.0)));
    let found: Vec<_> = found.filter(|(_, value)| *value > 0.0).collect();
    if found.is_empty() {
        return Err("nothing was programmed".to_string());
    }
    let kind = Kind::Stack {
        x: Axis::new("bytes programmed / bytes that the host wrote", ""),
        share: false,
        parts: found.iter().map(|(name, _)| (*name).to_string()).collect(),
        rows: vec![Row {
            name: format!("{factor:.3}"),
            values: found.iter().map(|(_, value)| *value).collect(),
        }],
    };
    let note = "The parts add up to the write amplification.";
    Ok(Plot::new("write-amplification", "Write amplification by cause", note, kind))
}

/// The most columns of the wear of blocks.
const COLUMNS: u64 = 64;

/// How many blocks were erased how often.
fn wear(report: &Report) -> Drawn {
    let by = &report.wear.blocks_by_erases;
    let most = report.wear.erases_max;
    if most == 0 {
        return Err("no block was erased".to_string());
    }
    let wide = (u64::from(most - report.wear.erases_min) + 1).div_ceil(COLUMNS);
    let mut columns: BTreeMap<u64, u64> = BTreeMap::new();
    for (erases, blocks) in by {
        *columns.entry(u64::from(*erases) / wide).or_default() += blocks;
    }
    let note = format!(
        "From {} to {most} erases a block during all phases, {:.2} on average.{}",
        report.wear.erases_min,
        report.wear.erases_mean,
        if wide > 1 { format!(" A column is {wide} numbers of erases.") } else { String::new() }
    );
    let values = columns.iter().map(|(column, blocks)| (column * wide, *blocks as f64)).collect();
    let kind = Kind::Columns { x: Axis::new("erases", ""), y: Axis::new("blocks", ""), values };
    Ok(Plot::new("wear", "Wear", &note, kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1,000 buckets of one request each: all points of the slowest hundredth stay.
    #[test]
    fn a_long_distribution_is_thinned_but_for_its_tail() {
        let buckets: Buckets = (1..=1_000).map(|ns| (ns, 1)).collect();
        let all = [("read".to_string(), &buckets)];
        let Kind::Lines { series, .. } = cumulative(&all).kind else { panic!("lines") };
        let points = &series[0].points;
        assert!(points.len() < STEPS, "{}", points.len());
        assert_eq!(points[..2], [(1, Some(0.0)), (1, Some(0.1))], "the line rises in its bucket");
        for (ns, share) in points.iter().skip(1) {
            assert!((share.unwrap() - *ns as f64 / 10.0).abs() < 1e-9);
        }
        assert!((990..=1_000).all(|ns| points.iter().any(|(at, _)| *at == ns)));
        let Kind::Lines { series, .. } = tail(&all).kind else { panic!("lines") };
        assert_eq!(series[0].points.last(), Some(&(1_000, None)), "none took longer");
        assert_eq!(sentence("the device"), "The device.");
    }
}

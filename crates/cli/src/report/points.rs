//! The report of several runs: each figure over all runs. `compare` makes one; so can whatever else
//! runs a device at several points.

use super::plot::{Axis, Kind, Plot, Values};
use super::run::{cumulative, sentence, tail};
use super::{Page, Section, Table};
use flashyard_sim::report::Report;

/// Several runs.
#[derive(Debug)]
pub(crate) struct Points<'a> {
    pub(crate) title: String,
    /// What was run, a paragraph each.
    pub(crate) lead: Vec<String>,
    /// What holds for all runs, and tables of what differs, as they are printed.
    pub(crate) verdict: &'a str,
    pub(crate) command: String,
    /// What varies: the names of keys.
    pub(crate) axes: Vec<String>,
    pub(crate) runs: Vec<Point<'a>>,
}

/// A run.
#[derive(Debug)]
pub(crate) struct Point<'a> {
    /// Its value on each axis.
    pub(crate) values: Vec<String>,
    pub(crate) report: &'a Report,
}

/// A figure of a run: its name in the page, its title, what an axis calls it, the unit of the data,
/// how it is found.
type Figure = (&'static str, &'static str, &'static str, &'static str, fn(&Report) -> Option<f64>);

/// The figures that are shown, besides latencies.
const FIGURES: [Figure; 5] = [
    ("throughput", "Throughput", "throughput", "B/s", |report| report.throughput.bytes_per_s),
    ("iops", "Requests a second", "requests", "1/s", |report| report.throughput.iops),
    ("write-amplification", "Write amplification", "write amplification", "", |report| {
        report.flash.write_amplification
    }),
    ("power", "Mean power", "mean power", "mW", |report| {
        report.power.mean_mw.filter(|mw| *mw > 0.0)
    }),
    ("energy", "Energy of host data", "energy", "J/MB", |report| {
        report.power.j_per_mb.filter(|joules| *joules > 0.0)
    }),
];

/// The most runs whose distributions are drawn over one another.
const DISTRIBUTIONS: usize = 10;

/// A latency of a class.
type Latency = fn(&Report, &str) -> Option<f64>;

impl Points<'_> {
    /// The page.
    pub(crate) fn page(self) -> Page {
        let mut page = Page::new(self.title.clone());
        page.lead.clone_from(&self.lead);
        page.command.clone_from(&self.command);
        page.verdict = self.verdict.lines().next().map_or_else(Vec::new, |line| {
            vec![sentence(line.split_once(": ").map_or(line, |(_, said)| said))]
        });
        page.warnings = self
            .verdict
            .lines()
            .filter_map(|line| line.strip_prefix("warning: "))
            .map(|line| format!("{line}."))
            .collect();
        let mut section = Section { title: "Figures by run".to_string(), ..Section::default() };
        section.tables.push(self.table());
        page.push(section);
        let mut latency = Section { title: "Latency".to_string(), ..Section::default() };
        let mean: Latency = |report, class| report.latency_ns[class].mean;
        let p99: Latency = |report, class| report.latency_ns[class].p99.map(|ns| ns as f64);
        for (id, title, of) in
            [("latency-mean", "Mean latency", mean), ("latency-p99", "Latency at 99 %", p99)]
        {
            let plot = self.latencies(id, title, of);
            page.add(&mut latency, title, plot);
        }
        let distributions = self.distributions();
        match distributions {
            Ok(plots) => latency.plots.extend(plots),
            Err(why) => page.add(&mut latency, "Distribution of latencies", Err(why)),
        }
        page.push(latency);
        let mut rest = Section { title: "Work and energy".to_string(), ..Section::default() };
        for (id, title, axis, unit, of) in FIGURES {
            let values: Vec<_> = self.runs.iter().map(|point| of(point.report)).collect();
            let plot = if values.iter().any(Option::is_some) {
                Ok(self.plot(id, title, Axis::new(axis, unit), &[(String::new(), values)]))
            } else {
                Err("no run has this figure".to_string())
            };
            page.add(&mut rest, title, plot);
        }
        page.push(rest);
        page
    }

    /// Latencies of reads and of writes.
    fn latencies(&self, id: &str, title: &'static str, of: Latency) -> Result<Plot, String> {
        let classes = ["read", "write"].map(|class| {
            let values = self.runs.iter().map(|point| of(point.report, class));
            (class.to_string(), values.collect::<Vec<_>>())
        });
        let classes = classes.into_iter();
        let known: Vec<_> =
            classes.filter(|(_, values)| values.iter().any(Option::is_some)).collect();
        if known.is_empty() {
            return Err("no latency counts".to_string());
        }
        Ok(self.plot(id, title, Axis::new("latency", "ns"), &known))
    }

    /// A figure over the values of the last axis, with a line for each combination of the others.
    fn plot(&self, id: &str, title: &str, y: Axis, figures: &[(String, Vec<Option<f64>>)]) -> Plot {
        let of = |point: &Point<'_>| {
            point.values.split_last().map_or_else(
                || (String::new(), String::new()),
                |(last, others)| (others.join(", "), last.clone()),
            )
        };
        let (mut lines, mut names) = (Vec::new(), Vec::new());
        for point in &self.runs {
            let (line, name) = of(point);
            if !lines.contains(&line) {
                lines.push(line);
            }
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let mut series = Vec::new();
        for (what, values) in figures {
            for line in &lines {
                let value = |name: &String| {
                    let is_it = |point: &Point<'_>| of(point) == (line.clone(), name.clone());
                    self.runs.iter().position(is_it).and_then(|place| values[place])
                };
                let name = [what.as_str(), line.as_str()].into_iter().filter(|one| !one.is_empty());
                let name = name.collect::<Vec<_>>().join(", ");
                series.push(Values { name, values: names.iter().map(value).collect() });
            }
        }
        let label = self.axes.last().map_or("run", String::as_str);
        let others = &self.axes[..self.axes.len().saturating_sub(1)];
        let note = if others.is_empty() {
            format!("By {label}.")
        } else {
            format!("By {label}; a line for each {}.", others.join(", "))
        };
        let kind = Kind::Points { x: Axis::new("", ""), y, names, series };
        Plot::new(id, title, &note, kind)
    }

    /// The distributions of all requests over one another.
    fn distributions(&self) -> Result<[Plot; 2], String> {
        if self.runs.len() > DISTRIBUTIONS {
            let runs = self.runs.len();
            return Err(format!(
                "of at most {DISTRIBUTIONS} runs they can be told apart, not of {runs}"
            ));
        }
        let name = |point: &Point<'_>| point.values.join(", ");
        let all: Vec<(String, _)> = self
            .runs
            .iter()
            .map(|point| (name(point), &point.report.latency_buckets["all"]))
            .filter(|(_, buckets)| !buckets.is_empty())
            .collect();
        if all.len() < self.runs.len() {
            return Err("a run has no latency that counts".to_string());
        }
        Ok([cumulative(&all), tail(&all)])
    }

    fn table(&self) -> Table {
        let mut columns = self.axes.clone();
        let names = ["read mean", "read 99 %", "write mean", "write 99 %", "MB/s", "requests/s"];
        columns.extend(names.map(str::to_string));
        columns.extend(["WA", "mW", "J/MB"].map(str::to_string));
        let row = |point: &Point<'_>| {
            let report = point.report;
            let mut row = point.values.clone();
            for class in ["read", "write"] {
                let latency = &report.latency_ns[class];
                let or_dash = |ns: Option<f64>| ns.map_or("-".to_string(), super::words::time);
                row.push(or_dash(latency.mean));
                row.push(or_dash(latency.p99.map(|ns| ns as f64)));
            }
            for ((_, _, _, unit, of), digits) in FIGURES.iter().zip([2, 0, 3, 1, 4]) {
                let scale = if *unit == "B/s" { 1e-6 } else { 1.0 };
                let cell = |value: f64| format!("{:.digits$}", value * scale);
                row.push(of(report).map_or_else(|| "-".to_string(), cell));
            }
            row
        };
        let rows = self.runs.iter().map(row).collect();
        let note = "WA: write amplification; J/MB: energy over 10^6 bytes that the host moved.";
        Table { columns, rows, note: note.to_string(), ..Table::default() }
    }
}

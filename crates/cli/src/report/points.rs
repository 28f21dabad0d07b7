//! The report of several runs or points: each figure over all of them, for `compare` and `sweep`.

use super::plot::{Axis, Kind, Plot, Values};
use super::run::{cumulative, sentence, tail};
use super::{Page, Section, Table};
use crate::columns::{Figures, summary, title_of};
use crate::output::summary::latency::{FEW, is_of_few};
use flashyard_core::request::RequestOp;
use flashyard_run::figure::Figure;
use flashyard_run::headline;
use flashyard_run::units;
use flashyard_sim::config::magnitude;
use flashyard_sim::report::{LatencyReport, Report};
use std::collections::{BTreeMap, BTreeSet};

/// Several runs, or points of several runs each.
#[derive(Debug)]
pub(crate) struct Points<'a> {
    pub(crate) title: String,
    /// What was run, a paragraph each.
    pub(crate) lead: Vec<String>,
    /// What holds for all runs.
    pub(crate) verdict: String,
    /// What makes figures of some runs mislead, a sentence each.
    pub(crate) warnings: Vec<String>,
    pub(crate) command: String,
    /// What varies: the names of keys.
    pub(crate) axes: Vec<String>,
    /// Figures that were asked for; points are ranked by the first one.
    pub(crate) asked: Vec<Figure>,
    pub(crate) all: Vec<Point<'a>>,
}

/// A run, or the mean of several.
#[derive(Debug)]
pub(crate) struct Point<'a> {
    /// Its number in other files, and its warnings, if it has a number.
    number: Option<(usize, String)>,
    /// Its value on each axis.
    pub(crate) values: Vec<String>,
    shown: Shown,
    /// Its figures that were asked for, and whether they are percentiles of few requests.
    asked: Vec<(Option<f64>, bool)>,
    /// The distribution of the latencies of all requests, of a run.
    distribution: Option<&'a [(u64, u64)]>,
}

/// Mean, 99 % and 99.9 % of the latencies of each class, in nanoseconds.
pub(crate) type Latencies = [[Option<f64>; 3]; 4];

/// The figures that are shown, in the units of their plots.
#[derive(Debug)]
struct Shown {
    latencies: Latencies,
    /// The requests of each class, of the run that has the fewest.
    counts: [Option<f64>; 4],
    /// The latencies of each of several streams.
    streams: BTreeMap<String, Latencies>,
    /// Those of [`FIGURES`].
    others: [Option<f64>; FIGURES.len()],
}

/// Latencies: names in the page, titles, ends of the names of headlines.
const LATENCIES: [(&str, &str, &str); 3] = [
    ("latency-mean", "Mean latency", "mean_us"),
    ("latency-p99", "Latency at 99 %", "p99_us"),
    ("latency-p999", "Latency at 99.9 %", "p999_us"),
];

/// A figure of a run: its name in the page, its title, what an axis calls it, the unit of the data,
/// the headline, how many of its unit are one of the data, and whether 0 is worth a point.
type Fixed = (&'static str, &'static str, &'static str, &'static str, &'static str, f64, bool);

/// The figures that are shown, besides latencies.
const FIGURES: [Fixed; 5] = [
    ("throughput", "Throughput", "throughput", "B/s", "mb_per_s", 1e6, true),
    ("iops", "Requests a second", "requests", "1/s", "iops", 1.0, true),
    ("write-amplification", "Write amplification", "write amplification", "", "wa", 1.0, true),
    ("power", "Mean power", "mean power", "mW", "power_w", 1e3, false),
    ("energy", "Energy of host data", "energy", "J/MB", "j_per_gb", 1e-3, false),
];

/// The most runs whose distributions are drawn over one another.
const DISTRIBUTIONS: usize = 10;

/// The latencies that are shown, from those of headlines, which are in microseconds.
pub(crate) fn latencies(of: &dyn Fn(&str) -> Option<f64>) -> Latencies {
    RequestOp::ALL
        .map(|op| LATENCIES.map(|(.., end)| of(&format!("{}.{end}", op.name())).map(|us| us * 1e3)))
}

/// The same from a report.
fn by_class(report: &BTreeMap<&'static str, LatencyReport>) -> Latencies {
    RequestOp::ALL.map(|op| {
        let of = &report[op.name()];
        [of.mean, of.p99.map(|ns| ns as f64), of.p999.map(|ns| ns as f64)]
    })
}

impl<'a> Point<'a> {
    /// A run.
    pub(crate) fn of_run(values: Vec<String>, report: &'a Report) -> Self {
        let all = by_class(&report.latency_ns);
        let streams = report.streams.iter();
        let streams = streams.map(|(name, of)| (name.clone(), by_class(&of.latency_ns))).collect();
        let others = FIGURES.map(|(.., name, _, zero)| {
            headline::named(name).raw(report).filter(|value| zero || *value > 0.0)
        });
        let distribution = &report.latency_buckets["all"];
        let distribution = Some(&distribution[..]).filter(|buckets| !buckets.is_empty());
        let counts = RequestOp::ALL.map(|op| Some(report.latency_ns[op.name()].count as f64));
        let shown = Shown { latencies: all, counts, streams, others };
        Self { number: None, values, shown, asked: Vec::new(), distribution }
    }

    /// The mean of the runs of the point of this number, with the marks of its warnings.
    pub(crate) fn of_figures(
        number: usize,
        marks: String,
        values: Vec<String>,
        figures: &Figures,
        streams: BTreeMap<String, Latencies>,
    ) -> Self {
        let all = |name: &str| headline::place(name).map_or(&[][..], |place| &figures[place]);
        let mean = |name: &str| summary(all(name)).0;
        let latencies = latencies(&mean);
        let others = FIGURES.map(|(.., name, scale, zero)| {
            mean(name).map(|value| value * scale).filter(|value| zero || *value > 0.0)
        });
        let counts = RequestOp::ALL.map(|op| {
            let counts = all(&format!("{}.count", op.name())).iter().copied().flatten();
            counts.min_by(f64::total_cmp)
        });
        let shown = Shown { latencies, counts, streams, others };
        let number = Some((number, marks));
        Self { number, values, shown, asked: Vec::new(), distribution: None }
    }

    /// The same with its figures that were asked for.
    pub(crate) fn with(self, asked: Vec<(Option<f64>, bool)>) -> Self {
        Self { asked, ..self }
    }

    /// A latency of a class by its place among [`LATENCIES`], marked if it is of few requests.
    fn latency(&self, op: RequestOp, place: usize) -> String {
        let Some(ns) = self.shown.latencies[op as usize][place] else { return "-".to_string() };
        let name = format!("{}.{}", op.name(), LATENCIES[place].2);
        let of_few =
            |share| self.shown.counts[op as usize].is_some_and(|all| is_of_few(all, share));
        let mark = if headline::percentile(&name).is_some_and(of_few) { "*" } else { "" };
        units::time(ns) + mark
    }
}

/// Whether the tables and plots have a figure already, whatever was asked for.
fn is_fixed(figure: &Figure) -> bool {
    let name = &figure.headline().name;
    let of_class = |(class, end): (&str, &str)| {
        class != "all" && LATENCIES.iter().any(|(.., known)| *known == end)
    };
    let is_other = FIGURES.iter().any(|(.., known, _, _)| *known == *name);
    figure.stream().is_none() && (is_other || name.split_once('.').is_some_and(of_class))
}

/// The unit of the data of plots that a figure has, and how many of it its own unit is.
fn in_plots(unit: &'static str) -> (&'static str, f64) {
    match unit {
        "1" | "flag" => ("", 1.0),
        "us" => ("ns", 1e3),
        "s" => ("ns", 1e9),
        "MB/s" => ("B/s", 1e6),
        "mJ" => ("pJ", 1e9),
        "W" => ("mW", 1e3),
        "J/GB" => ("J/MB", 1e-3),
        unit => (unit, 1.0),
    }
}

impl Points<'_> {
    /// The page.
    pub(crate) fn page(self) -> Page {
        let mut page = Page::new(self.title.clone());
        page.lead.clone_from(&self.lead);
        page.command.clone_from(&self.command);
        page.verdict = Vec::from_iter((!self.verdict.is_empty()).then(|| sentence(&self.verdict)));
        page.warnings = self.warnings.iter().map(|line| sentence(line)).collect();
        page.plots_first = true;
        self.rank(&mut page);
        let mut latency = Section { title: "Latency".to_string(), ..Section::default() };
        for (place, (id, title, _)) in LATENCIES.into_iter().enumerate() {
            match self.latencies(id, title, place) {
                plots if plots.is_empty() => {
                    page.add(&mut latency, title, Err("no latency counts".to_string()));
                }
                plots => latency.plots.extend(plots),
            }
        }
        match self.distributions() {
            Ok(plots) => latency.plots.extend(plots),
            Err(why) => page.add(&mut latency, "Distribution of latencies", Err(why)),
        }
        page.push(latency);
        page.push(self.streams());
        let mut rest = Section { title: "Work and energy".to_string(), ..Section::default() };
        for (place, (id, title, axis, unit, ..)) in FIGURES.into_iter().enumerate() {
            let values = self.all.iter().map(|point| point.shown.others[place]);
            let values: Vec<_> = values.collect();
            let plot = if values.iter().any(Option::is_some) {
                Ok(self.plot(id, title, Axis::new(axis, unit), &[(String::new(), values)]))
            } else {
                Err("no run has this figure".to_string())
            };
            page.add(&mut rest, title, plot);
        }
        page.push(rest);
        let is_numbered = self.all.iter().any(|point| point.number.is_some());
        let title = if is_numbered { "Figures by point" } else { "Figures by run" };
        let tables = vec![self.table()];
        page.push(Section { title: title.to_string(), tables, ..Section::default() });
        page
    }

    /// The figure by which points are ranked, if no other plot has it.
    fn rank(&self, page: &mut Page) {
        let Some(rank) = self.asked.first().filter(|rank| !is_fixed(rank)) else { return };
        let mut section = Section { title: "Rank".to_string(), ..Section::default() };
        let (unit, scale) = in_plots(rank.headline().unit);
        let value = |point: &Point<'_>| point.asked[0].0.map(|value| value * scale);
        let values: Vec<_> = self.all.iter().map(value).collect();
        let title = format!("Rank: {}", title_of(rank));
        let plot = if values.iter().any(Option::is_some) {
            Ok(self.plot("rank", &title, Axis::new("", unit), &[(String::new(), values)]))
        } else {
            Err(format!("no point has {}", rank.name()))
        };
        page.add(&mut section, "Rank", plot);
        page.push(section);
    }

    /// A latency by its place among [`LATENCIES`]: a plot for each class, since behind a buffer a
    /// write takes a hundredth of the time of a read, or a hundred times as long.
    fn latencies(&self, id: &str, title: &str, place: usize) -> Vec<Plot> {
        let of = |op: RequestOp| {
            let values = self.all.iter().map(|point| point.shown.latencies[op as usize][place]);
            self.of_class(op, id, title, &[(String::new(), values.collect())])
        };
        RequestOp::ALL.into_iter().filter_map(of).collect()
    }

    /// The same of each of several streams.
    fn streams(&self) -> Section {
        let names = self.all.iter().flat_map(|point| point.shown.streams.keys());
        let names: BTreeSet<&String> = names.collect();
        let title = "Latency by stream".to_string();
        let mut section = Section { title, ..Section::default() };
        for (place, (id, title, _)) in LATENCIES.into_iter().enumerate() {
            for op in RequestOp::ALL {
                let of = |point: &Point<'_>, stream: &String| {
                    point.shown.streams.get(stream).and_then(|of| of[op as usize][place])
                };
                let values = |name: &&String| {
                    let values = self.all.iter().map(|point| of(point, name)).collect();
                    ((*name).clone(), values)
                };
                let figures: Vec<(String, Vec<Option<f64>>)> = names.iter().map(values).collect();
                let mut plot = self.of_class(op, &format!("stream-{id}"), title, &figures);
                if let Some(plot) = &mut plot {
                    plot.title += " by stream";
                }
                section.plots.extend(plot);
            }
        }
        section
    }

    /// A latency of the requests of a class, if one of them has it.
    fn of_class(
        &self,
        op: RequestOp,
        id: &str,
        title: &str,
        figures: &[(String, Vec<Option<f64>>)],
    ) -> Option<Plot> {
        let is_known =
            |(_, values): &&(String, Vec<Option<f64>>)| values.iter().any(Option::is_some);
        let known: Vec<_> = figures.iter().filter(is_known).cloned().collect();
        let class = op.name();
        let many = if op == RequestOp::Flush { "flushes".to_string() } else { format!("{class}s") };
        let (id, title) = (format!("{id}-{class}"), format!("{title} of {many}"));
        (!known.is_empty()).then(|| self.plot(&id, &title, Axis::new("latency", "ns"), &known))
    }

    /// A figure over the values of the last axis, with a colour for each combination of the others.
    /// `figures` have the name of their stream, or none.
    fn plot(&self, id: &str, title: &str, y: Axis, figures: &[(String, Vec<Option<f64>>)]) -> Plot {
        let of = |point: &Point<'_>| {
            point.values.split_last().map_or_else(
                || (String::new(), String::new()),
                |(last, others)| (others.join(", "), last.clone()),
            )
        };
        let (mut lines, mut names) = (Vec::new(), Vec::new());
        for point in &self.all {
            let (line, name) = of(point);
            if !lines.contains(&line) {
                lines.push(line);
            }
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let label = self.axes.last().map_or("run", String::as_str);
        // A line says that there is something between two values; between two words is nothing.
        let joined = label != "seed" && names.iter().all(|name| magnitude(name).is_some());
        if joined {
            // A search tries values in another order.
            let number = |name: &String| magnitude(name).unwrap_or(0.0);
            names.sort_by(|a, b| number(a).total_cmp(&number(b)));
        }
        let mut series = Vec::new();
        for (what, values) in figures {
            for line in &lines {
                let value = |name: &String| {
                    let is_it = |point: &Point<'_>| of(point) == (line.clone(), name.clone());
                    self.all.iter().position(is_it).and_then(|place| values[place])
                };
                let name = [what.as_str(), line.as_str()].into_iter().filter(|one| !one.is_empty());
                let name = name.collect::<Vec<_>>().join(", ");
                series.push(Values { name, values: names.iter().map(value).collect() });
            }
        }
        let others = self.axes[..self.axes.len().saturating_sub(1)].iter().map(String::as_str);
        let has_streams = figures.iter().any(|(name, _)| !name.is_empty());
        let others: Vec<&str> = has_streams.then_some("stream").into_iter().chain(others).collect();
        let note = if others.is_empty() {
            format!("By {label}.")
        } else {
            format!("By {label}; a colour for each {}.", others.join(", "))
        };
        let kind = Kind::Points { x: Axis::new("", ""), y, joined, names, series };
        Plot::new(id, title, &note, kind)
    }

    /// The distributions of all requests over one another.
    fn distributions(&self) -> Result<[Plot; 2], String> {
        if self.all.len() > DISTRIBUTIONS {
            let runs = self.all.len();
            return Err(format!(
                "of at most {DISTRIBUTIONS} runs they can be told apart, not of {runs}"
            ));
        }
        let name = |point: &Point<'_>| point.values.join(", ");
        let of = |point: &Point<'_>| Some((name(point), point.distribution?.to_vec()));
        let all: Vec<(String, Vec<(u64, u64)>)> = self.all.iter().filter_map(of).collect();
        if all.len() < self.all.len() {
            return Err("not every run has one here".to_string());
        }
        let all: Vec<_> = all.iter().map(|(name, buckets)| (name.clone(), buckets)).collect();
        Ok([cumulative(&all), tail(&all)])
    }

    fn table(&self) -> Table {
        let is_numbered = self.all.iter().any(|point| point.number.is_some());
        let mut columns = Vec::from_iter(is_numbered.then(|| "point".to_string()));
        columns.extend(self.axes.iter().cloned());
        let known = |op: &RequestOp| {
            self.all.iter().any(|point| point.shown.latencies[*op as usize][0].is_some())
        };
        let classes: Vec<RequestOp> = RequestOp::ALL.into_iter().filter(known).collect();
        for class in &classes {
            let names = ["mean", "99 %", "99.9 %"].map(|what| format!("{} {what}", class.name()));
            columns.extend(names);
        }
        columns.extend(["MB/s", "requests/s", "WA", "mW", "J/MB"].map(str::to_string));
        let asked: Vec<_> =
            self.asked.iter().enumerate().filter(|(_, one)| !is_fixed(one)).collect();
        columns.extend(asked.iter().map(|(_, figure)| title_of(figure)));
        columns.extend(is_numbered.then(|| "warnings".to_string()));
        let row = |point: &Point<'_>| {
            let mut row =
                Vec::from_iter(point.number.as_ref().map(|(number, _)| number.to_string()));
            row.extend(point.values.iter().cloned());
            for class in &classes {
                row.extend((0..LATENCIES.len()).map(|place| point.latency(*class, place)));
            }
            let others = point.shown.others.iter().zip(FIGURES).zip([2, 0, 3, 1, 4]);
            for ((value, (_, _, _, unit, ..)), digits) in others {
                let scale = if unit == "B/s" { 1e-6 } else { 1.0 };
                let cell = |value: f64| format!("{:.digits$}", value * scale);
                row.push(value.map_or_else(|| "-".to_string(), cell));
            }
            for (place, figure) in &asked {
                let (value, of_few) = point.asked[*place];
                row.push(figure.headline().show(value) + if of_few { "*" } else { "" });
            }
            row.extend(point.number.as_ref().map(|(_, marks)| marks.clone()));
            row
        };
        let rows: Vec<Vec<String>> = self.all.iter().map(row).collect();
        let mut note = "WA: write amplification; J/MB: energy over 10^6 bytes that the host moved."
            .to_string();
        if rows.iter().flatten().any(|cell| cell.ends_with('*')) {
            note += &format!(" {FEW}.");
        }
        Table { columns, rows, note, ..Table::default() }
    }
}

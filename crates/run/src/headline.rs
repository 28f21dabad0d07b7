//! The figures that tables of points have. docs/SWEEPS.md lists them.

use crate::units;
use flashyard_core::request::RequestOp;
use flashyard_sim::report::{LatencyReport, Report, StreamReport, YEAR_DAYS};
use std::sync::LazyLock;

/// Which of two values is the better one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// The smaller one.
    Less,
    /// The larger one.
    More,
    /// It is no merit.
    Neither,
}

/// A figure of a run.
#[derive(Debug)]
pub struct Headline {
    /// What columns call it: `read.p99_us`.
    pub name: String,
    /// Its unit; `1` for a number.
    pub unit: &'static str,
    /// What it is.
    pub what: String,
    /// Which of two values is the better one.
    pub better: Better,
    of: Of,
}

/// What shows a value.
type Show = fn(f64) -> String;

/// Where a figure comes from.
#[derive(Debug)]
enum Of {
    Latency(&'static str, fn(&LatencyReport) -> Option<f64>),
    Report(fn(&Report) -> Option<f64>),
}

impl Headline {
    /// Returns the figure of a run, if it is defined.
    pub fn value(&self, report: &Report) -> Option<f64> {
        self.raw(report).map(|value| self.in_unit(value)).filter(|value| value.is_finite())
    }

    /// The same in the unit of reports: ns, pJ, mW, J/MB, B/s, B, a share, or of years seconds.
    pub fn raw(&self, report: &Report) -> Option<f64> {
        match self.of {
            Of::Latency(class, of) => of(&report.latency_ns[class]),
            Of::Report(of) => of(report),
        }
    }

    /// Whether streams have it: latencies, and requests a second.
    pub fn is_of_streams(&self) -> bool {
        matches!(self.of, Of::Latency(..)) || self.name == "iops"
    }

    /// The same of a stream, if streams have it.
    pub fn of_stream(&self, report: &StreamReport) -> Option<f64> {
        match self.of {
            Of::Latency(class, of) => of(&report.latency_ns[class]),
            Of::Report(_) => report.own_iops().filter(|_| self.is_of_streams()),
        }
        .map(|value| self.in_unit(value))
        .filter(|value| value.is_finite())
    }

    /// A value of reports in the unit of the figure.
    fn in_unit(&self, value: f64) -> f64 {
        match self.unit {
            "us" | "W" => value / 1e3,
            "MB/s" => value / 1e6,
            "s" | "mJ" => value / 1e9,
            "%" => value * 100.0,
            "J/GB" => value * 1e3,
            "TB" => value / 1e12,
            "years" => value / (YEAR_DAYS * 86_400.0),
            _ => value,
        }
    }

    /// Returns a value for people. The text has a unit if the unit depends on the size of the
    /// value.
    pub fn show(&self, value: Option<f64>) -> String {
        let Some(value) = value else { return units::NONE.to_string() };
        self.scaled().map_or_else(|| show(value), |(show, smallest)| show(value * smallest))
    }

    /// Whether [`Headline::show`] leaves the unit to the name of the figure.
    pub fn unit_in_name(&self) -> Option<&'static str> {
        let has_none = ["1", "1/s", "flag"].contains(&self.unit);
        (!has_none && self.scaled().is_none()).then_some(self.unit)
    }

    /// What shows a value with a unit, and how many of its smallest unit the figure's unit has.
    fn scaled(&self) -> Option<(Show, f64)> {
        let (show, smallest): (Show, _) = match self.unit {
            "us" => (units::time, 1e3),
            "s" => (units::time, 1e9),
            "mJ" => (units::energy, 1e9),
            "W" => (units::power, 1e3),
            "MB/s" => (units::rate, 1e6),
            "J/GB" => (units::efficiency, 1.0),
            _ => return None,
        };
        Some((show, smallest))
    }
}

/// Every figure, in the order of columns.
pub static ALL: LazyLock<Vec<Headline>> = LazyLock::new(|| latencies().chain(others()).collect());

/// The figures that streams have, in the order of columns.
pub fn of_streams() -> impl Iterator<Item = &'static Headline> {
    ALL.iter().filter(|headline| headline.is_of_streams())
}

/// The figure of this name, which there is.
pub fn named(name: &str) -> &'static Headline {
    &ALL[place(name).expect("a figure has this name")]
}

/// The place of the figure of this name.
pub fn place(name: &str) -> Option<usize> {
    ALL.iter().position(|headline| headline.name == name)
}

/// Returns the share of latencies below a percentile in parts of 10,000. Other figures have no such
/// share.
pub fn percentile(name: &str) -> Option<u64> {
    match name.split_once('.')?.1 {
        "p50_us" => Some(5_000),
        "p90_us" => Some(9_000),
        "p99_us" => Some(9_900),
        "p999_us" => Some(9_990),
        "p9999_us" => Some(9_999),
        _ => None,
    }
}

type OfClass = (&'static str, &'static str, &'static str, fn(&LatencyReport) -> Option<f64>);

fn whole(ns: Option<u64>) -> Option<f64> {
    ns.map(|ns| ns as f64)
}

/// The end of a name, the unit, the description, and the function that takes the figure from the
/// latencies of a class, in nanoseconds.
const OF_CLASS: [OfClass; 8] = [
    ("count", "1", "requests whose latency counts", |latency| Some(latency.count as f64)),
    ("mean_us", "us", "mean latency", |latency| latency.mean),
    ("p50_us", "us", "50th percentile of the latencies", |latency| whole(latency.p50)),
    ("p90_us", "us", "90th percentile of the latencies", |latency| whole(latency.p90)),
    ("p99_us", "us", "99th percentile of the latencies", |latency| whole(latency.p99)),
    ("p999_us", "us", "99.9th percentile of the latencies", |latency| whole(latency.p999)),
    ("p9999_us", "us", "99.99th percentile of the latencies", |latency| whole(latency.p9999)),
    ("max_us", "us", "longest latency", |latency| whole(latency.max)),
];

fn latencies() -> impl Iterator<Item = Headline> {
    let classes = RequestOp::ALL.map(RequestOp::name).into_iter().chain(["all"]);
    classes.flat_map(|class| {
        OF_CLASS.into_iter().map(move |(name, unit, what, of)| {
            let whose = if class == "all" { "requests".to_string() } else { format!("{class}s") };
            let better = if unit == "us" { Better::Less } else { Better::Neither };
            let what = if unit == "us" {
                format!("{what} of {whose}")
            } else {
                format!("{whose} whose latency counts")
            };
            let of = Of::Latency(class, of);
            Headline { name: format!("{class}.{name}"), unit, what, better, of }
        })
    })
}

/// The name, the unit, the description, the better direction, and the function that takes the
/// figure from a report, in the unit of the report.
type Other = (&'static str, &'static str, &'static str, Better, fn(&Report) -> Option<f64>);

fn others() -> impl Iterator<Item = Headline> {
    let all = [&OF_RATES[..], &OF_FLASH, &OF_ENDURANCE, &OF_ENERGY, &OF_VERDICT].concat();
    all.into_iter().map(|(name, unit, what, better, of)| {
        let (name, what, of) = (name.to_string(), what.to_string(), Of::Report(of));
        Headline { name, unit, what, better, of }
    })
}

#[expect(clippy::unnecessary_wraps, reason = "a count is a figure that every run has")]
const fn count(value: u64) -> Option<f64> {
    Some(value as f64)
}

const fn flag(value: bool) -> Option<f64> {
    count(value as u64)
}

fn operations(report: &Report, kind: &str) -> Option<f64> {
    count(report.flash.array_ops[kind].values().sum())
}

fn amplified(report: &Report, by: &str) -> Option<f64> {
    report.flash.write_amplification_by.get(by).copied().flatten()
}

/// The write amplification of each placement handle that the host wrote with.
fn handles(report: &Report) -> impl Iterator<Item = f64> {
    report.placement.iter().flatten().filter_map(|row| row.write_amplification)
}

use Better::{Less, More, Neither};

const OF_RATES: [Other; 7] = [
    ("requests", "1", "measured requests", Neither, |r| count(r.workload.requests)),
    ("makespan_s", "s", "first arrival to last answer", Less, |r| count(r.throughput.makespan_ns)),
    ("iops", "1/s", "requests a second", More, |r| r.throughput.iops),
    ("mb_per_s", "MB/s", "reads and writes, 10^6 bytes a second", More, |r| {
        r.throughput.bytes_per_s
    }),
    ("read_mb_per_s", "MB/s", "reads, 10^6 bytes a second", More, |r| {
        r.throughput.read_bytes_per_s
    }),
    ("write_mb_per_s", "MB/s", "writes, 10^6 bytes a second", More, |r| {
        r.throughput.write_bytes_per_s
    }),
    (
        "dies_busy",
        "1",
        "share of the time that dies, or the arm of a disk, are busy",
        Neither,
        |r| r.utilisation.dies.mean,
    ),
];

const OF_FLASH: [Other; 29] = [
    ("wa", "1", "write amplification: bytes programmed / bytes written by the host", Less, |r| {
        r.flash.write_amplification
    }),
    ("wa_host", "1", "its part of host data", Neither, |r| amplified(r, "host")),
    ("wa_padding", "1", "its part of programs that were not filled", Less, |r| {
        amplified(r, "padding")
    }),
    ("wa_gc", "1", "its part of garbage collection", Less, |r| amplified(r, "gc")),
    ("wa_wear", "1", "its part of wear levelling", Less, |r| amplified(r, "wear")),
    ("wa_map", "1", "its part of map pages", Less, |r| amplified(r, "map")),
    ("wa_merge", "1", "its part of merges", Less, |r| amplified(r, "merge")),
    ("wa_fold", "1", "its part of folding an SLC cache", Less, |r| amplified(r, "fold")),
    ("wa_journal", "1", "its part of the journal and checkpoints of the map", Less, |r| {
        amplified(r, "journal")
    }),
    ("wa_handle_max", "1", "that of the placement handle whose data cost most", Less, |r| {
        handles(r).max_by(f64::total_cmp)
    }),
    ("wa_handle_min", "1", "that of the placement handle whose data cost least", Less, |r| {
        handles(r).min_by(f64::total_cmp)
    }),
    ("slc_pages", "1", "pages of host data written to an SLC cache", Neither, |r| {
        r.slc.and_then(|slc| count(slc.cached_pages))
    }),
    ("direct_pages", "1", "pages of host data written past an SLC cache", Neither, |r| {
        r.slc.and_then(|slc| count(slc.direct_pages))
    }),
    ("folds", "1", "blocks of an SLC cache that were folded", Neither, |r| {
        r.slc.and_then(|slc| count(slc.folds))
    }),
    ("flash_reads", "1", "read operations of the flash arrays", Less, |r| operations(r, "reads")),
    ("programs", "1", "program operations of the flash arrays", Less, |r| {
        operations(r, "programs")
    }),
    ("erases", "1", "erase operations of the flash arrays", Less, |r| operations(r, "erases")),
    ("block_erases_max", "1", "erases of the block with most of them", Less, |r| {
        count(r.wear.erases_max.into())
    }),
    ("block_erases_mean", "1", "erases of a block on average", Less, |r| Some(r.wear.erases_mean)),
    ("gc_victims", "1", "blocks that garbage collection took", Less, |r| count(r.gc.jobs)),
    ("gc_pages_copied", "1", "valid pages that it copied", Less, |r| {
        count(r.gc.valid_pages_copied)
    }),
    ("gc_waits", "1", "programs that waited for room", Less, |r| {
        count(r.gc.programs_that_waited_for_room)
    }),
    ("merges_switch", "1", "switch merges", Neither, |r| count(r.gc.merges.switch)),
    ("merges_partial", "1", "partial merges", Less, |r| count(r.gc.merges.partial)),
    ("merges_full", "1", "full merges", Less, |r| count(r.gc.merges.full)),
    ("map_misses", "1", "misses of the map cache", Less, |r| count(r.map.misses)),
    ("buffer_read_hits", "1", "share of page reads that the buffer serves", More, |r| {
        r.buffer.hit_ratio_read
    }),
    (
        "buffer_write_hits",
        "1",
        "share of page writes that replace a line of the buffer",
        More,
        |r| r.buffer.hit_ratio_write,
    ),
    (
        "buffer_hidden_reads",
        "1",
        "share of the port time of gets that passes beside a put",
        More,
        |r| r.buffer.hidden_read_ratio,
    ),
];

const OF_ENDURANCE: [Other; 3] = [
    ("tbw", "TB", "10^12 bytes that the host may write until blocks are worn out", More, |r| {
        r.wear.endurance?.host_bytes
    }),
    (
        "dwpd",
        "1/day",
        "the same as writes of the whole capacity a day, for five years",
        More,
        |r| r.wear.endurance?.writes_a_day,
    ),
    ("life_years", "years", "the same as years of this load without a pause", More, |r| {
        r.wear.endurance?.life_s
    }),
];

const OF_ENERGY: [Other; 4] = [
    ("energy_mj", "mJ", "all energy", Less, |r| count(r.energy_pj.total)),
    ("power_w", "W", "mean power until the end of all work", Less, |r| r.power.mean_mw),
    ("peak_w", "W", "highest power of a bin or sample, where there are any", Less, |r| {
        let meter = r.power.meter.as_ref().and_then(|meter| meter.peak_mw);
        meter.or(r.power.peak_mw)
    }),
    ("j_per_gb", "J/GB", "all energy over the 10^9 bytes that reads and writes moved", Less, |r| {
        r.power.j_per_mb
    }),
];

const OF_VERDICT: [Other; 10] = [
    ("initial_wa", "1", "write amplification of a constructed initial state", Neither, |r| {
        r.verdict.initial_write_amplification
    }),
    ("spare_percent", "%", "over-provisioning beside free and open blocks", Neither, |r| {
        r.verdict.effective_over_provisioning
    }),
    ("gc_ran", "flag", "1 where garbage collection or merges ran", Neither, |r| {
        flag(r.verdict.gc_ran)
    }),
    ("offered_load", "1", "work offered / what the dies, or the arm, can do", Neither, |r| {
        r.verdict.offered_load
    }),
    (
        "overloaded",
        "flag",
        "1 where the offered load is above 1, and no request waits for answers",
        Less,
        |r| r.verdict.offered_load.and_then(|_| flag(r.verdict.is_overloaded())),
    ),
    ("queue_grew", "flag", "1 where latencies depend on the length of the run", Less, |r| {
        flag(r.verdict.queue_grew)
    }),
    ("most_outstanding", "1", "requests that an arrival found, at most", Neither, |r| {
        count(r.verdict.most_outstanding)
    }),
    ("unmapped_reads", "1", "page reads of pages that were never written", Less, |r| {
        count(r.verdict.unmapped_reads)
    }),
    ("folded_requests", "1", "requests that were folded into the device", Less, |r| {
        count(r.verdict.folded_requests)
    }),
    ("spread_requests", "1", "arrivals that were spread inside ticks of the clock", Less, |r| {
        count(r.verdict.spread_requests)
    }),
];

/// A figure without a unit for people: about four digits that count.
fn show(value: f64) -> String {
    let whole = value.fract() == 0.0;
    match value.abs() {
        size if size >= 1e7 => format!("{value:.3e}"),
        _ if whole => format!("{value:.0}"),
        size if size >= 1_000.0 => format!("{value:.1}"),
        size if size >= 10.0 => format!("{value:.2}"),
        size if size >= 0.1 => format!("{value:.4}"),
        size if size >= 0.01 => format!("{value:.5}"),
        _ => format!("{value:.2e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_documented() {
        let docs = include_str!("../../../docs/SWEEPS.md");
        for (place, headline) in ALL.iter().enumerate() {
            let Headline { name, unit, what, .. } = headline;
            assert_eq!(super::place(name), Some(place), "{name} twice");
            let row = match name.split_once('.') {
                Some((_, end)) => format!("| `<class>.{end}` | {unit} |"),
                None => format!("| `{name}` | {unit} | {what} |"),
            };
            assert!(docs.contains(&row), "SWEEPS.md: {row}");
        }
    }

    #[test]
    fn figures_are_short() {
        let shown = [0.0, 3.0, 1234.56, 17.123_4, 1.5, 0.000_12, 2.5e9].map(show);
        assert_eq!(shown, ["0", "3", "1234.6", "17.12", "1.5000", "1.20e-4", "2.500e9"]);
        let shown = |name: &str, value| ALL[place(name).unwrap()].show(value);
        assert_eq!(shown("read.p999_us", None), "-");
        assert_eq!(shown("read.p999_us", Some(1_200.4)), "1.20 ms");
        assert_eq!(shown("energy_mj", Some(3_970.0)), "3.97 J");
        assert_eq!(shown("mb_per_s", Some(0.0123)), "12.3 kB/s");
        assert_eq!(shown("wa", Some(1.5)), "1.5000");
    }

    /// Bytes of all blocks times the erases that a block bears, over the write amplification; the
    /// capacity; five years of 365 days; the bytes that the host writes a second.
    #[test]
    fn endurance_is_that_of_its_formulas() {
        let figures = |cycles: &str| {
            let set = ["pattern.requests=3000", cycles].map(|text| ("--set", text.to_string()));
            let own = flashyard_sim::own::OwnParts::default();
            let plan = crate::plan::Plan::load(own, "small-full", "random-write", &set).unwrap();
            let outcome = plan.run(crate::simulate::Options::default()).unwrap();
            let figures: std::collections::BTreeMap<_, _> = outcome.figures().collect();
            (plan.settings().unwrap(), figures)
        };
        let (settings, found) = figures("nand.rated_cycles=3000");
        let geometry = settings.geometry;
        let bytes = geometry.units() as f64 * f64::from(geometry.unit_bytes());
        let [wa, rate] = ["wa", "write_mb_per_s"].map(|name| found[name].unwrap());
        let tbw = bytes * 3_000.0 / wa / 1e12;
        let capacity_tb = settings.capacity_sectors() as f64 * 512.0 / 1e12;
        let wanted = [
            ("tbw", tbw),
            ("dwpd", tbw / capacity_tb / 1_825.0),
            ("life_years", tbw * 1e6 / rate / 86_400.0 / 365.0),
        ];
        for (name, wanted) in wanted {
            let found = found[name].unwrap();
            assert!((found - wanted).abs() <= 1e-12 * wanted, "{name}: {found}, {wanted}");
        }
        let (_, limited) = figures("nand.endurance_cycles=3000");
        assert_eq!(limited["tbw"], found["tbw"], "the limit of blocks counts as well");
        let (_, found) = figures("nand.rated_cycles=0");
        assert!(wanted.iter().all(|(name, _)| found[name].is_none()), "no cycles are known");
    }
}

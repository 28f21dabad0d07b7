//! A measured cell, and the figures that a drive and a run have of it.

use crate::device::held::{OF_ZONES, PATTERNS};
use crate::error::wrong;
use anyhow::Result;
use flashyard_sim::report::Report;

/// Columns along which a cell can lie between others.
const AXES: [&str; 5] =
    ["queue_depth", "block_bytes", "rate_per_s", "writes_per_s_asked", "visible_gib"];

/// The column of the zones that a cell uses at once.
pub(super) const ZONES: &str = "zones";

/// Requests a second of half reads and half writes beside the writes that are asked for.
pub(super) const PROBE: f64 = 10_000.0;

/// Zones of a cell at most. Each is a stream of requests.
const MOST_ZONES: u64 = 64;

/// Whose latencies a figure counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Reads.
    Read,
    /// Writes.
    Write,
}

impl Class {
    /// Its word in files.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

/// What a figure says of its class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Requests answered a second.
    PerSecond,
    /// Mean latency, us.
    Mean,
    /// Median, us.
    P50,
    /// 99th percentile, us.
    P99,
    /// 99.9th percentile, us.
    P999,
    /// Bytes programmed over bytes that the host wrote.
    Amplification,
}

impl What {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::PerSecond => "per_s",
            Self::Mean => "mean",
            Self::P50 => "p50",
            Self::P99 => "p99",
            Self::P999 => "p999",
            Self::Amplification => "write_amplification",
        }
    }
}

/// A figure that both a drive and a run have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figure {
    /// Of which requests.
    pub class: Class,
    /// What is measured of them.
    pub what: What,
}

impl Figure {
    /// What the figure is called.
    pub fn name(self) -> String {
        match self.what {
            What::Amplification => self.what.word().to_string(),
            _ => format!("{} {}", self.class.word(), self.what.word()),
        }
    }

    /// The figure of a run that answered so many reads and writes a second behind its warm-up; none
    /// where the run has no such requests.
    pub fn of(self, report: &Report, per_second: [f64; 2]) -> Option<f64> {
        if self.what == What::Amplification {
            return report.flash.write_amplification;
        }
        let latency = report.latency_ns.get(self.class.word())?;
        let us = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e3);
        match self.what {
            What::Mean => latency.mean.map(|ns| ns / 1e3),
            What::P50 => us(latency.p50),
            What::P99 => us(latency.p99),
            What::P999 => us(latency.p999),
            What::PerSecond => Some(per_second[self.class as usize]).filter(|rate| *rate > 0.0),
            What::Amplification => None,
        }
    }
}

/// One measured cell.
#[derive(Clone, Debug)]
pub struct Cell {
    /// File and line, or job, of messages.
    pub place: String,
    /// The drive. It is empty if the file names none.
    pub drive: String,
    /// The columns that say what ran, and their entries.
    pub ran: Vec<(String, String)>,
    /// What was measured.
    pub measured: Vec<(Figure, f64)>,
}

impl Cell {
    /// What ran, as a user reads it.
    pub fn label(&self) -> String {
        let parts = self.ran.iter().map(|(column, entry)| format!("{column}={entry}"));
        parts.collect::<Vec<_>>().join(" ")
    }

    /// The entry of a column.
    pub fn get(&self, column: &str) -> Option<&str> {
        self.ran.iter().find(|(name, _)| name == column).map(|(_, entry)| entry.as_str())
    }

    /// The entry of a column as a number.
    pub fn number(&self, column: &str) -> Result<Option<f64>> {
        let Some(entry) = self.get(column) else { return Ok(None) };
        let number = entry.parse::<f64>().ok().filter(|number| number.is_finite());
        number
            .map(Some)
            .ok_or_else(|| wrong(&format!("{}: {column}: \"{entry}\" is not a number", self.place)))
    }

    /// Refuses what no run can be compared with.
    pub(super) fn check(&self) -> Result<()> {
        let problem = |what: String| Err(wrong(&format!("{}: {what}", self.place)));
        let pattern = self.pattern();
        if !PATTERNS.contains(&pattern) {
            return problem(format!("pattern: \"{pattern}\" is none of {}", PATTERNS.join(", ")));
        }
        if self.get("rate_per_s").is_some() && self.get("queue_depth").is_some() {
            return problem("it has a queue_depth and a rate_per_s, which is in its place".into());
        }
        let least = PROBE / 2.0;
        if self.number("writes_per_s_asked")?.is_some_and(|asked| asked < least) {
            let what = format!("{least} writes a second are among the 10,000 requests beside");
            return problem(format!("writes_per_s_asked: {what}"));
        }
        let percent = self.number("read_percent")?.unwrap_or(50.0);
        if !(0.0..=100.0).contains(&percent) {
            return problem(format!("read_percent: {percent} is not a share from 0 to 100"));
        }
        if self.measured.is_empty() {
            return problem("nothing was measured".into());
        }
        for (place, (figure, _)) in self.measured.iter().enumerate() {
            if !self.has(figure.class) {
                return problem(format!("it has no {}s: {}", figure.class.word(), figure.name()));
            }
            if self.measured[..place].iter().any(|(other, _)| other == figure) {
                return problem(format!("it has two of this: {}", figure.name()));
            }
        }
        Ok(())
    }

    /// The pattern; a cell that names none has random requests, of writes where it has a visible
    /// capacity, since that matters to writes.
    pub(super) fn pattern(&self) -> &str {
        let is_overwritten = self.get("visible_gib").is_some();
        self.get("pattern").unwrap_or(if is_overwritten { "randwrite" } else { "randread" })
    }

    /// The share of reads of mixed requests, in percent.
    pub(super) fn read_percent(&self) -> f64 {
        self.get("read_percent").and_then(|entry| entry.parse().ok()).unwrap_or(50.0)
    }

    /// Whether it has requests of a class.
    pub(super) fn has(&self, class: Class) -> bool {
        let is_read = class == Class::Read;
        self.get("writes_per_s_asked").is_some()
            || match self.pattern() {
                "randread" | "read" => is_read,
                "randrw" if is_read => self.read_percent() > 0.0,
                "randrw" => self.read_percent() < 100.0,
                _ => !is_read,
            }
    }

    /// Bytes of a request: 4 KiB where no column says it.
    pub(super) fn bytes(&self) -> Result<f64> {
        Ok(self.number("block_bytes")?.unwrap_or(4_096.0))
    }

    /// Whether it writes into zones, which the device must have.
    pub fn needs_zones(&self) -> bool {
        self.get("pattern").is_some_and(|pattern| OF_ZONES.contains(&pattern))
    }

    /// Whether it reads in order.
    pub fn is_read_in_order(&self) -> bool {
        self.get("pattern") == Some("read")
    }

    /// The zones that are used at once, each at its depth.
    pub fn zones(&self) -> Result<u64> {
        let Some(entry) = self.get(ZONES) else { return Ok(1) };
        let number = entry.parse::<u64>().ok().filter(|zones| (1..=MOST_ZONES).contains(zones));
        number.ok_or_else(|| {
            let what = format!("\"{entry}\" is not a number from 1 to {MOST_ZONES}");
            wrong(&format!("{}: {ZONES}: {what}", self.place))
        })
    }

    /// What was measured of this.
    pub fn value(&self, class: Class, what: What) -> Option<f64> {
        let wanted = Figure { class, what };
        self.measured.iter().find(|(figure, _)| *figure == wanted).map(|(_, value)| *value)
    }

    /// How much a deviation of a figure counts in a fit. The means count most, and the tails the
    /// less, the fewer requests make them. A rate that was asked for says nothing of the drive, and
    /// that of a closed loop follows from the mean latency (Little's law), so a rate counts, as a
    /// mean does, where a loop of a known depth has no mean.
    pub fn weight(&self, figure: Figure) -> f64 {
        match figure.what {
            What::Mean | What::Amplification => 1.0,
            What::P99 => 0.7,
            What::P50 => 0.5,
            What::P999 => 0.3,
            What::PerSecond if self.value(figure.class, What::Mean).is_some() => 0.0,
            What::PerSecond => f64::from(u8::from(self.is_loop())),
        }
    }

    /// The weights of its figures, in the order in which they were measured.
    pub(super) fn weights(&self) -> impl Iterator<Item = f64> {
        self.measured.iter().map(|(figure, _)| self.weight(*figure))
    }

    /// Whether it is a closed loop of a known depth: one request outstanding where no column says
    /// anything else.
    fn is_loop(&self) -> bool {
        let others = ["rate_per_s", "writes_per_s_asked"];
        let is_known = self.get("queue_depth").is_some() || self.get("visible_gib").is_none();
        is_known && others.iter().all(|other| self.get(other).is_none())
    }

    /// The latency of a request as most of a class have it, us: the median, else the mean, else
    /// what the rate of a loop with requests of this class alone says of the mean.
    pub(super) fn latency(&self, class: Class) -> Result<Option<f64>> {
        if let Some(us) = self.value(class, What::P50).or_else(|| self.value(class, What::Mean)) {
            return Ok(Some(us));
        }
        let is_alone = self.measured.iter().all(|(figure, _)| figure.class == class);
        let rate = self.value(class, What::PerSecond).filter(|_| self.is_loop() && is_alone);
        let depth = self.number("queue_depth")?.unwrap_or(1.0) * self.zones()? as f64;
        Ok(rate.map(|rate| depth * 1e6 / rate))
    }

    /// What was measured of this, and what was modelled, of the `figures` of the cell in the order
    /// of what was measured.
    pub fn pair(&self, figures: &[f64], class: Class, what: What) -> Option<(f64, f64)> {
        let wanted = Figure { class, what };
        let mut found = self.measured.iter().zip(figures);
        let found = found.find(|((figure, _), _)| *figure == wanted);
        found.map(|((_, measured), modelled)| (*measured, *modelled))
    }

    /// Whether others of the same kind lie on both sides of this cell: less and more of one thing,
    /// such as the queue depth, and all else the same.
    pub fn is_between(&self, others: &[Self]) -> Result<bool> {
        for (column, _) in self.ran.iter().filter(|(column, _)| AXES.contains(&column.as_str())) {
            let rest = |cell: &Self| {
                let rest = cell.ran.iter().filter(|(name, _)| name != column);
                rest.cloned().collect::<Vec<_>>()
            };
            let own = self.number(column)?;
            let (mut less, mut more) = (false, false);
            for other in others.iter().filter(|other| rest(other) == rest(self)) {
                let value = other.number(column)?;
                less |= value < own;
                more |= value > own;
            }
            if less && more {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether the cell is of one of these, each `column=entry`.
    pub fn is_one_of(&self, wanted: &[String]) -> bool {
        wanted.iter().any(|wanted| {
            let parts = wanted.split(',').filter_map(|part| part.split_once('='));
            let mut parts = parts.map(|(column, entry)| (column.trim(), entry.trim()));
            parts.all(|(column, entry)| self.get(column) == Some(entry))
        })
    }
}

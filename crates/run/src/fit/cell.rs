//! A measured cell, and the figures that a drive and a run have of it.

use crate::device::held::OF_ZONES;
use crate::error::wrong;
use anyhow::Result;
use flashyard_sim::report::Report;

/// Columns along which a cell can lie between others.
const AXES: [&str; 5] =
    ["queue_depth", "block_bytes", "rate_per_s", "writes_per_s_asked", "visible_gib"];

/// The column of the zones that a cell uses at once.
pub(super) const ZONES: &str = "zones";

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

    /// How much a deviation of this figure counts in a fit. The means count most, and the tails the
    /// less, the fewer requests make them. The rate of a closed loop follows from its mean latency
    /// (Little's law), so it counts only where no mean was measured.
    pub const fn weight(self) -> f64 {
        match self.what {
            What::Mean | What::Amplification => 1.0,
            What::P99 => 0.7,
            What::P50 => 0.5,
            What::P999 => 0.3,
            What::PerSecond => 0.0,
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

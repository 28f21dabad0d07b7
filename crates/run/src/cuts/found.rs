//! What cuts would lose: each of them, and the figures of all.

use flashyard_core::units::Time;
use serde::Serialize;

/// What a cut at an instant would lose. What happens in the nanosecond of the cut has happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// When.
    pub at: Time,
    /// Logical units that would lose a write that was answered.
    pub units: u32,
    /// Time since the first of these answers, in nanoseconds; 0 where nothing would be lost.
    pub oldest_ns: u64,
    /// Writes of several units of which a part would survive and a part would not: answered ones,
    /// and ones that are under way.
    pub torn: u32,
    /// Units whose trim was answered and that would come back.
    pub trims: u32,
    /// Units of which something would be lost that was promised to be kept.
    pub broken: u32,
}

/// What makes a loss a broken promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// The write was answered as one that is kept: by FUA, or since no volatile cache is on.
    Durable,
    /// A flush that arrived behind its answer was answered.
    Flush,
    /// The newest contents on flash were erased.
    Erased,
    /// A unit holds what one write left there, whole. Only cuts that are made break it.
    Whole,
}

impl Rule {
    /// What was promised, in words.
    pub const fn says(self) -> &'static str {
        match self {
            Self::Durable => "its answer says that it is kept",
            Self::Flush => "a flush behind it was answered",
            Self::Erased => "its only contents on flash were erased",
            Self::Whole => "a unit holds one write, whole",
        }
    }
}

/// A promise that a cut would break, from this instant on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Since when.
    pub at: Time,
    /// The request by order of arrival; none for what no single request wrote.
    pub request: Option<u64>,
    /// The logical unit.
    pub unit: u32,
    /// The change of it that would be lost, by number.
    pub version: u64,
    /// What was promised.
    pub rule: Rule,
}

/// What each of many cuts of a run would lose.
#[derive(Clone, Debug)]
pub struct Cuts {
    /// The cuts in the order of time: random instants, spread evenly over measured time.
    pub cuts: Vec<Cut>,
    /// Bytes of a mapping unit.
    pub unit_bytes: u64,
    /// The first promises that a cut would have broken at any instant, also between the cuts.
    pub broken: Vec<Broken>,
}

/// Quantiles of a figure over all cuts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Spread {
    /// The median.
    pub p50: u64,
    /// The value that 99 % of the cuts do not exceed.
    pub p99: u64,
    /// The greatest value.
    pub most: u64,
}

/// The figures of all cuts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Losses {
    /// How many cuts there are.
    pub cuts: u64,
    /// Of these, the share that loses no write and undoes no trim.
    pub harmless_share: Option<f64>,
    /// Logical units that lose a write.
    pub lost_units: Spread,
    /// Bytes of these units.
    pub lost_bytes: Spread,
    /// Age of the first answer that is lost, in nanoseconds.
    pub oldest_ns: Spread,
    /// Writes of which a part survives.
    pub torn_requests: Spread,
    /// Units whose trim is undone.
    pub trims_undone: Spread,
    /// Cuts that break a promise.
    pub breaking: u64,
    /// The first broken promises: since when in nanoseconds, the request, the unit, its version,
    /// and the rule.
    pub broken: Vec<Promise>,
}

/// A broken promise, as JSON has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Promise {
    /// Since when, in nanoseconds.
    pub at_ns: u64,
    /// The request by order of arrival; none for what no single request wrote.
    pub request: Option<u64>,
    /// The logical unit.
    pub unit: u32,
    /// The change of it that would be lost, by number.
    pub version: u64,
    /// What was promised.
    pub rule: Rule,
}

/// Of values in ascending order the one that so many percent do not exceed, by the nearest rank; 0
/// of none.
pub(crate) fn nearest_rank(sorted: &[u64], percent: usize) -> u64 {
    let rank = (percent * sorted.len()).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(0)
}

impl Cuts {
    /// Their figures.
    pub fn losses(&self) -> Losses {
        let spread = |figure: fn(&Cut) -> u64| {
            let mut values: Vec<u64> = self.cuts.iter().map(figure).collect();
            values.sort_unstable();
            let at = |percent| nearest_rank(&values, percent);
            Spread { p50: at(50), p99: at(99), most: values.last().copied().unwrap_or(0) }
        };
        let units = spread(|cut| cut.units.into());
        let bytes = |count: u64| count * self.unit_bytes;
        let harmless = self.cuts.iter().filter(|cut| cut.units == 0 && cut.trims == 0).count();
        let count = self.cuts.len();
        Losses {
            cuts: count as u64,
            harmless_share: (count > 0).then(|| harmless as f64 / count as f64),
            lost_units: units,
            lost_bytes: Spread {
                p50: bytes(units.p50),
                p99: bytes(units.p99),
                most: bytes(units.most),
            },
            oldest_ns: spread(|cut| cut.oldest_ns),
            torn_requests: spread(|cut| cut.torn.into()),
            trims_undone: spread(|cut| cut.trims.into()),
            breaking: self.cuts.iter().filter(|cut| cut.broken > 0).count() as u64,
            broken: self.broken.iter().map(Promise::from).collect(),
        }
    }
}

impl From<&Broken> for Promise {
    fn from(broken: &Broken) -> Self {
        let Broken { at, request, unit, version, rule } = *broken;
        Self { at_ns: at.as_ns(), request, unit, version, rule }
    }
}

//! How large requests are. Draws: one where the sizes of the operation differ, none where there is
//! only one.
//!
//! Sizes are `least + k step`, k from 0 to n - 1. By rule, of a uniform u in (0, 1):
//!
//! * uniform: k below n alike, by multiply and shift of the 64 bits;
//! * two: the least or the greatest size, which need not be a whole number of steps behind the
//!   least;
//! * geometric: the chance of k is proportional to `e^(-t k)`, so that `k = floor(-ln(1 - u (1 -
//!   e^(-n t))) / t)`. A mean above the middle mirrors the distribution of one as far below it;
//! * pareto: of a bounded Pareto distribution from L = `least` to H = `least + n step`, rounded
//!   down to a size: `x = L (1 - u (1 - (L / H)^a))^(-1 / a)`.
//!
//! The parameters t and a are found by bisection so that the mean of the sizes comes out.

use flashyard_core::quantity::Sectors;
use flashyard_core::request::{RequestOp, SECTOR_BYTES};

use super::keys::{PatternKeys, SizeRule};
use crate::error::WorkloadError;
use crate::random::SplitMix64;

/// Parameters that bisection looks at: from hardly any tail up; further up, to one size only, where
/// the mean of the first ones is still too high.
const PARAMETER_MIN: f64 = 1e-6;
const PARAMETER_MAX: f64 = 64.0;
const PARAMETER_LIMIT: f64 = 1e9;
const BISECTIONS: u32 = 80;

/// The mean of a bounded Pareto distribution is summed up over so many sizes at most.
const PARETO_SIZES_MAX: u64 = 65_536;

/// How long requests are, in sectors.
#[derive(Clone, Debug)]
pub(super) struct Sizes {
    /// Those of reads and trims, and those of writes.
    reads: Distribution,
    writes: Distribution,
    largest: u64,
    align: u64,
    random: SplitMix64,
}

impl Sizes {
    pub(super) fn new(keys: &PatternKeys, random: SplitMix64) -> Result<Self, WorkloadError> {
        let other_ppm = keys.read_percent.ppm() + keys.trim_percent.ppm();
        let reads = Wanted::reads(keys).checked()?;
        let writes = Wanted::writes(keys).checked()?;
        // An operation that never happens has no say: it takes the sizes of the other.
        let reads = if other_ppm == 0 { writes } else { reads };
        let writes = if other_ppm == 1_000_000 { reads } else { writes };
        if keys.sizes != SizeRule::Uniform && !reads.differ() && !writes.differ() {
            return Err(one_size(keys.sizes, reads.least));
        }
        let align = match keys.align_kib.sectors() {
            0 => reads.least.min(writes.least),
            align => align,
        };
        Ok(Self {
            reads: Distribution::new(keys.sizes, reads, align)?,
            writes: Distribution::new(keys.sizes, writes, align)?,
            largest: reads.largest(keys.sizes, align).max(writes.largest(keys.sizes, align)),
            align,
            random,
        })
    }

    /// Sectors from a place to the next, and from a size to the next.
    pub(super) const fn align(&self) -> u64 {
        self.align
    }

    /// The largest size that can be drawn.
    pub(super) const fn largest(&self) -> u64 {
        self.largest
    }

    #[inline]
    pub(super) fn draw(&mut self, op: RequestOp) -> u32 {
        let sizes = if op == RequestOp::Write { &self.writes } else { &self.reads };
        sizes.draw(&mut self.random)
    }
}

/// What the keys ask for one operation; sizes in sectors, the mean in bytes.
#[derive(Clone, Copy, Debug)]
struct Wanted {
    least: u64,
    /// The greatest size, which is the least one where there is only one.
    most: u64,
    large_ppm: u64,
    mean_bytes: u64,
    /// The keys that say so.
    most_key: &'static str,
    least_key: &'static str,
    mean_key: &'static str,
}

impl Wanted {
    fn reads(keys: &PatternKeys) -> Self {
        Self {
            least: keys.size_kib.sectors(),
            most: keys.max_size_kib.sectors(),
            large_ppm: keys.large_percent.ppm(),
            mean_bytes: keys.mean_kib.bytes(),
            most_key: "pattern.max_size_kib",
            least_key: "pattern.size_kib",
            mean_key: "pattern.mean_kib",
        }
    }

    fn writes(keys: &PatternKeys) -> Self {
        let mut writes = Self::reads(keys);
        let replace = |value: &mut u64, key: u64| {
            if key > 0 {
                *value = key;
            }
        };
        replace(&mut writes.least, keys.write_size_kib.sectors());
        replace(&mut writes.most, keys.write_max_size_kib.sectors());
        replace(&mut writes.large_ppm, keys.write_large_percent.ppm());
        replace(&mut writes.mean_bytes, keys.write_mean_kib.bytes());
        if (keys.write_size_kib, keys.write_max_size_kib) != (Sectors::ZERO, Sectors::ZERO) {
            writes.most_key = "pattern.write_max_size_kib";
            writes.least_key = "pattern.write_size_kib";
        }
        if !keys.write_mean_kib.is_zero() {
            writes.mean_key = "pattern.write_mean_kib";
        }
        writes
    }

    fn checked(mut self) -> Result<Self, WorkloadError> {
        if self.most > 0 && self.most < self.least {
            let (least, most) = (kib(self.least), kib(self.most));
            let or_zero = if self.most_key == "pattern.max_size_kib" { ", or 0" } else { "" };
            return Err(WorkloadError::Key {
                key: self.most_key,
                what: format!("{most} KiB is less than the least size"),
                fix: format!("choose {} = {least} or more{or_zero}", self.least_key),
            });
        }
        self.most = self.most.max(self.least);
        Ok(self)
    }

    const fn differ(&self) -> bool {
        self.most > self.least
    }

    /// How many sizes there are, `step` apart.
    const fn count(&self, step: u64) -> u64 {
        (self.most - self.least) / step + 1
    }

    const fn largest(&self, rule: SizeRule, step: u64) -> u64 {
        match rule {
            SizeRule::Two => self.most,
            _ => self.least + (self.count(step) - 1) * step,
        }
    }
}

/// A distribution of sizes in sectors.
#[derive(Clone, Copy, Debug)]
enum Distribution {
    One(u32),
    Uniform { steps: Steps },
    Two { sizes: [u32; 2], large_ppm: u64 },
    Geometric { steps: Steps, geometric: Geometric },
    Pareto { steps: Steps, pareto: Pareto },
}

impl Distribution {
    fn new(rule: SizeRule, wanted: Wanted, step: u64) -> Result<Self, WorkloadError> {
        let steps = Steps { least: wanted.least, step, count: wanted.count(step) };
        if wanted.least == wanted.largest(rule, step) {
            return Ok(Self::One(narrow(wanted.least)));
        }
        let mean = wanted.mean_bytes as f64 / f64::from(SECTOR_BYTES);
        Ok(match rule {
            SizeRule::Uniform => Self::Uniform { steps },
            SizeRule::Two => Self::Two {
                sizes: [narrow(wanted.least), narrow(wanted.most)],
                large_ppm: wanted.large_ppm,
            },
            SizeRule::Geometric => {
                let (low, high) = (steps.size(0) as f64, steps.size(steps.count - 1) as f64);
                if !(low..=high).contains(&mean) {
                    return Err(bad_mean(&wanted, low, high));
                }
                let geometric = Geometric::with_mean((mean - low) / step as f64, steps.count);
                Self::Geometric { steps, geometric }
            }
            SizeRule::Pareto => {
                if steps.count > PARETO_SIZES_MAX {
                    return Err(too_many_sizes(steps.count));
                }
                let (low, high) = (steps.size(0) as f64, Pareto::mean(PARAMETER_MIN, steps));
                if !(low..=high).contains(&mean) {
                    return Err(bad_mean(&wanted, low, high));
                }
                Self::Pareto { steps, pareto: Pareto::with_mean(mean, steps) }
            }
        })
    }

    #[inline]
    fn draw(&self, random: &mut SplitMix64) -> u32 {
        match self {
            Self::One(size) => *size,
            Self::Uniform { steps } => narrow(steps.size(random.below(steps.count))),
            Self::Two { sizes, large_ppm } => sizes[usize::from(random.happens(*large_ppm))],
            Self::Geometric { steps, geometric } => {
                narrow(steps.size(geometric.number(random.unit(), steps.count)))
            }
            Self::Pareto { steps, pareto } => narrow(steps.at_most(pareto.quantile(random.unit()))),
        }
    }
}

/// Sizes in sectors, equally far apart.
#[derive(Clone, Copy, Debug)]
struct Steps {
    least: u64,
    step: u64,
    count: u64,
}

impl Steps {
    const fn size(self, number: u64) -> u64 {
        self.least + number * self.step
    }

    /// One step behind the greatest size.
    const fn end(self) -> u64 {
        self.size(self.count)
    }

    /// The greatest size that is not above `x`.
    fn at_most(self, x: f64) -> u64 {
        let steps = whole((x - self.least as f64) / self.step as f64);
        self.size(steps.min(self.count - 1))
    }
}

/// Numbers from 0 to n - 1, each `e^-decay` times as likely as the one before.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Geometric {
    decay: f64,
    /// Counts from the last number down.
    mirrored: bool,
}

impl Geometric {
    /// Numbers below `count` of this mean, which is at most `count` - 1.
    fn with_mean(mean: f64, count: u64) -> Self {
        let last = (count - 1) as f64;
        let mirrored = mean > last / 2.0;
        let mean = if mirrored { last - mean } else { mean };
        let decay = bisect(0.0, |decay| Self::mean(decay, count as f64) > mean);
        Self { decay, mirrored }
    }

    /// `1 / (e^t - 1) - n / (e^(n t) - 1)`, near 0 by its series.
    fn mean(decay: f64, count: f64) -> f64 {
        if decay * count < 1e-4 {
            return (count - 1.0) / 2.0 - decay * (count * count - 1.0) / 12.0;
        }
        1.0 / libm::expm1(decay) - count / libm::expm1(decay * count)
    }

    fn number(self, u: f64, count: u64) -> u64 {
        let last = count - 1;
        let number = if self.decay * (count as f64) < 1e-9 {
            whole(u * count as f64)
        } else {
            let below = u * -libm::expm1(-self.decay * count as f64);
            whole(-libm::log1p(-below) / self.decay)
        };
        // Rounding may lead to the number behind the last one.
        let number = number.min(last);
        if self.mirrored { last - number } else { number }
    }
}

/// A bounded Pareto distribution from `low` to `high`.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Pareto {
    low: f64,
    shape: f64,
    /// `1 - (low / high)^shape`.
    below: f64,
}

impl Pareto {
    fn new(shape: f64, steps: Steps) -> Self {
        let low = steps.least as f64;
        let below = -libm::expm1(-shape * libm::log(steps.end() as f64 / low));
        Self { low, shape, below }
    }

    fn with_mean(mean: f64, steps: Steps) -> Self {
        Self::new(bisect(PARAMETER_MIN, |shape| Self::mean(shape, steps) > mean), steps)
    }

    /// The mean after rounding down to a size: the least one, and a step for each size that is
    /// reached.
    fn mean(shape: f64, steps: Steps) -> f64 {
        let pareto = Self::new(shape, steps);
        let reached: f64 =
            (1..steps.count).map(|number| pareto.above(steps.size(number) as f64)).sum();
        pareto.low + steps.step as f64 * reached
    }

    /// The chance of at least `x`.
    fn above(self, x: f64) -> f64 {
        1.0 + libm::expm1(-self.shape * libm::log(x / self.low)) / self.below
    }

    fn quantile(self, u: f64) -> f64 {
        self.low * libm::exp(-libm::log1p(-u * self.below) / self.shape)
    }
}

/// The parameter, from `low` up, at which a falling mean is no longer `too_high`.
fn bisect(low: f64, too_high: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (low, PARAMETER_MAX);
    while high < PARAMETER_LIMIT && too_high(high) {
        (low, high) = (high, 2.0 * high);
    }
    for _ in 0..BISECTIONS {
        let middle = f64::midpoint(low, high);
        if too_high(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

fn narrow(sectors: u64) -> u32 {
    u32::try_from(sectors).expect("the greatest size fits 32 bits")
}

/// A float, rounded down.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "not negative but for rounding; what is too large is cut by the callers"
)]
fn whole(float: f64) -> u64 {
    float as u64
}

fn one_size(rule: SizeRule, sectors: u64) -> WorkloadError {
    WorkloadError::Key {
        key: "pattern.sizes",
        what: format!("\"{}\" needs different sizes, all have {} KiB", rule.word(), kib(sectors)),
        fix: "set pattern.max_size_kib, or take pattern.sizes out".to_owned(),
    }
}

fn bad_mean(wanted: &Wanted, low: f64, high: f64) -> WorkloadError {
    WorkloadError::Key {
        key: wanted.mean_key,
        what: format!("no such mean with these sizes, {} KiB", wanted.mean_bytes as f64 / 1_024.0),
        fix: format!(
            "choose {:.2} to {:.2} KiB, or change {} or {}",
            low / 2.0,
            high / 2.0,
            wanted.least_key,
            wanted.most_key
        ),
    }
}

fn too_many_sizes(count: u64) -> WorkloadError {
    WorkloadError::Key {
        key: "pattern.align_kib",
        what: format!("{count} different sizes, more than {PARETO_SIZES_MAX}"),
        fix: "raise it, or choose another pattern.sizes".to_owned(),
    }
}

pub(super) fn kib(sectors: u64) -> f64 {
    sectors as f64 / 2.0
}

#[cfg(test)]
mod tests;

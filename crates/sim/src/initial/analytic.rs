//! Write amplification and the distribution of valid counts in steady state, in closed form.
//!
//! A pool of blocks of B units each holds U logical units; `alpha` is the places in use (all but
//! the free blocks) a logical unit. Writes are single units, uniform inside a class of units, and
//! blocks are many (mean field). Every block starts with B valid units; one with i of them loses
//! the next at a rate proportional to i, so where all blocks pass level i they spend a time
//! proportional to 1/i on it.

/// The principal branch of Lambert's W: w e^w = x, for x of at least -1/e (Corless et al. 1996).
pub fn lambert_w0(x: f64) -> f64 {
    let branch = 2.0 * (std::f64::consts::E * x + 1.0).max(0.0);
    let p = branch.sqrt();
    let mut w = if x < 0.0 { -1.0 + p - p * p / 3.0 } else { libm::log1p(x) };
    for _ in 0..64 {
        let power = libm::exp(w);
        let excess = w * power - x;
        let slope = power * (w + 1.0);
        if slope.abs() < 1e-300 {
            break;
        }
        let step = excess / (slope - (w + 2.0) * excess / (2.0 * w + 2.0));
        w -= step;
        if step.abs() <= 1e-16 * w.abs() {
            break;
        }
    }
    w
}

/// Write amplification of first-in-first-out cleaning, the limit of greedy cleaning for large
/// blocks as well (Desnoyers, SYSTOR 2012; Xiang and Kurkoski, arXiv 1110.4245):
/// alpha / (alpha + W0(-alpha e^-alpha)). `None` without spare places.
pub fn fifo(alpha: f64) -> Option<f64> {
    (alpha > 1.0).then(|| alpha / (alpha + lambert_w0(-alpha * libm::exp(-alpha))))
}

/// Write amplification of cleaning a random block among all: the mean block is cleaned, with 1 in
/// `alpha` places valid.
pub fn random(alpha: f64) -> Option<f64> {
    (alpha > 1.0).then(|| alpha / (alpha - 1.0))
}

/// Write amplification of cleaning a random block among those that have an invalid unit.
pub fn random_with_invalid(alpha: f64, block_units: u32) -> Option<f64> {
    let units = f64::from(block_units);
    (alpha > 1.0).then(|| alpha * units / ((alpha - 1.0) * units + 1.0))
}

/// The steady state of a pool whose blocks are alike but for their number of valid units.
#[derive(Clone, Debug, PartialEq)]
pub struct Levels {
    /// Writes to the array for each write of the host.
    pub write_amplification: f64,
    /// The share of blocks with 0, 1, .. B valid units.
    pub share: Vec<f64>,
}

/// Greedy cleaning: the block with the fewest valid units, in the mean field of many blocks
/// (the limit of the best of d for large d; Van Houdt, SIGMETRICS 2013).
///
/// With c victims a host write there are c U / i blocks on each level i above the victims', and
/// the rest on level m. Blocks and valid units add up, which gives c for each m; the right m is
/// the one whose victims have m - 1 to m valid units on average.
pub fn greedy(alpha: f64, block_units: u32) -> Option<Levels> {
    if alpha <= 1.0 || block_units < 2 {
        return None;
    }
    let all = f64::from(block_units);
    // Each level's blocks, as a share of all blocks, for `c` victims a host write.
    let share = |c: f64, level: u32| c * all / (f64::from(level) * alpha);
    let fill = |c: f64, lowest: u32| {
        let mut levels = vec![0.0; block_units as usize + 1];
        (lowest + 1..=block_units).for_each(|level| levels[level as usize] = share(c, level));
        levels[lowest as usize] = (1.0 - levels.iter().sum::<f64>()).max(0.0);
        Levels { write_amplification: all * c, share: levels }
    };
    let mut tail = 0.0;
    for lowest in (1..block_units).rev() {
        tail += 1.0 / f64::from(lowest + 1);
        let m = f64::from(lowest);
        let c = (1.0 / m - alpha / all) / ((all - m) / m - tail);
        // Far below the width of the interval, which is 1 / (all - m) of it.
        let slack = 1e-9 / (all - m);
        if (1.0 / (all - m + 1.0) - slack..=1.0 / (all - m) + slack).contains(&c) {
            return Some(fill(c, lowest));
        }
    }
    // So many places that victims are empty.
    Some(fill(1.0 / all, 0))
}

/// The best of `choices` blocks that are drawn at random with replacement, among all blocks or
/// among those with an invalid unit (Van Houdt, SIGMETRICS 2013).
///
/// With the share S of blocks that have i or more valid units, a victim has fewer than i with
/// probability 1 - S^d, which is the rate at which blocks leave level i: g i f(i) = 1 - S^d. Fully
/// valid blocks, where they are never drawn, leave their level as fast as blocks are filled. g
/// follows from the number of valid units.
pub fn best_of(choices: u32, alpha: f64, block_units: u32, only_invalid: bool) -> Option<Levels> {
    if alpha <= 1.0 || block_units < 2 || choices == 0 {
        return None;
    }
    let target = f64::from(block_units) / alpha;
    let mean = |share: &[f64]| -> f64 { (0u32..).zip(share).map(|(i, f)| f64::from(i) * f).sum() };
    // A = alpha / g is at least 1.
    let (mut low, mut high) = (0.0, alpha);
    for _ in 0..60 {
        let rate = 0.5 * (low + high);
        if mean(&levels_at(rate, choices, block_units, only_invalid)) > target {
            low = rate;
        } else {
            high = rate;
        }
    }
    let rate = 0.5 * (low + high);
    let share = levels_at(rate, choices, block_units, only_invalid);
    let error = mean(&share) / target - 1.0;
    (error.abs() < 1e-6).then(|| Levels { write_amplification: alpha / rate, share })
}

/// The shares of levels where a valid unit is lost at `rate` for each block that is cleaned.
fn levels_at(rate: f64, choices: u32, block_units: u32, only_invalid: bool) -> Vec<f64> {
    let mut share = vec![0.0; block_units as usize + 1];
    let mut above = 0.0;
    let mut never = 0.0;
    for level in (1..=block_units).rev() {
        let loss = rate * f64::from(level);
        let found = if only_invalid && level == block_units {
            never = (1.0 / loss).min(1.0);
            never
        } else {
            leaving(loss, above, never, choices)
        };
        share[level as usize] = found;
        above += found;
    }
    share[0] = (1.0 - above).max(0.0);
    share
}

/// Solves loss f = 1 - ((above + f - never) / (1 - never))^d: the left side rises, the right side
/// falls, and the difference is convex, so that Newton's steps from the right end stay on its side.
fn leaving(loss: f64, above: f64, never: f64, choices: u32) -> f64 {
    let drawn = 1.0 - never;
    let mut found = 1.0 - above;
    if drawn <= 0.0 || found <= 0.0 {
        return 0.0;
    }
    for _ in 0..100 {
        let base = (above + found - never) / drawn;
        let below = power(base, choices - 1);
        let excess = loss * found - 1.0 + below * base;
        let step = excess / (loss + f64::from(choices) * below / drawn);
        found = (found - step).max(0.0);
        if step <= 1e-15 {
            break;
        }
    }
    found
}

/// A power with a whole exponent, by squaring: the same digits on every machine.
fn power(mut base: f64, mut exponent: u32) -> f64 {
    let mut product = 1.0;
    while exponent > 0 {
        if exponent & 1 == 1 {
            product *= base;
        }
        base *= base;
        exponent >>= 1;
    }
    product
}

/// Units of one temperature.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Class {
    /// Logical units.
    pub units: f64,
    /// The share of host writes that goes to them, each alike.
    pub writes: f64,
}

impl Class {
    /// How often a unit is written, for each host write.
    fn rate(self) -> f64 {
        if self.units > 0.0 { self.writes / self.units } else { 0.0 }
    }
}

/// How ages of blocks are spread. Ages count host writes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ages {
    /// Evenly from 0 to this age, at which blocks are cleaned.
    Until(f64),
    /// Cleaned at any age, with this mean.
    Mean(f64),
}

/// The steady state of a pool whose blocks are cleaned whatever they hold: a unit of class k is
/// still valid at age a with probability exp(-rate(k) a), so two temperatures are exact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ByAge {
    /// Writes to the array for each write of the host.
    pub write_amplification: f64,
    /// The ages of blocks.
    pub ages: Ages,
    /// How often a unit of each class is written, for each host write.
    pub rates: [f64; 2],
    /// The share of each class among the units that cleaning copies.
    pub copied: [f64; 2],
}

/// First-in-first-out cleaning of `places` in use.
///
/// A unit is copied if it is valid at the age t of cleaning: of class k, writes(k) / (1 - x(k)) are
/// written for each host write, with x(k) = exp(-rate(k) t). Places are in use for t, so that
/// places = t sum writes(k) / (1 - x(k)), which rises with t. With one class this is [`fifo`].
pub fn fifo_by_age(places: f64, classes: [Class; 2]) -> Option<ByAge> {
    let units = classes[0].units + classes[1].units;
    if places <= units {
        return None;
    }
    let written = |age: f64| {
        classes.map(|class| {
            let lost = -libm::expm1(-class.rate() * age);
            if class.writes > 0.0 { class.writes / lost } else { 0.0 }
        })
    };
    // Units that are never written stay valid for ever and are copied at every turn.
    let resting = |age: f64| {
        classes.iter().filter(|class| class.writes <= 0.0).map(|class| class.units / age).sum()
    };
    let needed = |age: f64| {
        let still: f64 = resting(age);
        age * (written(age).iter().sum::<f64>() + still)
    };
    let (mut low, mut high) = (0.0, places);
    if needed(high) < places {
        return None;
    }
    for _ in 0..200 {
        let age = 0.5 * (low + high);
        if needed(age) < places { low = age } else { high = age }
    }
    let age = high;
    let written = written(age);
    let copied: [f64; 2] = std::array::from_fn(|k| {
        let class = classes[k];
        if class.writes > 0.0 { written[k] - class.writes } else { class.units / age }
    });
    Some(ByAge::new(Ages::Until(age), classes, copied))
}

/// Cleaning of a random block among all, with `places` in use. Every place is cleaned equally
/// often, whatever it holds, so temperature changes nothing but the make-up of blocks.
pub fn random_by_age(places: f64, classes: [Class; 2]) -> Option<ByAge> {
    let units = classes[0].units + classes[1].units;
    let amplification = random(places / units)?;
    let mean = places / amplification;
    Some(ByAge::new(Ages::Mean(mean), classes, classes.map(|class| class.units / mean)))
}

/// The probability that fewer than `gain` of so many units are invalid, each of which is valid with
/// probability `valid`: the first terms of a binomial distribution.
fn few_invalid(units: u32, gain: u32, valid: f64) -> f64 {
    let (valid, mut sum) = (valid.clamp(1e-300, 1.0), 0.0);
    let mut term = libm::pow(valid, f64::from(units));
    for invalid in 0..gain.min(units) {
        sum += term;
        term *= f64::from(units - invalid) / f64::from(invalid + 1) * (1.0 - valid) / valid;
    }
    sum.min(1.0)
}

impl ByAge {
    /// From what is copied of each class for each host write.
    fn new(ages: Ages, classes: [Class; 2], copied: [f64; 2]) -> Self {
        let all = copied[0] + copied[1];
        Self {
            write_amplification: 1.0 + all,
            ages,
            rates: classes.map(Class::rate),
            copied: copied.map(|part| if all > 0.0 { part / all } else { 0.0 }),
        }
    }

    /// The same of first-in-first-out cleaning of one class that passes over blocks of so many
    /// units without an invalid one. All units of a block are valid with probability u^B, where
    /// one of them is with u, and such a block is as one that has just been written. So the others
    /// gain more, by 1 / (1 - u^B), and A = (1 - u^B) / (1 - u).
    #[must_use]
    pub fn passing_over(self, block_units: u32) -> Self {
        let valid = 1.0 - 1.0 / self.write_amplification;
        let whole = libm::pow(valid, f64::from(block_units));
        Self { write_amplification: self.write_amplification * (1.0 - whole), ..self }
    }

    /// The share of blocks of so many units that have fewer than `gain` invalid ones when a victim
    /// rule comes by: at the age at which all are cleaned, or at a random age. Of classes it is
    /// that of the blocks of the class that is written least: blocks of it that are passed over
    /// become more and more.
    pub fn without_gain(&self, units: u32, gain: u32) -> f64 {
        let ages = match self.ages {
            Ages::Until(last) => vec![last],
            Ages::Mean(_) => (0..100).map(|at| self.age((f64::from(at) + 0.5) / 100.0)).collect(),
        };
        let rate = (0..2).filter(|k| self.copied[*k] > 0.0).map(|k| self.rates[k]);
        let rate = rate.fold(f64::INFINITY, f64::min);
        let at_age = |age: f64| few_invalid(units, gain, libm::exp(-rate * age));
        ages.iter().map(|age| at_age(*age)).sum::<f64>() / ages.len() as f64
    }

    /// The age below which the given share of blocks is.
    pub fn age(&self, share: f64) -> f64 {
        match self.ages {
            Ages::Until(last) => share * last,
            Ages::Mean(mean) => -mean * libm::log1p(-share.min(1.0 - 1e-12)),
        }
    }
}

#[cfg(test)]
#[path = "analytic_tests.rs"]
mod tests;

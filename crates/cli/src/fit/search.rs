//! The search: values of keys with which a device comes near the measured cells.
//!
//! Keys are searched by the logarithm of their value, because times and rates differ by factors.
//! Nelder and Mead's simplex needs no derivatives, which percentiles of a run do not have. Every
//! run has the same seed, so the cost is a function of the keys.

use super::cells::{Cell, Figure};
use super::keys::Keys;
use super::model::{Model, Setting};
use anyhow::Result;
use argmin::core::{CostFunction, Error, Executor, State};
use argmin::solver::neldermead::NelderMead;
use flashyard_core::key::{Kind, Value};
use flashyard_sim::config::show_value;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A key that is fitted.
#[derive(Clone, Debug)]
pub(crate) struct Parameter {
    /// `section.key`.
    pub(crate) key: String,
    pub(crate) kind: Kind,
    /// Bounds of the stored value.
    pub(crate) low: u64,
    pub(crate) high: u64,
    /// The key counts parts of the device: only powers of two are tried.
    pub(crate) is_count: bool,
}

impl Parameter {
    /// A stored value as a device file has it.
    pub(crate) fn show(&self, value: u64) -> String {
        show_value(&self.kind, Value::Number(value))
    }

    /// The stored value of a place in the search, inside the bounds.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is clamped to bounds of the stored value, which are not negative"
    )]
    fn stored(&self, place: f64) -> u64 {
        (place.exp().round().clamp(self.low as f64, self.high as f64)) as u64
    }

    /// The values that a key of a count may have.
    pub(super) fn counts(&self) -> Vec<u64> {
        let powers = (0..u64::BITS).map(|bit| 1 << bit);
        powers.filter(|value| (self.low..=self.high).contains(value)).collect()
    }
}

/// Values of all parameters, in their order.
pub(crate) type Point = Vec<u64>;

/// A deviation below this, of the logarithm, counts little: the figures of percentiles are rounded
/// by less than 1 %, and runs of a drive differ by as much.
const SMALL: f64 = 0.01;

/// The deviation of a modelled figure from the measured one: the logarithm of their ratio.
pub(crate) fn deviation(measured: f64, modelled: f64) -> f64 {
    (modelled / measured).ln()
}

/// How far figures are from the measured ones: the weighted mean of the deviations' sizes. Sizes
/// and not squares, so that one figure that no device of this kind has does not decide all others.
pub(crate) fn distance(cells: &[Cell], figures: &[Vec<f64>]) -> f64 {
    let (mut sum, mut weights) = (0.0, 0.0);
    for ((figure, measured), modelled) in pairs(cells, figures) {
        let size = deviation(measured, modelled);
        // No such figure, or a rate of 0: as wrong as a factor of a hundred.
        let size = if size.is_finite() { size } else { 100.0_f64.ln() };
        sum += figure.weight() * (size.hypot(SMALL) - SMALL);
        weights += figure.weight();
    }
    if weights == 0.0 { 0.0 } else { sum / weights }
}

/// Each measured figure with the modelled one.
pub(crate) fn pairs<'a>(
    cells: &'a [Cell],
    figures: &'a [Vec<f64>],
) -> impl Iterator<Item = ((Figure, f64), f64)> + 'a {
    let of = |(cell, figures): (&'a Cell, &'a Vec<f64>)| {
        cell.measured.iter().copied().zip(figures.iter().copied())
    };
    cells.iter().zip(figures).flat_map(of)
}

/// A round of the search.
struct Round {
    /// Points that it begins with.
    keep: usize,
    /// How long its runs are, as a divisor of the requests of a run.
    share: u64,
    /// The first step of its simplex, as a share of a value.
    step: f64,
}

const ROUNDS: [Round; 4] = [
    Round { keep: 6, share: 8, step: 0.3 },
    Round { keep: 3, share: 4, step: 0.2 },
    Round { keep: 1, share: 2, step: 0.15 },
    Round { keep: 1, share: 1, step: 0.1 },
];

/// A search over the training cells.
pub(crate) struct Search<'a> {
    pub(crate) model: &'a Model,
    pub(crate) cells: &'a [Cell],
    pub(crate) keys: &'a Keys,
    /// Runs of all cells that the search may take.
    pub(crate) evaluations: usize,
    /// Those it has taken.
    pub(crate) taken: AtomicUsize,
    /// Told after each.
    pub(crate) tell: &'a (dyn Fn() + Sync),
}

impl Search<'_> {
    /// The cost of a point with runs of a share of the requests. A device that cannot exist costs
    /// more than any other.
    fn cost(&self, point: &Point, share: u64) -> f64 {
        self.taken.fetch_add(1, Ordering::Relaxed);
        (self.tell)();
        let figures = self.model.shorter(share).figures(self.cells, &self.keys.settings(point));
        figures.map_or(f64::MAX, |figures| distance(self.cells, &figures))
    }

    /// The best point that was found.
    pub(crate) fn best(&self) -> Result<Point> {
        // A device that cannot exist, or cells that it cannot run, are the user's to know.
        self.model.figures(self.cells, &self.keys.settings(&self.keys.starts[0]))?;
        let mut candidates: Vec<Point> = Vec::new();
        for start in &self.keys.starts {
            candidates.extend(self.combinations(start));
        }
        // Each round has fewer starts and longer runs than the one before. The simplex stalls where
        // runs are short, and a fresh one from there goes on.
        for Round { keep, share, step } in ROUNDS {
            let mut found = Vec::new();
            for point in &candidates {
                found.push((self.cost(point, share), point.clone()));
            }
            found.sort_by(|a, b| a.0.total_cmp(&b.0));
            found.truncate(keep);
            let rounds = ROUNDS.len() as f64;
            let budget = self.evaluations as f64 / rounds / found.len() as f64;
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
            let budget = budget as usize;
            for (cost, point) in &mut found {
                let next = self.simplex(point, budget, step, share)?;
                if next.0 < *cost {
                    (*cost, *point) = next;
                }
            }
            found.sort_by(|a, b| a.0.total_cmp(&b.0));
            candidates = found.into_iter().map(|(_, point)| point).collect();
        }
        Ok(candidates.swap_remove(0))
    }

    /// The start with every combination of counts.
    fn combinations(&self, start: &Point) -> Vec<Point> {
        let mut all = vec![start.clone()];
        for (place, parameter) in self.keys.parameters.iter().enumerate() {
            if !parameter.is_count {
                continue;
            }
            let with = |point: &Point, value| {
                let mut point = point.clone();
                point[place] = value;
                point
            };
            let counts = parameter.counts();
            all =
                all.iter().flat_map(|p| counts.iter().map(move |&value| with(p, value))).collect();
        }
        all
    }

    /// The best point that a simplex finds from a start, counts as they are.
    fn simplex(&self, start: &Point, budget: usize, step: f64, share: u64) -> Result<(f64, Point)> {
        let free: Vec<usize> =
            (0..start.len()).filter(|&place| !self.keys.parameters[place].is_count).collect();
        if free.is_empty() || budget <= free.len() + 1 {
            return Ok((self.cost(start, share), start.clone()));
        }
        let at = |place: usize| (start[place].max(1) as f64).ln();
        let first: Vec<f64> = free.iter().map(|&place| at(place)).collect();
        let mut corners = vec![first.clone()];
        for (number, &place) in free.iter().enumerate() {
            let mut corner = first.clone();
            // Away from a bound.
            let high = (self.keys.parameters[place].high as f64).ln();
            corner[number] += if corner[number] + step > high { -step } else { step };
            corners.push(corner);
        }
        let problem = OfSimplex { search: self, start, free: &free, share };
        let solver = NelderMead::new(corners).with_sd_tolerance(1e-4)?;
        let rounds = u64::try_from(budget / 2)?;
        let result = Executor::new(problem, solver).configure(|s| s.max_iters(rounds)).run()?;
        let state = result.state();
        let best = state.get_best_param().cloned().unwrap_or(first);
        let problem = OfSimplex { search: self, start, free: &free, share };
        Ok((state.get_best_cost(), problem.point(&best)))
    }
}

/// The settings of a point.
pub(crate) fn settings(parameters: &[Parameter], point: &[u64]) -> Vec<Setting> {
    let pairs = parameters.iter().zip(point);
    pairs.map(|(parameter, &value)| (parameter.key.clone(), parameter.show(value))).collect()
}

/// What the simplex sees: the keys that are no counts.
struct OfSimplex<'a> {
    search: &'a Search<'a>,
    start: &'a Point,
    free: &'a [usize],
    share: u64,
}

impl OfSimplex<'_> {
    fn point(&self, places: &[f64]) -> Point {
        let mut point = self.start.clone();
        for (&place, at) in self.free.iter().zip(places) {
            point[place] = self.search.keys.parameters[place].stored(*at);
        }
        point
    }
}

impl CostFunction for OfSimplex<'_> {
    type Param = Vec<f64>;
    type Output = f64;

    fn cost(&self, places: &Self::Param) -> Result<f64, Error> {
        Ok(self.search.cost(&self.point(places), self.share))
    }
}

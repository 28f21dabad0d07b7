//! The search: values of keys with which a device comes near the measured cells.
//!
//! Keys that count or choose are tried value by value from each start. The others are searched by
//! the logarithm of their value, because times and rates differ by factors. The covariance matrix
//! adaptation evolution strategy (CMA-ES) needs no derivatives, which percentiles of a run do not
//! have, and follows keys that trade off. Every run has the same seed, so the cost is a function of
//! the keys, and the search has one seed as well: a fit can be repeated. At the end a few steps
//! follow the slopes of the figures.

pub use super::parameter::{Parameter, Point};
pub use super::slopes::pairs;

use super::cells::Cell;
use super::declared::COMPANIONS;
use super::keys::Keys;
use super::model::Model;
use super::slopes::{Moves, Slopes, deviation, slopes};
use anyhow::{Context, Result};
use cmaes::{CMAESOptions, DVector};
use nalgebra::DMatrix;
use rayon::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A deviation below this, of the logarithm, counts little: the figures of percentiles are rounded
/// by less than 1 %, and runs of a drive differ by as much.
const SMALL: f64 = 0.01;

/// A deviation of this size counts ln 2 times itself, and greater ones ever less: what no device of
/// this kind can reach does not pull at what it can. Assumed.
const LARGE: f64 = 0.5;

/// How far figures are from the measured ones: the weighted mean of the deviations' sizes. Sizes
/// and not squares, so that one figure that no device of this kind has does not decide all others.
pub fn distance(cells: &[Cell], figures: &[Vec<f64>]) -> f64 {
    let (mut sum, mut weights) = (0.0, 0.0);
    for pair in pairs(cells, figures) {
        let size = pair.deviation();
        // No such figure, or a rate of 0: as wrong as a factor of a hundred.
        let size = if size.is_finite() { size } else { 100.0_f64.ln() };
        sum += pair.weight * LARGE * ((size.hypot(SMALL) - SMALL) / LARGE).ln_1p();
        weights += pair.weight;
    }
    if weights == 0.0 { 0.0 } else { sum / weights }
}

/// Deviations of figures that no device of this kind can help, of the logarithm: a key that is d
/// deviations from its prior costs as much as d^2 / 2 means that are this far off. Assumed, after
/// the drives of docs/BOARD.md.
const NOISE: f64 = 0.04;

/// A round of the search.
struct Round {
    /// Points that it begins with, the best of the round before.
    keep: usize,
    /// Whether the values of discrete keys are tried first.
    tries: bool,
    /// How long its runs are, as a divisor of the requests of a run.
    share: u64,
    /// Its first spread, in steps.
    spread: f64,
    /// Its share of the evaluations, those of the tries included.
    budget: f64,
}

/// How often a step along the slopes is shortened, and by which share the cost has to fall for them
/// to be found again.
const TRIES: usize = 4;
const GAIN: f64 = 0.01;

/// Wide searches with short runs from several starts, then narrow ones with long runs.
const ROUNDS: [Round; 3] = [
    Round { keep: 3, tries: true, share: 8, spread: 0.8, budget: 0.5 },
    Round { keep: 1, tries: true, share: 4, spread: 0.5, budget: 0.3 },
    Round { keep: 1, tries: false, share: 1, spread: 0.1, budget: 0.2 },
];

/// Generations of the evolution at least: one or two only try points around the start, each of
/// which costs as much as a step along the slopes.
const GENERATIONS: usize = 3;

/// A key tells if a step by this factor moves the figures by this much on average, from any start.
const FACTOR: f64 = 1.6;
const MOVES: f64 = 0.004;
/// One start in so many is asked. They follow one another by what they assume, so these differ the
/// most.
const APART: usize = 4;

/// A search over the training cells.
#[derive(Debug)]
pub struct Search<'a> {
    /// What runs the cells.
    pub model: &'a Model,
    /// What was measured.
    pub cells: &'a [Cell],
    /// What is searched.
    pub keys: &'a Keys,
    /// Runs of all cells that the search may take.
    pub evaluations: usize,
    /// Those it has taken.
    pub taken: AtomicUsize,
}

impl Search<'_> {
    /// The cost of a point with runs of a share of the requests. A device that cannot exist costs
    /// more than any other.
    fn cost(&self, point: &Point, share: u64) -> f64 {
        self.cost_and_figures(point, share).0
    }

    /// The same with the figures of these runs; none where the device cannot exist.
    fn cost_and_figures(&self, point: &Point, share: u64) -> (f64, Vec<Vec<f64>>) {
        self.taken.fetch_add(1, Ordering::Relaxed);
        let figures = self.model.shorter(share).figures(self.cells, &self.keys.settings(point));
        figures.map_or((f64::MAX, Vec::new()), |figures| {
            let far = distance(self.cells, &figures);
            (far + self.prior_price() * self.keys.away(point), figures)
        })
    }

    /// What one deviation from a prior costs, as the figures' weighted mean counts.
    fn prior_price(&self) -> f64 {
        let weights = self.cells.iter().flat_map(Cell::weights);
        let weights: f64 = weights.sum();
        NOISE / 2.0 / weights.max(1.0)
    }

    /// Which keys the cells tell, in the order of the keys: those that move figures from one of the
    /// starts at least, those that count or choose, and mechanisms that a start turns on.
    pub fn told(&self) -> Vec<bool> {
        let model = self.model.shorter(ROUNDS[0].share);
        let figures = |point: &Point| {
            self.taken.fetch_add(1, Ordering::Relaxed);
            model.figures(self.cells, &self.keys.settings(point))
        };
        let parameters = &self.keys.parameters;
        let turned_on =
            |place: usize, off| self.keys.starts.iter().any(|start| start[place] != off);
        let known = |(place, parameter): (usize, &Parameter)| {
            parameter.is_discrete() || parameter.off.is_some_and(|off| turned_on(place, off))
        };
        let mut told: Vec<bool> = parameters.iter().enumerate().map(known).collect();
        for start in self.keys.starts.iter().step_by(APART) {
            let Ok(here) = figures(start) else { continue };
            let tells = |(place, parameter): (usize, &Parameter)| {
                let logarithm = (start[place].max(1) as f64).ln();
                let steps = [FACTOR.ln(), -FACTOR.ln()];
                let mut values = steps.map(|step| parameter.stored(logarithm + step));
                if parameter.off.is_some() {
                    values = [parameter.middle(), parameter.middle()];
                }
                let moves = |value: &u64| {
                    let mut point = start.clone();
                    point[place] = *value;
                    // A device that cannot exist tells nothing.
                    figures(&point).is_ok_and(|there| moved(self.cells, &here, &there) > MOVES)
                };
                told[place] || values.iter().filter(|value| **value != start[place]).any(moves)
            };
            told = parameters.par_iter().enumerate().map(tells).collect();
        }
        let place = |key: &str| parameters.iter().position(|parameter| parameter.key == key);
        for (companion, of) in COMPANIONS {
            if let (Some(companion), Some(of)) = (place(companion), place(of)) {
                told[companion] = told[of];
            }
        }
        told
    }

    /// The best point that was found. `tell` is called once for each of the evaluations: a little
    /// more or less than that are taken.
    pub fn best(&self, tell: &(dyn Fn() + Sync)) -> Result<Point> {
        // Devices that cannot exist, or cells that they cannot run, are the user's to know.
        let figures = |start| self.model.figures(self.cells, &self.keys.settings(start));
        let (first, others) = self.keys.starts.split_first().context("there is a start")?;
        figures(first)
            .or_else(|error| others.iter().find_map(|start| figures(start).ok()).ok_or(error))?;
        let told = AtomicUsize::new(0);
        let step = || {
            if told.fetch_add(1, Ordering::Relaxed) < self.evaluations {
                tell();
            }
        };
        let share = ROUNDS[0].share;
        let cost = |point: &Point| {
            step();
            (self.cost(point, share), point.clone())
        };
        let mut candidates: Vec<_> = self.keys.starts.par_iter().map(cost).collect();
        for Round { keep, tries, share, spread, budget } in ROUNDS {
            candidates.sort_by(|a, b| a.0.total_cmp(&b.0));
            candidates.truncate(keep);
            let each = self.evaluations as f64 * budget / candidates.len() as f64;
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
            let each = each as usize;
            let mut found: Vec<(f64, Point)> = Vec::new();
            for (_, point) in candidates {
                let before = told.load(Ordering::Relaxed);
                let mut start = (self.cost(&point, share), point);
                if tries {
                    start = self.tried(start, share, &step);
                }
                let left = || each.saturating_sub(told.load(Ordering::Relaxed) - before);
                start = self.descend(start, share, left(), &step)?;
                let left = left();
                let better = self.evolve(&start.1, left, (spread, share), &step)?;
                let better = if better.0 < start.0 { better } else { start };
                if found.iter().all(|(_, known)| *known != better.1) {
                    found.push(better);
                }
            }
            candidates = found;
        }
        for _ in told.load(Ordering::Relaxed)..self.evaluations {
            tell();
        }
        candidates.sort_by(|a, b| a.0.total_cmp(&b.0));
        Ok(candidates.swap_remove(0).1)
    }

    /// The best of the points with other values of discrete keys, one key after the other, and with
    /// mechanisms that are on.
    fn tried(&self, mut best: (f64, Point), share: u64, step: &(dyn Fn() + Sync)) -> (f64, Point) {
        for (place, parameter) in self.keys.parameters.iter().enumerate() {
            let from = best.1.clone();
            let on = parameter.off.filter(|off| *off == from[place]).map(|_| parameter.middle());
            for &value in parameter.values.iter().chain(&on).filter(|value| **value != from[place])
            {
                step();
                let point = self.keys.with(&from, place, value);
                let cost = self.cost(&point, share);
                if cost < best.0 {
                    best = (cost, point);
                }
            }
        }
        best
    }

    /// The point that steps along the slopes lead to with the runs of the fit, from one that
    /// shorter runs found. `tell` is called for each run of all cells.
    pub fn polish(&self, start: Point, tell: &(dyn Fn() + Sync)) -> Result<Point> {
        let start = (self.cost(&start, 1), start);
        Ok(self.descend(start, 1, self.last_steps(), tell)?.1)
    }

    /// Runs of all cells that [`Search::polish`] may take.
    pub const fn last_steps(&self) -> usize {
        self.evaluations / 4
    }

    /// The point that steps along the slopes of all figures lead to (Gauss, Newton, Levenberg and
    /// Marquardt), with runs of a share of the requests, and at most so many evaluations. Each
    /// deviation is divided by its size, so that the sum of sizes falls and not that of squares;
    /// what is known of the keys before pulls them with its own slope. Each step teaches the slopes
    /// what it found; where they lead nowhere any more they are found anew.
    fn descend(
        &self,
        start: (f64, Point),
        share: u64,
        evaluations: usize,
        tell: &(dyn Fn() + Sync),
    ) -> Result<(f64, Point)> {
        let model = self.model.shorter(share);
        let mut best = start;
        let (mut damping, mut taken) = (0.01, 0);
        let free = self.keys.parameters.iter().filter(|one| !one.is_discrete()).count();
        while free > 0 && taken + free + 2 <= evaluations {
            let mut found = slopes(&model, self.cells, self.keys, &best.1, Moves::One)?;
            (0..=free).for_each(|_| tell());
            self.taken.fetch_add(free + 1, Ordering::Relaxed);
            taken += free + 1;
            let (before, mut failed) = (best.0, 0);
            while failed < TRIES && taken < evaluations {
                let Some(point) = self.lower(&best.1, &found, damping) else { break };
                tell();
                taken += 1;
                let (cost, figures) = self.cost_and_figures(&point, share);
                if cost < best.0 {
                    let way = found.free.iter().map(|&place| {
                        (point[place].max(1) as f64 / best.1[place].max(1) as f64).ln()
                    });
                    let way = DVector::from_iterator(found.free.len(), way);
                    found.learn(self.cells, &figures, &way);
                    best = (cost, point);
                    (damping, failed) = (damping * 0.2, 0);
                } else {
                    (damping, failed) = (damping * 5.0, failed + 1);
                }
            }
            if best.0 > before * (1.0 - GAIN) {
                break;
            }
            damping = 0.01;
        }
        Ok(best)
    }

    /// The point that a step along the slopes leads to; none where they lead nowhere.
    fn lower(&self, from: &Point, found: &Slopes, damping: f64) -> Option<Point> {
        let pull = |left: f64| left.abs().max(2.0 * SMALL) * (1.0 + left.abs() / LARGE);
        let weights = found.left.map(|left| pull(left).recip());
        let weighted = DMatrix::from_diagonal(&weights) * &found.of;
        let (mut square, mut down) = (weighted.tr_mul(&found.of), weighted.tr_mul(&found.left));
        for (row, &place) in found.free.iter().enumerate() {
            if let Some(prior) = self.keys.parameters[place].prior {
                square[(row, row)] += NOISE * prior.deviation.powi(-2);
                down[row] += NOISE * prior.away(from[place]) / prior.deviation;
            }
        }
        for place in 0..found.free.len() {
            square[(place, place)] *= 1.0 + damping;
            square[(place, place)] += 1e-6;
        }
        let step = square.cholesky()?.solve(&down);
        let point = self.stepped(from, &found.free, step.as_slice());
        (point != *from).then_some(point)
    }

    /// A point with the logarithms of some keys lowered, each by a limited step.
    fn stepped(&self, from: &Point, free: &[usize], steps: &[f64]) -> Point {
        let mut point = from.clone();
        for (&place, step) in free.iter().zip(steps) {
            let logarithm = (from[place].max(1) as f64).ln() - step.clamp(-0.4, 0.4);
            point[place] = self.keys.parameters[place].stored(logarithm);
        }
        point
    }

    /// The best point that is found from a start, with the same values of discrete keys.
    fn evolve(
        &self,
        start: &Point,
        evaluations: usize,
        (spread, share): (f64, u64),
        step: &(dyn Fn() + Sync),
    ) -> Result<(f64, Point)> {
        let all = self.keys.parameters.iter().enumerate();
        let free: Vec<(usize, &Parameter)> = all.filter(|(_, one)| !one.is_discrete()).collect();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
        let generation = 4 + (3.0 * (free.len() as f64).ln()) as usize;
        if free.is_empty() || evaluations < GENERATIONS * generation {
            return Ok((self.cost(start, share), start.clone()));
        }
        let place = |(at, parameter): &(usize, &Parameter)| {
            (start[*at].max(1) as f64).ln() / parameter.step()
        };
        let first: Vec<f64> = free.iter().map(place).collect();
        let point = |places: &DVector<f64>| -> Point {
            let mut point = start.clone();
            for ((at, parameter), place) in free.iter().zip(places.iter()) {
                point[*at] = parameter.stored(place * parameter.step());
            }
            point
        };
        // How far places are outside the bounds, in steps.
        let outside = |places: &DVector<f64>| -> f64 {
            let places = free.iter().zip(places.iter());
            let far = places.map(|((_, parameter), at)| {
                let ((low, high), at) = (parameter.bounds(), at * parameter.step());
                (low - at).max(at - high).max(0.0) / parameter.step()
            });
            far.sum()
        };
        let cost = |places: &DVector<f64>| {
            step();
            self.cost(&point(places), share) + 0.1 * outside(places)
        };
        let mut search = CMAESOptions::new(first, spread)
            .seed(1)
            .population_size(generation)
            .max_function_evals(evaluations)
            .build(cost)
            .ok()
            .context("the search cannot begin")?;
        let found = search.run_parallel().overall_best;
        let best = found.context("the search found no point")?;
        let best = point(&best.point);
        Ok((self.cost(&best, share), best))
    }
}

/// By how much figures differ on average, of the logarithm, by their weight.
fn moved(cells: &[Cell], here: &[Vec<f64>], there: &[Vec<f64>]) -> f64 {
    let (mut sum, mut weights) = (0.0, 0.0);
    for (before, after) in pairs(cells, here).zip(pairs(cells, there)) {
        let size = deviation(before.modelled, after.modelled).abs();
        if size.is_finite() {
            sum += before.weight * size;
            weights += before.weight;
        }
    }
    if weights == 0.0 { 0.0 } else { sum / weights }
}

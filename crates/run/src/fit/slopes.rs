//! How figures differ from the measured ones, and how they change with keys.

use super::cell::{Cell, Figure};
use super::keys::Keys;
use super::model::Model;
use super::parameter::Point;
use anyhow::Result;
use nalgebra::{DMatrix, DVector};
use rayon::prelude::*;

/// How far a key is moved to find slopes.
const STEP: f64 = 0.05;

/// The deviation of a modelled figure from the measured one: the logarithm of their ratio.
pub(super) fn deviation(measured: f64, modelled: f64) -> f64 {
    (modelled / measured).ln()
}

/// A measured figure with the modelled one.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    /// What was measured.
    pub figure: Figure,
    /// How much its deviation counts.
    pub weight: f64,
    /// Its value of the drive.
    pub measured: f64,
    /// Its value of a run.
    pub modelled: f64,
}

impl Pair {
    /// The deviation of the modelled figure from the measured one: the logarithm of their ratio.
    pub fn deviation(self) -> f64 {
        deviation(self.measured, self.modelled)
    }

    /// Whether the figure counts, and a run has it.
    fn is_usable(self) -> bool {
        self.weight > 0.0 && self.modelled.is_finite() && self.modelled > 0.0
    }
}

/// Each measured figure with the modelled one.
pub fn pairs<'a>(cells: &'a [Cell], figures: &'a [Vec<f64>]) -> impl Iterator<Item = Pair> + 'a {
    let of = |(cell, figures): (&'a Cell, &'a Vec<f64>)| {
        let both = cell.measured.iter().zip(figures);
        both.map(|(&(figure, measured), &modelled)| Pair {
            figure,
            weight: cell.weight(figure),
            measured,
            modelled,
        })
    };
    cells.iter().zip(figures).flat_map(of)
}

/// How figures change with keys, around a point.
#[derive(Clone, Debug)]
pub struct Slopes {
    /// Places of the keys that are no counts: the columns.
    pub free: Vec<usize>,
    /// Change of the logarithm of a figure over that of a key, times the root of the figure's
    /// weight.
    pub of: DMatrix<f64>,
    /// Deviations of the figures, times the same root.
    pub left: DVector<f64>,
}

/// How a key is moved to find slopes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moves {
    /// Up and down.
    Both,
    /// Up, and at its upper bound down.
    One,
}

/// Finds the slopes of all figures that count, by moving each key.
pub fn slopes(
    model: &Model,
    cells: &[Cell],
    keys: &Keys,
    at: &Point,
    moves: Moves,
) -> Result<Slopes> {
    let free: Vec<usize> =
        (0..at.len()).filter(|&place| !keys.parameters[place].is_discrete()).collect();
    let here = model.figures(cells, &keys.settings(at))?;
    let left = left(cells, &here);
    // The figures below and above of each key, and how far apart they are.
    let around = |&place: &usize| {
        let (mut low, high) = (moved(keys, at, place, -STEP), moved(keys, at, place, STEP));
        if moves == Moves::One && high != *at {
            low.clone_from(at);
        }
        let width = (high[place].max(1) as f64 / low[place].max(1) as f64).ln();
        if width <= 0.0 {
            return None;
        }
        let ends = [&low, &high].map(|end| {
            let is_here = end == at;
            if is_here { Ok(here.clone()) } else { model.figures(cells, &keys.settings(end)) }
        });
        // At the edge of what can exist there is no slope.
        let [Ok(below), Ok(above)] = ends else { return None };
        Some((below, above, width))
    };
    let around: Vec<_> = free.par_iter().map(around).collect();
    let mut slopes = DMatrix::<f64>::zeros(left.len(), free.len());
    for (column, around) in around.iter().enumerate() {
        let Some((below, above, width)) = around else { continue };
        let ends = pairs(cells, below).zip(pairs(cells, above)).enumerate();
        for (row, (below, above)) in ends.filter(|(_, (a, b))| a.is_usable() && b.is_usable()) {
            let change = deviation(below.modelled, above.modelled);
            slopes[(row, column)] = below.weight.sqrt() * change / width;
        }
    }
    Ok(Slopes { free, of: slopes, left })
}

/// Deviations of the figures, times the root of their weights; 0 of those without a slope.
fn left(cells: &[Cell], figures: &[Vec<f64>]) -> DVector<f64> {
    let of = |pair: Pair| {
        if pair.is_usable() { pair.weight.sqrt() * pair.deviation() } else { 0.0 }
    };
    DVector::from_vec(pairs(cells, figures).map(of).collect())
}

impl Slopes {
    /// Learns from figures of another point, so far away in the logarithms of the free keys
    /// (Broyden's update): the slopes along the way there become what was found.
    pub fn learn(&mut self, cells: &[Cell], figures: &[Vec<f64>], way: &DVector<f64>) {
        let there = left(cells, figures);
        let found = &there - &self.left;
        if way.norm_squared() > 0.0 {
            let missed = found - &self.of * way;
            self.of += missed * way.transpose() / way.norm_squared();
        }
        self.left = there;
    }
}

/// The point with one key moved by a share, inside its bounds.
fn moved(keys: &Keys, at: &Point, place: usize, share: f64) -> Point {
    let parameter = &keys.parameters[place];
    let value = at[place] as f64 * (1.0 + share);
    let value = if share > 0.0 { value.ceil() } else { value.floor() };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped")]
    let value = value.clamp(parameter.low as f64, parameter.high as f64) as u64;
    let mut point = at.clone();
    point[place] = value;
    point
}

#[cfg(test)]
mod tests {
    use super::super::cells::{Class, What};
    use super::*;

    /// Behind a step, the slopes give what the step found, and along others what they gave before.
    #[test]
    fn slopes_learn_what_a_step_found() {
        let figure = |value| (Figure { class: Class::Read, what: What::Mean }, value);
        let cell = Cell {
            place: "a cell".to_string(),
            drive: String::new(),
            ran: Vec::new(),
            measured: vec![figure(100.0), figure(50.0)],
        };
        let (cells, before) = ([cell], [vec![120.0, 50.0]]);
        let of = DMatrix::from_row_slice(2, 2, &[1.0, 0.5, 0.0, 2.0]);
        let mut slopes = Slopes { free: vec![0, 1], of: of.clone(), left: left(&cells, &before) };
        let way = DVector::from_vec(vec![-0.3, 0.0]);
        slopes.learn(&cells, &[vec![100.0, 40.0]], &way);
        let found = &slopes.of * &way;
        assert!((found[0] - (100.0_f64 / 120.0).ln()).abs() < 1e-12, "{found}");
        assert!((found[1] - 0.8_f64.ln()).abs() < 1e-12, "{found}");
        assert_eq!(slopes.of.column(1), of.column(1));
        assert!(slopes.left[0].abs() < 1e-12 && (slopes.left[1] - 0.8_f64.ln()).abs() < 1e-12);
    }
}

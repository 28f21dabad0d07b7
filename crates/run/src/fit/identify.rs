//! What the data can and cannot say about the keys of a fit.
//!
//! Near the fitted point the logarithms of the figures change in proportion to those of the keys.
//! The eigenvectors of J'WJ (J: these slopes, W: the weights of the figures) are combinations of
//! keys; along one with a small eigenvalue the figures hardly move, so that the data cannot tell
//! its keys apart.

use super::cells::Cell;
use super::keys::Keys;
use super::model::Model;
use super::search::{Point, deviation, pairs};
use anyhow::Result;
use nalgebra::{DMatrix, DVector, SymmetricEigen};

/// How far a key is moved to find slopes.
const STEP: f64 = 0.05;
/// An eigenvalue below this share of the largest one is small: moving along it by a factor changes
/// the figures less than a hundredth as much.
const SMALL: f64 = 1e-4;
/// Keys with less than this share of a combination are not named.
const SHARE: f64 = 0.3;

/// What is known of the keys after a fit.
#[derive(Clone, Debug)]
pub struct Known {
    /// By key: the standard error of its value as a share of it; infinite where nothing says
    /// anything about the key. Counts have none.
    pub errors: Vec<Option<f64>>,
    /// Keys that the data do not tell apart, or, of one key alone, do not depend on.
    pub confused: Vec<Vec<String>>,
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

/// Finds the slopes of all figures that count, by moving each key up and down.
pub fn slopes(model: &Model, cells: &[Cell], keys: &Keys, at: &Point) -> Result<Slopes> {
    let free: Vec<usize> =
        (0..at.len()).filter(|&place| !keys.parameters[place].is_count).collect();
    let here = model.figures(cells, &keys.settings(at))?;
    let all: Vec<_> = pairs(cells, &here).collect();
    let usable = |weight: f64, value: f64| weight > 0.0 && value.is_finite() && value > 0.0;
    let mut slopes = DMatrix::<f64>::zeros(all.len(), free.len());
    for (column, &place) in free.iter().enumerate() {
        let (low, high) = (moved(keys, at, place, -STEP), moved(keys, at, place, STEP));
        let width = (high[place].max(1) as f64 / low[place].max(1) as f64).ln();
        if width <= 0.0 {
            continue;
        }
        let below = model.figures(cells, &keys.settings(&low))?;
        let above = model.figures(cells, &keys.settings(&high))?;
        let ends = pairs(cells, &below).zip(pairs(cells, &above)).enumerate();
        for (row, (((figure, _), below), (_, above))) in ends {
            if usable(figure.weight(), below) && usable(figure.weight(), above) {
                slopes[(row, column)] = figure.weight().sqrt() * (above / below).ln() / width;
            }
        }
    }
    let left = all.iter().map(|((figure, measured), value)| {
        let is_usable = usable(figure.weight(), *value);
        if is_usable { figure.weight().sqrt() * deviation(*measured, *value) } else { 0.0 }
    });
    let left = DVector::from_iterator(all.len(), left);
    Ok(Slopes { free, of: slopes, left })
}

/// Finds out what cells say about the keys.
pub fn identify(model: &Model, cells: &[Cell], keys: &Keys, at: &Point) -> Result<Known> {
    let Slopes { free, of: slopes, left } = slopes(model, cells, keys, at)?;
    let counted = cells.iter().flat_map(|cell| &cell.measured);
    let count = counted.filter(|(figure, _)| figure.weight() > 0.0).count();
    let freedom = count.saturating_sub(free.len()).max(1);
    Ok(of_slopes(keys, &free, &slopes, left.norm_squared() / freedom as f64))
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

/// Errors and combinations, from weighted slopes and the mean square of what is left.
fn of_slopes(keys: &Keys, free: &[usize], slopes: &DMatrix<f64>, variance: f64) -> Known {
    let mut errors = vec![None; keys.parameters.len()];
    let eigen = SymmetricEigen::new(slopes.transpose() * slopes);
    let largest = eigen.eigenvalues.iter().copied().fold(0.0, f64::max);
    let is_small = |value: f64| value <= largest * SMALL;
    let mut confused = Vec::new();
    for (number, &value) in eigen.eigenvalues.iter().enumerate() {
        if is_small(value) {
            let vector = eigen.eigenvectors.column(number);
            let named = free.iter().zip(vector.iter()).filter(|(_, part)| part.abs() >= SHARE);
            confused.push(named.map(|(&place, _)| keys.parameters[place].key.clone()).collect());
        }
    }
    for (row, &place) in free.iter().enumerate() {
        let parts = eigen.eigenvalues.iter().enumerate().map(|(number, &value)| {
            let part = eigen.eigenvectors[(row, number)].powi(2);
            if part < 1e-12 { 0.0 } else { part / value.max(0.0) }
        });
        errors[place] = Some((variance * parts.sum::<f64>()).sqrt());
    }
    Known { errors, confused }
}

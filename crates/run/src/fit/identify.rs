//! What the data can and cannot say about the keys of a fit.
//!
//! Near the fitted point the logarithms of the figures change in proportion to those of the keys.
//! The eigenvectors of J'WJ (J: these slopes, W: the weights of the figures) are combinations of
//! keys; along one with a small eigenvalue the figures hardly move, so that the data cannot tell
//! its keys apart. What is known of keys before (their priors) adds to what the cells say of each,
//! but tells no combination apart.

pub use super::slopes::{Moves, Slopes, slopes};

use super::cell::Cell;
use super::keys::Keys;
use super::model::Model;
use super::parameter::{Parameter, Point};
use crate::stats;
use anyhow::Result;
use nalgebra::{DMatrix, SymmetricEigen};

/// An eigenvalue below this share of the largest one is small: moving along it by a factor changes
/// the figures less than a hundredth as much.
const SMALL: f64 = 1e-4;
/// Keys with less than this share of a combination are not named.
const SHARE: f64 = 0.3;

/// The standard deviation over the median size, of what is normally distributed.
const NORMAL: f64 = 1.4826;
/// Figures are rounded, and runs repeat, to no better than this.
const LEAST: f64 = 0.005;

/// A standard error above this share of the prior's deviation: the cells hardly tell the key.
const HARDLY: f64 = 0.5;

/// What is known of the keys after a fit.
#[derive(Clone, Debug)]
pub struct Known {
    /// By key: the standard error of its value as a share of it; infinite where nothing says
    /// anything about the key. Counts have none.
    pub errors: Vec<Option<f64>>,
    /// By key: the values that are likely, stored, two standard errors on both sides, where the
    /// cells say little more of it than was known before.
    pub bands: Vec<Option<(u64, u64)>>,
    /// Keys that the data do not tell apart, or, of one key alone, do not depend on.
    pub confused: Vec<Vec<String>>,
}

/// Finds out what cells say about the keys.
pub fn identify(model: &Model, cells: &[Cell], keys: &Keys, at: &Point) -> Result<Known> {
    let Slopes { free, of: slopes, left } = slopes(model, cells, keys, at, Moves::Both)?;
    let counted = cells.iter().flat_map(Cell::weights).zip(left.iter());
    let sizes: Vec<f64> =
        counted.filter(|(weight, _)| *weight > 0.0).map(|(_, left)| left.abs()).collect();
    // By the median, as a fit to sizes of deviations has it: one figure that no device of this kind
    // reaches does not make all keys uncertain. Keys take up a part of what the figures tell.
    let freedom = sizes.len().saturating_sub(free.len()).max(1) as f64;
    let error = NORMAL * stats::median(&sizes).max(LEAST);
    let variance = error * error * sizes.len() as f64 / freedom;
    let mut known = of_slopes(keys, &free, &slopes, variance);
    let pairs = keys.parameters.iter().zip(&known.errors).zip(at);
    let band = |((parameter, error), value): ((&Parameter, &Option<f64>), &u64)| {
        let (error, prior) = ((*error)?, parameter.prior?);
        let middle = (*value as f64).max(1.0).ln();
        let ends = [middle - 2.0 * error, middle + 2.0 * error].map(|end| parameter.stored(end));
        (error > HARDLY * prior.deviation).then_some((ends[0], ends[1]))
    };
    known.bands = pairs.map(band).collect();
    Ok(known)
}

/// Errors and combinations, from weighted slopes and the mean square of what is left.
fn of_slopes(keys: &Keys, free: &[usize], slopes: &DMatrix<f64>, variance: f64) -> Known {
    let mut errors = vec![None; keys.parameters.len()];
    if free.is_empty() {
        return Known { errors, bands: Vec::new(), confused: Vec::new() };
    }
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
    // What the cells say, in units of one error of a figure, and what is known before.
    let mut information = slopes.transpose() * slopes / variance.max(1e-12);
    for (row, &place) in free.iter().enumerate() {
        let known = keys.parameters[place].prior.map_or(0.0, |prior| prior.deviation.powi(-2));
        information[(row, row)] += known;
    }
    let eigen = SymmetricEigen::new(information);
    for (row, &place) in free.iter().enumerate() {
        let parts = eigen.eigenvalues.iter().enumerate().map(|(number, &value)| {
            let part = eigen.eigenvectors[(row, number)].powi(2);
            if part < 1e-12 { 0.0 } else { part / value.max(0.0) }
        });
        errors[place] = Some(parts.sum::<f64>().sqrt());
    }
    Known { errors, bands: Vec::new(), confused }
}

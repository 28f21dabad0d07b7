//! A key that is fitted: its values, and steps between them.

use flashyard_core::key::{Kind, Value};
use flashyard_sim::config::show_value;

/// What is known of a key before any cell: a value, and how far from it others are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prior {
    /// The logarithm of the stored value.
    pub middle: f64,
    /// The standard deviation of the logarithm.
    pub deviation: f64,
}

impl Prior {
    /// How far a stored value is from the middle, in deviations.
    pub(super) fn away(self, value: u64) -> f64 {
        ((value.max(1) as f64).ln() - self.middle) / self.deviation
    }
}

/// A key that is fitted.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// `section.key`.
    pub key: String,
    /// What the key stores.
    pub kind: Kind,
    /// The least stored value.
    pub low: u64,
    /// The greatest stored value.
    pub high: u64,
    /// The only values of a key that counts parts of the device (powers of two) or names a way to
    /// work (places in the list of its words); none of other keys. A search tries them one by one.
    pub values: Vec<u64>,
    /// What is known of it before; nothing of keys that a user names.
    pub prior: Option<Prior>,
    /// Of a key that turns a mechanism on: the bound that stands for 0, which is off.
    pub off: Option<u64>,
}

impl Parameter {
    /// Whether the key has a few values only.
    pub const fn is_discrete(&self) -> bool {
        !self.values.is_empty()
    }

    /// A stored value as a device file has it.
    pub fn show(&self, value: u64) -> String {
        self.number(if self.off == Some(value) { 0 } else { value })
    }

    /// The ends of a range of stored values, where a mechanism that is off has a value too.
    pub fn between(&self, low: u64, high: u64) -> [String; 2] {
        [self.number(low), self.number(high)]
    }

    fn number(&self, value: u64) -> String {
        let value = match self.kind {
            Kind::Number { .. } => Value::Number(value),
            Kind::Choice(_) => Value::Choice(usize::try_from(value).unwrap_or(0)),
            Kind::Bool => Value::Bool(value > 0),
            Kind::List { .. } => unreachable!("no list is fitted"),
        };
        show_value(&self.kind, value)
    }

    /// The stored value of a logarithm, inside the bounds.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is clamped to bounds of the stored value, which are not negative"
    )]
    pub(super) fn stored(&self, logarithm: f64) -> u64 {
        logarithm.exp().round().clamp(self.low as f64, self.high as f64) as u64
    }

    /// A stored value inside the bounds, and of a discrete key the nearest of its values.
    pub(super) fn nearest(&self, value: u64) -> u64 {
        let far = |known: &&u64| known.abs_diff(value);
        let known = self.values.iter().min_by_key(far).copied();
        known.unwrap_or_else(|| value.clamp(self.low, self.high))
    }

    /// Logarithms of the bounds.
    pub(super) fn bounds(&self) -> (f64, f64) {
        ((self.low.max(1) as f64).ln(), (self.high as f64).ln())
    }

    /// The value in the middle of the bounds, by its logarithm.
    pub(super) fn middle(&self) -> u64 {
        let (low, high) = self.bounds();
        self.stored(f64::midpoint(low, high))
    }

    /// What a device has that does not say: a mechanism is off.
    pub(super) fn usual(&self) -> u64 {
        self.off.unwrap_or_else(|| self.middle())
    }

    /// One step of the search, of the logarithm.
    pub(super) fn step(&self) -> f64 {
        let (low, high) = self.bounds();
        ((high - low) / 8.0).max(1e-3)
    }

    /// The values that the prior leaves likely, two deviations on both sides.
    pub(super) fn likely(&self) -> Option<(u64, u64)> {
        let Prior { middle, deviation } = self.prior?;
        Some((self.stored(middle - 2.0 * deviation), self.stored(middle + 2.0 * deviation)))
    }
}

/// Values of all parameters, in their order.
pub type Point = Vec<u64>;

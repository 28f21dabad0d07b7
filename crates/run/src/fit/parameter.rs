//! A key that is fitted: its values, and steps between them.

use flashyard_core::key::{Kind, Value};
use flashyard_sim::config::show_value;

/// A key that is fitted.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// `section.key`.
    pub key: String,
    /// What the key stores.
    pub kind: Kind,
    /// The least stored value.
    pub low: u64,
    /// The greatest one.
    pub high: u64,
    /// The key counts parts of the device: only powers of two are tried.
    pub is_count: bool,
}

impl Parameter {
    /// A stored value as a device file has it.
    pub fn show(&self, value: u64) -> String {
        show_value(&self.kind, Value::Number(value))
    }

    /// The stored value of a logarithm, inside the bounds; of a count, the nearest power of two.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is clamped to bounds of the stored value, which are not negative"
    )]
    pub(super) fn stored(&self, logarithm: f64) -> u64 {
        let value = if self.is_count {
            (logarithm / std::f64::consts::LN_2).round().exp2()
        } else {
            logarithm.exp().round()
        };
        value.clamp(self.low as f64, self.high as f64) as u64
    }

    /// Logarithms of the bounds.
    pub(super) fn bounds(&self) -> (f64, f64) {
        ((self.low.max(1) as f64).ln(), (self.high as f64).ln())
    }

    /// One step of the search, of the logarithm.
    pub(super) fn step(&self) -> f64 {
        let (low, high) = self.bounds();
        ((high - low) / 8.0).max(1e-3)
    }
}

/// Values of all parameters, in their order.
pub type Point = Vec<u64>;

//! Reads that end early: a share of the mapping units that host reads need is held already, and a
//! page is sensed only if one of the units that are needed of it is not.
//!
//! The share stands for page registers, open rows and caches whose contents are not simulated. A
//! unit draws by the number of its request and its place there, so that the draw is the same under
//! every policy, and on a device that was restored.

use crate::config::Settings;
use crate::random::{STEP, mix};
use flashyard_core::units::Span;

/// Which units are held, and how long a read takes that needs no others.
#[derive(Clone, Copy, Debug)]
pub(super) struct Early {
    ppm: u64,
    time: Span,
    seed: u64,
}

impl Early {
    /// What the keys say; none if every read senses its page.
    pub(super) fn new(settings: &Settings) -> Option<Self> {
        let nand = &settings.keys.nand;
        let (ppm, time) = (nand.read_early_percent.ppm(), nand.read_early_us);
        let seed = mix(EARLY_SEED ^ nand.read_early_seed.wrapping_mul(STEP));
        (ppm > 0).then_some(Self { ppm, time, seed })
    }

    /// The time in the array of a read that ends early.
    pub(super) const fn time(&self) -> Span {
        self.time
    }

    /// Whether a unit of a request is held, by the number of the request and the place of the unit
    /// there.
    pub(super) fn holds(&self, order: u64, page: u32) -> bool {
        let request = mix(self.seed ^ order.wrapping_mul(STEP));
        let number = mix(request ^ u64::from(page).wrapping_mul(STEP));
        (u128::from(number) * 1_000_000) >> 64 < u128::from(self.ppm)
    }
}

/// What sets the random numbers of early reads apart from others.
const EARLY_SEED: u64 = 0x2545_F491_4F6C_DD1D;

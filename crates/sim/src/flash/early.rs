//! Reads that end early: what a share of the host's reads needs need not be sensed.
//!
//! The share stands for page registers, open rows and caches whose contents are not simulated. A
//! read draws by the number of its request and its page there, so that the draw is the same under
//! every policy, and on a device that was restored.

use crate::config::Settings;
use crate::random::{STEP, mix};
use flashyard_core::units::Span;

/// Which reads end early, and how long these take.
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

    /// The time in the array of a page of a request, by the number of the request, if that ends
    /// early.
    pub(super) fn time_of(&self, order: u64, page: u32) -> Option<Span> {
        let request = mix(self.seed ^ order.wrapping_mul(STEP));
        let number = mix(request ^ u64::from(page).wrapping_mul(STEP));
        ((u128::from(number) * 1_000_000) >> 64 < u128::from(self.ppm)).then_some(self.time)
    }
}

/// What sets the random numbers of early reads apart from others.
const EARLY_SEED: u64 = 0x2545_F491_4F6C_DD1D;

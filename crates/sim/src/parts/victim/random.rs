//! Random: any full block that gains, each with the same chance. O(1).
//!
//! Source: the reference point of the models of Van Houdt, SIGMETRICS 2013 (one choice, fully valid
//! blocks excluded).

use super::{Cleaning, Looks, VictimRule};
use crate::parts::blocks::FullBlocks;
use flashyard_core::units::BlockId;

flashyard_core::keys! {
    /// Random has no keys.
    pub struct RandomKeys {}
}

impl VictimRule for RandomKeys {
    fn looks(&self) -> Looks {
        Looks::RANDOM
    }

    fn victim(&self, full: &mut FullBlocks<'_>) -> Option<BlockId> {
        full.examine(1);
        full.draw()
    }

    fn cleaning(&self, _: u32) -> Cleaning {
        Cleaning::RandomInvalid
    }
}

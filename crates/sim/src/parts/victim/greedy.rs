//! Greedy: the full block with the fewest valid units; among equals the one that has had as few for
//! the longest time. From buckets, O(1) amortised.

use super::{Cleaning, VictimRule};
use crate::parts::blocks::FullBlocks;
use flashyard_core::units::BlockId;

flashyard_core::keys! {
    /// Greedy has no keys.
    pub struct GreedyKeys {}
}

impl VictimRule for GreedyKeys {
    fn victim(&self, full: &mut FullBlocks<'_>) -> Option<BlockId> {
        full.fewest_of_all()
    }

    fn cleaning(&self, _: u32) -> Cleaning {
        Cleaning::Greedy
    }
}

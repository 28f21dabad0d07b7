//! Cost-benefit: the greatest age x (1 - u) / (2 u), with u the share of valid units: what is freed
//! times how long it will stay so, over the cost of a read and a write of each valid unit.
//!
//! Source: Kawaguchi et al., USENIX 1995, after Rosenblum and Ousterhout, TOCS 1992 (who divide by
//! 1 + u, since they read whole segments). As there, the age counts from the last change of the
//! block: since it lost a unit or, if it has not, was filled. Age is measured in units written to
//! the plane instead of in seconds, so that pauses change nothing.
//!
//! Among blocks with equally many valid units the best is the one that has been longest in its
//! bucket, the first one. So one look at the head of each bucket finds the best of all blocks:
//! O(units of a block) a victim, O(1) a copied unit.

use super::{Cleaning, Looks, VictimRule};
use crate::parts::blocks::FullBlocks;
use flashyard_core::units::BlockId;

flashyard_core::keys! {
    /// Cost-benefit has no keys.
    pub struct CostBenefitKeys {}
}

/// The best of some blocks of so many units, which come as their valid units, their ages and their
/// names, those with fewer valid units first: the first one of those with the greatest score.
pub(crate) fn best<B>(units: u32, blocks: impl Iterator<Item = (u32, u64, B)>) -> Option<B> {
    let mut best: Option<(u128, u128, B)> = None;
    for (valid, age, block) in blocks {
        if valid == 0 {
            return Some(block);
        }
        // The score is gain / cost; the factor 2 is the same for all.
        let gain = u128::from(age) * u128::from(units - valid);
        let cost = u128::from(valid);
        if best.as_ref().is_none_or(|(most, least, _)| gain * least > most * cost) {
            best = Some((gain, cost, block));
        }
    }
    best.map(|(_, _, block)| block)
}

impl VictimRule for CostBenefitKeys {
    fn looks(&self) -> Looks {
        Looks::AGE
    }

    /// Equal scores: the block with the fewest valid units.
    fn victim(&self, full: &mut FullBlocks<'_>) -> Option<BlockId> {
        full.examine_all();
        let first = full.fewest()?;
        let heads = (full.valid_units(first)..full.gain_below()).filter_map(|valid| {
            let block = full.longest_with(valid)?;
            Some((valid, full.age(block), block))
        });
        best(full.block_units(), heads)
    }

    fn cleaning(&self, _: u32) -> Cleaning {
        Cleaning::CostBenefit
    }
}

//! First in, first out: the full block that was filled first.
//!
//! Source: Desnoyers, SYSTOR 2012 (LRU cleaning). There a block without gain is copied all the same
//! and so becomes the newest; here it becomes the newest without being copied, which costs neither
//! time nor wear. One step a block passed over.

use super::{Cleaning, Looks, VictimRule};
use crate::parts::blocks::FullBlocks;
use flashyard_core::units::BlockId;

flashyard_core::keys! {
    /// First in, first out has no keys.
    pub struct FifoKeys {}
}

impl VictimRule for FifoKeys {
    fn looks(&self) -> Looks {
        Looks::ORDER
    }

    fn victim(&self, full: &mut FullBlocks<'_>) -> Option<BlockId> {
        // Where one gains, the loop comes to it.
        full.fewest()?;
        loop {
            let oldest = full.oldest()?;
            full.examine(1);
            if full.gains(oldest) {
                return Some(oldest);
            }
            full.pass_over(oldest);
        }
    }

    fn cleaning(&self, _: u32) -> Cleaning {
        Cleaning::Fifo
    }
}

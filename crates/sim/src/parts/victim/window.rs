//! Window: a search looks at a share of the blocks that gain, in the order of block numbers, from
//! where the last search stopped. The victim is the block with the fewest valid units in this
//! window; among equal ones, the first. With 100 % the search begins at block 0 each time; with 0 %
//! the window is one block, drawn at random.
//!
//! Source: Park et al. 2011 (the search window of Fig. 6), who leave open where a window begins,
//! what equals mean and whether shares round up; here they do. What is found without looking at the
//! window block by block counts as looked at all the same. O(1) amortised for all of them, else a
//! step for every 64 blocks of the plane and one for every number of valid units.

use super::{Cleaning, Looks, VictimRule};
use crate::parts::blocks::FullBlocks;
use flashyard_core::key::Kind;
use flashyard_core::quantity::Ppm;
use flashyard_core::units::BlockId;

flashyard_core::keys! {
    /// Keys of `[gc.window]`.
    pub struct WindowKeys {
        /// Share of the candidates that each search looks at, rounded up. 0: one candidate, drawn
        /// at random.
        share_percent: Ppm = Ppm::ALL => {
            kind: Kind::percent(0, 1_000_000),
            source: "Park et al. 2011, Fig. 6: from one to all; all is assumed",
            flip: "0", with: &["@full", "gc.policy=window"],
        },
    }
}

impl VictimRule for WindowKeys {
    fn looks(&self) -> Looks {
        Looks::NUMBERS
    }

    fn victim(&self, full: &mut FullBlocks<'_>) -> Option<BlockId> {
        match self.share_percent {
            Ppm::ZERO => full.draw_by_number(),
            Ppm::ALL => full.fewest_of_all(),
            share => {
                let looked_at = share.of_up(u64::from(full.gaining()));
                full.window(u32::try_from(looked_at).expect("a share of a number of 32 bits"))
            }
        }
    }

    /// A share between: as drawn at random, which a window that moves on is not.
    fn cleaning(&self, blocks: u32) -> Cleaning {
        match self.share_percent {
            Ppm::ZERO => Cleaning::RandomInvalid,
            Ppm::ALL => Cleaning::Greedy,
            share => {
                let looked_at = share.of_up(u64::from(blocks));
                Cleaning::ChoicesInvalid(u32::try_from(looked_at).expect("a share of 32 bits"))
            }
        }
    }

    fn no_steady_state(&self) -> Option<String> {
        let between = !matches!(self.share_percent, Ppm::ZERO | Ppm::ALL);
        between.then(|| {
            "no steady state is known for a gc.window.share_percent between 0 and 100".to_string()
        })
    }
}

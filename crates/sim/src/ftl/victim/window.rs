//! Window: of the blocks that gain, the next ones by block number, from where the last search
//! stopped, as many as a share of them; the one with the fewest valid units is cleaned, the first
//! one among equals. With 100 % the search begins at block 0 each time; with 0 % it is one block,
//! drawn at random.
//!
//! Source: Park et al. 2011 (the search window of Fig. 6), who leave open where a window begins,
//! what equals mean and whether shares round up; here they do. What is found without looking at the
//! window block by block counts as looked at all the same. O(1) amortised for all of them, else a
//! step for every 64 blocks of the plane and one for every number of valid units.

use super::{Cleaning, Looks, VictimRule};
use crate::ftl::blocks::FullBlocks;
use flashyard_core::key::Kind;
use flashyard_core::units::BlockId;

const ALL_PPM: u64 = 1_000_000;

flashyard_core::keys! {
    /// Keys of `[gc.window]`.
    pub struct WindowKeys {
        /// Share of the candidates that each search looks at, rounded up. 0: one candidate, drawn
        /// at random.
        share_percent: u64 = 1_000_000 => {
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
            0 => full.draw_by_number(),
            ALL_PPM => full.fewest_of_all(),
            ppm => {
                let looked_at = (u64::from(full.gaining()) * ppm).div_ceil(ALL_PPM);
                full.window(u32::try_from(looked_at).expect("a share of a number of 32 bits"))
            }
        }
    }

    /// A share between: as drawn at random, which a window that moves on is not.
    fn cleaning(&self, blocks: u32) -> Cleaning {
        match self.share_percent {
            0 => Cleaning::RandomInvalid,
            ALL_PPM => Cleaning::Greedy,
            ppm => {
                let looked_at = (u64::from(blocks) * ppm).div_ceil(ALL_PPM);
                Cleaning::ChoicesInvalid(u32::try_from(looked_at).expect("a share of 32 bits"))
            }
        }
    }

    fn no_steady_state(&self) -> Option<String> {
        let between = !matches!(self.share_percent, 0 | ALL_PPM);
        between.then(|| {
            "no steady state is known for a gc.window.share_percent between 0 and 100".to_string()
        })
    }
}

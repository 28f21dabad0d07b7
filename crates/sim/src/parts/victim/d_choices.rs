//! d choices: `choices` blocks are drawn at random, with replacement, among the full blocks that
//! gain; the one with the fewest valid units is cleaned, the one drawn first among equals.
//!
//! Source: Van Houdt, SIGMETRICS 2013. Fully valid blocks are left out, as in his variant that
//! excludes them. O(choices) a victim.

use super::{Cleaning, Looks, VictimRule};
use crate::parts::blocks::FullBlocks;
use flashyard_core::key::Kind;
use flashyard_core::units::BlockId;

flashyard_core::keys! {
    /// Keys of `[gc.d_choices]`.
    pub struct DChoicesKeys {
        /// How many blocks are drawn for each victim.
        choices: u64 = 10 => {
            kind: Kind::count("blocks", 1, 65_536),
            source: "Van Houdt, SIGMETRICS 2013: with 10 it comes near greedy",
            flip: "1", with: &["@full", "gc.policy=d_choices"],
        },
    }
}

impl VictimRule for DChoicesKeys {
    fn looks(&self) -> Looks {
        Looks::RANDOM
    }

    fn victim(&self, full: &mut FullBlocks<'_>) -> Option<BlockId> {
        full.examine(self.choices);
        let draw = |_| full.draw().map(|block| (full.valid_units(block), block));
        let drawn = (0..self.choices).map_while(draw);
        drawn.min_by_key(|(valid, _)| *valid).map(|(_, block)| block)
    }

    fn cleaning(&self, _: u32) -> Cleaning {
        Cleaning::ChoicesInvalid(u32::try_from(self.choices).expect("the key's range fits"))
    }
}

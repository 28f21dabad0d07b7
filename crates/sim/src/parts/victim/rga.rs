//! Randomised greedy: `choices` different blocks are drawn among the full blocks that gain; the one
//! with the fewest valid units is cleaned, the one drawn first among equals.
//!
//! Source: Li et al., SIGMETRICS 2013, and MQSim (Tavakkol et al., FAST 2018), which draws a set of
//! log2(blocks of a plane). It is `d_choices` without replacement: with as many choices as blocks
//! it is greedy. MQSim also draws free and open blocks, and cleans nothing if all drawn ones are;
//! here none of the draws is spent on them. O(choices) a victim.

use super::{Cleaning, Looks, VictimRule};
use crate::parts::blocks::FullBlocks;
use flashyard_core::key::Kind;
use flashyard_core::units::BlockId;

flashyard_core::keys! {
    /// Keys of `[gc.rga]`.
    pub struct RgaKeys {
        /// How many blocks are drawn for each victim. 0: log2 of the blocks of a plane.
        choices: u64 = 0 => {
            kind: Kind::count("blocks", 0, 65_536),
            source: "MQSim (Tavakkol et al., FAST 2018): log2 of the blocks of a plane",
            flip: "1", with: &["@full", "gc.policy=rga"],
        },
    }
}

impl RgaKeys {
    fn choices(self, blocks: u32) -> u32 {
        match u32::try_from(self.choices) {
            Ok(0) => blocks.max(2).ilog2(),
            choices => choices.expect("the key's range fits"),
        }
    }
}

impl VictimRule for RgaKeys {
    fn looks(&self) -> Looks {
        Looks::RANDOM
    }

    fn victim(&self, full: &mut FullBlocks<'_>) -> Option<BlockId> {
        let choices = self.choices(full.plane_blocks()).min(full.gaining());
        full.examine(choices.into());
        let drawn = (0..choices).map(|drawn| {
            let block = full.draw_another(drawn);
            (full.valid_units(block), block)
        });
        drawn.min_by_key(|(valid, _)| *valid).map(|(_, block)| block)
    }

    fn cleaning(&self, blocks: u32) -> Cleaning {
        Cleaning::ChoicesInvalid(self.choices(blocks))
    }
}

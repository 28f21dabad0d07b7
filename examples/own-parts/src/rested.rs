//! Rested: garbage collection cleans the block with the fewest valid units among those at rest,
//! which have lost no unit for a while. A block whose units are being overwritten is worth waiting
//! for: it will soon hold fewer. Where no block is at rest it is greedy.

use flashyard::core::key::Kind;
use flashyard::core::units::BlockId;
use flashyard::sim::initial::Cleaning;
use flashyard::sim::parts::blocks::FullBlocks;
use flashyard::sim::parts::victim::{Looks, VictimRule};

flashyard::core::keys! {
    /// Keys of `[gc.rested]`.
    pub struct Rested {
        /// A block is at rest while this much was written to its plane.
        rest_blocks: u64 = 8 => {
            kind: Kind::count("blocks", 0, 1 << 24),
            source: "assumed",
            flip: "1",
            with: &["@full", "gc.policy=rested"],
        },
    }
}

impl VictimRule for Rested {
    fn looks(&self) -> Looks {
        Looks::AGE
    }

    /// Blocks of a bucket are in the order of their last change: the first one has rested longest.
    /// O(units of a block).
    fn victim(&self, full: &mut FullBlocks<'_>) -> Option<BlockId> {
        full.examine_all();
        let fewest = full.fewest()?;
        let rest = self.rest_blocks * u64::from(full.block_units());
        let mut first = (full.valid_units(fewest)..full.gain_below())
            .filter_map(|valid| full.longest_with(valid));
        first.find(|block| full.age(*block) >= rest).or(Some(fewest))
    }

    /// The initial states `aged` and `steady` are made with a model of greedy cleaning.
    fn cleaning(&self, _: u32) -> Cleaning {
        Cleaning::Greedy
    }
}

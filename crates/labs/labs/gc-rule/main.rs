//! The lab gc-rule: a rule for victims of garbage collection.
//!
//! Check it with `cargo run -- lab check gc-rule mine`.

use flashyard::core::key::NoKeys;
use flashyard::core::units::BlockId;
use flashyard::sim::initial::Cleaning;
use flashyard::sim::own::Parts;
use flashyard::sim::parts::blocks::FullBlocks;
use flashyard::sim::parts::victim::{Looks, VictimRule};
use std::process::ExitCode;

/// The rule.
struct Mine;

impl VictimRule for Mine {
    /// What it looks at beside valid pages: `Looks::AGE` gives it `full.age(block)`.
    fn looks(&self) -> Looks {
        Looks::NOTHING
    }

    /// The block to clean next. This one is greedy: the block with the fewest valid pages.
    fn victim(&self, full: &mut FullBlocks<'_>) -> Option<BlockId> {
        full.examine_all();
        full.fewest()
    }

    /// The built-in rule that it is most like, for `state.initial = "steady"`.
    fn cleaning(&self, _: u32) -> Cleaning {
        Cleaning::Greedy
    }
}

fn main() -> ExitCode {
    let parts = Parts::new().victim_rule("mine", "A rule of mine.", |_: NoKeys| Mine);
    flashyard::main_with(parts)
}

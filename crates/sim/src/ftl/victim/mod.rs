//! Victim rules: which full block garbage collection cleans next. One file each.
//!
//! A block gains when copying its valid units takes fewer program units than its erase frees. Only
//! such blocks are victims, whatever the rule: every job brings its plane closer to a free block,
//! and cleaning ends. Published models that also clean fully valid blocks differ from this by the
//! share of those among their victims.
//!
//! A search op is one look at one candidate, that is, at a block that gains: a rule counts all that
//! it compares, however it finds the best of them. Rules of all candidates count every one (greedy,
//! cost-benefit, a window of 100 %), those that draw count the draws, and first in, first out
//! counts what it passes over, with or without gain, and the victim.
//!
//! To add a rule, write a file beside these and name it in the `registry!` below.

use super::blocks::FullBlocks;
use crate::config::DeviceKeys;
use crate::initial::Cleaning;
use flashyard_core::units::BlockId;
use std::fmt;
use std::sync::Arc;

/// What a rule looks at beside the buckets by valid units, which are always kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Looks {
    /// Nothing.
    AtBuckets,
    /// The order in which blocks were filled.
    AtOrder,
    /// Blocks that gain, drawn at random.
    AtRandom,
    /// Blocks that gain, by their numbers.
    AtNumbers,
    /// How long ago each block lost a unit or was filled.
    AtAge,
}

/// Chooses victims.
///
/// Every answer MUST depend on the arguments and the settings alone.
pub trait VictimRule {
    /// What has to be kept for it.
    fn looks(&self) -> Looks;
    /// The block of a plane to clean next, one that gains; `None` where none does. What it
    /// looks at counts, see [`FullBlocks::examine`].
    fn victim(&self, full: &mut FullBlocks<'_>) -> Option<BlockId>;
    /// The same rule where there is no time; planes have this many blocks.
    fn cleaning(&self, blocks: u32) -> Cleaning;
}

/// A user's own rule.
pub type OwnRule = Arc<dyn VictimRule + Send + Sync>;

/// The rule of a device: a built-in one, dispatched statically, or a user's own.
#[derive(Clone)]
pub enum Rule {
    /// One of the registry.
    BuiltIn(AnyVictim),
    /// Any other.
    Own(OwnRule),
}

impl Rule {
    /// The one that the keys name.
    pub fn of(keys: &DeviceKeys) -> Self {
        match keys.gc.policy {
            VictimName::Own(number) => Self::Own(keys.own.victim_rule(number)),
            name => Self::BuiltIn(keys.victims.policy(name)),
        }
    }

    /// See [`VictimRule::looks`].
    pub fn looks(&self) -> Looks {
        match self {
            Self::BuiltIn(rule) => rule.looks(),
            Self::Own(rule) => rule.looks(),
        }
    }

    /// See [`VictimRule::cleaning`].
    pub fn cleaning(&self, blocks: u32) -> Cleaning {
        match self {
            Self::BuiltIn(rule) => rule.cleaning(blocks),
            Self::Own(rule) => rule.cleaning(blocks),
        }
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn(rule) => rule.fmt(f),
            Self::Own(rule) => write!(f, "Own({:?})", rule.looks()),
        }
    }
}

/// The registry: one line a rule. Whatever lists rules or their keys is derived from it.
macro_rules! registry {
    ($($(#[doc = $doc:literal])+ $variant:ident($module:ident::$keys:ident) = $name:literal,)+) => {
        $(pub mod $module;)+

        flashyard_core::parts! {
            VictimName AnyVictim VictimKeys {
                $($(#[doc = $doc])+ $variant($module::$keys) = $name,)+
            }
        }

        impl VictimRule for AnyVictim {
            fn looks(&self) -> Looks {
                match self { $(Self::$variant(rule) => rule.looks(),)+ }
            }
            fn victim(&self, full: &mut FullBlocks<'_>) -> Option<BlockId> {
                match self { $(Self::$variant(rule) => rule.victim(full),)+ }
            }
            fn cleaning(&self, blocks: u32) -> Cleaning {
                match self { $(Self::$variant(rule) => rule.cleaning(blocks),)+ }
            }
        }
    };
}

registry! {
    /// The fewest valid units.
    Greedy(greedy::GreedyKeys) = "greedy",
    /// The greatest age x (1 - u) / (2 u), u the share of valid units.
    CostBenefit(cost_benefit::CostBenefitKeys) = "cost_benefit",
    /// The fewest valid units of a few drawn with replacement.
    DChoices(d_choices::DChoicesKeys) = "d_choices",
    /// Any block that gains.
    Random(random::RandomKeys) = "random",
    /// The block filled first.
    Fifo(fifo::FifoKeys) = "fifo",
    /// The fewest valid units of a few different ones drawn at random (randomised greedy).
    Rga(rga::RgaKeys) = "rga",
    /// The fewest valid units of the next ones by number, a share of all.
    Window(window::WindowKeys) = "window",
}

#[cfg(test)]
mod tests;

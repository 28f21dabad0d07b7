//! Victim rules: which full block garbage collection cleans next. One file each.
//!
//! A block gains when copying its valid units takes fewer program units than its erase frees. Only
//! such blocks are victims, whatever the rule: every job brings its plane closer to a free block,
//! and cleaning ends. Published models that also clean fully valid blocks differ from this by the
//! share of those among their victims.
//!
//! A search op is one look at one candidate. A candidate is a block whose collection gains space. A
//! rule counts every candidate that it compares, also if the code finds the best one without a
//! scan. Rules of all candidates count every one (greedy, cost-benefit, a window of 100 %). Rules
//! that draw count each draw. FIFO counts every block that it skips, with or without gain, and the
//! victim.
//!
//! To add a rule, write a file beside these and name it in the `registry!` below.

use super::blocks::FullBlocks;
use super::forward::forward;
use flashyard_core::key::Keys;
use flashyard_core::units::BlockId;
use std::fmt;
use std::ops::BitOr;
use std::sync::Arc;

/// What a rule looks at beside the valid units of blocks, their erases and when they were filled,
/// which are always kept: a set, `Looks::AGE | Looks::RANDOM`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Looks(u8);

impl Looks {
    /// Nothing else.
    pub const NOTHING: Self = Self(0);
    /// The order in which blocks were filled.
    pub const ORDER: Self = Self(1);
    /// Blocks that gain, drawn at random.
    pub const RANDOM: Self = Self(2);
    /// Blocks that gain, by their numbers.
    pub const NUMBERS: Self = Self(4);
    /// How long ago each block lost a unit or was filled.
    pub const AGE: Self = Self(8);

    /// What changes with the valid units of a full block.
    pub(crate) const CHANGING: Self = Self(Self::RANDOM.0 | Self::NUMBERS.0 | Self::AGE.0);

    /// A saved device stores one of these sets as its index in this list, and any other set as its
    /// bits.
    const SHORT: [Self; 5] = [Self::NOTHING, Self::ORDER, Self::RANDOM, Self::NUMBERS, Self::AGE];
    /// Marks bits that are saved.
    const LONG: u8 = 0x80;

    /// Whether it looks at some of these.
    pub const fn has(self, any: Self) -> bool {
        self.0 & any.0 != 0
    }

    /// How it is saved.
    pub(crate) fn code(self) -> u8 {
        let short = (0..).zip(Self::SHORT).find(|(_, known)| *known == self);
        short.map_or(self.0 | Self::LONG, |(place, _)| place)
    }

    /// The set that was saved so.
    pub(crate) fn of_code(code: u8) -> Option<Self> {
        let all = Self::SHORT.iter().fold(Self::NOTHING, |all, each| all | *each);
        match code & Self::LONG {
            0 => Self::SHORT.get(usize::from(code)).copied(),
            _ => Some(Self(code & !Self::LONG)).filter(|looks| looks.0 & !all.0 == 0),
        }
    }
}

impl BitOr for Looks {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// How a rule finds its next victim among the full blocks where there is no time: in the formulas
/// and the miniatures of steady states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cleaning {
    /// The fewest valid units.
    Greedy,
    /// The one filled first.
    Fifo,
    /// Any.
    Random,
    /// Any with an invalid unit.
    RandomInvalid,
    /// The fewest valid units of that many drawn at random with replacement.
    Choices(u32),
    /// The same, drawn among those with an invalid unit.
    ChoicesInvalid(u32),
    /// The greatest (1 - u) / (2 u) x age, with the valid share u (Kawaguchi et al. 1995, after
    /// Rosenblum and Ousterhout 1992); age since the block lost a unit or was filled.
    CostBenefit,
}

/// Chooses victims.
///
/// Every answer MUST depend on the arguments and the settings alone.
pub trait VictimRule {
    /// What has to be kept for it.
    fn looks(&self) -> Looks {
        Looks::NOTHING
    }
    /// The block of a plane to clean next, one that gains; `None` where none does. What it
    /// looks at counts, see [`FullBlocks::examine`].
    fn victim(&self, full: &mut FullBlocks<'_>) -> Option<BlockId>;
    /// The same rule where there is no time, or the nearest one; planes have this many blocks.
    fn cleaning(&self, blocks: u32) -> Cleaning;
    /// Why `state.initial = "steady"` is refused, where [`cleaning`](Self::cleaning) names a rule
    /// whose steady state is another one.
    fn no_steady_state(&self) -> Option<String> {
        None
    }
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

impl VictimRule for Rule {
    forward! {
        [BuiltIn Own]
        fn looks(&self) -> Looks;
        fn victim(&self, full: &mut FullBlocks<'_>) -> Option<BlockId>;
        fn cleaning(&self, blocks: u32) -> Cleaning;
        fn no_steady_state(&self) -> Option<String>;
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

/// Does something with every rule of the registry.
pub trait VictimVisitor {
    /// One of them, by the type of its keys, and its name.
    fn visit<P: VictimRule + Keys + Send + Sync + 'static>(&mut self, name: &'static str);
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

        /// Shows every rule to a visitor, in the order of the registry.
        pub fn visit_all(visitor: &mut impl VictimVisitor) {
            $(visitor.visit::<$module::$keys>($name);)+
        }

        impl VictimRule for AnyVictim {
            forward! {
                [$($variant)+]
                fn looks(&self) -> Looks;
                fn victim(&self, full: &mut FullBlocks<'_>) -> Option<BlockId>;
                fn cleaning(&self, blocks: u32) -> Cleaning;
                fn no_steady_state(&self) -> Option<String>;
            }
        }
    };
}

registry! {
    /// The fewest valid units.
    Greedy(greedy::GreedyKeys) = "greedy",
    /// The greatest age x (1 - u) / (2 u), u the share of valid units.
    CostBenefit(cost_benefit::CostBenefitKeys) = "cost_benefit",
    /// The block with the fewest valid units of a few that are drawn with replacement.
    DChoices(d_choices::DChoicesKeys) = "d_choices",
    /// Any block that gains.
    Random(random::RandomKeys) = "random",
    /// The block filled first.
    Fifo(fifo::FifoKeys) = "fifo",
    /// The block with the fewest valid units of a few different ones that are drawn (randomised
    /// greedy).
    Rga(rga::RgaKeys) = "rga",
    /// The block with the fewest valid units in a window of the candidates, by block number.
    Window(window::WindowKeys) = "window",
}

#[cfg(test)]
mod tests;

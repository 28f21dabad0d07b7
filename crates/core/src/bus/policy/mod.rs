//! Bus policies: which request a channel carries next. One file each.
//!
//! Whenever the bus of a channel is free, the policy chooses one lane among those whose next
//! request can be sent. A lane is a chip, or a die that works on its own. To add a policy, write a
//! file beside these and name it in the `registry!` below.

use super::request::{BusClass, BusKind};
use crate::key::Keys;
use crate::units::Time;

/// What a bus policy sees of an operation whose next request can be sent now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The place of the operation in the order in which lanes took operations, from 0.
    pub number: u64,
    /// The stream that asked for it.
    pub stream: u16,
    /// When the operation was handed over.
    pub since: Time,
    /// The request to send.
    pub kind: BusKind,
    /// Whether its array has been started.
    pub started: bool,
    /// The place of the request in the order in which requests could be sent.
    pub wanted: u64,
}

/// What a bus policy knows of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelView<'a> {
    /// By lane: the operation that it serves, where its next request can be sent now.
    pub candidates: &'a [Option<Candidate>],
    /// Operations whose array has been started.
    pub started: u64,
    /// Operations that are complete.
    pub completed: u64,
    /// The lane that moved data last.
    pub last_data: usize,
}

impl ChannelView<'_> {
    /// The lane with the least `order` among those that `fits` allows, the lowest one among equals.
    pub fn least<K: Ord>(
        &self,
        fits: impl Fn(&Candidate) -> bool,
        order: impl Fn(usize, &Candidate) -> K,
    ) -> Option<usize> {
        let lanes = self.candidates.iter().enumerate();
        let lanes = lanes.filter_map(|(lane, candidate)| {
            candidate.filter(&fits).map(|candidate| (order(lane, &candidate), lane))
        });
        lanes.min().map(|(_, lane)| lane)
    }

    /// The lane to serve among those that `fits` allows: activations and status requests go before
    /// data, and the lowest lane first among equals.
    pub fn first(&self, fits: impl Fn(&Candidate) -> bool) -> Option<usize> {
        self.least(fits, |_, candidate| candidate.kind.class().rank())
    }
}

/// Chooses which lane gets the bus.
///
/// Every answer MUST depend on the view and the settings alone.
pub trait BusPolicy {
    /// The lane whose request is sent now, one of the candidates; none to leave the bus idle until
    /// something changes.
    fn pick(&self, channel: &ChannelView<'_>) -> Option<usize>;

    /// Whether lanes take operations in the order of their arrival, whatever their chip: a lane
    /// that is free waits for those that are not, if older operations wait for them.
    fn gates_dispatch(&self) -> bool {
        false
    }
}

/// Short requests before data.
const fn is_data(candidate: &Candidate) -> bool {
    matches!(candidate.kind.class(), BusClass::Data)
}

/// The registry: one line a policy. Whatever lists policies or their keys is derived from it.
macro_rules! registry {
    ($($(#[doc = $doc:literal])+ $variant:ident($module:ident::$keys:ident) = $name:literal,)+) => {
        $(pub mod $module;)+

        crate::parts! {
            BusPolicyName AnyBusPolicy BusPolicyKeys {
                $($(#[doc = $doc])+ $variant($module::$keys) = $name,)+
            }
        }

        /// Does something with every policy of the registry.
        pub trait BusPolicyVisitor {
            /// One of them, by the type of its keys, and its name.
            fn visit<P: BusPolicy + Keys + Send + Sync + 'static>(&mut self, name: &'static str);
        }

        /// Shows every policy to a visitor, in the order of the registry.
        pub fn visit_all(visitor: &mut impl BusPolicyVisitor) {
            $(visitor.visit::<$module::$keys>($name);)+
        }

        impl BusPolicy for AnyBusPolicy {
            fn pick(&self, channel: &ChannelView<'_>) -> Option<usize> {
                match self { $(Self::$variant(policy) => policy.pick(channel),)+ }
            }
            fn gates_dispatch(&self) -> bool {
                match self { $(Self::$variant(policy) => policy.gates_dispatch(),)+ }
            }
        }
    };
}

registry! {
    /// Commands, addresses and status before data; equals in the order of need.
    CommandsFirst(commands_first::CommandsFirstKeys) = "commands_first",
    /// Requests in the order of need.
    InOrder(in_order::InOrderKeys) = "in_order",
    /// One operation at a time, in the order of arrival (the first model of Ozone).
    Sequential(sequential::SequentialKeys) = "sequential",
    /// Operations start, and complete, in the order of arrival (the second model of Ozone).
    Decoupled(decoupled::DecoupledKeys) = "decoupled",
    /// Only the order of each chip holds (the third model of Ozone).
    OutOfOrder(out_of_order::OutOfOrderKeys) = "out_of_order",
    /// The loop of the flash request scheduling framework, in hardware or in software.
    Framework(framework::FrameworkKeys) = "framework",
}

#[cfg(test)]
mod tests;

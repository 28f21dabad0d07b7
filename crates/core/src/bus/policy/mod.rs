//! Bus policies: which request a channel carries next. One file each.
//!
//! Whenever the bus of a channel is free, the policy chooses one lane among those whose next
//! request can be sent. A lane is a chip, or a die that works on its own. To add a policy, write a
//! file beside these and name it in the `registry!` below.

mod interface;

pub use interface::{BusPolicy, Candidate, ChannelView};

use crate::key::Keys;

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

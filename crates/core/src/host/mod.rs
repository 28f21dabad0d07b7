//! Host policies: which queued request the device starts next. One file each.
//!
//! A policy picks from a view; the device holds conflicts. Where a policy picks a request that
//! overlaps an earlier queued one and one of the two is not a read, the device starts the earlier
//! one instead and counts the pick, so a policy moves time, never contents.
//! To add one, write a file beside these and name it in the `registry!` below.

mod interface;

pub use interface::{
    HostAnswer, HostPolicy, HostView, LARGEST_WINDOW, LineView, PortView, UnderWay,
};

use crate::key::Keys;

#[cfg(test)]
mod tests;

/// Does something with every policy of the registry.
pub trait HostPolicyVisitor {
    /// One of them, by the type of its keys, and its name.
    fn visit<P: HostPolicy + Keys + Send + Sync + 'static>(&mut self, name: &'static str);
}

/// The registry: one line a policy.
macro_rules! registry {
    ($($(#[doc = $doc:literal])+ $variant:ident($module:ident::$keys:ident) = $name:literal,)+) => {
        $(pub mod $module;)+

        crate::parts! {
            HostPolicyName AnyHostPolicy HostPolicyKeys {
                $($(#[doc = $doc])+ $variant($module::$keys) = $name,)+
            }
        }

        /// Shows every policy to a visitor, in the order of the registry.
        pub fn visit_all(visitor: &mut impl HostPolicyVisitor) {
            $(visitor.visit::<$module::$keys>($name);)+
        }

        impl AnyHostPolicy {
            /// See [`HostPolicy::pick`].
            pub fn pick(&self, view: &(impl HostView + ?Sized)) -> HostAnswer {
                match self { $(Self::$variant(policy) => policy.pick(view),)+ }
            }

            /// See [`HostPolicy::by_pages`].
            pub fn by_pages(&self) -> bool {
                match self { $(Self::$variant(policy) => policy.by_pages(),)+ }
            }

            /// See [`HostPolicy::in_order`].
            pub fn in_order(&self) -> bool {
                match self { $(Self::$variant(policy) => policy.in_order(),)+ }
            }
        }
    };
}

registry! {
    /// The oldest request.
    Fifo(fifo::FifoKeys) = "fifo",
    /// The oldest request whose dies are all idle; if there is none, the oldest request.
    Idle(idle::IdleKeys) = "idle",
    /// One page access or flush at a time, in order.
    Is(is::IsKeys) = "is",
    /// In order; the buffer gets a page from one bank while it puts another page into another bank.
    Ris(ris::RisKeys) = "ris",
    /// As `ris`, but gets of later reads and of early flushes run beside puts.
    Ros(ros::RosKeys) = "ros",
    /// Reads before writes; among them first those that the buffer serves, then reads whose dies
    /// are idle.
    CacheReadAware(cache_read_aware::CacheReadAwareKeys) = "cache-read-aware",
}

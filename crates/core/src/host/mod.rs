//! Host policies: which queued request the device starts next. One file each.
//!
//! A policy picks from a view; the device holds conflicts. Where a policy picks a request that
//! overlaps an earlier queued one and one of the two is not a read, the device starts the earlier
//! one instead and counts the pick, so a policy moves time, never contents.
//! To add one, write a file beside these and name it in the `registry!` below.

use crate::request::Request;

/// What a host policy may look at.
pub trait HostView {
    /// How many requests wait, the oldest at place 0.
    fn waiting(&self) -> usize;
    /// The request at a place.
    fn request(&self, place: usize) -> Request;
    /// Whether every die that the striping gives to the request's pages is idle. A peek: it costs
    /// no time and moves nothing.
    fn dies_idle(&self, place: usize) -> bool;
}

/// What the device shall do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostAnswer {
    /// Start the request at this place.
    Start(usize),
    /// Nothing until something changes.
    Wait,
}

/// Picks requests.
///
/// `pick` MUST NOT answer [`HostAnswer::Wait`] for ever while requests wait and every die is idle.
pub trait HostPolicy {
    /// Called when the device can start a request.
    fn pick(&self, view: &impl HostView) -> HostAnswer;
}

/// Views for the tests of policies: which of the waiting requests find their dies idle.
#[cfg(test)]
mod views {
    use super::HostView;
    use crate::request::{Flags, Request, RequestOp};
    use crate::units::Time;

    pub(super) struct Waiting<'a>(pub(super) &'a [bool]);

    impl HostView for Waiting<'_> {
        fn waiting(&self) -> usize {
            self.0.len()
        }
        fn request(&self, place: usize) -> Request {
            Request {
                arrival: Time::ZERO,
                first_sector: place as u64,
                sectors: 1,
                stream: 0,
                op: RequestOp::Read,
                flags: Flags::NONE,
            }
        }
        fn dies_idle(&self, place: usize) -> bool {
            self.0[place]
        }
    }
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

        impl AnyHostPolicy {
            /// See [`HostPolicy::pick`].
            pub fn pick(&self, view: &impl HostView) -> HostAnswer {
                match self { $(Self::$variant(policy) => policy.pick(view),)+ }
            }
        }
    };
}

registry! {
    /// The oldest request.
    Fifo(fifo::FifoKeys) = "fifo",
    /// The oldest request whose dies are all idle; where there is none, the oldest.
    Idle(idle::IdleKeys) = "idle",
}

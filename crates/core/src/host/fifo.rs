//! First in, first out.

use super::{HostAnswer, HostPolicy, HostView};

crate::keys! {
    /// The policy has no keys.
    pub struct FifoKeys {}
}

impl HostPolicy for FifoKeys {
    fn pick(&self, view: &impl HostView) -> HostAnswer {
        if view.waiting() == 0 { HostAnswer::Wait } else { HostAnswer::Start(0) }
    }
}

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

    fn in_order(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::views::Waiting;
    use super::*;

    #[test]
    fn the_oldest_request_starts() {
        assert_eq!(FifoKeys {}.pick(&Waiting(&[false, true])), HostAnswer::Start(0));
        assert_eq!(FifoKeys {}.pick(&Waiting(&[])), HostAnswer::Wait);
    }
}

//! Sequential: one operation at a time, in the order of arrival. The first request of an operation
//! follows the completion of the one before it.
//!
//! Source: the sequential model that Nam et al. (Ozone, IEEE TC 2011) compare with. O(lanes).

use super::interface::{BusPolicy, ChannelView};

crate::keys! {
    /// The policy has no keys.
    pub struct SequentialKeys {}
}

impl BusPolicy for SequentialKeys {
    fn pick(&self, channel: &ChannelView<'_>) -> Option<usize> {
        channel.first(|one| one.number == channel.completed)
    }

    fn gates_dispatch(&self) -> bool {
        true
    }
}

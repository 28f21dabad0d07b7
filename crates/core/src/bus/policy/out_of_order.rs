//! Out of order: any operation may go, short requests before data, the lowest chip first. Only the
//! order of each chip holds.
//!
//! Source: the out-of-order model of Nam et al. (Ozone, IEEE TC 2011). O(lanes).

use super::interface::{BusPolicy, ChannelView};

crate::keys! {
    /// The policy has no keys.
    pub struct OutOfOrderKeys {}
}

impl BusPolicy for OutOfOrderKeys {
    fn pick(&self, channel: &ChannelView<'_>) -> Option<usize> {
        channel.first(|_| true)
    }
}

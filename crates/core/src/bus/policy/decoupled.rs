//! Decoupled: operations start in the order of arrival, and complete in the order of arrival. The
//! start of one (requests up to the one that starts the array) may go between the completion of
//! another (its status, or its data).
//!
//! Source: the decoupled model that Nam et al. (Ozone, IEEE TC 2011) compare with. O(lanes).

use super::interface::{BusPolicy, ChannelView};

crate::keys! {
    /// The policy has no keys.
    pub struct DecoupledKeys {}
}

impl BusPolicy for DecoupledKeys {
    fn pick(&self, channel: &ChannelView<'_>) -> Option<usize> {
        channel.first(|one| {
            one.number == if one.started { channel.completed } else { channel.started }
        })
    }

    fn gates_dispatch(&self) -> bool {
        true
    }
}

//! In order: the request that could be sent first goes first, whatever it is. O(lanes).

use super::interface::{BusPolicy, ChannelView};

crate::keys! {
    /// The policy has no keys.
    pub struct InOrderKeys {}
}

impl BusPolicy for InOrderKeys {
    fn pick(&self, channel: &ChannelView<'_>) -> Option<usize> {
        channel.least(|_| true, |_, one| one.wanted)
    }
}

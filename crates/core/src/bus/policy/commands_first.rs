//! Commands first: activations and status requests go before data, so that no array idles behind
//! the data of all the others; equals are served in the order of need. O(lanes).

use super::interface::{BusPolicy, ChannelView};

crate::keys! {
    /// The policy has no keys.
    pub struct CommandsFirstKeys {}
}

impl BusPolicy for CommandsFirstKeys {
    fn pick(&self, channel: &ChannelView<'_>) -> Option<usize> {
        channel.least(|_| true, |_, one| (one.kind.class().rank(), one.wanted))
    }
}

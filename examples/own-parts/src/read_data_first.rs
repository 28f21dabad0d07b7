//! Read data first: data of reads go before whatever else waits for the channel, which keeps the
//! order of need.

use flashyard::core::bus::policy::{BusPolicy, ChannelView};
use flashyard::core::bus::request::BusKind;
use flashyard::core::key::Kind;

flashyard::core::keys! {
    /// Keys of `[channel.read-data-first]`.
    pub struct ReadDataFirst {
        /// Whether activations and status requests go even before the data of reads.
        commands_first: bool = true => {
            kind: Kind::Bool,
            source: "assumed: they are short and start arrays",
            flip: "false",
            with: &["bus.precision=requests", "channel.arbitration=read-data-first"],
        },
    }
}

impl BusPolicy for ReadDataFirst {
    fn pick(&self, channel: &ChannelView<'_>) -> Option<usize> {
        channel.least(
            |_| true,
            |_, one| {
                let rank = match one.kind {
                    BusKind::DataOut => 1,
                    BusKind::DataIn => 2,
                    _ if self.commands_first => 0,
                    _ => 2,
                };
                (rank, one.wanted)
            },
        )
    }
}

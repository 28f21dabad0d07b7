//! The loop of the flash request scheduling framework: see [`scheduler`](crate::bus::scheduler). A
//! controller serves its requests in the order in which the loop sends them, and an iteration of
//! the loop takes time.
//!
//! As a rule of the moment at which the bus is free, which is all that [`BusPolicy`] asks: short
//! requests go in the order of need, then data by `data_order`.
//!
//! Source: Kim, Lee and Min, Fig. 3. O(lanes).

use super::interface::{BusPolicy, ChannelView, is_data};
use crate::key::Kind;

crate::choice! {
    /// Which chip moves data next, where several could.
    pub enum DataOrder {
        /// The lowest number, as the published figure has it.
        LowestChip = "lowest_chip",
        /// The next one after the chip that moved data last.
        RoundRobin = "round_robin",
        /// The one whose operation came first.
        Oldest = "oldest",
    }
}

crate::choice! {
    /// When a busy chip is asked for its status.
    pub enum Questions {
        /// Once it has had the typical time of its operation, and then after each `poll_gap_us`.
        Expected = "expected",
        /// In every iteration of the loop.
        Always = "always",
    }
}

crate::keys! {
    /// Keys of `[channel.framework]`. Times are those of a scheduler in software.
    pub struct FrameworkKeys {
        /// Which chip moves data next, where several could.
        data_order: DataOrder = DataOrder::Oldest => {
            kind: Kind::Choice(DataOrder::WORDS),
            source: "Kim, Lee and Min, Fig. 3: the lowest chip; the oldest operation moves more data a second",
            flip: "lowest_chip",
            with: &["channel.arbitration=framework", "bus.precision=requests", "geometry.ways=4", "channel.command_ns=300", "channel.ps_per_byte=25000"],
        },
        /// When a busy chip is asked for its status.
        questions: Questions = Questions::Expected => {
            kind: Kind::Choice(Questions::WORDS),
            source: "Kim, Lee and Min, Fig. 3: in every iteration; assumed: after the typical time",
            flip: "always",
            with: &["channel.arbitration=framework", "bus.precision=requests", "geometry.ways=4", "channel.command_ns=300", "channel.ps_per_byte=25000"],
        },
        /// Time of an iteration of the loop.
        loop_ns: u64 = 10 => {
            kind: Kind::count("ns", 0, 1_000_000),
            source: "a scheduler in hardware: a cycle of 10 ns",
            flip: "4000",
            with: &["channel.arbitration=framework", "bus.precision=requests", "geometry.ways=4", "channel.command_ns=300", "channel.ps_per_byte=25000"],
        },
        /// Time to take in a request of an operation.
        receive_ns: u64 = 10 => {
            kind: Kind::count("ns", 0, 1_000_000),
            source: "a scheduler in hardware: a cycle of 10 ns",
            flip: "4000",
            with: &["channel.arbitration=framework", "bus.precision=requests", "geometry.ways=4", "channel.command_ns=300", "channel.ps_per_byte=25000"],
        },
        /// Time to send a request to the controller.
        send_ns: u64 = 10 => {
            kind: Kind::count("ns", 0, 1_000_000),
            source: "a scheduler in hardware: a cycle of 10 ns",
            flip: "4000",
            with: &["channel.arbitration=framework", "bus.precision=requests", "geometry.ways=4", "channel.command_ns=300", "channel.ps_per_byte=25000"],
        },
        /// Time to read an answer of the controller, and to say that an operation is complete.
        respond_ns: u64 = 10 => {
            kind: Kind::count("ns", 0, 1_000_000),
            source: "a scheduler in hardware: a cycle of 10 ns",
            flip: "4000",
            with: &["channel.arbitration=framework", "bus.precision=requests", "geometry.ways=4", "channel.command_ns=300", "channel.ps_per_byte=25000"],
        },
    }
}

impl BusPolicy for FrameworkKeys {
    fn pick(&self, channel: &ChannelView<'_>) -> Option<usize> {
        let short = channel.least(|one| !is_data(one), |_, one| one.wanted);
        short.or_else(|| match self.data_order {
            DataOrder::LowestChip => channel.least(|_| true, |lane, _| lane),
            DataOrder::RoundRobin => {
                let count = channel.candidates.len();
                let behind = |lane| (lane + count - 1 - channel.last_data) % count;
                channel.least(|_| true, |lane, _| behind(lane))
            }
            DataOrder::Oldest => channel.least(|_| true, |_, one| one.since),
        })
    }
}

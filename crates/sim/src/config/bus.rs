//! The section `[bus]`: bus requests, and what the controller knows of its chips.

use flashyard_core::key::Kind;
use flashyard_core::{choice, keys, open_choice};

choice! {
    /// How exactly a channel is simulated.
    pub enum Precision {
        /// A command has its die, and the wires to it, for its command, its array time and its
        /// data; no channel is shared.
        Command = "command",
        /// A command takes its channel twice: for its command and the data of a program, and for
        /// the data of a read. The end of an array time is known at once.
        Phases = "phases",
        /// A command is a sequence of bus requests: activations, chunks of data, status.
        Requests = "requests",
    }
}

choice! {
    /// How the controller learns that a die is done.
    pub enum Readiness {
        /// It knows when; a status request is sent then, once.
        Ideal = "ideal",
        /// It asks when the typical time has passed, and again after each `poll_gap_ns`.
        Polled = "polled",
    }
}

open_choice! {
    /// How long bus requests take.
    pub enum BusTiming {
        /// An activation takes `channel.command_ns` (a program activation nothing), a status
        /// request `status_ns`, a byte of data `channel.ps_per_byte`.
        Keys = "keys",
        /// The cycles of the microprograms at 10 ns, a byte in each.
        Framework = "framework",
        /// The same with the timing of ONFI SDR, mode 5.
        Sdr50 = "sdr-50",
        /// The same with the timing of ONFI NV-DDR, mode 5.
        NvDdr200 = "nv-ddr-200",
    }
}

choice! {
    /// What is scheduled together.
    pub enum SchedulerScope {
        /// Each channel has a scheduler of its own.
        Channel = "channel",
        /// One scheduler serves all channels: it orders their operations among each other, and its
        /// costs add up.
        Device = "device",
    }
}

keys! {
    /// Keys of `[bus]`. All but `precision` are read with `precision = "requests"` alone.
    pub struct BusKeys {
        /// How exactly channels are simulated.
        precision: Precision = Precision::Phases => {
            kind: Kind::Choice(Precision::WORDS),
            source: "assumed: two phases a command decide who waits for a channel",
            flip: "requests", with: &["channel.ps_per_byte=2500"],
        },
        /// Bytes that a data request moves at most.
        chunk_bytes: u64 = 4096 => {
            kind: Kind::count("B", 1_024, 1_048_576),
            source: "assumed; Kim, Lee and Min: 1 KB or more",
            flip: "1024",
            with: &["bus.precision=requests", "geometry.ways=4", "channel.command_ns=300", "channel.ps_per_byte=25000", "bus.timing=framework"],
        },
        /// How long bus requests take.
        timing: BusTiming = BusTiming::Keys => {
            kind: Kind::Choice(BusTiming::WORDS),
            source: "assumed: as the keys of the channel say",
            flip: "framework",
            with: &["bus.precision=requests", "geometry.ways=4", "channel.command_ns=300", "channel.ps_per_byte=25000"],
        },
        /// With `timing = "keys"`: time of a status request.
        status_ns: u64 = 130 => {
            kind: Kind::count("ns", 0, 1_000_000),
            source: "ONFI 4.2: command latch (tWC) 25 ns, tWHR 80 ns, read cycle (tRC) 25 ns",
            flip: "0",
            with: &["bus.precision=requests", "geometry.ways=4", "channel.command_ns=300", "channel.ps_per_byte=25000"],
        },
        /// How the controller learns that a die is done.
        readiness: Readiness = Readiness::Ideal => {
            kind: Kind::Choice(Readiness::WORDS),
            source: "assumed: the typical times of constant operations are known",
            flip: "polled",
            with: &["bus.precision=requests", "geometry.ways=4", "channel.command_ns=300", "channel.ps_per_byte=25000", "nand.spread_percent=50"],
        },
        /// Whether a read asks for the status before its data.
        poll_before_data: bool = true => {
            kind: Kind::Bool,
            source: "Kim, Lee and Min, Fig. 3 implies it",
            flip: "false",
            with: &["bus.precision=requests", "geometry.ways=4", "channel.command_ns=300", "channel.ps_per_byte=25000"],
        },
        /// Time from the answer that a die is busy to the next question.
        poll_gap_ns: u64 = 1000 => {
            kind: Kind::count("ns", 1, 1_000_000_000),
            source: "assumed: 1 us",
            flip: "100000",
            with: &["bus.precision=requests", "geometry.ways=4", "channel.command_ns=300", "channel.ps_per_byte=25000", "bus.readiness=polled", "nand.spread_percent=50"],
        },
        /// How long before the end of a status request the die's answer is taken. Longer than the
        /// request counts as its begin.
        sample_ns: u64 = 40 => {
            kind: Kind::count("ns", 0, 1_000_000),
            source: "assumed: the register byte and three cycles of 10 ns",
            flip: "0",
            with: &["bus.precision=requests", "geometry.ways=4", "channel.command_ns=300", "channel.ps_per_byte=25000", "bus.readiness=polled", "nand.spread_percent=50"],
        },
        /// What is scheduled together.
        scheduler_scope: SchedulerScope = SchedulerScope::Channel => {
            kind: Kind::Choice(SchedulerScope::WORDS),
            source: "assumed: channels are independent",
            flip: "device",
            with: &["bus.precision=requests", "geometry.ways=4", "geometry.channels=2", "channel.command_ns=300", "channel.ps_per_byte=25000", "channel.arbitration=sequential"],
        },
    }
}

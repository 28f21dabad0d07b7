//! The section `[interface]`: how requests get from the host to the device.

use flashyard_core::key::Kind;
use flashyard_core::{choice, keys};

choice! {
    /// From which stream the next request is fetched if several streams have requests.
    pub enum Arbitration {
        /// One request of each stream in turn.
        RoundRobin = "round_robin",
        /// Up to `weight` requests of each stream in turn.
        Weighted = "weighted",
    }
}

choice! {
    /// Whether both directions of the link carry data at once.
    pub enum Duplex {
        /// Yes: each has the whole bandwidth.
        Full = "full",
        /// No: they share it, first come, first served.
        Half = "half",
    }
}

choice! {
    /// What crosses the link at once.
    pub enum Transfer {
        /// All data of a request: the data of a write before it enters the queue, the data of a
        /// read after its last page.
        Request = "request",
        /// The data of a page access: the data of a write when it is about to be put or programmed,
        /// the data of a read as soon as its page arrives.
        Page = "page",
        /// The same, but only what the request asks for of the mapping unit.
        Part = "part",
    }
}

keys! {
    /// Keys of `[interface]`.
    pub struct InterfaceKeys {
        /// Largest number of requests of a stream that are fetched and not answered. 0: no limit; a
        /// stream of pacing `fast` then keeps 65,535 outstanding.
        queue_depth: u64 = 0 => {
            kind: Kind::count("requests", 0, 1_000_000),
            source: "Lee et al., IEEE Access 2021: requests are handed over as they arrive; SATA NCQ, UFS and eMMC: 32, NVMe: 65,535",
            flip: "2", with: &["host.policy=idle", "geometry.channels=2", "geometry.ways=2", "queue.depth=2"],
        },
        /// Largest number of requests of all streams that are fetched and not answered. 0: no
        /// limit.
        fetch_depth: u64 = 0 => {
            kind: Kind::count("requests", 0, 1_000_000),
            source: "Lee et al., IEEE Access 2021: requests are handed over as they arrive; MQSim: 512",
            flip: "2", with: &["host.policy=idle", "geometry.channels=2", "geometry.ways=2", "queue.depth=2"],
        },
        /// From which stream the device fetches next. It changes results only where `queue_depth`
        /// or `fetch_depth` is a limit.
        arbitration: Arbitration = Arbitration::RoundRobin => {
            kind: Kind::Choice(Arbitration::WORDS),
            source: "NVM Express base specification: round robin is the one that every controller has",
            flip: "weighted", with: &["@streams", "interface.fetch_depth=2"],
        },
        /// Transfer time of a byte on the link. The time of a request is rounded up to a
        /// nanosecond. 0: no transfer time.
        link_ps_per_byte: u64 = 0 => {
            kind: Kind::count("ps", 0, 1_000_000_000),
            source: "Lee et al., IEEE Access 2021: no link; PCIe 3.0 x4: 254, SATA 6 Gb/s: 1667, eMMC HS400: 2500",
            flip: "2500", with: &[],
        },
        /// Time that a request takes to the device, and its answer back, without the data.
        link_latency_ns: u64 = 0 => {
            kind: Kind::count("ns", 0, 1_000_000_000),
            source: "Lee et al., IEEE Access 2021: no link",
            flip: "500", with: &[],
        },
        /// Whether the link carries data in both directions at once.
        duplex: Duplex = Duplex::Full => {
            kind: Kind::Choice(Duplex::WORDS),
            source: "PCIe and UFS carry both directions at once, SATA and eMMC one",
            flip: "half", with: &["interface.link_ps_per_byte=2500"],
        },
        /// What crosses the link as one piece: the data of a request, of one page access as a whole
        /// mapping unit (`page`), or what a page access asks for of it (`part`).
        transfer: Transfer = Transfer::Request => {
            kind: Kind::Choice(Transfer::WORDS),
            source: "assumed; Serial ATA and NVM Express devices ask for data when they have room",
            flip: "page", with: &["interface.link_ps_per_byte=2500"],
        },
    }
}

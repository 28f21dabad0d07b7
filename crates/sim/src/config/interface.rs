//! The section `[interface]`: how requests get from the host to the device.

use flashyard_core::key::Kind;
use flashyard_core::units::Span;
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

choice! {
    /// Which requests one thread of the host submits and reaps.
    pub enum Threads {
        /// Those of one stream: each stream has a thread.
        Stream = "stream",
        /// All: the host has one thread.
        Host = "host",
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
        /// Time that a request takes longer which comes after the device had none for
        /// `wake_after_us`. Requests that come meanwhile wait for the same instant. 0: none does.
        wake_us: Span = Span::ZERO => {
            kind: Kind::micros(0, 4_000_000_000),
            source: "assumed: a device that is always awake",
            flip: "20", with: &[],
        },
        /// With `wake_us`: time without a request from the last answer of the device, as it comes
        /// to the host, to the request.
        wake_after_us: Span = Span::ZERO => {
            kind: Kind::micros(0, 4_000_000_000_000),
            source: "assumed: any pause",
            flip: "100000", with: &["interface.wake_us=20"],
        },
        /// Whether the link carries data in both directions at once.
        duplex: Duplex = Duplex::Full => {
            kind: Kind::Choice(Duplex::WORDS),
            source: "PCIe and UFS carry both directions at once, SATA and eMMC one",
            flip: "half", with: &["interface.link_ps_per_byte=2500"],
        },
        /// Time that a thread of the host takes to submit a request. A thread does one thing after
        /// the other, so it answers at most 1 / (`submit_ns` + `reap_ns`) requests a second.
        submit_ns: u64 = 0 => {
            kind: Kind::count("ns", 0, 1_000_000_000),
            source: "assumed: the host takes no time; fio with io_uring on one core: some 2,700 with reap_ns",
            flip: "700", with: &[],
        },
        /// Time that a thread of the host takes to reap the answer of a request. The latency of a
        /// request ends when its answer is reaped.
        reap_ns: u64 = 0 => {
            kind: Kind::count("ns", 0, 1_000_000_000),
            source: "assumed: the host takes no time",
            flip: "700", with: &[],
        },
        /// Which requests share a thread of the host.
        threads: Threads = Threads::Stream => {
            kind: Kind::Choice(Threads::WORDS),
            source: "assumed; a job of fio is a thread",
            flip: "host", with: &["@streams", "interface.submit_ns=20000"],
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

impl InterfaceKeys {
    /// Whether threads of the host take time.
    pub const fn has_threads(&self) -> bool {
        self.submit_ns > 0 || self.reap_ns > 0
    }

    /// Whether requests are delayed before the link or behind it.
    pub(crate) const fn delays(&self) -> bool {
        self.has_threads() || !self.wake_us.is_zero()
    }
}

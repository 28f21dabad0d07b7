//! The section `[firmware]`: the family of the firmware, and the cores that look at every request
//! before the device works on it.

use super::FirmwareFamily;
use flashyard_core::key::Kind;
use flashyard_core::keys;
use flashyard_core::quantity::Ppm;
use flashyard_core::request::RequestOp;

keys! {
    /// Keys of `[firmware]`. Each request takes one core, after it has come over the link and
    /// before it enters the host queue, for the time of its kind and that of its mapping units.
    pub struct FirmwareKeys {
        /// What the device does with more random writes than it can take. A family sets keys that
        /// nobody gives a value.
        family: FirmwareFamily = FirmwareFamily::None => {
            kind: Kind::Choice(FirmwareFamily::WORDS),
            source: "Haas, Lee, Bonnet, Leis, PVLDB 18(11), 2025: three drives; assumed: none",
            flip: "in_between", with: &["@full"],
        },
        /// Cores that serve requests, each one request at a time, in the order in which requests
        /// come over the link. 0: firmware takes no time for requests.
        cores: u64 = 0 => {
            kind: Kind::count("cores", 0, 64),
            source: "assumed: no firmware",
            flip: "1", with: &["firmware.cores=2", "firmware.read_ns=200000"],
        },
        /// Time that a core takes for a read.
        read_ns: u64 = 0 => {
            kind: Kind::count("ns", 0, 1_000_000_000),
            source: "assumed: no firmware",
            flip: "2000", with: &["firmware.cores=1"],
        },
        /// Time that a core takes for a write.
        write_ns: u64 = 0 => {
            kind: Kind::count("ns", 0, 1_000_000_000),
            source: "assumed: no firmware",
            flip: "2000", with: &["firmware.cores=1"],
        },
        /// Time that a core takes for a trim.
        trim_ns: u64 = 0 => {
            kind: Kind::count("ns", 0, 1_000_000_000),
            source: "assumed: no firmware",
            flip: "2000", with: &["firmware.cores=1"],
        },
        /// Time that a core takes for a flush.
        flush_ns: u64 = 0 => {
            kind: Kind::count("ns", 0, 1_000_000_000),
            source: "assumed: no firmware",
            flip: "2000", with: &["firmware.cores=1"],
        },
        /// Time that a core takes for each mapping unit of a trim, beside the time of the trim: it
        /// marks entries of the map and moves no data.
        trim_unit_ns: u64 = 0 => {
            kind: Kind::count("ns", 0, 1_000_000),
            source: "assumed: no firmware",
            flip: "500", with: &["firmware.cores=1"],
        },
        /// Time that a core takes for each mapping unit that a read or write accesses, beside the
        /// time of its kind.
        unit_ns: u64 = 0 => {
            kind: Kind::count("ns", 0, 1_000_000),
            source: "assumed: no firmware",
            flip: "500", with: &["firmware.cores=1"],
        },
        /// How far the time of a request may be from the one that these keys give, up or down. It
        /// is drawn uniformly, for each request by itself.
        spread_percent: Ppm = Ppm::ZERO => {
            kind: Kind::percent(0, 1_000_000),
            source: "assumed: constant times",
            flip: "50", with: &["firmware.cores=1", "firmware.read_ns=20000"],
        },
    }
}

impl FirmwareKeys {
    /// Time that a core takes for a request of so many mapping units, where times have no spread.
    pub const fn service_ns(&self, op: RequestOp, units: u64) -> u64 {
        let unit_ns = match op {
            RequestOp::Read | RequestOp::Write => self.unit_ns,
            RequestOp::Trim => self.trim_unit_ns,
            RequestOp::Flush => 0,
        };
        let own = match op {
            RequestOp::Read => self.read_ns,
            RequestOp::Write => self.write_ns,
            RequestOp::Trim => self.trim_ns,
            RequestOp::Flush => self.flush_ns,
        };
        own + unit_ns * units
    }
}

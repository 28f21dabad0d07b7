//! The section `[firmware]`: the family of the firmware, and the cores that look at every request
//! before the device works on it.

use super::FirmwareFamily;
use flashyard_core::key::Kind;
use flashyard_core::quantity::Ppm;
use flashyard_core::request::RequestOp;
use flashyard_core::units::Span;
use flashyard_core::{choice, keys};

choice! {
    /// What a stall of the firmware holds.
    pub enum Stalled {
        /// Writes.
        Writes = "writes",
        /// No request: no die begins a program, of whatever data.
        Programs = "programs",
        /// All requests.
        All = "all",
    }
}

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
        /// Time that a core takes for each mapping unit that a host read takes from flash, behind
        /// the requests that have a core already: it commands the dies, and later requests wait.
        flash_read_ns: u64 = 0 => {
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
        /// Mean of a time that a core takes longer for a read. It is exponentially distributed, for
        /// each read by itself.
        read_tail_ns: u64 = 0 => {
            kind: Kind::count("ns", 0, 10_000_000),
            source: "assumed: no tail",
            flip: "1000", with: &["firmware.cores=1"],
        },
        /// The same for a write.
        write_tail_ns: u64 = 0 => {
            kind: Kind::count("ns", 0, 10_000_000),
            source: "assumed: no tail",
            flip: "1000", with: &["firmware.cores=1"],
        },
        /// Mapping units of writes after which the firmware stalls, as where it writes its tables
        /// to flash. They are counted from the start of a phase. 0: it never does.
        stall_units: u64 = 0 => {
            kind: Kind::count("units", 0, 1 << 40),
            source: "assumed: no stalls",
            flip: "5", with: &["firmware.cores=1", "firmware.stall_us=20000"],
        },
        /// With `stall_units`: time of a stall, from when a core is done with the write that brings
        /// it about. Requests that it holds take no core before its end; programs that it holds do
        /// not begin before.
        stall_us: Span = Span::from_us(1_000) => {
            kind: Kind::micros(1, 4_000_000_000),
            source: "assumed",
            flip: "20000", with: &["firmware.cores=1", "firmware.stall_units=5"],
        },
        /// With `stall_units`: what a stall holds. "programs": writes are taken as long as there is
        /// room in the write buffer, and what is under way on dies goes on, as where all dies erase
        /// their next block at once.
        stall_holds: Stalled = Stalled::Writes => {
            kind: Kind::Choice(Stalled::WORDS),
            source: "assumed: reads need no room in tables",
            flip: "all", with: &["firmware.cores=1", "firmware.stall_units=5", "firmware.stall_us=20000"],
        },
    }
}

impl FirmwareKeys {
    /// Whether no die begins a program while the firmware stalls.
    pub(crate) fn stalls_programs(&self) -> bool {
        self.stall_units > 0 && self.stall_holds == Stalled::Programs
    }

    /// Whether some requests do not begin while the firmware stalls.
    #[must_use]
    pub fn stalls_requests(&self) -> bool {
        self.stall_units > 0 && self.stall_holds != Stalled::Programs
    }

    /// Whether cores take time for what host reads take from flash.
    pub(crate) const fn commands_reads(&self) -> bool {
        self.cores > 0 && self.flash_read_ns > 0
    }

    /// Mean of the exponential tail of the time of a request.
    pub(crate) const fn tail_ns(&self, op: RequestOp) -> u64 {
        match op {
            RequestOp::Read => self.read_tail_ns,
            RequestOp::Write => self.write_tail_ns,
            RequestOp::Trim | RequestOp::Flush => 0,
        }
    }

    /// Time that a core takes for a request of so many mapping units, where times have no spread
    /// and no tail.
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

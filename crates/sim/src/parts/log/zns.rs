//! Zones: the host writes each from its start to its end and resets it as a whole. What that means
//! is in `ftl/zns`.

use flashyard_core::key::Kind;
use flashyard_core::keys;
use flashyard_core::units::Span;

const NO_LIMIT: &str = "assumed: no limit, as NVM Express allows";
const NO_TIME: &str = "assumed: no firmware";

keys! {
    /// Keys of `[ftl.zns]`: a device with zones (NVM Express Zoned Namespaces). A zone lies on a
    /// number of blocks of each plane of its dies; the device collects no garbage.
    pub struct ZnsKeys {
        /// Dies that a zone lies on; their number must divide that of the device. 0: all dies.
        dies: u64 = 0 => {
            kind: Kind::count("dies", 0, 65_536),
            source: "assumed: all dies, so that one zone is as fast as the device",
            flip: "1", with: &["@zoned"],
        },
        /// Blocks of each of its planes that a zone lies on.
        blocks: u64 = 1 => {
            kind: Kind::count("blocks", 1, 65_536),
            source: "assumed: a zone is one superblock",
            flip: "2", with: &["@zoned"],
        },
        /// Zone capacity: bytes of a zone that can be written. 0: all pages of its blocks.
        capacity_bytes: u64 = 0 => {
            kind: Kind::count("bytes", 0, 1 << 46),
            source: "assumed: nothing is left over",
            flip: "32768", with: &["@zoned"],
        },
        /// Zone size: the distance of the first addresses of two zones. Addresses between the
        /// capacity and the size of a zone hold nothing. 0: the capacity.
        size_bytes: u64 = 0 => {
            kind: Kind::count("bytes", 0, 1 << 46),
            source: "assumed: no gaps, so that traces and generators find room everywhere",
            flip: "131072", with: &["@zoned"],
        },
        /// Maximum open resources: zones that are open at once. 0: any number.
        max_open: u64 = 0 => {
            kind: Kind::count("zones", 0, 1_000_000), source: NO_LIMIT,
            flip: "1", with: &["@zoned"],
        },
        /// Maximum active resources: zones that are open or closed at once. 0: any number.
        max_active: u64 = 0 => {
            kind: Kind::count("zones", 0, 1_000_000), source: NO_LIMIT,
            flip: "1", with: &["@zoned"],
        },
        /// Time that a core of the firmware takes for an append more than for a write.
        append_ns: u64 = 0 => {
            kind: Kind::count("ns", 0, 1_000_000_000), source: NO_TIME,
            flip: "5000", with: &["@zoned", "firmware.cores=1"],
        },
        /// Time of an open or a close of a zone.
        manage_us: Span = Span::ZERO => {
            kind: Kind::micros(0, 1_000_000_000), source: NO_TIME,
            flip: "11", with: &["@zoned"],
        },
        /// Time of a reset of an empty zone.
        reset_us: Span = Span::ZERO => {
            kind: Kind::micros(0, 1_000_000_000_000), source: NO_TIME,
            flip: "1500", with: &["@zoned"],
        },
        /// Time that a reset takes for each mapping unit that the host has written.
        reset_unit_ns: u64 = 0 => {
            kind: Kind::count("ns", 0, 1_000_000_000), source: NO_TIME,
            flip: "5000", with: &["@zoned"],
        },
        /// Time that a reset of a zone with more than one written unit takes more while the zone is
        /// not full.
        reset_unfinished_us: Span = Span::ZERO => {
            kind: Kind::micros(0, 1_000_000_000_000), source: NO_TIME,
            flip: "2800", with: &["@zoned"],
        },
        /// Time that a finish takes beside the programs of padding.
        finish_us: Span = Span::ZERO => {
            kind: Kind::micros(0, 1_000_000_000_000), source: NO_TIME,
            flip: "2600", with: &["@zoned"],
        },
    }
}

/// The zones of a device as numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneShape {
    /// How many zones there are.
    pub count: u32,
    /// Mapping units from the start of a zone to that of the next.
    pub size: u32,
    /// Units of a zone that can be written.
    pub capacity: u32,
    /// How many sets of dies there are, each with zones of its own: zone `k` lies on set
    /// `k % sets`.
    pub sets: u32,
    /// Planes of a set of dies.
    pub width: u32,
    /// Blocks of each plane.
    pub blocks: u32,
}

impl ZnsKeys {
    /// How many zones may be open, and how many open or closed: as many as there are without a
    /// limit.
    pub(crate) fn limits(&self, shape: &ZoneShape) -> (u32, u32) {
        let few = |key: u64| u32::try_from(key).map_or(shape.count, |key| key.min(shape.count));
        let limit = |key: u64, most: u32| if key == 0 { most } else { few(key) };
        let active = limit(self.max_active, shape.count);
        (limit(self.max_open, active), active)
    }
}

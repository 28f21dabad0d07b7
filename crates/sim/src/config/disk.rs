//! The sections `[device]` and `[disk]`: what kind of device a file describes, and a disk.

use super::DeviceKeys;
use flashyard_core::key::Kind;
use flashyard_core::quantity::Milli;
use flashyard_core::units::Span;
use flashyard_core::{choice, keys};

choice! {
    /// What a device file describes.
    pub enum DeviceKind {
        /// A flash storage device.
        Flash = "flash",
        /// A disk with rotating platters: section `[disk]`.
        Disk = "disk",
    }
}

keys! {
    /// Keys of `[device]`.
    pub struct DeviceChoice {
        /// What the file describes. A disk has the sections `[disk]`, `[interface]` and
        /// `[metrics]`, and a flash device has all sections but `[disk]`.
        kind: DeviceKind = DeviceKind::Flash => {
            kind: Kind::Choice(DeviceKind::WORDS),
            source: "assumed: this is a simulator of flash devices",
            flip: "disk", with: &[],
        },
    }
}

choice! {
    /// How long the head waits for a sector.
    pub enum Rotation {
        /// Until the sector comes by: the angle of the platters is the time modulo a revolution.
        Angle = "angle",
        /// Half a revolution. A transfer that goes on where the last one has just ended waits not
        /// at all.
        Mean = "mean",
    }
}

choice! {
    /// Which waiting access the arm serves next.
    pub enum ArmOrder {
        /// The one that has waited longest.
        Fifo = "fifo",
        /// The one with the shortest seek (SSTF).
        ShortestSeek = "shortest_seek",
        /// The next one in the direction in which the arm moves, which it turns behind the last one
        /// (SCAN).
        Elevator = "elevator",
        /// The one with the shortest sum of seek and rotation (SPTF).
        ShortestPositioning = "shortest_positioning",
    }
}

/// Fewer units of 4 KiB than 32 bits count.
const MOST_SECTORS: u64 = 8 * (u32::MAX as u64 - 1);

/// What the `with` of a key of `[disk]` names first.
const DISK: &str = "device.kind=disk";

keys! {
    /// Keys of `[disk]`.
    pub struct DiskKeys {
        /// Capacity.
        sectors: u64 = 312_581_808 => {
            kind: Kind::count("sectors of 512 bytes", 8, MOST_SECTORS),
            source: "Park, Kim, Urgaonkar, Lee, Seo, 2011, table 3: 160 GB; IDEMA LBA1-02 makes it so many sectors",
            flip: "1000000", with: &[DISK],
        },
        /// Revolutions a minute.
        rpm: u64 = 7_200 => {
            kind: Kind::count("rpm", 60, 60_000),
            source: "Park, Kim, Urgaonkar, Lee, Seo, 2011, table 3: 7200 RPM",
            flip: "5400", with: &[DISK],
        },
        /// Surfaces with a head each: tracks of a cylinder.
        heads: u64 = 2 => {
            kind: Kind::count("heads", 1, 64),
            source: "assumed: one platter",
            flip: "4", with: &[DISK],
        },
        /// Zones of tracks with the same number of sectors. Their rates fall linearly from the
        /// outer zone, which has the first sectors, to the inner one. All have the same number of
        /// cylinders.
        zones: u64 = 16 => {
            kind: Kind::count("zones", 1, 1_000),
            source: "assumed",
            flip: "1", with: &[DISK],
        },
        /// Data that the head passes in a second in the outer zone. Changes from one track to the
        /// next are part of the rate: a transfer over many tracks goes on without a wait.
        outer_mb_per_s: Milli = Milli::from_thousandths(80_000) => {
            kind: Kind::Number { unit: "MB/s", scale: 1_000, min: 1_000, max: 10_000_000 },
            source: "assumed: disks of this kind and year read 80 to 100 MB/s from outer tracks",
            flip: "160", with: &[DISK],
        },
        /// The same in the inner zone.
        inner_mb_per_s: Milli = Milli::from_thousandths(40_000) => {
            kind: Kind::Number { unit: "MB/s", scale: 1_000, min: 1_000, max: 10_000_000 },
            source: "assumed: half the rate of the outer zone, as half the radius makes it",
            flip: "20", with: &[DISK],
        },
        /// Time of a seek to the next cylinder.
        track_to_track_ms: Span = Span::from_ms(2) => {
            kind: Kind::millis(0, 10_000_000_000),
            source: "assumed: that of disks of this kind and year",
            flip: "1", with: &[DISK],
        },
        /// Mean time of a seek between two cylinders, each of which is any one of all with the same
        /// probability.
        average_seek_ms: Span = Span::from_ms(12) => {
            kind: Kind::millis(0, 10_000_000_000),
            source: "assumed: that of disks of this kind and year",
            flip: "10", with: &[DISK],
        },
        /// Time of a seek over all cylinders.
        full_stroke_ms: Span = Span::from_ms(22) => {
            kind: Kind::millis(0, 10_000_000_000),
            source: "assumed",
            flip: "24", with: &[DISK],
        },
        /// How long the head waits for a sector once it is on its track.
        rotation: Rotation = Rotation::Angle => {
            kind: Kind::Choice(Rotation::WORDS),
            source: "assumed",
            flip: "mean", with: &[DISK],
        },
        /// Time that the controller takes for a command before the arm or the cache serves it. It
        /// handles one command at a time, while the arm works.
        overhead_us: Span = Span::from_us(100) => {
            kind: Kind::micros(1_000, 1_000_000_000),
            source: "assumed",
            flip: "500", with: &[DISK],
        },
        /// Which waiting command the arm serves next. How many the disk knows is
        /// `interface.fetch_depth`. With all orders but "fifo", reads and writes that must reach
        /// the platters go by turns.
        order: ArmOrder = ArmOrder::ShortestPositioning => {
            kind: Kind::Choice(ArmOrder::WORDS),
            source: "assumed: disks with native command queueing choose by the position of the platters",
            flip: "fifo", with: &[DISK],
        },
        /// Which write of the write cache is written back next while no command waits for the arm.
        write_back: ArmOrder = ArmOrder::ShortestPositioning => {
            kind: Kind::Choice(ArmOrder::WORDS),
            source: "assumed",
            flip: "elevator", with: &[DISK],
        },
        /// Segments of the read cache. Each holds sectors in a row; a read that is not served takes
        /// the segment that was used least recently. 0: no read cache and no reading ahead.
        segments: u64 = 16 => {
            kind: Kind::count("segments", 0, 4_096),
            source: "assumed",
            flip: "0", with: &[DISK],
        },
        /// Bytes of a segment. Behind a read that the platters served, the arm reads on until as
        /// many bytes behind the read are cached or a command waits for it.
        segment_bytes: u64 = 524_288 => {
            kind: Kind::count("bytes", 512, 1 << 30),
            source: "assumed: half of a buffer of 16 MB in 16 segments",
            flip: "65536", with: &[DISK],
        },
        /// Bytes of writes that are acknowledged before they are on the platters. Writes that find
        /// no room wait; of a larger one all but these bytes. 0: a write is acknowledged when it is
        /// on the platters.
        write_cache_bytes: u64 = 8_388_608 => {
            kind: Kind::count("bytes", 0, 1 << 30),
            source: "assumed: half of a buffer of 16 MB",
            flip: "0", with: &[DISK],
        },
        /// Power while the platters rotate and the arm rests.
        idle_mw: u64 = 869 => {
            kind: Kind::count("mW", 0, 1_000_000),
            source: "Park, Kim, Urgaonkar, Lee, Seo, 2011, table 4: 0.869 W",
            flip: "500", with: &[DISK],
        },
        /// Power while the arm moves.
        seek_mw: u64 = 2_300 => {
            kind: Kind::count("mW", 0, 1_000_000),
            source: "assumed: somewhat more than that of transfers",
            flip: "2000", with: &[DISK],
        },
        /// Power while the head waits for a sector.
        rotate_mw: u64 = 1_500 => {
            kind: Kind::count("mW", 0, 1_000_000),
            source: "assumed: between idle and transfer",
            flip: "1000", with: &[DISK],
        },
        /// Power while the head reads, for a command or ahead.
        read_mw: u64 = 2_100 => {
            kind: Kind::count("mW", 0, 1_000_000),
            source: "assumed: disks of this kind and year take about 2 W",
            flip: "2500", with: &[DISK],
        },
        /// Power while the head writes.
        write_mw: u64 = 2_100 => {
            kind: Kind::count("mW", 0, 1_000_000),
            source: "assumed: disks of this kind and year take about 2 W",
            flip: "2500", with: &[DISK],
        },
    }
}

impl DiskKeys {
    /// What the time of a seek is made of beyond that of the shortest one, in nanoseconds times 3:
    /// the share that grows with the root of the distance and the one that grows with it.
    pub(crate) fn seek_curve(&self) -> (i64, i64) {
        let signed = |ns: u64| i64::try_from(ns).expect("the range of the key is small");
        let least = signed(self.track_to_track_ms.as_ns());
        let (mean, most) =
            (signed(self.average_seek_ms.as_ns()), signed(self.full_stroke_ms.as_ns()));
        (15 * mean - 10 * least - 5 * most, 8 * most - 15 * mean + 7 * least)
    }

    /// Bytes of both caches.
    pub(crate) const fn cache_bytes(&self) -> u64 {
        self.segments * self.segment_bytes + self.write_cache_bytes
    }
}

impl DeviceKeys {
    /// Whether they are those of a disk.
    pub fn is_disk(&self) -> bool {
        self.device.kind == DeviceKind::Disk
    }

    /// Whether a section belongs to devices of this kind.
    pub fn has_section(&self, section: &str) -> bool {
        match section {
            "device" | "interface" | "metrics" | "sleep" | "deep_sleep" => true,
            "disk" => self.is_disk(),
            _ => !self.is_disk(),
        }
    }
}

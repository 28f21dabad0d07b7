//! The mechanics of a disk: where sectors are, how long the arm moves, when a sector comes by.
//!
//! Sectors follow one another track by track; the tracks of a cylinder first. A zone has tracks of
//! the same number of sectors and begins at angle 0. The change from one track to the next takes no
//! time of its own: sequential transfers go on with the rate of the zone.
//!
//! The time of a seek over d of C cylinders is min + A sqrt(x) + B x with x = (d - 1) / (C - 1). A
//! and B are such that the seek over all cylinders takes `full_stroke_ms`, and that between two
//! random cylinders `average_seek_ms` on average: the mean of sqrt(x) is then 8/15 and that of x
//! 1/3 (Lee and Katz, 1993).

use crate::config::{DiskKeys, Rotation};
use flashyard_core::request::SECTOR_BYTES;
use flashyard_core::units::{Span, Time};

/// A zone: its first sector, its first cylinder, and the sectors of a track.
#[derive(Clone, Copy, Debug)]
struct Zone {
    first: u64,
    cylinder: u64,
    track: u64,
}

/// Where the head is: at the sector that it has passed last, and since when.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    /// The sector that follows the last one that was transferred.
    pub(super) next: u64,
    /// When that transfer was over.
    pub(super) since: Time,
}

/// The way to a sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Way {
    pub(super) seek: Span,
    pub(super) rotation: Span,
}

impl Way {
    pub(super) fn total(&self) -> u64 {
        self.seek.as_ns() + self.rotation.as_ns()
    }
}

/// Shape and times of a disk.
#[derive(Clone, Debug)]
pub(super) struct Mechanics {
    zones: Vec<Zone>,
    heads: u64,
    cylinders: u64,
    /// A revolution in nanoseconds.
    period: u64,
    rotation: Rotation,
    /// The time of the shortest seek, and A and B, in nanoseconds.
    shortest: u64,
    root: u64,
    linear: u64,
}

/// A revolution in nanoseconds.
const fn period_ns(keys: &DiskKeys) -> u64 {
    60_000_000_000 / keys.rpm
}

/// Sectors of a track in a zone.
fn sectors_of_track(keys: &DiskKeys, zone: u64) -> u64 {
    let steps = keys.zones.saturating_sub(1).max(1);
    let (outer, inner) = (
        u128::from(keys.outer_mb_per_s.thousandths()),
        u128::from(keys.inner_mb_per_s.thousandths()),
    );
    // Of a sum over both ends, weighted by distance; kB/s.
    let rate = (outer * u128::from(steps - zone) + inner * u128::from(zone)) / u128::from(steps);
    let bytes = rate * 1_000 * u128::from(period_ns(keys)) / 1_000_000_000;
    u64::try_from(bytes / u128::from(SECTOR_BYTES)).expect("the keys are limited").max(1)
}

impl Mechanics {
    pub(super) fn new(keys: &DiskKeys) -> Self {
        let tracks: Vec<u64> = (0..keys.zones).map(|zone| sectors_of_track(keys, zone)).collect();
        let of_cylinders = tracks.iter().sum::<u64>() * keys.heads;
        let cylinders = keys.sectors.div_ceil(of_cylinders);
        let mut first = 0;
        let mut zones = Vec::with_capacity(tracks.len());
        for (number, track) in (0..).zip(tracks) {
            zones.push(Zone { first, cylinder: number * cylinders, track });
            first += cylinders * keys.heads * track;
        }
        let (root, linear) = keys.seek_curve();
        let third = |ns: i64| u64::try_from(ns).expect("checked with the settings") / 3;
        Self {
            cylinders: cylinders * keys.zones,
            zones,
            heads: keys.heads,
            period: period_ns(keys),
            rotation: keys.rotation,
            shortest: keys.track_to_track_ms.as_ns(),
            root: third(root),
            linear: third(linear),
        }
    }

    fn zone(&self, sector: u64) -> &Zone {
        &self.zones[self.zones.partition_point(|zone| zone.first <= sector) - 1]
    }

    fn cylinder(&self, sector: u64) -> u64 {
        let zone = self.zone(sector);
        zone.cylinder + (sector - zone.first) / (zone.track * self.heads)
    }

    /// Sectors of the track that a sector is on.
    pub(super) fn track_sectors(&self, sector: u64) -> u64 {
        self.zone(sector).track
    }

    /// How far the arm moves between two sectors, in cylinders.
    pub(super) fn distance(&self, from: u64, to: u64) -> u64 {
        self.cylinder(from).abs_diff(self.cylinder(to))
    }

    /// The time of a seek over so many cylinders.
    pub(super) fn seek(&self, distance: u64) -> Span {
        if distance == 0 {
            return Span::ZERO;
        }
        // The distance as a share of all, in parts of 2^32, and the root of it.
        let all = u128::from(self.cylinders.saturating_sub(2).max(1));
        let share = (u128::from(distance - 1) << 32) / all;
        let share = u64::try_from(share).unwrap_or(u64::MAX).min((1 << 32) - 1);
        let root = (share << 32).isqrt();
        let part = |ns: u64, share: u64| (u128::from(ns) * u128::from(share)) >> 32;
        let ns = part(self.root, root) + part(self.linear, share);
        Span::from_ns(self.shortest + u64::try_from(ns).expect("seeks are short"))
    }

    /// When a sector comes by, as a part of a revolution.
    fn angle_ns(&self, sector: u64) -> u64 {
        let zone = self.zone(sector);
        (sector - zone.first) % zone.track * self.period / zone.track
    }

    /// The way of a head to a sector from `now` on.
    pub(super) fn way(&self, head: &Head, sector: u64, now: Time) -> Way {
        let seek = self.seek(self.distance(head.next, sector));
        let there = now + seek;
        let rotation = match self.rotation {
            Rotation::Angle => {
                let angle = there.as_ns() % self.period;
                (self.angle_ns(sector) + self.period - angle) % self.period
            }
            Rotation::Mean if head.next == sector && head.since == now => 0,
            Rotation::Mean => self.period / 2,
        };
        Way { seek, rotation: Span::from_ns(rotation) }
    }

    /// How long sectors take to pass the head.
    pub(super) fn passing(&self, first: u64, end: u64) -> Span {
        let (mut at, mut ns) = (first, 0);
        while at < end {
            let place = self.zones.partition_point(|zone| zone.first <= at);
            let zone = &self.zones[place - 1];
            let until = self.zones.get(place).map_or(end, |next| next.first.min(end));
            // Rounded at each sector as its angle is, so that transfers in a row fit.
            let passed = |sector: u64| {
                u128::from(sector - zone.first) * u128::from(self.period) / u128::from(zone.track)
            };
            ns += u64::try_from(passed(until) - passed(at)).expect("disks are not that large");
            at = until;
        }
        Span::from_ns(ns)
    }

    /// The first sector from `first` on that has not passed the head after `span`, at most `end`.
    pub(super) fn passed(&self, first: u64, end: u64, span: Span) -> u64 {
        let (mut low, mut high) = (first, end);
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            if self.passing(first, middle) <= span {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        low
    }
}

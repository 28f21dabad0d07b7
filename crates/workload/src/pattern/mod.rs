//! Device benchmarks: requests of chosen operations and sizes at uniform, sequential, skewed or
//! strided places, all at once or paced by time.
//!
//! The stream depends on the keys, the seed and the capacity only, and is the same on every
//! machine. Each part has its own stream of random numbers ([`SplitMix64::stream`]; purposes 1
//! arrivals, 2 operations, 3 sizes, 4 places, 5 whether a request continues), so that a key of one
//! part leaves the draws of the others alone. For each request, in this order: its arrival
//! (`arrivals.rs` lists the draws); its operation, one draw, none for a flush; its size, one draw
//! where the sizes of its operation differ; its place (`places.rs`). A flush has neither size nor
//! place.

mod arrivals;
mod builtin;
mod fio_zipf;
mod keys;
mod places;
pub(crate) mod self_similar;
mod sizes;
mod zipf;
mod zones;

use flashyard_core::request::{Flags, Request, RequestOp};
use flashyard_core::units::Time;

pub use self::builtin::{BUILT_IN_PATTERNS, BuiltInPattern};
pub use self::keys::{Access, Action, Arrival, PatternKeys, SizeRule};
pub use self::zones::ZoneGrid;

use self::arrivals::Arrivals;
use self::places::Places;
use self::sizes::{Sizes, kib};
use self::zones::InZones;
use crate::error::WorkloadError;
use crate::random::SplitMix64;
use crate::{Extent, RequestSource, SourceStats};

/// The sectors of a device whose capacity is not known: 64 GiB, assumed.
const UNKNOWN_CAPACITY: u64 = 64 << 21;

/// A pattern as a stream of requests.
#[derive(Clone, Debug)]
pub struct Pattern {
    left: u64,
    /// Sectors of all requests, and those that are left.
    sectors: u64,
    sectors_left: u64,
    arrivals: Arrivals,
    ops: Ops,
    sizes: Sizes,
    places: Places,
    /// What is special about requests to zones.
    zones: Option<Box<InZones>>,
    stats: SourceStats,
}

impl Pattern {
    /// The requests of these keys and this seed on a device of `capacity_sectors` (none: 64 GiB).
    pub fn new(
        keys: &PatternKeys,
        seed: u64,
        capacity_sectors: Option<u64>,
    ) -> Result<Self, WorkloadError> {
        Self::with_zones(keys, seed, capacity_sectors, None)
    }

    /// The same on a device with these zones, if it has any.
    pub fn with_zones(
        keys: &PatternKeys,
        seed: u64,
        capacity_sectors: Option<u64>,
        grid: Option<ZoneGrid>,
    ) -> Result<Self, WorkloadError> {
        let zones = InZones::new(keys, grid)?;
        let ops = Ops::new(keys, SplitMix64::stream(seed, 2))?;
        let sizes = Sizes::new(keys, SplitMix64::stream(seed, 3))?;
        let (start, length) = match zones.as_ref().and_then(|zones| zones.range()) {
            Some(range) => range,
            None => range(keys, sizes.align(), capacity_sectors.unwrap_or(UNKNOWN_CAPACITY))?,
        };
        let random = [SplitMix64::stream(seed, 4), SplitMix64::stream(seed, 5)];
        if keys.access == Access::Sequential && !keys.sequential_percent.is_zero() {
            return Err(all_sequential(keys.sequential_percent.ppm()));
        }
        let places = Places::new(keys, start, length, &sizes, random)
            .ok_or_else(|| too_narrow(sizes.largest(), length))?;
        let sectors = if keys.total_mib == 0 { u64::MAX } else { keys.total_mib << 11 };
        Ok(Self {
            left: if keys.requests == 0 { u64::MAX } else { keys.requests },
            sectors,
            sectors_left: sectors,
            arrivals: Arrivals::new(keys, SplitMix64::stream(seed, 1))?,
            ops,
            sizes,
            places,
            zones,
            stats: SourceStats { clock_epochs: 1, ..SourceStats::default() },
        })
    }

    /// How many places requests can start at.
    pub const fn places(&self) -> u64 {
        self.places.count()
    }
}

impl RequestSource for Pattern {
    #[inline]
    fn next_request(&mut self) -> Result<Option<Request>, WorkloadError> {
        if self.left == 0 || self.sectors_left == 0 {
            return Ok(None);
        }
        let arrival = self.arrivals.draw().ok_or_else(too_slow)?;
        self.left -= 1;
        self.stats.requests += 1;
        let op = self.ops.draw();
        let (first_sector, sectors) = if op == RequestOp::Flush {
            (0, 0)
        } else {
            let sectors = self.sizes.draw(op);
            self.sectors_left = self.sectors_left.saturating_sub(sectors.into());
            (self.places.draw(u64::from(sectors)), sectors)
        };
        let flags = self.ops.flags(op);
        let request = Request::new(op, first_sector, sectors).at(Time::from_ns(arrival));
        let request = request.with(flags);
        Ok(Some(match &mut self.zones {
            None => request,
            Some(zones) => zones.turn(request),
        }))
    }

    fn stats(&self) -> SourceStats {
        self.stats
    }

    /// What ends it first: its requests or its sectors.
    fn extent(&self) -> Option<Extent> {
        let requests = Extent::left(self.stats.requests, self.left);
        let sectors = Extent { done: self.sectors - self.sectors_left, of: self.sectors };
        let limits = [requests, sectors].into_iter().filter(|extent| extent.of < u64::MAX);
        limits.max_by(|a, b| a.share().total_cmp(&b.share()))
    }
}

/// What requests do.
#[derive(Clone, Debug)]
struct Ops {
    /// A draw out of a million below the first is a read, below the second a trim.
    read_below: u64,
    trim_below: u64,
    flush_every: u64,
    /// Writes since the last flush.
    writes: u64,
    fua_every: u64,
    /// Writes since the last one with FUA.
    plain: u64,
    random: SplitMix64,
}

impl Ops {
    fn new(keys: &PatternKeys, random: SplitMix64) -> Result<Self, WorkloadError> {
        let trim_below = keys.read_percent.ppm() + keys.trim_percent.ppm();
        if trim_below > 1_000_000 {
            return Err(WorkloadError::Key {
                key: "pattern.trim_percent",
                what: format!("reads and trims are {} % together", trim_below as f64 / 1e4),
                fix: "lower pattern.read_percent or pattern.trim_percent to 100 % in all"
                    .to_owned(),
            });
        }
        let (flush_every, fua_every) = (keys.flush_every, keys.fua_every);
        let read_below = keys.read_percent.ppm();
        Ok(Self { read_below, trim_below, flush_every, writes: 0, fua_every, plain: 0, random })
    }

    fn draw(&mut self) -> RequestOp {
        if self.flush_every > 0 && self.writes == self.flush_every {
            self.writes = 0;
            return RequestOp::Flush;
        }
        let draw = self.random.below(1_000_000);
        if draw < self.read_below {
            RequestOp::Read
        } else if draw < self.trim_below {
            RequestOp::Trim
        } else {
            self.writes += 1;
            RequestOp::Write
        }
    }

    /// The flags of the request that was drawn.
    fn flags(&mut self, op: RequestOp) -> Flags {
        if self.fua_every == 0 || op != RequestOp::Write {
            return Flags::NONE;
        }
        self.plain += 1;
        if self.plain < self.fua_every {
            return Flags::NONE;
        }
        self.plain = 0;
        Flags::FUA
    }
}

/// The start of the range, a multiple of `align`, and its length, in sectors.
fn range(keys: &PatternKeys, align: u64, capacity: u64) -> Result<(u64, u64), WorkloadError> {
    if keys.start_percent.ppm() + keys.range_percent.ppm() > 1_000_000 {
        return Err(WorkloadError::Key {
            key: "pattern.range_percent",
            what: format!(
                "the range ends at {} % of the device",
                (keys.start_percent.ppm() + keys.range_percent.ppm()) as f64 / 1e4
            ),
            fix: "lower pattern.start_percent or pattern.range_percent to 100 % in all".to_owned(),
        });
    }
    let at = |ppm: u64| {
        let sectors = u128::from(capacity) * u128::from(ppm) / 1_000_000;
        u64::try_from(sectors).expect("a share of the capacity")
    };
    let start = at(keys.start_percent.ppm()) / align * align;
    Ok((start, at(keys.start_percent.ppm() + keys.range_percent.ppm()) - start))
}

fn all_sequential(ppm: u64) -> WorkloadError {
    WorkloadError::Key {
        key: "pattern.sequential_percent",
        what: format!(
            "with access = \"sequential\" every request continues, {} %",
            ppm as f64 / 1e4
        ),
        fix: "set it to 0, or choose another pattern.access for the other requests".to_owned(),
    }
}

fn too_narrow(largest: u64, length: u64) -> WorkloadError {
    WorkloadError::Key {
        key: "pattern.range_percent",
        what: format!("the largest request does not fit, {} KiB in {}", kib(largest), kib(length)),
        fix: "raise it, give the device more capacity, or lower the sizes".to_owned(),
    }
}

fn too_slow() -> WorkloadError {
    WorkloadError::Key {
        key: "pattern.rate_per_s",
        what: "the last request arrives past 146 years".to_owned(),
        fix: "raise the rates or lower pattern.requests".to_owned(),
    }
}

#[cfg(test)]
mod tests;

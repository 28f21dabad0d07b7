//! Requests after published tables of enterprise workloads: share of writes, mean sizes, rate and
//! sequential share, and nothing else.
//!
//! The stream depends on the keys, the seed and the capacity only. Everything is drawn from one
//! stream of random numbers, splitmix64 of the seed, as multiples u of 2^-53 in [0, 1). For each
//! request, in this order:
//!
//! 1. The time since the last one: `-ln(1 - u)` times the mean. Times are added up in milliseconds
//!    and rounded down to nanoseconds.
//! 2. Its operation: a write where u is below the share of writes.
//! 3. Its size: the larger one of the operation where u is below its share.
//! 4. Whether it continues: where u is below the sequential share, and the end of the request
//!    before and this size fit into the footprint. If so, it starts there, and takes no more draws.
//! 5. Otherwise its place, of the units that the footprint has room for: `floor(u units)`, or
//!    self-similar the rank `floor(u^(ln(1 - h) / ln h) units)`; clustered the unit of that number,
//!    scattered `(rank * 2654435761 + 12345) mod units`. A request that would end behind the
//!    footprint ends at its end.

mod builtin;
mod keys;

use flashyard_core::quantity::Sectors;
use flashyard_core::request::{LAST_ARRIVAL, Request, RequestOp};
use flashyard_core::units::Time;

pub use self::builtin::{BUILT_IN_MIXES, BuiltInMix, PublishedMix};
pub use self::keys::{MixKeys, MixPlaces};

use crate::error::WorkloadError;
use crate::pattern::self_similar::{SelfSimilar, rank};
use crate::random::SplitMix64;
use crate::{Extent, RequestSource, SourceStats};

/// The sectors of a device whose capacity is not known: 64 GiB, assumed.
const UNKNOWN_CAPACITY: u64 = 64 << 21;

/// The last arrival that is possible, in milliseconds.
const LAST_ARRIVAL_MS: f64 = LAST_ARRIVAL.as_ns() as f64 / 1e6;

/// Knuth's multiplicative hash: a prime near the golden section of 2^32.
const SCATTER_FACTOR: u64 = 2_654_435_761;
const SCATTER_OFFSET: u64 = 12_345;

/// A mix as a stream of requests.
#[derive(Clone, Debug)]
pub struct Mix {
    left: u64,
    mean_ms: f64,
    /// The time of the last request.
    now_ms: f64,
    write_share: f64,
    /// Of reads and of writes.
    sizes: [Sizes; 2],
    sequential_share: f64,
    places: MixPlaces,
    skew: SelfSimilar,
    unit: u64,
    units: u64,
    /// The end of the request before.
    end: Option<u64>,
    random: SplitMix64,
    stats: SourceStats,
}

/// Two sizes in sectors.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    small: u32,
    large: u32,
    large_share: f64,
}

impl Sizes {
    fn new(small: u64, large: u64, large_ppm: u64) -> Self {
        let narrow = |sectors| u32::try_from(sectors).expect("the greatest size fits 32 bits");
        Self { small: narrow(small), large: narrow(large), large_share: share(large_ppm) }
    }
}

impl Mix {
    /// The requests of these keys and this seed on a device of `capacity_sectors` (none: 64 GiB).
    pub fn new(
        keys: &MixKeys,
        seed: u64,
        capacity_sectors: Option<u64>,
    ) -> Result<Self, WorkloadError> {
        let capacity = u128::from(capacity_sectors.unwrap_or(UNKNOWN_CAPACITY));
        let footprint = capacity * u128::from(keys.footprint_percent.ppm()) / 1_000_000;
        let footprint = u64::try_from(footprint).expect("a share of the capacity");
        let units = footprint / keys.unit_kib.sectors();
        let sizes =
            [keys.read_small_kib, keys.read_large_kib, keys.write_small_kib, keys.write_large_kib];
        let largest = sizes.into_iter().max().expect("there are four");
        if units * keys.unit_kib.sectors() < largest.max(Sectors::from_sectors(1)).sectors() {
            return Err(too_narrow(largest.sectors(), units * keys.unit_kib.sectors()));
        }
        Ok(Self {
            left: keys.requests,
            mean_ms: keys.interarrival_ms.as_ns() as f64 / 1e6,
            now_ms: 0.0,
            write_share: share(keys.write_percent.ppm()),
            sizes: [
                Sizes::new(
                    keys.read_small_kib.sectors(),
                    keys.read_large_kib.sectors(),
                    keys.read_large_percent.ppm(),
                ),
                Sizes::new(
                    keys.write_small_kib.sectors(),
                    keys.write_large_kib.sectors(),
                    keys.write_large_percent.ppm(),
                ),
            ],
            sequential_share: share(keys.sequential_percent.ppm()),
            places: keys.places,
            skew: SelfSimilar::new(keys.skew_percent.ppm()),
            unit: keys.unit_kib.sectors(),
            units,
            end: None,
            random: SplitMix64::new(seed),
            stats: SourceStats { clock_epochs: 1, ..SourceStats::default() },
        })
    }

    /// A multiple of 2^-53 in [0, 1).
    fn draw(&mut self) -> f64 {
        const STEP: f64 = 1.0 / (1_u64 << 53) as f64;
        (self.random.next_u64() >> 11) as f64 * STEP
    }

    /// Where a request of `sectors` starts.
    fn start(&mut self, sectors: u64) -> u64 {
        let footprint = self.units * self.unit;
        let continues = self.draw() < self.sequential_share;
        if let Some(end) = self.end.filter(|end| continues && end + sectors <= footprint) {
            return end;
        }
        let u = self.draw();
        let unit = match self.places {
            MixPlaces::Uniform => rank(u, self.units),
            MixPlaces::Clustered => self.skew.rank(u, self.units),
            MixPlaces::Scattered => scatter(self.skew.rank(u, self.units), self.units),
        };
        (unit * self.unit).min(footprint - sectors)
    }
}

impl RequestSource for Mix {
    fn next_request(&mut self) -> Result<Option<Request>, WorkloadError> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        self.stats.requests += 1;
        self.now_ms += -libm::log(1.0 - self.draw()) * self.mean_ms;
        if self.now_ms > LAST_ARRIVAL_MS {
            return Err(too_slow());
        }
        let write = self.draw() < self.write_share;
        let sizes = self.sizes[usize::from(write)];
        let sectors = if self.draw() < sizes.large_share { sizes.large } else { sizes.small };
        let first_sector = self.start(u64::from(sectors));
        self.end = Some(first_sector + u64::from(sectors));
        Ok(Some(
            Request::new(
                if write { RequestOp::Write } else { RequestOp::Read },
                first_sector,
                sectors,
            )
            .at(Time::from_ns(nanoseconds(self.now_ms))),
        ))
    }

    fn stats(&self) -> SourceStats {
        self.stats
    }

    fn extent(&self) -> Option<Extent> {
        Some(Extent::left(self.stats.requests, self.left))
    }
}

/// Parts per million as a share.
fn share(ppm: u64) -> f64 {
    ppm as f64 / 1e6
}

/// The unit of a rank, by multiplicative hashing.
fn scatter(rank: u64, units: u64) -> u64 {
    let product = u128::from(rank) * u128::from(SCATTER_FACTOR) + u128::from(SCATTER_OFFSET);
    u64::try_from(product % u128::from(units)).expect("below the units")
}

/// Milliseconds as nanoseconds, rounded down.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "not negative, and at most the last arrival"
)]
fn nanoseconds(ms: f64) -> u64 {
    (ms * 1e6) as u64
}

fn too_narrow(largest: u64, footprint: u64) -> WorkloadError {
    let kib = |sectors: u64| sectors as f64 / 2.0;
    WorkloadError::Key {
        key: "mix.footprint_percent",
        what: format!(
            "the largest request does not fit, {} KiB in {}",
            kib(largest),
            kib(footprint)
        ),
        fix: "raise it, give the device more capacity, or lower the sizes or mix.unit_kib"
            .to_owned(),
    }
}

fn too_slow() -> WorkloadError {
    WorkloadError::Key {
        key: "mix.interarrival_ms",
        what: "the last request arrives past 146 years".to_owned(),
        fix: "lower it or mix.requests".to_owned(),
    }
}

#[cfg(test)]
mod tests;

//! Bursty requests from a few parameters.
//!
//! One generator serves every built-in workload; a workload is a row of numbers ([`BUILT_IN`]).
//! Its shape follows the Nexus 5 traces of Zhou et al. (IISWC 2015), in which requests come in
//! bursts: with Poisson arrivals of the same rate hardly anything would ever queue. The parts:
//! arrivals in bursts with short and long pauses between them; an operation that tends to stay the
//! same within a burst; sizes of one page or a power law; and addresses that continue runs, return
//! to recent places or lie anew in unevenly used regions.
//!
//! The stream depends on the keys, the seed and the capacity only, and is the same on every
//! machine: integers, the four operations on floats, and `libm`. Each part has its own stream of
//! random numbers ([`SplitMix64::stream`]; purposes 1 arrivals, 2 operations, 3 sizes, 4 places), so
//! that a key of one part leaves the others alone. The files of the parts list their draws; an
//! operation takes one (keep the last? at the start of a burst always afresh, without a draw), and
//! one more where it is drawn afresh.

mod arrivals;
mod builtin;
mod keys;
mod places;
mod sizes;

use flashyard_core::request::{Flags, Request, RequestOp, SECTOR_BYTES};
use flashyard_core::units::Time;

pub use self::builtin::{BUILT_IN, BuiltIn, Measured, Published};
pub use self::keys::GeneratorKeys;

use self::arrivals::Arrivals;
use self::places::{Habits, Places, Regions};
use self::sizes::{MeanOutOfRange, Sizes};
use crate::error::WorkloadError;
use crate::random::SplitMix64;
use crate::{RequestSource, SourceStats};

/// Sectors of the pages in which the generator counts.
const PAGE_SECTORS: u32 = 4_096 / SECTOR_BYTES;

/// Span where the capacity is not known: that of the key.
const MIB_PAGES: u64 = 256;

/// The generator as a stream of requests.
#[derive(Clone, Debug)]
pub struct Generator {
    left: u64,
    arrivals: Arrivals,
    ops: Ops,
    op_random: SplitMix64,
    sizes: [Sizes; 2],
    size_random: SplitMix64,
    places: [Places; 2],
    place_random: SplitMix64,
    stats: SourceStats,
}

impl Generator {
    /// The requests of these keys and this seed on a device of `capacity_sectors` (none: as large
    /// as `span_mib`). Draws all arrivals once to find the length of the long pauses.
    pub fn new(
        keys: &GeneratorKeys,
        seed: u64,
        capacity_sectors: Option<u64>,
    ) -> Result<Self, WorkloadError> {
        let span_pages = span_pages(keys, capacity_sectors)?;
        let [read_regions, write_regions] =
            Regions::split(span_pages, keys.read_footprint_mib, keys.write_footprint_mib);
        let reads = Habits {
            sequential_ppm: keys.read_sequential_percent,
            reuse_ppm: keys.read_reuse_percent,
        };
        let writes = Habits {
            sequential_ppm: keys.write_sequential_percent,
            reuse_ppm: keys.write_reuse_percent,
        };
        Ok(Self {
            left: keys.requests,
            arrivals: Arrivals::new(keys, SplitMix64::stream(seed, 1)),
            ops: Ops::new(keys),
            op_random: SplitMix64::stream(seed, 2),
            sizes: [read_sizes(keys)?, write_sizes(keys)?],
            size_random: SplitMix64::stream(seed, 3),
            places: [
                Places::new(keys, reads, read_regions),
                Places::new(keys, writes, write_regions),
            ],
            place_random: SplitMix64::stream(seed, 4),
            stats: SourceStats { clock_epochs: 1, ..SourceStats::default() },
        })
    }
}

impl RequestSource for Generator {
    fn next_request(&mut self) -> Result<Option<Request>, WorkloadError> {
        if self.left == 0 {
            return Ok(None);
        }
        let arrival = self.arrivals.next().ok_or_else(too_slow)?;
        self.left -= 1;
        self.stats.requests += 1;
        let write = self.ops.draw(arrival.starts_burst, &mut self.op_random);
        let class = usize::from(write);
        let pages = self.sizes[class].draw(&mut self.size_random);
        let page = self.places[class].draw(u64::from(pages), &mut self.place_random);
        Ok(Some(Request {
            arrival: Time::from_ns(arrival.ns),
            first_sector: page * u64::from(PAGE_SECTORS),
            sectors: pages * PAGE_SECTORS,
            stream: 0,
            op: if write { RequestOp::Write } else { RequestOp::Read },
            flags: Flags::NONE,
        }))
    }

    fn stats(&self) -> SourceStats {
        self.stats
    }
}

/// Which requests are writes.
#[derive(Clone, Copy, Debug)]
struct Ops {
    write_ppm: u64,
    keep_ppm: u64,
    write: bool,
    /// Writes missing so far, in parts per million; negative for too many.
    missing_ppm: i64,
}

impl Ops {
    fn new(keys: &GeneratorKeys) -> Self {
        let (write_ppm, keep_ppm) = (keys.write_percent, keys.op_keep_percent);
        Self { write_ppm, keep_ppm, write: false, missing_ppm: 0 }
    }

    /// Whether the next request is a write. An operation that is drawn afresh leans towards the one
    /// that has been too rare: by 1/64 for each missing request, so that short workloads keep their
    /// share although their requests come in runs of one operation.
    fn draw(&mut self, starts_burst: bool, random: &mut SplitMix64) -> bool {
        if starts_burst || !random.happens(self.keep_ppm) {
            let chance = self.write_ppm.saturating_add_signed(self.missing_ppm / 64);
            self.write = random.happens(chance);
        }
        let wanted = i64::try_from(self.write_ppm).expect("at most a million");
        self.missing_ppm += wanted - if self.write { 1_000_000 } else { 0 };
        self.write
    }
}

fn span_pages(keys: &GeneratorKeys, capacity_sectors: Option<u64>) -> Result<u64, WorkloadError> {
    let span = keys.span_mib * MIB_PAGES;
    let Some(sectors) = capacity_sectors else { return Ok(span) };
    let capacity = sectors / u64::from(PAGE_SECTORS);
    let largest_kib = keys.read_max_kib.max(keys.write_max_kib);
    let (span, largest) = (span.min(capacity), largest_kib / 4);
    if span < largest.max(1) {
        return Err(WorkloadError::Key {
            key: "generator.span_mib",
            what: format!(
                "the largest request does not fit, {largest_kib} KiB in {} KiB",
                span * 4
            ),
            fix: "give the device more capacity, or lower generator.read_max_kib and \
                  generator.write_max_kib"
                .to_owned(),
        });
    }
    Ok(span)
}

fn read_sizes(keys: &GeneratorKeys) -> Result<Sizes, WorkloadError> {
    let (mean, single) = (keys.read_kib, keys.read_single_percent);
    Sizes::new(mean, single, pages(keys.read_max_kib)).map_err(|range| {
        bad_mean("generator.read_kib", mean, range, "generator.read_single_percent")
    })
}

fn write_sizes(keys: &GeneratorKeys) -> Result<Sizes, WorkloadError> {
    let (mean, single) = (keys.write_kib, keys.write_single_percent);
    Sizes::new(mean, single, pages(keys.write_max_kib)).map_err(|range| {
        bad_mean("generator.write_kib", mean, range, "generator.write_single_percent")
    })
}

fn pages(kib: u64) -> u32 {
    u32::try_from(kib / 4).expect("the greatest size fits")
}

fn bad_mean(
    key: &'static str,
    bytes: u64,
    range: MeanOutOfRange,
    single_key: &str,
) -> WorkloadError {
    let kib = |bytes: u64| bytes as f64 / 1_024.0;
    let (low, high) = (kib(range.low_bytes), kib(range.high_bytes));
    WorkloadError::Key {
        key,
        what: format!("no such mean with these shares, {} KiB", kib(bytes)),
        fix: format!(
            "choose {low:.2} to {high:.2} KiB, or change {single_key} or the largest size"
        ),
    }
}

fn too_slow() -> WorkloadError {
    WorkloadError::Key {
        key: "generator.requests_per_s",
        what: "the last request arrives past 584 years".to_owned(),
        fix: "raise the rate or lower generator.requests".to_owned(),
    }
}

#[cfg(test)]
mod tests;

//! Bursty requests from a few parameters.
//!
//! One generator serves every built-in workload; a workload is a row of numbers ([`BUILT_IN`]).
//! Its shape follows the Nexus 5 traces of Zhou et al. (IISWC 2015), in which requests come in
//! bursts: with Poisson arrivals of the same rate hardly anything would ever queue. The parts:
//! arrivals in bursts with short and long pauses between them, each request later by the time that
//! the one before takes; an operation that tends to stay the same until a long pause; sizes of one
//! page or a power law, long writes rather before a long pause; and addresses that continue runs,
//! return to recent places or lie anew in unevenly used regions.
//!
//! Why later: a phone issues most requests one after the other, so that a long write is followed by
//! a longer gap. Sizes that know nothing of the gaps make queues several times as long as the
//! traces do.
//!
//! The stream depends on the keys, the seed and the capacity only, and is the same on every
//! machine: integers, the four operations on floats, and `libm`. Each part has its own stream of
//! random numbers ([`SplitMix64::stream`]; purposes 1 arrivals, 2 operations, 3 sizes, 4 places),
//! so that a key of one part leaves the draws of the others alone; through the pace, operations and
//! sizes move the arrivals. The files of the parts list their draws. An operation takes one (keep
//! the last? never after a long pause), and one more where it is drawn afresh. A write before a
//! long pause takes one (the longest left?) ahead of those of its size.

mod arrivals;
mod builtin;
mod keys;
mod places;
mod sizes;

use flashyard_core::quantity::Ppm;
use flashyard_core::request::{Request, RequestOp, SECTOR_BYTES};
use flashyard_core::units::Time;

pub use self::builtin::{BUILT_IN, BuiltIn, Measured, Published};
pub use self::keys::GeneratorKeys;

use self::arrivals::{Arrivals, Between, Position, whole};
use self::places::{Habits, Places, Regions};
use self::sizes::{MeanOutOfRange, Sizes};
use crate::error::WorkloadError;
use crate::random::SplitMix64;
use crate::{Extent, RequestSource, SourceStats};

/// Sectors of the pages in which the generator counts.
const PAGE_SECTORS: u32 = 4_096 / SECTOR_BYTES;

/// Span where the capacity is not known: that of the key.
const MIB_PAGES: u64 = 256;

/// The generator as a stream of requests.
#[derive(Clone, Debug)]
pub struct Generator {
    left: u64,
    arrivals: Arrivals,
    contents: Contents,
    places: [Places; 2],
    place_random: SplitMix64,
    stats: SourceStats,
}

impl Generator {
    /// The requests of these keys and this seed on a device of `capacity_sectors` (none: as large
    /// as `span_mib`). Draws everything but the places once to find the length of the long pauses.
    pub fn new(
        keys: &GeneratorKeys,
        seed: u64,
        capacity_sectors: Option<u64>,
    ) -> Result<Self, WorkloadError> {
        let span_pages = span_pages(keys, capacity_sectors)?;
        let [read_regions, write_regions] =
            Regions::split(span_pages, keys.read_footprint_mib, keys.write_footprint_mib);
        let reads = Habits {
            sequential_ppm: keys.read_sequential_percent.ppm(),
            reuse_ppm: keys.read_reuse_percent.ppm(),
        };
        let writes = Habits {
            sequential_ppm: keys.write_sequential_percent.ppm(),
            reuse_ppm: keys.write_reuse_percent.ppm(),
        };
        let contents = Contents::new(keys, seed)?;
        let mut draft = contents.clone();
        let pace = |position| draft.draw(position).pace_ns;
        Ok(Self {
            left: keys.requests,
            arrivals: Arrivals::new(keys, SplitMix64::stream(seed, 1), pace),
            contents,
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
        let Content { write, pages, pace_ns } = self.contents.draw(arrival.position);
        self.arrivals.delay_next(pace_ns);
        let page = self.places[usize::from(write)].draw(u64::from(pages), &mut self.place_random);
        Ok(Some(
            Request::new(
                if write { RequestOp::Write } else { RequestOp::Read },
                page * u64::from(PAGE_SECTORS),
                pages * PAGE_SECTORS,
            )
            .at(Time::from_ns(arrival.ns)),
        ))
    }

    fn stats(&self) -> SourceStats {
        self.stats
    }

    fn extent(&self) -> Option<Extent> {
        Some(Extent::left(self.stats.requests, self.left))
    }
}

/// What requests are, apart from when and where.
#[derive(Clone, Debug)]
struct Contents {
    ops: Ops,
    op_random: SplitMix64,
    sizes: [Sizes; 2],
    size_random: SplitMix64,
    long_last_ppm: u64,
    /// Nanoseconds that a page delays the next request.
    pace_ns: [u64; 2],
}

/// What a request is.
#[derive(Clone, Copy, Debug)]
struct Content {
    write: bool,
    pages: u32,
    /// How much later the next request comes because of this one.
    pace_ns: u64,
}

impl Contents {
    fn new(keys: &GeneratorKeys, seed: u64) -> Result<Self, WorkloadError> {
        Ok(Self {
            ops: Ops::new(keys),
            op_random: SplitMix64::stream(seed, 2),
            sizes: [read_sizes(keys)?, write_sizes(keys)?],
            size_random: SplitMix64::stream(seed, 3),
            long_last_ppm: keys.write_long_last_percent.ppm(),
            pace_ns: [keys.read_pace_us.as_ns(), keys.write_pace_us.as_ns()],
        })
    }

    fn draw(&mut self, position: Position) -> Content {
        let write = self.ops.draw(position.before, &mut self.op_random);
        let random = &mut self.size_random;
        let long =
            write && position.after == Between::LongPause && random.happens(self.long_last_ppm);
        let sizes = &mut self.sizes[usize::from(write)];
        let pages = if long { sizes.draw_longest(random) } else { sizes.draw(random) };
        Content { write, pages, pace_ns: self.pace_ns[usize::from(write)] * u64::from(pages) }
    }
}

/// Which requests are writes.
#[derive(Clone, Copy, Debug)]
struct Ops {
    write_ppm: u64,
    /// The share of writes is `x^growth` of that at the end, where x is the part that is over.
    growth: f64,
    requests: u64,
    /// Requests so far.
    drawn: u64,
    keep_ppm: u64,
    short_pause_keep_ppm: u64,
    write: bool,
    /// Writes missing so far, in parts per million; negative for too many.
    missing_ppm: i64,
}

impl Ops {
    fn new(keys: &GeneratorKeys) -> Self {
        let write_ppm = keys.write_percent;
        let greatest = 1e6 / write_ppm.max(Ppm::from_ppm(1)).ppm() as f64 - 1.0;
        Self {
            write_ppm: write_ppm.ppm(),
            growth: (keys.write_growth.thousandths() as f64 / 1_000.0).min(greatest),
            requests: keys.requests,
            drawn: 0,
            keep_ppm: keys.op_keep_percent.ppm(),
            short_pause_keep_ppm: keys.short_pause_keep_percent.ppm(),
            write: false,
            missing_ppm: 0,
        }
    }

    /// The share of writes that is wanted now.
    fn share_ppm(&self) -> u64 {
        if self.growth <= 0.0 {
            return self.write_ppm;
        }
        // The middle of this request's part of the workload.
        let over = (self.drawn as f64 + 0.5) / self.requests as f64;
        let share = self.write_ppm as f64 * (self.growth + 1.0) * libm::pow(over, self.growth);
        whole(share).min(1_000_000)
    }

    /// Whether the next request is a write. An operation that is drawn after a long pause leans
    /// towards the one that has been too rare: by 1/64 for each missing request, so that short
    /// workloads keep their share although their requests come in runs of one operation.
    fn draw(&mut self, before: Between, random: &mut SplitMix64) -> bool {
        let share_ppm = self.share_ppm();
        let (keep_ppm, lean) = match before {
            Between::InBurst => (self.keep_ppm, 0),
            Between::ShortPause if self.drawn > 0 => (self.short_pause_keep_ppm, 0),
            Between::ShortPause | Between::LongPause => (0, self.missing_ppm / 64),
        };
        if !random.happens(keep_ppm) {
            self.write = random.happens(share_ppm.saturating_add_signed(lean));
        }
        self.drawn += 1;
        let wanted = i64::try_from(share_ppm).expect("at most a million");
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
    Sizes::new(mean.bytes(), single.ppm(), pages(keys.read_max_kib)).map_err(|range| {
        bad_mean("generator.read_kib", mean.bytes(), range, "generator.read_single_percent")
    })
}

fn write_sizes(keys: &GeneratorKeys) -> Result<Sizes, WorkloadError> {
    let (mean, single) = (keys.write_kib, keys.write_single_percent);
    Sizes::new(mean.bytes(), single.ppm(), pages(keys.write_max_kib)).map_err(|range| {
        bad_mean("generator.write_kib", mean.bytes(), range, "generator.write_single_percent")
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

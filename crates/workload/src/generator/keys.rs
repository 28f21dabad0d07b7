//! The keys of `[generator]`.

use flashyard_core::key::Kind;
use flashyard_core::keys;
use flashyard_core::quantity::{Bytes, Micro, Milli, Ppm};
use flashyard_core::units::Span;

use super::sizes::PAGES_MAX;

const SHAPE: &str = "assumed: round figures near the Facebook trace of Zhou et al., IISWC 2015";

/// The greatest size of a request in KiB.
const KIB_MAX: u64 = PAGES_MAX as u64 * 4;

/// A mean size, written in KiB and stored in bytes.
const fn mean_kib() -> Kind {
    Kind::Number { unit: "KiB", scale: 1_024, min: 4_096, max: KIB_MAX * 1_024 }
}

/// A number of things, written with up to three decimals and stored in thousandths.
const fn thousandths(unit: &'static str, max: u64) -> Kind {
    Kind::Number { unit, scale: 1_000, min: 1_000, max: max * 1_000 }
}

const ANY_SHARE: Kind = Kind::percent(0, 1_000_000);

keys! {
    /// Keys of `[generator]`.
    pub struct GeneratorKeys {
        /// How many requests there are.
        requests: u64 = 4_000 => {
            kind: Kind::count("requests", 1, 1_000_000_000_000),
            source: SHAPE, flip: "4001", with: &[],
        },
        /// Mean rate: requests divided by the time from the first to the last. Kept exactly.
        requests_per_s: Micro = Micro::from_millionths(3_500_000) => {
            kind: Kind::Number { unit: "requests/s", scale: 1_000_000, min: 1, max: 1_000_000_000_000_000 },
            source: SHAPE, flip: "7", with: &[],
        },
        /// Share of writes.
        write_percent: Ppm = Ppm::from_percent(75) => {
            kind: ANY_SHARE, source: SHAPE, flip: "50", with: &[],
        },
        /// How the share of writes grows: as `x^growth`, where x is the part of the requests that
        /// is over, up to the growth that makes all of the last requests writes. 0: not at all.
        write_growth: Milli = Milli::ZERO => {
            kind: Kind::Number { unit: "", scale: 1_000, min: 0, max: 100_000 },
            source: SHAPE, flip: "1", with: &[],
        },
        /// Inside a burst, the chance that a request takes the operation of the request before it.
        /// Otherwise, and after every long pause, its operation is drawn afresh.
        op_keep_percent: Ppm = Ppm::from_percent(96) => {
            kind: ANY_SHARE, source: SHAPE, flip: "0", with: &[],
        },
        /// The same chance over a short pause.
        short_pause_keep_percent: Ppm = Ppm::from_percent(75) => {
            kind: ANY_SHARE, source: SHAPE, flip: "0", with: &[],
        },
        /// Mean number of requests in an ordinary burst (geometric).
        burst_requests: Milli = Milli::from_thousandths(3_600) => {
            kind: thousandths("requests", 1_000_000),
            source: SHAPE, flip: "1", with: &[],
        },
        /// Share of long bursts among the bursts.
        long_burst_percent: Ppm = Ppm::from_percent(10) => {
            kind: ANY_SHARE, source: SHAPE, flip: "0", with: &[],
        },
        /// Mean number of requests in a long burst (geometric).
        long_burst_requests: Milli = Milli::from_thousandths(12_000) => {
            kind: thousandths("requests", 1_000_000),
            source: SHAPE, flip: "50", with: &[],
        },
        /// Mean time between the requests of a burst (exponential), without the pace.
        gap_us: Span = Span::from_us(800) => {
            kind: Kind::micros(0, 1_000_000_000_000),
            source: SHAPE, flip: "10", with: &[],
        },
        /// How much later the next request comes for each 4 KiB page of a read, in addition to the
        /// gap or the pause. It stands for a host that waits for each request before it issues the
        /// next one.
        read_pace_us: Span = Span::from_us(50) => {
            kind: Kind::micros(0, 1_000_000_000), source: SHAPE, flip: "0", with: &[],
        },
        /// The same for each page of a write.
        write_pace_us: Span = Span::from_us(350) => {
            kind: Kind::micros(0, 1_000_000_000), source: SHAPE, flip: "0", with: &[],
        },
        /// Share of short pauses among the pauses between bursts. The others are long; their length
        /// follows from the mean rate.
        short_pause_percent: Ppm = Ppm::from_percent(40) => {
            kind: ANY_SHARE, source: SHAPE, flip: "0", with: &[],
        },
        /// Mean length of a short pause (exponential).
        short_pause_ms: Span = Span::from_ms(21) => {
            kind: Kind::millis(0, 1_000_000_000_000_000),
            source: SHAPE, flip: "1", with: &[],
        },
        /// Mean size of a read.
        read_kib: Bytes = Bytes::from_kib(28) => {
            kind: mean_kib(), source: SHAPE, flip: "20", with: &[],
        },
        /// Share of reads of one 4 KiB page.
        read_single_percent: Ppm = Ppm::from_percent(39) => {
            kind: ANY_SHARE, source: SHAPE, flip: "20", with: &[],
        },
        /// Size of the largest read.
        read_max_kib: u64 = 128 => {
            kind: Kind::count("KiB", 4, KIB_MAX), source: SHAPE, flip: "256", with: &[],
        },
        /// Mean size of a write.
        write_kib: Bytes = Bytes::from_kib(24) => {
            kind: mean_kib(), source: SHAPE, flip: "20", with: &[],
        },
        /// Share of writes of one 4 KiB page.
        write_single_percent: Ppm = Ppm::from_percent(55) => {
            kind: ANY_SHARE, source: SHAPE, flip: "20", with: &[],
        },
        /// Size of the largest write.
        write_max_kib: u64 = 512 => {
            kind: Kind::count("KiB", 4, KIB_MAX), source: SHAPE, flip: "256", with: &[],
        },
        /// The chance that a write before a long pause is the longest of the next up to 64 writes:
        /// long writes tend to be the last thing for a while.
        write_long_last_percent: Ppm = Ppm::from_percent(15) => {
            kind: ANY_SHARE, source: SHAPE, flip: "0", with: &[],
        },
        /// Share of reads that continue one of the last runs of reads.
        read_sequential_percent: Ppm = Ppm::from_ppm(95_000) => {
            kind: ANY_SHARE, source: SHAPE, flip: "80", with: &[],
        },
        /// Share of writes that continue one of the last runs of writes.
        write_sequential_percent: Ppm = Ppm::from_percent(42) => {
            kind: ANY_SHARE, source: SHAPE, flip: "0", with: &[],
        },
        /// Of the reads that do not continue a run, the share that start where one of the last
        /// 4,096 reads started. Recent reads are more likely.
        read_reuse_percent: Ppm = Ppm::ZERO => {
            kind: ANY_SHARE, source: SHAPE, flip: "50", with: &[],
        },
        /// The same for writes.
        write_reuse_percent: Ppm = Ppm::from_percent(67) => {
            kind: ANY_SHARE, source: SHAPE, flip: "0", with: &[],
        },
        /// Address space in which new reads start, in regions of 1 MiB.
        read_footprint_mib: u64 = 170 => {
            kind: Kind::count("MiB", 1, 1 << 30), source: SHAPE, flip: "10", with: &[],
        },
        /// Address space in which new writes start; apart from that of the reads.
        write_footprint_mib: u64 = 120 => {
            kind: Kind::count("MiB", 1, 1 << 30), source: SHAPE, flip: "10", with: &[],
        },
        /// How unevenly the regions are used. A new place lies in region number `regions * u^skew`
        /// for a uniform u. 1 uses all regions alike; 2 puts 32 % of the new places into a tenth of
        /// them.
        region_skew: Milli = Milli::from_thousandths(1_500) => {
            kind: thousandths("", 100), source: SHAPE, flip: "1", with: &[],
        },
        /// The regions are scattered over this much address space, or over the device where that
        /// is smaller.
        span_mib: u64 = 28_000 => {
            kind: Kind::count("MiB", 1, 1 << 30), source: SHAPE, flip: "1000", with: &[],
        },
    }
}
